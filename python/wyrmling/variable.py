"""What Python adds to the native class ``Variable``.

The class itself, with its operators, is ``src/python`` in Rust. Attached to it here, when the
package is imported, is what has no form there:

- methods of NumPy's arrays that are made of several operators, the functions of
  ``wyrmling.arrays``, and those that NumPy answers from the value;
- how it is shown: while a function is traced as the number or array that it stands for, so that a
  function that is differentiated prints what plain Python prints; otherwise with its class;
- ``&``, ``|``, ``^`` and ``~``, which are logical, on masks alone: arrays whose elements are all 0
  or 1, as those of ``x > 0``, whatever their type. Any other raises TypeError: so does what follows
  an input or a parameter and is no answer of a comparison, for its zeros and ones may be others
  later;
- ``x += v`` and other augmented assignments, since what a native class offers for them cannot
  return another object. A variable that was computed is the name of a node of a graph, and nothing
  in a graph changes: to assign to it, as ``x[key] = v`` does too, is to let the name stand for
  another node. NumPy's arrays change in place and its numbers do not, so ``x += v`` gives every
  name of an array the new value, and the arrays that it is a view of, and rebinds one name of a
  number. The other names of a leaf (a ``Parameter``, an ``Input`` or what ``Variable(...)`` makes)
  keep it: its ``value`` is what one assigns.

>>> x = Variable([1.0, -2.0, 3.0])
>>> x.cumsum().value
array([ 1., -1.,  2.])
>>> ((x > 0.0) & ~(x > 2.0)).value
array([ True, False, False])
>>> x += 1.0
>>> x.value
array([ 2., -1.,  4.])
"""

import math

# It is ``threading.local``; that module is not needed otherwise.
from _thread import _local
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from . import _core
from ._core import Variable

Binary = Callable[[Any, Any], Any]
Method = Callable[..., Any]

# What is imported within functions is rarely asked for, and would load all array functions.


def any_true(
    self: Variable, axis: Any = None, out: Any = None, keepdims: bool = False, *, where: Any = True
) -> Any:
    """Whether any element along axes is not zero, as ``numpy.any``."""
    from .arrays import predicates

    return predicates.any(self, axis, out, keepdims, where=where)


def all_true(
    self: Variable, axis: Any = None, out: Any = None, keepdims: bool = False, *, where: Any = True
) -> Any:
    """Whether no element along axes is zero, as ``numpy.all``."""
    from .arrays import predicates

    return predicates.all(self, axis, out, keepdims, where=where)


def searchsorted(self: Variable, v: Any, side: Any = "left", sorter: Any = None) -> Any:
    """Where values would keep the elements in order, as plain integers."""
    return np.searchsorted(self, v, side, sorter)


def clip(self: Variable, min: Any = None, max: Any = None, out: Any = None, **how: Any) -> Any:
    """As ``wyrmling.clip``, where one bound may be given alone."""
    from .arrays import ordering

    return ordering.clip(self, min, max, out, **how)


def compress(self: Variable, condition: Any, axis: Any = None, out: Any = None) -> Any:
    """As ``wyrmling.compress``, whose first argument is the condition."""
    from .arrays import selection

    return selection.compress(condition, self, axis, out)


def fill(self: Variable, value: Any) -> None:
    """Stores a number in all elements."""
    if np.ndim(value):
        raise ValueError(f"fill: value: expected one number, got shape {np.shape(value)}")
    self[...] = value


def sort(self: Variable, axis: int = -1, kind: Any = None, *, stable: Any = None) -> None:
    """Puts the elements in order along an axis, in the array itself."""
    from .arrays import operand, ordering

    self[...] = ordering.sort(self, operand.integer("sort: axis", axis), kind, stable=stable)


def partition(self: Variable, kth: Any, axis: int = -1, kind: Any = "introselect") -> None:
    """Puts the elements in an order of ``wyrmling.partition``, in the array itself."""
    from .arrays import operand, ordering

    along = operand.integer("partition: axis", axis)
    self[...] = ordering.partition(self, kth, along, kind)


def to_device(self: Variable, device: str, /, *, stream: Any = None) -> Variable:
    """The variable itself: there is one device. Raises ValueError for any but ``"cpu"``."""
    if device != "cpu" or stream is not None:
        raise ValueError(f"to_device: expected 'cpu' and no stream, got {device!r}")
    return self


