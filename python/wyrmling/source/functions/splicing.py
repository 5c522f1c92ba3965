"""Functions of NumPy on arrays: NumPy's function is called on variables, and what it recorded
becomes part of the program.

So all of NumPy's arguments mean what they mean where functions are traced. The types of the
results, and whether they are views, are those that NumPy's own function gives for arrays of the
same shapes. A length that the function asked for becomes a guard. What reads the values of an array
while it is called cannot be recorded: two runs on different values have to record the same.
"""

from __future__ import annotations

import ast
import operator
from collections.abc import Callable, Sequence
from typing import Any, NoReturn

import numpy as np

from ... import _core
from ..abstract.state import ListContents
from ..abstract.values import (
    INTEGERS,
    NONE,
    Array,
    Known,
    Number,
    Recorded,
    Reference,
    Tuple,
    is_integers,
    is_none,
    kind_of,
)
from ..types.computed_slices import FILLED
from ..types.creation import CREATORS, FOR_VARIABLES, TRACING, Creation
from ..types.in_place import UNREAD_METHODS, Written, in_use, written
from ..types.integer_arrays import are_whole, expect_powers, integer_of, refuse_other_widths, signed
from ..types.numbers import LOGICAL
from ..types.written_integers import expect_written, is_fresh, made_by
from .allowed import is_allowed, is_own_function, is_primitive
from .recording import Recording, Samples, Unfit, picked

SHOWN = {"_item": "x[index]", "_stored": "x[index] = value"}
# What functions do otherwise where the values of an argument are not known: they do not raise for
# weights that add up to zero, and give functions elements that are not theirs.
OF_VALUES = {"average": (2, "weights"), "cov": (6, "aweights"), "piecewise": (1, "condlist")}


def _with_named_out(
    function: Any, args: Sequence[Any], keywords: dict[str, Any]
) -> tuple[Sequence[Any], dict[str, Any]]:
    """The arguments with ``out`` among the keywords, if something is written to."""
    single = isinstance(function, np.ufunc) and function.nout == 1 and "out" not in keywords
    if single and len(args) == function.nargs:
        args, keywords = args[:-1], {**keywords, "out": args[-1]}
    if is_none(keywords.get("out")):
        keywords = {key: one for key, one in keywords.items() if key != "out"}
    return args, keywords


