//! Functions, blocks and instructions.
//!
//! A value is defined once: as a parameter of a block, or as a result of an instruction. Wherever
//! control flow comes together, values go on as parameters of a block.
//!
//! **Leaving.** What a function does not compute, as an integer beyond 64 bits, it leaves: a
//! [`Guard`](Expression::Guard) or a scalar operator that fails ends the run with the number of an
//! exit, and the caller goes on in another way. A function has no effect until it
//! returns, so nothing is half done.
//!
//! **Tapes.** A function may keep what it will read in the opposite order: `Push` appends a record to
//! a tape, `Pop` takes the last one. Gradients of loops are made of them, and since each is what the
//! other becomes in reverse, such a gradient has gradients of the same form.

use std::collections::HashMap;

use smallvec::SmallVec;

use super::kind::{Datum, ValueKind};
use super::scalar::ScalarOperator;
use crate::array::{Array, Type};
use crate::error::{Error, Result};
use crate::rules::{Id, OpRef};

/// Names a value of a function; each is defined once.
pub type ValueId = Id;

/// Operands of an instruction.
pub type Operands = SmallVec<[ValueId; 3]>;

/// What an instruction computes.
#[derive(Debug)]
pub enum Expression {
    /// An operator of the rule table applied to arrays.
    Apply(OpRef, Operands),
    /// A fixed value.
    Constant(Datum),
    /// An operator on integers, truth and single numbers, and the exit by which the function is left
    /// if it fails.
    Compute(ScalarOperator, Operands, Option<u32>),
    /// Leaves by an exit unless the condition, of kind Bool, holds. No results.
    Guard(ValueId, u32),
    /// Appends a record to a tape. No results.
    Push(u32, Operands),
    /// Takes the last record of a tape: its values are the results. On an empty tape a run ends with an error if
    /// one of them is needed for a result, and may go on if none is: what nobody needs is dropped.
    Pop(u32),
}

impl Expression {
    /// The values that are read.
    pub fn operands(&self) -> &[ValueId] {
        match self {
            Expression::Apply(_, args)
            | Expression::Compute(_, args, _)
            | Expression::Push(_, args) => args,
            Expression::Guard(condition, _) => std::slice::from_ref(condition),
            Expression::Constant(_) | Expression::Pop(_) => &[],
        }
    }

    /// The values that are read, to be exchanged.
    pub fn operands_mut(&mut self) -> &mut [ValueId] {
        match self {
            Expression::Apply(_, args)
            | Expression::Compute(_, args, _)
            | Expression::Push(_, args) => args,
            Expression::Guard(condition, _) => std::slice::from_mut(condition),
            Expression::Constant(_) | Expression::Pop(_) => &mut [],
        }
    }
}

/// Numbers in lists are copied whole: a `SmallVec` clones one after the other.
impl Clone for Expression {
    fn clone(&self) -> Self {
        match self {
            Expression::Apply(op, args) => {
                Expression::Apply(op.clone(), Operands::from_slice(args))
            }
            Expression::Constant(value) => Expression::Constant(value.clone()),
            Expression::Compute(op, args, exit) => {
                Expression::Compute(*op, Operands::from_slice(args), *exit)
            }
            Expression::Guard(condition, exit) => Expression::Guard(*condition, *exit),
            Expression::Push(tape, args) => Expression::Push(*tape, Operands::from_slice(args)),
            Expression::Pop(tape) => Expression::Pop(*tape),
        }
    }
}

/// One step: what is computed, and the values that this defines.
#[derive(Debug)]
pub struct Instruction {
    /// The values it defines: one, but for tapes and guards.
    pub results: SmallVec<[ValueId; 1]>,
    /// How.
    pub expression: Expression,
    /// The line of the source that it comes from; 0 if there is none.
    pub line: u32,
}

impl Clone for Instruction {
    fn clone(&self) -> Self {
        Instruction {
            results: SmallVec::from_slice(&self.results),
            expression: self.expression.clone(),
            line: self.line,
        }
    }
}

impl Instruction {
    /// An instruction with one result.
    pub fn new(result: ValueId, expression: Expression) -> Self {
        Instruction {
            results: SmallVec::from_buf([result]),
            expression,
            line: 0,
        }
    }

    /// An instruction that appends a record to a tape.
    pub(super) fn push(tape: u32, values: impl IntoIterator<Item = ValueId>) -> Self {
        Instruction {
            results: SmallVec::new(),
            expression: Expression::Push(tape, values.into_iter().collect()),
            line: 0,
        }
    }

