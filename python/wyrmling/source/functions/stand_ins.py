"""Which text is read in place of a function of Python's library or NumPy's (``standard.py``).

One is read where arguments are computed: of known ones the function itself says what it gives.
"""

from __future__ import annotations

import ast
import functools
import itertools
import math
import operator
import sys
from collections.abc import Sequence
from typing import Any

import numpy as np

from ..abstract.values import (
    CLASSES,
    Applied,
    Array,
    Choice,
    Known,
    Lazy,
    Number,
    Recorded,
    Tuple,
    alternatives_of,
    is_index,
    is_integers,
    kind_of,
    number_of,
)
from ..abstract.walker import Walker
from ..library import standard, standard_arrays
from ..types.copying import FUNCTIONS, copied
from ..types.grouping import grouped
from ..types.integer_arrays import integer_of

OF_INTEGERS = (np.searchsorted, np.digitize, np.unravel_index, np.clip)
"""Functions that give integers of NumPy's."""
PLACES = (np.argwhere, np.flatnonzero, np.nonzero)
OF_TYPES = (np.iscomplexobj, np.isrealobj, np.issubdtype, np.promote_types, np.result_type)
OF_SHAPES = (np.diag_indices_from, np.tril_indices_from, np.triu_indices_from)
GETTERS = (operator.itemgetter, operator.attrgetter, operator.methodcaller)
WRAPPERS = (functools.wraps, functools.update_wrapper)
STATISTICS = frozenset({"mean", "pstdev", "pvariance", "stdev", "variance"})
"""Functions of ``statistics`` for which a text is read. They add fractions; the sums of the texts
are rounded once, so that results differ by up to three units in the last place.
"""
MODULES = frozenset({"math", "itertools", "_bisect", "_heapq", "numpy", "operator"})


def stand_in(
    walker: Walker, function: Any, args: Sequence[Any], keywords: dict[str, Any], node: ast.AST
) -> Any:
    """What a text gives for a call; None if none is read for this."""
    found = function.object
    if isinstance(found, (np.vectorize, *GETTERS)) and function.place is not None:
        return _of_callable(walker, function, args, keywords, node)
    if any(found is one for one in FUNCTIONS) and len(args) == 1 and not keywords:
        return copied(walker, args[0], found.__name__ == "deepcopy", node, {})
    if of_statistics(found):
        if args and (walker.is_array(args[0]) or walker.runs(args[0])):
            args = [walker.call(Known(list), args[:1], {}, node), *args[1:]]
        kinds = _kinds_in(walker, args[0], node) if args else set()
        if not kinds & {"float", "float64"} or kinds - {"float", "float64", "int", "bool"}:
            walker.refuse(node, f"{found.__name__} of this", "give it a list of floats")
        made = _read(walker, found.__name__, args, keywords, node)
        # Roots are Python's floats, and all else has the type of the data.
        of_numpy = "float64" in kinds and found.__name__ not in ("stdev", "pstdev")
        return walker.call(Known(np.float64), [made], {}, node) if of_numpy else made
    if found in WRAPPERS:
        return _read(walker, found.__name__, args, keywords, node)
    if found is itertools.groupby:
        return grouped(walker, args, keywords, node)
    if hasattr(found, "__name__") and getattr(found, "__module__", None) in MODULES:
        return _of_module(walker, found, args, keywords, node)
    return _of_method(walker, found, args, keywords, node)


def _read(
    walker: Walker, name: str, args: Sequence[Any], keywords: dict[str, Any], node: ast.AST
) -> Any:
    """A call of a text."""
    return walker.call(walker.written_out(name, node), args, keywords, node)


