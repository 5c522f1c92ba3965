//! Whether the lengths in a function's kinds are facts, and what follows from those that are.

use crate::array::Type;
use crate::ir::function::{Expression, Function, ValueId};
use crate::ir::scalar::ScalarOperator;
use crate::rules::{Kernel, OpRef};

/// What the lengths in a function's kinds say.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Lengths {
    /// What they are in every run: the function was specialised for them.
    Exact,
    /// What was seen when the function was built. Only the numbers of axes are facts.
    Seen,
}

impl Lengths {
    /// Whether an instruction may be dropped if nobody reads its results: it does nothing else. With
    /// lengths that were only seen, an operator on arrays may fail for others, and is kept then; but not
    /// one that scatters: those are made for gradients, and whether they fit is nobody's question.
    pub(crate) fn is_droppable(self, function: &Function, expression: &Expression) -> bool {
        match expression {
            Expression::Apply(op, _) if self == Lengths::Exact || op.scatter().is_some() => true,
            other => is_total(function, other),
        }
    }

    /// Whether a result of type `ty` has the shape of an operand of type `kept`, where it is one of
    /// an elementwise operator, and `others` are the other operands.
    pub(super) fn is_shape_of<'a>(
        self,
        kept: &Type,
        mut others: impl Iterator<Item = &'a Type>,
        ty: &Type,
    ) -> bool {
        match self {
            Lengths::Exact => kept == ty,
            Lengths::Seen => {
                let alike = kept.dtype == ty.dtype && kept.ndim() == ty.ndim();
                alike && others.all(|other| other.ndim() == 0)
            }
        }
    }

    /// Whether an array surely has one element.
    pub(super) fn is_single(self, ty: &Type) -> bool {
        match self {
            Lengths::Exact => ty.size() == 1,
            Lengths::Seen => ty.ndim() == 0,
        }
    }
}

/// Whether an instruction does nothing but give results, and does so for all operands, whatever their
/// values and lengths: it may be computed where it was not. `false` says nothing.
pub(super) fn is_total(function: &Function, expression: &Expression) -> bool {
    match expression {
        Expression::Apply(op, args) => applies(op, args, |id| function.ty(id)),
        Expression::Compute(ScalarOperator::Length(axis), args, _) => {
            function.ty(args[0]).ndim() > usize::from(*axis)
        }
        Expression::Compute(op, ..) => !op.can_fail(),
        Expression::Constant(_) => true,
        Expression::Guard(..) | Expression::Push(..) | Expression::Pop(_) => false,
    }
}

/// Whether an operator has a result for all operands with these numbers of axes.
fn applies<'a>(op: &OpRef, args: &[ValueId], ty: impl Fn(ValueId) -> &'a Type) -> bool {
    let Some(&first) = args.first() else {
        return false;
    };
    // Operands without axes, and one array, which may be given twice, always have a common shape.
    let mut arrays = args.iter().copied().filter(|&a| ty(a).ndim() > 0);
    let array = arrays.next();
    let fit = arrays.all(|a| Some(a) == array);
    fit && Kernel::of(&**op, ty(first).dtype, args.len()).is_some()
}
