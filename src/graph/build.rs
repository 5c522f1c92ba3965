//! Building graphs from boxed variables: NumPy's functions over the operators of the table.
//!
//! An operator is strict: one element type, shapes that fit, axes in range. The functions
//! here do what callers expect around that: operands of float32 and float64 meet in
//! float64, axes count from the end, products accept vectors, shapes broadcast. They
//! compose operators and hold no rule of their own, so whatever they build can be
//! differentiated and frozen. Where a length is needed it is taken from another operand
//! ([`BroadcastLike`]), so that a program can be planned again for another batch length.
//!
//! All of them fail with [`Error::Shape`], [`Error::Type`], [`Error::Value`] or
//! [`Error::Index`], naming the operator and the shapes or types that do not fit.

use smallvec::SmallVec;

use super::{Constant, Kind, Variable};
use crate::array::{Array, DType, Dense, Shape, Type, normalize_axis, show_shape};
use crate::error::{Error, Result};
use crate::rules::{self, BroadcastLike, OpRef, Operator, SliceItem};

/// Operands of one operator.
pub(super) type Args = SmallVec<[Variable; 2]>;

/// Applies an operator with attributes.
pub(super) fn one(op: impl Operator, x: &Variable) -> Result<Variable> {
    Variable::apply(OpRef::new(op), std::slice::from_ref(x))
}

/// Applies an operator without attributes to one operand.
///
/// # Errors
/// See the [module documentation](self).
pub fn unary(op: &'static dyn Operator, x: &Variable) -> Result<Variable> {
    Variable::apply(OpRef::Static(op), std::slice::from_ref(x))
}

/// Applies an operator without attributes to two operands of any floating-point type.
///
/// # Errors
/// See the [module documentation](self).
pub fn binary(op: &'static dyn Operator, x: &Variable, y: &Variable) -> Result<Variable> {
    if x.dtype() == y.dtype() {
        Variable::apply(OpRef::Static(op), &[x.clone(), y.clone()])
    } else {
        Variable::apply(OpRef::Static(op), &promote(&[x, y])?)
    }
}

/// 1 where two operands differ, 0 where they are equal; NaN differs from itself.
///
/// # Errors
/// See the [module documentation](self).
pub fn not_equal(x: &Variable, y: &Variable) -> Result<Variable> {
    binary(&rules::NotEqual, x, y)
}

/// Casts float32 operands to float64 if any operand is float64. Indices stay as they are.
pub(super) fn promote(args: &[&Variable]) -> Result<Args> {
    let double = args.iter().any(|x| x.dtype() == DType::F64);
    let cast = |x: &&Variable| match x.dtype() {
        DType::F32 if double => one(rules::Cast { dtype: DType::F64 }, x),
        _ => Ok((*x).clone()),
    };
    args.iter().map(cast).collect()
}

/// Elements of `x` where `mask` is not zero, elsewhere of `y`. The mask's type does not
/// matter to the result's.
///
/// # Errors
/// See the [module documentation](self).
pub fn select(mask: &Variable, x: &Variable, y: &Variable) -> Result<Variable> {
    if mask.dtype() == DType::F64 && x.dtype() == DType::F32 && y.dtype() == DType::F32 {
        // A tiny number would become zero in float32, so compare first.
        let zero = Constant::new(0.0f64).boxed();
        let off = binary(&rules::Equal, mask, &zero)?;
        let off = one(rules::Cast { dtype: DType::F32 }, &off)?;
        return Variable::apply(OpRef::Static(&rules::Where), &[off, y.clone(), x.clone()]);
    }
    Variable::apply(OpRef::Static(&rules::Where), &promote(&[mask, x, y])?)
}

/// `x` to the power of a number that is not differentiated.
///
/// # Errors
/// See the [module documentation](self).
pub fn power(x: &Variable, exponent: f64) -> Result<Variable> {
    if exponent == 2.0 {
        unary(&rules::Square, x)
    } else if exponent == 0.5 {
        unary(&rules::Sqrt, x)
    } else {
        let exponent = Constant::new(Array::scalar(x.dtype(), exponent));
        binary(&rules::Pow, x, &exponent.boxed())
    }
}

