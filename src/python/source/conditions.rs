//! What must hold at a call for a compiled function to stand for the Python function.
//!
//! A straight list of steps: each reads something (a global name, a cell, an attribute) of what is in an
//! earlier slot, fills another slot, and tests what is there. Objects that are compared by identity
//! are held weakly where they can be, so that a compiled function never keeps what it belongs to alive:
//! its cells, its globals, its class.
//!
//! Limit: reading an attribute runs code of the user's where a class has such code. Whoever writes the
//! steps does not read such attributes.

use pyo3::PyVisit;
use pyo3::exceptions::{PyAttributeError, PyLookupError, PyTypeError, PyValueError};
use pyo3::gc::PyTraverseError;
use pyo3::prelude::*;
use pyo3::types::{
    PyDict, PyList, PyMappingProxy, PyString, PyTuple, PyType, PyWeakrefMethods, PyWeakrefReference,
};
use smallvec::SmallVec;

use super::constants::ComparedConstant;
use super::leaves::{self, LeafKind};
use crate::python::Object;
use crate::python::interop::items::items;
use crate::python::interop::once::intern;

/// What a call has: the function, the arguments, and what was read of them; `None` where nothing is.
pub(super) type CallSlots<'py> = SmallVec<[Option<Object<'py>>; 16]>;

/// An object that others are compared with by identity.
enum HeldIdentity {
    Strong(Py<PyAny>),
    /// Its address, and whether it is still there.
    Weak(usize, Py<PyWeakrefReference>),
}

impl HeldIdentity {
    fn of(object: &Object<'_>) -> Self {
        match PyWeakrefReference::new(object) {
            Ok(weak) => HeldIdentity::Weak(object.as_ptr() as usize, weak.unbind()),
            Err(_) => HeldIdentity::Strong(object.clone().unbind()),
        }
    }

    #[inline]
    fn is(&self, object: &Object<'_>) -> bool {
        match self {
            HeldIdentity::Strong(own) => own.is(object),
            // Another object may be where a dead one was.
            HeldIdentity::Weak(address, weak) => {
                *address == object.as_ptr() as usize && weak.bind(object.py()).upgrade().is_some()
            }
        }
    }

    /// The object, if it is still there.
    fn object<'py>(&self, py: Python<'py>) -> Option<Object<'py>> {
        match self {
            HeldIdentity::Strong(own) => Some(own.bind(py).clone()),
            HeldIdentity::Weak(_, weak) => weak.bind(py).upgrade(),
        }
    }

    fn is_dead(&self, py: Python<'_>) -> bool {
        self.object(py).is_none()
    }
}

/// What is read of what a slot holds. `PySpecialization` says what each is for.
enum SlotReading {
    Itself,
    Cell(usize),
    Global(Py<PyString>),
    Attribute(Py<PyString>),
    Item(Py<PyAny>),
    Length,
    Type,
    /// What a function gives for a class, as that of `functools.singledispatch` which chooses does.
    Called(HeldIdentity),
    /// What `abc.get_cache_token` gives: another number after each `ABC.register`.
    Registrations,
}

/// What a slot must hold. `PySpecialization` says what each is for.
enum Test {
    Any,
    Absent,
    Is(HeldIdentity),
    Equal(ComparedConstant),
    Leaf(LeafKind),
    Tuple(usize),
    List(usize),
    Dict(Vec<ComparedConstant>),
    Names(Vec<ComparedConstant>),
    Instance(HeldIdentity),
    Same(usize),
    Distinct(Vec<usize>),
}

/// One step.
pub(super) struct Condition {
    reading: SlotReading,
    base: usize,
    test: Test,
}

/// What a kind of a step or test needs, for messages.
fn expected(what: &str, kind: &str, needs: &str) -> PyErr {
    PyValueError::new_err(format!("{what}: '{kind}' needs {needs}"))
}

impl SlotReading {
    fn new(kind: &str, key: &Object<'_>) -> PyResult<Self> {
        let py = key.py();
        let what = "steps";
        let name = || -> PyResult<Py<PyString>> {
            let name = key.cast::<PyString>();
            let name = name.map_err(|_| expected(what, kind, "a name"))?;
            Ok(PyString::intern(py, name.to_str()?).unbind())
        };
        Ok(match kind {
            "self" => SlotReading::Itself,
            "cell" => {
                let at = key.extract();
                SlotReading::Cell(at.map_err(|_| expected(what, kind, "a number"))?)
            }
            "global" => SlotReading::Global(name()?),
            "attribute" => SlotReading::Attribute(name()?),
            "item" => SlotReading::Item(ComparedConstant::new("item", key)?.0),
            "length" => SlotReading::Length,
            "type" => SlotReading::Type,
            "called" => SlotReading::Called(HeldIdentity::of(key)),
            "registrations" => SlotReading::Registrations,
            "code" => SlotReading::Attribute(intern!(py, "__code__").clone().unbind()),
            "defaults" => SlotReading::Attribute(intern!(py, "__defaults__").clone().unbind()),
            "kwdefaults" => SlotReading::Attribute(intern!(py, "__kwdefaults__").clone().unbind()),
            _ => return Err(PyValueError::new_err(format!("steps: no kind '{kind}'"))),
        })
    }

