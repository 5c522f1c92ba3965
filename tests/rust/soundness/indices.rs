//! Indices are compared before memory is touched, whoever gives them.

use std::sync::Arc;

use wyrmling::array::{Shape, SliceMut, View, ViewMut};
use wyrmling::exec::{Leaf, Program};
use wyrmling::graph::Parameter;
use wyrmling::ir::{Builder, Terminator};
use wyrmling::optim::{Optimizer, Rule, Settings};
use wyrmling::rules::{self, Ex, OpRef, Operator};
use wyrmling::train::{self, Fit, Source};
use wyrmling::{Array, DType, Error, Input, Result, Table, Type, Variable};

use super::lookup;
use crate::common::fit::{column, fit, once};
use crate::common::numbers;
use crate::common::operators::Floor;

/// Ones, whatever the numbers of its operand, which are not read; a gradient it has all the same.
#[derive(Debug, Clone)]
struct Unread;

impl Operator for Unread {
    fn name(&self) -> &str {
        "unread"
    }
    fn infer(&self, args: &[&Type]) -> Result<Type> {
        Ok(args[0].clone())
    }
    fn eval(&self, _: &[View<'_>], out: ViewMut<'_>) -> Result<()> {
        if let SliceMut::F64(out) = out.data {
            out.fill(1.0);
        }
        Ok(())
    }
    fn vjp<'t>(&self, _: usize, g: Ex<'t>, _: Ex<'t>, _: &[Ex<'t>]) -> Option<Ex<'t>> {
        Some(g)
    }
    fn reads(&self, _: usize) -> bool {
        false
    }
}

/// A gradient is scattered by an index that the program computes, and no lookup has compared the
/// index before: nothing reads what was looked up.
#[test]
fn an_index_that_is_computed_is_compared_before_rows_are_written() {
    let table = Parameter::new(numbers(DType::F64, &[5, 4], 1));
    let before = table.param().table().read();
    let x = Input::new(vec![0.0, 0.0, 0.0]);
    let at = Variable::apply(OpRef::new(Floor), &[x.clone().boxed()]).unwrap();
    let rows = table.clone().gather(at).boxed();
    let ones = Variable::apply(OpRef::new(Unread), &[rows]).unwrap();
    let loss = (ones * 2.0).sum().boxed();
    for fuse in [true, false] {
        let program = loss.freeze().unwrap();
        let program = if fuse { program } else { program.unfused() };
        for optimizer in [
            Optimizer::sgd(0.5).unwrap(),
            Optimizer::new(Rule::Adagrad { eps: 1e-6 }, Settings::new(0.5)).unwrap(),
        ] {
            let train = |samples: Vec<f64>, threads| {
                table.param().table().write(&before).unwrap();
                let setting = once(vec![column(&x, samples)], 3);
                // Taking turns, for the gradient is an array, and workers that race lose parts.
                let deterministic = true;
                let setting = Fit {
                    threads,
                    deterministic,
                    ..setting
                };
                fit(&program, &setting, &optimizer)
            };
            for threads in [1, 2] {
                train(vec![1.5, 4.0, 1.0, 3.9, 0.0, 1.0], threads).unwrap();
                let after = table.param().table().read().to_f64();
                let changed = |row: usize| after[4 * row] != before.to_f64()[4 * row];
                assert_eq!(
                    [0, 1, 2, 3, 4].map(changed),
                    [true, true, false, true, true]
                );
                for wrong in [5.0, 1e6, 4e9] {
                    let refused = train(vec![1.0, wrong, 0.0], threads);
                    assert!(matches!(refused, Err(Error::Index(_))), "{refused:?}");
                    assert_eq!(table.param().table().read().to_f64(), before.to_f64());
                }
            }
        }
        let run = |values: [f64; 3]| program.value_and_grad(&[values.to_vec().into()]);
        let (_, gradients) = run([1.0, 4.0, 1.0]).unwrap();
        let gradient = gradients[0].as_ref().unwrap().to_dense().to_f64();
        let row = |k: usize| gradient[4 * k];
        assert_eq!([0, 1, 2, 3, 4].map(row), [0.0, 4.0, 0.0, 0.0, 2.0]);
        for wrong in [5.0, 1e6, 4e9] {
            assert!(matches!(run([1.0, wrong, 0.0]), Err(Error::Index(_))));
        }
    }
}

