//! Operators written in Python.
//!
//! An operator of the caller's is a definition, an object with a `name`, a function `call` of
//! plain arrays that gives one, and functions `vjp(i)` and `jvp(i)` that give the definition of the
//! product for operand `i`: an operator like any other, so that the eager graph, graphs of gradients
//! and frozen programs all have it, to any order. If its `labels` are not None, `call` gives a list
//! with an array for each, and several are one array with parts ([`super::primitive_parts`]).
//! The product of `vjp` is called with the gradients of all results, all results if the definition
//! `reads_result`, and the operands; that of `jvp` with one tangent, all results and the operands.
//! `python/wyrmling/transforms/definition.py` makes definitions.
//!
//! Limits: a program that holds one takes the interpreter's lock for each call.

use std::collections::HashMap;
use std::fmt;
use std::ops::Range;
use std::sync::{Arc, Weak};

use pyo3::IntoPyObjectExt;
use pyo3::prelude::*;
use pyo3::types::PyTuple;
use smallvec::{SmallVec, smallvec};

use super::primitive_parts::{HasParts, PartPlace, PrimitivePart, pack, packed, take_parts};
use crate::array::{Array, DType, Dense, Shape, Slice, Type, View, ViewMut, show_shape};
use crate::error::{Error, Result};
use crate::graph::Variable;
use crate::process::{self, Mutex};
use crate::python::interop::convert;
use crate::python::interop::convert::Origin;
use crate::python::interop::depth::deeper;
use crate::python::interop::element_type::ElementType;
use crate::python::interop::error::raised;
use crate::python::interop::items::items;
use crate::python::interop::long_call::end_in_child;
use crate::python::interop::once::intern;
use crate::python::variables::collect::Held;
use crate::python::variables::operand;
use crate::python::variables::variable::PyVariable;
use crate::rules::{Ex, Key, OpRef, Operator, same_shape};

/// How the types of results are known.
enum Out {
    /// Those of some operands, as a product has them.
    Like(Range<usize>),
    /// By calling it once for each combination of types.
    Called(Mutex<LastResults>),
}

/// The arrays that a call gave, mostly one.
type Results = SmallVec<[Array; 1]>;

/// What the last calls gave.
#[derive(Default)]
struct LastResults {
    /// The types of results by those of operands, a few of them.
    types: HashMap<Vec<Type>, Arc<[Type]>>,
    /// The results for the operands that the operator is made for, until they are asked for.
    first: Option<Results>,
}

/// Types that are remembered: a program of many lengths asks again for those that are not.
const MOST_KNOWN: usize = 64;

/// One suffix to the operator's name for each result in a container, such as `[0]` or `['r']`. None for
/// a result by itself.
type Labels = Option<Arc<[String]>>;

/// An operator written in Python. See the [module documentation](self).
struct Primitive {
    name: String,
    definition: Held,
    /// The address of the definition, which is nobody else's while this holds it.
    address: usize,
    labels: Labels,
    seen: Seen,
    out: Out,
    /// This operator, as its parts refer to it.
    this: Weak<Primitive>,
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

/// The element types that a definition sees its operands in; None if all are as they are stored.
type Seen = Option<Arc<[ElementType]>>;

/// What the definition makes of arrays.
fn call<'py>(
    definition: &Bound<'py, PyAny>,
    args: Vec<Array>,
    seen: &Seen,
) -> PyResult<Bound<'py, PyAny>> {
    let py = definition.py();
    let seen = seen.as_deref().unwrap_or_default();
    let args = args.into_iter().enumerate();
    let args = args.map(|(at, array)| match seen.get(at) {
        Some(ty) => ty.array(py, array),
        None => convert::to_numpy(py, array),
    });
    let args = PyTuple::new(py, args.collect::<PyResult<Vec<_>>>()?)?;
    definition.call_method1(intern!(py, "call"), args)
}

/// The results that a definition named `name` gave, each with how it was written.
fn arrays(
    name: &str,
    labels: Option<&[String]>,
    results: &Bound<'_, PyAny>,
) -> PyResult<SmallVec<[(Array, Origin); 1]>> {
    let array = |label: &str, result: &Bound<'_, PyAny>| {
        convert::array(format_args!("{name}{label}"), result)
    };
    let Some(labels) = labels else {
        return Ok(smallvec![array("", results)?]);
    };
    let results = results.try_iter()?.zip(labels);
    results
        .map(|(result, label)| array(label, &result?))
        .collect()
}

/// How many results have such labels.
fn count(labels: &Labels) -> usize {
    labels.as_ref().map_or(1, |labels| labels.len())
}

