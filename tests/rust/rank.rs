//! Ranking against naive oracles.
//!
//! Factors are small integers, whose products are exact in f32 whatever the order
//! of summation, so that results must be equal, not close; and ties are plenty.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::collections::BTreeSet;
use std::sync::atomic::AtomicBool;

use ndarray::{Array1, Array2, ArrayView2, array, s};
use proptest::prelude::*;
use rand::{RngExt, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;
use wyrmling::error::Error;
use wyrmling::rank::{Csr, Evaluation, Factors, Metrics, NO_ITEM, TopK, evaluate, top_k};

mod special_points;

type Pairs = BTreeSet<(u32, u32)>;

/// A random ranking problem.
#[derive(Debug)]
struct Case {
    users: Array2<f32>,
    items: Array2<f32>,
    bias: Option<Array1<f32>>,
    train: Pairs,
    test: Pairs,
}

impl Case {
    fn new(seed: u64, n: usize, m: usize, d: usize) -> Case {
        let mut rng = Xoshiro256PlusPlus::seed_from_u64(seed);
        let mut small = || rng.random_range(-3..=3) as f32;
        let users = Array2::from_shape_simple_fn((n, d), &mut small);
        let items = Array2::from_shape_simple_fn((m, d), &mut small);
        let bias = Array1::from_shape_simple_fn(m, &mut small);
        let bias = (!seed.is_multiple_of(3)).then_some(bias);
        let mut pairs = |count: usize| {
            (0..if n * m > 0 { count } else { 0 })
                .map(|_| (rng.random_range(0..n as u32), rng.random_range(0..m as u32)))
                .collect()
        };
        Case {
            users,
            items,
            bias,
            train: pairs(n * m.min(40) / 4),
            test: pairs(n * m.min(40) / 6),
        }
    }

    fn factors(&self) -> Factors<'_> {
        let bias = self.bias.as_ref().map(|bias| bias.view());
        Factors::new(self.users.view(), self.items.view(), bias).unwrap()
    }

    fn csr(&self, pairs: &Pairs) -> Csr {
        let (users, items): (Vec<_>, Vec<_>) = pairs.iter().copied().unzip();
        Csr::from_pairs(&users, &items, self.users.nrows(), self.items.nrows()).unwrap()
    }

    fn score(&self, user: usize, item: usize) -> f32 {
        let dot: f32 = (self.users.row(user).iter())
            .zip(self.items.row(item))
            .map(|(a, b)| a * b)
            .sum();
        dot + self.bias.as_ref().map_or(0.0, |bias| bias[item])
    }

    /// Scores and items that compete for a user.
    fn competitors(&self, user: usize, without: &Pairs) -> Vec<(f32, u32)> {
        (0..self.items.nrows() as u32)
            .filter(|&item| !without.contains(&(user as u32, item)))
            .map(|item| (self.score(user, item as usize), item))
            .collect()
    }
}

/// Nobody sets it.
static NEVER: AtomicBool = AtomicBool::new(false);

fn naive_top_k(case: &Case, k: usize) -> TopK {
    let k = k.min(case.items.nrows());
    let mut best = TopK {
        k,
        ids: vec![],
        scores: vec![],
    };
    for user in 0..case.users.nrows() {
        let mut all = case.competitors(user, &case.train);
        all.sort_by(|a, b| b.0.partial_cmp(&a.0).unwrap().then(a.1.cmp(&b.1)));
        all.resize(k.max(all.len()), (f32::NEG_INFINITY, NO_ITEM));
        best.scores.extend(all[..k].iter().map(|best| best.0));
        best.ids.extend(all[..k].iter().map(|best| best.1));
    }
    best
}

