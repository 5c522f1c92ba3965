//! Linking: a plan's places become addresses.
//!
//! The memory of an executor and of the tables does not move, so everything but the data
//! bound to leaves is resolved once. What is left to do in a run is to call kernels.

use std::cell::Cell;
use std::sync::Arc;

use smallvec::SmallVec;

use super::arena::{Arena, LINE};
use super::fused_group::{LinkedGroup, Micro, Stream};
use super::memory::{Address, Memory};
use super::rows::{Bags, RowTerms};
use super::table_rows::RowRecords;
use super::tiles::LinkedTile;
use super::{BLOCK, FusedOperand, Group, Location, Place, Plan, RowTile, Sink, Step};
use crate::array::{Broadcast, Slice, Typed};
use crate::optim::gradient::{GradientRows, RowsInPlace, Term};
use crate::rules::{Kernel, MOST_OPERANDS, OpRef, Operand};
use crate::table::Table;

/// A step with addresses.
pub(in crate::exec) enum Linked {
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
    /// Rows of a table where they are, times rows that are in memory.
    DotInPlace {
        table: Arc<Table>,
        index: Memory,
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
    /// Elementwise operators on whole values, one after the other.
    Maps(Vec<LinkedMap>),
    /// Elementwise operators, block by block.
    Group(LinkedGroup),
    Kernel {
        op: OpRef,
        args: SmallVec<[(Memory, *const [usize]); 4]>,
        out: Memory,
        shape: *const [usize],
    },
}

/// One elementwise operator on whole values.
pub(in crate::exec) struct LinkedMap {
    kernel: Kernel,
    args: [Operand; MOST_OPERANDS],
    /// Which operands are leaves, and which: their addresses are known when they are bound.
    bound: Box<[(usize, usize)]>,
    out: *mut u8,
    len: usize,
}

impl LinkedMap {
    /// Computes it.
    ///
    /// # Safety
    /// Its operands are live and initialised, and nobody else uses its result.
    #[inline(always)]
    pub(in crate::exec) unsafe fn run(&mut self, leaves: &[*const u8]) {
        for &(arg, leaf) in &self.bound {
            self.args[arg].start = leaves[leaf];
        }
        // SAFETY: `Linker` gave the operands `len` elements each or one, and the result `len`, where
        // `Plan::check` found them; of leaves `Executor::bind` compared type and length. The kernel is for the
        // group's element type and so many operands, and the result is apart from the operands: both by
        // `Plan::check`. All are live, by the conditions of this function.
        unsafe { self.kernel.run(&self.args, self.out, self.len) };
    }
}

/// A gradient in an executor's memory, after a run.
pub(crate) enum BoundSink<'a, T> {
    /// An array.
    Dense(&'a [T]),
    /// Rows; equal indices add up.
    Rows(BoundRows<'a>),
}

/// Rows of a gradient in an executor's memory, after a run.
pub(crate) struct BoundRows<'a> {
    pub(in crate::exec) rows: &'a [RowTerms<Memory>],
    /// Those of bags, written out; one for each part.
    pub(in crate::exec) written: &'a [RowRecords],
    pub(in crate::exec) leaves: &'a [*const u8],
    /// The tables of the plan, if rows of them are read where they are.
    pub(in crate::exec) tables: &'a [Arc<Table>],
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
            return Term::new(None, self.written[part].rows());
        }
        let Term { scale, rows, table } = &self.rows[part].terms[term];
        // SAFETY: the executor, which is borrowed, owns the memory and does not run; what is
        // bound to leaves lives as long as results are read (`Executor::run`).
        let read = |m: &Memory| unsafe { m.numbers(self.leaves) };
        let rows = if table.is_none() { read(rows) } else { &[] };
        Term::new(scale.as_ref().map(read), rows)
    }
    #[inline(always)]
    fn in_place(&self, part: usize, term: usize) -> Option<RowsInPlace<'_>> {
        let part = &self.rows[part];
        let term = part.terms.get(term).filter(|_| part.bags.is_none())?;
        Some(RowsInPlace {
            table: &self.tables[term.table?],
            // SAFETY: as in `term`.
            indices: unsafe { term.rows.numbers(self.leaves) },
        })
    }
}

