//! Elements by flat index: selected, and replaced by others.
//!
//! A flat index, or place, is the position of an element in C order, as `np.ravel` counts. A key of
//! NumPy's selects other places in an array of another shape: so the operators hold the shape that
//! the places were computed for, or take them as an array of that shape, and refuse all others.
//! For what follows the shape there are slices and `gather`.

use crate::array::{Shape, Type, Typed, View, ViewMut, show_shape, size, with_real};
use crate::error::{Error, Result};

use super::accumulate::zero;
use super::lookup::{check_indices, index};
use crate::rules::{
    Argument, Case, Entry, Ex, OpRef, Operator, Scatter, arity, linear, real, same_dtype,
    same_shape,
};

fn check_shape(name: &str, x: &Type, shape: &Shape) -> Result<()> {
    if x.shape == *shape {
        return Ok(());
    }
    Err(Error::Shape(format!(
        "{name}: the index was made for an array of shape {} and names other elements in one of \
         shape {}; slices and x[rows] follow the shape",
        show_shape(shape),
        show_shape(&x.shape)
    )))
}

/// The elements of operand 0, an array of a given shape, at the places that operand 1 names.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct TakeFlat {
    /// The shape of operand 0.
    pub shape: Shape,
}

impl Operator for TakeFlat {
    linear!("take_flat", |op, g, x| {
        let shape = op.shape.clone();
        g.with_new(AddFlat { shape }, &[x[1]])
    });

    fn infer(&self, args: &[&Type]) -> Result<Type> {
        let [x, at] = arity::<2>("take_flat", args)?;
        real("take_flat", x)?;
        index("take_flat", at)?;
        check_shape("take_flat", x, &self.shape)?;
        Ok(Type::new(x.dtype, &at.shape))
    }

    fn eval(&self, args: &[View<'_>], mut out: ViewMut<'_>) -> Result<()> {
        let places = args[1].indices();
        check_indices(|| "take_flat".into(), places, size(args[0].shape))?;
        with_real!(out.data.dtype(), T => {
            let (x, out) = (args[0].real::<T>(), T::slice_mut(&mut out.data));
            for (o, &place) in out.iter_mut().zip(places) {
                *o = x[place as usize];
            }
        });
        Ok(())
    }
}

/// Zeros of a given shape with the elements of operand 0 added at the places that operand 1
/// names.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct AddFlat {
    /// The shape of the result.
    pub shape: Shape,
}

impl Operator for AddFlat {
    linear!("add_flat", |op, g, x| {
        let shape = op.shape.clone();
        g.with_new(TakeFlat { shape }, &[x[1]])
    });

    fn infer(&self, args: &[&Type]) -> Result<Type> {
        let [g, at] = arity::<2>("add_flat", args)?;
        real("add_flat", g)?;
        index("add_flat", at)?;
        same_shape("add_flat", &at.shape, &g.shape)?;
        crate::array::element_count(&self.shape)?;
        Ok(Type::new(g.dtype, &self.shape))
    }

    fn eval(&self, args: &[View<'_>], mut out: ViewMut<'_>) -> Result<()> {
        zero(&mut out);
        self.add(args, out)
    }

    fn scatter(&self) -> Option<&dyn Scatter> {
        Some(self)
    }
}

impl Scatter for AddFlat {
    fn add(&self, args: &[View<'_>], mut out: ViewMut<'_>) -> Result<()> {
        let places = args[1].indices();
        check_indices(|| "add_flat".into(), places, size(out.shape))?;
        with_real!(out.data.dtype(), T => {
            let (g, out) = (args[0].real::<T>(), T::slice_mut(&mut out.data));
            for (&g, &place) in g.iter().zip(places) {
                out[place as usize] += g;
            }
        });
        Ok(())
    }
}

/// Checks an array against the sources of its elements.
fn check_sources(name: &str, x: &Type, sources: &Type) -> Result<()> {
    real(name, x)?;
    index(name, sources)?;
    if x.shape == sources.shape {
        return Ok(());
    }
    check_shape(name, x, &sources.shape)
}

/// Operand 0 with elements replaced by those of operand 1. Operand 2 has the shape of operand 0
/// and says for each place what it gets: 0 leaves it, k stands for element k − 1 of operand 1,
/// in C order.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Replace;

impl Operator for Replace {
    fn name(&self) -> &str {
        "replace"
    }

    fn infer(&self, args: &[&Type]) -> Result<Type> {
        let [x, values, sources] = arity::<3>("replace", args)?;
        same_dtype("replace", x, values)?;
        check_sources("replace", x, sources)?;
        Ok((*x).clone())
    }

