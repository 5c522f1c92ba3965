//! Moving rows between a table that threads race on and memory of one's own.
//!
//! This is the only place that touches contended parameters. Everything else
//! computes on copies.
//!
//! Rationale. Hogwild workers read and write rows without locks and accept that
//! one sees half of another's update. To Rust a racing plain access is undefined
//! behaviour, so each *element* is moved by a relaxed atomic access: a value may
//! be old, never torn. But compilers do not vectorise atomics, and moving 32
//! floats one by one costs more than the arithmetic on them. Hence on x86-64 the
//! moves are vector instructions in `asm!`.
//!
//! Why that is not a data race. Rust asks of an `asm!` block that what it does to
//! memory could have been done by Rust code. Each block here stands for as many
//! `AtomicU32` (or `AtomicU64`) loads or stores with `Relaxed` ordering as it
//! moves elements, in no particular order. The processor carries it out that
//! way: aligned accesses of up to 8 bytes are atomic, a wider access may be made
//! of several, each of which covers whole aligned 8 bytes (Intel SDM volume 3A,
//! 9.1.1; AMD64 volume 2, 7.3.2), and elements are aligned to their size, so that
//! no element is cut, not even where a vector crosses a cache line. It is the
//! argument of crate `atomic-maybe-uninit`, element by element.
//!
//! Elsewhere, under Miri, and with `--cfg wyrmling_atomic_moves` (for thread
//! sanitizers) it is a loop over atomics.
//!
//! Limits: no ordering between elements, let alone rows. All threads must see a
//! table as the same element type, for accesses of different sizes may not race.

#![allow(unexpected_cfgs, reason = "wyrmling_atomic_moves is given by hand")]

use std::mem::MaybeUninit;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};

use crate::simd::dot::LoadStore;
use crate::simd::vector::Vector;
use crate::simd::{Machine, Real, Scalar};

/// Reads one element.
///
/// # Safety
///
/// `src` is aligned and valid for reads and writes of one `T`, and while this
/// runs no thread writes there but through this module, as `T`.
#[inline(always)]
pub unsafe fn load<T: Real>(src: *const T) -> T {
    if size_of::<T>() == size_of::<u32>() {
        // SAFETY: by this function's conditions `src` is aligned and valid for a `T`, as large as a
        // `u32`, and others write there through this module only: by atomics of that size.
        let bits = unsafe { AtomicU32::from_ptr(src.cast_mut().cast()) }.load(Ordering::Relaxed);
        // SAFETY: `T` is a floating-point type of this size; any bits are a number.
        unsafe { std::mem::transmute_copy(&bits) }
    } else {
        const { assert!(size_of::<T>() == 4 || size_of::<T>() == 8) };
        // SAFETY: by this function's conditions `src` is aligned and valid for a `T`, as large as a
        // `u64`, and others write there through this module only: by atomics of that size.
        let bits = unsafe { AtomicU64::from_ptr(src.cast_mut().cast()) }.load(Ordering::Relaxed);
        // SAFETY: `T` is a floating-point type of this size; any bits are a number.
        unsafe { std::mem::transmute_copy(&bits) }
    }
}

/// Writes one element.
///
/// # Safety
///
/// `dst` is aligned and valid for reads and writes of one `T`, and while this
/// runs no thread reads or writes there but through this module, as `T`.
#[inline(always)]
pub unsafe fn store<T: Real>(dst: *mut T, x: T) {
    if size_of::<T>() == size_of::<u32>() {
        // SAFETY: `T` is a floating-point type of this size, without padding.
        let bits = unsafe { std::mem::transmute_copy(&x) };
        // SAFETY: by the conditions of this function `dst` is aligned and valid for a `T`, which is
        // as large as a `u32`, and others use it through this module only: by atomics of that size.
        unsafe { AtomicU32::from_ptr(dst.cast()) }.store(bits, Ordering::Relaxed);
    } else {
        const { assert!(size_of::<T>() == 4 || size_of::<T>() == 8) };
        // SAFETY: `T` is a floating-point type of this size, without padding.
        let bits = unsafe { std::mem::transmute_copy(&x) };
        // SAFETY: by the conditions of this function `dst` is aligned and valid for a `T`, which is
        // as large as a `u64`, and others use it through this module only: by atomics of that size.
        unsafe { AtomicU64::from_ptr(dst.cast()) }.store(bits, Ordering::Relaxed);
    }
}