class Splicing(Creation):
    """Calls with arrays."""

    def array_call(
        self, function: Any, args: Sequence[Any], keywords: dict[str, Any], node: ast.AST
    ) -> Any:
        """What a function of NumPy's gives for arrays."""
        made = self._called(function, args, keywords, node)
        fresh = is_fresh(function, args, keywords)
        return made_by(self, function, made, node) if fresh else made

    def _called(
        self, function: Any, args: Sequence[Any], keywords: dict[str, Any], node: ast.AST
    ) -> Any:
        name = getattr(function, "__name__", "this")
        if args and (function is np.where or (name == "where" and is_own_function(function))):
            args = self.with_number_for_truth(args, node)
        if not is_primitive(function) and any(map(self.holds_truths, args)):
            args = self.with_masks(name, args, node)
            if name in CREATORS and len(args) == 1 and not (keywords or is_own_function(function)):
                return args[0]
        if name == "select" and not is_primitive(function):
            made = self.selected(args, keywords, node)
            if made is not None:
                return made
        chosen = self.choice_in((*args, *keywords.values()))
        if chosen is not None:
            return self.call_by_choice(chosen, function, args, keywords, node)
        if any(self.grown(arg) is not None for arg in args):
            module = getattr(function, "__module__", "")
            plain = isinstance(function, np.ufunc) or module == "_operator"
            args = self.arrays_for("sum" if plain else name, args, node)
            if name in ("stack", *CREATORS) and len(args) == 1 and not keywords:
                return args[0]
        args, keywords = _with_named_out(function, args, keywords)
        method = isinstance(function, type(np.ndarray.sum))
        has_out = "out" in keywords
        writes = written(function, name, has_out)
        if writes is not None and (not has_out or is_allowed(function, name, method)):
            return self._write(writes, args, keywords, node)
        if has_out or (method and name in UNREAD_METHODS) or name == "shuffle":
            self.refuse(node, f"{name} that writes to an array", "use what it returns")
        at, key = OF_VALUES.get(name, (len(args), ""))
        if any(map(self.computed, [*args[at : at + 1], keywords.get(key, Known(None))])):
            self.refuse(node, f"{name} with computed {key}", "write what it does")
        answer = self._question(function, args, keywords, node)
        if answer is not None:
            return answer
        if name in CREATORS and args:
            made = self.created(name, args, keywords, node)
            return self.of_floats(made, node) if is_own_function(function) else made
        if not is_allowed(function, name, method):
            self.refuse(node, f"a call of {name}", TRACING)
        if not any(self.computed(one) for one in (*args, *keywords.values())):
            return self._of_constants(function, name, args, keywords, node)
        if not is_primitive(function):
            args = self.without_lists(function, args, node)
        return self._traced(function, args, keywords, node, method)

    def _question(
        self, function: Any, args: Sequence[Any], keywords: dict[str, Any], node: ast.AST
    ) -> Any:
        """What a function says of a type or a shape, which is known; None for other functions."""
        if function is np.isscalar and self.computed(args[0]):
            self.ask_kind(args[0])
            return Known(kind_of(args[0]) is not None)
        if function not in (np.shape, np.size, np.ndim) or not args:
            return None
        axis = keywords.get("axis", args[1] if len(args) == 2 else None)
        if function is np.size and axis is not None and self.is_array(args[0]):
            return self.item(self.attribute(args[0], "shape", node), axis, node)
        if len(args) == 1 and self.is_array(args[0]):
            return self.attribute(args[0], function.__name__, node)
        if len(args) == 1 and kind_of(args[0]) is not None:
            return self.fold(function, [1.0], node)
        return None

    def _of_constants(
        self,
        function: Any,
        name: str,
        args: Sequence[Any],
        keywords: dict[str, Any],
        node: ast.AST,
    ) -> Any:
        if is_primitive(function):
            self.refuse(node, f"{name} of constants", "call it outside of the function")
        if name in FILLED and len(args) == 1 and not keywords:
            filled = self.filled(function, args[0], node)
            if filled is not None:
                return filled
        return self.constant_array(function, args, keywords, node)

    def _write(
        self, writes: Written, args: Sequence[Any], keywords: dict[str, Any], node: ast.AST
    ) -> Any:
        """A function that writes to an array of the function's own."""
        named = {key: one for key, one in keywords.items() if key != "out"}
        target = keywords["out"] if writes.way == "out" else next(iter(args), None)
        if isinstance(target, Tuple) and len(target.items) == 1:
            target = target.items[0]
        own = isinstance(target, Reference) or getattr(target, "view", None) is not None
        if not (own and self.is_array(target)):
            expect_written(self, target)
            self.refuse(node, f"{writes.label} that writes to such an array", "use what it returns")
        given = [target, *args] if writes.way == "out" else args
        made = self.array_call(writes, given, named, node)
        # Views among the arguments have been read; other views in use would see the new elements.
        read = [id(one) for one in (*args, *keywords.values())]
        held = [getattr(one, "owner", one) for one in self.held[self.statement :]]
        with in_use(self, [one for one in held if id(one) not in read]):
            self.replace_array(target, made, node)
        return target if writes.way == "out" else Known(None)

    # Recording.

    def _traced(
        self,
        function: Any,
        args: Sequence[Any],
        keywords: dict[str, Any],
        node: ast.AST,
        method: bool,
    ) -> Any:
        if function in (operator.pow, np.power):
            expect_powers(self, function, args, node)
        try:
            return self._written(function, args, keywords, node, method)
        except Unfit:
            for fitting in self.fitting(args, node):
                try:
                    return self._written(function, fitting, keywords, node, method)
                except Unfit:
                    pass
        name = getattr(function, "__name__", "this")
        what = f"{SHOWN.get(name, name)} of an array of computed length with these"
        return self.refuse(node, what, "write a loop over its items")

    def _written(
        self,
        function: Any,
        args: Sequence[Any],
        keywords: dict[str, Any],
        node: ast.AST,
        method: bool,
    ) -> Any:
        # What a primitive does is Python's, and has no text to compare.
        recording = Recording(opaque=is_primitive(function))
        inner = getattr(function, "of", function)
        whole = isinstance(inner, np.ufunc) or any(inner is one for one in VALUES)
        name = getattr(function, "__name__", "this")
        ours = function is np.take_along_axis or is_own_function(function)
        recording.places = ours and name in ("cross_entropy", "take_along_axis")
        taken = name == "_item" or (ours and name == "take_along_axis")
        recording.sliced = taken and is_integers(self.array_of(args[0]))
        weak = whole or getattr(function, "__module__", "") == "_operator"
        weak = weak and inner is not np.float_power
        recording.whole = weak and are_whole(self, inner, args)
        recording.single = weak and function not in LOGICAL and self._is_single(args)
        given = [self._argument(one, recording, node, whole) for one in args]
        named = {k: self._argument(one, recording, node, whole) for k, one in keywords.items()}

        if is_fresh(inner, args, keywords):
            recording.bases = NONE
        recorded = FOR_VARIABLES.get(function, function)

        def call(which: int) -> Any:
            chosen = [picked(one, which) for one in given]
            options = {key: picked(one, which) for key, one in named.items()}
            if method and which < 2:
                return getattr(chosen[0], name)(*chosen[1:], **options)
            return (function if which == 2 else recorded)(*chosen, **options)

        try:
            with np.errstate(all="ignore"):
                real = call(2)
        except Exception:
            if recording.computed:
                raise Unfit from None
            if name == "item":
                # Where it does not raise it is refused, as it reads values.
                self.refuse(node, "item, which reads the values of an array,", TRACING)
            self.leave(f"NumPy's {name} raises an exception", node)
        return self._recorded(SHOWN.get(name, name), call, real, recording, node)

    def _recorded(
        self, name: str, call: Callable[[int], Any], real: Any, recording: Recording, node: ast.AST
    ) -> Any:
        try:
            found, again = call(0), call(1)
        except Exception as error:
            text = str(error).split("\n")[0]
            self.refuse(node, f"{name} of such arrays ({text})", TRACING)
        several = isinstance(real, tuple | list)
        if several != isinstance(found, tuple | list) or (several and len(found) != len(real)):
            self.refuse(node, f"{name} of such arrays", TRACING)
        if several:
            rows = zip(found, again, real, strict=True)
            items = tuple(self._result(name, *one, recording, node) for one in rows)
            if isinstance(real, list):
                return self.new_list(items)
            return Tuple(items, type(real) if hasattr(real, "_fields") else tuple)
        return self._result(name, found, again, real, recording, node)

    def _result(
        self, name: str, found: Any, again: Any, real: Any, recording: Recording, node: ast.AST
    ) -> Any:
        for sample, value in recording.arrays:
            # NumPy gave an argument itself back: it would not for arrays of other lengths.
            if real is sample and name != "broadcast_arrays":
                if all(found is not one for one, _ in recording.inputs):
                    # This checks the lengths, which squeeze, say, would change for others.
                    self._splice(found, recording)
                return value
        if not isinstance(found, _core.Variable):
            self.refuse(node, f"{name}, which reads the values of an array,", TRACING)
        kind = np.asarray(real).dtype
        refuse_other_widths(self, name, kind, node)
        if recording.integer and kind.kind in "iu":
            self.refuse(node, f"{name} of integers of NumPy's", "use int(...) of them, or floats")
        if isinstance(real, np.bool_ | bool) and not recording.computed and not found.shape:
            self._check_same(name, found, again, recording, node)
            made = self._splice(found, recording)
            kind_of_truth = "bool" if isinstance(real, bool) else "numpy_bool"
            return Number(kind_of_truth, self.compute("float_to_bool", made))
        if kind not in (np.float64, np.float32) and not recording.sliced:
            # Places that are broadcast are looked up, and not calculated with.
            if found.dtype != kind and name != "broadcast_arrays":
                self.refuse(node, f"{name} of such integers", TRACING)
            computed = bool(recording.computed)
            others = tuple(recording.others)
            given, bases = tuple(recording.inputs), recording.bases
            is_array = isinstance(real, np.ndarray)
            held = Recorded(found, given, again, others, computed, bases, None, is_array)
            return held if is_array else integer_of(self, held, node)
        if found.dtype != kind or found.shape != np.shape(real):
            self.refuse(node, f"{name} of such arrays", TRACING)
        if not recording.opaque:
            self._check_same(name, found, again, recording, node)
        try:
            made = self._splice(found, recording)
        except ValueError:
            if not recording.computed:
                raise
            self._refuse_length(name, node)
        computed = bool(recording.computed)
        if not isinstance(real, np.ndarray):
            kinds = {float: "float", np.float64: "float64", np.float32: "float32"}
            if type(real) not in kinds:
                self.refuse(node, f"{name} of such arrays", TRACING)
            return Number(kinds[type(real)], made)
        for sample, value in recording.arrays:
            if np.shares_memory(real, sample) or (real.size == 0 and real.base is not None):
                bases = frozenset({value.address}) if isinstance(value, Reference) else value.bases
                outer = self.array_of(value).outer
                return Array(made, real.dtype, real.shape, bases, outer, computed)
        return self.fresh(made, real.dtype, real.shape, computed)

    def _refuse_length(self, name: str, node: ast.AST) -> NoReturn:
        what = f"{name}, which asks for the length of an array of computed length,"
        self.refuse(node, what, "write a loop over its items")

    def _splice(self, found: Any, recording: Recording) -> int:
        inputs = [one for one, _ in recording.inputs]
        ids = [id for _, id in recording.inputs]
        made: int = self.builder.splice([found], inputs, ids, recording.computed)[0]
        return made

    def _check_same(
        self, name: str, first: Any, again: Any, recording: Recording, node: ast.AST
    ) -> None:
        """Refuses a function that recorded something else for other values."""
        texts, results = [], []
        given = [
            self._sampled(variable, id)
            for variable, (_, id) in zip(recording.others, recording.inputs, strict=True)
        ]
        for one, inputs in (
            (first, [variable for variable, _ in recording.inputs]),
            (again, recording.others),
        ):
            builder = _core.IrBuilder("f")
            ids = []
            for variable, (_, id) in zip(inputs, recording.inputs, strict=True):
                like = self._sampled(variable, id)
                ids.append(builder.parameter(0, self.builder.kind(id), like))
            builder.returns(builder.splice([one], inputs, ids))
            made = builder.finish()
            texts.append(str(made))
            # Constants are not printed whole.
            found = made.interpret(given)
            results.append(np.asarray(found if isinstance(found, int) else found[0]))
        same = np.array_equal(results[0], results[1], equal_nan=True)
        if texts[0] != texts[1] or not same:
            self.refuse(node, f"{name}, which reads the values of an array,", TRACING)
        if recording.computed and "fixed_lengths" in texts[0]:
            for at in recording.computed:
                given[at] = np.concatenate([given[at], given[at]])
            try:
                made.interpret(given)
            except ValueError as error:
                if "built for an array" in str(error):
                    self._refuse_length(name, node)

    def _sampled(self, variable: Any, id: int) -> Any:
        kind = self.builder.kind(id)
        if kind == "array":
            return variable.value
        number = variable.value.item()
        return np.float32(number) if kind == "float32" else number

    def _argument(self, value: Any, recording: Recording, node: ast.AST, whole: bool) -> Any:
        """What stands for an argument in the two recordings, and in NumPy's own run."""
        array = self.array_of(value)
        if isinstance(array, Array):
            if not is_integers(array) or recording.takes_integers:
                return self._array_argument(value, array, recording)
            array = signed(array)
        if recording.places and isinstance(value, Number) and value.kind in INTEGERS:
            first, second = _core.IndexInput(0), _core.IndexInput(0)
            recording.inputs.append((first, self.index_of(self.as_int(value), node)))
            recording.others.append(second)
            return Samples(first, second, 0)
        if isinstance(array, Recorded):
            value = array
            recording.bases |= value.bases
            for pair, other in zip(value.inputs, value.others, strict=True):
                if all(pair[0] is not one for one, _ in recording.inputs):
                    if value.computed:
                        recording.computed.append(len(recording.inputs))
                    recording.inputs.append(pair)
                    recording.others.append(other)
            return Samples(value.variable, value.again, value.variable.value)
        if isinstance(value, Tuple):
            return tuple(self._argument(item, recording, node, whole) for item in value.items)
        if isinstance(value, Reference):
            contents = self.contents(value, node)
            if isinstance(contents, ListContents):
                return [self._argument(one, recording, node, whole) for one in contents.items]
        if isinstance(value, Number):
            if value.kind in ("float", "float64", "float32"):
                return self._number_argument(value, value.id, recording)
            if (whole or recording.whole) and value.kind in INTEGERS and value.seen is None:
                return self._number_argument(value, self.as_real(value, "float", node), recording)
        return self.plain_of(value, node)

    def _is_single(self, values: Sequence[Any]) -> bool:
        """Whether the arrays and NumPy's numbers among these are float32, and there is one."""
        dtypes = set()
        for value in values:
            array = self.array_of(value)
            if isinstance(array, Array):
                dtypes.add(array.dtype)
            elif kind_of(value) in ("float64", "float32", "int64"):
                dtypes.add(np.dtype(kind_of(value)))
        return dtypes == {np.dtype(np.float32)}

    def _number_argument(self, value: Number, held: int, recording: Recording) -> Samples:
        weak = recording.single and value.kind in ("float", "int")
        single = weak or value.kind == "float32"
        if weak:
            self.ask_kind(value)
            held = self.apply("cast", held, dtype="float32")
        whole = recording.whole and value.kind in INTEGERS
        made = []
        for number in (1.25, 1.75) if whole else (0.8125, 1.1875):
            leaf = _core.Input(np.float32(number) if single else number)
            variable = leaf.astype(int) if whole else leaf
            own = value.kind in ("float", "int") and not single
            made.append((leaf, _core.as_number(variable) if own else variable))
        recording.inputs.append((made[0][0], held))
        recording.others.append(made[1][0])
        if value.kind == "int64":
            recording.integer = not recording.whole
            return Samples(made[0][1], made[1][1], np.int64(1))
        if value.kind == "int":
            return Samples(made[0][1], made[1][1], 1)
        kinds: dict[str, Any] = {"float64": np.float64, "float32": np.float32}
        return Samples(made[0][1], made[1][1], kinds.get(value.kind, float)(0.8125))

    def _array_argument(self, value: Any, array: Array, recording: Recording) -> Samples:
        arrays = [recording.sample_of(array, seed) for seed in (0, 1000)]
        recording.counts += 1
        leaf: Any = _core.IndexInput if is_integers(array) else _core.Input
        variables = [leaf(one) for one in arrays]
        if array.computed:
            recording.computed.append(len(recording.inputs))
        recording.inputs.append((variables[0], array.id))
        recording.others.append(variables[1])
        recording.arrays.append((arrays[0], value))
        return Samples(variables[0], variables[1], arrays[0])


VALUES: frozenset[Any] = frozenset({np.where, np.clip, np.dot, np.stack, np.full_like})
