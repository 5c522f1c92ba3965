//! Functions, blocks and instructions, and the builder that appends them.

use std::cell::RefCell;

use smallvec::SmallVec;

use crate::array::{Array, DType, Type};
use crate::error::{Error, Result};
use crate::reserve;
use crate::rules::differentiate::{Applied, Recording};
use crate::rules::{Algebra, Id, OpRef, result_type};

/// Names a value of a function; each is defined once.
pub type ValueId = Id;

/// What an instruction computes.
#[derive(Debug, Clone)]
pub enum Expression {
    /// An operator applied to values.
    Apply(OpRef, SmallVec<[ValueId; 3]>),
    /// A fixed value.
    Constant(Array),
}

/// One definition.
#[derive(Debug, Clone)]
pub struct Instruction {
    /// The value it defines.
    pub result: ValueId,
    /// How.
    pub expression: Expression,
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
    /// Continues elsewhere.
    Jump(Target),
    /// Continues at `then` if the number `condition` is not zero, else at `otherwise`.
    Branch {
        /// A single number.
        condition: ValueId,
        /// Where to go if it is not zero.
        then: Target,
        /// Where to go if it is zero.
        otherwise: Target,
    },
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

/// A program. Block 0 is the entry; its parameters are the function's.
#[derive(Debug, Clone)]
pub struct Function {
    /// A name for printing.
    pub name: String,
    /// The type of every value. In a frozen program these are the types seen when it was
    /// frozen; [`specialize`](super::specialize) infers them again for others.
    pub types: Vec<Type>,
    /// The blocks.
    pub blocks: Vec<Block>,
}

impl Function {
    /// The function's parameters.
    pub fn parameters(&self) -> &[ValueId] {
        self.blocks.first().map_or(&[], |b| b.parameters.as_slice())
    }

    /// The type of a value.
    ///
    /// # Panics
    /// If the value does not exist.
    pub fn ty(&self, id: ValueId) -> &Type {
        &self.types[id as usize]
    }

    /// Checks what a [`Builder`] sees to and these public fields do not: that every value has a
    /// type, is defined once, and in its block before it is used; and that constants are of the
    /// type given for them. A value of an earlier block is taken on trust: whether a function
    /// with branches comes by its definition shows when it runs.
    ///
    /// # Errors
    /// [`Error::Value`] naming the value.
    pub fn check(&self) -> Result<()> {
        let wrong =
            |id: ValueId, what: &str| Error::Value(format!("{}: value %{id} {what}", self.name));
        let mut defined = vec![false; self.types.len()];
        let define = |id: ValueId, defined: &mut Vec<bool>| match defined.get_mut(id as usize) {
            None => Err(wrong(id, "has no type")),
            Some(true) => Err(wrong(id, "is defined twice")),
            Some(new) => {
                *new = true;
                Ok(())
            }
        };
        let one = self.blocks.len() == 1;
        let used = |ids: &[ValueId], defined: &[bool]| {
            ids.iter()
                .try_for_each(|&id| match defined.get(id as usize) {
                    None => Err(wrong(id, "does not exist")),
                    Some(false) if one => Err(wrong(id, "is used before it is defined")),
                    Some(_) => Ok(()),
                })
        };
        for block in &self.blocks {
            for &id in &block.parameters {
                define(id, &mut defined)?;
            }
            for i in &block.instructions {
                if let Expression::Apply(_, args) = &i.expression {
                    used(args, &defined)?;
                }
                define(i.result, &mut defined)?;
                if let Expression::Constant(a) = &i.expression
                    && a.ty() != *self.ty(i.result)
                {
                    return Err(wrong(i.result, "is a constant of another type"));
                }
            }
            match &block.terminator {
                Terminator::Return(results) => used(results, &defined)?,
                Terminator::Jump(to) => used(&to.args, &defined)?,
                Terminator::Branch {
                    condition,
                    then,
                    otherwise,
                } => {
                    used(&[*condition], &defined)?;
                    used(&then.args, &defined)?;
                    used(&otherwise.args, &defined)?;
                }
            }
        }
        Ok(())
    }

