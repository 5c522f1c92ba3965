//! The record of who holds and wants which lock, in the whole process: see [`super::lock`], which
//! keeps it in a mutex and waits.

use std::time::{Duration, Instant};

use rustc_hash::{FxBuildHasher, FxHashMap};
use smallvec::SmallVec;

use super::sync::{AtomicU64, Condvar, Ordering, yield_now};
use crate::process;

/// In a lock's word: somebody has or wants plain access, so brief readers ask the record.
pub(super) const BUSY: u64 = 1 << 31;
/// In a lock's word: a thread has plain access without an entry in the record, for less than it takes to make one.
pub(super) const ALONE: u64 = 1 << 30;
/// In a lock's word: the record may have an entry, so that who wants plain access asks the record.
pub(super) const RECORDED: u64 = 1 << 29;
/// In a lock's word: the number of brief readers, and of runs that are counted like those. Above
/// [`BUSY`] it has the forks that led to the process which counted them; in a child they are not there.
pub(super) const READERS: u64 = RECORDED - 1;

/// How long others are let go first because they came first.
pub(super) const FAIRNESS_WINDOW: Duration = Duration::from_millis(100);

/// A number that no other run of this process has.
pub(super) type Run = u64;
pub(super) type Runs = SmallVec<[Run; 4]>;

/// The lock of one table.
#[derive(Debug)]
pub(super) struct Lock {
    pub(super) id: u64,
    /// The part that brief readers touch.
    pub(super) word: AtomicU64,
}

/// The word of a lock that nobody uses.
pub(super) fn unused() -> u64 {
    u64::from(process::forks()) << 32
}

/// How something is held.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Mode {
    /// Rows are moved, beside others.
    Shared,
    /// By one run alone.
    Plain,
}

/// Why a lock is not given, and which: its place among those asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Refused {
    /// The run that asks, or one that it is part of, holds it.
    Own(usize),
    /// Whoever holds it waits for what a run of this thread holds.
    Deadlock(usize),
    /// It is being trained by another run.
    Trained(usize),
}

/// What an attempt to take locks comes to.
pub(super) enum Attempt {
    Taken,
    Refused(Refused),
    Wait,
}

/// A lock that is in use or asked for.
#[derive(Default)]
pub(super) struct LockEntry {
    pub(super) plain: Option<Run>,
    /// A run as often as it has taken the lock.
    pub(super) shared: SmallVec<[Run; 2]>,
    pub(super) trained: Option<Run>,
    /// How many wait for plain access.
    pub(super) wanted: usize,
}

impl LockEntry {
    /// The runs that keep others from access.
    pub(super) fn holders(&self, mode: Mode) -> impl Iterator<Item = Run> + '_ {
        let shared = match mode {
            Mode::Plain => &self.shared[..],
            Mode::Shared => &[],
        };
        self.plain.iter().chain(shared).copied()
    }

    pub(super) fn is_trained(&self) -> bool {
        self.trained.is_some()
    }
}

/// What a thread asks for.
pub(super) struct LockRequest<'a> {
    /// Each once, in the order of their numbers.
    pub(super) locks: &'a [(&'a Lock, Mode)],
    /// The run that is to hold them; `None` for a brief reader.
    pub(super) run: Option<Run>,
    /// The runs that the thread works for.
    pub(super) own: Runs,
    /// Since when, and its place in the queue, once it waits.
    pub(super) since: Option<(Instant, u64)>,
}

/// A thread that waits.
pub(super) struct Waiting {
    pub(super) ticket: u64,
    pub(super) own: Runs,
    pub(super) locks: SmallVec<[(u64, Mode); 4]>,
}

/// Who holds and wants what, in the whole process.
pub(super) struct Record {
    /// By the numbers of their locks. A list would move all that come after one that is dropped.
    pub(super) entries: FxHashMap<u64, LockEntry>,
    /// In order of arrival.
    pub(super) queue: Vec<Waiting>,
    /// The next ticket.
    pub(super) next: u64,
    /// Grows when something is given back.
    pub(super) turn: u64,
}

/// Told when something is given back.
pub(super) static CHANGED: Condvar = Condvar::new();

