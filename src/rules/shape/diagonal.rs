//! Diagonals of matrices, which are the last two axes, their sum, and matrices made of them.
//!
//! Diagonal `k` starts at column `k`, or at row `-k` if that is negative, as NumPy counts.

use crate::array::{Type, Typed, View, ViewMut, element_count, show_shape, with_real};
use crate::error::{Error, Result};

use crate::rules::{
    Argument, Case, Entry, Form, OpRef, Operator, arity, linear, real, rows_and_columns, same_shape,
};

/// The elements of a diagonal, as the last axis.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Diagonal {
    /// Which diagonal.
    pub k: i64,
}

/// Zeros shaped as operand 1, with operand 0 along a diagonal.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct DiagonalAdjoint {
    /// Which diagonal.
    pub k: i64,
}

/// The smallest square matrices that have the last axis of the operand along a diagonal.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct DiagonalMatrix {
    /// Which diagonal.
    pub k: i64,
}

/// A diagonal of matrices of so many rows and columns: its first place, and its length.
struct OnDiagonal {
    columns: usize,
    area: usize,
    first: usize,
    count: usize,
}

impl OnDiagonal {
    fn new(shape: &[usize], k: i64) -> Self {
        let [rows, columns] = rows_and_columns(shape);
        let shift = usize::try_from(k.unsigned_abs()).unwrap_or(usize::MAX);
        let (row, column) = if k < 0 { (shift, 0) } else { (0, shift) };
        let count = rows.saturating_sub(row).min(columns.saturating_sub(column));
        let first = if count > 0 { row * columns + column } else { 0 };
        OnDiagonal {
            columns,
            area: rows * columns,
            first,
            count,
        }
    }

    /// Calls `f` with each place in the matrices, and its number along the diagonals.
    fn for_each(&self, matrices: usize, mut f: impl FnMut(usize, usize)) {
        for at in 0..matrices {
            for i in 0..self.count {
                let place = at * self.area + self.first + i * (self.columns + 1);
                f(place, at * self.count + i);
            }
        }
    }
}

/// The shape of the diagonals of matrices.
fn diagonals(name: &str, x: &Type, k: i64) -> Result<Type> {
    real(name, x)?;
    if x.ndim() < 2 {
        return Err(Error::Shape(format!(
            "{name}: expected a matrix, or several, got shape {}",
            show_shape(&x.shape)
        )));
    }
    let places = OnDiagonal::new(&x.shape, k);
    let mut ty = Type::new(x.dtype, &x.shape[..x.ndim() - 1]);
    ty.shape[x.ndim() - 2] = places.count;
    element_count(&ty.shape)?;
    Ok(ty)
}

fn leading(shape: &[usize]) -> usize {
    shape[..shape.len() - 2].iter().product()
}

/// Zeros with the elements of `x` along diagonals.
fn write_diagonal(x: &View<'_>, k: i64, out: &mut ViewMut<'_>) {
    let places = OnDiagonal::new(out.shape, k);
    let matrices = leading(out.shape);
    with_real!(out.data.dtype(), T => {
        let (x, out) = (x.real::<T>(), T::slice_mut(&mut out.data));
        out.fill(T::default());
        places.for_each(matrices, |place, i| out[place] = x[i]);
    });
}

impl Operator for Diagonal {
    linear!("diagonal", |op, g, x| g
        .with_new(DiagonalAdjoint { k: op.k }, &[x[0]]));

    fn infer(&self, args: &[&Type]) -> Result<Type> {
        let [x] = arity::<1>("diagonal", args)?;
        diagonals("diagonal", x, self.k)
    }

    fn eval(&self, args: &[View<'_>], mut out: ViewMut<'_>) -> Result<()> {
        let places = OnDiagonal::new(args[0].shape, self.k);
        with_real!(out.data.dtype(), T => {
            let (x, out) = (args[0].real::<T>(), T::slice_mut(&mut out.data));
            places.for_each(leading(args[0].shape), |place, i| out[i] = x[place]);
        });
        Ok(())
    }
}

impl Operator for DiagonalAdjoint {
    linear!(
        "diagonal_adjoint",
        |op, g, _| g.with_new(Diagonal { k: op.k }, &[]),
        reads 1
    );

    fn infer(&self, args: &[&Type]) -> Result<Type> {
        let [g, like] = arity::<2>("diagonal_adjoint", args)?;
        real("diagonal_adjoint", g)?;
        let diagonals = diagonals("diagonal_adjoint", like, self.k)?;
        same_shape("diagonal_adjoint", &diagonals.shape, &g.shape)?;
        Ok(Type::new(g.dtype, &like.shape))
    }

    fn eval(&self, args: &[View<'_>], mut out: ViewMut<'_>) -> Result<()> {
        write_diagonal(&args[0], self.k, &mut out);
        Ok(())
    }
}

impl Operator for DiagonalMatrix {
    linear!("diagonal_matrix", |op, g, _| g
        .with_new(Diagonal { k: op.k }, &[]));

    fn infer(&self, args: &[&Type]) -> Result<Type> {
        let [x] = arity::<1>("diagonal_matrix", args)?;
        real("diagonal_matrix", x)?;
        let Some((&n, lead)) = x.shape.split_last() else {
            return Err(Error::Shape(
                "diagonal_matrix: expected at least one axis, got a single number".into(),
            ));
        };
        let side = usize::try_from(self.k.unsigned_abs())
            .unwrap_or(usize::MAX)
            .saturating_add(n);
        let ty = Type::new(x.dtype, &[lead, &[side, side]].concat());
        element_count(&ty.shape)?;
        Ok(ty)
    }

