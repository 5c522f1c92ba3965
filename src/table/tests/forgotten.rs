//! Locks that nobody uses any more are forgotten by the record, in whatever order that happens.

use super::{Record, locks};

#[test]
fn locks_are_forgotten_in_any_order() {
    let locks = locks::<100>();
    // First to last, in leaps, and last to first.
    for step in [1, 37, 99] {
        let mut record = Record::new();
        for lock in &locks {
            record.entry_of(lock.id).trained = Some(1);
        }
        for k in 1..=100 {
            let lock = &locks[k * step % 100];
            record.change(lock, |entry| entry.trained = None);
            assert!(record.entry(lock.id).is_none());
            assert_eq!(record.entries.len(), 100 - k);
        }
    }
}
