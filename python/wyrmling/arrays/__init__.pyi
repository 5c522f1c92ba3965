# Of arrays, for type checkers: written by scripts/stubs.py

from collections.abc import Callable, Sequence
from typing import Any, Literal, overload

import numpy.typing as npt

from .._core import Variable, _Like
from .application import vectorize as vectorize
from .concatenators import c_ as c_
from .concatenators import r_ as r_
from .operand import Array, Axis, Like
from .sets import UniqueAllResult, UniqueCountsResult, UniqueInverseResult

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

def angle(z: Like, deg: bool = ..., *args: Any, **kwargs: Any) -> Any: ...
@overload
def append(arr: Variable, values: Like, axis: int | None = ...) -> Variable: ...
@overload
def append(arr: Like, values: Variable, axis: int | None = ...) -> Variable: ...
@overload
def append(arr: Like, values: Like, axis: int | None = ..., *args: Any, **kwargs: Any) -> Any: ...
@overload
def apply_along_axis(
    func1d: Callable[..., Any], axis: int, arr: Variable, *args: Any, **kwargs: Any
) -> Variable: ...
@overload
def apply_along_axis(
    func1d: Callable[..., Any], axis: int, arr: Like, *args: Any, **kwargs: Any
) -> Any: ...
def apply_over_axes(
    func: Callable[..., Any], a: Like, axes: Axis, *args: Any, **kwargs: Any
) -> Any: ...
def argmax(a: Like, axis: int | None = ..., out: Any = ..., *, keepdims: bool = ...) -> Any: ...
def argmin(a: Like, axis: int | None = ..., out: Any = ..., *, keepdims: bool = ...) -> Any: ...
def argpartition(
    a: Like,
    kth: Any,
    axis: int | None = ...,
    kind: str = ...,
    order: None = ...,
    *args: Any,
    **kwargs: Any,
) -> Any: ...
def argsort(
    a: Like,
    axis: int | None = ...,
    kind: str | None = ...,
    order: None = ...,
    *,
    stable: bool | None = ...,
) -> Any: ...
def around(
    a: Like, decimals: int = ..., out: Variable | None = ..., *args: Any, **kwargs: Any
) -> Any: ...
def array(
    object: Any,
    dtype: npt.DTypeLike | None = ...,
    *,
    copy: bool = ...,
    order: Literal["K", "A", "C", "F"] = ...,
    subok: bool = ...,
    ndmin: int = ...,
    like: Any = ...,
) -> Variable: ...
@overload
def array_split(
    ary: Variable, indices_or_sections: int | Sequence[int] | Array, axis: int = ...
) -> list[Variable]: ...
@overload
def array_split(
    ary: Like,
    indices_or_sections: int | Sequence[int] | Array,
    axis: int = ...,
    *args: Any,
    **kwargs: Any,
) -> Any: ...
def astype(
    x: Like,
    dtype: npt.DTypeLike,
    order: Literal["K", "A", "C", "F"] = ...,
    casting: Literal["no", "equiv", "safe", "same_kind", "unsafe"] = ...,
    subok: bool = ...,
    copy: bool = ...,
    *,
    device: Literal["cpu"] | None = ...,
) -> Any: ...
def atleast_1d(*arrays: Like) -> Any: ...
def atleast_2d(*arrays: Like) -> Any: ...
def atleast_3d(*arrays: Like) -> Any: ...
def average(
    a: Like,
    axis: Axis = ...,
    weights: Like | None = ...,
    returned: bool = ...,
    *,
    keepdims: bool = ...,
) -> Any: ...
def bincount(
    x: Any, weights: Like | None = ..., minlength: int = ..., *args: Any, **kwargs: Any
) -> Any: ...
def block(arrays: Any, *args: Any, **kwargs: Any) -> Variable: ...
def broadcast_arrays(*arrays: Like, subok: bool = ...) -> tuple[Variable, ...]: ...
def choose(
    a: Any, choices: Sequence[Like], out: Any = ..., mode: str = ..., *args: Any, **kwargs: Any
) -> Any: ...
def clip(
    a: Like,
    a_min: Like | None = ...,
    a_max: Like | None = ...,
    out: Variable | None = ...,
    *,
    min: Like | None = ...,
    max: Like | None = ...,
    where: Any = ...,
    dtype: npt.DTypeLike | None = ...,
) -> Any: ...
@overload
def column_stack(tup: Sequence[Variable]) -> Variable: ...
@overload
def column_stack(tup: Sequence[Like], *args: Any, **kwargs: Any) -> Any: ...
def compress(
    condition: Any, a: Like, axis: int | None = ..., out: Any = ..., *args: Any, **kwargs: Any
) -> Any: ...
@overload
def convolve(a: Variable, v: Like, mode: Literal["full", "same", "valid"] = ...) -> Variable: ...
@overload
def convolve(a: Like, v: Variable, mode: Literal["full", "same", "valid"] = ...) -> Variable: ...
@overload
def convolve(
    a: Like, v: Like, mode: Literal["full", "same", "valid"] = ..., *args: Any, **kwargs: Any
) -> Any: ...
@overload
def copy(a: Variable, order: Literal["K", "A", "C", "F"] = ..., subok: bool = ...) -> Variable: ...
@overload
def copy(
    a: Like, order: Literal["K", "A", "C", "F"] = ..., subok: bool = ..., *args: Any, **kwargs: Any
) -> Any: ...
@overload
def copyto(
    dst: Any,
    src: Variable,
    casting: Literal["no", "equiv", "safe", "same_kind", "unsafe"] = ...,
    where: Any = ...,
) -> None: ...
@overload
def copyto(
    dst: Any,
    src: Like,
    casting: Literal["no", "equiv", "safe", "same_kind", "unsafe"] = ...,
    where: Any = ...,
    *args: Any,
    **kwargs: Any,
) -> Any: ...
@overload
def corrcoef(
    x: Variable, y: Like | None = ..., rowvar: bool = ..., *, dtype: npt.DTypeLike | None = ...
) -> Variable: ...
@overload
def corrcoef(
    x: Like, y: Like | None = ..., rowvar: bool = ..., *, dtype: npt.DTypeLike | None = ...
) -> Any: ...
@overload
def correlate(a: Variable, v: Like, mode: Literal["valid", "same", "full"] = ...) -> Variable: ...
@overload
def correlate(a: Like, v: Variable, mode: Literal["valid", "same", "full"] = ...) -> Variable: ...
@overload
def correlate(
    a: Like, v: Like, mode: Literal["valid", "same", "full"] = ..., *args: Any, **kwargs: Any
) -> Any: ...
@overload
def cov(
    m: Variable,
    y: Like | None = ...,
    rowvar: bool = ...,
    bias: bool = ...,
    ddof: int | None = ...,
    fweights: npt.ArrayLike | None = ...,
    aweights: Like | None = ...,
    *,
    dtype: npt.DTypeLike | None = ...,
) -> Variable: ...
@overload
def cov(
    m: Like,
    y: Like | None = ...,
    rowvar: bool = ...,
    bias: bool = ...,
    ddof: int | None = ...,
    fweights: npt.ArrayLike | None = ...,
    aweights: Like | None = ...,
    *,
    dtype: npt.DTypeLike | None = ...,
) -> Any: ...
@overload
def cross(
    a: Variable,
    b: Like,
    axisa: int = ...,
    axisb: int = ...,
    axisc: int = ...,
    axis: int | None = ...,
) -> Variable: ...
@overload
def cross(
    a: Like,
    b: Variable,
    axisa: int = ...,
    axisb: int = ...,
    axisc: int = ...,
    axis: int | None = ...,
) -> Variable: ...
@overload
def cross(
    a: Like,
    b: Like,
    axisa: int = ...,
    axisb: int = ...,
    axisc: int = ...,
    axis: int | None = ...,
    *args: Any,
    **kwargs: Any,
) -> Any: ...
def cumprod(
    a: Like,
    axis: int | None = ...,
    dtype: npt.DTypeLike | None = ...,
    out: Variable | None = ...,
    *args: Any,
    **kwargs: Any,
) -> Any: ...
def cumsum(
    a: Like,
    axis: int | None = ...,
    dtype: npt.DTypeLike | None = ...,
    out: Variable | None = ...,
    *args: Any,
    **kwargs: Any,
) -> Any: ...
def cumulative_prod(
    x: Like,
    /,
    *,
    axis: int | None = ...,
    dtype: npt.DTypeLike | None = ...,
    out: Any = ...,
    include_initial: bool = ...,
) -> Any: ...
def cumulative_sum(
    x: Like,
    /,
    *,
    axis: int | None = ...,
    dtype: npt.DTypeLike | None = ...,
    out: Any = ...,
    include_initial: bool = ...,
) -> Any: ...
@overload
def delete(arr: Variable, obj: Any, axis: int | None = ...) -> Variable: ...
@overload
def delete(arr: Like, obj: Any, axis: int | None = ..., *args: Any, **kwargs: Any) -> Any: ...
def diagflat(v: Like, k: int = ..., *args: Any, **kwargs: Any) -> Any: ...
@overload
def diff(
    a: Variable,
    n: int = ...,
    axis: int = ...,
    prepend: Like | None = ...,
    append: Like | None = ...,
) -> Variable: ...
@overload
def diff(
    a: Like,
    n: int = ...,
    axis: int = ...,
    prepend: Like | None = ...,
    append: Like | None = ...,
    *args: Any,
    **kwargs: Any,
) -> Any: ...
@overload
def dsplit(ary: Variable, indices_or_sections: int | Sequence[int] | Array) -> list[Variable]: ...
@overload
def dsplit(
    ary: Like, indices_or_sections: int | Sequence[int] | Array, *args: Any, **kwargs: Any
) -> Any: ...
@overload
def dstack(tup: Sequence[Variable]) -> Variable: ...
@overload
def dstack(tup: Sequence[Like], *args: Any, **kwargs: Any) -> Any: ...
@overload
def ediff1d(ary: Variable, to_end: Like | None = ..., to_begin: Like | None = ...) -> Variable: ...
@overload
def ediff1d(
    ary: Like, to_end: Like | None = ..., to_begin: Like | None = ..., *args: Any, **kwargs: Any
) -> Any: ...
def einsum(
    *operands: Any,
    out: Variable | None = ...,
    dtype: npt.DTypeLike | None = ...,
    order: Literal["K", "A", "C", "F"] = ...,
    casting: str = ...,
    optimize: Any = ...,
) -> Any: ...
def empty_like(
    prototype: Like,
    dtype: npt.DTypeLike | None = ...,
    order: Literal["K", "A", "C", "F"] = ...,
    subok: bool = ...,
    shape: int | Sequence[int] | None = ...,
    *,
    device: Literal["cpu"] | None = ...,
) -> Any: ...
def extract(condition: Any, arr: Like, *args: Any, **kwargs: Any) -> Any: ...
@overload
def fill_diagonal(a: Any, val: Variable, wrap: bool = ...) -> None: ...
@overload
def fill_diagonal(a: Any, val: Like, wrap: bool = ..., *args: Any, **kwargs: Any) -> Any: ...
@overload
def flip(m: Variable, axis: Axis = ...) -> Variable: ...
@overload
def flip(m: Like, axis: Axis = ..., *args: Any, **kwargs: Any) -> Any: ...
@overload
def fliplr(m: Variable) -> Variable: ...
@overload
def fliplr(m: Like, *args: Any, **kwargs: Any) -> Any: ...
@overload
def flipud(m: Variable) -> Variable: ...
@overload
def flipud(m: Like, *args: Any, **kwargs: Any) -> Any: ...
@overload
def float_power(x1: Variable, x2: Like) -> Variable: ...
@overload
def float_power(x1: Like, x2: Variable) -> Variable: ...
@overload
def float_power(x1: Like, x2: Like, *args: Any, **kwargs: Any) -> Any: ...
@overload
def frexp(x: Variable, /) -> tuple[Variable, Any]: ...
@overload
def frexp(x: Like, /, *args: Any, **kwargs: Any) -> Any: ...
def full(
    shape: int | Sequence[int],
    fill_value: Like,
    dtype: npt.DTypeLike | None = ...,
    order: Literal["C", "F"] = ...,
    *,
    device: Literal["cpu"] | None = ...,
    like: Any = ...,
) -> Any: ...
def full_like(
    a: Like,
    fill_value: Like,
    dtype: npt.DTypeLike | None = ...,
    order: Literal["K", "A", "C", "F"] = ...,
    subok: bool = ...,
    shape: int | Sequence[int] | None = ...,
    *,
    device: Literal["cpu"] | None = ...,
) -> Any: ...
def geomspace(
    start: Like,
    stop: Like,
    num: int = ...,
    endpoint: bool = ...,
    dtype: npt.DTypeLike | None = ...,
    axis: int = ...,
    *args: Any,
    **kwargs: Any,
) -> Any: ...
def gradient(f: Like, *varargs: Like, axis: Axis = ..., edge_order: int = ...) -> Any: ...
@overload
def histogram(
    a: Variable,
    bins: Any = ...,
    range: tuple[float, float] | None = ...,
    density: bool | None = ...,
    weights: Like | None = ...,
) -> tuple[Any, Any]: ...
@overload
def histogram(
    a: Like,
    bins: Any = ...,
    range: tuple[float, float] | None = ...,
    density: bool | None = ...,
    weights: Like | None = ...,
    *args: Any,
    **kwargs: Any,
) -> Any: ...
@overload
def histogram2d(
    x: Variable,
    y: Like,
    bins: Any = ...,
    range: Sequence[Any] | None = ...,
    density: bool | None = ...,
    weights: Like | None = ...,
) -> tuple[Any, Any, Any]: ...
@overload
def histogram2d(
    x: Like,
    y: Variable,
    bins: Any = ...,
    range: Sequence[Any] | None = ...,
    density: bool | None = ...,
    weights: Like | None = ...,
) -> tuple[Any, Any, Any]: ...
@overload
def histogram2d(
    x: Like,
    y: Like,
    bins: Any = ...,
    range: Sequence[Any] | None = ...,
    density: bool | None = ...,
    weights: Like | None = ...,
    *args: Any,
    **kwargs: Any,
) -> Any: ...
def histogram_bin_edges(
    a: Like,
    bins: Any = ...,
    range: tuple[float, float] | None = ...,
    weights: Like | None = ...,
    *args: Any,
    **kwargs: Any,
) -> Any: ...
def histogramdd(
    sample: Any,
    bins: Any = ...,
    range: Sequence[Any] | None = ...,
    density: bool | None = ...,
    weights: Like | None = ...,
    *args: Any,
    **kwargs: Any,
) -> tuple[Any, list[Any]]: ...
@overload
def hsplit(ary: Variable, indices_or_sections: int | Sequence[int] | Array) -> list[Variable]: ...
@overload
def hsplit(
    ary: Like, indices_or_sections: int | Sequence[int] | Array, *args: Any, **kwargs: Any
) -> Any: ...
@overload
def hstack(
    tup: Sequence[Variable],
    *,
    dtype: npt.DTypeLike | None = ...,
    casting: Literal["no", "equiv", "safe", "same_kind", "unsafe"] = ...,
) -> Variable: ...
@overload
def hstack(
    tup: Sequence[Like],
    *,
    dtype: npt.DTypeLike | None = ...,
    casting: Literal["no", "equiv", "safe", "same_kind", "unsafe"] = ...,
) -> Any: ...
def imag(val: Like, *args: Any, **kwargs: Any) -> Any: ...
@overload
def inner(a: Variable, b: Like) -> Variable: ...
@overload
def inner(a: Like, b: Variable) -> Variable: ...
@overload
def inner(a: Like, b: Like, *args: Any, **kwargs: Any) -> Any: ...
@overload
def insert(arr: Variable, obj: Any, values: Like, axis: int | None = ...) -> Variable: ...
@overload
def insert(arr: Like, obj: Any, values: Variable, axis: int | None = ...) -> Variable: ...
@overload
def insert(
    arr: Like, obj: Any, values: Like, axis: int | None = ..., *args: Any, **kwargs: Any
) -> Any: ...
@overload
def interp(
    x: Variable,
    xp: Like,
    fp: Like,
    left: Like | None = ...,
    right: Like | None = ...,
    period: float | None = ...,
) -> Variable: ...
@overload
def interp(
    x: Like,
    xp: Variable,
    fp: Like,
    left: Like | None = ...,
    right: Like | None = ...,
    period: float | None = ...,
) -> Variable: ...
@overload
def interp(
    x: Like,
    xp: Like,
    fp: Variable,
    left: Like | None = ...,
    right: Like | None = ...,
    period: float | None = ...,
) -> Variable: ...
@overload
def interp(
    x: Like,
    xp: Like,
    fp: Like,
    left: Like | None = ...,
    right: Like | None = ...,
    period: float | None = ...,
    *args: Any,
    **kwargs: Any,
) -> Any: ...
def intersect1d(
    ar1: Like,
    ar2: Like,
    assume_unique: bool = ...,
    return_indices: bool = ...,
    *args: Any,
    **kwargs: Any,
) -> Any: ...
def isneginf(x: Like, out: Any = ..., *args: Any, **kwargs: Any) -> Any: ...
def isposinf(x: Like, out: Any = ..., *args: Any, **kwargs: Any) -> Any: ...
@overload
def kron(a: Variable, b: Like) -> Variable: ...
@overload
def kron(a: Like, b: Variable) -> Variable: ...
@overload
def kron(a: Like, b: Like, *args: Any, **kwargs: Any) -> Any: ...
@overload
def ldexp(x1: Variable, x2: Like) -> Variable: ...
@overload
def ldexp(x1: Like, x2: Variable) -> Variable: ...
@overload
def ldexp(x1: Like, x2: Like, *args: Any, **kwargs: Any) -> Any: ...
def linspace(
    start: Like,
    stop: Like,
    num: int = ...,
    endpoint: bool = ...,
    retstep: bool = ...,
    dtype: npt.DTypeLike | None = ...,
    axis: int = ...,
    *,
    device: Literal["cpu"] | None = ...,
) -> Any: ...
def logspace(
    start: Like,
    stop: Like,
    num: int = ...,
    endpoint: bool = ...,
    base: Like = ...,
    dtype: npt.DTypeLike | None = ...,
    axis: int = ...,
    *args: Any,
    **kwargs: Any,
) -> Any: ...
def logsumexp(
    a: Any, axis: Any = ..., b: Any = ..., keepdims: bool = ..., return_sign: bool = ...
) -> Any: ...
def median(
    a: Like,
    axis: Axis = ...,
    out: Variable | None = ...,
    overwrite_input: bool = ...,
    keepdims: bool = ...,
    *args: Any,
    **kwargs: Any,
) -> Any: ...
def meshgrid(
    *xi: Like, copy: bool = ..., sparse: bool = ..., indexing: Literal["xy", "ij"] = ...
) -> tuple[Variable, ...]: ...
@overload
def modf(x: Variable, /) -> tuple[Variable, Variable]: ...
@overload
def modf(x: Like, /, *args: Any, **kwargs: Any) -> Any: ...
@overload
def moveaxis(
    a: Variable, source: int | Sequence[int], destination: int | Sequence[int]
) -> Variable: ...
@overload
def moveaxis(
    a: Like,
    source: int | Sequence[int],
    destination: int | Sequence[int],
    *args: Any,
    **kwargs: Any,
) -> Any: ...
@overload
def nan_to_num(
    x: Variable,
    copy: bool = ...,
    nan: Like = ...,
    posinf: Like | None = ...,
    neginf: Like | None = ...,
) -> Variable: ...
@overload
def nan_to_num(
    x: Like,
    copy: bool = ...,
    nan: Like = ...,
    posinf: Like | None = ...,
    neginf: Like | None = ...,
    *args: Any,
    **kwargs: Any,
) -> Any: ...
def nanargmax(a: Like, axis: int | None = ..., out: Any = ..., *, keepdims: bool = ...) -> Any: ...
def nanargmin(a: Like, axis: int | None = ..., out: Any = ..., *, keepdims: bool = ...) -> Any: ...
def nancumprod(
    a: Like,
    axis: int | None = ...,
    dtype: npt.DTypeLike | None = ...,
    out: Variable | None = ...,
    *args: Any,
    **kwargs: Any,
) -> Any: ...
def nancumsum(
    a: Like,
    axis: int | None = ...,
    dtype: npt.DTypeLike | None = ...,
    out: Variable | None = ...,
    *args: Any,
    **kwargs: Any,
) -> Any: ...
def nanmax(
    a: Like,
    axis: Axis = ...,
    out: Variable | None = ...,
    keepdims: bool = ...,
    initial: Like | None = ...,
    where: Any = ...,
    *args: Any,
    **kwargs: Any,
) -> Any: ...
def nanmean(
    a: Like,
    axis: Axis = ...,
    dtype: npt.DTypeLike | None = ...,
    out: Variable | None = ...,
    keepdims: bool = ...,
    *,
    where: Any = ...,
) -> Any: ...
def nanmedian(
    a: Like,
    axis: Axis = ...,
    out: Variable | None = ...,
    overwrite_input: bool = ...,
    keepdims: bool = ...,
    *args: Any,
    **kwargs: Any,
) -> Any: ...
def nanmin(
    a: Like,
    axis: Axis = ...,
    out: Variable | None = ...,
    keepdims: bool = ...,
    initial: Like | None = ...,
    where: Any = ...,
    *args: Any,
    **kwargs: Any,
) -> Any: ...
def nanpercentile(
    a: Like,
    q: Any,
    axis: Axis = ...,
    out: Variable | None = ...,
    overwrite_input: bool = ...,
    method: str = ...,
    keepdims: bool = ...,
    *,
    weights: None = ...,
) -> Any: ...
def nanprod(
    a: Like,
    axis: Axis = ...,
    dtype: npt.DTypeLike | None = ...,
    out: Variable | None = ...,
    keepdims: bool = ...,
    initial: Like | None = ...,
    where: Any = ...,
    *args: Any,
    **kwargs: Any,
) -> Any: ...
def nanquantile(
    a: Like,
    q: Any,
    axis: Axis = ...,
    out: Variable | None = ...,
    overwrite_input: bool = ...,
    method: str = ...,
    keepdims: bool = ...,
    *,
    weights: None = ...,
) -> Any: ...
def nanstd(
    a: Like,
    axis: Axis = ...,
    dtype: npt.DTypeLike | None = ...,
    out: Variable | None = ...,
    ddof: float = ...,
    keepdims: bool = ...,
    *,
    where: Any = ...,
    mean: Like | None = ...,
    correction: float | None = ...,
) -> Any: ...
def nansum(
    a: Like,
    axis: Axis = ...,
    dtype: npt.DTypeLike | None = ...,
    out: Variable | None = ...,
    keepdims: bool = ...,
    initial: Like | None = ...,
    where: Any = ...,
    *args: Any,
    **kwargs: Any,
) -> Any: ...
def nanvar(
    a: Like,
    axis: Axis = ...,
    dtype: npt.DTypeLike | None = ...,
    out: Variable | None = ...,
    ddof: float = ...,
    keepdims: bool = ...,
    *,
    where: Any = ...,
    mean: Like | None = ...,
    correction: float | None = ...,
) -> Any: ...
def ones_like(
    a: Like,
    dtype: npt.DTypeLike | None = ...,
    order: Literal["K", "A", "C", "F"] = ...,
    subok: bool = ...,
    shape: int | Sequence[int] | None = ...,
    *,
    device: Literal["cpu"] | None = ...,
) -> Any: ...
@overload
def pad(array: Variable, pad_width: Any, mode: str = ..., **kwargs: Any) -> Variable: ...
@overload
def pad(array: Like, pad_width: Any, mode: str = ..., **kwargs: Any) -> Any: ...
@overload
def partition(
    a: Variable, kth: Any, axis: int | None = ..., kind: str = ..., order: None = ...
) -> Variable: ...
@overload
def partition(
    a: Like,
    kth: Any,
    axis: int | None = ...,
    kind: str = ...,
    order: None = ...,
    *args: Any,
    **kwargs: Any,
) -> Any: ...
def percentile(
    a: Like,
    q: Any,
    axis: Axis = ...,
    out: Variable | None = ...,
    overwrite_input: bool = ...,
    method: str = ...,
    keepdims: bool = ...,
    *,
    weights: None = ...,
) -> Any: ...
@overload
def piecewise(
    x: Variable, condlist: Any, funclist: Sequence[Callable[..., Any] | Like], *args: Any, **kw: Any
) -> Variable: ...
@overload
def piecewise(
    x: Like, condlist: Any, funclist: Sequence[Callable[..., Any] | Like], *args: Any, **kw: Any
) -> Any: ...
@overload
def place(arr: Any, mask: Any, vals: Variable) -> None: ...
@overload
def place(arr: Any, mask: Any, vals: Like, *args: Any, **kwargs: Any) -> Any: ...
def poly(seq_of_zeros: Like, *args: Any, **kwargs: Any) -> Any: ...
def polyadd(a1: Like, a2: Like, *args: Any, **kwargs: Any) -> Any: ...
def polyder(p: Like, m: int = ..., *args: Any, **kwargs: Any) -> Any: ...
@overload
def polydiv(u: Variable, v: Like) -> tuple[Any, Any]: ...
@overload
def polydiv(u: Like, v: Variable) -> tuple[Any, Any]: ...
@overload
def polydiv(u: Like, v: Like, *args: Any, **kwargs: Any) -> Any: ...
def polyfit(
    x: Like,
    y: Like,
    deg: int | Sequence[int],
    rcond: float | None = ...,
    full: bool = ...,
    w: Like | None = ...,
    cov: bool | str = ...,
    *args: Any,
    **kwargs: Any,
) -> Any: ...
def polyint(p: Like, m: int = ..., k: Like | None = ..., *args: Any, **kwargs: Any) -> Any: ...
def polymul(a1: Like, a2: Like, *args: Any, **kwargs: Any) -> Any: ...
def polysub(a1: Like, a2: Like, *args: Any, **kwargs: Any) -> Any: ...
@overload
def polyval(p: Variable, x: Like) -> Variable: ...
@overload
def polyval(p: Like, x: Variable) -> Variable: ...
@overload
def polyval(p: Like, x: Like, *args: Any, **kwargs: Any) -> Any: ...
def prod(
    a: Like,
    axis: Axis = ...,
    dtype: npt.DTypeLike | None = ...,
    out: Variable | None = ...,
    keepdims: bool = ...,
    initial: Like | None = ...,
    where: Any = ...,
    *args: Any,
    **kwargs: Any,
) -> Any: ...
def ptp(
    a: Like,
    axis: Axis = ...,
    out: Variable | None = ...,
    keepdims: bool = ...,
    *args: Any,
    **kwargs: Any,
) -> Any: ...
@overload
def put(a: Any, ind: Any, v: Variable, mode: Literal["raise", "wrap", "clip"] = ...) -> None: ...
@overload
def put(
    a: Any,
    ind: Any,
    v: Like,
    mode: Literal["raise", "wrap", "clip"] = ...,
    *args: Any,
    **kwargs: Any,
) -> Any: ...
@overload
def put_along_axis(arr: Any, indices: Any, values: Variable, axis: int | None) -> None: ...
@overload
def put_along_axis(
    arr: Any, indices: Any, values: Like, axis: int | None, *args: Any, **kwargs: Any
) -> Any: ...
@overload
def putmask(a: Any, mask: Any, values: Variable) -> None: ...
@overload
def putmask(a: Any, mask: Any, values: Like, *args: Any, **kwargs: Any) -> Any: ...
def quantile(
    a: Like,
    q: Any,
    axis: Axis = ...,
    out: Variable | None = ...,
    overwrite_input: bool = ...,
    method: str = ...,
    keepdims: bool = ...,
    *,
    weights: None = ...,
) -> Any: ...
@overload
def ravel(a: Variable, order: Literal["C", "F"] = ...) -> Variable: ...
@overload
def ravel(a: Like, order: Literal["C", "F"] = ..., *args: Any, **kwargs: Any) -> Any: ...
@overload
def repeat(
    a: Variable, repeats: int | Sequence[int] | Array, axis: int | None = ...
) -> Variable: ...
@overload
def repeat(
    a: Like, repeats: int | Sequence[int] | Array, axis: int | None = ..., *args: Any, **kwargs: Any
) -> Any: ...
@overload
def replace(x: Variable, key: Any, value: _Like, /) -> Variable: ...
@overload
def replace(x: _Like, key: Any, value: Variable, /) -> Variable: ...
@overload
def replace(x: npt.ArrayLike, key: Any, value: npt.ArrayLike, /) -> Any: ...
def resize(a: Like, new_shape: int | Sequence[int], *args: Any, **kwargs: Any) -> Any: ...
@overload
def roll(a: Variable, shift: int | Sequence[int], axis: Axis = ...) -> Variable: ...
@overload
def roll(
    a: Like, shift: int | Sequence[int], axis: Axis = ..., *args: Any, **kwargs: Any
) -> Any: ...
@overload
def rollaxis(a: Variable, axis: int, start: int = ...) -> Variable: ...
@overload
def rollaxis(a: Like, axis: int, start: int = ..., *args: Any, **kwargs: Any) -> Any: ...
@overload
def rot90(m: Variable, k: int = ..., axes: Sequence[int] = ...) -> Variable: ...
@overload
def rot90(m: Like, k: int = ..., axes: Sequence[int] = ..., *args: Any, **kwargs: Any) -> Any: ...
def round(
    a: Like, decimals: int = ..., out: Variable | None = ..., *args: Any, **kwargs: Any
) -> Any: ...
def select(
    condlist: Sequence[Any],
    choicelist: Sequence[Like],
    default: Like = ...,
    *args: Any,
    **kwargs: Any,
) -> Any: ...
def setdiff1d(
    ar1: Like, ar2: Like, assume_unique: bool = ..., *args: Any, **kwargs: Any
) -> Any: ...
def setxor1d(ar1: Like, ar2: Like, assume_unique: bool = ..., *args: Any, **kwargs: Any) -> Any: ...
@overload
def sort(
    a: Variable,
    axis: int | None = ...,
    kind: str | None = ...,
    order: None = ...,
    *,
    stable: bool | None = ...,
) -> Variable: ...
@overload
def sort(
    a: Like,
    axis: int | None = ...,
    kind: str | None = ...,
    order: None = ...,
    *,
    stable: bool | None = ...,
) -> Any: ...
@overload
def split(
    ary: Variable, indices_or_sections: int | Sequence[int] | Array, axis: int = ...
) -> list[Variable]: ...
@overload
def split(
    ary: Like,
    indices_or_sections: int | Sequence[int] | Array,
    axis: int = ...,
    *args: Any,
    **kwargs: Any,
) -> Any: ...
def std(
    a: Like,
    axis: Axis = ...,
    dtype: npt.DTypeLike | None = ...,
    out: Variable | None = ...,
    ddof: float = ...,
    keepdims: bool = ...,
    *,
    where: Any = ...,
    mean: Like | None = ...,
    correction: float | None = ...,
) -> Any: ...
@overload
def swapaxes(a: Variable, axis1: int, axis2: int) -> Variable: ...
@overload
def swapaxes(a: Like, axis1: int, axis2: int, *args: Any, **kwargs: Any) -> Any: ...
def take(
    a: Like,
    indices: Any,
    axis: int | None = ...,
    out: Variable | None = ...,
    mode: Literal["raise", "wrap", "clip"] = ...,
    *args: Any,
    **kwargs: Any,
) -> Any: ...
@overload
def take_along_axis(arr: Variable, indices: Any, axis: int | None = ...) -> Variable: ...
@overload
def take_along_axis(
    arr: Like, indices: Any, axis: int | None = ..., *args: Any, **kwargs: Any
) -> Any: ...
@overload
def tensordot(a: Variable, b: Like, axes: int | Sequence[Any] = ...) -> Variable: ...
@overload
def tensordot(a: Like, b: Variable, axes: int | Sequence[Any] = ...) -> Variable: ...
@overload
def tensordot(
    a: Like, b: Like, axes: int | Sequence[Any] = ..., *args: Any, **kwargs: Any
) -> Any: ...
@overload
def tile(A: Variable, reps: int | Sequence[int]) -> Variable: ...
@overload
def tile(A: Like, reps: int | Sequence[int], *args: Any, **kwargs: Any) -> Any: ...
@overload
def trapezoid(y: Variable, x: Like | None = ..., dx: Like = ..., axis: int = ...) -> Variable: ...
@overload
def trapezoid(
    y: Like, x: Like | None = ..., dx: Like = ..., axis: int = ..., *args: Any, **kwargs: Any
) -> Any: ...
def trim_zeros(filt: Like, trim: str = ..., axis: Axis = ..., *args: Any, **kwargs: Any) -> Any: ...
def union1d(ar1: Like, ar2: Like, *args: Any, **kwargs: Any) -> Any: ...
def unique(
    ar: Like,
    return_index: bool = ...,
    return_inverse: bool = ...,
    return_counts: bool = ...,
    axis: int | None = ...,
    *,
    equal_nan: bool = ...,
    sorted: bool = ...,
) -> Any: ...
@overload
def unique_all(x: Variable, /) -> UniqueAllResult: ...
@overload
def unique_all(x: Like, /, *args: Any, **kwargs: Any) -> Any: ...
@overload
def unique_counts(x: Variable, /) -> UniqueCountsResult: ...
@overload
def unique_counts(x: Like, /, *args: Any, **kwargs: Any) -> Any: ...
@overload
def unique_inverse(x: Variable, /) -> UniqueInverseResult: ...
@overload
def unique_inverse(x: Like, /, *args: Any, **kwargs: Any) -> Any: ...
def unique_values(x: Like, /, *args: Any, **kwargs: Any) -> Any: ...
@overload
def unstack(x: Variable, /, *, axis: int = ...) -> tuple[Variable, ...]: ...
@overload
def unstack(x: Like, /, *, axis: int = ...) -> Any: ...
def unwrap(p: Like, discont: Like | None = ..., axis: int = ..., *, period: Any = ...) -> Any: ...
@overload
def vander(x: Variable, N: int | None = ..., increasing: bool = ...) -> Variable: ...
@overload
def vander(
    x: Like, N: int | None = ..., increasing: bool = ..., *args: Any, **kwargs: Any
) -> Any: ...
def var(
    a: Like,
    axis: Axis = ...,
    dtype: npt.DTypeLike | None = ...,
    out: Variable | None = ...,
    ddof: float = ...,
    keepdims: bool = ...,
    *,
    where: Any = ...,
    mean: Like | None = ...,
    correction: float | None = ...,
) -> Any: ...
@overload
def vdot(a: Variable, b: Like) -> Variable: ...
@overload
def vdot(a: Like, b: Variable) -> Variable: ...
@overload
def vdot(a: Like, b: Like, *args: Any, **kwargs: Any) -> Any: ...
@overload
def vsplit(ary: Variable, indices_or_sections: int | Sequence[int] | Array) -> list[Variable]: ...
@overload
def vsplit(
    ary: Like, indices_or_sections: int | Sequence[int] | Array, *args: Any, **kwargs: Any
) -> Any: ...
@overload
def vstack(
    tup: Sequence[Variable],
    *,
    dtype: npt.DTypeLike | None = ...,
    casting: Literal["no", "equiv", "safe", "same_kind", "unsafe"] = ...,
) -> Variable: ...
@overload
def vstack(
    tup: Sequence[Like],
    *,
    dtype: npt.DTypeLike | None = ...,
    casting: Literal["no", "equiv", "safe", "same_kind", "unsafe"] = ...,
) -> Any: ...
def zeros_like(
    a: Like,
    dtype: npt.DTypeLike | None = ...,
    order: Literal["K", "A", "C", "F"] = ...,
    subok: bool = ...,
    shape: int | Sequence[int] | None = ...,
    *,
    device: Literal["cpu"] | None = ...,
) -> Any: ...
