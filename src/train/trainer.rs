//! Training a graph step by step: set its inputs, take a step, and again. Why so, and the limits, stand at
//! [`Trainer`].

use std::fmt;
use std::marker::PhantomData;
use std::sync::Arc;

use super::steps::plan_step;
use super::trained::{TableScratch, check_trained};
use crate::array::{all_finite, with_real};
use crate::error::{Error, Result};
use crate::exec::{BoundSink, Executor, Wrt};
use crate::graph::{BoundProgram, IntoDyn, Variable};
use crate::optim::gradient::{Access, GradientRows, StepTarget};
use crate::optim::{Optimizer, State, Touched};
use crate::table::{OwnTraining, Table};

/// A parameter, and what its steps need.
struct TrainerTable {
    table: Arc<Table>,
    state: Arc<State>,
    scratch: TableScratch,
}

/// Trains the parameters of a graph, a step at a time.
///
/// `backward` and [`Optimizer::step`] serve whatever graph they are given. A loop that uses one graph
/// needs none of the walks, allocations and locks that this takes. A [`Trainer`] freezes the graph
/// once. A step reads the values that the graph's inputs have, runs the program, and applies the
/// gradients out of its memory. It allocates nothing while the graph has at most eight
/// inputs and these keep their shapes.
///
/// The parameters are marked as being trained for as long as the trainer lives, as those of an epoch
/// of [`fit`](super::fit()) are: anybody may read them, and nobody else may change them, but for a run of a
/// program that is under way in this thread and has the trainer take a step. So a step takes no locks;
/// rows are moved as beside other workers. A trainer that is forgotten keeps its parameters marked.
///
/// Limits: the graph must have no hook, and one that is registered later is not called; custom operators run
/// in this thread. A step that leads to NaN or infinity is reported, and not taken back. A penalty of
/// [`L2Per::Sample`](crate::optim::L2Per::Sample) on a parameter that is used whole counts once a step.
///
/// ```
/// use wyrmling::optim::Optimizer;
/// use wyrmling::train::Trainer;
/// use wyrmling::{Input, Parameter};
///
/// let (slope, intercept) = (Parameter::new(0.0), Parameter::new(0.0));
/// let (x, y) = (Input::new(0.0), Input::new(0.0));
/// let loss = (y.clone() - (slope.clone() * x.clone() + intercept.clone())).square();
///
/// let sgd = Optimizer::sgd(0.1)?;
/// let mut trainer = Trainer::new(&loss, &sgd)?;
/// for number in 0..2000 {
///     let value = f64::from(number % 10) / 10.0;
///     x.set_value(value)?;
///     y.set_value(3.0 * value + 5.0)?;
///     trainer.step()?;
/// }
/// assert!((slope.item()? - 3.0).abs() < 1e-6 && (intercept.item()? - 5.0).abs() < 1e-6);
/// # Ok::<(), wyrmling::Error>(())
/// ```
pub struct Trainer<'o> {
    /// Given back before the tables go.
    training: Option<OwnTraining>,
    bound: BoundProgram,
    trained: Vec<TrainerTable>,
    optimizer: &'o Optimizer,
    /// A graph belongs to one thread.
    _in_this_thread: PhantomData<*const ()>,
}

impl fmt::Debug for Trainer<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let tables = self.trained.iter().map(|trained| trained.table.label());
        f.debug_struct("Trainer")
            .field("optimizer", self.optimizer)
            .field("trained", &tables.collect::<Vec<_>>())
            .finish_non_exhaustive()
    }
}

impl<'o> Trainer<'o> {
    /// A trainer of all parameters below `loss`. If that has several elements, their sum goes down.
    ///
    /// # Errors
    /// [`Error::Type`] if no parameter is below `loss`, or its elements are integers; [`Error::Value`] if the
    /// optimizer has a penalty for a name that no parameter has; [`Error::State`] if a parameter is being trained
    /// already; [`Error::Memory`] if there is not the memory for the optimizer's state; as
    /// [`freeze`](Variable::freeze).
    pub fn new<N: ?Sized + IntoDyn>(loss: &Variable<N>, optimizer: &'o Optimizer) -> Result<Self> {
        Self::of(loss, optimizer, |tables| {
            OwnTraining::begin(tables).map(Some)
        })
    }

    /// A trainer for a worker whose run trains the parameters, until the worker ends.
    ///
    /// # Errors
    /// As [`new`](Self::new), but [`Error::State`] if one of the parameters is not among `tables`.
    pub(super) fn of_worker<N: ?Sized + IntoDyn>(
        loss: &Variable<N>,
        optimizer: &'o Optimizer,
        tables: &[Arc<Table>],
    ) -> Result<Self> {
        Self::of(loss, optimizer, |own| {
            check_trained(own.iter(), tables)?;
            Ok(None)
        })
    }

