//! The locks of tables, run by a scheduler that tries the orders in which threads may go on.
//!
//! The protocol is `src/table/lock.rs` and `record.rs` themselves, not copies: only what they are made
//! of is exchanged, by module `sync`. Crate `shuttle` runs threads one at a time, changes between them
//! at each access to something shared, and reports a panic or a deadlock with a schedule that repeats
//! it. A wait does not end by its timeout there, so a wake-up that somebody forgot shows as a deadlock,
//! where the true lock would look again after a twentieth of a second.
//!
//! Limits: memory is sequentially consistent here, so nobody looks for orderings that are too weak.
//! Orders are drawn at random, many but not all. Forks are not modelled.

#[path = "../../../src/error.rs"]
pub mod error;
#[path = "../../../src/table/lock.rs"]
mod lock;
#[path = "../../../src/order.rs"]
mod order;
#[path = "../../../src/table/record.rs"]
mod record;

/// What [`lock`] and [`record`] are made of.
mod sync {
    pub(super) use shuttle::sync::atomic::{AtomicU64, Ordering};
    pub(super) use shuttle::sync::{Condvar, Mutex, MutexGuard};
    pub(super) use shuttle::thread::yield_now;
    pub(super) use shuttle::thread_local;
}

/// A wait that nobody interrupts.
mod interrupt {
    use std::time::Duration;

    pub(crate) fn wait(slice: &dyn Fn(Duration)) -> crate::error::Result<()> {
        slice(Duration::from_millis(50));
        Ok(())
    }
}

/// A process that does not fork.
mod process {
    pub(crate) fn forks() -> u32 {
        0
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::sync::atomic::{AtomicBool, AtomicIsize, AtomicU64, AtomicUsize, Ordering};

    use super::lock::{HeldLocks, Lock, Membership, Mode, Refused, alone, hold, train};
    use shuttle::thread;

    /// A number for each lock of the process, as tables have.
    fn new_id() -> u64 {
        static NEXT: AtomicU64 = AtomicU64::new(1);
        NEXT.fetch_add(1, Ordering::Relaxed)
    }

    /// A table without numbers: who is at it now. These counts are not seen by the scheduler.
    struct Table {
        lock: Lock,
        /// Brief readers and shared holders, or -1 for one with plain access.
        users: AtomicIsize,
    }

    impl Table {
        fn new() -> Arc<Self> {
            Arc::new(Table {
                lock: Lock::new(new_id()),
                users: AtomicIsize::new(0),
            })
        }

        /// Uses the table in a mode, and is disturbed while it does.
        fn using(&self, mode: Mode, f: impl FnOnce()) {
            let before = match mode {
                Mode::Shared => self.users.fetch_add(1, Ordering::SeqCst),
                Mode::Plain => self.users.fetch_sub(1, Ordering::SeqCst),
            };
            match mode {
                Mode::Shared => assert!(before >= 0, "rows are moved beside plain access"),
                Mode::Plain => assert_eq!(before, 0, "plain access beside others"),
            }
            thread::yield_now();
            f();
            match mode {
                Mode::Shared => self.users.fetch_sub(1, Ordering::SeqCst),
                Mode::Plain => self.users.fetch_add(1, Ordering::SeqCst),
            };
        }

        fn read(&self) {
            match self.lock.brief().expect("nobody interrupts") {
                Ok(_guard) => self.using(Mode::Shared, || ()),
                Err(refused) => panic!("a brief reader outside of runs got {refused:?}"),
            }
        }

        fn hold(&self, mode: Mode) -> Result<HeldLocks<'_>, Refused> {
            hold(std::iter::once(&self.lock), mode).expect("nobody interrupts")
        }
    }

    /// Runs threads in many orders; how many can be given by `ROUNDS`. The record of who holds what
    /// is one for the process, so scenarios take turns.
    fn explore(scenario: impl Fn() + Send + Sync + 'static) {
        static ONE: std::sync::Mutex<()> = std::sync::Mutex::new(());
        let _one = ONE.lock().unwrap_or_else(|e| e.into_inner());
        let rounds = std::env::var("ROUNDS").ok().and_then(|n| n.parse().ok());
        let rounds: usize = rounds.unwrap_or(20_000);
        let scenario = Arc::new(scenario);
        let again = Arc::clone(&scenario);
        shuttle::check_random(move || scenario(), rounds);
        shuttle::check_pct(move || again(), rounds, 3);
    }

    fn spawn(
        tables: &[Arc<Table>],
        f: impl FnOnce(&[Arc<Table>]) + Send + 'static,
    ) -> thread::JoinHandle<()> {
        let tables = tables.to_vec();
        thread::spawn(move || f(&tables))
    }

    fn join(threads: Vec<thread::JoinHandle<()>>) {
        for thread in threads {
            thread.join().expect("no thread panics");
        }
    }

    #[test]
    fn plain_access_is_alone() {
        explore(|| {
            let tables = [Table::new(), Table::new()];
            let mut threads = Vec::new();
            for _ in 0..2 {
                threads.push(spawn(&tables, |t| {
                    t[0].read();
                    t[1].read();
                }));
                threads.push(spawn(&tables, |t| {
                    let locks = t.iter().map(|t| &t.lock);
                    let held = hold(locks, Mode::Plain).expect("nobody interrupts");
                    let _held = held.expect("nobody trains");
                    t[1].using(Mode::Plain, || t[0].using(Mode::Plain, || ()));
                }));
            }
            threads.push(spawn(&tables, |t| {
                let _held = t[1].hold(Mode::Shared).expect("nobody refuses");
                t[1].using(Mode::Shared, || t[0].read());
            }));
            join(threads);
        });
    }

