"""What a name stands for while a function is read: abstract values.

A value is known (a Python object), a number that the compiled function computes, or made of parts.
What can be changed (lists, dicts, instances, cells of closures) stands in the heap of ``state.py``
under an address, so that aliases stay aliases; here are only references to it. Values never change.

Values made of parts say which (``parts``), how others take their place (``with_parts``), and what
else there is to them (``head``): two values of one class and head differ in their parts only.
"""

from __future__ import annotations

import ast
import struct
from collections.abc import Hashable
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import numpy.typing as npt

NONE: frozenset[int] = frozenset()


@dataclass(frozen=True, slots=True, eq=False)
class Known:
    """A Python object, and where it was found if more can be read from there."""

    object: Any
    place: Any = None


@dataclass(frozen=True, slots=True)
class Number:
    """A number that is computed.

    ``kind`` tells Python's float from NumPy's, and both from int and bool; ``id`` is the value in
    the program. ``sources`` are the leaves of the arguments on which it depends: a number that has
    to be known is known once these are. ``seen`` is what the length of an array was: where it has
    to be known, the program leaves if it is another.
    """

    kind: str
    id: int
    sources: frozenset[int] = NONE
    seen: int | None = None


@dataclass(frozen=True, slots=True)
class Array:
    """The value of an array; ``shape`` is the one that was seen.

    ``bases`` are the addresses of the arrays that it may be a view of, ``outer`` the places of
    those of the caller's that it may be, or be a view of. ``computed`` is whether its lengths are,
    so that it may have others in each run. ``example`` are integers that were seen there,
    ``view`` says which part of which array of the function's own it is.
    """

    id: int
    dtype: np.dtype[Any]
    shape: tuple[int, ...]
    bases: frozenset[int] = NONE
    outer: frozenset[Any] = frozenset()
    computed: bool = False
    example: Any = field(default=None, compare=False, repr=False)
    view: View | None = field(default=None, compare=False)


@dataclass(frozen=True, slots=True)
class ZeroDimensional:
    """A 0-d array that exists outside of the function: arithmetic takes it as its only number."""

    number: Number
    place: Any


@dataclass(frozen=True, slots=True)
class View:
    """A part of an array that the function made, or of a view, looked up where a name is read."""

    owner: Any
    index: Any
    head: Hashable = None

    @property
    def parts(self) -> tuple[Any, ...]:
        """The array and the index."""
        return (self.owner, self.index)

    def with_parts(self, parts: tuple[Any, ...]) -> View:
        """A part of another."""
        return View(*parts)

    @property
    def bases(self) -> frozenset[int]:
        """The address of the array."""
        owner = self.owner
        return owner.bases if isinstance(owner, View) else frozenset({owner.address})


@dataclass(frozen=True, slots=True, eq=False)
class Recorded:
    """A mask or indices: a variable of a graph over ``inputs``, each with its value in the program.
    It is written where it is used. ``again`` is the same over ``others``, which have other values.

    ``bases`` and ``view`` are those of an ``Array``: of what it is a part. What has no axes is an
    array, or the number that NumPy makes of one (``is_array``).
    """

    variable: Any
    inputs: tuple[tuple[Any, int], ...]
    again: Any = None
    others: tuple[Any, ...] = ()
    computed: bool = False
    bases: frozenset[int] = NONE
    view: View | None = None
    is_array: bool = True


@dataclass(frozen=True, slots=True)
class Tuple:
    """A tuple; of class ``cls`` if it is a named one, which was found at ``place``, if anywhere."""

    items: tuple[Any, ...]
    cls: type = tuple
    place: Any = field(default=None, compare=False)

    @property
    def head(self) -> Hashable:
        """The class and the length."""
        return (self.cls, len(self.items))

    @property
    def parts(self) -> tuple[Any, ...]:
        """The items."""
        return self.items

    def with_parts(self, parts: tuple[Any, ...]) -> Tuple:
        """Another of these items."""
        return Tuple(parts, self.cls, self.place)


@dataclass(frozen=True, slots=True)
class Reference:
    """What stands in the heap under an address."""

    address: int


@dataclass(frozen=True, slots=True)
class Choice:
    """One of several values; the integer ``tag`` says which while the program runs."""

    tag: int
    alternatives: tuple[Any, ...]


@dataclass(frozen=True, slots=True)
class Unset:
    """A name without a value."""


@dataclass(frozen=True, slots=True)
class Lost:
    """What no value stands for, because paths that meet disagree, or because it was a generator.

    ``key`` is a name that was set on some of the paths only: reading once more keeps track of it.
    ``advice`` says what to write instead, if that is not what is advised of paths.
    """

    reason: str
    key: Hashable = None
    advice: str | None = None


