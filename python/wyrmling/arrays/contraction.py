"""Sums of products over axes: ``einsum`` and its special cases, for variables too.

``einsum`` contracts two operands at a time, in an order that NumPy's ``einsum_path`` finds from
the shapes. A pair is one (batched) matrix product: axes that both have and that are kept are its
batch, axes that both have and that are summed are contracted, and the others of each operand are
its rows and columns. Several such axes are merged to one for the product and split again.
"""

from __future__ import annotations

import string
from collections.abc import Iterable, Sequence
from functools import lru_cache
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from .. import _core
from .._core import (
    Variable,
    constant,
    diagonal,
    dot,
    expand_dims,
    fixed,
    matmul,
    merge_axes,
    reshape,
    split_axis,
    squeeze,
    stack,
    transpose,
    vecdot,
)
from .._core import sum as sum_over
from ..plain import whole
from .operand import Like, axes_of, axis_of, integers, itself, of_one_type
from .output import finished
from .reductions import as_type, computed_in
from .shaping import moveaxis

# An axis: its letter, or for an axis of an ellipsis its place, counted from the end.
Label = str | int
Labels = tuple[Label, ...]


def _letters(sublist: Any) -> str:
    """A list of integers and ellipses as subscripts. Raises TypeError or ValueError for others."""
    if not isinstance(sublist, list | tuple):
        raise TypeError(
            "einsum: expected subscripts, or operands each followed by a list of axes, got "
            f"{type(sublist).__name__} in the place of a list"
        )
    numbers = [item for item in sublist if item is not ...]
    for number in integers("einsum: axes", numbers):
        if not 0 <= number < len(string.ascii_letters):
            raise ValueError(f"einsum: axes: expected numbers from 0 to 51, got {number}")
    return "".join("..." if item is ... else string.ascii_letters[item] for item in sublist)


def _given(operands: Sequence[Any]) -> tuple[str, Sequence[Any]]:
    """Subscripts and arrays, from either way to give them."""
    if operands and isinstance(operands[0], str):
        return operands[0], operands[1:]
    pairs, rest = len(operands) // 2, len(operands) % 2
    terms = [_letters(operands[2 * k + 1]) for k in range(pairs)]
    arrow = "->" + _letters(operands[-1]) if rest else ""
    return ",".join(terms) + arrow, operands[: 2 * pairs : 2]


def _labels(term: str, ndim: int | None, most: int) -> Labels:
    """The labels of a term, for an array of ``ndim`` axes; of the output if that is None."""
    before, dots, after = term.partition("...")
    if not all(c in string.ascii_letters for c in before + after):
        raise ValueError(f"einsum: {term!r} has something else than letters and one ellipsis")
    named = len(before) + len(after)
    hidden = most * bool(dots) if ndim is None else ndim - named
    if hidden < 0 or (hidden and not dots):
        raise ValueError(f"einsum: subscripts {term!r} do not fit an array of {ndim} dimension(s)")
    return (*before, *(range(-hidden, 0) if dots else ()), *after)


@lru_cache(maxsize=256)
def _parsed(subscripts: str, ndims: tuple[int, ...]) -> tuple[tuple[Labels, ...], Labels]:
    """The labels of each operand and of the output."""
    inputs, arrow, output = subscripts.replace(" ", "").partition("->")
    terms = inputs.split(",")
    if len(terms) != len(ndims):
        raise ValueError(f"einsum: {subscripts!r} is for {len(terms)} operands, got {len(ndims)}")
    labels = tuple(_labels(term, n, 0) for term, n in zip(terms, ndims, strict=True))
    most = max((sum(isinstance(k, int) for k in each) for each in labels), default=0)
    if arrow:
        out = _labels(output, None, most)
        if most and "..." not in output:
            raise ValueError(f"einsum: the output of {subscripts!r} lacks the ellipsis")
    else:
        every = [label for each in labels for label in each if isinstance(label, str)]
        once = sorted(label for label in set(every) if every.count(label) == 1)
        out = (*range(-most, 0), *once)
    known = {label for each in labels for label in each}
    for label in out:
        if isinstance(label, str) and (label not in known or out.count(label) > 1):
            raise ValueError(f"einsum: the output of {subscripts!r} cannot have {label!r}")
    return labels, out


