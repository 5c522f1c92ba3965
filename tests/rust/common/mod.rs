//! What several test files share: comparing arrays, and running a frozen graph in every
//! way there is.

pub mod array_functions;
pub mod derivatives;
pub mod draft;
pub mod fit;
pub mod functions;
pub mod loops;
pub mod operators;
pub mod outcomes;
pub mod unrolled;
pub mod vectors;

use std::collections::HashMap;

use wyrmling::array::Dense;
use wyrmling::exec::{Leaf, Program, interpret};
use wyrmling::ir::{Datum, ValueId, adjoint};
use wyrmling::{Array, DType, Gradient, Input, Result, Type, Variable};

/// Arrays as values of functions.
fn data(arrays: &[Array]) -> Vec<Datum> {
    arrays.iter().cloned().map(Datum::from).collect()
}

/// A value, and gradients by the identity of their leaf.
pub type Outcome = Result<(Array, HashMap<u64, Array>)>;

/// Asserts equal types, and elements within `tolerance` of each other, relative to the
/// largest expected element or to 1. What is not finite must be the same.
#[track_caller]
pub fn assert_close(actual: &Array, expected: &Array, tolerance: f64, what: &str) {
    assert_eq!(actual.ty(), expected.ty(), "{what}");
    let (a, e) = (actual.to_f64(), expected.to_f64());
    let finite = e.iter().filter(|x| x.is_finite());
    let scale = finite.fold(1.0, |m: f64, x| m.max(x.abs()));
    for (k, (&a, &e)) in a.iter().zip(&e).enumerate() {
        let same = a == e || (a.is_nan() && e.is_nan()) || (a - e).abs() <= tolerance * scale;
        assert!(same, "{what}: element {k} is {a}, expected {e}");
    }
}

/// An array of numbers without a pattern, in -1..1.
pub fn numbers(dtype: DType, shape: &[usize], seed: u32) -> Array {
    let at = |k: usize| (k as f64 + 1.0) * 12.9898 + f64::from(seed) * 78.233;
    let data = (0..shape.iter().product()).map(|k| (at(k).sin() * 43_758.545_3).fract());
    let array = match dtype {
        DType::F32 => Dense::new(shape, data.map(|x| x as f32).collect()).map(Array::from),
        _ => Dense::new(shape, data.collect()).map(Array::from),
    };
    array.expect("as many numbers as the shape holds")
}

/// A gradient as an array; none is zero.
pub fn dense(gradient: Option<Gradient>, ty: &Type) -> Array {
    gradient.map_or_else(|| Array::full(ty, 0.0), |g| g.to_dense())
}

/// Rounding errors to expect in sums of a few hundred terms.
pub fn rounding(dtype: DType) -> f64 {
    if dtype == DType::F64 { 1e-11 } else { 2e-5 }
}

/// A graph as a program with fused steps and as one without.
pub struct Frozen {
    fused: Program,
    unfused: Program,
}

impl Frozen {
    pub fn new(graph: &Variable) -> Result<Self> {
        Ok(Frozen {
            fused: graph.freeze()?,
            unfused: graph.freeze()?.unfused(),
        })
    }

    /// The inputs' present values, in the order of the program.
    fn bound(&self, inputs: &[Input]) -> Result<Vec<Array>> {
        let mut bound = Vec::new();
        for leaf in self.fused.inputs() {
            if let Leaf::Input { id, .. } = leaf {
                bound.extend(inputs.iter().filter(|i| i.id() == *id).map(|i| i.value()));
            }
        }
        bound.into_iter().collect()
    }

    /// The tangent of the value where leaves move by the arrays that stand at their identities:
    /// fused, unfused and interpreted, which must agree.
    #[track_caller]
    pub fn tangent(&self, inputs: &[Input], moves: &HashMap<u64, Array>) -> Result<Array> {
        let mut bound = self.bound(inputs)?;
        let leaves = self.fused.differentiable().map(identity);
        bound.extend(leaves.map(|(id, _)| moves[&id].clone()));
        let fused = self.fused.tangent()?.run(&bound)?;
        let unfused = self.unfused.tangent()?.run(&bound)?;
        assert_close(&unfused, &fused, 0.0, "an unfused tangent");
        let program = self.fused.tangent()?;
        let (args, _, _) = arguments(&program, &bound);
        let interpreted = interpret(program.forward(), &data(&args), usize::MAX)?
            .arrays()?
            .remove(0);
        let tolerance = rounding(fused.dtype());
        assert_close(&interpreted, &fused, tolerance, "an interpreted tangent");
        Ok(fused)
    }

