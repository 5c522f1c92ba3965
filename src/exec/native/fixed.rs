//! Arrays of known lengths in memory of their own.
//!
//! Where the lengths of values are those in their kinds, small arrays need no place in the
//! [frame](super::arrays::frame), which would have to look each time at what is there. Each place has memory for
//! its arrays, twice: what an operator computes goes to the half that nobody reads, and the halves are
//! exchanged then. So a result may have the place of an operand, and a jump may exchange arrays.
//!
//! Limits: arrays of up to [`LARGE`] bytes, [`ALL`] bytes in all; not those of which machine code reads and
//! changes single elements.

pub(super) mod pending;
pub(super) mod quick;
pub(super) mod region;
pub(super) mod run;
pub(super) mod step;
pub(super) mod write;

use std::collections::HashMap;
use std::ptr;

use crate::array::{Array, DType, Dense, Real, Slice, SliceMut};
use crate::error::Result;
use crate::ir::{Expression, Function, KnownLengths, ValueId};
use crate::process::Mutex;
use crate::reserve;
use crate::rules::{MOST_OPERANDS, Operand, VectorProduct, add_outer};

use self::region::{FixedRegion, FixedTape};
use self::step::{ElementStep, FixedSource};
use super::arrays::element_change::{element_change, reads_element};
use super::word::RawSlot;

/// Most bytes of an array that has memory of its own.
const LARGE: usize = 1 << 15;

/// Most bytes of all of them.
const ALL: usize = 1 << 20;

/// Bytes of tapes that are kept for the next run: 16 MiB.
const KEPT: usize = 16 << 20;

/// Adds elements to others.
fn add<T: Real>(sum: &mut [T], x: &[T]) {
    for (sum, &x) in sum.iter_mut().zip(x) {
        *sum += x;
    }
}

/// Which places have memory of their own.
#[derive(Debug, Default)]
pub(super) struct FixedLayout {
    /// The element type of each place, and how many elements there may be; `None` where arrays are
    /// in the frame.
    places: Vec<Option<(DType, usize)>>,
    /// Of which values the lengths follow from those of the arguments.
    inferred: Vec<bool>,
    /// Memory that waits for the next run.
    waiting: Mutex<Vec<FixedMemory>>,
}

impl FixedLayout {
    /// That of a function of whose values the lengths are known so far, with this place of each value that
    /// is an array, of so many places.
    pub(super) fn of(
        function: &Function,
        lengths: &[KnownLengths],
        places: &[Option<u32>],
        count: usize,
    ) -> Self {
        let mut found: Vec<Option<(DType, usize)>> = vec![None; count];
        let mut framed = vec![false; count];
        for (id, place) in places.iter().enumerate() {
            let (Some(place), Some(ty)) = (*place, function.kinds[id].array()) else {
                continue;
            };
            let bytes = ty.size().saturating_mul(ty.dtype.size());
            framed[place as usize] |= bytes > LARGE || lengths[id] != KnownLengths::Always;
            let room = found[place as usize].get_or_insert((ty.dtype, 0));
            room.1 = room.1.max(ty.size());
            framed[place as usize] |= room.0 != ty.dtype;
        }
        let mut frame = |ids: &[ValueId]| {
            for &id in ids {
                if let Some(place) = places[id as usize] {
                    framed[place as usize] = true;
                }
            }
        };
        for i in function.blocks.iter().flat_map(|b| &b.instructions) {
            if let Expression::Apply(op, args) = &i.expression
                && (reads_element(function, op, args)
                    || element_change(function, op, args).is_some())
            {
                frame(args);
                frame(&i.results);
            }
        }
        frame_records(function, places, &mut framed);
        for (place, framed) in found.iter_mut().zip(framed) {
            *place = place.filter(|_| !framed);
        }
        let bytes = found.iter().flatten();
        let bytes: usize = bytes
            .map(|&(dtype, count)| 2 * region::bytes(dtype, count))
            .sum();
        if bytes > ALL {
            found.fill(None);
        }
        FixedLayout {
            places: found,
            inferred: lengths
                .iter()
                .map(|&known| known != KnownLengths::Never)
                .collect(),
            waiting: Mutex::default(),
        }
    }