/// Reads `dst.len()` elements, in a kernel that is compiled for the machine.
///
/// # Safety
///
/// `src` is aligned and valid for reads and writes of `dst.len()` elements, and
/// while this runs no thread writes there but through this module, as `T`.
#[inline(always)]
pub unsafe fn load_row_on<M: Machine, T: Real>(machine: M, src: *const T, dst: &mut [T]) {
    // SAFETY: by this function's conditions `src` is valid for `dst.len()` elements, that is `bytes`
    // bytes, and others write there through this module only; `dst` is borrowed mutably.
    let moved = unsafe {
        let bytes = size_of_val(dst);
        vectors::load(machine, src.cast(), dst.as_mut_ptr().cast(), bytes) / size_of::<T>()
    };
    // An iterator would be called for each element where LLVM copies little into callers, as in wheels.
    let mut i = moved;
    while let Some(dst) = dst.get_mut(i) {
        // SAFETY: `i` is less than `dst.len()`, and for so many elements `src` is aligned, valid and
        // written by others through this module only, by this function's conditions.
        *dst = unsafe { load(src.add(i)) };
        i += 1;
    }
}

/// Writes `src.len()` elements, in a kernel that is compiled for the machine.
///
/// # Safety
///
/// `dst` is aligned and valid for reads and writes of `src.len()` elements, and
/// while this runs no thread reads or writes there but through this module, as
/// `T`.
#[inline(always)]
pub unsafe fn store_row_on<M: Machine, T: Real>(machine: M, dst: *mut T, src: &[T]) {
    // SAFETY: by this function's conditions `dst` is valid for `src.len()` elements, that is `bytes`
    // bytes, and others use them through this module only; `src` is borrowed, so nobody writes there.
    let moved = unsafe {
        let bytes = size_of_val(src);
        vectors::store(machine, dst.cast(), src.as_ptr().cast(), bytes) / size_of::<T>()
    };
    // As in `load_row_on`, no iterator.
    let mut i = moved;
    while let Some(&x) = src.get(i) {
        // SAFETY: `i` is less than `src.len()`. For so many elements `dst` is aligned and valid, and
        // others use them through this module only, by the conditions of this function.
        unsafe { store(dst.add(i), x) };
        i += 1;
    }
}

/// Elements that others may use by moves meanwhile: a loop changes them where they are, a register at a time.
pub struct Relaxed;

// SAFETY: a row as long as a register has its elements, and as long as `count` so many.
unsafe impl LoadStore for Relaxed {
    #[inline(always)]
    unsafe fn load<M: Machine, T: Real, V: Vector<T>>(m: M, from: *const T) -> V {
        // SAFETY: `from` is valid for the elements of a register, by this function's conditions.
        unsafe { Self::load_first(m, from, V::LANES) }
    }

    #[inline(always)]
    unsafe fn load_first<M: Machine, T: Real, V: Vector<T>>(
        m: M,
        from: *const T,
        count: usize,
    ) -> V {
        const { assert!(size_of::<V>() == V::LANES * size_of::<T>()) };
        debug_assert!(count <= V::LANES);
        let mut register = MaybeUninit::<V>::zeroed();
        // SAFETY: `from` is valid for `count` elements, which others write through this module only. The
        // register has room for as many, all of them zeros, which are numbers, and nothing but numbers:
        // so it is initialised.
        unsafe {
            let row = std::slice::from_raw_parts_mut(register.as_mut_ptr().cast(), count);
            load_row_on(m, from, row);
            register.assume_init()
        }
    }

