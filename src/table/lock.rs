//! Who may touch a table's numbers, and who waits.
//!
//! Access is *plain* (one holder, who may have slices of the numbers) or *shared* (any number
//! of holders, who move rows). It is taken in two ways.
//!
//! - A **brief** reader ([`Lock::brief`]) copies something out and runs no code of the caller's
//!   meanwhile. It is counted in the lock's word: two atomic operations, and nothing else if
//!   nobody has or wants plain access.
//! - A **run** ([`hold`], [`train`]) is a piece of work in which operators of the caller's own
//!   may do anything: a run of a program, a step of an optimizer, an epoch of training. It has a
//!   number, and one record for the process says which run holds what. A thread knows the runs
//!   that it works for, and hands them to threads that work for it ([`Membership`]). So code
//!   that asks for what its own run holds is told ([`Refused::Own`]) and does not wait for itself.
//!
//! Several locks are taken together or not at all, so nobody waits while it takes them one by
//! one. A run within a run does hold something while it waits; if those it waits for wait for it
//! in turn, which the record shows, it is told too ([`Refused::Circle`]).
//!
//! Waits are in order of arrival, so that nobody waits for ever behind others who come and go.
//! The order binds for a tenth of a second only: a program that waits for a thread of its own,
//! which waits behind a writer, who waits for the program, must get on. Runs within runs keep
//! to no order. All waits end with what [`interrupt::wait`] reports.
//!
//! Limits: a thread that the caller starts within a run is not known to work for it. If the run
//! waits for it, it must not ask for what the run holds.

use std::cell::RefCell;
use std::marker::PhantomData;

use smallvec::SmallVec;

use super::record::{Attempt, BUSY, CHANGED, Record, Request, Run, Runs, unused};
pub(super) use super::record::{Lock, Mode, Refused};
use super::sync::{AtomicU64, Mutex, MutexGuard, Ordering, thread_local};
use crate::error::Result;
use crate::{interrupt, process};

thread_local! {
    /// The runs that this thread works for.
    static RUNS: RefCell<Vec<Run>> = const { RefCell::new(Vec::new()) };
}

fn own_runs() -> Runs {
    RUNS.with(|runs| Runs::from_slice(&runs.borrow()))
}

static RECORD: Mutex<Record> = Mutex::new(Record {
    entries: Vec::new(),
    queue: Vec::new(),
    next: 1,
    turn: 0,
});

pub(super) fn record() -> MutexGuard<'static, Record> {
    // Nothing that could panic runs while it is locked.
    RECORD.lock().unwrap_or_else(|e| e.into_inner())
}

/// Gives a brief reader's share back.
#[derive(Debug)]
pub(super) struct Brief<'a> {
    word: &'a AtomicU64,
}

impl Drop for Brief<'_> {
    #[inline]
    fn drop(&mut self) {
        if self.word.fetch_sub(1, Ordering::Release) & BUSY != 0 {
            record().wake();
        }
    }
}

impl Lock {
    /// A lock that nobody holds; `id` is its own in the process.
    pub(super) fn new(id: u64) -> Self {
        Lock {
            id,
            word: AtomicU64::new(unused()),
        }
    }

    /// Waits until nobody has plain access, and keeps it so for as long as the guard lives. The
    /// caller asks for no other lock meanwhile, runs no code of anybody else's and does not wait.
    ///
    /// # Errors
    /// Why it was refused, or what ended the wait.
    #[inline]
    pub(super) fn brief(&self) -> Result<Result<Brief<'_>, Refused>> {
        let mut word = self.word.load(Ordering::Relaxed);
        while word & BUSY == 0 && word >> 32 == u64::from(process::forks()) {
            let taken = self.word.compare_exchange_weak(
                word,
                word + 1,
                Ordering::Acquire,
                Ordering::Relaxed,
            );
            match taken {
                Ok(_) => return Ok(Ok(Brief { word: &self.word })),
                Err(found) => word = found,
            }
        }
        let taken = take(&[(self, Mode::Shared)], None)?;
        Ok(taken.map(|()| Brief { word: &self.word }))
    }

    /// As [`Lock::brief`], without a wait: `None` if somebody has plain access or is to have it.
    pub(super) fn brief_at_once(&self) -> Option<Brief<'_>> {
        let request = Request {
            locks: &[(self, Mode::Shared)],
            run: None,
            own: own_runs(),
            since: None,
        };
        match record().attempt(&request) {
            Attempt::Taken => Some(Brief { word: &self.word }),
            Attempt::Refused(_) | Attempt::Wait => None,
        }
    }

    /// Whether somebody trains it, this thread included.
    pub(super) fn is_trained(&self) -> bool {
        record()
            .entry(self.id)
            .is_some_and(|entry| entry.trained.is_some())
    }
}

