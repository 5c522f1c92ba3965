//! Which places of a frame arrays are in.
//!
//! What a jump hands on is to be where the block that gets it looks for it: then nothing moves, turn by
//! turn of a loop. So values share a place where one becomes the other and they are not needed at the
//! same time (Chaitin et al., "Register allocation via coloring", 1981: coalescing). So do an array and
//! what an operator makes of it in place.
//!
//! Nothing that is unsafe rests on it: values that share a place have one element type and number of
//! axes, and a place from which an array was taken is found empty.
//!
//! Limit: with more than [`MOST`] values that could share, each has its own place.

use std::collections::{BTreeSet, HashSet};

use crate::exec::native::word::Word;
use crate::ir::{Cfg, Expression, Function, Liveness, ValueId};
use crate::order;

/// Values that are looked at, at most: pairs of them are compared.
const MOST: usize = 1000;

/// A place, and whether what is there is read for the last time.
#[derive(Debug, Clone, Copy)]
pub(in crate::exec::native) struct Use {
    pub(in crate::exec::native) place: usize,
    pub(in crate::exec::native) last: bool,
}

/// The place of each value that is an array, by value, and how many places there are.
pub(in crate::exec::native) fn places(function: &Function) -> (Vec<Option<u32>>, usize) {
    let leaders = shared(function);
    let mut numbers: Vec<Option<u32>> = vec![None; function.kinds.len()];
    let mut count = 0;
    let kinds = function.kinds.iter().enumerate();
    let places = kinds.map(|(id, kind)| {
        Word::of(kind).is_none().then(|| {
            let leader = leaders.as_ref().map_or(id, |leaders| leaders[id] as usize);
            *numbers[leader].get_or_insert_with(|| {
                count += 1;
                count - 1
            })
        })
    });
    let places = places.collect();
    (places, count as usize)
}

/// Two values, of which the second is given, or may hold, what the first was.
type ValuePair = (ValueId, ValueId);

/// For each value the one whose place it has. `None` if there is nothing to share, or too much to look at.
fn shared(function: &Function) -> Option<Vec<ValueId>> {
    let graph = Cfg::new(function);
    let pairs = pairs(function, &graph);
    let values: HashSet<ValueId> = pairs.iter().flat_map(|&(a, b)| [a, b]).collect();
    if pairs.is_empty() || values.len() > MOST {
        return None;
    }
    let conflicts = conflicts(function, &graph, &values);
    let ids = 0..function.kinds.len() as ValueId;
    let mut leaders: Vec<ValueId> = ids.clone().collect();
    let mut members: Vec<Vec<ValueId>> = ids.map(|id| vec![id]).collect();
    for (a, b) in pairs {
        let (a, b) = (leaders[a as usize], leaders[b as usize]);
        let conflict = |x: ValueId, y: ValueId| conflicts.contains(&(x.min(y), x.max(y)));
        let meet = |&x: &ValueId| members[b as usize].iter().any(|&y| conflict(x, y));
        if a == b || members[a as usize].iter().any(meet) {
            continue;
        }
        let moved = std::mem::take(&mut members[b as usize]);
        for &id in &moved {
            leaders[id as usize] = a;
        }
        members[a as usize].extend(moved);
    }
    Some(leaders)
}

/// The values that would best share a place, those in inner loops first.
fn pairs(function: &Function, graph: &Cfg) -> Vec<ValuePair> {
    let alike = |a: ValueId, b: ValueId| {
        let ty = |id: ValueId| {
            let ty = function.kind(id).array();
            ty.filter(|ty| ty.ndim() > 0)
                .map(|ty| (ty.dtype, ty.ndim()))
        };
        a != b && ty(a).is_some() && ty(a) == ty(b)
    };
    let mut found: Vec<(usize, ValuePair)> = Vec::new();
    for &block in graph.order() {
        let depth = graph.depth(block);
        let here = &function.blocks[block];
        for to in here.terminator.targets() {
            let parameters = &function.blocks[to.block].parameters;
            let given = to.args.iter().copied().zip(parameters.iter().copied());
            found.extend(given.map(|pair| (depth, pair)));
        }
        for i in &here.instructions {
            if let (Expression::Apply(_, args), &[result]) = (&i.expression, i.results.as_slice())
                && let Some(&first) = args.first()
            {
                found.push((depth, (first, result)));
            }
        }
    }
    found.retain(|&(_, (a, b))| alike(a, b));
    order::sort_by_key(&mut found, |&(depth, _)| usize::MAX - depth);
    found.into_iter().map(|(_, pair)| pair).collect()
}

