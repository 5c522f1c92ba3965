//! Operators written in Python.
//!
//! An operator of the caller's is a definition, an object with a `name`, a function `call` of
//! plain arrays that gives a list of some, and functions `vjp(i)` and `jvp(i)` that give the
//! definition of the product for operand `i`: an operator like any other, so that the eager graph,
//! graphs of gradients and frozen programs all have it, to any order. Where the list has several
//! arrays, `labels` says how each is called, and they are one array with parts
//! ([`super::primitive_parts`]). Products are given the results only if the definition `reads_result`.
//! `python/wyrmling/transforms/definition.py` makes definitions.
//!
//! Limits: a program that holds one takes the interpreter's lock for each call.

use std::collections::HashMap;
use std::fmt;
use std::ops::Range;
use std::sync::{Arc, Weak};

use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::PyTuple;
use smallvec::{SmallVec, smallvec};

use super::collect::Held;
use super::convert::{Origin, items};
use super::depth::deeper;
use super::error::raised;
use super::long_call::end_in_child;
use super::primitive_parts::{HasParts, PartPlace, PrimitivePart, pack, packed, parts};
use super::variable::PyVariable;
use super::{convert, operand};
use crate::array::{Array, DType, Dense, Shape, Slice, Type, View, ViewMut, show_shape};
use crate::error::{Error, Result};
use crate::graph::Variable;
use crate::process::{self, Mutex};
use crate::rules::{Ex, Key, OpRef, Operator, same_shape};

/// How the types of results are known.
enum Out {
    /// Those of some operands, as a product has them.
    Like(Range<usize>),
    /// By calling it once for each combination of types.
    Called(Mutex<LastResults>),
}

/// What the last calls gave.
#[derive(Default)]
struct LastResults {
    /// The types of results by those of operands, a few of them.
    types: HashMap<Vec<Type>, Arc<[Type]>>,
    /// The results for the operands that the operator is made for, until they are asked for.
    first: Option<Vec<Array>>,
}

/// Types that are remembered: a program of many lengths asks again for those that are not.
const MOST_KNOWN: usize = 64;

/// An operator written in Python. See the [module documentation](self).
struct Primitive {
    name: String,
    definition: Held,
    /// The address of the definition, which is nobody else's while this holds it.
    address: usize,
    /// How each result is called beside the name; empty for a single one.
    labels: Arc<[String]>,
    /// Whether its products are given the results.
    reads_result: bool,
    out: Out,
    /// This operator, as its parts refer to it.
    own: Weak<Primitive>,
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
fn call<'py>(definition: &Bound<'py, PyAny>, args: Vec<Array>) -> PyResult<Bound<'py, PyAny>> {
    let py = definition.py();
    let args = args.into_iter().map(|a| convert::to_numpy(py, a));
    let args = PyTuple::new(py, args.collect::<PyResult<Vec<_>>>()?)?;
    definition.call_method1(intern!(py, "call"), args)
}

/// The results that a definition named `name` gave, each with how it was written.
fn arrays(
    name: &str,
    labels: &[String],
    results: &Bound<'_, PyAny>,
) -> PyResult<SmallVec<[(Array, Origin); 1]>> {
    let mut found = SmallVec::new();
    for (result, label) in results.try_iter()?.zip(labels) {
        let result = result?;
        // What is plainly sound needs no name.
        found.push(match convert::array("the result", &result) {
            Ok(array) => array,
            Err(_) => convert::array(&format!("{name}{label}"), &result)?,
        });
    }
    Ok(found)
}

impl Primitive {
    fn shared(
        definition: &Bound<'_, PyAny>,
        labels: Arc<[String]>,
        out: Out,
    ) -> PyResult<Arc<Self>> {
        let py = definition.py();
        let name = definition.getattr(intern!(py, "name"))?.extract()?;
        let reads_result = definition.getattr(intern!(py, "reads_result"))?;
        let reads_result = reads_result.is_truthy()?;
        Ok(Arc::new_cyclic(|own| Primitive {
            name,
            definition: Held::new(definition.clone().unbind()),
            address: definition.as_ptr() as usize,
            labels,
            reads_result,
            out,
            own: Weak::clone(own),
        }))
    }

