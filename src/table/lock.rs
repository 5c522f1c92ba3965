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
//!   that requests a lock held by its own run gets [`Refused::Own`] instead of deadlocking.
//!
//! Most runs hold tables shared, for microseconds, and nothing else happens meanwhile. So an
//! uncontended run is counted in the locks' words as a brief reader is, and its thread notes what
//! it holds. The record has to know of it only where other threads read who holds what, or where
//! this thread does: hence the thread enters its notes there before it requests anything of the
//! record, before it hands on its runs, and before it forks.
//!
//! Work that takes less time than an entry in the record, such as a step on few numbers, has plain access without
//! one ([`alone`]): a bit of the word says so, which is set if nobody uses the lock. Other threads look again, and
//! leave the processor to others in between, until the bit is cleared.
//!
//! Several locks are taken together or not at all, so nobody waits while it takes them one by
//! one. A run within a run does hold something while it waits; if those it waits for wait for it
//! in turn, which the record shows, it gets [`Refused::Deadlock`].
//!
//! Waits are in order of arrival, so that nobody waits for ever behind others who come and go.
//! The order binds for a tenth of a second only: a program that waits for a thread of its own,
//! which waits behind a writer, who waits for the program, must get on. Runs within runs keep
//! to no order. All waits end with what [`interrupt::wait`] reports.
//!
//! Limits: a thread that the caller starts within a run is not known to work for it. If the run waits for it,
//! it may read, since a run that calls the caller's code holds tables shared, but not change what the run holds.

use std::cell::{Cell, RefCell};
use std::marker::PhantomData;

use smallvec::SmallVec;

use super::record::{ALONE, Attempt, BUSY, CHANGED, LockEntry, LockRequest, RECORDED};
pub(super) use super::record::{Lock, Mode, Refused};
use super::record::{Record, Run, Runs, unused};
use super::sync::{AtomicU64, Mutex, MutexGuard, Ordering, thread_local, yield_now};
use crate::error::Result;
use crate::order;
use crate::{interrupt, process};

/// A run that a thread works for.
#[derive(Clone)]
struct Own {
    run: Run,
    /// Locks in whose words it is counted, by number, of which the record does not know.
    noted: SmallVec<[u64; 4]>,
}

thread_local! {
    /// The runs that this thread works for.
    static RUNS: RefCell<Vec<Own>> = const { RefCell::new(Vec::new()) };
}

/// The runs that this thread works for. What it has noted of them is entered in the record.
fn own_runs(record: &mut Record) -> Runs {
    let enter = |own: &mut Own| {
        for id in own.noted.drain(..) {
            record.entry_of(id).shared.push(own.run);
        }
        own.run
    };
    RUNS.with(|runs| runs.borrow_mut().iter_mut().map(enter).collect())
}

static RECORD: Mutex<Record> = Mutex::new(Record::new());

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
        leave(self.word);
    }
}

/// Counts a reader in a word, unless somebody has or wants plain access.
#[inline]
fn enter(word: &AtomicU64) -> bool {
    let mut seen = word.load(Ordering::Relaxed);
    while seen & BUSY == 0 && seen >> 32 == u64::from(process::forks()) {
        if seen & ALONE != 0 {
            yield_now();
            seen = word.load(Ordering::Relaxed);
            continue;
        }
        let entered =
            word.compare_exchange_weak(seen, seen + 1, Ordering::Acquire, Ordering::Relaxed);
        match entered {
            Ok(_) => return true,
            Err(found) => seen = found,
        }
    }
    false
}

/// Counts a reader out of a word, and tells whoever waits for that.
#[inline]
fn leave(word: &AtomicU64) {
    if word.fetch_sub(1, Ordering::Release) & BUSY != 0 {
        record().wake();
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
        if enter(&self.word) {
            return Ok(Ok(Brief { word: &self.word }));
        }
        let taken = take(&[(self, Mode::Shared)], None)?;
        Ok(taken.map(|()| Brief { word: &self.word }))
    }

    /// As [`Lock::brief`], without a wait: `None` if somebody has plain access or is to have it.
    pub(super) fn brief_at_once(&self) -> Option<Brief<'_>> {
        let mut record = record();
        let request = LockRequest {
            locks: &[(self, Mode::Shared)],
            run: None,
            own: own_runs(&mut record),
            since: None,
        };
        match record.attempt(&request) {
            Attempt::Taken => Some(Brief { word: &self.word }),
            Attempt::Refused(_) | Attempt::Wait => None,
        }
    }

    /// Whether somebody trains it, this thread included.
    #[inline]
    pub(super) fn is_trained(&self) -> bool {
        // Whoever trains it has an entry in the record, which sets this bit before.
        self.word.load(Ordering::Acquire) & RECORDED != 0
            && record().entry(self.id).is_some_and(LockEntry::is_trained)
    }
}

