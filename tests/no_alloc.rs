//! Training allocates nothing per step: an epoch of ten times as many steps allocates as
//! often. And what tables and programs allocate is given back.
//!
//! Allocations of all threads are counted, since workers are threads. An epoch itself
//! allocates a little (the record of the run; with several workers, one task each), so
//! what is compared is whole epochs, between one call of the observer and the next. The
//! least of several epochs counts: the queue of a thread pool allocates a block of tasks
//! now and then. With the feature `python` the module has an allocator of its own, and there is nothing
//! here.

#![cfg(not(feature = "python"))]

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use wyrmling::array::Dense;
use wyrmling::optim::{L2Per, Optimizer, Rule, Settings};
use wyrmling::train::{self, Fit, Flow, History, Sampler, Source, Trainer};
use wyrmling::{Array, Input, Parameter, Program};

/// The system's allocator, counting.
struct Counting;

static ALLOCATIONS: AtomicUsize = AtomicUsize::new(0);

thread_local! {
    /// Those of this thread. It has no destructor, so that reading it allocates nothing.
    static OWN_ALLOCATIONS: Cell<usize> = const { Cell::new(0) };
}

/// Blocks that are allocated.
static BLOCKS: AtomicUsize = AtomicUsize::new(0);

/// Bytes of large blocks that are allocated, and that were in all.
static LIVE: AtomicUsize = AtomicUsize::new(0);
static EVER: AtomicUsize = AtomicUsize::new(0);

/// Bytes from which on a block is large.
const LARGE: usize = 1 << 18;

fn count_one() {
    ALLOCATIONS.fetch_add(1, Ordering::Relaxed);
    OWN_ALLOCATIONS.set(OWN_ALLOCATIONS.get() + 1);
}

fn count(layout: Layout) {
    count_one();
    BLOCKS.fetch_add(1, Ordering::Relaxed);
    if layout.size() >= LARGE {
        LIVE.fetch_add(layout.size(), Ordering::Relaxed);
        EVER.fetch_add(layout.size(), Ordering::Relaxed);
    }
}

