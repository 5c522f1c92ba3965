//! Decompositions that the caller's NumPy computes.
//!
//! A decomposition is not unique (its signs above all), and only LAPACK can say which one it gives. So
//! that `np.linalg.eigh` is one function whether its argument is traced or not, its factors come
//! from NumPy in either case: by an operator with the type, the form of the result and the derivatives of
//! one of ours, and with NumPy's numbers. `python/wyrmling/numpy_factors.py` has what it calls.
//!
//! Limits: a program that holds one takes the interpreter's lock for each call.

use std::any::TypeId;
use std::fmt;

use pyo3::prelude::*;

use crate::array::{Array, Dense, Shape, Slice, SliceMut, Type, View, ViewMut, vec_for};
use crate::error::{Error, Result};
use crate::python::interop::convert;
use crate::python::interop::error::raised;
use crate::rules::{Ex, Key, OpRef, Operator, same_shape};

/// A copy of an array of numbers.
fn copied(x: &View<'_>) -> Result<Array> {
    fn copy<T: Copy>(shape: &[usize], from: &[T]) -> Result<Vec<T>> {
        let mut to = vec_for(shape)?;
        to.extend_from_slice(from);
        Ok(to)
    }
    let shape = Shape::from_slice(x.shape);
    Ok(match x.data {
        Slice::F32(from) => Dense::from_vec(shape, copy(x.shape, from)?).into(),
        Slice::F64(from) => Dense::from_vec(shape, copy(x.shape, from)?).into(),
        Slice::U32(from) => Dense::from_vec(shape, copy(x.shape, from)?).into(),
    })
}

/// See the [module documentation](self).
pub(in crate::python) struct ByNumpy {
    like: OpRef,
    /// From one array to what `like` gives for it.
    call: Py<PyAny>,
    /// Which operator is computed by what: `call` is at this address as long as this holds it.
    identity: (TypeId, usize),
}

impl fmt::Debug for ByNumpy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "ByNumpy({:?})", self.like)
    }
}

impl ByNumpy {
    /// An operator of ours, or what `call` makes of it.
    pub(in crate::python) fn operator(
        like: &'static dyn Operator,
        call: Option<Py<PyAny>>,
    ) -> OpRef {
        let Some(call) = call else {
            return OpRef::Static(like);
        };
        OpRef::new(ByNumpy {
            like: OpRef::Static(like),
            identity: (like.type_id(), call.as_ptr() as usize),
            call,
        })
    }
}

impl Operator for ByNumpy {
    fn name(&self) -> &str {
        self.like.name()
    }

    fn key(&self) -> Option<&dyn Key> {
        Some(&self.identity)
    }

    fn infer(&self, args: &[&Type]) -> Result<Type> {
        self.like.infer(args)
    }

    fn eval(&self, args: &[View<'_>], out: ViewMut<'_>) -> Result<()> {
        let [given] = args else {
            return Err(Error::Type(format!("{} takes one operand", self.name())));
        };
        let given = copied(given)?;
        let found = Python::attach(|py| -> PyResult<Array> {
            let given = convert::to_numpy(py, given)?;
            let found = self.call.bind(py).call1((given,))?;
            Ok(convert::array("the result", &found)?.0)
        });
        let found = found.map_err(raised)?.to_dtype(out.data.dtype());
        same_shape(self.name(), out.shape, found.shape())?;
        match (found, out.data) {
            (Array::F32(from), SliceMut::F32(to)) => to.copy_from_slice(from.as_slice()),
            (Array::F64(from), SliceMut::F64(to)) => to.copy_from_slice(from.as_slice()),
            _ => return Err(Error::Type(format!("{}: expected numbers", self.name()))),
        }
        Ok(())
    }

    fn vjp<'t>(&self, i: usize, g: Ex<'t>, y: Ex<'t>, x: &[Ex<'t>]) -> Option<Ex<'t>> {
        self.like.vjp(i, g, y, x)
    }

    fn jvp<'t>(&self, i: usize, t: Ex<'t>, y: Ex<'t>, x: &[Ex<'t>]) -> Option<Ex<'t>> {
        self.like.jvp(i, t, y, x)
    }

    fn realigned<'t>(&self, i: usize, t: Ex<'t>, y: Ex<'t>, x: &[Ex<'t>]) -> Option<Ex<'t>> {
        self.like.realigned(i, t, y, x)
    }
}
