//! Batches that a function of one sample computes: what a worker runs for
//! [`fit_function`](crate::train::fit_function).
//!
//! The function runs once a sample, on values that are made of what is staged. Gradients of rows are
//! collected as they come, others are added up; both are applied when the batch is computed.
//!
//! A function that is left computes nothing: its batch is not applied, and the number of the sample is kept,
//! for which the caller then runs the Python function.

use std::ops::Range;
use std::sync::Arc;

use rustc_hash::FxHashSet;
use smallvec::SmallVec;

use super::sample_parts::{DrawnLength, SampleValue, check_parts};
use crate::array::{Array, Dense, Number, Shape, Slice, Typed, element_count, with_real};
use crate::error::{Error, Result};
use crate::exec::{
    Leaf, LossArgument, RowCollection, RowRecords, SampleLoss, SampleProgram, SampleResult,
    TableGradient,
};
use crate::interrupt::Poller;
use crate::ir::Datum;
use crate::optim::gradient::{Access, OnePart, Scratch, StepTarget};
use crate::optim::{Optimizer, State, apply};
use crate::process::Mutex;
use crate::table::{Table, moves};
use crate::train::data::feeds::Feeds;
use crate::train::data::input_buffer::InputBuffer;
use crate::train::data::ragged::Ragged;
use crate::train::samples::Samples;
use crate::train::trained::{AnyScratch, TrainedTable};
use crate::train::worker::BatchStep;

/// About how many nanoseconds a sample takes, at least.
const SAMPLE: usize = 500;

/// A sample on which a function was left.
#[derive(Debug, Clone)]
pub struct Departure {
    /// The exit; `None` if an operator could not do what was asked of it.
    pub exit: Option<u32>,
    /// The epoch, from 0.
    pub epoch: usize,
    /// The number of the sample in the columns.
    pub number: u32,
    /// The value of each feed.
    pub values: Vec<Datum>,
}

/// A function of parameters and one sample, as the trainer takes it.
#[derive(Debug)]
pub struct FunctionLoss {
    loss: SampleLoss,
    leaves: Vec<Leaf>,
    values: Vec<SampleValue>,
    departure: Mutex<Option<Departure>>,
    /// Whether samples have few sets of lengths.
    lengths_recur: bool,
}

/// Sets of lengths for which there are plans, at most.
pub(in crate::train) const LENGTHS: usize = 512;

/// How often a set of lengths occurs, on average, where plans pay.
const RECURRENT: usize = 4;

/// Whether samples have few sets of lengths, for how many samples there are. Entries of the same number
/// are taken for those of a sample.
fn lengths_recur(values: &[SampleValue]) -> bool {
    let entries = values.iter().filter_map(|value| match value {
        SampleValue::Entry(ragged) => Some(&**ragged),
        _ => None,
    });
    let entries: SmallVec<[&Ragged; 4]> = entries.collect();
    let Some(samples) = entries.iter().map(|ragged| ragged.len()).min() else {
        return true;
    };
    let mut sets: FxHashSet<SmallVec<[usize; 4]>> = FxHashSet::default();
    for sample in 0..samples {
        sets.insert(
            entries
                .iter()
                .map(|ragged| ragged.range(sample).len())
                .collect(),
        );
        if sets.len() > LENGTHS.min(samples / RECURRENT) {
            return false;
        }
    }
    true
}

impl FunctionLoss {
    /// A loss whose feeds are inputs, each with a first axis for samples, and what their values are to
    /// the function.
    pub fn new(loss: SampleLoss, feeds: Vec<(Leaf, SampleValue)>) -> Self {
        let (leaves, values): (Vec<Leaf>, Vec<SampleValue>) = feeds.into_iter().unzip();
        FunctionLoss {
            loss,
            leaves,
            lengths_recur: lengths_recur(&values),
            values,
            departure: Mutex::new(None),
        }
    }

    /// The loss.
    pub fn loss(&self) -> &SampleLoss {
        &self.loss
    }

    /// The sample on which the function was left, if it was.
    pub fn departure(&self) -> Option<Departure> {
        self.departure.lock().clone()
    }

