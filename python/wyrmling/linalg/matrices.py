"""The functions of ``wyrmling.linalg``, of variables: the package calls them, and exports them in
their public form.

What they compute, and which have a derivative where, stands at the head of the package. Here a
plain argument is a constant, and the result is a variable.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from .. import _core
from .._core import Variable, constant
from ..arrays.contraction import cross as _cross
from ..arrays.contraction import trace as _trace
from ..arrays.operand import Axis, Like, axes_of, integer, itself, of_one_type, reduced_axes
from ..arrays.output import finished
from ..arrays.predicates import value
from ..arrays.roots import root


class EighResult(NamedTuple):
    """Eigenvalues, ascending, and eigenvectors as columns."""

    eigenvalues: Variable
    eigenvectors: Variable


class SlogdetResult(NamedTuple):
    """The sign of a determinant, and the logarithm of its absolute value."""

    sign: Variable
    logabsdet: Variable


class SVDResult(NamedTuple):
    """Left singular vectors as columns, singular values, right singular vectors as rows."""

    U: Variable
    S: Variable
    Vh: Variable


class QRResult(NamedTuple):
    """Orthonormal columns, and an upper triangular matrix."""

    Q: Variable
    R: Variable


inv, det, solve = _core.inv, _core.det, _core.solve
matmul, matrix_transpose, vecdot = _core.matmul, _core.matrix_transpose, _core.vecdot


def outer(x1: Like, x2: Like, /) -> Variable:
    """Return the product of each element of a vector with each of another.

    Raises ValueError for what is no vector; ``wyrmling.outer`` flattens it.

    >>> outer([1.0, 2.0], [3.0, 4.0])
    array([[3., 4.],
           [6., 8.]])
    """
    x, y = constant(x1), constant(x2)
    if x.ndim != 1 or y.ndim != 1:
        raise ValueError(f"outer: expected two vectors, got shapes {x.shape} and {y.shape}")
    return _core.outer(x, y)


def slogdet(a: Like) -> SlogdetResult:
    """Return the sign of the determinant, and the logarithm of its absolute value.

    A singular matrix has the sign 0 and the logarithm -inf, and no gradient (LinAlgError).

    Raises LinAlgError for a number or a vector and for matrices that are not square.

    >>> float(slogdet([[0.0, 2.0], [0.5, 0.0]]).sign)
    -1.0
    """
    return SlogdetResult(*_core.slogdet(a))


def cholesky(a: Like, /, *, upper: bool = False) -> Variable:
    """Return the lower triangular L with a = L Lᵀ, or with ``upper`` the U with a = Uᵀ U.

    Reads that triangle of ``a``. Raises LinAlgError if ``a`` is not positive definite.

    >>> cholesky([[4.0, 2.0], [2.0, 2.0]])
    array([[2., 0.],
           [1., 1.]])
    """
    if upper:
        return matrix_transpose(_core.cholesky(matrix_transpose(a)))
    return _core.cholesky(a)


def eigh(a: Like, UPLO: str = "L") -> EighResult:
    """Return eigenvalues and eigenvectors of symmetric matrices, of which one triangle is read.

    The component of largest magnitude of each vector is positive, the first of those that are as
    large to rounding. Raises LinAlgError for NaN and infinity.

    >>> eigh([[2.0, 1.0], [1.0, 2.0]]).eigenvalues.round(12)
    array([1., 3.])
    """
    return eigh_by(a, UPLO, lambda _: None)


def eigh_by(a: Like, UPLO: str, by: Callable[[str], Any]) -> EighResult:
    """``eigh`` as the function computes it that ``by`` gives for the triangle."""
    if str(UPLO).upper() not in ("L", "U"):
        raise ValueError(f"UPLO: expected 'L' or 'U', got {UPLO!r}")
    return EighResult(*_core.eigh(matrix_transpose(a) if UPLO in "Uu" else a, by=by(UPLO)))


def eigvalsh(a: Like, UPLO: str = "L") -> Variable:
    """Return the eigenvalues of symmetric matrices, ascending; see ``eigh``.

    Raises LinAlgError for a number or a vector and for matrices that are not square.

    >>> eigvalsh([[2.0, 0.0], [0.0, 1.0]])
    array([1., 2.])
    """
    return eigh(a, UPLO).eigenvalues


def svd(
    a: Like, full_matrices: bool = True, compute_uv: bool = True, hermitian: bool = False
) -> Any:
    """Return the singular value decomposition, or without ``compute_uv`` the values alone.

    Only the reduced one: matrices that are not square need ``full_matrices=False``, and raise
    NotImplementedError otherwise. The component of largest magnitude of each left vector is
    positive, the first of those that are as large to rounding. Raises LinAlgError for NaN and
    infinity.

    >>> svd([[3.0], [4.0]], full_matrices=False).S
    array([5.])
    """
    return svd_by(a, full_matrices, compute_uv, hermitian, None)


def svd_by(a: Like, full_matrices: bool, compute_uv: bool, hermitian: bool, by: Any) -> Any:
    """``svd`` as the function ``by`` computes it."""
    if hermitian:
        raise NotImplementedError("svd: hermitian=True is not supported; eigh has symmetric ones")
    if compute_uv and full_matrices and np.ndim(a) > 1:
        if np.shape(a)[-1] != np.shape(a)[-2]:
            raise NotImplementedError(
                f"svd: of shape {np.shape(a)} only the reduced decomposition can be "
                "differentiated; give full_matrices=False"
            )
        a = _core.fixed(a, "svd", (-2, -1))
    result = SVDResult(*_core.svd(a, by=by))
    return result if compute_uv else result.S


def svdvals(x: Like, /) -> Variable:
    """Return the singular values, descending.

    Raises LinAlgError for a number or a vector.

    >>> svdvals([[0.0, 2.0], [1.0, 0.0]])
    array([2., 1.])
    """
    return _core.svd(x)[1]


def qr(a: Like, mode: str = "reduced") -> Any:
    """Return the reduced QR decomposition, or with the mode "r" its R alone.

    Signs are Householder's, as in LAPACK: an element of R's diagonal has the sign opposite to that
    of the element which it takes the place of, unless nothing stood below that. Other modes raise
    NotImplementedError.

    >>> qr([[3.0], [4.0]]).R
    array([[-5.]])
    """
    return qr_by(a, mode, None)


def qr_by(a: Like, mode: str, by: Any) -> Any:
    """``qr`` as the function ``by`` computes it."""
    if mode not in ("reduced", "r"):
        raise NotImplementedError(f"qr: expected the mode 'reduced' or 'r', got {mode!r}")
    result = QRResult(*_core.qr(a, by=by))
    return result.R if mode == "r" else result


def pinv(
    a: Like, rcond: float | None = None, hermitian: bool = False, *, rtol: float | None = None
) -> Variable:
    """Return the pseudo-inverse of Moore and Penrose.

    Singular values up to ``rcond`` (or ``rtol``) times the largest count as zero; 1e-15 if neither
    is given. Of a symmetric matrix, with ``hermitian``, the lower triangle is read. Raises
    LinAlgError for NaN and infinity, ValueError if both are given.

    >>> pinv([[2.0], [0.0]])
    array([[0.5, 0. ]])
    """
    if hermitian:
        shape = np.shape(a)
        if len(shape) < 2 or shape[-1] != shape[-2]:
            raise np.linalg.LinAlgError(f"pinv: expected square matrices, got shape {shape}")
        a = _core.fixed(a, "pinv", (-2, -1))
        a = _core.tril(a) + matrix_transpose(_core.tril(a, -1))
    if rcond is not None and rtol is not None:
        raise ValueError("pinv: rcond and rtol are the same, give one")
    given = rtol if rcond is None else rcond
    return _core.pinv(a, 1e-15 if given is None else float(given))


def _identity(like: Variable) -> Variable:
    """Identity matrices of a variable's shape, whatever lengths it has later."""
    return _core.tril(_core.triu(_core.broadcast_like(np.ones((), like.dtype), like)))