impl Record {
    /// Of no lock.
    pub(super) const fn new() -> Self {
        Record {
            entries: FxHashMap::with_hasher(FxBuildHasher),
            queue: Vec::new(),
            next: 1,
            turn: 0,
        }
    }

    pub(super) fn entry(&self, id: u64) -> Option<&LockEntry> {
        self.entries.get(&id)
    }

    /// The entry of a lock, by its number, which is made if need be.
    pub(super) fn entry_of(&mut self, id: u64) -> &mut LockEntry {
        self.entries.entry(id).or_default()
    }

    /// Changes an entry, sends brief readers to the record or no longer, and forgets an entry
    /// that says nothing.
    pub(super) fn change(&mut self, lock: &Lock, change: impl FnOnce(&mut LockEntry)) {
        let Some(entry) = self.entries.get_mut(&lock.id) else {
            return;
        };
        change(entry);
        if entry.plain.is_none() && entry.wanted == 0 {
            let mut ended = BUSY;
            if entry.shared.is_empty() && entry.trained.is_none() {
                self.entries.remove(&lock.id);
                ended |= RECORDED;
            }
            // Whoever holds the record alone sets these bits, so this is what they are.
            if lock.word.load(Ordering::Relaxed) & ended != 0 {
                // Release: who comes next sees what was written.
                lock.word.fetch_and(!ended, Ordering::Release);
            }
        }
    }

    /// Has all who wait look again. They are in the queue: a thread enters it before it gives the
    /// record back for the first time. To wake nobody costs a call of the system's, so it is not done.
    pub(super) fn wake(&mut self) {
        self.turn += 1;
        if !self.queue.is_empty() {
            CHANGED.notify_all();
        }
    }

    /// Begins a word anew in a child: the readers that it counts were of other threads.
    pub(super) fn renew(&self, lock: &Lock) {
        let old = lock.word.load(Ordering::Relaxed);
        if old >> 32 == u64::from(process::forks()) {
            return;
        }
        let busy = self
            .entry(lock.id)
            .is_some_and(|entry| entry.plain.is_some() || entry.wanted > 0);
        let new = unused() | if busy { BUSY } else { 0 };
        // Nobody else changes a word of before the fork, but for another who renews it.
        let _ = lock
            .word
            .compare_exchange(old, new, Ordering::Relaxed, Ordering::Relaxed);
    }

    /// Has all who want plain access to a lock ask the record, and waits for a thread that has it without an
    /// entry.
    fn enlist(&self, lock: &Lock) {
        self.renew(lock);
        lock.word.fetch_or(RECORDED, Ordering::Relaxed);
        // Acquire: what that thread did is over.
        while lock.word.load(Ordering::Acquire) & ALONE != 0 {
            yield_now();
        }
    }

    /// Takes all that is asked for, if it is free.
    pub(super) fn attempt(&mut self, request: &LockRequest<'_>) -> Attempt {
        request.locks.iter().for_each(|(lock, _)| self.enlist(lock));
        let attempt = self.attempt_enlisted(request);
        for (lock, _) in request.locks {
            if self.entry(lock.id).is_none() {
                lock.word.fetch_and(!RECORDED, Ordering::Relaxed);
            }
        }
        attempt
    }

    /// As [`attempt`](Self::attempt), where every lock that is asked for was [enlisted](Self::enlist).
    fn attempt_enlisted(&mut self, request: &LockRequest<'_>) -> Attempt {
        let is_own = |run: &Run| request.own.contains(run);
        let mut free = true;
        for (k, (lock, mode)) in request.locks.iter().enumerate() {
            if let Some(entry) = self.entry(lock.id) {
                // A run that trains may hold what it trains; that is no reentry.
                if entry.holders(*mode).any(|run| is_own(&run)) {
                    return Attempt::Refused(Refused::Own(k));
                }
                let is_trained = entry.trained.is_some_and(|run| request.run != Some(run));
                if *mode == Mode::Plain && is_trained {
                    return Attempt::Refused(Refused::Trained(k));
                }
                free &= entry.holders(*mode).next().is_none();
            }
        }
        if free && self.is_next(request) && self.have_readers_left(request) {
            self.give(request);
            return Attempt::Taken;
        }
        match self.circle(request) {
            Some(k) => Attempt::Refused(Refused::Deadlock(k)),
            None => Attempt::Wait,
        }
    }

