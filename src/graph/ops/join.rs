//! Several arrays as one.

use super::promote;
use super::shape::{expand_dims, reshape};
use crate::array::{Type, normalize_axis, show_shape};
use crate::error::{Error, Result};
use crate::graph::Variable;
use crate::rules::{self, OpRef};

/// Operands of one [`Concatenate`](rules::Concatenate). The gradient of each is found by the
/// shapes of all, which costs the square of their number; so more are joined in groups, the
/// groups in groups, and so on. Each level copies once more what is joined.
const JOINED_AT_ONCE: usize = 32;

/// Arrays joined along an axis; flattened first if there is none.
///
/// # Errors
/// See the [module documentation](super).
pub fn concatenate(parts: &[Variable], axis: Option<i64>) -> Result<Variable> {
    for part in parts {
        rules::real("concatenate", &part.ty()?)?;
    }
    let Some(axis) = axis else {
        let flat = parts.iter().map(|x| reshape(x, &[-1]));
        return concatenate(&flat.collect::<Result<Vec<_>>>()?, Some(0));
    };
    let refs: Vec<&Variable> = parts.iter().collect();
    let parts = promote(&refs)?;
    let first = parts
        .first()
        .ok_or_else(|| Error::Value("concatenate needs at least one array".into()))?;
    let axis = normalize_axis("concatenate", axis, first.ty()?.ndim())?;
    let op = OpRef::new(rules::Concatenate { axis });
    // All fit or none is joined, and a message compares what the caller gave.
    let types: Vec<Type> = parts.iter().map(Variable::ty).collect::<Result<_>>()?;
    op.infer(&types.iter().collect::<Vec<_>>())?;
    let mut parts = parts;
    while parts.len() > JOINED_AT_ONCE {
        let groups = parts.chunks(JOINED_AT_ONCE).map(|group| match group {
            [only] => Ok(only.clone()),
            _ => Variable::apply(op.clone(), group),
        });
        parts = groups.collect::<Result<_>>()?;
    }
    Variable::apply(op, &parts)
}

/// Arrays of one shape joined along a new axis.
///
/// # Errors
/// See the [module documentation](super).
pub fn stack(parts: &[Variable], axis: i64) -> Result<Variable> {
    let first = parts
        .first()
        .ok_or_else(|| Error::Value("stack needs at least one array".into()))?;
    let ty = first.ty()?;
    for other in parts {
        let other = other.ty()?;
        rules::real("stack", &other)?;
        if other.shape != ty.shape {
            return Err(Error::Shape(format!(
                "stack: shapes {} and {} differ",
                show_shape(&ty.shape),
                show_shape(&other.shape)
            )));
        }
    }
    let axis = normalize_axis("stack", axis, ty.ndim() + 1)? as i64;
    let parts = parts.iter().map(|x| expand_dims(x, &[axis]));
    concatenate(&parts.collect::<Result<Vec<_>>>()?, Some(axis))
}