/// Turns places into addresses.
pub(in crate::exec) struct Linker<'a> {
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
            Location::Nowhere => Address::NONE,
        }
    }

    pub(in crate::exec) fn memory(&self, place: &Place) -> Memory {
        Memory {
            address: self.address(place),
            len: match place.location {
                Location::Nowhere => 0,
                _ => place.ty.size(),
            },
            dtype: place.ty.dtype,
        }
    }

    pub(in crate::exec) fn sink(&self, sink: &Sink) -> Sink<Memory> {
        sink.map(|place| self.memory(place))
    }

    fn group(&self, group: &Group) -> LinkedGroup {
        let item = group.ty.dtype.size();
        let shapes = group.externals.iter().map(|p| p.ty.shape.as_slice());
        let tiled = group
            .tiles
            .first()
            .map(|tile| &group.externals[tile.external]);
        let row = tiled.map(|place| place.ty.size());
        let walk = match row {
            None => Broadcast::new(&group.ty.shape, shapes),
            // All but the tiles, which are in registers, go on from row to row.
            Some(_) => {
                let space = [group.ty.size()];
                let is_whole = |p: &Place| p.ty.size() == space[0];
                let shapes = group.externals.iter().map(|p| match is_whole(p) {
                    true => &space[..],
                    false => &[],
                });
                Broadcast::new(&space, shapes)
            }
        };
        let register = |r| self.registers.pointer().wrapping_add(r * BLOCK * item);
        let stream = |source: FusedOperand| match source {
            FusedOperand::Register(r) => Stream::Register(register(r)),
            FusedOperand::External(k) => {
                let address = self.address(&group.externals[k]);
                if walk.is_splat(k) {
                    Stream::Splat(address, k)
                } else {
                    Stream::Whole(address, k)
                }
            }
        };
        let micro = |op: &super::Fused| Micro {
            kernel: op.kernel,
            args: op.args.iter().map(|&s| stream(s)).collect(),
            out: stream(op.out),
        };
        let tile = |tile: &RowTile| LinkedTile {
            row: self.address(&group.externals[tile.external]),
            bytes: group.externals[tile.external].ty.size() * item,
            register: register(tile.register),
        };
        let in_arena = |p: &Place| matches!(p.location, Location::Arena(_));
        // A space of one element has results that look constant, and are one element long.
        let whole = group.ty.size() > 1
            && walk.run() == group.ty.size()
            && (group.externals.iter().enumerate()).all(|(k, p)| in_arena(p) || walk.is_splat(k));
        LinkedGroup {
            length: if whole {
                (walk.run() * item).next_multiple_of(LINE) / item
            } else {
                walk.run()
            },
            ops: group.ops.iter().map(micro).collect(),
            tiles: group.tiles.iter().map(tile).collect(),
            block: row.map_or(BLOCK, |row| BLOCK / row * row),
            walk,
            dtype: group.ty.dtype,
        }
    }

    /// A group as operators on whole values, if these are no longer than a block.
    fn maps(group: &LinkedGroup) -> Option<Vec<LinkedMap>> {
        if group.length > BLOCK || group.walk.runs() != 1 || !group.tiles.is_empty() {
            return None;
        }
        let operand = |stream: Stream| match stream {
            Stream::Register(start) => (Address::Fixed(start), group.length),
            Stream::Whole(address, _) => (address, group.length),
            Stream::Splat(address, _) => (address, 1),
        };
        let map = |op: &Micro| {
            let (mut args, mut bound) = ([Operand::NONE; MOST_OPERANDS], Vec::new());
            for (k, &stream) in op.args.iter().enumerate() {
                let (address, len) = operand(stream);
                args[k].len = len;
                match address {
                    Address::Fixed(start) => args[k].start = start,
                    Address::Leaf(leaf) => bound.push((k, leaf)),
                }
            }
            let (Address::Fixed(out), len) = operand(op.out) else {
                return None;
            };
            Some(LinkedMap {
                kernel: op.kernel,
                args,
                bound: bound.into(),
                out,
                len,
            })
        };
        group.ops.iter().map(map).collect()
    }

    /// A step with addresses.
    pub(in crate::exec) fn step(&self, step: &Step) -> Linked {
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
            Step::DotInPlace {
                table,
                index,
                others,
                out,
            } => Linked::DotInPlace {
                table: Arc::clone(&self.tables[*table]),
                index: self.memory(index),
                others: self.memory(others),
                out: self.memory(out),
            },
            Step::Group(group) => {
                let group = self.group(group);
                Self::maps(&group).map_or_else(|| Linked::Group(group), Linked::Maps)
            }
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