    /// Whether a place has memory of its own.
    pub(super) fn has(&self, place: usize) -> bool {
        self.places.get(place).is_some_and(Option::is_some)
    }

    /// Whether the lengths of a value follow from those of the arguments, if anything is known of lengths.
    pub(super) fn is_inferred(&self, id: ValueId) -> bool {
        self.inferred.get(id as usize).is_some_and(|&known| known)
    }

    /// Whether any has.
    pub(super) fn is_used(&self) -> bool {
        self.places.iter().any(Option::is_some)
    }

    /// Memory for a run of a function with so many tapes.
    ///
    /// # Errors
    /// [`Error::Memory`](crate::Error::Memory).
    pub(super) fn memory(&self, tapes: usize) -> Result<FixedMemory> {
        if !self.is_used() {
            return Ok(FixedMemory::default());
        }
        if let Some(memory) = self.waiting.lock().pop() {
            return Ok(memory);
        }
        let region = |place: &Option<(DType, usize)>| match *place {
            Some((dtype, count)) => FixedRegion::new(dtype, count),
            None => Ok(FixedRegion::default()),
        };
        let halves = self.places.iter().flat_map(|place| [place, place]);
        let mut memory = FixedMemory {
            halves: halves.map(region).collect::<Result<_>>()?,
            fronts: (0..self.places.len()).map(|place| 2 * place).collect(),
            tapes: Vec::new(),
        };
        memory.tapes.resize_with(tapes, FixedTape::default);
        Ok(memory)
    }

    /// Keeps the memory of a run for the next one.
    pub(super) fn keep(&self, mut memory: FixedMemory) {
        if memory.halves.is_empty() {
            return;
        }
        if memory.tapes.iter().map(region::tape_bytes).sum::<usize>() > KEPT {
            memory
                .tapes
                .iter_mut()
                .for_each(|tape| *tape = FixedTape::default());
        }
        memory.tapes.iter_mut().for_each(FixedTape::clear);
        let mut waiting = self.waiting.lock();
        if reserve::grow(&mut *waiting, 1).is_ok() {
            waiting.push(memory);
        }
    }
}

/// Sees to it that a part of a record is in the frame where it is put on a tape and where it is taken, if it
/// is there in one of these places.
fn frame_records(function: &Function, places: &[Option<u32>], framed: &mut [bool]) {
    let instructions = function.blocks.iter().flat_map(|b| &b.instructions);
    // For each part of each tape, the places where it is.
    let mut parts: HashMap<(u32, usize), Vec<usize>> = HashMap::new();
    for i in instructions {
        let (tape, ids): (u32, &[ValueId]) = match &i.expression {
            Expression::Push(tape, args) => (*tape, args),
            Expression::Pop(tape) => (*tape, &i.results),
            _ => continue,
        };
        for (k, &id) in ids.iter().enumerate() {
            if let Some(place) = places[id as usize] {
                parts.entry((tape, k)).or_default().push(place as usize);
            }
        }
    }
    let mut changed = true;
    while std::mem::take(&mut changed) {
        for part in parts.values() {
            if part.iter().any(|&place| framed[place]) {
                for &place in part {
                    changed |= !std::mem::replace(&mut framed[place], true);
                }
            }
        }
    }
}

/// Arrays of a run that have memory of their own, by place.
#[derive(Debug, Default)]
pub(super) struct FixedMemory {
    /// Two for each place.
    halves: Vec<FixedRegion>,
    /// The number of the half that is read, of each place; the other one has the lowest bit inverted.
    fronts: Vec<usize>,
    tapes: Vec<FixedTape>,
}

