//! Making a function of one block smaller without changing what it computes.
//!
//! One pass in program order folds numbers, removes operators that do nothing for the
//! types at hand, and shares common subexpressions; then what no result needs is dropped.
//! Types are concrete here: a program is specialised for its inputs before it is
//! simplified, so "does nothing" can depend on shapes.
//!
//! Floating-point results are not reassociated: only exact identities are used.

use std::collections::HashMap;

use smallvec::SmallVec;

use super::function::{Block, Expression, Function, Instruction, Straight, Terminator, ValueId};
use super::kind::Datum;
use crate::array::{Array, Type, View};
use crate::error::Result;
use crate::interrupt::Poller;
use crate::reserve;
use crate::rules::differentiate::Product;
use crate::rules::{Form, Kernel, Neg, OpRef, result_type};

/// About how many nanoseconds an instruction takes.
const VALUE: usize = 500;

/// The same function for parameters of other types. `products` are what rules made in it.
///
/// # Errors
/// Whatever an operator reports about the new types, and [`Error::Shape`](crate::Error::Shape) if a
/// rule gives a product of another type than it must have.
pub(crate) fn specialize<'p>(
    function: &Function,
    parameters: &[Type],
    products: impl Iterator<Item = &'p Product>,
) -> Result<Function> {
    reserve::ahead(function.kinds.len(), reserve::bytes::OPTIMIZED)?;
    let mut out = function.clone();
    let (block, _) = function.straight()?;
    // Where each value gets its type, and the products by when both of their types are known.
    let values = block.parameters.iter().copied();
    let values: Vec<ValueId> = values
        .chain(block.instructions.iter().map(Instruction::result))
        .collect();
    let mut places = vec![0; function.kinds.len()];
    for (place, &id) in values.iter().enumerate() {
        places[id as usize] = place;
    }
    let known = |p: &Product| places[p.value as usize].max(places[p.like as usize]);
    let mut products: Vec<&Product> = products.collect();
    products.sort_by_key(|p| known(p));
    let mut products = products.into_iter().peekable();
    let definitions = std::iter::repeat_n(None, block.parameters.len());
    let definitions = definitions.chain(block.instructions.iter().map(Some));
    let mut poller = Poller::default();
    for (place, definition) in definitions.enumerate() {
        poller.step(VALUE)?;
        let ty = match definition.map(Instruction::straight) {
            None => parameters.get(place).cloned(),
            Some(Straight::Constant(a)) => Some(a.ty()),
            Some(Straight::Apply(op, args)) => {
                let types: SmallVec<[&Type; 4]> = args.iter().map(|&a| out.ty(a)).collect();
                Some(result_type(&**op, &types)?)
            }
        };
        if let Some(ty) = ty {
            out.kinds[values[place] as usize] = ty.into();
        }
        while let Some(product) = products.next_if(|p| known(p) <= place) {
            product.check(out.ty(product.value), out.ty(product.like))?;
        }
    }
    Ok(out)
}

/// What is known about a value.
struct Simplifier<'f> {
    function: &'f Function,
    /// The value that stands for each value.
    alias: Vec<ValueId>,
    /// Values of one element that is known now.
    number: Vec<Option<f64>>,
    /// For a value that repeats one element, the value that holds it.
    splat: Vec<Option<ValueId>>,
    /// For a value that is -x, the value x.
    negated: Vec<Option<ValueId>>,
    /// Applied operators with their operands.
    seen: HashMap<(OpRef, SmallVec<[ValueId; 3]>), ValueId>,
    seen_numbers: HashMap<(Type, u64), ValueId>,
}

