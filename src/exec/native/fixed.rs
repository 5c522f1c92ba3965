//! Arrays of known lengths in memory of their own.
//!
//! Where the lengths in a function's kinds are facts, small arrays need no place in the
//! [frame](super::frame), which would have to look each time at what is there. Each place has memory for
//! its arrays, twice: what an operator computes goes to the half that nobody reads, and the halves are
//! exchanged then. So a result may have the place of an operand, and a jump may exchange arrays.
//!
//! Limits: arrays of up to [`LARGE`] bytes, [`ALL`] bytes in all; not those of which machine code reads and
//! changes single elements.

use std::collections::HashMap;

use crate::array::{Array, DType, Dense, Slice, SliceMut};
use crate::error::{Error, Result};
use crate::ir::{ArgumentLengths, Expression, Function, ValueId};
use crate::process::Mutex;
use crate::reserve;
use crate::rules::MOST_OPERANDS;

use super::array_tape::missing;
use super::element_change::changes_elements;
use super::fixed_step::{ElementStep, FixedSource};
use super::word::RawSlot;

/// Most bytes of an array that has memory of its own.
const LARGE: usize = 1 << 15;

/// Most bytes of all of them.
const ALL: usize = 1 << 20;

/// Bytes of tapes that are kept for the next run: 16 MiB.
const KEPT: usize = 16 << 20;

/// Bytes of the longest vectors that a processor loads, which is quickest from multiples.
const ALIGNED: usize = 64;

/// Memory of one place: elements from `start` on.
#[derive(Debug)]
pub(super) struct FixedRegion {
    elements: FixedElements,
    start: usize,
}

#[derive(Debug)]
enum FixedElements {
    F32(Vec<f32>),
    F64(Vec<f64>),
    U32(Vec<u32>),
}

impl Default for FixedRegion {
    fn default() -> Self {
        FixedRegion {
            elements: FixedElements::U32(Vec::new()),
            start: 0,
        }
    }
}

impl FixedRegion {
    fn new(dtype: DType, count: usize) -> Result<Self> {
        fn zeros<T: Clone + Default>(count: usize) -> Result<(Vec<T>, usize)> {
            let spare = ALIGNED / size_of::<T>();
            let mut elements = Vec::new();
            reserve::grow(&mut elements, count + spare)?;
            elements.resize(count + spare, T::default());
            let start = elements.as_ptr().align_offset(ALIGNED).min(spare);
            Ok((elements, start))
        }
        Ok(match dtype {
            DType::F32 => {
                let (elements, start) = zeros(count)?;
                let elements = FixedElements::F32(elements);
                FixedRegion { elements, start }
            }
            DType::F64 => {
                let (elements, start) = zeros(count)?;
                let elements = FixedElements::F64(elements);
                FixedRegion { elements, start }
            }
            DType::U32 => {
                let (elements, start) = zeros(count)?;
                let elements = FixedElements::U32(elements);
                FixedRegion { elements, start }
            }
        })
    }

    /// The first elements.
    ///
    /// # Panics
    /// If there are fewer.
    pub(super) fn slice(&self, count: usize) -> Slice<'_> {
        let range = self.start..self.start + count;
        match &self.elements {
            FixedElements::F32(all) => Slice::F32(&all[range]),
            FixedElements::F64(all) => Slice::F64(&all[range]),
            FixedElements::U32(all) => Slice::U32(&all[range]),
        }
    }

    /// As [`slice`](Self::slice), to be changed.
    pub(super) fn slice_mut(&mut self, count: usize) -> SliceMut<'_> {
        let range = self.start..self.start + count;
        match &mut self.elements {
            FixedElements::F32(all) => SliceMut::F32(&mut all[range]),
            FixedElements::F64(all) => SliceMut::F64(&mut all[range]),
            FixedElements::U32(all) => SliceMut::U32(&mut all[range]),
        }
    }

    /// Copies elements to the beginning.
    ///
    /// # Errors
    /// [`Error::Type`] if they are of another type.
    ///
    /// # Panics
    /// If there is no room.
    pub(super) fn copy(&mut self, from: Slice<'_>) -> Result<()> {
        match (self.slice_mut(from.len()), from) {
            (SliceMut::F32(to), Slice::F32(from)) => to.copy_from_slice(from),
            (SliceMut::F64(to), Slice::F64(from)) => to.copy_from_slice(from),
            (SliceMut::U32(to), Slice::U32(from)) => to.copy_from_slice(from),
            _ => {
                return Err(Error::Type(
                    "an array of another type than its place".into(),
                ));
            }
        }
        Ok(())
    }
}