fn naive_evaluate(case: &Case, k: usize) -> Vec<(usize, Metrics)> {
    let mut users = Vec::new();
    for user in 0..case.users.nrows() {
        let all = case.competitors(user, &case.train);
        let is_held_out = |item: u32| case.test.contains(&(user as u32, item));
        let (held_out, others): (Vec<_>, Vec<_>) = all.iter().partition(|c| is_held_out(c.1));
        if held_out.is_empty() {
            continue;
        }
        let h = held_out.len() as f64;
        let rank = |score: f32| all.iter().filter(|other| other.0 >= score).count();
        let ranks: Vec<usize> = held_out.iter().map(|c: &(f32, u32)| rank(c.0)).collect();
        let hits = ranks.iter().filter(|&&rank| rank <= k).count() as f64;
        let gain = |rank: usize| (2f64).ln() / (1.0 + rank as f64).ln();
        let gained: f64 = (ranks.iter().filter(|&&rank| rank <= k))
            .map(|&rank| gain(rank))
            .sum();
        let possible: f64 = (1..=held_out.len()).filter(|&r| r <= k).map(gain).sum();
        let mut pairs = Vec::new();
        for (score, _) in &held_out {
            for (other, _) in &others {
                let order = score.partial_cmp(other).unwrap() as i8;
                pairs.push((f64::from(order) + 1.0) / 2.0);
            }
        }
        let metrics = Metrics {
            reciprocal_rank: 1.0 / *ranks.iter().min().unwrap() as f64,
            ndcg: gained / possible,
            recall: hits / h,
            precision: hits / k as f64,
            hit: f64::from(hits > 0.0),
            auc: if pairs.is_empty() {
                0.5
            } else {
                pairs.iter().sum::<f64>() / pairs.len() as f64
            },
        };
        users.push((user, metrics));
    }
    users
}

fn assert_close(found: &Metrics, expected: &Metrics) {
    let numbers = |m: &Metrics| {
        [
            m.reciprocal_rank,
            m.ndcg,
            m.recall,
            m.precision,
            m.hit,
            m.auc,
        ]
    };
    for (a, b) in numbers(found).into_iter().zip(numbers(expected)) {
        assert!((a - b).abs() < 1e-12, "{found:?} is not {expected:?}");
    }
}

fn check_evaluation(case: &Case, k: usize) {
    let (train, test) = (case.csr(&case.train), case.csr(&case.test));
    let expected = naive_evaluate(case, k);
    let found = evaluate(&case.factors(), &train, &test, k, &NEVER);
    if expected.is_empty() {
        assert!(matches!(found, Err(Error::Value(_))), "{found:?}");
        return;
    }
    let found = found.unwrap();
    let users: Vec<usize> = expected.iter().map(|(user, _)| *user).collect();
    assert_eq!(found.users, users);
    for (found, (_, expected)) in found.metrics.iter().zip(&expected) {
        assert_close(found, expected);
    }
    let mrr = expected.iter().map(|(_, m)| m.reciprocal_rank).sum::<f64>() / users.len() as f64;
    assert!((found.mean().reciprocal_rank - mrr).abs() < 1e-12);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    #[test]
    fn top_k_agrees_with_sorting(seed: u64, n in 0..12usize, m in 0..90usize, d in 0..5usize, k in 1..100usize) {
        let case = Case::new(seed, n, m, d);
        let found = top_k(&case.factors(), Some(&case.csr(&case.train)), k, &NEVER).unwrap();
        prop_assert_eq!(found, naive_top_k(&case, k));
    }

    #[test]
    fn metrics_agree_with_their_definitions(seed: u64, n in 1..12usize, m in 1..50usize, d in 0..4usize, k in 1..60usize) {
        check_evaluation(&Case::new(seed, n, m, d), k);
    }

    #[test]
    fn csr_agrees_with_a_set(pairs in prop::collection::vec((0..9u32, 0..13u32), 0..120)) {
        let (users, items): (Vec<_>, Vec<_>) = pairs.iter().copied().unzip();
        let csr = Csr::from_pairs(&users, &items, 9, 13).unwrap();
        let set: Pairs = pairs.into_iter().collect();
        prop_assert_eq!(csr.len(), set.len());
        let back = (0..csr.n_users()).flat_map(|u| csr.row(u).iter().map(move |&i| (u as u32, i)));
        prop_assert!(back.eq(set.iter().copied()));
        for user in 0..11 {
            for item in 0..15 {
                prop_assert_eq!(csr.contains(user, item), set.contains(&(user as u32, item)));
            }
        }
        let again = Csr::from_parts(csr.indptr().to_vec(), csr.indices().to_vec(), 13).unwrap();
        prop_assert_eq!(&again, &csr);
        let some = csr.select(&[4, 0, 4]).unwrap();
        prop_assert_eq!((some.n_users(), some.n_items()), (3, 13));
        prop_assert_eq!([some.row(0), some.row(1), some.row(2)], [csr.row(4), csr.row(0), csr.row(4)]);
    }

    #[test]
    fn csr_from_any_parts_is_valid_or_refused(
        indptr in prop::collection::vec(0..12usize, 0..6),
        indices in prop::collection::vec(0..9u32, 0..10),
    ) {
        let valid = indptr.first() == Some(&0)
            && indptr.last() == Some(&indices.len())
            && indptr.is_sorted()
            && indices.iter().all(|&item| item < 7)
            && indptr.windows(2).all(|ends| indices[ends[0]..ends[1]].is_sorted_by(|a, b| a < b));
        prop_assert_eq!(Csr::from_parts(indptr, indices, 7).is_ok(), valid);
    }
}

