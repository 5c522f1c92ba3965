//! The loss of one sample as a program, where it is one block of operators on arrays.
//!
//! A loss whose samples differ in the lengths of their arrays has no form for a batch. Where it neither
//! loops nor branches, there is a [`Plan`] of it for each set of lengths all the same, with
//! elementwise operators fused, one arena, and gradients that stay rows. A plan takes some tenths of a
//! millisecond to make, so it pays only where lengths occur again.
//!
//! Limits: parts of a sample are arrays or floating-point numbers, and constants arrays; a parameter is
//! passed once, and every trained table has a gradient, or there is no program.

use std::sync::Arc;

use super::loss_argument::LossArgument;
use crate::array::{DType, Shape, Type};
use crate::error::Result;
use crate::exec::leaf::Leaf;
use crate::exec::program::Program;
use crate::exec::{Plan, Wrt};
use crate::ir::{Datum, Expression, Function, Instruction, ValueKind};
use crate::table::Table;

/// A loss of one sample as a program. See the [module documentation](self).
#[derive(Debug)]
pub(crate) struct SampleProgram {
    program: Program,
    /// The part of a sample that each input is, and the leaf.
    inputs: Vec<(usize, usize)>,
    /// Which of the trained tables each of the program's is.
    tables: Vec<usize>,
}

impl SampleProgram {
    /// That of a function that is simplified, whose arguments are these; `None` if there is none.
    ///
    /// # Errors
    /// Whatever a rule reports while the adjoint is made.
    pub(in crate::exec) fn new(
        function: &Function,
        arguments: &[LossArgument],
        tables: &[Arc<Table>],
    ) -> Result<Option<Self>> {
        let mut function = function.clone();
        forget_others(&mut function);
        if function.straight().is_err() {
            return Ok(None);
        }
        let block = &mut function.blocks[0];
        let (mut leaves, mut inputs, mut trained) = (Vec::new(), Vec::new(), Vec::new());
        let mut constants = Vec::new();
        let mut parameters = Vec::new();
        for (&id, argument) in block.parameters.iter().zip(arguments) {
            match argument {
                LossArgument::Constant(value @ Datum::Array(_)) => {
                    constants.push(Instruction::new(id, Expression::Constant(value.clone())));
                    continue;
                }
                LossArgument::Constant(_) => return Ok(None),
                LossArgument::Parameter(number) if trained.contains(number) => return Ok(None),
                LossArgument::Parameter(number) => {
                    trained.push(*number);
                    leaves.push(Leaf::Parameter(Arc::clone(&tables[*number])));
                }
                LossArgument::Feed(feed) => {
                    let Some(ty) = function.kinds[id as usize].array() else {
                        return Ok(None);
                    };
                    inputs.push((*feed, leaves.len()));
                    leaves.push(Leaf::Input {
                        id: *feed as u64,
                        ty: ty.clone(),
                        name: format!("part {feed} of a sample"),
                    });
                }
            }
            parameters.push(id);
        }
        block.parameters = parameters;
        constants.append(&mut block.instructions);
        block.instructions = constants;
        let program = Program::new(function, leaves)?;
        let all = program.trains_all() && trained.len() == tables.len();
        Ok(all.then_some(SampleProgram {
            program,
            inputs,
            tables: trained,
        }))
    }

    /// The tables that plans are linked with.
    pub(crate) fn tables(&self) -> &[Arc<Table>] {
        self.program.tables()
    }

    /// The number, among the trained tables, of the one that each gradient is of.
    pub(crate) fn trained(&self) -> &[usize] {
        &self.tables
    }

    /// The part of a sample that each input is, and the leaf to which it is bound.
    pub(crate) fn inputs(&self) -> &[(usize, usize)] {
        &self.inputs
    }

    /// The type of a leaf, with the lengths that were seen.
    pub(crate) fn ty(&self, leaf: usize) -> Type {
        self.program.leaves()[leaf].ty()
    }

    /// A plan for inputs of these shapes.
    ///
    /// # Errors
    /// What an operator reports of them.
    pub(crate) fn plan(&self, shapes: &[Shape]) -> Result<Arc<Plan>> {
        self.program.plan(shapes, Wrt::Parameters)
    }
}

/// Makes the kind of every value that nothing defines any more, since simplification removed it, a single
/// number: it may have been no array, and a program has arrays alone.
fn forget_others(function: &mut Function) {
    let mut defined = vec![false; function.kinds.len()];
    for block in &function.blocks {
        let results = block.instructions.iter().flat_map(|i| &i.results);
        for &id in block.parameters.iter().chain(results) {
            defined[id as usize] = true;
        }
    }
    for (kind, defined) in function.kinds.iter_mut().zip(defined) {
        if !defined {
            *kind = ValueKind::number(DType::F64);
        }
    }
}