    /// The loss as a program of plans, if there is one and lengths of samples occur often enough that
    /// plans pay.
    pub(in crate::train) fn program(&self) -> Option<&SampleProgram> {
        self.loss.program().filter(|_| self.lengths_recur)
    }

    /// A feed's value for the staged sample `k`.
    pub(in crate::train) fn value(
        &self,
        feeds: &[InputBuffer],
        shapes: &[Shape],
        feed: usize,
        k: usize,
    ) -> Result<Datum> {
        value(&self.values, feeds, shapes, feed, k)
    }

    /// Takes note of a sample on which the function was left.
    pub(in crate::train) fn left(&self, departure: Departure) {
        self.departure.lock().get_or_insert(departure);
    }

    pub(in crate::train) fn tables(&self) -> &[Arc<Table>] {
        self.loss.tables()
    }

    /// Compares what is staged for samples with what their parts are to the function.
    ///
    /// # Errors
    /// As [`check_parts`].
    pub(in crate::train) fn check(&self, feeds: &Feeds) -> Result<()> {
        check_parts(&self.loss.arguments().1, &self.leaves, &self.values, feeds)
    }

    pub(in crate::train) fn leaves(&self) -> impl Iterator<Item = &Leaf> + Clone {
        self.leaves.iter()
    }
}

/// A parameter that is trained.
struct SummedParameter<'a> {
    table: TrainedTable<'a>,
    /// The sum of gradients that are arrays, if they are.
    dense: Option<Array>,
}

/// Batches by a function. See the [module documentation](self).
pub(in crate::train) struct FunctionStep<'a> {
    loss: &'a FunctionLoss,
    /// The arguments of a run, and those that differ from run to run.
    args: Vec<Datum>,
    open: Vec<(usize, LossArgument)>,
    /// The shape of each feed's value.
    shapes: Vec<Shape>,
    collected: Vec<RowCollection>,
    trained: Vec<SummedParameter<'a>>,
    /// Samples in the batch at hand.
    samples: usize,
    /// Where the function was left: the number among the staged samples, and the exit if there is one.
    left: Option<(usize, Option<u32>, Vec<Datum>)>,
}

/// A staged word.
fn word(staged: &InputBuffer, at: usize) -> u32 {
    staged.indices().get(at).copied().unwrap_or(0)
}

/// The length of the first axis of a feed's value for the staged sample `k`.
fn length(kind: &SampleValue, staged: &InputBuffer, shape: &Shape, k: usize) -> usize {
    match kind {
        SampleValue::Entry(ragged) => ragged.range(word(staged, k) as usize).len(),
        _ => shape.first().copied().unwrap_or(0),
    }
}

/// The value of a feed for the staged sample `k`.
fn value(
    values: &[SampleValue],
    feeds: &[InputBuffer],
    shapes: &[Shape],
    feed: usize,
    k: usize,
) -> Result<Datum> {
    let (staged, shape) = (&feeds[feed], &shapes[feed]);
    let long = || u64::from(word(staged, 2 * k)) | u64::from(word(staged, 2 * k + 1)) << 32;
    Ok(match &values[feed] {
        SampleValue::Int => Datum::Int(i64::from(word(staged, k))),
        SampleValue::WideInt => Datum::Int(long().cast_signed()),
        SampleValue::Bool => Datum::Bool(word(staged, k) != 0),
        SampleValue::Float => Datum::from(match staged.slice(k, 1) {
            Slice::F32(x) => f64::from(x[0]),
            Slice::F64(x) => x[0],
            Slice::U32(x) => f64::from(x[0]),
        }),
        SampleValue::Row => {
            let size = shape.iter().product::<usize>();
            Datum::Array(match staged.slice(k * size, size) {
                Slice::F32(row) => Array::F32(Dense::copy_of(shape, row)?),
                Slice::F64(row) => Array::F64(Dense::copy_of(shape, row)?),
                Slice::U32(row) => Array::U32(Dense::copy_of(shape, row)?),
            })
        }
        SampleValue::Entry(ragged) => Datum::Array(ragged.entry(word(staged, k) as usize)?),
        SampleValue::Drawn(lengths) => {
            let length = |axis: &DrawnLength| match *axis {
                DrawnLength::Fixed(n) => n,
                DrawnLength::Of(at) => length(&values[at], &feeds[at], &shapes[at], k),
            };
            let shape: Shape = lengths.iter().map(length).collect();
            let (start, items) = (long() as usize, element_count(&shape)?);
            let drawn = staged.indices().get(start..start.saturating_add(items));
            let drawn = drawn.ok_or_else(|| {
                Error::State("items of a sample were not drawn for entries of its own".into())
            })?;
            Datum::Array(Array::U32(Dense::copy_of(&shape, drawn)?))
        }
    })
}

