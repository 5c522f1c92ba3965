//! The builder, which appends instructions to blocks.

use std::cell::RefCell;

use smallvec::SmallVec;

use super::function::{Block, Exit, Expression, Function, Instruction, Notes, Terminator, ValueId};
use super::kind::{Datum, ValueKind};
use super::scalar::ScalarOperator;
use crate::array::{Array, DType, Type};
use crate::error::{Error, Result};
use crate::reserve;
use crate::rules::differentiate::{Applied, Recording};
use crate::rules::{Algebra, Id, OpRef, result_type};

#[derive(Debug, Default)]
struct BuilderState {
    kinds: Vec<ValueKind>,
    blocks: Vec<Block>,
    /// The block and the number of the instruction that defines each value, if one does.
    places: Vec<Option<(u32, u32)>>,
    tapes: Vec<Vec<ValueKind>>,
    notes: Notes,
    /// The block that instructions go to.
    current: usize,
    /// The line that instructions are of.
    line: u32,
    error: Option<Error>,
}

impl BuilderState {
    /// Names a value.
    fn define(&mut self, kind: ValueKind, place: Option<(u32, u32)>) -> ValueId {
        let id = self.kinds.len() as ValueId;
        self.kinds.push(kind);
        self.places.push(place);
        id
    }

    fn kind(&self, id: ValueId) -> Result<&ValueKind> {
        let kind = self.kinds.get(id as usize);
        kind.ok_or_else(|| Error::Value(format!("value %{id} does not exist")))
    }

    /// The instruction that defines a value, if one does.
    fn definition(&self, id: ValueId) -> Option<&Expression> {
        let (block, k) = (*self.places.get(id as usize)?)?;
        Some(&self.blocks[block as usize].instructions[k as usize].expression)
    }
}

/// Appends instructions to the blocks of a function. As an [`Algebra`] it lets rules write programs: what a
/// rule computes is appended to the current block.
#[derive(Debug)]
pub struct Builder {
    state: RefCell<BuilderState>,
}

impl Default for Builder {
    fn default() -> Self {
        Self::new()
    }
}

impl Builder {
    /// A function with one empty block.
    pub fn new() -> Self {
        let builder = Builder {
            state: RefCell::default(),
        };
        builder.block();
        builder
    }

    /// Continues a function, at the end of its last block.
    pub(crate) fn resume(function: &Function) -> Self {
        let mut places = vec![None; function.kinds.len()];
        for (b, block) in function.blocks.iter().enumerate() {
            for (k, i) in block.instructions.iter().enumerate() {
                for &result in &i.results {
                    places[result as usize] = Some((b as u32, k as u32));
                }
            }
        }
        Builder {
            state: RefCell::new(BuilderState {
                kinds: function.kinds.clone(),
                blocks: function.blocks.clone(),
                places,
                tapes: function.tapes.clone(),
                notes: function.notes.clone(),
                current: function.blocks.len().saturating_sub(1),
                line: 0,
                error: None,
            }),
        }
    }

    /// Starts a new block and returns its index; instructions go there from now on.
    pub fn block(&self) -> usize {
        let mut state = self.state.borrow_mut();
        state.blocks.push(Block::default());
        state.current = state.blocks.len() - 1;
        state.current
    }

    /// The block that instructions go to.
    pub fn current(&self) -> usize {
        self.state.borrow().current
    }

    /// Lets instructions go to the end of a block from now on.
    ///
    /// # Errors
    /// [`Error::Value`] if there is no such block.
    pub fn switch_to(&self, block: usize) -> Result<()> {
        let mut state = self.state.borrow_mut();
        let count = state.blocks.len();
        if block >= count {
            return Err(Error::Value(format!(
                "block {block} does not exist, there are {count}"
            )));
        }
        state.current = block;
        Ok(())
    }

    /// Adds a parameter to the current block.
    pub fn parameter(&self, kind: impl Into<ValueKind>) -> ValueId {
        let mut state = self.state.borrow_mut();
        let id = state.define(kind.into(), None);
        let current = state.current;
        state.blocks[current].parameters.push(id);
        id
    }

