//! Plain access without an entry in the record.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

use super::super::lock::{self, Lock, Membership};
use super::{PLAIN, SHARED, in_time, is_forgotten, locks, word};

#[test]
fn who_is_alone_briefly_needs_a_lock_that_nobody_uses() {
    let [lock, other] = locks();
    let alone = || lock::alone([&other, &lock].into_iter()).is_some();
    assert!(alone() && alone());
    for mode in [PLAIN, SHARED] {
        let held = lock::hold([&lock].into_iter(), mode).unwrap().unwrap();
        assert!(!alone(), "{mode:?}");
        // A second run in this thread: the record has an entry for the first.
        assert!(lock::hold([&lock].into_iter(), PLAIN).unwrap().is_err());
        assert!(!alone() && word(&other) == 0, "{mode:?}");
        drop(held);
        assert!(alone(), "{mode:?}");
    }
    let reader = lock.brief().unwrap().unwrap();
    assert!(!alone());
    drop(reader);
    assert!(alone());
    let trained = lock::train([&lock].into_iter()).unwrap().unwrap();
    assert!(!alone());
    for mode in [PLAIN, SHARED] {
        drop(trained.hold(mode).unwrap().unwrap());
        assert!(!alone(), "{mode:?}");
    }
    drop(trained);
    assert!(alone() && is_forgotten(&lock) && is_forgotten(&other));
    const OLD: u64 = 7 << 32;
    lock.word.store(OLD, Ordering::Relaxed);
    assert!(!alone(), "it is not known what the lock was before a fork");
    drop(lock.brief_at_once());
    assert!(alone());
}

#[test]
fn others_wait_for_who_is_alone_briefly() {
    /// What another thread wants.
    type Want = fn(&Lock);
    let wants: [Want; 4] = [
        |lock| drop(lock.brief().unwrap().unwrap()),
        |lock| drop(lock::hold([lock].into_iter(), SHARED).unwrap().unwrap()),
        |lock| drop(lock::hold([lock].into_iter(), PLAIN).unwrap().unwrap()),
        |lock| drop(lock::train([lock].into_iter()).unwrap().unwrap()),
    ];
    for (number, want) in wants.into_iter().enumerate() {
        let [lock, second] = locks();
        let locks = Arc::new([lock, second]);
        let theirs = Arc::clone(&locks);
        in_time(move || {
            let alone = lock::alone(locks.iter());
            assert!(alone.is_some() && lock::alone(locks.iter()).is_none());
            let got = Arc::new(AtomicBool::new(false));
            let (locks_too, got_too) = (Arc::clone(&locks), Arc::clone(&got));
            let waiter = thread::spawn(move || {
                locks_too.iter().for_each(want);
                got_too.store(true, Ordering::SeqCst);
            });
            thread::sleep(Duration::from_millis(5));
            assert!(!got.load(Ordering::SeqCst), "{number}");
            drop(alone);
            waiter.join().unwrap();
        });
        assert!(theirs.iter().all(is_forgotten), "{number}");
    }
}

#[test]
fn a_run_without_locks_leaves_nothing() {
    for mode in [PLAIN, SHARED] {
        drop(lock::hold(std::iter::empty(), mode).unwrap().unwrap());
        let runs = Membership::of_this_thread();
        assert_eq!(format!("{runs:?}"), "Membership([])");
    }
}