impl Primitive {
    fn shared(
        definition: &Bound<'_, PyAny>,
        labels: Labels,
        seen: Seen,
        out: Out,
    ) -> PyResult<Arc<Self>> {
        let name = definition.getattr(intern!(definition.py(), "name"))?;
        let name = name.extract()?;
        Ok(Arc::new_cyclic(|this| Primitive {
            name,
            definition: Held::new(definition.clone().unbind()),
            address: definition.as_ptr() as usize,
            labels,
            seen,
            out,
            this: Weak::clone(this),
        }))
    }

    /// What it gives for some operands.
    fn call(&self, args: Vec<Array>) -> Result<SmallVec<[(Array, Origin); 1]>> {
        Python::attach(|py| {
            let forks = process::forks();
            let results = deeper(&self.name, || {
                let results = call(&self.definition.get(py)?, args, &self.seen)?;
                arrays(&self.name, self.labels.as_deref(), &results)
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
    fn places(&self, labels: &[String]) -> impl Iterator<Item = PartPlace> {
        labels.iter().enumerate().map(|(at, label)| {
            let name = format!("{}{label}", self.name).into();
            PartPlace::new(self.this.clone(), self.address, at, name)
        })
    }

    /// The labels of results that are parts of one array, as several are.
    fn of_parts(&self) -> Option<&[String]> {
        self.labels.as_deref().filter(|labels| labels.len() > 1)
    }

    /// Adds the results that a value holds as the result `y` of this operator on `x` does.
    fn take_apart<'t>(&self, into: &mut Vec<Ex<'t>>, value: Ex<'t>, y: Ex<'t>, x: &[Ex<'t>]) {
        match self.of_parts() {
            None => into.push(value),
            Some(labels) => into.extend(take_parts(self.places(labels), value, y, x)),
        }
    }

    /// Whether an operand is of integers or booleans, so that its gradient is zero.
    fn is_discrete(&self, i: usize) -> bool {
        let seen = self.seen.as_deref().unwrap_or_default();
        matches!(
            seen.get(i),
            Some(ElementType::Integer | ElementType::Boolean)
        )
    }

    /// The element types that a product sees, with so many gradients and results before the operands.
    fn seen_after(&self, before: usize) -> Seen {
        let seen = self.seen.as_deref()?;
        let numbers = std::iter::repeat_n(ElementType::Stored(DType::F64), before);
        Some(numbers.chain(seen.iter().copied()).collect())
    }

    /// The operator of a product. `ask` asks the definition for it: for the product's definition, the
    /// element types that it sees, and the operands whose types its results have. If that raises, it
    /// is an operator that only fails.
    fn product(
        &self,
        labels: Labels,
        ask: impl for<'py> FnOnce(
            &Bound<'py, PyAny>,
        ) -> PyResult<(Bound<'py, PyAny>, Seen, Range<usize>)>,
    ) -> Option<OpRef> {
        let product = |py: Python<'_>| -> PyResult<Option<Arc<Primitive>>> {
            let (product, seen, like) = ask(&self.definition.get(py)?)?;
            let some = !product.is_none();
            some.then(|| Primitive::shared(&product, labels, seen, Out::Like(like)))
                .transpose()
        };
        match Python::attach(product) {
            Ok(product) => product.map(|product| OpRef::Shared(product)),
            Err(error) => Some(OpRef::new(Failed(raised(error)))),
        }
    }
}

impl HasParts for Primitive {
    fn part_types(&self, operands: &[Type]) -> Result<Arc<[Type]>> {
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
        packed(&self.part_types(&operands)?)
    }

    fn stays_in_thread(&self) -> bool {
        true
    }

    fn eval(&self, args: &[View<'_>], out: ViewMut<'_>) -> Result<()> {
        let types: SmallVec<[Type; 1]> = match self.of_parts() {
            None => smallvec![Type::new(out.data.dtype(), out.shape)],
            Some(_) => {
                let operands = args.iter().map(|x| Type::new(x.data.dtype(), x.shape));
                let types = self.part_types(&operands.collect::<Vec<_>>())?;
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
        let results = match first {
            Some(first) if first.iter().zip(&types).all(fits) => first,
            _ => {
                let found = self.call(args.iter().map(owned).collect())?;
                let labels = self.labels.as_deref().unwrap_or_default();
                let found = found.into_iter().zip(&types).enumerate();
                let fit = found.map(|(at, (result, ty))| {
                    self.fit(labels.get(at).map_or("", String::as_str), result, ty)
                });
                fit.collect::<Result<Results>>()?
            }
        };
        if results.len() != types.len() || !out.data.dtype().is_real() {
            return Err(Error::Type(format!("{}: expected numbers", self.name)));
        }
        pack(&results, out);
        Ok(())
    }

    fn vjp<'t>(&self, i: usize, g: Ex<'t>, y: Ex<'t>, x: &[Ex<'t>]) -> Option<Ex<'t>> {
        if self.is_discrete(i) {
            return None;
        }
        let mut reads_result = false;
        let product = self.product(None, |definition| {
            let py = definition.py();
            let reads = definition.getattr(intern!(py, "reads_result"))?;
            reads_result = reads.is_truthy()?;
            let before = count(&self.labels) * (1 + usize::from(reads_result));
            let product = definition.call_method1(intern!(py, "vjp"), (i,))?;
            Ok((product, self.seen_after(before), before + i..before + i + 1))
        })?;
        let mut operands = Vec::with_capacity(2 + x.len());
        self.take_apart(&mut operands, g, y, x);
        if reads_result {
            self.take_apart(&mut operands, y, y, x);
        }
        operands.extend_from_slice(x);
        Some(operands[0].with_ref(product, &operands[1..]))
    }

    fn jvp<'t>(&self, i: usize, t: Ex<'t>, y: Ex<'t>, x: &[Ex<'t>]) -> Option<Ex<'t>> {
        if self.is_discrete(i) {
            return None;
        }
        let product = self.product(self.labels.clone(), |definition| {
            let product = definition.call_method1(intern!(definition.py(), "jvp"), (i,))?;
            let before = 1 + count(&self.labels);
            Ok((product, self.seen_after(before), 1..before))
        })?;
        let mut operands = Vec::with_capacity(1 + x.len());
        self.take_apart(&mut operands, y, y, x);
        operands.extend_from_slice(x);
        Some(t.with_ref(product, &operands))
    }
}

/// An operator in place of a product whose definition raised: `infer` and `eval` return that error.
#[derive(Debug)]
struct Failed(Error);

impl Operator for Failed {
    fn name(&self) -> &str {
        "failed"
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
pub(in crate::python) fn definition(op: &OpRef) -> Option<&Held> {
    op.downcast::<Primitive>()
        .map(|primitive| &primitive.definition)
}

/// Whether an operator is one written in Python.
pub(in crate::python) fn is_primitive(op: &OpRef) -> bool {
    definition(op).is_some()
}

/// Applies the operator that a definition describes to variables, numbers and arrays: its result, or
/// a list of them if it has labels.
#[pyfunction]
fn apply_primitive<'py>(
    definition: &Bound<'py, PyAny>,
    operands: &Bound<'py, PyAny>,
) -> PyResult<Bound<'py, PyAny>> {
    let py = definition.py();
    let name: String = definition.getattr(intern!(py, "name"))?.extract()?;
    let nodes = items(&name, operands, None, |o| operand::node(&name, &o))?;
    if nodes.is_empty() {
        return Err(Error::Value(format!("{name}: expected an operand or more, got none")).into());
    }
    let operands = nodes.iter().map(Variable::ty).collect::<Result<Vec<_>>>()?;
    let versions: Vec<u64> = nodes.iter().map(Variable::version).collect();
    let values = nodes
        .iter()
        .map(Variable::value)
        .collect::<Result<Vec<_>>>()?;
    let mut seen = None;
    if nodes.iter().any(Variable::is_discrete) {
        seen = Some(nodes.iter().map(ElementType::of).collect());
    }
    let (labels, first) = deeper(&name, || {
        let results = call(definition, values, &seen)?;
        let labels = definition.getattr(intern!(py, "labels"))?;
        let labels: Labels = match labels.is_none() {
            true => None,
            false => {
                let suffixes = items("labels", &labels, None, |suffix| suffix.extract::<String>());
                Some(suffixes?.into())
            }
        };
        let found = arrays(&name, labels.as_deref(), &results)?;
        let first: Results = found.into_iter().map(|(array, _)| array).collect();
        Ok((labels, first))
    })?;
    // The function, or another thread meanwhile, may have changed what the operands are computed from.
    nodes.iter().try_for_each(Variable::forward)?;
    let is_of_these = nodes.iter().map(Variable::version).eq(versions);
    let known = LastResults {
        types: HashMap::from([(operands, first.iter().map(Array::ty).collect())]),
        first: is_of_these.then_some(first),
    };
    let op = Primitive::shared(definition, labels, seen, Out::Called(Mutex::new(known)))?;
    let result = Variable::apply(OpRef::Shared(Arc::clone(&op) as _), &nodes)?;
    if op.labels.is_none() {
        return PyVariable::new(result).into_bound_py_any(py);
    }
    let Some(labels) = op.of_parts() else {
        return vec![PyVariable::new(result)].into_bound_py_any(py);
    };
    let mut of_part = vec![result.clone(), result];
    of_part.extend(nodes);
    let part =
        |place| Variable::apply(OpRef::new(PrimitivePart(place)), &of_part).map(PyVariable::new);
    let found = op.places(labels).map(part).collect::<Result<Vec<_>>>()?;
    found.into_bound_py_any(py)
}

pub(in crate::python) fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_function(wrap_pyfunction!(apply_primitive, module)?)
}
