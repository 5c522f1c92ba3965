//! The functions that build graphs of boxed variables: axes, shapes, types that meet, and lengths
//! that change, on values that can be computed in the head.

mod index;
mod product;
mod reduce;
mod shape;

use wyrmling::array::Dense;
use wyrmling::graph::{Constant, ops};
use wyrmling::rules::SliceItem;
use wyrmling::{Array, DType, Error, Input, Result, Variable};

use crate::common::{Frozen, assert_close, numbers};

fn array(shape: &[usize], values: &[f64]) -> Array {
    Dense::new(shape, values.to_vec()).expect("as many").into()
}

/// 0, 1, 2, ... in a shape.
fn count(shape: &[usize]) -> Array {
    let n = shape.iter().product::<usize>();
    array(shape, &(0..n).map(|k| k as f64).collect::<Vec<_>>())
}

/// A value that may get another length.
fn input(value: impl Into<Array>) -> Variable {
    Input::new(value).boxed()
}

fn constant(value: impl Into<Array>) -> Variable {
    Constant::new(value).boxed()
}

/// Asserts a shape and elements.
#[track_caller]
fn check(found: Result<Variable>, shape: &[usize], values: &[f64]) {
    let found = found.and_then(|y| y.value()).expect("a value");
    assert_eq!(found.shape(), shape);
    for (a, b) in found.to_f64().iter().zip(values) {
        assert!((a - b).abs() < 1e-9, "{:?}, not {values:?}", found.to_f64());
    }
    assert_eq!(found.to_f64().len(), values.len());
}

#[track_caller]
fn refused<T>(found: Result<T>, kind: fn(String) -> Error, text: &str) {
    let error = found.err().expect("an error");
    let same = std::mem::discriminant(&error) == std::mem::discriminant(&kind(String::new()));
    assert!(same && error.to_string().contains(text), "{error:?}");
}

fn range(start: Option<i64>, stop: Option<i64>, step: i64) -> SliceItem {
    SliceItem::Range { start, stop, step }
}

#[test]
fn element_types_meet() {
    let single = constant(Array::from(vec![1.5f32, -2.0]));
    let double = constant(vec![4.0, 0.5]);
    for (x, y) in [(&single, &double), (&double, &single)] {
        let product = ops::binary(&wyrmling::rules::Mul, x, y).unwrap();
        assert_eq!(product.dtype(), DType::F64);
        check(Ok(product), &[2], &[6.0, -1.0]);
    }
    let product = ops::binary(&wyrmling::rules::Mul, &single, &single).unwrap();
    assert_eq!(product.dtype(), DType::F32);
    check(ops::not_equal(&single, &constant(1.5)), &[2], &[0.0, 1.0]);
    let cast = ops::cast(&single, DType::F64).unwrap();
    assert_eq!(cast.dtype(), DType::F64);
    check(Ok(cast), &[2], &[1.5, -2.0]);
    check(ops::power(&double, 2.0), &[2], &[16.0, 0.25]);
    check(ops::power(&double, 0.5), &[2], &[2.0, 0.5f64.sqrt()]);
    check(ops::power(&double, -1.0), &[2], &[0.25, 2.0]);
    let text = |y: f64| {
        ops::power(&double, y)
            .unwrap()
            .boxed()
            .freeze()
            .unwrap()
            .to_string()
    };
    assert!(text(2.0).contains("square") && text(0.5).contains("sqrt"));
    // The type of a mask does not matter; a number too small for float32 is not zero.
    let tiny = constant(vec![0.0, 1e-300]);
    let other = constant(Array::from(vec![7.0f32, 8.0]));
    let chosen = ops::select(&tiny, &single, &other).unwrap();
    assert_eq!(chosen.dtype(), DType::F32);
    check(Ok(chosen), &[2], &[7.0, -2.0]);
    let ones = constant(Array::from(vec![0.0f32, 1.0]));
    for mask in [&tiny, &ones] {
        for (x, y) in [(&single, &double), (&double, &single), (&double, &double)] {
            let chosen = ops::select(mask, x, y).unwrap();
            assert_eq!(chosen.dtype(), DType::F64);
            let expected = [
                y.value().unwrap().to_f64()[0],
                x.value().unwrap().to_f64()[1],
            ];
            check(Ok(chosen), &[2], &expected);
        }
    }
}

