//! Functions that are put together by hand and are well formed but for one operator: it has operands of
//! another number, element type or shape than it takes, or another result than it gives.

use std::panic::{AssertUnwindSafe, catch_unwind};

use wyrmling::exec::{Compiled, Leaf, LossArgument, Outcome, Program, SampleLoss, batched};
use wyrmling::ir::{
    Block, Datum, Expression, Function, Instruction, Lengths, Notes, Terminator, adjoint,
    are_exact, jvp, simplify, vjp,
};
use wyrmling::rules::{self, Argument, Case, OpRef};
use wyrmling::{Array, DType, Error, Type};

use super::without_panic;
use crate::common::numbers;

/// A function that applies an operator to its parameters.
fn applied(op: &OpRef, args: &[Type], result: Type) -> Function {
    let parameters: Vec<u32> = (0..args.len() as u32).collect();
    let id = args.len() as u32;
    let expression = Expression::Apply(op.clone(), parameters.as_slice().into());
    Function {
        name: "applied".into(),
        kinds: args
            .iter()
            .cloned()
            .chain([result])
            .map(Into::into)
            .collect(),
        blocks: vec![Block {
            parameters,
            instructions: vec![Instruction::new(id, expression)],
            terminator: Terminator::Return(vec![id]),
        }],
        tapes: Vec::new(),
        notes: Notes::default(),
    }
}

/// Two cases of each operator; the first of an elementwise one is of single numbers.
fn cases() -> impl Iterator<Item = Case> {
    rules::table().flat_map(|entry| (entry.cases)().into_iter().take(2))
}

/// The types of a case's operands.
fn types(case: &Case) -> Vec<Type> {
    let ty = |argument: &Argument| match argument {
        Argument::Real { shape, .. }
        | Argument::ShapeOnly { shape }
        | Argument::Dominant { shape } => Type::new(DType::F64, shape),
        Argument::Index { shape, .. } => Type::new(DType::U32, shape),
        Argument::Offsets { bags, .. } => Type::new(DType::U32, &[bags + 1]),
    };
    case.args.iter().map(ty).collect()
}

/// The same element types, with other lengths or numbers of axes, and other element types.
fn others(ty: &Type) -> Vec<Type> {
    let mut all: Vec<Type> = [DType::F32, DType::F64, DType::U32]
        .into_iter()
        .filter(|&dtype| dtype != ty.dtype)
        .map(|dtype| Type::new(dtype, &ty.shape))
        .collect();
    let mut further = ty.clone();
    further.shape.push(2);
    all.push(further);
    if let Some((_, fewer)) = ty.shape.split_first() {
        all.push(Type::new(ty.dtype, fewer));
        let mut longer = ty.clone();
        longer.shape[0] += 1;
        all.push(longer);
        let mut empty = ty.clone();
        empty.shape[0] = 0;
        all.push(empty);
    }
    all
}

/// Types of operands that differ from those of a case in one respect.
fn changed(args: &[Type]) -> Vec<Vec<Type>> {
    let mut all = vec![
        Vec::new(),
        args.iter().map(|ty| Type::scalar(ty.dtype)).collect(),
    ];
    for k in 0..args.len() {
        let mut fewer = args.to_vec();
        fewer.remove(k);
        all.push(fewer);
        for other in others(&args[k]) {
            let mut args = args.to_vec();
            args[k] = other;
            all.push(args);
        }
    }
    let more = args.last().cloned().unwrap_or(Type::scalar(DType::F64));
    all.push(args.iter().cloned().chain([more]).collect());
    all
}

fn value(ty: &Type, seed: usize) -> Array {
    match ty.dtype {
        DType::U32 => Array::full(ty, [0.0, 1.0, 4e9][seed % 3]),
        dtype => numbers(dtype, &ty.shape, seed as u32),
    }
}

fn first(outcome: Outcome) -> Array {
    outcome.arrays().expect("operands fit").remove(0)
}