/// Takes locks, all or none, and waits for them if need be.
fn take(locks: &[(&Lock, Mode)], run: Option<Run>) -> Result<Result<(), Refused>> {
    let mut request = Request {
        locks,
        run,
        own: own_runs(),
        since: None,
    };
    loop {
        let mut record = record();
        let attempt = record.attempt(&request);
        if !matches!(attempt, Attempt::Wait) {
            record.dequeue(&request);
        }
        match attempt {
            Attempt::Taken => return Ok(Ok(())),
            Attempt::Refused(refused) => return Ok(Err(refused)),
            Attempt::Wait if request.since.is_none() => record.enqueue(&mut request),
            Attempt::Wait => {}
        }
        let turn = record.turn;
        drop(record);
        let waited = interrupt::wait(&|slice| {
            let record = self::record();
            if record.turn == turn {
                // A spurious end is as good as any other.
                drop(CHANGED.wait_timeout(record, slice));
            }
        });
        if let Err(error) = waited {
            self::record().dequeue(&request);
            return Err(error);
        }
    }
}

/// Locks that a run holds. They are given back in the thread that took them.
pub(super) struct Held<'a> {
    locks: SmallVec<[(&'a Lock, Mode); 4]>,
    run: Run,
    _in_this_thread: PhantomData<*const ()>,
}

impl Drop for Held<'_> {
    fn drop(&mut self) {
        RUNS.with(|runs| {
            let mut runs = runs.borrow_mut();
            if let Some(at) = runs.iter().rposition(|&run| run == self.run) {
                runs.remove(at);
            }
        });
        let mut record = record();
        // Entries are taken out of a list from its end.
        for (lock, mode) in self.locks.iter().rev() {
            record.change(lock, |entry| match mode {
                Mode::Plain => entry.plain = None,
                Mode::Shared => {
                    let at = entry.shared.iter().position(|&run| run == self.run);
                    at.map(|at| entry.shared.swap_remove(at));
                }
            });
        }
        record.wake();
    }
}

/// A new run.
fn new_run() -> Run {
    static NEXT: AtomicU64 = AtomicU64::new(1);
    NEXT.fetch_add(1, Ordering::Relaxed)
}

/// Locks, each once, in the order of their numbers.
fn sorted<'a>(locks: impl Iterator<Item = &'a Lock>) -> SmallVec<[&'a Lock; 4]> {
    let mut sorted: SmallVec<[&Lock; 4]> = locks.collect();
    sorted.sort_unstable_by_key(|lock| lock.id);
    sorted.dedup_by_key(|lock| lock.id);
    sorted
}

/// Takes locks for a new run of this thread, and waits for them if need be. A lock that is named
/// twice is taken once.
///
/// # Errors
/// Why it was refused, or what ended the wait.
pub(super) fn hold<'a>(
    locks: impl Iterator<Item = &'a Lock>,
    mode: Mode,
) -> Result<Result<Held<'a>, Refused>> {
    hold_for(new_run(), locks, mode)
}

fn hold_for<'a>(
    run: Run,
    locks: impl Iterator<Item = &'a Lock>,
    mode: Mode,
) -> Result<Result<Held<'a>, Refused>> {
    let wanted: SmallVec<[_; 4]> = sorted(locks).into_iter().map(|l| (l, mode)).collect();
    Ok(take(&wanted, Some(run))?.map(|()| {
        RUNS.with(|runs| runs.borrow_mut().push(run));
        Held {
            locks: wanted,
            run,
            _in_this_thread: PhantomData,
        }
    }))
}

