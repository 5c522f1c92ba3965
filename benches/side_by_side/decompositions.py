"""Decompositions, and what is solved with them, beside NumPy's LAPACK."""

from __future__ import annotations

import argparse
import contextlib
import io
from collections.abc import Callable
from typing import Any

import numpy as np

import wyrmling as wy

from .peers import Peers
from .rows import OURS, Row, Target, micro, microseconds


def blas() -> str:
    """NumPy's library and its threads, as far as NumPy says."""
    shown = io.StringIO()
    with contextlib.redirect_stdout(shown):
        np.show_config()
    text = shown.getvalue()
    return "OpenBLAS" if "openblas" in text.lower() else "BLAS"


FUNCTIONS: dict[str, Callable[[Any, Any], Any]] = {
    "eigh": lambda lin, a: lin.eigh(a)[0],
    "svd": lambda lin, a: lin.svd(a)[1],
    "inv": lambda lin, a: lin.inv(a),
    "solve": lambda lin, a: lin.solve(a, a[:, :8]),
    "cholesky": lambda lin, a: lin.cholesky(a),
    "qr": lambda lin, a: lin.qr(a)[1],
    "det": lambda lin, a: lin.det(a),
}


def decomposition(name: str, n: int) -> Callable[[Peers, argparse.Namespace], Row]:
    """The row of a function of a symmetric positive definite matrix of ``n`` rows."""

    def row(peers: Peers, options: argparse.Namespace) -> Row:
        rng = np.random.default_rng(1)
        a = rng.normal(size=(n, n))
        a = a @ a.T / n + np.eye(n)
        f = FUNCTIONS[name]
        found = f(wy.linalg, wy.Variable(a))
        np.testing.assert_allclose(abs(found.value), abs(f(np.linalg, a)), rtol=1e-6, atol=1e-8)
        sides = {
            OURS: micro(lambda: f(wy.linalg, wy.Variable(a))),
            "NumPy": micro(lambda: f(np.linalg, a)),
        }
        targets = []
        if n == 300 and name in ("eigh", "svd", "inv", "solve"):
            targets.append(Target("at most 1.5 times NumPy", OURS, "NumPy", most=1.5))
        title = (
            f"{name} of {n} rows, float64; ours one thread, NumPy's {blas()} as many as it takes"
        )
        return Row(title, "µs", microseconds, sides, targets, repeats=7)

    return row


ROWS = {f"{name}-{n}": decomposition(name, n) for name in FUNCTIONS for n in (30, 100, 300, 1000)}