/// Those of some values of which one is needed where the other is defined, the smaller first.
fn conflicts(function: &Function, graph: &Cfg, values: &HashSet<ValueId>) -> HashSet<ValuePair> {
    let liveness = Liveness::new(function, graph);
    let mut found = HashSet::new();
    for &block in graph.order() {
        let here = &function.blocks[block];
        let mut live: BTreeSet<ValueId> = BTreeSet::new();
        let need = |live: &mut BTreeSet<ValueId>, id: ValueId| {
            if values.contains(&id) {
                live.insert(id);
            }
        };
        let end = liveness.live_out(block).iter();
        end.for_each(|&id| need(&mut live, id));
        here.terminator.each(|id| need(&mut live, id));
        let mut define = |live: &BTreeSet<ValueId>, id: ValueId| {
            let others = live.iter().filter(|&&other| other != id);
            found.extend(others.map(|&other| (id.min(other), id.max(other))));
        };
        for i in here.instructions.iter().rev() {
            // Several results are there at once.
            for &id in i.results.iter().filter(|id| values.contains(id)) {
                live.insert(id);
            }
            for &id in i.results.iter().filter(|id| values.contains(id)) {
                define(&live, id);
            }
            for id in &i.results {
                live.remove(id);
            }
            for &id in i.expression.operands() {
                need(&mut live, id);
            }
        }
        let parameters = here.parameters.iter().filter(|id| values.contains(id));
        live.extend(parameters.clone());
        parameters.for_each(|&id| define(&live, id));
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::array::{DType, Type};
    use crate::ir::{Builder, Target, Terminator, ValueKind};
    use crate::rules::{Add, OpRef};

    fn vector() -> ValueKind {
        ValueKind::from(Type::new(DType::F64, &[3]))
    }

    /// A loop that hands on two arrays, the second the sum of both, in this order or exchanged.
    fn places_of_a_loop(exchanged: bool) -> (Vec<Option<u32>>, usize) {
        let b = Builder::new();
        let (x, y) = (b.parameter(vector()), b.parameter(vector()));
        let to = |args: &[ValueId]| Target {
            block: 1,
            args: args.to_vec(),
        };
        b.terminate(Terminator::Jump(to(&[x, y])));
        b.block();
        let (p, q) = (b.parameter(vector()), b.parameter(vector()));
        let sum = b.try_apply(OpRef::Static(&Add), &[q, p]).expect("arrays");
        let args = if exchanged { [sum, p] } else { [p, sum] };
        b.terminate(Terminator::Jump(to(&args)));
        let function = b.finish("loop").expect("fitting types");
        function.check().expect("well formed");
        places(&function)
    }

    #[test]
    fn what_a_jump_hands_on_stays_where_it_is() {
        let (places, count) = places_of_a_loop(false);
        // x and p; y, q and the sum.
        assert_eq!(count, 2);
        assert_eq!(places[0], places[2]);
        assert_eq!([places[1]; 2], [places[3], places[4]]);
        assert_ne!(places[0], places[1]);
    }

    #[test]
    fn what_is_needed_at_the_same_time_stays_apart() {
        let (places, _) = places_of_a_loop(true);
        assert_ne!(places[2], places[3]);
        // p is still needed where the sum is defined.
        assert_ne!(places[2], places[4]);
    }
}