#[test]
fn indices_in_a_variable_are_compared_as_those_of_an_input_are() {
    let table = Arc::new(Table::new(&numbers(DType::F64, &[5, 4], 1), None).unwrap());
    let program = |indices: Vec<u32>| {
        let indices = Array::from(indices);
        let function = lookup(table.ty(), &indices.ty());
        let leaves = vec![
            Leaf::Parameter(Arc::clone(&table)),
            Leaf::Independent(7, indices),
        ];
        Program::new(function, leaves)
    };
    let right = program(vec![1, 4, 1]).unwrap();
    let expected = table.read().to_f64();
    let row = |k: usize| expected[4 * k..4 * k + 4].iter().sum::<f64>();
    let (value, gradients) = right.value_and_grad(&[]).unwrap();
    assert!((value.item().unwrap() - (2.0 * row(1) + row(4))).abs() < 1e-12);
    assert!(gradients[0].is_some() && gradients[1].is_none());
    for wrong in [5, 1000, u32::MAX] {
        for fuse in [true, false] {
            let program = program(vec![1, wrong, 1]).unwrap();
            let program = if fuse { program } else { program.unfused() };
            let (value, both) = (program.run(&[]), program.value_and_grad(&[]));
            assert!(matches!(value, Err(Error::Index(_))), "{value:?}");
            assert!(matches!(both, Err(Error::Index(_))), "{both:?}");
        }
    }
}

#[test]
fn indices_in_a_variable_are_compared_before_training() {
    let table = Arc::new(Table::new(&numbers(DType::F64, &[5, 4], 1), None).unwrap());
    let before = table.read();
    for (indices, right) in [
        (vec![1u32, 4], true),
        (vec![1, 5], false),
        (vec![u32::MAX, 0], false),
    ] {
        // loss = Σ w[indices] + Σ x, so that there is a column to train on.
        let indices = Array::from(indices);
        let b = Builder::new();
        let (w, i) = (b.parameter(table.ty().clone()), b.parameter(indices.ty()));
        let x = b.parameter(Type::new(DType::F64, &[2]));
        let rows = b.try_apply(OpRef::Static(&rules::Gather), &[w, i]).unwrap();
        let sum = |axes: &[usize], of| {
            let axes = Shape::from_slice(axes);
            let op = rules::Sum {
                axes,
                keepdims: false,
            };
            b.try_apply(OpRef::new(op), &[of]).unwrap()
        };
        let (rows, x) = (sum(&[0, 1], rows), sum(&[0], x));
        let loss = b.try_apply(OpRef::Static(&rules::Add), &[rows, x]).unwrap();
        b.terminate(Terminator::Return(vec![loss]));
        let input = Leaf::Input {
            id: 9,
            ty: Type::new(DType::F64, &[2]),
            name: "x".into(),
        };
        let leaves = vec![
            Leaf::Parameter(Arc::clone(&table)),
            Leaf::Independent(7, indices),
            input,
        ];
        let program = Program::new(b.finish("loss").unwrap(), leaves).unwrap();
        for threads in [1, 2] {
            let samples = Source::Column(vec![0.0, 1.0, 2.0, 3.0].into());
            let setting = once(vec![(9, samples)], 2);
            let sgd = Optimizer::sgd(0.1).unwrap();
            let trained = fit(&program, &Fit { threads, ..setting }, &sgd);
            if right {
                assert!(trained.is_ok());
                assert_ne!(table.read().to_f64(), before.to_f64());
            } else {
                assert!(matches!(trained, Err(Error::Index(_))), "{trained:?}");
                assert_eq!(table.read().to_f64(), before.to_f64());
            }
            table.write(&before).unwrap();
        }
    }
}

