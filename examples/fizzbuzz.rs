//! FizzBuzz by a network that sees the binary digits of a number.
//!
//! It learns the numbers 101 to 1023 and is asked for 1 to 100, as in Grus, "Fizz Buzz in
//! TensorFlow", 2016. The run ends when all that it learns from is right.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use rand::SeedableRng;
use rand_distr::{Distribution, Normal};
use rand_xoshiro::Xoshiro256PlusPlus;
use wyrmling::array::Dense;
use wyrmling::graph::IntoDyn;
use wyrmling::optim::{Optimizer, Rule, Settings};
use wyrmling::rules::{LogSoftmax, Pick};
use wyrmling::train::{self, Fit, Flow, History, Source};
use wyrmling::{Array, Error, Input, Parameter, Result, Table, Variable};

const DIGITS: usize = 10;
const HIDDEN: usize = 100;
const EPOCHS: usize = 200;
const WORDS: [&str; 4] = ["", "fizz", "buzz", "fizzbuzz"];

/// The binary digits of each number, as -1 and 1.
fn digits(numbers: &[u32]) -> Result<Array> {
    let digit = |n: u32, k: usize| if n >> k & 1 == 1 { 1.0f32 } else { -1.0 };
    let all = numbers
        .iter()
        .flat_map(|&n| (0..DIGITS).map(move |k| digit(n, k)));
    Ok(Dense::new(&[numbers.len(), DIGITS], all.collect())?.into())
}

/// For each number which of the words is right.
fn answers(numbers: &[u32]) -> Vec<u32> {
    let word = |n: &u32| u32::from(n.is_multiple_of(3)) + 2 * u32::from(n.is_multiple_of(5));
    numbers.iter().map(word).collect()
}

/// A parameter of some shape, drawn at random with a standard deviation.
fn parameter(shape: &[usize], deviation: f32, rng: &mut Xoshiro256PlusPlus) -> Result<Parameter> {
    let normal = Normal::new(0.0, deviation).map_err(|e| Error::Value(e.to_string()))?;
    let numbers = normal.sample_iter(rng).take(shape.iter().product());
    let table = Table::new(&Dense::new(shape, numbers.collect())?.into(), None)?;
    Ok(Parameter::shared(Arc::new(table)))
}

/// The words with the highest scores when the network sees `numbers`.
fn answered(
    numbers: &[u32],
    number: &Input,
    scores: &Variable<impl IntoDyn + ?Sized>,
) -> Result<Vec<u32>> {
    number.set_value(digits(numbers)?)?;
    let best =
        |row: &[f64; WORDS.len()]| (0..WORDS.len()).max_by(|&a, &b| row[a].total_cmp(&row[b]));
    let scores = scores.value()?.to_f64();
    let words = scores.as_chunks().0.iter().filter_map(best);
    Ok(words.map(|word| word as u32).collect())
}

/// The share of words that are right.
fn accuracy(numbers: &[u32], words: &[u32]) -> f64 {
    let right = answers(numbers)
        .iter()
        .zip(words)
        .filter(|(a, b)| a == b)
        .count();
    right as f64 / numbers.len() as f64
}

/// Trains the network and lets it play.
///
/// # Errors
/// None, with these numbers.
pub fn main() -> Result<()> {
    let rng = &mut Xoshiro256PlusPlus::seed_from_u64(7);
    let first = parameter(&[DIGITS, HIDDEN], (DIGITS as f32).powf(-0.5), rng)?;
    let second = parameter(&[HIDDEN, WORDS.len()], (HIDDEN as f32).powf(-0.5), rng)?;
    let (b, c) = (
        parameter(&[HIDDEN], 0.0, rng)?,
        parameter(&[WORDS.len()], 0.0, rng)?,
    );

    let known: Vec<u32> = (101..1024).collect();
    let number = Input::new(digits(&known)?);
    let answer = Input::indices(answers(&known));
    let hidden = (number.clone().matmul(first) + b).relu();
    let scores = hidden.matmul(second) + c;
    // The cross entropy: what the softmax of the scores gives the right word, as a logarithm.
    let log_shares = scores.clone().unary(LogSoftmax { axis: 1 })?;
    let loss = -log_shares.binary(Pick, answer.clone())?.sum();

    let columns = [
        (number.id(), digits(&known)?),
        (answer.id(), answers(&known).into()),
    ];
    let fit = Fit {
        sources: columns
            .map(|(id, column)| (id, Source::Column(column)))
            .into(),
        epochs: 0..EPOCHS,
        batch_size: 64,
        threads: 1,
        seed: 0,
        deterministic: false,
    };
    let adam = Rule::Adam {
        beta1: 0.9,
        beta2: 0.999,
        eps: 1e-8,
    };
    let adam = Optimizer::new(adam, Settings::new(0.01))?;
    let mut learnt = |epoch: usize, history: &History| {
        let words = answered(&known, &number, &scores);
        let right = words.map_or(0.0, |words| accuracy(&known, &words));
        if right < 1.0 && epoch % 20 < 19 {
            return Flow::Continue;
        }
        let loss = history.loss[epoch];
        println!(
            "epoch {}: loss {loss:.3}, {right:.3} of 101 to 1023 right",
            epoch + 1
        );
        if right < 1.0 {
            Flow::Continue
        } else {
            Flow::Stop
        }
    };
    let never = AtomicBool::new(false);
    train::fit(&loss.freeze()?, &fit, &adam, &never, &mut learnt)?;

    let asked: Vec<u32> = (1..=100).collect();
    let words = answered(&asked, &number, &scores)?;
    let said = asked.iter().zip(&words).map(|(n, &word)| match word {
        0 => n.to_string(),
        word => WORDS[word as usize].to_owned(),
    });
    println!("{}", said.collect::<Vec<_>>().join(" "));
    let right = accuracy(&asked, &words);
    println!("{right:.2} of 1 to 100 right");
    assert!(right > 0.95);
    Ok(())
}
