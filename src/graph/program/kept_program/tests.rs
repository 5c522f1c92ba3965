//! Passes by a program and by walks give the same, and what ends a program.

use std::any::Any;

use super::*;
use crate::array::{DType, Dense, Type};
use crate::error::Error;
use crate::graph::{Hook, Independent, Input, Parameter, ops};
use crate::optim::Optimizer;

/// Passes after which a program runs, if there is one.
const ENOUGH: usize = PASSES + 2;

fn ramp(shape: &[usize]) -> Array {
    let count = shape.iter().product::<usize>();
    let numbers = (0..count).map(|k| (k as f64 * 0.7).sin()).collect();
    Dense::<f64>::new(shape, numbers).expect("as many").into()
}

/// Whether a program takes the passes of a root.
fn has_program(root: &Variable) -> bool {
    let core = root.0.core();
    let kept = core.kept_for_backward.take();
    let found = kept.as_deref().and_then(<dyn Any>::downcast_ref);
    let has = matches!(found, Some(BackwardPasses::Program { .. }));
    core.kept_for_backward.set(kept);
    has
}

/// What a graph is made of, the same each time.
struct Parts {
    table: Parameter,
    weights: Parameter,
    free: Independent,
    x: Input,
    rows: Input,
}

fn parts() -> Parts {
    Parts {
        table: Parameter::new(ramp(&[6, 3])),
        weights: Parameter::new(ramp(&[3])),
        free: Independent::new(ramp(&[3])).expect("numbers"),
        x: Input::new(ramp(&[2, 3])),
        rows: Input::indices(vec![0, 1]),
    }
}

fn loss(of: &Parts) -> Variable {
    let rows = of.table.clone().gather(of.rows.clone());
    let product = rows.clone().vecdot(of.x.clone()) + (rows * of.weights.clone()).sum();
    let free = (of.free.clone() * of.weights.clone()).exp().sum();
    ((product.sigmoid().sum() + free).square() * 0.5).boxed()
}

fn numbers(value: &Array) -> (Vec<usize>, Vec<f64>) {
    (value.shape().to_vec(), value.to_f64())
}

/// The gradients of the recording leaves, which it clears.
fn taken(of: &Parts) -> [Vec<f64>; 3] {
    let found = [of.table.grad(), of.weights.grad(), of.free.grad()];
    of.table.zero_grad();
    of.weights.zero_grad();
    of.free.zero_grad();
    found.map(|gradient| gradient.expect("one has arrived").to_dense().to_f64())
}

#[test]
fn a_program_takes_over_and_gives_the_same_bits() -> Result<()> {
    let own = parts();
    let root = loss(&own);
    let (sgd, mut used) = (Optimizer::sgd(0.1)?, 0);
    for pass in 0..PASSES + 20 {
        let count = 1 + pass % 3;
        let (x, rows) = (
            ramp(&[count + 1, 3]),
            (0..=count as u32).collect::<Vec<_>>(),
        );
        let fresh = parts();
        for of in [&own, &fresh] {
            of.x.set_value(x.clone())?;
            of.rows.set_value(rows.clone())?;
        }
        fresh.table.set_value(own.table.value()?)?;
        fresh.weights.set_value(own.weights.value()?)?;
        fresh.free.set_value(ramp(&[3]).clone())?;
        own.free.set_value(ramp(&[3]))?;
        let again = loss(&fresh);
        again.try_backward()?;
        root.try_backward()?;
        used += usize::from(has_program(&root));
        assert_eq!(
            numbers(&root.value()?),
            numbers(&again.value()?),
            "pass {pass}"
        );
        // Between the leaves and the root values are computed when they are asked for.
        for (node, other) in root.topological()?.iter().zip(again.topological()?) {
            assert_eq!(
                numbers(&node.value()?),
                numbers(&other.value()?),
                "pass {pass}"
            );
        }
        let form = |of: &Parts| matches!(of.table.grad(), Some(Gradient::Rows(_)));
        assert_eq!(form(&own), form(&fresh));
        let parameters = [own.table.param(), own.weights.param()];
        sgd.step(&parameters)?;
        assert_eq!(taken(&own), taken(&fresh), "pass {pass}");
    }
    assert_eq!(used, 21);
    Ok(())
}