impl Simplifier<'_> {
    fn ty(&self, id: ValueId) -> &Type {
        self.function.ty(id)
    }

    fn set_number(&mut self, id: ValueId, value: &Array) {
        self.number[id as usize] = value.item().ok();
    }

    /// A value equal to `op(args)`, if the operator does nothing.
    fn identity(&self, op: &OpRef, args: &[ValueId], ty: &Type) -> Option<ValueId> {
        let number = |k: usize| self.number[args[k] as usize];
        let keeps = |k: usize| args.get(k).is_some_and(|&a| self.ty(a) == ty);
        let types: SmallVec<[&Type; 4]> = args.iter().map(|&a| self.ty(a)).collect();
        if keeps(0) && op.aliases(&types, ty) {
            return Some(args[0]);
        }
        // The number that leaves the other operand as it is.
        let neutral = match op.form() {
            Form::Product => [(0, 1, 1.0), (1, 0, 1.0)],
            Form::Quotient => [(0, 1, 1.0); 2],
            Form::Difference => [(0, 1, 0.0); 2],
            _ => return None,
        };
        let [first, second] = neutral.map(|(kept, k, neutral)| {
            (args.len() == 2 && number(k) == Some(neutral) && keeps(kept)).then(|| args[kept])
        });
        first.or(second)
    }

    /// Elementwise operators read a repeated number once, if something else still gives
    /// the result its shape.
    fn read_splats(&self, args: &mut SmallVec<[ValueId; 3]>, ty: &Type) {
        for k in 0..args.len() {
            let Some(scalar) = self.splat[args[k] as usize] else {
                continue;
            };
            let others = (0..args.len()).filter(|&j| j != k);
            let shapes = others.map(|j| self.ty(args[j]).shape.as_slice());
            if crate::array::broadcast("", shapes).is_ok_and(|s| s == ty.shape) {
                args[k] = scalar;
            }
        }
    }

    /// The value of an operator on known numbers.
    fn fold(&self, op: &OpRef, args: &[ValueId], ty: &Type) -> Option<Array> {
        if ty.size() != 1 || !ty.dtype.is_real() {
            return None;
        }
        let mut known: SmallVec<[Array; 3]> = SmallVec::new();
        for (k, &a) in args.iter().enumerate() {
            known.push(match self.number[a as usize] {
                Some(x) => Array::full(self.ty(a), x),
                // Only the shape is read; do not make a large array for it.
                None if !op.reads(k) => Array::scalar(self.ty(a).dtype, 0.0),
                None => return None,
            });
        }
        let shapes = args.iter().map(|&a| &self.ty(a).shape[..]);
        let views = known.iter().zip(shapes);
        let views: SmallVec<[View<'_>; 3]> = views
            .map(|(a, shape)| View::new(shape, a.view().data))
            .collect();
        let mut out = Array::full(ty, 0.0);
        let written = op.eval(&views, out.view_mut()?);
        written.is_ok().then_some(out)
    }
}

