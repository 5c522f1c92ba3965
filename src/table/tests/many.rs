//! What many locks cost.

use std::time::Instant;

use super::super::lock::{self, Lock};
use super::super::new_id;

#[test]
fn locks_are_forgotten_as_fast_in_one_order_as_in_the_other() {
    const COUNT: usize = 20_000;
    let locks: Vec<Lock> = (0..COUNT).map(|_| Lock::new(new_id())).collect();
    let best = |first_to_last: bool| {
        let time = |_| {
            let trained = locks.iter().map(|lock| {
                let trained = lock::train([lock].into_iter());
                trained.expect("nobody interrupts").expect("it is free")
            });
            let mut trained: Vec<_> = trained.collect();
            if !first_to_last {
                trained.reverse();
            }
            let start = Instant::now();
            drop(trained);
            start.elapsed()
        };
        (0..3).map(time).min().expect("three times")
    };
    let (last, first) = (best(false), best(true));
    assert!(first < 10 * last, "{first:?}, the last first {last:?}");
}
