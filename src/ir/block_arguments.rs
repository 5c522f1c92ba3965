//! Forms in which passes over blocks are easier: values that cross blocks only as arguments, and one
//! place where a function returns.
//!
//! In SSA form a value may be used in every block that its own dominates. [`thread_values`] takes
//! that away from chosen values: what a block uses of them it then gets as a parameter from each
//! block that jumps to it, as variables of a program are handed on. [`merge_returns`] lets all ways
//! out of a function lead through one block.

use std::collections::HashMap;

use super::cfg::Cfg;
use super::function::{Block, Function, Target, Terminator, ValueId};
use super::liveness::Liveness;

/// The same function, in which each of the `chosen` values that a block needs from before it is a
/// parameter of that block: a new value, after the parameters that are there. A value's own id
/// stays that of its definition, and is used in the block of that alone. Blocks that cannot be
/// reached stay as they are.
pub fn thread_values(function: &Function, chosen: impl Fn(&Function, ValueId) -> bool) -> Function {
    let graph = Cfg::new(function);
    let live = Liveness::new(function, &graph);
    let mut out = function.clone();
    // What each block calls the values that it now gets.
    let mut names: Vec<HashMap<ValueId, ValueId>> = vec![HashMap::new(); function.blocks.len()];
    for &block in graph.order() {
        for &id in live.live_in(block) {
            if chosen(function, id) {
                let name = out.kinds.len() as ValueId;
                out.kinds.push(function.kind(id).clone());
                if let Some(text) = function.notes.names.get(&id) {
                    out.notes.names.insert(name, text.clone());
                }
                out.blocks[block].parameters.push(name);
                names[block].insert(id, name);
            }
        }
    }
    for &block in graph.order() {
        let here = &mut out.blocks[block];
        let rename = |id: &mut ValueId| *id = *names[block].get(id).unwrap_or(id);
        for i in &mut here.instructions {
            i.expression.operands_mut().iter_mut().for_each(rename);
        }
        here.terminator.each_mut(rename);
        for to in here.terminator.targets_mut() {
            let needed = live.live_in(to.block).iter().copied();
            let needed = needed.filter(|id| names[to.block].contains_key(id));
            let known = needed.map(|id| *names[block].get(&id).unwrap_or(&id));
            to.args.extend(known);
        }
    }
    out
}

/// The same function with one block that returns, and the number of that block. It stays as it is if
/// one block alone returns; if several do, they jump to a new one, whose parameters are the results.
/// `None` if no block that can be reached returns.
pub fn merge_returns(function: &Function) -> Option<(Function, usize)> {
    let graph = Cfg::new(function);
    let returns = |b: &usize| matches!(function.blocks[*b].terminator, Terminator::Return(_));
    let exits: Vec<usize> = graph.order().iter().copied().filter(returns).collect();
    let &first = exits.first()?;
    let mut out = function.clone();
    if exits.len() == 1 {
        return Some((out, first));
    }
    let exit = out.blocks.len();
    let mut results: Option<Vec<ValueId>> = None;
    for &block in &exits {
        let Terminator::Return(args) = &out.blocks[block].terminator else {
            continue;
        };
        let args = args.clone();
        results.get_or_insert_with(|| {
            let kinds = args.iter().map(|&id| function.kind(id).clone());
            let first = out.kinds.len() as ValueId;
            out.kinds.extend(kinds);
            (first..out.kinds.len() as ValueId).collect()
        });
        out.blocks[block].terminator = Terminator::Jump(Target { block: exit, args });
    }
    let results = results.unwrap_or_default();
    out.blocks.push(Block {
        parameters: results.clone(),
        instructions: Vec::new(),
        terminator: Terminator::Return(results),
    });
    Some((out, exit))
}
