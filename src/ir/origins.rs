//! A function that is ready to be reversed, and where its runs came from.
//!
//! Where several edges lead to a block, the reverse pass has to know by which one a run came. The header
//! of a loop knows it by a counter ([`induction`](super::induction)). Elsewhere those who jump to the
//! block say it, in one more parameter.

use std::collections::HashMap;

use super::activity::Activity;
use super::cfg::Cfg;
use super::function::{Expression, Function, Instruction, ValueId};
use super::induction::{Inductions, count_turns, edges, inductions};
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
    /// How blocks know by which edge a run came.
    pub origins: &'f [Option<EdgeOrigin>],
    /// Variables that need not be kept.
    pub inductions: &'f Inductions,
}

/// How a block knows by which of two or more edges a run came.
#[derive(Debug, Clone, Copy)]
pub(super) enum EdgeOrigin {
    /// The parameter that tells: of kind Bool, which holds for the first edge, or Int, the edge's
    /// number.
    Told(ValueId),
    /// The block is the header of a loop: a counter, which is `start` on the way in, and the number
    /// of the edge that leads in.
    Counted {
        counter: ValueId,
        start: ValueId,
        entry: usize,
    },
}

/// Lets each block that the reverse pass leaves by several edges know by which of them a run came:
/// the header of a loop by a counter, which it gets if there is none; others by one more parameter.
pub(super) fn note_origins(
    function: &mut Function,
    graph: &Cfg,
    ways: &Ways,
) -> (Vec<Option<EdgeOrigin>>, Inductions) {
    let several = |block: usize| {
        let edges = graph.predecessors(block).len();
        edges > 1 && ways.next[block] == Next::Predecessors && ways.entering[block].is_some()
    };
    let mut inductions = inductions(function, graph, several);
    let mut constants = Constants::default();
    let mut origins = vec![None; function.blocks.len()];
    for (around, l) in graph.loops().iter().enumerate() {
        let Some((_, entry)) = edges(graph, around).filter(|_| several(l.header)) else {
            continue;
        };
        let known = inductions.iter().find(|(_, i)| i.around == around);
        let counted = known.map(|(&id, &i)| (id, i)).or_else(|| {
            let [zero, one] = [0, 1].map(|k| constants.get(function, Datum::Int(k)));
            count_turns(function, graph, around, (zero, one))
        });
        if let Some((counter, induction)) = counted {
            inductions.insert(counter, induction);
            origins[l.header] = Some(EdgeOrigin::Counted {
                counter,
                start: induction.start,
                entry: usize::from(graph.predecessors(l.header)[0] != entry),
            });
        }
    }
    for (block, origin) in origins.iter_mut().enumerate() {
        if origin.is_some() || !several(block) {
            continue;
        }
        let edges = graph.predecessors(block);
        let two = edges.len() == 2;
        let kind = if two { ValueKind::Bool } else { ValueKind::Int };
        function.kinds.push(kind);
        let parameter = (function.kinds.len() - 1) as ValueId;
        for (number, edge) in edges.iter().enumerate() {
            let constant = match two {
                true => constants.get(function, Datum::Bool(number == 0)),
                false => constants.get(function, Datum::Int(number as i64)),
            };
            let mut targets = function.blocks[edge.from].terminator.targets_mut();
            targets[edge.slot].args.push(constant);
        }
        function.blocks[block].parameters.push(parameter);
        *origin = Some(EdgeOrigin::Told(parameter));
    }
    if let Some(entry) = function.blocks.first_mut() {
        entry.instructions.extend(constants.instructions);
    }
    (origins, inductions)
}

/// Constants that a function gets, each once.
#[derive(Default)]
struct Constants {
    ids: HashMap<(bool, i64), ValueId>,
    instructions: Vec<Instruction>,
}

impl Constants {
    fn get(&mut self, function: &mut Function, value: Datum) -> ValueId {
        let key = match value {
            Datum::Int(k) => (false, k),
            Datum::Bool(b) => (true, i64::from(b)),
            Datum::Array(_) => unreachable!("origins are integers and truth"),
        };
        *self.ids.entry(key).or_insert_with(|| {
            function.kinds.push(value.kind());
            let id = (function.kinds.len() - 1) as ValueId;
            let instruction = Instruction::new(id, Expression::Constant(value));
            self.instructions.push(instruction);
            id
        })
    }
}