def conjugate(self: Variable) -> Variable:
    """The variable itself, which is real."""
    return self


def nonzero(self: Variable) -> Any:
    """The indices of the elements that are not zero, as plain arrays."""
    return np.nonzero(self)


def tolist(self: Variable) -> Any:
    """The values as a number, or nested lists of numbers, which carry no gradient."""
    return self.value.tolist()


def copy(self: Variable, order: Any = "C") -> Variable:
    """A copy as an array; a number, which nothing changes, is itself."""
    from .arrays import shaping

    copied = shaping.copy(self, order)
    return self if _core.is_scalar(self) else copied


def flatten(self: Variable, order: Any = "C") -> Variable:
    """All elements along one axis, in an array of their own; ``order`` as in ``wyrmling.ravel``."""
    from .arrays import shaping

    return _core.constant(shaping.ravel(self, order))


# Methods behind functions of Python: round, format, reversed.


def _round(self: Variable, ndigits: int | None = None) -> Any:
    """Implements ``round``: to that many decimals, to whole numbers without. Of what stands for a
    Python float the result is a plain number, as Python rounds it: its derivative is zero.
    """
    from .arrays import rounding

    if self.ndim:
        raise TypeError("round: an array has no such method, in NumPy too; use np.round")
    if _core.is_number(self) and not _core.follows_input(self):
        return round(self.item(), ndigits)
    if ndigits is None and _core.is_scalar(self) and not _core.settable(self):
        # One of NumPy's, which cannot change, becomes an integer of Python.
        return round(self.item())
    return rounding.round(self, 0 if ndigits is None else ndigits)


def _integer(function: Callable[[float], int]) -> Method:
    """The method by which a function of ``math`` makes an integer of a number."""

    def method(self: Variable) -> int:
        from .arrays import predicates

        return function(predicates.value_now(function.__name__, self).item())

    return method


class _Depth(_local):
    """How many functions a thread traces, one within the other."""

    count = 0


depth = _Depth()


def _stands_for(variable: Variable) -> Any:
    """The number or array that plain Python has where a traced function has this variable; the
    variable itself where nothing is traced, and if it is an input or parameter of the user's.
    """
    if not depth.count or type(variable) is not Variable:
        return variable
    value: Any = variable.value
    if variable.ndim:
        return value
    if _core.is_number(variable):
        return value.item()
    return value[()] if _core.is_scalar(variable) else value


_native_repr = Variable.__repr__


def _repr(self: Variable) -> str:
    """Implements ``repr``: as what it stands for, where a function is traced."""
    found = _stands_for(self)
    return _native_repr(self) if found is self else repr(found)


def _str(self: Variable) -> str:
    """Implements ``str``, as ``repr`` does."""
    found = _stands_for(self)
    return repr(self) if found is self else str(found)


def _format(self: Variable, spec: str, /) -> str:
    """Implements ``format``: a number as Python's, whatever it depends on; an array by ``str``."""
    found = _stands_for(self)
    if found is not self:
        return format(found, spec)
    if not spec:
        return str(self)
    if self.ndim:
        raise TypeError(f"format: {spec!r} is for numbers, and this has shape {self.shape}")
    return format(self.value.item(), spec)


def _reversed(self: Variable) -> Iterator[Variable]:
    """Implements ``reversed``, along the first axis."""
    return reversed(list(self))


def _dir(self: Variable) -> list[str]:
    """Implements ``dir``: what there is, without what is refused."""
    lacking = REFUSED.keys() | (OF_NUMBERS if self.ndim else ())
    return [name for name in object.__dir__(self) if name not in lacking]


# Logical operators.

_OPERANDS = (Variable, int, float, np.number, np.bool_, list, tuple)


def _changes(x: Variable) -> bool:
    """Whether the value of a variable is another one later, in a program or by training."""
    return _core.follows_input(x) or _core.follows_parameter(x)


