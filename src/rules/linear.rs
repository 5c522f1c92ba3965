//! What the operators have in common that are linear in operand 0 and do not differentiate by the
//! others, which are indices or give a shape: all but the type of the result and the kernel.

/// Stands in `impl Operator` for `name`, `key`, `vjp`, `jvp` and `reads`. It takes the name, and the
/// transpose as `|op, g, x| …`: the operator, the gradient of the result, and the operands. With
/// `, reads 1` only the values of operand 0 matter, with `, reads 2` those of operands 0 and 1; the others
/// give a shape, and their values need not be there.
///
/// The derivative of a linear operator is itself, so forward mode applies it to the tangent.
macro_rules! linear {
    ($name:literal, $transpose:expr $(, reads $count:literal)?) => {
        fn name(&self) -> &str {
            $name
        }

        fn key(&self) -> Option<&dyn $crate::rules::Key> {
            Some(self)
        }

        fn vjp<'t>(
            &self,
            i: usize,
            g: $crate::rules::Ex<'t>,
            _y: $crate::rules::Ex<'t>,
            x: &[$crate::rules::Ex<'t>],
        ) -> Option<$crate::rules::Ex<'t>> {
            type Rule<O> =
                for<'t, 'a> fn(&'a O, $crate::rules::Ex<'t>, &'a [$crate::rules::Ex<'t>])
                    -> $crate::rules::Ex<'t>;
            let transpose: Rule<Self> = $transpose;
            (i == 0).then(|| transpose(self, g, x))
        }

        fn jvp<'t>(
            &self,
            i: usize,
            t: $crate::rules::Ex<'t>,
            _y: $crate::rules::Ex<'t>,
            x: &[$crate::rules::Ex<'t>],
        ) -> Option<$crate::rules::Ex<'t>> {
            (i == 0).then(|| t.with_new(self.clone(), &x[1..]))
        }

        $(
            fn reads(&self, i: usize) -> bool {
                i < $count
            }
        )?
    };
}
pub(crate) use linear;
