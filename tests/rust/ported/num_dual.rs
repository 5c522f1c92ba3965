//! The tests of num-dual 0.11: functions of one number with their first three derivatives.

use wyrmling::graph::{Constant, Independent, ops};
use wyrmling::{Array, DType, Variable};

use super::close;

fn against(x: Variable, y: f64) -> Variable {
    let y = Constant::new(Array::scalar(DType::F64, y)).boxed();
    x.arctan2(y).boxed()
}

/// A function at a place, with its value and derivatives.
type Known = (f64, fn(Variable) -> Variable, [f64; 4]);

#[rustfmt::skip]
const KNOWN: &[Known] = &[
    (1.2, |x| x.reciprocal().boxed(), [0.833333333333333, -0.694444444444445, 1.15740740740741, -2.89351851851852]),
    (1.2, |x| x.exp().boxed(), [3.32011692273655, 3.32011692273655, 3.32011692273655, 3.32011692273655]),
    (1.2, |x| x.expm1().boxed(), [2.32011692273655, 3.32011692273655, 3.32011692273655, 3.32011692273655]),
    (1.2, |x| x.exp2().boxed(), [2.29739670999407, 1.59243405216008, 1.10379117348241, 0.765089739826287]),
    (1.2, |x| x.log().boxed(), [0.182321556793955, 0.833333333333333, -0.694444444444445, 1.15740740740741]),
    (1.2, |x| (x.log() / 4.2f64.ln()).boxed(), [0.127045866345188, 0.58068588898297, -0.483904907485808, 0.806508179143013]),
    (1.2, |x| x.log1p().boxed(), [0.78845736036427, 0.454545454545455, -0.206611570247934, 0.187828700225394]),
    (1.2, |x| x.log2().boxed(), [0.263034405833794, 1.20224586740747, -1.00187155617289, 1.66978592695482]),
    (1.2, |x| x.log10().boxed(), [0.0791812460476248, 0.36191206825271, -0.301593390210592, 0.502655650350986]),
    (1.2, |x| x.sqrt().boxed(), [1.09544511501033, 0.456435464587638, -0.190181443578183, 0.237726804472728]),
    (1.2, |x| x.cbrt().boxed(), [1.06265856918261, 0.295182935884059, -0.163990519935588, 0.22776461102165]),
    (1.2, |x| ops::power(&x, 4.2).expect("operands fit"), [2.15060788316847, 7.52712759108966, 20.0723402429058, 36.7992904453272]),
    (0.0, |x| ops::power(&x, 0.0).expect("operands fit"), [1.0, 0.0, 0.0, 0.0]),
    (0.0, |x| ops::power(&x, 1.0).expect("operands fit"), [0.0, 1.0, 0.0, 0.0]),
    (0.0, |x| ops::power(&x, 2.0).expect("operands fit"), [0.0, 0.0, 2.0, 0.0]),
    (0.0, |x| ops::power(&x, 3.0).expect("operands fit"), [0.0, 0.0, 0.0, 6.0]),
    (0.0, |x| ops::power(&x, 4.0).expect("operands fit"), [0.0, 0.0, 0.0, 0.0]),
    (1.2, |x| ops::power(&x, 6.0).expect("operands fit"), [2.985984, 14.92992, 62.208, 207.36]),
    (0.0, |x| ops::power(&x, 0.0).expect("operands fit"), [1.0, 0.0, 0.0, 0.0]),
    (0.0, |x| ops::power(&x, 1.0).expect("operands fit"), [0.0, 1.0, 0.0, 0.0]),
    (0.0, |x| ops::power(&x, 2.0).expect("operands fit"), [0.0, 0.0, 2.0, 0.0]),
    (0.0, |x| ops::power(&x, 3.0).expect("operands fit"), [0.0, 0.0, 0.0, 6.0]),
    (0.0, |x| ops::power(&x, 4.0).expect("operands fit"), [0.0, 0.0, 0.0, 0.0]),
    (1.2, |x| x.sin().boxed(), [0.932039085967226, 0.362357754476674, -0.932039085967226, -0.362357754476674]),
    (1.2, |x| x.cos().boxed(), [0.362357754476674, -0.932039085967226, -0.362357754476674, 0.932039085967226]),
    (1.2, |x| x.tan().boxed(), [2.57215162212632, 7.61596396720705, 39.1788281446144, 317.553587029949]),
    (0.2, |x| x.arcsin().boxed(), [0.201357920790331, 1.02062072615966, 0.212629317949929, 1.19603991346835]),
    (0.2, |x| x.arccos().boxed(), [1.36943840600457, -1.02062072615966, -0.212629317949929, -1.19603991346835]),
    (0.2, |x| x.arctan().boxed(), [0.197395559849881, 0.961538461538462, -0.369822485207101, -1.56463359126081]),
    (0.2, |x| against(x, 0.4), [0.463647609000806, 2.0, -4.0, -4.0]),
    (-0.2, |x| against(x, 0.4), [-0.463647609000806, 2.0, 4.0, -4.0]),
    (0.2, |x| against(x, -0.4), [2.67794504458899, -2.0, 4.0, 4.0]),
    (-0.2, |x| against(x, -0.4), [-2.67794504458899, -2.0, -4.0, 4.0]),
    (1.2, |x| x.sinh().boxed(), [1.50946135541217, 1.81065556732437, 1.50946135541217, 1.81065556732437]),
    (1.2, |x| x.cosh().boxed(), [1.81065556732437, 1.50946135541217, 1.81065556732437, 1.50946135541217]),
    (1.2, |x| x.tanh().boxed(), [0.833654607012155, 0.305019996207409, -0.508562650138273, 0.661856796311429]),
    (1.2, |x| x.arcsinh().boxed(), [1.01597313417969, 0.64018439966448, -0.314844786720236, 0.202154439560807]),
    (1.2, |x| x.arccosh().boxed(), [0.622362503714779, 1.50755672288882, -4.11151833515132, 30.2134301901272]),
    (0.2, |x| x.arctanh().boxed(), [0.202732554054082, 1.04166666666667, 0.434027777777778, 2.5318287037037]),
    (0.0, |x| x.j0().boxed(), [1.0, 0.0, -0.5, 0.0]),
    (0.0, |x| x.j1().boxed(), [0.0, 0.5, 0.0, -0.375]),
    (0.0, |x| x.jn(2).boxed(), [0.0, 0.0, 0.25, 0.0]),
    (1.2, |x| x.j0().boxed(), [0.671132744264363, -0.498289057567215, -0.25589186295835, 0.365498208944163]),
    (1.2, |x| x.j1().boxed(), [0.498289057567215, 0.25589186295835, -0.365498208944163, -0.172628103209968]),
    (1.2, |x| x.jn(2).boxed(), [0.159349018347663, 0.23270736032111, 0.089364343461587, -0.236892915552203]),
    (7.2, |x| x.j0().boxed(), [0.295070691400958, -0.0543274202223671, -0.287525216370074, 0.0932134954083656]),
    (7.2, |x| x.j1().boxed(), [0.0543274202223671, 0.287525216370074, -0.0932134954083656, -0.26377721001169]),
    (7.2, |x| x.jn(2).boxed(), [-0.279979741339189, 0.132099570594364, 0.240029203653306, -0.146694937335182]),
    (-1.2, |x| x.j0().boxed(), [0.671132744264363, 0.498289057567215, -0.25589186295835, -0.365498208944163]),
    (-1.2, |x| x.j1().boxed(), [-0.498289057567215, 0.25589186295835, 0.365498208944163, -0.172628103209968]),
    (-1.2, |x| x.jn(2).boxed(), [0.159349018347663, -0.23270736032111, 0.089364343461587, 0.236892915552203]),
    (-7.2, |x| x.j0().boxed(), [0.295070691400958, 0.0543274202223671, -0.287525216370074, -0.0932134954083656]),
    (-7.2, |x| x.j1().boxed(), [-0.0543274202223671, 0.287525216370074, 0.0932134954083656, -0.26377721001169]),
    (-7.2, |x| x.jn(2).boxed(), [-0.279979741339189, -0.132099570594364, 0.240029203653306, 0.146694937335182]),
];

