//! Lengths that were asked for while a graph was built: what is made of them refuses others.

use wyrmling::graph::{Parameter, ops};
use wyrmling::rules::{self, SliceItem};
use wyrmling::{Array, DType, Error, Input, Result, Type, Variable};

use crate::common::numbers;
use crate::common::operators::apply;

fn rows(from: Option<i64>, to: Option<i64>, step: i64) -> SliceItem {
    SliceItem::Range {
        start: from,
        stop: to,
        step,
    }
}

fn input(shape: &[usize]) -> Input {
    Input::named(numbers(DType::F64, shape, 1), Some("x".to_owned()))
}

/// The text of the error by which a length is refused.
#[track_caller]
fn refused<T: std::fmt::Debug>(result: Result<T>) -> String {
    match result {
        Err(Error::Shape(text)) if text.contains("len() asked for") => text,
        other => panic!("expected a refusal, got {other:?}"),
    }
}

/// What is made of an input of four rows of three, axes of it that are asked for, and the axes of the
/// input that decide on their lengths.
type Case = (
    fn(&Variable) -> Result<Variable>,
    &'static [usize],
    &'static [usize],
);

const CASES: &[Case] = &[
    (|x| Ok(x.clone()), &[0], &[0]),
    (|x| Ok(x.clone()), &[1], &[1]),
    (|x| Ok(x.clone()), &[0, 1], &[0, 1]),
    (|x| Ok(x.clone().tanh().boxed()), &[0], &[0]),
    (|x| ops::transpose(x, None), &[0], &[1]),
    (|x| ops::transpose(x, None), &[1], &[0]),
    (|x| ops::reshape(x, &[-1]), &[0], &[0, 1]),
    (
        |x| ops::concatenate(&[x.clone(), x.clone()], Some(0)),
        &[1],
        &[1],
    ),
    // As x[0], which an input of no rows does not have.
    (|x| ops::slice(x, vec![SliceItem::At(0)]), &[0], &[1]),
    // Shorter inputs alone give another length.
    (|x| ops::slice(x, vec![rows(None, Some(2), 1)]), &[0], &[0]),
    // One row more alone does, of those that have a row 3.
    (
        |x| {
            let row = ops::slice(x, vec![SliceItem::At(3)])?;
            let most = ops::slice(x, vec![rows(Some(-9), Some(5), 1)])?;
            Ok((most + row).boxed())
        },
        &[0],
        &[0],
    ),
    // Many rows more alone do.
    (
        |x| {
            let row = ops::slice(x, vec![SliceItem::At(3)])?;
            let few = ops::slice(x, vec![rows(None, None, 9)])?;
            Ok((few + row).boxed())
        },
        &[0],
        &[0],
    ),
    // Another operand has as many rows, and no other number of them fits.
    (
        |x| Ok((x.clone() + Parameter::new(numbers(DType::F64, &[4, 1], 2))).boxed()),
        &[0],
        &[0],
    ),
    // Of a parameter alone.
    (|_| Ok(Parameter::new(vec![1.0; 3]).boxed()), &[0], &[]),
];

#[test]
fn a_graph_refuses_other_lengths_where_they_were_asked_for() -> Result<()> {
    for (k, (build, axes, expected)) in CASES.iter().enumerate() {
        let input = input(&[4, 3]);
        let x = input.clone().boxed();
        // The latest node that is older than the question is not concerned.
        let asked = build(&x)?;
        let before = (x.clone().sum() * 2.0).boxed();
        ops::ask_lengths(&asked, axes, "len()")?;
        let after = (x.clone().sum() * 3.0).boxed();
        let (before_program, program) = (before.freeze()?, after.freeze()?);
        let same = numbers(DType::F64, &[4, 3], 7);
        program.run(std::slice::from_ref(&same))?;
        for axis in [0, 1] {
            for length in [5, 10, 2] {
                let mut shape = [4, 3];
                shape[axis] = length;
                let other = numbers(DType::F64, &shape, 8);
                before_program.run(std::slice::from_ref(&other))?;
                input.set_value(other.clone())?;
                before.item()?;
                let (run, assigned) = (program.run(&[other]), after.item());
                if expected.contains(&axis) {
                    for text in [refused(run), refused(assigned)] {
                        let old = [4, 3][axis];
                        let named = format!("length {old} along axis {axis} that");
                        assert!(text.contains("input 'x': shape"), "case {k}: {text}");
                        assert!(text.contains(&named), "case {k}: {text}");
                    }
                    refused(after.try_backward());
                } else {
                    assert!(run.is_ok() && assigned.is_ok(), "case {k}: axis {axis}");
                }
            }
        }
        input.set_value(same)?;
        after.item()?;
    }
    Ok(())
}

