//! What the aligned decompositions have in common: the vectors that have a derivative in a given
//! direction, of eigenvalues and of singular values (see [`super::spectral`]).
//!
//! Operand 0 is a packed decomposition, operand 1 the direction. The result is the decomposition with
//! other vectors where values coincide, so its derivative is that of operand 0, and exists only where
//! they do not.

use crate::rules::{Argument, Case, Check, Distinct, Ex, OpRef, Operator};

use super::spectral::row;

/// Stands in `impl Operator` for `name`, `vjp` and `jvp`. It takes the name, the row of operand 0 that
/// has the values, and whether they must differ from zero, too.
macro_rules! aligned {
    ($name:literal, values: $row:literal, from_zero: $from_zero:literal) => {
        fn name(&self) -> &str {
            $name
        }

        fn vjp<'t>(&self, i: usize, g: Ex<'t>, _y: Ex<'t>, x: &[Ex<'t>]) -> Option<Ex<'t>> {
            let g = if i == 0 { g } else { x[1].zeros_like() };
            Some($crate::rules::linalg::aligned::derivative(
                g, x[0], $row, $from_zero,
            ))
        }

        fn jvp<'t>(&self, i: usize, t: Ex<'t>, _y: Ex<'t>, x: &[Ex<'t>]) -> Option<Ex<'t>> {
            let t = if i == 0 { t } else { x[0].zeros_like() };
            Some($crate::rules::linalg::aligned::derivative(
                t, x[0], $row, $from_zero,
            ))
        }
    };
}
pub(super) use aligned;

/// `x`, which raises where the values in a row of a packed decomposition coincide.
pub(super) fn derivative<'t>(x: Ex<'t>, packed: Ex<'t>, values: i64, from_zero: bool) -> Ex<'t> {
    let check = Check::Itself;
    x.with_new(Distinct { from_zero, check }, &[row(packed, values)])
}

/// Cases of an aligned decomposition, of the shapes of its operands.
pub(super) fn cases(op: &'static dyn Operator, shapes: &[(&[usize], &[usize])]) -> Vec<Case> {
    let case = |&(packed, t): &(&[usize], &[usize])| {
        let args = vec![
            Argument::distinct(packed, &[(0.5, 3.0)]),
            Argument::real(t, &[(-1.0, 1.0)]),
        ];
        Case::new(OpRef::Static(op), args)
    };
    shapes.iter().map(case).collect()
}