#[test]
fn gradients_add_up() -> Result<()> {
    let own = parts();
    let root = loss(&own);
    for _ in 0..ENOUGH {
        own.x.set_value(ramp(&[2, 3]))?;
        root.try_backward()?;
    }
    assert!(has_program(&root));
    let sums = taken(&own);
    own.x.set_value(ramp(&[2, 3]))?;
    root.try_backward()?;
    for (sum, one) in sums.iter().zip(taken(&own)) {
        for (sum, one) in sum.iter().zip(one) {
            assert!((sum - one * ENOUGH as f64).abs() < 1e-12);
        }
    }
    Ok(())
}

/// Runs passes until a program takes over.
fn with_program(root: &Variable, x: &Input) -> Result<()> {
    for _ in 0..ENOUGH {
        x.set_value(x.value()?)?;
        root.try_backward()?;
    }
    assert!(has_program(root));
    Ok(())
}

#[test]
fn errors_are_those_of_the_walk_and_change_nothing() -> Result<()> {
    let own = parts();
    let root = loss(&own);
    with_program(&root, &own.x)?;
    taken(&own);
    own.rows.set_value(vec![0_u32, 6])?;
    let fresh = parts();
    let built = ops::gather(&fresh.table.boxed(), &own.rows.clone().boxed());
    let (Err(expected), Err(found)) = (built, root.try_backward()) else {
        panic!("6 is no row");
    };
    assert_eq!(found.to_string(), expected.to_string());
    assert!(own.table.grad().is_none() && own.weights.grad().is_none());
    own.rows.set_value(vec![1_u32])?;
    assert!(
        matches!(root.try_backward(), Err(Error::Shape(_))),
        "one row, and two of x"
    );
    own.rows.set_value(vec![1_u32, 5])?;
    root.try_backward()?;
    assert!(has_program(&root));
    Ok(())
}

struct Doubling;

impl Hook for Doubling {
    fn gradient(&self, g: Gradient) -> Result<Option<Gradient>> {
        let mut twice = g.clone();
        twice.add(g)?;
        Ok(Some(twice))
    }
    fn node(&self, _: Variable) -> Result<Option<Variable>> {
        Ok(None)
    }
}

#[test]
fn a_hook_ends_a_program() -> Result<()> {
    let own = parts();
    let root = loss(&own);
    with_program(&root, &own.x)?;
    taken(&own);
    own.x.set_value(ramp(&[2, 3]))?;
    root.try_backward()?;
    let plain = taken(&own);
    let id = own.weights.register_hook(Rc::new(Doubling))?;
    for _ in 0..2 * ENOUGH {
        own.x.set_value(ramp(&[2, 3]))?;
        root.try_backward()?;
        assert!(!has_program(&root));
        let [table, weights, _] = taken(&own);
        assert_eq!(table, plain[0]);
        let twice: Vec<f64> = plain[1].iter().map(|x| 2.0 * x).collect();
        assert_eq!(weights, twice);
    }
    own.weights.remove_hook(id);
    own.x.set_value(ramp(&[2, 3]))?;
    root.try_backward()?;
    assert_eq!(taken(&own), plain);
    Ok(())
}

#[test]
fn graphs_that_are_left_to_the_walk() -> Result<()> {
    let table = Parameter::new(ramp(&[3]));
    let other = Parameter::shared(Arc::clone(table.param().table()));
    let x = Input::new(ramp(&[3]));
    // Each handle has a gradient of its own.
    let handles = (table.clone() * x.clone() + other.clone())
        .square()
        .sum()
        .boxed();
    let large = Input::new(Array::full(&Type::new(DType::F64, &[1 << 16]), 0.5));
    let many = (large.clone() * Parameter::new(2.0)).sum().boxed();
    let deep = (0..MOST_NODES).fold((table.clone() * x.clone()).boxed(), |y, _| y.sin().boxed());
    for (root, input) in [(&handles, &x), (&many, &large), (&deep, &x)] {
        for _ in 0..ENOUGH {
            input.set_value(input.value()?)?;
            root.try_backward()?;
        }
        assert!(!has_program(root));
    }
    let [one, two] = [table.grad(), other.grad()].map(|g| g.map(|g| g.to_dense().to_f64()));
    assert_ne!(one, two);
    Ok(())
}