/// Which places have memory of their own.
#[derive(Debug, Default)]
pub(super) struct FixedLayout {
    /// The element type of each place, and how many elements there may be; `None` where arrays are in the frame.
    places: Vec<Option<(DType, usize)>>,
    /// Memory that waits for the next run.
    waiting: Mutex<Vec<FixedMemory>>,
}

impl FixedLayout {
    /// That of a function whose lengths follow from those of its arguments, with this place of each value that is an array, of so
    /// many places.
    pub(super) fn of(
        function: &Function,
        lengths: &ArgumentLengths,
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
            framed[place as usize] |= bytes > LARGE;
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
        let parameters = function.parameters().iter().enumerate();
        for (_, &id) in parameters.filter(|(at, _)| lengths.is_open(*at)) {
            frame(&[id]);
        }
        for i in function.blocks.iter().flat_map(|b| &b.instructions) {
            if let Expression::Apply(op, args) = &i.expression
                && changes_elements(function, op, args, i.results[0])
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
            .map(|(dtype, count)| 2 * (dtype.size() * count + ALIGNED))
            .sum();
        if bytes > ALL {
            found.fill(None);
        }
        FixedLayout {
            places: found,
            waiting: Mutex::default(),
        }
    }

    /// Whether a place has memory of its own.
    pub(super) fn has(&self, place: usize) -> bool {
        self.places.get(place).is_some_and(Option::is_some)
    }

    /// Whether any has.
    pub(super) fn is_used(&self) -> bool {
        self.places.iter().any(Option::is_some)
    }

    /// Memory for a run of a function with so many tapes.
    ///
    /// # Errors
    /// [`Error::Memory`].
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
        let regions = || self.places.iter().map(region).collect::<Result<_>>();
        let mut memory = FixedMemory {
            fronts: regions()?,
            backs: regions()?,
            tapes: Vec::new(),
        };
        memory.tapes.resize_with(tapes, FixedTape::default);
        Ok(memory)
    }

