//! Leaves: parameters, inputs, plain variables and constants.

use std::cell::RefCell;
use std::rc::Rc;
use std::sync::Arc;

use super::node::{Core, Kind, Node};
use super::value::{TableValue, Value};
use super::variable::Variable;
use crate::array::{Array, DType, show_shape};
use crate::error::{Error, Result};
use crate::table::{Gradient, Param, Table, advance_epoch, new_id};

/// A trained parameter: a handle on a table.
pub struct ParameterNode {
    core: Core,
    param: Arc<Param>,
}

impl Node for ParameterNode {
    fn core(&self) -> &Core {
        &self.core
    }
    fn kind(&self) -> Kind<'_> {
        Kind::Parameter(&self.param)
    }
    fn version(&self) -> u64 {
        self.param.table().version()
    }
}

/// Data: numbers or indices that records no gradient.
pub struct InputNode {
    core: Core,
    id: u64,
}

impl Node for InputNode {
    fn core(&self) -> &Core {
        &self.core
    }
    fn kind(&self) -> Kind<'_> {
        Kind::Input(self.id)
    }
}

/// A number or array that records a gradient and is not trained.
pub struct LeafNode {
    core: Core,
    id: u64,
    gradient: RefCell<Option<Gradient>>,
}

impl Node for LeafNode {
    fn core(&self) -> &Core {
        &self.core
    }
    fn kind(&self) -> Kind<'_> {
        Kind::Variable(self.id, &self.gradient)
    }
}

/// A fixed value.
pub struct ConstantNode {
    core: Core,
}

impl Node for ConstantNode {
    fn core(&self) -> &Core {
        &self.core
    }
    fn kind(&self) -> Kind<'_> {
        Kind::Constant
    }
}

/// A trained parameter.
pub type Parameter = Variable<ParameterNode>;
/// Numbers bound from outside.
pub type Input = Variable<InputNode>;
/// A leaf that records a gradient.
pub type Leaf = Variable<LeafNode>;
/// A fixed value.
pub type Constant = Variable<ConstantNode>;

impl Variable<ParameterNode> {
    /// A parameter of its own, holding `value`.
    ///
    /// # Panics
    /// If `value` holds indices, NaN or infinity; see [`Param::new`] for the checked form.
    pub fn new(value: impl Into<Array>) -> Self {
        let param = Param::new(&value.into(), None);
        Self::from_param(Arc::new(param.unwrap_or_else(|e| panic!("{e}"))))
    }

    /// A parameter on a table that other graphs, of this or other threads, may share.
    pub fn shared(table: Arc<Table>) -> Self {
        Self::from_param(Arc::new(Param::on(table)))
    }

    /// A node for a parameter.
    pub fn from_param(param: Arc<Param>) -> Self {
        let value = Value::Table(Rc::new(TableValue::new(Arc::clone(param.table()))));
        Variable(Rc::new(ParameterNode {
            core: Core::leaf(value, true),
            param,
        }))
    }

    /// The parameter behind the node.
    pub fn param(&self) -> &Arc<Param> {
        &self.0.param
    }

    /// The gradient collected by `backward` since it was last cleared.
    pub fn grad(&self) -> Option<Gradient> {
        self.0.param.gradient()
    }

    /// Forgets the gradient.
    pub fn zero_grad(&self) {
        self.0.param.zero_grad();
    }
}

/// Replaces the value of a leaf after checking its type.
fn assign(core: &Core, value: Array, fixed_shape: bool) -> Result<()> {
    let old = core.value().ty();
    if value.dtype() != old.dtype {
        return Err(Error::Type(format!(
            "value: expected {}, got {}",
            old.dtype,
            value.dtype()
        )));
    }
    if fixed_shape && value.shape() != &old.shape[..] {
        return Err(Error::Shape(format!(
            "value: expected shape {}, got {}",
            show_shape(&old.shape),
            show_shape(value.shape())
        )));
    }
    core.set(Value::Dense(value), advance_epoch());
    Ok(())
}

impl Variable<InputNode> {
    /// An input that holds `value` until it is set or bound.
    pub fn new(value: impl Into<Array>) -> Self {
        let value = Value::Dense(value.into());
        Variable(Rc::new(InputNode {
            id: new_id(),
            core: Core::leaf(value, false),
        }))
    }

    /// Row indices.
    pub fn indices(value: Vec<u32>) -> Self {
        Self::new(value)
    }

    /// Sets the value; everything above is computed again when it is next read.
    ///
    /// # Errors
    /// [`Error::Type`] if the element type differs.
    pub fn set_value(&self, value: impl Into<Array>) -> Result<()> {
        assign(&self.0.core, value.into(), false)
    }

    /// A number that no other leaf of this process has.
    pub fn id(&self) -> u64 {
        self.0.id
    }

    /// Element type of the input.
    pub fn dtype(&self) -> DType {
        self.0.core.value().ty().dtype
    }
}

impl Variable<LeafNode> {
    /// A leaf that holds `value` and records a gradient.
    ///
    /// # Errors
    /// [`Error::Type`] if `value` holds indices.
    pub fn new(value: impl Into<Array>) -> Result<Self> {
        let value = value.into();
        if !value.dtype().is_real() {
            return Err(Error::Type(
                "a variable that records a gradient holds numbers, not indices".into(),
            ));
        }
        Ok(Variable(Rc::new(LeafNode {
            id: new_id(),
            core: Core::leaf(Value::Dense(value), true),
            gradient: RefCell::new(None),
        })))
    }

    /// Sets the value; everything above is computed again when it is next read.
    ///
    /// # Errors
    /// [`Error::Type`] or [`Error::Shape`] if the value's type or shape differs.
    pub fn set_value(&self, value: impl Into<Array>) -> Result<()> {
        assign(&self.0.core, value.into(), true)
    }

    /// A number that no other leaf of this process has.
    pub fn id(&self) -> u64 {
        self.0.id
    }

    /// The gradient collected by `backward` since it was last cleared.
    pub fn grad(&self) -> Option<Gradient> {
        self.0.gradient.borrow().clone()
    }

    /// Forgets the gradient.
    pub fn zero_grad(&self) {
        *self.0.gradient.borrow_mut() = None;
    }
}

impl Variable<ConstantNode> {
    /// A fixed value.
    pub fn new(value: impl Into<Array>) -> Self {
        Variable(Rc::new(ConstantNode {
            core: Core::leaf(Value::Dense(value.into()), false),
        }))
    }
}