    /// Whether nobody who came before waits for any of this, or it has waited long enough.
    pub(super) fn is_next(&self, request: &LockRequest<'_>) -> bool {
        let since = request.since;
        if !request.own.is_empty()
            || since.is_some_and(|(since, _)| since.elapsed() >= FAIRNESS_WINDOW)
        {
            return true;
        }
        let older = self
            .queue
            .iter()
            .take_while(|other| since.is_none_or(|(_, ticket)| other.ticket < ticket));
        let clashes = |&(id, mode): &(u64, Mode)| {
            let ours = request.locks.binary_search_by_key(&id, |(l, _)| l.id);
            ours.is_ok_and(|at| mode == Mode::Plain || request.locks[at].1 == Mode::Plain)
        };
        !older.flat_map(|other| &other.locks).any(clashes)
    }

    /// Whether no brief reader keeps one of the locks that are asked for alone. From now on they
    /// ask the record.
    pub(super) fn have_readers_left(&self, request: &LockRequest<'_>) -> bool {
        let mut left = true;
        for (lock, mode) in request.locks {
            if *mode == Mode::Plain {
                // Acquire: what readers did is over.
                left &= lock.word.fetch_or(BUSY, Ordering::Acquire) & READERS == 0;
            }
        }
        left
    }

    pub(super) fn give(&mut self, request: &LockRequest<'_>) {
        for (lock, mode) in request.locks {
            match (request.run, mode) {
                (None, _) => {
                    lock.word.fetch_add(1, Ordering::Acquire);
                }
                (Some(run), Mode::Shared) => self.entry_of(lock.id).shared.push(run),
                (Some(run), Mode::Plain) => self.entry_of(lock.id).plain = Some(run),
            }
        }
    }

    /// The lock whose holders wait, over however many others, for a run of this thread.
    pub(super) fn circle(&self, request: &LockRequest<'_>) -> Option<usize> {
        if request.own.is_empty() {
            return None;
        }
        let reaches = |(lock, mode): &(&Lock, Mode)| {
            let holders = |id, mode| {
                self.entry(id)
                    .into_iter()
                    .flat_map(move |e| e.holders(mode))
            };
            let mut runs: Vec<Run> = holders(lock.id, *mode).collect();
            let mut next = 0;
            while let Some(&run) = runs.get(next) {
                if request.own.contains(&run) {
                    return true;
                }
                next += 1;
                for waiting in self.queue.iter().filter(|w| w.own.contains(&run)) {
                    for &(id, mode) in &waiting.locks {
                        let others = holders(id, mode).filter(|run| !runs.contains(run));
                        runs.extend(others.collect::<Vec<_>>());
                    }
                }
            }
            false
        };
        request.locks.iter().position(reaches)
    }

    pub(super) fn enqueue(&mut self, request: &mut LockRequest<'_>) {
        let ticket = self.next;
        self.next += 1;
        request.since = Some((Instant::now(), ticket));
        for (lock, mode) in request.locks {
            if *mode == Mode::Plain {
                self.entry_of(lock.id).wanted += 1;
                lock.word.fetch_or(BUSY, Ordering::Relaxed);
            }
        }
        self.queue.push(Waiting {
            ticket,
            own: request.own.clone(),
            locks: request.locks.iter().map(|(l, m)| (l.id, *m)).collect(),
        });
    }

    pub(super) fn dequeue(&mut self, request: &LockRequest<'_>) {
        let Some((_, ticket)) = request.since else {
            return;
        };
        let before = self.queue.len();
        self.queue.retain(|waiting| waiting.ticket != ticket);
        if self.queue.len() == before {
            return;
        }
        for (lock, mode) in request.locks {
            if *mode == Mode::Plain {
                self.change(lock, |entry| entry.wanted -= 1);
            }
        }
        // Others may have waited for this one to go first.
        self.wake();
    }
}