    /// Keeps the memory of a run for the next one.
    pub(super) fn keep(&self, mut memory: FixedMemory) {
        if memory.fronts.is_empty() {
            return;
        }
        if memory.tapes.iter().map(FixedTape::bytes).sum::<usize>() > KEPT {
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
    fronts: Vec<FixedRegion>,
    backs: Vec<FixedRegion>,
    tapes: Vec<FixedTape>,
}

impl FixedMemory {
    /// The first elements of what is in a place.
    ///
    /// # Panics
    /// If there is no such place, or it has no such memory.
    pub(super) fn read(&self, place: usize, count: usize) -> Slice<'_> {
        self.fronts[place].slice(count)
    }

    /// The half of a place that nobody reads, which is gone from there until [`put`](Self::put).
    pub(super) fn back(&mut self, place: usize) -> FixedRegion {
        std::mem::take(&mut self.backs[place])
    }

    /// Puts a half back: it is what is in the place from now on if `is_written`.
    pub(super) fn put(&mut self, place: usize, half: FixedRegion, is_written: bool) {
        self.backs[place] = half;
        if is_written {
            self.exchange(place);
        }
    }

    /// What is in a place, which is gone from there until [`replace`](Self::replace).
    pub(super) fn take(&mut self, place: usize) -> FixedRegion {
        std::mem::take(&mut self.fronts[place])
    }

    /// Puts what was taken of a place there again.
    pub(super) fn replace(&mut self, place: usize, front: FixedRegion) {
        self.fronts[place] = front;
    }

    /// Exchanges the halves of a place.
    pub(super) fn exchange(&mut self, place: usize) {
        std::mem::swap(&mut self.fronts[place], &mut self.backs[place]);
    }

    /// Copies elements to the half of a place that nobody reads.
    ///
    /// # Errors
    /// As [`FixedRegion::copy`].
    pub(super) fn write(&mut self, place: usize, from: Slice<'_>) -> Result<()> {
        self.backs[place].copy(from)
    }

    /// Copies the first elements of what is in a place to the half of another one that nobody reads.
    ///
    /// # Errors
    /// As [`FixedRegion::copy`].
    pub(super) fn copy(&mut self, from: usize, count: usize, to: usize) -> Result<()> {
        self.backs[to].copy(self.fronts[from].slice(count))
    }

    /// Computes a result element by element, where single numbers are in slots.
    pub(super) fn elements(&mut self, step: &ElementStep, slots: &[RawSlot]) {
        let (mut doubles, mut singles) = ([0.0f64; MOST_OPERANDS], [0.0f32; MOST_OPERANDS]);
        for (k, (source, _)) in step.operands.iter().enumerate() {
            if let FixedSource::Slot(slot, _) = *source {
                doubles[k] = f64::from_bits(slots[slot]);
                singles[k] = f32::from_bits(slots[slot] as u32);
            }
        }
        let (fronts, backs) = (&self.fronts, &mut self.backs);
        let is_double = step.dtype == DType::F64;
        let mut operands = [Slice::F64(&[]); MOST_OPERANDS];
        for (k, (operand, &(source, count))) in operands.iter_mut().zip(&step.operands).enumerate()
        {
            *operand = match source {
                FixedSource::Memory(place) => fronts[place].slice(count),
                _ if is_double => Slice::F64(&doubles[k..=k]),
                _ => Slice::F32(&singles[k..=k]),
            };
        }
        let to = backs[step.to].slice_mut(step.count);
        step.kernel.apply(&operands[..step.operands.len()], to);
        self.exchange(step.to);
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
        let all = self.fronts[from].slice(start + count);
        self.backs[to].copy(all.part(start, count))?;
        self.exchange(to);
        Ok(())
    }

    /// An array of what is in a place.
    ///
    /// # Errors
    /// [`Error::Memory`].
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
    /// [`Error::Memory`].
    pub(super) fn push(&mut self, tape: usize, place: usize, count: usize) -> Result<()> {
        fn append<T: Copy>(to: &mut Vec<T>, from: &[T]) -> Result<()> {
            reserve::grow(to, from.len())?;
            to.extend_from_slice(from);
            Ok(())
        }
        let tape = &mut self.tapes[tape];
        match self.fronts[place].slice(count) {
            Slice::F32(x) => append(&mut tape.singles, x),
            Slice::F64(x) => append(&mut tape.doubles, x),
            Slice::U32(x) => append(&mut tape.indices, x),
        }
    }

    /// Takes so many elements from the end of a tape: they are what is in a place.
    ///
    /// # Errors
    /// [`Error::Value`] if there are fewer.
    pub(super) fn pop(&mut self, tape: usize, place: usize, count: usize) -> Result<()> {
        fn take<T: Copy>(from: &mut Vec<T>, to: &mut [T]) -> Result<()> {
            let start = from.len().checked_sub(to.len()).ok_or_else(missing)?;
            to.copy_from_slice(&from[start..]);
            from.truncate(start);
            Ok(())
        }
        let tape = &mut self.tapes[tape];
        match self.backs[place].slice_mut(count) {
            SliceMut::F32(x) => take(&mut tape.singles, x),
            SliceMut::F64(x) => take(&mut tape.doubles, x),
            SliceMut::U32(x) => take(&mut tape.indices, x),
        }?;
        self.exchange(place);
        Ok(())
    }
}

/// Elements of arrays, of which the last are taken first.
#[derive(Debug, Default)]
struct FixedTape {
    doubles: Vec<f64>,
    singles: Vec<f32>,
    indices: Vec<u32>,
}

impl FixedTape {
    fn clear(&mut self) {
        self.doubles.clear();
        self.singles.clear();
        self.indices.clear();
    }

    fn bytes(&self) -> usize {
        8 * self.doubles.capacity() + 4 * (self.singles.capacity() + self.indices.capacity())
    }
}
