//! Calls of code by itself, as jumps.
//!
//! A function of the ir has no calls: what a function calls is a part of it. A part that calls
//! itself, to a depth that is not known, is a region of blocks with an entry. Calls of it are jumps
//! to the entry. What the caller still needs is kept on a tape, with the number of the call; a
//! return takes that number and goes on behind the call, where what was kept is taken (Reynolds,
//! "Definitional interpreters for higher-order programming languages", 1972, calls such a change
//! *defunctionalisation*).
//!
//! So recursion is a loop with tapes. Whatever takes functions with loops takes it too: derivatives of any
//! order, simplifying, the interpreter and machine code. It uses memory of tapes, and no stack of the
//! thread.

use std::collections::{HashMap, HashSet};

use super::cfg::Cfg;
use super::function::{Expression, Function, Instruction, Target, Terminator, ValueId};
use super::kind::{Datum, ValueKind};
use super::liveness::{Liveness, homes};
use crate::error::{Error, Result};

/// A call of a region, at the end of a block.
#[derive(Debug, Clone)]
pub struct RegionCall {
    /// The block that calls. Its terminator is not looked at.
    pub block: usize,
    /// What the parameters of the entry become.
    pub args: Vec<ValueId>,
    /// The block that goes on. Its parameters are the results, and nothing else leads to it.
    pub then: usize,
}

/// A region of blocks that calls itself.
#[derive(Debug, Clone)]
pub struct Recursion {
    /// Its first block, to which only calls lead.
    pub entry: usize,
    /// The call by which it is begun, from outside.
    pub first: RegionCall,
    /// The calls within it.
    pub inner: Vec<RegionCall>,
    /// The block that returns. Its terminator is not looked at.
    pub end: usize,
    /// What it returns.
    pub results: Vec<ValueId>,
}

impl Recursion {
    /// All calls; the first is number 0.
    fn calls(&self) -> impl Iterator<Item = &RegionCall> + Clone {
        std::iter::once(&self.first).chain(&self.inner)
    }
}

/// Turns the calls of regions into jumps. In the function that is given a block behind a call may use what
/// is defined before it, as if the call were an instruction.
///
/// Regions that cannot be reached are left as they are. The function has yet to be
/// [checked](Function::check).
///
/// # Errors
/// [`Error::Value`] if a block or value does not exist, or a block ends in two calls, follows two,
/// or is the entry of two regions; and if a value is used that may not be defined.
pub fn without_calls(function: &Function, regions: &[Recursion]) -> Result<Function> {
    check(function, regions)?;
    let regions = reachable(function, regions);
    let mut marked = mark(function, &regions);
    let mut changing = changing(&marked, &regions);
    lift_constants(&mut marked, &mut changing);
    let before: Vec<usize> = marked.blocks.iter().map(|b| b.parameters.len()).collect();
    thread_values(&mut marked, &changing);
    if marked.blocks[0].parameters.len() != before[0] {
        return Err(Error::Value(format!(
            "{}: a value is used behind a call that is not defined on every way there",
            function.name
        )));
    }
    for region in &regions {
        jump(&mut marked, region, &before);
    }
    Ok(marked)
}