    /// Makes room for another instruction, and so many results.
    fn room(&self, results: usize) -> Result<()> {
        reserve::check()?;
        let state = &mut *self.state.borrow_mut();
        reserve::grow(&mut state.kinds, results)?;
        reserve::grow(&mut state.places, results)?;
        reserve::grow(&mut state.blocks[state.current].instructions, 1)
    }

    /// Appends an instruction that is well formed, with results of these kinds.
    ///
    /// # Errors
    /// [`Error::Memory`].
    pub(super) fn append(
        &self,
        kinds: SmallVec<[ValueKind; 1]>,
        expression: Expression,
    ) -> Result<SmallVec<[ValueId; 1]>> {
        self.room(kinds.len())?;
        Ok(self.push_instruction(kinds, expression))
    }

    fn push_instruction(
        &self,
        kinds: impl IntoIterator<Item = ValueKind>,
        expression: Expression,
    ) -> SmallVec<[ValueId; 1]> {
        let mut state = self.state.borrow_mut();
        let block = state.current;
        let place = (block as u32, state.blocks[block].instructions.len() as u32);
        let defined = kinds
            .into_iter()
            .map(|kind| state.define(kind, Some(place)));
        let results: SmallVec<[ValueId; 1]> = defined.collect();
        let instruction = Instruction {
            results: results.clone(),
            expression,
            line: state.line,
        };
        state.blocks[block].instructions.push(instruction);
        results
    }

    /// Appends a fixed array.
    pub fn fixed(&self, value: Array) -> ValueId {
        self.literal(value.into())
    }

    /// Appends a fixed value.
    pub fn literal(&self, value: Datum) -> ValueId {
        self.push_instruction([value.kind()], Expression::Constant(value))[0]
    }

    /// Appends an operator.
    ///
    /// # Errors
    /// [`Error::Value`] if an operand does not exist, [`Error::Type`] if one is no array,
    /// [`Error::Memory`] if there is none for another instruction, and whatever the operator reports
    /// about the types.
    pub fn try_apply(&self, op: OpRef, args: &[ValueId]) -> Result<ValueId> {
        let ty = {
            let state = self.state.borrow();
            let ty = |&a: &ValueId| match state.kind(a)? {
                ValueKind::Array(ty) => Ok(ty),
                other => Err(Error::Type(format!(
                    "{}: expected arrays or numbers, got {other}",
                    op.name()
                ))),
            };
            let types: SmallVec<[&Type; 4]> = args.iter().map(ty).collect::<Result<_>>()?;
            result_type(&*op, &types)?
        };
        self.room(1)?;
        Ok(self.push_instruction([ty.into()], Expression::Apply(op, args.into()))[0])
    }

    /// Appends a scalar operator, and the exit by which the function is left if it fails.
    ///
    /// # Errors
    /// [`Error::Value`] if an operand or the exit does not exist, or there is none and the operator
    /// can fail, [`Error::Type`] if operands are of other kinds, [`Error::Memory`].
    pub fn compute(
        &self,
        op: ScalarOperator,
        args: &[ValueId],
        exit: Option<u32>,
    ) -> Result<ValueId> {
        let kind = {
            let state = self.state.borrow();
            let kinds = args.iter().map(|&a| state.kind(a));
            let kinds: SmallVec<[&ValueKind; 4]> = kinds.collect::<Result<_>>()?;
            scalar_kind(op, &kinds, exit, state.notes.exits.len())?
        };
        self.room(1)?;
        let exit = exit.filter(|_| op.can_fail());
        Ok(self.push_instruction([kind], Expression::Compute(op, args.into(), exit))[0])
    }

    /// Adds an exit, and gives its number.
    pub fn exit(&self, text: &str, line: u32) -> u32 {
        let exits = &mut self.state.borrow_mut().notes.exits;
        exits.push(Exit {
            text: text.to_owned(),
            line,
        });
        (exits.len() - 1) as u32
    }

