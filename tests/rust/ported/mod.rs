//! What the tests of other packages expect of values and derivatives: the same expressions here, in both
//! precisions, as graphs of typed and of boxed variables, as gradients that are graphs, and as programs.

mod burn;
mod burn_moves;
mod candle;
mod dfdx;
mod num_dual;
mod regression;
mod small;

use wyrmling::array::Dense;
use wyrmling::graph::Independent;
use wyrmling::{Array, DType, Parameter, Variable};

use crate::common::{Frozen, dense};

/// An array of float64 elements.
fn array(shape: &[usize], elements: &[f64]) -> Array {
    Dense::new(shape, elements.to_vec())
        .expect("operands fit")
        .into()
}

/// An array of so many axes of equal length, as matrices of tests are.
fn square(elements: &[f64]) -> Array {
    let n = elements.len().isqrt();
    array(&[n, n], elements)
}

/// Asserts that numbers are those that are expected, within a part of them and of 1.
#[track_caller]
fn close(found: &[f64], expected: &[f64], tolerance: f64, what: &str) {
    assert_eq!(found.len(), expected.len(), "{what}");
    for (k, (&x, &y)) in found.iter().zip(expected).enumerate() {
        let same = x == y || x.is_nan() && y.is_nan();
        let near = (x - y).abs() <= tolerance * y.abs().max(1.0);
        assert!(same || near, "{what}: element {k} is {x}, expected {y}");
    }
}

/// Checks the value of an expression of arrays, and the gradient of the sum of its elements for each of
/// them, within a tolerance; an empty list expects nothing of a value.
#[track_caller]
fn check(
    leaves: &[Array],
    expression: impl Fn(&[Variable]) -> Variable,
    value: &[f64],
    gradients: &[&[f64]],
    tolerance: f64,
) {
    assert_eq!(leaves.len(), gradients.len());
    for dtype in [DType::F64, DType::F32] {
        let leaves: Vec<Array> = leaves.iter().map(|x| x.to_dtype(dtype)).collect();
        let tolerance = match dtype {
            DType::F64 => tolerance,
            _ => tolerance.max(1e-5),
        };
        let compare = |found: &[f64], expected: &[f64], what: &str| {
            if !expected.is_empty() {
                close(found, expected, tolerance, &format!("{what} in {dtype}"));
            }
        };
        let nodes: Vec<_> = leaves
            .iter()
            .map(|x| Independent::new(x.clone()).expect("operands fit"))
            .collect();
        let boxed: Vec<Variable> = nodes.iter().map(|x| x.clone().boxed()).collect();
        let y = expression(&boxed);
        assert_eq!(y.dtype(), dtype);
        compare(
            &y.value().expect("operands fit").to_f64(),
            value,
            "the value",
        );
        y.try_backward().expect("operands fit");
        for (k, (node, expected)) in nodes.iter().zip(gradients).enumerate() {
            let found = dense(node.grad(), &leaves[k].ty());
            assert_eq!(found.ty(), leaves[k].ty());
            compare(&found.to_f64(), expected, &format!("gradient {k}"));
        }
        let refs: Vec<&Variable> = boxed.iter().collect();
        let graphs = y.gradients(&refs).expect("operands fit");
        for (k, (graph, expected)) in graphs.iter().zip(gradients).enumerate() {
            let found = graph
                .as_ref()
                .map(|g| g.value().expect("operands fit").to_f64());
            let found = found.unwrap_or_else(|| vec![0.0; leaves[k].size()]);
            compare(&found, expected, &format!("the graph of gradient {k}"));
        }
        let (found, by_leaf) = Frozen::new(&y)
            .expect("operands fit")
            .run(&[])
            .expect("operands fit");
        compare(&found.to_f64(), value, "the program's value");
        for (k, (node, expected)) in nodes.iter().zip(gradients).enumerate() {
            if let Some(found) = by_leaf.get(&node.id()) {
                compare(
                    &found.to_f64(),
                    expected,
                    &format!("the program's gradient {k}"),
                );
            } else {
                assert!(expected.iter().all(|&g| g == 0.0), "no gradient {k}");
            }
        }
        if leaves
            .iter()
            .all(|x| x.to_f64().iter().all(|x| x.is_finite()))
        {
            let nodes: Vec<_> = leaves.iter().map(|x| Parameter::new(x.clone())).collect();
            let boxed: Vec<Variable> = nodes.iter().map(|x| x.clone().boxed()).collect();
            // A program takes the place of the walks after some of them.
            let y = expression(&boxed);
            for pass in 0..40 {
                nodes.iter().for_each(|node| node.zero_grad());
                nodes[0].set_value(leaves[0].clone()).expect("operands fit");
                y.backward();
                for (k, (node, expected)) in nodes.iter().zip(gradients).enumerate() {
                    let found = dense(node.grad(), &leaves[k].ty());
                    compare(
                        &found.to_f64(),
                        expected,
                        &format!("pass {pass}, parameter {k}"),
                    );
                }
            }
            compare(
                &y.value().expect("operands fit").to_f64(),
                value,
                "the value at the end",
            );
        }
    }
}
