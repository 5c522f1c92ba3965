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
    let by_table = |param: &&Param| param.table().id() as usize;
    order::sort_few_by_key(&mut params, by_table);
    let share = |w: &[&Param]| Arc::ptr_eq(w[0].table(), w[1].table());
    if params.windows(2).any(share) {
        // The same parameter comes next to itself.
        order::sort_few_by_key(&mut params, |&param| std::ptr::from_ref(param).addr());
        order::sort_few_by_key(&mut params, by_table);
    }
    let is_again = |w: &[&Param]| std::ptr::eq(w[0], w[1]) && w[0].shared_gradient().is_some();
    if params.windows(2).any(is_again) {
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::array::{DType, Type};
    use crate::table::Table;

    #[test]
    fn a_parameter_that_is_given_again_is_found_among_handles_of_its_table() {
        let ty = Type::new(DType::F64, &[1]);
        let tables = [(); 3].map(|()| Arc::new(Table::zeros(&ty, None).unwrap()));
        let handle = |k: usize| {
            let param = Param::on(Arc::clone(&tables[k % 3]));
            param
                .accumulate(Gradient::Dense(Array::full(&ty, 1.0)))
                .unwrap();
            param
        };
        let params: Vec<Param> = (0..300).map(handle).collect();
        let given: Vec<&Param> = params.iter().rev().collect();
        let mut found = Collected::new();
        collect(&given, Param::shared_gradient, &mut found).unwrap();
        assert_eq!(found.len(), 300);
        for again in [0, 1, 17, 298, 299] {
            for at in [0, 150, 300] {
                let mut given = given.clone();
                given.insert(at, &params[again]);
                let refused = collect(&given, Param::shared_gradient, &mut Collected::new());
                assert!(matches!(refused, Err(Error::Value(_))), "{again} at {at}");
            }
        }
        // One without a gradient does nothing, however often it is given.
        let idle = Param::on(Arc::clone(&tables[0]));
        let given = [&idle, &params[0], &idle];
        let mut found = Collected::new();
        collect(&given, Param::shared_gradient, &mut found).unwrap();
        assert_eq!(found.len(), 1);
    }
}