    /// What it gives for some operands.
    fn call(&self, args: Vec<Array>) -> Result<SmallVec<[(Array, Origin); 1]>> {
        Python::attach(|py| {
            let forks = process::forks();
            let results = deeper(&self.name, || {
                arrays(
                    &self.name,
                    &self.labels,
                    &call(&self.definition.get(py)?, args)?,
                )
            });
            end_in_child(py, forks)?;
            results
        })
        .map_err(raised)
    }

    /// A result as an array of the type that it must have.
    fn fit(&self, label: &str, (array, origin): (Array, Origin), ty: &Type) -> Result<Array> {
        if array.shape() != &*ty.shape {
            return Err(Error::Shape(format!(
                "{}{label}: expected a result of shape {}, as before, got {}",
                self.name,
                show_shape(&ty.shape),
                show_shape(array.shape())
            )));
        }
        let narrowed = origin == Origin::Array && array.dtype() == DType::F64;
        if narrowed && ty.dtype == DType::F32 && matches!(self.out, Out::Called(_)) {
            return Err(Error::Type(format!(
                "{}{label}: expected a result of float32, as before, got float64; convert it with \
                 .astype(np.float32)",
                self.name
            )));
        }
        array.try_to_dtype(ty.dtype)
    }

    /// How the parts of the result are taken.
    fn places(&self) -> impl Iterator<Item = PartPlace> {
        let of = |at: usize| {
            let name = format!("{}{}", self.name, self.labels[at]).into();
            PartPlace::new(self.own.clone(), self.address, at, name)
        };
        (0..self.labels.len()).map(of)
    }

    /// The results that a value holds as the result `y` of this operator on `x` does.
    fn taken_apart<'t>(&self, value: Ex<'t>, y: Ex<'t>, x: &[Ex<'t>]) -> Vec<Ex<'t>> {
        match self.labels.len() {
            1 => vec![value],
            _ => parts(self.places(), value, y, x),
        }
    }

    /// The operator that the definition gives for a product, whose results are of the types of its
    /// operands `like`; an operator that only fails, if it gives an error.
    fn product(
        &self,
        method: &str,
        i: usize,
        labels: Arc<[String]>,
        like: Range<usize>,
    ) -> Option<OpRef> {
        let ask = |py: Python<'_>| -> PyResult<Option<Arc<Primitive>>> {
            let product = self.definition.get(py)?.call_method1(method, (i,))?;
            let some = !product.is_none();
            some.then(|| Primitive::shared(&product, labels, Out::Like(like)))
                .transpose()
        };
        match Python::attach(ask) {
            Ok(product) => product.map(|product| OpRef::Shared(product)),
            Err(error) => Some(OpRef::new(Missing(raised(error)))),
        }
    }
}

impl HasParts for Primitive {
    fn parts(&self, operands: &[Type]) -> Result<Arc<[Type]>> {
        let known = match &self.out {
            Out::Like(like) => {
                return operands.get(like.clone()).map(Arc::from).ok_or_else(|| {
                    Error::Type(format!(
                        "{}: {} operands are too few",
                        self.name,
                        operands.len()
                    ))
                });
            }
            Out::Called(known) => known,
        };
        if let Some(types) = known.lock().types.get(operands) {
            return Ok(Arc::clone(types));
        }
        // Zeros tell the shapes as well as any numbers.
        let zeros = operands.iter().map(Array::zeros);
        let found = self.call(zeros.collect::<Result<_>>()?)?;
        let types: Arc<[Type]> = found.iter().map(|(array, _)| array.ty()).collect();
        let mut known = known.lock();
        if known.types.len() >= MOST_KNOWN {
            known.types.clear();
        }
        known.types.insert(operands.to_vec(), Arc::clone(&types));
        Ok(types)
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
        if let Out::Like(like) = &self.out
            && like.len() == 1
            && let Some(&ty) = args.get(like.start)
        {
            return Ok(ty.clone());
        }
        let operands: Vec<Type> = args.iter().map(|&ty| ty.clone()).collect();
        packed(&self.parts(&operands)?)
    }

    fn stays_in_thread(&self) -> bool {
        true
    }

