//! Computing before a loop what each of its rounds would compute again.
//!
//! What moves depends on nothing that the loop changes and has a result for all operands, so that
//! it does not matter if the loop runs no round. It moves from blocks that run in every round; from
//! others it would be computed where it is not needed.
//!
//! It moves to the block that jumps to the loop, if there is one that does nothing else; else a new
//! block is made there. Inner loops come first, so that a value may move out of several.
//!
//! Limit: natural loops. Through a header that is the function's first block nothing moves.

use super::lengths::{Lengths, is_total_for};
use crate::ir::cfg::{Cfg, Edge};
use crate::ir::function::{Block, Expression, Function, Target, Terminator, ValueId};
use crate::ir::liveness::homes;

/// Moves what does not change out of loops. Definitions must dominate uses.
pub(super) fn hoist(function: &mut Function, lengths: Lengths) {
    let graph = Cfg::new(function);
    if graph.loops().is_empty() {
        return;
    }
    let mut homes = homes(function);
    // Headers, and the blocks that were put before them.
    let mut added: Vec<(usize, usize)> = Vec::new();
    for l in graph.loops().iter().rev() {
        if l.header == 0 {
            continue;
        }
        let mut inside = vec![false; function.blocks.len()];
        let mut blocks: Vec<usize> = Vec::with_capacity(l.blocks.len());
        for &block in &l.blocks {
            // What was put before a header inside stands before it here.
            let before = added
                .iter()
                .filter(|(header, _)| *header == block && block != l.header);
            blocks.extend(before.map(|(_, before)| before));
            blocks.push(block);
        }
        blocks.iter().for_each(|&block| inside[block] = true);
        let every_round = |block: usize| {
            let original = added.iter().find(|(_, before)| *before == block);
            let block = original.map_or(block, |(header, _)| *header);
            l.back.iter().all(|edge| graph.dominates(block, edge.from))
        };
        let mut moved = Vec::new();
        for &block in &blocks {
            if !every_round(block) {
                continue;
            }
            let mut instructions = std::mem::take(&mut function.blocks[block].instructions);
            instructions.retain(|i| {
                let fixed = |&id: &ValueId| homes[id as usize].is_none_or(|home| !inside[home]);
                let goes = !i.results.is_empty()
                    && !matches!(i.expression, Expression::Pop(_))
                    && i.expression.operands().iter().all(fixed)
                    && is_total_for(lengths, function, &i.expression);
                if goes {
                    for &id in &i.results {
                        homes[id as usize] = None;
                    }
                    moved.push(i.clone());
                }
                !goes
            });
            function.blocks[block].instructions = instructions;
        }
        if moved.is_empty() {
            continue;
        }
        let entering = graph.predecessors(l.header).iter().copied();
        let entering: Vec<Edge> = entering.filter(|edge| !l.back.contains(edge)).collect();
        let before = match entering.as_slice() {
            [edge] if graph.successors(edge.from).len() == 1 => edge.from,
            _ => {
                let before = before_header(function, l.header, &entering);
                added.push((l.header, before));
                before
            }
        };
        for i in moved {
            for &id in &i.results {
                homes[id as usize] = Some(before);
            }
            function.blocks[before].instructions.push(i);
        }
    }
}

/// Makes a block through which a loop is entered.
fn before_header(function: &mut Function, header: usize, entering: &[Edge]) -> usize {
    let number = function.blocks.len();
    let copies = function.blocks[header]
        .parameters
        .clone()
        .into_iter()
        .map(|p| {
            let copy = function.kinds.len() as ValueId;
            let kind = function.kind(p).clone();
            function.kinds.push(kind);
            copy
        });
    let parameters: Vec<ValueId> = copies.collect();
    for edge in entering {
        let mut targets = function.blocks[edge.from].terminator.targets_mut();
        targets[edge.slot].block = number;
    }
    function.blocks.push(Block {
        parameters: parameters.clone(),
        instructions: Vec::new(),
        terminator: Terminator::Jump(Target {
            block: header,
            args: parameters,
        }),
    });
    number
}
