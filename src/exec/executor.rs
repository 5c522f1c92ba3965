//! Running a plan: one thread's memory, used again for every run.
//!
//! After its construction an executor allocates nothing, as long as the operators' own
//! kernels do not, but for gradients of bags, which are as long as each run has them. Tables are read by moves that may race with other workers.

use std::sync::Arc;

use smallvec::SmallVec;

use super::arena::Arena;
use super::link::{BoundRows, Linked, Linker};
use super::lookup;
use super::memory::{Memory, tag};
use super::plan::{Location, Place, Plan, Sink};
use super::rows::RowTerms;
use super::table_rows::RowRecords;
use crate::array::{DType, Slice, Typed, View, ViewMut, size, with_real};
use crate::error::Result;
use crate::interrupt::{self, Poller};
use crate::optim::gradient::Term;
use crate::reserve;
#[cfg(feature = "python")]
use crate::rules::OpRef;
use crate::rules::{Operand, check_indices};
use crate::table::Table;

/// Bytes of results from which on a run may take long enough to be stopped on the way.
pub(super) const LONG_RUN: usize = 1 << 20;

/// Bytes asked for ahead (`reserve::bytes`) for an operator with the addresses of its operands: 180 to
/// 2,230 were measured, with the values in the arena and what a group of operators keeps.
const LINKED: usize = 2 * size_of::<Linked>();

/// Memory to run a plan in.
pub struct Executor {
    plan: Arc<Plan>,
    arena: Arc<Arena>,
    /// Held for the addresses in `steps`.
    _registers: Arc<Arena>,
    steps: Vec<Linked>,
    /// For each gradient that is rows, where they are.
    rows: Vec<Vec<RowTerms<Memory>>>,
    /// For each part of those the rows of its bags, if it has bags, of the last run.
    written: Vec<Vec<RowRecords>>,
    /// Where each leaf's data is; nothing is read there for a table.
    leaves: Vec<*const u8>,
    /// The leaves' element types and numbers of elements.
    types: Vec<(DType, usize)>,
    /// Room for walking broadcast spaces.
    scratch: Vec<usize>,
}

// SAFETY: the raw addresses in `steps` point into memory that the executor keeps alive (its
// arenas, the plan, the tables). The arenas are reached through the executor alone, or through others
// that are not used meanwhile, as `in_memory` asks for. The plan is read only, and tables are reached
// by moves. What `leaves` points to is read by `run` and after it, whose callers promise that it is
// live then.
unsafe impl Send for Executor {}

impl Executor {
    /// Memory for a plan that reads the given tables.
    ///
    /// # Errors
    /// [`Memory`](crate::Error::Memory) if it cannot be had, [`Value`](crate::Error::Value) if the
    /// plan does not fit together ([`super::check`]).
    pub(crate) fn new(plan: Arc<Plan>, tables: &[Arc<Table>]) -> Result<Self> {
        let memory = [plan.arena_bytes, plan.register_bytes()];
        let [arena, registers] = memory.map(|bytes| Arena::new(bytes).map(Arc::new));
        // SAFETY: nobody else has these arenas.
        unsafe { Executor::in_memory(plan, tables, arena?, registers?) }
    }

