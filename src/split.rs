//! The work of one operator, split over the processor's cores.
//!
//! What is split is the result: each thread computes whole elements of it, every sum in the
//! order it has on one thread. So the bits do not depend on how many threads took part.
//!
//! Parts are taken in turn rather than handed out, and the caller takes parts too: a core that
//! is busy elsewhere delays nobody, and the work is never slower than alone by more than
//! waking the others costs. A caller that is a thread of one of rayon's pools already, such as a
//! worker of `train` or `rank` or of a pool of the user's, does all of its work itself.
//!
//! The threads are started when first needed, as many as rayon starts: `RAYON_NUM_THREADS` or
//! the number of cores. A process that was forked has none of its parent's threads, and works
//! alone.

use std::sync::{Mutex, OnceLock, PoisonError};

use rayon::{Scope, ThreadPool, ThreadPoolBuilder};

use crate::error::Result;
use crate::interrupt::Poller;

/// The least work for a thread, in steps of about a nanosecond. Waking one takes some 10 µs.
const LEAST: usize = 1 << 15;

/// The threads, and the process that started them.
fn pool() -> Option<&'static ThreadPool> {
    static POOL: OnceLock<Option<(u32, ThreadPool)>> = OnceLock::new();
    let process = std::process::id();
    let started = POOL.get_or_init(|| {
        let name = |number| format!("wyrmling-{number}");
        let pool = ThreadPoolBuilder::new().thread_name(name).build();
        pool.ok().map(|pool| (process, pool))
    });
    let (owner, pool) = started.as_ref()?;
    (*owner == process).then_some(pool)
}

/// How many threads should share `work` nanoseconds of work, this one included.
#[inline]
pub(crate) fn threads(work: usize) -> usize {
    if work < 2 * LEAST || rayon::current_thread_index().is_some() {
        return 1;
    }
    let most = pool().map_or(1, ThreadPool::current_num_threads);
    most.min(work / LEAST)
}

/// The length of the parts of `length` for `threads` threads, a multiple of `unit` if there are
/// several parts; never 0.
#[inline]
pub(crate) fn part(length: usize, threads: usize, unit: usize) -> usize {
    match threads {
        1 => length.max(1),
        _ => length.div_ceil(threads).next_multiple_of(unit).max(1),
    }
}

/// Calls `f` with every part, by `threads` threads.
pub(crate) fn each<P: Send>(
    threads: usize,
    parts: impl Iterator<Item = P> + Send,
    f: impl Fn(P) + Sync,
) {
    let parts = Mutex::new(parts);
    let next = || parts.lock().unwrap_or_else(PoisonError::into_inner).next();
    together(threads, &|| {
        while let Some(part) = next() {
            f(part);
        }
    });
}

/// As [`each`], for work that may fail or take long. No part is begun after one has failed, or
/// after the caller was asked to end.
///
/// # Errors
/// That of one of the parts, and what ends long work.
pub(crate) fn try_each<P: Send>(
    threads: usize,
    parts: impl Iterator<Item = P> + Send,
    f: impl Fn(P) -> Result<()> + Sync,
) -> Result<()> {
    let parts = Mutex::new(parts);
    let next = || parts.lock().unwrap_or_else(PoisonError::into_inner).next();
    let failure = OnceLock::new();
    together(threads, &|| {
        let mut poller = Poller::default();
        while failure.get().is_none()
            && let Some(part) = next()
        {
            if let Err(error) = poller.large_step().and_then(|()| f(part)) {
                failure.get_or_init(|| error);
            }
        }
    });
    failure.into_inner().map_or(Ok(()), Err)
}

/// Calls `f` with every part, by all threads: those of the pool that the caller belongs to if it
/// is a worker, else those of this module. It is for work that takes so long that the cost of
/// waking threads does not matter.
pub(crate) fn all<P: Send>(parts: impl ExactSizeIterator<Item = P> + Send, f: impl Fn(P) + Sync) {
    each(all_threads(parts.len()), parts, f);
}

/// As [`all`], for work that may fail. No part is begun after one has failed.
///
/// # Errors
/// That of one of the parts.
pub(crate) fn try_all<P: Send>(
    parts: impl ExactSizeIterator<Item = P> + Send,
    f: impl Fn(P) -> Result<()> + Sync,
) -> Result<()> {
    try_each(all_threads(parts.len()), parts, f)
}

/// As many threads as there are for so many parts.
fn all_threads(parts: usize) -> usize {
    if parts <= 1 {
        // To ask for the pool takes a call of the system.
        return parts;
    }
    let threads = match rayon::current_thread_index() {
        Some(_) => rayon::current_num_threads(),
        None => pool().map_or(1, ThreadPool::current_num_threads),
    };
    threads.min(parts)
}

/// As many threads as there are for so many parts, and not more than `most`, unless that is 0.
pub(crate) fn at_most(most: usize, parts: usize) -> usize {
    match most {
        0 => all_threads(parts),
        _ => all_threads(parts).min(most),
    }
}

/// Calls `work` in `threads` threads, this one included. `work` is a trait object, so that this
/// function is compiled once and not for each of its callers.
fn together<'w>(threads: usize, work: &'w (dyn Fn() + Sync)) {
    let share = |scope: &Scope<'w>| {
        for _ in 1..threads {
            scope.spawn(|_| work());
        }
        work();
    };
    if threads <= 1 {
        work();
    } else if rayon::current_thread_index().is_some() {
        rayon::in_place_scope(share);
    } else if let Some(pool) = pool() {
        pool.in_place_scope(share);
    } else {
        work();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_part_is_worked_on_once() {
        for threads in [1, 2, 3] {
            let mut counts = vec![0; 1001];
            each(threads, counts.chunks_mut(10).enumerate(), |(k, part)| {
                part.iter_mut().for_each(|x| *x += k);
            });
            let expected: Vec<usize> = (0..1001).map(|i| i / 10).collect();
            assert_eq!(counts, expected, "{threads} threads");
        }
    }

    #[test]
    fn a_worker_keeps_its_work() {
        let pool = ThreadPoolBuilder::new().num_threads(2).build().unwrap();
        assert_eq!(pool.install(|| threads(usize::MAX)), 1);
        assert_eq!(threads(LEAST), 1);
    }
}