/// The derivatives as graphs: a gradient of a gradient of a gradient.
fn by_graphs(f: fn(Variable) -> Variable, x: f64) -> Vec<f64> {
    let x = Independent::new(x).expect("operands fit").boxed();
    let mut y = f(x.clone());
    let mut found = vec![y.item().expect("operands fit")];
    for _ in 0..3 {
        let gradient = y.gradients(&[&x]).expect("operands fit").remove(0);
        y = gradient.unwrap_or_else(|| Constant::new(0.0).boxed());
        found.push(y.item().expect("operands fit"));
    }
    found
}

/// The derivatives as programs of tangents, and the last as the gradient of the one before.
fn by_programs(f: fn(Variable) -> Variable, x: f64) -> Vec<f64> {
    let x = Independent::new(x).expect("operands fit").boxed();
    let mut program = f(x).freeze().expect("operands fit");
    let mut moves: Vec<Array> = Vec::new();
    let mut found = vec![
        program
            .run(&moves)
            .expect("operands fit")
            .item()
            .expect("operands fit"),
    ];
    for order in 1..4 {
        let gradient = program
            .value_and_grad(&moves)
            .expect("operands fit")
            .1
            .remove(0);
        let gradient = gradient.map_or(0.0, |g| g.to_dense().item().expect("operands fit"));
        program = program.tangent().expect("operands fit");
        moves.push(1.0.into());
        let tangent = program
            .run(&moves)
            .expect("operands fit")
            .item()
            .expect("operands fit");
        let unfused = program.tangent().expect("operands fit").unfused();
        let further = [&moves[..], &[1.0.into()]].concat();
        unfused.run(&further).expect("operands fit");
        let near = (tangent - gradient).abs() <= 1e-12 * gradient.abs().max(1.0);
        assert!(near, "order {order}: {tangent} and {gradient}");
        found.push(tangent);
    }
    found
}

