"""Questions about values: NumPy's functions whose results carry no gradient.

The answer is a plain array, number or boolean about the value as it is now. Above an input or a
parameter, of which models are made, the value becomes another one, and a program made of the graph
would keep the answer. There ``any``, ``all``, ``count_nonzero``, ``isclose``, ``allclose`` and
``array_equal`` are operators, whose answers follow the value and have a truth in ``if`` where no
input is below; the others, whose results have another length or a use as plain integers, raise
TypeError and want ``.value``.

>>> import numpy as np
>>> from wyrmling import Parameter, Variable
>>> np.allclose(Variable([1.0, 2.0]), [1.0, 2.0]), np.nonzero(Variable([0.0, 3.0]))
(True, (array([1]),))
>>> np.any(Parameter([0.0, 3.0])).item()
True
"""

from __future__ import annotations

import builtins
from collections.abc import Callable
from typing import Any

import numpy as np

from .. import _core
from .._core import Variable, constant, follows_input, follows_parameter, length
from .operand import Array, Axis, Like, axes_of, is_weak, itself, plain
from .output import finished
from .reductions import mask_of, masked


def of_values(
    function: Callable[..., Any], read: Callable[[str, Any], Any] | None = None
) -> Callable[..., Any]:
    """A function of NumPy that is given the values of variables, as ``read`` gives them.

    >>> of_values(len)(constant([0.0, 2.0]))
    2
    """

    name = getattr(function, "__name__", "the function")
    read = value if read is None else read

    def asked(*args: Any, **kwargs: Any) -> Any:
        for given in (*args, *kwargs.values()):
            read(name, given)
        return function(*plain(args), **plain(kwargs))

    return asked


def value(name: str, x: Any) -> Any:
    """The value of a variable, or of those in a tuple or list; anything else as it is.

    Raises TypeError for a variable that follows an input or a parameter, whose value now says
    nothing of later.
    """
    return _read(name, x, changes)


def value_now(name: str, x: Any) -> Any:
    """As ``value``, of what is only shown, saved or made a number of Python: raises TypeError for
    what follows an input alone.
    """
    return _read(name, x, follows_input)


def _read(name: str, x: Any, refused: Callable[[Variable], bool]) -> Any:
    if isinstance(x, Variable):
        if refused(x):
            raise TypeError(f"{name}: {_leaf_below(x)}")
        return x.value
    if isinstance(x, tuple | list):
        for item in x:
            _read(name, item, refused)
    return plain(x)


def _leaf_below(x: Variable) -> str:
    """Why the value of a variable is no answer for good."""
    one, other = ("an input", "the input is")
    if not follows_input(x):
        one, other = ("a parameter", "that is")
    return (
        f"this follows {one}, and the answer would be a constant, whatever {other} later; compare "
        "and choose by operators (x > 0, np.where), or give .value for the answer of now"
    )


def changes(*given: Any) -> bool:
    """Whether one of these is a variable that follows an input or a parameter.

    >>> changes(1.0, _core.Input([1.0])), changes(Variable([1.0]))
    (True, False)
    """
    return builtins.any(
        isinstance(x, Variable) and (follows_input(x) or follows_parameter(x)) for x in given
    )


def count_nonzero(a: Any, axis: Axis = None, *, keepdims: bool = False) -> Any:
    """How many elements along axes are not zero: integers, which follow what can change.

    >>> count_nonzero(_core.Parameter([0.0, 3.0, 1.0])).item()
    2
    """
    if not changes(a):
        return np.count_nonzero(value("count_nonzero", a), axis, keepdims=keepdims)
    return _core.sum(_core.not_equal(a, 0), axis, keepdims)


def _known(function: Any, a: Any, axis: Any, out: Any, keepdims: bool, where: Any) -> Any:
    """``np.any`` or ``np.all`` of what cannot change."""
    name = function.__name__
    known = function(value(name, a), axis, None, keepdims, where=value(name, where))
    return finished(name, known, out)


def any(
    a: Any, axis: Any = None, out: Any = None, keepdims: bool = False, *, where: Any = True
) -> Any:
    """Whether any element along axes is not zero, of those that ``where`` says; it follows what can
    change.

    >>> bool(any(_core.Parameter([0.0, 3.0])))
    True
    """
    if not changes(a, where, out):
        return _known(np.any, a, axis, out, keepdims, where)
    found = _core.not_equal(a, 0)
    if (mask := mask_of("any", where)) is not None:
        found = masked("any", mask, found, False)
    return finished("any", _core.sum(found, axis, keepdims) > 0, out)