def matrix_power(a: Like, n: int) -> Variable:
    """Return matrices to the power of an integer, of the inverse if it is negative.

    Raises LinAlgError for matrices that are not square, or singular where ``n`` is
    negative, TypeError for an ``n`` that is no integer.

    >>> matrix_power([[1.0, 1.0], [0.0, 1.0]], 5)
    array([[1., 5.],
           [0., 1.]])
    """
    power, n = itself(a), integer("matrix_power: n", n)
    shape = power.shape
    if len(shape) < 2 or shape[-1] != shape[-2]:
        raise np.linalg.LinAlgError(f"matrix_power: expected square matrices, got shape {shape}")
    if n < 0:
        power, n = inv(power), -n
    if n == 0:
        # The square of the identity, which refuses lengths that are no square matrix's later.
        power, n = _identity(power), 2
    elif n == 1 and _core.follows_input(power):
        # No product refuses lengths that are no square matrix's later: the broadcasting does.
        return _core.broadcast_like(power, matrix_transpose(power), 2)
    result = None
    while True:
        if n & 1:
            result = power if result is None else result @ power
        n >>= 1
        if n == 0 and result is not None:
            return result
        power = power @ power


@of_one_type
def multi_dot(arrays: Sequence[Like], *, out: Variable | None = None) -> Any:
    """Return the product of several matrices, in the order that takes the fewest operations.

    The first and the last may be vectors, which count as a row and as a column.

    Raises ValueError for fewer than two arrays, or lengths that do not fit.

    >>> multi_dot([[1.0, 2.0], [[1.0, 0.0], [0.0, 1.0]], [3.0, 4.0]]).item()
    11.0
    """
    parts = [constant(array) for array in arrays]
    if len(parts) < 2:
        raise ValueError(f"multi_dot: expected at least two arrays, got {len(parts)}")
    row, column = parts[0].ndim == 1, parts[-1].ndim == 1
    if row:
        parts[0] = _core.expand_dims(parts[0], 0)
    if column:
        parts[-1] = _core.expand_dims(parts[-1], 1)
    for k, part in enumerate(parts):
        if part.ndim != 2:
            raise np.linalg.LinAlgError(f"multi_dot: array {k} is not a matrix: {part.shape}")
    # Cormen et al., "Introduction to Algorithms", section 15.2.
    sides = [part.shape[0] for part in parts] + [parts[-1].shape[1]]
    costs = {(k, k): (0, k) for k in range(len(parts))}
    for width in range(1, len(parts)):
        for i in range(len(parts) - width):
            j = i + width
            costs[i, j] = min(
                (costs[i, k][0] + costs[k + 1, j][0] + sides[i] * sides[k + 1] * sides[j + 1], k)
                for k in range(i, j)
            )

    def product(i: int, j: int) -> Variable:
        k = costs[i, j][1]
        return parts[i] if i == j else matmul(product(i, k), product(k + 1, j))

    result = product(0, len(parts) - 1)
    found = _core.squeeze(result, tuple(axis for axis, new in ((0, row), (1, column)) if new))
    return finished("multi_dot", found if found.ndim else found[()], out)