/// Which reduction.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reduction {
    /// Σ x
    Sum,
    /// Σ x / n
    Mean,
    /// The largest element.
    Max,
    /// The smallest element.
    Min,
    /// ln Σ exp x
    LogSumExp,
}

/// Axes of an array of `ndim` dimensions, each once, ascending; `None` means all.
fn axes(name: &str, axes: Option<&[i64]>, ndim: usize) -> Result<Shape> {
    let Some(axes) = axes else {
        return Ok((0..ndim).collect());
    };
    let mut sorted = Shape::new();
    for &axis in axes {
        let axis = normalize_axis(name, axis, ndim)?;
        let Err(at) = sorted.binary_search(&axis) else {
            return Err(Error::Value(format!("{name}: an axis is given twice")));
        };
        sorted.insert(at, axis);
    }
    Ok(sorted)
}

/// Reduces over axes, all of them if none are given.
///
/// # Errors
/// See the [module documentation](self).
pub fn reduce(
    kind: Reduction,
    x: &Variable,
    over: Option<&[i64]>,
    keepdims: bool,
) -> Result<Variable> {
    let ndim = x.ty()?.ndim();
    let name = match kind {
        Reduction::Sum => "sum",
        Reduction::Mean => "mean",
        Reduction::Max => "max",
        Reduction::Min => "min",
        Reduction::LogSumExp => "logsumexp",
    };
    let axes = axes(name, over, ndim)?;
    match kind {
        Reduction::Sum => one(rules::Sum { axes, keepdims }, x),
        Reduction::Mean => one(rules::Mean { axes, keepdims }, x),
        Reduction::Max => one(rules::Max { axes, keepdims }, x),
        Reduction::Min => one(rules::Min { axes, keepdims }, x),
        // One axis after the other, the last first: their numbers stay right.
        Reduction::LogSumExp => axes.iter().rev().try_fold(x.clone(), |x, &axis| {
            one(rules::LogSumExp { axis, keepdims }, &x)
        }),
    }
}

/// Softmax along an axis.
///
/// # Errors
/// See the [module documentation](self).
pub fn softmax(x: &Variable, axis: i64) -> Result<Variable> {
    let axis = normalize_axis("softmax", axis, x.ty()?.ndim())?;
    one(rules::Softmax { axis }, x)
}

/// Logarithm of the softmax along an axis.
///
/// # Errors
/// See the [module documentation](self).
pub fn log_softmax(x: &Variable, axis: i64) -> Result<Variable> {
    let axis = normalize_axis("log_softmax", axis, x.ty()?.ndim())?;
    one(rules::LogSoftmax { axis }, x)
}

/// `-log_softmax(logits)[…, target]`: the loss of each row of logits.
///
/// # Errors
/// See the [module documentation](self).
pub fn cross_entropy(logits: &Variable, targets: &Variable) -> Result<Variable> {
    // In its own name, before the operators below find fault in theirs.
    let pick = OpRef::Static(&rules::Pick);
    pick.infer(&[&logits.ty()?, &targets.ty()?])?;
    let args = [log_softmax(logits, -1)?, targets.clone()];
    unary(&rules::Neg, &Variable::apply(pick, &args)?)
}

/// Rows of `x` at `index`.
///
/// # Errors
/// See the [module documentation](self).
pub fn gather(x: &Variable, index: &Variable) -> Result<Variable> {
    Variable::apply(OpRef::Static(&rules::Gather), &[x.clone(), index.clone()])
}

