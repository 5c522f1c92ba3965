//! Blocks that are not needed: those that cannot be reached, that only jump on, and that follow one
//! other block alone.

use rustc_hash::FxHashMap as HashMap;

use crate::ir::cfg::Cfg;
use crate::ir::function::{Function, Target, Terminator, ValueId};

/// Takes blocks away that are not needed, and numbers the others in reverse postorder. Whether
/// anything changed but numbers.
pub(super) fn tidy(function: &mut Function) -> bool {
    let mut graph = Cfg::new(function);
    let skipped = skip_empty(function, &graph);
    if skipped {
        graph = Cfg::new(function);
    }
    let merged = merge(function, &graph);
    let order = graph.order().iter().copied();
    let order: Vec<usize> = order.filter(|&block| !merged[block]).collect();
    let changed = skipped || order.len() < function.blocks.len();
    renumber(function, &order);
    changed
}

/// A block that only jumps on.
struct Stop {
    parameters: Vec<ValueId>,
    next: Target,
}

/// The blocks that only jump on, and whose parameters nothing else reads.
fn stops(function: &Function, graph: &Cfg) -> Vec<Option<Stop>> {
    let mut stops: Vec<Option<Stop>> = Vec::new();
    stops.resize_with(function.blocks.len(), || None);
    let mut owner: HashMap<ValueId, usize> = HashMap::default();
    for &number in graph.order().iter().skip(1) {
        let block = &function.blocks[number];
        if let Terminator::Jump(next) = &block.terminator
            && block.instructions.is_empty()
            && next.block != number
        {
            owner.extend(block.parameters.iter().map(|&p| (p, number)));
            stops[number] = Some(Stop {
                parameters: block.parameters.clone(),
                next: next.clone(),
            });
        }
    }
    if !owner.is_empty() {
        for &number in graph.order() {
            let block = &function.blocks[number];
            let mut used = |id: ValueId| {
                if let Some(&of) = owner.get(&id)
                    && of != number
                {
                    stops[of] = None;
                }
            };
            for i in &block.instructions {
                i.expression.operands().iter().for_each(|&id| used(id));
            }
            block.terminator.each(used);
        }
    }
    stops
}

/// Where a jump leads in the end, if it leads to a block that only jumps on. `None` also for a cycle
/// of such blocks, which is a loop that never ends.
fn end(stops: &[Option<Stop>], to: &Target, most: usize) -> Option<Target> {
    let mut at = Target::clone(to);
    for _ in 0..=most {
        let Some(stop) = &stops[at.block] else {
            return (at.block != to.block).then_some(at);
        };
        let given = |id: &ValueId| {
            let k = stop.parameters.iter().position(|p| p == id);
            k.map_or(*id, |k| at.args[k])
        };
        at = Target {
            block: stop.next.block,
            args: stop.next.args.iter().map(given).collect(),
        };
    }
    None
}

/// Lets jumps to a block that only jumps on lead where that leads. A branch all ways of which are
/// the same becomes a jump.
fn skip_empty(function: &mut Function, graph: &Cfg) -> bool {
    let stops = stops(function, graph);
    let most = stops.iter().flatten().count();
    let mut changed = false;
    for &number in graph.order() {
        let terminator = &mut function.blocks[number].terminator;
        if most > 0 {
            for to in terminator.targets_mut() {
                if let Some(end) = end(&stops, to, most) {
                    *to = end;
                    changed = true;
                }
            }
        }
        let only = match terminator.targets().as_slice() {
            [first, rest @ ..] if !rest.is_empty() && rest.iter().all(|to| to == first) => {
                Some(Target::clone(first))
            }
            _ => None,
        };
        if let Some(only) = only {
            *terminator = Terminator::Jump(only);
            changed = true;
        }
    }
    changed
}

/// Appends to each block the one that it jumps to, if nothing else jumps there. Which blocks are
/// gone then.
fn merge(function: &mut Function, graph: &Cfg) -> Vec<bool> {
    let mut stands: HashMap<ValueId, ValueId> = HashMap::default();
    let mut merged = vec![false; function.blocks.len()];
    for &number in graph.order() {
        if merged[number] {
            continue;
        }
        while let Terminator::Jump(to) = &function.blocks[number].terminator {
            let next = to.block;
            if next == 0 || next == number || graph.predecessors(next).len() != 1 {
                break;
            }
            let args = to.args.clone();
            let mut block = std::mem::take(&mut function.blocks[next]);
            for (&p, a) in block.parameters.iter().zip(args) {
                let same = *stands.get(&a).unwrap_or(&a);
                stands.insert(p, same);
                if let Some(name) = function.notes.names.remove(&p) {
                    function.notes.names.entry(same).or_insert(name);
                }
            }
            merged[next] = true;
            let here = &mut function.blocks[number];
            here.instructions.append(&mut block.instructions);
            here.terminator = block.terminator;
        }
    }
    if !stands.is_empty() {
        for block in &mut function.blocks {
            let rename = |id: &mut ValueId| *id = *stands.get(id).unwrap_or(id);
            for i in &mut block.instructions {
                i.expression.operands_mut().iter_mut().for_each(rename);
            }
            block.terminator.each_mut(rename);
        }
    }
    merged
}

/// Drops the blocks that cannot be reached. The others keep their order.
pub(crate) fn drop_unreachable(function: &mut Function, graph: &Cfg) {
    let all = 0..function.blocks.len();
    let reached: Vec<usize> = all.filter(|&block| graph.is_reachable(block)).collect();
    renumber(function, &reached);
}

/// Keeps the blocks of `order`, in that order.
fn renumber(function: &mut Function, order: &[usize]) {
    if order.iter().copied().eq(0..function.blocks.len()) {
        return;
    }
    let mut numbers = vec![0; function.blocks.len()];
    let mut blocks = Vec::with_capacity(order.len());
    for (new, &old) in order.iter().enumerate() {
        numbers[old] = new;
        blocks.push(std::mem::take(&mut function.blocks[old]));
    }
    for block in &mut blocks {
        for to in block.terminator.targets_mut() {
            to.block = numbers[to.block];
        }
    }
    function.blocks = blocks;
}
