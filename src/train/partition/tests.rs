//! Tests of dividing samples among workers.

use std::collections::HashSet;
use std::sync::Arc;

use proptest::prelude::*;

use super::*;
use crate::array::{Array, DType, Type};
use crate::exec::Leaf;
use crate::train::sampling::exchanged::BlockDraws;
use crate::train::sampling::stream;
use crate::train::{Sampler, Source};

const USERS: u32 = 300;
const ITEMS: u32 = 1600;

/// Feeds of as many samples, of users and items by `index`, and of items drawn for the users.
fn feeds(count: u32, index: impl Fn(u32, u32) -> u32) -> Feeds {
    drawn_feeds(count, index, Sampler::uniform(ITEMS as usize).unwrap())
}

fn drawn_feeds(count: u32, index: impl Fn(u32, u32) -> u32, sampler: Sampler) -> Feeds {
    feeds_drawn_by(&[sampler], 1, count, index)
}

/// Feeds of samples for each of which every sampler draws so many items.
fn feeds_drawn_by(
    samplers: &[Sampler],
    draws: usize,
    count: u32,
    index: impl Fn(u32, u32) -> u32,
) -> Feeds {
    let column = |below: u32| Array::from((0..count).map(|k| index(k, below)).collect::<Vec<_>>());
    let sampled = samplers.iter().map(|sampler| Source::Sampled {
        sampler: Arc::new(sampler.clone()),
        given: Some(0),
    });
    let columns = [USERS, ITEMS].map(|below| Source::Column(column(below)));
    let sources: Vec<(u64, Source)> = (0..).zip(columns.into_iter().chain(sampled)).collect();
    let shape = |id: u64| match draws > 1 && id > 1 {
        true => vec![1, draws],
        false => vec![1],
    };
    let leaves = (0..sources.len() as u64).map(|id| Leaf::Input {
        id,
        ty: Type::new(DType::U32, &shape(id)),
        name: String::new(),
    });
    Feeds::new(leaves.collect::<Vec<_>>().iter(), &sources).unwrap()
}

fn any_index(k: u32, below: u32) -> u32 {
    ((u64::from(k.wrapping_mul(2_654_435_769)) * u64::from(below)) >> 32) as u32
}

fn tables(width: usize) -> [Table; 3] {
    [(USERS, width), (ITEMS, width), (ITEMS, 1)].map(|(rows, width)| {
        let ty = Type::new(DType::F32, &[rows as usize, width]);
        Table::zeros(&ty, None).unwrap()
    })
}

/// Users look up the first table; items, and those drawn, the others.
fn lookups(tables: &[Table; 3]) -> Vec<TableLookup<'_>> {
    lookups_of(tables, &[(0, 0), (1, 1), (2, 1), (1, 2), (2, 2)])
}

/// Tables, by number, and the inputs that have their rows.
fn lookups_of<'a>(tables: &'a [Table; 3], places: &[(usize, usize)]) -> Vec<TableLookup<'a>> {
    let lookup = |&(number, input): &(usize, usize)| TableLookup {
        table: &tables[number],
        number,
        input,
    };
    places.iter().map(lookup).collect()
}

fn partition(feeds: &Feeds, width: usize, workers: usize, batch: usize) -> Option<Partition> {
    let tables = tables(width);
    let found = Partition::new(feeds, &lookups(&tables), workers, batch).unwrap();
    found.map(|mut partition| {
        partition.deal(&mut stream(1, 2, 3));
        partition
    })
}

/// The number of the first sample.
const START: usize = 70;