    /// As [`new`](Self::new), with this memory for results and registers.
    ///
    /// # Errors
    /// As [`new`](Self::new).
    ///
    /// # Safety
    /// Of executors that share an arena one is used at a time: what another one's run has left is
    /// not read after this one's has begun, and no two run at once.
    ///
    /// # Panics
    /// If the memory is smaller than the plan needs.
    pub(super) unsafe fn in_memory(
        plan: Arc<Plan>,
        tables: &[Arc<Table>],
        arena: Arc<Arena>,
        registers: Arc<Arena>,
    ) -> Result<Self> {
        reserve::ahead(plan.operators_in_all(), LINKED)?;
        plan.check(tables)?;
        assert!(arena.bytes() >= plan.arena_bytes && registers.bytes() >= plan.register_bytes());
        let linker = Linker {
            plan: &plan,
            arena: &arena,
            registers: &registers,
            tables,
        };
        let mut steps = Vec::new();
        for step in &plan.steps {
            let linked = linker.steps(step);
            reserve::grow(&mut steps, linked.len())?;
            steps.extend(linked);
        }
        let none = Sink::Rows(Vec::new());
        let sinks = plan.sinks.iter();
        let rows = sinks.map(|s| linker.rows(s.as_ref().unwrap_or(&none)));
        let rows: Vec<Vec<RowTerms<Memory>>> = rows.collect();
        let records = plan.gradients.iter().zip(&rows).map(|(&leaf, parts)| {
            let record = |_: &RowTerms<Memory>| RowRecords::new(plan.leaves[leaf].dtype);
            parts.iter().map(record).collect()
        });
        let written = records.collect();
        let walks = steps.iter().map(|s| match s {
            Linked::Group(g) => g.walk.scratch(),
            _ => 0,
        });
        let scratch = vec![0; walks.max().unwrap_or(0)];
        Ok(Executor {
            arena,
            _registers: registers,
            steps,
            rows,
            written,
            leaves: vec![std::ptr::without_provenance(64); plan.leaves.len()],
            types: plan.leaves.iter().map(|t| (t.dtype, t.size())).collect(),
            scratch,
            plan,
        })
    }

    /// Says where the data of a leaf is that is not a table.
    ///
    /// # Panics
    /// If the data is not of the plan's type.
    #[inline(always)]
    pub(crate) fn bind(&mut self, leaf: usize, data: Slice<'_>) {
        assert!(
            (data.dtype(), data.len()) == self.types[leaf],
            "leaf {leaf} is of another type"
        );
        self.leaves[leaf] = data.address();
    }

    /// The plan.
    pub(crate) fn plan(&self) -> &Arc<Plan> {
        &self.plan
    }

    /// Calls `f` with every operator that this holds, besides those of its plan.
    #[cfg(feature = "python")]
    pub(super) fn operators(&self, f: &mut dyn FnMut(&OpRef)) {
        for step in &self.steps {
            if let Linked::Kernel { op, .. } = step {
                f(op);
            }
        }
    }