/// The right of a run to train what it has locked, for as long as this lives.
pub(super) struct Trained<'a> {
    locks: SmallVec<[&'a Lock; 4]>,
    run: Run,
}

/// Marks locks as being trained, so that nobody else gets plain access, and waits until nobody
/// has.
///
/// # Errors
/// Why it was refused, or what ended the wait.
pub(super) fn train<'a>(
    locks: impl Iterator<Item = &'a Lock>,
) -> Result<Result<Trained<'a>, Refused>> {
    let run = new_run();
    let all = sorted(locks);
    let mut record = record();
    let trained = |lock: &&Lock| {
        let entry = record.entry(lock.id);
        entry.is_some_and(|entry| entry.trained.is_some())
    };
    if let Some(k) = all.iter().position(trained) {
        return Ok(Err(Refused::Trained(k)));
    }
    for lock in &all {
        record.entry_of(lock).trained = Some(run);
    }
    // Who waits to change them is refused now.
    record.wake();
    drop(record);
    let trained = Trained { locks: all, run };
    let wanted = trained.locks.iter().map(|&lock| (lock, Mode::Shared));
    let wanted: SmallVec<[_; 4]> = wanted.collect();
    // Whoever got plain access before ends it first.
    Ok(match take(&wanted, Some(run))? {
        Err(refused) => Err(refused),
        Ok(()) => {
            drop(Held {
                locks: wanted,
                run,
                _in_this_thread: PhantomData,
            });
            Ok(trained)
        }
    })
}

impl Trained<'_> {
    /// Takes the locks for one stretch of work.
    ///
    /// # Errors
    /// Why it was refused, or what ended the wait.
    pub(super) fn hold(&self, mode: Mode) -> Result<Result<Held<'_>, Refused>> {
        hold_for(self.run, self.locks.iter().copied(), mode)
    }
}

impl Drop for Trained<'_> {
    fn drop(&mut self) {
        let mut record = record();
        for lock in self.locks.iter().rev() {
            record.change(lock, |entry| entry.trained = None);
        }
        record.wake();
    }
}

/// The runs that a thread works for, for threads that do part of its work.
#[derive(Debug, Clone)]
pub(crate) struct Membership(Runs);

impl Membership {
    /// That of this thread.
    pub(crate) fn of_this_thread() -> Self {
        Membership(own_runs())
    }

    /// Does `work` in this thread as a part of the other's.
    pub(crate) fn join<R>(&self, work: impl FnOnce() -> R) -> R {
        struct Restore(Vec<Run>);
        impl Drop for Restore {
            fn drop(&mut self) {
                RUNS.with(|runs| std::mem::swap(&mut *runs.borrow_mut(), &mut self.0));
            }
        }
        let before = RUNS.with(|runs| std::mem::replace(&mut *runs.borrow_mut(), self.0.to_vec()));
        let _restore = Restore(before);
        work()
    }
}

#[cfg(feature = "python")]
thread_local! {
    /// Kept from `before_fork` to `after_fork` by the thread that forks.
    static FORKING: RefCell<Option<MutexGuard<'static, Record>>> = const { RefCell::new(None) };
}

/// Keeps the record as it is until `after_fork`.
#[cfg(feature = "python")]
pub(crate) fn before_fork() {
    FORKING.with(|held| held.replace(Some(record())));
}

/// In a child, to be called when [`process`] has counted the fork: forgets what other threads
/// hold and want, since they are not there. Parameters are as those threads left them at that
/// moment.
#[cfg(feature = "python")]
pub(crate) fn after_fork(is_child: bool) {
    let Some(mut record) = FORKING.with(|held| held.take()) else {
        return;
    };
    if is_child {
        let own = own_runs();
        record.queue.clear();
        for entry in &mut record.entries {
            entry.wanted = 0;
            entry.plain = entry.plain.filter(|run| own.contains(run));
            entry.trained = entry.trained.filter(|run| own.contains(run));
            entry.shared.retain(|run| own.contains(run));
        }
        record.entries.retain(|entry| {
            entry.plain.is_some() || entry.trained.is_some() || !entry.shared.is_empty()
        });
    }
}