def _of_callable(
    walker: Walker, function: Any, args: Sequence[Any], keywords: dict[str, Any], node: ast.AST
) -> Any:
    """A call of a getter or vectorised function that exists outside."""
    found = function.object
    if isinstance(found, GETTERS):
        walker.needs.test(function.place, ("is", found))
        made: Any = found.__reduce__()
        if made[0] is not type(found):
            # A methodcaller with keywords.
            return None
        getter = _read(walker, made[0].__name__, [*map(Known, made[1])], {}, node)
        return walker.call(getter, args, keywords, node)
    if found.excluded or found.signature or found.cache:
        return None
    walker.needs.test(function.place, ("is", found))
    inner = walker.member(function, "pyfunc", node)
    # ``otypes``: characters or dtypes, one for each result.
    types = [None] if found.otypes is None else [np.dtype(one) for one in found.otypes]
    if len(types) != 1:
        return None
    return _read(walker, "vectorized", [inner, Known(types[0]), *args], keywords, node)


def _of_module(
    walker: Walker, found: Any, args: Sequence[Any], keywords: dict[str, Any], node: ast.AST
) -> Any:
    """A call of a function of one of ``MODULES``."""
    if found is np.vectorize and len(args) == 1 and not keywords.keys() - {"otypes"}:
        otype = keywords.get("otypes", Known(None))
        if not isinstance(otype, Known):
            otype = walker.item(otype, Known(0), node)
        return Applied(walker.written_out("vectorized", node), (args[0], otype))
    if found is np.result_type and len(args) == 1:
        return _type_of(walker, args[0], node)
    if found in OF_TYPES or found in OF_SHAPES:
        return _of_form(walker, found, args, keywords, node)
    if found is np.ix_ and all(is_integers(walker.array_of(arg)) for arg in args):
        return Lazy("ix_", tuple(args))
    if found is math.fsum and len(args) == 1 and not walker.is_array(args[0]):
        # It asks a generator for all items.
        args = [walker.call(Known(list), args, {}, node)]
    name = _text_for(walker, found, args, keywords, node)
    if name is None:
        return None
    if found not in OF_INTEGERS or name == "nonzero":
        return _read(walker, name, args, keywords, node)
    made = _read(walker, name, [integer_of(walker, arg, node) for arg in args], keywords, node)
    return made if walker.is_array(made) else _as_numpy(walker, made, node)


def _of_method(
    walker: Walker, found: Any, args: Sequence[Any], keywords: dict[str, Any], node: ast.AST
) -> Any:
    """A call of a method of an object of Python's library, NumPy's or SciPy's."""
    owner = getattr(found, "__self__", None)
    of_norm = text_of_norm(found)
    if of_norm is not None:
        return _read(walker, of_norm, args, keywords, node)
    if owner is itertools.chain and found.__name__ == "from_iterable":
        return _read(walker, found.__name__, args, keywords, node)
    if isinstance(owner, np.ufunc) and len(args) == 3:
        name = f"{owner.__name__}_{found.__name__}"
        places = args[1] if isinstance(args[1], Tuple) else Tuple((args[1],))
        indexed = all(is_integers(walker.array_of(one)) for one in places.items)
        if indexed and hasattr(standard_arrays, name):
            return _read(walker, name, [args[0], places, args[2]], keywords, node)
    return None


def _kinds_in(walker: Walker, over: Any, node: ast.AST) -> set[str | None]:
    """The kinds of the numbers in a list or tuple."""
    grown = walker.grown(over)
    if grown is not None:
        return {getattr(grown.form, "kind", None)}
    data = walker.list_or_row(over, node)
    return set(map(kind_of, data[1])) if data else set()


def of_statistics(function: Any) -> bool:
    """Whether a text is read for a function of ``statistics``, which is not loaded for this."""
    module = sys.modules.get("statistics")
    name = getattr(function, "__name__", "")
    return module is not None and name in STATISTICS and getattr(module, name) is function


def text_of_norm(function: Any) -> str | None:
    """The text that is read for a method of ``scipy.stats.norm``."""
    owner = getattr(function, "__self__", None)
    if type(owner).__name__ != "norm_gen" or not type(owner).__module__.startswith("scipy.stats."):
        return None
    name = f"norm_{function.__name__}"
    return name if hasattr(standard_arrays, name) else None


