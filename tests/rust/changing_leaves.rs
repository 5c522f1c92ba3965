//! Leaves that change while values are computed, by an operator of the caller's or another thread: what is read
//! afterwards is of what they hold then.

use std::cell::RefCell;
use std::sync::{Arc, Barrier};

use wyrmling::array::{View, ViewMut};
use wyrmling::graph::{Independent, Parameter};
use wyrmling::rules::{Ex, Operator};
use wyrmling::{Array, Error, Input, Result, Type, Variable};

use crate::common::gradient_numbers;
use crate::common::operators::{apply, reals, results};

type Change = Box<dyn FnOnce() -> Result<()>>;

thread_local! {
    /// What the operator does the next time that it runs.
    static CHANGE: RefCell<Option<Change>> = const { RefCell::new(None) };
}

fn plan(change: impl FnOnce() -> Result<()> + 'static) {
    CHANGE.set(Some(Box::new(change)));
}

/// Its operand; a change is made before it is read.
#[derive(Debug)]
struct Changing;

impl Operator for Changing {
    fn name(&self) -> &str {
        "changing"
    }
    fn infer(&self, args: &[&Type]) -> Result<Type> {
        Ok(args[0].clone())
    }
    fn eval(&self, args: &[View<'_>], mut out: ViewMut<'_>) -> Result<()> {
        if let Some(change) = CHANGE.take() {
            change()?;
        }
        results(&mut out).copy_from_slice(reals(&args[0]));
        Ok(())
    }
    fn vjp<'t>(&self, _: usize, g: Ex<'t>, _: Ex<'t>, _: &[Ex<'t>]) -> Option<Ex<'t>> {
        Some(g)
    }
    fn stays_in_thread(&self) -> bool {
        true
    }
}

/// `(2 x)²` by way of the operator, and nodes above that are computed after it.
fn squared(x: Variable) -> Result<Variable> {
    Ok((apply(Changing, [&(x * 2.0).boxed()])?.square() + 0.0).boxed())
}

#[test]
fn a_value_that_is_set_while_others_are_computed_is_seen_by_all() -> Result<()> {
    let x = Input::new(1.0);
    let y = squared(x.clone().boxed())?;
    let inner = x.clone();
    plan(move || inner.set_value(5.0));
    x.set_value(3.0)?;
    y.forward()?;
    assert_eq!((x.item()?, y.item()?), (5.0, 100.0));
    Ok(())
}

#[test]
fn a_gradient_is_not_of_the_old_value_in_one_part_and_of_the_new_in_another() -> Result<()> {
    let (w, x) = (Parameter::new(1.0), Input::new(1.0));
    let y = squared((w.clone() * x.clone()).boxed())?;
    for by_leaves in [false, true] {
        let inner = x.clone();
        plan(move || inner.set_value(5.0));
        x.set_value(3.0)?;
        let failed = match by_leaves {
            false => y.try_backward(),
            true => y.gradient_values(None, &[&w.clone().boxed()]).map(drop),
        };
        assert!(matches!(failed, Err(Error::State(_))), "{failed:?}");
        assert!(w.grad().is_none());
    }
    // (2 w x)², where x is 5.
    y.try_backward()?;
    assert_eq!(gradient_numbers(w.grad()), [200.0]);
    Ok(())
}

#[test]
fn what_another_thread_changes_while_values_are_computed_is_seen_by_all() -> Result<()> {
    let w = Parameter::new(1.0);
    let y = squared(w.clone().boxed())?;
    let table = Arc::clone(w.param().table());
    plan(move || {
        let write = move || table.write(&Array::from(5.0));
        std::thread::spawn(write).join().expect("no panic")
    });
    w.set_value(3.0)?;
    y.forward()?;
    assert_eq!((w.item()?, y.item()?), (5.0, 100.0));
    y.try_backward()?;
    assert_eq!(gradient_numbers(w.grad()), [40.0]);
    Ok(())
}