    #[inline(always)]
    unsafe fn store<M: Machine, T: Real, V: Vector<T>>(m: M, to: *mut T, elements: V) {
        const { assert!(size_of::<V>() == V::LANES * size_of::<T>()) };
        // SAFETY: `to` is valid for a register's elements, which others use through this module only, and
        // `elements` are as many.
        unsafe {
            let row = std::slice::from_raw_parts((&raw const elements).cast(), V::LANES);
            store_row_on(m, to, row);
        }
    }
}

/// Reads `dst.len()` elements outside any kernel.
///
/// # Safety
///
/// `src` is aligned and valid for reads and writes of `dst.len()` elements, and
/// while this runs no thread writes there but through this module, as `T`.
#[inline]
pub unsafe fn load_row<T: Real>(src: *const T, dst: &mut [T]) {
    // SAFETY: by the conditions of this function `src` is aligned and valid for `dst.len()` elements,
    // and others write there through this module only.
    unsafe { load_row_on(Scalar, src, dst) }
}

/// Asks for the cache lines of `bytes` bytes from `start` on, and does not wait.
///
/// Nothing is read, so any address will do. Does nothing but on x86-64.
#[inline(always)]
pub fn prefetch<T>(start: *const T, bytes: usize) {
    #[cfg(all(target_arch = "x86_64", not(miri)))]
    {
        use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
        let start: *const i8 = start.cast();
        let lead = start.addr() % CACHE_LINE;
        for line in (0..lead + bytes).step_by(CACHE_LINE) {
            // SAFETY: a prefetch never faults and changes nothing but caches.
            unsafe { _mm_prefetch::<_MM_HINT_T0>(start.wrapping_add(line)) };
        }
    }
    #[cfg(not(all(target_arch = "x86_64", not(miri))))]
    let _ = (start, bytes);
}

/// Memory smaller than this stays in the second-level cache by itself: asking for it early
/// costs more than it saves.
pub const CACHED: usize = 1 << 20;

pub use vectors::BY_VECTORS;

/// Bytes in a cache line, and in the widest vector.
pub const CACHE_LINE: usize = 64;

#[cfg(all(target_arch = "x86_64", not(miri), not(wyrmling_atomic_moves)))]
mod vectors;

/// Moves nothing by vectors: everything is left to the atomics.
#[cfg(not(all(target_arch = "x86_64", not(miri), not(wyrmling_atomic_moves))))]
mod vectors {
    use crate::simd::Machine;

    /// Whether rows are moved by vector instructions, and not element by element.
    pub const BY_VECTORS: bool = false;

    /// # Safety
    ///
    /// None to keep; it mirrors the function for x86-64.
    #[inline(always)]
    pub unsafe fn load<M: Machine>(_: M, _: *const u8, _: *mut u8, _: usize) -> usize {
        0
    }

    /// # Safety
    ///
    /// None to keep; it mirrors the function for x86-64.
    #[inline(always)]
    pub unsafe fn store<M: Machine>(_: M, _: *mut u8, _: *const u8, _: usize) -> usize {
        0
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};

    use super::*;
    use crate::simd::dot::{Plain, add_terms, dot_at};
    use crate::simd::{self, multiversion};

    /// Moves in a kernel, as training does.
    struct Race<T>(*mut T);
    // SAFETY: the pointee is touched through this module only, by atomic moves.
    unsafe impl<T> Sync for Race<T> {}

    multiversion! {
        fn load_in_kernel<T: Real>(machine: M, src: &Race<T>, at: usize, dst: &mut [T]) {
            // SAFETY: `round_trip` stays within its memory, which is reached by moves only.
            unsafe { load_row_on(machine, src.0.add(at), dst) }
        }
    }
    multiversion! {
        fn store_in_kernel<T: Real>(machine: M, dst: &Race<T>, at: usize, src: &[T]) {
            // SAFETY: `round_trip` stays within its memory, which is reached by moves only.
            unsafe { store_row_on(machine, dst.0.add(at), src) }
        }
    }