proptest! {
    #[test]
    fn workers_have_no_row_in_common_in_a_round(workers in 1usize..5, batch in 1usize..4, count in 4000u32..9000) {
        let feeds = feeds(count, any_index);
        let partition = partition(&feeds, 32, workers, batch);
        prop_assert_eq!(partition.is_some(), workers > 1);
        let Some(partition) = partition else {
            return Ok(());
        };
        let mut records: Vec<[u32; 2]> =
            (0..count).map(|k| [any_index(k, USERS), any_index(k.rotate_left(9), ITEMS)]).collect();
        let mut expected = records.clone();
        let mut space = vec![0; 2 * records.len()];
        let rounds = partition.divide(START, records.as_flattened_mut(), 2, &mut space);
        let parts = partition.parts;
        prop_assert_eq!(parts, workers);
        let turns: Vec<Vec<_>> =
            (0..workers).map(|worker| partition.blocks(&rounds, worker).collect()).collect();
        let [users, items] = partition.columns.each_ref().map(|column| &column.rows);
        let mut pairs = HashSet::new();
        for turn in 0..parts {
            // Workers have other users each, and draw other items.
            let (mut of_users, mut of_items) = (HashSet::new(), HashSet::new());
            for (range, among) in turns.iter().map(|blocks| &blocks[turn]) {
                prop_assert!(range.len().is_multiple_of(batch));
                let records = &records[range.start - START..range.end - START];
                prop_assert!(records.iter().all(|&[_, item]| among.has(item)));
                prop_assert!(of_items.insert(among.part));
                if let Some(&[user, item]) = records.first() {
                    let part = users.part(user);
                    prop_assert!(records.iter().all(|&[user, _]| users.part(user) == part));
                    prop_assert!(of_users.insert(part));
                    prop_assert!(pairs.insert((part, items.part(item))));
                }
            }
        }
        // Every sample has one place.
        let mut ranges: Vec<_> = turns.into_iter().flatten().map(|(range, _)| range).collect();
        ranges.sort_unstable_by_key(|range| (range.start, range.end));
        ranges.push(rounds.rest.clone());
        prop_assert!(rounds.rest.len() < parts * parts * batch);
        prop_assert_eq!(ranges[0].start, START);
        prop_assert!(ranges.windows(2).all(|pair| pair[0].end == pair[1].start));
        prop_assert_eq!(rounds.rest.end, START + records.len());
        records.sort_unstable();
        expected.sort_unstable();
        prop_assert_eq!(records, expected);
    }
}

#[test]
fn parts_are_even_and_any_two_groups_meet_as_often() {
    // Few rows have most of the samples.
    const SAMPLES: u32 = 20_000;
    let index = |k: u32, below: u32| {
        let x = u64::from(any_index(k, 1 << 16));
        ((x * x * u64::from(below)) >> 32) as u32
    };
    let mut partition = partition(&feeds(SAMPLES, index), 32, 2, 10).unwrap();
    let load = |rows: &DealtRows, below: u32| {
        let of_part = |k: &u32| rows.part(index(*k, below)) == 0;
        (0..SAMPLES).filter(of_part).count()
    };
    assert!((9000..11_000).contains(&load(&partition.columns[0].rows, USERS)));
    const DEALT: u32 = 2000;
    // 32 rows are a page.
    let groups: Vec<u32> = (0..ITEMS).step_by(32).collect();
    let mut together = vec![0u32; groups.len() * groups.len()];
    for epoch in 0..DEALT {
        partition.deal(&mut stream(5, 0, epoch as usize));
        let rows = &partition.columns[1].rows;
        assert!((9900..10_100).contains(&load(rows, ITEMS)));
        let parts: Vec<usize> = groups.iter().map(|&row| rows.part(row)).collect();
        assert!((0..ITEMS).all(|row| rows.part(row) == parts[row as usize / 32]));
        let pairs = parts.iter().flat_map(|a| parts.iter().map(move |b| a == b));
        together
            .iter_mut()
            .zip(pairs)
            .for_each(|(count, same)| *count += u32::from(same));
    }
    let apart = together
        .iter()
        .enumerate()
        .filter(|(at, _)| at % (groups.len() + 1) != 0);
    for (at, &count) in apart {
        let share = f64::from(count) / f64::from(DEALT);
        // The heaviest groups balance each other, and are apart more often.
        assert!((0.25..0.65).contains(&share), "{at}: {share}");
    }
}