    /// An instruction that takes the last record from a tape.
    pub(super) fn pop(tape: u32, results: impl IntoIterator<Item = ValueId>) -> Self {
        Instruction {
            results: results.into_iter().collect(),
            expression: Expression::Pop(tape),
            line: 0,
        }
    }

    /// The result, of an instruction that has one.
    ///
    /// # Panics
    /// If it has none.
    pub fn result(&self) -> ValueId {
        self.results[0]
    }
}

/// Where a jump goes, and what the parameters of that block become.
#[derive(Debug, Clone, PartialEq)]
pub struct Target {
    /// Index of the block.
    pub block: usize,
    /// One value for each of its parameters.
    pub args: Vec<ValueId>,
}

/// How a block ends.
#[derive(Debug, Clone, PartialEq)]
pub enum Terminator {
    /// Leaves the function with these results.
    Return(Vec<ValueId>),
    /// Leaves it by an exit, of this number.
    Leave(u32),
    /// Continues elsewhere.
    Jump(Target),
    /// Continues at `then` if the condition holds, else at `otherwise`.
    Branch {
        /// Of kind Bool, or one number or index, which holds if it is not zero.
        condition: ValueId,
        /// Where to go if it holds.
        then: Target,
        /// Where to go if it does not.
        otherwise: Target,
    },
    /// Continues at the target of that number; there must be one.
    Switch {
        /// Of kind Int.
        value: ValueId,
        /// Where to go for 0, 1, …
        targets: Vec<Target>,
    },
}

impl Terminator {
    /// Where it may go.
    pub fn targets(&self) -> SmallVec<[&Target; 2]> {
        match self {
            Terminator::Return(_) | Terminator::Leave(_) => SmallVec::new(),
            Terminator::Jump(to) => SmallVec::from_slice(&[to]),
            Terminator::Branch {
                then, otherwise, ..
            } => SmallVec::from_slice(&[then, otherwise]),
            Terminator::Switch { targets, .. } => targets.iter().collect(),
        }
    }

    /// Where it may go, to be changed.
    pub fn targets_mut(&mut self) -> SmallVec<[&mut Target; 2]> {
        match self {
            Terminator::Return(_) | Terminator::Leave(_) => SmallVec::new(),
            Terminator::Jump(to) => SmallVec::from_iter([to]),
            Terminator::Branch {
                then, otherwise, ..
            } => SmallVec::from_iter([then, otherwise]),
            Terminator::Switch { targets, .. } => targets.iter_mut().collect(),
        }
    }

    /// What it reads itself: results, or the condition; not what targets are given.
    pub fn operands(&self) -> &[ValueId] {
        match self {
            Terminator::Return(results) => results,
            Terminator::Jump(_) | Terminator::Leave(_) => &[],
            Terminator::Branch { condition, .. } => std::slice::from_ref(condition),
            Terminator::Switch { value, .. } => std::slice::from_ref(value),
        }
    }

    /// What it reads itself, to be exchanged.
    pub fn operands_mut(&mut self) -> &mut [ValueId] {
        match self {
            Terminator::Return(results) => results,
            Terminator::Jump(_) | Terminator::Leave(_) => &mut [],
            Terminator::Branch { condition, .. } => std::slice::from_mut(condition),
            Terminator::Switch { value, .. } => std::slice::from_mut(value),
        }
    }

    /// Calls `f` with every value that is read, by targets too.
    pub fn each(&self, mut f: impl FnMut(ValueId)) {
        self.operands().iter().copied().for_each(&mut f);
        for target in self.targets() {
            target.args.iter().copied().for_each(&mut f);
        }
    }

    /// Calls `f` with every value that is read, by targets too, so that it can be exchanged.
    pub fn each_mut(&mut self, mut f: impl FnMut(&mut ValueId)) {
        self.operands_mut().iter_mut().for_each(&mut f);
        for target in self.targets_mut() {
            target.args.iter_mut().for_each(&mut f);
        }
    }
}

/// A straight run of instructions.
#[derive(Debug, Clone)]
pub struct Block {
    /// Values that whoever jumps here supplies.
    pub parameters: Vec<ValueId>,
    /// Definitions, in order.
    pub instructions: Vec<Instruction>,
    /// How it ends.
    pub terminator: Terminator,
}

impl Default for Block {
    fn default() -> Self {
        Block {
            parameters: Vec::new(),
            instructions: Vec::new(),
            terminator: Terminator::Return(Vec::new()),
        }
    }
}

impl Block {
    /// Appends the definition of a new value of this type, whose kind is added to those of the function.
    pub(crate) fn define(
        &mut self,
        kinds: &mut Vec<ValueKind>,
        ty: Type,
        expression: Expression,
    ) -> ValueId {
        let result = kinds.len() as ValueId;
        kinds.push(ty.into());
        self.instructions.push(Instruction::new(result, expression));
        result
    }
}