/// Gives plain access back that the record does not know of.
pub(crate) struct Alone<'a> {
    locks: SmallVec<[&'a Lock; 4]>,
}

impl Drop for Alone<'_> {
    fn drop(&mut self) {
        // All bits are cleared before the record is locked: a thread that has locked it may wait for any of them.
        let mut is_awaited = false;
        for lock in &self.locks {
            // Release: who comes next sees what was written.
            is_awaited |= lock.word.fetch_and(!ALONE, Ordering::Release) & BUSY != 0;
        }
        if is_awaited {
            record().wake();
        }
    }
}

/// Plain access to locks, each named once; `None` if somebody uses one, wants it or trains it. The caller asks
/// for no other lock meanwhile, runs no code of anybody else's and does not wait.
pub(super) fn alone<'a>(locks: impl Iterator<Item = &'a Lock>) -> Option<Alone<'a>> {
    let mut alone = Alone {
        locks: SmallVec::new(),
    };
    for lock in locks {
        let unused = unused();
        let taken = lock.word.compare_exchange(
            unused,
            unused | ALONE,
            Ordering::Acquire,
            Ordering::Relaxed,
        );
        // Those that were taken are given back.
        taken.ok()?;
        alone.locks.push(lock);
    }
    Some(alone)
}

/// Takes locks, all or none, and waits for them if need be.
fn take(locks: &[(&Lock, Mode)], run: Option<Run>) -> Result<Result<(), Refused>> {
    let mut record = record();
    let mut request = LockRequest {
        locks,
        run,
        own: own_runs(&mut record),
        since: None,
    };
    loop {
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
        record = self::record();
    }
}

/// Locks that a run holds. They are given back in the thread that took them.
pub(crate) struct HeldLocks<'a> {
    locks: Locks<'a>,
    run: Run,
    /// In the words of which process it is counted, by the forks that led there, if it is.
    counted: Option<u32>,
    _in_this_thread: PhantomData<*const ()>,
}

impl Drop for HeldLocks<'_> {
    fn drop(&mut self) {
        if self.locks.is_empty() {
            return; // The run was not listed.
        }
        // A guard that another variable of the thread has kept may be dropped after the runs are.
        let own = RUNS.try_with(|runs| {
            let mut runs = runs.borrow_mut();
            let at = runs.iter().rposition(|own| own.run == self.run);
            at.map(|at| runs.remove(at))
        });
        let own = own.ok().flatten();
        if own.is_some_and(|own| !own.noted.is_empty()) {
            self.locks.iter().for_each(|(lock, _)| leave(&lock.word));
            return;
        }
        let mut record = record();
        for (lock, mode) in &self.locks {
            record.change(lock, |entry| match mode {
                Mode::Plain => entry.plain = None,
                Mode::Shared => {
                    let at = entry.shared.iter().position(|&run| run == self.run);
                    at.map(|at| entry.shared.swap_remove(at));
                }
            });
            // In a child nobody is counted who was counted in its parent.
            if self.counted == Some(process::forks()) {
                lock.word.fetch_sub(1, Ordering::Release);
            }
        }
        record.wake();
    }
}

/// A new run.
pub(super) fn new_run() -> Run {
    /// How many numbers a thread takes at once.
    const BLOCK: u64 = 1 << 16;
    static NEXT: AtomicU64 = AtomicU64::new(BLOCK);
    thread_local! {
        static OWN: Cell<Run> = const { Cell::new(0) };
    }
    OWN.with(|own| {
        let run = match own.get() % BLOCK {
            0 => NEXT.fetch_add(BLOCK, Ordering::Relaxed),
            _ => own.get(),
        };
        own.set(run + 1);
        run
    })
}

/// Locks, and how they are asked for.
type Locks<'a> = SmallVec<[(&'a Lock, Mode); 4]>;

