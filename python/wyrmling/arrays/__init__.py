"""NumPy's array functions, for variables too.

Each has NumPy's name, arguments and result, takes variables, numbers and whatever NumPy makes an
array of, and is called where NumPy's own is given a variable. They are composed of operators,
which have the derivatives. Most follow the shape of what they are given, so that an input may get
another length later. What computes with a length is *length-specialised*: it holds for arrays of
the same length only, and an input that gets another one raises ValueError.

Here belongs what is composed of other functions, in Python, and has NumPy's arguments. What is an
operator, what Rust is to have too, and what needs to see the graph belongs to ``src/graph/ops``.
A name that is in both (``cumsum``, ``argmax``) is here what users call, and calls the other.

Given nothing but plain arguments they are NumPy's functions. That is their public form, which they
get at the end of this file, in one place for all (see ``wyrmling.plain``). The files beside this
one import each other's functions as they are defined, which always give variables; ``array``, which
is to make one, has that form alone.
"""

from __future__ import annotations

from .. import plain as _plain
from .._core import replace
from . import plain_arguments
from .application import apply_along_axis, apply_over_axes, vectorize
from .concatenators import c_, r_
from .construction import (
    empty_like,
    full,
    full_like,
    geomspace,
    linspace,
    logspace,
    ones_like,
    vander,
    zeros_like,
)
from .contraction import convolve, correlate, cross, einsum, inner, kron, tensordot, vdot
from .correlation import corrcoef, cov
from .differences import diff, ediff1d, gradient, trapezoid
from .histogram import bincount, histogram, histogram2d, histogram_bin_edges, histogramdd
from .indexing import take, take_along_axis
from .insertion import block, delete, insert
from .interpolation import interp
from .joining import (
    append,
    array,
    array_split,
    column_stack,
    dsplit,
    dstack,
    hsplit,
    hstack,
    split,
    vsplit,
    vstack,
)
from .ldexp import ldexp
from .logsumexp import logsumexp
from .nanfunctions import (
    nan_to_num,
    nanargmax,
    nanargmin,
    nancumprod,
    nancumsum,
    nanmax,
    nanmean,
    nanmedian,
    nanmin,
    nanpercentile,
    nanprod,
    nanquantile,
    nanstd,
    nansum,
    nanvar,
)
from .ordering import argmax, argmin, argpartition, argsort, clip, partition, sort
from .padding import pad
from .parts import angle, frexp, imag, isneginf, isposinf, modf, unwrap
from .polynomial import poly, polyadd, polyder, polydiv, polyfit, polyint, polymul, polysub, polyval
from .powers import float_power
from .quantiles import median, percentile, quantile
from .resizing import diagflat, resize, trim_zeros, unstack
from .rounding import around, round
from .selection import choose, compress, extract, piecewise, select
from .sets import (
    intersect1d,
    setdiff1d,
    setxor1d,
    union1d,
    unique,
    unique_all,
    unique_counts,
    unique_inverse,
    unique_values,
)
from .shaping import (
    astype,
    atleast_1d,
    atleast_2d,
    atleast_3d,
    broadcast_arrays,
    copy,
    flip,
    fliplr,
    flipud,
    meshgrid,
    moveaxis,
    ravel,
    repeat,
    roll,
    rollaxis,
    rot90,
    swapaxes,
    tile,
)
from .statistics import (
    average,
    cumprod,
    cumsum,
    cumulative_prod,
    cumulative_sum,
    prod,
    ptp,
    std,
    var,
)
from .storing import copyto, fill_diagonal, place, put, put_along_axis, putmask

__all__ = [
    "angle",
    "append",
    "apply_along_axis",
    "apply_over_axes",
    "argmax",
    "argmin",
    "argpartition",
    "argsort",
    "around",
    "array",
    "array_split",
    "astype",
    "atleast_1d",
    "atleast_2d",
    "atleast_3d",
    "average",
    "bincount",
    "block",
    "broadcast_arrays",
    "c_",
    "choose",
    "clip",
    "column_stack",
    "compress",
    "convolve",
    "copy",
    "copyto",
    "corrcoef",
    "correlate",
    "cov",
    "cross",
    "cumprod",
    "cumsum",
    "cumulative_prod",
    "cumulative_sum",
    "delete",
    "diagflat",
    "diff",
    "dsplit",
    "dstack",
    "ediff1d",
    "einsum",
    "empty_like",
    "extract",
    "fill_diagonal",
    "flip",
    "fliplr",
    "flipud",
    "float_power",
    "frexp",
    "full",
    "full_like",
    "geomspace",
    "gradient",
    "histogram",
    "histogram2d",
    "histogram_bin_edges",
    "histogramdd",
    "hsplit",
    "hstack",
    "imag",
    "inner",
    "insert",
    "interp",
    "intersect1d",
    "isneginf",
    "isposinf",
    "kron",
    "ldexp",
    "linspace",
    "logspace",
    "logsumexp",
    "median",
    "meshgrid",
    "modf",
    "moveaxis",
    "nan_to_num",
    "nanargmax",
    "nanargmin",
    "nancumprod",
    "nancumsum",
    "nanmax",
    "nanmean",
    "nanmedian",
    "nanmin",
    "nanpercentile",
    "nanprod",
    "nanquantile",
    "nanstd",
    "nansum",
    "nanvar",
    "ones_like",
    "pad",
    "partition",
    "percentile",
    "piecewise",
    "place",
    "poly",
    "polyadd",
    "polyder",
    "polydiv",
    "polyfit",
    "polyint",
    "polymul",
    "polysub",
    "polyval",
    "prod",
    "ptp",
    "put",
    "put_along_axis",
    "putmask",
    "quantile",
    "r_",
    "ravel",
    "repeat",
    "replace",
    "resize",
    "roll",
    "rollaxis",
    "rot90",
    "round",
    "select",
    "setdiff1d",
    "setxor1d",
    "sort",
    "split",
    "std",
    "swapaxes",
    "take",
    "take_along_axis",
    "tensordot",
    "tile",
    "trapezoid",
    "trim_zeros",
    "union1d",
    "unique",
    "unique_all",
    "unique_counts",
    "unique_inverse",
    "unique_values",
    "unstack",
    "unwrap",
    "vander",
    "var",
    "vdot",
    "vectorize",
    "vsplit",
    "vstack",
    "zeros_like",
]


def _public() -> dict[str, _plain.Function]:
    """The functions in their public form."""
    functions = {name: globals()[name] for name in __all__ if name != "array"}
    return {
        name: _plain.public(
            function, __name__, plain_arguments.FUNCTIONS.get(name) or _plain.numpys(name)
        )
        for name, function in functions.items()
        if not isinstance(function, type) and callable(function)
    }


globals().update(_public())
