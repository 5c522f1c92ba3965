//! Integers that a loop changes by a fixed number each turn, as counters.
//!
//! The reverse pass need not keep them: it begins with what such a variable was when the loop was left,
//! and takes the number away again at each turn. It also tells where the loop was entered: where it has
//! the value that it began with, since sums that do not fit 64 bits leave the function.
//!
//! Limit: loops with one edge back and one way in.

use std::collections::BTreeMap;

use super::cfg::{Cfg, Edge};
use super::function::{Exit, Expression, Function, Instruction, Operands, ValueId};
use super::kind::{Datum, ValueKind};
use super::scalar::ScalarOperator;

/// A variable of a loop that changes by a fixed number.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Induction {
    /// The number of the loop.
    pub around: usize,
    /// The edge back to its header.
    pub back: Edge,
    /// What it is at first.
    pub start: ValueId,
    /// A constant, which is not 0.
    pub step: ValueId,
    /// What undoes a turn.
    pub undo: ScalarOperator,
    /// By which exit a turn is left if it cannot be done.
    pub exit: Option<u32>,
}

/// Such variables by the parameter of the loop's header that each is.
pub(crate) type Inductions = BTreeMap<ValueId, Induction>;

/// The only edge back to the header of a loop, and the only way in.
pub(super) fn edges(graph: &Cfg, l: usize) -> Option<(Edge, Edge)> {
    let found = &graph.loops()[l];
    match (&found.back[..], graph.predecessors(found.header)) {
        (&[back], &[a, b]) if a == back => Some((back, b)),
        (&[back], &[a, b]) if b == back => Some((back, a)),
        _ => None,
    }
}

/// The variables of loops whose headers are `wanted` that change by a fixed number.
pub(crate) fn inductions(
    function: &Function,
    graph: &Cfg,
    wanted: impl Fn(usize) -> bool,
) -> Inductions {
    let mut integers: Vec<Option<&Instruction>> = vec![None; function.kinds.len()];
    for i in function.blocks.iter().flat_map(|b| &b.instructions) {
        let integer = match &i.expression {
            Expression::Constant(Datum::Int(k)) => *k != 0,
            Expression::Compute(op, ..) => {
                matches!(op, ScalarOperator::IntAdd | ScalarOperator::IntSub)
            }
            _ => false,
        };
        if integer {
            integers[i.results[0] as usize] = Some(i);
        }
    }
    let step = |id: ValueId| {
        let expression = integers[id as usize].map(|i| &i.expression);
        matches!(expression, Some(Expression::Constant(_)))
    };
    let mut found = Inductions::new();
    for (around, l) in graph.loops().iter().enumerate() {
        let Some((back, entry)) = edges(graph, around).filter(|_| wanted(l.header)) else {
            continue;
        };
        let args = |edge: Edge| {
            let targets = function.blocks[edge.from].terminator.targets();
            targets[edge.slot].args.clone()
        };
        let parameters = function.blocks[l.header].parameters.iter();
        for ((&p, start), next) in parameters.zip(args(entry)).zip(args(back)) {
            let Some(Instruction {
                expression: Expression::Compute(op, operands, exit),
                ..
            }) = integers[next as usize]
            else {
                continue;
            };
            let (step, undo) = match (op, operands[0], operands[1]) {
                (ScalarOperator::IntAdd, a, b) if a == p && step(b) => (b, ScalarOperator::IntSub),
                (ScalarOperator::IntAdd, a, b) if b == p && step(a) => (a, ScalarOperator::IntSub),
                (ScalarOperator::IntSub, a, b) if a == p && step(b) => (b, ScalarOperator::IntAdd),
                _ => continue,
            };
            let exit = *exit;
            found.insert(
                p,
                Induction {
                    around,
                    back,
                    start,
                    step,
                    undo,
                    exit,
                },
            );
        }
    }
    found
}

/// Lets the header of a loop count the turns, in one more parameter. `zero` and `one` are constants.
pub(super) fn count_turns(
    function: &mut Function,
    graph: &Cfg,
    around: usize,
    (zero, one): (ValueId, ValueId),
) -> Option<(ValueId, Induction)> {
    let (back, entry) = edges(graph, around)?;
    let turns = function.kinds.len() as ValueId;
    function.kinds.extend([ValueKind::Int, ValueKind::Int]);
    let next = turns + 1;
    function.notes.exits.push(Exit {
        text: "a loop of more turns than 64 bits count".into(),
        line: 0,
    });
    let exit = Some((function.notes.exits.len() - 1) as u32);
    let header = graph.loops()[around].header;
    function.blocks[header].parameters.push(turns);
    let add = Expression::Compute(
        ScalarOperator::IntAdd,
        Operands::from_slice(&[turns, one]),
        exit,
    );
    let latch = &mut function.blocks[back.from];
    latch.instructions.push(Instruction::new(next, add));
    for (edge, arg) in [(entry, zero), (back, next)] {
        let mut targets = function.blocks[edge.from].terminator.targets_mut();
        targets[edge.slot].args.push(arg);
    }
    let induction = Induction {
        around,
        back,
        start: zero,
        step: one,
        undo: ScalarOperator::IntSub,
        exit,
    };
    Some((turns, induction))
}