@lru_cache(maxsize=256)
def _path(
    labels: tuple[Labels, ...], out: Labels, shapes: tuple[tuple[int, ...], ...]
) -> list[tuple[int, ...]]:
    """Which operands to contract, in turn; a result joins the end of the list."""
    if len(labels) <= 2:
        return [tuple(range(len(labels)))]
    known = {label for each in labels for label in each}
    if len(known) > len(string.ascii_letters):
        raise ValueError(f"einsum: {len(known)} different axes are more than there are letters")
    names = dict(zip(sorted(known, key=str), string.ascii_letters, strict=False))
    written = ["".join(names[label] for label in each) for each in (*labels, out)]
    # NumPy plans the contraction from arrays that have these shapes and share one element.
    stand_ins = [np.broadcast_to(np.float64(0.0), shape) for shape in shapes]
    subscripts = ",".join(written[:-1]) + "->" + written[-1]
    path, _ = np.einsum_path(subscripts, *stand_ins, optimize="greedy")
    return [tuple(step) for step in path[1:]]


def _single(x: Variable, labels: Labels, sizes: dict[Label, int]) -> tuple[Variable, Labels]:
    """An operand with each label once, and without axes that broadcast."""
    left = list(labels)
    for label in dict.fromkeys(labels):
        while left.count(label) > 1:
            one = left.index(label)
            two = left.index(label, one + 1)
            if x.shape[one] != x.shape[two]:
                raise ValueError(
                    f"einsum: axes {label!r} of an operand differ: {x.shape[one]}, {x.shape[two]}"
                )
            x = diagonal(fixed(x, "einsum", (one, two)), 0, one, two)
            left = [other for k, other in enumerate(left) if k not in (one, two)] + [label]
    spread = [k for k, label in enumerate(left) if x.shape[k] == 1 and sizes[label] != 1]
    if spread:
        x = squeeze(x, tuple(spread))
        left = [label for k, label in enumerate(left) if k not in spread]
    return x, tuple(left)


def _reduced(x: Variable, labels: Labels, keep: Iterable[Label]) -> tuple[Variable, Labels]:
    """An operand summed over the axes that nothing else needs."""
    kept = set(keep)
    gone = tuple(k for k, label in enumerate(labels) if label not in kept)
    if not gone:
        return x, labels
    return sum_over(x, gone), tuple(label for label in labels if label in kept)


def _ordered(x: Variable, labels: Labels, wanted: Sequence[Label]) -> Variable:
    """An operand with its axes in another order."""
    order = [labels.index(label) for label in wanted]
    return x if order == list(range(len(order))) else transpose(x, order)


def _grouped(x: Variable, labels: Labels, groups: Sequence[Sequence[Label]]) -> Variable:
    """An operand with its axes in groups, each merged to one."""
    x = _ordered(x, labels, [label for group in groups for label in group])
    for start, group in enumerate(groups):
        if len(group) != 1:
            # Merged axes are split again later. One length may stay unknown (-1) then, unless the
            # product of the others is 0 and so does not determine it.
            stop = start + len(group)
            known = range(start if 0 in x.shape[start:stop] else start + 1, stop)
            x = fixed(x, "einsum", tuple(known)) if known else x
            x = merge_axes(x, start, len(group))
    return x


def _split(x: Variable, axis: int, lengths: Sequence[int]) -> Variable:
    """An axis as those that were merged to it."""
    if len(lengths) == 1:
        return x
    first = lengths[:1] if 0 in lengths else [-1][: len(lengths)]
    return split_axis(x, axis, (*first, *lengths[1:]))


