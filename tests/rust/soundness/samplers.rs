//! Samplers of the caller's own, and negatives out of the batch, from outside.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use proptest::prelude::*;
use wyrmling::array::Slice;
use wyrmling::optim::Optimizer;
use wyrmling::train::{CustomSampler, Fit, Ragged, SampleBlock, Sampler, Source};
use wyrmling::{Error, Input, Parameter, Result};

use crate::common::fit::{column, fit, once};

const N: usize = 10;

/// A table, an index that has a column and one that is drawn; the loss counts what is drawn.
fn counting() -> (Parameter, Input, Input, wyrmling::exec::Program) {
    let table = Parameter::new(vec![0.0; N]);
    let (item, other) = (Input::indices(vec![0]), Input::indices(vec![0]));
    let drawn = table.clone().gather(other.clone()).sum();
    let loss = drawn + table.clone().gather(item.clone()).sum() * 0.0;
    let program = loss.freeze().expect("a program");
    (table, item, other, program)
}

/// How often each item was drawn.
fn counts(table: &Parameter) -> Vec<f64> {
    let value = table.value().expect("nobody trains it");
    value.to_f64().iter().map(|x| -x).collect()
}

/// Draws for a block, given how many calls there were before.
type Draws = fn(usize, &SampleBlock<'_>, &mut [u32]) -> Result<()>;

/// What a sampler does: a number of items that it says it has, and what it draws for a sample.
struct Drawing<F> {
    n: F,
    calls: AtomicUsize,
    draws: Draws,
}

impl<F> std::fmt::Debug for Drawing<F> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("drawing")
    }
}

impl<F: Fn() -> u32 + Send + Sync> CustomSampler for Drawing<F> {
    fn item_count(&self) -> u32 {
        (self.n)()
    }

    fn draw(&self, block: &SampleBlock<'_>, items: &mut [u32]) -> Result<()> {
        (self.draws)(self.calls.fetch_add(1, Ordering::Relaxed), block, items)
    }
}

fn run<F: Fn() -> u32 + Send + Sync + 'static>(
    n: F,
    threads: usize,
    draws: Draws,
) -> (Result<()>, Vec<f64>) {
    let (table, item, other, program) = counting();
    let sampler = Arc::new(Drawing {
        n,
        calls: AtomicUsize::new(0),
        draws,
    });
    let columns = vec![item.id()];
    let rows: Vec<u32> = (0..5000).map(|k| k % N as u32).collect();
    let sources = vec![
        column(&item, rows),
        (other.id(), Source::Custom { sampler, columns }),
    ];
    let setting = Fit {
        threads,
        deterministic: threads > 1,
        ..once(sources, 10)
    };
    let optimizer = Optimizer::sgd(1.0).expect("a rate");
    let done = fit(&program, &setting, &optimizer);
    (done.map(|_| ()), counts(&table))
}

#[test]
fn a_sampler_draws_for_blocks_and_sees_their_columns() {
    for threads in [1, 3] {
        let (done, found) = run(
            || N as u32,
            threads,
            |_, block, items| {
                assert!(block.len() > 1 && !block.is_empty());
                assert_eq!((items.len(), block.column_count()), (block.len(), 1));
                assert_eq!(block.item_shape(), Some(&[][..]));
                assert!(block.column(1).is_none());
                let Some((Slice::U32(own), [])) = block.column(0) else {
                    panic!("a column of indices");
                };
                for (k, own) in own.iter().enumerate() {
                    items[block.items(k)].fill(own / 2);
                }
                Ok(())
            },
        );
        done.unwrap();
        assert_eq!(found[..5], [1000.0; 5]);
        assert_eq!(found[5..], [0.0; 5]);
    }
}

#[test]
fn what_is_out_of_range_is_not_used() {
    let wrong: [Draws; 3] = [
        |_, _, items| {
            items[items.len() / 2] = N as u32;
            Ok(())
        },
        |_, _, items| {
            items.fill(u32::MAX);
            Ok(())
        },
        // What an error leaves behind.
        |_, _, items| {
            items.fill(u32::MAX);
            Err(Error::Value("no".into()))
        },
    ];
    for (k, draws) in wrong.into_iter().enumerate() {
        for threads in [1, 3] {
            let (done, found) = run(|| N as u32, threads, draws);
            match k {
                2 => assert_eq!(done, Err(Error::Value("no".into()))),
                _ => assert!(matches!(done, Err(Error::Index(_))), "{done:?}"),
            }
            assert_eq!(found, [0.0; N]);
        }
    }
}

/// What it says later counts for nothing: neither that there are more items, nor fewer.
#[test]
fn a_sampler_that_changes_its_mind_stays_in_range() {
    static ASKED: AtomicUsize = AtomicUsize::new(0);
    let changing = || match ASKED.fetch_add(1, Ordering::Relaxed) {
        0 => 1,
        _ => u32::MAX,
    };
    let (done, found) = run(changing, 1, |call, _, items| {
        items.fill(if call < 2 { 0 } else { 4_000_000 });
        Ok(())
    });
    assert!(matches!(done, Err(Error::Index(_))), "{done:?}");
    assert!(found[1..].iter().all(|&x| x == 0.0));
    let (done, _) = run(|| N as u32 + 1, 1, |_, _, _| panic!("it is not asked"));
    assert!(matches!(done, Err(Error::Index(_))), "{done:?}");
}