#[test]
fn the_first_three_derivatives_are_known() {
    for (k, &(x, f, expected)) in KNOWN.iter().enumerate() {
        let what = format!("function {k} at {x}");
        close(&by_graphs(f, x), &expected, 3e-13, &what);
        close(&by_programs(f, x), &expected, 3e-13, &what);
    }
}

#[test]
fn mixed_second_derivatives_of_products_and_quotients() {
    // As of hyperdual numbers with two directions: x y, x / y and x ** y at (1.2, 0.7).
    let at = |f: &dyn Fn(&Variable, &Variable) -> Variable| {
        let [x, y] = [1.2, 0.7].map(|x| Independent::new(x).unwrap().boxed());
        let z = f(&x, &y);
        let by_x = z.gradients(&[&x]).unwrap().remove(0).unwrap();
        by_x.gradients(&[&y])
            .unwrap()
            .remove(0)
            .unwrap()
            .item()
            .unwrap()
    };
    let (x, y) = (1.2f64, 0.7f64);
    let found = [
        at(&|x, y| (x.clone() * y.clone()).boxed()),
        at(&|x, y| (x.clone() / y.clone()).boxed()),
        at(&|x, y| x.clone().power(y.clone()).boxed()),
        at(&|x, y| x.clone().arctan2(y.clone()).boxed()),
        at(&|x, y| x.clone().hypot(y.clone()).boxed()),
    ];
    let r = x.hypot(y);
    let expected = [
        1.0,
        -1.0 / (y * y),
        x.powf(y - 1.0) * (1.0 + y * x.ln()),
        (x * x - y * y) / r.powi(4),
        -x * y / r.powi(3),
    ];
    close(&found, &expected, 1e-13, "mixed");
}
