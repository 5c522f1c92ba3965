//! The tables' locks: what the record answers, state by state, and what threads do about it. The model
//! of the locks in `tests/model` includes `lock.rs` and `record.rs` as they are, and runs threads of its
//! own, so the tests are here.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::channel;
use std::thread;
use std::time::{Duration, Instant};

use super::lock::{self, Lock, Membership, Mode, Refused};
use super::new_id;
use super::record::{Attempt, BUSY, FAIRNESS_WINDOW, LockRequest, READERS, Record, Run, Waiting};
use crate::array::{DType, Type};
use crate::error::Error;
use crate::{Table, interrupt};

mod alone;
mod forgotten;

const PLAIN: Mode = Mode::Plain;
const SHARED: Mode = Mode::Shared;

/// Long enough for a thread that nothing holds up; who waits longer waits for ever.
const EVER: Duration = Duration::from_secs(60);

/// Locks in the order of their numbers.
fn locks<const N: usize>() -> [Lock; N] {
    let mut locks = [(); N].map(|()| Lock::new(new_id()));
    locks.sort_by_key(|lock| lock.id);
    locks
}

fn request<'a>(locks: &'a [(&'a Lock, Mode)], run: Option<Run>, own: &[Run]) -> LockRequest<'a> {
    LockRequest {
        locks,
        run,
        own: own.into(),
        since: None,
    }
}

/// What comes of a first attempt, in words.
fn ask(record: &mut Record, request: &LockRequest<'_>) -> &'static str {
    match record.attempt(request) {
        Attempt::Taken => "taken",
        Attempt::Wait => "wait",
        Attempt::Refused(Refused::Own(0)) => "own 0",
        Attempt::Refused(Refused::Own(_)) => "own 1",
        Attempt::Refused(Refused::Deadlock(0)) => "circle 0",
        Attempt::Refused(Refused::Deadlock(_)) => "circle 1",
        Attempt::Refused(Refused::Trained(0)) => "trained 0",
        Attempt::Refused(Refused::Trained(_)) => "trained 1",
    }
}

fn word(lock: &Lock) -> u64 {
    lock.word.load(Ordering::Relaxed)
}

#[test]
fn holders_decide_who_gets_a_lock() {
    /// How run 1 holds a lock, who asks for another and for it, and the answer.
    type Case<'a> = (Option<Mode>, Option<Run>, &'a [Run], Mode, &'a str);
    let cases: [Case<'_>; 16] = [
        (None, Some(2), &[], PLAIN, "taken"),
        (None, Some(2), &[], SHARED, "taken"),
        (None, None, &[], SHARED, "taken"),
        (Some(SHARED), Some(2), &[], SHARED, "taken"),
        (Some(SHARED), None, &[], SHARED, "taken"),
        (Some(SHARED), Some(2), &[], PLAIN, "wait"),
        (Some(SHARED), Some(2), &[7], PLAIN, "wait"),
        (Some(SHARED), Some(2), &[7, 1], PLAIN, "own 1"),
        (Some(SHARED), Some(2), &[7, 1], SHARED, "taken"),
        (Some(SHARED), None, &[1], SHARED, "taken"),
        (Some(PLAIN), Some(2), &[], SHARED, "wait"),
        (Some(PLAIN), Some(2), &[], PLAIN, "wait"),
        (Some(PLAIN), None, &[], SHARED, "wait"),
        (Some(PLAIN), None, &[7], SHARED, "wait"),
        (Some(PLAIN), None, &[1], SHARED, "own 1"),
        (Some(PLAIN), Some(2), &[1], PLAIN, "own 1"),
    ];
    for (held, run, own, mode, answer) in cases {
        let what = format!("{held:?} {run:?} {own:?} {mode:?}");
        let [free, lock] = locks();
        let mut record = Record::new();
        if let Some(held) = held {
            let of = [(&lock, held)];
            assert_eq!(ask(&mut record, &request(&of, Some(1), &[])), "taken");
        }
        let of = [(&free, mode), (&lock, mode)];
        assert_eq!(ask(&mut record, &request(&of, run, own)), answer, "{what}");
        // All or none, and nobody is left in the record who holds nothing.
        let of_free = record.entry(free.id);
        let readers = word(&free) & READERS;
        if answer == "taken" && run.is_none() {
            assert!(of_free.is_none() && readers == 1, "{what}");
        } else if answer == "taken" {
            let entry = of_free.expect("run 2 holds it");
            let is_shared = (entry.plain, &entry.shared[..]) == (None, &[2]);
            let is_plain = (entry.plain, &entry.shared[..]) == (Some(2), &[]);
            let right = if mode == PLAIN { is_plain } else { is_shared };
            assert!(right && readers == 0, "{what}");
        } else {
            assert!(of_free.is_none() && readers == 0, "{what}");
        }
    }
}

#[test]
fn what_is_trained_is_changed_by_its_own_run_alone() {
    for (run, mode, answer) in [
        (Some(1), PLAIN, "taken"),
        (Some(1), SHARED, "taken"),
        (Some(2), PLAIN, "trained 1"),
        (Some(2), SHARED, "taken"),
        (None, SHARED, "taken"),
    ] {
        let [free, lock] = locks();
        let mut record = Record::new();
        record.entry_of(lock.id).trained = Some(1);
        let of = [(&free, mode), (&lock, mode)];
        let found = ask(&mut record, &request(&of, run, &[]));
        assert_eq!(found, answer, "{run:?} {mode:?}");
    }
}

#[test]
fn brief_readers_are_waited_for_and_sent_to_the_record() {
    let [lock] = locks();
    let mut record = Record::new();
    lock.word.fetch_add(2, Ordering::Relaxed);
    let of = [(&lock, PLAIN)];
    let wanted = request(&of, Some(1), &[]);
    assert_eq!(ask(&mut record, &wanted), "wait");
    assert_eq!(word(&lock), BUSY + 2, "readers that come now ask");
    lock.word.fetch_sub(1, Ordering::Relaxed);
    assert_eq!(ask(&mut record, &wanted), "wait");
    lock.word.fetch_sub(1, Ordering::Relaxed);
    assert_eq!(ask(&mut record, &wanted), "taken");
    let shared = [(&lock, SHARED)];
    assert_eq!(ask(&mut record, &request(&shared, None, &[])), "wait");
    record.change(&lock, |entry| entry.plain = None);
    assert_eq!((word(&lock), record.entries.len()), (0, 0));
    assert_eq!(ask(&mut record, &request(&shared, None, &[])), "taken");
    // Of two locks the free one is not taken.
    let [first, second] = locks();
    first.word.fetch_add(1, Ordering::Relaxed);
    let both = [(&first, PLAIN), (&second, PLAIN)];
    assert_eq!(ask(&mut record, &request(&both, Some(1), &[])), "wait");
    assert!(record.entries.is_empty());
}

#[test]
fn a_lock_is_busy_for_as_long_as_somebody_has_or_wants_it_alone() {
    let [lock] = locks();
    let of = [(&lock, PLAIN)];
    let mut record = Record::new();
    let mut wanting = [(); 2].map(|()| request(&of, Some(1), &[]));
    for request in &mut wanting {
        record.enqueue(request);
    }
    record.entry_of(lock.id).trained = Some(9);
    record.entry_of(lock.id).shared.push(8);
    assert_eq!(record.entry_of(lock.id).wanted, 2);
    assert_eq!(word(&lock), BUSY);
    record.dequeue(&wanting[0]);
    assert_eq!((word(&lock), record.entry_of(lock.id).wanted), (BUSY, 1));
    record.change(&lock, |entry| entry.plain = Some(4));
    record.dequeue(&wanting[1]);
    assert_eq!((word(&lock), record.entry_of(lock.id).wanted), (BUSY, 0));
    record.change(&lock, |entry| entry.plain = None);
    assert_eq!(word(&lock), 0);
    // The entry is forgotten when it says nothing more, and no sooner.
    record.change(&lock, |entry| entry.trained = None);
    assert_eq!(record.entries.len(), 1);
    record.change(&lock, |entry| entry.shared.clear());
    assert!(record.entries.is_empty());
    record.change(&lock, |_| unreachable!("there is nothing to change"));
}

#[test]
fn the_queue_has_each_once_and_tells_of_who_leaves_it() {
    let [lock, other] = locks();
    let of = [(&lock, PLAIN), (&other, SHARED)];
    let mut record = Record::new();
    let mut first = request(&of, Some(1), &[5]);
    // Who did not wait changes nothing by leaving.
    record.dequeue(&first);
    assert_eq!(record.turn, 0);
    record.enqueue(&mut first);
    let mut second = request(&of, Some(2), &[]);
    record.enqueue(&mut second);
    let tickets: Vec<u64> = record.queue.iter().map(|w| w.ticket).collect();
    assert_eq!(tickets, [1, 2]);
    let (_, ticket) = second.since.expect("it waits");
    assert_eq!((ticket, record.next), (2, 3));
    let Waiting { own, locks, .. } = &record.queue[0];
    assert_eq!(own[..], [5]);
    assert_eq!(locks[..], [(lock.id, PLAIN), (other.id, SHARED)]);
    assert_eq!(record.entry_of(lock.id).wanted, 2);
    assert!(record.entry(other.id).is_none(), "that can be shared");
    assert_eq!(word(&other), 0);
    record.dequeue(&first);
    assert_eq!(record.queue.len(), 1);
    assert_eq!(record.queue[0].ticket, 2);
    // Others may have waited for this one to go first; they look again.
    assert_eq!(record.turn, 1);
    record.dequeue(&first);
    assert_eq!(record.turn, 1, "it is gone already");
    assert_eq!(record.entry_of(lock.id).wanted, 1);
    record.dequeue(&second);
    assert_eq!(record.turn, 2);
    assert!(record.queue.is_empty() && record.entries.is_empty());
}

#[test]
fn who_came_first_goes_first_for_as_long_as_courtesy_lasts() {
    let [lock, other] = locks();
    let waiting = |record: &mut Record, lock: &Lock, mode| {
        let of = [(lock, mode)];
        record.enqueue(&mut request(&of, Some(1), &[]));
    };
    // What somebody waits for, what is asked for, and whether the newcomer is next.
    for (lock_of, waits, asks, next) in [
        (&lock, PLAIN, PLAIN, false),
        (&lock, PLAIN, SHARED, false),
        (&lock, SHARED, PLAIN, false),
        (&lock, SHARED, SHARED, true),
        (&other, PLAIN, PLAIN, true),
    ] {
        let mut record = Record::new();
        waiting(&mut record, lock_of, waits);
        let of = [(&lock, asks)];
        let mut asking = request(&of, Some(2), &[]);
        assert_eq!(record.is_next(&asking), next, "{waits:?} {asks:?}");
        let run_within = request(&of, Some(2), &[7]);
        assert!(record.is_next(&run_within), "runs within runs keep to none");
        record.enqueue(&mut asking);
        assert_eq!(record.is_next(&asking), next, "in the queue");
        let (_, ticket) = asking.since.expect("it waits");
        asking.since = Instant::now()
            .checked_sub(FAIRNESS_WINDOW)
            .map(|t| (t, ticket));
        assert!(record.is_next(&asking), "it waited long enough");
    }
    // Those behind, and the request itself, are no hindrance.
    let mut record = Record::new();
    let of = [(&lock, PLAIN)];
    let mut first = request(&of, Some(1), &[]);
    record.enqueue(&mut first);
    waiting(&mut record, &lock, PLAIN);
    assert!(record.is_next(&first));
    // Nobody is next where the lock is held, however long it waited.
    assert_eq!(ask(&mut record, &first), "taken");
    let shared = [(&lock, SHARED)];
    let mut late = request(&shared, Some(3), &[]);
    record.enqueue(&mut late);
    late.since = Instant::now().checked_sub(FAIRNESS_WINDOW).map(|t| (t, 9));
    assert_eq!(ask(&mut record, &late), "wait");
}

#[test]
fn runs_that_would_wait_for_each_other_are_told() {
    // Run n holds lock n; run n waits for lock n + 1, and the first asks for the lock that the last
    // of the chain does not wait for, or for the second.
    for chain in 2..5u64 {
        for (mode, closed) in [(PLAIN, true), (SHARED, false)] {
            let [free, a, b, c, d] = locks();
            let all = [&a, &b, &c, &d];
            let chained = &all[..chain as usize];
            let mut record = Record::new();
            for (run, &lock) in (1..).zip(chained) {
                let of = [(lock, SHARED)];
                assert_eq!(ask(&mut record, &request(&of, Some(run), &[])), "taken");
            }
            for (run, pair) in (2..).zip(chained.windows(2).skip(1)) {
                let of = [(pair[1], PLAIN)];
                record.enqueue(&mut request(&of, None, &[run]));
            }
            // The last waits for the first; shared holders keep from plain access alone.
            let of = [(chained[0], mode)];
            record.enqueue(&mut request(&of, None, &[chain]));
            let both = [(&free, PLAIN), (chained[1], PLAIN)];
            let expected = if closed { "circle 1" } else { "wait" };
            let what = format!("{chain} {mode:?}");
            assert_eq!(
                ask(&mut record, &request(&both, None, &[9, 1])),
                expected,
                "{what}"
            );
            // Somebody who holds nothing is in no circle.
            assert_eq!(ask(&mut record, &request(&both, Some(8), &[])), "wait");
            assert_eq!(ask(&mut record, &request(&both, Some(8), &[8])), "wait");
        }
    }
}

#[test]
fn readers_of_before_a_fork_are_not_waited_for() {
    const OLD: u64 = 1 << 32;
    for (plain, wanted, busy) in [(None, 0, 0), (Some(4), 0, BUSY), (None, 1, BUSY)] {
        let [lock] = locks();
        let mut record = Record::new();
        let entry = record.entry_of(lock.id);
        (entry.plain, entry.wanted) = (plain, wanted);
        lock.word.store(OLD + 3, Ordering::Relaxed);
        record.renew(&lock);
        assert_eq!(word(&lock), busy, "{plain:?} {wanted}");
        lock.word.store(3, Ordering::Relaxed);
        record.renew(&lock);
        assert_eq!(word(&lock), 3, "these are of this process");
    }
    let [lock] = locks();
    lock.word.store(OLD + 3, Ordering::Relaxed);
    let guard = lock.brief().unwrap().unwrap();
    assert_eq!(word(&lock), 1);
    drop(guard);
    lock.word.store(OLD + 3, Ordering::Relaxed);
    drop(lock::hold([&lock].into_iter(), PLAIN).unwrap().unwrap());
    assert_eq!(word(&lock), 0);
}

/// Does `work` in a thread of its own, and fails if that waits for ever.
fn in_time<R: Send + 'static>(work: impl FnOnce() -> R + Send + 'static) -> R {
    let (give, get) = channel();
    thread::spawn(move || give.send(work()));
    get.recv_timeout(EVER).expect("the thread goes on")
}

#[test]
fn brief_readers_touch_nothing_but_the_word_of_a_lock_that_nobody_wants_alone() {
    let [lock] = locks();
    // The record is locked meanwhile.
    let _record = lock::record();
    in_time(move || {
        let first = lock.brief().unwrap().unwrap();
        let second = lock.brief().unwrap().unwrap();
        assert_eq!(word(&lock), 2);
        drop(first);
        assert_eq!(word(&lock), 1);
        drop(second);
        assert_eq!(word(&lock), 0);
    });
}

/// Whether nothing is left of a lock that was used.
fn is_forgotten(lock: &Lock) -> bool {
    let record = lock::record();
    let asks = |waiting: &Waiting| waiting.locks.iter().any(|&(id, _)| id == lock.id);
    word(lock) == 0 && record.entry(lock.id).is_none() && !record.queue.iter().any(asks)
}

/// Waits until somebody waits for the lock, or has given up.
fn until_wanted(lock: &Lock, ended: impl Fn() -> bool) {
    loop {
        let record = lock::record();
        let asks = |waiting: &Waiting| waiting.locks.iter().any(|&(id, _)| id == lock.id);
        if record.queue.iter().any(asks) || ended() {
            return;
        }
        drop(record);
        thread::yield_now();
    }
}

#[test]
fn threads_get_what_they_wait_for_and_leave_nothing_behind() {
    for held in [PLAIN, SHARED] {
        for wanted in [PLAIN, SHARED] {
            let [lock] = locks();
            let lock = Arc::new(lock);
            let theirs = Arc::clone(&lock);
            in_time(move || {
                let holder = lock::hold([&*lock].into_iter(), held).unwrap().unwrap();
                let got = Arc::new(AtomicBool::new(false));
                let (lock_too, got_too) = (Arc::clone(&lock), Arc::clone(&got));
                let waiter = thread::spawn(move || {
                    let locks = [&*lock_too].into_iter();
                    let _held = lock::hold(locks, wanted).unwrap().unwrap();
                    got_too.store(true, Ordering::SeqCst);
                });
                if (held, wanted) != (SHARED, SHARED) {
                    until_wanted(&lock, || false);
                    assert!(!got.load(Ordering::SeqCst), "{held:?} {wanted:?}");
                    drop(holder);
                }
                waiter.join().unwrap();
            });
            assert!(is_forgotten(&theirs), "{held:?} {wanted:?}");
        }
    }
}

#[test]
fn a_wait_for_brief_readers_ends_with_the_last() {
    let [lock] = locks();
    let lock = Arc::new(lock);
    let theirs = Arc::clone(&lock);
    in_time(move || {
        let readers = [(); 2].map(|()| lock.brief().unwrap().unwrap());
        let lock_too = Arc::clone(&lock);
        let waiter = thread::spawn(move || {
            let locks = [&*lock_too].into_iter();
            drop(lock::hold(locks, PLAIN).unwrap().unwrap());
        });
        until_wanted(&lock, || false);
        let turn = lock::record().turn;
        drop(readers);
        assert!(lock::record().turn > turn, "who waits is told");
        waiter.join().unwrap();
    });
    assert!(is_forgotten(&theirs));
}

#[test]
fn a_wait_that_is_interrupted_leaves_the_queue() {
    let [lock] = locks();
    let lock = Arc::new(lock);
    let holder = lock::hold([&*lock].into_iter(), SHARED).unwrap().unwrap();
    let theirs = Arc::clone(&lock);
    let stop = Arc::new(AtomicBool::new(false));
    let asked = Arc::clone(&stop);
    let (give, get) = channel();
    thread::spawn(move || {
        let wait = || lock::hold([&*theirs].into_iter(), PLAIN).map(|_| ());
        give.send(interrupt::with_stop_flag(&asked, wait))
    });
    until_wanted(&lock, || false);
    assert_eq!(word(&lock) & BUSY, BUSY);
    stop.store(true, Ordering::Relaxed);
    let ended = get.recv_timeout(EVER).expect("the wait ends");
    assert_eq!(ended, Err(Error::Interrupted));
    drop(holder);
    assert!(is_forgotten(&lock));
}

#[test]
fn a_thread_works_for_a_run_no_longer_than_it_says() {
    let table = Arc::new(Table::zeros(&Type::new(DType::F32, &[2, 3]), None).unwrap());
    let plain = table.exclusive().unwrap();
    let membership = Membership::of_this_thread();
    let theirs = Arc::clone(&table);
    let worker = thread::spawn(move || {
        let state = |read: crate::Result<_>| matches!(read, Err(Error::State(_)));
        membership.join(|| assert!(state(theirs.try_read())));
        // It is no part of the run any more, so it waits.
        theirs.try_read().is_ok()
    });
    until_wanted(table.lock(), || worker.is_finished());
    drop(plain);
    assert!(worker.join().unwrap());
}

#[test]
fn a_table_is_trained_until_training_ends() {
    let ty = Type::new(DType::F32, &[2, 3]);
    let table = Table::zeros(&ty, Some("w".into())).unwrap();
    assert_eq!(
        (table.name(), &table.label()[..]),
        (Some("w"), "parameter 'w'")
    );
    let unnamed = Table::zeros(&ty, None).unwrap();
    assert_eq!(unnamed.name(), None);
    assert_eq!(unnamed.label(), "parameter f32[2, 3]");
    assert!(!table.lock().is_trained());
    assert!(Table::beside([&table].into_iter()).is_err());
    let version = table.version();
    let training = Table::begin_training([&table].into_iter()).unwrap();
    assert!(table.lock().is_trained());
    assert!(Table::beside([&table].into_iter()).is_ok());
    drop(training);
    assert!(!table.lock().is_trained());
    assert!(table.version() > version, "graphs compute anew");
}

#[test]
fn a_number_is_given_to_one_run() {
    // More than a thread takes at once.
    let some = || (0..70_000).map(|_| lock::new_run()).collect::<Vec<_>>();
    let threads = [0, 1, 2].map(|_| std::thread::spawn(some));
    let runs = threads.map(|thread| thread.join().unwrap()).concat();
    let distinct: std::collections::HashSet<&u64> = runs.iter().collect();
    assert_eq!(distinct.len(), runs.len());
}
