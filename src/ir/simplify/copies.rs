//! Parameters of blocks that are always given one value.
//!
//! Such a parameter is a copy. Whether it is may depend on others, around loops: all are taken for
//! copies until two values are found to meet (sparse conditional constant propagation does so for
//! constants; Wegman and Zadeck, 1991). So two variables that a loop only swaps, and that start as
//! one value, are that value.

use crate::ir::cfg::Cfg;
use crate::ir::function::{Function, ValueId};

/// Stands for a parameter that was given nothing yet.
const NOTHING: ValueId = ValueId::MAX;

/// Takes parameters that are copies from their blocks, and what they were given from the jumps. For
/// each value, the one that stands for it; whether any parameter was taken.
pub(super) fn drop_copies(function: &mut Function, graph: &Cfg) -> (Vec<ValueId>, bool) {
    let mut stands: Vec<ValueId> = (0..function.kinds.len() as ValueId).collect();
    let blocks = graph.order().iter().copied().skip(1);
    let blocks = blocks.filter(|&block| !function.blocks[block].parameters.is_empty());
    let blocks: Vec<usize> = blocks.collect();
    for &block in &blocks {
        for &p in &function.blocks[block].parameters {
            stands[p as usize] = NOTHING;
        }
    }
    let mut changed = true;
    while changed {
        changed = false;
        for &block in &blocks {
            for (k, &p) in function.blocks[block].parameters.iter().enumerate() {
                if stands[p as usize] == p {
                    continue;
                }
                let mut met = NOTHING;
                for edge in graph.predecessors(block) {
                    let targets = function.blocks[edge.from].terminator.targets();
                    let given = stands[targets[edge.slot].args[k] as usize];
                    met = match (met, given) {
                        (NOTHING, other) | (other, NOTHING) => other,
                        (a, b) if a == b => a,
                        _ => p,
                    };
                    if met == p {
                        break;
                    }
                }
                changed |= std::mem::replace(&mut stands[p as usize], met) != met;
            }
        }
    }
    let mut taken = false;
    for &block in &blocks {
        let parameters = &function.blocks[block].parameters;
        let stay: Vec<bool> = parameters
            .iter()
            .map(|&p| stands[p as usize] == p)
            .collect();
        if stay.iter().all(|stays| *stays) {
            continue;
        }
        taken = true;
        for edge in graph.predecessors(block) {
            let mut targets = function.blocks[edge.from].terminator.targets_mut();
            let mut stay = stay.iter();
            targets[edge.slot]
                .args
                .retain(|_| *stay.next().unwrap_or(&true));
        }
        let mut stay = stay.iter();
        let parameters = &mut function.blocks[block].parameters;
        parameters.retain(|_| *stay.next().unwrap_or(&true));
    }
    (stands, taken)
}
