//! Leaves: parameters, inputs, independent variables and constants.

use std::cell::Ref;
use std::rc::Rc;
use std::sync::Arc;

use super::derivatives::collected::CollectedGradient;
use super::flags::Flags;
use super::lengths::asked_lengths::LengthRecords;
use super::node::{Core, IntoDyn, Kind, Node, Variable, latest_serial};
use super::order::{Order, topological};
use super::value::Value;
use super::value::table_value::TableValue;
use crate::array::{Array, DType, Shape, Typed, View, copied, equal_shapes, show_shape, size};
use crate::error::{Error, Result};
use crate::rules::{Identity, OpRef};
use crate::table::{Gradient, Param, Table, new_id, record_leaf_change};

/// What a leaf has that records a gradient and can be assigned.
const TRAINED: Flags = Flags::DIFFERENTIABLE.with_if(Flags::ASSIGNED, true);

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
    name: Option<String>,
    length_records: LengthRecords,
}

impl Node for InputNode {
    fn core(&self) -> &Core {
        &self.core
    }
    fn kind(&self) -> Kind<'_> {
        Kind::Input(self.id, self.name.as_deref())
    }
    fn length_records(&self) -> Option<&LengthRecords> {
        Some(&self.length_records)
    }
}

/// A number or array that records a gradient and is not trained.
pub struct IndependentNode {
    core: Core,
    id: u64,
    gradient: CollectedGradient,
}

impl Node for IndependentNode {
    fn core(&self) -> &Core {
        &self.core
    }
    fn kind(&self) -> Kind<'_> {
        Kind::Independent(self.id, &self.gradient)
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
/// An independent variable: a leaf that records a gradient and is no parameter, as `wy.Variable(v)` of
/// Python is.
pub type Independent = Variable<IndependentNode>;
/// A fixed value.
pub type Constant = Variable<ConstantNode>;

impl Variable<ParameterNode> {
    /// A parameter of its own, holding `value`.
    ///
    /// # Panics
    /// If `value` holds indices, NaN or infinity; see [`Param::new`] for the checked form.
    pub fn new(value: impl Into<Array>) -> Self {
        Self::named(value, None)
    }

    /// As [`new`](Self::new), with a name for messages and [penalties](crate::optim::Penalized).
    ///
    /// # Panics
    /// As [`new`](Self::new).
    pub fn named(value: impl Into<Array>, name: Option<String>) -> Self {
        let param = Param::new(&value.into(), name);
        Self::from_param(Arc::new(param.unwrap_or_else(|e| panic!("{e}"))))
    }

    /// A parameter on a table that other graphs, of this or other threads, may share.
    pub fn shared(table: Arc<Table>) -> Self {
        Self::from_param(Arc::new(Param::on(table)))
    }

    /// A node for a parameter.
    pub fn from_param(param: Arc<Param>) -> Self {
        let value = Value::Table(Rc::new(TableValue::new(Arc::clone(param.table()))));
        let flags = TRAINED | Flags::PARAMETER | Flags::of_leaf(param.table().id());
        Variable(Rc::new(ParameterNode {
            core: Core::leaf(value, flags),
            param,
        }))
    }

    /// The parameter behind the node.
    pub fn param(&self) -> &Arc<Param> {
        &self.0.param
    }
}

impl AsRef<Param> for Variable<ParameterNode> {
    fn as_ref(&self) -> &Param {
        self.param()
    }
}

/// What leaves of every kind have; a boxed variable may be any of them.
impl<N: ?Sized + IntoDyn> Variable<N> {
    /// Sets the value of a leaf; everything above is computed again when it is next read.
    /// An input may change its shape, other leaves keep theirs.
    ///
    /// # Errors
    /// [`Error::Type`] or [`Error::Shape`] if the value's type or shape does not fit, or if
    /// this is not a leaf that can be assigned; for a parameter as
    /// [`Table::write`](crate::Table::write). Nothing is changed then.
    pub fn set_value(&self, value: impl Into<Array>) -> Result<()> {
        let mut value = value.into();
        match self.kind() {
            Kind::Parameter(param) => param.table().write(&value),
            Kind::Independent(..) => assign(self.0.core(), &mut value, true),
            Kind::Input(..) => {
                let core = self.0.core();
                let is_same = equal_shapes(core.borrow().shape(), value.shape());
                assign(core, &mut value, false)?;
                end_records(&*self.0, is_same);
                Ok(())
            }
            Kind::Operation(_) | Kind::Constant => Err(Error::Type(
                "value: only a leaf can be assigned; this is the result of an operation".into(),
            )),
        }
    }

    /// The gradient that `backward` collected at this leaf since it was last cleared.
    pub fn grad(&self) -> Option<Gradient> {
        match self.kind() {
            Kind::Parameter(param) => param.gradient(),
            Kind::Independent(_, collected) => collected.get(),
            Kind::Operation(_) | Kind::Input(..) | Kind::Constant => None,
        }
    }

