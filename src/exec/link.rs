//! Linking: a plan's places become addresses.
//!
//! The memory of an executor and of the tables does not move, so everything but the data
//! bound to leaves is resolved once. What is left to do in a run is to call kernels.

use std::cell::Cell;
use std::sync::Arc;

use smallvec::SmallVec;

use super::arena::{Arena, LINE};
use super::plan::{BLOCK, FusedOperand, Group, Location, Place, Plan, Sink, Step};
use super::rows::{Bags, RowTerms};
use super::table_rows::RowRecords;
use crate::array::{Broadcast, DType, Number, Slice, SliceMut, Typed};
use crate::optim::gradient::{GradientRows, Term};
use crate::rules::{BagIndex, Kernel, MOST_OPERANDS, OpRef, Operand};
use crate::table::Table;

/// An address, or a leaf whose data is bound before each run.
#[derive(Debug, Clone, Copy)]
pub(super) enum Address {
    Fixed(*mut u8),
    Leaf(usize),
}

impl Address {
    /// Where it is, given the addresses of the leaves.
    #[inline(always)]
    pub(super) fn start(self, leaves: &[*const u8]) -> *mut u8 {
        match self {
            Address::Fixed(start) => start,
            Address::Leaf(k) => leaves[k].cast_mut(),
        }
    }
}

/// A value to be read or written.
#[derive(Debug, Clone, Copy)]
pub(super) struct Memory {
    pub address: Address,
    pub len: usize,
    pub dtype: DType,
}

impl Memory {
    /// Whether it is no leaf: a constant, or what a run computes.
    #[inline(always)]
    pub(super) fn is_fixed(&self) -> bool {
        matches!(self.address, Address::Fixed(_))
    }

    /// The elements.
    ///
    /// # Safety
    /// The memory is live and initialised, and nobody writes to it while the slice is used.
    #[inline(always)]
    pub(super) unsafe fn read<'a>(&self, leaves: &[*const u8]) -> Slice<'a> {
        // SAFETY: the memory is live and initialised and nobody writes to it, by the conditions of
        // this function. It has `len` aligned elements of this type: at a fixed address
        // `Plan::check` found them, and of a leaf `Executor::bind` compared type and length.
        unsafe { tag(self.dtype, self.address.start(leaves), self.len) }
    }

    /// The elements, known to be of type `T`.
    ///
    /// # Safety
    /// The memory is live and initialised, and nobody writes to it while the slice is used.
    #[inline(always)]
    pub(super) unsafe fn numbers<'a, T: Typed>(&self, leaves: &[*const u8]) -> &'a [T] {
        assert!(self.dtype == T::DTYPE);
        // SAFETY: the memory is live and initialised and nobody writes to it, by the conditions of
        // this function. It has `len` aligned elements of `dtype`: at a fixed address `Plan::check`
        // found them, and of a leaf `Executor::bind` compared type and length. They are of type
        // `T`: `dtype` was just compared with `T::DTYPE`, and `Typed` is sealed, so no other type has
        // this tag.
        unsafe { std::slice::from_raw_parts(self.address.start(leaves).cast(), self.len) }
    }

    /// The elements for writing.
    ///
    /// # Safety
    /// The memory is live and initialised, and nobody else reads it or writes to it while the slice
    /// is used.
    #[inline(always)]
    pub(super) unsafe fn write<'a>(&self) -> SliceMut<'a> {
        let Address::Fixed(start) = self.address else {
            unreachable!("results live in the arena");
        };
        // SAFETY: the memory is live and initialised and nobody else reads or writes it, by the
        // conditions of this function. A result is in the arena or in a register, where
        // `Plan::check` found room for `len` aligned elements of this type.
        unsafe { tag_mut(self.dtype, start, self.len) }
    }

    /// The elements for writing, known to be of type `T`.
    ///
    /// # Safety
    /// The memory is live and initialised, and nobody else reads it or writes to it while the slice
    /// is used.
    #[inline(always)]
    pub(super) unsafe fn numbers_mut<'a, T: Typed>(&self) -> &'a mut [T] {
        // SAFETY: `write` has the conditions of this function: the memory is live and initialised,
        // and nobody else uses it.
        let mut data = unsafe { self.write() };
        assert!(self.dtype == T::DTYPE);
        // SAFETY: `data` has `len` elements of `dtype`, which nobody else uses, and is not used
        // again. They are of type `T`: `dtype` was just compared with `T::DTYPE`, and `Typed` is
        // sealed, so no other type has this tag.
        unsafe { std::slice::from_raw_parts_mut(data.address().cast(), self.len) }
    }
}