/// Checks that the blocks and values that are named exist, and blocks once where they have to be.
fn check(function: &Function, regions: &[Recursion]) -> Result<()> {
    let wrong = |what: String| Err(Error::Value(format!("{}: {what}", function.name)));
    let count = function.kinds.len();
    let mut begun = HashSet::new();
    let mut ended = HashSet::new();
    for region in regions {
        let calls = || region.calls();
        let starts = calls().map(|call| call.then).chain([region.entry]);
        let ends = calls().map(|call| call.block).chain([region.end]);
        for block in starts.clone().chain(ends.clone()) {
            if block >= function.blocks.len() {
                return wrong(format!("block {block} of a call does not exist"));
            }
        }
        for block in starts {
            if block == 0 || !begun.insert(block) {
                return wrong(format!("block {block} is begun by calls in several ways"));
            }
        }
        for block in ends {
            if !ended.insert(block) {
                return wrong(format!("block {block} ends in several calls"));
            }
        }
    }
    let mut missing = None;
    let mut note = |id: ValueId| {
        if id as usize >= count {
            missing = Some(id);
        }
    };
    for region in regions {
        let values = region.calls().flat_map(|call| &call.args);
        values.chain(&region.results).copied().for_each(&mut note);
    }
    for block in &function.blocks {
        for i in &block.instructions {
            let operands = i.expression.operands().iter();
            operands.chain(&i.results).copied().for_each(&mut note);
        }
        block.parameters.iter().copied().for_each(&mut note);
        block.terminator.each(&mut note);
        let mut targets = block.terminator.targets().into_iter();
        if targets.any(|to| to.block >= function.blocks.len()) {
            return wrong("a block that does not exist is jumped to".into());
        }
    }
    missing.map_or(Ok(()), |id| wrong(format!("value %{id} does not exist")))
}

/// The regions and calls that can be reached.
fn reachable(function: &Function, regions: &[Recursion]) -> Vec<Recursion> {
    let graph = Cfg::new(&mark(function, regions));
    let mut regions: Vec<Recursion> = regions.to_vec();
    regions.retain(|region| graph.is_reachable(region.first.block));
    for region in &mut regions {
        region.inner.retain(|call| graph.is_reachable(call.block));
    }
    regions
}

/// The function in which a block that calls leads to the entry and, from within the region, to the
/// block that goes on, and the end of a region to what follows its first call: so values are needed where
/// they would be if calls were instructions. Calls within a region switch on their number, which is
/// what they will keep.
fn mark(function: &Function, regions: &[Recursion]) -> Function {
    let mut out = function.clone();
    for region in regions {
        let entry = |call: &RegionCall| Target {
            block: region.entry,
            args: call.args.clone(),
        };
        let several = region.inner.len() > 1;
        for (number, call) in region.calls().enumerate() {
            let number = match several {
                true => Datum::Int(number as i64),
                false => Datum::Bool(number > 0),
            };
            out.kinds.push(number.kind());
            let value = (out.kinds.len() - 1) as ValueId;
            let block = &mut out.blocks[call.block];
            let constant = Instruction::new(value, Expression::Constant(number));
            block.instructions.push(constant);
            let then = Target {
                block: call.then,
                args: Vec::new(),
            };
            let mut targets = vec![entry(call)];
            if call.then != region.first.then {
                targets.push(then);
            }
            block.terminator = Terminator::Switch { value, targets };
        }
        out.blocks[region.end].terminator = Terminator::Jump(Target {
            block: region.first.then,
            args: region.results.clone(),
        });
    }
    out
}

/// The values that are defined in a region and needed after a call within one: another run of the
/// region defines them again.
fn changing(marked: &Function, regions: &[Recursion]) -> HashSet<ValueId> {
    let graph = &Cfg::new(marked);
    let count = marked.blocks.len();
    let calls = || regions.iter().flat_map(|region| &region.inner);
    let onward: HashMap<usize, usize> = calls().map(|call| (call.block, call.then)).collect();
    let mut inside = vec![false; count];
    for region in regions {
        let mut seen = vec![false; count];
        let mut waiting = vec![region.entry];
        while let Some(block) = waiting.pop() {
            if std::mem::replace(&mut seen[block], true) {
                continue;
            }
            inside[block] = true;
            if block == region.end {
                continue;
            }
            match onward.get(&block) {
                Some(&then) => waiting.push(then),
                None => waiting.extend(graph.successors(block)),
            }
        }
    }
    let live = Liveness::new(marked, graph);
    let homes = homes(marked);
    let needed = calls().flat_map(|call| live.live_in(call.then));
    let is_inside = |id: &ValueId| homes[*id as usize].is_some_and(|block| inside[block]);
    needed.copied().filter(is_inside).collect()
}