    /// Puts a gradient in the place of what `backward` collected at this leaf. Other nodes have
    /// none.
    #[cfg(feature = "python")]
    pub(crate) fn set_grad(&self, gradient: Gradient) {
        match self.kind() {
            Kind::Parameter(param) => param.set_gradient(gradient),
            Kind::Independent(_, collected) => collected.set(Some(gradient)),
            Kind::Operation(_) | Kind::Input(..) | Kind::Constant => {}
        }
    }

    /// The value as a gradient: rows, where it is made of rows.
    ///
    /// # Errors
    /// As [`value`](Self::value).
    #[cfg(feature = "python")]
    pub(crate) fn as_gradient(&self) -> Result<Gradient> {
        self.forward()?;
        self.0.core().value().into_gradient()
    }

    /// Forgets the gradient of this leaf, or of all leaves below.
    ///
    /// # Panics
    /// If there is no memory for a list of the nodes below.
    pub fn zero_grad(&self) {
        self.try_zero_grad().unwrap_or_else(|e| panic!("{e}"));
    }

    /// As [`zero_grad`](Self::zero_grad).
    ///
    /// # Errors
    /// [`Error::Memory`] in place of a panic.
    pub fn try_zero_grad(&self) -> Result<()> {
        if self.0.core().is_leaf() {
            clear(self.kind());
            return Ok(());
        }
        let mut below = Order::new();
        topological(&self.erased(), |_| true, &mut below)?;
        let leaves = below.iter().filter(|node| node.core().is_leaf());
        leaves.for_each(|leaf| clear(leaf.kind()));
        Ok(())
    }
}

/// Forgets the gradient of a leaf.
fn clear(leaf: Kind<'_>) {
    match leaf {
        Kind::Parameter(param) => param.zero_grad(),
        Kind::Independent(_, collected) => collected.set(None),
        Kind::Operation(_) | Kind::Input(..) | Kind::Constant => {}
    }
}

impl Variable {
    /// A node of its own that stands for this one, as an argument of a function being
    /// differentiated: what depends on it can be told from what depends on the original.
    ///
    /// # Errors
    /// [`Error::Type`] if this variable holds indices, and as [`forward`](Self::forward).
    pub fn retraced(&self) -> Result<Variable> {
        let node = Variable::apply(OpRef::Static(&Identity), std::slice::from_ref(self))?;
        node.0.core().trace();
        Ok(node)
    }

    /// Whether an argument of a function that is being differentiated is below.
    pub fn traced_below(&self) -> bool {
        self.0.core().traced()
    }

    /// Whether the elements are integers: indices, or numbers that [`whole`](super::ops::whole)
    /// marked.
    pub fn is_integer(&self) -> bool {
        self.0.core().flags().has(Flags::INTEGERS)
    }

    /// Whether the elements are zeros and ones that stand for false and true, as those of comparisons.
    pub fn is_boolean(&self) -> bool {
        self.0.core().flags().has(Flags::BOOLEANS)
    }

    /// Whether the elements are integers or booleans.
    pub(crate) fn is_discrete(&self) -> bool {
        self.0.core().flags().has(Flags::DISCRETE)
    }

    /// Whether an input is below, which may get another value and another length later.
    pub fn input_below(&self) -> bool {
        self.0.core().flags().has(Flags::INPUT)
    }

    /// Whether a parameter is below, which training gives another value.
    pub fn parameter_below(&self) -> bool {
        self.0.core().flags().has(Flags::PARAMETER)
    }

    /// Whether the value can change: an input, a parameter or another leaf that can be assigned
    /// is below.
    pub fn settable(&self) -> bool {
        self.0.core().flags().has(Flags::INPUT | Flags::ASSIGNED)
    }
}

impl Variable {
    /// The value of an input or of another leaf that holds an array, in place.
    ///
    /// # Errors
    /// [`Error::Type`] if this holds none.
    pub(crate) fn leaf_value(&self) -> Result<Ref<'_, Array>> {
        let array = Ref::filter_map(self.0.core().borrow(), |value| match value {
            Value::Dense(array) => Some(array),
            _ => None,
        });
        array.map_err(|_| Error::Type("value: this is no leaf that holds an array".into()))
    }
}

/// Replaces the value of a leaf after checking its type. A number is copied over another; any other array is taken
/// out of `value`. It is borrowed since an array is large to move, and loops over samples set one number after the
/// other.
fn assign(core: &Core, value: &mut Array, fixed_shape: bool) -> Result<()> {
    let is_done = match &mut *core.borrow_mut()? {
        Value::Dense(old) => old.replace_number(value),
        _ => false,
    };
    if !is_done {
        replace(core, value, fixed_shape)?;
    }
    core.set_version(record_leaf_change(core.flags().mark_of_operand()));
    Ok(())
}

/// As [`assign`], where it is not a number in the place of another.
#[inline(never)]
fn replace(core: &Core, value: &mut Array, fixed_shape: bool) -> Result<()> {
    let mut slot = core.borrow_mut()?;
    check_assigned(&slot, value.dtype(), value.shape(), fixed_shape)?;
    *slot = Value::Dense(std::mem::replace(value, 0.0.into()));
    Ok(())
}