/// A copy of a table, in the memory of another one if nobody else has that.
///
/// # Safety
/// The lock of the table is held.
unsafe fn snapshot(table: &Table, before: Datum) -> Result<Datum> {
    let mut array = match before {
        Datum::Array(array) if array.ty() == *table.ty() => array,
        _ => Array::full(table.ty(), 0.0),
    };
    if array.view_mut().is_none() {
        array = Array::full(table.ty(), 0.0);
    }
    if let Some(mut view) = array.view_mut() {
        with_real!(table.ty().dtype, T => {
            // SAFETY: the table and its copy have as many numbers of this type, and others reach the
            // table by moves, since the lock is held.
            unsafe { moves::load_row(table.pointer::<T>(), T::slice_mut(&mut view.data)) };
        });
    }
    Ok(Datum::Array(array))
}

/// Adds to a sum of gradients; replaces it if it is the first.
fn add(sum: &mut Array, gradient: &Datum, is_first: bool) {
    let (Some(mut to), Datum::Array(from)) = (sum.view_mut(), gradient) else {
        return;
    };
    with_real!(from.dtype(), T => {
        let (to, from) = (T::slice_mut(&mut to.data), from.view());
        let pairs = to.iter_mut().zip(from.real::<T>());
        match is_first {
            true => pairs.for_each(|(to, &x)| *to = x),
            false => pairs.for_each(|(to, &x)| *to += x),
        }
    });
}

/// Whether an error says that an operator is on arrays of lengths, or with indices, that do not fit:
/// Python says then what is wrong with the sample.
pub(in crate::train) fn does_not_fit(error: &Error) -> bool {
    matches!(
        error,
        Error::Index(_) | Error::Shape(_) | Error::Value(_) | Error::Axis(_) | Error::LinAlg(_)
    )
}

impl<'a> FunctionStep<'a> {
    /// Room for batches of a loss.
    ///
    /// # Errors
    /// [`Error::Memory`] if there is not the memory.
    pub(in crate::train) fn new(
        loss: &'a FunctionLoss,
        feeds: &Feeds,
        optimizer: &Optimizer,
        states: &'a [Arc<State>],
    ) -> Result<Self> {
        let tables = loss.tables();
        let parts = tables.iter().zip(states).zip(loss.loss.gradients());
        let trained = parts.map(|((table, state), gradient)| {
            Ok(SummedParameter {
                table: TrainedTable::new(table, state, optimizer, 0)?,
                dense: match gradient {
                    TableGradient::Rows => None,
                    TableGradient::Dense(_) => Some(Array::full(table.ty(), 0.0)),
                },
            })
        });
        let trained = trained.collect::<Result<Vec<SummedParameter<'_>>>>()?;
        let (args, open) = loss.loss.arguments();
        let collected = trained.iter().map(|one| {
            let target = &one.table.target;
            RowCollection::new(target.table.ty().dtype, target.counts_occurrences())
        });
        Ok(FunctionStep {
            loss,
            args,
            open,
            shapes: feeds.sample_shapes().collect(),
            collected: collected.collect(),
            trained,
            samples: 0,
            left: None,
        })
    }
}

