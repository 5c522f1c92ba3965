//! Training from outside: what workers compute together, which samples they see, what is refused.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::channel;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use wyrmling::array::{SliceMut, View, ViewMut};
use wyrmling::graph;
use wyrmling::optim::Optimizer;
use wyrmling::rules::{Ex, OpRef, Operator};
use wyrmling::train::{self, Fit, Flow, History, Sampler, Source};
use wyrmling::{Array, DType, Error, Input, Parameter, Result, Table, Type, Variable};

use crate::common::fit::{fit, once};
use crate::common::numbers;

/// One epoch of single samples in one thread.
fn singly(sources: Vec<(u64, Source)>) -> Fit {
    once(sources, 1)
}

fn train(loss: &Variable, setting: &Fit, lr: f64) -> Result<History> {
    fit(&loss.freeze()?, setting, &Optimizer::sgd(lr)?)
}

/// Workers that compute together see parameters as the last round left them, so where all samples are
/// alike the order in which they come does not matter, and the whole run can be computed by hand.
#[test]
fn workers_that_take_turns_compute_in_rounds() {
    const LR: f64 = 0.01;
    for (count, batch, threads) in [
        (6, 1, 3),
        (7, 1, 3),
        (7, 2, 3),
        (8, 1, 3),
        (8, 3, 2),
        (5, 2, 4),
        (9, 2, 1),
        (40, 1, 7),
        (300, 1, 4),
    ] {
        let w = Parameter::new(3.0);
        let x = Input::new(vec![1.0]);
        let loss = (w.clone() * x.clone() - 1.0).square().sum().boxed();
        let setting = Fit {
            epochs: 0..2,
            batch_size: batch,
            threads,
            deterministic: true,
            ..singly(vec![(x.id(), Source::Column(vec![1.0; count].into()))])
        };
        let history = train(&loss, &setting, LR).unwrap();
        // Whole batches in a row for each worker, as many for each or one more for the first.
        let batches = count.div_ceil(batch);
        let workers = threads.min(batches);
        let sizes = |worker: usize| {
            let before = |k: usize| batches / workers * k + k.min(batches % workers);
            let own = before(worker)..before(worker + 1);
            own.map(|b| batch.min(count - b * batch))
                .collect::<Vec<_>>()
        };
        let (mut value, mut losses) = (3.0f64, vec![0.0; 2]);
        for total in &mut losses {
            for round in 0..batches.div_ceil(workers) {
                let sizes = (0..workers).filter_map(|k| sizes(k).get(round).copied());
                let samples = sizes.sum::<usize>() as f64;
                *total += samples * (value - 1.0).powi(2);
                value -= LR * samples * 2.0 * (value - 1.0);
            }
        }
        let what = format!("{count} samples, {batch} a batch, {threads} threads");
        let found = w.value().unwrap().item().unwrap();
        assert!(
            (found - value).abs() < 1e-12,
            "{what}: {found}, not {value}"
        );
        assert_eq!((history.samples, history.seconds.len()), (count, 2));
        for (found, expected) in history.loss.iter().zip(&losses) {
            assert!(
                (found - expected).abs() < 1e-9 * expected,
                "{what}: {found}"
            );
        }
    }
}

/// Every sample is trained once an epoch, in whatever kinds of columns it comes.
#[test]
fn columns_of_all_kinds_are_taken_apart_and_put_together() {
    const N: usize = 57;
    let rows: Vec<u32> = (0..N as u32).rev().collect();
    for widths in [&[1][..], &[1, 1], &[2], &[1, 3], &[5, 1, 2]] {
        for dtype in [DType::F64, DType::F32] {
            for (batch_size, threads) in [(1, 1), (10, 1), (100, 1), (4, 3)] {
                let table = Parameter::new(Array::full(&Type::new(dtype, &[N]), 0.0));
                let at = Input::indices(vec![0]);
                let mut sources = vec![(at.id(), Source::Column(rows.clone().into()))];
                // loss = Σ w[rows] (Σ column / 2 + Σ column / 4 + ...)
                let mut loss: Option<Variable> = None;
                let mut expected = vec![0.0; N];
                for (k, &width) in widths.iter().enumerate() {
                    let factor = 0.5f64.powi(k as i32 + 1);
                    let shape: &[usize] = if width == 1 { &[N] } else { &[N, width] };
                    let column = numbers(dtype, shape, k as u32);
                    let numbers = column.to_f64();
                    for (sample, row) in numbers.chunks_exact(width).enumerate() {
                        expected[rows[sample] as usize] -= row.iter().sum::<f64>() * factor;
                    }
                    let one: &[usize] = if width == 1 { &[1] } else { &[1, width] };
                    let x = Input::new(Array::full(&Type::new(dtype, one), 0.0));
                    sources.push((x.id(), Source::Column(column)));
                    let ones = Array::full(&Type::new(dtype, &[width]), factor);
                    let ones = graph::Constant::new(ones).boxed();
                    let looked_up = table.clone().gather(at.clone()).boxed();
                    let product = match width {
                        1 => (looked_up * x.boxed() * factor).boxed(),
                        _ => {
                            let rows = graph::ops::vecdot(&x.boxed(), &ones);
                            (looked_up * rows.unwrap()).boxed()
                        }
                    };
                    let term = product.sum().boxed();
                    loss = Some(match loss {
                        None => term,
                        Some(loss) => (loss + term).boxed(),
                    });
                }
                let setting = Fit {
                    batch_size,
                    threads,
                    ..singly(sources)
                };
                train(&loss.unwrap(), &setting, 1.0).unwrap();
                let found = table.value().unwrap().to_f64();
                for (found, expected) in found.iter().zip(&expected) {
                    assert!(
                        (found - expected).abs() < 1e-5,
                        "{widths:?} {dtype} {batch_size}"
                    );
                }
            }
        }
    }
}

