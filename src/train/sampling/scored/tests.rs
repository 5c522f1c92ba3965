//! Tests of samplers that read the model.

use std::sync::atomic::AtomicBool;

use super::*;
use crate::array::{Array, Dense};
use crate::interrupt;
use crate::train::sampling::stream;

fn table(shape: &[usize], numbers: &[f32]) -> Arc<Table> {
    let array: Array = Dense::from_vec(shape.iter().copied().collect(), numbers.to_vec()).into();
    Arc::new(Table::new(&array, None).unwrap())
}

/// One user, and items with these scores.
fn sampler(scores: &[f32], choice: Choice) -> ScoredSampler {
    let n = scores.len();
    ScoredSampler::new(
        Sampler::uniform(n).unwrap().reject(&[0], &[0]).unwrap(),
        table(&[1, 1], &[1.0]),
        table(&[n, 1], &vec![0.0; n]),
        Some(table(&[n], scores)),
        choice,
    )
    .unwrap()
}

fn drawn(sampler: &ScoredSampler, count: usize) -> (Vec<u32>, Vec<f32>) {
    try_drawn(sampler, count).unwrap()
}

fn try_drawn(sampler: &ScoredSampler, count: usize) -> Result<(Vec<u32>, Vec<f32>)> {
    let (mut items, mut ranks) = (vec![9; count], vec![9.0; count]);
    let samples = ScoredSamples {
        users: &vec![0; count],
        items: Some(&vec![0; count]),
        spans: Spans::Rows(1),
    };
    let draws = ScoredDraws {
        items: &mut items,
        ranks: Some(&mut ranks),
    };
    let state = (&mut stream(1, 0, 0), &mut sampler.orders().unwrap());
    // SAFETY: the users and items are rows; nobody else has the tables.
    unsafe { sampler.fill(state, samples, draws) }?;
    Ok((items, ranks))
}

#[test]
fn warp_stops_at_the_first_item_within_the_margin() {
    // Item 0 is the sample's; 2 is within the margin of it, 1 and 3 are not.
    let choice = Choice::Warp {
        margin: 1.0,
        most: 100,
    };
    let sampler = sampler(&[2.0, 1.0, 1.5, -5.0], choice);
    let (items, ranks) = drawn(&sampler, 300);
    assert!(items.iter().all(|&item| item == 2));
    // One draw of three is item 2: ranks are 3, 1 and 1.
    let first = ranks.iter().filter(|&&rank| rank == 3.0).count();
    assert!((60..140).contains(&first), "{first}");
    assert!(ranks.iter().all(|&rank| rank == 3.0 || rank == 1.0));
}

#[test]
fn where_nothing_violates_the_last_draw_has_rank_one() {
    let choice = Choice::Warp {
        margin: 1.0,
        most: 3,
    };
    let (items, ranks) = drawn(&sampler(&[9.0, 0.0, 0.0], choice), 50);
    assert!(items.iter().all(|&item| item == 1 || item == 2));
    assert_eq!(ranks, [1.0; 50]);
}

#[test]
fn the_hardest_of_several_has_the_highest_score() {
    let scores = [9.0, 1.0, 2.0, 3.0];
    let (one, _) = drawn(&sampler(&scores, Choice::Hardest(1)), 300);
    let (many, _) = drawn(&sampler(&scores, Choice::Hardest(50)), 300);
    assert!((1..4).all(|item| one.iter().filter(|&&i| i == item).count() > 60));
    assert_eq!(many, [3; 300]);
    let (two, _) = drawn(&sampler(&scores, Choice::Hardest(2)), 300);
    let most = two.iter().filter(|&&item| item == 3).count();
    // 5 of 9 pairs have item 3 in them.
    assert!((130..205).contains(&most), "{most}");
}

#[test]
fn a_search_that_finds_nothing_can_be_ended() {
    let (margin, most) = (1.0, u32::MAX);
    for choice in [Choice::Warp { margin, most }, Choice::Hardest(most)] {
        let sampler = sampler(&[9.0, 0.0, 0.0], choice);
        let stop = AtomicBool::new(true);
        let draw = || try_drawn(&sampler, 1);
        let ended = interrupt::with_stop_flag(&stop, draw);
        assert!(matches!(ended, Err(Error::Interrupted)), "{ended:?}");
    }
}

#[test]
fn vectors_must_fit() {
    let base = || Sampler::uniform(2).unwrap();
    let of = |users: &[usize], items: &[usize], bias: &[usize], choice| {
        let zeros = |shape: &[usize]| table(shape, &vec![0.0; shape.iter().product()]);
        let bias = Some(zeros(bias));
        ScoredSampler::new(base(), zeros(users), zeros(items), bias, choice).map(|_| ())
    };
    let one = Choice::Hardest(1);
    assert!(of(&[3, 2], &[2, 2], &[2], one).is_ok());
    assert!(matches!(
        of(&[3, 2], &[2, 3], &[2], one),
        Err(Error::Shape(_))
    ));
    assert!(matches!(
        of(&[3, 2], &[3, 2], &[3], one),
        Err(Error::Shape(_))
    ));
    assert!(matches!(
        of(&[3, 2], &[2, 2], &[3], one),
        Err(Error::Shape(_))
    ));
    assert!(matches!(of(&[3], &[2], &[2], one), Err(Error::Shape(_))));
    let wrong = |choice| matches!(of(&[3, 2], &[2, 2], &[2], choice), Err(Error::Value(_)));
    assert!(wrong(Choice::Hardest(0)));
    assert!(wrong(Choice::Warp {
        margin: 1.0,
        most: 0
    }));
    assert!(wrong(Choice::Warp {
        margin: f64::NAN,
        most: 1
    }));
    for scale in [0.0, -1.0, f64::NAN, f64::INFINITY] {
        assert!(wrong(Choice::Adaptive(scale)));
    }
}
