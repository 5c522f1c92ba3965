//! Values that repeat one number, and what reads the number instead.
//!
//! The gradient of a sum begins with ones, repeated to the shape of its terms. So a program of a batch
//! would write an array of ones and then multiply it, where a number times the rest will do.

use rustc_hash::FxHashMap as HashMap;

use super::known::Known;
use crate::array::{Type, broadcast};
use crate::ir::function::{Operands, ValueId};
use crate::rules::OpRef;

/// For a value that repeats one number, what makes it; operand 0 holds the number.
#[derive(Debug, Default)]
pub(super) struct Repeated(HashMap<ValueId, (OpRef, Operands)>);

impl Repeated {
    /// Notes that `result` is operand 0 of an operator, one number, repeated.
    pub(super) fn note(&mut self, result: ValueId, op: &OpRef, args: &[ValueId]) {
        let made = (op.clone(), Operands::from_slice(args));
        self.0.insert(result, made);
    }

    /// Elementwise operators read a repeated number once, if something else still gives the result
    /// its shape.
    pub(super) fn read_once<'t>(
        &self,
        args: &mut [ValueId],
        ty: &Type,
        type_of: impl Fn(ValueId) -> &'t Type,
    ) {
        for k in 0..args.len() {
            let Some((_, made)) = self.0.get(&args[k]) else {
                continue;
            };
            let others = (0..args.len()).filter(|&j| j != k);
            let shapes = others.map(|j| type_of(args[j]).shape.as_slice());
            if broadcast("", shapes).is_ok_and(|s| s == ty.shape) {
                args[k] = made[0];
            }
        }
    }

    /// A number times repeated ones is the number, repeated: what to compute instead of a product of
    /// type `ty`. It is exact, of NaN and of -0 too.
    pub(super) fn product<'t>(
        &self,
        factors: &[ValueId],
        ty: &Type,
        type_of: impl Fn(ValueId) -> &'t Type,
        known: impl Fn(ValueId) -> Option<Known>,
    ) -> Option<(OpRef, Operands)> {
        let &[a, b] = factors else {
            return None;
        };
        let either = [(a, b), (b, a)].into_iter();
        let mut found = either.filter_map(|(ones, number)| {
            let (op, made) = self.0.get(&ones)?;
            let fits = type_of(ones) == ty && type_of(number) == type_of(made[0]);
            let is_one = known(made[0]).is_some_and(|x| x.is_number(1.0));
            let mut args = made.clone();
            args[0] = number;
            (fits && is_one).then(|| (op.clone(), args))
        });
        found.next()
    }
}
