//! The form of a function that both modes of differentiation begin with: nothing jumps to its entry,
//! every block can be reached, and one returns.
//!
//! So the cotangents of the results come in at one place and the gradients go out at one, and a
//! parameter of the function is no parameter of a loop. Limit: a function that never returns has no such
//! block.

use super::cfg::Cfg;
use super::drop_unreachable;
use super::function::{Block, Function, Target, Terminator, ValueId};
use crate::error::{Error, Result};
use crate::reserve;

/// A function in the form of the [module documentation](self).
pub(super) struct Prepared {
    pub function: Function,
    /// The block that returns; `None` if no block that can be reached does.
    pub exit: Option<usize>,
    /// The parameters that it is differentiated by.
    pub wrt: Vec<ValueId>,
}

/// Prepares a function to be differentiated by the parameters `wrt`.
///
/// # Errors
/// [`Error::Value`] if one of `wrt` is no parameter of the function, [`Error::Type`] if it holds no
/// floating-point numbers, [`Error::Memory`], and as [`Function::check`].
pub(super) fn prepared(function: &Function, wrt: &[ValueId]) -> Result<Prepared> {
    function.check()?;
    let positions = positions(function, wrt)?;
    reserve::ahead(function.kinds.len(), reserve::bytes::DIFFERENTIATED)?;
    let mut separate = separate_entry(function).unwrap_or_else(|| function.clone());
    let graph = Cfg::new(&separate);
    drop_unreachable(&mut separate, &graph);
    // The parameters of a new entry are other values.
    let wrt = positions
        .into_iter()
        .filter_map(|at| separate.parameters().get(at).copied())
        .collect();
    let (function, exit) = match merge_returns(&separate) {
        Some((function, exit)) => (function, Some(exit)),
        None => (separate, None),
    };
    Ok(Prepared {
        function,
        exit,
        wrt,
    })
}

/// Where values are among the parameters of a function that was checked, by which it is to be differentiated.
///
/// # Errors
/// [`Error::Value`] and [`Error::Type`], as [`prepared`].
fn positions(function: &Function, wrt: &[ValueId]) -> Result<Vec<usize>> {
    let mut at = vec![None; function.kinds.len()];
    for (position, &id) in function.parameters().iter().enumerate() {
        at[id as usize] = Some(position);
    }
    let mut positions = Vec::with_capacity(wrt.len());
    for &id in wrt {
        let Some(position) = at.get(id as usize).copied().flatten() else {
            return Err(Error::Value(format!(
                "value %{id} is no parameter of {}, and it is differentiated by parameters",
                function.name
            )));
        };
        let kind = function.kind(id);
        if !kind.is_differentiable() {
            return Err(Error::Type(format!(
                "{}: parameter %{id}: expected floating-point numbers, got {kind}",
                function.name
            )));
        }
        positions.push(position);
    }
    Ok(positions)
}

/// The same function with an entry to which nothing jumps; `None` if nothing jumps to its own. The call itself is
/// no jump: passes that ask for the jumps to a block would miss the arguments of the call.
pub(crate) fn separate_entry(function: &Function) -> Option<Function> {
    let mut targets = function.blocks.iter().flat_map(|b| b.terminator.targets());
    if !targets.any(|to| to.block == 0) {
        return None;
    }
    let mut out = function.clone();
    let number = out.blocks.len();
    for block in &mut out.blocks {
        for to in block.terminator.targets_mut() {
            if to.block == 0 {
                to.block = number;
            }
        }
    }
    let first = out.kinds.len() as ValueId;
    let kinds = function.parameters().iter();
    out.kinds.extend(kinds.map(|&id| function.kind(id).clone()));
    let parameters: Vec<ValueId> = (first..out.kinds.len() as ValueId).collect();
    let entry = Block {
        parameters: parameters.clone(),
        instructions: Vec::new(),
        terminator: Terminator::Jump(Target {
            block: number,
            args: parameters,
        }),
    };
    let old = std::mem::replace(&mut out.blocks[0], entry);
    out.blocks.push(old);
    Some(out)
}

/// The same function with one block that returns, and the number of that block. It stays as it is if
/// one block alone returns; if several do, they jump to a new one, whose parameters are the results.
/// `None` if no block that can be reached returns.
///
/// # Panics
/// If the function is not well formed ([`Function::check`]).
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