    /// Checks that an exit is there, for a terminator that leaves by it; `what` names it in messages.
    ///
    /// # Errors
    /// [`Error::Value`] if not.
    #[cfg(feature = "python")]
    pub(crate) fn has_exit(&self, what: &str, exit: u32) -> Result<()> {
        check_exit(what, exit, self.state.borrow().notes.exits.len())
    }

    /// Appends a guard, which leaves by an exit unless a condition holds.
    ///
    /// # Errors
    /// [`Error::Value`] if the condition or the exit does not exist, [`Error::Type`] if it is not of
    /// kind Bool, [`Error::Memory`].
    pub fn guard(&self, condition: ValueId, exit: u32) -> Result<()> {
        {
            let state = self.state.borrow();
            let kind = state.kind(condition)?;
            if *kind != ValueKind::Bool {
                return Err(Error::Type(format!("guard: expected a bool, got {kind}")));
            }
            check_exit("guard", exit, state.notes.exits.len())?;
        }
        self.room(0)?;
        self.push_instruction([], Expression::Guard(condition, exit));
        Ok(())
    }

    /// Adds a tape whose records have values of these kinds, and gives its number.
    pub fn tape(&self, kinds: Vec<ValueKind>) -> u32 {
        let tapes = &mut self.state.borrow_mut().tapes;
        tapes.push(kinds);
        (tapes.len() - 1) as u32
    }

    /// Appends a record to a tape.
    ///
    /// # Errors
    /// [`Error::Value`] if a value or the tape does not exist, or there are more or less values than
    /// a record has, [`Error::Type`] if one is of another kind, [`Error::Memory`].
    pub fn push(&self, tape: u32, args: &[ValueId]) -> Result<()> {
        {
            let state = self.state.borrow();
            let record = record(tape, &state.tapes)?;
            let kinds = args.iter().map(|&a| state.kind(a));
            let kinds: Vec<&ValueKind> = kinds.collect::<Result<_>>()?;
            check_record(tape, record, &kinds)?;
        }
        self.room(0)?;
        self.push_instruction([], Expression::Push(tape, args.into()));
        Ok(())
    }

    /// Takes the last record of a tape; see [`Expression::Pop`] for an empty one.
    ///
    /// # Errors
    /// [`Error::Value`] if the tape does not exist, [`Error::Memory`].
    pub fn pop(&self, tape: u32) -> Result<SmallVec<[ValueId; 1]>> {
        let kinds = record(tape, &self.state.borrow().tapes)?.to_vec();
        self.room(kinds.len())?;
        Ok(self.push_instruction(kinds, Expression::Pop(tape)))
    }

    /// What a value is.
    ///
    /// # Errors
    /// [`Error::Value`] if it does not exist.
    pub fn kind(&self, id: ValueId) -> Result<ValueKind> {
        self.state.borrow().kind(id).cloned()
    }

    /// How many blocks there are.
    pub fn count_blocks(&self) -> usize {
        self.state.borrow().blocks.len()
    }

    /// The line that instructions are of.
    pub(super) fn current_line(&self) -> u32 {
        self.state.borrow().line
    }

    /// The number that a value always is, if it is a constant of one element.
    pub(super) fn number(&self, id: ValueId) -> Option<f64> {
        match self.state.borrow().definition(id)? {
            Expression::Constant(Datum::Array(a)) => a.item().ok(),
            _ => None,
        }
    }

    /// The line that instructions are of from now on; 0 for none.
    pub fn line(&self, line: u32) {
        self.state.borrow_mut().line = line;
    }

    /// The name that a value has in the source.
    pub fn name(&self, id: ValueId, name: &str) {
        let names = &mut self.state.borrow_mut().notes.names;
        names.insert(id, name.to_owned());
    }

    /// Ends the current block.
    pub fn terminate(&self, terminator: Terminator) {
        let state = &mut *self.state.borrow_mut();
        state.blocks[state.current].terminator = terminator;
    }

    /// The finished function.
    ///
    /// # Errors
    /// The first error that an operator reported.
    pub fn finish(self, name: &str) -> Result<Function> {
        let state = self.state.into_inner();
        match state.error {
            Some(error) => Err(error),
            None => Ok(Function {
                name: name.into(),
                kinds: state.kinds,
                blocks: state.blocks,
                tapes: state.tapes,
                notes: state.notes,
            }),
        }
    }
}

