"""Methods and arguments of NumPy's universal functions: ``np.add.reduce``, ``out=``, ``where=``.

``reduce`` is there for ``add``, ``multiply``, ``maximum``, ``minimum`` and ``logaddexp``,
``accumulate`` and ``reduceat`` for these too, ``reduce`` for ``logical_and`` and ``logical_or``,
``outer`` for every function of two arrays, ``at`` for arithmetic, ``logaddexp`` and the larger and
smaller of two. Others raise TypeError, and so does every argument that has no meaning here.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from .. import _core
from .._core import Variable, concatenate, constant, expand_dims
from . import reductions
from .operand import along, axis_of, integers, is_axis_of_number, is_weak, of_one_type, only_axis
from .output import finished, no_variable_error
from .predicates import all, any, value
from .statistics import cumprod, cumsum, prod, scan

# The default values of arguments: NumPy passes them on if the caller wrote them, and they change
# nothing.
_DEFAULTS: dict[str, Any] = {"casting": "same_kind", "order": "K", "subok": True, "where": True}
_TRUTHS: dict[np.ufunc, Callable[..., Any]] = {np.logical_and: all, np.logical_or: any}


def _refused(name: str, arguments: Sequence[str]) -> TypeError:
    return no_variable_error(
        f"{name}: the arguments {list(arguments)} have no meaning for variables; leave them out"
    )


def _logaddexp_reduce(a: Any, axis: Any, out: Any, keepdims: bool, initial: Any, where: Any) -> Any:
    x = constant(a)
    if (mask := reductions.mask_of("logaddexp", where)) is not None:
        x = reductions.masked("logaddexp", mask, x, -np.inf)
    result = _core.logsumexp(x, axis, keepdims)
    if initial is not None:
        result = _core.logaddexp(result, reductions.starting("logaddexp", initial, x))
    return finished("logaddexp", result, out)


def _reduce(ufunc: np.ufunc, x: Any, axis: Any = 0, dtype: Any = None, **given: Any) -> Any:
    """``ufunc.reduce``, whose axis is the first unless another is given."""
    named = {"out": None, "keepdims": False, "initial": None, "where": True} | given
    name = ufunc.__name__
    if isinstance(named["out"], tuple):
        (named["out"],) = named["out"]
    if ufunc is np.add:
        if isinstance(named["out"], Variable) and isinstance(x, np.ndarray):
            raise no_variable_error(
                "add.reduce: out: a method of a plain array (sum, mean, var, std) cannot finish "
                "what it writes to a variable; call np.sum(array, out=x), np.mean and so on"
            )
        return reductions.sum(x, axis, dtype, **named)
    if ufunc is np.multiply:
        return prod(x, axis, dtype, **named)
    if ufunc in _TRUTHS and dtype is None and named["initial"] is None:
        del named["initial"]
        return _TRUTHS[ufunc](x, axis, **named)
    x = reductions.cast_to(name, x, dtype)
    if ufunc is np.logaddexp:
        return _logaddexp_reduce(x, axis, **named)
    if ufunc in (np.maximum, np.minimum):
        return reductions.extreme(name, x, axis, **named)
    raise TypeError(
        f"numpy.{name}.reduce is not among wyrmling's functions; those of add, multiply, maximum, "
        "minimum and logaddexp are, and of logical_and and logical_or without dtype and initial"
    )


def _axis_of_array(name: str, x: Variable, axis: Any) -> Any:
    """The one axis that is gone along. Raises TypeError for a number, ValueError for several."""
    found = only_axis(name, 0 if axis is None and not x.ndim else axis, x.ndim)
    if not x.ndim and is_axis_of_number(found):
        raise TypeError(f"{name}: expected an array with an axis, got a number")
    return found


def _accumulate(ufunc: np.ufunc, x: Any, axis: int = 0, dtype: Any = None, out: Any = None) -> Any:
    name = f"{ufunc.__name__}.accumulate"
    x = reductions.cast_to(name, x, dtype)
    axis = _axis_of_array(name, x, axis)
    result: Variable
    if ufunc is np.add:
        result = cumsum(x, axis)
    elif ufunc is np.multiply:
        result = cumprod(x, axis)
    elif ufunc in (np.maximum, np.minimum, np.logaddexp):
        result = scan(name, ufunc, x, axis)
    else:
        raise TypeError(
            f"numpy.{name} is not among wyrmling's functions; those of add, multiply, maximum, "
            "minimum and logaddexp are"
        )
    return finished(name, result, out)


@of_one_type
def _outer(ufunc: np.ufunc, x: Any, y: Any, **named: Any) -> Any:
    """The function of each element of ``x`` with each of ``y``."""
    # NumPy makes arrays of both first, in which Python's numbers are float64.
    x, y = (np.asarray(one) if is_weak(one) else one for one in (x, y))
    x, behind = constant(x), constant(y).ndim
    return ufunc(expand_dims(x, tuple(range(x.ndim, x.ndim + behind))), y, **named)


# Functions that have ``at``.
_AT: tuple[np.ufunc, ...] = (np.add, np.subtract, np.multiply, np.divide, np.logaddexp)
_AT += (np.maximum, np.minimum, np.fmax, np.fmin)


def _in_turns(ufunc: np.ufunc, x: Any, places: Any, given: Any) -> Any:
    """``x`` with each number of ``given`` applied at its place, as NumPy does one after the other.

    Turn k takes the k-th number of each place that has so many, so that the functions applied are
    as many as the numbers of one place. Those with most numbers come first, and drop out last.
    """
    order = np.argsort(places, kind="stable")
    named, starts, counts = np.unique(places[order], return_index=True, return_counts=True)
    most = np.argsort(-counts, kind="stable")
    named, starts, counts = named[most], starts[most], counts[most]
    now, ended = x[named], []
    for turn in range(counts.max(initial=0)):
        active = np.searchsorted(-counts, -turn)
        ended.append(now[active:])
        now = ufunc(now[:active], given[order[starts[:active] + turn]])
    return _core.replace(x, named, concatenate([now, *reversed(ended)]))


def _at(ufunc: np.ufunc, a: Any, indices: Any, b: Any = None) -> None:
    """``ufunc.at``: ``a[indices] += b``, in which a place that is named twice counts twice."""
    name = f"{ufunc.__name__}.at"
    if ufunc not in _AT or b is None:
        *most, last = (known.__name__ for known in _AT)
        raise TypeError(
            f"numpy.{name} is not among wyrmling's functions; those of {', '.join(most)} and "
            f"{last} are; where no place is named twice assign to the elements: "
            "x[i] = np.hypot(x[i], v)"
        )
    if not isinstance(a, Variable):
        raise no_variable_error(
            f"{name}: a plain array cannot take what is differentiated; make it by "
            "wyrmling.array(x) or np.zeros_like(v)"
        )
    # The places that NumPy finds for the indices, in C order.
    places = np.arange(a.size).reshape(a.shape)[value(name, indices)]
    x = _core.fixed(a, name, tuple(range(a.ndim)))
    given = reductions.cast_to(name, _core.broadcast_to(b, places.shape), a.dtype)
    given, places = _core.reshape(given, -1), places.ravel()
    flat = _core.reshape(x, -1)
    if ufunc in (np.add, np.subtract):
        flat = _core.add_rows(flat, places, given if ufunc is np.add else -given)
    else:
        flat = _in_turns(ufunc, flat, places, given)
    a[...] = _core.reshape(flat, a.shape)


# A slice of so many elements takes longer to reduce than a step takes to begin.
_LONG = 256


def _reduceat(
    ufunc: np.ufunc, x: Any, indices: Any, axis: int = 0, dtype: Any = None, out: Any = None
) -> Any:
    """``ufunc.reduceat``: of the slices between indices; of one that is not below the next the
    element there.
    """
    name = f"{ufunc.__name__}.reduceat"
    if ufunc not in (np.add, np.multiply, np.maximum, np.minimum, np.logaddexp):
        raise TypeError(
            f"numpy.{name} is not among wyrmling's functions; those of add, multiply, maximum, "
            "minimum and logaddexp are; take the parts by slices, and reduce each"
        )
    x = reductions.cast_to(name, x, dtype)
    along_axis = axis_of(name, _axis_of_array(name, x, axis), x.ndim)
    n = x.shape[along_axis]
    places = integers(f"{name}: indices", value(name, indices))
    if min(places, default=0) < 0 or max(places, default=-1) >= n:
        raise IndexError(f"{name}: indices: expected numbers from 0 to {n - 1}, got {places}")
    x = _core.fixed(x, name, along_axis)
    if not places:
        return finished(name, x[along(along_axis, slice(0))], out)
    starts = np.array(places)
    ends = np.append(starts[1:], n)
    lengths = np.where(starts < ends, ends - starts, 1)
    # Slices of one length are reduced together, so that there are as many steps as lengths. Of long
    # ones, which may overlap, the elements are not copied to one array.
    order = np.argsort(lengths, kind="stable")
    found = []
    for members in np.split(order, np.flatnonzero(np.diff(lengths[order])) + 1):
        length = lengths[members[0]]
        if length >= _LONG:
            slices = [x[along(along_axis, slice(k, k + length))] for k in starts[members]]
            found.append(
                _core.stack([_reduce(ufunc, one, along_axis) for one in slices], along_axis)
            )
            continue
        elements = starts[members][:, None] + np.arange(length)
        parts = x[along(along_axis, elements)]
        found.append(_reduce(ufunc, parts, along_axis + 1))
    result = concatenate(found, along_axis)
    if len(found) > 1:
        result = result[along(along_axis, np.argsort(order))]
    return finished(name, result, out)


def _called(
    ufunc: np.ufunc,
    *inputs: Any,
    dtype: Any = None,
    out: Any = None,
    where: Any = True,
    **more: Any,
) -> Any:
    """The function itself: ``dtype`` is the type in which it computes, and where ``where`` is not
    true ``out`` keeps what it has.
    """
    name = ufunc.__name__
    if more and (ufunc.signature is None or ufunc is np.matmul):
        raise _refused(name, sorted(more))
    if dtype is not None:
        inputs = tuple(reductions.as_type(name, x, dtype) for x in inputs)
    if isinstance(out, tuple) and len(out) > 1:
        raise _refused(name, ["out"])
    mask = reductions.mask_of(name, where)
    if mask is not None and out is None:
        raise TypeError(
            f"{name}: where: without out the other elements are not defined; choose them by "
            "np.where"
        )
    if mask is None:
        return finished(name, ufunc(*inputs, **more), out, repeats=ufunc.signature is None)
    # Of plain operands NumPy would warn of elements that are not asked for.
    with np.errstate(all="ignore"):
        result = ufunc(*(reductions.read_where(mask, x) for x in inputs), **more)
    before = out[0] if isinstance(out, tuple) else out
    if isinstance(before, Variable):
        result = _core.where(mask, result, before)
    return finished(name, result, out)


_METHODS: dict[str, tuple[Callable[..., Any], set[str]]] = {
    "__call__": (_called, {"dtype", "out", "where", "axis", "axes", "keepdims"}),
    "at": (_at, set()),
    "reduceat": (_reduceat, {"axis", "dtype", "out"}),
    "reduce": (_reduce, {"axis", "dtype", "out", "keepdims", "initial", "where"}),
    "accumulate": (_accumulate, {"axis", "dtype", "out"}),
    "outer": (_outer, {"dtype", "out", "where"}),
}


def _is_default(key: str, value: Any) -> bool:
    return isinstance(value, bool | str) and key in _DEFAULTS and value == _DEFAULTS[key]


def apply(ufunc: np.ufunc, method: str, inputs: Sequence[Any], given: dict[str, Any]) -> Any:
    """What ``Variable.__array_ufunc__`` gives for a method, or for arguments by name.

    >>> apply(np.add, "reduce", ([[1.0, 2.0], [3.0, 4.0]],), {}).value
    array([4., 6.])
    >>> apply(np.multiply, "outer", ([1.0, 2.0], [3.0, 4.0]), {}).value
    array([[3., 4.],
           [6., 8.]])
    """
    name = ufunc.__name__ if method == "__call__" else f"{ufunc.__name__}.{method}"
    if method not in _METHODS:
        here = ", ".join(sorted(_METHODS))
        raise TypeError(f"numpy.{name} is not among wyrmling's functions; methods here are {here}")
    function, known = _METHODS[method]
    asked = {
        key: each
        for key, each in given.items()
        if (key in ("axis", "where") if each is None else not _is_default(key, each))
    }
    if unknown := sorted(set(asked) - known):
        raise _refused(name, unknown)
    return function(ufunc, *inputs, **asked)