/// Ends the records of an input's lengths if it has got others.
fn end_records(input: &(impl Node + ?Sized), is_same: bool) {
    if let Some(records) = input.length_records()
        && !is_same
    {
        records.end(latest_serial());
    }
}

/// Refuses another element type than that of a leaf, another number of axes, or another shape.
fn check_assigned(old: &Value, dtype: DType, shape: &[usize], fixed_shape: bool) -> Result<()> {
    if dtype != old.dtype() {
        let expected = old.dtype();
        return Err(Error::Type(format!(
            "value: expected {expected}, got {dtype}"
        )));
    }
    if !fixed_shape && shape.len() != old.shape().len() {
        return Err(Error::Shape(format!(
            "value: expected {} axes as in shape {}, got shape {}",
            old.shape().len(),
            show_shape(old.shape()),
            show_shape(shape)
        )));
    }
    if fixed_shape && !equal_shapes(shape, old.shape()) {
        return Err(Error::Shape(format!(
            "value: expected shape {}, got {}",
            show_shape(old.shape()),
            show_shape(shape)
        )));
    }
    Ok(())
}

impl Variable<InputNode> {
    /// An input that holds `value` until it is set or bound.
    pub fn new(value: impl Into<Array>) -> Self {
        Self::named(value, None)
    }

    /// As [`new`](Self::new), with a name for messages.
    pub fn named(value: impl Into<Array>, name: Option<String>) -> Self {
        let value = Value::Dense(value.into());
        let id = new_id();
        Variable(Rc::new(InputNode {
            id,
            core: Core::leaf(value, Flags::INPUT | Flags::of_leaf(id)),
            name,
            length_records: LengthRecords::default(),
        }))
    }

    /// Row indices.
    pub fn indices(value: Vec<u32>) -> Self {
        Self::new(value)
    }

    /// Sets the value to copies of elements, in the memory of the old value where that is not shared.
    /// The shape stays if they are as many; an input with one axis may get another length.
    ///
    /// ```
    /// use wyrmling::{Input, Parameter};
    ///
    /// let (table, rows) = (Parameter::new(vec![1.0, 2.0, 4.0]), Input::indices(vec![0]));
    /// let sum = table.gather(rows.clone()).sum();
    /// rows.set_slice(&[1_u32, 2])?;
    /// assert_eq!(sum.item()?, 6.0);
    /// # Ok::<(), wyrmling::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`Error::Type`] if the input has another element type, [`Error::Shape`] if it has another number of
    /// elements and not one axis, [`Error::State`] while an operator or hook of the caller's computes with
    /// the value, [`Error::Memory`] if there is not the memory. Nothing is changed then.
    pub fn set_slice<T: Typed>(&self, elements: &[T]) -> Result<()> {
        let core = self.0.core();
        let mut slot = core.borrow_mut()?;
        let is_done = match &mut *slot {
            Value::Dense(array) => array.overwrite(T::tag(elements)),
            _ => unreachable!("an input holds an array"),
        };
        if !is_done {
            let old: Shape = copied(slot.shape());
            let shape = match *old {
                [_] => Shape::from_slice(&[elements.len()]),
                _ => copied(&old),
            };
            check_assigned(&slot, T::DTYPE, &shape, false)?;
            if size(&shape) != elements.len() {
                return Err(Error::Shape(format!(
                    "elements: expected {} as in shape {}, got {}",
                    size(&shape),
                    show_shape(&shape),
                    elements.len()
                )));
            }
            *slot = Value::Dense(Array::copy_of(View::new(&shape, T::tag(elements)))?);
            end_records(&*self.0, equal_shapes(&old, &shape));
        }
        core.set_version(record_leaf_change(core.flags().mark_of_operand()));
        Ok(())
    }

    /// A number that no other leaf of this process has.
    pub fn id(&self) -> u64 {
        self.0.id
    }
}

impl Variable<IndependentNode> {
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
        let id = new_id();
        Ok(Variable(Rc::new(IndependentNode {
            id,
            core: Core::leaf(Value::Dense(value), TRAINED | Flags::of_leaf(id)),
            gradient: CollectedGradient::default(),
        })))
    }

    /// A number that no other leaf of this process has.
    pub fn id(&self) -> u64 {
        self.0.id
    }
}

impl Variable<ConstantNode> {
    /// A fixed value.
    pub fn new(value: impl Into<Array>) -> Self {
        Variable(Rc::new(ConstantNode {
            core: Core::leaf(Value::Dense(value.into()), Flags::NONE),
        }))
    }

    /// A value that stands for an argument of a function being differentiated: a gradient flows
    /// to it, and is not recorded there but asked for.
    ///
    /// # Errors
    /// [`Error::Type`] if `value` holds indices.
    pub fn traced(value: impl Into<Array>) -> Result<Self> {
        let value = value.into();
        if !value.dtype().is_real() {
            return Err(Error::Type(format!(
                "expected floating-point numbers to differentiate by, got {}",
                value.dtype()
            )));
        }
        let core = Core::leaf(Value::Dense(value), Flags::DIFFERENTIABLE | Flags::TRACED);
        Ok(Variable(Rc::new(ConstantNode { core })))
    }
}