    fn of<N: ?Sized + IntoDyn>(
        loss: &Variable<N>,
        optimizer: &'o Optimizer,
        begin: impl FnOnce(&[Arc<Table>]) -> Result<Option<OwnTraining>>,
    ) -> Result<Self> {
        if !loss.dtype().is_real() {
            return Err(Error::Type(
                "loss: these are integers, which have no gradient".into(),
            ));
        }
        let bound = BoundProgram::new(loss, Wrt::Parameters, None)?;
        let program = bound.program();
        if program.tables().is_empty() {
            return Err(Error::Type(
                "loss: no parameter is below, so there is nothing to train".into(),
            ));
        }
        optimizer.check_penalized(program.tables())?;
        // While they are being trained nobody puts other state in the place of the optimizer's.
        let training = begin(program.tables())?;
        let trained = program.tables().iter().map(|table| {
            Ok(TrainerTable {
                table: Arc::clone(table),
                state: optimizer.state(table)?,
                scratch: TableScratch::new(table, 0)?,
            })
        });
        let trained = trained.collect::<Result<_>>()?;
        Ok(Trainer {
            training,
            bound,
            trained,
            optimizer,
            _in_this_thread: PhantomData,
        })
    }

    /// Computes the loss of the values that the graph's inputs have, and its gradients, applies these,
    /// and returns the loss.
    ///
    /// # Errors
    /// [`Error::NotFinite`] if the loss or a gradient is NaN or infinite, [`Error::Shape`] or
    /// [`Error::Index`] if a value of an input does not fit, and whatever an operator reports; nothing
    /// is changed then. [`Error::NotFinite`] if the step leads a parameter to NaN or infinity, which it
    /// holds then, as may what the optimizer remembers of it.
    pub fn step(&mut self) -> Result<f64> {
        let Trainer {
            training,
            bound,
            trained,
            optimizer,
            ..
        } = self;
        let is_alone = training.is_some();
        // SAFETY: the tables are marked as being trained, by this trainer or by the run of its worker, so that
        // nobody has plain access to them.
        unsafe { bound.run(|_, executor| apply(executor, trained, optimizer, is_alone)) }
    }
}

/// Applies the gradients that an executor has computed, and returns the loss. `is_alone` is whether no other
/// worker changes the tables.
///
/// # Errors
/// As [`Trainer::step`].
fn apply(
    executor: &Executor,
    trained: &mut [TrainerTable],
    optimizer: &Optimizer,
    is_alone: bool,
) -> Result<f64> {
    let loss = plan_step::loss(executor);
    if !loss.is_finite() {
        return Err(Error::NotFinite(format!(
            "the loss is {loss}; no parameter was changed"
        )));
    }
    for (number, of) in trained.iter_mut().enumerate() {
        if !gradient_is_finite(executor, number, &of.table) {
            return Err(Error::NotFinite(format!(
                "{}: the gradient holds NaN or infinity; no parameter was changed",
                of.table.label()
            )));
        }
        let rows = executor.row_count(number);
        of.scratch.make_room(&of.table, rows)?;
    }
    let mut failed = None;
    for (number, of) in trained.iter_mut().enumerate() {
        let TrainerTable {
            table,
            state,
            scratch,
        } = of;
        let target = StepTarget {
            table,
            state,
            rule: optimizer.rule(),
            settings: optimizer.settings_of(table),
        };
        // SAFETY: the executor has run, and gradient `number` is of this table. The table is marked as
        // being trained, so other threads access its numbers and its optimizer's state only by moves.
        let is_finite = unsafe {
            plan_step::apply_gradient(executor, (number, 1), Access::Shared, &target, scratch);
            step_is_finite(executor, number, table)
        };
        if !is_finite {
            failed = Some(number);
        }
    }
    let tables = trained.iter().map(|trained| &*trained.table);
    match is_alone {
        true => Table::touch_all(tables),
        false => Table::touch_beside(tables),
    }
    match failed {
        None => Ok(loss),
        Some(number) => Err(Error::NotFinite(format!(
            "{}: the step led to NaN or infinity, which it holds now; a smaller learning rate, l2 \
                 or clip may help",
            trained[number].table.label()
        ))),
    }
}

/// Whether a gradient is finite.
fn gradient_is_finite(executor: &Executor, number: usize, table: &Table) -> bool {
    with_real!(table.ty().dtype, T => match executor.sink::<T>(number) {
        None => true,
        Some(BoundSink::Dense(gradient)) => all_finite(gradient),
        Some(BoundSink::Rows(rows)) => {
            let rows: &dyn GradientRows<T> = &rows;
            let is_finite = |part: usize, term: usize| {
                let term = rows.term(part, term);
                all_finite(term.rows) && term.scale.is_none_or(all_finite)
            };
            (0..rows.count()).all(|part| (0..rows.terms(part)).all(|term| is_finite(part, term)))
        }
    })
}

/// Whether a step has left the numbers finite that it changed.
///
/// # Safety
/// The executor has run, and everybody reaches the table, whose gradient this is, by moves.
unsafe fn step_is_finite(executor: &Executor, number: usize, table: &Table) -> bool {
    // SAFETY: by the conditions of this function others reach the table by moves. Indices of rows were
    // compared with their number before the gradient was applied.
    let is_finite = |rows: Option<&[u32]>| unsafe { Touched { table, rows }.is_finite() };
    with_real!(table.ty().dtype, T => match executor.sink::<T>(number) {
        None => true,
        Some(BoundSink::Dense(_)) => is_finite(None),
        Some(BoundSink::Rows(rows)) => {
            let rows: &dyn GradientRows<T> = &rows;
            (0..rows.count()).all(|part| is_finite(Some(rows.indices(part))))
        }
    })
}
