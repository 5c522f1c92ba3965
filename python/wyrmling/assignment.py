"""``x += v`` and its kin on variables.

A variable that was computed is the name of a node of a graph, and nothing in a graph changes: to
assign to it, as ``x[key] = v`` does too, is to let the name stand for another node. NumPy's
arrays change in place and its numbers do not, so ``x += v`` gives every name of an array the new
value, and rebinds one name of a number. The other names of a leaf (a ``Parameter``, an ``Input``
or what ``Variable(...)`` makes) keep it: its ``value`` is what one assigns.

The methods are attached here since what the native module offers for them cannot return another
object.
"""

from collections.abc import Callable
from typing import Any

from . import _core
from . import operators as operators
from ._core import Variable

# Of each symbol the method that computes, and the one that assigns.
OPERATORS = {
    "+=": ("__add__", "__iadd__"),
    "-=": ("__sub__", "__isub__"),
    "*=": ("__mul__", "__imul__"),
    "/=": ("__truediv__", "__itruediv__"),
    "**=": ("__pow__", "__ipow__"),
    "@=": ("__matmul__", "__imatmul__"),
    "%=": ("__mod__", "__imod__"),
    "//=": ("__floordiv__", "__ifloordiv__"),
    "&=": ("__and__", "__iand__"),
    "|=": ("__or__", "__ior__"),
    "^=": ("__xor__", "__ixor__"),
}


def _in_place(symbol: str, operation: Callable[[Variable, Any], Any]) -> Callable[..., Any]:
    """The method for an operator such as ``+=``."""

    def method(self: Variable, other: Any, /) -> Any:
        result = operation(self, other)
        if result is NotImplemented or self.ndim == result.ndim == 0:
            return result
        if result.shape != self.shape:
            raise ValueError(
                f"{symbol}: an array of shape {self.shape} cannot hold the result, of shape "
                f"{result.shape}"
            )
        if result.dtype != self.dtype:
            result = result.astype(self.dtype)
        return self if _core.replace_node(self, result) else result

    return method


for _symbol, (_operation, _name) in OPERATORS.items():
    _method = _in_place(_symbol, getattr(Variable, _operation))
    _method.__name__ = _name
    _method.__qualname__ = f"Variable.{_name}"
    _method.__doc__ = f"Implements ``{_symbol}``."
    setattr(Variable, _name, _method)
