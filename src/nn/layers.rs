//! Layers without a state: linear maps, and vectors by number.
//!
//! Limits: parameters are float32; there is no dropout and no normalisation.

use rand::Rng;

use super::{normal, xavier};
use crate::array::{Array, DType, Type};
use crate::error::Result;
use crate::graph::{Binary, IntoDyn, Operation, Parameter, ParameterNode, Promoted, Variable};
use crate::rules;

/// `x @ weights + bias`.
#[derive(Debug, Clone)]
pub struct Linear {
    /// Shape (inputs, outputs).
    pub weights: Parameter,
    /// Shape (outputs,).
    pub bias: Parameter,
}

/// A matrix product with a parameter.
type WeightedRows<A> = Operation<rules::MatMul, (Promoted<A>, Promoted<ParameterNode>)>;

impl Linear {
    /// A layer whose weights are drawn by [`xavier`], and whose bias is 0.
    ///
    /// # Errors
    /// [`Error::Value`](crate::Error::Value) if a number is 0, [`Error::Shape`](crate::Error::Shape) or
    /// [`Error::Memory`](crate::Error::Memory) if the layer is too large.
    pub fn new(inputs: usize, outputs: usize, rng: &mut impl Rng) -> Result<Self> {
        Ok(Linear {
            weights: Parameter::new(xavier(&[inputs, outputs], rng)?),
            bias: Parameter::new(Array::full(&Type::new(DType::F32, &[outputs]), 0.0)),
        })
    }

    /// The layer's values for rows of shape (n, inputs).
    ///
    /// # Panics
    /// If the shape does not fit, or the rows hold indices.
    pub fn apply<A: ?Sized + IntoDyn>(
        &self,
        x: Variable<A>,
    ) -> Binary<rules::Add, WeightedRows<A>, ParameterNode> {
        x.matmul(self.weights.clone()) + self.bias.clone()
    }
}

/// A vector for each of so many numbers.
#[derive(Debug, Clone)]
pub struct Embedding {
    /// Shape (count, width).
    pub table: Parameter,
}

impl Embedding {
    /// Vectors that are drawn from a normal distribution, of length about 1/10.
    ///
    /// # Errors
    /// [`Error::Shape`](crate::Error::Shape) or [`Error::Memory`](crate::Error::Memory) if there are too many.
    pub fn new(count: usize, width: usize, rng: &mut impl Rng) -> Result<Self> {
        let scale = 0.1 / (width.max(1) as f64).sqrt();
        Ok(Embedding {
            table: Parameter::new(normal(&[count, width], scale, rng)?),
        })
    }

    /// The vectors of some numbers, along a new last axis.
    ///
    /// # Panics
    /// If a number is out of range, or these are no indices.
    pub fn rows<A: ?Sized + IntoDyn>(
        &self,
        numbers: Variable<A>,
    ) -> Binary<rules::Gather, ParameterNode, A> {
        self.table.clone().gather(numbers)
    }
}