def _mask(name: str, x: Any) -> Any:
    """An operand of a logical operator. Raises TypeError if it is no mask."""
    if isinstance(x, Variable) and (_core.is_boolean(x) or _changes(x)):
        if _core.is_boolean(x):
            return x
        leaf = "an input" if _core.follows_input(x) else "a parameter"
        raise TypeError(
            f"{name}: expected a mask, as x > 0 or x != 0; this follows {leaf}, whose numbers may "
            "be others later"
        )
    values = x.value if isinstance(x, Variable) else np.asarray(x)
    if values.dtype != bool and not np.all((values == 0) | (values == 1)):
        kind = f"shape {values.shape} and type {values.dtype}"
        raise TypeError(
            f"{name}: expected a mask, whose elements are 0 or 1; got others, of {kind}"
        )
    return x


def _of_masks(symbol: str, logical: Binary) -> Binary:
    def function(x1: Any, x2: Any, /) -> Any:
        return logical(_mask(symbol, x1), _mask(symbol, x2))

    return function


def invert(x: Any, /) -> Any:
    """``~x``: whether a mask is false. Raises TypeError if it is no mask."""
    return _core.logical_not(_mask("~", x))


# For each symbol the name of its method without underscores, and the function that computes it.
LOGICAL: dict[str, tuple[str, Binary]] = {
    "&": ("and", _of_masks("&", _core.logical_and)),
    "|": ("or", _of_masks("|", _core.logical_or)),
    "^": ("xor", _of_masks("^", _core.logical_xor)),
}


def _method(function: Binary, *, reflected: bool) -> Method:
    def method(self: Variable, other: Any, /) -> Any:
        if not (isinstance(other, _OPERANDS) or hasattr(other, "__array__")):
            return NotImplemented
        return function(other, self) if reflected else function(self, other)

    return method


# For each operator that assigns, the common part of two methods' names: ``+=`` is ``__iadd__``, and
# computes by ``__add__``.
ASSIGNING = {
    "+=": "add",
    "-=": "sub",
    "*=": "mul",
    "/=": "truediv",
    "**=": "pow",
    "@=": "matmul",
    "%=": "mod",
    "//=": "floordiv",
    "&=": "and",
    "|=": "or",
    "^=": "xor",
}


def _in_place(symbol: str, operation: Callable[[Variable, Any], Any]) -> Method:
    """The method for an operator such as ``+=``, from that for ``+``."""

    def method(self: Variable, other: Any, /) -> Any:
        result = operation(self, other)
        if result is NotImplemented:
            return result
        view = _core.is_view(self)
        if _core.is_scalar(self):
            return result
        if result.shape != self.shape:
            raise ValueError(
                f"{symbol}: an array of shape {self.shape} cannot hold the result, of shape "
                f"{result.shape}"
            )
        if np.ndim(other) and _core.follows_input(result):
            # A program refuses other lengths, too, for which the result has not the array's shape.
            result = _core.shaped_like(result, self)
        if result.dtype != self.dtype:
            if not np.can_cast(result.dtype, self.dtype, "same_kind"):
                raise TypeError(
                    f"{symbol}: the result, of type {result.dtype}, cannot be stored as "
                    f"{self.dtype}, as in NumPy; write x = x {symbol[:-1]} y"
                )
            result = result.astype(self.dtype)
        if _core.replace_node(self, result):
            return self
        if view:
            raise TypeError(
                f"{symbol}: this is a view of a leaf, whose elements cannot be assigned: assign "
                "the leaf's value, or write on a copy, wyrmling.array(x)"
            )
        return result

    return method


def _attach(name: str, method: Method, doc: str | None = None) -> None:
    """Makes a function a method of the class; ``doc`` is for one that is made here."""
    if name.startswith("__"):
        method.__name__ = name
        method.__qualname__ = f"Variable.{name}"
        method.__doc__ = doc or method.__doc__
    setattr(Variable, name, method)


class _Refused:
    """An attribute of NumPy's arrays that a variable has not: the error says what to use."""

    def __init__(self, name: str, way: str) -> None:
        self._name, self._way = name, way

    def __get__(self, instance: Variable | None, owner: type[Variable]) -> Any:
        if instance is None:
            return self
        error = AttributeError(f"a Variable has no attribute {self._name!r}: {self._way}")
        # Where a function is read it may be there.
        error.takes_no_variable = True  # type: ignore[attr-defined]
        raise error