/// A user knows all items but one, so what is drawn for her is known beforehand; her column stands
/// before or after what is drawn, with others between.
#[test]
fn items_are_drawn_for_the_user_of_the_sample() {
    const USERS: u32 = 6;
    let pairs = (0..USERS).flat_map(|u| {
        (0..USERS)
            .filter(move |&i| i != (u + 2) % USERS)
            .map(move |i| (u, i))
    });
    let (users, items): (Vec<u32>, Vec<u32>) = pairs.unzip();
    let sampler = Sampler::uniform(USERS as usize).unwrap();
    let sampler = Arc::new(sampler.reject(&users, &items).unwrap());
    let column: Vec<u32> = vec![0, 1, 1, 4, 5, 1, 0, 4, 4, 4];
    for order in [
        [0, 1, 2, 3],
        [1, 0, 2, 3],
        [3, 2, 1, 0],
        [2, 3, 0, 1],
        [1, 2, 3, 0],
    ] {
        for batch_size in [1, 3, 10] {
            let drawn_from = Parameter::new(vec![0.0; USERS as usize]);
            let others = [(); 3].map(|()| Parameter::new(vec![0.0; USERS as usize]));
            let [user, drawn, more, most] = [(); 4].map(|()| Input::indices(vec![0]));
            // The program's inputs stand in the order in which the loss names them.
            let terms = [
                others[0].clone().gather(user.clone()).sum().boxed(),
                drawn_from.clone().gather(drawn.clone()).sum().boxed(),
                others[1].clone().gather(more.clone()).sum().boxed(),
                others[2].clone().gather(most.clone()).sum().boxed(),
            ];
            let in_order = order.map(|k: usize| terms[k].clone());
            let loss = in_order.into_iter().reduce(|a, b| (a + b).boxed()).unwrap();
            let given = Some(user.id());
            let of = |column: &[u32]| Source::Column(column.to_vec().into());
            let sampler = Arc::clone(&sampler);
            let setting = Fit {
                batch_size,
                ..singly(vec![
                    (user.id(), of(&column)),
                    (more.id(), of(&[3; 10])),
                    (most.id(), of(&[2; 10])),
                    (drawn.id(), Source::Sampled { sampler, given }),
                ])
            };
            train(&loss, &setting, 1.0).unwrap();
            let mut expected = vec![0.0; USERS as usize];
            for user in &column {
                expected[((user + 2) % USERS) as usize] -= 1.0;
            }
            let found = drawn_from.value().unwrap().to_f64();
            assert_eq!(found, expected, "{order:?} {batch_size}");
        }
    }
}

/// What an operator of the test does in the workers: the sum of nothing, with side effects.
struct Watching<F>(F);

impl<F> std::fmt::Debug for Watching<F> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Watching")
    }
}

impl<F: Fn(&[f64]) -> Result<()> + Send + Sync + 'static> Operator for Watching<F> {
    fn name(&self) -> &str {
        "watching"
    }
    fn infer(&self, args: &[&Type]) -> Result<Type> {
        Ok(args[0].clone())
    }
    fn eval(&self, args: &[View<'_>], out: ViewMut<'_>) -> Result<()> {
        (self.0)(args[0].real())?;
        if let SliceMut::F64(out) = out.data {
            out.copy_from_slice(args[0].real());
        }
        Ok(())
    }
    fn vjp<'t>(&self, _: usize, g: Ex<'t>, _: Ex<'t>, _: &[Ex<'t>]) -> Option<Ex<'t>> {
        Some(g)
    }
}