#[test]
fn what_is_drawn_is_of_the_part_and_each_item_as_often() {
    let feeds = feeds(20_000, any_index);
    let mut partition = partition(&feeds, 32, 4, 10).unwrap();
    let sampler = Sampler::uniform(ITEMS as usize).unwrap();
    // User 0 knows the even items, user 1 those that the part at hand has.
    let mut counts = vec![0u32; ITEMS as usize];
    let (mut rng, mut outside) = (stream(7, 1, 1), 0);
    let even: Vec<u32> = (0..ITEMS).step_by(2).collect();
    for epoch in 0..200 {
        partition.deal(&mut stream(8, 0, epoch));
        let among = partition.among((epoch + 3) % 4);
        assert!(among.is_about(2) && !among.is_about(1));
        let inside: Vec<u32> = (0..ITEMS).filter(|&item| among.has(item)).collect();
        let users = [vec![0; even.len()], vec![1; inside.len()]].concat();
        let known = [even.clone(), inside].concat();
        let sampler = sampler.clone().reject(&users, &known).unwrap();
        for _ in 0..1000 {
            let item = sampler.draw_among(&mut rng, Some(0), &among);
            assert_eq!(item % 2, 1);
            outside += u32::from(!among.has(item));
            counts[item as usize] += 1;
        }
        let other = sampler.draw_among(&mut rng, Some(1), &among);
        assert!(!among.has(other) && other < ITEMS);
    }
    // Parts have a little more or less of the items than of the samples.
    assert!(outside < 20_000, "{outside}");
    let odd = counts.iter().skip(1).step_by(2);
    // 250 draws an item; of an item in one deal of four, 1000 in 200.
    assert!(
        odd.clone().all(|count| (130..400).contains(count)),
        "{:?}",
        odd.min()
    );
}

/// How often items of the first group are drawn, one item for each sample, as a share of all draws.
fn drawn_of_group(feeds: &Feeds, index: impl Fn(u32, u32) -> u32, sampler: &Sampler) -> f64 {
    let mut partition = partition(feeds, 1000, 2, 10).unwrap();
    let mut rng = stream(7, 1, 1);
    let (mut drawn, mut of_group) = (0, 0);
    for epoch in 0..100 {
        partition.deal(&mut stream(8, 0, epoch));
        // All of them: samples of a group are in the part of its items in every epoch.
        for k in 0..40_000 {
            let part = partition.columns[1].rows.part(index(k, ITEMS));
            let among = partition.among(part);
            drawn += 1;
            of_group += u32::from(sampler.draw_among(&mut rng, None, &among) < 16);
        }
    }
    f64::from(of_group) / f64::from(drawn)
}

#[test]
fn an_item_is_drawn_as_often_as_others_however_many_samples_have_it() {
    // A share of the samples has items of the first group.
    let index = |share: u32| {
        move |k: u32, below: u32| match k % 100 < share && below == ITEMS {
            true => any_index(k, 16),
            false => any_index(k, below),
        }
    };
    let uniform = Sampler::uniform(ITEMS as usize).unwrap();
    let divided = |share| partition(&feeds(40_000, index(share)), 1000, 2, 10).is_some();
    assert_eq!([22, 30].map(divided), [true, false]);
    for share in [0, 2, 6, 14, 22] {
        let found = drawn_of_group(&feeds(40_000, index(share)), index(share), &uniform);
        let often = found / (16.0 / f64::from(ITEMS));
        assert!((0.98..1.02).contains(&often), "{share}: {often}");
    }
}

