//! Reverse mode of functions with blocks, branches and loops.
//!
//! [`vjp`] makes of a function one that takes a cotangent for each of its results too and goes back
//! through what was run, block by block, to the gradients (Innes, "Don't unroll adjoint", 2018). What
//! it keeps on the way is on tapes, whose operations are each other's reverse: the result is an
//! ordinary function, which can be printed, run, and differentiated again in either mode, as often as
//! one likes.
//!
//! The steps are in files of their own: what is differentiated at all ([`activity`](super::activity)),
//! where the reverse pass goes and which cotangents it carries ([`presence`](super::presence)), its
//! instructions ([`reversed`](super::reversed)), and what of the function it gets to see
//! ([`restore`](super::restore)). The rules are those of `.backward()`, and the pass over instructions
//! is the one that graphs are differentiated by ([`differentiate`](crate::rules::differentiate)).

use super::activity::Activity;
use super::cfg::Cfg;
use super::ends::{Prepared, prepared};
use super::function::{Expression, Function, Operands, ValueId};
use super::origins::{Forward, note_origins};
use super::presence::Ways;
use super::restore::restore;
use super::reversed::reverse;
use super::simplify::{Lengths, drop_dead};
use crate::error::Result;

/// A function with its pullback.
#[derive(Debug, Clone)]
pub struct Pullback {
    /// Takes the original parameters, then one cotangent for each result that holds floating-point
    /// numbers, of its kind. Returns the original results, then the gradients that exist.
    pub function: Function,
    /// For each parameter asked for, which of the results is its gradient; `None` if no result
    /// depends on it.
    pub gradients: Vec<Option<usize>>,
}

/// Extends a function so that it also takes cotangents of its results and returns the gradients, by
/// the parameters `wrt`, of the sum of the results' elements times those of the cotangents.
///
/// # Errors
/// [`Error::Value`] if one of `wrt` is no parameter of the function, [`Error::Type`] if it holds no
/// floating-point numbers, as [`Function::check`], [`Error::Shape`] or [`Error::Type`] if a rule gives a
/// gradient of another type than its operand's, whatever an operator of a rule reports,
/// [`Error::Memory`], and [`Error::Interrupted`].
///
/// [`Error::Value`]: crate::Error::Value
/// [`Error::Type`]: crate::Error::Type
/// [`Error::Shape`]: crate::Error::Shape
/// [`Error::Memory`]: crate::Error::Memory
/// [`Error::Interrupted`]: crate::Error::Interrupted
pub fn vjp(function: &Function, wrt: &[ValueId]) -> Result<Pullback> {
    let Prepared {
        function: mut forward,
        exit,
        wrt,
    } = prepared(function, wrt)?;
    let Some(exit) = exit else {
        // It never returns.
        return Ok(Pullback {
            function: forward,
            gradients: vec![None; wrt.len()],
        });
    };
    let seeds = forward.blocks[exit].terminator.operands().iter().copied();
    let seeds: Vec<ValueId> = seeds
        .filter(|&id| forward.kind(id).is_differentiable())
        .collect();
    let graph = Cfg::new(&forward);
    let activity = Activity::new(&forward, &graph, &wrt)?;
    let ways = Ways::new(&forward, &graph, &activity, exit, &seeds)?;
    let (origins, inductions) = note_origins(&mut forward, &graph, &ways);
    let forward = Forward {
        function: &forward,
        graph: &graph,
        activity: &activity,
        ways: &ways,
        exit,
        origins: &origins,
        inductions: &inductions,
    };
    let mut reversed = reverse(&forward, &seeds, &wrt)?;
    let gradients = reversed.gradients.clone();
    let first = forward.function.kinds.len();
    drop_identities(&mut reversed.function, first);
    drop_unread(&mut reversed.function, first);
    drop_dead(&mut reversed.function, Lengths::Seen);
    let mut function = restore(&forward, reversed)?;
    drop_dead(&mut function, Lengths::Seen);
    Ok(Pullback {
        function,
        gradients,
    })
}

/// Drops what rules do to single numbers for the sake of arrays: to sum to the shape of a number or
/// repeat to it. The values that rules made are those from `first` on.
fn drop_identities(function: &mut Function, first: usize) {
    let mut stands: Vec<ValueId> = (0..function.kinds.len() as ValueId).collect();
    for block in &function.blocks {
        for i in &block.instructions {
            let Expression::Apply(op, args) = &i.expression else {
                continue;
            };
            let (Some(&x), &[y]) = (args.first(), &i.results[..]) else {
                continue;
            };
            let made = y as usize >= first;
            let number = made && function.ty(y).ndim() == 0 && function.kind(x) == function.kind(y);
            let types: Vec<_> = args.iter().map(|&a| function.ty(a)).collect();
            if number && op.aliases(&types, function.ty(y)) {
                stands[y as usize] = x;
            }
        }
    }
    // Halving the way of each first keeps a long sum linear, whose gradient is handed on by one after the other.
    for id in 0..stands.len() {
        let mut at = id;
        while stands[at] as usize != at {
            stands[at] = stands[stands[at] as usize];
            at = stands[at] as usize;
        }
        stands[id] = at as ValueId;
    }
    let resolve = |id: &mut ValueId| *id = stands[*id as usize];
    for block in &mut function.blocks {
        let stays = |id: &ValueId| stands[*id as usize] == *id;
        block.instructions.retain(|i| i.results.iter().all(stays));
        for i in &mut block.instructions {
            i.expression.operands_mut().iter_mut().for_each(resolve);
        }
        block.terminator.each_mut(resolve);
    }
}

/// Drops what rules computed and nobody reads. The values that rules made are those from `first` on:
/// their operands have the types that the rules gave them, so that nothing is lost that could fail.
fn drop_unread(function: &mut Function, first: usize) {
    let mut readers = vec![0_usize; function.kinds.len()];
    let mut made: Vec<Option<Operands>> = vec![None; function.kinds.len()];
    for block in &function.blocks {
        for i in &block.instructions {
            for &id in i.expression.operands() {
                readers[id as usize] += 1;
            }
            if let (Expression::Apply(_, args), &[y]) = (&i.expression, &i.results[..])
                && y as usize >= first
            {
                made[y as usize] = Some(args.clone());
            }
        }
        block.terminator.each(|id| readers[id as usize] += 1);
    }
    let is_unread = |&id: &usize| made[id].is_some() && readers[id] == 0;
    let mut waiting: Vec<usize> = (0..made.len()).filter(is_unread).collect();
    while let Some(id) = waiting.pop() {
        for a in made[id].take().unwrap_or_default() {
            let a = a as usize;
            readers[a] -= 1;
            if readers[a] == 0 && made[a].is_some() {
                waiting.push(a);
            }
        }
    }
    for block in &mut function.blocks {
        block
            .instructions
            .retain(|i| match (&i.expression, &i.results[..]) {
                (Expression::Apply(..), &[y]) if y as usize >= first => made[y as usize].is_some(),
                _ => true,
            });
    }
}