/// Sizes that cross the edges of blocks, tiles and chunks, and use several threads.
#[test]
fn blocks_and_tiles_fit_together() {
    for (seed, n, m, k) in [
        (1, 600, 1, 2),
        (2, 3, 2049, 40),
        (4, 520, 1100, 7),
        (5, 257, 1024, 1),
    ] {
        let case = Case::new(seed, n, m, 3);
        let found = top_k(&case.factors(), Some(&case.csr(&case.train)), k, &NEVER).unwrap();
        assert_eq!(found, naive_top_k(&case, k));
        check_evaluation(&case, k);
    }
}

#[test]
fn a_user_alone_has_the_scores_it_has_among_others() {
    let mut rng = Xoshiro256PlusPlus::seed_from_u64(7);
    let users = Array2::from_shape_simple_fn((300, 37), || rng.random::<f32>() - 0.5);
    let items = Array2::from_shape_simple_fn((1500, 37), || rng.random::<f32>() - 0.5);
    let among = Factors::new(users.view(), items.view(), None).unwrap();
    let among = top_k(&among, None, 20, &NEVER).unwrap();
    for user in [0, 1, 255, 256, 299] {
        let alone = Factors::new(users.slice(s![user..=user, ..]), items.view(), None).unwrap();
        let alone = top_k(&alone, None, 20, &NEVER).unwrap();
        assert_eq!(alone.ids, among.ids[user * 20..][..20]);
        for (one, other) in alone.scores.iter().zip(&among.scores[user * 20..][..20]) {
            assert!((one - other).abs() <= 1e-6, "{one} {other}");
        }
    }
}

#[test]
fn strides_do_not_matter() {
    let case = Case::new(11, 5, 60, 4);
    let expected = naive_top_k(&case, 9);
    let columns = |array: &Array2<f32>| array.t().as_standard_layout().to_owned();
    let (users, items) = (columns(&case.users), columns(&case.items));
    let reversed: Array1<f32> = case.bias.iter().flatten().rev().copied().collect();
    let bias = reversed.slice(s![..;-1]);
    let factors = Factors::new(users.t(), items.t(), Some(bias)).unwrap();
    let found = top_k(&factors, Some(&case.csr(&case.train)), 9, &NEVER).unwrap();
    assert_eq!(found, expected);
}

#[test]
fn factors_without_width_rank_by_bias() {
    let (users, items) = (Array2::zeros((3, 0)), Array2::zeros((4, 0)));
    let popularity = array![5.0, 9.0, 0.0, 9.0];
    let factors = Factors::new(users.view(), items.view(), Some(popularity.view())).unwrap();
    let found = top_k(&factors, None, 3, &NEVER).unwrap();
    assert_eq!(found.ids, [1, 3, 0].repeat(3));
    assert_eq!(found.scores, [9.0, 9.0, 5.0].repeat(3));
}

/// Four items score 4, 2, 2, 1 and a fifth, 9, is a training item. Items 1 (tied
/// for second, so third) and 3 (fourth) are held out.
#[test]
fn a_worked_example() {
    let (users, items) = (Array2::zeros((1, 0)), Array2::zeros((5, 0)));
    let scores = array![4.0, 2.0, 2.0, 1.0, 9.0];
    let factors = Factors::new(users.view(), items.view(), Some(scores.view())).unwrap();
    let train = Csr::from_pairs(&[0], &[4], 1, 5).unwrap();
    // A held-out item that is also a training item does not count.
    let test = Csr::from_pairs(&[0, 0, 0], &[1, 3, 4], 1, 5).unwrap();
    let Evaluation { users, metrics } = evaluate(&factors, &train, &test, 3, &NEVER).unwrap();
    assert_eq!(users, [0]);
    let expected = Metrics {
        reciprocal_rank: 1.0 / 3.0,
        ndcg: 0.5 / (1.0 + 1.0 / 3f64.log2()),
        recall: 0.5,
        precision: 1.0 / 3.0,
        hit: 1.0,
        // Item 1 loses to item 0 and ties with item 2; item 3 loses to both.
        auc: 0.5 / 4.0,
    };
    assert_close(&metrics[0], &expected);
}

