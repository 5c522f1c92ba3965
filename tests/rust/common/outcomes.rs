//! Functions simplified, and what they give, to the bit: what passes and executors are compared by.

use rand::{RngExt, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;
use wyrmling::exec::{Outcome, interpret};
use wyrmling::ir::{Datum, Function, Lengths, simplify};
use wyrmling::{Array, DType};

/// Random arguments for a function, special values among them.
pub fn random_arguments(seed: u64) -> Vec<Datum> {
    let mut random = Xoshiro256PlusPlus::seed_from_u64(seed);
    let mut number = || match random.random_range(0..12) {
        0 => 0.0,
        1 => -0.0,
        2 => f64::INFINITY,
        3 => f64::NAN,
        _ => random.random_range(-3.0..3.0),
    };
    let numbers = [number(), number()];
    vec![
        numbers[0].into(),
        numbers[1].into(),
        Datum::Int(random.random_range(-4..5)),
        Datum::Bool(random.random_range(0..2) == 0),
    ]
}

/// A function simplified for all lengths; both are checked.
pub fn simple(function: &Function) -> Function {
    function.check().expect("well formed");
    let simple = simplify(function, Lengths::Seen).expect("memory");
    simple
        .check()
        .unwrap_or_else(|e| panic!("{e}\n{function}\n{simple}"));
    simple
}

/// What results are, to the bit.
pub fn bits(data: &[Datum]) -> Vec<(DType, Vec<usize>, Vec<u64>)> {
    let bits = |a: &Array| a.to_f64().iter().map(|x| x.to_bits()).collect();
    let one = |datum: &Datum| match datum {
        Datum::Array(a) => (a.dtype(), a.shape().to_vec(), bits(a)),
        Datum::Int(i) => (DType::U32, vec![0], vec![*i as u64]),
        Datum::Bool(b) => (DType::U32, vec![1], vec![u64::from(*b)]),
    };
    data.iter().map(one).collect()
}

/// Element type, shape and bits of each result; or the exit.
pub type Bits = Result<Vec<(DType, Vec<usize>, Vec<u64>)>, u32>;

/// What a function of [`random_function`](super::functions::random_function)'s kind gives for some
/// arguments.
pub fn outcomes(function: &Function, seed: u64) -> Vec<Bits> {
    let runs = (0..4).map(|k| {
        let args = random_arguments(seed * 4 + k);
        match interpret(function, &args, 1_000_000).expect("it runs and ends") {
            Outcome::Returned(results) => Ok(bits(&results)),
            Outcome::Left(exit) => Err(exit),
        }
    });
    runs.collect()
}
