//! Whether the lengths in a function's kinds are facts, and what follows from those that are.

use smallvec::SmallVec;

use crate::array::Type;
use crate::ir::function::{Expression, Function, Instruction, Target, ValueId};
use crate::ir::scalar::ScalarOperator;
use crate::rules::{Kernel, OpRef, is_one_of};

/// What the lengths in a function's kinds say.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Lengths {
    /// What they are in every run: the function was specialised for them, and whatever it has was
    /// computed before, so that nothing of it fails.
    Exact,
    /// What they are in every run, in which operators may still refuse values.
    Fixed,
    /// What was seen when the function was built. Only the numbers of axes are facts.
    Seen,
}

impl Lengths {
    /// Whether the lengths in kinds are those of every run.
    pub(super) fn are_facts(self) -> bool {
        self != Lengths::Seen
    }

    /// Whether an instruction may be dropped if nobody reads its results: it does nothing else. With
    /// lengths that were only seen, an operator on arrays may fail for others, and is kept then; but not
    /// one that scatters: those are made for gradients, and whether they fit is nobody's question.
    pub(crate) fn is_droppable(self, function: &Function, expression: &Expression) -> bool {
        match expression {
            Expression::Apply(op, _) if self == Lengths::Exact || op.scatter().is_some() => true,
            other => is_total_for(self, function, other),
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
            Lengths::Exact | Lengths::Fixed => kept == ty,
            Lengths::Seen => {
                let alike = kept.dtype == ty.dtype && kept.ndim() == ty.ndim();
                alike && others.all(|other| other.ndim() == 0)
            }
        }
    }

    /// Whether an array surely has one element.
    pub(super) fn is_single(self, ty: &Type) -> bool {
        match self {
            Lengths::Exact | Lengths::Fixed => ty.size() == 1,
            Lengths::Seen => ty.ndim() == 0,
        }
    }
}

/// Whether all arrays of a function have the lengths in their kinds if those of its parameters have: what
/// operators give follows from their operands, and what blocks and tapes are given is of the very kind.
pub fn are_exact(function: &Function) -> bool {
    are_exact_but(function, &[])
}

/// As [`are_exact`], where the first axes of some values may have any length: only rows of these are
/// looked up, which have the lengths of the other axes.
pub(super) fn are_exact_but(function: &Function, open: &[ValueId]) -> bool {
    let same = |a: ValueId, b: ValueId| function.kind(a) == function.kind(b);
    let instruction = |i: &Instruction| match &i.expression {
        Expression::Apply(op, args) => {
            let types: SmallVec<[&Type; 4]> = args.iter().map(|&a| function.ty(a)).collect();
            let found = op.infer(&types);
            found.is_ok_and(|found| found == *function.ty(i.results[0]))
        }
        Expression::Constant(datum) => datum.kind() == *function.kind(i.results[0]),
        Expression::Push(tape, ids) => {
            let kinds = &function.tapes[*tape as usize];
            ids.iter().map(|&id| function.kind(id)).eq(kinds)
        }
        Expression::Pop(tape) => {
            let kinds = &function.tapes[*tape as usize];
            i.results.iter().map(|&id| function.kind(id)).eq(kinds)
        }
        Expression::Compute(ScalarOperator::Rows(_), ..) => false,
        Expression::Compute(..) | Expression::Guard(..) => true,
    };
    let target = |to: &&Target| {
        let mut pairs = to.args.iter().zip(&function.blocks[to.block].parameters);
        pairs.all(|(&a, &p)| same(a, p))
    };
    let looks_up = |i: &Instruction| match &i.expression {
        Expression::Apply(op, args) if is_one_of!(op: Gather) => {
            !args[1..].iter().any(|a| open.contains(a))
        }
        Expression::Compute(ScalarOperator::Length(0), ..) => true,
        other => !other.operands().iter().any(|a| open.contains(a)),
    };
    function.blocks.iter().all(|block| {
        let targets = block.terminator.targets();
        let mut passed = false;
        block.terminator.each(|id| passed |= open.contains(&id));
        !passed
            && block
                .instructions
                .iter()
                .all(|i| instruction(i) && looks_up(i))
            && targets.iter().all(target)
    })
}

/// As [`is_total`], where the lengths may be facts.
pub(super) fn is_total_for(lengths: Lengths, function: &Function, expression: &Expression) -> bool {
    match expression {
        Expression::Apply(op, args) if lengths.are_facts() => {
            let kernel = || Kernel::of(&**op, function.ty(args[0]).dtype, args.len()).is_some();
            let moves = is_one_of!(op: BroadcastLike, ExpandDims, BasicSlice, SumTo, Transpose);
            !args.is_empty() && (moves || kernel())
        }
        other => is_total(function, other),
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
