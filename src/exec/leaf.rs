//! Leaves: what the parameters of a program's function stand for.
//!
//! A program keeps one for each parameter, in their order. Lengths of axes are free: another batch
//! is planned anew. Element type and number of axes are not, since rules may have asked for them.

use std::sync::Arc;

use crate::array::{Array, DType, Type, element_count, show_shape};
use crate::error::{Error, Result};
use crate::ir::ValueId;
use crate::table::Table;

/// What a parameter of a program's function stands for.
#[derive(Debug, Clone)]
pub enum Leaf {
    /// A trained parameter.
    Parameter(Arc<Table>),
    /// A leaf that records a gradient, with the value it had.
    Independent(u64, Array),
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
            Leaf::Independent(_, value) => value.ty(),
            Leaf::Input { ty, .. } => ty.clone(),
        }
    }

    /// What the leaf is, for messages.
    pub(crate) fn label(&self) -> String {
        match self {
            Leaf::Parameter(table) => table.label(),
            Leaf::Independent(..) => "variable".to_owned(),
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
        element_count(&found.shape).map(drop)
    }
}

/// Checks an input's element type and number of axes.
///
/// # Errors
/// [`Error::Type`] or [`Error::Shape`] naming the input.
pub(crate) fn check_input(name: &str, ty: &Type, found: (DType, &[usize])) -> Result<()> {
    let (dtype, shape) = found;
    if dtype != ty.dtype {
        return Err(Error::Type(format!(
            "input '{name}': expected {}, got {} of shape {}",
            ty.dtype,
            dtype,
            show_shape(shape)
        )));
    }
    if shape.len() != ty.ndim() {
        return Err(Error::Shape(format!(
            "input '{name}': expected {} axes as in shape {}, got shape {}",
            ty.ndim(),
            show_shape(&ty.shape),
            show_shape(shape)
        )));
    }
    Ok(())
}

/// A length of an input that a program is made of, and not only planned for.
#[derive(Debug, Clone)]
pub(crate) struct Length {
    /// The axis.
    pub axis: usize,
    /// The length, `None` if no length will do.
    pub length: Option<usize>,
    /// Who asked for it.
    pub by: Arc<str>,
}

impl Length {
    /// Whether another is of the same axis and the same length.
    pub(crate) fn is_same(&self, other: &Length) -> bool {
        (self.axis, self.length) == (other.axis, other.length)
    }

    /// Whether a shape has the length.
    pub(crate) fn is_of(&self, shape: &[usize]) -> bool {
        self.length
            .is_some_and(|n| shape.get(self.axis) == Some(&n))
    }
}

/// Checks the shape of what is named against the lengths that a graph or program is made of.
///
/// # Errors
/// [`Error::Shape`] that says what follows the length.
pub(crate) fn check_lengths(what: &str, lengths: &[Length], shape: &[usize]) -> Result<()> {
    let Some(known) = lengths.iter().find(|known| !known.is_of(shape)) else {
        return Ok(());
    };
    let length = known.length.map_or_else(String::new, |n| format!(" {n}"));
    Err(Error::Shape(format!(
        "{what}: shape {} does not have the length{length} along axis {} that {} asked for while \
         this was built, and an integer does not follow an input; what does is y / x.shape[0] in \
         place of y / len(x), y.mean(), np.ones_like(x), and -1 for a length of reshape; or build \
         with the length that it is run with; where nothing is made of the length, as if it is only \
         printed, ask len(x.value), or ask after this is built",
        show_shape(shape),
        known.axis,
        known.by
    )))
}
