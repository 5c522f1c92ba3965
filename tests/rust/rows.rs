//! Gradients of rows: what is looked up or sliced by integers leaves rows, from the rule to the
//! optimizer, in graphs, in graphs of gradients, in programs and in training.

use std::sync::atomic::AtomicBool;

use wyrmling::array::Dense;
use wyrmling::graph::{Constant, Independent, Parameter, ops};
use wyrmling::optim::{Optimizer, Rule, Settings};
use wyrmling::rules::{self, SliceItem};
use wyrmling::train::{self, Fit, Flow, History, Source};
use wyrmling::{Array, DType, Error, Gradient, Input, Result, Rows, Type, Variable};

use crate::common::{Frozen, assert_close, dense, numbers, rounding};

const RULES: [Rule; 4] = [
    Rule::Sgd { momentum: 0.0 },
    Rule::Sgd { momentum: 0.9 },
    Rule::Adagrad { eps: 1e-8 },
    Rule::Adam {
        beta1: 0.9,
        beta2: 0.99,
        eps: 1e-8,
    },
];

fn range(start: Option<i64>, stop: Option<i64>, step: i64) -> SliceItem {
    SliceItem::Range { start, stop, step }
}

/// Slices of a table of 12 rows of 6 numbers, and the rows that each touches.
fn slices() -> Vec<(Vec<SliceItem>, Vec<u32>)> {
    use SliceItem::{At, NewAxis};
    vec![
        (vec![At(5)], vec![5]),
        (vec![At(-1)], vec![11]),
        (vec![range(Some(5), Some(8), 1)], vec![5, 6, 7]),
        (vec![range(None, None, 3)], vec![0, 3, 6, 9]),
        (vec![range(Some(-2), Some(5), -2)], vec![10, 8, 6]),
        (vec![At(5), range(Some(2), Some(4), 1)], vec![5]),
        (vec![At(5), At(-1)], vec![5]),
        (vec![range(Some(1), Some(4), 1), At(2)], vec![1, 2, 3]),
        (
            vec![NewAxis, At(7), NewAxis, range(None, None, -1)],
            vec![7],
        ),
        (vec![range(Some(20), None, 1)], vec![]),
    ]
}

pub fn table(dtype: DType) -> Parameter {
    Parameter::new(numbers(dtype, &[12, 6], 1))
}

fn indices(gradient: Option<&Gradient>) -> Vec<u32> {
    match gradient {
        Some(Gradient::Rows(rows)) => rows.concat().0,
        other => panic!("expected rows, got {other:?}"),
    }
}

/// What a loss leaves at its parameter, by each way of differentiating, which must agree: rows, by
/// their numbers.
#[track_caller]
pub fn rows_left(loss: &Variable, w: &Parameter, inputs: &[Input]) -> Result<Vec<u32>> {
    w.zero_grad();
    loss.try_backward()?;
    let eager = w.grad();
    let mut left = indices(eager.as_ref());
    let eager = dense(eager, &w.ty()?);
    // As a graph.
    let graph = loss.gradients(&[&w.clone().boxed()])?.remove(0);
    let graph = graph.expect("the parameter matters").value()?;
    assert_close(&graph, &eager, rounding(eager.dtype()), "as a graph");
    // By programs.
    let (_, gradients) = Frozen::new(loss)?.run(inputs)?;
    let frozen = &gradients[&w.param().table().id()];
    assert_close(frozen, &eager, rounding(eager.dtype()), "frozen");
    let bound: Vec<Array> = inputs.iter().map(|i| i.value()).collect::<Result<_>>()?;
    let (_, gradients) = loss.freeze()?.value_and_grad(&bound)?;
    let mut frozen = indices(gradients[0].as_ref());
    // A program adds up what has one index.
    for rows in [&mut left, &mut frozen] {
        rows.sort_unstable();
        rows.dedup();
    }
    assert_eq!(left, frozen, "rows of a graph and of a program");
    Ok(left)
}

#[test]
fn slices_by_integers_leave_rows() -> Result<()> {
    for dtype in [DType::F32, DType::F64] {
        for (items, mut expected) in slices() {
            let w = table(dtype);
            let part = ops::slice(&w.clone().boxed(), items.clone())?;
            let loss = part.clone().square().sum().boxed();
            expected.sort_unstable();
            assert_eq!(rows_left(&loss, &w, &[])?, expected, "{items:?}");
            // Read twice, it is one gradient of one slice; through what does nothing, still rows.
            let same = ops::unary(&rules::Identity, &w.clone().boxed())?;
            let other = ops::slice(&same, items.clone())?;
            let loss = (part.clone().sin() * part + other.cos()).sum().boxed();
            assert_eq!(rows_left(&loss, &w, &[])?, expected, "{items:?}");
        }
    }
    Ok(())
}