impl FixedMemory {
    /// The first elements of what is in a place.
    ///
    /// # Panics
    /// If there is no such place, or it has no such memory.
    #[inline(always)]
    pub(super) fn read(&self, place: usize, count: usize) -> Slice<'_> {
        self.front(place).slice(count)
    }

    /// The half of a place that is read.
    fn front(&self, place: usize) -> &FixedRegion {
        &self.halves[self.fronts[place]]
    }

    /// The half of a place that nobody reads.
    fn back_mut(&mut self, place: usize) -> &mut FixedRegion {
        &mut self.halves[self.fronts[place] ^ 1]
    }

    /// The half of a place that nobody reads, and what is in a place.
    fn back_and_front(&mut self, to: usize, from: usize) -> (&mut FixedRegion, &FixedRegion) {
        let numbers = [self.fronts[to] ^ 1, self.fronts[from]];
        match self.halves.get_disjoint_mut(numbers) {
            Ok([back, front]) => (back, front),
            Err(_) => unreachable!("no half is read and not read"),
        }
    }

    /// The half of a place that nobody reads, which is gone from there until [`put`](Self::put).
    pub(super) fn back(&mut self, place: usize) -> FixedRegion {
        std::mem::take(self.back_mut(place))
    }

    /// Puts a half back: it is what is in the place from now on if `is_written`.
    pub(super) fn put(&mut self, place: usize, half: FixedRegion, is_written: bool) {
        *self.back_mut(place) = half;
        if is_written {
            self.exchange(place);
        }
    }

    /// What is in a place, which is gone from there until [`replace`](Self::replace).
    pub(super) fn take(&mut self, place: usize) -> FixedRegion {
        std::mem::take(&mut self.halves[self.fronts[place]])
    }

    /// Puts what was taken of a place there again.
    pub(super) fn replace(&mut self, place: usize, front: FixedRegion) {
        self.halves[self.fronts[place]] = front;
    }

    /// Exchanges the halves of a place.
    pub(super) fn exchange(&mut self, place: usize) {
        self.fronts[place] ^= 1;
    }

    /// Copies elements to the half of a place that nobody reads.
    ///
    /// # Errors
    /// As [`FixedRegion::copy`].
    pub(super) fn write(&mut self, place: usize, from: Slice<'_>) -> Result<()> {
        self.back_mut(place).copy(from)
    }

    /// Copies the first elements of what is in a place to the half of another one that nobody reads.
    ///
    /// # Errors
    /// As [`FixedRegion::copy`].
    pub(super) fn copy(&mut self, from: usize, count: usize, to: usize) -> Result<()> {
        let (to, from) = self.back_and_front(to, from);
        to.copy(from.slice(count))
    }

    /// Computes a result element by element, where single numbers are in slots.
    ///
    /// # Panics
    /// If there are no such places or slots, or operands have another number of elements than the result, or
    /// another one than 1.
    pub(super) fn elements(&mut self, step: &ElementStep, slots: &[RawSlot]) {
        let mut operands = [Operand::NONE; MOST_OPERANDS];
        assert!(step.kernel.is_for(step.dtype, step.operands.len()));
        for (operand, &(source, count)) in operands.iter_mut().zip(&step.operands) {
            assert!(count == step.count || count == 1);
            *operand = match source {
                FixedSource::Memory(place) => {
                    assert!(!step.is_apart || place != step.to);
                    self.front(place).operand(step.dtype, count)
                }
                // A number is at the beginning of its slot, on the processors that there is machine code for.
                FixedSource::Slot(slot, _) => Operand {
                    start: ptr::from_ref(&slots[slot]).cast(),
                    len: 1,
                },
                FixedSource::Frame(_) => unreachable!("such operands take another way"),
            };
        }
        let front = self.fronts[step.to];
        let half = if step.is_apart { front } else { front ^ 1 };
        let to = self.halves[half].target(step.dtype, step.count);
        // Each operand is `count` elements of a front of this type, or one number in a slot: 8 initialised
        // bytes, aligned for either type. `to` is as many elements of a half of this type that is no operand: a
        // back, or a front that was compared with theirs. Halves have memory of their own, and `self` is
        // borrowed mutably, so nobody else has any of it.
        // SAFETY: it was just compared that the kernel is for this element type and so many operands. They and
        // `to` are memory as said above; lengths are that of the result or 1.
        unsafe { step.kernel.run(&operands, to, step.count) };
        if !step.is_apart {
            self.exchange(step.to);
        }
    }

    /// Makes a place `all` zeros, but for the elements of another one, so many, from `start` on.
    ///
    /// # Panics
    /// If there are fewer, or they are of different types.
    pub(super) fn pad(
        &mut self,
        (from, count): (usize, usize),
        start: usize,
        all: usize,
        to: usize,
    ) {
        fn fill<T: Real>(to: &mut [T], x: &[T], start: usize) {
            to.fill(T::zero());
            to[start..start + x.len()].copy_from_slice(x);
        }
        let (half, from) = self.back_and_front(to, from);
        match (half.slice_mut(all), from.slice(count)) {
            (SliceMut::F32(to), Slice::F32(x)) => fill(to, x, start),
            (SliceMut::F64(to), Slice::F64(x)) => fill(to, x, start),
            _ => unreachable!("the elements have the type of the zeros"),
        }
        self.exchange(to);
    }

    /// Multiplies a vector by a matrix: each is in a place, and has so many elements.
    ///
    /// # Panics
    /// If there are fewer, or they are of different types.
    pub(super) fn product(
        &mut self,
        product: &VectorProduct,
        [(x, k), (matrix, count)]: [(usize, usize); 2],
        to: usize,
    ) {
        let mut half = self.back(to);
        let (x, matrix) = (self.read(x, k), self.read(matrix, count));
        match (x, matrix, half.slice_mut(count / k)) {
            (Slice::F32(x), Slice::F32(b), SliceMut::F32(to)) => product.apply(x, b, to),
            (Slice::F64(x), Slice::F64(b), SliceMut::F64(to)) => product.apply(x, b, to),
            _ => unreachable!("factors and product are of one element type"),
        }
        self.put(to, half, true);
    }

    /// Adds the products of the elements of one place and those of another to a matrix in a third one.
    ///
    /// # Panics
    /// If there are fewer, or they are of different types.
    pub(super) fn add_outer(&mut self, [(x, m), (y, n)]: [(usize, usize); 2], to: usize) {
        let mut sum = self.take(to);
        match (self.read(x, m), self.read(y, n), sum.slice_mut(m * n)) {
            (Slice::F32(x), Slice::F32(y), SliceMut::F32(sum)) => add_outer(x, y, sum),
            (Slice::F64(x), Slice::F64(y), SliceMut::F64(sum)) => add_outer(x, y, sum),
            _ => unreachable!("the factors have the element type of the sum"),
        }
        self.replace(to, sum);
    }

    /// Adds elements of one place to those of another, from `start` on.
    ///
    /// # Panics
    /// If there are fewer, or they are of different types.
    pub(super) fn add_part(&mut self, from: usize, count: usize, start: usize, to: usize) {
        let mut sum = self.take(to);
        match (sum.slice_mut(start + count), self.read(from, count)) {
            (SliceMut::F32(sum), Slice::F32(x)) => add(&mut sum[start..], x),
            (SliceMut::F64(sum), Slice::F64(x)) => add(&mut sum[start..], x),
            _ => unreachable!("what is added has the element type of the sum"),
        }
        self.replace(to, sum);
    }

    /// Copies elements of one place, from `start` on, to another place.
    ///
    /// # Errors
    /// As [`FixedRegion::copy`].
    pub(super) fn part(
        &mut self,
        from: usize,
        start: usize,
        count: usize,
        to: usize,
    ) -> Result<()> {
        let (half, from) = self.back_and_front(to, from);
        half.copy(from.slice(start + count).part(start, count))?;
        self.exchange(to);
        Ok(())
    }

    /// An array of what is in a place.
    ///
    /// # Errors
    /// [`Error::Memory`](crate::Error::Memory).
    pub(super) fn array(&self, place: usize, shape: &[usize]) -> Result<Array> {
        Ok(match self.read(place, crate::array::size(shape)) {
            Slice::F32(x) => Dense::copy_of(shape, x)?.into(),
            Slice::F64(x) => Dense::copy_of(shape, x)?.into(),
            Slice::U32(x) => Dense::copy_of(shape, x)?.into(),
        })
    }

    /// Appends the first elements of what is in a place to a tape.
    ///
    /// # Errors
    /// [`Error::Memory`](crate::Error::Memory).
    pub(super) fn push(&mut self, tape: usize, place: usize, count: usize) -> Result<()> {
        self.halves[self.fronts[place]].push(count, &mut self.tapes[tape])
    }

    /// Takes so many elements from the end of a tape: they are what is in a place.
    ///
    /// # Errors
    /// [`Error::Value`](crate::Error::Value) if there are fewer.
    pub(super) fn pop(&mut self, tape: usize, place: usize, count: usize) -> Result<()> {
        self.halves[self.fronts[place]].pop(count, &mut self.tapes[tape])
    }
}