def vector_norm(
    x: Like, /, *, axis: Axis = None, keepdims: bool = False, ord: float | str | Variable = 2
) -> Variable:
    """Return the norm of vectors: (Σ |x|^ord)^(1/ord), or its limit for ±inf and 0.

    ``axis`` is one axis or several, along which the vectors lie; all if it is None. The norm is
    differentiated by an ``ord`` that is a variable, too; raises TypeError for one that is 0 or
    infinite, where there is no derivative by it, or follows an input.

    >>> vector_norm([3.0, 4.0]).item()
    5.0
    """
    if isinstance(ord, str):
        raise ValueError(f"norm: {ord!r} is no order of a norm of vectors")
    x = constant(x)
    axis = reduced_axes("norm", axis, x.ndim)
    given: Any = ord
    if not isinstance(given, int | float | Variable) and (
        np.ndim(given) or np.asarray(given).dtype.kind not in "biuf"
    ):
        raise TypeError(f"norm: ord: expected one number, got {ord!r}")
    if isinstance(ord, Variable):
        # By the formula alone: special orders would be constants.
        given = value("norm: ord", ord)
        if given.ndim or given == 0 or not np.isfinite(given):
            raise TypeError(
                "norm: ord: expected one number to be differentiated by, neither 0 nor infinite; "
                f"got {given}: give float(ord.value) for the norm of that order"
            )
        size = _core.abs(x)
        if given > 0:
            return root(_core.sum(size**ord, axis, keepdims), 1.0 / ord)
        # With a zero the sum is infinite, and the norm 0 whatever the order.
        zero: Any = size == 0.0
        powers = _core.sum(_core.where(zero, 1.0, size) ** ord, axis, keepdims)
        return _core.where(_core.sum(zero, axis, keepdims) > 0, 0.0, powers ** (1.0 / ord))
    if ord == math.inf:
        return _largest(_core.abs(x), axis, keepdims)
    if ord == -math.inf:
        return _core.min(_core.abs(x), axis, keepdims)
    if ord == 0:
        # In the type of x, and not as an integer.
        return _core.sum(
            _core.where(x != 0.0, np.ones((), x.dtype), np.zeros((), x.dtype)), axis, keepdims
        )
    if ord == 1:
        return _core.sum(_core.abs(x), axis, keepdims)
    if ord == 2:
        return _core.norm(x, axis, keepdims)
    total = _core.sum(_core.abs(x) ** ord, axis, keepdims)
    return root(total, 1.0 / ord) if ord > 0 else total ** (1.0 / ord)