/// What a slice reads of a table, in graphs and in programs, is what it reads of an array with the
/// same numbers, to the bit, and so is its gradient, also when the table has been changed.
#[test]
fn slices_of_tables_are_those_of_arrays() -> Result<()> {
    let most = [vec![range(Some(1), None, 1)], vec![range(None, None, -1)]];
    let all = slices().into_iter().map(|(items, _)| items).chain(most);
    for (items, dtype) in all.flat_map(|items| [(items.clone(), DType::F32), (items, DType::F64)]) {
        let w = table(dtype);
        let part = ops::slice(&w.clone().boxed(), items.clone())?;
        let again = ops::slice(&w.clone().boxed(), items.clone())?;
        let loss = (part.clone().exp() * again).sum().boxed();
        let [value, frozen] = [part.freeze()?, loss.freeze()?];
        let [plain_value, plain] = [part.freeze()?.unfused(), loss.freeze()?.unfused()];
        let optimizer = Optimizer::new(RULES[0], Settings::new(0.1))?;
        for step in 0..3 {
            let about = format!("{items:?} of {dtype}, step {step}");
            let x = Independent::new(w.value()?)?;
            let slice = || ops::slice(&x.clone().boxed(), items.clone());
            let expected = slice()?.value()?.to_f64();
            assert_eq!(part.value()?.to_f64(), expected, "{about}");
            assert_eq!(value.run(&[])?.to_f64(), expected, "{about}");
            assert_eq!(plain_value.run(&[])?.to_f64(), expected, "{about}");
            (slice()?.exp() * slice()?).sum().try_backward()?;
            let expected = dense(x.grad(), &x.ty()?);
            w.zero_grad();
            loss.try_backward()?;
            let found = dense(w.grad(), &w.ty()?);
            assert_eq!(found.to_f64(), expected.to_f64(), "{about}");
            for program in [&frozen, &plain] {
                let (_, gradients) = program.value_and_grad(&[])?;
                let found = dense(gradients[0].clone(), &w.ty()?);
                assert_close(&found, &expected, rounding(dtype), &about);
            }
            optimizer.step(&[w.param()])?;
        }
    }
    Ok(())
}

#[test]
fn slices_of_most_rows_and_expressions_leave_arrays() -> Result<()> {
    let all = range(None, None, 1);
    let of = |items: Vec<SliceItem>| {
        let w = table(DType::F64);
        let part = ops::slice(&w.clone().boxed(), items)?;
        Ok::<_, wyrmling::Error>((w, part.square().sum().boxed()))
    };
    for items in [
        vec![],
        vec![all, SliceItem::At(1)],
        vec![range(Some(1), None, 1)],
    ] {
        let (w, loss) = of(items)?;
        loss.try_backward()?;
        assert!(matches!(w.grad(), Some(Gradient::Dense(_))));
        let (_, gradients) = loss.freeze()?.value_and_grad(&[])?;
        assert!(matches!(gradients[0], Some(Gradient::Dense(_))));
    }
    // Rows of twice a table are no rows of the table.
    let w = table(DType::F64);
    let twice = (w.clone() * 2.0).boxed();
    let loss = ops::slice(&twice, vec![SliceItem::At(3)])?.sum().boxed();
    loss.try_backward()?;
    let (_, gradients) = loss.freeze()?.value_and_grad(&[])?;
    assert!(matches!(w.grad(), Some(Gradient::Dense(_))));
    assert!(matches!(gradients[0], Some(Gradient::Dense(_))));
    Ok(())
}

#[test]
fn lookups_slices_and_the_whole_add_up() -> Result<()> {
    let at = Input::indices(vec![3, 1, 3]);
    for whole in [false, true] {
        let w = table(DType::F64);
        let boxed = w.clone().boxed();
        let looked_up = ops::gather(&boxed, &at.clone().boxed())?;
        let row = ops::slice(&boxed, vec![SliceItem::At(3)])?;
        let part = ops::slice(&boxed, vec![SliceItem::At(1), SliceItem::At(4)])?;
        let terms = looked_up.square().sum() + row.clone().sin().sum() + part.exp();
        // A dot product leaves a number and a row.
        let dot = row.vecdot(ops::slice(&boxed, vec![SliceItem::At(-1)])?);
        let mut loss = (terms + dot).boxed();
        if !whole {
            let left = rows_left(&loss, &w, std::slice::from_ref(&at))?;
            assert_eq!(left, [1, 3, 11]);
            continue;
        }
        // Weight tying: the same table as a whole.
        loss = (loss + w.clone().square().sum()).boxed();
        loss.try_backward()?;
        let (_, frozen) = Frozen::new(&loss)?.run(std::slice::from_ref(&at))?;
        let eager = dense(w.grad(), &w.ty()?);
        let graph = loss.gradients(&[&boxed])?.remove(0).expect("it matters");
        assert_close(&graph.value()?, &eager, 1e-12, "as a graph");
        assert_close(&frozen[&w.param().table().id()], &eager, 1e-12, "frozen");
    }
    Ok(())
}