    fn eval(&self, args: &[View<'_>], mut out: ViewMut<'_>) -> Result<()> {
        let sources = args[2].indices();
        check_indices(|| "replace".into(), sources, size(args[1].shape) + 1)?;
        with_real!(out.data.dtype(), T => {
            let (x, values) = (args[0].real::<T>(), args[1].real::<T>());
            let out = T::slice_mut(&mut out.data);
            for ((o, &x), &source) in out.iter_mut().zip(x).zip(sources) {
                *o = match source {
                    0 => x,
                    k => values[k as usize - 1],
                };
            }
        });
        Ok(())
    }

    // The gradient is replaced by zeros, not multiplied with them: what was overwritten may be NaN.
    fn vjp<'t>(&self, i: usize, g: Ex<'t>, _y: Ex<'t>, x: &[Ex<'t>]) -> Option<Ex<'t>> {
        match i {
            0 => Some(g.with(&Replace, &[x[1].zeros_like(), x[2]])),
            1 => Some(g.with(&ReplacedSum, &[x[2], x[1]])),
            _ => None,
        }
    }
}

/// The elements of operand 0 added up by their sources (operand 1, as in [`Replace`]), in the
/// shape of operand 2.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct ReplacedSum;

impl Operator for ReplacedSum {
    linear!(
        "replaced_sum",
        |_, g, x| x[0].zeros_like().with(&Replace, &[g, x[1]]),
        reads 2
    );

    fn infer(&self, args: &[&Type]) -> Result<Type> {
        let [g, sources, like] = arity::<3>("replaced_sum", args)?;
        same_dtype("replaced_sum", g, like)?;
        check_sources("replaced_sum", g, sources)?;
        Ok((*like).clone())
    }

    fn eval(&self, args: &[View<'_>], mut out: ViewMut<'_>) -> Result<()> {
        let sources = args[1].indices();
        check_indices(|| "replaced_sum".into(), sources, size(out.shape) + 1)?;
        with_real!(out.data.dtype(), T => {
            let (g, out) = (args[0].real::<T>(), T::slice_mut(&mut out.data));
            out.fill(T::default());
            for (&g, &source) in g.iter().zip(sources) {
                if source != 0 {
                    out[source as usize - 1] += g;
                }
            }
        });
        Ok(())
    }
}

const ANY: &[(f64, f64)] = &[(-2.0, 2.0)];
/// The shapes of an array, and of an index or of values.
const SHAPES: &[(&[usize], &[usize])] = &[
    (&[5], &[3]),
    (&[2, 3], &[2, 2]),
    (&[2, 3], &[]),
    (&[], &[2]),
    (&[4], &[0]),
];

/// This file's entries of the rule table.
pub(super) const ENTRIES: &[Entry] = &[
    Entry {
        name: "take_flat",
        formula: "x[i, j, …]",
        source: "definition",
        reference: None,
        internal: None,
        cases: || {
            let case = |&(x, at): &(&[usize], &[usize])| {
                let args = vec![Argument::real(x, ANY), Argument::index(at, size(x))];
                Case::new(OpRef::new(TakeFlat { shape: x.into() }), args)
            };
            SHAPES.iter().map(case).collect()
        },
    },
    Entry {
        name: "add_flat",
        formula: "zeros with g added at [i, j, …]",
        source: "definition",
        reference: None,
        internal: Some("the gradient of take_flat"),
        cases: || {
            let case = |&(x, at): &(&[usize], &[usize])| {
                let args = vec![Argument::real(at, ANY), Argument::index(at, size(x))];
                Case::new(OpRef::new(AddFlat { shape: x.into() }), args)
            };
            SHAPES.iter().map(case).collect()
        },
    },
    Entry {
        name: "replace",
        formula: "x with others at [i, j, …]",
        source: "definition",
        reference: None,
        internal: None,
        cases: || {
            let case = |&(x, values): &(&[usize], &[usize])| {
                let args = vec![
                    Argument::real(x, ANY),
                    Argument::real(values, ANY),
                    Argument::index(x, size(values) + 1),
                ];
                Case::new(OpRef::Static(&Replace), args)
            };
            SHAPES.iter().map(case).collect()
        },
    },
    Entry {
        name: "replaced_sum",
        formula: "Σ g by source",
        source: "definition",
        reference: None,
        internal: Some("the gradient of replace, for the values"),
        cases: || {
            let case = |&(x, values): &(&[usize], &[usize])| {
                let args = vec![
                    Argument::real(x, ANY),
                    Argument::index(x, size(values) + 1),
                    Argument::shape_only(values),
                ];
                Case::new(OpRef::Static(&ReplacedSum), args)
            };
            SHAPES.iter().map(case).collect()
        },
    },
];
