//! Derivatives of functions: a function that also computes gradients, or tangents.
//!
//! The rules run on the builder, which appends what they compute to the instructions that are
//! there ([`differentiate`] goes through them). The result is an ordinary function: it can be
//! printed, simplified and differentiated again, in either mode.
//!
//! Limit: functions of one block of arrays, which is what plans are made of. [`vjp`](super::vjp()) and
//! [`jvp`](super::jvp()) take functions of any blocks. They do not serve here: when a plan is made
//! for other lengths, the types of all that rules made are compared again, and those two do not say which
//! instructions these are.

use super::builder::Builder;
use super::function::{Function, Instruction, Terminator, ValueId};
use super::jvp::Pushforward;
use crate::error::{Error, Result};
use crate::reserve;
use crate::rules::differentiate::{self, PassObserver, Product};
use crate::rules::{Ex, Id};

/// A function with gradients.
#[derive(Debug, Clone)]
pub struct Adjoint {
    /// Returns the original result, then the gradients that exist.
    pub function: Function,
    /// For each parameter asked for, which of the results is its gradient; `None` if the
    /// result does not depend on it.
    pub gradients: Vec<Option<usize>>,
    /// What rules made. Their types are compared again when the function is specialised.
    pub(crate) products: Vec<Product>,
}

/// Keeps the products of a pass.
#[derive(Default)]
struct Products(Vec<Product>);

impl PassObserver for Products {
    fn product(&mut self, product: Product) {
        self.0.push(product);
    }
}

/// The values of a function of one block, each after what it was computed from, if those of `wrt`
/// are among them.
fn values(function: &Function, wrt: &[ValueId]) -> Result<Vec<Id>> {
    function.check()?;
    let (block, _) = function.straight()?;
    if let Some(id) = wrt.iter().find(|id| **id as usize >= function.kinds.len()) {
        return Err(Error::Value(format!("value %{id} does not exist")));
    }
    reserve::ahead(function.kinds.len(), reserve::bytes::DIFFERENTIATED)?;
    let results = block.instructions.iter().map(Instruction::result);
    Ok(block.parameters.iter().copied().chain(results).collect())
}

/// Lets the results that there are be returned after the `returned` ones, and says which they are.
fn also(returned: &mut Vec<ValueId>, found: Vec<Option<ValueId>>) -> Vec<Option<usize>> {
    let number = |id: Option<ValueId>| {
        returned.push(id?);
        Some(returned.len() - 1)
    };
    found.into_iter().map(number).collect()
}

/// Extends a function of one block so that it also returns the gradient of the sum of its first
/// result's elements for the values `wrt`.
///
/// # Errors
/// [`Error::Value`] if there are several blocks or `wrt` names a value that does not exist, as
/// [`Function::check`], [`Error::Shape`] or [`Error::Type`] if a rule gives a gradient of another
/// type than its operand's, and whatever an operator of a rule reports.
pub fn adjoint(function: &Function, wrt: &[ValueId]) -> Result<Adjoint> {
    let values = values(function, wrt)?;
    let (_, results) = function.straight()?;
    let builder = Builder::resume(function);
    let mut products = Products::default();
    let found = match results.first() {
        Some(&root) => {
            differentiate::gradients(&builder, &values, (root, None), wrt, &mut products)?
        }
        None => vec![None; wrt.len()],
    };
    let mut returned = results.to_vec();
    let gradients = also(&mut returned, found);
    builder.terminate(Terminator::Return(returned));
    Ok(Adjoint {
        function: builder.finish(&format!("{}_adjoint", function.name))?,
        gradients,
        products: products.0,
    })
}

/// A function that takes tangents of `wrt` too, with the tangents of its results, which are yet to
/// be returned.
fn pushed(
    function: &Function,
    wrt: &[ValueId],
) -> Result<(Builder, Vec<Option<Id>>, Vec<Product>)> {
    let values = values(function, wrt)?;
    let (_, results) = function.straight()?;
    let builder = Builder::resume(function);
    let moving = wrt.iter();
    let moving = moving.map(|&x| (x, builder.parameter(function.ty(x).clone())));
    let moving: Vec<(Id, Id)> = moving.collect();
    let mut products = Products::default();
    let found = differentiate::tangents(&builder, &values, &moving, results, &mut products)?;
    Ok((builder, found, products.0))
}

/// Extends a function of one block so that it also takes a tangent for each of the values `wrt`,
/// and returns the tangents of its results.
///
/// # Errors
/// As [`adjoint`].
pub fn tangent(function: &Function, wrt: &[ValueId]) -> Result<Pushforward> {
    let (builder, found, _) = pushed(function, wrt)?;
    let mut returned = function.straight()?.1.to_vec();
    let tangents = also(&mut returned, found);
    builder.terminate(Terminator::Return(returned));
    Ok(Pushforward {
        function: builder.finish(&format!("{}_tangent", function.name))?,
        tangents,
    })
}

/// The function of the tangent of the first result alone, zeros if it does not move, with the
/// products that rules made. It takes what that of [`tangent`] takes.
///
/// # Errors
/// As [`adjoint`].
pub(crate) fn pushforward(
    function: &Function,
    wrt: &[ValueId],
) -> Result<(Function, Vec<Product>)> {
    let (builder, found, products) = pushed(function, wrt)?;
    let (_, results) = function.straight()?;
    let tangent = results
        .first()
        .zip(found.first())
        .map(|(&y, found)| found.unwrap_or_else(|| Ex::new(&builder, y).zeros_like().id()));
    builder.terminate(Terminator::Return(tangent.into_iter().collect()));
    let function = builder.finish(&format!("{}_tangent", function.name))?;
    Ok((function, products))
}
