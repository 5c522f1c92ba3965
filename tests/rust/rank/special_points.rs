//! Lists and metrics where scores crowd, are equal or infinite, where all is held out, and at widths and
//! lengths at which the way of computing changes.

use ndarray::{Array2, s};
use rand::{RngExt, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;
use wyrmling::rank::{Csr, Factors, evaluate, top_k};

use super::{Case, NEVER, check_evaluation, naive_top_k};

/// A user whose items score as `scores` says.
fn of_scores(
    scores: Vec<f32>,
    is_seen: impl Fn(usize) -> bool,
    is_held: impl Fn(usize) -> bool,
) -> Case {
    let items = |is: &dyn Fn(usize) -> bool| {
        let chosen = (0..scores.len()).filter(|&item| is(item));
        chosen.map(|item| (0, item as u32)).collect()
    };
    Case {
        users: Array2::zeros((1, 0)),
        items: Array2::zeros((scores.len(), 0)),
        train: items(&is_seen),
        test: items(&is_held),
        bias: Some(scores.into()),
    }
}

/// A few held-out scores are compared with every score; more are searched as trees of up to 63.
#[test]
fn however_many_are_held_out_metrics_are_what_they_are_defined_to_be() {
    let mut rng = Xoshiro256PlusPlus::seed_from_u64(3);
    let spread: [&dyn Fn(f32) -> f32; 9] = [
        &|x| x,
        &|x| (x * 5.0).floor(),
        &|x| (x * 300.0).floor() / 7.0,
        &|_| -2.5,
        // One far above or below, or nearly all close together.
        &|x| if x > 0.999 { 3e38 } else { x },
        &|x| if x < 0.001 { -3e38 } else { x },
        &|x| x.powi(40),
        &|x| match (x * 20.0) as u8 {
            0 => f32::INFINITY,
            1 => f32::NEG_INFINITY,
            _ => x - 0.5,
        },
        &|x| if x < 0.5 { -0.0 } else { 0.0 },
    ];
    for spread in spread {
        for (n, step) in [
            (1, 1),
            (9, 1),
            (16, 1),
            (1040, 7),
            (1041, 1),
            (2300, 3),
            (2300, 200),
        ] {
            let scores: Vec<f32> = (0..n).map(|_| spread(rng.random())).collect();
            let case = of_scores(
                scores.clone(),
                |item| item % 5 == 1,
                |item| item % step == 0,
            );
            for k in [1, 10, 70, n, n + 5] {
                check_evaluation(&case, k);
                let found = top_k(&case.factors(), Some(&case.csr(&case.train)), k, &NEVER);
                assert_eq!(found.unwrap(), naive_top_k(&case, k));
            }
            // No other item competes.
            let case = of_scores(scores, |item| item % 5 == 1, |item| item % 5 != 1);
            check_evaluation(&case, 10);
        }
    }
}

/// Rising scores raise the bar again and again; equal ones keep the order of numbers.
#[test]
fn the_order_of_items_does_not_matter_to_the_bar() {
    for (n, k) in [(3000, 1), (3000, 33), (3000, 900), (1040, 1040), (5, 9)] {
        for score in [
            |at: usize| at as f32,
            |at| -(at as f32),
            |at| (at / 7) as f32,
            |_| 0.0,
        ] {
            let case = of_scores((0..n).map(score).collect(), |item| item % 3 == 2, |_| false);
            let found = top_k(&case.factors(), Some(&case.csr(&case.train)), k, &NEVER);
            assert_eq!(found.unwrap(), naive_top_k(&case, k));
        }
    }
}

/// Also where most of a block have nothing held out, and whatever the width is.
#[test]
fn who_is_measured_with_whom_does_not_matter() {
    let mut rng = Xoshiro256PlusPlus::seed_from_u64(9);
    for width in [1, 15, 16, 17, 33, 65] {
        let users = Array2::from_shape_simple_fn((200, width), || rng.random::<f32>() - 0.5);
        let items = Array2::from_shape_simple_fn((1100, width), || rng.random::<f32>() - 0.5);
        let mut pairs = |count: usize| -> (Vec<u32>, Vec<u32>) {
            let mut of = |most| (0..count).map(|_| rng.random_range(0..most)).collect();
            (of(200), of(1100))
        };
        let (train, test) = (pairs(4000), pairs(2000));
        let train = Csr::from_pairs(&train.0, &train.1, 200, 1100).unwrap();
        let test = Csr::from_pairs(&test.0, &test.1, 200, 1100).unwrap();
        let among = Factors::new(users.view(), items.view(), None).unwrap();
        let among = evaluate(&among, &train, &test, 10, &NEVER).unwrap();
        for (&user, metrics) in among.users.iter().zip(&among.metrics).step_by(9) {
            let alone = Factors::new(users.slice(s![user..=user, ..]), items.view(), None).unwrap();
            let [train, test] = [&train, &test].map(|pairs| pairs.select(&[user as u32]).unwrap());
            let alone = evaluate(&alone, &train, &test, 10, &NEVER).unwrap();
            assert_eq!(&alone.metrics[0], metrics, "{width}");
        }
    }
}
