//! Linear algebra, for `wyrmling.linalg`, which gives these functions NumPy's arguments.
//!
//! All take matrices, or arrays of them along leading axes; `vecdot`, which is also
//! `wyrmling.vecdot`, takes vectors and has NumPy's arguments itself.

use pyo3::prelude::*;

use super::by_numpy::ByNumpy;
use super::functions::two;
use crate::array::normalize_axis;
use crate::error::Result;
use crate::graph::{Variable, ops};
use crate::python::interop::argument::Integer;
use crate::python::interop::export::exports;
use crate::python::variables::operand::{node, pair};
use crate::python::variables::variable::PyVariable;
use crate::rules;

macro_rules! of_matrices {
    ($($(#[$doc:meta])* $name:ident($x:ident $(, $more:ident: $ty:ty)*) -> $result:ty;)*) => {
        $(
            $(#[$doc])*
            #[pyfunction]
            #[pyo3(signature = ($x $(, $more)*, /))]
            fn $name($x: &Bound<'_, PyAny> $(, $more: $ty)*) -> PyResult<$result> {
                let x = node(stringify!($name), $x)?;
                Ok(wrap(ops::$name(&x $(, $more)*)?))
            }
        )*
    };
}

/// The matrices transposed.
///
/// The last two axes change places. Raises LinAlgError for a number or a vector.
///
/// >>> matrix_transpose([[1.0, 2.0]]).shape
/// (2, 1)
#[pyfunction]
#[pyo3(signature = (x, /))]
fn matrix_transpose(x: &Bound<'_, PyAny>) -> PyResult<PyVariable> {
    let array = node("matrix_transpose", x)?;
    let y = ops::matrix_transpose(&array)?;
    Ok(PyVariable::view_of(x, &array, y))
}

/// Variables as Python's.
trait Wrapped<T> {
    fn wrapped(self) -> T;
}
impl Wrapped<PyVariable> for Variable {
    fn wrapped(self) -> PyVariable {
        PyVariable::new(self)
    }
}
impl Wrapped<(PyVariable, PyVariable)> for [Variable; 2] {
    fn wrapped(self) -> (PyVariable, PyVariable) {
        self.map(PyVariable::new).into()
    }
}
impl Wrapped<(PyVariable, PyVariable, PyVariable)> for [Variable; 3] {
    fn wrapped(self) -> (PyVariable, PyVariable, PyVariable) {
        self.map(PyVariable::new).into()
    }
}
fn wrap<T>(found: impl Wrapped<T>) -> T {
    found.wrapped()
}

of_matrices! {
    /// The inverse. Raises LinAlgError if there is none.
    ///
    /// >>> inv([[2.0, 0.0], [0.0, 4.0]])
    /// array([[0.5 , 0.  ],
    ///        [0.  , 0.25]])
    inv(a) -> PyVariable;
    /// The determinant of the matrices of the last two axes. Raises LinAlgError for a number or a
    /// vector, and for matrices that are not square.
    ///
    /// >>> det([[2.0, 0.0], [0.0, 4.0]]).item()
    /// 8.0
    det(a) -> PyVariable;
    /// The sign of the determinant, and the logarithm of its absolute value.
    ///
    /// >>> [float(x) for x in slogdet([[0.0, 1.0], [1.0, 0.0]])]
    /// [-1.0, 0.0]
    slogdet(a) -> (PyVariable, PyVariable);
    /// The lower Cholesky factor, of what the lower triangle says. Raises LinAlgError if the
    /// matrix is not positive definite.
    ///
    /// >>> cholesky([[4.0, 0.0], [2.0, 2.0]])
    /// array([[2., 0.],
    ///        [1., 1.]])
    cholesky(a) -> PyVariable;
    /// The pseudo-inverse; singular values up to ``rcond`` times the largest count as zero. Raises
    /// LinAlgError if the matrix has NaN or infinite elements.
    ///
    /// >>> pinv([[2.0], [0.0]], 1e-15)
    /// array([[0.5, 0. ]])
    pinv(a, rcond: f64) -> PyVariable;
}

macro_rules! factors {
    ($($(#[$doc:meta])* $name:ident = $op:ident, $by:ident -> $result:ty;)*) => {$(
        $(#[$doc])*
        ///
        /// ``by`` computes it in our place: from an array, what NumPy finds as one array.
        #[pyfunction]
        #[pyo3(signature = (a, /, *, by=None))]
        fn $name(a: &Bound<'_, PyAny>, by: Option<Py<PyAny>>) -> PyResult<$result> {
            let a = node(stringify!($name), a)?;
            Ok(wrap(ops::$by(ByNumpy::operator(&rules::$op, by), &a)?))
        }
    )*};
}

factors! {
    /// The reduced QR decomposition.
    ///
    /// >>> [x.shape for x in qr([[3.0], [4.0]])]
    /// [(2, 1), (1, 1)]
    qr = Qr, qr_by -> (PyVariable, PyVariable);
    /// Eigenvalues, ascending, and eigenvectors, of what the lower triangle says. Raises
    /// LinAlgError if the matrix has NaN or infinite elements.
    ///
    /// >>> eigh([[2.0, 0.0], [0.0, 1.0]])[0]
    /// array([1., 2.])
    eigh = Eigh, eigh_by -> (PyVariable, PyVariable);
    /// The reduced singular value decomposition: U, s and the transpose of V. Raises LinAlgError
    /// if the matrix has NaN or infinite elements.
    ///
    /// >>> svd([[0.0, 2.0], [1.0, 0.0]])[1]
    /// array([2., 1.])
    svd = Svd, svd_by -> (PyVariable, PyVariable, PyVariable);
}

/// The solution of ``a x = b``; ``b`` is one vector, or matrices. Raises LinAlgError if ``a`` is
/// singular.
///
/// >>> solve([[2.0, 0.0], [0.0, 4.0]], [2.0, 2.0])
/// array([1. , 0.5])
#[pyfunction]
#[pyo3(signature = (a, b, /))]
fn solve(a: &Bound<'_, PyAny>, b: &Bound<'_, PyAny>) -> PyResult<PyVariable> {
    let (a, b) = pair("solve", a, b)?;
    let solution = ops::solve(&ops::numbers(&a)?, &ops::numbers(&b)?)?;
    Ok(PyVariable::new(solution))
}

/// Dot products along an axis, which counts in each array by itself; the other axes broadcast.
///
/// The result has the broadcast shape without the axis; it is float32 if both operands are, else
/// float64. Raises ValueError if the shapes do not fit or there is no such axis.
///
/// >>> vecdot([[1.0, 2.0], [3.0, 4.0]], [1.0, 1.0])
/// array([3., 7.])
/// >>> vecdot([[1.0, 2.0], [3.0, 4.0]], [[1.0, 2.0], [1.0, 2.0]], axis=0)
/// array([ 4., 12.])
#[pyfunction]
#[pyo3(
    signature = (x1, x2, /, *, axis=Integer::default(-1)),
    text_signature = "(x1, x2, /, *, axis=-1)"
)]
fn vecdot(x1: &Bound<'_, PyAny>, x2: &Bound<'_, PyAny>, axis: Integer) -> PyResult<PyVariable> {
    let axis = axis.signed("vecdot: axis")?;
    two("vecdot", x1, x2, |x, y| match axis {
        -1 => ops::vecdot(x, y),
        _ => ops::vecdot(&with_last(x, axis)?, &with_last(y, axis)?),
    })
}

/// The axes in another order: that one last.
fn with_last(x: &Variable, axis: i64) -> Result<Variable> {
    let ndim = x.ty()?.ndim();
    let last = normalize_axis("vecdot", axis, ndim)?;
    let others = (0..ndim).filter(|&k| k != last);
    let order: Vec<i64> = others.chain([last]).map(|k| k as i64).collect();
    ops::transpose(x, Some(&order))
}

exports! {
    matrix_transpose "(x: _Like, /) -> Variable" inner;
    inv "(a: _Like, /) -> Variable" inner;
    det "(a: _Like, /) -> Variable" inner;
    slogdet "(a: _Like, /) -> tuple[Variable, Variable]" inner;
    cholesky "(a: _Like, /) -> Variable" inner;
    pinv "(a: _Like, rcond: float, /) -> Variable" inner;
    qr "(a: _Like, /, *, by: _By | None = None) -> tuple[Variable, Variable]" inner;
    eigh "(a: _Like, /, *, by: _By | None = None) -> tuple[Variable, Variable]" inner;
    svd "(a: _Like, /, *, by: _By | None = None) -> tuple[Variable, Variable, Variable]" inner;
    solve "(a: _Like, b: _Like, /) -> Variable" inner;
    vecdot "(x1: _Like, x2: _Like, /, *, axis: int = -1) -> Variable" numpy;
}
