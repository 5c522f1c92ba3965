"""One run of a function on traced arguments.

What a transform does is in the files beside this one; here is what all share: which arguments
are differentiated, what stands for them during the run, what the function may return, and
whether results are plain or variables.
"""

from __future__ import annotations

import functools
import math
import operator
from collections.abc import Callable, Iterable, Sequence
from typing import Any, ParamSpec, SupportsIndex

import numpy as np

from .. import _core
from .._core import Variable
from ..variable import depth
from . import instances, tree

P = ParamSpec("P")
Argnums = SupportsIndex | Sequence[SupportsIndex]


def described(value: Any) -> str:
    """What a value is, for messages."""
    if isinstance(value, Variable | np.ndarray):
        return f"{type(value).__name__} of shape {value.shape} and dtype {value.dtype}"
    kind = type(value).__name__
    return kind if value is None else f"{kind} {value!r:.60}"


def located(f: Callable[..., Any]) -> str:
    """The name of a function, with its file and line if it has any, for messages."""
    name = getattr(f, "__qualname__", None) or type(f).__qualname__
    code = getattr(f, "__code__", None)
    return name if code is None else f"{name} ({code.co_filename}:{code.co_firstlineno})"


def refuse_result(name: str, f: Callable[..., Any], label: str, leaf: Any) -> None:
    """Raises TypeError for a leaf of what a function returned that is no floating-point number."""
    if isinstance(leaf, Variable | np.ndarray):
        fits = leaf.dtype.kind == "f"
    else:
        fits = isinstance(leaf, float | np.floating)
    if not fits:
        integer = isinstance(leaf, int | np.integer | np.ndarray | Variable)
        raise TypeError(
            f"{name}: {label} of {located(f)}: expected floating-point numbers, got "
            f"{described(leaf)}"
            + ("; integers have no gradient: return floats, or return it as aux" * integer)
        )


def is_number(value: Any) -> bool:
    """Whether this is a number of which a gradient makes sense, and no array."""
    if isinstance(value, bool | np.bool_):
        return False
    return isinstance(value, float | int | np.floating | np.integer)


def _wrong(what: str, value: Any) -> TypeError:
    if isinstance(value, np.ndarray) and value.dtype.kind in "iub":
        return TypeError(
            f"{what}: expected floating-point numbers to differentiate by, got "
            f"{described(value)}; convert it with .astype(float), or leave it out of argnums"
        )
    return TypeError(
        f"{what}: expected a float, an array or a nested tuple, list, dict or instance of a class "
        f"with them to differentiate by, got {described(value)}; leave it out of argnums, or close "
        "over it"
    )


def positions(name: str, argnums: Argnums, count: int) -> tuple[int, ...]:
    """Which arguments are differentiated, counted from the start, of ``count`` given."""
    if type(argnums) is int and 0 <= argnums < count:
        return (argnums,)
    found: dict[int, None] = {}
    # One by one, so that the first that is wrong ends it however many there are.
    for given in argnums if isinstance(argnums, Sequence) else (argnums,):
        try:
            at = operator.index(given)
        except TypeError:
            raise TypeError(
                f"{name}: argnums: expected an integer or several, got {argnums!r}"
            ) from None
        if not -count <= at < count:
            raise ValueError(
                f"{name}: argnums: argument {at} is to be differentiated, but {count} "
                "positional arguments were given"
            )
        if at % count in found:
            raise ValueError(f"{name}: argnums: expected distinct arguments, got {at} again")
        found[at % count] = None
    if not found:
        raise ValueError(f"{name}: argnums: expected one argument at least, got {argnums!r}")
    return tuple(found)


def _scalar(array: Any) -> Any:
    """An array without axes as a number: a float, or a float32; any other as it is."""
    if array.ndim:
        return array
    return array.item() if array.dtype == np.float64 else array.dtype.type(array)


def _is_float(value: Any) -> bool:
    """Whether this is a number of Python's own."""
    return isinstance(value, float | int) and not isinstance(value, np.floating)


def like(argument: Any, array: Any) -> Any:
    """A gradient or tangent as plain as the argument that it belongs to."""
    if isinstance(argument, np.ndarray):
        return array
    if isinstance(array, Variable):
        number = (
            _core.is_number(argument) if isinstance(argument, Variable) else _is_float(argument)
        )
        return _core.as_number(array) if number and not array.ndim else array
    return _scalar(array)