    /// Runs all steps, unless the work of this thread should end on the way.
    ///
    /// # Errors
    /// [`Interrupted`](crate::Error::Interrupted) if it was, and whatever a kernel
    /// reports.
    ///
    /// # Safety
    /// Every leaf that is not a table is bound to data that is live and unchanged until
    /// results of this run are last read; its indices are below the plan's bounds. Nobody else
    /// has plain access to the tables while this runs.
    pub(crate) unsafe fn run(&mut self) -> Result<()> {
        let leaves = &self.leaves[..];
        // A run on little memory is over before anybody can ask for it to end.
        let looks = self.plan.arena_bytes > LONG_RUN;
        let mut poller = Poller::default();
        for step in &self.steps {
            if looks {
                interrupt::check()?;
                poller.program_step()?;
            }
            // SAFETY (of all reads and writes below): memory is live and initialised (see
            // `link`). A step writes its own results only, in the arena or in registers, which
            // `Plan::check` found to be apart from each other and from all that the step reads.
            match step {
                Linked::Map {
                    kernel,
                    args,
                    out,
                    len,
                } => {
                    let args = args.map(|(address, len)| Operand {
                        start: address.start(leaves),
                        len,
                    });
                    // SAFETY: `Linker` gave the operands `len` elements each or one, and the result
                    // `len`, where `Plan::check` found them; of leaves `bind` compared type and length. The
                    // kernel is for the group's element type and so many operands, and the result is apart
                    // from the operands: both by `Plan::check`.
                    unsafe { kernel.run(&args, *out, *len) };
                }
                Linked::Group(group) => group.run(&mut self.scratch, leaves),
                Linked::Gather { table, index, out } => with_real!(out.dtype, T => {
                    // SAFETY: the indices are a live operand, which nobody writes in this step;
                    // `out` is its result, apart from them, and of type T by `with_real`.
                    let (index, out) = unsafe {
                        (row_numbers(index, table, leaves)?, out.numbers_mut::<T>())
                    };
                    lookup::gather(table, index, out);
                }),
                Linked::Bag {
                    table,
                    index,
                    bags,
                    out,
                } => with_real!(out.dtype, T => {
                    // SAFETY: all are live operands, which nobody writes in this step; `out` is its
                    // result, apart from them, and of type T by `with_real`.
                    let (found, out) = unsafe {
                        (bags.read(index, table.rows(), leaves), out.numbers_mut::<T>())
                    };
                    super::bags::sum(table, found.0, found.1, out)?;
                }),
                Linked::GatherDot {
                    table,
                    index,
                    rows,
                    others,
                    out,
                } => with_real!(out.dtype, T => {
                    // SAFETY: both are live operands, which nobody writes in this step: its results
                    // are apart from them, by `Plan::check`.
                    let (index, others) = unsafe {
                        (row_numbers(index, table, leaves)?, others.numbers(leaves))
                    };
                    // SAFETY: both are results of this step, which are apart from
                    // each other and from the operands, and of the table's type T.
                    let (rows, out) = unsafe { (rows.numbers_mut::<T>(), out.numbers_mut()) };
                    lookup::gather_dot(table, index, rows, others, out);
                }),
                Linked::GatherBothDot {
                    tables: [table, other],
                    indices: [i, j],
                    rows: [x, y],
                    out,
                } => with_real!(out.dtype, T => {
                    // SAFETY: both are live operands, which nobody writes in this step: its results
                    // are apart from them, by `Plan::check`.
                    let (i, j) = unsafe {
                        (row_numbers(i, table, leaves)?, row_numbers(j, other, leaves)?)
                    };
                    // SAFETY: both are results of this step, which are apart from
                    // each other and from the operands, and of the tables' type T.
                    let (x, y) = unsafe { (x.numbers_mut::<T>(), y.numbers_mut()) };
                    // SAFETY: the third result, apart from those two and from the operands.
                    let out = unsafe { out.numbers_mut() };
                    lookup::gather_both_dot(table, i, x, other, j, y, out);
                }),
                Linked::Load { table, out, kept } => with_real!(out.dtype, T => {
                    // SAFETY: the result of this step, which has no operand but the table, and
                    // of type T by `with_real`.
                    let out = unsafe { out.numbers_mut::<T>() };
                    lookup::load(table, out, kept.as_ref());
                }),
                Linked::Kernel {
                    op,
                    args,
                    out,
                    shape,
                } => {
                    // SAFETY: operands are live and nobody writes them in this step; the shapes are
                    // in a step of the plan, which is not changed and which the executor holds by
                    // `Arc` for as long as it runs.
                    let view = |(a, shape): &(Memory, *const [usize])| unsafe {
                        View::new(&**shape, a.read(leaves))
                    };
                    let mut few = [View::new(&[], Slice::F64(&[])); 3];
                    let many: SmallVec<[View<'_>; 0]>;
                    let views = match few.get_mut(..args.len()) {
                        Some(few) => {
                            for (to, arg) in few.iter_mut().zip(args) {
                                *to = view(arg);
                            }
                            &*few
                        }
                        None => {
                            many = args.iter().map(view).collect();
                            &many[..]
                        }
                    };
                    let out = ViewMut {
                        // SAFETY: the shape is in a step of the plan, which is not changed and which
                        // the executor holds by `Arc` for as long as it runs.
                        shape: unsafe { &**shape },
                        // SAFETY: the result of this step, which is apart from the operands that
                        // `views` reads.
                        data: unsafe { out.write() },
                    };
                    op.eval(views, out)?;
                }
            }
        }
        self.compare_rows()?;
        self.write_bags()
    }

    /// Compares the indices of gradients that this run has computed with the number of rows.
    fn compare_rows(&self) -> Result<()> {
        for (&leaf, parts) in self.plan.gradients.iter().zip(&self.rows) {
            let ty = &self.plan.leaves[leaf];
            let computed = parts
                .iter()
                .filter(|part| part.bags.is_none() && part.index.is_fixed());
            for part in computed {
                // SAFETY: a constant, or a result that lives until the next run in this arena; nobody
                // writes to it now.
                let indices = unsafe { part.index.numbers::<u32>(&self.leaves) };
                check_indices(|| "the gradient of a lookup".into(), indices, ty.shape[0])?;
            }
        }
        Ok(())
    }

    /// Writes out the gradients that are rows of bags.
    fn write_bags(&mut self) -> Result<()> {
        let leaves = &self.leaves[..];
        let gradients = self.plan.gradients.iter().zip(&self.rows);
        for ((&leaf, parts), written) in gradients.zip(&mut self.written) {
            let ty = &self.plan.leaves[leaf];
            for (part, out) in parts.iter().zip(written) {
                let Some(bags) = &part.bags else { continue };
                with_real!(ty.dtype, T => {
                    // SAFETY: these are leaves, constants and results that live in the arena until the
                    // next run, and nobody writes to them now.
                    let (bags, weights) = unsafe { bags.read::<T>(&part.index, ty.shape[0], leaves) };
                    let terms = part.terms.iter().map(|term| Term {
                        // SAFETY: as above.
                        scale: term.scale.as_ref().map(|m| unsafe { m.numbers::<T>(leaves) }),
                        // SAFETY: as above.
                        rows: unsafe { term.rows.numbers::<T>(leaves) },
                    });
                    let terms: SmallVec<[Term<&[T]>; 4]> = terms.collect();
                    super::bags::write_out(bags, weights, &terms, size(&ty.shape[1..]), out)?;
                });
            }
        }
        Ok(())
    }

    /// A value's elements, after a run.
    pub(crate) fn read(&self, place: &Place) -> Slice<'_> {
        match place.location {
            // SAFETY: `bind` checked type and length; the caller of `run` promised that the
            // data is live.
            Location::Leaf(k) => unsafe { tag(place.ty.dtype, self.leaves[k], place.ty.size()) },
            Location::Constant(k) => self.plan.constants[k].view().data,
            Location::Nowhere => Slice::F64(&[]),
            Location::Arena(offset) => {
                let start = self.arena.pointer().wrapping_add(offset);
                // SAFETY: results and gradients are all that is asked for here, and `Plan::check`
                // found each to have `size` elements at an aligned offset inside the arena. That is
                // initialised. `run` writes to it, of this executor, which it borrows mutably, or of
                // one that shares the arena: `in_memory` asks that nothing is read here once such a
                // run began.
                unsafe { tag(place.ty.dtype, start, place.ty.size()) }
            }
        }
    }