/// A step by hand and a batch of training give the same bits.
#[test]
fn training_on_slices_steps_as_by_hand() -> Result<()> {
    for rule in RULES {
        for (items, rows) in slices() {
            let settings = Settings {
                l2: 0.1,
                clip: Some(0.6),
                ..Settings::new(0.05)
            };
            let loss = |w: &Parameter, x: &Input| {
                let boxed = w.clone().boxed();
                let part = ops::slice(&boxed, items.clone())?.sum();
                let index = Constant::new(vec![3u32, 5, 3]).boxed();
                let looked_up = ops::gather(&boxed, &index)?.sum();
                Ok::<_, wyrmling::Error>(((part + looked_up) * x.clone()).sum().boxed())
            };
            let column = vec![0.25f32, 0.5, 1.0, 2.0];
            let (by_hand, x) = (table(DType::F32), Input::new(column.clone()));
            let graph = loss(&by_hand, &x)?;
            let optimizer = Optimizer::new(rule, settings)?;
            for _ in 0..3 {
                by_hand.zero_grad();
                graph.try_backward()?;
                optimizer.step(&[by_hand.param()])?;
            }
            let (w, x) = (table(DType::F32), Input::new(vec![0.0f32]));
            let fit = Fit {
                sources: vec![(x.id(), Source::Column(column.into()))],
                epochs: 0..3,
                batch_size: 4,
                threads: 1,
                seed: 1,
                deterministic: false,
            };
            let go_on = &mut |_: usize, _: &History| Flow::Continue;
            let program = loss(&w, &x)?.freeze()?;
            let optimizer = Optimizer::new(rule, settings)?;
            train::fit(&program, &fit, &optimizer, &AtomicBool::new(false), go_on)?;
            let (found, expected) = (w.value()?, by_hand.value()?);
            assert_eq!(found.to_f64(), expected.to_f64(), "{rule:?} {items:?}");
            // Whatever was not touched is as it was, though there is a penalty.
            let start = table(DType::F32).value()?.to_f64();
            for row in (0..12).filter(|r| !rows.contains(r) && ![3, 5].contains(r)) {
                let row = row as usize * 6..row as usize * 6 + 6;
                assert_eq!(found.to_f64()[row.clone()], start[row], "{items:?}");
            }
        }
    }
    Ok(())
}

/// A loop over the elements of an array, as gradients by nodes: they are added up by one operator,
/// and each node of the loop has a few of the gradient.
#[test]
fn a_loop_over_elements_is_added_up_once() -> Result<()> {
    let nodes = |n: usize| {
        let x = Independent::new(numbers(DType::F64, &[n], 3))?;
        let boxed = x.clone().boxed();
        let square = |k: usize| {
            let part = ops::slice(&boxed, vec![SliceItem::At(k as i64)]);
            part.map(|part| part.square().boxed())
        };
        let mut sum = square(0)?;
        for k in 1..n {
            sum = (sum + square(k)?).boxed();
        }
        let gradient = sum.gradients(&[&boxed])?.remove(0).expect("it matters");
        let twice = x.value()?.to_f64().into_iter().map(|x| 2.0 * x);
        assert!(gradient.value()?.to_f64().into_iter().eq(twice.clone()));
        sum.try_backward()?;
        assert!(dense(x.grad(), &x.ty()?).to_f64().into_iter().eq(twice));
        let order = gradient.topological().unwrap();
        let named = |name: &str| {
            let is = |node: &&Variable| match node.kind() {
                wyrmling::graph::Kind::Operation(op) => op.name() == name,
                _ => false,
            };
            order.iter().filter(is).count()
        };
        // Those of the loss, which the gradient is shaped as, and no more.
        assert_eq!(named("accumulate"), 1);
        assert!(named("add") < n);
        Ok::<_, wyrmling::Error>(order.len())
    };
    let (few, many) = (nodes(50)?, nodes(400)?);
    assert!(
        many <= 9 * few,
        "{few} nodes for 50 elements, {many} for 400"
    );
    Ok(())
}

/// Only a table is so large that rows of a slice are worth it.
#[test]
fn a_leaf_that_is_no_table_has_an_array_of_a_slice() -> Result<()> {
    let x = Independent::new(numbers(DType::F64, &[12, 6], 1))?;
    let sliced = ops::slice(&x.clone().boxed(), vec![SliceItem::At(5)])?;
    sliced.sum().try_backward()?;
    assert!(matches!(x.grad(), Some(Gradient::Dense(_))));
    x.zero_grad();
    let at = Input::indices(vec![7, 2]).boxed();
    ops::gather(&x.clone().boxed(), &at)?.sum().try_backward()?;
    assert_eq!(indices(x.grad().as_ref()), [7, 2]);
    Ok(())
}

#[test]
fn rows_of_integers_are_no_gradient() {
    let index = Dense::from(vec![0_u32]);
    let rows = Rows::new(Type::new(DType::U32, &[3]), index, vec![1_u32].into());
    assert!(matches!(rows, Err(Error::Type(_))), "{rows:?}");
}