impl Bags<Memory> {
    /// The bags that an index chooses of `rows` rows, and their weights.
    ///
    /// # Safety
    /// As [`Memory::numbers`], of the index and of these.
    #[inline(always)]
    pub(super) unsafe fn read<'a, T: Number>(
        &self,
        index: &Memory,
        rows: usize,
        leaves: &[*const u8],
    ) -> (BagIndex<'a>, Option<&'a [T]>) {
        // SAFETY: all are live and initialised, and nobody writes to them, by the conditions of this
        // function.
        unsafe {
            let [index, ids, offsets] =
                [index, &self.ids, &self.offsets].map(|memory| memory.numbers(leaves));
            let weights = self.weights.as_ref().map(|memory| memory.numbers(leaves));
            (BagIndex::chosen(index, ids, offsets, rows), weights)
        }
    }
}

/// A slice of `len` elements of type `dtype`.
///
/// # Safety
/// They are live, initialised and aligned, and nobody writes to them.
#[inline(always)]
pub(super) unsafe fn tag<'a>(dtype: DType, start: *const u8, len: usize) -> Slice<'a> {
    // SAFETY: by the conditions of this function `len` elements of `dtype` are live, initialised and
    // aligned from `start` on, and nobody writes to them; each arm takes the type that `dtype` names.
    unsafe {
        match dtype {
            DType::F32 => Slice::F32(std::slice::from_raw_parts(start.cast(), len)),
            DType::F64 => Slice::F64(std::slice::from_raw_parts(start.cast(), len)),
            DType::U32 => Slice::U32(std::slice::from_raw_parts(start.cast(), len)),
        }
    }
}

/// A mutable slice of `len` elements of type `dtype`.
///
/// # Safety
/// They are live, initialised and aligned, and nobody else uses them.
#[inline(always)]
pub(super) unsafe fn tag_mut<'a>(dtype: DType, start: *mut u8, len: usize) -> SliceMut<'a> {
    // SAFETY: by the conditions of this function `len` elements of `dtype` are live, initialised and
    // aligned from `start` on, and nobody else uses them; each arm takes the type that `dtype` names.
    unsafe {
        match dtype {
            DType::F32 => SliceMut::F32(std::slice::from_raw_parts_mut(start.cast(), len)),
            DType::F64 => SliceMut::F64(std::slice::from_raw_parts_mut(start.cast(), len)),
            DType::U32 => SliceMut::U32(std::slice::from_raw_parts_mut(start.cast(), len)),
        }
    }
}

/// One operand or result of a fused operator.
#[derive(Debug, Clone, Copy)]
pub(super) enum Stream {
    /// A block-sized register.
    Register(*mut u8),
    /// Advances with the block; the number is the external's.
    Whole(Address, usize),
    /// The same element for a whole run.
    Splat(Address, usize),
}

/// One fused operator.
pub(super) struct Micro {
    pub kernel: Kernel,
    pub args: SmallVec<[Stream; 3]>,
    pub out: Stream,
}

/// A fused group.
pub(super) struct LinkedGroup {
    pub ops: Vec<Micro>,
    pub walk: Broadcast,
    /// Elements in a run. Where all values lie in the arena this is a whole number of cache
    /// lines, so that kernels have no odd end: what is beyond a value belongs to nobody.
    pub run: usize,
    pub dtype: DType,
}

/// A step with addresses.
pub(super) enum Linked {
    Load {
        table: Arc<Table>,
        out: Memory,
        /// If the copy is kept, the table's version when it was made.
        kept: Option<Cell<u64>>,
    },
    Gather {
        table: Arc<Table>,
        index: Memory,
        out: Memory,
    },
    Bag {
        table: Arc<Table>,
        index: Memory,
        bags: Bags<Memory>,
        out: Memory,
    },
    /// Rows looked up, times rows that are in memory.
    GatherDot {
        table: Arc<Table>,
        index: Memory,
        rows: Memory,
        others: Memory,
        out: Memory,
    },
    /// Rows looked up, times rows looked up.
    GatherBothDot {
        tables: [Arc<Table>; 2],
        indices: [Memory; 2],
        rows: [Memory; 2],
        out: Memory,
    },
    /// One elementwise operator on whole values.
    Map {
        kernel: Kernel,
        args: [Operand; MOST_OPERANDS],
        out: *mut u8,
        len: usize,
    },
    /// Elementwise operators, block by block.
    Group(LinkedGroup),
    Kernel {
        op: OpRef,
        args: SmallVec<[(Memory, *const [usize]); 4]>,
        out: Memory,
        shape: *const [usize],
    },
}