    /// What is there.
    fn read<'py>(&self, base: &Object<'py>) -> PyResult<Object<'py>> {
        let py = base.py();
        match self {
            SlotReading::Itself => Ok(base.clone()),
            SlotReading::Attribute(name) => base.getattr(name.bind(py)),
            SlotReading::Global(name) => global(base, name.bind(py)),
            SlotReading::Cell(at) => {
                let cells = base.getattr(intern!(py, "__closure__"))?;
                let cell = cells.cast::<PyTuple>()?.get_item(*at)?;
                cell.getattr(intern!(py, "cell_contents"))
            }
            SlotReading::Item(key) => base.get_item(key.bind(py)),
            SlotReading::Length => Ok(base.len()?.into_pyobject(py)?.into_any()),
            SlotReading::Type => Ok(base.get_type().into_any()),
            SlotReading::Called(class) => {
                let class = class.object(py).ok_or_else(|| PyLookupError::new_err(()))?;
                base.call1((class,))
            }
            SlotReading::Registrations => py
                .import(intern!(py, "abc"))?
                .call_method0(intern!(py, "get_cache_token")),
        }
    }
}

/// What a global name means in a function.
fn global<'py>(function: &Object<'py>, name: &Bound<'py, PyString>) -> PyResult<Object<'py>> {
    let py = function.py();
    // A class of the user's may find names in another way.
    let globals = function.getattr(intern!(py, "__globals__"))?;
    if let Some(found) = globals.cast_exact::<PyDict>()?.get_item(name)? {
        return Ok(found);
    }
    let builtins = function.getattr(intern!(py, "__builtins__"))?;
    let found = builtins.cast_exact::<PyDict>()?.get_item(name)?;
    found.ok_or_else(|| PyLookupError::new_err(()))
}

/// Whether an error says that there is nothing: no such name, item or attribute; TypeError where the
/// slot is of another type than the step is for, as a cell of what is no function; ValueError for an
/// empty cell.
fn is_nothing(py: Python<'_>, error: &PyErr) -> bool {
    error.is_instance_of::<PyLookupError>(py)
        || error.is_instance_of::<PyAttributeError>(py)
        || error.is_instance_of::<PyTypeError>(py)
        || error.is_instance_of::<PyValueError>(py)
}

impl Test {
    fn new(test: &Bound<'_, PyTuple>, slots: usize) -> PyResult<Self> {
        let kind: String = test.get_item(0)?.extract()?;
        let at = |at: usize| {
            let found = test.get_item(at).ok();
            found.ok_or_else(|| expected("steps", &kind, &format!("{at} more")))
        };
        let slot = |object: Object<'_>| -> PyResult<usize> {
            let slot: usize = object.extract()?;
            match slot < slots {
                true => Ok(slot),
                false => Err(PyValueError::new_err(format!(
                    "steps: '{kind}': expected an earlier slot, got {slot}"
                ))),
            }
        };
        Ok(match kind.as_str() {
            "any" => Test::Any,
            "absent" => Test::Absent,
            "is" => Test::Is(HeldIdentity::of(&at(1)?)),
            "equal" => Test::Equal(ComparedConstant::new("equal", &at(1)?)?),
            "kind" => Test::Leaf(LeafKind::named(&at(1)?.extract::<String>()?)?),
            "array" => {
                let name: String = at(1)?.extract()?;
                let ndim: u8 = at(2)?.extract()?;
                Test::Leaf(match name.as_str() {
                    "int64" => LeafKind::Integers(ndim.into()),
                    "bool" => LeafKind::Truths(ndim.into()),
                    _ => LeafKind::Array(leaves::dtype(&name)?, ndim.into()),
                })
            }
            "tuple" => Test::Tuple(at(1)?.extract()?),
            "list" => Test::List(at(1)?.extract()?),
            "dict" => {
                let keys = items("dict", &at(1)?, None, |key| {
                    ComparedConstant::new("dict", &key)
                })?;
                Test::Dict(keys)
            }
            "names" => {
                let names = items("names", &at(1)?, None, |name| {
                    ComparedConstant::new("names", &name)
                })?;
                Test::Names(names)
            }
            "instance" => {
                let class = at(1)?;
                if !class.is_instance_of::<PyType>() {
                    return Err(expected("steps", &kind, "a class"));
                }
                Test::Instance(HeldIdentity::of(&class))
            }
            "same" => Test::Same(slot(at(1)?)?),
            "distinct" => Test::Distinct(items("distinct", &at(1)?, None, slot)?),
            _ => return Err(PyValueError::new_err(format!("steps: no test '{kind}'"))),
        })
    }

    /// Whether what was read passes.
    fn passes<'py>(&self, found: Option<&Object<'py>>, slots: &CallSlots<'py>) -> PyResult<bool> {
        let Some(found) = found else {
            return Ok(matches!(self, Test::Any | Test::Absent));
        };
        let is = |slot: usize| slots[slot].as_ref().is_some_and(|other| other.is(found));
        Ok(match self {
            Test::Any => true,
            Test::Absent => false,
            Test::Is(identity) => identity.is(found),
            Test::Equal(constant) => constant.is(found)?,
            Test::Leaf(kind) => kind.is_of(found)?,
            Test::Tuple(length) => found
                .cast_exact::<PyTuple>()
                .is_ok_and(|tuple| tuple.len() == *length),
            Test::List(length) => found
                .cast_exact::<PyList>()
                .is_ok_and(|list| list.len() == *length),
            Test::Dict(keys) => match found.cast_exact::<PyDict>() {
                Ok(dict) if dict.len() == keys.len() => has_keys(dict, keys)?,
                _ => false,
            },
            Test::Names(names) => match found.cast_exact::<PyMappingProxy>() {
                Ok(members) if members.len()? == names.len() => has_names(members, names)?,
                _ => false,
            },
            Test::Instance(class) => class.is(&found.get_type().into_any()),
            Test::Same(slot) => is(*slot),
            Test::Distinct(slots) => !slots.iter().any(|&slot| is(slot)),
        })
    }
}