#[test]
fn draws_of_a_samples_own_group_are_exchanged_for_what_its_user_does_not_know() {
    let feeds = feeds(20_000, any_index);
    let mut partition = partition(&feeds, 32, 4, 10).unwrap();
    partition.deal(&mut stream(8, 0, 0));
    let among = partition.among(1);
    assert_eq!(among.own, 1);
    let mut rng = stream(7, 1, 1);
    let items: Vec<u32> = (0..ITEMS).filter(|&item| among.has(item)).collect();
    let own: Vec<u32> = (0..40_000).map(|k| items[k * 7 % items.len()]).collect();
    // User 0 knows the even items.
    let users: Vec<u32> = (0..40_000).map(|k| k / 3 % 2).collect();
    let even: Vec<u32> = (0..ITEMS).step_by(2).collect();
    let sampler = Sampler::uniform(ITEMS as usize).unwrap();
    let sampler = sampler.reject(&vec![0; even.len()], &even).unwrap();
    let drawn = (0..40_000).map(|at| sampler.draw_among(&mut rng, Some(users[at]), &among));
    let before: Vec<u32> = drawn.collect();
    let of_own = |drawn: &[u32]| {
        let places = 0..drawn.len();
        let is_own = |&at: &usize| among.are_together(own[at], drawn[at]);
        places.filter(is_own).count()
    };
    let mut after = before.clone();
    let draws = BlockDraws {
        own: &own,
        users: Some(&users),
    };
    draws.exchange(&sampler, &among, &mut rng, &mut after);
    // Of 12 or 13 groups, and then of 50.
    assert!(
        (2800..3600).contains(&of_own(&before)),
        "{}",
        of_own(&before)
    );
    assert!((650..1000).contains(&of_own(&after)), "{}", of_own(&after));
    assert!((0..40_000).all(|at| users[at] == 1 || after[at] % 2 == 1));
    let sorted = |mut items: Vec<u32>| {
        items.sort_unstable();
        items
    };
    assert_eq!(sorted(after), sorted(before));
}

#[test]
fn an_epoch_has_stretches_of_as_many_samples_as_blocks_need() {
    let stretches = |count: u32, batch: usize| {
        let feeds = feeds(count, any_index);
        let found = partition(&feeds, 32, 2, batch).unwrap();
        assert_eq!(found.parts, 2);
        found.for_stretches(count as usize).len()
    };
    // Blocks of 16 batches, four of them.
    assert_eq!(stretches(10_000, 1), MOST_STRETCHES);
    assert_eq!(stretches(10_000, 32), 4);
    assert_eq!(stretches(10_000, 128), 1);
}

#[test]
fn what_draws_several_items_has_no_blocks() {
    let tables = tables(256);
    let divided = |draws: usize| {
        let sampler = Sampler::uniform(ITEMS as usize).unwrap();
        let feeds = feeds_drawn_by(&[sampler], draws, 20_000, any_index);
        let of_items = lookups_of(&tables, &[(0, 0), (1, 1), (1, 2)]);
        Partition::new(&feeds, &of_items, 2, 10).unwrap().is_some()
    };
    assert!(divided(1));
    assert!(!divided(2));
}

#[test]
fn no_part_is_mostly_of_one_user() {
    let index = |share: u32| {
        move |k: u32, below: u32| match k % 100 < share && below == USERS {
            true => 7,
            false => any_index(k, below),
        }
    };
    let divided = |share| partition(&feeds(40_000, index(share)), 1000, 2, 10).is_some();
    assert_eq!([10, 30].map(divided), [true, false]);
}

#[test]
fn no_blocks_have_rows_compared_with_those_of_others() {
    let uniform = |n: u32| Sampler::uniform(n as usize).unwrap();
    let weighted = Sampler::popularity(&[1.0; ITEMS as usize], 1.0).unwrap();
    let tables = tables(256);
    let divided = |samplers: &[Sampler], lookups: &[(usize, usize)]| {
        let feeds = feeds_drawn_by(samplers, 1, 20_000, any_index);
        let found = Partition::new(&feeds, &lookups_of(&tables, lookups), 2, 10).unwrap();
        found.map(|found| found.columns.map(|column| column.input))
    };
    let (users, items) = ((0, 0), (1, 1));
    let of_items = [users, items, (1, 2)];
    assert_eq!(divided(&[], &of_items[..2]), Some([0, 1]));
    assert_eq!(divided(&[uniform(ITEMS)], &of_items), Some([0, 1]));
    assert_eq!(divided(std::slice::from_ref(&weighted), &of_items), None);
    assert_eq!(
        divided(std::slice::from_ref(&weighted), &of_items[..2]),
        Some([0, 1]),
        "drawn for no table"
    );
    // Users are drawn: they are dealt, and drawn from a block. Both are drawn.
    assert_eq!(
        divided(&[uniform(USERS)], &[users, items, (0, 2)]),
        Some([1, 0])
    );
    let both = [users, items, (0, 2), (1, 3)];
    assert_eq!(divided(&[uniform(USERS), uniform(ITEMS)], &both), None);
    // Two are drawn for one table.
    let twice = [users, items, (1, 2), (1, 3)];
    assert_eq!(
        divided(&[uniform(ITEMS), uniform(ITEMS)], &twice),
        Some([0, 1])
    );
    assert_eq!(divided(&[uniform(ITEMS), uniform(ITEMS / 4)], &twice), None);
    assert_eq!(divided(&[uniform(ITEMS), weighted], &twice), None);
}

