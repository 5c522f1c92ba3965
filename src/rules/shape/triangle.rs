//! Triangles of matrices, which are the last two axes: what is outside becomes zero.
//!
//! Both are projections, so each is its own transpose.

use crate::array::{Real, Type, Typed, View, ViewMut, show_shape, with_real};
use crate::error::{Error, Result};

use crate::rules::{Argument, Case, Entry, OpRef, Operator, arity, linear, real};

/// Elements on and below the diagonal `k`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Tril {
    /// The last diagonal that is kept: 0 is the main one, 1 the one above it.
    pub k: i64,
}

/// Elements on and above the diagonal `k`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Triu {
    /// The first diagonal that is kept: 0 is the main one, 1 the one above it.
    pub k: i64,
}

fn matrices(name: &str, args: &[&Type]) -> Result<Type> {
    let [x] = arity::<1>(name, args)?;
    real(name, x)?;
    if x.ndim() < 2 {
        return Err(Error::Shape(format!(
            "{name}: expected a matrix, or several, got shape {}",
            show_shape(&x.shape)
        )));
    }
    Ok(x.clone())
}

/// Copies the elements whose diagonal is one to `keep`, and zeros for the others.
fn mask<T: Real>(x: &[T], shape: &[usize], out: &mut [T], keep: impl Fn(i64) -> bool) {
    let (rows, columns) = match *shape {
        [.., rows, columns] if columns > 0 => (rows, columns),
        _ => return,
    };
    let lines = x.chunks_exact(columns).zip(out.chunks_exact_mut(columns));
    for (at, (x, out)) in lines.enumerate() {
        let row = (at % rows) as i64;
        for (column, (o, &x)) in out.iter_mut().zip(x).enumerate() {
            *o = if keep(column as i64 - row) {
                x
            } else {
                T::default()
            };
        }
    }
}

macro_rules! triangle {
    ($op:ident, $name:literal, $compare:tt) => {
        impl Operator for $op {
            linear!($name, |op, g, _| g.with_new(*op, &[]));

            fn infer(&self, args: &[&Type]) -> Result<Type> {
                matrices($name, args)
            }

            fn eval(&self, args: &[View<'_>], mut out: ViewMut<'_>) -> Result<()> {
                with_real!(out.data.dtype(), T => {
                    let out = T::slice_mut(&mut out.data);
                    mask(args[0].real::<T>(), args[0].shape, out, |d| d $compare self.k);
                });
                Ok(())
            }
        }
    };
}
triangle!(Tril, "tril", <=);
triangle!(Triu, "triu", >=);

fn cases(op: impl Fn(i64) -> OpRef) -> Vec<Case> {
    let shapes: [(i64, &[usize]); 5] = [
        (0, &[3, 3]),
        (1, &[2, 3, 4]),
        (-1, &[4, 2]),
        (i64::MAX, &[2, 2]),
        (0, &[0, 3]),
    ];
    let case = |(k, shape)| Case::new(op(k), vec![Argument::real(shape, &[(-2.0, 2.0)])]);
    shapes.map(case).into()
}

/// This file's entries of the rule table.
pub(super) const ENTRIES: &[Entry] = &[
    Entry {
        name: "tril",
        formula: "x_ij [j - i ≤ k]",
        source: "definition",
        reference: None,
        internal: None,
        cases: || cases(|k| OpRef::new(Tril { k })),
    },
    Entry {
        name: "triu",
        formula: "x_ij [j - i ≥ k]",
        source: "definition",
        reference: None,
        internal: None,
        cases: || cases(|k| OpRef::new(Triu { k })),
    },
];
