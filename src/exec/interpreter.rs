//! The interpreter: a function of the ir, one instruction at a time.
//!
//! It follows jumps and branches, takes whatever shapes come, and allocates every array.
//! Programs with fixed shapes run as plans instead; this is the reference that whatever else runs
//! functions is compared with, and what runs them where nothing else can.

use smallvec::SmallVec;

use crate::array::{Array, Type, View};
use crate::error::{Error, Result};
use crate::interrupt::Poller;
use crate::ir::{Datum, Expression, Function, Terminator, ValueId, ValueKind};
use crate::reserve;
use crate::rules::{Operator, result_type};

/// About how many nanoseconds an instruction takes.
const INSTRUCTION: usize = 50;

/// How a run of a function ended.
#[derive(Debug, Clone)]
pub enum Outcome {
    /// With results.
    Returned(Vec<Datum>),
    /// It was left by an exit, of this number.
    Left(u32),
}

impl Outcome {
    /// The results, of a function of arrays.
    ///
    /// # Errors
    /// [`Error::Value`] if the function was left, [`Error::Type`] if a result is no array.
    pub fn arrays(self) -> Result<Vec<Array>> {
        match self {
            Outcome::Returned(results) => results
                .into_iter()
                .map(|result| match result {
                    Datum::Array(a) => Ok(a),
                    other => Err(other.is_no("an array")),
                })
                .collect(),
            Outcome::Left(exit) => Err(Error::Value(format!("the function was left by {exit}"))),
        }
    }
}

/// Computes one operator.
///
/// # Errors
/// Whatever the operator reports.
fn apply(op: &dyn Operator, args: &[&Array]) -> Result<Array> {
    let types: SmallVec<[Type; 4]> = args.iter().map(|a| a.ty()).collect();
    let refs: SmallVec<[&Type; 4]> = types.iter().collect();
    let ty = result_type(op, &refs)?;
    let views: SmallVec<[View<'_>; 4]> = args.iter().map(|a| a.view()).collect();
    let mut out = Array::scratch(ty.dtype, &ty.shape)?;
    if let Some(view) = out.view_mut() {
        op.eval(&views, view)?;
    }
    Ok(out)
}

/// A run: values and tapes.
struct Frame<'f> {
    function: &'f Function,
    values: Vec<Option<Datum>>,
    tapes: Vec<Vec<Datum>>,
}

impl Frame<'_> {
    fn get(&self, id: ValueId) -> Result<&Datum> {
        let value = self.values.get(id as usize).and_then(Option::as_ref);
        value.ok_or_else(|| Error::Value(format!("value %{id} is read before it is defined")))
    }

    fn args(&self, ids: &[ValueId]) -> Result<SmallVec<[&Datum; 4]>> {
        ids.iter().map(|&id| self.get(id)).collect()
    }

    /// Defines a value.
    ///
    /// # Errors
    /// [`Error::Type`] if it is of another kind than the function says: an operator of a caller may
    /// give anything.
    fn set(&mut self, id: ValueId, value: Datum) -> Result<()> {
        let expected = self.function.kind(id);
        let found = match &value {
            Datum::Array(a) => match expected {
                ValueKind::Array(ty) if ty.dtype == a.dtype() && ty.ndim() == a.shape().len() => {
                    None
                }
                _ => Some(value.kind()),
            },
            other => Some(other.kind()).filter(|kind| kind != expected),
        };
        if let Some(found) = found {
            return Err(Error::Type(format!(
                "{}: value %{id}: expected {expected}, got {found}",
                self.function.name
            )));
        }
        self.values[id as usize] = Some(value);
        Ok(())
    }

    /// Runs an expression: its results, or the exit by which the function is left.
    fn expression(&mut self, expression: &Expression) -> Result<Result<SmallVec<[Datum; 1]>, u32>> {
        let one = |value: Datum| Ok(Ok(SmallVec::from_buf([value])));
        match expression {
            Expression::Constant(value) => one(value.clone()),
            Expression::Apply(op, ids) => {
                let args = ids.iter().map(|&id| self.get(id)?.array());
                let args: SmallVec<[&Array; 4]> = args.collect::<Result<_>>()?;
                one(apply(&**op, &args)?.into())
            }
            Expression::Compute(op, ids, exit) => match (op.eval(&self.args(ids)?), exit) {
                (Some(value), _) => one(value),
                (None, Some(exit)) => Ok(Err(*exit)),
                (None, None) => Err(Error::Value(format!(
                    "{} failed and has no exit",
                    op.name()
                ))),
            },
            Expression::Guard(condition, exit) => match self.get(*condition)? {
                Datum::Bool(true) => Ok(Ok(SmallVec::new())),
                Datum::Bool(false) => Ok(Err(*exit)),
                other => Err(other.is_no("a bool")),
            },
            Expression::Push(tape, ids) => {
                let record: SmallVec<[Datum; 4]> = self.args(ids)?.into_iter().cloned().collect();
                let tape = &mut self.tapes[*tape as usize];
                reserve::grow(tape, record.len())?;
                tape.extend(record);
                Ok(Ok(SmallVec::new()))
            }
            Expression::Pop(number) => {
                let count = self.function.tapes[*number as usize].len();
                let tape = &mut self.tapes[*number as usize];
                let start = tape.len().checked_sub(count).ok_or_else(|| {
                    Error::Value(format!("tape {number} is empty, and a record is taken"))
                })?;
                Ok(Ok(tape.drain(start..).collect()))
            }
        }
    }
}