@dataclass(frozen=True, slots=True)
class Range:
    """A range of integers."""

    start: Any
    stop: Any
    step: Any
    head: Hashable = None

    @property
    def parts(self) -> tuple[Any, ...]:
        """The bounds and the step."""
        return (self.start, self.stop, self.step)

    def with_parts(self, parts: tuple[Any, ...]) -> Range:
        """Another range."""
        return Range(*parts)


@dataclass(frozen=True, slots=True)
class Closure:
    """A function whose text is at hand: a nested one, or one that was read.

    ``cells`` are the addresses of what it takes from functions around it, by name. ``defaults``
    belong to the last positional parameters, ``keyword_defaults`` to keywords by name. ``reading``
    and ``names`` belong to the function in whose text it stands.
    """

    node: ast.FunctionDef | ast.Lambda
    reading: Any
    names: Any
    cells: tuple[tuple[str, Reference], ...]
    defaults: tuple[Any, ...]
    keyword_defaults: tuple[tuple[str, Any], ...]

    @property
    def head(self) -> Hashable:
        """The text."""
        return (id(self.node), len(self.defaults), tuple(name for name, _ in self.cells))

    @property
    def parts(self) -> tuple[Any, ...]:
        """Cells and defaults."""
        return (
            *(cell for _, cell in self.cells),
            *self.defaults,
            *(value for _, value in self.keyword_defaults),
        )

    def with_parts(self, parts: tuple[Any, ...]) -> Closure:
        """The function with other cells and defaults."""
        first, second = len(self.cells), len(self.cells) + len(self.defaults)
        cells = zip((name for name, _ in self.cells), parts[:first], strict=True)
        keywords = zip((name for name, _ in self.keyword_defaults), parts[second:], strict=True)
        return replace(
            self,
            cells=tuple(cells),
            defaults=parts[first:second],
            keyword_defaults=tuple(keywords),
        )


@dataclass(frozen=True, slots=True)
class Applied:
    """A function with arguments given before: a bound method, or a partial."""

    function: Any
    args: tuple[Any, ...]
    keywords: tuple[tuple[str, Any], ...] = ()

    @property
    def head(self) -> Hashable:
        """How many arguments there are, and the keywords."""
        return (len(self.args), tuple(name for name, _ in self.keywords))

    @property
    def parts(self) -> tuple[Any, ...]:
        """The function and the arguments."""
        return (self.function, *self.args, *(value for _, value in self.keywords))

    def with_parts(self, parts: tuple[Any, ...]) -> Applied:
        """Another function with other arguments."""
        count = len(self.args) + 1
        keywords = zip((name for name, _ in self.keywords), parts[count:], strict=True)
        return Applied(parts[0], parts[1:count], tuple(keywords))


@dataclass(frozen=True, slots=True)
class MethodOf:
    """A method of a list, dict, string or number, by its name."""

    name: str
    owner: Any

    @property
    def head(self) -> Hashable:
        """The name."""
        return self.name

    @property
    def parts(self) -> tuple[Any, ...]:
        """Whose method it is."""
        return (self.owner,)

    def with_parts(self, parts: tuple[Any, ...]) -> MethodOf:
        """The method of another."""
        return MethodOf(self.name, parts[0])


@dataclass(frozen=True, slots=True)
class Lazy:
    """What is computed of other values when it is used: ``enumerate``, ``zip``, ``map`` or a
    generator expression when it is gone through; a slice when an item is looked up; a derivative, a
    cached function or a check of ``groupby`` when it is called.

    ``node`` belongs to the value and is no part that may differ on two paths: the expression of a
    generator, the place of a slice, or the contents that a check of ``groupby`` compares with.
    """

    name: str
    over: tuple[Any, ...]
    node: Any = None

    @property
    def head(self) -> Hashable:
        """What it is."""
        return (self.name, len(self.over), id(self.node))

    @property
    def parts(self) -> tuple[Any, ...]:
        """What it is made of."""
        return self.over

    def with_parts(self, parts: tuple[Any, ...]) -> Lazy:
        """The same of others."""
        return Lazy(self.name, parts, self.node)


@dataclass(frozen=True, slots=True)
class Text:
    """A string that depends on what is computed: it can be printed, returned or dropped, not read.

    ``template`` has what is written, and ``(change, spec)`` for each of the values: how that is
    formatted (``texts.py``). Without one nothing is known of it.
    """

    template: tuple[Any, ...] | None = None
    values: tuple[Any, ...] = ()

    @property
    def head(self) -> Hashable:
        """What is written."""
        return self.template

    @property
    def parts(self) -> tuple[Any, ...]:
        """What is formatted."""
        return self.values

    def with_parts(self, parts: tuple[Any, ...]) -> Text:
        """The same of others."""
        return Text(self.template, parts)