#[test]
fn a_value_that_is_set_between_operands_of_a_new_node_is_seen_by_it() -> Result<()> {
    let (x, other) = (Input::new(1.0), Input::new(1.0));
    let twice = x.clone() * 2.0;
    let changing = apply(Changing, [&other.clone().boxed()])?;
    other.set_value(0.0)?;
    let inner = x.clone();
    plan(move || inner.set_value(5.0));
    // The first operand is brought up to date, then the second.
    let sum = twice + changing;
    assert_eq!((x.item()?, sum.item()?), (5.0, 10.0));
    Ok(())
}

/// Leaves of a graph share marks where they are more than there are marks.
#[test]
fn each_of_many_leaves_that_change_is_seen_by_what_is_above_it() -> Result<()> {
    const LEAVES: usize = 150;
    let numbers = |k: usize| (k * k % 17) as f64;
    let leaf = |k: usize| -> Result<Variable> {
        let number = numbers(k);
        Ok(match k % 3 {
            0 => Input::new(number).boxed(),
            1 => Parameter::new(number).boxed(),
            _ => Independent::new(number)?.boxed(),
        })
    };
    let leaves = (0..LEAVES).map(leaf).collect::<Result<Vec<_>>>()?;
    // Sums of the leaves up to each, and of two neighbours.
    let mut sums = vec![leaves[0].clone()];
    let mut pairs = Vec::new();
    for (k, leaf) in leaves.iter().enumerate().skip(1) {
        sums.push((sums[k - 1].clone() + leaf.clone()).boxed());
        pairs.push((leaves[k - 1].clone() * leaf.clone()).boxed());
    }
    let mut expected: Vec<f64> = (0..LEAVES).map(numbers).collect();
    for round in 0..400 {
        let changed = (round * 61 + round / 7) % LEAVES;
        expected[changed] = (round % 23) as f64;
        leaves[changed].set_value(expected[changed])?;
        // Some changes are seen together.
        if round % 4 == 3 {
            continue;
        }
        for at in [changed, (changed + 1) % LEAVES, round * 13 % LEAVES] {
            let sum: f64 = expected[..=at].iter().sum();
            assert_eq!(sums[at].item()?, sum, "round {round}, sum {at}");
            if let Some(pair) = pairs.get(at) {
                let product = expected[at] * expected[at + 1];
                assert_eq!(pair.item()?, product, "round {round}, pair {at}");
            }
        }
        // A node that is new meanwhile.
        let twice = sums[LEAVES - 1].clone() * 2.0;
        assert_eq!(twice.item()?, 2.0 * expected.iter().sum::<f64>());
    }
    Ok(())
}

/// Each thread advances the counter of changes, so that the numbers which others took for their changes are taken
/// by then.
#[test]
fn parameters_that_threads_change_at_once_are_read_as_they_are() {
    const ROUNDS: usize = 300;
    let parameters = [(); 3].map(|()| Parameter::new(0.0));
    let tables = parameters
        .each_ref()
        .map(|parameter| Arc::clone(parameter.param().table()));
    let sum = parameters
        .into_iter()
        .map(Variable::boxed)
        .reduce(|sum, parameter| (sum + parameter).boxed())
        .expect("there are three");
    let written = Barrier::new(tables.len() + 1);
    std::thread::scope(|scope| {
        for table in &tables {
            scope.spawn(|| {
                for round in 0..ROUNDS {
                    for number in 0..20 {
                        let number = (round * 20 + number) as f64;
                        table.write(&Array::from(number)).expect("a number");
                    }
                    written.wait();
                    written.wait();
                }
            });
        }
        for round in 0..ROUNDS {
            for _ in 0..20 {
                sum.forward().expect("numbers");
            }
            written.wait();
            let last = (round * 20 + 19) as f64;
            assert_eq!(sum.item().expect("a number"), 3.0 * last, "round {round}");
            written.wait();
        }
    });
}
