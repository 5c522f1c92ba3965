//! What many locks cost.

use std::time::{Duration, Instant};

use super::super::lock::Lock;
use super::super::new_id;
use super::Record;

#[test]
fn locks_are_forgotten_as_fast_in_one_order_as_in_the_other() {
    const COUNT: usize = 20_000;
    let locks: Vec<Lock> = (0..COUNT).map(|_| Lock::new(new_id())).collect();
    let forget = |locks: &mut dyn Iterator<Item = &Lock>, record: &mut Record| {
        let start = Instant::now();
        locks.for_each(|lock| record.change(lock, |entry| entry.trained = None));
        assert!(record.entries.is_empty());
        start.elapsed()
    };
    let (mut first, mut last) = (Duration::MAX, Duration::MAX);
    for _ in 0..5 {
        let mut record = Record::new();
        for (best, is_first) in [(&mut first, true), (&mut last, false)] {
            for lock in &locks {
                record.entry_of(lock.id).trained = Some(1);
            }
            *best = (*best).min(match is_first {
                true => forget(&mut locks.iter(), &mut record),
                false => forget(&mut locks.iter().rev(), &mut record),
            });
        }
    }
    assert!(first < 20 * last, "{first:?}, the last first {last:?}");
}
