//! Inputs that are set in place, and what typed variables have beside operators.

use wyrmling::graph::ops;
use wyrmling::{DType, Error, Input, Parameter, Variable};

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
    same(x.clone().t().boxed(), ops::transpose(&a, None).unwrap());
    same(
        x.clone().mean().boxed(),
        ops::reduce(ops::Reduction::Mean, &a, None, false).unwrap(),
    );
    for wrong in [2, -3] {
        let x = x.clone();
        let found = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| x.softmax(wrong)));
        assert!(found.is_err());
    }
    // The gradient of three times the sum.
    x.clone().sum().backward_weighted(3.0).unwrap();
    assert_eq!(x.grad().unwrap().to_dense().to_f64(), [3.0; 12]);
}
