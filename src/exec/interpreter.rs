//! The interpreter: a function of the ir, one instruction at a time.
//!
//! It follows jumps and branches, takes whatever shapes come, and allocates every array but those
//! that an operator makes by changing a few elements of one that nobody needs any more.
//! Programs with fixed shapes run as plans instead; this is the reference that whatever else runs
//! functions is compared with, and what runs them where nothing else can.

use std::ops::{ControlFlow, Deref};

use smallvec::SmallVec;

use super::plan::last_uses::LastUses;
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

/// Computes one operator. The memory of `taken`, operand 0 where nobody else needs it, may become the
/// result's.
///
/// # Errors
/// Whatever the operator reports.
pub(super) fn apply(op: &dyn Operator, args: &[&Array], taken: Option<Array>) -> Result<Array> {
    let operands = taken.iter().chain(args.iter().copied());
    let types: SmallVec<[Type; 4]> = operands.clone().map(Array::ty).collect();
    let refs: SmallVec<[&Type; 4]> = types.iter().collect();
    let ty = result_type(op, &refs)?;
    let Some(mut array) = taken else {
        return computed(op, args, &ty);
    };
    if types[0] == ty {
        let others: SmallVec<[View<'_>; 4]> = args.iter().map(|a| a.view()).collect();
        if let Some(done) = array.view_mut().and_then(|out| op.update(&others, out)) {
            return done.map(|()| array);
        }
    }
    let operands: SmallVec<[&Array; 4]> =
        [&array].into_iter().chain(args.iter().copied()).collect();
    computed(op, &operands, &ty)
}

/// Computes one operator in memory of its own.
fn computed(op: &dyn Operator, args: &[&Array], ty: &Type) -> Result<Array> {
    let views: SmallVec<[View<'_>; 4]> = args.iter().map(|a| a.view()).collect();
    let mut out = Array::scratch(ty.dtype, &ty.shape)?;
    if let Some(view) = out.view_mut() {
        op.eval(&views, view)?;
    }
    Ok(out)
}

/// A function that is ready to be interpreted.
#[derive(Debug)]
pub struct Interpreter<F> {
    function: F,
    last: LastUses,
}

/// Compares a datum with the value that it is to be.
///
/// # Errors
/// [`Error::Type`] if it is of another kind than the function says: an operator of a caller may
/// give anything.
pub(super) fn accept(function: &Function, id: ValueId, value: &Datum) -> Result<()> {
    let expected = function.kind(id);
    match (value, expected) {
        (Datum::Array(a), ValueKind::Array(ty))
            if ty.dtype == a.dtype() && ty.ndim() == a.shape().len() =>
        {
            Ok(())
        }
        (Datum::Bool(_), ValueKind::Bool) | (Datum::Int(_), ValueKind::Int) => Ok(()),
        _ => Err(Error::Type(format!(
            "{}: value %{id}: expected {expected}, got {}",
            function.name,
            value.kind()
        ))),
    }
}

/// A run: values and tapes.
struct Interpretation<'f> {
    function: &'f Function,
    values: Vec<Option<Datum>>,
    tapes: Vec<RecordTape>,
}

/// The values of records, one after the other, and how many records there are: they may be empty.
#[derive(Clone, Default)]
struct RecordTape {
    values: Vec<Datum>,
    records: usize,
}

impl Interpretation<'_> {
    fn get(&self, id: ValueId) -> Result<&Datum> {
        let value = self.values.get(id as usize).and_then(Option::as_ref);
        value.ok_or_else(|| Error::Value(format!("value %{id} is read before it is defined")))
    }

    fn args(&self, ids: &[ValueId]) -> Result<SmallVec<[&Datum; 4]>> {
        ids.iter().map(|&id| self.get(id)).collect()
    }

    fn arrays(&self, ids: &[ValueId]) -> Result<SmallVec<[&Array; 4]>> {
        ids.iter().map(|&id| self.get(id)?.array()).collect()
    }

    /// A value, which is gone if this is its last use.
    fn take(&mut self, id: ValueId, last: bool) -> Result<Datum> {
        let value = match self.values.get_mut(id as usize) {
            Some(value) if last => value.take(),
            Some(value) => value.clone(),
            None => None,
        };
        value.ok_or_else(|| Error::Value(format!("value %{id} is read before it is defined")))
    }

    /// Defines a value.
    ///
    /// # Errors
    /// As [`accept`].
    fn set(&mut self, id: ValueId, value: Datum) -> Result<()> {
        accept(self.function, id, &value)?;
        self.values[id as usize] = Some(value);
        Ok(())
    }

    /// Runs an expression: its results, or the exit by which the function is left. `last` says
    /// whether an operand is read for the last time.
    fn expression(
        &mut self,
        expression: &Expression,
        last: impl Fn(usize) -> bool,
    ) -> Result<ControlFlow<u32, SmallVec<[Datum; 1]>>> {
        let one = |value: Datum| Ok(ControlFlow::Continue(SmallVec::from_buf([value])));
        match expression {
            Expression::Constant(value) => one(value.clone()),
            Expression::Apply(op, ids) => {
                let taken = match ids.first() {
                    Some(&id) if last(0) => match self.take(id, true)? {
                        Datum::Array(a) => Some(a),
                        other => return Err(other.is_no("an array")),
                    },
                    _ => None,
                };
                let others = &ids[usize::from(taken.is_some())..];
                one(apply(&**op, &self.arrays(others)?, taken)?.into())
            }
            Expression::Compute(op, ids, exit) => match (op.eval(&self.args(ids)?), exit) {
                (Some(value), _) => one(value),
                (None, Some(exit)) => Ok(ControlFlow::Break(*exit)),
                (None, None) => Err(Error::Value(format!(
                    "{} failed and has no exit",
                    op.name()
                ))),
            },
            Expression::Guard(condition, exit) => match self.get(*condition)? {
                Datum::Bool(true) => Ok(ControlFlow::Continue(SmallVec::new())),
                Datum::Bool(false) => Ok(ControlFlow::Break(*exit)),
                other => Err(other.is_no("a bool")),
            },
            Expression::Push(tape, ids) => {
                reserve::grow(&mut self.tapes[*tape as usize].values, ids.len())?;
                for (k, &id) in ids.iter().enumerate() {
                    let value = self.take(id, last(k))?;
                    self.tapes[*tape as usize].values.push(value);
                }
                self.tapes[*tape as usize].records += 1;
                Ok(ControlFlow::Continue(SmallVec::new()))
            }
            Expression::Pop(number) => {
                let count = self.function.tapes[*number as usize].len();
                let tape = &mut self.tapes[*number as usize];
                tape.records = tape.records.checked_sub(1).ok_or_else(|| {
                    Error::Value(format!("tape {number} is empty, and a record is taken"))
                })?;
                // All records of a tape are of one length.
                let start = tape.values.len() - count;
                let record = tape.values.drain(start..);
                Ok(ControlFlow::Continue(record.collect()))
            }
        }
    }

    /// How the function goes on: the number of the target of its terminator, or how the run ends.
    fn follow(&self, terminator: &Terminator) -> Result<ControlFlow<Outcome, usize>> {
        Ok(match terminator {
            Terminator::Return(results) => {
                let results = self.args(results)?;
                let results = results.into_iter().cloned().collect();
                ControlFlow::Break(Outcome::Returned(results))
            }
            Terminator::Leave(exit) => ControlFlow::Break(Outcome::Left(*exit)),
            Terminator::Jump(_) => ControlFlow::Continue(0),
            Terminator::Branch { condition, .. } => {
                ControlFlow::Continue(usize::from(self.get(*condition)?.item()? == 0.0))
            }
            Terminator::Switch { value, targets } => match self.get(*value)? {
                Datum::Int(i) => {
                    let target = usize::try_from(*i).ok().filter(|&i| i < targets.len());
                    ControlFlow::Continue(target.ok_or_else(|| {
                        Error::Value(format!(
                            "{}: a switch on {i} has {} targets",
                            self.function.name,
                            targets.len()
                        ))
                    })?)
                }
                other => return Err(other.is_no("an integer")),
            },
        })
    }
}

