//! Loops over numbers by hand, for `benches/compare.py`, which runs the same in Python:
//!
//! ```text
//! handwritten_loops logistic|horner|squares|thirds|collatz|sines
//! ```
//!
//! prints the seconds that a loop takes.

use std::hint::black_box;
use std::io::{Error, Result};
use std::time::Instant;

/// Turns of a loop, and elements of an array.
const COUNT: i64 = 10_000;

fn logistic(mut x: f64, count: i64) -> f64 {
    for _ in 0..count {
        x = 3.7 * x * (1.0 - x);
    }
    x
}

fn horner(c: &[f64], x: f64) -> f64 {
    let mut y = 0.0;
    for &c in c {
        y = y * x + c;
    }
    y
}

fn squares(c: &[f64], mean: f64) -> f64 {
    let mut sum = 0.0;
    for &c in c {
        let d = c - mean;
        sum += d * d;
    }
    sum
}

fn thirds(n: i64) -> i64 {
    let mut sum = 0;
    for i in 0..n {
        sum += if i % 3 == 0 { i } else { -1 };
    }
    sum
}

fn collatz(most: i64) -> i64 {
    let mut steps = 0;
    for k in 1..most {
        let mut n = k;
        while n != 1 {
            n = if n % 2 == 0 { n / 2 } else { 3 * n + 1 };
            steps += 1;
        }
    }
    steps
}

/// The gradient of a thousand steps `x = sin(x)·1.01 + 0.1·x`.
fn sines(mut x: f64, tape: &mut Vec<f64>) -> f64 {
    for _ in 0..1000 {
        tape.push(x);
        x = x.sin() * 1.01 + 0.1 * x;
    }
    let mut g = 1.0;
    while let Some(x) = tape.pop() {
        g = g * 1.01 * x.cos() + 0.1 * g;
    }
    g
}

/// The mean time of a run, over some 10 ms, as the other sides are timed.
fn seconds<R>(mut run: impl FnMut() -> R) -> f64 {
    let mut mean = |count: u32| {
        let start = Instant::now();
        for _ in 0..count {
            black_box(run());
        }
        start.elapsed().as_secs_f64() / f64::from(count)
    };
    let one = mean(20);
    mean((0.01 / one).ceil() as u32)
}

fn main() -> Result<()> {
    let name = std::env::args().nth(1).unwrap_or_default();
    let c: Vec<f64> = (0..COUNT).map(|i| (0.37 * i as f64).sin()).collect();
    let mut tape = Vec::new();
    let taken = match name.as_str() {
        "logistic" => seconds(|| logistic(black_box(0.3), black_box(COUNT))),
        "horner" => seconds(|| horner(black_box(&c), black_box(0.999))),
        "squares" => seconds(|| squares(black_box(&c), black_box(0.1))),
        "thirds" => seconds(|| thirds(black_box(COUNT))),
        "collatz" => seconds(|| collatz(black_box(300))),
        "sines" => seconds(|| sines(black_box(0.7), &mut tape)),
        _ => return Err(Error::other(format!("no loop is called '{name}'"))),
    };
    println!("{taken:e}");
    Ok(())
}