/// Trains `Σ w[u] + Σ v[u]` for tables of five and three rows; `u` is drawn or from a column.
fn train_two(u: Source, of_other: Vec<u32>) -> Result<()> {
    let tables = [5, 3].map(|n| Parameter::new(numbers(DType::F64, &[n, 4], 1)));
    let before = tables.clone().map(|t| t.param().table().read().to_f64());
    let rows = Input::indices(vec![0, 0]);
    let other = Input::indices(vec![0, 0]);
    let [w, v] = tables.clone().map(|t| t.gather(rows.clone()).sum());
    let both = (w + v + tables[0].clone().gather(other.clone()).sum()).boxed();
    let program = both.freeze()?;
    let setting = once(vec![(rows.id(), u), column(&other, of_other)], 2);
    let setting = Fit {
        epochs: 0..2,
        ..setting
    };
    let trained = fit(&program, &setting, &Optimizer::sgd(0.1)?);
    if trained.is_err() {
        let after = tables.map(|t| t.param().table().read().to_f64());
        assert_eq!(after, before, "nothing is changed");
    }
    trained.map(|_| ())
}

#[test]
fn indices_are_compared_with_the_smallest_table_before_training() {
    let given = |indices: [u32; 3]| Source::Column(indices.to_vec().into());
    let drawn = |n| Source::Sampled {
        sampler: Arc::new(train::Sampler::uniform(n).unwrap()),
        given: None,
    };
    train_two(given([0, 2, 1]), vec![4, 0, 4]).unwrap();
    train_two(drawn(3), vec![4, 0, 4]).unwrap();
    for (source, other) in [
        (given([0, 3, 1]), 4),
        (given([0, 1, 4]), 4),
        (given([u32::MAX, 1, 0]), 4),
        (given([0, 1, 2]), 5),
        (drawn(4), 4),
        (drawn(1 << 31), 4),
    ] {
        let refused = train_two(source, vec![other, 0, 1]);
        assert!(matches!(refused, Err(Error::Index(_))), "{refused:?}");
    }
}

#[test]
fn constant_indices_are_compared_before_a_run() {
    let table = Parameter::new(numbers(DType::F64, &[5, 4], 1));
    let ty = table.ty().unwrap();
    for (index, right) in [(4, true), (5, false), (u32::MAX, false)] {
        let b = Builder::new();
        let (w, i) = (b.parameter(ty.clone()), b.fixed(vec![1, index].into()));
        let rows = b.try_apply(OpRef::Static(&rules::Gather), &[w, i]).unwrap();
        b.terminate(Terminator::Return(vec![rows]));
        let leaves = vec![Leaf::Parameter(Arc::clone(table.param().table()))];
        let program = Program::new(b.finish("constant").unwrap(), leaves).unwrap();
        let (run, both) = (program.run(&[]), program.value_and_grad(&[]));
        if right {
            assert!(run.is_ok() && both.is_ok());
        } else {
            assert!(matches!(run, Err(Error::Index(_))), "{run:?}");
            assert!(matches!(both, Err(Error::Index(_))), "{both:?}");
        }
    }
}

#[test]
fn rows_of_a_gradient_are_rows_of_its_array() {
    let ty = Type::new(DType::F64, &[5, 2]);
    for (index, right) in [(4, true), (5, false), (u32::MAX, false)] {
        let values = Array::from(ndarray::array![[1.0, 2.0], [3.0, 4.0]]);
        let rows = wyrmling::Rows::new(ty.clone(), vec![0, index].into(), values);
        match right {
            true => assert!(rows.is_ok()),
            false => assert!(matches!(rows, Err(Error::Index(_)))),
        }
    }
}
