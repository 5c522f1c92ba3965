//! The interpreter: a function of the ir, one operator at a time.
//!
//! It follows jumps and branches, takes whatever shapes come, and allocates every value.
//! Programs with fixed shapes run as plans instead; this is the reference that plans are
//! compared with, and what will run programs with control flow, which nothing writes yet.

use smallvec::SmallVec;

use crate::array::{Array, Type, View};
use crate::error::{Error, Result};
use crate::ir::{Expression, Function, Target, Terminator, ValueId};
use crate::rules::{Operator, result_type};

/// Computes one operator.
///
/// # Errors
/// Whatever the operator reports.
fn apply(op: &dyn Operator, args: &[&Array]) -> Result<Array> {
    let types: SmallVec<[Type; 4]> = args.iter().map(|a| a.ty()).collect();
    let refs: SmallVec<[&Type; 4]> = types.iter().collect();
    let ty = result_type(op, &refs)?;
    let views: SmallVec<[View<'_>; 4]> = args.iter().map(|a| a.view()).collect();
    let mut out = Array::scratch(ty.dtype, &ty.shape)?;
    if let Some(view) = out.view_mut() {
        op.eval(&views, view)?;
    }
    Ok(out)
}

/// Runs a function on arrays.
///
/// # Errors
/// [`Error::Value`] if the number of arguments is wrong or `steps` instructions and jumps did
/// not suffice, as [`Function::check`], and whatever an operator reports.
pub fn interpret(function: &Function, args: &[Array], steps: usize) -> Result<Vec<Array>> {
    function.check()?;
    let mut values: Vec<Option<Array>> = vec![None; function.types.len()];
    let mut block = 0;
    let mut incoming: Vec<Array> = args.to_vec();
    let mut left = steps;
    let get = |values: &[Option<Array>], id: ValueId| {
        let value = values.get(id as usize).cloned().flatten();
        value.ok_or_else(|| Error::Value(format!("value %{id} is read before it is defined")))
    };
    let mut step = || -> Result<()> {
        left = left.checked_sub(1).ok_or_else(|| {
            Error::Value(format!("{} did not finish in {steps} steps", function.name))
        })?;
        Ok(())
    };
    loop {
        let Some(here) = function.blocks.get(block) else {
            return Err(Error::Value(format!("block {block} does not exist")));
        };
        if incoming.len() != here.parameters.len() {
            return Err(Error::Value(format!(
                "block {block} of {} takes {} values, {} given",
                function.name,
                here.parameters.len(),
                incoming.len()
            )));
        }
        for (&p, value) in here.parameters.iter().zip(incoming.drain(..)) {
            values[p as usize] = Some(value);
        }
        for i in &here.instructions {
            step()?;
            values[i.result as usize] = Some(match &i.expression {
                Expression::Constant(a) => a.clone(),
                Expression::Apply(op, ids) => {
                    let args: Vec<Array> = ids
                        .iter()
                        .map(|&a| get(&values, a))
                        .collect::<Result<_>>()?;
                    let refs: SmallVec<[&Array; 4]> = args.iter().collect();
                    apply(&**op, &refs)?
                }
            });
        }
        let next: &Target = match &here.terminator {
            Terminator::Return(results) => {
                return results.iter().map(|&r| get(&values, r)).collect();
            }
            Terminator::Jump(to) => to,
            Terminator::Branch {
                condition,
                then,
                otherwise,
            } => {
                if get(&values, *condition)?.item()? != 0.0 {
                    then
                } else {
                    otherwise
                }
            }
        };
        step()?;
        for &a in &next.args {
            incoming.push(get(&values, a)?);
        }
        block = next.block;
    }
}