/// The kind of a scalar operator's result.
///
/// # Errors
/// As [`Builder::compute`].
pub(super) fn scalar_kind(
    op: ScalarOperator,
    kinds: &[&ValueKind],
    exit: Option<u32>,
    exits: usize,
) -> Result<ValueKind> {
    let name = op.name();
    match exit {
        Some(exit) => check_exit(&name, exit, exits)?,
        None if op.can_fail() => {
            return Err(Error::Value(format!("{name} can fail and has no exit")));
        }
        None => {}
    }
    op.result(kinds).ok_or_else(|| {
        let found: Vec<String> = kinds.iter().map(|kind| kind.to_string()).collect();
        let expected: Vec<String> = op
            .signature()
            .0
            .iter()
            .map(|kind| kind.to_string())
            .collect();
        Error::Type(format!(
            "{name}: expected {}, got {}",
            expected.join(", "),
            found.join(", ")
        ))
    })
}

/// Checks that an exit is there.
///
/// # Errors
/// [`Error::Value`] if not.
pub(super) fn check_exit(what: &str, exit: u32, exits: usize) -> Result<()> {
    if (exit as usize) < exits {
        return Ok(());
    }
    Err(Error::Value(format!(
        "{what}: exit {exit} does not exist, there are {exits}"
    )))
}

/// The kinds of a tape's records.
///
/// # Errors
/// [`Error::Value`] if there is no such tape.
pub(super) fn record(tape: u32, tapes: &[Vec<ValueKind>]) -> Result<&[ValueKind]> {
    let found = tapes.get(tape as usize);
    let found = found.ok_or_else(|| Error::Value(format!("tape {tape} does not exist")));
    found.map(Vec::as_slice)
}

/// Checks that values make a record of a tape.
///
/// # Errors
/// [`Error::Value`] if they are more or less, [`Error::Type`] if one is of another kind.
pub(super) fn check_record(tape: u32, record: &[ValueKind], kinds: &[&ValueKind]) -> Result<()> {
    if record.len() != kinds.len() {
        return Err(Error::Value(format!(
            "tape {tape}: a record has {} values, {} given",
            record.len(),
            kinds.len()
        )));
    }
    let wrong = record.iter().zip(kinds).find(|(a, b)| !a.accepts(b));
    wrong.map_or(Ok(()), |(expected, found)| {
        Err(Error::Type(format!(
            "tape {tape}: expected {expected}, got {found}"
        )))
    })
}

impl Algebra for Builder {
    fn apply(&self, op: OpRef, args: &[Id]) -> Id {
        self.try_apply(op, args).unwrap_or_else(|e| {
            self.state.borrow_mut().error.get_or_insert(e);
            args[0]
        })
    }

    fn ty(&self, id: Id) -> Type {
        match &self.state.borrow().kinds[id as usize] {
            ValueKind::Array(ty) => ty.clone(),
            // Rules are run on arrays alone.
            other => unreachable!("a rule was given a value of kind {other}"),
        }
    }

    fn constant(&self, value: f64, dtype: DType) -> Id {
        self.fixed(Array::scalar(dtype, value))
    }

    fn take_error(&self) -> Option<Error> {
        self.state.borrow_mut().error.take()
    }

    fn is_sound(&self, a: Id, b: Id) -> bool {
        let state = self.state.borrow();
        state.error.is_none() && state.kinds[a as usize] == state.kinds[b as usize]
    }
}

impl Recording for Builder {
    fn definition(&self, id: Id) -> Option<Applied> {
        match self.state.borrow().definition(id)? {
            Expression::Apply(op, args) => Some((op.clone(), args.clone())),
            _ => None,
        }
    }

    fn next(&self) -> Id {
        self.state.borrow().kinds.len() as Id
    }

    fn is_scattered(&self, id: Id) -> bool {
        match self.state.borrow().definition(id) {
            Some(Expression::Apply(op, _)) => op.scatter().is_some(),
            _ => false,
        }
    }
}
