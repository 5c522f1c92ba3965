//! The examples run, and find the numbers that they claim.

#[path = "../../examples/bpr.rs"]
mod bpr;
#[path = "../../examples/fizzbuzz.rs"]
mod fizzbuzz;
#[path = "../../examples/lstm.rs"]
mod lstm;
#[path = "../../examples/regression.rs"]
mod regression;

#[test]
fn regression_runs() {
    regression::main().unwrap();
}

#[test]
fn bpr_runs() {
    bpr::main().unwrap();
}

#[test]
fn fizzbuzz_runs() {
    fizzbuzz::main().unwrap();
}

#[test]
fn lstm_runs() {
    lstm::main().unwrap();
}
