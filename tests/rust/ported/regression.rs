//! The tests of wyrm 0.9 that train.

use std::sync::Arc;

use wyrmling::optim::Optimizer;
use wyrmling::train::{self, Trainer};
use wyrmling::{Array, DType, Input, Parameter, Result, Table, Type, Variable};

use crate::common::numbers;

/// A matrix of single precision without a pattern, small.
fn matrix(rows: usize, columns: usize, seed: u32) -> Array {
    numbers(DType::F32, &[rows, columns], seed)
}

fn noise(k: usize) -> f32 {
    ((k as f32 + 1.0) * 12.9898).sin().abs()
}

#[test]
fn a_constant_minus_a_parameter() {
    let x = Parameter::new(Array::full(&Type::new(DType::F32, &[10, 10]), 1.0));
    let y = (1.0 - x.clone()) * 2.0;
    y.backward();
    assert_eq!(y.value().unwrap().to_f64(), [0.0; 100]);
    assert_eq!(x.grad().unwrap().to_dense().to_f64(), [-2.0; 100]);
    assert_eq!(y.dtype(), DType::F32);
}

#[test]
fn parameters_are_named_once() {
    let (x, y) = (
        Parameter::new(matrix(1, 1, 1)),
        Parameter::new(matrix(1, 1, 2)),
    );
    let z = x + y;
    let z = z.clone() + z;
    assert_eq!(z.parameters().unwrap().len(), 2);
}

#[test]
fn a_line_is_found() {
    let (slope, intercept) = (
        Parameter::new(matrix(1, 1, 1)),
        Parameter::new(matrix(1, 1, 2)),
    );
    let (x, y) = (Input::new(matrix(1, 1, 3)), Input::new(matrix(1, 1, 4)));
    let loss = (y.clone() - (slope.clone() * x.clone() + intercept.clone())).square();
    let adagrad = Optimizer::adagrad(0.5).unwrap();
    for k in 0..200 {
        let number = noise(k);
        x.set_slice(&[number]).unwrap();
        y.set_slice(&[0.5 * number + 0.2]).unwrap();
        loss.backward();
        adagrad.step_and_clear(&loss.parameters().unwrap()).unwrap();
    }
    assert!(loss.value().unwrap().to_f64()[0] < 1e-2);
    assert!((slope.value().unwrap().to_f64()[0] - 0.5).abs() < 0.1);
    assert!((intercept.value().unwrap().to_f64()[0] - 0.2).abs() < 0.1);
}

#[test]
fn three_coefficients_are_found() {
    let (slope, intercept) = (
        Parameter::new(matrix(1, 3, 1)),
        Parameter::new(matrix(1, 1, 2)),
    );
    let (x, y) = (Input::new(matrix(1, 3, 3)), Input::new(matrix(1, 1, 4)));
    let loss = (y.clone() - (x.clone().vecdot(slope.clone()) + intercept.clone()))
        .square()
        .sum();
    let sgd = Optimizer::sgd(0.1).unwrap();
    let mut trainer = Trainer::new(&loss, &sgd).unwrap();
    for k in 0..2000 {
        let row = [noise(3 * k), noise(3 * k + 1), noise(3 * k + 2)];
        x.set_slice(&row).unwrap();
        y.set_slice(&[row[0] + 2.0 * row[1] + 3.0 * row[2] + 5.0])
            .unwrap();
        trainer.step().unwrap();
    }
    drop(trainer);
    assert!(loss.item().unwrap() < 1e-2);
    let found = slope.value().unwrap().to_f64();
    for (found, expected) in found.iter().zip([1.0, 2.0, 3.0]) {
        assert!((found - expected).abs() < 0.2, "{found} {expected}");
    }
}

const ROWS: usize = 10;
const COLUMNS: usize = 4;

/// A matrix that is a product of two with few columns.
fn product() -> Vec<f64> {
    let (u, v) = (
        matrix(ROWS, 10, 5).to_f64(),
        matrix(COLUMNS, 10, 6).to_f64(),
    );
    let dot = |i: usize, j: usize| (0..10).map(|k| u[i * 10 + k] * v[j * 10 + k]).sum();
    (0..ROWS * COLUMNS)
        .map(|at| dot(at / COLUMNS, at % COLUMNS))
        .collect()
}

/// Trains factors for some epochs on tables; the loss of the last one.
fn factorize(
    tables: &[Arc<Table>; 2],
    epochs: usize,
    mut step: impl FnMut(&Variable) -> Result<f64>,
) -> Result<f64> {
    let expected = product();
    let [u, v] = tables.clone().map(Parameter::shared);
    let (row, column) = (Input::indices(vec![0]), Input::indices(vec![0]));
    let output = Input::new(vec![0f32]);
    let found = u.gather(row.clone()).vecdot(v.gather(column.clone()));
    let loss = (output.clone() - found).square().sum().boxed();
    let mut last = 0.0;
    for _ in 0..epochs {
        last = 0.0;
        for (at, &number) in expected.iter().enumerate() {
            row.set_slice(&[(at / COLUMNS) as u32])?;
            column.set_slice(&[(at % COLUMNS) as u32])?;
            output.set_slice(&[number as f32])?;
            last += step(&loss)?;
        }
    }
    Ok(last)
}

fn tables() -> [Arc<Table>; 2] {
    [matrix(ROWS, 10, 7), matrix(COLUMNS, 10, 8)]
        .map(|m| Arc::new(Table::new(&m, None).expect("operands fit")))
}

#[test]
fn a_matrix_is_factorized_by_graphs() {
    let adagrad = Optimizer::adagrad(0.1).unwrap();
    let loss = factorize(&tables(), 200, |loss| {
        loss.backward();
        let value = loss.item()?;
        adagrad.step_and_clear(&loss.parameters()?)?;
        Ok(value)
    });
    assert!(loss.unwrap() < 1e-2);
}

#[test]
fn a_matrix_is_factorized_by_several_threads() {
    let (tables, sgd) = (tables(), Optimizer::sgd(0.05).unwrap());
    let all = tables.clone();
    train::parallel(2, 1, &all, &sgd, |worker| {
        let [u, v] = tables.clone().map(Parameter::shared);
        let (row, column) = (Input::indices(vec![0]), Input::indices(vec![0]));
        let output = Input::new(vec![0f32]);
        let found = u.gather(row.clone()).vecdot(v.gather(column.clone()));
        let loss = (output.clone() - found).square().sum();
        let mut trainer = worker.trainer(&loss)?;
        for _ in 0..200 {
            for (at, &number) in product().iter().enumerate() {
                row.set_slice(&[(at / COLUMNS) as u32])?;
                column.set_slice(&[(at % COLUMNS) as u32])?;
                output.set_slice(&[number as f32])?;
                trainer.step()?;
            }
        }
        Ok(())
    })
    .unwrap();
    let loss = factorize(&tables, 1, |loss| loss.item()).unwrap();
    assert!(loss < 1e-2, "{loss}");
}
