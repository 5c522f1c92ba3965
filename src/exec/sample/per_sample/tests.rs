//! Which losses have a function of single samples, and that it computes what batches of one compute.

use crate::array::{Array, DType, Dense};
use crate::error::Result;
use crate::exec::Program;
use crate::graph::{Constant, Input, Parameter, Variable, ops};
use crate::rules::{Mean, OpRef, Sum};

const SAMPLES: usize = 5;

/// Parameters of single numbers, rows and matrices for each of 7 things, and inputs of a batch of two.
struct Leaves {
    biases: Variable,
    rows: Variable,
    matrices: Variable,
    x: Variable,
    /// Four numbers a sample.
    row: Variable,
    i: Variable,
    j: Variable,
    /// Three indices a sample.
    several: Variable,
}

fn ramp(shape: &[usize]) -> Array {
    let count = shape.iter().product::<usize>();
    let numbers = (0..count).map(|k| (k as f64 * 0.7).sin()).collect();
    Dense::<f64>::new(shape, numbers)
        .expect("as many numbers")
        .into()
}

fn leaves() -> Leaves {
    let parameter = |shape: &[usize]| Parameter::new(ramp(shape)).boxed();
    Leaves {
        biases: parameter(&[7]),
        rows: parameter(&[7, 4]),
        matrices: parameter(&[7, 2, 4]),
        x: Input::new(ramp(&[2])).boxed(),
        row: Input::new(ramp(&[2, 4])).boxed(),
        i: Input::indices(vec![0; 2]).boxed(),
        j: Input::indices(vec![0; 2]).boxed(),
        several: Input::new(Dense::<u32>::new(&[2, 3], vec![0; 6]).expect("as many")).boxed(),
    }
}

/// A loss of a batch that wants so many samples.
type Loss = fn(Leaves) -> Result<Variable>;

fn sum(x: &Variable, axes: &[usize], keepdims: bool) -> Result<Variable> {
    let axes = axes.into();
    Variable::apply(OpRef::new(Sum { axes, keepdims }), std::slice::from_ref(x))
}

fn mean(x: &Variable, axes: &[usize]) -> Result<Variable> {
    let (axes, keepdims) = (axes.into(), false);
    Variable::apply(OpRef::new(Mean { axes, keepdims }), std::slice::from_ref(x))
}

fn gathered(table: &Variable, index: &Variable) -> Result<Variable> {
    ops::gather(table, index)
}

/// Those that have one.
const SEPARABLE: [(&str, Loss); 12] = [
    ("a vector of losses", |l| {
        Ok((gathered(&l.biases, &l.i)? - l.x).square().boxed())
    }),
    ("their sum", |l| {
        let dot = gathered(&l.rows, &l.i)?.vecdot(gathered(&l.rows, &l.j)?);
        Ok((dot - l.x).square().sum().boxed())
    }),
    ("their mean", |l| {
        let dot = gathered(&l.rows, &l.i)?.vecdot(gathered(&l.rows, &l.j)?);
        mean(&(dot - l.x).square().boxed(), &[0])
    }),
    ("minus the sum of products, by axes", |l| {
        let product = (gathered(&l.rows, &l.i)? * l.row).boxed();
        let sums = sum(&product, &[1], false)?;
        Ok((-sums.logsigmoid().sum()).boxed())
    }),
    ("sums of two axes at once", |l| {
        let all = gathered(&l.matrices, &l.i)?;
        sum(&all.square().boxed(), &[0, 2], false)
    }),
    ("what follows a sum, on each sample", |l| {
        let all = gathered(&l.matrices, &l.i)?.exp().boxed();
        let sums = sum(&all, &[0], false)?;
        let means = mean(&sums.square().boxed(), &[1])?;
        Ok((means.exp().sum().square() * 0.5).boxed())
    }),
    ("kept axes", |l| {
        let all = gathered(&l.rows, &l.i)?;
        let sums = sum(&all, &[0, 1], true)?;
        Ok((sums * gathered(&l.rows, &l.j)?).exp().sum().boxed())
    }),
    ("a sum beside rows of its shape", |l| {
        let first = sum(&gathered(&l.rows, &l.i)?.exp().boxed(), &[0], false)?;
        let second = sum(&gathered(&l.rows, &l.j)?.exp().boxed(), &[0], false)?;
        Ok((first * second).sum().boxed())
    }),
    ("fixed numbers of fewer axes", |l| {
        let weights = Constant::new(ramp(&[4]));
        let one = Constant::new(ramp(&[1, 4]));
        Ok((gathered(&l.rows, &l.i)? * weights + one)
            .exp()
            .sum()
            .boxed())
    }),
    ("several lookups a sample", |l| {
        let rows = gathered(&l.rows, &l.several)?;
        let user = ops::expand_dims(&gathered(&l.rows, &l.i)?, &[1])?;
        Ok((rows * user).sigmoid().sum().boxed())
    }),
    ("one column of a table", |l| {
        let column = gathered(&l.biases, &l.several)?;
        Ok(column.exp().sum().log().boxed())
    }),
    ("penalties of the rows", |l| {
        let row = gathered(&l.rows, &l.i)?;
        let loss = row.clone().vecdot(l.row).sum();
        Ok((loss + row.square().sum() * 0.1).boxed())
    }),
];

