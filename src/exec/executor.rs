//! Running a plan: one thread's memory, used again for every run.
//!
//! After its construction an executor allocates nothing, as long as the operators' own
//! kernels do not. Tables are read by moves that may race with other workers.

use std::sync::Arc;

use smallvec::SmallVec;

use super::arena::Arena;
use super::lower::BLOCK;
use super::plan::{Fused, Group, Location, Place, Plan, Source, Step};
use crate::array::{Array, Real, Slice, Typed, View, ViewMut, with_real};
use crate::error::Result;
use crate::rules::check_indices;
use crate::table::{Table, moves};

/// What a plan's leaves are bound to for one run.
#[derive(Clone, Copy)]
pub(crate) struct Bindings<'a> {
    /// The tables, in the plan's order.
    pub tables: &'a [Arc<Table>],
    /// The data of every leaf; an empty slice for a table.
    pub leaves: &'a [Slice<'a>],
}

/// Memory to run a plan in. See the [module documentation](self).
#[derive(Debug)]
pub struct Executor {
    plan: Arc<Plan>,
    arena: Arena,
    registers: Arena,
    /// Room for walking broadcast spaces.
    scratch: Vec<usize>,
}

impl Executor {
    /// Memory for a plan.
    ///
    /// # Errors
    /// [`Error::Value`] if it cannot be had.
    pub(crate) fn new(plan: Arc<Plan>) -> Result<Self> {
        let walks = plan.steps.iter().map(|s| match s {
            Step::Group(g) => g.walk.scratch(),
            _ => 0,
        });
        let scratch = vec![0; walks.max().unwrap_or(0)];
        Ok(Executor {
            arena: Arena::new(plan.arena_bytes)?,
            registers: Arena::new(plan.registers * BLOCK * size_of::<f64>())?,
            scratch,
            plan,
        })
    }

    /// The plan.
    pub(crate) fn plan(&self) -> &Arc<Plan> {
        &self.plan
    }

