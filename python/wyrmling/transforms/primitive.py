"""Operators of one's own, in Python.

A function of plain arrays that is opaque to tracing (it calls a solver, say, or another
library) becomes an operator by ``primitive``, with a rule for its derivative. The rule is
written with NumPy or wyrmling, so it is differentiated in turn by running it, to any order.
``checkpoint`` is the operator whose rule is to run the function again.

The graph asks a *definition* for what it needs (``src/python/primitive.rs``): its ``name``,
``call(*arrays)``, and the definitions of its products, ``vjp(i)`` and ``jvp(i)``.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Sequence
from typing import Any, Protocol

import numpy as np

from .. import _core
from .._core import Variable
from . import tree
from .reverse import vjp
from .tracing import described, function, is_number

Rule = Callable[..., Any]


class _Definition(Protocol):
    """What the native module asks of an operator written in Python."""

    name: str

    def call(self, *arrays: Any) -> Any: ...
    def vjp(self, i: int) -> _Definition | None: ...
    def jvp(self, i: int) -> _Definition | None: ...


def _array(name: str, result: Any) -> Any:
    """A result as a plain array of floats."""
    if isinstance(result, Variable):
        if _core.differentiable(result):
            raise TypeError(
                f"{name}: the result depends on variables that are no arguments, and their "
                "gradients would be lost; pass them as arguments"
            )
        return result.value
    if not tree.is_leaf(result) or result is None:
        raise TypeError(f"{name}: expected one array, got {described(result)}; join them to one")
    array = np.asarray(result)
    if array.dtype == np.float16:
        raise TypeError(
            f"{name}: expected float32 or float64, got float16, which variables do not keep; "
            "convert it with .astype(np.float32)"
        )
    if array.dtype.kind not in "fiub":
        raise TypeError(f"{name}: expected a number or an array, got {described(result)}")
    return array if array.dtype in (np.float32, np.float64) else array.astype(np.float64)


class _Traced:
    """An operator whose derivative is found by running its function on variables."""

    def __init__(self, name: str, run: Rule) -> None:
        self.name = name
        self.run = run

    def call(self, *arrays: Any) -> Any:
        return _array(self.name, self.run(*arrays))

    def vjp(self, i: int) -> _Definition:
        def product(g: Any, y: Any, *x: Any) -> Any:
            # Differentiate by operand i alone, since the others may be indices.
            pull = vjp(lambda at: self.run(*x[:i], at, *x[i + 1 :]), x[i])[1]
            return pull(g)[0]

        return _Traced(f"{self.name}.vjp{i}", product)

    def jvp(self, i: int) -> None:
        return None


class _Bound:
    """A primitive with its arguments, some of whose leaves are the operands.

    An argument is a leaf itself, or a container with several. Operand ``i`` is leaf ``at[i][1]`` of
    argument ``at[i][0]``.
    """

    def __init__(
        self,
        of: Primitive,
        args: Sequence[Any],
        kwargs: dict[str, Any],
        at: Sequence[tuple[int, int]],
    ) -> None:
        self.name = of.__name__
        self.of = of
        self.args = list(args)
        self.kwargs = kwargs
        self.at = at

    def _filled(self, operands: Sequence[Any]) -> list[Any]:
        """The arguments with operands in their places."""
        of_argument: dict[int, dict[int, Any]] = {}
        for (argument, leaf), operand in zip(self.at, operands, strict=True):
            of_argument.setdefault(argument, {})[leaf] = operand
        args = list(self.args)
        for argument, given in of_argument.items():
            labelled, rebuild = tree.flatten(args[argument])
            leaves = [given.get(k, leaf) for k, (_, leaf) in enumerate(labelled)]
            args[argument] = rebuild(iter(leaves))
        return args

    def call(self, *arrays: Any) -> Any:
        return _array(self.name, self.of.function(*self._filled(arrays), **self.kwargs))

    def _own(self, i: int, name: str, result: Any) -> Any:
        """Of a gradient in the form of an argument that is a container, that of operand ``i``."""
        argument, leaf = self.at[i]
        if tree.is_leaf(self.args[argument]):
            return result
        if tree.structure(result) != tree.structure(self.args[argument]):
            raise ValueError(
                f"{name}: expected a gradient for each leaf, in the form of argument {argument}, "
                f"{tree.structure(self.args[argument])}; got {tree.structure(result)}"
            )
        return tree.flatten(result)[0][leaf][1]

    def _tangent(self, i: int, tangent: Any, args: Sequence[Any]) -> Any:
        """The tangent of operand ``i`` in the form of its argument, whose other leaves rest."""
        argument, leaf = self.at[i]
        labelled, rebuild = tree.flatten(args[argument])
        return rebuild(
            iter([tangent if k == leaf else _rest(x) for k, (_, x) in enumerate(labelled)])
        )

    def _product(self, i: int, rules: dict[int, Rule | None], mode: str) -> _Definition | None:
        rule = rules[self.at[i][0]]
        if rule is None:
            return None

        def product(g: Any, y: Any, *x: Any) -> Any:
            name = f"{self.name}: {mode}"
            args = self._filled(x)
            given = self._tangent(i, g, args) if mode == "jvp" else g
            result = rule(given, y, *args, **self.kwargs)
            if mode == "vjp":
                result = self._own(i, name, result)
            if not isinstance(result, Variable | np.ndarray) and not is_number(result):
                raise TypeError(
                    f"{name}: expected a number, an array or a variable, got {described(result)}"
                )
            return _summed(name, result, x[i], y) if mode == "vjp" else _spread(name, result, y)

        return _Traced(f"{self.name}.{mode}{i}", product)

    def vjp(self, i: int) -> _Definition | None:
        if self.at[i][0] in self.of.vjps:
            return self._product(i, self.of.vjps, "vjp")
        raise NotImplementedError(self._missing(self.at[i][0]))

    def jvp(self, i: int) -> _Definition | None:
        if self.at[i][0] in self.of.jvps:
            return self._product(i, self.of.jvps, "jvp")
        if self.at[i][0] in self.of.vjps:
            return None
        raise NotImplementedError(self._missing(self.at[i][0]))

    def _missing(self, at: int) -> str:
        rule = "lambda g, ans, *args: ..."
        return (
            f"{self.name} has no rule for its derivative by argument {at}. Give it one:\n"
            f"    {self.name}.defvjp({rule}, argnums={at})\n"
            "that returns g times the derivative; or say that it is zero everywhere:\n"
            f"    {self.name}.defvjp(None, argnums={at})\n"
            "or write the function with operators that have rules, and without @primitive."
        )


def _rest(leaf: Any) -> Any:
    """The tangent of a leaf that does not move: zeros like it, if it holds numbers."""
    if isinstance(leaf, Variable | np.ndarray) or is_number(leaf):
        return np.zeros(np.shape(leaf), getattr(leaf, "dtype", float))
    return leaf


def _summed(name: str, result: Any, like: Any, y: Any) -> Any:
    """A gradient in the shape of its argument: summed over axes along which that was broadcast to
    the shape of ``y``, what the function returned.
    """
    shape, found = np.shape(like), np.shape(result)
    if found == shape:
        return result
    try:
        whole = np.broadcast_shapes(shape, np.shape(y))
    except ValueError:
        whole = shape
    if len(found) > len(whole) or any(
        n not in (1, m) for n, m in zip(found[::-1], whole[::-1], strict=False)
    ):
        raise ValueError(f"{name}: expected a result of shape {shape}, got {found}")
    if len(found) < len(shape):
        result = _spread(name, result, like)
        found = shape
    extra = len(found) - len(shape)
    kept = [k + extra for k, n in enumerate(shape) if n == 1 and found[k + extra] != 1]
    return np.reshape(np.sum(result, axis=(*range(extra), *kept)), shape)


def _spread(name: str, result: Any, like: Any) -> Any:
    """A tangent in the shape of the result: broadcast, where the rule saw no reason to."""
    shape, found = np.shape(like), np.shape(result)
    if found == shape:
        return result
    if len(found) > len(shape) or any(
        n not in (1, m) for n, m in zip(found[::-1], shape[::-1], strict=False)
    ):
        raise ValueError(f"{name}: expected a result of shape {shape}, got {found}")
    return np.broadcast_to(result, shape)


def _most(f: Callable[..., Any]) -> int | None:
    """How many arguments a function takes by position; None if any number, or it does not say."""
    try:
        parameters = inspect.signature(f, follow_wrapped=False).parameters.values()
    except (TypeError, ValueError):
        return None
    kinds = [parameter.kind for parameter in parameters]
    if inspect.Parameter.VAR_POSITIONAL in kinds:
        return None
    return len(kinds) - sum(
        kind in (inspect.Parameter.KEYWORD_ONLY, inspect.Parameter.VAR_KEYWORD) for kind in kinds
    )


def _without(args: Sequence[Any]) -> list[Any]:
    """Arguments that hold no variables: operands stand in their places when they are needed."""
    return [
        tree.convert(lambda leaf: 0.0 if isinstance(leaf, Variable) else leaf, arg) for arg in args
    ]


class Primitive:
    """A function with rules for its derivatives: what ``primitive`` makes."""

    def __init__(self, f: Callable[..., Any]) -> None:
        self.function = function("primitive", f)
        self.most = _most(f)
        self.vjps: dict[int, Rule | None] = {}
        self.jvps: dict[int, Rule | None] = {}
        functools.update_wrapper(self, f)
        self.__name__ = str(getattr(f, "__name__", type(f).__name__))

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Runs the function, and records that it was, if an argument is a variable."""
        for name, value in kwargs.items():
            if any(isinstance(leaf, Variable) for _, leaf in tree.flatten(value)[0]):
                raise TypeError(
                    f"{self.__name__}: {name}: a variable is passed by position, so that its "
                    "rule has a number"
                )
        at: list[tuple[int, int]] = []
        operands: list[Variable] = []
        for i, arg in enumerate(args):
            for k, (_, leaf) in enumerate(tree.flatten(arg)[0]):
                if isinstance(leaf, Variable):
                    at.append((i, k))
                    operands.append(leaf)
        if not at:
            return self.function(*args, **kwargs)
        return _core.apply_primitive(_Bound(self, _without(args), kwargs, at), operands)

    def __repr__(self) -> str:
        return f"<primitive {self.__name__}>"

    def _define(self, name: str, into: dict[int, Rule | None], rules: Any, argnums: Any) -> None:
        places = range(len(rules)) if argnums is None else argnums
        places = [places] if isinstance(places, int) else list(places)
        if len(places) != len(rules) or not rules:
            raise ValueError(
                f"{name}: expected a rule for each of argnums, got {len(rules)} rule(s) for "
                f"{len(places)} argument(s)"
            )
        for at, rule in zip(places, rules, strict=True):
            if isinstance(at, bool) or not isinstance(at, int) or at < 0:
                raise ValueError(f"{name}: argnums: expected integers from 0, got {at!r}")
            if rule is not None and not callable(rule):
                raise TypeError(f"{name}: expected a function or None, got {described(rule)}")
            if self.most is not None and at >= self.most:
                raise ValueError(
                    f"{name}: {self.__name__} takes {self.most} argument(s) by position, so there "
                    f"can be no rule for argument {at}"
                )
        into.update(zip(places, rules, strict=True))

    def defvjp(self, *rules: Rule | None, argnums: int | Sequence[int] | None = None) -> Primitive:
        """Sets rules for reverse mode: one for each argument, or for those of ``argnums``.

        A rule is called as ``rule(g, ans, *args, **kwargs)`` with the gradient of the result, the
        result, and what the primitive was called with, and returns the gradient of its argument.
        That is summed over axes along which the argument was broadcast. Of an argument that is a
        tuple, list or dict of arrays it is such a container of their gradients. A rule of None
        says that the derivative is zero everywhere. It serves forward mode too, transposed. Raises
        ValueError for a rule of an argument that the function does not take.
        """
        self._define("defvjp", self.vjps, rules, argnums)
        return self

    def defjvp(self, *rules: Rule | None, argnums: int | Sequence[int] | None = None) -> Primitive:
        """Sets rules for forward mode: ``rule(t, ans, *args, **kwargs)`` with the tangent of its
        argument returns that of the result. Only needed where the rule of ``defvjp``, transposed,
        is not good enough.
        """
        self._define("defjvp", self.jvps, rules, argnums)
        return self