    fn eval(&self, args: &[View<'_>], out: ViewMut<'_>) -> Result<()> {
        let types: SmallVec<[Type; 1]> = match self.labels.len() {
            1 => smallvec![Type::new(out.data.dtype(), out.shape)],
            _ => {
                let operands = args.iter().map(|x| Type::new(x.data.dtype(), x.shape));
                let types = self.parts(&operands.collect::<Vec<_>>())?;
                // They may have been asked for anew, and differ.
                same_shape(&self.name, out.shape, &packed(&types)?.shape)?;
                SmallVec::from(&*types)
            }
        };
        let first = match &self.out {
            Out::Called(known) => known.lock().first.take(),
            Out::Like(_) => None,
        };
        let fits = |(array, ty): (&Array, &Type)| array.shape() == &*ty.shape;
        let results: Vec<Array> = match first {
            Some(first) if first.iter().zip(&types).all(fits) => first,
            _ => {
                let found = self.call(args.iter().map(owned).collect())?;
                let found = found.into_iter().zip(&types).zip(&*self.labels);
                found
                    .map(|((result, ty), label)| self.fit(label, result, ty))
                    .collect::<Result<_>>()?
            }
        };
        if results.len() != types.len() || !out.data.dtype().is_real() {
            return Err(Error::Type(format!("{}: expected numbers", self.name)));
        }
        pack(&results, out);
        Ok(())
    }

    fn vjp<'t>(&self, i: usize, g: Ex<'t>, y: Ex<'t>, x: &[Ex<'t>]) -> Option<Ex<'t>> {
        let before = self.labels.len() * (1 + usize::from(self.reads_result));
        let like = before + i..before + i + 1;
        let product = self.product("vjp", i, [String::new()].into(), like)?;
        let mut operands = self.taken_apart(g, y, x);
        if self.reads_result {
            operands.extend(self.taken_apart(y, y, x));
        }
        operands.extend_from_slice(x);
        Some(operands[0].with_ref(product, &operands[1..]))
    }

    fn jvp<'t>(&self, i: usize, t: Ex<'t>, y: Ex<'t>, x: &[Ex<'t>]) -> Option<Ex<'t>> {
        let like = 1..1 + self.labels.len();
        let product = self.product("jvp", i, Arc::clone(&self.labels), like)?;
        let mut operands = self.taken_apart(y, y, x);
        operands.extend_from_slice(x);
        Some(t.with_ref(product, &operands))
    }
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

/// Applies the operator that a definition describes to variables, numbers and arrays: its results.
#[pyfunction]
fn apply_primitive(
    definition: &Bound<'_, PyAny>,
    operands: &Bound<'_, PyAny>,
) -> PyResult<Vec<PyVariable>> {
    let py = definition.py();
    let name: String = definition.getattr(intern!(py, "name"))?.extract()?;
    let nodes = items(&name, operands, None, |o| operand::node(&name, &o))?;
    if nodes.is_empty() {
        return Err(Error::Value(format!("{name}: expected an operand or more, got none")).into());
    }
    let operands = nodes.iter().map(Variable::ty).collect::<Result<Vec<_>>>()?;
    let values = nodes
        .iter()
        .map(Variable::value)
        .collect::<Result<Vec<_>>>()?;
    let (labels, first) = deeper(&name, || {
        let results = call(definition, values)?;
        let labels = definition.getattr(intern!(py, "labels"))?;
        let labels = items("labels", &labels, None, |label| label.extract::<String>())?;
        let found = arrays(&name, &labels, &results)?;
        let first: Vec<Array> = found.into_iter().map(|(array, _)| array).collect();
        Ok((labels, first))
    })?;
    let known = LastResults {
        types: HashMap::from([(operands, first.iter().map(Array::ty).collect())]),
        first: Some(first),
    };
    let op = Primitive::shared(definition, labels.into(), Out::Called(Mutex::new(known)))?;
    let result = Variable::apply(OpRef::Shared(Arc::clone(&op) as _), &nodes)?;
    if op.labels.len() == 1 {
        return Ok(vec![PyVariable::new(result)]);
    }
    let mut of_part = vec![result.clone(), result];
    of_part.extend(nodes);
    let part =
        |place| Variable::apply(OpRef::new(PrimitivePart(place)), &of_part).map(PyVariable::new);
    Ok(op.places().map(part).collect::<Result<_>>()?)
}

pub(super) fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_function(wrap_pyfunction!(apply_primitive, module)?)
}