/// An answer holds for what is built until the input gets another length, and not for what is built
/// then, also where the same is asked as often as there are batches.
#[test]
fn a_graph_built_anew_holds_for_its_own_length() -> Result<()> {
    let x = Input::new(vec![1.0; 2]);
    let ask = || ops::ask_lengths(&x.clone().boxed(), &[0], "len()");
    let with = |n: usize| Array::full(&Type::new(DType::F64, &[n]), 1.0);
    // More questions than are remembered, if each were.
    for _ in 0..600 {
        ask()?;
    }
    let first = x.clone().sum().boxed();
    // The same length ends nothing.
    x.set_value(vec![3.0; 2])?;
    let second = x.clone().sum().boxed();
    assert_eq!(second.freeze()?.run(&[with(2)])?.item()?, 2.0);
    for graph in [&first, &second] {
        assert!(refused(graph.freeze()?.run(&[with(3)])).starts_with("input '#0': shape (3,)"));
    }
    x.set_value(with(3))?;
    let third = x.clone().sum().boxed();
    assert_eq!(third.freeze()?.run(&[with(7)])?.item()?, 7.0);
    assert!(refused(second.item()).starts_with("input: shape (3,)"));
    assert_eq!(third.item()?, 3.0);
    // The length of the first again, asked for again.
    x.set_value(with(2))?;
    assert_eq!(second.item()?, 2.0);
    ask()?;
    let fourth = x.clone().sum().boxed();
    refused(fourth.freeze()?.run(&[with(7)]));
    // A part that was made for another length is not built upon.
    x.set_value(with(3))?;
    let sum = x.clone().sum().boxed();
    refused(apply(rules::Add, [&fourth, &sum]));
    // Of very many lengths the latest are told apart, and the graphs of the others are refused.
    let mut graphs = Vec::new();
    for n in 1..300 {
        x.set_value(with(n))?;
        ask()?;
        graphs.push((n, x.clone().sum().boxed()));
    }
    for (n, graph) in &graphs[290..] {
        x.set_value(with(*n))?;
        assert_eq!(graph.item()?, *n as f64);
        refused(graph.freeze()?.run(&[with(n + 1)]));
    }
    x.set_value(with(1))?;
    refused(graphs[0].1.item());
    Ok(())
}

/// A graph that has nothing of an input is not concerned by its lengths.
#[test]
fn a_length_of_an_input_that_is_not_in_the_graph_binds_nothing() -> Result<()> {
    let [a, b] = [input(&[2]), Input::new(vec![1.0, 2.0])];
    ops::ask_lengths(&a.clone().boxed(), &[0], "len()")?;
    let w = Parameter::new(vec![3.0]);
    let loss = (w.clone() * b.clone()).sum().boxed();
    let both = (loss.clone() + a.clone().sum()).boxed();
    a.set_value(vec![5.0; 3])?;
    assert_eq!(loss.item()?, 9.0);
    loss.try_backward()?;
    assert_eq!(loss.freeze()?.run(&[vec![1.0].into()])?.item()?, 3.0);
    for refusal in [refused(both.item()), refused(both.freeze().map(drop))] {
        let named = "input 'x': shape (3,) does not have the length 2 along axis 0";
        assert!(refusal.starts_with(named), "{refusal}");
        assert!(refusal.contains("ask len(x.value)"), "{refusal}");
    }
    refused(both.try_backward());
    // Lengths of one input bind nothing of another.
    ops::ask_lengths(&b.clone().boxed(), &[0], "len()")?;
    let sum = a.clone().sum().boxed();
    b.set_value(vec![1.0])?;
    a.set_value(vec![1.0])?;
    assert_eq!(sum.item()?, 1.0);
    Ok(())
}

/// A graph with the input that it is made of lengths of refuses them by the input's number or name, a
/// program as long as it runs and a graph as long as the input has another length.
#[test]
fn lengths_of_two_axes_are_refused_one_by_one() -> Result<()> {
    let x = input(&[2, 3]);
    ops::ask_lengths(&x.clone().boxed(), &[0], "len()")?;
    let first = x.clone().sum().boxed();
    ops::ask_lengths(&x.clone().boxed(), &[1], "len()")?;
    let second = x.clone().sum().boxed();
    let programs = [first.freeze()?, second.freeze()?];
    for (shape, refusals) in [
        ([2, 3], [None, None]),
        ([2, 4], [None, Some("axis 1")]),
        ([5, 3], [Some("axis 0"), Some("axis 0")]),
        ([5, 4], [Some("axis 0"), Some("axis 0")]),
    ] {
        let value = numbers(DType::F64, &shape, 3);
        x.set_value(value.clone())?;
        for ((graph, program), refusal) in
            [&first, &second].into_iter().zip(&programs).zip(refusals)
        {
            let found = [
                program.run(std::slice::from_ref(&value)).map(drop),
                graph.item().map(drop),
            ];
            for found in found {
                match refusal {
                    None => found?,
                    Some(axis) => assert!(refused(found).contains(&format!("along {axis} that"))),
                }
            }
        }
    }
    Ok(())
}

#[test]
fn a_length_that_is_a_number_of_the_graph_follows() -> Result<()> {
    let x = input(&[4, 3]);
    let tall = ops::transpose(&x.clone().boxed(), None)?;
    let mean = x.clone().sum().boxed() / ops::length(&tall, &[1])?;
    let size = ops::length(&tall, &[0, 1])?;
    assert!(size.is_integer());
    let (mean, size) = (mean.boxed().freeze()?, size.freeze()?);
    for n in [4, 1, 9] {
        let values = Array::full(&Type::new(DType::F64, &[n, 3]), 2.0);
        assert_eq!(mean.run(std::slice::from_ref(&values))?.item()?, 6.0);
        assert_eq!(size.run(&[values])?.item()?, 3.0 * n as f64);
    }
    Ok(())
}