class _OfNumbers:
    """A method of numbers, which arrays have not, of ``number_methods.py``."""

    def __init__(self, name: str) -> None:
        self._name = name

    def __get__(self, instance: Variable | None, owner: type[Variable]) -> Any:
        from . import number_methods

        method = getattr(number_methods, self._name)
        if instance is None:
            return method
        if instance.ndim:
            raise AttributeError(
                f"a Variable of shape {instance.shape} has no attribute {self._name!r}, which is "
                "one of numbers"
            )
        return method.__get__(instance, owner)


class _OfArrays:
    """A function of ``wyrmling.arrays`` as a method, loaded when it is asked for."""

    def __init__(self, name: str, function: str) -> None:
        self._name, self._function = name, function

    def __get__(self, instance: Variable | None, owner: type[Variable]) -> Any:
        from . import arrays, plain

        method = plain.inner(getattr(arrays, self._function))
        setattr(Variable, self._name, method)
        return method if instance is None else method.__get__(instance, owner)


METHODS: dict[str, Method] = {
    "__ceil__": _integer(math.ceil),
    "__dir__": _dir,
    "__floor__": _integer(math.floor),
    "__trunc__": _integer(math.trunc),
    "__format__": _format,
    "__repr__": _repr,
    "__str__": _str,
    "__invert__": invert,
    "__reversed__": _reversed,
    "__round__": _round,
    "all": all_true,
    "any": any_true,
    "clip": clip,
    "compress": compress,
    "conj": conjugate,
    "conjugate": conjugate,
    "copy": copy,
    "fill": fill,
    "flatten": flatten,
    "nonzero": nonzero,
    "partition": partition,
    "searchsorted": searchsorted,
    "sort": sort,
    "to_device": to_device,
    "tolist": tolist,
}


def _nbytes(self: Variable) -> int:
    # An integer, so a graph that is built with it is for this length alone.
    return _core.length(self, tuple(range(self.ndim))) * self.dtype.itemsize


# Attributes of NumPy's arrays.
PROPERTIES: dict[str, tuple[Callable[[Variable], Any], str]] = {
    "device": (lambda self: "cpu", 'Where the values are: ``"cpu"``.'),
    "imag": (lambda self: _core.broadcast_like(self.dtype.type(0.0), self), "Zeros."),
    "itemsize": (lambda self: self.dtype.itemsize, "The bytes of an element."),
    "mT": (_core.matrix_transpose, "The transposes of the matrices of the last two axes."),
    "nbytes": (_nbytes, "The bytes of all elements."),
    "real": (lambda self: self, "The variable itself."),
}
_MEMORY = "its memory is not to be seen; .value has the numbers as an array"
_UNSEEN = "base byteswap ctypes data dump dumps flags getfield setfield setflags strides view"
REFUSED = dict.fromkeys([*_UNSEEN.split(), "tobytes", "tofile"], _MEMORY) | {
    "flat": "use .ravel(), or .reshape(-1), which is a view where NumPy's is",
    "resize": "use np.resize, which gives a new array",
}
OF_NUMBERS = ("as_integer_ratio", "hex", "is_integer")
# Methods that are functions of wyrmling.arrays.
OF_ARRAYS = {
    name: name
    for name in (
        "argmax",
        "argmin",
        "argpartition",
        "argsort",
        "astype",
        "choose",
        "cumprod",
        "cumsum",
        "prod",
        "put",
        "ravel",
        "repeat",
        "round",
        "std",
        "swapaxes",
        "take",
        "var",
    )
}

for _name, _function in METHODS.items():
    _attach(_name, _function)
for _name, (_getter, _doc) in PROPERTIES.items():
    setattr(Variable, _name, property(_getter, doc=_doc))
for _name, _way in REFUSED.items():
    setattr(Variable, _name, _Refused(_name, _way))
for _name in OF_NUMBERS:
    setattr(Variable, _name, _OfNumbers(_name))
for _name, _of in OF_ARRAYS.items():
    setattr(Variable, _name, _OfArrays(_name, _of))
for _symbol, (_name, _logical) in LOGICAL.items():
    for _prefix in ("", "r"):
        _made = _method(_logical, reflected=bool(_prefix))
        _attach(f"__{_prefix}{_name}__", _made, f"Implements ``{_symbol}``.")
for _symbol, _name in ASSIGNING.items():
    _made = _in_place(_symbol, getattr(Variable, f"__{_name}__"))
    _attach(f"__i{_name}__", _made, f"Implements ``{_symbol}``.")
