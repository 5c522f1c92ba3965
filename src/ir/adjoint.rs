//! Reverse mode on the ir: a function that also computes gradients.
//!
//! The instructions are walked backward and each operator's rule is run on the builder,
//! which appends more instructions. The result is an ordinary function: it can be
//! printed and simplified. What it is made of has rules too, so that it could be
//! differentiated again; nothing offers or tests that yet.
//!
//! Limit: functions of one block. Functions with branches need a record of the branches
//! taken (Innes, "Don't Unroll Adjoint", 2018).

use super::function::{Builder, Expression, Function, Terminator, ValueId};
use crate::error::{Error, Result};
use crate::rules::Ex;

/// A function with gradients.
#[derive(Debug, Clone)]
pub struct Adjoint {
    /// Returns the original result, then the gradients that exist.
    pub function: Function,
    /// For each parameter asked for, which of the results is its gradient; `None` if the
    /// result does not depend on it.
    pub gradients: Vec<Option<usize>>,
}

/// Extends a function of one block and one result so that it also returns the gradient
/// of the sum of its result's elements for the parameters `wrt`.
///
/// # Errors
/// [`Error::Value`] if there are several blocks or `wrt` names a value that does not exist, as
/// [`Function::check`], and whatever an operator of a rule reports.
pub fn adjoint(function: &Function, wrt: &[ValueId]) -> Result<Adjoint> {
    function.check()?;
    let (block, results) = function.straight()?;
    let count = function.types.len();
    let mut active = vec![false; count];
    for &id in wrt {
        match active.get_mut(id as usize) {
            // Indices do not move a little.
            Some(active) => *active = function.ty(id).dtype.is_real(),
            None => return Err(Error::Value(format!("value %{id} does not exist"))),
        }
    }
    for i in &block.instructions {
        if let Expression::Apply(_, args) = &i.expression {
            let moves = function.ty(i.result).dtype.is_real();
            active[i.result as usize] = moves && args.iter().any(|&a| active[a as usize]);
        }
    }
    let builder = Builder::resume(function);
    let mut grads: Vec<Option<Ex<'_>>> = vec![None; count];
    if let Some(&y) = results.first()
        && active[y as usize]
    {
        grads[y as usize] = Some(Ex::new(&builder, y).ones_like());
    }
    for i in block.instructions.iter().rev() {
        let Expression::Apply(op, args) = &i.expression else {
            continue;
        };
        let Some(g) = grads[i.result as usize] else {
            continue;
        };
        let y = Ex::new(&builder, i.result);
        let x: Vec<Ex<'_>> = args.iter().map(|&a| Ex::new(&builder, a)).collect();
        for (k, &arg) in args.iter().enumerate() {
            if !active[arg as usize] {
                continue;
            }
            if let Some(grad) = op.vjp(k, g, y, &x) {
                grad.id_in(&builder)?;
                let slot = &mut grads[arg as usize];
                *slot = Some(match *slot {
                    None => grad,
                    Some(sum) => sum + grad,
                });
            }
        }
    }
    let mut returned = results.to_vec();
    let mut gradients = Vec::with_capacity(wrt.len());
    for &id in wrt {
        gradients.push(grads[id as usize].map(|g| {
            returned.push(g.id());
            returned.len() - 1
        }));
    }
    builder.terminate(Terminator::Return(returned));
    let function = builder.finish(&format!("{}_adjoint", function.name))?;
    Ok(Adjoint {
        function,
        gradients,
    })
}
