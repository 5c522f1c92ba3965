"""Differentiable linear algebra, with the names, arguments and results of ``numpy.linalg``.

NumPy's own functions call these when they are given a variable, but that the factors of
``np.linalg.eigh``, ``svd`` and ``qr`` are NumPy's own, signs included. Matrices are the last two
axes of an array, and any axes before them hold several; float32 and float64 are kept, and what is
decomposed or solved in float32 is computed in float64 and rounded once.

Where there is no derivative there is an error, and no number that looks like one:

- The gradient of ``det`` is the matrix of cofactors, for singular matrices too.
- Eigenvalues and singular values have a gradient everywhere; that of one which is repeated is one
  of several that would do, and sums over the repeated ones are exact. Their smooth functions (sums
  of powers, norms) have second derivatives there too, by ``hessian``, ``hvp``, or ``jvp`` of
  ``grad``; where the function is not smooth, that raises LinAlgError.
- Asking for a derivative of *vectors* raises LinAlgError where two of their values coincide, or a
  singular value is zero, also for a function that is smooth there as a whole, such as
  ``(v * w) @ v.T``.
- ``qr`` raises LinAlgError in the backward pass if columns depend on each other.
- ``pinv`` is differentiated as if the rank could not change, and what counts as zero were zero:
  where ``rcond`` cuts off singular values that are not, the gradient is not exact.
- A norm has the gradient 0 at zero.

Plain arguments give plain results, to the bit those of a traced run; of integers and booleans the
functions that only multiply, add or move elements are NumPy's, and give integers; of complex
numbers all are NumPy's.

``cholesky`` and ``eigh`` read one triangle, as NumPy's, and what is not read has no gradient:
write ``cholesky((a + a.T) / 2)`` for the symmetric one.

>>> import numpy as np, wyrmling as wy
>>> a = wy.Variable([[2.0, 1.0], [1.0, 3.0]])
>>> np.linalg.slogdet(a).logabsdet.backward()
>>> a.grad.round(6)
array([[ 0.6, -0.2],
       [-0.2,  0.4]])
"""

from __future__ import annotations

from typing import Any

import numpy as np

from .. import plain as _plain
from ..arrays.contraction import tensordot
from ..arrays.least_squares import lstsq, matrix_rank, tensorinv, tensorsolve
from .matrices import (
    EighResult,
    QRResult,
    SlogdetResult,
    SVDResult,
    cholesky,
    cond,
    cross,
    det,
    diagonal,
    eigh,
    eigvalsh,
    inv,
    matmul,
    matrix_norm,
    matrix_power,
    matrix_transpose,
    multi_dot,
    norm,
    outer,
    pinv,
    qr,
    slogdet,
    solve,
    svd,
    svdvals,
    trace,
    vecdot,
    vector_norm,
)

__all__ = [
    "EighResult",
    "QRResult",
    "SVDResult",
    "SlogdetResult",
    "cholesky",
    "cond",
    "cross",
    "det",
    "diagonal",
    "eigh",
    "eigvalsh",
    "inv",
    "lstsq",
    "matmul",
    "matrix_norm",
    "matrix_power",
    "matrix_rank",
    "matrix_transpose",
    "multi_dot",
    "norm",
    "outer",
    "pinv",
    "qr",
    "slogdet",
    "solve",
    "svd",
    "svdvals",
    "tensordot",
    "tensorinv",
    "tensorsolve",
    "trace",
    "vecdot",
    "vector_norm",
]

# Functions that give integers of integers, as NumPy's do.
_EXACT = {"cross", "matmul", "matrix_power", "multi_dot", "tensordot", "trace", "vecdot"}
# Those that move elements or multiply single ones: NumPy's gives the same bits.
_SAME = {"diagonal", "matrix_transpose", "outer"}


def _is_complex(x: Any) -> bool:
    """Whether an argument, or an item of a list of them, holds complex numbers."""
    if isinstance(x, list | tuple):
        return any(map(_is_complex, x))
    kind = getattr(x, "dtype", None)
    return isinstance(x, complex) if kind is None else getattr(kind, "kind", None) == "c"


def _whole(x: Any) -> bool:
    """Whether an argument, or each item of a list of them, holds integers or booleans."""
    if isinstance(x, list | tuple):
        return all(map(_whole, x))
    return np.asarray(x).dtype.kind in "iub"


def _untraced(name: str, ours: _plain.Function, theirs: _plain.Function) -> _plain.Function:
    """NumPy's function for complex numbers, which nothing traced can be, and for integers if it is
    among ``_EXACT``; ours for other numbers.
    """

    def function(*args: Any, **kwargs: Any) -> Any:
        if _is_complex(args) or _is_complex(tuple(kwargs.values())):
            return theirs(*args, **kwargs)
        if name in _EXACT:
            inverts = name == "matrix_power" and any(np.ndim(n) == 0 and n < 0 for n in args[1:])
            operands = args[:2] if name in ("cross", "tensordot") else args
            if args and all(map(_whole, operands)) and not inverts:
                return theirs(*args, **kwargs)
        return _plain.value(ours(*args, **kwargs))

    return function


def _public() -> dict[str, _plain.Function]:
    """The functions in their public form."""
    made = {}
    for name in __all__:
        ours = globals()[name]
        if isinstance(ours, type):
            continue
        theirs = vars(np.linalg).get(name)
        if theirs is not None and name not in _SAME:
            theirs = _untraced(name, ours, theirs)
        made[name] = _plain.public(ours, __name__, theirs)
    return made


globals().update(_public())