/// Rows of a gradient in an executor's memory, after a run.
pub(crate) struct BoundRows<'a> {
    pub(super) rows: &'a Vec<RowTerms<Memory>>,
    /// Those of bags, written out; one for each part.
    pub(super) written: &'a [RowRecords],
    pub(super) leaves: &'a [*const u8],
}

impl<T: Typed> GradientRows<T> for BoundRows<'_> {
    #[inline(always)]
    fn count(&self) -> usize {
        self.rows.len()
    }
    #[inline(always)]
    fn indices(&self, part: usize) -> &[u32] {
        if self.rows[part].bags.is_some() {
            return self.written[part].indices();
        }
        // SAFETY: the executor, which is borrowed, owns the memory and does not run; what is
        // bound to leaves lives as long as results are read (`Executor::run`).
        unsafe { self.rows[part].index.numbers(self.leaves) }
    }
    #[inline(always)]
    fn terms(&self, part: usize) -> usize {
        match self.rows[part].bags {
            None => self.rows[part].terms.len(),
            Some(_) => 1,
        }
    }
    #[inline(always)]
    fn term(&self, part: usize, term: usize) -> Term<&[T]> {
        if self.rows[part].bags.is_some() {
            return Term {
                scale: None,
                rows: self.written[part].rows(),
            };
        }
        let Term { scale, rows } = &self.rows[part].terms[term];
        // SAFETY: the executor, which is borrowed, owns the memory and does not run; what is
        // bound to leaves lives as long as results are read (`Executor::run`).
        let read = |m: &Memory| unsafe { m.numbers(self.leaves) };
        Term {
            scale: scale.as_ref().map(read),
            rows: read(rows),
        }
    }
}

/// Turns places into addresses.
pub(super) struct Linker<'a> {
    pub plan: &'a Plan,
    pub arena: &'a Arena,
    pub registers: &'a Arena,
    pub tables: &'a [Arc<Table>],
}