/// Those that have none: a parameter is used whole, samples are mixed, or their axis moves.
const OTHERS: [(&str, Loss); 11] = [
    ("a sum beside fixed numbers that have an axis more", |l| {
        let sums = sum(&gathered(&l.rows, &l.i)?, &[0], false)?;
        let one = Constant::new(ramp(&[1, 4])).boxed();
        sum(&(sums + one).boxed(), &[0], false)
    }),
    ("rows whose sum is used twice", |l| {
        let sums = sum(&gathered(&l.biases, &l.i)?, &[0], false)?;
        Ok((sums.clone().tanh() * sums).boxed())
    }),
    ("a parameter that is used whole", |l| {
        Ok((gathered(&l.rows, &l.i)?.sum() + l.rows.square().sum()).boxed())
    }),
    ("a product with a whole parameter", |l| {
        let product = ops::matmul(&l.row, &ops::transpose(&l.rows, None)?)?;
        Ok((product.sum() + gathered(&l.biases, &l.i)?.sum()).boxed())
    }),
    ("samples against each other", |l| {
        let rows = gathered(&l.rows, &l.i)?;
        let others = ops::transpose(&rows, None)?;
        Ok(ops::matmul(&rows, &others)?.sum().boxed())
    }),
    ("a fixed number for each sample of the batch", |l| {
        let weights = Constant::new(ramp(&[2]));
        Ok((gathered(&l.biases, &l.i)? * weights).sum().boxed())
    }),
    ("numbers of samples along another axis", |l| {
        let rows = gathered(&l.rows, &l.i)?;
        let numbers = ops::expand_dims(&l.x, &[0])?;
        Ok((sum(&rows, &[1], false)? * numbers).sum().boxed())
    }),
    ("a number of a sample beside rows of others", |l| {
        // Of one sample each these would be repeated along the other's axis.
        let numbers = sum(&gathered(&l.biases, &l.i)?, &[0], false)?;
        let rows = sum(&gathered(&l.rows, &l.i)?, &[0], false)?;
        Ok((numbers * rows).sum().boxed())
    }),
    ("computed indices", |l| {
        let index = ops::gather(&Input::indices(vec![1, 2, 0]).boxed(), &l.i)?;
        Ok(gathered(&l.rows, &index)?.sum().boxed())
    }),
    ("a running sum over the samples", |l| {
        ops::cumsum(&gathered(&l.biases, &l.i)?, 0)
    }),
    ("no parameter at all", |l| {
        Ok((l.x.square().sum() + l.row.sum()).boxed())
    }),
];

/// Inputs of a program for these samples.
fn inputs(program: &Program, samples: &[usize]) -> Vec<Array> {
    let input = |leaf: &super::Leaf| {
        let ty = leaf.ty();
        let width = ty.shape[1..].iter().product::<usize>();
        let mut shape = ty.shape.clone();
        shape[0] = samples.len();
        let places = samples
            .iter()
            .flat_map(|&s| (0..width).map(move |k| s * width + k));
        match ty.dtype {
            DType::U32 => {
                let rows = places.map(|k| (k * 5 + width) as u32 % 7).collect();
                Dense::<u32>::new(&shape, rows).expect("as many").into()
            }
            _ => {
                let numbers = places.map(|k| (k as f64 * 1.3).cos()).collect();
                Dense::<f64>::new(&shape, numbers).expect("as many").into()
            }
        }
    };
    program.inputs().map(input).collect()
}

#[test]
fn a_batch_computes_what_batches_of_one_compute() -> Result<()> {
    for (name, loss) in SEPARABLE {
        let program = loss(leaves())?.freeze()?;
        let (single, lookups) = program
            .per_sample()?
            .unwrap_or_else(|| panic!("{name}: none"));
        assert!(!lookups.is_empty(), "{name}");
        let all: Vec<usize> = (0..SAMPLES).collect();
        let (losses, gradients) = single.value_and_grad(&inputs(&single, &all))?;
        assert_eq!(losses.shape()[0], SAMPLES, "{name}");
        let width = losses.size() / SAMPLES;
        let mut sums: Vec<Vec<f64>> = Vec::new();
        for sample in all {
            let (value, own) = program.value_and_grad(&inputs(&program, &[sample]))?;
            let found = &losses.to_f64()[sample * width..(sample + 1) * width];
            assert_eq!(value.to_f64(), found, "{name}: sample {sample}");
            for (k, gradient) in own.into_iter().enumerate() {
                let numbers = gradient.expect("it matters").to_dense().to_f64();
                match sums.get_mut(k) {
                    None => sums.push(numbers),
                    Some(sum) => sum.iter_mut().zip(numbers).for_each(|(sum, x)| *sum += x),
                }
            }
        }
        for (gradient, sum) in gradients.into_iter().zip(sums) {
            let found = gradient.expect("it matters").to_dense().to_f64();
            let close = |(a, b): (&f64, &f64)| (a - b).abs() <= 1e-13 * (1.0 + b.abs());
            assert!(
                found.iter().zip(&sum).all(close),
                "{name}: {found:?} {sum:?}"
            );
        }
    }
    Ok(())
}

#[test]
fn other_losses_have_no_such_function() -> Result<()> {
    for (name, loss) in OTHERS {
        let program = loss(leaves())?.freeze()?;
        let found = program.per_sample()?;
        // Without lookups samples share nothing, and there is nothing to train either.
        assert!(
            found.is_none_or(|(_, lookups)| lookups.is_empty()),
            "{name}"
        );
    }
    Ok(())
}