def _largest(x: Variable, axis: Axis, keepdims: bool) -> Variable:
    """The largest of numbers that are not negative, 0 of none, over axes."""
    axes = axes_of("norm", axis, x.ndim)
    if all(x.shape[k] for k in axes):
        return _core.max(x, axes, keepdims)
    return _core.sum(_core.fixed(x, "norm", axes), axes, keepdims)


def _matrix_norm(x: Variable, ord: Any, axes: tuple[int, int], keepdims: bool) -> Variable:
    row, column = axes
    if isinstance(ord, Variable):
        raise TypeError(
            "norm: ord: a norm of matrices has no derivative by its order; give float(ord.value)"
        )
    if ord in (None, "fro", "f"):
        return vector_norm(x, axis=axes, keepdims=keepdims)
    reduce: Callable[..., Variable]
    if ord in (1, -1, math.inf, -math.inf):
        along, over = (row, column) if abs(ord) == 1 else (column, row)
        reduce = _largest if ord > 0 else _core.min
        result = reduce(_core.sum(_core.abs(x), along, keepdims=True), over, True)
        return result if keepdims else _core.squeeze(result, axes)
    if ord not in (2, -2, "nuc"):
        raise ValueError(f"norm: {ord!r} is no order of a norm of matrices")
    order = [a for a in range(x.ndim) if a not in axes]
    # Their absolute value has the gradient 0 at 0.
    values = _core.abs(svdvals(_core.transpose(x, [*order, row, column])))
    reduce = _core.sum if ord == "nuc" else _largest if ord == 2 else _core.min
    result = reduce(values, -1, False)
    return _core.expand_dims(result, sorted(axes)) if keepdims else result


