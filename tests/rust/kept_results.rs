//! Values and gradients that are written in the memory of those of an earlier run.

use wyrmling::array::Dense;
use wyrmling::exec::Program;
use wyrmling::graph::Parameter;
use wyrmling::{Array, DType, Error, Gradient, Input, Result};

use crate::common::numbers;

/// A sum over the rows that are looked up, and the square of a number, of parameters of two kinds.
fn program() -> Result<Program> {
    let table = Parameter::new(numbers(DType::F64, &[12, 6], 1));
    let scale = Parameter::new(vec![2.0, 3.0, 4.0, 5.0, 6.0, 7.0]);
    (table.gather(Input::indices(vec![1, 1])) * scale)
        .square()
        .freeze()
}

fn index(indices: &[u32]) -> [Array; 1] {
    [Array::from(Dense::from(indices.to_vec()))]
}

type Results = (Array, Vec<Option<Gradient>>);

/// The numbers of the value and of each gradient.
fn dense((value, gradients): &Results) -> Vec<Vec<f64>> {
    let gradients = gradients.iter().flatten().map(Gradient::to_dense);
    [value.clone()]
        .into_iter()
        .chain(gradients)
        .map(|array| array.to_f64().to_vec())
        .collect()
}

#[test]
fn they_are_those_of_a_run_of_any_length() -> Result<()> {
    let program = program()?;
    let mut kept = program.value_and_grad(&index(&[3]))?;
    for indices in [&[3][..], &[11], &[1, 2, 1], &[0, 0, 5], &[], &[7]] {
        program.value_and_grad_into(&index(indices), &mut kept)?;
        let anew = program.value_and_grad(&index(indices))?;
        assert_eq!(dense(&kept), dense(&anew), "{indices:?}");
    }
    Ok(())
}

#[test]
fn what_somebody_keeps_is_not_written_over() -> Result<()> {
    let program = program()?;
    let mut kept = program.value_and_grad(&index(&[3]))?;
    let (shared, before) = (kept.clone(), dense(&kept));
    program.value_and_grad_into(&index(&[4]), &mut kept)?;
    assert_eq!(dense(&shared), before);
    assert_ne!(dense(&kept), before);
    Ok(())
}

#[test]
fn results_of_another_program_are_replaced() -> Result<()> {
    let other = Parameter::new(vec![1.0_f32; 5]);
    let mut kept = other.square().sum().freeze()?.value_and_grad(&[])?;
    let program = program()?;
    program.value_and_grad_into(&index(&[3, 4]), &mut kept)?;
    assert_eq!(
        dense(&kept),
        dense(&program.value_and_grad(&index(&[3, 4]))?)
    );
    Ok(())
}

#[test]
fn rows_of_another_table_are_replaced() -> Result<()> {
    let program = program()?;
    let anew = program.value_and_grad(&index(&[11, 4]))?;
    let tables: [(DType, &[usize]); 6] = [
        (DType::F64, &[5, 6]),
        (DType::F64, &[20, 6]),
        (DType::F64, &[12, 2]),
        (DType::F64, &[12]),
        (DType::F64, &[12, 2, 3]),
        (DType::F32, &[12, 6]),
    ];
    for (dtype, shape) in tables {
        let other = Parameter::new(numbers(dtype, shape, 1));
        let other = other.gather(Input::indices(vec![0])).sum().freeze()?;
        let mut kept = other.value_and_grad(&index(&[3, 4]))?;
        assert!(matches!(kept.1[..], [Some(Gradient::Rows(_))]));
        program.value_and_grad_into(&index(&[11, 4]), &mut kept)?;
        let types = |results: &Results| {
            results
                .1
                .iter()
                .flatten()
                .map(Gradient::ty)
                .collect::<Vec<_>>()
        };
        assert_eq!(types(&kept), types(&anew), "{shape:?}");
        assert_eq!(dense(&kept), dense(&anew), "{shape:?}");
    }
    Ok(())
}

#[test]
fn an_error_leaves_them() -> Result<()> {
    let program = program()?;
    let mut kept = program.value_and_grad(&index(&[3]))?;
    let before = dense(&kept);
    let failed = program.value_and_grad_into(&index(&[12]), &mut kept);
    assert!(matches!(failed, Err(Error::Index(_))), "{failed:?}");
    assert_eq!(dense(&kept), before);
    Ok(())
}