def primitive(f: Callable[..., Any]) -> Primitive:
    """Makes an operator of a function of plain arrays that returns one array or number.

    Called with variables among its positional arguments, or in tuples, lists and dicts there, it
    is run on their values and recorded as one operator; with none, it is just run. ``defvjp`` gives
    it rules; without one for an argument that matters, taking a gradient raises
    NotImplementedError that says how. What is called with other shapes later (a frozen program may
    be) is called with zeros once to learn the shape of its result. A function may refer to
    variables that it computed: Python's garbage collector sees through graphs (but not through a
    ``Program``).

    >>> import numpy as np
    >>> import wyrmling as wy
    >>> @wy.primitive
    ... def logsumexp(x):
    ...     return np.log(np.sum(np.exp(x)))
    >>> logsumexp.defvjp(lambda g, ans, x: g * np.exp(x - ans))
    <primitive logsumexp>
    >>> wy.grad(logsumexp)(np.zeros(4))
    array([0.25, 0.25, 0.25, 0.25])
    >>> wy.hessian(logsumexp)(np.zeros(2))
    array([[ 0.25, -0.25],
           [-0.25,  0.25]])
    """
    return Primitive(f)


def checkpoint(f: Callable[..., Any]) -> Callable[..., Any]:
    """``f``, of which nothing is kept for the gradient but its arguments: it is run again when
    the gradient is taken, which trades time for memory (Griewank and Walther, "Algorithm 799:
    revolve", 2000).

    ``f`` takes floats, arrays and nested tuples, lists and dicts of them by position, and returns
    one array or number. Keyword arguments are passed on. It must not close over variables:
    TypeError is raised if its result depends on one.

    >>> import numpy as np
    >>> import wyrmling as wy
    >>> layer = wy.checkpoint(lambda x: np.tanh(np.sin(x)))
    >>> wy.grad(lambda x: layer(layer(x)))(0.0)
    1.0
    """
    function("checkpoint", f)
    name = str(getattr(f, "__name__", "checkpoint")).strip("<>")

    @functools.wraps(f)
    def transformed(*args: Any, **kwargs: Any) -> Any:
        labelled, rebuild = tree.flatten(args)
        leaves = [leaf for _, leaf in labelled]
        at = [i for i, leaf in enumerate(leaves) if isinstance(leaf, Variable)]
        if not at:
            return f(*args, **kwargs)

        def run(*operands: Any) -> Any:
            filled = list(leaves)
            for i, operand in zip(at, operands, strict=True):
                filled[i] = operand
            return f(*rebuild(iter(filled)), **kwargs)

        return _core.apply_primitive(_Traced(name, run), [leaves[i] for i in at])

    return transformed