// SAFETY: every call is handed on unchanged to the system's allocator, which keeps the
// contract; counting touches an atomic and allocates nothing.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        count(layout);
        // SAFETY: the layout is the caller's, and not of size zero, by the contract of this function.
        unsafe { System.alloc(layout) }
    }
    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        count(layout);
        // SAFETY: the layout is the caller's, and not of size zero, by the contract of this function.
        unsafe { System.alloc_zeroed(layout) }
    }
    unsafe fn realloc(&self, start: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        count_one();
        if layout.size() >= LARGE {
            LIVE.fetch_sub(layout.size(), Ordering::Relaxed);
        }
        if size >= LARGE {
            LIVE.fetch_add(size, Ordering::Relaxed);
            EVER.fetch_add(size, Ordering::Relaxed);
        }
        // SAFETY: `start` is a block of this layout that the system's allocator gave, and the new size
        // is not zero, by the contract of this function.
        unsafe { System.realloc(start, layout, size) }
    }
    unsafe fn dealloc(&self, start: *mut u8, layout: Layout) {
        BLOCKS.fetch_sub(1, Ordering::Relaxed);
        if layout.size() >= LARGE {
            LIVE.fetch_sub(layout.size(), Ordering::Relaxed);
        }
        // SAFETY: `start` is a block of this layout that the system's allocator gave, by the contract of
        // this function.
        unsafe { System.dealloc(start, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

/// Tests count one after the other: each takes the turn before it allocates anything.
static TURN: Mutex<()> = Mutex::new(());

fn turn() -> MutexGuard<'static, ()> {
    TURN.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Epochs, of which the least count is taken.
const EPOCHS: usize = 8;

/// The allocations of the epoch that had the fewest.
fn allocations(program: &Program, fit: &Fit, optimizer: &Optimizer) -> usize {
    let mut least = usize::MAX;
    let mut before = None;
    let mut observe = |_: usize, _: &History| {
        let now = ALLOCATIONS.load(Ordering::Relaxed);
        if let Some(before) = before.replace(now) {
            least = least.min(now - before);
        }
        Flow::Continue
    };
    let stop = AtomicBool::new(false);
    train::fit(program, fit, optimizer, &stop, &mut observe).expect("the fit runs");
    least
}

/// Compares epochs of 1,100 and of 2,200 steps, which have as many stretches, and of a short one more.
fn check(program: &Program, rows: impl Fn(usize) -> Vec<(u64, Source)>) {
    const BATCH: usize = 10;
    let plain = Settings::new(0.01);
    let all = Settings {
        l2: 0.01,
        clip: Some(1.0),
        ..plain
    };
    let per_step = Settings { clip: None, ..all };
    let per_sample = Settings {
        l2_per: L2Per::Sample,
        ..per_step
    };
    let sgd = Rule::Sgd { momentum: 0.0 };
    let momentum = Rule::Sgd { momentum: 0.9 };
    let adagrad = Rule::Adagrad { eps: 1e-10 };
    let adam = Rule::Adam {
        beta1: 0.9,
        beta2: 0.999,
        eps: 1e-8,
    };
    let rules = [
        (sgd, plain),
        (sgd, all),
        (sgd, per_step),
        (sgd, per_sample),
        (momentum, all),
        (adagrad, plain),
        (adagrad, all),
        (adam, plain),
        (adam, all),
    ];
    for (rule, settings) in rules {
        for (threads, deterministic) in [(1, false), (2, false), (2, true)] {
            let [few, many] = [1100, 2200].map(|steps| {
                let fit = Fit {
                    sources: rows(steps * BATCH + 3),
                    epochs: 0..EPOCHS,
                    batch_size: BATCH,
                    threads,
                    seed: 1,
                    deterministic,
                };
                let optimizer = Optimizer::new(rule, settings).expect("the settings are in range");
                allocations(program, &fit, &optimizer)
            });
            assert_eq!(
                few, many,
                "{rule:?} {settings:?}, {threads} threads, deterministic: {deterministic}"
            );
        }
    }
}

fn numbers(shape: &[usize], scale: f32) -> Array {
    let count = shape.iter().product();
    let numbers = (0..count).map(|k| scale * (k as f32).sin());
    Dense::new(shape, numbers.collect())
        .expect("the shape fits")
        .into()
}

fn indices(rows: usize, below: usize) -> Source {
    let index = |k: usize| (k * 7919 % below) as u32;
    Source::Column((0..rows).map(index).collect::<Vec<_>>().into())
}

#[test]
fn of_a_ranking_model() {
    let _turn = turn();
    const USERS: usize = 40;
    // So many that samples are divided among two workers.
    const ITEMS: usize = 1024;
    let users = Parameter::new(numbers(&[USERS, 32], 0.1));
    let items = Parameter::new(numbers(&[ITEMS, 32], 0.1));
    let bias = Parameter::new(numbers(&[ITEMS], 0.1));
    let [u, i, j] = std::array::from_fn(|_| Input::indices(vec![0]));
    let user = users.gather(u.clone());
    let score = |item: &Input| {
        user.clone().vecdot(items.clone().gather(item.clone())) + bias.clone().gather(item.clone())
    };
    let program = (-(score(&i) - score(&j)).logsigmoid().sum())
        .freeze()
        .unwrap();
    check(&program, |rows| {
        let known = (0..USERS as u32).collect::<Vec<_>>();
        let sampler = Sampler::uniform(ITEMS)
            .unwrap()
            .reject(&known, &known)
            .unwrap();
        let sampled = Source::Sampled {
            sampler: Arc::new(sampler),
            given: Some(u.id()),
        };
        vec![
            (u.id(), indices(rows, USERS)),
            (i.id(), indices(rows, ITEMS)),
            (j.id(), sampled),
        ]
    });
}

#[test]
fn of_a_dense_network() {
    let _turn = turn();
    let weights = Parameter::new(numbers(&[4, 8], 0.5));
    let bias = Parameter::new(numbers(&[8], 0.5));
    let output = Parameter::new(numbers(&[8, 1], 0.5));
    let x = Input::new(numbers(&[1, 4], 1.0));
    let y = Input::new(numbers(&[1, 1], 1.0));
    let hidden = (x.clone().matmul(weights) + bias).tanh();
    let loss = (hidden.matmul(output) - y.clone()).square().sum();
    let program = loss.freeze().unwrap();
    check(&program, |rows| {
        let column = |width: usize| Source::Column(numbers(&[rows, width], 1.0));
        vec![(x.id(), column(4)), (y.id(), column(1))]
    });
}

#[test]
fn a_trainer_allocates_nothing_in_a_step() {
    let _turn = turn();
    let (table, weights) = (
        Parameter::new(numbers(&[50, 8], 0.5)),
        Parameter::new(numbers(&[8], 0.5)),
    );
    let (rows, target) = (Input::indices(vec![0, 1]), Input::new(vec![0.5_f32; 2]));
    let score = (table.gather(rows.clone()) * weights).sum();
    let loss = (score - target.clone()).square().sum();
    for rule in [
        Optimizer::sgd(0.01),
        Optimizer::adagrad(0.01),
        Optimizer::adam(0.01),
    ] {
        let optimizer = rule
            .and_then(|rule| rule.l2(0.01))
            .expect("settings in range");
        let mut trainer = Trainer::new(&loss, &optimizer).expect("parameters");
        let mut step = |at: u32| {
            rows.set_slice(&[at % 50, at * 7 % 50]).expect("indices");
            target
                .set_slice(&[0.5_f32, at as f32 / 100.0])
                .expect("numbers");
            trainer.step().expect("finite numbers");
        };
        (0..10).for_each(&mut step);
        // A step is this thread's alone; the one that runs the tests allocates meanwhile.
        let before = OWN_ALLOCATIONS.get();
        (0..1000).for_each(&mut step);
        assert_eq!(OWN_ALLOCATIONS.get(), before, "{optimizer:?}");
    }
}

#[test]
fn of_a_graph_that_is_used_again() {
    let _turn = turn();
    let (table, factor) = (
        Parameter::new(numbers(&[50, 4], 0.1)),
        Parameter::new(numbers(&[4], 0.1)),
    );
    let [one, two] = [1, 2].map(|count| Input::indices(vec![0; count]));
    let target = Input::new(vec![0.0_f32; 2]);
    let found = (table.clone().gather(two.clone()) * factor.clone()).sum();
    let loss =
        (found - target.clone()).square().sum() + table.clone().gather(one.clone()).square().sum();
    let single = table.clone().gather(one.clone()).square().sum();
    let params = [&table, &factor];
    let sgd = Optimizer::sgd(0.01).expect("a rate in range");
    let adagrad = Optimizer::adagrad(0.01).expect("a rate in range");
    let set = |at: u32| {
        one.set_slice(&[at % 50]).expect("indices");
        two.set_slice(&[at % 50, at * 7 % 50]).expect("indices");
        let target = target.set_slice(&[0.5_f32, at as f32 / 1e5]);
        target.expect("numbers");
    };
    let cleared = |at: u32| {
        set(at);
        loss.backward();
        sgd.step_and_clear(&params).expect("finite numbers");
    };
    let kept = |at: u32| {
        set(at);
        single.backward();
        adagrad.step(&params).expect("finite numbers");
        table.zero_grad();
    };
    for step in [&cleared as &dyn Fn(u32), &kept] {
        // By then the graphs are run as programs.
        (0..100).for_each(step);
        let before = OWN_ALLOCATIONS.get();
        (100..1000).for_each(step);
        assert_eq!(OWN_ALLOCATIONS.get(), before);
    }
}

#[test]
fn the_memory_of_tables_and_programs_is_used_again_and_given_back() {
    let _turn = turn();
    let large = || LIVE.load(Ordering::Relaxed);
    let before = large();
    let work = move || {
        let table = Parameter::new(numbers(&[1000, 400], 0.1));
        let x = Input::new(numbers(&[1000, 1], 1.0));
        // The product is in the memory of the program alone.
        let program = (table * x).tanh().sum().freeze().unwrap();
        let run = || program.run(&[numbers(&[1000, 1], 1.0)]).unwrap();
        run();
        assert!(large() > before, "the table is large");
        let ever = EVER.load(Ordering::Relaxed);
        for _ in 0..3 {
            run();
        }
        let now = EVER.load(Ordering::Relaxed);
        assert_eq!(now, ever, "a run after the first takes nothing");
    };
    // A thread keeps some memory of arrays for the next ones, until it ends.
    std::thread::spawn(work).join().unwrap();
    assert_eq!(large(), before);
}

#[test]
fn what_a_thread_allocates_for_graphs_is_given_back_when_it_ends() {
    let _turn = turn();
    let thread = || {
        let work = || {
            let w = Parameter::new(vec![1.0, 2.0]);
            (w * 3.0).square().sum().backward();
        };
        std::thread::spawn(work)
            .join()
            .expect("the graph is computed");
    };
    thread();
    let before = BLOCKS.load(Ordering::Relaxed);
    (0..200).for_each(|_| thread());
    // Tests that wait for their turn have a few.
    let kept = BLOCKS.load(Ordering::Relaxed).saturating_sub(before);
    assert!(kept < 50, "{kept} blocks are left of 200 threads");
}
