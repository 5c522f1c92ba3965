"""``np.linalg.eigh``, ``svd`` and ``qr`` of variables: NumPy's own factors, with our derivatives.

Factors are unique but for signs (and for turns, where values coincide), and LAPACK's choice is no
convention that could be copied. A function of them must be the same whether it is traced or not, so
that NumPy computes them for variables too, and in frozen programs. ``wyrmling.linalg`` has the
same with a convention for signs, in programs that do not call NumPy.

Limits: of a wide matrix NumPy computes Q and the part of R that belongs to it; the columns beyond
that are Q's product with the matrix, equal to NumPy's but for rounding.
"""

import functools
from collections.abc import Callable
from typing import Any

import numpy as np

from .arrays.operand import Like
from .linalg import matrices


def _transposed(a: Any) -> Any:
    return np.swapaxes(a, -1, -2)


@functools.cache
def _eigh(UPLO: Any) -> Callable[[Any], Any]:
    def packed(a: Any) -> Any:
        # The operator is given the transpose where the upper triangle is meant.
        w, v = np.linalg.eigh(_transposed(a) if UPLO in "Uu" else a, UPLO)
        return np.concatenate([v, w[..., None, :]], axis=-2)

    return packed


@functools.cache
def _svd(full_matrices: bool) -> Callable[[Any], Any]:
    def packed(a: Any) -> Any:
        u, s, vh = np.linalg.svd(a, full_matrices)
        return np.concatenate([s[..., None, :], u, _transposed(vh)], axis=-2)

    return packed


def _qr(a: Any) -> Any:
    return np.concatenate(np.linalg.qr(a), axis=-2)


def eigh(a: Like, UPLO: str = "L") -> matrices.EighResult:
    """Return NumPy's eigenvalues and eigenvectors; see ``wyrmling.linalg.eigh``."""
    return matrices.eigh_by(a, UPLO, _eigh)


def svd(
    a: Like, full_matrices: bool = True, compute_uv: bool = True, hermitian: bool = False
) -> Any:
    """Return NumPy's singular value decomposition; see ``wyrmling.linalg.svd``."""
    by = _svd(bool(full_matrices)) if compute_uv else None
    return matrices.svd_by(a, full_matrices, compute_uv, hermitian, by)


def qr(a: Like, mode: str = "reduced") -> Any:
    """Return NumPy's QR decomposition; see ``wyrmling.linalg.qr``."""
    return matrices.qr_by(a, mode, _qr)


FUNCTIONS: dict[str, Callable[..., Any]] = {"eigh": eigh, "svd": svd, "qr": qr}