#[test]
fn rows_are_read_beside_a_trainer() -> Result<()> {
    let own = parts();
    let root = loss(&own);
    with_program(&root, &own.x)?;
    let before = taken(&own);
    let sgd = Optimizer::sgd(0.1)?;
    let mut trainer = crate::train::Trainer::new(&root, &sgd)?;
    trainer.step()?;
    // Whoever reads the rows moves them, beside a trainer.
    own.x.set_value(ramp(&[2, 3]))?;
    root.try_backward()?;
    drop(trainer);
    assert_ne!(taken(&own), before);
    Ok(())
}

#[test]
fn inputs_of_many_shapes_are_left_to_the_walk() -> Result<()> {
    let (x, w) = (Input::new(ramp(&[2])), Parameter::new(0.5));
    let root = (x.clone() * w.clone()).exp().sum().boxed();
    with_program(&root, &x)?;
    for count in (1..40).chain(1..40) {
        x.set_value(ramp(&[count]))?;
        w.zero_grad();
        root.try_backward()?;
        let (of, weight) = (Input::new(ramp(&[count])), Parameter::new(0.5));
        let fresh = (of * weight.clone()).exp().sum();
        fresh.try_backward()?;
        assert_eq!(root.item()?, fresh.item()?);
        let [found, expected] = [&w, &weight].map(|w| w.grad().map(|g| g.to_dense().to_f64()));
        assert_eq!(found, expected, "{count} numbers");
    }
    assert!(has_program(&root));
    Ok(())
}

/// A root and what it is made of, both warmed or not.
fn squares() -> (Parameter, Input, Variable, Variable) {
    let (w, x) = (Parameter::new(vec![1.0, 2.0]), Input::new(vec![1.0, 1.0]));
    let inner = (w.clone() * x.clone()).tanh().boxed();
    let root = inner.clone().square().sum().boxed();
    (w, x, inner, root)
}

#[test]
fn walks_after_a_pass_by_the_program_find_values_of_now() -> Result<()> {
    type Walk = fn(&Variable, &Variable) -> Result<()>;
    let walks: [(&str, Walk); 4] = [
        ("the same again", |_, root| root.try_backward()),
        ("from a gradient", |_, root| {
            root.backward_from(Array::from(2.0))
        }),
        ("a root above", |_, root| {
            (root.clone() * 3.0).try_backward()
        }),
        ("a root beside", |inner, root| {
            (inner.clone().sum() + root.clone()).try_backward()
        }),
    ];
    for (name, walk) in walks {
        let (w, x, inner, root) = squares();
        with_program(&root, &x)?;
        let (fresh_w, fresh_x, fresh_inner, fresh) = squares();
        for x in [&x, &fresh_x] {
            x.set_value(vec![0.9, -0.2])?;
        }
        root.try_backward()?;
        assert!(has_program(&root));
        assert_eq!(root.item()?, fresh.item()?, "{name}");
        w.zero_grad();
        walk(&inner, &root)?;
        walk(&fresh_inner, &fresh)?;
        let [found, expected] = [&w, &fresh_w].map(|w| w.grad().map(|g| g.to_dense().to_f64()));
        assert_eq!(found, expected, "{name}");
        assert_eq!(
            inner.value()?.to_f64(),
            fresh_inner.value()?.to_f64(),
            "{name}"
        );
    }
    Ok(())
}

#[test]
fn rows_that_would_be_in_another_order_are_left_to_the_walk() -> Result<()> {
    let table = Parameter::new(ramp(&[5]));
    let (i, x) = (Input::indices(vec![0, 1]), Input::new(ramp(&[2])));
    let first = (table.clone().gather(i.clone()) * x.clone()).sum();
    let root = (first + table.clone().gather(i).square().sum()).boxed();
    for _ in 0..2 * ENOUGH {
        x.set_value(ramp(&[2]))?;
        table.zero_grad();
        root.try_backward()?;
        let Some(Gradient::Rows(rows)) = table.grad() else {
            panic!("a lookup has rows");
        };
        assert_eq!(rows.len(), 4);
    }
    Ok(())
}

#[test]
fn a_thread_keeps_some_programs() -> Result<()> {
    let mut roots = Vec::new();
    for number in 0..MOST_PROGRAMS + 3 {
        let (_, x, _, root) = squares();
        for _ in 0..ENOUGH {
            x.set_value(x.value()?)?;
            root.try_backward()?;
        }
        assert_eq!(has_program(&root), number < MOST_PROGRAMS);
        roots.push(root);
    }
    drop(roots);
    assert_eq!(PROGRAMS.get(), 0);
    Ok(())
}
