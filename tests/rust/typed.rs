//! Inputs that are set in place, and what typed variables have beside operators.

use std::sync::Arc;

use rand::SeedableRng;
use rand_xoshiro::Xoshiro256PlusPlus;
use wyrmling::graph::ops;
use wyrmling::optim::{Optimizer, Penalized};
use wyrmling::train::{self, Trainer};
use wyrmling::{Array, DType, Error, Input, Parameter, Result, Table, Variable, nn};

use crate::common::numbers;

#[test]
fn inputs_are_set_in_place() {
    let x = Input::new(vec![1.0, 2.0]);
    let old = x.value().unwrap();
    x.set_slice(&[3.0, 4.0]).unwrap();
    assert_eq!(
        (old.to_f64(), x.value().unwrap().to_f64()),
        (vec![1.0, 2.0], vec![3.0, 4.0])
    );
    x.set_slice(&[5.0]).unwrap();
    x.set_slice::<f64>(&[]).unwrap();
    assert_eq!(x.value().unwrap().shape(), [0]);
    assert!(matches!(x.set_slice(&[1.0_f32]), Err(Error::Type(_))));
    assert!(matches!(x.set_slice(&[1_u32]), Err(Error::Type(_))));
    let x = Input::new(numbers(DType::F64, &[2, 3], 0));
    x.set_slice(&[1.0; 6]).unwrap();
    assert!(matches!(x.set_slice(&[1.0; 3]), Err(Error::Shape(_))));
    assert_eq!(
        (x.value().unwrap().shape(), x.value().unwrap().to_f64()),
        (&[2, 3][..], vec![1.0; 6])
    );
    let x = Input::new(1.0);
    x.set_slice(&[2.0]).unwrap();
    assert!(matches!(x.set_slice(&[2.0, 3.0]), Err(Error::Shape(_))));
    assert_eq!(x.item().unwrap(), 2.0);
}

#[test]
fn typed_methods_are_those_of_boxed_variables() {
    let (x, y) = (
        Parameter::new(numbers(DType::F64, &[3, 4], 5)),
        Parameter::new(numbers(DType::F64, &[3, 4], 20)),
    );
    let [a, b] = [&x, &y].map(|p| p.clone().boxed());
    let same = |found: Variable, expected: Variable| {
        assert_eq!(
            found.value().unwrap().shape(),
            expected.value().unwrap().shape()
        );
        assert_eq!(
            found.value().unwrap().to_f64(),
            expected.value().unwrap().to_f64()
        );
    };
    for axis in [0, 1, -1, -2] {
        same(
            x.clone().softmax(axis).boxed(),
            ops::softmax(&a, axis).unwrap(),
        );
        same(
            x.clone().log_softmax(axis).boxed(),
            ops::log_softmax(&a, axis).unwrap(),
        );
        let kind = ops::Reduction::LogSumExp;
        let expected = ops::reduce(kind, &a, Some(&[axis]), false).unwrap();
        same(x.clone().logsumexp(axis).boxed(), expected);
        let both = [a.clone(), b.clone()];
        let found = x.clone().concatenate(y.clone(), axis).boxed();
        same(found, ops::concatenate(&both, Some(axis)).unwrap());
        same(
            x.clone().stack(y.clone(), axis).boxed(),
            ops::stack(&both, axis).unwrap(),
        );
    }
    let both = [a.clone(), b.clone()];
    same(
        x.clone().stack(y.clone(), 2).boxed(),
        ops::stack(&both, 2).unwrap(),
    );
    for axis in [0, 1, -1, -2] {
        let sum = ops::reduce(ops::Reduction::Sum, &a, Some(&[axis]), false);
        same(x.clone().sum_axis(axis).boxed(), sum.unwrap());
        let mean = ops::reduce(ops::Reduction::Mean, &a, Some(&[axis]), false);
        same(x.clone().mean_axis(axis).boxed(), mean.unwrap());
    }
    for shape in [&[12][..], &[2, -1], &[-1, 2, 3, 1]] {
        same(
            x.clone().reshape(shape).boxed(),
            ops::reshape(&a, shape).unwrap(),
        );
    }
    same(x.clone().t().boxed(), ops::transpose(&a, None).unwrap());
    same(
        x.clone().mean().boxed(),
        ops::reduce(ops::Reduction::Mean, &a, None, false).unwrap(),
    );
    let panics = |call: &dyn Fn(Parameter)| {
        let call = std::panic::AssertUnwindSafe(|| call(x.clone()));
        assert!(std::panic::catch_unwind(call).is_err());
    };
    for wrong in [2, -3] {
        panics(&|x| drop(x.softmax(wrong)));
        panics(&|x| drop(x.sum_axis(wrong)));
        panics(&|x| drop(x.mean_axis(wrong)));
    }
    for wrong in [[5, -1], [-1, -1], [-2, 6]] {
        panics(&|x| drop(x.reshape(&wrong)));
    }
    // The gradient of three times the sum.
    x.clone().sum().backward_weighted(3.0).unwrap();
    assert_eq!(x.grad().unwrap().to_dense().to_f64(), [3.0; 12]);
}