/// Moves constants among the values that change to the entry of the function: they do not.
fn lift_constants(function: &mut Function, changing: &mut HashSet<ValueId>) {
    let mut lifted = Vec::new();
    for block in &mut function.blocks[1..] {
        block.instructions.retain(|i| {
            let constant = matches!(i.expression, Expression::Constant(_));
            let lifts = constant && i.results.iter().any(|id| changing.remove(id));
            if lifts {
                lifted.push(i.clone());
            }
            !lifts
        });
    }
    function.blocks[0].instructions.extend(lifted);
}

/// Lets each block that needs some of the chosen values from before it have them as parameters, after
/// those that it has. A value's own id stays that of its definition, and is used in the block of that
/// alone.
fn thread_values(function: &mut Function, chosen: &HashSet<ValueId>) {
    let graph = Cfg::new(function);
    let live = Liveness::new(function, &graph);
    // What each block calls the values that it now gets.
    let mut names: Vec<HashMap<ValueId, ValueId>> = vec![HashMap::new(); function.blocks.len()];
    for &block in graph.order() {
        for &id in live.live_in(block).iter().filter(|id| chosen.contains(id)) {
            let name = function.kinds.len() as ValueId;
            function.kinds.push(function.kind(id).clone());
            if let Some(text) = function.notes.names.get(&id).cloned() {
                function.notes.names.insert(name, text);
            }
            function.blocks[block].parameters.push(name);
            names[block].insert(id, name);
        }
    }
    for &block in graph.order() {
        let here = &mut function.blocks[block];
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
}

/// Writes the jumps of a region, whose blocks get what changes as parameters. `before` says how
/// many parameters blocks had without those.
fn jump(function: &mut Function, region: &Recursion, before: &[usize]) {
    if region.inner.is_empty() {
        let block = &mut function.blocks[region.first.block];
        if let Terminator::Switch { targets, .. } = &mut block.terminator {
            block.terminator = Terminator::Jump(targets.swap_remove(0));
        }
        return;
    }
    let kind = match region.inner.len() {
        1 => ValueKind::Bool,
        _ => ValueKind::Int,
    };
    let numbers = function.tapes.len() as u32;
    function.tapes.push(vec![kind.clone()]);
    for call in region.calls() {
        let block = &mut function.blocks[call.block];
        let ended = std::mem::replace(&mut block.terminator, Terminator::Return(Vec::new()));
        let Terminator::Switch { value, targets } = ended else {
            unreachable!("calls were marked by switches");
        };
        let mut targets = targets.into_iter();
        let (entry, then) = (targets.next(), targets.next());
        block.instructions.push(Instruction::push(numbers, [value]));
        if let Some(kept) = then.map(|to| to.args).filter(|kept| !kept.is_empty()) {
            let tape = function.tapes.len() as u32;
            let kinds = kept.iter().map(|&id| function.kinds[id as usize].clone());
            function.tapes.push(kinds.collect());
            let block = &mut function.blocks[call.block];
            block.instructions.push(Instruction::push(tape, kept));
            let after = &mut function.blocks[call.then];
            let taken = after.parameters.split_off(before[call.then]);
            let pop = Instruction::pop(tape, taken);
            after.instructions.insert(0, pop);
        }
        if let Some(entry) = entry {
            function.blocks[call.block].terminator = Terminator::Jump(entry);
        }
    }
    function.kinds.push(kind);
    let number = (function.kinds.len() - 1) as ValueId;
    let end = &mut function.blocks[region.end];
    end.instructions.push(Instruction::pop(numbers, [number]));
    let ended = std::mem::replace(&mut end.terminator, Terminator::Return(Vec::new()));
    let Terminator::Jump(first) = ended else {
        unreachable!("ends were marked by jumps");
    };
    let results = first.args[..region.results.len()].to_vec();
    let mut targets = vec![first];
    targets.extend(region.inner.iter().map(|call| Target {
        block: call.then,
        args: results.clone(),
    }));
    end.terminator = match <[Target; 2]>::try_from(targets) {
        Ok([otherwise, then]) => Terminator::Branch {
            condition: number,
            then,
            otherwise,
        },
        Err(targets) => Terminator::Switch {
            value: number,
            targets,
        },
    };
}
