//! Operators written in Python.
//!
//! An operator of the caller's is a definition, an object with a `name`, a function `call` of
//! plain arrays, and functions `vjp(i)` and `jvp(i)` that give the definition of the product for
//! operand `i`: an operator like any other, so that the eager graph, graphs of gradients and
//! frozen programs all have it, to any order. `python/wyrmling/transforms/primitive.py` makes
//! definitions.
//!
//! Limits: a program that holds one takes the interpreter's lock for each call.

use std::collections::HashMap;
use std::fmt;
use std::sync::Arc;

use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::PyTuple;

use super::collect::Held;
use super::convert::items;
use super::depth::deeper;
use super::error::raised;
use super::long_call::end_in_child;
use super::variable::PyVariable;
use super::{convert, operand};
use crate::array::{Array, Dense, Shape, Slice, SliceMut, Type, View, ViewMut};
use crate::error::{Error, Result};
use crate::graph::Variable;
use crate::process::{self, Mutex};
use crate::rules::{Ex, Key, OpRef, Operator};

/// How the type of the result is known.
enum Out {
    /// That of an operand, as a product has it.
    Like(usize),
    /// By calling it once for each combination of types.
    Called(Mutex<LastResults>),
}

/// What the last calls gave.
#[derive(Default)]
struct LastResults {
    /// Results by the types of operands, a few of them.
    types: HashMap<Vec<Type>, Type>,
    /// The result for the operands that the operator is made for, until it is asked for.
    first: Option<Array>,
}

/// Types that are remembered: a program of many lengths asks again for those that are not.
const MOST_KNOWN: usize = 64;

/// An operator written in Python. See the [module documentation](self).
struct Primitive {
    name: String,
    definition: Held,
    /// The address of the definition, which is nobody else's while this holds it.
    address: usize,
    out: Out,
}

impl fmt::Debug for Primitive {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // Two definitions may have one name.
        write!(f, "{} {:#x}", self.name, self.address)
    }
}

fn owned(view: &View<'_>) -> Array {
    let shape = Shape::from_slice(view.shape);
    match view.data {
        Slice::F32(x) => Dense::from_vec(shape, x.to_vec()).into(),
        Slice::F64(x) => Dense::from_vec(shape, x.to_vec()).into(),
        Slice::U32(x) => Dense::from_vec(shape, x.to_vec()).into(),
    }
}

/// What the definition makes of arrays.
fn call(py: Python<'_>, definition: &Bound<'_, PyAny>, args: Vec<Array>) -> PyResult<Array> {
    let args = args.into_iter().map(|a| convert::to_numpy(py, a));
    let args = PyTuple::new(py, args.collect::<PyResult<Vec<_>>>()?)?;
    let result = definition.call_method1(intern!(py, "call"), args)?;
    let (array, _) = convert::array("the result", &result)?;
    Ok(array)
}

impl Primitive {
    fn new(definition: &Bound<'_, PyAny>, out: Out) -> PyResult<Self> {
        Ok(Primitive {
            name: definition
                .getattr(intern!(definition.py(), "name"))?
                .extract()?,
            definition: Held::new(definition.clone().unbind()),
            address: definition.as_ptr() as usize,
            out,
        })
    }

    fn call(&self, args: Vec<Array>) -> Result<Array> {
        Python::attach(|py| {
            let forks = process::forks();
            let result = deeper(&self.name, || call(py, &self.definition.get(py)?, args));
            end_in_child(py, forks)?;
            result
        })
        .map_err(raised)
    }

    /// The operator that the definition gives for a product, whose result is of the type of its
    /// operand `like`; an operator that only fails, if it gives an error.
    fn product(&self, method: &str, i: usize, like: usize) -> Option<OpRef> {
        let ask = |py: Python<'_>| -> PyResult<Option<Primitive>> {
            let product = self.definition.get(py)?.call_method1(method, (i,))?;
            let some = !product.is_none();
            some.then(|| Primitive::new(&product, Out::Like(like)))
                .transpose()
        };
        match Python::attach(ask) {
            Ok(product) => product.map(OpRef::new),
            Err(error) => Some(OpRef::new(Missing(raised(error)))),
        }
    }
}

impl Operator for Primitive {
    fn name(&self) -> &str {
        &self.name
    }

    fn key(&self) -> Option<&dyn Key> {
        Some(&self.address)
    }