#[test]
fn a_parameter_has_its_name_in_messages_and_for_penalties() -> Result<()> {
    let w = Parameter::named([1.0, 2.0], Some("weights".into()));
    let refused = w.set_value([1.0, f64::NAN]);
    let says = "parameter 'weights': the value holds NaN or infinity";
    assert!(matches!(refused, Err(Error::NotFinite(m)) if m == says));
    let sgd = Optimizer::sgd(0.5)?.with_l2(Penalized::Named("weights".into()), 1.0)?;
    (&w * 0.0).sum().backward();
    sgd.step_and_clear(&[&w])?;
    assert_eq!(w.value()?, Array::from([0.5, 1.0]));
    Ok(())
}

/// A reference is the same node: the gradients of both meet in one leaf.
#[test]
fn symbols_take_references() -> Result<()> {
    let (x, y) = (
        Parameter::new([2.0_f32, 4.0]),
        Parameter::new([4.0_f32, 8.0]),
    );
    let whole = (x.clone() + y.clone()) * (x.clone() - y.clone()) / y.clone();
    let sums = [&x + &y, &x + y.clone(), x.clone() + &y];
    let differences = [&x - &y, &x - y.clone(), x.clone() - &y];
    for (sum, difference) in sums.iter().zip(differences) {
        assert_eq!((sum * difference / &y).value()?, whole.value()?);
    }
    let numbers = 1.0 / &x + (2.0 * &x - (1.0 - &x)) - (&x * 3.0 - 1.0 + -&x) / (1.0 + &(&x - 1.0));
    assert_eq!(numbers.dtype(), DType::F32);
    assert_eq!(numbers.value()?, Array::from([4.0_f32, 9.5]));
    (&x * &x).sum().backward();
    assert_eq!(x.grad().unwrap().to_dense().to_f64(), [4.0, 8.0]);
    Ok(())
}

/// Where float32 meets float64 the numbers are those of [`ops`], each leaf has a gradient of its own type, and
/// whatever is set below is seen, in the graph, in a program and by a trainer.
#[test]
fn float32_and_float64_meet() {
    let leaves = || {
        let narrow = Parameter::new(numbers(DType::F32, &[3, 4], 5));
        (narrow, Input::new(numbers(DType::F64, &[3, 4], 20)))
    };
    let typed = |(w, x): &(Parameter, Input)| {
        let (w, x) = (w.clone(), x.clone());
        let parts = w.clone().vecdot(x.clone()) + (x.clone() / w.clone()).logsumexp(1);
        let product =
            x.clone().t().matmul(w.clone()).sum() - w.clone().concatenate(x.clone(), 0).sum();
        (parts.sum() * product + x.stack(w, 0).square().mean()).boxed()
    };
    let explicit = |(w, x): &(Parameter, Input)| {
        let wide = ops::cast(&w.clone().boxed(), DType::F64).unwrap();
        let (w, x) = (wide, x.clone());
        let parts = w.clone().vecdot(x.clone()) + (x.clone() / w.clone()).logsumexp(1);
        let product =
            x.clone().t().matmul(w.clone()).sum() - w.clone().concatenate(x.clone(), 0).sum();
        (parts.sum() * product + x.stack(w, 0).square().mean()).boxed()
    };
    let (ours, oracle) = (leaves(), leaves());
    let (loss, expected) = (typed(&ours), explicit(&oracle));
    let program = loss.freeze().unwrap();
    for start in [7, 2, 11] {
        for (_, x) in [&ours, &oracle] {
            x.set_value(numbers(DType::F64, &[3, 4], start)).unwrap();
        }
        for (w, _) in [&ours, &oracle] {
            w.param()
                .table()
                .write(&numbers(DType::F32, &[3, 4], start + 3))
                .unwrap();
            w.zero_grad();
        }
        assert_eq!(loss.dtype(), DType::F64);
        assert_eq!(loss.item().unwrap(), expected.item().unwrap());
        loss.backward();
        expected.backward();
        let [found, wanted] = [&ours, &oracle].map(|(w, _)| w.grad().unwrap().to_dense());
        assert_eq!(found.dtype(), DType::F32);
        for (found, wanted) in found.to_f64().iter().zip(wanted.to_f64()) {
            assert!(
                (found - wanted).abs() <= 1e-5 * wanted.abs(),
                "{found} {wanted}"
            );
        }
        let value = ours.1.value().unwrap();
        let (run, _) = program
            .value_and_grad(std::slice::from_ref(&value))
            .unwrap();
        let (run, eager) = (run.item().unwrap(), loss.item().unwrap());
        assert!((run - eager).abs() <= 1e-12 * eager.abs(), "{run} {eager}");
    }

    let (w, x) = (Parameter::new(0.0_f32), Input::new(2.0));
    let loss = (w.clone() * x.clone() - 1.0).square();
    let sgd = Optimizer::sgd(0.1).unwrap();
    let mut trainer = Trainer::new(&loss, &sgd).unwrap();
    for _ in 0..100 {
        trainer.step().unwrap();
    }
    drop(trainer);
    assert!((w.item().unwrap() - 0.5).abs() < 1e-6);
}

