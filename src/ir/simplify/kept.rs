//! Moves instructions that depend on one record of a tape alone from where the record is popped to
//! where it is pushed, and pushes their results instead.
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

use rustc_hash::FxHashMap as HashMap;
use smallvec::SmallVec;

use super::lengths::is_total;
use crate::ir::cfg::Cfg;
use crate::ir::function::{Expression, Function, Instruction, Operands, ValueId};
use crate::ir::liveness::homes;

/// What is known of a function while its tapes are gone through.
struct TapeSurvey {
    graph: Cfg,
    homes: Vec<Option<usize>>,
    /// How often each value is read.
    uses: Vec<usize>,
}

/// Moves what is computed from records alone to where they are appended.
pub(super) fn compute_before_keeping(function: &mut Function) {
    if function.tapes.is_empty() {
        return;
    }
    let graph = Cfg::new(function);
    let mut survey = TapeSurvey {
        homes: homes(function),
        uses: vec![0; function.kinds.len()],
        graph,
    };
    // The blocks that append to each tape and that take from it.
    let mut sites: Vec<[SmallVec<[usize; 2]>; 2]> = vec![Default::default(); function.tapes.len()];
    for &block in survey.graph.order() {
        let b = &function.blocks[block];
        for i in &b.instructions {
            match i.expression {
                Expression::Push(tape, _) => sites[tape as usize][0].push(block),
                Expression::Pop(tape) => sites[tape as usize][1].push(block),
                _ => {}
            }
            for &id in i.expression.operands() {
                survey.uses[id as usize] += 1;
            }
        }
        b.terminator.each(|id| survey.uses[id as usize] += 1);
    }
    for (tape, [push, pop]) in (0..).zip(sites) {
        if let (&[push], &[pop]) = (push.as_slice(), pop.as_slice())
            && push != pop
        {
            rearrange(function, &mut survey, tape, push, pop);
        }
    }
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

/// Moves what block `pop` computes from a record of a tape alone to the block `push`.
fn rearrange(function: &mut Function, survey: &mut TapeSurvey, tape: u32, push: usize, pop: usize) {
    // What is there when the record is appended, and is the same when it is taken.
    let fixed = |id: ValueId| {
        let graph = &survey.graph;
        survey.homes[id as usize].is_some_and(|home| {
            home != push && !graph.in_cycle(home) && graph.dominates(home, push)
        })
    };
    let here = &function.blocks[pop].instructions;
    let takes = |i: &Instruction| matches!(i.expression, Expression::Pop(t) if t == tape);
    let Some(at) = here.iter().position(takes) else {
        return;
    };
    let fields = here[at].results.clone();
    let mut parts = RecordParts {
        same: fields.iter().map(|&id| (id, id)).collect(),
    };
    let mut follows = vec![false; here.len()];
    for (k, i) in here.iter().enumerate().skip(at + 1) {
        let operands = i.expression.operands();
        let mut from = operands.iter().filter_map(|&id| parts.part(id));
        let (Some(first), &[result]) = (from.next(), i.results.as_slice()) else {
            continue;
        };
        let known = |&id: &ValueId| parts.same.contains_key(&id) || fixed(id);
        if !operands.iter().all(known) || !is_total(function, &i.expression) {
            continue;
        }
        for other in from.collect::<Vec<_>>() {
            parts.same.insert(other, first);
        }
        parts.same.insert(result, first);
        follows[k] = true;
    }
    if !follows.contains(&true) {
        return;
    }
    // What would be kept of each part: what others read too.
    let mut inside: HashMap<ValueId, usize> = HashMap::default();
    for (i, _) in here.iter().zip(&follows).filter(|(_, follows)| **follows) {
        for &id in i.expression.operands() {
            *inside.entry(id).or_default() += 1;
        }
    }
    let mut found: HashMap<ValueId, RecordPart> = HashMap::default();
    let results = here.iter().zip(&follows).filter(|(_, follows)| **follows);
    let results = results.map(|(i, _)| i.results[0]);
    for (k, id) in fields.iter().copied().chain(results).enumerate() {
        let Some(part) = parts.part(id) else {
            continue;
        };
        let part = found.entry(part).or_default();
        part.kept += usize::from(k < fields.len());
        if survey.uses[id as usize] > inside.get(&id).copied().unwrap_or(0) {
            part.read.push(id);
        }
    }
    let moves = |id: ValueId| {
        let part = parts.part(id).and_then(|part| found.get(&part));
        part.is_some_and(|part| part.read.len() <= part.kept)
    };
    let going = follows.iter().zip(here);
    let going = going.map(|(&follows, i)| follows && moves(i.results[0]));
    let going: Vec<bool> = going.collect();
    if !going.contains(&true) {
        return;
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
    apply(function, survey, (tape, push, pop), &going, &record);
}

/// Moves the instructions that are `going` from the block that takes a record of a tape to the one that
/// appends it, and lets it be of the values `record`.
fn apply(
    function: &mut Function,
    survey: &mut TapeSurvey,
    (tape, push, pop): (u32, usize, usize),
    going: &[bool],
    record: &[ValueId],
) {
    let appends = |i: &Instruction| matches!(i.expression, Expression::Push(t, _) if t == tape);
    let Some(to) = function.blocks[push].instructions.iter().position(appends) else {
        return;
    };
    let appended = &mut function.blocks[push].instructions[to].expression;
    let appended = std::mem::replace(appended, Expression::Pop(tape));
    let appended = appended.operands().iter().copied();
    let mut names: HashMap<ValueId, ValueId> = HashMap::default();
    let mut moved: Vec<Instruction> = Vec::new();
    for (mut i, going) in std::mem::take(&mut function.blocks[pop].instructions)
        .into_iter()
        .zip(going)
    {
        if matches!(i.expression, Expression::Pop(t) if t == tape) {
            names.extend(i.results.iter().copied().zip(appended.clone()));
            i.results = record.into();
        }
        if !going {
            function.blocks[pop].instructions.push(i);
            continue;
        }
        for id in i.expression.operands_mut() {
            *id = *names.get(id).unwrap_or(id);
            survey.uses[*id as usize] += 1;
        }
        for id in &mut i.results {
            let copy = function.kinds.len() as ValueId;
            let kind = function.kind(*id).clone();
            function.kinds.push(kind);
            survey.homes.push(Some(push));
            survey.uses.push(0);
            names.insert(*id, copy);
            *id = copy;
        }
        moved.push(i);
    }
    let kept = record.iter().map(|id| *names.get(id).unwrap_or(id));
    let kept: Operands = kept.collect();
    for id in appended {
        survey.uses[id as usize] -= 1;
    }
    for &id in &kept {
        survey.uses[id as usize] += 1;
    }
    let there = &mut function.blocks[push].instructions;
    there[to].expression = Expression::Push(tape, kept);
    there.splice(to..to, moved);
    let kinds = record.iter().map(|&id| function.kind(id).clone());
    function.tapes[tape as usize] = kinds.collect();
}
