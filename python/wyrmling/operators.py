"""The operators of Python on variables that the native class does not have, but in place ones.

``%``, ``//`` and ``divmod`` are NumPy's ``mod`` and ``floor_divide``. ``&``, ``|``, ``^`` and ``~``
are logical, on masks alone: arrays whose elements are all 0 or 1, as those of ``x > 0``, whatever
their type; any other raises TypeError. Whether they are is asked once, of the values at hand.

>>> x = Variable([1.0, -2.0, 3.0])
>>> ((x > 0.0) & ~(x > 2.0)).value
array([1., 0., 0.])
"""

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from . import _core, arrays
from ._core import Variable

_KNOWN = (Variable, int, float, np.number, np.bool_, list, tuple)

Binary = Callable[[Any, Any], Any]


def _mask(name: str, x: Any) -> Any:
    """An operand of a logical operator. Raises TypeError if it is no mask."""
    values = x.value if isinstance(x, Variable) else np.asarray(x)
    if values.dtype != bool and not np.all((values == 0) | (values == 1)):
        kind = f"shape {values.shape} and type {values.dtype}"
        raise TypeError(
            f"{name}: expected a mask, whose elements are 0 or 1; got others, of {kind}"
        )
    return x


def _of_masks(name: str, logical: Binary) -> Binary:
    def function(x1: Any, x2: Any, /) -> Any:
        return logical(_mask(name, x1), _mask(name, x2))

    return function


def invert(x: Any, /) -> Any:
    """``~x``: 1.0 where a mask is 0, and 0.0 where it is 1. Raises TypeError if it is no mask."""
    return _core.logical_not(_mask("~", x))


def divmod_(x1: Any, x2: Any, /) -> tuple[Variable, Variable]:
    """The quotient rounded down, and the remainder."""
    return _core.floor_divide(x1, x2), _core.mod(x1, x2)


# Of each symbol its name, and the function that computes.
BINARY: dict[str, tuple[str, Binary]] = {
    "%": ("mod", _core.mod),
    "//": ("floordiv", _core.floor_divide),
    "divmod": ("divmod", divmod_),
    "&": ("and", _of_masks("&", _core.logical_and)),
    "|": ("or", _of_masks("|", _core.logical_or)),
    "^": ("xor", _of_masks("^", _core.logical_xor)),
}


def _method(function: Binary, *, reflected: bool) -> Callable[..., Any]:
    def method(self: Variable, other: Any, /) -> Any:
        if not (isinstance(other, _KNOWN) or hasattr(other, "__array__")):
            return NotImplemented
        return function(other, self) if reflected else function(self, other)

    return method


def _round(self: Variable, ndigits: int | None = None) -> Variable:
    """Implements ``round``: to that many decimals, to whole numbers without."""
    return arrays.round(self, 0 if ndigits is None else ndigits)


def _format(self: Variable, spec: str, /) -> str:
    """Implements ``format``: a number as Python's, whatever it depends on; an array by ``str``."""
    if not spec:
        return str(self)
    if self.ndim:
        raise TypeError(f"format: {spec!r} is for numbers, and this has shape {self.shape}")
    return format(self.value.item(), spec)


def _reversed(self: Variable) -> Iterator[Variable]:
    """Implements ``reversed``, along the first axis."""
    return (self[k] for k in reversed(range(len(self))))


METHODS: dict[str, Callable[..., Any]] = {
    "__format__": _format,
    "__invert__": invert,
    "__reversed__": _reversed,
    "__round__": _round,
}
for _symbol, (_name, _function) in BINARY.items():
    for _prefix in ("", "r"):
        _made = _method(_function, reflected=bool(_prefix))
        _made.__doc__ = f"Implements ``{_symbol}``."
        METHODS[f"__{_prefix}{_name}__"] = _made

for _name, _attached in METHODS.items():
    _attached.__name__ = _name
    _attached.__qualname__ = f"Variable.{_name}"
    setattr(Variable, _name, _attached)
