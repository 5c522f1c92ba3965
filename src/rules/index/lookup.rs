//! Lookups by integer index, and their transposes.
//!
//! The gradient of a lookup is written `scatter_rows(g, index, like table)`. As an
//! array that would be as large as the table; graphs and programs therefore carry
//! it as the pair (index, rows) and build the array only where it is read whole.

use crate::array::{SliceMut, Type, Typed, View, ViewMut, show_shape, size, with_real};
use crate::error::{Error, Result};

use super::accumulate::zero;
use crate::rules::{
    Argument, Case, Entry, Form, OpRef, Operator, Scatter, ScatteredRows, arity, linear, real,
    same_dtype, same_shape,
};

/// Checks that an operand holds indices.
pub(in crate::rules) fn index(name: &str, ty: &Type) -> Result<()> {
    if ty.dtype.is_real() {
        Err(Error::Type(format!(
            "{name}: expected integer indices, got {ty}"
        )))
    } else {
        Ok(())
    }
}

/// Checks that all indices are below `n`.
///
/// # Errors
/// [`Error::Index`] naming the first offender.
pub fn check_indices(what: impl FnOnce() -> String, indices: &[u32], n: usize) -> Result<()> {
    // The maximum first: it vectorises, and there is nearly always nothing to report.
    let largest = indices.iter().copied().max();
    if largest.is_none_or(|m| (m as usize) < n) {
        return Ok(());
    }
    let bad = indices.iter().enumerate().find(|(_, i)| **i as usize >= n);
    let (at, value) = bad.unwrap_or((0, &indices[0]));
    Err(index_error(what(), *value, at, n))
}

/// The error of an index that `what` has at some position, and is none of `n` rows.
pub fn index_error(what: String, value: u32, at: usize, n: usize) -> Error {
    Error::Index(format!(
        "{what}: index {value} at position {at} is out of range for {n} rows"
    ))
}

/// Checks that every target is below `n` classes.
fn check_targets(targets: &[u32], n: usize) -> Result<()> {
    match targets.iter().position(|&target| target as usize >= n) {
        None => Ok(()),
        Some(at) => Err(Error::Index(format!(
            "cross_entropy: target {} at position {at} is out of range for {n} classes",
            targets[at]
        ))),
    }
}

/// Whether several indices follow one another, as those of a slice do.
pub(super) fn follow(indices: &[u32]) -> bool {
    indices.len() > 1
        && indices
            .windows(2)
            .all(|pair| pair[1] == pair[0].wrapping_add(1))
}

/// Copies rows of `width` elements. All indices are rows of `table`.
fn copy_rows<T: Copy>(table: &[T], indices: &[u32], width: usize, out: &mut [T]) {
    if follow(indices) {
        let first = indices[0] as usize * width;
        out.copy_from_slice(&table[first..first + indices.len() * width]);
        return;
    }
    for (o, &i) in out.chunks_exact_mut(width.max(1)).zip(indices) {
        o.copy_from_slice(&table[i as usize * width..(i as usize + 1) * width]);
    }
}

/// Rows of operand 0 (along its first axis) at the indices of operand 1. The rows may hold indices
/// themselves, as features or categories do: then so does the result.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Gather;

impl Operator for Gather {
    linear!("gather", |_, g, x| g.scatter_rows(x[1], x[0]));

    fn form(&self) -> Form {
        Form::RowLookup
    }

    fn infer(&self, args: &[&Type]) -> Result<Type> {
        let [table, at] = arity::<2>("gather", args)?;
        index("gather", at)?;
        let Some((_, row)) = table.shape.split_first() else {
            return Err(Error::Shape(
                "gather: a single number has no rows to look up".into(),
            ));
        };
        let mut shape = at.shape.clone();
        shape.extend_from_slice(row);
        crate::array::element_count(&shape)?;
        Ok(Type {
            dtype: table.dtype,
            shape,
        })
    }