    fn eval(&self, args: &[View<'_>], mut out: ViewMut<'_>) -> Result<()> {
        write_diagonal(&args[0], self.k, &mut out);
        Ok(())
    }
}

fn matrix(name: &str, x: &Type) -> Result<()> {
    real(name, x)?;
    if x.ndim() == 2 {
        Ok(())
    } else {
        Err(Error::Shape(format!(
            "{name}: expected a matrix, got shape {}",
            show_shape(&x.shape)
        )))
    }
}

/// Sum of a matrix's diagonal.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Trace;

impl Operator for Trace {
    linear!("trace", |_, g, x| g.diagonal_like(x[0]));

    fn infer(&self, args: &[&Type]) -> Result<Type> {
        let [x] = arity::<1>("trace", args)?;
        matrix("trace", x)?;
        Ok(Type::scalar(x.dtype))
    }

    fn eval(&self, args: &[View<'_>], mut out: ViewMut<'_>) -> Result<()> {
        let [rows, columns] = rows_and_columns(args[0].shape);
        with_real!(out.data.dtype(), T => {
            let x = args[0].real::<T>();
            let diagonal = (0..rows.min(columns)).map(|i| x[i * columns + i]);
            // From 0: an iterator's own sum of no numbers is -0.
            T::slice_mut(&mut out.data)[0] = diagonal.fold(T::default(), |sum, x| sum + x);
        });
        Ok(())
    }
}

/// A matrix shaped as operand 1 with the number operand 0 along its diagonal.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct DiagonalLike;

impl Operator for DiagonalLike {
    linear!("diagonal_like", |_, g, _| g.trace(), reads 1);

    fn form(&self) -> Form {
        Form::Diagonal
    }

    fn infer(&self, args: &[&Type]) -> Result<Type> {
        let [g, like] = arity::<2>("diagonal_like", args)?;
        matrix("diagonal_like", like)?;
        real("diagonal_like", g)?;
        if g.ndim() != 0 {
            return Err(Error::Shape(format!(
                "diagonal_like: expected one number, got shape {}",
                show_shape(&g.shape)
            )));
        }
        Ok(Type::new(g.dtype, &like.shape))
    }

    fn eval(&self, args: &[View<'_>], mut out: ViewMut<'_>) -> Result<()> {
        let (rows, columns) = (out.shape[0], out.shape[1]);
        with_real!(out.data.dtype(), T => {
            let (g, out) = (args[0].real::<T>()[0], T::slice_mut(&mut out.data));
            out.fill(T::default());
            for i in 0..rows.min(columns) {
                out[i * columns + i] = g;
            }
        });
        Ok(())
    }
}

const ANY: &[(f64, f64)] = &[(-2.0, 2.0)];

/// Diagonals, matrices and the shape of the diagonals of these.
const SHAPES: [(i64, &[usize], &[usize]); 6] = [
    (0, &[3, 3], &[3]),
    (1, &[2, 3, 4], &[2, 3]),
    (-1, &[2, 4], &[1]),
    (0, &[2, 0, 3], &[2, 0]),
    (5, &[2, 3], &[0]),
    (i64::MIN, &[2, 3], &[0]),
];

/// This file's entries of the rule table.
pub(super) const ENTRIES: &[Entry] = &[
    Entry {
        name: "diagonal",
        formula: "x_i,i+k",
        source: "definition",
        reference: None,
        internal: None,
        cases: || {
            let case =
                |(k, x, _)| Case::new(OpRef::new(Diagonal { k }), vec![Argument::real(x, ANY)]);
            SHAPES.map(case).into()
        },
    },
    Entry {
        name: "diagonal_adjoint",
        formula: "g_i δ_i+k,j",
        source: "definition",
        reference: None,
        internal: Some("the gradient of diagonal"),
        cases: || {
            let case = |(k, x, g)| {
                Case::new(
                    OpRef::new(DiagonalAdjoint { k }),
                    vec![Argument::real(g, ANY), Argument::shape_only(x)],
                )
            };
            SHAPES.map(case).into()
        },
    },
    Entry {
        name: "diagonal_matrix",
        formula: "x_i δ_i+k,j",
        source: "definition",
        reference: None,
        internal: None,
        cases: || {
            let shapes: [(i64, &[usize]); 4] = [(0, &[3]), (1, &[2, 2]), (-2, &[1]), (0, &[0])];
            let case = |(k, x)| {
                Case::new(
                    OpRef::new(DiagonalMatrix { k }),
                    vec![Argument::real(x, ANY)],
                )
            };
            shapes.map(case).into()
        },
    },
    Entry {
        name: "trace",
        formula: "Σ_i x_ii",
        source: "definition",
        reference: None,
        internal: None,
        cases: || {
            let shapes: [&[usize]; 3] = [&[3, 3], &[2, 4], &[0, 3]];
            let case = |s: &[usize]| Case::new(OpRef::Static(&Trace), vec![Argument::real(s, ANY)]);
            shapes.map(case).into()
        },
    },
    Entry {
        name: "diagonal_like",
        formula: "g δ_ij",
        source: "definition",
        reference: None,
        internal: Some("the gradient of trace"),
        cases: || {
            let args = vec![Argument::real(&[], ANY), Argument::shape_only(&[3, 4])];
            vec![Case::new(OpRef::Static(&DiagonalLike), args)]
        },
    },
];
