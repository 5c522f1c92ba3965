//! The tests of dfdx 0.13 at special points: zeros, ties, infinities, NaN.

use wyrmling::graph::ops::{self, Reduction};
use wyrmling::{Array, Variable};

use super::{array, check};

const INF: f64 = f64::INFINITY;
const NAN: f64 = f64::NAN;
const ROUNDED: f64 = 1e-6;

fn five() -> [Array; 1] {
    [array(&[5], &[-2.0, -1.0, 0.0, 1.0, 2.0])]
}

#[track_caller]
fn of_five(f: impl Fn(Variable) -> Variable, value: &[f64], gradient: &[f64]) {
    check(&five(), |v| f(v[0].clone()), value, &[gradient], ROUNDED);
}

#[test]
fn functions_of_one_number() {
    of_five(
        |x| x.abs().mean().boxed(),
        &[1.2],
        &[-0.2, -0.2, 0.0, 0.2, 0.2],
    );
    of_five(
        |x| x.relu().boxed(),
        &[0.0, 0.0, 0.0, 1.0, 2.0],
        &[0.0, 0.0, 0.0, 1.0, 1.0],
    );
    of_five(
        |x| x.relu().exp().mean().boxed(),
        &[],
        &[0.0, 0.0, 0.0, 0.54365635, 1.4778112],
    );
    of_five(
        |x| x.reciprocal().boxed(),
        &[-0.5, -1.0, INF, 1.0, 0.5],
        &[-0.25, -1.0, -INF, -1.0, -0.25],
    );
    of_five(
        |x| ops::power(&x, 3.5).unwrap(),
        &[NAN, NAN, 0.0, 1.0, 11.313708498984761],
        &[NAN, NAN, 0.0, 3.5, 19.79898987322333],
    );
    of_five(
        |x| ops::power(&x, -1.2).unwrap(),
        &[NAN, NAN, INF, 1.0, 0.43527528164806206],
        &[NAN, NAN, -INF, -1.2, -0.2611651689888372],
    );
    of_five(
        |x| ops::power(&x, 3.0).unwrap(),
        &[-8.0, -1.0, 0.0, 1.0, 8.0],
        &[12.0, 3.0, 0.0, 3.0, 12.0],
    );
    of_five(
        |x| ops::power(&x, -3.0).unwrap(),
        &[-0.125, -1.0, INF, 1.0, 0.125],
        &[-0.1875, -3.0, -INF, -3.0, -0.1875],
    );
    let roots = [array(&[4], &[-1.0, 0.0, 1.0, 4.0])];
    check(
        &roots,
        |v| v[0].clone().sqrt().boxed(),
        &[NAN, 0.0, 1.0, 2.0],
        &[&[NAN, INF, 0.5, 0.25]],
        0.0,
    );
    // NaN replaced by zeros.
    let some = [array(&[4], &[1.0, NAN, -NAN, 4.0])];
    check(
        &some,
        |v| {
            let x = &v[0];
            let there = ops::binary(&wyrmling::rules::Equal, x, x).unwrap();
            let zero = ops::power(x, 0.0).unwrap() * 0.0;
            ops::select(&there, x, &zero.boxed())
                .unwrap()
                .exp()
                .mean()
                .boxed()
        },
        &[],
        &[&[0.67957044, 0.0, 0.0, 13.649537]],
        ROUNDED,
    );
}

#[test]
fn ties_share_or_not_as_documented() {
    let x = array(&[2, 3], &[-1.0, 0.0, 1.0, 3.0, 4.0, -5.0]);
    let y = array(&[2, 3], &[0.0, 0.0, -1.0, 3.0, -4.0, 5.0]);
    check(
        &[x.clone(), y.clone()],
        |v| v[0].clone().minimum(v[1].clone()).boxed(),
        &[-1.0, 0.0, -1.0, 3.0, -4.0, -5.0],
        &[
            &[1.0, 0.5, 0.0, 0.5, 0.0, 1.0],
            &[0.0, 0.5, 1.0, 0.5, 1.0, 0.0],
        ],
        0.0,
    );
    check(
        &[x, y],
        |v| v[0].clone().maximum(v[1].clone()).boxed(),
        &[0.0, 0.0, 1.0, 3.0, 4.0, 5.0],
        &[
            &[0.0, 0.5, 1.0, 0.5, 1.0, 0.0],
            &[1.0, 0.5, 0.0, 0.5, 0.0, 1.0],
        ],
        0.0,
    );
}