    fn eval(&self, args: &[View<'_>], mut out: ViewMut<'_>) -> Result<()> {
        let indices = args[1].indices();
        check_indices(|| "gather".into(), indices, args[0].shape[0])?;
        let width = size(&args[0].shape[1..]);
        if let SliceMut::U32(out) = &mut out.data {
            copy_rows(args[0].indices(), indices, width, out);
            return Ok(());
        }
        with_real!(out.data.dtype(), T => {
            copy_rows(args[0].real::<T>(), indices, width, T::slice_mut(&mut out.data));
        });
        Ok(())
    }

    fn limit(&self, i: usize, args: &[&Type]) -> Option<usize> {
        (i == 1).then(|| args[0].shape.first().copied())?
    }
}

/// Zeros shaped as operand 2 with the rows of operand 0 added at the indices of
/// operand 1.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct ScatterRows;

impl Operator for ScatterRows {
    linear!("scatter_rows", |_, g, x| g.gather(x[1]), reads 2);

    fn infer(&self, args: &[&Type]) -> Result<Type> {
        let [rows, at, like] = arity::<3>("scatter_rows", args)?;
        real("scatter_rows", rows)?;
        same_dtype("scatter_rows", rows, like)?;
        let expected = Gather.infer(&[like, at])?;
        same_shape("scatter_rows: rows", &expected.shape, &rows.shape)?;
        Ok((*like).clone())
    }

    fn eval(&self, args: &[View<'_>], mut out: ViewMut<'_>) -> Result<()> {
        zero(&mut out);
        self.add(args, out)
    }

    fn limit(&self, i: usize, args: &[&Type]) -> Option<usize> {
        (i == 1).then(|| args[2].shape.first().copied())?
    }

    fn scatter(&self) -> Option<&dyn Scatter> {
        Some(self)
    }
}

impl Scatter for ScatterRows {
    fn add(&self, args: &[View<'_>], mut out: ViewMut<'_>) -> Result<()> {
        let indices = args[1].indices();
        check_indices(|| "scatter_rows".into(), indices, out.shape[0])?;
        let width = size(&out.shape[1..]);
        with_real!(out.data.dtype(), T => {
            let (rows, out) = (args[0].real::<T>(), T::slice_mut(&mut out.data));
            // Rows that follow one another are one run.
            let run = if follow(indices) { indices.len() } else { 1 };
            let width = width * run;
            for (row, &i) in rows.chunks_exact(width.max(1)).zip(indices) {
                let first = i as usize * (width / run);
                let out = &mut out[first..first + width];
                for (o, &r) in out.iter_mut().zip(row) {
                    *o += r;
                }
            }
        });
        Ok(())
    }

    fn like(&self) -> Option<usize> {
        Some(2)
    }

    fn rows(&self) -> Option<ScatteredRows<'_>> {
        Some(ScatteredRows::Index { rows: 0, index: 1 })
    }
}

/// The element of each row (last axis) of operand 0 that operand 1 names. Its messages speak of
/// cross-entropy, the function by which users meet it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Pick;

impl Operator for Pick {
    linear!("pick", |_, g, x| g.scatter_pick(x[1], x[0]));

    fn infer(&self, args: &[&Type]) -> Result<Type> {
        let [x, at] = arity::<2>("pick", args)?;
        real("cross_entropy", x)?;
        index("cross_entropy: targets", at)?;
        if x.ndim() == 0 || x.shape[..x.ndim() - 1] != at.shape[..] {
            return Err(Error::Shape(format!(
                "cross_entropy: targets of shape {} are not one a row of logits of shape {}",
                show_shape(&at.shape),
                show_shape(&x.shape)
            )));
        }
        Ok(Type::new(x.dtype, &at.shape))
    }

    fn eval(&self, args: &[View<'_>], mut out: ViewMut<'_>) -> Result<()> {
        let indices = args[1].indices();
        let n = args[0].shape[args[0].shape.len() - 1];
        check_targets(indices, n)?;
        with_real!(out.data.dtype(), T => {
            let (x, out) = (args[0].real::<T>(), T::slice_mut(&mut out.data));
            for (r, (o, &i)) in out.iter_mut().zip(indices).enumerate() {
                *o = x[r * n + i as usize];
            }
        });
        Ok(())
    }

    fn limit(&self, i: usize, args: &[&Type]) -> Option<usize> {
        (i == 1).then(|| args[0].shape.last().copied())?
    }
}

/// Zeros shaped as operand 2 with the numbers of operand 0 at the place in each
/// row that operand 1 names.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct ScatterPick;

impl Operator for ScatterPick {
    linear!("scatter_pick", |_, g, x| g.pick(x[1]), reads 2);

