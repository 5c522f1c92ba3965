//! Executors of a program's plans for inputs of several shapes, in one memory.
//!
//! Samples of different lengths take turns. Had each plan memory of its own, what one run leaves in the
//! cache would be of no use to the next; so all have the same arena, as large as the largest needs, and
//! what is in it is that of the last run.
//!
//! Limit: executors are kept until [`clear`](ExecutorSet::clear); the caller bounds their number.

use std::collections::HashMap;
use std::sync::Arc;

use rustc_hash::FxBuildHasher;

use super::executor::Executor;
use super::plan::Plan;
use super::plan::arena::Arena;
use crate::array::Shape;
use crate::error::Result;
use crate::table::Table;

/// Executors, by the shapes of the inputs. See the [module documentation](self).
///
/// Executors are lent, and never given away: so one is used at a time.
pub(crate) struct ExecutorSet {
    tables: Vec<Arc<Table>>,
    /// For results, and for registers.
    memory: [Arc<Arena>; 2],
    executors: Vec<Executor>,
    numbers: HashMap<Vec<Shape>, usize, FxBuildHasher>,
    /// The number of the executor that was chosen last.
    current: usize,
}

impl ExecutorSet {
    /// A set without executors, for plans that read these tables.
    ///
    /// # Errors
    /// [`Memory`](crate::Error::Memory) if there is not the memory.
    pub(crate) fn new(tables: &[Arc<Table>]) -> Result<Self> {
        let arena = || Arena::new(0).map(Arc::new);
        Ok(ExecutorSet {
            tables: tables.to_vec(),
            memory: [arena()?, arena()?],
            executors: Vec::new(),
            numbers: HashMap::default(),
            current: 0,
        })
    }

    /// The executor for inputs of some shapes, which `plan` plans if there is none yet.
    ///
    /// # Errors
    /// Those of `plan`, and as [`Executor::new`].
    pub(crate) fn choose(
        &mut self,
        shapes: &[Shape],
        plan: impl FnOnce() -> Result<Arc<Plan>>,
    ) -> Result<&mut Executor> {
        self.current = match self.numbers.get(shapes) {
            Some(&number) => number,
            None => {
                let number = self.add(plan()?)?;
                self.numbers.insert(shapes.to_vec(), number);
                number
            }
        };
        Ok(&mut self.executors[self.current])
    }

    /// Adds an executor of a plan, and returns its number.
    ///
    /// # Errors
    /// As [`Executor::new`].
    pub(crate) fn add(&mut self, plan: Arc<Plan>) -> Result<usize> {
        let executor = self.executor(plan)?;
        self.executors.push(executor);
        Ok(self.executors.len() - 1)
    }

    /// Chooses the executor of this number.
    pub(crate) fn select(&mut self, number: usize) {
        self.current = number;
    }

    /// Calls `f` with each executor.
    ///
    /// # Errors
    /// Those of `f`.
    pub(crate) fn each(&mut self, f: impl FnMut(&mut Executor) -> Result<()>) -> Result<()> {
        self.executors.iter_mut().try_for_each(f)
    }

    /// As [`current`](Self::current), to be run.
    pub(crate) fn current_mut(&mut self) -> Option<&mut Executor> {
        self.executors.get_mut(self.current)
    }

    /// The executor that was chosen last; `None` if there is none.
    pub(crate) fn current(&self) -> Option<&Executor> {
        self.executors.get(self.current)
    }

    /// How many executors there are.
    pub(crate) fn len(&self) -> usize {
        self.executors.len()
    }

    /// Drops all executors.
    pub(crate) fn clear(&mut self) {
        self.executors.clear();
        self.numbers.clear();
    }

    /// An executor of a plan. If it needs more memory than there is, all get more.
    fn executor(&mut self, plan: Arc<Plan>) -> Result<Executor> {
        let needed = [plan.arena_bytes(), plan.register_bytes()];
        let enough = |(arena, &bytes): (&Arc<Arena>, &usize)| arena.bytes() >= bytes;
        if !self.memory.iter().zip(&needed).all(enough) {
            let larger = |bytes: usize| Arena::new(bytes.next_power_of_two()).map(Arc::new);
            let sizes = [0, 1].map(|k| needed[k].max(self.memory[k].bytes()));
            let memory = [larger(sizes[0])?, larger(sizes[1])?];
            let plans = self.executors.iter().map(|e| Arc::clone(e.plan()));
            let executors = plans.map(|plan| in_memory(plan, &self.tables, &memory));
            self.executors = executors.collect::<Result<_>>()?;
            self.memory = memory;
        }
        in_memory(plan, &self.tables, &self.memory)
    }
}

/// An executor in the memory of a set.
fn in_memory(plan: Arc<Plan>, tables: &[Arc<Table>], memory: &[Arc<Arena>; 2]) -> Result<Executor> {
    let [arena, registers] = memory.each_ref().map(Arc::clone);
    // SAFETY: `memory` belongs to one set. `choose` lends one executor, mutably, and borrows the set
    // meanwhile, so no two run at once. `current` lends the one chosen last, so results of a run are not
    // read after another executor has run. An executor that has not run yet finds zeros or another one's
    // results in the arena: both are initialised, and any bits are a number.
    unsafe { Executor::in_memory(plan, tables, arena, registers) }
}