@dataclass(frozen=True, slots=True)
class Caught:
    """An exception that was caught. ``head`` says whether its text is that of its arguments."""

    args: Any = Known(None)
    head: bool = False

    @property
    def parts(self) -> tuple[Any, ...]:
        """The arguments."""
        return (self.args,)

    def with_parts(self, parts: tuple[Any, ...]) -> Caught:
        """One with others."""
        return Caught(parts[0], self.head)

    @property
    def text(self) -> Any:
        """What is shown of it; None if that is not known."""
        found = self.args if self.head and isinstance(self.args, Tuple) else None
        return found.items[0] if found is not None and len(found.items) == 1 else found


ITERATORS = frozenset({"enumerate", "zip", "strict zip", "map", "filter", "reversed", "generator"})


def is_iterator(value: Any) -> bool:
    """Whether a value can be gone through once alone."""
    return isinstance(value, Lazy) and value.name in ITERATORS


Value = (
    Known
    | Number
    | Array
    | ZeroDimensional
    | Recorded
    | Tuple
    | Reference
    | Choice
    | Unset
    | Lost
    | Range
    | Closure
    | Applied
    | MethodOf
    | Lazy
    | Text
    | Caught
    | View
)
Composite = Tuple | Range | Closure | Applied | MethodOf | Lazy | Text | View | Caught

KINDS: dict[type, str] = {
    float: "float",
    int: "int",
    bool: "bool",
    np.float64: "float64",
    np.float32: "float32",
    np.bool_: "numpy_bool",
    np.int64: "int64",
}
CLASSES = {kind: cls for cls, kind in KINDS.items()}
REAL = frozenset({"float", "float64", "float32"})
NUMPY = frozenset({"float64", "float32", "numpy_bool", "int64"})
# The element types of arrays that a function takes.
ELEMENTS = (np.float64, np.float32, np.int64, np.bool_)
# Integers and truths, of Python's and NumPy's.
INTEGERS = frozenset({"int", "int64"})
BOOLS = frozenset({"bool", "numpy_bool"})
# The kind of the ir in which a number of a kind of Python's is computed.
STORED = {
    "float": "float",
    "float64": "float",
    "float32": "float32",
    "int": "int",
    "bool": "bool",
    "numpy_bool": "bool",
    "int64": "int",
}
_ZEROS: dict[str, Any] = {"float": 0.0, "float32": np.float32(0.0), "int": 0, "bool": False}
PLACEHOLDER = {kind: _ZEROS[stored] for kind, stored in STORED.items()}


def alternatives_of(value: Any) -> tuple[Any, ...]:
    """What a value may be while the program runs: itself, unless it is a choice."""
    return value.alternatives if isinstance(value, Choice) else (value,)


def is_none(value: Any) -> bool:
    """Whether a value is known to be None."""
    return isinstance(value, Known) and value.object is None


def is_index(value: Any) -> bool:
    """Whether a value is one integer."""
    return kind_of(value) in INTEGERS


def is_integers(value: Any) -> bool:
    """Whether a value is an array of integers."""
    return isinstance(value, Array) and value.dtype == np.int64


def kind_of(value: Value) -> str | None:
    """The kind of a number of at most 64 bits, computed or known; None for anything else."""
    if isinstance(value, Number):
        return value.kind
    if not isinstance(value, Known):
        return None
    kind = KINDS.get(type(value.object))
    return None if kind == "int" and not -(2**63) <= value.object < 2**63 else kind


def whole_beside(value: Any, other: Any) -> Any:
    """An integer of a derived class beside a computed number, as that integer; anything else as it
    is. NumPy's float32 takes it for one of 64 bits.
    """
    derived = isinstance(value, Known) and isinstance(value.object, int)
    if not derived or type(value.object) in KINDS or kind_of(other) in (None, "float32"):
        return value
    return Known(int.__pos__(value.object))


def number_of(value: Any) -> Any:
    """The number of an array without axes; anything else as it is."""
    return value.number if isinstance(value, ZeroDimensional) else value


def same_object(a: Any, b: Any) -> bool:
    """Whether two known objects are the same for whoever computes with them."""
    if a is b:
        return True
    if type(a) is not type(b):
        return False
    if isinstance(a, float | np.float32):
        return struct.pack("d", a) == struct.pack("d", b)
    if type(a) in (int, bool, str, bytes, np.bool_, complex):
        return repr(a) == repr(b)
    if type(a) is tuple:
        return len(a) == len(b) and all(map(same_object, a, b))
    return False


def sources_of(*values: Value) -> frozenset[int]:
    """The leaves of the arguments on which values depend."""
    return NONE.union(*(value.sources for value in values if isinstance(value, Number)))


def nothing() -> None:
    """What ``object.__init__`` does."""


def sample(like: Array) -> npt.NDArray[Any]:
    """An array of zeros that is like one that was seen."""
    return np.zeros(like.shape, like.dtype)


def seen_of(number: Any) -> Any:
    """What a number is known to be, or, of a length, was when it was seen; None of any other."""
    return number.object if isinstance(number, Known) else getattr(number, "seen", None)
