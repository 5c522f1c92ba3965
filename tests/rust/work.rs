//! Counts of work: what is known is not computed again.

use std::cell::Cell;
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use wyrmling::array::{View, ViewMut};
use wyrmling::graph::{Constant, Hook, Independent, ops};
use wyrmling::rules::{self, Ex, OpRef, Operator};
use wyrmling::{Array, DType, Gradient, Input, Result, Type, Variable};

use crate::common::numbers;
use crate::common::operators::{apply, reals, results};

/// Twice the operand; counts how often it is asked for its type and for its value.
#[derive(Debug, Clone, Default)]
struct Counted {
    inferred: Arc<AtomicUsize>,
    evaluated: Arc<AtomicUsize>,
}

impl Counted {
    fn inferred(&self) -> usize {
        self.inferred.load(Ordering::Relaxed)
    }
    fn evaluated(&self) -> usize {
        self.evaluated.load(Ordering::Relaxed)
    }
}

impl Operator for Counted {
    fn name(&self) -> &str {
        "counted"
    }
    fn infer(&self, args: &[&Type]) -> Result<Type> {
        self.inferred.fetch_add(1, Ordering::Relaxed);
        Ok(args[0].clone())
    }
    fn eval(&self, args: &[View<'_>], mut out: ViewMut<'_>) -> Result<()> {
        self.evaluated.fetch_add(1, Ordering::Relaxed);
        let pairs = results(&mut out).iter_mut().zip(reals(&args[0]));
        pairs.for_each(|(o, x)| *o = 2.0 * x);
        Ok(())
    }
    fn vjp<'t>(&self, _: usize, g: Ex<'t>, _: Ex<'t>, _: &[Ex<'t>]) -> Option<Ex<'t>> {
        Some(g * 2.0)
    }
}

#[test]
fn a_graph_computes_what_has_changed_alone() -> Result<()> {
    let (x, y, other) = (Input::new(1.0), Input::new(1.0), Input::new(1.0));
    let below = Counted::default();
    let above = Counted::default();
    let beside = Counted::default();
    let first = apply(below.clone(), [&x.clone().boxed()])?;
    let first = apply(above.clone(), [&first])?;
    let second = apply(beside.clone(), [&y.clone().boxed()])?;
    let sum = (first + second).boxed();
    let counts = || [&below, &above, &beside].map(Counted::evaluated);
    assert_eq!(counts(), [1, 1, 1]);
    x.set_value(2.0)?;
    assert_eq!((sum.item()?, counts()), (10.0, [2, 2, 1]));
    for _ in 0..2 {
        // Nothing that it depends on.
        other.set_value(3.0)?;
        assert_eq!((sum.item()?, counts()), (10.0, [2, 2, 1]));
    }
    y.set_value(2.0)?;
    assert_eq!((sum.item()?, counts()), (12.0, [2, 2, 2]));
    Ok(())
}

#[test]
fn a_program_is_planned_once_for_each_combination_of_shapes() -> Result<()> {
    let (x, y) = (Input::new(vec![1.0; 2]), Input::new(vec![1.0; 2]));
    let counted = Counted::default();
    let loss = apply(counted.clone(), [&x.boxed()])?.sum().boxed();
    let loss = (loss * y.sum().boxed()).boxed();
    let program = loss.freeze()?;
    let with = |n: usize| Array::full(&Type::new(DType::F64, &[n]), 1.0);
    let run = |m: usize, n: usize| -> Result<usize> {
        let before = counted.inferred();
        let value = program.run(&[with(m), with(n)])?;
        assert_eq!(value.item()?, (2 * m * n) as f64);
        Ok(counted.inferred() - before)
    };
    let shapes = [(3, 3), (4, 3), (3, 4)];
    for (m, n) in shapes {
        assert!(run(m, n)? > 0, "it is planned");
    }
    for (m, n) in shapes.into_iter().chain(shapes) {
        assert_eq!(run(m, n)?, 0, "the plan is there");
    }
    Ok(())
}

#[test]
fn a_program_takes_no_step_to_give_a_value_another_shape() -> Result<()> {
    let x = Input::new(numbers(DType::F64, &[4, 6], 1)).boxed();
    let steps = |y: &Variable| y.freeze()?.steps(&[[4, 6].as_slice().into()]);
    let reshaped = ops::reshape(&x, &[3, 8])?;
    let sum = |x: &Variable| ops::reduce(ops::Reduction::Sum, x, Some(&[1]), false);
    let (plain, other) = (sum(&x)?, sum(&reshaped)?);
    assert_eq!(steps(&plain)?, steps(&other)?);
    Ok(())
}

/// Counts gradients.
struct Seen(Cell<usize>);

impl Hook for Seen {
    fn gradient(&self, _: Gradient) -> Result<Option<Gradient>> {
        self.0.set(self.0.get() + 1);
        Ok(None)
    }
    fn node(&self, _: Variable) -> Result<Option<Variable>> {
        self.0.set(self.0.get() + 1);
        Ok(None)
    }
}

/// In nested transforms a hook sees the gradient of the innermost one.
#[test]
fn a_hook_is_shown_the_gradient_of_the_innermost_transform() -> Result<()> {
    let outer = Constant::traced(2.0)?.boxed();
    let inner = outer.retraced()?;
    let node = (inner.clone() * inner.clone()).boxed();
    let seen = Rc::new(Seen(Cell::new(0)));
    node.register_hook(Rc::clone(&seen) as Rc<dyn Hook>)?;
    let cube = (node * inner.clone()).boxed();
    let slope = cube.gradients(&[&inner])?.remove(0).expect("it matters");
    assert_eq!((slope.item()?, seen.0.get()), (12.0, 1));
    let second = slope.gradients(&[&outer])?.remove(0).expect("it matters");
    assert_eq!((second.item()?, seen.0.get()), (12.0, 1), "as a graph");
    let second = slope.gradient_values(None, &[&outer])?;
    let second = second[0].as_ref().expect("it matters").to_dense();
    assert_eq!((second.item()?, seen.0.get()), (12.0, 1), "as numbers");
    // Once more the same transform, and one that is no part of the other.
    cube.gradients(&[&inner])?;
    assert_eq!(seen.0.get(), 2);
    let refused = cube.gradient_values(None, &[&inner]);
    assert!(refused.is_err(), "it is no leaf, and has no such gradient");
    assert_eq!(seen.0.get(), 2);
    Ok(())
}

/// A graph is dropped without recursion, whoever else holds the parents of a node.
#[test]
fn chains_with_parents_of_their_own_are_dropped_on_a_small_stack() {
    let work = || {
        let leaf = || Independent::new(0.0).expect("a number").boxed();
        let mut chain = leaf();
        for _ in 0..100_000 {
            let args = [chain, leaf()];
            chain = Variable::apply(OpRef::Static(&rules::Maximum), &args).expect("two numbers");
        }
        drop(chain);
    };
    let thread = std::thread::Builder::new().stack_size(256 * 1024);
    let thread = thread.spawn(work).expect("a thread");
    thread.join().expect("no overflow");
}