/// Runs a function in every way. A run gives what the operator itself gives, or an error.
fn runs(function: &Function, op: &OpRef, args: &[Type]) {
    let what = (op, args, &function.kinds);
    let values: Vec<Array> = args
        .iter()
        .enumerate()
        .map(|(k, ty)| value(ty, k))
        .collect();
    let leaves: Vec<_> = values
        .iter()
        .map(|x| wyrmling::graph::Constant::new(x.clone()).boxed())
        .collect();
    let expected = wyrmling::Variable::apply(op.clone(), &leaves).and_then(|y| y.value());
    let data: Vec<Datum> = values.iter().cloned().map(Datum::from).collect();
    let compare = |found: wyrmling::Result<Array>| match (&found, &expected) {
        (Ok(found), Ok(expected)) => {
            assert_eq!(found.ty(), expected.ty(), "{what:?}");
            let pairs = found.to_f64().into_iter().zip(expected.to_f64());
            for (found, expected) in pairs {
                assert!(
                    found == expected || found.is_nan() && expected.is_nan(),
                    "{what:?}: {found} {expected}"
                );
            }
        }
        (Ok(found), Err(error)) => panic!("{what:?}: {found:?}, expected {error}"),
        (Err(_), _) => {}
    };
    let forms = [
        Ok(function.clone()),
        simplify(function, Lengths::Seen),
        match are_exact(function) {
            true => simplify(function, Lengths::Exact),
            false => Ok(function.clone()),
        },
    ];
    for function in forms.into_iter().flatten() {
        let interpreted = Compiled::interpreted(function.clone());
        for compiled in [Compiled::new(function), interpreted].into_iter().flatten() {
            compare(compiled.run(&data).map(first));
        }
    }
    let leaf = |(k, x): (usize, &Array)| match x.dtype() {
        DType::U32 => Leaf::Input {
            id: k as u64,
            ty: x.ty(),
            name: format!("x{k}"),
        },
        _ => Leaf::Independent(k as u64, x.clone()),
    };
    let leaves: Vec<Leaf> = values.iter().enumerate().map(leaf).collect();
    let inputs: Vec<Array> = values
        .iter()
        .filter(|x| x.dtype() == DType::U32)
        .cloned()
        .collect();
    if let Ok(program) = Program::new(function.clone(), leaves) {
        compare(program.run(&inputs));
        drop(program.value_and_grad(&inputs));
        drop(program.unfused().value_and_grad(&inputs));
    }
    let all: Vec<u32> = (0..args.len() as u32).collect();
    drop(adjoint(function, &all));
    let real = all
        .into_iter()
        .filter(|&k| args[k as usize].dtype.is_real());
    let real: Vec<u32> = real.collect();
    let derivatives = [
        vjp(function, &real).map(|f| f.function),
        jvp(function, &real).map(|f| f.function),
    ];
    for function in derivatives.into_iter().flatten() {
        let more = function.parameters().len() - data.len();
        let data: Vec<Datum> = data
            .iter()
            .cloned()
            .chain((0..more).map(|k| {
                let id = function.parameters()[data.len() + k];
                value(function.ty(id), k).into()
            }))
            .collect();
        if let Ok(compiled) = Compiled::new(function) {
            drop(compiled.run(&data));
        }
    }
    let arguments: Vec<LossArgument> = (0..args.len()).map(LossArgument::Feed).collect();
    drop(batched(function, &arguments, &[], &[]));
    drop(SampleLoss::new(function, arguments, Vec::new()));
}

/// Does something; a description of the function if it panics.
fn without_panics(function: &Function, work: impl FnOnce()) -> Option<String> {
    let panics = catch_unwind(AssertUnwindSafe(work)).is_err();
    panics.then(|| function.to_string())
}

#[test]
fn operators_with_wrong_operands_are_refused_or_give_what_they_give() {
    let mut failed = Vec::new();
    for case in cases() {
        let right = types(&case);
        let refs: Vec<&Type> = right.iter().collect();
        let result = case.op.infer(&refs).unwrap();
        for args in changed(&right) {
            let refs: Vec<&Type> = args.iter().collect();
            let inferred = without_panic(&(&case.op, &args), || case.op.infer(&refs));
            let result = inferred.as_ref().cloned().unwrap_or(result.clone());
            let function = applied(&case.op, &args, result);
            failed.extend(without_panics(&function, || {
                if let Err(Error::Type(_)) = inferred {
                    let what = format!("{function}");
                    assert!(function.check().is_err(), "{what}");
                    assert!(Compiled::new(function.clone()).is_err(), "{what}");
                    assert!(Compiled::interpreted(function.clone()).is_err(), "{what}");
                }
                runs(&function, &case.op, &args);
            }));
        }
    }
    assert!(failed.is_empty(), "{}", failed.join("\n"));
}

#[test]
fn operators_with_other_results_than_they_give_are_refused() {
    let mut failed = Vec::new();
    for case in cases() {
        let args = types(&case);
        let refs: Vec<&Type> = args.iter().collect();
        let result = case.op.infer(&refs).unwrap();
        for wrong in others(&result) {
            let function = applied(&case.op, &args, wrong.clone());
            let is_kind = (wrong.dtype, wrong.ndim()) == (result.dtype, result.ndim());
            failed.extend(without_panics(&function, || {
                if !is_kind {
                    assert!(Compiled::new(function.clone()).is_err(), "{function}");
                    assert!(
                        Compiled::interpreted(function.clone()).is_err(),
                        "{function}"
                    );
                }
                runs(&function, &case.op, &args);
            }));
        }
    }
    assert!(failed.is_empty(), "{}", failed.join("\n"));
}

#[test]
fn arrays_that_no_memory_could_hold_are_refused() {
    let add = OpRef::Static(&rules::Add);
    let huge: [&[usize]; 3] = [
        &[1 << 63, 4],
        &[usize::MAX, usize::MAX],
        &[0, usize::MAX, 16],
    ];
    for shape in huge {
        let ty = Type::new(DType::F64, shape);
        assert!([0, usize::MAX].contains(&ty.size()));
        let function = applied(&add, &[ty.clone(), Type::scalar(DType::F64)], ty.clone());
        without_panic(&shape, || {
            assert!(matches!(function.check(), Err(Error::Shape(_))));
            assert!(matches!(
                Compiled::new(function.clone()),
                Err(Error::Shape(_))
            ));
            runs(&function, &add, &[]);
            let input = |ty: &Type| Leaf::Input {
                id: 1,
                ty: ty.clone(),
                name: "x".into(),
            };
            let small = Type::new(DType::F64, &vec![1; shape.len()]);
            let fits = applied(&add, &[small.clone(), Type::scalar(DType::F64)], small);
            let leaves = vec![input(&ty), input(&Type::scalar(DType::F64))];
            assert!(Program::new(fits, leaves).is_err());
        });
    }
}
