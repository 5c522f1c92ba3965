//! Samples of different lengths by plans, one sample a batch: what a worker runs for
//! [`fit_function`](crate::train::fit_function) where a loss has a program and lengths occur again.
//!
//! There is an executor for each set of lengths, made when a sample first has them. Gradients stay in its
//! memory until they are applied, right after the run.
//!
//! Limits: batches of one sample; a worker keeps executors for [`LENGTHS`] sets of lengths, and with one
//! more begins anew.

use std::ops::Range;
use std::sync::Arc;

use super::function_step::{Departure, FunctionLoss, LENGTHS, does_not_fit};
use super::plan_step;
use crate::array::{Shape, Slice};
use crate::error::{Error, Result};
use crate::exec::{ExecutorSet, SampleProgram};
use crate::ir::Datum;
use crate::optim::gradient::Access;
use crate::optim::{Optimizer, State};
use crate::rules::check_indices;
use crate::train::data::feeds::Feeds;
use crate::train::data::input_buffer::InputBuffer;
use crate::train::samples::Samples;
use crate::train::trained::TrainedTable;
use crate::train::worker::BatchStep;

/// Samples by plans. See the [module documentation](self).
pub(in crate::train) struct SamplePlanStep<'a> {
    loss: &'a FunctionLoss,
    program: &'a SampleProgram,
    /// The shape of each feed's value.
    shapes: Vec<Shape>,
    executors: ExecutorSet,
    /// What the inputs of the sample at hand are, and their shapes.
    values: Vec<Datum>,
    lengths: Vec<Shape>,
    /// By number of the program's gradients.
    trained: Vec<TrainedTable<'a>>,
    /// Where the function was left: the number among the staged samples, and all feeds.
    left: Option<(usize, Vec<Datum>)>,
}

impl<'a> SamplePlanStep<'a> {
    /// Room for samples of a loss, whose program this is.
    ///
    /// # Errors
    /// [`Error::Memory`] if there is not the memory.
    pub(in crate::train) fn new(
        loss: &'a FunctionLoss,
        program: &'a SampleProgram,
        feeds: &Feeds,
        optimizer: &Optimizer,
        states: &'a [Arc<State>],
    ) -> Result<Self> {
        let tables = program.tables().iter().zip(program.trained());
        let trained =
            tables.map(|(table, &number)| TrainedTable::new(table, &states[number], optimizer, 0));
        Ok(SamplePlanStep {
            loss,
            program,
            shapes: feeds.sample_shapes().collect(),
            executors: ExecutorSet::new(program.tables())?,
            values: Vec::new(),
            lengths: Vec::new(),
            trained: trained.collect::<Result<_>>()?,
            left: None,
        })
    }

    /// Computes the loss of the staged sample `k`.
    ///
    /// # Errors
    /// What an operator reports, or a plan.
    ///
    /// # Safety
    /// The locks of all tables are held.
    unsafe fn sample(&mut self, staged: &[InputBuffer], k: usize) -> Result<f64> {
        self.values.clear();
        self.lengths.clear();
        for &(feed, leaf) in self.program.inputs() {
            let value = self.loss.value(staged, &self.shapes, feed, k)?;
            let Datum::Array(array) = &value else {
                return Err(Error::Type("a part of a sample is no array".into()));
            };
            if array.dtype() != self.program.ty(leaf).dtype {
                return Err(Error::Type("a part of a sample has another type".into()));
            }
            self.lengths.push(array.shape().into());
            self.values.push(value);
        }
        if self.executors.len() >= LENGTHS {
            self.executors.clear();
        }
        let plan = || self.program.plan(&self.lengths);
        let executor = self.executors.choose(&self.lengths, plan)?;
        let plan = Arc::clone(executor.plan());
        for (&(_, leaf), value) in self.program.inputs().iter().zip(&self.values) {
            let Datum::Array(array) = value else {
                continue;
            };
            let data = array.view().data;
            if let (Some(bound), Slice::U32(indices)) = (plan.bounds[leaf], data) {
                check_indices(|| "loss".into(), indices, bound)?;
            }
            executor.bind(leaf, data);
        }
        // SAFETY: every input was just bound to a value that `self` keeps until the next sample, and
        // indices were compared with the plan's bounds. The program's other leaves are tables, whose
        // locks the caller holds.
        unsafe { executor.run() }?;
        for (number, trained) in self.trained.iter_mut().enumerate() {
            trained.make_room(executor.row_count(number))?;
        }
        Ok(plan_step::loss(executor))
    }
}

impl BatchStep for SamplePlanStep<'_> {
    fn set_lr(&mut self, lr: f64) {
        for trained in &mut self.trained {
            trained.target.settings.lr = lr;
        }
    }

    unsafe fn run(&mut self, staged: &[InputBuffer], samples: Range<usize>) -> Result<f64> {
        let k = samples.start;
        // SAFETY: the caller holds the locks.
        match unsafe { self.sample(staged, k) } {
            Err(error) if does_not_fit(&error) => {
                let feeds = 0..self.shapes.len();
                let value = |feed| self.loss.value(staged, &self.shapes, feed, k);
                self.left = Some((k, feeds.map(value).collect::<Result<_>>()?));
                Err(Error::State("the loss was left".into()))
            }
            other => other,
        }
    }

    unsafe fn apply(&mut self, access: Access) {
        let Some(executor) = self.executors.current() else {
            return;
        };
        for (number, trained) in self.trained.iter_mut().enumerate() {
            // SAFETY: the executor has run just before, and the gradient of this number is of this table.
            // The caller holds the locks.
            unsafe {
                let TrainedTable { target, scratch } = trained;
                plan_step::apply_gradient(executor, (number, 1), access, target, scratch);
            }
        }
    }

    fn failed(&mut self, epoch: usize, samples: &Samples, start: usize) {
        let Some((at, values)) = self.left.take() else {
            return;
        };
        // Without the memory for it the number is not known.
        let number = samples.number_at(start + at);
        self.loss.left(Departure {
            exit: None,
            epoch,
            number: number.unwrap_or(u32::MAX),
            values,
        });
    }
}
