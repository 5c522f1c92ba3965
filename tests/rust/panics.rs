//! Panics of the caller's own code that somebody catches, and errors that look like an interruption: what comes
//! after them is right.

use std::cell::Cell;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use wyrmling::array::{View, ViewMut};
use wyrmling::graph::{Hook, Independent};
use wyrmling::optim::Optimizer;
use wyrmling::rules::{Ex, OpRef, Operator};
use wyrmling::train::{self, Fit, Flow, History, Source};
use wyrmling::{Error, Gradient, Input, Parameter, Result, Type, Variable};

use crate::common::operators::{reals, results};

/// Calls code of the caller's that panics.
fn panics(call: impl FnOnce()) {
    let caught = catch_unwind(AssertUnwindSafe(call));
    assert!(caught.is_err(), "it was to panic");
}

struct Panicking;

impl Hook for Panicking {
    fn gradient(&self, _: Gradient) -> Result<Option<Gradient>> {
        panic!("on purpose")
    }
    fn node(&self, _: Variable) -> Result<Option<Variable>> {
        panic!("on purpose")
    }
}

#[test]
fn a_hook_that_panics_leaves_no_gradient_and_no_pass_under_way() -> Result<()> {
    let x = Independent::new(vec![1.0, 2.0])?;
    let square = x.clone().square().boxed();
    let tripled = (square.clone() * 3.0).boxed();
    let y = (square + tripled.clone()).sum();
    let leaf = x.clone().boxed();
    let gradient = || -> Result<Vec<f64>> {
        let found = y.gradient_values(None, &[&leaf])?;
        Ok(found[0]
            .as_ref()
            .map_or(Vec::new(), |g| g.to_dense().to_f64()))
    };
    for by_backward in [false, true] {
        let hook = tripled.register_hook(Rc::new(Panicking))?;
        panics(|| match by_backward {
            true => y.backward(),
            false => drop(gradient()),
        });
        tripled.remove_hook(hook);
        assert_eq!(gradient()?, [8.0, 16.0], "{by_backward}");
        x.zero_grad();
        y.try_backward()?;
        assert_eq!(
            x.grad().map(|g| g.to_dense().to_f64()),
            Some(vec![8.0, 16.0])
        );
        Parameter::new(1.0).square().try_backward()?;
    }
    Ok(())
}

/// Notes when it is dropped, and panics the first time that one is.
#[derive(Debug)]
struct Dropped(Rc<Cell<usize>>, bool);

impl Drop for Dropped {
    fn drop(&mut self) {
        self.0.set(self.0.get() + 1);
        assert!(!self.1, "on purpose");
    }
}

impl Hook for Dropped {
    fn gradient(&self, _: Gradient) -> Result<Option<Gradient>> {
        Ok(None)
    }
    fn node(&self, _: Variable) -> Result<Option<Variable>> {
        Ok(None)
    }
}

#[test]
fn graphs_are_dropped_after_one_whose_drop_has_panicked() -> Result<()> {
    let dropped = Rc::new(Cell::new(0));
    let graph = |panicking: bool| -> Result<Variable> {
        let x = Independent::new(vec![1.0])?.exp().boxed();
        x.register_hook(Rc::new(Dropped(Rc::clone(&dropped), panicking)))?;
        Ok((x * 2.0).square().boxed())
    };
    let bad = graph(true)?;
    panics(|| drop(bad));
    for count in 2..5 {
        drop(graph(false)?);
        assert_eq!(dropped.get(), count);
    }
    Ok(())
}

/// What an operator does at its fourth run.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Fails {
    Never,
    Interrupted,
    Panic,
}

/// Its operand, unless it fails.
#[derive(Debug)]
struct Failing(Fails, AtomicUsize);

impl Operator for Failing {
    fn name(&self) -> &str {
        "failing"
    }
    fn infer(&self, args: &[&Type]) -> Result<Type> {
        Ok(args[0].clone())
    }
    fn eval(&self, args: &[View<'_>], mut out: ViewMut<'_>) -> Result<()> {
        if self.1.fetch_add(1, Ordering::Relaxed) == 3 {
            match self.0 {
                Fails::Never => {}
                Fails::Interrupted => return Err(Error::Interrupted),
                Fails::Panic => panic!("on purpose"),
            }
        }
        results(&mut out).copy_from_slice(reals(&args[0]));
        Ok(())
    }
    fn vjp<'t>(&self, _: usize, g: Ex<'t>, _: Ex<'t>, _: &[Ex<'t>]) -> Option<Ex<'t>> {
        Some(g)
    }
}

#[test]
fn a_run_that_fails_says_so_and_leaves_the_callers_flag_alone() -> Result<()> {
    let sgd = Optimizer::sgd(0.001)?;
    let stop = AtomicBool::new(false);
    let run = |fails: Fails, threads: usize, deterministic: bool, value: f64| {
        let (w, x) = (Parameter::new(vec![1.0]), Input::new(vec![1.0]));
        let product = (w.sum() * x.clone()).boxed();
        let operator = OpRef::Shared(Arc::new(Failing(fails, AtomicUsize::new(0))));
        let loss = Variable::apply(operator, &[product])?.sum().freeze()?;
        let fit = Fit {
            sources: vec![(x.id(), Source::Column(vec![value; 64].into()))],
            epochs: 0..1,
            batch_size: 1,
            threads,
            seed: 0,
            deterministic,
        };
        let mut observer = |_: usize, _: &History| Flow::Continue;
        train::fit(&loss, &fit, &sgd, &stop, &mut observer)
    };
    for (threads, deterministic) in [(1, false), (2, false), (2, true)] {
        let run = |fails, value| run(fails, threads, deterministic, value);
        assert!(matches!(
            run(Fails::Interrupted, 1.0),
            Err(Error::Interrupted)
        ));
        panics(|| drop(run(Fails::Panic, 1.0)));
        let failed = run(Fails::Never, f64::MAX);
        assert!(matches!(failed, Err(Error::NotFinite(_))), "{failed:?}");
        assert!(!stop.load(Ordering::Relaxed));
        assert!(run(Fails::Never, 1.0).is_ok());
    }
    stop.store(true, Ordering::Relaxed);
    let stopped = run(Fails::Never, 1, false, 1.0);
    assert!(matches!(stopped, Err(Error::Interrupted)), "{stopped:?}");
    Ok(())
}