impl BatchStep for FunctionStep<'_> {
    fn set_lr(&mut self, lr: f64) {
        for trained in &mut self.trained {
            trained.table.target.settings.lr = lr;
        }
    }

    unsafe fn run(&mut self, staged: &[InputBuffer], samples: Range<usize>) -> Result<f64> {
        let (loss, values) = (&self.loss.loss, &self.loss.values);
        self.samples = samples.len();
        for collected in &mut self.collected {
            collected.records.clear();
        }
        for (at, argument) in &self.open {
            if let LossArgument::Parameter(number) = argument {
                let before = std::mem::replace(&mut self.args[*at], Datum::Bool(false));
                // SAFETY: the caller holds the locks.
                self.args[*at] = unsafe { snapshot(&loss.tables()[*number], before)? };
            }
        }
        let mut poller = Poller::default();
        let mut total = 0.0;
        for k in samples.clone() {
            poller.step(SAMPLE)?;
            for (at, argument) in &self.open {
                if let &LossArgument::Feed(feed) = argument {
                    self.args[*at] = value(values, staged, &self.shapes, feed, k)?;
                }
            }
            // SAFETY: the caller holds the locks.
            let exit = match unsafe { loss.run(&self.args, &mut self.collected) } {
                Ok(SampleResult::Loss(x, results)) => {
                    total += x;
                    for (trained, form) in self.trained.iter_mut().zip(loss.gradients()) {
                        if let (Some(sum), TableGradient::Dense(places)) =
                            (&mut trained.dense, form)
                        {
                            for (n, &place) in places.iter().enumerate() {
                                add(sum, &results[place], n == 0 && k == samples.start);
                            }
                        }
                    }
                    continue;
                }
                Ok(SampleResult::Left(exit)) => Some(exit),
                Err(error) if does_not_fit(&error) => None,
                Err(other) => return Err(other),
            };
            let values = (0..values.len())
                .map(|f| value(values, staged, &self.shapes, f, k))
                .collect::<Result<_>>()?;
            self.left = Some((k, exit, values));
            return Err(Error::State("the loss was left".into()));
        }
        for (trained, collected) in self.trained.iter_mut().zip(&self.collected) {
            let rows = match &collected.records {
                RowRecords::F32(indices, _) | RowRecords::F64(indices, _) => indices.len(),
            };
            trained.table.make_room(rows)?;
        }
        Ok(total)
    }

    unsafe fn apply(&mut self, access: Access) {
        for (trained, collected) in self.trained.iter_mut().zip(&self.collected) {
            let TrainedTable { target, scratch } = &mut trained.table;
            let dense = trained
                .dense
                .as_ref()
                .map(|gradient| (gradient, self.samples));
            match (&mut scratch.numbers, &collected.records) {
                // SAFETY: the caller holds the locks; the records are of this table.
                (AnyScratch::F32(scratch), RowRecords::F32(indices, rows)) => unsafe {
                    applied(access, target, dense, indices, rows, scratch);
                },
                // SAFETY: as above.
                (AnyScratch::F64(scratch), RowRecords::F64(indices, rows)) => unsafe {
                    applied(access, target, dense, indices, rows, scratch);
                },
                _ => unreachable!("scratch and records have the element type of the table"),
            }
        }
    }

    fn failed(&mut self, epoch: usize, samples: &Samples, start: usize) {
        let Some((at, exit, values)) = self.left.take() else {
            return;
        };
        // Without the memory for it the number is not known.
        let number = samples.number_at(start + at);
        let departure = Departure {
            exit,
            epoch,
            number: number.unwrap_or(u32::MAX),
            values,
        };
        self.loss.left(departure);
    }
}

/// Applies the gradient of a table: an array, of so many samples, or rows.
///
/// # Safety
/// The indices are rows of the table. The locks are held as `access` says.
unsafe fn applied<T: Number>(
    access: Access,
    target: &StepTarget<'_>,
    dense: Option<(&Array, usize)>,
    indices: &[u32],
    rows: &[T],
    scratch: &mut Scratch<T>,
) {
    match dense {
        Some((gradient, samples)) => {
            let view = gradient.view();
            // SAFETY: the state was made for this table, and the caller holds the locks.
            unsafe { apply::dense(access, target, view.real::<T>(), samples, scratch) };
        }
        None if indices.is_empty() => {}
        None => {
            let part = OnePart { indices, rows };
            // SAFETY: the indices were compared with the number of rows when rows were looked up, the
            // state was made for this table, and the caller holds the locks.
            unsafe { apply::rows(access, target, &part, scratch) };
        }
    }
}