/// Locks, each once, in the order of their numbers.
fn ordered(mut locks: Locks<'_>) -> Locks<'_> {
    order::sort_few_by_key(&mut locks, |(lock, _)| lock.id as usize);
    locks.dedup_by_key(|(lock, _)| lock.id);
    locks
}

/// Takes locks for a new run of this thread, and waits for them if need be. A lock that is named
/// twice is taken once.
///
/// # Errors
/// Why it was refused, and for which lock in the order of their numbers, or what ended the wait.
pub(super) fn hold<'a>(
    locks: impl Iterator<Item = &'a Lock>,
    mode: Mode,
) -> Result<Result<HeldLocks<'a>, Refused>> {
    hold_for(new_run(), locks, mode)
}

fn hold_for<'a>(
    run: Run,
    locks: impl Iterator<Item = &'a Lock>,
    mode: Mode,
) -> Result<Result<HeldLocks<'a>, Refused>> {
    let locks: Locks<'a> = locks.map(|lock| (lock, mode)).collect();
    let held = |locks: Locks<'a>, counted, noted| {
        if !locks.is_empty() {
            RUNS.with(|runs| runs.borrow_mut().push(Own { run, noted }));
        }
        HeldLocks {
            locks,
            run,
            counted,
            _in_this_thread: PhantomData,
        }
    };
    if mode == Mode::Shared && enter_all(&locks) {
        let noted = locks.iter().map(|(lock, _)| lock.id).collect();
        return Ok(Ok(held(locks, Some(process::forks()), noted)));
    }
    let locks = ordered(locks);
    Ok(take(&locks, Some(run))?.map(|()| held(locks, None, SmallVec::new())))
}

/// Counts a reader in the words of all locks, or of none.
#[inline]
fn enter_all(locks: &Locks<'_>) -> bool {
    for (k, (lock, _)) in locks.iter().enumerate() {
        if !enter(&lock.word) {
            locks[..k].iter().for_each(|(lock, _)| leave(&lock.word));
            return false;
        }
    }
    true
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
    let locks = ordered(locks.map(|lock| (lock, Mode::Shared)).collect());
    let mut record = record();
    let trained =
        |(lock, _): &(&Lock, Mode)| record.entry(lock.id).is_some_and(LockEntry::is_trained);
    if let Some(k) = locks.iter().position(trained) {
        return Ok(Err(Refused::Trained(k)));
    }
    for (lock, _) in &locks {
        record.entry_of(lock.id).trained = Some(run);
    }
    // Who waits to change them is refused now.
    record.wake();
    drop(record);
    let trained = Trained {
        locks: locks.iter().map(|(lock, _)| *lock).collect(),
        run,
    };
    // Whoever got plain access before ends it first.
    Ok(take(&locks, Some(run))?.map(|()| {
        drop(HeldLocks {
            locks,
            run,
            counted: None,
            _in_this_thread: PhantomData,
        });
        trained
    }))
}

impl Trained<'_> {
    /// Takes the locks for one stretch of work.
    ///
    /// # Errors
    /// Why it was refused, or what ended the wait.
    pub(super) fn hold(&self, mode: Mode) -> Result<Result<HeldLocks<'_>, Refused>> {
        hold_for(self.run, self.locks.iter().copied(), mode)
    }
}

impl Drop for Trained<'_> {
    fn drop(&mut self) {
        let mut record = record();
        for lock in &self.locks {
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
        Membership(own_runs(&mut record()))
    }

    /// Does `work` in this thread as a part of the other's.
    pub(crate) fn join<R>(&self, work: impl FnOnce() -> R) -> R {
        struct Restore(Vec<Own>);
        impl Drop for Restore {
            fn drop(&mut self) {
                RUNS.with(|runs| std::mem::swap(&mut *runs.borrow_mut(), &mut self.0));
            }
        }
        let own = |&run: &Run| Own {
            run,
            noted: SmallVec::new(),
        };
        let own = self.0.iter().map(own).collect();
        let before = RUNS.with(|runs| std::mem::replace(&mut *runs.borrow_mut(), own));
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
    let mut record = record();
    own_runs(&mut record);
    FORKING.with(|held| held.replace(Some(record)));
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
        let own = own_runs(&mut record);
        record.queue.clear();
        for entry in record.entries.values_mut() {
            entry.wanted = 0;
            entry.plain = entry.plain.filter(|run| own.contains(run));
            entry.trained = entry.trained.filter(|run| own.contains(run));
            entry.shared.retain(|run| own.contains(run));
        }
        record.entries.retain(|_, entry| {
            entry.plain.is_some() || entry.trained.is_some() || !entry.shared.is_empty()
        });
    }
}
