"""Systems of linear equations, exact or by least squares: NumPy's functions, for variables too.

They are made of ``solve``, ``pinv`` and singular values, whose derivatives they have. The rank is a
plain integer, found from the values at hand: raises TypeError for what follows an input.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from .. import _core
from .._core import Variable, constant, fixed
from .operand import Like, axes_of
from .predicates import value


def matrix_rank(A: Like, tol: Any = None, hermitian: bool = False, *, rtol: Any = None) -> Any:
    """The rank of matrices, a plain integer: how many singular values exceed ``tol``.

    Raises TypeError for matrices that follow an input, whose answer could change.

    >>> int(matrix_rank(Variable([[1.0, 2.0], [2.0, 4.0]])))
    1
    """
    plain = value("matrix_rank", constant(A))
    return np.linalg.matrix_rank(plain, tol, hermitian, **({} if rtol is None else {"rtol": rtol}))


def lstsq(a: Like, b: Like, rcond: float | None = None) -> tuple[Variable, Variable, Any, Variable]:
    """The x for which ``a @ x`` is nearest to ``b``, the one of least length if there are several.

    Returns x, the sums of the squared residuals (of no elements if ``a`` has not full rank or no
    more rows than columns), the rank and the singular values. Singular values up to ``rcond`` times
    the largest count as zero, the precision of the type times the larger length if none is given.
    It is differentiated as if the rank could not change.

    Raises LinAlgError unless ``a`` is a matrix and ``b`` a vector or matrix of as many rows.

    >>> x, residuals, rank, _ = lstsq([[1.0], [1.0]], Variable([1.0, 3.0]))
    >>> x.value.round(9), residuals.value.round(9), int(rank)
    (array([2.]), array([2.]), 1)
    """
    matrix, right = constant(a), constant(b)
    if matrix.ndim != 2 or right.ndim not in (1, 2) or right.shape[0] != matrix.shape[0]:
        raise np.linalg.LinAlgError(
            f"lstsq: expected a matrix and as many rows, got shapes {matrix.shape} and "
            f"{right.shape}"
        )
    rows, columns = matrix.shape
    kind = np.result_type(matrix.dtype, right.dtype)
    if matrix.dtype != kind:
        matrix = matrix.astype(kind)
    if right.dtype != kind:
        right = right.astype(kind)
    precision = float(np.finfo(kind).eps)
    limit = precision * max(rows, columns) if rcond is None else float(rcond)
    # LAPACK's gelsd, which NumPy calls, takes the precision for what is no share.
    limit = limit if 0 < limit < 1 else precision
    singular = _core.svd(matrix)[1] if min(rows, columns) else constant(np.zeros(0, kind))
    # The rank is read of values, so a matrix that follows an input is refused; the singular values
    # of no columns follow none.
    value("lstsq", matrix)
    known = singular.value
    rank = int((known > limit * known[0]).sum()) if known.size else 0
    found: Any = _core.pinv(matrix, limit) @ right
    left = constant(np.zeros(0, kind))
    if rank == columns and rows > columns:
        left = _core.sum(_core.square(right - matrix @ found), 0)
        left = left if right.ndim == 2 else _core.expand_dims(left, 0)
    return found, left, np.int32(rank), singular


def tensorsolve(a: Like, b: Like, axes: Any = None) -> Variable:
    """The x for which ``tensordot(a, x, x.ndim)`` is ``b``; ``axes`` of ``a`` are moved to its end
    first.

    Raises LinAlgError unless the axes of ``a`` behind those of ``b`` have as many elements.

    >>> tensorsolve(np.eye(4).reshape(2, 2, 4), Variable([[1.0, 2.0], [3.0, 4.0]])).value
    array([1., 2., 3., 4.])
    """
    left, right = constant(a), constant(b)
    if axes is not None:
        moved = axes_of("tensorsolve", axes, left.ndim)
        left = _core.transpose(left, [k for k in range(left.ndim) if k not in moved] + list(moved))
    shape = left.shape[right.ndim :]
    count = math.prod(shape)
    if math.prod(left.shape[: right.ndim]) != count:
        raise np.linalg.LinAlgError(
            f"tensorsolve: shape {left.shape} has not as many elements in front as behind; b has "
            f"shape {right.shape}"
        )
    left = fixed(left, "tensorsolve", tuple(range(left.ndim)))
    solved = _core.solve(_core.reshape(left, (count, count)), _core.reshape(right, -1))
    return _core.reshape(solved, shape)


def tensorinv(a: Like, ind: int = 2) -> Variable:
    """The inverse of ``a`` as a map from its last axes to its first ``ind``.

    Raises ValueError unless ``ind`` is positive, LinAlgError unless both have as many elements.

    >>> tensorinv(Variable(np.eye(4).reshape(4, 2, 2)), ind=1).shape
    (2, 2, 4)
    """
    x = constant(a)
    if ind <= 0:
        raise ValueError(f"tensorinv: ind: expected 1 or more, got {ind}")
    first, last = x.shape[:ind], x.shape[ind:]
    count = math.prod(last)
    if math.prod(first) != count:
        raise np.linalg.LinAlgError(
            f"tensorinv: shape {x.shape} has not as many elements before axis {ind} as behind"
        )
    x = fixed(x, "tensorinv", tuple(range(x.ndim)))
    return _core.reshape(_core.inv(_core.reshape(x, (count, count))), (*last, *first))