#[test]
fn a_sampler_that_stops_ends_the_run() {
    for threads in [1, 3] {
        let (done, _) = run(
            || N as u32,
            threads,
            |call, _, _| match call {
                0 => Ok(()),
                _ => Err(Error::Interrupted),
            },
        );
        assert_eq!(done, Err(Error::Interrupted));
    }
}

#[test]
fn sources_that_do_not_fit_are_refused() {
    let (_, item, other, program) = counting();
    let uniform = |n| Arc::new(Sampler::uniform(n).unwrap());
    let refused = |source: Source, batch| {
        let sources = vec![column(&item, vec![1u32, 2, 3]), (other.id(), source)];
        let optimizer = Optimizer::sgd(1.0).unwrap();
        fit(&program, &once(sources, batch), &optimizer).unwrap_err()
    };
    let in_batch = |column, n, given| Source::InBatch {
        column,
        sampler: uniform(n),
        given,
    };
    let is_value = |error: Error, says: &str| {
        assert!(
            matches!(&error, Error::Value(text) if text.contains(says)),
            "{error:?}"
        );
    };
    let of = item.id();
    is_value(
        refused(in_batch(of, N, None), 1),
        "batch_size: expected at least 2",
    );
    is_value(
        refused(in_batch(other.id(), N, None), 2),
        "column of the sampler",
    );
    is_value(refused(in_batch(of, N, Some(other.id())), 2), "given");
    let indices = [in_batch(of, 3, None), in_batch(of, N + 1, None)];
    for source in indices {
        let error = refused(source, 2);
        assert!(matches!(error, Error::Index(_)), "{error:?}");
    }
    let ragged = Arc::new(Ragged::new(vec![0.0; 3].into(), vec![0, 1, 1, 3]).unwrap());
    let per_entry = |source| Source::PerEntry {
        source: Box::new(source),
        of: vec![(of, Arc::clone(&ragged))],
        times: 1,
    };
    let sampled = || Source::Sampled {
        sampler: uniform(N),
        given: None,
    };
    // Where items begin is no index of a table, and not for an input of one index a sample.
    let error = refused(per_entry(sampled()), 2);
    assert!(matches!(error, Error::Type(_)), "{error:?}");
    let pairs = Input::new(
        wyrmling::Array::zeros(&wyrmling::Type::new(wyrmling::DType::U32, &[1, 2])).unwrap(),
    );
    let table = Parameter::new(vec![0.0; N]);
    let loss = table.clone().gather(pairs.clone()).sum() + table.gather(item.clone()).sum();
    let program = loss.freeze().unwrap();
    let train = |source: Source| {
        let sources = vec![column(&item, vec![1u32, 2, 2]), (pairs.id(), source)];
        let optimizer = Optimizer::sgd(1.0).unwrap();
        fit(&program, &once(sources, 2), &optimizer)
    };
    assert!(train(sampled()).is_ok());
    assert!(matches!(train(per_entry(sampled())), Err(Error::Index(_))));
    let nested = per_entry(per_entry(sampled()));
    assert!(matches!(
        train(nested),
        Err(Error::Value(_) | Error::Index(_))
    ));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(40))]

    /// Negatives are items that other samples of the batch have and the user has not, and if there are
    /// none any that the user has not.
    #[test]
    fn negatives_out_of_the_batch_are_items_of_it(
        items in prop::collection::vec(0u32..10, 1..30),
        known in prop::collection::vec(0u32..10, 0..9),
        batch in 2usize..8,
        threads in 1usize..3,
    ) {
        let (table, item, other, program) = counting();
        let user = vec![0u32; known.len()];
        let sampler = Sampler::uniform(N).unwrap().reject(&user, &known).unwrap();
        let users = Input::indices(vec![0]);
        let loss = table.clone().gather(other.clone()).sum()
            + table.clone().gather(item.clone()).sum() * 0.0
            + table.clone().gather(users.clone()).sum() * 0.0;
        drop(program);
        let sources = vec![
            column(&item, items.clone()),
            column(&users, vec![0u32; items.len()]),
            (other.id(), Source::InBatch {
                column: item.id(),
                sampler: Arc::new(sampler),
                given: Some(users.id()),
            }),
        ];
        let setting = Fit { threads, deterministic: true, ..once(sources, batch) };
        fit(&loss.freeze().unwrap(), &setting, &Optimizer::sgd(1.0).unwrap()).unwrap();
        let found = counts(&table);
        prop_assert_eq!(found.iter().sum::<f64>(), items.len() as f64);
        for item in known {
            prop_assert_eq!(found[item as usize], 0.0);
        }
    }
}