def norm(
    x: Like, ord: float | str | Variable | None = None, axis: Axis = None, keepdims: bool = False
) -> Variable:
    """Return the norm of vectors or matrices, as ``numpy.linalg.norm``.

    ``axis`` is one axis of vectors, or two of matrices; if it is None, ``x`` is one vector or
    matrix. ``ord`` is a number for vectors, and for matrices "fro" (if None is given), "nuc",
    1, -1, 2, -2, inf or -inf. It is differentiated by an order for vectors as ``vector_norm``;
    NumPy asks about ``x`` alone, so that of a plain ``x`` only this function does so.

    Raises ValueError for an order that there is not, more than two axes, or axes that
    are not there.

    >>> norm([[3.0, 0.0], [0.0, 4.0]]).item(), norm([[3.0, 0.0], [0.0, 4.0]], "nuc").item()
    (5.0, 7.0)
    """
    x = constant(x)
    if axis is None and ord is None:
        return vector_norm(x, keepdims=keepdims)
    axes = reduced_axes("norm", axis, x.ndim)
    match axes:
        case (only,):
            return vector_norm(x, axis=only, keepdims=keepdims, ord=2 if ord is None else ord)
        case (row, column):
            return _matrix_norm(x, ord, (row, column), keepdims)
    raise ValueError(f"norm: expected one axis or two, got {axes} of shape {x.shape}")


def matrix_norm(
    x: Like, /, *, keepdims: bool = False, ord: float | str | Variable | None = "fro"
) -> Variable:
    """Return the norm of the matrices of the last two axes; see ``norm``.

    Raises ValueError for fewer than two axes, or an order that there is not.

    >>> matrix_norm([[3.0, 4.0]]).item()
    5.0
    """
    return norm(x, ord, (-2, -1), keepdims)


def cond(x: Like, p: float | str | Variable | None = None) -> Variable:
    """Return the condition number: the norm times that of the inverse, by default that of ord 2.

    Infinite where the matrix is singular, as in NumPy; there it has no derivative, and the gradient
    is infinite or NaN.

    Raises LinAlgError for a number or a vector, ValueError for an order that there is
    not.

    >>> cond([[4.0, 0.0], [0.0, 2.0]]).item()
    2.0
    """
    if np.ndim(x) < 2 or 0 in np.shape(x)[-2:]:
        what = "elements" if np.ndim(x) > 1 else "a matrix"
        raise np.linalg.LinAlgError(f"cond: expected {what}, got shape {np.shape(x)}")
    if not isinstance(p, Variable) and p in (None, 2, -2):
        values = svdvals(x)
        large, small = values[..., 0], values[..., -1]
        number = small / large if p == -2 else large / small
        # 0 / 0 is that of a matrix of zeros: of elements that are NaN there are no singular values.
        return _core.where(number != number, np.inf, number)
    size = norm(x, p, (-2, -1))
    singular = slogdet(x).sign == 0.0
    # In the place of singular matrices, which have no inverse.
    unit = _identity(constant(x))
    inverse = inv(_core.where(_core.expand_dims(singular, (-2, -1)), unit, x))
    # A factor of 1 elsewhere, for zero times infinity would be NaN in second derivatives.
    factor = _core.where(singular, size.dtype.type(np.inf), size.dtype.type(1.0))
    number = _core.where(singular, (size + 1.0) * factor, size * norm(inverse, p, (-2, -1)))
    known = _core.sum(_core.isnan(x), (-2, -1)) == 0
    return _core.where((number != number) & known, np.inf, number)


def cross(x1: Like, x2: Like, /, *, axis: int = -1) -> Variable:
    """Return the vector product of vectors of three components, along an axis.

    Raises ValueError for another number of components.

    >>> cross([1.0, 0.0, 0.0], [0.0, 1.0, 0.0])
    array([0., 0., 1.])
    """
    return _cross(x1, x2, axis=integer("cross: axis", axis))


def diagonal(x: Like, /, *, offset: int = 0) -> Variable:
    """Return diagonals of the matrices of the last two axes.

    Raises ValueError for fewer than two axes.

    >>> diagonal([[1.0, 2.0], [3.0, 4.0]])
    array([1., 4.])
    """
    return _core.diagonal(x, offset, -2, -1)


def trace(x: Like, /, *, offset: int = 0, dtype: Any = None) -> Variable:
    """Return the sums of diagonals of the matrices of the last two axes.

    Raises ValueError for fewer than two axes.

    >>> trace([[1.0, 2.0], [3.0, 4.0]]).item()
    5.0
    """
    found: Variable = _trace(x, offset, -2, -1, dtype)
    return found
