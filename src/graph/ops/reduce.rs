//! Reductions over axes, normalised exponentials, running sums.

use super::{apply, axes, axis_of, expand_dims, merge_axes, promote, transpose, unary};
use crate::array::{broadcast, normalize_axis, show_shape};
use crate::error::{Error, Result};
use crate::graph::Variable;
use crate::rules::{self, OpRef, Operator};

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
    /// (Σ x²)^(1/2)
    Norm,
}

impl Reduction {
    /// The operator's name.
    pub fn name(self) -> &'static str {
        match self {
            Reduction::Sum => "sum",
            Reduction::Mean => "mean",
            Reduction::Max => "max",
            Reduction::Min => "min",
            Reduction::LogSumExp => "logsumexp",
            Reduction::Norm => "norm",
        }
    }
}

/// Reduces over axes, all of them if none are given.
///
/// # Errors
/// See the [module documentation](super).
pub fn reduce(
    kind: Reduction,
    x: &Variable,
    over: Option<&[i64]>,
    keepdims: bool,
) -> Result<Variable> {
    let ndim = x.ty()?.ndim();
    let name = kind.name();
    let axes = axes(name, over, ndim)?;
    match kind {
        Reduction::Sum => apply(rules::Sum { axes, keepdims }, &[x]),
        Reduction::Mean => apply(rules::Mean { axes, keepdims }, &[x]),
        Reduction::Max => apply(rules::Max { axes, keepdims }, &[x]),
        Reduction::Min => apply(rules::Min { axes, keepdims }, &[x]),
        Reduction::LogSumExp => logsumexp(x, &axes, keepdims),
        Reduction::Norm => apply(rules::Norm { axes, keepdims }, &[x]),
    }
}

/// Several axes are one axis first: reduced one after the other, each would round the logarithms of
/// the one before, and of large numbers that is more than the gradient can lose.
fn logsumexp(x: &Variable, axes: &[usize], keepdims: bool) -> Result<Variable> {
    let axis = match *axes {
        [] => return Ok(x.clone()),
        [axis] => return apply(rules::LogSumExp { axis, keepdims }, &[x]),
        [..] => x.ty()?.ndim() - axes.len(),
    };
    let kept = (0..x.ty()?.ndim()).filter(|k| !axes.contains(k));
    let order: Vec<i64> = kept.chain(axes.iter().copied()).map(|k| k as i64).collect();
    let moved = transpose(x, Some(&order))?;
    let merged = merge_axes(&moved, axis, axes.len())?;
    let operator = rules::LogSumExp {
        axis,
        keepdims: false,
    };
    let sum = apply(operator, &[&merged])?;
    if !keepdims {
        return Ok(sum);
    }
    let back: Vec<i64> = axes.iter().map(|&k| k as i64).collect();
    expand_dims(&sum, &back)
}

/// Softmax along an axis; of a number along the axis 0 or -1 of the vector of it, as SciPy has it.
///
/// # Errors
/// See the [module documentation](super).
pub fn softmax(x: &Variable, axis: i64) -> Result<Variable> {
    normalized("softmax", x, axis, |axis| rules::Softmax { axis })
}

/// Logarithm of the softmax along an axis.
///
/// # Errors
/// See the [module documentation](super).
pub fn log_softmax(x: &Variable, axis: i64) -> Result<Variable> {
    normalized("log_softmax", x, axis, |axis| rules::LogSoftmax { axis })
}

fn normalized<O: Operator>(
    name: &str,
    x: &Variable,
    axis: i64,
    operator: impl FnOnce(usize) -> O,
) -> Result<Variable> {
    let ndim = x.ty()?.ndim();
    let operator = operator(normalize_axis(name, axis, ndim.max(1))?);
    if ndim > 0 {
        return apply(operator, &[x]);
    }
    super::squeeze(&apply(operator, &[&expand_dims(x, &[0])?])?, None)
}

/// `-log_softmax(logits)[…, target]`: the loss of each row of logits.
///
/// # Errors
/// See the [module documentation](super).
pub fn cross_entropy(logits: &Variable, targets: &Variable) -> Result<Variable> {
    // In its own name, before the operators below find fault in theirs.
    let pick = OpRef::Static(&rules::Pick);
    pick.infer(&[&logits.ty()?, &targets.ty()?])?;
    let args = [log_softmax(logits, -1)?, targets.clone()];
    unary(&rules::Neg, &Variable::apply(pick, &args)?)
}

/// Sums of the elements up to each, along an axis.
///
/// # Errors
/// See the [module documentation](super).
pub fn cumsum(x: &Variable, axis: i64) -> Result<Variable> {
    let axis = axis_of("cumsum", x, axis)?;
    let reverse = false;
    apply(rules::CumSum { axis, reverse }, &[x])
}

/// `y_t = x_t + a_t y_(t-1)` along an axis, of factors `a` that are broadcast to the shape of `x`.
///
/// # Errors
/// See the [module documentation](super).
pub fn linear_recurrence(x: &Variable, factors: &Variable, axis: i64) -> Result<Variable> {
    let axis = axis_of("linear_recurrence", x, axis)?;
    let args = promote(&[x, factors])?;
    let (like, of) = (args[0].ty()?, args[1].ty()?);
    let both = [&like.shape[..], &of.shape[..]];
    if broadcast("linear_recurrence", both.into_iter())? != like.shape {
        return Err(Error::Shape(format!(
            "linear_recurrence: factors of shape {} do not broadcast to {}, the shape of x",
            show_shape(&of.shape),
            show_shape(&like.shape)
        )));
    }
    let factors = super::broadcast_like(&args[1], &args[0], 0)?;
    let reverse = false;
    apply(
        rules::LinearRecurrence { axis, reverse },
        &[&args[0], &factors],
    )
}

/// The number of elements along axes, whatever it will be.
///
/// # Errors
/// See the [module documentation](super).
pub fn count(x: &Variable, axes: &[i64]) -> Result<Variable> {
    let ndim = x.ty()?.ndim();
    let axes = axes.iter().map(|&a| normalize_axis("count", a, ndim));
    let axes = axes.collect::<Result<_>>()?;
    apply(rules::CountLike { axes }, &[x])
}