#[test]
fn no_part_is_without_rows() {
    // As many groups as parts, of which one has all samples, or none has any.
    for weights in [
        vec![100, 0, 0, 0],
        vec![0, 0, 0, 100],
        vec![0; 4],
        vec![u32::MAX; 4],
    ] {
        let mut rows = DealtRows::new(weights, 0, 4).unwrap();
        for epoch in 0..20 {
            rows.deal(&mut stream(1, 0, epoch));
            for part in 0..4 {
                let among = Among::part_of(&rows, part);
                assert_eq!(among.count(), 1);
                assert!(among.has(among.item(0)) && !among.has(4) && !among.has(u32::MAX));
            }
        }
        rows.cut();
        assert!((0..4).all(|row| rows.part(row) < 4));
        assert!((1..4).all(|row| rows.part(row - 1) <= rows.part(row)));
    }
}

#[test]
fn parts_depend_on_the_epoch_alone() {
    let new = || DealtRows::new((0..200).collect(), 0, 5).unwrap();
    let (mut resumed, mut other) = (new(), new());
    for epoch in 0..10 {
        other.deal(&mut stream(9, 0, epoch));
    }
    resumed.deal(&mut stream(9, 0, 9));
    assert!((0..200).all(|row| resumed.part(row) == other.part(row)));
}

#[test]
fn a_sampler_of_fewer_items_than_the_table_has_stays_in_its_own() {
    let rows = vec![1; 100];
    let mut rows = DealtRows::new(rows, 4, 2).unwrap();
    let mut rng = stream(3, 0, 0);
    rows.deal(&mut rng);
    // Items of one group are in one part; for the other part they are drawn all the same.
    let sampler = Sampler::uniform(3).unwrap();
    for part in 0..2 {
        let among = Among::part_of(&rows, part);
        let items = (0..1000).map(|_| sampler.draw_among(&mut rng, None, &among));
        assert!(items.into_iter().all(|item| item < 3));
    }
}

#[test]
fn only_what_has_rows_of_two_tables_is_divided() {
    let feeds = feeds(20_000, any_index);
    let tables = tables(32);
    let all = lookups(&tables);
    let find = |lookups: &[TableLookup<'_>], workers, batch| {
        Partition::new(&feeds, lookups, workers, batch)
            .unwrap()
            .is_some()
    };
    assert!(find(&all, 2, 64));
    assert!(!find(&all, 1, 64), "one worker");
    assert!(!find(&all, 2, 1000), "too few batches");
    assert!(!find(&all, 20, 1), "too few groups of users");
    assert!(!find(&all[..1], 2, 64), "one column");
    let same = [0, 1].map(|input| TableLookup {
        table: &tables[1],
        number: 1,
        input,
    });
    assert!(!find(&same, 2, 64), "rows of one table");
    let large = Table::zeros(&Type::new(DType::F32, &[ITEMS as usize, 8000]), None).unwrap();
    let wide = [&tables[0], &large];
    let wide = [0, 1].map(|number| TableLookup {
        table: wide[number],
        number,
        input: number,
    });
    assert!(!find(&wide, 2, 64), "large tables");
}
