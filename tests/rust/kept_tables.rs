//! Copies of tables that programs keep from run to run: whoever changes a parameter, and however, the next run
//! is of what it holds then.

use std::sync::Arc;

use wyrmling::exec::Program;
use wyrmling::graph::Parameter;
use wyrmling::optim::Optimizer;
use wyrmling::train::{self, Trainer};
use wyrmling::{Array, Error, Gradient, Input, Result, Table};

/// So many numbers as no program copies anew without need.
const LENGTH: usize = 1000;

fn parameter(value: f64) -> Parameter {
    Parameter::new(vec![value; LENGTH])
}

/// Checks a run, and the gradient, twice: of `w`, all of whose numbers are `expected`, the program gives the sum.
#[track_caller]
fn check(program: &Program, expected: f64) {
    let number = |value: Result<Array>| value.and_then(|value| value.item());
    for _ in 0..2 {
        assert_eq!(number(program.run(&[])), Ok(expected * LENGTH as f64));
        let both = program.value_and_grad(&[]);
        let (sum, grads) = both.expect("the program has run already");
        assert_eq!(number(Ok(sum)), Ok(expected * LENGTH as f64));
        assert!(matches!(&grads[0], Some(Gradient::Dense(g)) if g.to_f64() == [1.0; LENGTH]));
    }
}

#[test]
fn a_run_sees_every_change() -> Result<()> {
    let w = parameter(1.0);
    let table = w.param().table();
    let program = w.clone().sum().freeze()?;
    check(&program, 1.0);
    w.set_value(vec![2.0; LENGTH])?;
    check(&program, 2.0);
    table.write(&vec![3.0; LENGTH].into())?;
    check(&program, 3.0);
    table.exclusive()?.slice::<f64>().fill(4.0);
    check(&program, 4.0);
    let sgd = Optimizer::sgd(1.0)?;
    w.clone().sum().backward();
    sgd.step_and_clear(&[w.param()])?;
    check(&program, 3.0);
    // A step that is taken back.
    (w.clone() * 1e308).sum().backward();
    let failed = Optimizer::sgd(1e10)?.step_and_clear(&[w.param()]);
    assert!(matches!(failed, Err(Error::NotFinite(_))), "{failed:?}");
    check(&program, 3.0);
    w.param().zero_grad();
    let loss = w.clone().sum();
    let mut trainer = Trainer::new(&loss, &sgd)?;
    check(&program, 3.0);
    for step in 0..3 {
        trainer.step()?;
        check(&program, 2.0 - f64::from(step));
    }
    drop(trainer);
    check(&program, 0.0);
    Ok(())
}

#[test]
fn a_run_beside_workers_sees_what_they_have_done() -> Result<()> {
    let table = Arc::new(Table::new(&Array::from(vec![5.0_f64; LENGTH]), None)?);
    let w = Parameter::shared(Arc::clone(&table));
    let program = w.sum().freeze()?;
    check(&program, 5.0);
    let sgd = Optimizer::sgd(1.0)?;
    let shared = [Arc::clone(&table)];
    train::parallel(1, 1, &shared, &sgd, |worker| {
        let w = Parameter::shared(Arc::clone(&shared[0]));
        let loss = w.clone().sum();
        let mut trainer = worker.trainer(&loss)?;
        check(&program, 5.0);
        trainer.step()?;
        check(&program, 4.0);
        loss.try_backward()?;
        worker.step(&[w.param()])?;
        check(&program, 3.0);
        Ok(())
    })?;
    check(&program, 3.0);
    Ok(())
}

#[test]
fn executors_at_once_have_copies_of_their_own() -> Result<()> {
    let w = parameter(1.0);
    let program = w.clone().sum().freeze()?;
    for value in [1.0, 2.0, 3.0] {
        w.set_value(vec![value; LENGTH])?;
        std::thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| check(&program, value));
            }
        });
    }
    Ok(())
}

#[test]
fn no_step_writes_to_a_copy_that_is_kept() -> Result<()> {
    // Many values of the tables' size are computed and dropped around their uses.
    let (v, w) = (parameter(0.5), parameter(0.25));
    let x = Input::new(vec![1.0; LENGTH]);
    let once = |k: f64| (x.clone() * k).sin() * v.clone() + (x.clone() * w.clone() * k).cos();
    let sum = once(1.0) + once(2.0).exp() * w.clone() + once(3.0).square();
    let loss = (sum.clone() * sum).sum();
    let program = loss.freeze()?;
    for k in 0..4 {
        let given = Array::from(vec![f64::from(k); LENGTH]);
        // A program that has not run before.
        let fresh = loss.freeze()?;
        let inputs = [given];
        let (value, grads) = program.value_and_grad(&inputs)?;
        let (expected, of_fresh) = fresh.value_and_grad(&inputs)?;
        assert_eq!(value.item()?, expected.item()?);
        assert_eq!(program.run(&inputs)?.item()?, fresh.run(&inputs)?.item()?);
        for (found, expected) in grads.iter().zip(&of_fresh) {
            let [found, expected] = [found, expected].map(|grad| match grad {
                Some(Gradient::Dense(grad)) => grad.to_f64(),
                other => panic!("{other:?}"),
            });
            assert_eq!(found, expected);
        }
    }
    Ok(())
}