def _of_form(
    walker: Walker, found: Any, args: Sequence[Any], keywords: dict[str, Any], node: ast.AST
) -> Any:
    """What depends on the types or shapes of arrays alone."""

    def like(value: Any) -> Any:
        array = walker.array_of(value)
        if isinstance(value, Number):
            return CLASSES[value.kind](1)
        if not isinstance(array, Array | Recorded) or array.computed:
            return walker.constant_of(value, node, f"such an argument of {found.__name__}")
        variable = array.variable if isinstance(array, Recorded) else array
        return np.empty(variable.shape, variable.dtype)

    if found in OF_SHAPES:
        walker.expect_shapes()
    given, named = map(like, args), {name: like(one) for name, one in keywords.items()}
    made = walker.fold(lambda: found(*given, **named), [], node)
    return Tuple(tuple(map(Known, made.object))) if isinstance(made.object, tuple) else made


def _type_of(walker: Walker, value: Any, node: ast.AST) -> Known | None:
    """The element type of a number; None of anything else."""
    ways = alternatives_of(value)
    kinds = {np.dtype(CLASSES[kind]) for kind in map(kind_of, ways) if kind}
    if len(kinds) > 1:
        walker.refuse(node, "a result of one type or another", "return floats on all paths")
    return Known(kinds.pop()) if kinds else None


def _text_for(
    walker: Walker, found: Any, args: Sequence[Any], keywords: dict[str, Any], node: ast.AST
) -> str | None:
    """The text that is read for a function, if arguments are computed."""
    if found is np.digitize and len(args) > 1 and all(map(walker.is_array, args[:2])):
        # Whether they rise is not known of bins that are computed.
        return None if isinstance(args[1], Known) else "digitize_all"
    if found is itertools.zip_longest and any(map(walker.runs, args)):
        # Python asks generators in turn; the text would go through one after the other.
        walker.refuse(node, "zip_longest of a generator", "make it a list")
    if found in PLACES or (found is np.where and len(args) == 1):
        array = walker.array_of(args[0]) if args else None
        shape = getattr(getattr(array, "variable", array), "shape", ())
        if len(args) != 1 or keywords or len(shape) not in (1, 2):
            return None
        return str(found.__name__) if found in PLACES else "nonzero"
    if found is np.average:
        weights = keywords.get("weights", args[2] if len(args) > 2 else Known(None))
        return None if isinstance(weights, Known) else "average"
    if found is np.roll:
        # By several numbers, and by floats, at most where NumPy itself is called.
        shift = keywords.get("shift", args[1] if len(args) > 1 else Known(None))
        fits = args and walker.is_array(args[0]) and is_index(integer_of(walker, shift, node))
        return None if not fits or isinstance(shift, Known) else "roll"
    if found is np.piecewise and not (walker.is_array(args[0]) and not walker.is_array(args[1])):
        return None
    kinds = {kind_of(number_of(arg)) for arg in args}
    if found is np.arange and (keywords or not kinds & {"float", "float64"} or "float32" in kinds):
        return None
    at = {np.searchsorted: 1, np.digitize: 0}.get(found)
    if at is not None and not (len(args) > at and kind_of(args[at])):
        return None
    whole = {np.unravel_index: args[:1], np.clip: args}.get(found, ())
    if not all(is_index(integer_of(walker, arg, node)) for arg in whole) or (
        len(whole) == 2 and found is np.clip
    ):
        return None
    goes = found in (np.ndindex, np.ndenumerate) or found.__module__ in ("itertools", "operator")
    known = not goes and all(isinstance(one, Known) for one in args)
    return None if known else standard.FUNCTIONS.get(found)


def _as_numpy(walker: Walker, value: Any, node: ast.AST) -> Any:
    """Integers of Python's as integers of NumPy's."""
    if isinstance(value, Choice):
        return walker.distribute(value, lambda one: _as_numpy(walker, one, node), node)
    if isinstance(value, Tuple):
        return Tuple(tuple(_as_numpy(walker, one, node) for one in value.items))
    if isinstance(value, Known):
        return Known(np.int64(value.object))
    return Number("int64", value.id, value.sources)