/// Whether a dict has these keys in this order.
fn has_keys(dict: &Bound<'_, PyDict>, keys: &[ComparedConstant]) -> PyResult<bool> {
    for (found, key) in dict.keys().iter().zip(keys) {
        if !key.is(&found)? {
            return Ok(false);
        }
    }
    Ok(true)
}

/// Whether a class has members of these names in this order.
fn has_names(members: &Bound<'_, PyMappingProxy>, names: &[ComparedConstant]) -> PyResult<bool> {
    let mut found = members.as_any().try_iter()?;
    for name in names {
        let Some(one) = found.next() else {
            return Ok(false);
        };
        if !name.is(&one?)? {
            return Ok(false);
        }
    }
    Ok(true)
}

/// The steps of a call, in order.
pub(super) struct Conditions {
    /// How many slots there are before the first step.
    first: usize,
    steps: Vec<Condition>,
}

impl Conditions {
    /// Steps from Python: tuples of kind, base, key and test.
    ///
    /// # Errors
    /// ValueError or TypeError for what is none.
    pub(super) fn new(first: usize, steps: &Object<'_>) -> PyResult<Self> {
        let mut number = first;
        let steps = items("steps", steps, None, |step| {
            let (kind, base, key, test): (String, usize, Object<'_>, Bound<'_, PyTuple>) =
                step.extract()?;
            if base >= number {
                return Err(PyValueError::new_err(format!(
                    "steps: step {} reads slot {base}, which is none before it",
                    number - first
                )));
            }
            let step = Condition {
                reading: SlotReading::new(&kind, &key)?,
                base,
                test: Test::new(&test, number)?,
            };
            number += 1;
            Ok(step)
        })?;
        Ok(Conditions { first, steps })
    }

    /// How many slots there are after the last step.
    pub(super) fn slots(&self) -> usize {
        self.first + self.steps.len()
    }

    /// What a slot was found to be, if a step has tested that.
    pub(super) fn leaf(&self, slot: usize) -> Option<LeafKind> {
        self.steps.iter().enumerate().find_map(|(number, step)| {
            let is_of_slot = self.first + number == slot
                || (matches!(step.reading, SlotReading::Itself) && step.base == slot);
            match step.test {
                Test::Leaf(kind) if is_of_slot => Some(kind),
                _ => None,
            }
        })
    }

    /// Takes all steps: whether all tests passed.
    ///
    /// # Errors
    /// What reading raises but for errors that say that nothing is there.
    #[inline]
    pub(super) fn hold<'py>(&self, py: Python<'py>, slots: &mut CallSlots<'py>) -> PyResult<bool> {
        for step in &self.steps {
            let found = match &slots[step.base] {
                None => None,
                Some(base) => match step.reading.read(base) {
                    Ok(found) => Some(found),
                    Err(error) if is_nothing(py, &error) => None,
                    Err(error) => return Err(error),
                },
            };
            if !step.test.passes(found.as_ref(), slots)? {
                return Ok(false);
            }
            slots.push(found);
        }
        Ok(true)
    }

    /// Whether they can never hold again: an object that they ask for is gone.
    pub(super) fn are_dead(&self, py: Python<'_>) -> bool {
        self.steps.iter().any(|step| match &step.test {
            Test::Is(identity) | Test::Instance(identity) => identity.is_dead(py),
            _ => false,
        })
    }

    /// Shows the collector what is held. Constants and names hold nothing.
    pub(super) fn traverse(&self, visit: &PyVisit<'_>) -> Result<(), PyTraverseError> {
        for step in &self.steps {
            if let Test::Is(HeldIdentity::Strong(object))
            | Test::Instance(HeldIdentity::Strong(object)) = &step.test
            {
                visit.call(object)?;
            }
            if let SlotReading::Called(HeldIdentity::Strong(object)) = &step.reading {
                visit.call(object)?;
            }
        }
        Ok(())
    }
}