def _pair(
    a: Variable, la: Labels, b: Variable, lb: Labels, keep: Iterable[Label]
) -> tuple[Variable, Labels]:
    """The contraction of two operands over the axes that ``keep`` does not name."""
    kept = set(keep)
    a, la = _reduced(a, la, kept | set(lb))
    b, lb = _reduced(b, lb, kept | set(la))
    batch = [label for label in la if label in lb and label in kept]
    rows = [label for label in la if label not in lb]
    columns = [label for label in lb if label not in la]
    summed = [label for label in la if label in lb and label not in kept]
    out = (*batch, *rows, *columns)
    if not summed:
        x = _ordered(a, la, (*batch, *rows))
        y = _ordered(b, lb, (*batch, *columns))
        x = expand_dims(x, tuple(range(len(batch) + len(rows), len(out))))
        y = expand_dims(y, tuple(range(len(batch), len(batch) + len(rows))))
        return x * y, out
    single = [[label] for label in batch]
    if not rows and not columns:
        x, y = (_grouped(v, names, [*single, summed]) for v, names in ((a, la), (b, lb)))
        return vecdot(x, y), out
    lengths = {**dict(zip(lb, b.shape, strict=True)), **dict(zip(la, a.shape, strict=True))}
    x = _grouped(a, la, [*single, rows, summed])
    y = _grouped(b, lb, [*single, summed, columns])
    product = matmul(x, y)
    at = len(batch)
    product = _split(product, at + 1, [lengths[label] for label in columns])
    return _split(product, at, [lengths[label] for label in rows]), out


def _contract(arrays: Sequence[Variable], labels: tuple[Labels, ...], out: Labels) -> Variable:
    """The sum of products of arrays with named axes."""
    sizes: dict[Label, int] = {}
    for x, names in zip(arrays, labels, strict=True):
        for label, n in zip(names, x.shape, strict=True):
            if sizes.setdefault(label, n) == 1:
                sizes[label] = n
            elif n not in (1, sizes[label]):
                what = "an axis of the ellipsis" if isinstance(label, int) else f"axis {label!r}"
                raise ValueError(f"einsum: {what} has lengths {sizes[label]} and {n}")
    path = _path(labels, out, tuple(x.shape for x in arrays))
    operands = [_single(x, names, sizes) for x, names in zip(arrays, labels, strict=True)]
    for step in path:
        taken = [operands[k] for k in sorted(step)]
        operands = [each for k, each in enumerate(operands) if k not in step]
        result, names = taken[0]
        for k, (x, more) in enumerate(taken[1:], 1):
            others = [*taken[k + 1 :], *operands]
            keep = [*out, *(label for _, after in others for label in after)]
            result, names = _pair(result, names, x, more, keep)
        operands.append((result, names))
    result, names = operands[-1]
    result, names = _reduced(result, names, out)
    return _ordered(result, names, out)


@of_one_type
def einsum(
    *operands: Any,
    out: Variable | None = None,
    dtype: npt.DTypeLike | None = None,
    order: Literal["K", "A", "C", "F"] = "K",
    casting: str = "safe",
    optimize: Any = True,
) -> Any:
    """Sums of products by subscripts: ``einsum("ij,jk->ik", a, b)`` is the matrix product.

    Subscripts and operands are those of ``numpy.einsum``, in both ways to write them: an axis has a
    letter, ``...`` stands for axes that broadcast, a letter twice in one operand is a diagonal,
    letters that the output lacks are summed. Without ``->`` the output has the letters that are
    there once, in alphabetical order. The order of contraction is always optimized. ``dtype`` is
    the type in which is computed, ``out`` a variable that stands for the result afterwards;
    ``order``, which is about memory, changes nothing. Where one operand is neither summed nor
    multiplied the result is a view of it; a diagonal is one that cannot be assigned to.

    Raises ValueError for subscripts that do not fit, TypeError if ``casting`` forbids the type.

    >>> einsum("ij,j->i", [[1.0, 2.0], [3.0, 4.0]], [1.0, 1.0])
    array([3., 7.])
    >>> einsum("ii", [[1.0, 2.0], [3.0, 4.0]]).item()
    5.0
    """
    subscripts, given = _given(operands)
    if not given:
        raise ValueError("einsum: expected subscripts and at least one operand")
    view = len(given) == 1 and dtype is None and out is None
    arrays = [itself(x) if view else as_type("einsum", x, dtype, casting) for x in given]
    labels, kept = _parsed(subscripts, tuple(x.ndim for x in arrays))
    return finished("einsum", _contract(arrays, labels, kept), out)