def fitting(what: str, given: Any, primal: Any, whose: str) -> Any:
    """A tangent of an argument, or a gradient of a result, in the element type of that ``primal``.

    Integers, booleans, Python's floats and float32 take that type. ``what`` names the leaf in
    errors, and ``whose`` says what the primal is. Raises TypeError for what is no number and for
    other types, ValueError for another shape.
    """
    if not isinstance(given, Variable | float | int | np.floating | np.integer | np.ndarray):
        raise TypeError(f"{what}: expected numbers, got {described(given)}")
    if np.shape(given) != np.shape(primal):
        raise ValueError(
            f"{what}: expected shape {np.shape(primal)}, as the {whose}'s, got {np.shape(given)}"
        )
    dtype = np.dtype(getattr(primal, "dtype", np.float64))
    if isinstance(given, Variable) or dtype not in (np.float32, np.float64):
        # Its type is compared, or the argument refused, where it is used.
        return given
    found = np.asarray(given).dtype
    is_plain = _is_float(given) or found.kind in "iub"
    if not is_plain and (found.itemsize < 4 or not np.can_cast(found, dtype)):
        raise TypeError(f"{what}: expected {dtype}, as the {whose}'s, got {found}")
    if isinstance(given, np.ndarray):
        return given.astype(dtype, copy=False)
    return float(given) if dtype == np.float64 else dtype.type(given)


def plain(value: Any) -> Any:
    """A variable as a number or an array; anything else as it is."""
    return _scalar(value.value) if isinstance(value, Variable) else value


class Plain:
    """Makes what is beside a result plain: variables, and instances that hold some. An instance
    that stands for one of the caller's becomes that.
    """

    def __init__(self, found: dict[int, Any]) -> None:
        self._found = dict(found)
        # Objects whose ids are keys of ``found`` are kept alive, so that no other has their id.
        self._kept: list[Any] = []

    def __call__(self, leaf: Any) -> Any:
        """The leaf as it is where nothing is traced."""
        if type(leaf) in tree.LEAVES or not instances.is_instance(leaf):
            return plain(leaf)
        if id(leaf) in self._found:
            return self._found[id(leaf)]
        if not instances.holds(leaf, lambda part: isinstance(part, Variable)):
            return leaf
        made = self._found[id(leaf)] = instances.made(type(leaf), (), ())
        self._kept.append(leaf)
        own = instances.attributes(leaf)
        return instances.filled(made, own, [tree.replaced(self, part) for part in own.values()])


def _renamed(value: Any) -> Any:
    """A variable by another name, to which nobody else can assign. A number is one of Python's, as
    it is where results are plain.
    """
    if not isinstance(value, Variable):
        return value
    number = not value.ndim and value.dtype == np.float64
    return _core.as_number(value) if number else _core.constant(value)