def all(
    a: Any, axis: Any = None, out: Any = None, keepdims: bool = False, *, where: Any = True
) -> Any:
    """Whether no element along axes is zero, of those that ``where`` says; it follows what can
    change.

    >>> bool(all(_core.Parameter([0.0, 3.0])))
    False
    """
    if not changes(a, where, out):
        return _known(np.all, a, axis, out, keepdims, where)
    found = _core.equal(a, 0)
    if (mask := mask_of("all", where)) is not None:
        found = masked("all", mask, found, False)
    return finished("all", _core.sum(found, axis, keepdims) == 0, out)


def isclose(a: Any, b: Any, rtol: Any = 1e-05, atol: Any = 1e-08, equal_nan: bool = False) -> Any:
    """Whether elements differ by ``atol + rtol * abs(b)`` at most, as ``numpy.isclose``; it follows
    what can change.

    >>> isclose(_core.Parameter([1.0, 2.0]), [1.0, 3.0]).value
    array([ True, False])
    """
    if not changes(a, b, rtol, atol):
        a, b, rtol, atol = (value("isclose", x) for x in (a, b, rtol, atol))
        return np.isclose(a, b, rtol, atol, equal_nan)
    # Python's numbers take the type of the other array, as in NumPy.
    x, y = (one if is_weak(one) else constant(one) for one in (a, b))
    # Times one, since booleans have no difference.
    near = _core.abs(x - y * 1.0) <= atol + rtol * _core.abs(y)
    # Of infinities only equal ones are close.
    return _core.logical_or(_core.logical_and(near, _core.isfinite(y)), _equal(x, y, equal_nan))


def _equal(x: Any, y: Any, equal_nan: bool) -> Any:
    """Whether elements are equal, NaN with NaN if asked."""
    if not equal_nan:
        return x == y
    return _core.logical_or(x == y, _core.logical_and(_core.isnan(x), _core.isnan(y)))


def allclose(a: Any, b: Any, rtol: Any = 1e-05, atol: Any = 1e-08, equal_nan: bool = False) -> Any:
    """Whether all elements are close, as ``isclose`` says.

    >>> bool(allclose(_core.Parameter([1.0, 2.0]), [1.0, 3.0]))
    False
    """
    found = all(isclose(a, b, rtol, atol, equal_nan))
    return found if isinstance(found, Variable) else bool(found)


def array_equal(a1: Any, a2: Any, equal_nan: bool = False) -> Any:
    """Whether two arrays have one shape and equal elements; it follows what can change, but the
    shape: in a graph ValueError is raised where one later gets another length.

    >>> bool(array_equal(_core.Parameter([1.0, 2.0]), [1.0, 2.0]))
    True
    """
    if not changes(a1, a2):
        return np.array_equal(value("array_equal", a1), value("array_equal", a2), equal_nan)
    x, y = constant(a1), constant(a2)
    if x.shape != y.shape:
        value("array_equal", [x if follows_input(x) else None, y if follows_input(y) else None])
        return False
    # An input that gets another length is an error, also where it would repeat.
    return all(_equal(x, _core.broadcast_like(y, x, x.ndim), equal_nan))


def places(condition: Like) -> tuple[Array, ...]:
    """The places that are not zero: ``numpy.where`` of one argument."""
    found: tuple[Array, ...] = np.nonzero(value("where", constant(condition)))
    return found


def shape(a: Like) -> tuple[int, ...]:
    """The length of each axis, as ``Variable.shape``."""
    x, lengths = itself(a), []
    for axis in range(x.ndim):
        lengths.append(length(x, axis))  # in a frame of this function, see there
    return tuple(lengths)


def ndim(a: Like) -> int:
    """The number of axes."""
    return constant(a).ndim


def size(a: Like, axis: Axis = None) -> int:
    """The number of elements, or the length of an axis, of several the product.

    >>> size(constant([[1.0], [2.0]]), 0)
    2
    """
    x = itself(a)
    return length(x, axes_of("size", axis, x.ndim))
