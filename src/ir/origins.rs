//! A function that is ready to be reversed, and where its runs came from.
//!
//! Where several edges lead to a block, the reverse pass has to know by which one a run came: those who
//! jump there say it, in one more parameter of the block.

use std::collections::BTreeMap;

use super::activity::Activity;
use super::cfg::Cfg;
use super::function::{Expression, Function, Instruction, ValueId};
use super::kind::{Datum, ValueKind};
use super::presence::{Next, Ways};

/// The point of a function whose values a reversed block may use.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Point {
    /// The end of a block.
    Block(usize),
    /// On the way from a block by the target of that number, before any parameter is defined.
    Edge(usize, usize),
}

/// A function that is ready to be reversed: its entry is jumped to by nobody, one block returns, and
/// blocks that the reverse pass leaves by several edges tell by which one they were entered.
pub(super) struct Forward<'f> {
    pub function: &'f Function,
    pub graph: &'f Cfg,
    pub activity: &'f Activity,
    pub ways: &'f Ways,
    /// The block that returns.
    pub exit: usize,
    /// The parameter of each block that tells the edge.
    pub origins: &'f [Option<ValueId>],
}

/// Lets each block that the reverse pass leaves by several edges have one more parameter, which tells
/// by which of its predecessors a run came: of kind Bool for two, and Int for more.
pub(super) fn note_origins(
    function: &mut Function,
    graph: &Cfg,
    ways: &Ways,
) -> Vec<Option<ValueId>> {
    let mut origins = vec![None; function.blocks.len()];
    let mut constants: BTreeMap<(bool, usize), ValueId> = BTreeMap::new();
    let mut instructions: Vec<Instruction> = Vec::new();
    for (block, origin) in origins.iter_mut().enumerate() {
        let edges = graph.predecessors(block);
        let several = edges.len() > 1 && ways.next[block] == Next::Predecessors;
        if !several || ways.entering[block].is_none() {
            continue;
        }
        let two = edges.len() == 2;
        let mut define = |kind: ValueKind| {
            function.kinds.push(kind);
            (function.kinds.len() - 1) as ValueId
        };
        let parameter = define(if two { ValueKind::Bool } else { ValueKind::Int });
        for (number, edge) in edges.iter().enumerate() {
            let constant = *constants.entry((two, number)).or_insert_with(|| {
                let value = match two {
                    true => Datum::Bool(number == 0),
                    false => Datum::Int(number as i64),
                };
                let id = define(value.kind());
                instructions.push(Instruction::new(id, Expression::Constant(value)));
                id
            });
            let mut targets = function.blocks[edge.from].terminator.targets_mut();
            targets[edge.slot].args.push(constant);
        }
        function.blocks[block].parameters.push(parameter);
        *origin = Some(parameter);
    }
    if let Some(entry) = function.blocks.first_mut() {
        entry.instructions.append(&mut instructions);
    }
    origins
}
