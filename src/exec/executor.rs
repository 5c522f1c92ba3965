//! Running a plan: one thread's memory, used again for every run.
//!
//! After its construction an executor allocates nothing, as long as the operators' own
//! kernels do not. Tables are read by moves that may race with other workers.

use std::sync::Arc;

use smallvec::SmallVec;

use super::arena::Arena;
use super::link::{
    Address, BoundRows, Linked, LinkedGroup, LinkedRows, Linker, Memory, Stream, tag,
};
use super::lower::BLOCK;
use super::plan::{Location, Place, Plan, Sink, Step};
use crate::array::{Array, Dense, Real, Slice, Typed, View, ViewMut, with_real};
use crate::error::Result;
use crate::rules::{MOST_OPERANDS, Operand};
use crate::simd::{by_width, multiversion};
use crate::table::{Table, moves};

/// Memory to run a plan in. See the [module documentation](self).
pub struct Executor {
    plan: Arc<Plan>,
    arena: Arena,
    /// Held for the addresses in `steps`.
    _registers: Arena,
    steps: Vec<Linked>,
    /// For each gradient that is rows, where they are.
    rows: Vec<LinkedRows>,
    /// Room for walking broadcast spaces.
    scratch: Vec<usize>,
}

// SAFETY: the raw addresses in `steps` point into memory that the executor owns (its
// arenas) or keeps alive (the plan, the tables). The arenas are reached through the executor
// alone, the plan is read only, and tables are reached by moves.
unsafe impl Send for Executor {}

multiversion! {
    fn gather_rows<T: Real>(m: M, table: &Table, indices: &[u32], out: &mut [T]) {
        let width = table.width();
        let start = table.pointer::<T>();
        if width == 1 {
            for (o, &i) in out.iter_mut().zip(indices) {
                // SAFETY: the caller of `run` promises that `i` is a row; racing workers
                // use the same moves.
                *o = unsafe { moves::load(start.add(i as usize)) };
            }
            return;
        }
        by_width!(width.max(1), W => {
            for (row, &i) in out.chunks_exact_mut(W).zip(indices) {
                // SAFETY: as above, and a row has `width` numbers.
                unsafe { moves::load_row_on(m, start.add(i as usize * width), row) };
            }
        });
    }
}

impl Executor {
    /// Memory for a plan that reads the given tables.
    ///
    /// # Errors
    /// [`Error::Value`](crate::Error::Value) if it cannot be had.
    ///
    /// # Panics
    /// If the tables are not of the plan's types: the program that made the plan passes its
    /// own.
    pub(crate) fn new(plan: Arc<Plan>, tables: &[Arc<Table>]) -> Result<Self> {
        for (ty, table) in plan.leaves.iter().zip(&plan.tables) {
            assert!(table.is_none_or(|t| tables[t].ty() == ty));
        }
        let arena = Arena::new(plan.arena_bytes)?;
        let registers = Arena::new(plan.registers * BLOCK * size_of::<f64>())?;
        let linker = Linker {
            plan: &plan,
            arena: &arena,
            registers: &registers,
            tables,
        };
        let steps = plan.steps.iter().map(|s| linker.step(s)).collect();
        let none = Sink::Rows(Vec::new());
        let sinks = plan.sinks.iter();
        let rows = sinks.map(|s| linker.rows(s.as_ref().unwrap_or(&none)));
        let rows = rows.collect();
        let walks = plan.steps.iter().map(|s| match s {
            Step::Group(g) => g.walk.scratch(),
            _ => 0,
        });
        let scratch = vec![0; walks.max().unwrap_or(0)];
        Ok(Executor {
            arena,
            _registers: registers,
            steps,
            rows,
            scratch,
            plan,
        })
    }

    /// The plan.
    pub(crate) fn plan(&self) -> &Arc<Plan> {
        &self.plan
    }

