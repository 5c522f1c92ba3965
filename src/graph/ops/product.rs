//! Products of vectors and matrices, and of numbers with them.

use super::shape::{expand_dims, reshape, squeeze};
use super::{binary, promote};
use crate::array::show_shape;
use crate::error::{Error, Result};
use crate::graph::Variable;
use crate::rules::{self, BroadcastLike, OpRef};

fn vector_error(name: &str, x: &Variable, y: &Variable) -> Result<Error> {
    Ok(Error::Shape(format!(
        "{name}: shapes {} and {} do not fit",
        show_shape(&x.ty()?.shape),
        show_shape(&y.ty()?.shape)
    )))
}

/// Repeats along leading axes alone. The last, which is summed over, may follow an input, and a length
/// of 1 must not repeat there.
const LEADING: BroadcastLike = BroadcastLike { core: 1 };

/// Dot products along the last axis; leading axes broadcast.
///
/// # Errors
/// See the [module documentation](super).
pub fn vecdot(x: &Variable, y: &Variable) -> Result<Variable> {
    let mut args = promote(&[x, y])?;
    let (a, b) = (x.ty()?.shape, y.ty()?.shape);
    if a.is_empty() || a.last() != b.last() {
        return Err(vector_error("vecdot", x, y)?);
    }
    if a.len() == 1 && b.len() == 1 {
        // Vectors have no leading axes, so that nothing of them is repeated.
        return Variable::apply(OpRef::Static(&rules::VecDot), &args);
    }
    let follow = args.iter().any(Variable::input_below);
    // Lengths that agree now need not agree when an input gets another; where they do, programs
    // drop what repeats nothing.
    if a != b || follow {
        // The result of the first has the joint shape.
        args[0] = binary(&LEADING, &args[0], &args[1])?;
        args[1] = binary(&LEADING, &args[1], &args[0])?;
    }
    Variable::apply(OpRef::Static(&rules::VecDot), &args)
}

/// Matrix product as `x @ y`: a vector counts as a row on the left and as a column on the
/// right, leading axes broadcast.
///
/// # Errors
/// See the [module documentation](super).
pub fn matmul(x: &Variable, y: &Variable) -> Result<Variable> {
    let mut args = promote(&[x, y])?;
    let (a, b) = (x.ty()?.ndim(), y.ty()?.ndim());
    match (a, b) {
        (0, _) | (_, 0) => return Err(vector_error("matmul", x, y)?),
        (1, 1) => return vecdot(&args[0], &args[1]),
        (1, _) => args[0] = expand_dims(&args[0], &[0])?,
        (_, 1) => args[1] = expand_dims(&args[1], &[1])?,
        _ => {}
    }
    static PRODUCT: rules::MatMul = rules::MatMul {
        transpose_a: false,
        transpose_b: false,
    };
    let z = Variable::apply(OpRef::Static(&PRODUCT), &args)?;
    match (a, b) {
        (1, _) => squeeze(&z, Some(&[-2])),
        (_, 1) => squeeze(&z, Some(&[-1])),
        _ => Ok(z),
    }
}

/// NumPy's `dot`: the product over the last axis of `x` and the last but one of `y` (or its
/// only one); with a single number the elementwise product.
///
/// # Errors
/// See the [module documentation](super).
pub fn dot(x: &Variable, y: &Variable) -> Result<Variable> {
    let (a, b) = (x.ty()?.ndim(), y.ty()?.ndim());
    if a == 0 || b == 0 {
        return binary(&rules::Mul, x, y);
    }
    if a == 1 || b <= 2 {
        return matmul(x, y);
    }
    // (…i, k) as (…i, 1…, 1, k) against (…j, k, n) gives (…i, …j, 1, n).
    let new: Vec<i64> = (a - 1..a + b - 2).map(|axis| axis as i64).collect();
    let z = matmul(&expand_dims(x, &new)?, y)?;
    squeeze(&z, Some(&[-2]))
}

/// Products of all pairs of elements of two arrays, as a matrix.
///
/// # Errors
/// See the [module documentation](super).
pub fn outer(x: &Variable, y: &Variable) -> Result<Variable> {
    let flat = |x: &Variable| match x.ty()?.ndim() {
        1 => Ok(x.clone()),
        _ => reshape(x, &[-1]),
    };
    let column = expand_dims(&flat(x)?, &[1])?;
    binary(&rules::Mul, &column, &flat(y)?)
}
