//! Frequencies of what is drawn, what never is, and what a sampler tells of itself.

use super::*;
use proptest::prelude::*;

/// Frequencies of items over many draws, and what is expected of them.
fn check_frequencies(sampler: &Sampler, user: Option<u32>, weights: &[f64]) {
    let rounds = 40_000;
    let mut counts = vec![0u32; weights.len()];
    let mut rng = stream(11, 0, 0);
    for _ in 0..rounds / 2 {
        counts[sampler.draw(&mut rng, user) as usize] += 1;
    }
    let mut out = vec![0; rounds / 2];
    sampler.fill(
        &mut rng,
        user.map(|user| vec![user; out.len()]).as_deref(),
        &mut out,
    );
    for item in out {
        counts[item as usize] += 1;
    }
    let total: f64 = weights.iter().sum();
    for (item, (&count, weight)) in counts.iter().zip(weights).enumerate() {
        let expected = rounds as f64 * weight / total;
        // Five standard deviations of a binomial, and never for a weight of 0.
        assert!(
            (f64::from(count) - expected).abs() <= 5.0 * expected.sqrt(),
            "item {item} was drawn {count} times, not {expected}: {counts:?}"
        );
    }
}

#[test]
fn frequencies_follow_the_weights() {
    check_frequencies(&Sampler::uniform(7).unwrap(), None, &[1.0; 7]);
    check_frequencies(&Sampler::uniform(1).unwrap(), Some(3), &[1.0]);
    let counts = [5.0, 0.0, 1.0, 20.0, 0.0, 4.0, 0.25];
    for power in [1.0, 0.75, 0.0, 2.0] {
        let weights = counts.map(|count: f64| count.powf(power));
        check_frequencies(
            &Sampler::popularity(&counts, power).unwrap(),
            None,
            &weights,
        );
    }
    // Weights of any magnitude.
    check_frequencies(
        &Sampler::popularity(&[3e300, 1e300], 1.0).unwrap(),
        None,
        &[3.0, 1.0],
    );
    check_frequencies(
        &Sampler::popularity(&[3e-310, 1e-310], 1.0).unwrap(),
        None,
        &[3.0, 1.0],
    );
    check_frequencies(
        &Sampler::popularity(&[4.0, 1.0], -1.0).unwrap(),
        None,
        &[1.0, 4.0],
    );
}

#[test]
fn known_items_are_left_out_and_the_rest_keep_their_share() {
    let (users, items) = ([2, 2, 2, 0, 2], [6, 1, 0, 3, 1]);
    let uniform = Sampler::uniform(7).unwrap().reject(&users, &items).unwrap();
    check_frequencies(&uniform, Some(2), &[0.0, 0.0, 1.0, 1.0, 1.0, 1.0, 0.0]);
    check_frequencies(&uniform, Some(0), &[1.0, 1.0, 1.0, 0.0, 1.0, 1.0, 1.0]);
    for unknown_to_us in [Some(1), Some(3), Some(u32::MAX), None] {
        check_frequencies(&uniform, unknown_to_us, &[1.0; 7]);
    }

    // What user 2 does not know has a millionth of the weight, so 16 draws do not find it.
    let counts = [1e6, 1e6, 3.0, 0.0, 1.0, 2.0, 1e6];
    let popular = Sampler::popularity(&counts, 1.0)
        .unwrap()
        .reject(&users, &items)
        .unwrap();
    check_frequencies(&popular, Some(2), &[0.0, 0.0, 3.0, 0.0, 1.0, 2.0, 0.0]);
    check_frequencies(&popular, None, &counts);
}

/// Of many items: users who know few, whose filters are shorter than the items; half; and all but
/// few, whom no draw may find.
#[test]
fn sparse_and_dense_users_draw_what_is_left_alike() {
    const ITEMS: u32 = 3000;
    let rows: [Vec<u32>; 5] = [
        vec![0, 1, 1023, 2999],
        (0..ITEMS).filter(|item| item % 2 == 0).collect(),
        (0..ITEMS).filter(|&item| item != 1777).collect(),
        (0..ITEMS).filter(|item| item % 1000 != 999).collect(),
        (64..ITEMS).collect(),
    ];
    let pairs = (0u32..).zip(&rows);
    let pairs = pairs.flat_map(|(user, row)| row.iter().map(move |&item| (user, item)));
    let (users, items): (Vec<u32>, Vec<u32>) = pairs.unzip();
    let uniform = Sampler::uniform(ITEMS as usize).unwrap();
    let counts: Vec<f64> = (0..ITEMS).map(|item| f64::from(item % 7)).collect();
    let popular = Sampler::popularity(&counts, 1.0).unwrap();
    for (sampler, counts) in [(uniform, vec![1.0; counts.len()]), (popular, counts)] {
        let sampler = sampler.reject(&users, &items).unwrap();
        for (user, row) in (0..).zip(&rows) {
            let mut weights = counts.clone();
            row.iter().for_each(|&item| weights[item as usize] = 0.0);
            check_frequencies(&sampler, Some(user), &weights);
            check_chi_square(&sampler, user, &weights);
        }
    }
}