class Run:
    """A function, run on traced arguments.

    ``inputs`` stand for the leaves of the differentiated arguments, ``outputs`` are the leaves of
    what was returned: variables, or plain numbers and arrays that depend on nothing.
    """

    def __init__(
        self,
        name: str,
        function: Callable[..., Any],
        args: Sequence[Any],
        kwargs: dict[str, Any],
        argnums: Argnums,
        has_aux: bool = False,
    ) -> None:
        self.name = name
        self.function = function
        self.argnums = positions(name, argnums, len(args))
        self.arguments: list[Any] = []
        self.inputs: list[Variable] = []
        self._counts: list[int] = []
        # Instances among the arguments by the identity of those that stand for them, and what
        # these held.
        self._instances: dict[int, Any] = {}
        self._parts: list[tuple[str, Any, list[Any]]] = []
        rebuilds = []
        traced = list(args)
        for at in self.argnums:
            opened: list[Any] = []
            leaves, rebuild = tree.flatten(args[at], f"argument {at}", opened)
            rebuilds.append(rebuild)
            self._counts.append(len(leaves))
            stands = [self._trace(label, leaf) for label, leaf in leaves]
            self.arguments += [leaf for _, leaf in leaves]
            self.inputs += stands
            traced[at] = rebuild(iter(stands))
            if opened:
                self._stand_in(at, traced[at], opened)
        self._rebuilds = rebuilds
        depth.count += 1
        try:
            result = function(*traced, **kwargs)
        finally:
            depth.count -= 1
        if self._instances:
            self._refuse_changes()
        self.aux: Any = None
        if has_aux:
            if not isinstance(result, tuple) or len(result) != 2:
                raise TypeError(
                    f"{name}: has_aux: expected a function that returns (value, aux), got "
                    f"{described(result)}"
                )
            result, self.aux = result
        leaves, self.rebuild_output = tree.flatten(result, "the result", [])
        self.result = result
        # As variables of our own: the caller may assign to those that the function returned.
        for label, leaf in leaves:
            refuse_result(name, function, label, leaf)
        self.outputs = [_renamed(leaf) for _, leaf in leaves]
        self.live = any(isinstance(x, Variable) for x in self.arguments) or _core.captures(
            self.variables, self.inputs
        )
        if has_aux and not self.live:
            self.aux = tree.replaced(Plain(self._instances), self.aux)

    def _stand_in(self, at: int, stands: Any, opened: list[Any]) -> None:
        """Remembers the instances in an argument, and those that stand for them."""
        label = f"argument {at}"
        instances.refuse_bound(f"{self.name}: {label}", opened)
        others: list[Any] = []
        tree.flatten(stands, label, others)
        self._instances |= {id(one): own for one, own in zip(others, opened, strict=True)}
        self._parts += [(label + name, *part) for name, *part in tree.parts_of(stands)]

    def _refuse_changes(self) -> None:
        """Raises TypeError if the function changed an instance that it is differentiated by, or a
        list or dict with one: Python would change the caller's.
        """
        for label, part, held in self._parts:
            if tree.is_changed(part, held):
                raise TypeError(
                    f"{self.name}: {label}: expected a function that does not change what it is "
                    f"differentiated by, and this {type(part).__name__} was changed; return the "
                    "new value, with has_aux=True if it is beside the result, or change a copy"
                )

    def _trace(self, label: str, leaf: Any) -> Variable:
        if isinstance(leaf, np.ndarray):
            fits = leaf.dtype.kind == "f"
        else:
            fits = isinstance(leaf, (float, Variable)) or is_number(leaf)
        if not fits:
            raise _wrong(f"{self.name}: {label}", leaf)
        return _core.traced(f"{self.name}: {label}", leaf)

    @property
    def variables(self) -> list[Variable]:
        """Those outputs that may depend on something."""
        return [y for y in self.outputs if isinstance(y, Variable)]

    def single(self, what: str, advice: str) -> Any:
        """The only output, and no container's."""
        if self.rebuild_output is not next:
            raise TypeError(
                f"{self.name}: expected a function that returns one {what}, got "
                f"{described(self.result)} from {located(self.function)}; {advice}"
            )
        return self.outputs[0]

    def scalar(self) -> Any:
        """The only output, which must be one number, in an array of any number of axes."""
        y = self.single("number", "return the rest with has_aux=True, or use jacobian or vjp")
        shape = y.shape if isinstance(y, Variable) else np.shape(y)
        if math.prod(shape) != 1:
            raise TypeError(
                f"{self.name}: expected a function that returns one number, got an array of "
                f"shape {shape} from {located(self.function)}; sum it, or use jacobian, "
                "elementwise_grad or vjp"
            )
        return y

    def value(self) -> Any:
        """What the function returned: plain, unless somebody may want a gradient of it."""
        outputs = [_renamed(y) if self.live else plain(y) for y in self.outputs]
        return self.rebuild_output(iter(outputs))

    def zeros(self, at: int) -> Any:
        """A gradient of nothing for input ``at``."""
        x = self.inputs[at]
        return np.zeros(x.shape, x.dtype)

    def gradients(self, output: Any, seed: Any = None) -> list[Any]:
        """The gradients of ``sum(output * seed)`` by the inputs, as arrays or variables."""
        found: list[Any] = [None] * len(self.inputs)
        if isinstance(output, Variable):
            live = self.live or isinstance(seed, Variable)
            found = _core.gradients(output, self.inputs, seed, live)
        return [self.zeros(at) if g is None else g for at, g in enumerate(found)]

    def per_argument(self, leaves: Iterable[Any]) -> tuple[Any, ...]:
        """A value for each input, as one tree for each differentiated argument."""
        others = iter(leaves)
        return tuple([rebuild(others) for rebuild in self._rebuilds])

    def arranged(self, argnums: Argnums, gradients: Sequence[Any]) -> Any:
        """Gradients in the form of the arguments: one tree, or a tuple if argnums is one."""
        trees = self.per_argument(tree.Derivatives(like, self.arguments, gradients))
        # Asking whether an integer is a sequence takes as long as a few operators.
        several = type(argnums) is not int and isinstance(argnums, Sequence)
        return trees if several else trees[0]


def function(name: str, f: Any) -> Callable[..., Any]:
    """``f``, if it is a function."""
    if not callable(f):
        raise TypeError(f"{name}: expected a function, got {described(f)}")
    return f  # type: ignore[no-any-return]


def title(prefix: str, f: Callable[..., Any]) -> str:
    """The name of a function made from ``f``."""
    return f"{prefix}_{getattr(f, '__name__', 'f')}".replace("<lambda>", "lambda")


def documented(prefix: str, f: Callable[..., Any]) -> str:
    """What ``help`` says of a function made from ``f``."""
    name, text = getattr(f, "__name__", "f"), getattr(f, "__doc__", None) or ""
    return f"The {prefix} of {name}.\n\n{text}".rstrip()


def named(prefix: str, f: Callable[..., Any]) -> Callable[[Callable[P, Any]], Callable[P, Any]]:
    """Names a function made from ``f`` after it."""

    def decorate(g: Callable[P, Any]) -> Callable[P, Any]:
        functools.update_wrapper(g, f, assigned=("__module__",), updated=())
        g.__name__ = g.__qualname__ = title(prefix, f)
        g.__doc__ = documented(prefix, f)
        return g

    return decorate
