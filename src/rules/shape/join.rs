//! Concatenation along an axis, and its transposes.
//!
//! Where a part lies is known from the shapes of all parts, so its gradient takes all of them:
//! `n` gradients cost `n²`. [`ops::concatenate`](crate::graph::ops::concatenate) therefore
//! joins many parts in groups.

use crate::array::{Type, Typed, View, ViewMut, element_count, show_shape, size, with_real};
use crate::error::{Error, Result};

use crate::rules::reduction::lanes::has_axis;
use crate::rules::{Argument, Case, Entry, Ex, Key, OpRef, Operator, linear, real, same_dtype};

/// Copies between a joined array and part `part` of it, block by block:
/// `f(joined_range_start, part_range_start, length)`.
fn blocks(shapes: &[&[usize]], axis: usize, part: usize, mut f: impl FnMut(usize, usize, usize)) {
    let inner = size(&shapes[part][axis + 1..]);
    let outer = size(&shapes[part][..axis]);
    let total: usize = shapes.iter().map(|s| s[axis]).sum::<usize>() * inner;
    let before: usize = shapes[..part].iter().map(|s| s[axis]).sum::<usize>() * inner;
    let length = shapes[part][axis] * inner;
    for o in 0..outer {
        f(o * total + before, o * length, length);
    }
}

fn joined(name: &str, axis: usize, args: &[&Type]) -> Result<Type> {
    let Some(first) = args.first() else {
        return Err(Error::Value(format!("{name} needs at least one array")));
    };
    real(name, first)?;
    has_axis(name, first, axis)?;
    let mut shape = first.shape.clone();
    for other in &args[1..] {
        same_dtype(name, first, other)?;
        let differs = |i: usize| i != axis && other.shape[i] != shape[i];
        if other.ndim() != first.ndim() || (0..shape.len()).any(differs) {
            return Err(Error::Shape(format!(
                "{name}: shapes {} and {} differ away from axis {axis}",
                show_shape(&first.shape),
                show_shape(&other.shape)
            )));
        }
        shape[axis] = shape[axis].saturating_add(other.shape[axis]);
    }
    element_count(&shape)?;
    Ok(Type {
        dtype: first.dtype,
        shape,
    })
}

/// Arrays joined along an existing axis.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Concatenate {
    /// The axis to join along.
    pub axis: usize,
}

impl Operator for Concatenate {
    fn name(&self) -> &str {
        "concatenate"
    }

    fn key(&self) -> Option<&dyn Key> {
        Some(self)
    }

    fn infer(&self, args: &[&Type]) -> Result<Type> {
        joined("concatenate", self.axis, args)
    }

    fn eval(&self, args: &[View<'_>], mut out: ViewMut<'_>) -> Result<()> {
        let shapes: smallvec::SmallVec<[&[usize]; 4]> = args.iter().map(|a| a.shape).collect();
        with_real!(out.data.dtype(), T => {
            let out = T::slice_mut(&mut out.data);
            for (part, arg) in args.iter().enumerate() {
                let x = arg.real::<T>();
                blocks(&shapes, self.axis, part, |to, from, n| {
                    out[to..to + n].copy_from_slice(&x[from..from + n]);
                });
            }
        });
        Ok(())
    }

    fn vjp<'t>(&self, i: usize, g: Ex<'t>, _y: Ex<'t>, x: &[Ex<'t>]) -> Option<Ex<'t>> {
        let op = Part {
            axis: self.axis,
            part: i,
        };
        Some(g.with_new(op, x))
    }
}

/// What operand 0 holds in the place of one of the arrays (operands 1, 2, …) that
/// were joined to its shape.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Part {
    /// The axis they were joined along.
    pub axis: usize,
    /// Which of them.
    pub part: usize,
}

impl Part {
    fn adjoint(self) -> PartAdjoint {
        let Part { axis, part } = self;
        PartAdjoint { axis, part }
    }
}

impl Operator for Part {
    linear!("part", |op, g, x| g.with_new(op.adjoint(), &x[1..]), reads 1);

    fn infer(&self, args: &[&Type]) -> Result<Type> {
        let parts = args.get(1..).unwrap_or_default();
        let whole = joined("part", self.axis, parts)?;
        if *args[0] != whole {
            return Err(Error::Shape(format!(
                "part: expected {whole}, got {}",
                args[0]
            )));
        }
        let part = parts.get(self.part);
        part.map(|&t| t.clone())
            .ok_or_else(|| Error::Value(format!("part {} does not exist", self.part)))
    }