#[test]
fn the_most_and_the_least_share_among_equals() {
    let over = |kind: Reduction, axis: i64| {
        move |v: &[Variable]| ops::reduce(kind, &v[0], Some(&[axis]), false).unwrap()
    };
    let low = || [array(&[2, 3], &[1.0, 1.0, 2.0, 3.0, -2.0, 2.0])];
    check(
        &low(),
        over(Reduction::Min, 0),
        &[1.0, -2.0, 2.0],
        &[&[1.0, 0.0, 0.5, 0.0, 1.0, 0.5]],
        0.0,
    );
    check(
        &low(),
        over(Reduction::Min, 1),
        &[1.0, -2.0],
        &[&[0.5, 0.5, 0.0, 0.0, 1.0, 0.0]],
        0.0,
    );
    let high = || [array(&[2, 3], &[1.0, 2.0, 2.0, 3.0, -2.0, 2.0])];
    check(
        &high(),
        over(Reduction::Max, 0),
        &[3.0, 2.0, 2.0],
        &[&[0.0, 1.0, 0.5, 1.0, 0.0, 0.5]],
        0.0,
    );
    check(
        &high(),
        over(Reduction::Max, 1),
        &[2.0, 3.0],
        &[&[0.0, 0.5, 0.5, 1.0, 0.0, 0.0]],
        0.0,
    );
    let zeros = || {
        [array(
            &[4, 2],
            &[-0.0, 0.0, 0.0, -0.0, -1.0, -0.0, -1.0, 0.0],
        )]
    };
    check(
        &zeros(),
        over(Reduction::Min, 1),
        &[0.0, 0.0, -1.0, -1.0],
        &[&[0.5, 0.5, 0.5, 0.5, 1.0, 0.0, 1.0, 0.0]],
        0.0,
    );
    check(
        &zeros(),
        over(Reduction::Max, 1),
        &[0.0; 4],
        &[&[0.5, 0.5, 0.5, 0.5, 0.0, 1.0, 0.0, 1.0]],
        0.0,
    );
}

#[test]
fn sums_of_exponentials() {
    let lse =
        |v: &[Variable]| ops::reduce(Reduction::LogSumExp, &v[0], Some(&[-1]), false).unwrap();
    let soft: &[f64] = &[0.011656231, 0.03168492, 0.08612854, 0.23412165, 0.6364086];
    check(&five(), lse, &[2.4519144], &[soft], ROUNDED);
    check(
        &five(),
        |v| ops::log_softmax(&v[0], -1).unwrap().mean().boxed(),
        &[-2.4519144],
        &[&[
            0.18834378,
            0.16831508,
            0.11387146,
            -0.034121647,
            -0.43640864,
        ]],
        ROUNDED,
    );
    let rows = || [array(&[2, 3], &[-2.0, -1.0, 0.0, 1.0, 4.0, 7.0])];
    check(
        &rows(),
        |v| lse(v).mean().boxed(),
        &[(0.40760595 + 7.0509458) / 2.0],
        &[&[
            0.045015287,
            0.12236424,
            0.33262047,
            0.0011778167,
            0.023657078,
            0.47516513,
        ]],
        ROUNDED,
    );
    check(
        &rows(),
        |v| ops::log_softmax(&v[0], 1).unwrap().mean().boxed(),
        &[],
        &[&[
            0.12165138,
            0.044302434,
            -0.1659538,
            0.16548885,
            0.14300959,
            -0.30849844,
        ]],
        ROUNDED,
    );
    // Infinities: one that is the largest, and rows of nothing else.
    let far = [array(&[3, 2], &[-INF, 0.0, -INF, -INF, INF, 0.0])];
    check(&far, lse, &[0.0, -INF, INF], &[&[]], 0.0);
}