@of_one_type
def tensordot(a: Like, b: Like, axes: int | Sequence[Any] = 2) -> Variable:
    """Sum of products over the last axes of one and the first of another, or over those named.

    Raises ValueError for axes that differ in length or number, or that are not there.

    >>> tensordot([[1.0, 2.0]], [[3.0], [4.0]], axes=1)
    array([[11.]])
    """
    return whole(_summed_products(a, b, axes))


def _summed_products(a: Like, b: Like, axes: int | Sequence[Any]) -> Variable:
    x, y = constant(a), constant(b)
    if isinstance(axes, int | np.integer):
        if not 0 <= axes <= min(x.ndim, y.ndim):
            raise ValueError(
                f"axes: {axes} axes are not in arrays of shapes {x.shape} and {y.shape}"
            )
        left, right = tuple(range(x.ndim - axes, x.ndim)), tuple(range(axes))
    else:
        try:
            of_x, of_y = axes
        except (TypeError, ValueError):
            raise TypeError(
                f"axes: expected a number of axes, or two lists of axes, got {axes!r}"
            ) from None
        left = axes_of("tensordot", of_x, x.ndim)
        right = axes_of("tensordot", of_y, y.ndim)
    lengths = [x.shape[k] for k in left], [y.shape[k] for k in right]
    if lengths[0] != lengths[1]:
        raise ValueError(
            f"tensordot: axes {left} and {right} of arrays of shapes {x.shape} and {y.shape} "
            "differ in length"
        )
    first: list[Label] = list(range(x.ndim))
    second: list[Label] = list(range(x.ndim, x.ndim + y.ndim))
    for one, two in zip(left, right, strict=True):
        second[two] = first[one]
    out = [k for k in first if k not in second] + [k for k in second if k not in first]
    result, names = _pair(x, tuple(first), y, tuple(second), out)
    return _ordered(result, names, out)


@of_one_type
def inner(a: Like, b: Like) -> Variable:
    """Sums of products over the last axes; the product where one is a number.

    Raises ValueError if the last axes differ in length.

    >>> inner([1.0, 2.0], [3.0, 4.0]).item()
    11.0
    """
    x, y = constant(a), constant(b)
    return x * y if x.ndim == 0 or y.ndim == 0 else _summed_products(x, y, (-1, -1))


@of_one_type
def vdot(a: Like, b: Like) -> Variable:
    """Sum of products of all elements, in C order.

    Raises ValueError for different numbers of elements.

    >>> vdot([[1.0, 2.0]], [[3.0], [4.0]]).item()
    11.0
    """
    return dot(reshape(a, -1), reshape(b, -1))


def _matrices(name: str, x: Like) -> Variable:
    """Arrays of matrices. Raises ValueError for a vector or a number."""
    found = constant(x)
    if found.ndim < 2:
        raise ValueError(f"{name}: expected matrices, got shape {found.shape}")
    return found


def matvec(x1: Like, x2: Like, /) -> Variable:
    """Products of matrices along the last two axes of one array with vectors along the last of
    another; the axes before them broadcast.

    >>> matvec([[1.0, 2.0]], [3.0, 4.0]).value
    array([11.])
    """
    return squeeze(matmul(_matrices("matvec", x1), expand_dims(constant(x2), -1)), -1)


def vecmat(x1: Like, x2: Like, /) -> Variable:
    """Products of vectors along the last axis of one array with matrices along the last two of
    another; the axes before them broadcast.

    >>> vecmat([3.0, 4.0], [[1.0], [2.0]]).value
    array([11.])
    """
    return squeeze(matmul(expand_dims(constant(x1), -2), _matrices("vecmat", x2)), -2)


@of_one_type
def kron(a: Like, b: Like) -> Variable:
    """Kronecker product: each element of one array times all of the other.

    Raises TypeError for what holds no numbers.

    >>> kron([1.0, 10.0], [1.0, 2.0])
    array([ 1.,  2., 10., 20.])
    """
    x, y = constant(a), constant(b)
    ndim = max(x.ndim, y.ndim)
    x = expand_dims(x, tuple(range(ndim - x.ndim)))
    y = expand_dims(y, tuple(range(ndim - y.ndim)))
    z = expand_dims(x, tuple(range(1, 2 * ndim, 2))) * expand_dims(y, tuple(range(0, 2 * ndim, 2)))
    for axis in range(ndim):
        z = merge_axes(z, axis, 2)
    return z