    /// Runs all steps.
    ///
    /// # Errors
    /// [`Error::Index`] if an index is out of range, and whatever a kernel reports.
    ///
    /// # Panics
    /// If the bindings are not of the plan's types: callers check them.
    pub(crate) fn run(&mut self, bindings: Bindings<'_>) -> Result<()> {
        let plan = Arc::clone(&self.plan);
        assert_eq!(bindings.leaves.len(), plan.leaves.len());
        for ((slice, ty), table) in bindings.leaves.iter().zip(&plan.leaves).zip(&plan.tables) {
            match table {
                Some(t) => assert_eq!(bindings.tables[*t].ty(), ty),
                None => assert_eq!((slice.len(), slice.dtype()), (ty.size(), ty.dtype)),
            }
        }
        for step in &plan.steps {
            match step {
                Step::Group(group) => {
                    with_real!(group.ty.dtype, T => self.group::<T>(group, bindings.leaves));
                }
                Step::Gather { table, index, out } => {
                    let table = &bindings.tables[*table];
                    with_real!(out.ty.dtype, T => {
                        self.gather::<T>(table, index, out, bindings.leaves)?;
                    });
                }
                Step::Load { table, out } => {
                    let table = &bindings.tables[*table];
                    with_real!(out.ty.dtype, T => {
                        // SAFETY: `out` is this step's result and nothing else is borrowed.
                        let out = unsafe { self.write::<T>(out) };
                        // SAFETY: the table's type is the plan's (checked above), so it holds
                        // as many numbers as `out`; racing workers use the same moves.
                        unsafe { moves::load_row(table.pointer::<T>(), out) };
                    });
                }
                Step::Kernel { op, args, out } => {
                    let views: SmallVec<[View<'_>; 8]> = args
                        .iter()
                        .map(|a| View::new(&a.ty.shape, self.read(a, bindings.leaves)))
                        .collect();
                    with_real!(out.ty.dtype, T => {
                        // SAFETY: the layout keeps a result apart from every value that is
                        // live while it is written, operands included.
                        let data = unsafe { self.write::<T>(out) };
                        let view = ViewMut {
                            shape: out.ty.shape.clone(),
                            data: T::tag_mut(data),
                        };
                        op.eval(&views, view)?;
                    });
                }
            }
        }
        Ok(())
    }

    /// A value's elements.
    pub(crate) fn read<'a>(&'a self, place: &Place, leaves: &[Slice<'a>]) -> Slice<'a> {
        match place.location {
            Location::Leaf(k) => leaves[k],
            Location::Constant(k) => self.plan.constants[k].view().data,
            Location::Nowhere => Slice::F64(&[]),
            Location::Arena(offset) => with_real!(place.ty.dtype, T => {
                let start = self.arena.pointer().wrapping_add(offset).cast::<T>();
                // SAFETY: the layout gave this value `size` elements at an aligned offset
                // inside the arena, whose memory is initialised. It is written only by its
                // own step, through `write`, when no slice of it exists.
                T::tag(unsafe { std::slice::from_raw_parts(start, place.ty.size()) })
            }),
        }
    }

    /// A value's elements, as numbers.
    pub(crate) fn numbers<'a, T: Typed>(&'a self, place: &Place, leaves: &[Slice<'a>]) -> &'a [T] {
        T::slice(self.read(place, leaves))
    }

    /// A result's elements.
    ///
    /// # Safety
    /// No other slice of this value may exist.
    #[allow(clippy::mut_from_ref)] // The arena is memory that is handed out piece by piece.
    unsafe fn write<T: Typed>(&self, place: &Place) -> &mut [T] {
        let Location::Arena(offset) = place.location else {
            unreachable!("results live in the arena");
        };
        let start = self.arena.pointer().wrapping_add(offset).cast::<T>();
        // SAFETY: in bounds, aligned and initialised as in `read`; the caller promises that
        // it is the only slice.
        unsafe { std::slice::from_raw_parts_mut(start, place.ty.size()) }
    }

    fn gather<T: Real>(
        &self,
        table: &Table,
        index: &Place,
        out: &Place,
        leaves: &[Slice<'_>],
    ) -> Result<()> {
        let indices: &[u32] = self.numbers(index, leaves);
        check_indices(|| table.label(), indices, table.rows())?;
        let width = table.width();
        // SAFETY: `out` is this step's result; `indices` is another value.
        let out = unsafe { self.write::<T>(out) };
        let start = table.pointer::<T>();
        if width == 1 {
            for (o, &i) in out.iter_mut().zip(indices) {
                // SAFETY: `i` was checked; racing workers use the same moves.
                *o = unsafe { moves::load(start.add(i as usize)) };
            }
            return Ok(());
        }
        for (row, &i) in out.chunks_exact_mut(width.max(1)).zip(indices) {
            // SAFETY: `i` was checked and a row has `width` numbers; racing workers use the
            // same moves.
            unsafe { moves::load_row(start.add(i as usize * width), row) };
        }
        Ok(())
    }

    fn group<T: Real>(&mut self, group: &Group, leaves: &[Slice<'_>]) {
        let run = group.walk.run();
        let mut scratch = std::mem::take(&mut self.scratch);
        let room = &mut scratch[..group.walk.scratch()];
        group.walk.for_each_in(room, |offsets, _| {
            let mut at = 0;
            while at < run {
                let n = BLOCK.min(run - at);
                for op in &group.ops {
                    self.fused::<T>(group, op, offsets, at, n, leaves);
                }
                at += n;
            }
        });
        self.scratch = scratch;
    }

    /// Runs one fused operator on elements `at..at + n` of a run.
    #[inline]
    fn fused<T: Real>(
        &self,
        group: &Group,
        op: &Fused,
        offsets: &[usize],
        at: usize,
        n: usize,
        leaves: &[Slice<'_>],
    ) {
        let register = |r: usize| self.registers.pointer().cast::<T>().wrapping_add(r * BLOCK);
        let args: SmallVec<[Slice<'_>; 4]> = op
            .args
            .iter()
            .map(|source| match *source {
                // SAFETY: there are `registers` registers of `BLOCK` elements each, and the
                // register that is written now is another one.
                Source::Register(r) => {
                    T::tag(unsafe { std::slice::from_raw_parts(register(r), n) })
                }
                Source::External(k) => {
                    let all: &[T] = self.numbers(&group.externals[k], leaves);
                    T::tag(if group.walk.is_splat(k) {
                        &all[offsets[k]..=offsets[k]]
                    } else {
                        &all[offsets[k] + at..offsets[k] + at + n]
                    })
                }
            })
            .collect();
        let out = match op.out {
            // SAFETY: as for reading; a register is not given out again while an operand of
            // the same operator uses it.
            Source::Register(r) => unsafe { std::slice::from_raw_parts_mut(register(r), n) },
            Source::External(k) => {
                // SAFETY: the layout keeps this result apart from all operands.
                let all = unsafe { self.write::<T>(&group.externals[k]) };
                &mut all[offsets[k] + at..offsets[k] + at + n]
            }
        };
        if let Some(block) = op.op.block() {
            block.run(&args, T::tag_mut(out));
        }
    }

    /// A copy of a value.
    pub(crate) fn copy(&self, place: &Place, leaves: &[Slice<'_>]) -> Array {
        use crate::array::Dense;
        match self.read(place, leaves) {
            Slice::F32(s) => Dense::from_vec(place.ty.shape.clone(), s.to_vec()).into(),
            Slice::F64(s) => Dense::from_vec(place.ty.shape.clone(), s.to_vec()).into(),
            Slice::U32(s) => Dense::from_vec(place.ty.shape.clone(), s.to_vec()).into(),
        }
    }
}