impl<F: Deref<Target = Function>> Interpreter<F> {
    /// Makes a function ready.
    ///
    /// # Errors
    /// As [`Function::check`].
    pub fn new(function: F) -> Result<Self> {
        function.check()?;
        let last = LastUses::new(&function);
        Ok(Interpreter { function, last })
    }

    /// Runs the function.
    ///
    /// # Errors
    /// [`Error::Value`] if the number of arguments is wrong or `steps` instructions and jumps did
    /// not suffice, [`Error::Type`] if one is of another kind than the parameter, and whatever an
    /// operator reports.
    pub fn run(&self, args: &[Datum], steps: usize) -> Result<Outcome> {
        let function = &*self.function;
        let parameters = function.parameters();
        if args.len() != parameters.len() {
            return Err(Error::Value(format!(
                "{} takes {} values, {} given",
                function.name,
                parameters.len(),
                args.len()
            )));
        }
        let mut frame = Interpretation {
            function,
            values: vec![None; function.kinds.len()],
            tapes: vec![RecordTape::default(); function.tapes.len()],
        };
        let mut number = 0;
        let mut incoming: Vec<Datum> = args.to_vec();
        let mut left = steps;
        let mut poller = Poller::default();
        let mut step = || -> Result<()> {
            left = left.checked_sub(1).ok_or_else(|| {
                Error::Value(format!("{} did not finish in {steps} steps", function.name))
            })?;
            poller.step(INSTRUCTION)
        };
        while let Some(here) = function.blocks.get(number) {
            for (&p, value) in here.parameters.iter().zip(incoming.drain(..)) {
                frame.set(p, value)?;
            }
            for (k, i) in here.instructions.iter().enumerate() {
                step()?;
                let last = |operand| self.last.operand(number, k, operand);
                match frame.expression(&i.expression, last)? {
                    ControlFlow::Continue(results) => {
                        for (&id, value) in i.results.iter().zip(results) {
                            frame.set(id, value)?;
                        }
                    }
                    ControlFlow::Break(exit) => return Ok(Outcome::Left(exit)),
                }
            }
            let target = match frame.follow(&here.terminator)? {
                ControlFlow::Continue(target) => target,
                ControlFlow::Break(outcome) => return Ok(outcome),
            };
            step()?;
            let next = here.terminator.targets()[target];
            let last = self.last.arguments(number, target);
            for (&id, &last) in next.args.iter().zip(last) {
                incoming.push(frame.take(id, last)?);
            }
            number = next.block;
        }
        Err(Error::Value(format!("{} has no blocks", function.name)))
    }
}

/// Runs a function once.
///
/// # Errors
/// As [`Interpreter::new`] and [`Interpreter::run`].
pub fn interpret(function: &Function, args: &[Datum], steps: usize) -> Result<Outcome> {
    Interpreter::new(function)?.run(args, steps)
}
