//! Computing before it is kept what is only computed from what was kept.
//!
//! A gradient takes records from a tape, in the opposite order of a loop that appended them, and
//! begins with what depends on such a record alone: the cosine of what was the argument of a sine. That
//! is computed where the record is appended instead, and the result is kept. There it stands beside
//! what it has in common with the function itself, which the passes over values find: the derivative
//! of an exponential is the exponential. And it no longer waits for the loop that reads it.
//!
//! It is done where no more has to be kept than before, and the same is computed as often as before.
//!
//! Limit: tapes that one instruction appends to and one takes from, as those of gradients; what is
//! computed in the block that takes the record.

use std::collections::HashMap;

use super::lengths::Lengths;
use crate::ir::cfg::Cfg;
use crate::ir::function::{Expression, Function, Instruction, ValueId};
use crate::ir::liveness::homes;

/// Where an instruction stands: the block, and its number in it.
type Site = (usize, usize);

/// Moves what is computed from records alone to where they are appended. Whether anything moved.
pub(super) fn compute_before_keeping(function: &mut Function) -> bool {
    if function.tapes.is_empty() {
        return false;
    }
    let graph = Cfg::new(function);
    let mut moved = false;
    for tape in 0..function.tapes.len() as u32 {
        if let Some((push, pop)) = only_sites(function, &graph, tape)
            && push.0 != pop.0
        {
            moved |= rearrange(function, &graph, tape, push, pop);
        }
    }
    moved
}

/// The one place where a tape is appended to, and the one where it is taken from.
fn only_sites(function: &Function, graph: &Cfg, tape: u32) -> Option<(Site, Site)> {
    let (mut push, mut pop) = (None, None);
    for &block in graph.order() {
        for (k, i) in function.blocks[block].instructions.iter().enumerate() {
            let site = match i.expression {
                Expression::Push(t, _) if t == tape => &mut push,
                Expression::Pop(t) if t == tape => &mut pop,
                _ => continue,
            };
            if site.replace((block, k)).is_some() {
                return None;
            }
        }
    }
    push.zip(pop)
}

/// A part of a record with all that is computed from it alone.
#[derive(Default)]
struct RecordPart {
    /// How many values it has in a record now.
    kept: usize,
    /// Those of its values that others read.
    read: Vec<ValueId>,
}

/// Which values of a block follow from a record, by parts that have nothing to do with each other.
struct RecordParts {
    /// Of each value that follows, another one of its part; itself for one of each part.
    same: HashMap<ValueId, ValueId>,
}

impl RecordParts {
    /// The value that stands for the part of a value.
    fn part(&self, mut id: ValueId) -> Option<ValueId> {
        loop {
            match *self.same.get(&id)? {
                next if next == id => return Some(id),
                next => id = next,
            }
        }
    }
}

fn rearrange(function: &mut Function, graph: &Cfg, tape: u32, push: Site, pop: Site) -> bool {
    let homes = homes(function);
    // What is there when the record is appended, and is the same when it is taken.
    let fixed = |id: ValueId| {
        homes[id as usize].is_some_and(|home| {
            home != push.0 && !graph.in_cycle(home) && graph.dominates(home, push.0)
        })
    };
    let here = &function.blocks[pop.0].instructions;
    let fields = here[pop.1].results.clone();
    let mut parts = RecordParts {
        same: fields.iter().map(|&id| (id, id)).collect(),
    };
    let mut follows = vec![false; here.len()];
    for (k, i) in here.iter().enumerate().skip(pop.1 + 1) {
        let operands = i.expression.operands();
        let mut from = operands.iter().filter_map(|&id| parts.part(id));
        let (Some(first), &[result]) = (from.next(), i.results.as_slice()) else {
            continue;
        };
        let known = |&id: &ValueId| parts.same.contains_key(&id) || fixed(id);
        if !operands.iter().all(known) || !Lengths::Seen.is_droppable(function, &i.expression) {
            continue;
        }
        for other in from.collect::<Vec<_>>() {
            parts.same.insert(other, first);
        }
        parts.same.insert(result, first);
        follows[k] = true;
    }
    if !follows.contains(&true) {
        return false;
    }
    // What would be kept of each part.
    let mut found: HashMap<ValueId, RecordPart> = HashMap::new();
    for &id in &fields {
        if let Some(part) = parts.part(id) {
            found.entry(part).or_default().kept += 1;
        }
    }
    let mut read = |id: ValueId| {
        if let Some(part) = parts.part(id) {
            let read = &mut found.entry(part).or_default().read;
            if !read.contains(&id) {
                read.push(id);
            }
        }
    };
    for &block in graph.order() {
        let b = &function.blocks[block];
        for (k, i) in b.instructions.iter().enumerate() {
            if block != pop.0 || !follows[k] {
                i.expression.operands().iter().for_each(|&id| read(id));
            }
        }
        b.terminator.each(&mut read);
    }
    let moves = |id: ValueId| {
        let part = parts.part(id).and_then(|part| found.get(&part));
        part.is_some_and(|part| part.read.len() <= part.kept)
    };
    let here = follows.iter().zip(&function.blocks[pop.0].instructions);
    let going = here.map(|(&follows, i)| follows && moves(i.results[0]));
    let going: Vec<bool> = going.collect();
    if !going.contains(&true) {
        return false;
    }
    let mut record: Vec<ValueId> = fields.iter().copied().filter(|&id| !moves(id)).collect();
    let all = fields.iter().filter_map(|&id| parts.part(id));
    let mut done: Vec<ValueId> = Vec::new();
    for part in all {
        if moves(part) && !done.contains(&part) {
            done.push(part);
            record.extend(&found[&part].read);
        }
    }
    apply(function, tape, push, pop, &going, &record);
    true
}

/// Moves the instructions that are `going` from where a record is taken to where it is appended, and
/// lets it be of the values `record`.
fn apply(
    function: &mut Function,
    tape: u32,
    push: Site,
    pop: Site,
    going: &[bool],
    record: &[ValueId],
) {
    let mut names: HashMap<ValueId, ValueId> = HashMap::new();
    let fields = &function.blocks[pop.0].instructions[pop.1].results;
    let appended = function.blocks[push.0].instructions[push.1]
        .expression
        .operands();
    names.extend(fields.iter().copied().zip(appended.iter().copied()));
    let here = std::mem::take(&mut function.blocks[pop.0].instructions);
    let mut moved: Vec<Instruction> = Vec::new();
    for (k, mut i) in here.into_iter().enumerate() {
        if k == pop.1 {
            i.results = record.into();
        }
        if !going[k] {
            function.blocks[pop.0].instructions.push(i);
            continue;
        }
        for id in i.expression.operands_mut() {
            *id = *names.get(id).unwrap_or(id);
        }
        for id in &mut i.results {
            let copy = function.kinds.len() as ValueId;
            let kind = function.kind(*id).clone();
            function.kinds.push(kind);
            names.insert(*id, copy);
            *id = copy;
        }
        moved.push(i);
    }
    let named = record.iter().map(|id| *names.get(id).unwrap_or(id));
    let there = &mut function.blocks[push.0].instructions;
    there[push.1].expression = Expression::Push(tape, named.collect());
    there.splice(push.1..push.1, moved);
    let kinds = record.iter().map(|&id| function.kind(id).clone());
    function.tapes[tape as usize] = kinds.collect();
}