/// A smaller function with the same results.
///
/// # Errors
/// [`Error::Value`](crate::Error::Value) if there are several blocks.
pub(crate) fn simplify(function: &Function) -> Result<Function> {
    let (block, results) = function.straight()?;
    let count = function.kinds.len();
    reserve::ahead(count, reserve::bytes::OPTIMIZED)?;
    let mut pass = Simplifier {
        function,
        alias: (0..count as ValueId).collect(),
        number: vec![None; count],
        splat: vec![None; count],
        negated: vec![None; count],
        seen: HashMap::new(),
        seen_numbers: HashMap::new(),
    };
    let mut kept: Vec<Instruction> = Vec::with_capacity(block.instructions.len());
    let mut poller = Poller::default();
    for i in &block.instructions {
        poller.step(VALUE)?;
        let result = i.result();
        let ty = function.ty(result);
        let mut expression = match i.straight() {
            Straight::Constant(a) => Expression::Constant(a.clone().into()),
            Straight::Apply(op, args) => {
                let mut args: SmallVec<[ValueId; 3]> =
                    args.iter().map(|&a| pass.alias[a as usize]).collect();
                if ty.ndim() > 0 && Kernel::of(&**op, ty.dtype, args.len()).is_some() {
                    pass.read_splats(&mut args, ty);
                }
                if let Some(same) = pass.identity(op, &args, ty) {
                    pass.alias[result as usize] = same;
                    continue;
                }
                match pass.fold(op, &args, ty) {
                    Some(value) => Expression::Constant(value.into()),
                    None => Expression::Apply(op.clone(), args),
                }
            }
        };
        // x * -1 is -x, exactly.
        if let Expression::Apply(op, args) = &expression
            && op.form() == Form::Product
            && args.len() == 2
        {
            for (k, other) in [(0, 1), (1, 0)] {
                if pass.number[args[k] as usize] == Some(-1.0) && pass.ty(args[other]) == ty {
                    let x = args[other];
                    expression = Expression::Apply(OpRef::Static(&Neg), SmallVec::from_slice(&[x]));
                    break;
                }
            }
        }
        // -(-x) is x, exactly.
        if let Expression::Apply(op, args) = &expression
            && op.form() == Form::Negation
        {
            if let Some(x) = pass.negated[args[0] as usize] {
                pass.alias[result as usize] = x;
                continue;
            }
            pass.negated[result as usize] = Some(args[0]);
        }
        match &expression {
            Expression::Constant(Datum::Array(a)) => {
                pass.set_number(result, a);
                if let Some(x) = pass.number[result as usize] {
                    let key = (a.ty(), x.to_bits());
                    if let Some(&same) = pass.seen_numbers.get(&key) {
                        pass.alias[result as usize] = same;
                        continue;
                    }
                    pass.seen_numbers.insert(key, result);
                }
            }
            Expression::Apply(op, args) => {
                let repeats = op.form() == Form::Repeated;
                if repeats && pass.ty(args[0]).size() == 1 {
                    pass.splat[result as usize] = Some(args[0]);
                }
                let key = (op.clone(), args.clone());
                // What an operator says of itself may be wrong, the type is what was computed.
                if let Some(&same) = pass.seen.get(&key)
                    && pass.ty(same) == ty
                {
                    pass.alias[result as usize] = same;
                    continue;
                }
                pass.seen.insert(key, result);
            }
            _ => {}
        }
        kept.push(Instruction {
            results: i.results.clone(),
            expression,
            line: i.line,
        });
    }
    let results: Vec<ValueId> = results.iter().map(|&r| pass.alias[r as usize]).collect();
    let mut out = Function {
        name: function.name.clone(),
        kinds: function.kinds.clone(),
        tapes: Vec::new(),
        notes: function.notes.clone(),
        blocks: vec![Block {
            parameters: block.parameters.clone(),
            instructions: kept,
            terminator: Terminator::Return(results),
        }],
    };
    drop_dead(&mut out);
    Ok(out)
}