    /// Stores and loads rows of every length at every alignment; the neighbours
    /// stay as they were.
    fn round_trip<T: Real>(shared: &Race<T>, room: usize) {
        for length in 0..200.min(room - 20) {
            for at in [0, 1, 2, 3, 5, 8, 13, 15] {
                let value = |i: usize| T::of((i * 7 + length + 1) as f64);
                let row: Vec<T> = (0..length).map(value).collect();
                for kernel in [false, true] {
                    let outside = T::of(-1.0);
                    // SAFETY: `room` elements are there, and no other thread has them.
                    unsafe { store_row_on(Scalar, shared.0, &vec![outside; room]) };
                    let mut back = vec![T::zero(); length];
                    if kernel {
                        store_in_kernel(shared, at, &row);
                        load_in_kernel(shared, at, &mut back);
                    } else {
                        // SAFETY: `at + length` is at most `room`, so many elements as are there.
                        unsafe {
                            store_row_on(Scalar, shared.0.add(at), &row);
                            load_row(shared.0.add(at), &mut back);
                        }
                    }
                    assert_eq!(back, row);
                    for i in (0..at).chain(at + length..room) {
                        // SAFETY: `i` is less than `room`, so many elements as are there.
                        assert_eq!(unsafe { load(shared.0.add(i)) }, outside, "at {i}");
                    }
                }
            }
        }
    }

    multiversion! {
        fn add_where_they_are<T: Real>(machine: M, row: &Race<T>, terms: [(T, &[T]); 2], scale: T) {
            let length = terms[0].1.len();
            let terms = terms.map(|(factor, x)| (factor, x.as_ptr()));
            // SAFETY: the callers' rows are as long as the terms, and reached by moves only.
            unsafe {
                add_terms::<Plain, Relaxed, M, T, 2, true>(machine, terms, length, scale, row.0);
            }
        }
    }
    multiversion! {
        fn add_plainly<T: Real>(machine: M, row: &mut [T], terms: [(T, &[T]); 2], scale: T) {
            assert!(terms.iter().all(|(_, x)| x.len() == row.len()));
            let (length, y) = (row.len(), row.as_mut_ptr());
            let terms = terms.map(|(factor, x)| (factor, x.as_ptr()));
            // SAFETY: the row is as long as the terms, and borrowed mutably.
            unsafe { add_terms::<Plain, Plain, M, T, 2, true>(machine, terms, length, scale, y) }
        }
    }

    /// Rows of every length are changed alike by moves and by plain loads and stores, to the bit, and what
    /// follows them is not changed.
    fn changed_alike<T: Real>(shared: &Race<T>, room: usize) {
        for length in 0..room - 5 {
            let numbers = |k: usize| (0..room).map(move |i| T::of(((i * k + 3) % 17) as f64 / 7.0));
            let [x, z, row] = [5, 7, 11].map(|k| numbers(k).collect::<Vec<T>>());
            let terms = [
                (T::of(0.3), &x[..length]),
                (T::of(-1.0 / 3.0), &z[..length]),
            ];
            let (scale, mut expected) = (T::of(-0.1), row.clone());
            add_plainly(&mut expected[..length], terms, scale);
            let mut back = row.clone();
            // SAFETY: `room` elements are there, and no other thread has them.
            unsafe { store_row_on(Scalar, shared.0, &row) };
            add_where_they_are(shared, terms, scale);
            // SAFETY: `room` elements are there.
            unsafe { load_row(shared.0, &mut back) };
            assert_eq!(back, expected, "{length}");
            let near = |i: usize| {
                let exact = row[i] + scale * row[i] + terms[0].0 * x[i] + terms[1].0 * z[i];
                (expected[i] - exact).abs() <= T::of(1e-6)
            };
            assert!((0..length).all(near), "{length}");
        }
    }

    multiversion! {
        fn product_where_they_are<T: Real>(machine: M, row: &Race<T>, length: usize) -> T {
            // SAFETY: the callers' rows are as long, and reached by moves only.
            unsafe { dot_at::<Relaxed, Relaxed, M, T>(machine, row.0, row.0, length) }
        }
    }