/// Pearson's test of draws against probabilities, in groups of items that come a hundred times each.
fn check_chi_square(sampler: &Sampler, user: u32, weights: &[f64]) {
    let (rounds, groups) = (60_000, 60);
    let total: f64 = weights.iter().sum();
    let group = |item: u32| item as usize % groups;
    let (mut expected, mut found) = (vec![0.0; groups], vec![0.0; groups]);
    for (item, weight) in (0..).zip(weights) {
        expected[group(item)] += f64::from(rounds) * weight / total;
    }
    let mut rng = stream(7, 0, user as usize);
    for _ in 0..rounds {
        found[group(sampler.draw(&mut rng, Some(user)))] += 1.0;
    }
    let pairs = expected.iter().zip(&found);
    let terms = pairs.filter(|(e, _)| **e > 0.0);
    let statistic: f64 = terms.clone().map(|(e, f)| (f - e) * (f - e) / e).sum();
    // Four standard deviations above the mean.
    let freedom = terms.count() as f64 - 1.0;
    let bound = freedom + 4.0 * (2.0 * freedom).sqrt();
    assert!(statistic <= bound, "user {user}: {statistic} > {bound}");
}

#[test]
fn a_sampler_tells_what_it_was_made_of() {
    let uniform = Sampler::uniform(7).unwrap();
    assert_eq!((uniform.weights(), uniform.positives()), (None, None));
    let (users, items) = ([2, 0, 2, 2, 5], [6, 3, 1, 6, 0]);
    let pairs = Some((vec![0, 2, 2, 5], vec![3, 1, 6, 0]));
    assert_eq!(uniform.reject(&users, &items).unwrap().positives(), pairs);
    // The largest weight is 2^61 over the number of items, which is rounded up to a power of two.
    let unit = 2f64.powi(62 - 4);
    for n in [8, 9, 15] {
        let mut counts = vec![0.0; n];
        counts[..4].copy_from_slice(&[1.0, 4.0, 0.5, 1e-300]);
        let sampler = Sampler::popularity(&counts, 1.0).unwrap();
        let mut weights = vec![0.0; n];
        weights[..4].copy_from_slice(&[unit / 4.0, unit, unit / 8.0, 1.0]);
        assert_eq!(sampler.weights(), Some(weights), "{n}");
        assert_eq!(sampler.item_count(), n as u32);
        assert_eq!(sampler.positives(), None);
        let all_but_last = vec![0; n - 1];
        assert!(
            sampler
                .clone()
                .reject(&all_but_last, &(1..n as u32).collect::<Vec<_>>())
                .is_ok()
        );
        assert!(sampler.reject(&[0], &[n as u32]).is_err());
    }
}

proptest! {
    #[test]
    fn what_is_drawn_is_unknown_and_has_weight(
        counts in prop::collection::vec(prop_oneof![Just(0.0), 1.0..100.0], 1..40),
        pairs in prop::collection::vec((prop_oneof![0u32..5, Just(u32::MAX)], 0u32..40), 0..80),
        by_weight in any::<bool>(),
        seed in any::<u64>(),
    ) {
        let n = counts.len() as u32;
        let (users, items): (Vec<u32>, Vec<u32>) = pairs.into_iter().map(|(u, i)| (u, i % n)).unzip();
        let sampler = if by_weight { Sampler::popularity(&counts, 1.0) } else { Sampler::uniform(counts.len()) };
        let Ok(sampler) = sampler else {
            prop_assert!(by_weight && counts.iter().all(|&count| count == 0.0));
            return Ok(());
        };
        let knows = |user, item| users.iter().zip(&items).any(|pair| pair == (&user, &item));
        let has_weight = |item: u32| !by_weight || counts[item as usize] > 0.0;
        let exhausted = users.iter().any(|&u| (0..n).all(|i| knows(u, i) || !has_weight(i)));
        let sampler = match sampler.reject(&users, &items) {
            Ok(sampler) => sampler,
            Err(error) => {
                prop_assert!(exhausted, "{error}");
                return Ok(());
            }
        };
        prop_assert!(!exhausted);
        let mut rng = stream(seed, 0, 0);
        for user in [0, 1, 2, 3, 4, 5, u32::MAX - 1, u32::MAX] {
            for _ in 0..50 {
                let item = sampler.draw(&mut rng, Some(user));
                prop_assert!(item < n && has_weight(item) && !knows(user, item));
            }
        }
    }
}

#[test]
fn bad_arguments_are_named() {
    let message = |result: Result<Sampler>| result.unwrap_err().to_string();
    assert!(message(Sampler::uniform(0)).contains("n is 0"));
    assert!(message(Sampler::popularity(&[], 1.0)).contains("the length of counts is 0"));
    for bad in [-1.0, f64::NAN, f64::INFINITY] {
        let text = message(Sampler::popularity(&[1.0, bad], 1.0));
        assert!(text.contains(&format!("counts[1] is {bad}")), "{text}");
        assert!(message(Sampler::popularity(&[1.0], bad / 0.0)).contains("power is"));
    }
    assert!(message(Sampler::popularity(&[0.0, 1.0], -1.0)).contains("counts[0] is 0"));
    assert!(message(Sampler::popularity(&[1e200], 2.0)).contains("counts[0]"));
    assert!(message(Sampler::popularity(&[0.0, 0.0], 1.0)).contains("0 for every item"));

    let uniform = || Sampler::uniform(3).unwrap();
    assert!(message(uniform().reject(&[0], &[])).contains("same length, found 1 and 0"));
    let error = uniform().reject(&[0, 1], &[2, 3]).unwrap_err();
    assert_eq!(
        error,
        Error::Index("items[1] is 3, expected less than 3".into())
    );
    let all = uniform().reject(&[1, 9, 9, 9], &[0, 2, 0, 1]);
    assert!(message(all).contains("user 9 knows every item"));
    let heavy = Sampler::popularity(&[1.0, 0.0], 1.0)
        .unwrap()
        .reject(&[4_000_000_000], &[0]);
    assert!(message(heavy).contains("user 4000000000 knows"));
}