#[test]
fn a_constant_model_gains_nothing() {
    let (users, items) = (Array2::zeros((1, 2)), Array2::zeros((1000, 2)));
    let factors = Factors::new(users.view(), items.view(), None).unwrap();
    let none = Csr::from_pairs(&[], &[], 1, 1000).unwrap();
    let test = Csr::from_pairs(&[0], &[0], 1, 1000).unwrap();
    let mean = evaluate(&factors, &none, &test, 10, &NEVER).unwrap().mean();
    assert_eq!(
        (mean.reciprocal_rank, mean.hit, mean.auc),
        (0.001, 0.0, 0.5)
    );
}

#[test]
fn scores_that_are_not_numbers_are_refused_and_infinite_ones_ranked() {
    let users = array![[1.0f32], [1.0]];
    let mut items = Array2::from_elem((100, 1), 0.5f32);
    items[[70, 0]] = f32::INFINITY;
    items[[3, 0]] = f32::NEG_INFINITY;
    let rank = |items: ArrayView2<f32>, k| {
        let factors = Factors::new(users.view(), items, None).unwrap();
        let held_out = Csr::from_pairs(&[0], &[3], 2, 100).unwrap();
        let none = Csr::from_pairs(&[], &[], 2, 100).unwrap();
        let quality = evaluate(&factors, &none, &held_out, 5, &NEVER);
        (top_k(&factors, None, k, &NEVER), quality)
    };
    let (best, quality) = rank(items.view(), 100);
    let best = best.unwrap();
    assert_eq!((best.ids[0], best.ids[1], best.ids[99]), (70, 0, 3));
    assert_eq!(quality.unwrap().metrics[0].reciprocal_rank, 0.01);

    for place in [0, 31, 32, 99] {
        let mut items = items.clone();
        items[[place, 0]] = f32::NAN;
        let (best, quality) = rank(items.view(), 2);
        for error in [best.unwrap_err(), quality.unwrap_err()] {
            assert!(matches!(error, Error::NotFinite(_)), "{error:?}");
            assert!(
                error.to_string().contains(&format!("item {place} ")),
                "{error}"
            );
        }
    }
}

/// In any block of users, and however many scores of a user are none.
#[test]
fn scores_that_are_not_numbers_are_found_wherever_they_are() {
    const USERS: usize = 300;
    let items = Array2::from_elem((100, 1), 0.5f32);
    let bias = Array1::from_shape_fn(100, |k| if k < 2 { f32::NAN } else { 0.0 });
    let users = Array2::from_elem((USERS, 1), 1.0f32);
    let held_out = Csr::from_pairs(&[299], &[7], USERS, 100).unwrap();
    let none = Csr::from_pairs(&[], &[], USERS, 100).unwrap();
    assert!(none.is_empty() && !held_out.is_empty());
    let factors = Factors::new(users.view(), items.view(), Some(bias.view())).unwrap();
    let error = evaluate(&factors, &none, &held_out, 5, &NEVER).unwrap_err();
    assert!(error.to_string().contains("item 0 "), "{error}");

    let mut users = users;
    users[[299, 0]] = f32::NAN;
    let factors = Factors::new(users.view(), items.view(), None).unwrap();
    let error = top_k(&factors, None, 3, &NEVER).unwrap_err();
    let named = error.to_string().contains("user 299") && error.to_string().contains("item 0 ");
    assert!(named, "{error}");
}

#[test]
fn zeros_of_both_signs_are_equal() {
    let (users, items) = (Array2::zeros((1, 0)), Array2::zeros((3, 0)));
    let scores = array![-0.0, 0.0, -0.0];
    let factors = Factors::new(users.view(), items.view(), Some(scores.view())).unwrap();
    assert_eq!(top_k(&factors, None, 3, &NEVER).unwrap().ids, [0, 1, 2]);
}

