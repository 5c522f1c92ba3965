//! Derivatives of functions with blocks, compared with those of the same run as straight code.

use wyrmling::Array;
use wyrmling::array::Dense;
use wyrmling::exec::{Outcome, interpret};
use wyrmling::ir::{Datum, Function, Pullback, ValueId, vjp};

use super::unrolled::Unrolled;

/// The most instructions and jumps of a run.
pub const STEPS: usize = 10_000_000;

/// The parameters that a function can be differentiated by.
pub fn differentiable(function: &Function) -> Vec<ValueId> {
    let parameters = function.parameters().iter().copied();
    let differentiable = parameters.filter(|&id| function.kind(id).is_differentiable());
    differentiable.collect()
}

/// Numbers without a pattern, of the types of others.
pub fn like(values: &[Datum], seed: usize) -> Vec<Datum> {
    let mut k = seed;
    let number = |_: f64, k: &mut usize| {
        *k += 1;
        ((*k as f64) * 12.9898).sin() * 1.5 + 0.3
    };
    let arrays = values.iter().filter(|v| v.kind().is_differentiable());
    let arrays = arrays.map(|v| {
        let ty = v.array().expect("an array").ty();
        let data: Vec<f64> = (0..ty.size()).map(|_| number(0.0, &mut k)).collect();
        match ty.ndim() {
            0 => Datum::from(data[0]),
            _ => Datum::from(Array::from(
                Dense::new(&ty.shape, data).expect("as many as the shape holds"),
            )),
        }
    });
    arrays.collect()
}

/// Whether two numbers are the same but for rounding.
pub fn close(a: f64, b: f64, scale: f64) -> bool {
    a == b || (a.is_nan() && b.is_nan()) || (a - b).abs() <= 1e-9 * scale.max(1.0)
}

/// Compares the pullback of a function with that of its run as straight code. `None` if the function
/// is left; else the pullback and its arguments.
#[track_caller]
pub fn check(function: &Function, args: &[Datum], what: &str) -> Option<(Pullback, Vec<Datum>)> {
    let wrt = differentiable(function);
    let pullback = vjp(function, &wrt).unwrap_or_else(|e| panic!("{what}: {e}\n{function}"));
    let text = || format!("{what}\n{function}\n{}", pullback.function);
    if let Err(e) = pullback.function.check() {
        panic!("{e}: {}", text());
    }
    let run = Unrolled::new(function, args)?;
    let values: Vec<Datum> = run.results.iter().map(|r| r.0.clone()).collect();
    let cotangents = like(&values, 7);
    let expected = run.gradients(&cotangents);
    let mut given = args.to_vec();
    given.extend(cotangents);
    let found = match interpret(&pullback.function, &given, STEPS) {
        Ok(Outcome::Returned(found)) => found,
        other => panic!("{other:?}: {}", text()),
    };
    for (k, (a, b)) in found.iter().zip(&values).enumerate() {
        let same = format!("{a:?}") == format!("{b:?}");
        assert!(same, "result {k}: {a:?}, expected {b:?}: {}", text());
    }
    for (k, (number, expected)) in pullback.gradients.iter().zip(expected).enumerate() {
        let ty = args_of(args)[k].array().expect("an array").ty();
        let zeros = || Array::full(&ty, 0.0);
        let found = number.map_or_else(zeros, |k| found[k].array().expect("an array").clone());
        let expected = expected.unwrap_or_else(zeros);
        assert_eq!(found.ty(), expected.ty(), "gradient {k}: {}", text());
        let (a, e) = (found.to_f64(), expected.to_f64());
        for (&a, &e) in a.iter().zip(&e) {
            let fine = close(a, e, e.abs()) || (a.abs() > 1e6 && e.abs() > 1e6);
            assert!(
                fine,
                "gradient {k}: {a}, expected {e}: args {given:?} {}",
                text()
            );
        }
    }
    Some((pullback, given))
}

/// The arguments that a function is differentiated by.
pub fn args_of(args: &[Datum]) -> Vec<&Datum> {
    args.iter()
        .filter(|a| a.kind().is_differentiable())
        .collect()
}

/// Compares derivatives up to third order.
#[track_caller]
pub fn check_orders(function: &Function, args: &[Datum]) {
    let (first, args) = check(function, args, "first order").expect("it returns");
    let (second, args) = check(&first.function, &args, "second order").expect("it returns");
    check(&second.function, &args, "third order").expect("it returns");
}

/// What a pullback gives for a number and a cotangent of 1: the result and the gradient.
pub fn gradient(function: &Function, args: &[Datum]) -> Vec<f64> {
    let wrt = differentiable(function);
    let pullback = vjp(function, &wrt).expect("it can be differentiated");
    let given = [args, &[1.0.into()]].concat();
    let run = interpret(&pullback.function, &given, STEPS).expect("it runs");
    let Outcome::Returned(results) = run else {
        panic!("{run:?}");
    };
    let number = |k: &Option<usize>| k.map_or(0.0, |k| results[k].item().expect("one number"));
    pullback.gradients.iter().map(number).collect()
}

/// How many values the pullback of a function keeps for some arguments.
pub fn kept(function: &Function, args: &[Datum]) -> usize {
    let pullback = vjp(function, &differentiable(function)).expect("it can be differentiated");
    let given = [args, &[1.0.into()]].concat();
    let run = Unrolled::new(&pullback.function, &given);
    run.expect("it returns").kept
}