    fn infer(&self, args: &[&Type]) -> Result<Type> {
        let [g, at, like] = arity::<3>("scatter_pick", args)?;
        same_dtype("scatter_pick", g, like)?;
        let expected = Pick.infer(&[like, at])?;
        same_shape("scatter_pick", &expected.shape, &g.shape)?;
        Ok((*like).clone())
    }

    fn eval(&self, args: &[View<'_>], mut out: ViewMut<'_>) -> Result<()> {
        let indices = args[1].indices();
        let n = out.shape[out.shape.len() - 1];
        check_targets(indices, n)?;
        zero(&mut out);
        self.add(args, out)
    }

    fn limit(&self, i: usize, args: &[&Type]) -> Option<usize> {
        (i == 1).then(|| args[2].shape.last().copied())?
    }

    fn scatter(&self) -> Option<&dyn Scatter> {
        Some(self)
    }
}

impl Scatter for ScatterPick {
    fn add(&self, args: &[View<'_>], mut out: ViewMut<'_>) -> Result<()> {
        let indices = args[1].indices();
        let n = out.shape[out.shape.len() - 1];
        check_targets(indices, n)?;
        with_real!(out.data.dtype(), T => {
            let (g, out) = (args[0].real::<T>(), T::slice_mut(&mut out.data));
            for (r, (&g, &i)) in g.iter().zip(indices).enumerate() {
                out[r * n + i as usize] += g;
            }
        });
        Ok(())
    }

    fn like(&self) -> Option<usize> {
        Some(2)
    }
}

const ANY: &[(f64, f64)] = &[(-2.0, 2.0)];
/// Shapes of a table, of an index into it, and of what the lookup gives.
const ROWS: &[(&[usize], &[usize], &[usize])] = &[
    (&[5, 3], &[4], &[4, 3]),
    (&[5], &[4], &[4]),
    (&[5, 2, 2], &[3, 2], &[3, 2, 2, 2]),
    (&[5, 3], &[], &[3]),
    (&[5, 3], &[0], &[0, 3]),
];

/// This file's entries of the rule table.
pub(super) const ENTRIES: &[Entry] = &[
    Entry {
        name: "gather",
        formula: "x[index]",
        source: "definition",
        reference: None,
        internal: None,
        cases: || {
            let case = |&(table, at, _): &(&[usize], &[usize], &[usize])| {
                let args = vec![Argument::real(table, ANY), Argument::index(at, table[0])];
                Case::new(OpRef::Static(&Gather), args)
            };
            let mut cases: Vec<Case> = ROWS.iter().map(case).collect();
            // A table of indices.
            let args = vec![Argument::index(&[5, 3], 7), Argument::index(&[4], 5)];
            cases.push(Case::new(OpRef::Static(&Gather), args));
            cases
        },
    },
    Entry {
        name: "scatter_rows",
        formula: "zeros with rows added at index",
        source: "definition",
        reference: None,
        internal: Some("the gradient of gather"),
        cases: || {
            let case = |&(table, at, rows): &(&[usize], &[usize], &[usize])| {
                let args = vec![
                    Argument::real(rows, ANY),
                    Argument::index(at, table[0]),
                    Argument::shape_only(table),
                ];
                Case::new(OpRef::Static(&ScatterRows), args)
            };
            ROWS.iter().map(case).collect()
        },
    },
    Entry {
        name: "pick",
        formula: "x[…, index]",
        source: "definition",
        reference: None,
        internal: None,
        cases: || {
            let shapes: [&[usize]; 3] = [&[4, 3], &[5], &[2, 3, 4]];
            let case = |shape: &[usize]| {
                let (n, lead) = (shape[shape.len() - 1], &shape[..shape.len() - 1]);
                let args = vec![Argument::real(shape, ANY), Argument::index(lead, n)];
                Case::new(OpRef::Static(&Pick), args)
            };
            shapes.map(case).into()
        },
    },
    Entry {
        name: "scatter_pick",
        formula: "zeros with g at […, index]",
        source: "definition",
        reference: None,
        internal: Some("the gradient of pick"),
        cases: || {
            let args = vec![
                Argument::real(&[4], ANY),
                Argument::index(&[4], 3),
                Argument::shape_only(&[4, 3]),
            ];
            vec![Case::new(OpRef::Static(&ScatterPick), args)]
        },
    },
];