/// Rows of `x` at the indices `at`. Those at the places `from_end` count from the end of `x`,
/// also when that gets another length: an input below may.
///
/// # Errors
/// See the [module documentation](self).
pub fn rows(x: &Variable, at: Dense<u32>, from_end: &[usize]) -> Result<Variable> {
    let below = || x.topological().into_iter();
    if from_end.is_empty() || !below().any(|node| matches!(node.kind(), Kind::Input(..))) {
        return gather(x, &Constant::new(at).boxed());
    }
    // From the end is from the start of the rows in reverse.
    let ty = x.ty()?;
    let n = ty.shape.first().copied().unwrap_or(0);
    let (mut forward, mut backward) = (at.clone(), Dense::zeros(at.shape())?);
    let mut mask = Dense::<f64>::zeros(at.shape())?;
    for &k in from_end {
        let place = at.as_slice()[k];
        forward.make_mut()[k] = 0;
        backward.make_mut()[k] = (n as u32).wrapping_sub(1).wrapping_sub(place);
        mask.make_mut()[k] = 1.0;
    }
    let reverse = SliceItem::Range {
        start: None,
        stop: None,
        step: -1,
    };
    let reversed = slice(x, vec![reverse])?;
    let backward = gather(&reversed, &Constant::new(backward).boxed())?;
    if from_end.len() == at.as_slice().len() {
        return Ok(backward);
    }
    let forward = gather(x, &Constant::new(forward).boxed())?;
    let mask = Array::from(mask).to_dtype(ty.dtype);
    let inner: Vec<i64> = (at.shape().len()..forward.ty()?.ndim())
        .map(|axis| axis as i64)
        .collect();
    let mask = expand_dims(&Constant::new(mask).boxed(), &inner)?;
    select(&mask, &backward, &forward)
}

/// A basic slice.
///
/// # Errors
/// See the [module documentation](self).
pub fn slice(x: &Variable, items: Vec<SliceItem>) -> Result<Variable> {
    one(rules::Take { items }, x)
}

fn vector_error(name: &str, x: &Variable, y: &Variable) -> Result<Error> {
    Ok(Error::Shape(format!(
        "{name}: shapes {} and {} do not fit",
        show_shape(&x.ty()?.shape),
        show_shape(&y.ty()?.shape)
    )))
}

/// Dot products along the last axis; leading axes broadcast.
///
/// # Errors
/// See the [module documentation](self).
pub fn vecdot(x: &Variable, y: &Variable) -> Result<Variable> {
    let mut args = promote(&[x, y])?;
    let (a, b) = (x.ty()?.shape, y.ty()?.shape);
    if a.is_empty() || a.last() != b.last() {
        return Err(vector_error("vecdot", x, y)?);
    }
    if a != b {
        // The result of the first has the joint shape.
        args[0] = binary(&BroadcastLike, &args[0], &args[1])?;
        args[1] = binary(&BroadcastLike, &args[1], &args[0])?;
    }
    Variable::apply(OpRef::Static(&rules::VecDot), &args)
}

/// Matrix product as `x @ y`: a vector counts as a row on the left and as a column on the
/// right, leading axes broadcast.
///
/// # Errors
/// See the [module documentation](self).
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
    let op = rules::MatMul {
        transpose_a: false,
        transpose_b: false,
    };
    let z = Variable::apply(OpRef::new(op), &args)?;
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
/// See the [module documentation](self).
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
/// See the [module documentation](self).
pub fn outer(x: &Variable, y: &Variable) -> Result<Variable> {
    let flat = |x: &Variable| match x.ty()?.ndim() {
        1 => Ok(x.clone()),
        _ => reshape(x, &[-1]),
    };
    let column = expand_dims(&flat(x)?, &[1])?;
    binary(&rules::Mul, &column, &flat(y)?)
}

/// The matrices of the last two axes without what is above diagonal `k`.
///
/// # Errors
/// See the [module documentation](self).
pub fn tril(x: &Variable, k: i64) -> Result<Variable> {
    one(rules::Tril { k }, x)
}

/// The matrices of the last two axes without what is below diagonal `k`.
///
/// # Errors
/// See the [module documentation](self).
pub fn triu(x: &Variable, k: i64) -> Result<Variable> {
    one(rules::Triu { k }, x)
}

