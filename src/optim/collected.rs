//! The gradients that a step by hand applies: those that parameters have collected.

use std::sync::Arc;

use smallvec::SmallVec;

use crate::array::{Array, Shared};
use crate::error::{Error, Result};
use crate::order;
use crate::table::{Gradient, Param};

/// Parameters and their gradients.
pub(super) type Collected<'p> = SmallVec<[(&'p Param, Shared<Gradient>); 4]>;

/// Adds the parameters that have a gradient to `collected`, each with the gradient that `of` finds. They are ordered by
/// table, so that two callers cannot wait for each other. The list is the caller's: to return it would move it.
///
/// # Errors
/// [`Error::Value`] if a parameter is given twice.
pub(super) fn collect<'p, P: AsRef<Param>>(
    params: &'p [P],
    of: impl Fn(&Param) -> Option<Shared<Gradient>>,
    collected: &mut Collected<'p>,
) -> Result<()> {
    let mut params: SmallVec<[&Param; 8]> = params.iter().map(AsRef::as_ref).collect();
    order::sort_few_by_key(&mut params, |param| param.table().id() as usize);
    let is_again = |k: usize| {
        let param = params[k];
        let before = params[..k].iter().rev();
        before
            .take_while(|other| Arc::ptr_eq(other.table(), param.table()))
            .any(|&other| std::ptr::eq(other, param))
    };
    if (1..params.len()).any(|k| is_again(k) && params[k].shared_gradient().is_some()) {
        return Err(given_twice());
    }
    for param in params {
        if let Some(gradient) = of(param) {
            collected.push((param, gradient));
        }
    }
    Ok(())
}

/// A gradient as it is applied: an array, or rows in one piece, which it has from then on, and their indices.
///
/// # Errors
/// [`Error::Memory`] if there is not the memory; nothing is changed then.
pub(super) fn in_one_piece(gradient: &mut Shared<Gradient>) -> Result<(Option<&[u32]>, &Array)> {
    if let Gradient::Rows(rows) = &**gradient
        && rows.in_one_piece().is_none()
    {
        *gradient = Gradient::Rows(rows.joined()?).into();
    }
    Ok(match &**gradient {
        Gradient::Dense(values) => (None, values),
        Gradient::Rows(rows) => match rows.in_one_piece() {
            Some((indices, values)) => (Some(indices), values),
            None => unreachable!("they have just been put in one piece"),
        },
    })
}

pub(super) fn given_twice() -> Error {
    Error::Value("parameters: the same parameter was given twice".into())
}
