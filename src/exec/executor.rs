//! Running a plan: one thread's memory, used again for every run.
//!
//! After its construction an executor allocates nothing, as long as the operators' own kernels do not, but for
//! gradients of bags, whose length differs from run to run. Tables are read by moves that may race with other
//! workers.

use std::fmt;
use std::sync::Arc;

use smallvec::SmallVec;

use super::plan::arena::Arena;
use super::plan::link::{BoundRows, BoundSink, Linked, Linker};
use super::plan::lookup;
use super::plan::memory::{Memory, tag};
use super::plan::rows::RowTerms;
use super::plan::table_rows::RowRecords;
use super::plan::{Location, Place, Plan, Sink};
use crate::array::{DType, Slice, Typed, View, ViewMut, size, with_real};
use crate::error::Result;
use crate::interrupt::{self, Poller};
use crate::optim::gradient::Term;
use crate::reserve;
#[cfg(feature = "python")]
use crate::rules::OpRef;
use crate::rules::check_indices;
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
    result: Memory,
    /// Where each gradient is.
    sinks: Vec<Option<Sink<Memory>>>,
    /// For each part of a gradient that is rows the rows of its bags, if it has bags, of the last run.
    written: Vec<Vec<RowRecords>>,
    /// Whether there are parts with bags.
    has_bags: bool,
    /// Whether there are parts whose indices are no leaf.
    has_own_indices: bool,
    /// Where each leaf's data is; nothing is read there for a table.
    leaves: Vec<*const u8>,
    /// The leaves' element types and numbers of elements.
    types: Vec<(DType, usize)>,
    /// Room for walking broadcast spaces.
    scratch: Vec<usize>,
    /// The tables, if gradients read rows of them where they are.
    row_tables: Vec<Arc<Table>>,
}