    /// The only block of a function without control flow, and what it returns.
    ///
    /// # Errors
    /// [`Error::Value`] if there are several blocks.
    pub fn straight(&self) -> Result<(&Block, &[ValueId])> {
        match self.blocks.as_slice() {
            [block] => match &block.terminator {
                Terminator::Return(results) => Ok((block, results)),
                _ => Err(Error::Value(format!("{}: the only block loops", self.name))),
            },
            _ => Err(Error::Value(format!(
                "{}: expected a function without branches, got {} blocks",
                self.name,
                self.blocks.len()
            ))),
        }
    }
}

#[derive(Debug)]
struct BuilderState {
    types: Vec<Type>,
    blocks: Vec<Block>,
    /// The block and the number of the instruction that defines each value, if one does.
    places: Vec<Option<(u32, u32)>>,
    error: Option<Error>,
}

impl BuilderState {
    /// Names a value.
    fn define(&mut self, ty: Type, place: Option<(u32, u32)>) -> ValueId {
        let id = self.types.len() as ValueId;
        self.types.push(ty);
        self.places.push(place);
        id
    }
}

/// Appends instructions to the last block of a function. As an [`Algebra`] it lets rules
/// write programs.
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
            state: RefCell::new(BuilderState {
                types: Vec::new(),
                blocks: Vec::new(),
                places: Vec::new(),
                error: None,
            }),
        };
        builder.block();
        builder
    }

    /// Continues a function of one block; its terminator is discarded.
    pub(super) fn resume(function: &Function) -> Self {
        let mut places = vec![None; function.types.len()];
        for (b, block) in function.blocks.iter().enumerate() {
            for (k, i) in block.instructions.iter().enumerate() {
                places[i.result as usize] = Some((b as u32, k as u32));
            }
        }
        Builder {
            state: RefCell::new(BuilderState {
                types: function.types.clone(),
                blocks: function.blocks.clone(),
                places,
                error: None,
            }),
        }
    }

    /// Starts a new block and returns its index; instructions go there from now on.
    pub fn block(&self) -> usize {
        let mut state = self.state.borrow_mut();
        state.blocks.push(Block {
            parameters: Vec::new(),
            instructions: Vec::new(),
            terminator: Terminator::Return(Vec::new()),
        });
        state.blocks.len() - 1
    }

    /// Adds a parameter to the current block.
    pub fn parameter(&self, ty: Type) -> ValueId {
        let mut state = self.state.borrow_mut();
        let id = state.define(ty, None);
        if let Some(block) = state.blocks.last_mut() {
            block.parameters.push(id);
        }
        id
    }

    /// Makes room for another instruction.
    fn room(&self) -> Result<()> {
        reserve::check()?;
        let state = &mut *self.state.borrow_mut();
        reserve::grow(&mut state.types, 1)?;
        reserve::grow(&mut state.places, 1)?;
        match state.blocks.last_mut() {
            Some(block) => reserve::grow(&mut block.instructions, 1),
            None => Ok(()),
        }
    }

    fn push(&self, ty: Type, expression: Expression) -> ValueId {
        let mut state = self.state.borrow_mut();
        let block = state.blocks.len() - 1;
        let place = (block as u32, state.blocks[block].instructions.len() as u32);
        let result = state.define(ty, Some(place));
        let instruction = Instruction { result, expression };
        state.blocks[block].instructions.push(instruction);
        result
    }

    /// Appends a fixed value.
    pub fn fixed(&self, value: Array) -> ValueId {
        self.push(value.ty(), Expression::Constant(value))
    }

    /// Appends an operator.
    ///
    /// # Errors
    /// [`Error::Value`] if an operand does not exist, [`Error::Memory`] if there is none for another
    /// instruction, and whatever the operator reports about the types.
    pub fn try_apply(&self, op: OpRef, args: &[ValueId]) -> Result<ValueId> {
        let ty = {
            let state = self.state.borrow();
            let ty = |&a: &ValueId| {
                let ty = state.types.get(a as usize);
                ty.ok_or_else(|| Error::Value(format!("value %{a} does not exist")))
            };
            let types: SmallVec<[&Type; 4]> = args.iter().map(ty).collect::<Result<_>>()?;
            result_type(&*op, &types)?
        };
        self.room()?;
        Ok(self.push(ty, Expression::Apply(op, args.into())))
    }

    /// Ends the current block.
    pub fn terminate(&self, terminator: Terminator) {
        if let Some(block) = self.state.borrow_mut().blocks.last_mut() {
            block.terminator = terminator;
        }
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
                types: state.types,
                blocks: state.blocks,
            }),
        }
    }
}

impl Algebra for Builder {
    fn apply(&self, op: OpRef, args: &[Id]) -> Id {
        self.try_apply(op, args).unwrap_or_else(|e| {
            self.state.borrow_mut().error.get_or_insert(e);
            args[0]
        })
    }

    fn ty(&self, id: Id) -> Type {
        self.state.borrow().types[id as usize].clone()
    }

    fn constant(&self, value: f64, dtype: DType) -> Id {
        self.fixed(Array::scalar(dtype, value))
    }

    fn take_error(&self) -> Option<Error> {
        self.state.borrow_mut().error.take()
    }

    fn is_sound(&self, a: Id, b: Id) -> bool {
        let state = self.state.borrow();
        state.error.is_none() && state.types[a as usize] == state.types[b as usize]
    }
}

impl Recording for Builder {
    fn definition(&self, id: Id) -> Option<Applied> {
        let state = self.state.borrow();
        let (block, k) = (*state.places.get(id as usize)?)?;
        match &state.blocks[block as usize].instructions[k as usize].expression {
            Expression::Apply(op, args) => Some((op.clone(), args.clone())),
            Expression::Constant(_) => None,
        }
    }

    fn next(&self) -> Id {
        self.state.borrow().types.len() as Id
    }

    fn is_scattered(&self, id: Id) -> bool {
        let state = self.state.borrow();
        let Some(&Some((block, k))) = state.places.get(id as usize) else {
            return false;
        };
        match &state.blocks[block as usize].instructions[k as usize].expression {
            Expression::Apply(op, _) => op.scatter().is_some(),
            Expression::Constant(_) => false,
        }
    }
}