/// `Σ w watched(x)` over four samples, the numbers 0 to 3.
fn watched(
    w: &Parameter,
    watch: impl Fn(&[f64]) -> Result<()> + Send + Sync + 'static,
) -> (Variable, Fit) {
    let x = Input::new(vec![-1.0]);
    let watching = OpRef::new(Watching(watch));
    let seen = Variable::apply(watching, &[x.clone().boxed()]).expect("fitting types");
    let loss = (seen * w.clone()).sum().boxed();
    let column = Source::Column(vec![0.0, 1.0, 2.0, 3.0].into());
    (loss, singly(vec![(x.id(), column)]))
}

/// One worker has the tables for itself for an epoch; several move rows beside readers.
#[test]
fn workers_share_the_tables_and_one_alone_does_not() {
    for threads in [1, 2] {
        let w = Parameter::new(1.0);
        let table: Arc<Table> = Arc::clone(w.param().table());
        let found = Arc::new(Mutex::new(Vec::new()));
        let seen = Arc::clone(&found);
        let (loss, setting) = watched(&w, move |x| {
            if x[0] >= 0.0 {
                seen.lock().unwrap().push(table.try_read().is_ok());
            }
            Ok(())
        });
        train(&loss, &Fit { threads, ..setting }, 0.1).unwrap();
        assert_eq!(*found.lock().unwrap(), [threads == 2; 4]);
    }
}

/// The others would wait for a worker that is gone.
#[test]
fn a_worker_that_panics_ends_the_run() {
    let (give, get) = channel();
    std::thread::spawn(move || {
        let w = Parameter::new(1.0);
        let (loss, setting) = watched(&w, |x| {
            assert!(x[0] != 2.0, "on purpose");
            Ok(())
        });
        let setting = Fit {
            threads: 4,
            deterministic: true,
            epochs: 0..5,
            ..setting
        };
        let ended = catch_unwind(AssertUnwindSafe(|| train(&loss, &setting, 0.1)));
        give.send(ended.is_err())
    });
    assert!(
        get.recv_timeout(Duration::from_secs(60))
            .expect("the run ends")
    );
}

/// An operator that uses rayon runs in the pool of the workers, and waits by doing what is queued there: no worker is.
#[test]
fn no_worker_runs_within_the_operator_of_another() {
    let (give, get) = channel();
    std::thread::spawn(move || {
        let w = Parameter::new(1.0);
        let (loss, setting) = watched(&w, |_| {
            let split = |_: usize| rayon::join(|| sines(1000), || sines(1000));
            rayon::join(|| split(0), || split(1));
            Ok(())
        });
        let setting = Fit {
            threads: 4,
            deterministic: true,
            epochs: 0..400,
            ..setting
        };
        give.send(train(&loss, &setting, 1e-6).is_ok())
    });
    let ended = get.recv_timeout(Duration::from_secs(60));
    assert_eq!(ended, Ok(true), "workers wait for each other");
}

/// Some work.
fn sines(count: u32) -> f64 {
    (0..count).map(|k| f64::from(k).sin()).sum()
}

/// A worker's operator is heard by the flag that ends the run, as the caller's thread is.
#[test]
fn a_run_that_is_stopped_ends_after_the_batches_at_hand() {
    for threads in [1, 2] {
        let w = Parameter::new(1.0);
        let stop = Arc::new(AtomicBool::new(false));
        let asked = Arc::clone(&stop);
        let (loss, setting) = watched(&w, move |x| {
            asked.store(x[0] >= 0.0, Ordering::Relaxed);
            Ok(())
        });
        stop.store(false, Ordering::Relaxed);
        let mut epochs = 0;
        let mut watch = |_: usize, _: &History| {
            epochs += 1;
            Flow::Continue
        };
        let program = loss.freeze().unwrap();
        let setting = Fit { threads, ..setting };
        let sgd = Optimizer::sgd(0.1).unwrap();
        let ended = train::fit(&program, &setting, &sgd, &stop, &mut watch);
        assert!(matches!(ended, Err(Error::Interrupted)), "{ended:?}");
        assert_eq!(epochs, 0);
    }
}