    fn eval(&self, args: &[View<'_>], mut out: ViewMut<'_>) -> Result<()> {
        let shapes: smallvec::SmallVec<[&[usize]; 4]> = args[1..].iter().map(|a| a.shape).collect();
        with_real!(out.data.dtype(), T => {
            let (g, out) = (args[0].real::<T>(), T::slice_mut(&mut out.data));
            blocks(&shapes, self.axis, self.part, |from, to, n| {
                out[to..to + n].copy_from_slice(&g[from..from + n]);
            });
        });
        Ok(())
    }

    fn aliases(&self, args: &[&Type], _out: &Type) -> bool {
        args.len() == 2
    }
}

/// Operand 0 in the place of one of the arrays (operands 1, 2, …) joined along an
/// axis, zeros in the place of the others.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct PartAdjoint {
    /// The axis they are joined along.
    pub axis: usize,
    /// Which of them.
    pub part: usize,
}

impl PartAdjoint {
    fn adjoint(self) -> Part {
        let PartAdjoint { axis, part } = self;
        Part { axis, part }
    }
}

impl Operator for PartAdjoint {
    linear!(
        "part_adjoint",
        |op, g, x| g.with_new(op.adjoint(), &x[1..]),
        reads 1
    );

    fn infer(&self, args: &[&Type]) -> Result<Type> {
        let parts = args.get(1..).unwrap_or_default();
        let whole = joined("part_adjoint", self.axis, parts)?;
        match parts.get(self.part) {
            Some(&part) if part == args[0] => Ok(whole),
            _ => Err(Error::Shape(format!(
                "part_adjoint: {} is not part {}",
                args[0], self.part
            ))),
        }
    }

    fn eval(&self, args: &[View<'_>], mut out: ViewMut<'_>) -> Result<()> {
        let shapes: smallvec::SmallVec<[&[usize]; 4]> = args[1..].iter().map(|a| a.shape).collect();
        with_real!(out.data.dtype(), T => {
            let (g, out) = (args[0].real::<T>(), T::slice_mut(&mut out.data));
            out.fill(T::default());
            blocks(&shapes, self.axis, self.part, |to, from, n| {
                out[to..to + n].copy_from_slice(&g[from..from + n]);
            });
        });
        Ok(())
    }
}

const ANY: &[(f64, f64)] = &[(-2.0, 2.0)];
/// An axis, the shapes of parts, and the shape of the whole.
type Joined = (usize, &'static [&'static [usize]], &'static [usize]);

const PARTS: &[Joined] = &[
    (0, &[&[2], &[3]], &[5]),
    (1, &[&[2, 1], &[2, 3], &[2, 2]], &[2, 6]),
    (0, &[&[2, 3], &[0, 3]], &[2, 3]),
    (1, &[&[2, 2, 2], &[2, 1, 2]], &[2, 3, 2]),
];

/// This file's entries of the rule table.
pub(super) const ENTRIES: &[Entry] = &[
    Entry {
        name: "concatenate",
        formula: "x, y, … joined",
        source: "definition",
        reference: None,
        internal: None,
        cases: || {
            let case = |&(axis, parts, _): &Joined| {
                let args = parts.iter().map(|s| Argument::real(s, ANY)).collect();
                Case::new(OpRef::new(Concatenate { axis }), args)
            };
            PARTS.iter().map(case).collect()
        },
    },
    Entry {
        name: "part",
        formula: "one of the joined",
        source: "definition",
        reference: None,
        internal: Some("the gradient of one of the arrays that concatenate joined"),
        cases: || {
            let case = |&(axis, parts, whole): &Joined| {
                let mut args = vec![Argument::real(whole, ANY)];
                args.extend(parts.iter().map(|s| Argument::shape_only(s)));
                Case::new(OpRef::new(Part { axis, part: 1 }), args)
            };
            PARTS.iter().map(case).collect()
        },
    },
    Entry {
        name: "part_adjoint",
        formula: "one among zeros",
        source: "definition",
        reference: None,
        internal: Some("the gradient of part"),
        cases: || {
            let case = |&(axis, parts, _): &Joined| {
                let mut args = vec![Argument::real(parts[1], ANY)];
                args.extend(parts.iter().map(|s| Argument::shape_only(s)));
                Case::new(OpRef::new(PartAdjoint { axis, part: 1 }), args)
            };
            PARTS.iter().map(case).collect()
        },
    },
];
