//! Leaves: what the parameters of a program's function stand for.
//!
//! A program keeps one for each parameter, in their order. Lengths of axes are free: another batch
//! is planned anew. Element type and number of axes are not, since rules may have asked for them.

use std::sync::Arc;

use crate::array::{Array, Type, show_shape};
use crate::error::{Error, Result};
use crate::ir::ValueId;
use crate::table::Table;

/// What a parameter of a program's function stands for.
#[derive(Debug, Clone)]
pub enum Leaf {
    /// A trained parameter.
    Parameter(Arc<Table>),
    /// A leaf that records a gradient, with the value it had.
    Variable(u64, Array),
    /// Data to be bound.
    Input {
        /// The input's identity.
        id: u64,
        /// Element type, and the shape it had when the graph was frozen.
        ty: Type,
        /// A name for messages.
        name: String,
    },
}

impl Leaf {
    /// Element type and shape; of an input those it had when the graph was frozen.
    pub(super) fn ty(&self) -> Type {
        match self {
            Leaf::Parameter(table) => table.ty().clone(),
            Leaf::Variable(_, value) => value.ty(),
            Leaf::Input { ty, .. } => ty.clone(),
        }
    }

    /// What the leaf is, for messages.
    pub(super) fn label(&self) -> String {
        match self {
            Leaf::Parameter(table) => table.label(),
            Leaf::Variable(..) => "variable".to_owned(),
            Leaf::Input { name, .. } => format!("input '{name}'"),
        }
    }

    /// Checks that the leaf can stand for parameter `id` of a function, which has type `expected`.
    /// Rules may have asked for its element type and number of axes, lengths are free.
    pub(super) fn check(&self, id: ValueId, expected: &Type) -> Result<()> {
        let found = self.ty();
        let message = || format!("{}: value %{id} is {expected}, got {found}", self.label());
        if found.dtype != expected.dtype {
            return Err(Error::Type(message()));
        }
        if found.ndim() != expected.ndim() {
            return Err(Error::Shape(message()));
        }
        Ok(())
    }
}

/// Checks an input's element type and number of axes.
///
/// # Errors
/// [`Error::Type`] or [`Error::Shape`] naming the input.
pub(crate) fn check_input(name: &str, ty: &Type, value: &Array) -> Result<()> {
    if value.dtype() != ty.dtype {
        return Err(Error::Type(format!(
            "input '{name}': expected {}, got {} of shape {}",
            ty.dtype,
            value.dtype(),
            show_shape(value.shape())
        )));
    }
    if value.shape().len() != ty.ndim() {
        return Err(Error::Shape(format!(
            "input '{name}': expected {} axes as in shape {}, got shape {}",
            ty.ndim(),
            show_shape(&ty.shape),
            show_shape(value.shape())
        )));
    }
    Ok(())
}