    /// The rows of gradient number `k`, after a run.
    pub(crate) fn rows(&self, k: usize) -> BoundRows<'_> {
        BoundRows {
            rows: &self.rows[k],
            written: &self.written[k],
            leaves: &self.leaves,
        }
    }

    /// How many rows gradient number `k` has, after a run; none if it is an array.
    pub(crate) fn row_count(&self, k: usize) -> usize {
        let parts = self.rows[k].iter().zip(&self.written[k]);
        let counts = parts.map(|(part, written)| match part.bags {
            None => part.index.len,
            Some(_) => written.indices().len(),
        });
        counts.sum()
    }

    /// A value's elements of a known type.
    pub(crate) fn numbers<T: Typed>(&self, place: &Place) -> &[T] {
        T::slice(self.read(place))
    }
}

/// Indices of rows of a table. Those of no leaf, which are constants or what a run computes, are compared
/// with the number of rows.
///
/// # Errors
/// [`Error::Index`](crate::Error::Index) if one of those is out of range.
///
/// # Safety
/// As [`Memory::numbers`].
#[inline(always)]
unsafe fn row_numbers<'a>(
    index: &Memory,
    table: &Table,
    leaves: &[*const u8],
) -> Result<&'a [u32]> {
    // SAFETY: the memory is live and initialised and nobody writes to it, by the conditions of this
    // function.
    let indices = unsafe { index.numbers::<u32>(leaves) };
    if index.is_fixed() {
        check_indices(|| "gather".into(), indices, table.rows())?;
    }
    Ok(indices)
}
