"""Elementwise functions against NumPy and SciPy: values, edges, types, and every name.

All of it is made from the rule table: an entry that is added is tested.
"""

import runpy
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import scipy.special
from conftest import numeric_gradient

import wyrmling as wy
from wyrmling import _core

stubs = runpy.run_path(str(Path(__file__).parent.parent / "scripts" / "stubs.py"))
ENTRIES = {entry["function"]: entry for entry in stubs["ENTRIES"]}

# What neither NumPy nor SciPy has, in NumPy's functions.
OTHERS = {
    "softplus": lambda x: np.logaddexp(0, x),
    "relu": lambda x: np.maximum(x, 0),
    "sec": lambda x: 1 / np.cos(x),
    "csc": lambda x: 1 / np.sin(x),
    "cot": lambda x: 1 / np.tan(x),
    "arcsec": lambda x: np.arccos(1 / x),
    "arccsc": lambda x: np.arcsin(1 / x),
    "arccot": lambda x: np.arctan(1 / x),
    "secd": lambda x: 1 / np.cos(np.deg2rad(x)),
    "cscd": lambda x: 1 / np.sin(np.deg2rad(x)),
    "arcsind": lambda x: np.rad2deg(np.arcsin(x)),
    "arccosd": lambda x: np.rad2deg(np.arccos(x)),
    "arctand": lambda x: np.rad2deg(np.arctan(x)),
    "arcsecd": lambda x: np.rad2deg(np.arccos(1 / x)),
    "arccscd": lambda x: np.rad2deg(np.arcsin(1 / x)),
    "arccotd": lambda x: np.rad2deg(np.arctan(1 / x)),
    "sinpi": lambda x: np.sin(np.pi * x),
    "cospi": lambda x: np.cos(np.pi * x),
    "sech": lambda x: 1 / np.cosh(x),
    "csch": lambda x: 1 / np.sinh(x),
    "coth": lambda x: 1 / np.tanh(x),
    "arcsech": lambda x: np.arccosh(1 / x),
    "arccsch": lambda x: np.arcsinh(1 / x),
    "arccoth": lambda x: np.arctanh(1 / x),
    "trigamma": lambda x: scipy.special.polygamma(1, x),
}
# Derivatives have no name elsewhere: their values are tested as those of what they derive.
DERIVATIVES = {"sinc_derivative", "ellipk_derivative"}
ORDERS = [0, 1, 2, 3, 10, -1, -2]
USUAL = [0.0, -0.0, 0.5, -0.5, 1.0, -1.0, 2.0, -2.0, 1e-300, -1e-300, np.inf, -np.inf, np.nan]
SPARSE = [0.0, 0.5, -0.5, 1.0, -1.0, 2.0, -2.0, -5.0, 7.0, np.inf, -np.inf, np.nan]

# Where the reference has NaN, zero or infinity for lack of trying, and what we have instead.
LIMITS = {
    **dict.fromkeys(["j0", "j1", "jn", "y0", "y1", "yn"], "0 at infinity, the limit"),
    **dict.fromkeys(["i0", "i1", "iv"], "infinite at infinity, the limit"),
    **dict.fromkeys(["sind", "cosd", "tand", "cotd"], "NaN at infinity, where there is no limit"),
    "ellipk": "no difference known",
}


def reference(name):
    entry = ENTRIES[name]
    if name in OTHERS:
        return OTHERS[name]
    if entry["numpy"]:
        found = [n for n in entry["numpy"] if hasattr(np, n)]
        return getattr(np, found[0])
    return getattr(scipy.special, entry["scipy"][0])


def draw(domain, count, rng):
    parts = [rng.uniform(low, high, count) for low, high in domain]
    return np.concatenate(parts)


def orders(name):
    if not ENTRIES[name]["ordered"]:
        return [()]
    return [(n,) for n in ORDERS if n >= 0 or name != "polygamma"]


def compare(name, ours, theirs, x, tolerance):
    """Equal to the tolerance, relative, or absolute next to a zero."""
    small = tolerance * (1e-3 if name in {"gammaln", "loggamma", "digamma", "polygamma"} else 1)
    np.testing.assert_allclose(ours, theirs, rtol=tolerance, atol=small * 0.1, err_msg=f"{name}{x}")


@pytest.mark.parametrize("name", sorted(set(ENTRIES) - DERIVATIVES))
def test_values_on_the_domain(name, rng):
    entry, ours, theirs = ENTRIES[name], getattr(_core, name), reference(name)
    for dtype, tolerance in [(np.float64, 1e-13), (np.float32, 3e-7)]:
        for n in orders(name):
            args = [draw(domain, 200, rng).astype(dtype) for domain in entry["domains"]]
            args = [rng.permutation(a)[:200] for a in args]
            y = ours(*n, *args)
            assert y.dtype == dtype
            with np.errstate(all="ignore"):
                expected = theirs(*n, *(a.astype(np.float64) for a in args))
            compare(name, y.value, expected, n, tolerance)


@pytest.mark.parametrize("name", sorted(set(ENTRIES) - DERIVATIVES))
def test_values_at_edges(name):
    entry, ours, theirs = ENTRIES[name], getattr(_core, name), reference(name)
    for n in orders(name):
        if len(entry["domains"]) == 1:
            args = [np.array(USUAL + entry["edges"])]
        else:
            points = np.array(SPARSE + [x for x in entry["edges"] if abs(x) < 100])
            args = [a.ravel() for a in np.meshgrid(points, points)]
        with np.errstate(all="ignore"):
            expected = np.asarray(theirs(*n, *args), np.float64)
        found = ours(*n, *args).value
        told = EXCEPTIONS.get(name)
        for at, (y, want) in enumerate(zip(found, expected, strict=True)):
            x = tuple(float(a[at]) for a in args)
            if told and told(*n, *x):
                continue
            compare(name, y, want, (*n, *x), 2e-13)


EXCEPTIONS = {}