/// Runs a function.
///
/// # Errors
/// [`Error::Value`] if the number of arguments is wrong or `steps` instructions and jumps did
/// not suffice, [`Error::Type`] if one is of another kind than the parameter, as
/// [`Function::check`], and whatever an operator reports.
pub fn interpret(function: &Function, args: &[Datum], steps: usize) -> Result<Outcome> {
    function.check()?;
    let parameters = function.parameters();
    if args.len() != parameters.len() {
        return Err(Error::Value(format!(
            "{} takes {} values, {} given",
            function.name,
            parameters.len(),
            args.len()
        )));
    }
    let mut run = Frame {
        function,
        values: vec![None; function.kinds.len()],
        tapes: vec![Vec::new(); function.tapes.len()],
    };
    let mut block = function.blocks.first();
    let mut incoming: Vec<Datum> = args.to_vec();
    let mut left = steps;
    let mut poller = Poller::default();
    let mut step = || -> Result<()> {
        left = left.checked_sub(1).ok_or_else(|| {
            Error::Value(format!("{} did not finish in {steps} steps", function.name))
        })?;
        poller.step(INSTRUCTION)
    };
    while let Some(here) = block {
        for (&p, value) in here.parameters.iter().zip(incoming.drain(..)) {
            run.set(p, value)?;
        }
        for i in &here.instructions {
            step()?;
            match run.expression(&i.expression)? {
                Ok(results) => {
                    for (&id, value) in i.results.iter().zip(results) {
                        run.set(id, value)?;
                    }
                }
                Err(exit) => return Ok(Outcome::Left(exit)),
            }
        }
        let next = match &here.terminator {
            Terminator::Return(results) => {
                let results = run.args(results)?;
                return Ok(Outcome::Returned(results.into_iter().cloned().collect()));
            }
            Terminator::Leave(exit) => return Ok(Outcome::Left(*exit)),
            Terminator::Jump(to) => to,
            Terminator::Branch {
                condition,
                then,
                otherwise,
            } => {
                if run.get(*condition)?.item()? != 0.0 {
                    then
                } else {
                    otherwise
                }
            }
            Terminator::Switch { value, targets } => match run.get(*value)? {
                Datum::Int(i) => {
                    let target = usize::try_from(*i).ok().and_then(|i| targets.get(i));
                    target.ok_or_else(|| {
                        Error::Value(format!(
                            "{}: a switch on {i} has {} targets",
                            function.name,
                            targets.len()
                        ))
                    })?
                }
                other => return Err(other.is_no("an integer")),
            },
        };
        step()?;
        incoming.extend(run.args(&next.args)?.into_iter().cloned());
        block = function.blocks.get(next.block);
    }
    Err(Error::Value(format!("{} has no blocks", function.name)))
}