/// Drops the instructions of a one-block function whose results nobody needs.
pub(crate) fn drop_dead(function: &mut Function) {
    let mut needed = vec![false; function.kinds.len()];
    let Some(block) = function.blocks.first_mut() else {
        return;
    };
    if let Terminator::Return(results) = &block.terminator {
        for &r in results {
            needed[r as usize] = true;
        }
    }
    for i in block.instructions.iter().rev() {
        if let (true, Expression::Apply(_, args)) = (needed[i.result() as usize], &i.expression) {
            for &a in args {
                needed[a as usize] = true;
            }
        }
    }
    block.instructions.retain(|i| needed[i.result() as usize]);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::array::DType;
    use crate::ir::Builder;
    use crate::rules::{Add, BroadcastTo, Div, Exp, Mul, Operator, Sub};

    /// The operators that are left of a function of `x`, four float64, which builds its result by `f`.
    fn left(
        f: impl Fn(&dyn Fn(&'static dyn Operator, &[ValueId]) -> ValueId, &Builder, ValueId) -> ValueId,
    ) -> Vec<String> {
        let b = Builder::new();
        let x = b.parameter(Type::new(DType::F64, &[4]));
        let apply = |op: &'static dyn Operator, args: &[ValueId]| {
            b.try_apply(OpRef::Static(op), args).expect("fitting types")
        };
        let result = f(&apply, &b, x);
        b.terminate(Terminator::Return(vec![result]));
        let simple = simplify(&b.finish("f").expect("fitting types")).expect("one block");
        let applied = simple.blocks[0]
            .instructions
            .iter()
            .filter_map(|i| match &i.expression {
                Expression::Apply(op, _) => Some(op.name().to_owned()),
                _ => None,
            });
        applied.collect()
    }

    #[test]
    fn operators_that_do_nothing_are_dropped() {
        let none: [&str; 0] = [];
        for (op, number, first, expected) in [
            (&Mul as &'static dyn Operator, 1.0, true, &none[..]),
            (&Mul, 1.0, false, &none),
            (&Div, 1.0, false, &none),
            (&Sub, 0.0, false, &none),
            (&Mul, -1.0, true, &["neg"]),
            (&Mul, -1.0, false, &["neg"]),
            (&Div, 1.0, true, &["div"]),
            (&Sub, 0.0, true, &["sub"]),
            (&Mul, 0.0, true, &["mul"]),
            (&Mul, 2.0, false, &["mul"]),
            (&Sub, 1.0, false, &["sub"]),
            // -0 + 0 is 0: it is no identity.
            (&Add, 0.0, false, &["add"]),
        ] {
            let found = left(|apply, b, x| {
                let number = b.fixed(number.into());
                let args = if first { [number, x] } else { [x, number] };
                apply(op, &args)
            });
            assert_eq!(found, expected, "{} {number} {first}", op.name());
        }
        // Where the number gives the result its shape, something is done.
        let found = left(|apply, b, x| {
            let one = b.fixed(Array::full(&Type::new(DType::F64, &[3, 4]), 1.0));
            apply(&Mul, &[x, one])
        });
        assert_eq!(found, ["mul"]);
    }

    #[test]
    fn what_is_known_is_computed_once_and_now() {
        let none: [&str; 0] = [];
        let folded = left(|apply, b, _| {
            let (two, three) = (b.fixed(2.0.into()), b.fixed(3.0.into()));
            apply(&Exp, &[apply(&Add, &[two, three])])
        });
        assert_eq!(folded, none);
        let negated = left(|apply, _, x| apply(&Neg, &[apply(&Neg, &[x])]));
        assert_eq!(negated, none);
        let thrice = left(|apply, _, x| apply(&Neg, &[apply(&Neg, &[apply(&Neg, &[x])])]));
        assert_eq!(thrice, ["neg"]);
        let shared = left(|apply, _, x| apply(&Add, &[apply(&Exp, &[x]), apply(&Exp, &[x])]));
        assert_eq!(shared, ["exp", "add"]);
        let unused = left(|apply, _, x| {
            apply(&Exp, &[x]);
            apply(&Neg, &[x])
        });
        assert_eq!(unused, ["neg"]);
        // Equal numbers are one, so what is computed from them is too.
        let numbers = left(|apply, b, x| {
            let sums = [(); 2].map(|()| apply(&Add, &[x, b.fixed(5.0.into())]));
            apply(&Mul, &sums)
        });
        assert_eq!(numbers, ["add", "mul"]);
    }

    #[test]
    fn a_repeated_number_is_read_once() {
        let repeat = |b: &Builder, number| {
            let shape = [4].as_slice().into();
            b.try_apply(OpRef::new(BroadcastTo { shape }), &[number])
                .expect("fits")
        };
        let found = left(|apply, b, x| {
            let number = b.fixed(5.0.into());
            apply(&Add, &[x, repeat(b, number)])
        });
        assert_eq!(found, ["add"]);
        // Of two one still gives the shape.
        let found = left(|apply, b, _| {
            let number = b.fixed(5.0.into());
            apply(&Add, &[repeat(b, number), repeat(b, number)])
        });
        assert_eq!(found.last().map(String::as_str), Some("add"));
        assert_eq!(found.len(), 2);
    }
}