    /// Products of rows of every length, read by moves, are those of copies, to the bit.
    fn multiplied_alike<T: Real>(shared: &Race<T>, room: usize) {
        let row: Vec<T> = (0..room)
            .map(|i| T::of((i % 13) as f64 / 7.0 - 0.9))
            .collect();
        // SAFETY: `room` elements are there, and no other thread has them.
        unsafe { store_row_on(Scalar, shared.0, &row) };
        for length in 0..room {
            let expected = simd::dot(&row[..length], &row[..length]);
            assert_eq!(product_where_they_are(shared, length), expected, "{length}");
        }
    }

    const ROOM: usize = if cfg!(miri) { 60 } else { 220 };

    #[test]
    fn rows_come_back_and_are_changed_and_multiplied_where_they_are() {
        let memory: Vec<AtomicU32> = (0..ROOM).map(|_| AtomicU32::new(0)).collect();
        let row = Race(memory.as_ptr().cast_mut().cast());
        round_trip::<f32>(&row, ROOM);
        changed_alike(&row, ROOM);
        multiplied_alike(&row, ROOM);
        let memory: Vec<AtomicU64> = (0..ROOM).map(|_| AtomicU64::new(0)).collect();
        let row = Race(memory.as_ptr().cast_mut().cast());
        round_trip::<f64>(&row, ROOM);
        changed_alike(&row, ROOM);
        multiplied_alike(&row, ROOM);
    }

    #[test]
    fn elements_come_back() {
        let memory = AtomicU64::new(0);
        let place: *mut f64 = memory.as_ptr().cast();
        for x in [0.0, -0.0, 1.5, f64::INFINITY, f64::MIN_POSITIVE] {
            // SAFETY: one aligned element that nobody else touches.
            let back = unsafe {
                store(place, x);
                load(place.cast_const())
            };
            assert_eq!(back.to_bits(), x.to_bits());
        }
    }

    /// Two threads write two values whose every byte differs, a third looks on: it
    /// must never see a mixture of the two.
    fn hammer<T: Real>(shared: &Race<T>, values: [T; 2], length: usize) {
        let rounds = if cfg!(miri) { 20 } else { 50_000 };
        let done = AtomicBool::new(false);
        std::thread::scope(|scope| {
            scope.spawn(|| {
                for round in 0..rounds {
                    store_in_kernel(shared, 1, &vec![values[round % 2]; length]);
                }
                done.store(true, Ordering::Relaxed);
            });
            let mut row = vec![T::zero(); length];
            while !done.load(Ordering::Relaxed) {
                load_in_kernel(shared, 1, &mut row);
                assert!(row.iter().all(|x| values.contains(x)), "torn: {row:?}");
                store_in_kernel(shared, 1, &vec![values[0]; length]);
            }
        });
    }

    #[test]
    fn elements_are_never_torn() {
        // The first is not aligned to a vector, and rows cross cache lines.
        let values = [0x1122_3344u32, 0x5566_7788].map(f32::from_bits);
        let memory: Vec<AtomicU32> = (0..64).map(|_| AtomicU32::new(0x1122_3344)).collect();
        hammer(&Race(memory.as_ptr().cast_mut().cast()), values, 45);

        let bits = [0x1122_3344_5566_7788u64, 0x2233_4455_6677_8899];
        let memory: Vec<AtomicU64> = (0..64).map(|_| AtomicU64::new(bits[0])).collect();
        hammer(
            &Race(memory.as_ptr().cast_mut().cast()),
            bits.map(f64::from_bits),
            45,
        );
    }

    #[test]
    fn prefetch_takes_any_address() {
        let row = [0.0f32; 100];
        prefetch(row.as_ptr(), size_of_val(&row));
        prefetch(std::ptr::null::<f32>(), 200);
        prefetch(std::ptr::without_provenance::<u8>(usize::MAX - 3), 100);
    }
}
