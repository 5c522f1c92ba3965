"""NumPy's array functions, for variables too.

Each has NumPy's name, arguments and result, takes variables, numbers and whatever NumPy makes an
array of, and is called where NumPy's own is given a variable. They are composed of operators,
which have the derivatives. Most follow the shape of what they are given, so that an input may get
another length later; what computes with a length says so and then raises ValueError.

Here belongs what is composed of other functions, in Python, and has NumPy's arguments. What is an
operator, what Rust is to have too, and what needs to see the graph belongs to ``src/graph/ops``.
A name that is in both (``where``, ``trace``) is here what users call, and calls the other.
"""

from .._core import replace
from .application import apply_along_axis, vectorize
from .concatenators import c_, r_
from .construction import full, geomspace, linspace, logspace, vander
from .contraction import convolve, correlate, cross, einsum, inner, kron, tensordot, trace, vdot
from .correlation import corrcoef, cov
from .differences import diff, ediff1d, gradient, trapezoid
from .indexing import take, take_along_axis, where
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
    pad,
    split,
    vsplit,
    vstack,
)
from .ldexp import ldexp
from .logsumexp import logsumexp
from .nanfunctions import (
    nan_to_num,
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
from .polynomial import polyval
from .powers import float_power
from .quantiles import median, percentile, quantile
from .rounding import around, round
from .selection import piecewise, select
from .sets import unique
from .shaping import (
    astype,
    atleast_1d,
    atleast_2d,
    atleast_3d,
    broadcast_arrays,
    copy,
    empty_like,
    flip,
    fliplr,
    flipud,
    full_like,
    meshgrid,
    moveaxis,
    ones_like,
    ravel,
    repeat,
    roll,
    rollaxis,
    rot90,
    swapaxes,
    tile,
    zeros_like,
)
from .statistics import average, cumprod, cumsum, prod, ptp, std, var

__all__ = [
    "append",
    "apply_along_axis",
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
    "block",
    "broadcast_arrays",
    "c_",
    "clip",
    "column_stack",
    "convolve",
    "copy",
    "corrcoef",
    "correlate",
    "cov",
    "cross",
    "cumprod",
    "cumsum",
    "delete",
    "diff",
    "dsplit",
    "dstack",
    "ediff1d",
    "einsum",
    "empty_like",
    "flip",
    "fliplr",
    "flipud",
    "float_power",
    "full",
    "full_like",
    "geomspace",
    "gradient",
    "hsplit",
    "hstack",
    "inner",
    "insert",
    "interp",
    "kron",
    "ldexp",
    "linspace",
    "logspace",
    "logsumexp",
    "median",
    "meshgrid",
    "moveaxis",
    "nan_to_num",
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
    "polyval",
    "prod",
    "ptp",
    "quantile",
    "r_",
    "ravel",
    "repeat",
    "replace",
    "roll",
    "rollaxis",
    "rot90",
    "round",
    "select",
    "sort",
    "split",
    "std",
    "swapaxes",
    "take",
    "take_along_axis",
    "tensordot",
    "tile",
    "trace",
    "trapezoid",
    "unique",
    "vander",
    "var",
    "vdot",
    "vectorize",
    "vsplit",
    "vstack",
    "where",
    "zeros_like",
]