#[test]
fn what_does_not_fit_is_refused() {
    let users = Array2::<f32>::zeros((2, 3));
    let items = Array2::<f32>::zeros((4, 3));
    let narrow = items.slice(s![.., ..2]);
    let bias = Array1::<f32>::zeros(3);
    for error in [
        Factors::new(users.view(), narrow, None).unwrap_err(),
        Factors::new(users.view(), items.view(), Some(bias.view())).unwrap_err(),
    ] {
        assert!(matches!(error, Error::Shape(_)), "{error:?}");
    }
    let factors = Factors::new(users.view(), items.view(), None).unwrap();
    let good = Csr::from_pairs(&[0], &[0], 2, 4).unwrap();
    let bad = Csr::from_pairs(&[0], &[0], 2, 5).unwrap();
    assert!(matches!(
        top_k(&factors, Some(&bad), 1, &NEVER),
        Err(Error::Shape(_))
    ));
    assert!(matches!(
        evaluate(&factors, &bad, &good, 1, &NEVER),
        Err(Error::Shape(_))
    ));
    assert!(matches!(
        evaluate(&factors, &good, &bad, 1, &NEVER),
        Err(Error::Shape(_))
    ));
    assert!(matches!(
        top_k(&factors, None, 0, &NEVER),
        Err(Error::Value(_))
    ));
    assert!(matches!(
        evaluate(&factors, &good, &good, 0, &NEVER),
        Err(Error::Value(_))
    ));
    // What is held out was trained on: there is nothing to measure.
    assert!(matches!(
        evaluate(&factors, &good, &good, 1, &NEVER),
        Err(Error::Value(_))
    ));

    let error = Csr::from_pairs(&[0, 2], &[0, 0], 2, 4).unwrap_err();
    assert_eq!(
        error,
        Error::Index("users[1] is 2, expected less than 2".into())
    );
    let error = Csr::from_pairs(&[0], &[4], 2, 4).unwrap_err();
    assert_eq!(
        error,
        Error::Index("items[0] is 4, expected less than 4".into())
    );
    assert!(matches!(
        Csr::from_pairs(&[0], &[], 2, 4),
        Err(Error::Shape(_))
    ));
    assert!(matches!(
        Csr::from_pairs(&[], &[], usize::MAX, 4),
        Err(Error::Memory(_))
    ));
    assert!(matches!(good.select(&[2]), Err(Error::Index(_))));
}

/// Views of no width cost nothing and may claim any number of rows.
#[test]
fn sizes_beyond_memory_are_refused() {
    let nothing = Array2::<f32>::zeros((1, 0));
    let many = nothing.broadcast((1 << 31, 0)).unwrap();
    let too_many = nothing.broadcast((1 << 32, 0)).unwrap();
    assert!(matches!(
        Factors::new(nothing.view(), too_many, None),
        Err(Error::Value(_))
    ));
    let factors = Factors::new(nothing.broadcast((1 << 40, 0)).unwrap(), many, None).unwrap();
    let found = top_k(&factors, None, usize::MAX, &NEVER);
    assert!(matches!(found, Err(Error::Memory(_))), "{found:?}");
    // A user of a million items, asked for four million times.
    let items: Vec<u32> = (0..1 << 20).collect();
    let pairs = Csr::from_pairs(&vec![0; items.len()], &items, 1, items.len()).unwrap();
    let found = pairs.select(&vec![0; 1 << 22]);
    assert!(matches!(found, Err(Error::Memory(_))));
    let found = Csr::from_pairs(&[], &[], usize::MAX, 1);
    assert!(matches!(found, Err(Error::Memory(_))));
}

#[test]
fn one_can_stop() {
    let case = Case::new(1, 700, 50, 2);
    let train = case.csr(&case.train);
    let test = case.csr(&case.test);
    assert_eq!(
        top_k(&case.factors(), None, 3, &AtomicBool::new(true)),
        Err(Error::Interrupted)
    );
    let found = evaluate(&case.factors(), &train, &test, 3, &AtomicBool::new(true));
    assert_eq!(found, Err(Error::Interrupted));
}