    /// Runs on the inputs' present values: fused, unfused and interpreted, which must agree.
    #[track_caller]
    pub fn run(&self, inputs: &[Input]) -> Outcome {
        let bound = self.bound(inputs)?;
        let fused = outcome(&self.fused, &bound);
        let unfused = outcome(&self.unfused, &bound);
        let interpreted = interpreted(&self.fused, &bound);
        let [Ok(fused), Ok(unfused), Ok(interpreted)] = [&fused, &unfused, &interpreted] else {
            let all_fail = fused.is_err() && unfused.is_err() && interpreted.is_err();
            assert!(all_fail, "{fused:?}\n{unfused:?}\n{interpreted:?}");
            return fused;
        };
        let forward = self.fused.run(&bound)?;
        assert_close(&forward, &fused.0, 0.0, "the value without gradients");
        assert_close(&unfused.0, &fused.0, 0.0, "the unfused value");
        assert_close(&interpreted.0, &fused.0, 0.0, "the interpreted value");
        for (leaf, grad) in &fused.1 {
            assert_close(&unfused.1[leaf], grad, 0.0, "an unfused gradient");
            let tolerance = rounding(grad.dtype());
            assert_close(
                &interpreted.1[leaf],
                grad,
                tolerance,
                "an interpreted gradient",
            );
        }
        Ok((fused.0.clone(), fused.1.clone()))
    }
}

/// The identity and the type of a leaf that has a gradient.
fn identity(leaf: &Leaf) -> (u64, Type) {
    match leaf {
        Leaf::Parameter(table) => (table.id(), table.ty().clone()),
        Leaf::Independent(id, value) => (*id, value.ty()),
        Leaf::Input { .. } => panic!("an input has no gradient"),
    }
}

fn outcome(program: &Program, inputs: &[Array]) -> Outcome {
    let (value, grads) = program.value_and_grad(inputs)?;
    let leaves = program.differentiable().map(identity);
    let grads = leaves.zip(grads).map(|((id, ty), g)| (id, dense(g, &ty)));
    Ok((value, grads.collect()))
}

/// What the function of a program takes, the parameters by which it is differentiated, and the
/// identities of those.
fn arguments(program: &Program, inputs: &[Array]) -> (Vec<Array>, Vec<ValueId>, Vec<(u64, Type)>) {
    let mut inputs = inputs.iter();
    let (mut args, mut wrt, mut leaves) = (Vec::new(), Vec::new(), Vec::new());
    let parameters = program.forward().parameters();
    for (leaf, &parameter) in program.leaves().iter().zip(parameters) {
        args.extend(match leaf {
            Leaf::Parameter(table) => Some(table.read()),
            Leaf::Independent(_, value) => Some(value.clone()),
            Leaf::Input { .. } => inputs.next().cloned(),
        });
        if !matches!(leaf, Leaf::Input { .. }) {
            wrt.push(parameter);
            leaves.push(identity(leaf));
        }
    }
    (args, wrt, leaves)
}

fn interpreted(program: &Program, inputs: &[Array]) -> Outcome {
    let (args, wrt, leaves) = arguments(program, inputs);
    let adjoint = adjoint(program.forward(), &wrt)?;
    let results = interpret(&adjoint.function, &data(&args), usize::MAX)?.arrays()?;
    let gradient = |at: &Option<usize>, ty: &Type| match at {
        Some(at) => results[*at].clone(),
        None => Array::full(ty, 0.0),
    };
    let grads = leaves.iter().zip(&adjoint.gradients);
    let grads = grads.map(|((id, ty), at)| (*id, gradient(at, ty)));
    Ok((results[0].clone(), grads.collect()))
}

/// The numbers of a gradient; none if there is none.
pub fn gradient_numbers(gradient: Option<Gradient>) -> Vec<f64> {
    let gradient = gradient.map(|g| g.to_dense().to_f64());
    gradient.unwrap_or_default()
}

/// A matrix of numbers in C order.
pub fn matrix(rows: usize, columns: usize, numbers: Vec<f64>) -> Array {
    ndarray::Array2::from_shape_vec((rows, columns), numbers)
        .expect("as many numbers as places")
        .into()
}
