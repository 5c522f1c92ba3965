//! What an operator may say of itself in a function with a loop and a branch: in both modes of
//! differentiation, when the function is simplified, and when it is run in either way.

use wyrmling::exec::{Compiled, Outcome, interpret};
use wyrmling::ir::{
    Builder, Comparison, Datum, Function, Lengths, ScalarOperator, Target, Terminator, ValueId,
    ValueKind, jvp, simplify, vjp,
};
use wyrmling::rules::{self, OpRef};
use wyrmling::{DType, Error, Result, Type};

use super::liar::{Liar, Lie, WRONG, When, is_harmless, lies};
use super::without_panic;
use crate::common::numbers;

/// `y` begins as `x`; `n` times it becomes `liar(y, x)`, to which `x` is added if `flag` does not hold.
fn repeated(op: &OpRef, x: &Type) -> Result<Function> {
    let b = Builder::new();
    let to = |block, args: &[ValueId]| Target {
        block,
        args: args.to_vec(),
    };
    let x_kind = ValueKind::from(x.clone());
    let (x, n) = (b.parameter(x_kind.clone()), b.parameter(ValueKind::Int));
    let flag = b.parameter(ValueKind::Bool);
    let [zero, one] = [0, 1].map(|k| b.literal(Datum::Int(k)));
    let [header, body, other, join, end] = [(); 5].map(|()| b.block());
    b.switch_to(0)?;
    b.terminate(Terminator::Jump(to(header, &[zero, x])));
    b.switch_to(header)?;
    let (i, y) = (b.parameter(ValueKind::Int), b.parameter(x_kind.clone()));
    let less = ScalarOperator::CompareInt(Comparison::Less);
    b.terminate(Terminator::Branch {
        condition: b.compute(less, &[i, n], None)?,
        then: to(body, &[]),
        otherwise: to(end, &[]),
    });
    b.switch_to(body)?;
    let z = b.try_apply(op.clone(), &[y, x])?;
    b.terminate(Terminator::Branch {
        condition: flag,
        then: to(join, &[z]),
        otherwise: to(other, &[]),
    });
    b.switch_to(other)?;
    let sum = b.try_apply(OpRef::Static(&rules::Add), &[z, x])?;
    b.terminate(Terminator::Jump(to(join, &[sum])));
    b.switch_to(join)?;
    let next = b.parameter(x_kind);
    let exit = b.exit("an integer beyond 64 bits", 1);
    let count = b.compute(ScalarOperator::IntAdd, &[i, one], Some(exit))?;
    b.terminate(Terminator::Jump(to(header, &[count, next])));
    b.switch_to(end)?;
    b.terminate(Terminator::Return(vec![y]));
    b.finish("repeated")
}

/// The first result of a function for arguments of which one is a flag, by every way of running it, as
/// it is and simplified: 12, of which those that fail are `None`.
fn runs(function: &Result<Function>, args: &[Datum]) -> Vec<Option<Vec<f64>>> {
    let first = |outcome| match outcome {
        Outcome::Returned(results) => match &results[0] {
            Datum::Array(array) => Some(array.to_f64()),
            other => panic!("{other:?}"),
        },
        Outcome::Left(exit) => panic!("left by {exit}"),
    };
    let function = function.as_ref().ok();
    let simplified = [Lengths::Seen, Lengths::Exact];
    let simplified = simplified.map(|lengths| simplify(function?, lengths).ok());
    let mut found = Vec::new();
    for function in [function.cloned()].into_iter().chain(simplified) {
        let compiled = function.clone().and_then(|f| Compiled::new(f).ok());
        for flag in [true, false] {
            let mut args = args.to_vec();
            args[2] = Datum::Bool(flag);
            let compiled = compiled.as_ref().and_then(|c| c.run(&args).ok());
            let interpreted = function
                .as_ref()
                .and_then(|f| interpret(f, &args, 100_000).ok());
            found.extend([compiled, interpreted].map(|outcome| outcome.and_then(first)));
        }
    }
    found
}

/// All that can be done with the function: the same number of results for each operator.
fn everything(lie: Lie, when: When, like: bool, ty: &Type) -> Vec<Option<Vec<f64>>> {
    let op = OpRef::new(Liar::new(lie, when, like));
    let function = repeated(&op, ty);
    let number = |seed| Datum::from(numbers(ty.dtype, &ty.shape, seed));
    let mut args = vec![number(1), Datum::Int(3), Datum::Bool(true)];
    let mut found = runs(&function, &args);
    // Each of these takes one array more: a cotangent, or a tangent.
    args.push(number(2));
    let of_x = |f: &Function| f.parameters()[0];
    let reverse = |f: &Function| Ok(vjp(f, &[of_x(f)])?.function);
    let forward = |f: &Function| Ok(jvp(f, &[of_x(f)])?.function);
    let reversed = function.as_ref().map_err(Error::clone).and_then(reverse);
    let pushed = function.as_ref().map_err(Error::clone).and_then(forward);
    found.extend(runs(&reversed, &args));
    found.extend(runs(&pushed, &args));
    args.push(number(2));
    found.extend(runs(
        &reversed.as_ref().map_err(Error::clone).and_then(forward),
        &args,
    ));
    found
}

#[test]
fn an_operator_that_lies_in_a_loop_is_found_out_or_does_no_harm() {
    let mut all = lies();
    all.extend(WRONG.map(Lie::Vjp));
    let whens = [When::Always, When::EveryOther, When::Once(2)];
    for (shape, whens) in [(&[3, 4][..], &whens[..]), (&[], &whens[..2])] {
        let ty = Type::new(DType::F64, shape);
        for like in [false, true] {
            let truth = everything(Lie::None, When::Always, like, &ty);
            assert!(truth.iter().all(Option::is_some), "{like} {truth:?}");
            for &lie in &all {
                for &when in whens {
                    let what = (lie, when, like, shape);
                    let found = without_panic(&what, || everything(lie, when, like, &ty));
                    assert_eq!(found.len(), truth.len());
                    if is_harmless(lie, like) && !matches!(lie, Lie::Jvp(_)) {
                        for (found, truth) in found.iter().zip(&truth) {
                            assert!(found.is_none() || found == truth, "{what:?}");
                        }
                    }
                }
            }
        }
    }
}
