//! The examples run, and find the numbers that they claim.

#[path = "../examples/bpr.rs"]
mod bpr;
#[path = "../examples/regression.rs"]
mod regression;

#[test]
fn regression_runs() {
    regression::main().unwrap();
}

#[test]
fn bpr_runs() {
    bpr::main().unwrap();
}