/// A program that was built with one length runs with another; the numbers are those of a graph
/// that is built with it.
#[test]
fn programs_take_other_lengths_than_they_were_built_with() {
    type Build = fn(&Variable, &Variable) -> Result<Variable>;
    fn last(x: &Variable) -> Result<u32> {
        Ok(x.ty()?.shape[0] as u32 - 1)
    }
    let builds: [(&str, Build); 13] = [
        ("vecdot", |x, _| {
            ops::vecdot(x, &constant(array(&[1, 2], &[2.0, 3.0])))
        }),
        ("outer", |x, y| {
            ops::outer(y, &ops::slice(x, vec![SliceItem::At(0)])?)
        }),
        ("rows", |x, _| {
            ops::rows(x, Dense::from(vec![last(x)?, 0]), &[0])
        }),
        ("all rows", |x, _| {
            ops::rows(x, Dense::from(vec![last(x)?]), &[0])
        }),
        ("replaced", |x, _| {
            ops::slice_replace(x, vec![range(None, None, 1)], &constant(1.0))
        }),
        ("replaced by as many", |x, _| {
            let values = constant(count(&[1, 2]));
            ops::slice_replace(x, vec![range(None, None, 1)], &values)
        }),
        ("assigned", |x, y| {
            ops::slice_replace(
                &constant(count(&[1, 2])),
                vec![SliceItem::At(0)],
                &ops::matmul(y, x)?,
            )
        }),
        ("logsumexp", |x, _| {
            ops::reduce(ops::Reduction::LogSumExp, x, None, false)
        }),
        ("matmul", |x, y| ops::matmul(y, x)),
        ("dot", |x, y| ops::dot(y, x)),
        ("mean", |x, _| {
            ops::reduce(ops::Reduction::Mean, x, Some(&[0]), true)
        }),
        ("concatenate", |x, _| {
            ops::concatenate(&[x.clone(), x.clone()], Some(0))
        }),
        ("where", |x, y| {
            ops::replace_where(
                x,
                &ops::binary(&wyrmling::rules::Greater, y, &constant(0.0))?,
                &constant(5.0),
            )
        }),
    ];
    for (name, build) in builds {
        let make = |n: usize| {
            let x = Input::new(numbers(DType::F64, &[n, 2], 1));
            let y = Input::new(numbers(DType::F64, &[n], 2));
            let out = build(&x.clone().boxed(), &y.clone().boxed()).unwrap();
            (x, y, out)
        };
        let (x, y, built) = make(1);
        let frozen = Frozen::new(&built).unwrap();
        for n in [1, 4] {
            let (other_x, other_y, expected) = make(n);
            x.set_value(other_x.value().unwrap()).unwrap();
            y.set_value(other_y.value().unwrap()).unwrap();
            let (value, _) = frozen.run(&[x.clone(), y.clone()]).unwrap();
            assert_close(&value, &expected.value().unwrap(), 1e-12, name);
        }
    }
    // What was squeezed while it was one is not where it is more, and what is fixed stays.
    let fixed: [(&str, Build); 2] = [
        ("squeeze", |x, _| {
            ops::squeeze(&ops::expand_dims(x, &[0])?, None)
        }),
        ("fixed", |x, _| ops::fixed(x, "test", &[0])),
    ];
    for (name, build) in fixed {
        let x = Input::new(numbers(DType::F64, &[2, 2], 1));
        let out = build(&x.clone().boxed(), &constant(0.0)).unwrap();
        let program = out.freeze().unwrap();
        assert!(
            program.run(&[numbers(DType::F64, &[2, 2], 1)]).is_ok(),
            "{name}"
        );
        assert!(
            program.run(&[numbers(DType::F64, &[1, 2], 1)]).is_err(),
            "{name}"
        );
    }
}