/// A cast among the operands does not make a deep graph recurse when it goes.
#[test]
fn deep_graphs_of_two_types_are_dropped() {
    let (w, x) = (Parameter::new(1.0_f32), Input::new(0.0));
    let mut sum = x.boxed();
    for _ in 0..200_000 {
        sum = (w.clone() + sum).boxed();
    }
    assert_eq!(sum.item().unwrap(), 200_000.0);
    sum.backward();
    assert_eq!(w.grad().unwrap().to_dense().to_f64(), [200_000.0]);
}

/// Indices do not widen.
#[test]
fn indices_are_no_numbers() {
    let (w, row) = (
        Parameter::new(vec![1.0_f32, 2.0]),
        Input::indices(vec![0, 1]),
    );
    let product = w.clone().binary(wyrmling::rules::Mul, row.clone());
    assert!(matches!(product, Err(Error::Type(_))));
    let joined = row.binary(wyrmling::rules::Concatenate { axis: 0 }, w);
    assert!(matches!(joined, Err(Error::Type(_))));
}

/// A struct of a dependent crate that holds these can derive `Debug`, and results that hold them have
/// `unwrap_err`.
#[test]
fn what_models_are_made_of_can_be_shown() -> Result<()> {
    let mut rng = Xoshiro256PlusPlus::seed_from_u64(1);
    let table = Arc::new(Table::new(&Array::from(vec![1.0, 2.0]), Some("w".into()))?);
    let weights = Parameter::shared(Arc::clone(&table));
    let loss = weights.clone().square().sum();
    let sgd = Optimizer::sgd(0.1)?;
    let mut shown = vec![
        format!("{:?}", nn::Lstm::new(1, 2, &mut rng)?),
        format!("{:?}", nn::Gru::new(1, 2, &mut rng)?),
        format!("{:?}", nn::Linear::new(1, 2, &mut rng)?),
        format!("{:?}", nn::Embedding::new(3, 2, &mut rng)?),
        format!("{:?}", loss.outline(5)?),
        format!("{:?}", Trainer::new(&loss, &sgd)?),
        format!("{:?}", table.exclusive()?),
    ];
    shown.extend(train::parallel(1, 1, &[table], &sgd, |worker| {
        Ok(format!("{worker:?}"))
    })?);
    let names = [
        "Lstm",
        "Gru",
        "Linear",
        "Embedding",
        "Outline",
        "Trainer",
        "Exclusive",
        "Member",
    ];
    for (shown, name) in shown.iter().zip(names) {
        assert!(shown.starts_with(name), "{shown}");
    }
    assert!(shown[5].contains("parameter 'w'") && shown[6].contains("parameter 'w'"));
    Ok(())
}
