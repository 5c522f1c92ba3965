//! A recurrent network: an expression that grows in a loop, so that its type must not.
//!
//! A typed variable knows its whole expression. After a few steps of recurrence the type
//! would be too long for the compiler; [`boxed`](Variable::boxed) forgets it at the end of
//! each step, and only there.
//!
//! The cell is that of Hochreiter and Schmidhuber, "Long short-term memory", 1997, with the
//! forget gate of Gers, Schmidhuber and Cummins, "Learning to forget", 2000. It sees signs one
//! by one and learns to say at the end whether the first of them was positive.

use rand::{RngExt, SeedableRng};
use rand_distr::{Distribution, Normal};
use rand_xoshiro::Xoshiro256PlusPlus;
use wyrmling::array::Dense;
use wyrmling::graph::IntoDyn;
use wyrmling::optim::{Optimizer, Rule, Settings};
use wyrmling::{Array, Error, Input, Parameter, Result, Variable};

const UNITS: usize = 8;
const BATCH: usize = 32;
const LENGTH: usize = 12;

type Rng = Xoshiro256PlusPlus;

/// A matrix drawn at random.
fn weights(rows: usize, columns: usize, rng: &mut Rng) -> Result<Parameter> {
    let normal = Normal::new(0.0, 0.3).map_err(|e| Error::Value(e.to_string()))?;
    let numbers = normal.sample_iter(rng).take(rows * columns);
    let value: Dense<f64> = Dense::new(&[rows, columns], numbers.collect())?;
    Ok(Parameter::new(value))
}

/// What a gate computes before its activation.
struct Gate {
    of_input: Parameter,
    of_hidden: Parameter,
    offset: Parameter,
}

impl Gate {
    fn new(offset: f64, rng: &mut Rng) -> Result<Self> {
        Ok(Gate {
            of_input: weights(1, UNITS, rng)?,
            of_hidden: weights(UNITS, UNITS, rng)?,
            offset: Parameter::new(vec![offset; UNITS]),
        })
    }

    fn parameters(&self) -> [&Parameter; 3] {
        [&self.of_input, &self.of_hidden, &self.offset]
    }

    fn apply(&self, x: &Input, hidden: &Variable) -> Variable<impl IntoDyn + use<>> {
        x.clone().matmul(self.of_input.clone())
            + hidden.clone().matmul(self.of_hidden.clone())
            + self.offset.clone()
    }
}

/// One step of the recurrence: from an input and the state, hidden and cell, to the next.
fn step(
    gates: &[Gate; 4],
    x: &Input,
    (hidden, cell): (Variable, Variable),
) -> (Variable, Variable) {
    let [enter, forget, leave, candidate] = gates.each_ref().map(|gate| gate.apply(x, &hidden));
    let cell = (forget.sigmoid() * cell + enter.sigmoid() * candidate.tanh()).boxed();
    let hidden = (leave.sigmoid() * cell.clone().tanh()).boxed();
    (hidden, cell)
}

/// Signs for each step, and in which sequences the first is positive, as 1 and -1.
fn sequences(rng: &mut Rng) -> Result<(Vec<Array>, Array)> {
    let mut signs = || {
        (0..BATCH)
            .map(|_| if rng.random() { 1.0 } else { -1.0 })
            .collect()
    };
    let steps: Vec<Vec<f64>> = (0..LENGTH).map(|_| signs()).collect();
    let first = Dense::new(&[BATCH, 1], steps[0].clone())?;
    let steps = steps
        .into_iter()
        .map(|s| Ok(Dense::new(&[BATCH, 1], s)?.into()));
    Ok((steps.collect::<Result<_>>()?, first.into()))
}

/// Trains the network and asks it about sequences that it has not seen.
///
/// # Errors
/// None, with these numbers.
pub fn main() -> Result<()> {
    let rng = &mut Rng::seed_from_u64(0);
    // A cell that at first forgets little learns over many steps sooner.
    let gates = [
        Gate::new(0.0, rng)?,
        Gate::new(1.0, rng)?,
        Gate::new(0.0, rng)?,
        Gate::new(0.0, rng)?,
    ];
    let last = weights(UNITS, 1, rng)?;

    let nothing = || Input::new(Array::F64(Dense::full(&[BATCH, UNITS], 0.0))).boxed();
    let (signs, first) = sequences(rng)?;
    let inputs: Vec<Input> = signs.into_iter().map(Input::new).collect();
    let first = Input::new(first);
    let start = (nothing(), nothing());
    let (hidden, _) = inputs.iter().fold(start, |state, x| step(&gates, x, state));
    let score = hidden.matmul(last.clone());
    let loss = -(score.clone() * first.clone()).logsigmoid().sum();

    let of_gates = gates.iter().flat_map(Gate::parameters);
    let parameters: Vec<_> = of_gates.chain([&last]).map(|p| &**p.param()).collect();
    let adam = Rule::Adam {
        beta1: 0.9,
        beta2: 0.999,
        eps: 1e-8,
    };
    let adam = Optimizer::new(adam, Settings::new(0.02))?;
    let mut right = 0.0;
    for number in 0..=200 {
        // Everything above the inputs is computed again when the loss is read.
        let (signs, answers) = sequences(rng)?;
        for (input, value) in inputs.iter().zip(signs) {
            input.set_value(value)?;
        }
        first.set_value(answers.clone())?;
        if number % 50 == 0 {
            let scores = score.value()?.to_f64().into_iter().zip(answers.to_f64());
            right = scores
                .filter(|(score, answer)| score * answer > 0.0)
                .count() as f64;
            right /= BATCH as f64;
            println!("batch {number}: loss {:.3}, {right:.2} right", loss.item()?);
        }
        loss.zero_grad();
        loss.try_backward()?;
        adam.step(&parameters)?;
    }
    assert!(right > 0.95);
    Ok(())
}
