//! Derivatives of functions with blocks, compared with those of the same run as straight code.

use wyrmling::Array;
use wyrmling::array::Dense;
use wyrmling::exec::{Outcome, interpret};
use wyrmling::ir::{Datum, Function, Lengths, ValueId, jvp, simplify, vjp};

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

/// In which direction a function is differentiated.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mode {
    Reverse,
    Forward,
}

use Mode::{Forward, Reverse};

/// Both, as often as the order says.
pub const THIRD: [[Mode; 3]; 8] = [
    [Reverse, Reverse, Reverse],
    [Reverse, Reverse, Forward],
    [Reverse, Forward, Reverse],
    [Reverse, Forward, Forward],
    [Forward, Reverse, Reverse],
    [Forward, Reverse, Forward],
    [Forward, Forward, Reverse],
    [Forward, Forward, Forward],
];

/// A derivative of a function, which is made once and compared at any arguments.
pub struct Derived<'f> {
    mode: Mode,
    what: String,
    function: &'f Function,
    derived: Function,
    /// The derivative as it is compiled, and differentiated again.
    pub simple: Function,
    /// Which results are the gradients, or the tangents.
    numbers: Vec<Option<usize>>,
}

impl<'f> Derived<'f> {
    #[track_caller]
    pub fn new(mode: Mode, function: &'f Function, what: &str) -> Self {
        let wrt = differentiable(function);
        let made = match mode {
            Reverse => vjp(function, &wrt).map(|p| (p.function, p.gradients)),
            Forward => jvp(function, &wrt).map(|p| (p.function, p.tangents)),
        };
        let (derived, numbers) =
            made.unwrap_or_else(|e| panic!("{what}, {mode:?}: {e}\n{function}"));
        if let Err(e) = derived.check() {
            panic!("{what}, {mode:?}: {e}\n{function}\n{derived}");
        }
        Derived {
            mode,
            what: what.to_owned(),
            function,
            simple: simplify(&derived, Lengths::Seen).expect("it can be simplified"),
            derived,
            numbers,
        }
    }

    fn text(&self) -> String {
        let Derived {
            mode,
            what,
            function,
            derived,
            ..
        } = self;
        format!("{what}, {mode:?}\n{function}\n{derived}")
    }

    /// Compares the derivative with that of the function's run as straight code. `None` if the function
    /// is left; else the arguments of the derivative.
    #[track_caller]
    pub fn check(&self, args: &[Datum]) -> Option<Vec<Datum>> {
        let run = Unrolled::new(self.function, args)?;
        let values: Vec<Datum> = run.results.iter().map(|r| r.0.clone()).collect();
        let mut given = args.to_vec();
        let of_result: Vec<Option<usize>>;
        let (expected, likes, numbers) = match self.mode {
            Reverse => {
                let cotangents = like(&values, 7);
                given.extend(cotangents.clone());
                (run.gradients(&cotangents), args, &self.numbers)
            }
            Forward => {
                let moved = like(args, 7);
                given.extend(moved.clone());
                let results = values.iter().zip(&self.numbers);
                let results = results.filter(|(value, _)| value.kind().is_differentiable());
                of_result = results.map(|(_, number)| *number).collect();
                (run.tangents(&moved), &values[..], &of_result)
            }
        };
        let returned = |function: &Function| match interpret(function, &given, STEPS) {
            Ok(Outcome::Returned(found)) => found,
            other => panic!("{other:?}: {}", self.text()),
        };
        let found = returned(&self.derived);
        let (simple, text) = (&self.simple, || self.text());
        let same = format!("{:?}", returned(simple)) == format!("{found:?}");
        assert!(same, "simplified {simple}: {}", text());
        for (k, (a, b)) in found.iter().zip(&values).enumerate() {
            let same = format!("{a:?}") == format!("{b:?}");
            assert!(same, "result {k}: {a:?}, expected {b:?}: {}", text());
        }
        let likes = likes.iter().filter(|a| a.kind().is_differentiable());
        for (k, ((number, expected), like)) in numbers.iter().zip(expected).zip(likes).enumerate() {
            let ty = like.array().expect("an array").ty();
            let zeros = || Array::full(&ty, 0.0);
            let found = number.map_or_else(zeros, |k| found[k].array().expect("an array").clone());
            let expected = expected.unwrap_or_else(zeros);
            assert_eq!(found.ty(), expected.ty(), "derivative {k}: {}", text());
            let (a, e) = (found.to_f64(), expected.to_f64());
            for (&a, &e) in a.iter().zip(&e) {
                let fine = close(a, e, e.abs()) || (a.abs() > 1e6 && e.abs() > 1e6);
                assert!(
                    fine,
                    "derivative {k}: {a}, expected {e}: args {given:?} {}",
                    text()
                );
            }
        }
        Some(given)
    }
}

/// Compares a derivative of a function with that of its run as straight code. `None` if the function
/// is left; else the function with its derivative, simplified, and its arguments.
#[track_caller]
pub fn check(
    mode: Mode,
    function: &Function,
    args: &[Datum],
    what: &str,
) -> Option<(Function, Vec<Datum>)> {
    let derived = Derived::new(mode, function, what);
    let given = derived.check(args)?;
    Some((derived.simple, given))
}

/// Compares derivatives of third order in some modes, and those below. `None` if the function is
/// left.
#[track_caller]
pub fn check_third(modes: [Mode; 3], function: &Function, args: &[Datum]) -> Option<()> {
    let what = format!("{modes:?}");
    let (mut function, mut args) = check(modes[0], function, args, &what)?;
    for mode in &modes[1..] {
        (function, args) = check(*mode, &function, &args, &what).expect("it returns");
    }
    Some(())
}

/// Compares derivatives up to third order in all modes, at each of some lists of arguments. What two of the
/// derivatives begin with is made and compared once.
#[track_caller]
pub fn check_orders(function: &Function, args: &[Vec<Datum>]) {
    check_below(function, args, &mut Vec::new());
}

/// As [`check_orders`], of a function that is a derivative in some modes.
#[track_caller]
fn check_below(function: &Function, args: &[Vec<Datum>], modes: &mut Vec<Mode>) {
    if modes.len() == 3 {
        return;
    }
    for mode in [Reverse, Forward] {
        let derived = Derived::new(mode, function, &format!("after {modes:?}"));
        let given = args
            .iter()
            .map(|args| derived.check(args).expect("it returns"));
        let given: Vec<_> = given.collect();
        modes.push(mode);
        check_below(&derived.simple, &given, modes);
        modes.pop();
    }
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