@of_one_type
def cross(
    a: Like,
    b: Like,
    axisa: int = -1,
    axisb: int = -1,
    axisc: int = -1,
    axis: int | None = None,
) -> Variable:
    """Vector product of vectors of three components, along an axis of each array and the result.

    ``axis`` is all three. Raises ValueError for vectors of other lengths.

    >>> cross([1.0, 0.0, 0.0], [0.0, 1.0, 0.0])
    array([0., 0., 1.])
    """

    def components(v: Like, axis: int) -> list[Variable]:
        x = itself(v)
        x = moveaxis(x, axis_of("cross", axis, x.ndim), -1)
        if x.shape[-1] != 3:
            raise ValueError(f"cross: expected vectors of 3 components, got shape {x.shape}")
        x = fixed(x, "cross", -1)
        return [x[..., k] for k in range(3)]

    if axis is not None:
        axisa = axisb = axisc = axis
    (a1, a2, a3), (b1, b2, b3) = components(a, axisa), components(b, axisb)
    z = stack([a2 * b3 - a3 * b2, a3 * b1 - a1 * b3, a1 * b2 - a2 * b1], -1)
    return moveaxis(z, -1, axis_of("cross: axisc", axisc, z.ndim))


def _vector(name: str, v: Like) -> Variable:
    x = constant(v)
    if x.ndim > 1 or x.size == 0:
        raise ValueError(f"{name}: expected a vector with elements, got shape {x.shape}")
    x = expand_dims(x, 0) if x.ndim == 0 else x
    return fixed(x, name, 0)


@of_one_type
def correlate(a: Like, v: Like, mode: Literal["valid", "same", "full"] = "valid") -> Variable:
    """Sums of products of a vector with another that is moved along it.

    ``mode`` says where: wherever both overlap (``"full"``), wholly (``"valid"``), or at as many
    places as the longer has elements (``"same"``).

    Raises ValueError for another ``mode``, or operands that are no vectors with
    elements.

    >>> correlate([1.0, 2.0, 3.0], [0.0, 1.0, 0.5])
    array([3.5])
    """
    if constant(a).ndim == 0 or constant(v).ndim == 0:
        raise ValueError("correlate: expected two vectors, got a number")
    x, y = _vector("correlate", a), _vector("correlate", v)
    (n,), (m,) = x.shape, y.shape
    if n < m:
        return correlate(y, x, mode)[::-1]
    if mode == "valid":
        return _core.correlate(x, y)
    found = _core.convolve(x, y[::-1])
    if mode == "full":
        return found
    if mode != "same":
        raise ValueError(f"mode: expected 'valid', 'same' or 'full', got {mode!r}")
    start = m - 1 - m // 2
    return found[start : start + n]


@of_one_type
def convolve(a: Like, v: Like, mode: Literal["full", "same", "valid"] = "full") -> Variable:
    """Convolution of two vectors: the coefficients of the product of two polynomials.

    ``mode`` is as for ``correlate``.

    Raises ValueError for a ``mode`` that there is not, or operands that are no vectors
    with elements.

    >>> convolve([1.0, 2.0], [1.0, 3.0])
    array([1., 5., 6.])
    """
    x, y = _vector("convolve", a), _vector("convolve", v)
    if x.size < y.size:
        x, y = y, x
    return correlate(x, y[::-1], mode)


def trace(
    a: Like,
    offset: int = 0,
    axis1: int = 0,
    axis2: int = 1,
    dtype: npt.DTypeLike | None = None,
    out: Variable | None = None,
) -> Any:
    """``wyrmling.trace`` with NumPy's further arguments.

    >>> trace([[1.0, 2.0], [3.0, 4.0]], dtype=np.float32).dtype
    dtype('float32')
    """
    return finished("trace", _core.trace(computed_in("trace", a, dtype), offset, axis1, axis2), out)