#[test]
fn deviations_and_what_is_normalised() {
    let moments = |x: &Variable, axis: i64| {
        let mean = ops::reduce(Reduction::Mean, x, Some(&[axis]), true).unwrap();
        let off = (x.clone() - mean).boxed();
        let squares = off.clone().square().boxed();
        (
            off,
            ops::reduce(Reduction::Mean, &squares, Some(&[axis]), true).unwrap(),
        )
    };
    let t = || [array(&[2, 4], &[1.0, 2.0, 3.0, 4.0, 0.0, 2.0, 5.0, 10.0])];
    check(
        &t(),
        |v| moments(&v[0], 0).1,
        &[0.25, 0.0, 1.0, 9.0],
        &[&[0.5, 0.0, -1.0, -3.0, -0.5, 0.0, 1.0, 3.0]],
        ROUNDED,
    );
    check(
        &t(),
        |v| (moments(&v[0], 0).1 + 1e-8).sqrt().mean().boxed(),
        &[(0.5 + 0.0001 + 1.0 + 3.0) / 4.0],
        &[&[0.125, 0.0, -0.125, -0.125, -0.125, 0.0, 0.125, 0.125]],
        ROUNDED,
    );
    check(
        &t(),
        |v| moments(&v[0], 1).1.sqrt().mean().boxed(),
        &[(1.118034 + 3.7666297) / 2.0],
        &[&[
            -0.16770509,
            -0.0559017,
            0.0559017,
            0.16770509,
            -0.14104122,
            -0.07466887,
            0.024889633,
            0.19082046,
        ]],
        ROUNDED,
    );
    let normalised = |axis: i64| {
        move |v: &[Variable]| {
            let (off, variance) = moments(&v[0], axis);
            (off / (variance + 1e-5).sqrt()).exp().mean().boxed()
        }
    };
    check(
        &[array(&[3], &[-2.0, 0.0, 5.0])],
        normalised(0),
        &[],
        &[&[0.033410847, -0.04677555, 0.013364702]],
        1e-5,
    );
    check(
        &[array(&[3, 2], &[-2.0, 0.0, 1.0, 2.0, 4.0, 5.0])],
        normalised(0),
        &[],
        &[&[
            0.019245632,
            0.025835907,
            -0.038491584,
            -0.043060362,
            0.019245982,
            0.01722446,
        ]],
        1e-5,
    );
    check(
        &[array(&[4, 2, 3], &[1.0; 24])],
        normalised(2),
        &[1.0],
        &[&[0.0; 24]],
        0.0,
    );
}

#[test]
fn bounds_and_losses() {
    let t = [array(&[2, 3], &[-1.0, 0.0, 1.0, -2.0, 2.0, 1.1])];
    // At a bound either side counts half; dfdx counts it as inside.
    check(
        &t,
        |v| {
            let like = (v[0].clone() * 0.0).boxed();
            let (low, high) = ((like.clone() - 1.0).boxed(), (like + 1.0).boxed());
            v[0].clone().maximum(low).minimum(high).exp().mean().boxed()
        },
        &[],
        &[&[
            0.06131324 / 2.0,
            0.16666667,
            0.45304698 / 2.0,
            0.0,
            0.0,
            0.0,
        ]],
        ROUNDED,
    );
    let a: &[f64] = &[
        -0.8424031, 0.6309481, 1.0416432, 1.325225, 0.5840275, 1.9167633,
    ];
    let b: &[f64] = &[
        0.52022195, 0.578804, 0.17535722, 0.75429636, 0.66566986, 0.6182751,
    ];
    let both = || [array(&[2, 3], a), array(&[2, 3], b)];
    check(
        &both(),
        |v| {
            let inverse = v[1].clone() * -1.0 + 1.0;
            let (yes, no) = (v[0].clone().logsigmoid(), (-v[0].clone()).logsigmoid());
            (-(v[1].clone() * yes + inverse * no)).boxed()
        },
        &[
            0.79638255, 0.69238377, 1.161215, 0.561272, 0.63843495, 0.8688978,
        ],
        &[&[], &[]],
        ROUNDED,
    );
    check(
        &both(),
        |v| {
            let off = (v[0].clone() - v[1].clone()).boxed();
            let size = off.clone().abs().boxed();
            let near = ops::binary(
                &wyrmling::rules::Less,
                &size,
                &wyrmling::graph::Constant::new(Array::scalar(size.dtype(), 1.0)).boxed(),
            );
            let small = (off.square() * 0.5).boxed();
            ops::select(&near.unwrap(), &small, &(size - 0.5).boxed()).unwrap()
        },
        &[
            0.8626251,
            0.0013595072,
            0.37522575,
            0.16297975,
            0.003332735,
            0.79848814,
        ],
        &[&[], &[]],
        ROUNDED,
    );
    let slopes = array(&[5], &[0.05; 5]);
    check(
        &[five()[0].clone(), slopes],
        |v| {
            let zero = wyrmling::graph::Constant::new(Array::scalar(v[0].dtype(), 0.0)).boxed();
            let below = ops::binary(&wyrmling::rules::Less, &v[0], &zero).unwrap();
            let leaky = (v[0].clone() * v[1].clone()).boxed();
            ops::select(&below, &leaky, &v[0]).unwrap().boxed()
        },
        &[-0.1, -0.05, 0.0, 1.0, 2.0],
        &[&[0.05, 0.05, 1.0, 1.0, 1.0], &[-2.0, -1.0, 0.0, 0.0, 0.0]],
        ROUNDED,
    );
}