/// Diagonal `k` of the matrices that two axes make, as the last axis.
///
/// # Errors
/// See the [module documentation](self).
pub fn diagonal(x: &Variable, k: i64, axis1: i64, axis2: i64) -> Result<Variable> {
    let ndim = x.ty()?.ndim();
    let pair = [axis1, axis2].map(|a| normalize_axis("diagonal", a, ndim));
    let [row, column] = pair;
    let (row, column) = (row?, column?);
    if row == column {
        return Err(Error::Value(
            "diagonal: axis1 and axis2 are the same".into(),
        ));
    }
    let others = (0..ndim).filter(|&a| a != row && a != column);
    let axes: Shape = others.chain([row, column]).collect();
    if axes.is_sorted() {
        return one(rules::Diagonal { k }, x);
    }
    one(rules::Diagonal { k }, &one(rules::Transpose { axes }, x)?)
}

/// NumPy's `diag`: diagonal `k` of a matrix, or the matrix with a vector along it.
///
/// # Errors
/// See the [module documentation](self).
pub fn diag(x: &Variable, k: i64) -> Result<Variable> {
    match x.ty()?.ndim() {
        1 => one(rules::DiagonalMatrix { k }, x),
        2 => one(rules::Diagonal { k }, x),
        _ => Err(Error::Shape(format!(
            "diag: expected a vector or a matrix, got shape {}",
            show_shape(&x.ty()?.shape)
        ))),
    }
}

/// Permutes the axes; reverses them if no order is given.
///
/// # Errors
/// See the [module documentation](self).
pub fn transpose(x: &Variable, order: Option<&[i64]>) -> Result<Variable> {
    let ndim = x.ty()?.ndim();
    let axes: Shape = match order {
        None => (0..ndim).rev().collect(),
        Some(order) => order
            .iter()
            .map(|&a| normalize_axis("transpose", a, ndim))
            .collect::<Result<_>>()?,
    };
    one(rules::Transpose { axes }, x)
}

/// The same elements in another shape; one length may be -1, to be inferred.
///
/// # Errors
/// See the [module documentation](self).
pub fn reshape(x: &Variable, shape: &[i64]) -> Result<Variable> {
    let length = |&n: &i64| match n {
        -1 => Ok(None),
        n => usize::try_from(n)
            .map(Some)
            .map_err(|_| Error::Value(format!("reshape: a length cannot be {n}"))),
    };
    let shape = shape.iter().map(length).collect::<Result<_>>()?;
    one(rules::Reshape { shape }, x)
}

/// Repeats to a given shape.
///
/// # Errors
/// See the [module documentation](self).
pub fn broadcast_to(x: &Variable, shape: &[usize]) -> Result<Variable> {
    let shape = shape.into();
    one(rules::BroadcastTo { shape }, x)
}

/// Arrays joined along an axis; flattened first if there is none.
///
/// # Errors
/// See the [module documentation](self).
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

/// Operands of one [`Concatenate`](rules::Concatenate). The gradient of each is found by the
/// shapes of all, which costs the square of their number; so more are joined in groups, the
/// groups in groups, and so on. Each level copies once more what is joined.
const JOINED_AT_ONCE: usize = 32;

/// Arrays of one shape joined along a new axis.
///
/// # Errors
/// See the [module documentation](self).
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

/// Removes axes of length 1, all of them if none are given.
///
/// # Errors
/// See the [module documentation](self).
pub fn squeeze(x: &Variable, over: Option<&[i64]>) -> Result<Variable> {
    let ty = x.ty()?;
    let axes = match over {
        Some(_) => axes("squeeze", over, ty.ndim())?,
        None => (0..ty.ndim()).filter(|&a| ty.shape[a] == 1).collect(),
    };
    one(rules::Squeeze { axes }, x)
}

/// Inserts axes of length 1, at these places of the result.
///
/// # Errors
/// See the [module documentation](self).
pub fn expand_dims(x: &Variable, at: &[i64]) -> Result<Variable> {
    let axes = axes("expand_dims", Some(at), x.ty()?.ndim() + at.len())?;
    one(rules::ExpandDims { axes }, x)
}