    /// Runs all steps on the data of the leaves (an empty slice for a table).
    ///
    /// # Errors
    /// Whatever a kernel reports.
    ///
    /// # Safety
    /// The data is of the plan's types (see [`Plan::accepts`]) and its indices are below the
    /// plan's bounds. Nobody else has plain access to the tables while this runs.
    pub(crate) unsafe fn run(&mut self, leaves: &[Slice<'_>]) -> Result<()> {
        for step in &self.steps {
            // SAFETY (of all reads and writes below): memory is live and initialised (see
            // `link`). A step writes its own result only, which the layout keeps apart from
            // every value that is live at that step, operands included.
            match step {
                Linked::Group(group) => run_group(group, &mut self.scratch, leaves),
                Linked::Gather { table, index, out } => {
                    // SAFETY: see above.
                    let (index, mut out) = unsafe { (index.read(leaves), out.write()) };
                    let indices = u32::slice(index);
                    with_real!(out.dtype(), T => gather_rows(table, indices, T::slice_mut(&mut out)));
                }
                Linked::Load { table, out } => {
                    // SAFETY: see above.
                    let mut out = unsafe { out.write() };
                    with_real!(out.dtype(), T => {
                        // SAFETY: the table's type is the plan's (checked in `new`), so it
                        // holds as many numbers as `out`; racing workers use the same moves.
                        unsafe { moves::load_row(table.pointer::<T>(), T::slice_mut(&mut out)) };
                    });
                }
                Linked::Kernel {
                    op,
                    args,
                    out,
                    shape,
                } => {
                    // SAFETY: see above; shapes live in the plan.
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
                        // SAFETY: shapes live in the plan.
                        shape: unsafe { &**shape },
                        // SAFETY: see above.
                        data: unsafe { out.write() },
                    };
                    op.eval(views, out)?;
                }
            }
        }
        Ok(())
    }

    /// A value's elements, after a run on the same leaves.
    pub(crate) fn read<'a>(&'a self, place: &Place, leaves: &[Slice<'a>]) -> Slice<'a> {
        match place.location {
            Location::Leaf(k) => leaves[k],
            Location::Constant(k) => self.plan.constants[k].view().data,
            Location::Nowhere => Slice::F64(&[]),
            Location::Arena(offset) => {
                let start = self.arena.pointer().wrapping_add(offset);
                // SAFETY: the layout gave this value `size` elements at an aligned offset
                // inside the arena, whose memory is initialised, and it is written by `run`
                // only, which borrows the executor mutably.
                unsafe { tag(place.ty.dtype, start, place.ty.size()) }
            }
        }
    }

    /// The rows of gradient number `k`, after a run on the same leaves.
    pub(crate) fn rows<'a>(&'a self, k: usize, leaves: &'a [Slice<'a>]) -> BoundRows<'a> {
        BoundRows {
            rows: &self.rows[k],
            leaves,
        }
    }

    /// A value's elements of a known type.
    pub(crate) fn numbers<'a, T: Typed>(&'a self, place: &Place, leaves: &[Slice<'a>]) -> &'a [T] {
        T::slice(self.read(place, leaves))
    }

    /// A copy of a value.
    pub(crate) fn copy(&self, place: &Place, leaves: &[Slice<'_>]) -> Array {
        let shape = place.ty.shape.clone();
        match self.read(place, leaves) {
            Slice::F32(s) => Dense::from_vec(shape, s.to_vec()).into(),
            Slice::F64(s) => Dense::from_vec(shape, s.to_vec()).into(),
            Slice::U32(s) => Dense::from_vec(shape, s.to_vec()).into(),
        }
    }
}

/// Runs a fused group, block by block.
fn run_group(group: &LinkedGroup, scratch: &mut [usize], leaves: &[Slice<'_>]) {
    let run = group.run;
    let item = group.dtype.size();
    let start = |address: Address, at: usize| -> *mut u8 {
        let start = match address {
            Address::Fixed(start) => start,
            Address::Leaf(k) => leaves[k].address().cast_mut(),
        };
        start.wrapping_add(at * item)
    };
    let room = &mut scratch[..group.walk.scratch()];
    group.walk.for_each_in(room, |offsets, _| {
        let mut at = 0;
        while at < run {
            let n = BLOCK.min(run - at);
            let place = |stream: Stream| match stream {
                Stream::Register(start) => (start, n),
                Stream::Whole(address, k) => (start(address, offsets[k] + at), n),
                Stream::Splat(address, k) => (start(address, offsets[k]), 1),
            };
            for op in &group.ops {
                let mut args = [Operand::NONE; MOST_OPERANDS];
                for (arg, &stream) in args.iter_mut().zip(&op.args) {
                    let (start, len) = place(stream);
                    *arg = Operand { start, len };
                }
                // SAFETY: the walk keeps offsets inside the values and a register holds
                // `BLOCK` elements. A result in the arena is kept apart from the operands by
                // the layout; a register is not given out again while an operand of the same
                // operator uses it.
                unsafe { op.kernel.run(&args, place(op.out).0, n) };
            }
            at += n;
        }
    });
}