impl Linker<'_> {
    fn address(&self, place: &Place) -> Address {
        match place.location {
            Location::Leaf(k) => Address::Leaf(k),
            Location::Arena(offset) => Address::Fixed(self.arena.pointer().wrapping_add(offset)),
            Location::Constant(k) => {
                let start: *const u8 = match self.plan.constants[k].view().data {
                    Slice::F32(s) => s.as_ptr().cast(),
                    Slice::F64(s) => s.as_ptr().cast(),
                    Slice::U32(s) => s.as_ptr().cast(),
                };
                // Constants are never results, so nobody writes through this.
                Address::Fixed(start.cast_mut())
            }
            Location::Nowhere => Address::Fixed(std::ptr::without_provenance_mut(64)),
        }
    }

    pub(super) fn memory(&self, place: &Place) -> Memory {
        Memory {
            address: self.address(place),
            len: match place.location {
                Location::Nowhere => 0,
                _ => place.ty.size(),
            },
            dtype: place.ty.dtype,
        }
    }

    pub(super) fn rows(&self, sink: &Sink) -> Vec<RowTerms<Memory>> {
        match sink {
            Sink::Dense(_) => Vec::new(),
            Sink::Rows(parts) => {
                let memory = |part: &RowTerms<_>| part.map(|place| self.memory(place));
                parts.iter().map(memory).collect()
            }
        }
    }

    fn group(&self, group: &Group) -> LinkedGroup {
        let item = group.ty.dtype.size();
        let shapes = group.externals.iter().map(|p| p.ty.shape.as_slice());
        let walk = Broadcast::new(&group.ty.shape, shapes);
        let stream = |source: FusedOperand| match source {
            FusedOperand::Register(r) => {
                Stream::Register(self.registers.pointer().wrapping_add(r * BLOCK * item))
            }
            FusedOperand::External(k) => {
                let address = self.address(&group.externals[k]);
                if walk.is_splat(k) {
                    Stream::Splat(address, k)
                } else {
                    Stream::Whole(address, k)
                }
            }
        };
        let micro = |op: &super::plan::Fused| Micro {
            kernel: op.kernel,
            args: op.args.iter().map(|&s| stream(s)).collect(),
            out: stream(op.out),
        };
        let in_arena = |p: &Place| matches!(p.location, Location::Arena(_));
        // A space of one element has results that look constant, and are one element long.
        let whole = group.ty.size() > 1
            && walk.run() == group.ty.size()
            && (group.externals.iter().enumerate()).all(|(k, p)| in_arena(p) || walk.is_splat(k));
        LinkedGroup {
            run: if whole {
                (walk.run() * item).next_multiple_of(LINE) / item
            } else {
                walk.run()
            },
            ops: group.ops.iter().map(micro).collect(),
            walk,
            dtype: group.ty.dtype,
        }
    }

    /// A group as operators on whole values, if all of them are at fixed addresses and no
    /// longer than a block.
    fn maps(group: &LinkedGroup) -> Option<Vec<Linked>> {
        if group.run > BLOCK || group.walk.runs() != 1 {
            return None;
        }
        let operand = |stream: Stream| match stream {
            Stream::Register(start) | Stream::Whole(Address::Fixed(start), _) => Some(Operand {
                start,
                len: group.run,
            }),
            Stream::Splat(Address::Fixed(start), _) => Some(Operand { start, len: 1 }),
            Stream::Whole(Address::Leaf(_), _) | Stream::Splat(Address::Leaf(_), _) => None,
        };
        let map = |op: &Micro| {
            let mut args = [Operand::NONE; MOST_OPERANDS];
            for (arg, &stream) in args.iter_mut().zip(&op.args) {
                *arg = operand(stream)?;
            }
            Some(Linked::Map {
                kernel: op.kernel,
                args,
                out: operand(op.out)?.start.cast_mut(),
                len: group.run,
            })
        };
        group.ops.iter().map(map).collect()
    }

    /// The steps that a plan's step is run as.
    pub(super) fn steps(&self, step: &Step) -> Vec<Linked> {
        if let Step::Group(group) = step {
            let group = self.group(group);
            return Self::maps(&group).unwrap_or_else(|| vec![Linked::Group(group)]);
        }
        vec![self.step(step)]
    }

    fn step(&self, step: &Step) -> Linked {
        match step {
            Step::Load {
                table,
                out,
                is_kept,
            } => Linked::Load {
                table: Arc::clone(&self.tables[*table]),
                out: self.memory(out),
                kept: is_kept.then(|| Cell::new(Table::NO_VERSION)),
            },
            Step::Gather { table, index, out } => Linked::Gather {
                table: Arc::clone(&self.tables[*table]),
                index: self.memory(index),
                out: self.memory(out),
            },
            Step::Bag {
                table,
                index,
                bags,
                out,
            } => Linked::Bag {
                table: Arc::clone(&self.tables[*table]),
                index: self.memory(index),
                bags: bags.map(|place| self.memory(place)),
                out: self.memory(out),
            },
            Step::GatherDot { rows, others, out } => {
                let Some((table, index)) = &rows.lookup else {
                    unreachable!("the first operand is looked up");
                };
                match &others.lookup {
                    None => Linked::GatherDot {
                        table: Arc::clone(&self.tables[*table]),
                        index: self.memory(index),
                        rows: self.memory(&rows.place),
                        others: self.memory(&others.place),
                        out: self.memory(out),
                    },
                    Some((other_table, other_index)) => Linked::GatherBothDot {
                        tables: [table, other_table].map(|&t| Arc::clone(&self.tables[t])),
                        indices: [index, other_index].map(|i| self.memory(i)),
                        rows: [rows, others].map(|r| self.memory(&r.place)),
                        out: self.memory(out),
                    },
                }
            }
            Step::Group(group) => Linked::Group(self.group(group)),
            Step::Kernel { op, args, out } => Linked::Kernel {
                op: op.clone(),
                args: args
                    .iter()
                    .map(|a| (self.memory(a), &raw const a.ty.shape[..]))
                    .collect(),
                out: self.memory(out),
                shape: &raw const out.ty.shape[..],
            },
        }
    }
}