/// A worker that waits for a table of somebody else is heard, too: the flag ends its wait.
#[test]
fn a_run_that_is_stopped_ends_the_waits_of_its_workers() {
    for threads in [1, 2] {
        let table = Arc::new(Table::new(&vec![1.0].into(), None).unwrap());
        let held = table.exclusive().unwrap();
        let (waits, waiting) = channel();
        let (give, get) = channel();
        let stop = Arc::new(AtomicBool::new(false));
        let (asked, theirs) = (Arc::clone(&stop), Arc::clone(&table));
        let run = std::thread::spawn(move || {
            let w = Parameter::new(1.0);
            let waits = Mutex::new(waits);
            let (loss, setting) = watched(&w, move |x| {
                if x[0] >= 0.0 {
                    waits.lock().unwrap().send(()).unwrap();
                    theirs.try_read()?;
                }
                Ok(())
            });
            let program = loss.freeze().unwrap();
            let setting = Fit { threads, ..setting };
            let sgd = Optimizer::sgd(0.1).unwrap();
            let mut watch = |_: usize, _: &History| Flow::Continue;
            let ended = train::fit(&program, &setting, &sgd, &asked, &mut watch);
            give.send(matches!(ended, Err(Error::Interrupted)))
        });
        let limit = Duration::from_secs(60);
        waiting.recv_timeout(limit).expect("a worker waits");
        stop.store(true, Ordering::Relaxed);
        let interrupted = get.recv_timeout(limit);
        drop(held);
        assert_eq!(interrupted, Ok(true));
        run.join().unwrap().unwrap();
    }
}

#[test]
fn settings_that_cannot_be_are_refused_by_name() {
    let w = Parameter::new(1.0);
    let (loss, setting) = watched(&w, |_| Ok(()));
    let change = |change: fn(&mut Fit)| {
        let mut setting = setting.clone();
        change(&mut setting);
        train(&loss, &setting, 0.1).map(|_| ())
    };
    assert_eq!(change(|_| ()), Ok(()));
    assert_eq!(change(|f| f.threads = 1024), Ok(()));
    assert_eq!(change(|f| f.threads = 0), Ok(()));
    assert_eq!(change(|f| f.batch_size = usize::MAX), Ok(()));
    let before = w.value().unwrap().to_f64();
    type Wrong = (&'static str, fn(&mut Fit));
    #[allow(clippy::reversed_empty_ranges, reason = "it is what is refused")]
    let refused: [Wrong; 4] = [
        ("epochs: expected at least 1", |f| f.epochs = 0..0),
        ("epochs: expected a range", |f| f.epochs = 5..3),
        ("batch_size: expected at least 1", |f| f.batch_size = 0),
        ("threads: expected at most 1024", |f| f.threads = 1025),
    ];
    for (text, wrong) in refused {
        let error = change(wrong).unwrap_err();
        assert!(matches!(error, Error::Value(_)), "{error:?}");
        assert!(error.to_string().contains(text), "{error}");
    }
    assert_eq!(w.value().unwrap().to_f64(), before);
}

#[test]
fn more_workers_than_there_may_be_are_refused() {
    let sgd = Optimizer::sgd(0.1).unwrap();
    for threads in [train::MOST_WORKERS + 1, usize::MAX] {
        let found = train::parallel(threads, 0, &[], &sgd, |_| Ok(()));
        assert!(matches!(found, Err(Error::Value(text)) if text.starts_with("threads: expected")));
    }
}

/// Tables are found among those of the run in whatever order that lists them, also twice.
#[test]
fn a_worker_steps_all_tables_of_its_run_and_no_others() {
    let mut tables: Vec<Arc<Table>> = (0..40)
        .map(|k| Arc::new(Table::new(&f64::from(k).into(), None).unwrap()))
        .collect();
    let foreign = tables.remove(17);
    tables.reverse();
    tables.swap(3, 20);
    tables.push(Arc::clone(&tables[5]));
    let sgd = Optimizer::sgd(0.5).unwrap();
    train::parallel(1, 1, &tables, &sgd, |worker| {
        let handles = || tables[..39].iter().cloned().map(Parameter::shared);
        let all: Vec<Parameter> = handles().collect();
        for w in &all {
            (w.clone() * 2.0).backward();
        }
        worker.step(&all)?;
        for w in &all {
            worker.trainer(&(w.clone() * 2.0))?.step()?;
        }
        let foreign = Parameter::shared(Arc::clone(&foreign));
        let with_foreign = (foreign.clone() * all[0].clone()).boxed();
        assert!(matches!(
            worker.trainer(&with_foreign),
            Err(Error::State(_))
        ));
        with_foreign.backward();
        let mut all = all;
        all.push(foreign);
        assert!(matches!(worker.step(&all), Err(Error::State(_))));
        Ok(())
    })
    .unwrap();
    let mut found: Vec<f64> = tables[..39]
        .iter()
        .map(|t| t.read().item().unwrap())
        .collect();
    found.sort_by(f64::total_cmp);
    let expected: Vec<f64> = (0..40)
        .filter(|&k| k != 17)
        .map(|k| f64::from(k) - 2.0)
        .collect();
    assert_eq!(found, expected);
    assert_eq!(foreign.read().item().unwrap(), 17.0);
}
