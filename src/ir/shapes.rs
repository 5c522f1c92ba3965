//! Arrays of which it is known that they have the same lengths, in every run.
//!
//! Of some operands only the lengths matter, as where a cotangent is added up in an array like the one
//! that was looked up. An array that a loop changes would be kept each turn for its lengths alone, and
//! copied before it is changed. Another one of the same lengths, from before the loop, will do.
//!
//! Parameters of blocks have the lengths of what they are given, if that agrees: assumed of all at
//! first, and taken back where it does not hold.
//!
//! Limit: of operators on several arrays only those count whose operands are known to agree.

use super::availability::Availability;
use super::cfg::Cfg;
use super::function::{Expression, Function, ValueId};
use super::origins::{Forward, Point};
use crate::error::Result;
use crate::interrupt::Poller;
use crate::rules::{BroadcastLike, Kernel, OpRef, is_one_of};

/// About how many nanoseconds a value takes.
const VALUE: usize = 50;

/// Lets what a reverse pass reads for its lengths alone be a value of the same lengths that is there.
/// `points` are what the blocks of `function` belong to, if they are reversed ones.
///
/// # Errors
/// [`Error::Interrupted`](crate::Error::Interrupted).
pub(super) fn share_lengths(
    function: &mut Function,
    points: &[Option<Point>],
    forward: &Forward<'_>,
    available: &Availability<'_>,
) -> Result<()> {
    let same = same_lengths(forward.function, forward.graph)?;
    let kind = |id: ValueId| forward.function.kind(id);
    for (block, point) in function.blocks.iter_mut().zip(points) {
        let Some(point) = *point else {
            continue;
        };
        for i in &mut block.instructions {
            let Expression::Apply(op, args) = &mut i.expression else {
                continue;
            };
            for (k, id) in args.iter_mut().enumerate() {
                let Some(&like) = same.get(*id as usize).filter(|_| !op.reads(k)) else {
                    continue;
                };
                let fits = kind(*id).accepts(kind(like));
                if fits && !available.is_there(*id, point) && available.is_there(like, point) {
                    *id = like;
                }
            }
        }
    }
    Ok(())
}

/// For each value one that has its lengths and is defined wherever it is: itself, if no other is
/// known.
fn same_lengths(function: &Function, graph: &Cfg) -> Result<Vec<ValueId>> {
    // Parameters whose arguments do not agree.
    let mut own = vec![false; function.kinds.len()];
    let mut poller = Poller::default();
    loop {
        // What follows if the arguments of all other parameters agree. Values that differ under this
        // assumption differ without it, so that what is taken back now need not be given back.
        let mut found: Vec<Option<ValueId>> = vec![None; function.kinds.len()];
        for &number in graph.order() {
            let block = &function.blocks[number];
            poller.step(VALUE * (block.instructions.len() + block.parameters.len() + 1))?;
            for (k, &p) in block.parameters.iter().enumerate() {
                let mut args = arguments(function, graph, number, k);
                let known = args.find_map(|id| found[id as usize]);
                found[p as usize] = known.filter(|_| !own[p as usize]).or(Some(p));
            }
            for i in &block.instructions {
                let like = match &i.expression {
                    Expression::Apply(op, args) => like_operand(function, &found, op, args),
                    _ => None,
                };
                let like = like.and_then(|a| found[a as usize]);
                for &id in &i.results {
                    found[id as usize] = like.or(Some(id));
                }
            }
        }
        let found = found.into_iter().zip(0..);
        let found: Vec<ValueId> = found.map(|(like, id)| like.unwrap_or(id)).collect();
        let mut holds = true;
        for &number in graph.order() {
            for (k, &p) in function.blocks[number].parameters.iter().enumerate() {
                let like = found[p as usize];
                let mut args = arguments(function, graph, number, k);
                if like != p && !args.all(|id| found[id as usize] == like) {
                    own[p as usize] = true;
                    holds = false;
                }
            }
        }
        if holds {
            return Ok(found);
        }
    }
}

/// What blocks give as a parameter of one, each time that they jump to it.
fn arguments<'f>(
    function: &'f Function,
    graph: &'f Cfg,
    block: usize,
    parameter: usize,
) -> impl Iterator<Item = ValueId> + 'f {
    let edges = graph.predecessors(block).iter();
    edges.map(move |edge| {
        let targets = function.blocks[edge.from].terminator.targets();
        targets[edge.slot].args[parameter]
    })
}

/// The operand whose lengths the result of an operator has.
fn like_operand(
    function: &Function,
    found: &[Option<ValueId>],
    op: &OpRef,
    args: &[ValueId],
) -> Option<ValueId> {
    let number = |&&a: &&ValueId| function.ty(a).ndim() == 0;
    if let Some(sum) = op.scatter().and_then(|scatter| scatter.accumulation())
        && sum.has_base()
    {
        return args.first().copied();
    }
    if is_one_of!(op: ReplaceRow, ReplaceAt) {
        return args.first().copied();
    }
    if let Some(like) = op.scatter().and_then(|scatter| scatter.like()) {
        return args.get(like).copied();
    }
    if is_one_of!(op: SumTo, ReshapeLike, ShapedLike) {
        return args.last().copied();
    }
    if let Some(BroadcastLike { core: 0 }) = op.downcast::<BroadcastLike>() {
        return args
            .last()
            .copied()
            .filter(|_| args.first().is_some_and(|a| number(&a)));
    }
    let dtype = args.first().map(|&a| function.ty(a).dtype)?;
    Kernel::of(&**op, dtype, args.len())?;
    let mut arrays = args.iter().filter(|a| !number(a));
    let first = arrays.next()?;
    let same = |&a: &ValueId| found[a as usize] == found[*first as usize];
    arrays.all(same).then_some(*first)
}
