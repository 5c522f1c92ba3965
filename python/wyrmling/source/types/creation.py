"""Arrays that are made: of numbers in lists, of one number, and of other arrays.

NumPy takes a list wherever it takes an array, and makes an array of it without asking whether there
are variables in it. So lists of what is computed are made arrays here, as ``np.array`` makes them.
``np.full`` and ``np.r_`` ask nobody either: what is recorded is a function of ours.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Sequence
from types import FunctionType
from typing import Any

import numpy as np

from ...ragged import Ragged
from ..abstract.state import ArrayContents, ListContents
from ..abstract.values import (
    BOOLS,
    REAL,
    Array,
    Choice,
    Known,
    Lost,
    MethodOf,
    Number,
    Recorded,
    Reference,
    Tuple,
    alternatives_of,
    is_integers,
    kind_of,
    number_of,
)
from ..abstract.walker import Walker
from ..text.scope import is_native
from .integer_arrays import is_whole
from .numbers import FOLDED

CREATORS = frozenset(
    {"array", "asarray", "asanyarray", "ascontiguousarray", "asfarray", "asfortranarray"}
)
FLOATS = (np.dtype(np.float64), np.dtype(np.float32))
# Functions whose argument is a list of arrays, which does not become one array.
OF_SEVERAL = frozenset(
    {"concatenate", "concat", "stack", "vstack", "hstack", "dstack", "column_stack", "row_stack"}
    | {"choose", "select", "multi_dot", "r_", "c_"}
)
# Functions that take containers for what they are.
OF_CONTAINERS = frozenset({"_item", "_stored", "block", "piecewise", "einsum"})
TRACING = "use functions that wyrmling differentiates (docs/operators.md), or mode='trace'"


def _is_lasting(found: Any) -> bool:
    """Whether an object, as long as it is the same one, gives NumPy the same at each call. A queue
    or another container may be changed in place, and so may an instance with ``__array__``.
    """
    unchangeable = (*FOLDED, slice, type(...), Ragged, np.finfo, np.iinfo)
    return isinstance(found, unchangeable) or is_native(found)


def r_(key: Any) -> Any:
    """``np.r_[key]``, of variables too."""
    import wyrmling

    return wyrmling.r_[key]


def c_(key: Any) -> Any:
    """``np.c_[key]``, of variables too."""
    import wyrmling

    return wyrmling.c_[key]


def full(*args: Any, **kwargs: Any) -> Any:
    """``np.full``, of variables too."""
    import wyrmling

    return wyrmling.full(*args, **kwargs)


def joiner_of(found: Any) -> Callable[[Any], Any] | None:
    """The function that does what this does by an index, if it is ``np.r_`` or ``np.c_``."""
    import wyrmling

    if found is np.r_ or found is wyrmling.r_:
        return r_
    return c_ if found is np.c_ or found is wyrmling.c_ else None


def _is_one_number(value: Any) -> bool:
    """Whether a value is one of several numbers."""
    return isinstance(value, Choice) and all(kind_of(one) for one in value.alternatives)


def _is_double(array: Any) -> bool:
    """Whether this is an array of float64."""
    found = array.object if isinstance(array, Known) else array
    found = found.variable if isinstance(found, Recorded) else found
    return hasattr(found, "shape") and bool(found.dtype == np.float64)


FOR_VARIABLES: dict[Any, Callable[..., Any]] = {np.full: full}
"""What is recorded for functions of NumPy that do not ask their arguments."""


def is_quadrature(found: Any) -> bool:
    """Whether this is a function of NumPy that gives points and weights of a rule of quadrature."""
    if not isinstance(found, FunctionType):
        return False
    module = str(found.__module__)
    return module.startswith("numpy.polynomial.") and found.__name__.endswith("gauss")


class Creation(Walker):
    """How arrays are made."""

    def with_number_for_truth(self, args: Sequence[Any], node: ast.AST) -> Sequence[Any]:
        """The arguments of ``np.where``, the first of which is 1 or 0 if it is one bool."""
        ways = alternatives_of(args[0])
        if len(args) != 3 or not {kind_of(one) for one in ways} <= BOOLS:
            return args
        truth = self.truth(args[0], node)
        return [Number("float", self.as_real(truth, "float", node)), *args[1:]]

    def quadrature(
        self, found: Any, args: Sequence[Any], keywords: dict[str, Any], node: ast.AST
    ) -> Tuple:
        """``leggauss(n)`` and the like, of a known n."""
        what = f"{found.__name__} of what is computed"
        given = [self.constant_of(arg, node, what) for arg in args]
        named = {name: self.constant_of(one, node, what) for name, one in keywords.items()}
        made = self.fold(lambda: found(*given, **named), [], node).object
        return Tuple(tuple(self.fresh(self.constant(one), one.dtype, one.shape) for one in made))

    def computed(self, value: Any) -> bool:
        """Whether a value, or a part of it, is a number or an array of the program."""
        if isinstance(value, Number):
            # Integers are lengths and axes here, which have to be known.
            return value.kind in REAL or value.kind == "int64"
        if isinstance(value, Array | Recorded) or _is_one_number(value):
            return True
        if isinstance(value, Tuple):
            return any(self.computed(item) for item in value.items)
        if self.grown(value) is not None:
            return True
        if isinstance(value, Reference):
            contents = self.state.heap[value.address]
            if isinstance(contents, ListContents):
                return any(self.computed(item) for item in contents.items)
            return isinstance(contents, ArrayContents)
        return False

    def fresh(
        self, made: int, dtype: Any, shape: tuple[int, ...], computed: bool = False
    ) -> Reference:
        """An array of the function's own."""
        array = Array(made, np.dtype(dtype), tuple(shape), computed=computed)
        return self.allocate(ArrayContents(array))

    def constant_array(
        self, function: Any, args: Sequence[Any], keywords: dict[str, Any], node: ast.AST
    ) -> Any:
        """An array that depends on nothing that is computed."""
        given = [self.plain_of(one, node) for one in args]
        named = {key: self.plain_of(one, node) for key, one in keywords.items()}
        return self.constant_result(self.fold(lambda: function(*given, **named), [], node))

    def constant_result(self, value: Known) -> Any:
        """An array of floats as one that can be written to; other results as they are."""
        found = value.object
        if isinstance(found, np.ndarray) and found.dtype in (np.float64, np.float32):
            return self.fresh(self.constant(found), found.dtype, found.shape)
        if isinstance(found, tuple):
            return Tuple(tuple(self.constant_result(Known(one)) for one in found))
        return value

    def plain_of(self, value: Any, node: ast.AST) -> Any:
        """A Python object that is known, with its parts."""
        if isinstance(value, Tuple):
            return tuple(self.plain_of(item, node) for item in value.items)
        if isinstance(value, Reference):
            contents = self.contents(value, node)
            if isinstance(contents, ListContents):
                return [self.plain_of(item, node) for item in contents.items]
        if isinstance(value, MethodOf):
            self.refuse(node, "a method as an argument of NumPy's", TRACING)
        if isinstance(value, Known) and value.place and isinstance(value.object, FunctionType):
            self.needs.test(value.place, ("is", value.object))
        elif isinstance(value, Known) and value.place and not _is_lasting(value.object):
            what = f"an object of {type(value.object).__qualname__}, which may change,"
            self.refuse(node, f"{what} as an argument of NumPy's", "make it an array outside")
        return self.constant_of(value, node, "an argument that is computed", "write the number")

    def created(
        self, name: str, args: Sequence[Any], keywords: dict[str, Any], node: ast.AST
    ) -> Any:
        """``np.array([a, b])``, ``np.asarray(x)``."""
        # An order of elements in memory changes no result.
        keywords = {key: one for key, one in keywords.items() if key != "order"}
        if self.is_array(args[0]):
            return self._of_array(name, args, keywords, node)
        if len(args) == 2 and "dtype" not in keywords:
            args, keywords = args[:1], {**keywords, "dtype": args[1]}
        wanted = keywords.get("dtype", Known(None))
        kind = None if not isinstance(wanted, Known) or wanted.object is None else wanted.object
        if kind is not None and np.dtype(kind) in FLOATS:
            args = [self.floats_of(args[0], node), *args[1:]]
        if kind_of(args[0]) in REAL and isinstance(args[0], Number):
            one = self._stacked(args[0], node)
            args = [self.fresh(one.id, one.kind, ()), *args[1:]]
            return self._of_array(name, args, keywords, node)
        if not self.computed(args[0]):
            return self.constant_array(np.array, args, keywords, node)
        if len(args) > 1 or set(keywords) - {"dtype"}:
            self.refuse(node, "such arguments of np.array", "write np.array([...])")
        self.constant_of(wanted, node, "a computed dtype")
        if kind is not None and np.dtype(kind) not in FLOATS:
            self.refuse(node, "np.array of another type than floats", "leave out dtype")
        if is_whole(self, args[0]):
            self.refuse(node, "an array of integers that are computed", "make them floats")
        made = self._stacked(args[0], node)
        return made if kind is None else self._of_array("asarray", [made, wanted], {}, node)

    def _of_array(
        self, name: str, args: Sequence[Any], keywords: dict[str, Any], node: ast.AST
    ) -> Any:
        """An array of an array: itself, or a copy."""
        array = self.array_of(args[0])
        if len(args) > 2 or set(keywords) - {"dtype", "copy"}:
            self.refuse(node, f"such arguments of np.{name}", f"write np.{name}(x)")
        copies = self.constant_of(keywords.get("copy", Known(name == "array")), node, "copy")
        given = args[1] if len(args) == 2 else keywords.get("dtype", Known(None))
        wanted = self.constant_of(given, node, "a computed dtype")
        ordered = name in ("ascontiguousarray", "asfortranarray")
        if ordered and isinstance(array, Array) and not array.shape:
            args = [self.array_call(np.atleast_1d, args[:1], {}, node), *args[1:]]
        own = array.object.dtype if isinstance(array, Known) else getattr(array, "dtype", None)
        if own is None and isinstance(array, Recorded):
            if wanted is None or np.dtype(wanted) == array.variable.dtype:
                return self._copied(args[0], node) if copies else args[0]
            own = array.variable.dtype
        if wanted is None or np.dtype(wanted) == own:
            return self._copied(args[0], node) if copies else args[0]
        return self.array_call(np.ndarray.astype, [args[0], Known(np.dtype(wanted))], {}, node)

    def of_floats(self, made: Any, node: ast.AST) -> Any:
        """What NumPy's ``array`` made, as ours makes it: of floats."""
        array = self.array_of(made)
        whole = isinstance(array, Known) or is_integers(array)
        return self._of_array("array", [made, Known(np.float64)], {}, node) if whole else made

    def _copied(self, value: Any, node: ast.AST) -> Any:
        array = self.array_of(value)
        if isinstance(array, Array) and not is_integers(array):
            return self.fresh(array.id, array.dtype, array.shape, array.computed)
        return self.array_call(np.ndarray.copy, [value], {}, node)

    def _stacked(self, value: Any, node: ast.AST) -> Any:
        if _is_one_number(value):
            return self.distribute(value, lambda one: self._stacked(one, node), node)
        kind = kind_of(value)
        if kind is not None:
            if kind == "float32":
                return value
            if kind in BOOLS:
                # Beside numbers of either precision it gets theirs.
                return Number("float32", self.as_real(value, "float32", node))
            return Number("float64", self.as_real(value, "float", node))
        if self.is_array(value):
            return value
        items = self._each(self._stacked, self.items(value, node), node)
        if not items:
            self.refuse(node, "an empty array here", "use np.zeros")
        return self.array_call(np.stack, [self.new_list(items)], {}, node)

    def without_lists(self, function: Any, args: Sequence[Any], node: ast.AST) -> list[Any]:
        """Arguments of a function of NumPy's, of which lists of what is computed are arrays."""
        name = getattr(function, "__name__", "this")
        if name in OF_CONTAINERS:
            return list(args)
        if name not in OF_SEVERAL:
            return self._each(self.as_array, args, node)
        made: list[Any] = []
        for one in args:
            items = self.list_items(one)
            if items is not None and self._holds_reals(one):
                with self.holding(*made):
                    one = Tuple(tuple(self._each(self.as_array, items, node)))
            made.append(one)
        return made

    def with_masks(self, name: str, args: Sequence[Any], node: ast.AST) -> list[Any]:
        """Arguments of a function of NumPy's, of which lists of computed bools are masks."""
        if name in OF_SEVERAL | OF_CONTAINERS - {"piecewise"}:
            return list(args)

        def mask_of(value: Any, node: ast.AST) -> Any:
            if not self.holds_truths(value):
                return value
            if all(map(self._is_mask, self.list_items(value) or ())):
                return self.array_call(np.stack, [value], {}, node)
            return self.array_call(np.not_equal, [self._stacked(value, node), Known(0.0)], {}, node)

        return self._each(mask_of, args, node)

    def holds_truths(self, value: Any) -> bool:
        """Whether this is a list of masks, or of bools or such lists of which one is computed."""
        items = self.list_items(value)
        if not items or all(map(self._is_mask, items)):
            return bool(items)
        nested = [one for one in items if self.list_items(one) is not None]
        single = [one for one in items if self.list_items(one) is None]
        if any(kind_of(one) not in BOOLS for one in single):
            return False
        return any(isinstance(one, Number) for one in single) or any(map(self.holds_truths, nested))

    def _is_mask(self, value: Any) -> bool:
        array = self.array_of(value)
        return isinstance(array, Recorded) and array.variable.dtype == bool

    def selected(self, args: Sequence[Any], keywords: dict[str, Any], node: ast.AST) -> Any:
        """``np.select`` where a condition is one bool, as ``np.where`` of each; None elsewhere."""
        names = ("condlist", "choicelist", "default")
        given = {**dict(zip(names, args, strict=False)), **keywords}
        if len(args) > len(names) or not set(names[:2]) <= set(given) <= set(names):
            return None
        masks, choices = (self.list_items(given[name]) or () for name in names[:2])
        bools = [kind_of(one) in BOOLS for one in masks]
        if not any(bools) or len(masks) != len(choices):
            return None
        if not all(one or self.is_array(mask) for one, mask in zip(bools, masks, strict=True)):
            return None
        made = given.get("default", Known(0))
        for mask, choice in zip(reversed(masks), reversed(choices), strict=True):
            made = self.array_call(np.where, [mask, choice, made], {}, node)
        return made

    def choice_in(self, values: Sequence[Any]) -> Choice | None:
        """The first of the arguments, and of the items of their lists, that is one of several
        numbers or arrays. None if there is none, or if there are more than three: ways multiply.
        """
        items = [item for one in values for item in (self.list_items(one) or (one,))]
        found = {
            id(one): one
            for one in items
            if isinstance(one, Choice)
            and all(kind_of(way) or self.is_array(way) for way in one.alternatives)
        }
        return next(iter(found.values())) if 0 < len(found) <= 3 else None

    def one_beside(self, value: Any, others: Sequence[Any], node: ast.AST) -> Any:
        """The number of an array without axes; one of several floats as the float64 that NumPy
        makes of it, if there is an array of float64 among the others; anything else as it is.
        """
        value = number_of(value)
        if not _is_one_number(value) or not any(map(_is_double, map(self.array_of, others))):
            return value
        if not all(isinstance(one, Known) or kind_of(one) in REAL for one in value.alternatives):
            return value
        return self.distribute(
            value, lambda one: Number("float", self.as_real(one, "float", node)), node
        )

    def call_by_choice(
        self,
        chosen: Choice,
        function: Any,
        args: Sequence[Any],
        keywords: dict[str, Any],
        node: ast.AST,
    ) -> Any:
        """A function of NumPy's on each of what an argument may be."""
        if isinstance(function, np.ufunc) or function in (np.isclose, np.allclose):
            one = self.one_beside(chosen, args, node)
            if one is not chosen:
                given = [one if arg is chosen else arg for arg in args]
                return self.array_call(function, given, keywords, node)

        def call(way: Any) -> Any:
            def given(value: Any) -> Any:
                items = self.list_items(value)
                if items is not None and any(one is chosen for one in items):
                    return Tuple(tuple(way if one is chosen else one for one in items))
                return way if value is chosen else value

            named = {key: given(one) for key, one in keywords.items()}
            return self.array_call(function, list(map(given, args)), named, node)

        made = self.distribute(chosen, call, node)
        # Arrays of several types do not become one.
        return self.settled(chosen, node) if isinstance(self.array_of(made), Lost) else made

    def _each(
        self, change: Callable[[Any, ast.AST], Any], items: Sequence[Any], node: ast.AST
    ) -> list[Any]:
        """What becomes of each item, which stays in use while the others are computed."""
        made: list[Any] = []
        for item in items:
            with self.holding(*made):
                made.append(change(item, node))
        return made

    def list_items(self, value: Any) -> tuple[Any, ...] | None:
        """The items of a tuple, or of a list of known length; None of anything else."""
        if isinstance(value, Tuple):
            return value.items
        if isinstance(value, Reference):
            contents = self.state.heap.get(value.address)
            if isinstance(contents, ListContents):
                return contents.items
        return None

    def as_array(self, value: Any, node: ast.AST) -> Any:
        """A list of what is computed as an array, anything else as it is."""
        if self.list_items(value) is None or not self._holds_reals(value):
            return value
        return self._stacked(value, node)

    def holds_numbers(self, value: Any) -> bool:
        """Whether this is a number or an array, or nested lists of nothing else."""
        items = self.list_items(value)
        if items is not None:
            return all(map(self.holds_numbers, items))
        return kind_of(value) is not None or self.is_array(value)

    def _holds_reals(self, value: Any) -> bool:
        """Whether there is a computed number in nested lists, which is none of the integers that
        are lengths and axes, or an array.
        """
        items = self.list_items(value)
        if items is not None:
            return any(map(self._holds_reals, items))
        if isinstance(value, Number):
            return value.kind in REAL
        array = self.array_of(value)
        return isinstance(array, Array) and not is_integers(array)
