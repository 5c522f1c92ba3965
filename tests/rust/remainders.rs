//! Derivatives of remainders, by exact arithmetic.

use wyrmling::graph::Independent;
use wyrmling::rules::{self, OpRef, Operator};
use wyrmling::{Array, DType, Result, Variable};

/// A finite number as an integer times a power of two.
fn parts(x: f64) -> (i128, i32) {
    let bits = x.abs().to_bits();
    let (exponent, fraction) = ((bits >> 52) as i32, (bits & ((1 << 52) - 1)) as i128);
    assert!(exponent > 0, "{x} is not subnormal");
    let integer = fraction | 1 << 52;
    (if x < 0.0 { -integer } else { integer }, exponent - 1075)
}

/// `x / y`, rounded to zero and rounded down.
fn quotients(x: f64, y: f64) -> [f64; 2] {
    let ((x, e), (y, f)) = (parts(x), parts(y));
    let least = e.min(f);
    let (x, y) = (x << (e - least), y << (f - least));
    let down = x.div_euclid(y) - i128::from(x.rem_euclid(y) != 0 && y < 0);
    [x / y, down].map(|quotient| quotient as f64)
}

/// The quotient of the numbers may round up to an integer, as 1 / 0.1 does to 10, where the remainder is
/// what 9 leaves.
#[test]
fn the_derivative_by_the_divisor_is_the_quotient_that_the_remainder_leaves() -> Result<()> {
    let mut rounded = 0;
    for (dtype, round) in [
        (DType::F64, (|x| x) as fn(f64) -> f64),
        (DType::F32, |x| f64::from(x as f32)),
    ] {
        for divisor in [0.1, -0.1, 0.7, 1e-3, -3.3] {
            for k in 1..200 {
                for x in [divisor, -divisor].map(|y| round(f64::from(k) * y)) {
                    let y = round(divisor);
                    let expected = quotients(x, y);
                    let whole = round(x / y);
                    rounded += usize::from(whole.trunc() != expected[0]);
                    let leaves = [x, y].map(|x| Independent::new(Array::scalar(dtype, x)));
                    let [x_leaf, y_leaf] = leaves;
                    let (x_leaf, y_leaf) = (x_leaf?.boxed(), y_leaf?.boxed());
                    let operators: [&'static dyn Operator; 2] = [&rules::Fmod, &rules::Remainder];
                    for (op, expected) in operators.into_iter().zip(expected) {
                        let rest =
                            Variable::apply(OpRef::Static(op), &[x_leaf.clone(), y_leaf.clone()])?;
                        let found = rest.gradients(&[&x_leaf, &y_leaf])?;
                        let found = found.iter().map(|g| match g {
                            Some(g) => g.item(),
                            None => Ok(0.0),
                        });
                        let found = found.collect::<Result<Vec<f64>>>()?;
                        assert_eq!(found, [1.0, -expected], "{} {x} {y}", op.name());
                    }
                }
            }
        }
    }
    assert!(rounded > 10, "{rounded} quotients round up to an integer");
    Ok(())
}