/// A place where a function is left.
#[derive(Debug, Clone, PartialEq)]
pub struct Exit {
    /// Why the function is left there, for messages.
    pub text: String,
    /// The line of the source; 0 if there is none.
    pub line: u32,
}

/// What a function is printed with.
#[derive(Debug, Clone, Default)]
pub struct Notes {
    /// Names that values have in the source.
    pub names: HashMap<ValueId, String>,
    /// The exits, by number.
    pub exits: Vec<Exit>,
}

/// A program. Block 0 is the entry; its parameters are the function's.
#[derive(Debug, Clone)]
pub struct Function {
    /// A name for printing.
    pub name: String,
    /// What every value is. In a frozen program these are the types seen when it was
    /// frozen; they are inferred again for others.
    pub kinds: Vec<ValueKind>,
    /// The blocks.
    pub blocks: Vec<Block>,
    /// For each tape the kinds of a record.
    pub tapes: Vec<Vec<ValueKind>>,
    /// Names and exits. Exits are part of what [`check`](Self::check) compares.
    pub notes: Notes,
}

impl Function {
    /// The function's parameters.
    pub fn parameters(&self) -> &[ValueId] {
        self.blocks.first().map_or(&[], |b| b.parameters.as_slice())
    }

    /// How often each value is read.
    pub(crate) fn uses(&self) -> Vec<usize> {
        let mut uses = vec![0; self.kinds.len()];
        for block in &self.blocks {
            let read = block
                .instructions
                .iter()
                .flat_map(|i| i.expression.operands());
            read.for_each(|&id| uses[id as usize] += 1);
            block.terminator.each(|id| uses[id as usize] += 1);
        }
        uses
    }

    /// The operators that are applied, each as often as it is.
    pub(crate) fn operators(&self) -> impl Iterator<Item = &OpRef> {
        let instructions = self.blocks.iter().flat_map(|block| &block.instructions);
        instructions.filter_map(|i| match &i.expression {
            Expression::Apply(op, _) => Some(op),
            _ => None,
        })
    }

    /// What a value is.
    ///
    /// # Panics
    /// If the value does not exist.
    pub fn kind(&self, id: ValueId) -> &ValueKind {
        &self.kinds[id as usize]
    }

    /// The type of a value that is an array or a number, as all values of
    /// [straight](Self::straight) functions are.
    ///
    /// # Panics
    /// If the value does not exist, or is of another kind.
    pub fn ty(&self, id: ValueId) -> &Type {
        match self.kind(id) {
            ValueKind::Array(ty) => ty,
            other => panic!("value %{id} is of kind {other}, and no array"),
        }
    }

    /// The only block of a function of arrays without control flow, and what it returns. Plans are
    /// made of such functions: each instruction applies an operator or is a constant.
    ///
    /// # Errors
    /// [`Error::Value`] if it is another.
    pub fn straight(&self) -> Result<(&Block, &[ValueId])> {
        let wrong = |what: String| Err(Error::Value(format!("{}: {what}", self.name)));
        match self.blocks.as_slice() {
            [block] => match &block.terminator {
                Terminator::Return(results) => {
                    let others = |i: &Instruction| {
                        let plain = matches!(
                            i.expression,
                            Expression::Apply(..) | Expression::Constant(Datum::Array(_))
                        );
                        !plain || i.results.len() != 1
                    };
                    let kinds = self.kinds.iter().all(|kind| kind.array().is_some());
                    if !kinds || block.instructions.iter().any(others) {
                        return wrong("expected operators on arrays, and no others".into());
                    }
                    Ok((block, results))
                }
                _ => wrong("the only block does not return".into()),
            },
            _ => wrong(format!(
                "expected a function without branches, got {} blocks",
                self.blocks.len()
            )),
        }
    }
}

/// An instruction of a [straight](Function::straight) function.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Straight<'f> {
    /// An operator and its operands.
    Apply(&'f OpRef, &'f Operands),
    /// A constant.
    Constant(&'f Array),
}

impl Instruction {
    /// This as an instruction of a straight function.
    ///
    /// # Panics
    /// If it is none: [`Function::straight`] has been asked.
    pub(crate) fn straight(&self) -> Straight<'_> {
        match &self.expression {
            Expression::Apply(op, args) => Straight::Apply(op, args),
            Expression::Constant(Datum::Array(a)) => Straight::Constant(a),
            other => unreachable!("straight functions have no {other:?}"),
        }
    }
}
