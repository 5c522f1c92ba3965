//! Running a program on arrays: one for each input, in an executor that was idle or is new.

use std::time::Instant;

use super::executor::{Executor, LONG_RUN};
use super::leaf::{Leaf, check_input};
use super::plan::Wrt;
use super::plan_cache::{Found, RunLength};
use super::program::Program;
use crate::array::{Array, Shape, Slice};
use crate::error::{Error, Result};
use crate::rules::check_indices;
use crate::table::{Gradient, Table};

impl Program {
    /// An idle executor, or a new one; `None` if the run is none of the wanted length.
    fn take(&self, inputs: &[Array], wrt: Wrt, length: RunLength) -> Result<Option<Box<Executor>>> {
        let plan = match self.plans.take(inputs, wrt, length) {
            Found::Executor(executor) => return Ok(Some(executor)),
            Found::Other => return Ok(None),
            Found::Plan(plan) => plan,
            Found::Nothing => {
                let shapes: Vec<Shape> = inputs.iter().map(|a| a.shape().into()).collect();
                let plan = self.plan(&shapes, wrt)?;
                self.plans.keep(shapes, wrt, &plan);
                plan
            }
        };
        let executor = Executor::new(plan, &self.tables)?;
        Ok(Some(Box::new(executor)))
    }

    /// Runs with one array for each input and hands the executor to `then`, unless the run is none of
    /// the wanted length.
    fn with(
        &self,
        inputs: &[Array],
        wrt: Wrt,
        length: RunLength,
        then: &mut dyn FnMut(&Executor) -> Result<()>,
    ) -> Result<()> {
        let count = self.inputs().count();
        if inputs.len() != count {
            return Err(Error::Value(format!(
                "the program has {count} inputs, {} given",
                inputs.len()
            )));
        }
        for (leaf, value) in self.inputs().zip(inputs) {
            if let Leaf::Input { ty, name, .. } = leaf {
                check_input(name, ty, (value.dtype(), value.shape()))?;
            }
        }
        let Some(mut executor) = self.take(inputs, wrt, length)? else {
            return Ok(());
        };
        self.bind_variables(&mut executor)?;
        for (&k, value) in self.inputs.iter().zip(inputs) {
            let data = value.view().data;
            if let (Some(n), Slice::U32(indices)) = (executor.plan().bounds[k], data) {
                check_indices(|| self.leaves[k].label(), indices, n)?;
            }
            executor.bind(k, data);
        }
        let _reading = Table::reading(self.tables.iter().map(|table| &**table))?;
        // Only of Python's runs somebody asks how long they take, and these are over at once.
        let is_timed = cfg!(feature = "python") && executor.plan().bytes() > LONG_RUN;
        let started = is_timed.then(Instant::now);
        // SAFETY: every leaf but tables was just bound, to arrays that are borrowed here or held
        // by this program, and all their indices compared with the plan's bounds.
        unsafe { executor.run()? };
        let out = then(&executor);
        let took = started.map(|started| started.elapsed());
        self.plans.give_back(executor, took);
        out
    }

    /// The value of a run of the wanted length.
    fn value(&self, inputs: &[Array], length: RunLength) -> Result<Option<Array>> {
        let mut found = None;
        self.with(inputs, Wrt::Nothing, length, &mut |executor| {
            found = Some(executor.value()?);
            Ok(())
        })?;
        Ok(found)
    }

    /// The value and the gradients of a run of the wanted length.
    fn both(&self, inputs: &[Array], length: RunLength) -> Result<Option<Both>> {
        let mut found = None;
        self.with(inputs, Wrt::All, length, &mut |executor| {
            let count = executor.plan().sinks.len();
            let mut gradients = Vec::with_capacity(count);
            for k in 0..count {
                gradients.push(executor.gradient(k)?);
            }
            found = Some((executor.value()?, gradients));
            Ok(())
        })?;
        Ok(found)
    }

    /// The value, for one array an input.
    ///
    /// # Errors
    /// [`Error::Type`], [`Error::Shape`] or [`Error::Index`] naming the input that does not fit.
    pub fn run(&self, inputs: &[Array]) -> Result<Array> {
        self.value(inputs, RunLength::Any).map(must)
    }

    /// As [`run`](Self::run); `None` if the run may be long.
    #[cfg(feature = "python")]
    pub(crate) fn run_if_short(&self, inputs: &[Array]) -> Result<Option<Array>> {
        self.value(inputs, RunLength::Short)
    }

    /// The value, and the gradient of the sum of its elements for every leaf of
    /// [`differentiable`](Self::differentiable); `None` where it is zero.
    ///
    /// # Errors
    /// As [`run`](Self::run).
    pub fn value_and_grad(&self, inputs: &[Array]) -> Result<Both> {
        self.both(inputs, RunLength::Any).map(must)
    }

    /// As [`value_and_grad`](Self::value_and_grad), in the memory of what an earlier call returned where
    /// that fits and nobody else has it: then it allocates nothing. Anything may stand there before.
    ///
    /// ```
    /// use wyrmling::{Array, Input, Parameter};
    ///
    /// let (w, x) = (Parameter::new(2.0), Input::new(1.0));
    /// let program = (w * x.clone()).square().freeze()?;
    /// let mut results = program.value_and_grad(&[Array::from(1.0)])?;
    /// program.value_and_grad_into(&[Array::from(3.0)], &mut results)?;
    /// assert_eq!(results.0.item()?, 36.0);
    /// # Ok::<(), wyrmling::Error>(())
    /// ```
    ///
    /// # Errors
    /// As [`run`](Self::run). Those of the inputs and of operators leave `results` as they are.
    pub fn value_and_grad_into(&self, inputs: &[Array], results: &mut Both) -> Result<()> {
        self.with(inputs, Wrt::All, RunLength::Any, &mut |executor| {
            let (value, gradients) = &mut *results;
            executor.value_into(value)?;
            gradients.resize_with(executor.plan().sinks.len(), || None);
            let mut numbered = gradients.iter_mut().enumerate();
            numbered.try_for_each(|(k, gradient)| executor.gradient_into(k, gradient))
        })
    }

    /// As [`value_and_grad`](Self::value_and_grad); `None` if the run may be long.
    #[cfg(feature = "python")]
    pub(crate) fn value_and_grad_if_short(&self, inputs: &[Array]) -> Result<Option<Both>> {
        self.both(inputs, RunLength::Short)
    }
}

/// A value, and gradients by leaves.
type Both = (Array, Vec<Option<Gradient>>);

/// What a run gave for which any length was wanted.
fn must<R>(result: Option<R>) -> R {
    match result {
        Some(result) => result,
        None => unreachable!("runs of any length are wanted"),
    }
}