    fn infer(&self, args: &[&Type]) -> Result<Type> {
        match &self.out {
            Out::Like(i) => args.get(*i).map(|&ty| ty.clone()).ok_or_else(|| {
                Error::Type(format!(
                    "{}: {} operands are too few",
                    self.name,
                    args.len()
                ))
            }),
            Out::Called(known) => {
                let types: Vec<Type> = args.iter().map(|&ty| ty.clone()).collect();
                if let Some(ty) = known.lock().types.get(&types) {
                    return Ok(ty.clone());
                }
                // Zeros tell the shape as well as any numbers.
                let zeros = types.iter().map(Array::zeros);
                let ty = self.call(zeros.collect::<Result<_>>()?)?.ty();
                let mut known = known.lock();
                if known.types.len() >= MOST_KNOWN {
                    known.types.clear();
                }
                known.types.insert(types, ty.clone());
                Ok(ty)
            }
        }
    }

    fn stays_in_thread(&self) -> bool {
        true
    }

    fn eval(&self, args: &[View<'_>], out: ViewMut<'_>) -> Result<()> {
        let first = match &self.out {
            Out::Called(known) => known.lock().first.take(),
            Out::Like(_) => None,
        };
        let result = match first {
            Some(first) if first.shape() == out.shape => first,
            _ => self.call(args.iter().map(owned).collect())?,
        };
        if result.shape() != out.shape {
            return Err(Error::Shape(format!(
                "{}: expected a result of shape {}, as before, got {}",
                self.name,
                crate::array::show_shape(out.shape),
                crate::array::show_shape(result.shape())
            )));
        }
        let result = result.try_to_dtype(out.data.dtype())?;
        match (result, out.data) {
            (Array::F32(from), SliceMut::F32(to)) => to.copy_from_slice(from.as_slice()),
            (Array::F64(from), SliceMut::F64(to)) => to.copy_from_slice(from.as_slice()),
            _ => return Err(Error::Type(format!("{}: expected numbers", self.name))),
        }
        Ok(())
    }

    fn vjp<'t>(&self, i: usize, g: Ex<'t>, y: Ex<'t>, x: &[Ex<'t>]) -> Option<Ex<'t>> {
        let product = self.product("vjp", i, 2 + i)?;
        Some(apply(product, g, y, x))
    }

    fn jvp<'t>(&self, i: usize, t: Ex<'t>, y: Ex<'t>, x: &[Ex<'t>]) -> Option<Ex<'t>> {
        let product = self.product("jvp", i, 1)?;
        Some(apply(product, t, y, x))
    }
}

fn apply<'t>(op: OpRef, g: Ex<'t>, y: Ex<'t>, x: &[Ex<'t>]) -> Ex<'t> {
    let mut others = vec![y];
    others.extend_from_slice(x);
    g.with_ref(op, &others)
}

/// What a rule that is missing is: an operator whose type cannot be told.
#[derive(Debug)]
struct Missing(Error);

impl Operator for Missing {
    fn name(&self) -> &str {
        "missing"
    }

    fn infer(&self, _args: &[&Type]) -> Result<Type> {
        Err(self.0.clone())
    }

    fn eval(&self, _args: &[View<'_>], _out: ViewMut<'_>) -> Result<()> {
        Err(self.0.clone())
    }

    fn vjp<'t>(&self, _i: usize, _g: Ex<'t>, _y: Ex<'t>, _x: &[Ex<'t>]) -> Option<Ex<'t>> {
        None
    }
}

/// What an operator holds, if it is one written in Python.
pub(super) fn definition(op: &OpRef) -> Option<&Held> {
    op.downcast::<Primitive>()
        .map(|primitive| &primitive.definition)
}

/// Whether an operator is one written in Python.
pub(super) fn is_own(op: &OpRef) -> bool {
    definition(op).is_some()
}

/// Applies the operator that a definition describes to variables, numbers and arrays.
#[pyfunction]
fn apply_primitive(
    definition: &Bound<'_, PyAny>,
    operands: &Bound<'_, PyAny>,
) -> PyResult<PyVariable> {
    let py = definition.py();
    let name: String = definition.getattr(intern!(py, "name"))?.extract()?;
    let nodes = items(&name, operands, None, |o| operand::node(&name, &o))?;
    if nodes.is_empty() {
        return Err(Error::Value(format!("{name}: expected an operand or more, got none")).into());
    }
    let types = nodes.iter().map(Variable::ty).collect::<Result<Vec<_>>>()?;
    let values = nodes
        .iter()
        .map(Variable::value)
        .collect::<Result<Vec<_>>>()?;
    let first = deeper(&name, || call(py, definition, values))?;
    let known = LastResults {
        types: HashMap::from([(types, first.ty())]),
        first: Some(first),
    };
    let op = OpRef::Shared(Arc::new(Primitive::new(
        definition,
        Out::Called(Mutex::new(known)),
    )?));
    Ok(PyVariable::new(Variable::apply(op, &nodes)?))
}

pub(super) fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_function(wrap_pyfunction!(apply_primitive, module)?)
}