impl fmt::Debug for Executor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut shown = f.debug_struct("Executor");
        shown.field("leaves", &self.types).finish_non_exhaustive()
    }
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
    /// plan does not fit together ([`super::plan::check`]).
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
        reserve::grow(&mut steps, plan.steps.len())?;
        steps.extend(plan.steps.iter().map(|step| linker.step(step)));
        let result = linker.memory(&plan.result);
        let sinks = plan
            .sinks
            .iter()
            .map(|sink| Some(linker.sink(sink.as_ref()?)));
        let sinks: Vec<Option<Sink<Memory>>> = sinks.collect();
        let records = plan.gradients.iter().zip(&sinks).map(|(&leaf, sink)| {
            let record = |_: &RowTerms<Memory>| RowRecords::new(plan.leaves[leaf].dtype);
            parts(sink).iter().map(record).collect()
        });
        let written = records.collect();
        let has = |what: fn(&RowTerms<Memory>) -> bool| sinks.iter().flat_map(parts).any(what);
        let walks = steps.iter().map(|s| match s {
            Linked::Group(g) => g.walk.scratch(),
            _ => 0,
        });
        let scratch = vec![0; walks.max().unwrap_or(0)];
        Ok(Executor {
            arena,
            _registers: registers,
            steps,
            result,
            written,
            has_bags: has(|part| part.bags.is_some()),
            has_own_indices: has(has_own_indices),
            sinks,
            leaves: vec![std::ptr::without_provenance(64); plan.leaves.len()],
            types: plan.leaves.iter().map(|t| (t.dtype, t.size())).collect(),
            scratch,
            row_tables: match plan.reads_rows_in_place() {
                true => tables.to_vec(),
                false => Vec::new(),
            },
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
        for step in &mut self.steps {
            if looks {
                interrupt::check()?;
                poller.program_step()?;
            }
            // SAFETY (of all reads and writes below): memory is live and initialised (see
            // `link`). A step writes its own results only, in the arena or in registers, which
            // `Plan::check` found to be apart from each other and from all that the step reads.
            match step {
                Linked::Maps(maps) => {
                    for map in maps {
                        // SAFETY: operands are live and initialised, and the result is this step's own.
                        unsafe { map.run(leaves) };
                    }
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
                    super::plan::bags::sum(table, found.0, found.1, out)?;
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
                Linked::DotInPlace {
                    table,
                    index,
                    others,
                    out,
                } => with_real!(out.dtype, T => {
                    // SAFETY: both are live operands, which nobody writes in this step: its result
                    // is apart from them, by `Plan::check`.
                    let (index, others) = unsafe {
                        (row_numbers(index, table, leaves)?, others.numbers::<T>(leaves))
                    };
                    // SAFETY: the result of this step, apart from the operands, and of the table's type T.
                    let out = unsafe { out.numbers_mut() };
                    lookup::dot_in_place(table, index, others, out);
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
        if self.has_own_indices {
            self.compare_rows()?;
        }
        if self.has_bags {
            self.write_bags()?;
        }
        Ok(())
    }

    /// Compares the indices of gradients that this run has computed with the number of rows.
    fn compare_rows(&self) -> Result<()> {
        for (&leaf, sink) in self.plan.gradients.iter().zip(&self.sinks) {
            let ty = &self.plan.leaves[leaf];
            for part in parts(sink).iter().filter(|part| has_own_indices(part)) {
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
        let gradients = self.plan.gradients.iter().zip(&self.sinks);
        for ((&leaf, sink), written) in gradients.zip(&mut self.written) {
            let ty = &self.plan.leaves[leaf];
            for (part, out) in parts(sink).iter().zip(written) {
                let Some(bags) = &part.bags else { continue };
                with_real!(ty.dtype, T => {
                    // SAFETY: these are leaves, constants and results that live in the arena until the
                    // next run, and nobody writes to them now.
                    let (bags, weights) = unsafe { bags.read::<T>(&part.index, ty.shape[0], leaves) };
                    // SAFETY: as above.
                    let numbers = |m: &Memory| unsafe { m.numbers::<T>(leaves) };
                    let read = |term: &Term<Memory>| {
                        Term::new(term.scale.as_ref().map(numbers), numbers(&term.rows))
                    };
                    let terms: SmallVec<[Term<&[T]>; 4]> = part.terms.iter().map(read).collect();
                    super::plan::bags::write_out(bags, weights, &terms, size(&ty.shape[1..]), out)?;
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

    /// The elements of the result, after a run.
    #[inline(always)]
    pub(crate) fn result<T: Typed>(&self) -> &[T] {
        // SAFETY: the linker took this from the plan's result, which `Plan::check` found to be that many elements.
        // It lives as long as `read` says of such places, and nobody writes to it while `self` is borrowed.
        unsafe { self.result.numbers(&self.leaves) }
    }

    /// Gradient number `k`, after a run; `None` if it is zero.
    #[inline(always)]
    pub(crate) fn sink<T: Typed>(&self, k: usize) -> Option<BoundSink<'_, T>> {
        Some(match self.sinks[k].as_ref()? {
            // SAFETY: as in `result`, of a gradient.
            Sink::Dense(memory) => BoundSink::Dense(unsafe { memory.numbers(&self.leaves) }),
            Sink::Rows(_) => BoundSink::Rows(self.rows(k)),
        })
    }

    /// The rows of gradient number `k`, after a run; none if it is no rows.
    pub(crate) fn rows(&self, k: usize) -> BoundRows<'_> {
        BoundRows {
            rows: parts(&self.sinks[k]),
            written: &self.written[k],
            leaves: &self.leaves,
            tables: &self.row_tables,
        }
    }

    /// How many rows gradient number `k` has, after a run; none if it is an array.
    pub(crate) fn row_count(&self, k: usize) -> usize {
        let parts = parts(&self.sinks[k]).iter().zip(&self.written[k]);
        let counts = parts.map(|(part, written)| match part.bags {
            None => part.index.len,
            Some(_) => written.indices().len(),
        });
        counts.sum()
    }
}

/// The parts of a gradient that is rows.
fn parts(sink: &Option<Sink<Memory>>) -> &[RowTerms<Memory>] {
    match sink {
        Some(Sink::Rows(parts)) => parts,
        _ => &[],
    }
}

/// Whether the indices of rows are a constant or what a run computes.
fn has_own_indices(part: &RowTerms<Memory>) -> bool {
    part.bags.is_none() && part.index.is_fixed()
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