    /// Who finds both tables unused has them alone, briefly, beside threads that want them in all other ways.
    #[test]
    fn brief_plain_access_is_alone() {
        let found = Arc::new(AtomicBool::new(false));
        let seen = Arc::clone(&found);
        explore(move || {
            let tables = [Table::new(), Table::new()];
            let mut threads = Vec::new();
            for order in [[0, 1], [1, 0]] {
                let found = Arc::clone(&found);
                threads.push(spawn(&tables, move |t| {
                    if let Some(_alone) = alone(order.iter().map(|&k| &t[k].lock)) {
                        found.store(true, Ordering::SeqCst);
                        t[1].using(Mode::Plain, || t[0].using(Mode::Plain, || ()));
                    }
                }));
            }
            threads.push(spawn(&tables, |t| {
                let locks = t.iter().map(|t| &t.lock);
                let held = hold(locks, Mode::Plain).expect("nobody interrupts");
                match held {
                    Ok(_held) => t[0].using(Mode::Plain, || t[1].using(Mode::Plain, || ())),
                    Err(refused) => assert!(matches!(refused, Refused::Trained(_))),
                }
            }));
            threads.push(spawn(&tables, |t| {
                let _held = t[1].hold(Mode::Shared).expect("nobody refuses");
                t[1].using(Mode::Shared, || t[0].read());
            }));
            threads.push(spawn(&tables, |t| {
                let training = train(std::iter::once(&t[0].lock)).expect("nobody interrupts");
                let training = training.expect("nobody else trains");
                let held = training.hold(Mode::Shared).expect("nobody interrupts");
                let _held = held.expect("its own table");
                t[0].using(Mode::Shared, || ());
            }));
            join(threads);
        });
        assert!(seen.load(Ordering::SeqCst), "no order led to brief access");
    }

    #[test]
    fn a_table_is_trained_by_one_run() {
        explore(|| {
            let tables = [Table::new(), Table::new()];
            let trained = Arc::new(AtomicUsize::new(0));
            let mut threads = Vec::new();
            for mode in [Mode::Plain, Mode::Shared] {
                let trained = Arc::clone(&trained);
                threads.push(spawn(&tables, move |t| {
                    let locks = t.iter().map(|t| &t.lock);
                    match train(locks).expect("nobody interrupts") {
                        Ok(training) => {
                            assert_eq!(trained.fetch_add(1, Ordering::SeqCst), 0);
                            for _ in 0..2 {
                                let held = training.hold(mode).expect("nobody interrupts");
                                let _held = held.expect("its own tables");
                                t[0].using(mode, || ());
                                t[1].using(mode, || ());
                            }
                            trained.fetch_sub(1, Ordering::SeqCst);
                        }
                        Err(refused) => assert!(matches!(refused, Refused::Trained(_))),
                    }
                }));
            }
            threads.push(spawn(&tables, |t| t[0].read()));
            threads.push(spawn(&tables, move |t| match t[1].hold(Mode::Plain) {
                Ok(_held) => t[1].using(Mode::Plain, || {
                    let trained = trained.load(Ordering::SeqCst);
                    assert_eq!(trained, 0, "a table is changed between epochs");
                }),
                Err(refused) => assert!(matches!(refused, Refused::Trained(_))),
            }));
            join(threads);
        });
    }

    /// Two runs that hold one table each ask for the other's: one of them is told, at least, and
    /// then lets go.
    #[test]
    fn runs_do_not_wait_for_each_other() {
        let told = Arc::new(AtomicBool::new(false));
        let seen = Arc::clone(&told);
        explore(move || {
            let tables = [Table::new(), Table::new()];
            let mut threads = Vec::new();
            for k in 0..2 {
                let told = Arc::clone(&told);
                threads.push(spawn(&tables, move |t| {
                    let (mine, other) = (&t[k], &t[1 - k]);
                    let _held = mine.hold(Mode::Shared).expect("nobody refuses");
                    mine.using(Mode::Shared, || match other.hold(Mode::Plain) {
                        Ok(_held) => other.using(Mode::Plain, || ()),
                        Err(Refused::Deadlock(0)) => told.store(true, Ordering::SeqCst),
                        Err(refused) => panic!("{refused:?}"),
                    });
                }));
            }
            threads.push(spawn(&tables, |t| t[1].read()));
            join(threads);
        });
        assert!(seen.load(Ordering::SeqCst), "no order led to a circle");
    }

    /// A run asks for what it holds itself, in its own thread and in one that works for it.
    #[test]
    fn a_run_does_not_wait_for_itself() {
        explore(|| {
            let tables = [Table::new()];
            let mut threads = Vec::new();
            for mode in [Mode::Plain, Mode::Shared] {
                threads.push(spawn(&tables, move |t| {
                    let _held = t[0].hold(mode).expect("nobody refuses");
                    t[0].using(mode, || {
                        assert!(matches!(t[0].hold(Mode::Plain), Err(Refused::Own(0))));
                        let membership = Membership::of_this_thread();
                        let helper = spawn(t, move |t| {
                            membership.join(|| {
                                let refused = t[0].hold(Mode::Plain);
                                assert!(matches!(refused, Err(Refused::Own(0))));
                            });
                        });
                        helper.join().expect("no thread panics");
                        let read = t[0].lock.brief().expect("nobody interrupts");
                        match mode {
                            Mode::Plain => assert!(matches!(read, Err(Refused::Own(0)))),
                            Mode::Shared => assert!(read.is_ok()),
                        }
                    });
                }));
            }
            threads.push(spawn(&tables, |t| t[0].read()));
            join(threads);
        });
    }
}
