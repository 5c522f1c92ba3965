//! Every entry of the rule table against finite differences, and frozen against eager.

use std::collections::HashSet;
use std::ops::Range;
use std::path::{Path, PathBuf};

use rand::seq::SliceRandom;
use rand::{RngExt, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus as Rng;
use wyrmling::array::{Dense, Shape, SliceMut, ViewMut, element_count};
use wyrmling::graph::{Constant, Independent, Parameter, ops};
use wyrmling::rules::{self, Argument, Case, OpRef};
use wyrmling::{Array, DType, Error, Input, Result, Type, Variable};

mod complete;
mod differences;
mod frozen;
mod kept_program;
mod over_batch;
mod refused;

use crate::common::{Frozen, assert_close, dense, numbers, rounding};

/// Every case of the table, with a name for messages.
fn cases() -> impl Iterator<Item = (String, Case)> {
    rules::table().flat_map(|entry| {
        let cases = (entry.cases)().into_iter().enumerate();
        cases.map(|(k, case)| (format!("{} case {k}: {case:?}", entry.name), case))
    })
}

/// `count` numbers from a union of intervals, each from an interval of its own cut of it if
/// they must be distinct.
fn draw(count: usize, domain: &[(f64, f64)], distinct: bool, rng: &mut Rng) -> Vec<f64> {
    let mut places: Vec<usize> = (0..count).collect();
    places.shuffle(rng);
    let number = |place: usize| {
        let (low, high) = domain[place % domain.len()];
        let at = if distinct {
            (place as f64 + 0.5) / count as f64
        } else {
            rng.random_range(0.0..1.0)
        };
        low + (high - low) * at
    };
    places.into_iter().map(number).collect()
}

/// An array of real type `dtype`.
fn array(dtype: DType, shape: &[usize], data: Vec<f64>) -> Result<Array> {
    Ok(match dtype {
        DType::F32 => Dense::new(shape, data.iter().map(|&x| x as f32).collect())?.into(),
        _ => Dense::new(shape, data)?.into(),
    })
}

/// Operands for a case.
fn operands(case: &Case, dtype: DType, rng: &mut Rng) -> Result<Vec<Array>> {
    let operand = |argument: &Argument| match argument {
        Argument::Real {
            shape,
            domain,
            distinct,
        } => {
            let count = element_count(shape)?;
            array(dtype, shape, draw(count, domain, *distinct, rng))
        }
        Argument::ShapeOnly { shape } => {
            let count = element_count(shape)?;
            array(dtype, shape, draw(count, &[(-2.0, 2.0)], false, rng))
        }
        Argument::Dominant { shape } => {
            let mut data = draw(element_count(shape)?, &[(-0.4, 0.4)], false, rng);
            let [rows, columns] = [shape[shape.len() - 2], shape[shape.len() - 1]];
            for (k, x) in data.iter_mut().enumerate() {
                let (row, column) = (k / columns % rows, k % columns);
                *x += if row == column { 2.0 + row as f64 } else { 0.0 };
            }
            array(dtype, shape, data)
        }
        Argument::Offsets { bags, places } => {
            let inner = (1..*bags).map(|_| rng.random_range(0..=*places as u32));
            let mut offsets: Vec<u32> = inner.chain([0, *places as u32]).collect();
            offsets.sort_unstable();
            Ok(Dense::from(offsets).into())
        }
        Argument::Index { shape, below } => {
            let indices = (0..element_count(shape)?).map(|_| rng.random_range(0..*below as u32));
            Ok(Dense::new(shape, indices.collect())?.into())
        }
    };
    case.args.iter().map(operand).collect()
}

/// The operator's result on fixed values.
fn evaluate(op: &OpRef, operands: &[Array]) -> Result<Array> {
    let args = operands.iter().map(|a| Constant::new(a.clone()).boxed());
    Variable::apply(op.clone(), &args.collect::<Vec<_>>())?.value()
}

/// The gradients of Σ seed·op(operands), zero where there is none and for indices.
fn gradients(op: &OpRef, operands: &[Array], seed: Array) -> Result<Vec<Array>> {
    let mut leaves = Vec::new();
    let mut args = Vec::new();
    for operand in operands {
        let leaf = operand
            .dtype()
            .is_real()
            .then(|| Independent::new(operand.clone()))
            .transpose()?;
        args.push(match &leaf {
            Some(leaf) => leaf.clone().boxed(),
            None => Input::new(operand.clone()).boxed(),
        });
        leaves.push(leaf);
    }
    let y = Variable::apply(op.clone(), &args)?;
    // Where all operands are indices there is nothing to differentiate by.
    if leaves.iter().any(Option::is_some) {
        y.backward_from(seed)?;
    }
    let gradients = leaves.iter().zip(operands);
    Ok(gradients
        .map(|(leaf, x)| dense(leaf.as_ref().and_then(Independent::grad), &x.ty()))
        .collect())
}

/// The central difference of Σ seed·op(operands) by element `at` of operand `k`.
fn difference(
    op: &OpRef,
    operands: &[Array],
    seed: &Array,
    (k, at): (usize, usize),
    step: f64,
) -> Result<f64> {
    let sum = |by: f64| -> Result<f64> {
        let mut moved = operands.to_vec();
        let mut data = operands[k].to_f64();
        data[at] += by;
        moved[k] = array(DType::F64, operands[k].shape(), data)?;
        let y = evaluate(op, &moved)?.to_f64();
        Ok(y.iter().zip(seed.to_f64()).map(|(y, s)| y * s).sum())
    };
    Ok((sum(step)? - sum(-step)?) / (2.0 * step))
}

/// One node an operand, if it moves.
type Moving = Vec<Option<Variable>>;

/// Leaves of a case that rules may move, the others as they are.
fn leaves(case: &Case, operands: &[Array]) -> Result<(Vec<Variable>, Moving)> {
    let mut args = Vec::new();
    let mut moving = Vec::new();
    for (argument, operand) in case.args.iter().zip(operands) {
        let smooth = match argument {
            Argument::Real { domain, .. } => domain.iter().all(|(low, high)| low < high),
            Argument::Dominant { .. } => true,
            Argument::ShapeOnly { .. } | Argument::Index { .. } | Argument::Offsets { .. } => false,
        };
        let leaf = match smooth {
            true => Independent::new(operand.clone())?.boxed(),
            false => Constant::new(operand.clone()).boxed(),
        };
        args.push(leaf.clone());
        moving.push(smooth.then_some(leaf));
    }
    Ok((args, moving))
}

/// Σ weights·x, as a node.
fn weighted(x: &Variable, weights: &Array) -> Result<Variable> {
    let weights = Constant::new(weights.clone()).boxed();
    ops::binary(&rules::Mul, x, &weights)
}

/// The gradients by all moving operands of Σ weights·op(operands), as nodes.
fn slopes(case: &Case, operands: &[Array], weights: &Array) -> Result<(Moving, Moving)> {
    let (args, moving) = leaves(case, operands)?;
    let y = weighted(&Variable::apply(case.op.clone(), &args)?, weights)?;
    let slopes = moving.iter().map(|x| match x {
        Some(x) => Ok(y.gradients(&[x])?.remove(0)),
        None => Ok(None),
    });
    Ok((slopes.collect::<Result<_>>()?, moving))
}
