"""Operators of one's own, in Python.

A function of plain arrays that is opaque to tracing (it calls a solver, say, or another
library) becomes an operator by ``primitive``, with a rule for its derivative. The rule is
written with NumPy or wyrmling, so it is differentiated in turn by running it, to any order.
"""

from __future__ import annotations

import contextlib
import functools
import inspect
from collections.abc import Callable, Sequence
from itertools import islice
from typing import Any

import numpy as np

from .._core import Variable
from . import tree
from .definition import ONE, BaseDefinition, Definition, FunctionDefinition, applied
from .packed import Packed, are_alike
from .reverse import vjp
from .tracing import described, function, is_number

Rule = Callable[..., Any]

_ARRAYS = (Variable, np.ndarray)

# More leaves of one container than these are one operand.
_FEW = 8

# The number of an argument, and that of a leaf in it or several, if it is a container.
_Place = tuple[int, int | Packed | None]


class _Bound(BaseDefinition):
    """A primitive with its arguments, some of whose leaves are the operands.

    Operand ``i`` is leaf ``at[i][1]`` of argument ``at[i][0]``, several of its leaves, or that
    argument itself, where ``at[i][1]`` is None.
    """

    def __init__(
        self,
        of: Primitive,
        args: Sequence[Any],
        kwargs: dict[str, Any],
        at: Sequence[_Place],
    ) -> None:
        self.name = of.__name__
        self.of = of
        self.args = args
        self.kwargs = kwargs
        self.at = at

    def _filled(self, operands: Sequence[Any]) -> list[Any]:
        """The arguments with operands in their places."""
        args = list(self.args)
        of_container: dict[int, dict[int, Any]] = {}
        for (argument, leaf), operand in zip(self.at, operands, strict=True):
            if leaf is None:
                args[argument] = operand
            else:
                given = of_container.setdefault(argument, {})
                given.update(leaf.parts(operand) if isinstance(leaf, Packed) else [(leaf, operand)])
        for argument, given in of_container.items():
            labelled, rebuild = tree.flatten(args[argument])
            leaves = [given.get(k, leaf) for k, (_, leaf) in enumerate(labelled)]
            args[argument] = rebuild(iter(leaves))
        return args

    def run(self, *operands: Any) -> Any:
        """The result of the function."""
        return self.of.function(*self._filled(operands), **self.kwargs)

    def _gradient_of(self, result: Any, i: int, name: str, x: Any, ys: Sequence[Any]) -> Any:
        """Of a gradient in the form of an argument, that of operand ``i``, which is ``x``."""
        argument, leaf = self.at[i]
        if leaf is None:
            return _summed(name, _number(name, result), x, ys)
        leaves = tree.leaves_like(result, self.args[argument])
        if leaves is None:
            raise ValueError(
                f"{name}: expected a gradient for each leaf, in the form of argument {argument}, "
                f"{tree.structure(self.args[argument])}; got {tree.structure(result)}"
            )
        if not isinstance(leaf, Packed):
            return _summed(name, _number(name, leaves[leaf]), x, ys)
        each = [_summed(name, _number(name, leaves[k]), like, ys) for k, like in leaf.parts(x)]
        return _typed(Packed.packed(each), x)

    def _tangent(self, i: int, tangent: Any, args: Sequence[Any]) -> Any:
        """The tangent of operand ``i`` in the form of its argument, zeros elsewhere."""
        argument, leaf = self.at[i]
        if leaf is None:
            return tangent
        labelled, rebuild = tree.flatten(args[argument])
        moved = dict(leaf.parts(tangent)) if isinstance(leaf, Packed) else {leaf: tangent}
        return rebuild(
            iter([moved[k] if k in moved else _zeros_like(x) for k, (_, x) in enumerate(labelled)])
        )

    def _product(
        self, i: int, rules: dict[int, Rule | None], mode: str
    ) -> FunctionDefinition | None:
        rule = rules[self.at[i][0]]
        if rule is None:
            return None

        name = f"{self.name}: {mode}"
        form = self.form

        def pulled(*given: Any) -> Any:
            g, others = form.results(given)
            y, x = form.results(others)
            result = rule(g, y, *self._filled(x), **self.kwargs)
            return self._gradient_of(result, i, name, x[i], others[: len(form.labels)])

        def pushed(tangent: Any, *given: Any) -> Any:
            y, x = form.results(given)
            args = self._filled(x)
            result = rule(self._tangent(i, tangent, args), y, *args, **self.kwargs)
            moved = zip(form.labels, form.leaves(name, result), given, strict=False)
            return form.filled(
                [_spread(name + label, _number(name + label, t), y) for label, t, y in moved]
            )

        if mode == "vjp":
            return FunctionDefinition(f"{self.name}.vjp{i}", pulled, ONE)
        return FunctionDefinition(f"{self.name}.jvp{i}", pushed, form)

    def vjp(self, i: int) -> Definition | None:
        if self.at[i][0] in self.of.vjps:
            return self._product(i, self.of.vjps, "vjp")
        moved = self.jvp(i)
        return None if moved is None else self._transposed(i, moved)

    def _transposed(self, i: int, moved: FunctionDefinition) -> Definition:
        """The gradient of operand ``i``, by transposing forward mode."""
        form = self.form

        def pulled(*given: Any) -> Any:
            g, others = form.results(given)
            x = others[len(form.labels) + i]
            # Forward mode is linear in the tangent: its transpose is the same at any tangent.
            tangent = np.zeros(np.shape(x), x.dtype)
            return vjp(lambda t: moved.run(t, *others), tangent)[1](g)[0]

        return FunctionDefinition(f"{self.name}.vjp{i}", pulled, ONE)

    def jvp(self, i: int) -> FunctionDefinition | None:
        if self.at[i][0] in self.of.jvps:
            return self._product(i, self.of.jvps, "jvp")
        if self.at[i][0] in self.of.vjps:
            return None if self.form.is_single else self._pushed(i)
        raise NotImplementedError(self._missing(self.at[i][0]))

    def _pushed(self, i: int) -> FunctionDefinition | None:
        """The tangents of several results, by transposing reverse mode by all of them at once: the
        graph would run the rule once for each.
        """
        pulled = self._product(i, self.of.vjps, "vjp")
        if pulled is None:
            return None
        form, run = self.form, pulled.run

        def pushed(tangent: Any, *given: Any) -> Any:
            # Reverse mode is linear in the gradients: its transpose is the same at any.
            zeros = [np.zeros(np.shape(y), y.dtype) for y in given[: len(form.labels)]]
            return form.filled(vjp(lambda *g: run(*g, *given), *zeros)[1](tangent))

        return FunctionDefinition(f"{self.name}.jvp{i}", pushed, form)

    def _missing(self, at: int) -> str:
        rule = "lambda g, ans, *args: ..."
        return (
            f"{self.name} has no rule for its derivative by argument {at}. Give it one:\n"
            f"    {self.name}.defvjp({rule}, argnums={at})\n"
            "that returns g times the derivative; or say that it is zero everywhere:\n"
            f"    {self.name}.defvjp(None, argnums={at})\n"
            "or write the function with operators that have rules, and without @primitive."
        )


def _zeros_like(leaf: Any) -> Any:
    """The tangent of a leaf that is no operand: zeros like it, if it holds numbers."""
    if isinstance(leaf, Variable | np.ndarray) or is_number(leaf):
        return np.zeros(np.shape(leaf), getattr(leaf, "dtype", float))
    return leaf


def _number(name: str, result: Any) -> Any:
    """What a rule gave, if it is a number, an array or a variable."""
    if isinstance(result, _ARRAYS) or is_number(result):
        return result
    raise TypeError(f"{name}: expected a number, an array or a variable, got {described(result)}")


def _typed(result: Any, like: Any) -> Any:
    """What a rule gave, in the element type that it must have, that of ``like``. float16, which
    variables do not keep, is refused later.
    """
    dtype = getattr(result, "dtype", None)
    if dtype is None or dtype == like.dtype or dtype not in (np.float32, np.float64):
        return result
    return result.astype(like.dtype)


def _fits(found: tuple[int, ...], shape: tuple[int, ...]) -> bool:
    """Whether an array could be broadcast to a shape."""
    pairs = zip(found[::-1], shape[::-1], strict=False)
    return len(found) <= len(shape) and all(n in (1, m) for n, m in pairs)


def _summed(name: str, result: Any, like: Any, ys: Sequence[Any]) -> Any:
    """A gradient in the shape of its argument: summed over axes along which that was broadcast to
    the shape of one of ``ys``, what the function returned.
    """
    shape, found = np.shape(like), np.shape(result)
    if found == shape:
        return _typed(result, like)
    fits = _fits(found, shape)
    for y in ys:
        with contextlib.suppress(ValueError):
            fits = fits or _fits(found, np.broadcast_shapes(shape, np.shape(y)))
    if not fits:
        raise ValueError(f"{name}: expected a result of shape {shape}, got {found}")
    if len(found) < len(shape):
        result = _spread(name, result, like)
        found = shape
    extra = len(found) - len(shape)
    kept = [k + extra for k, n in enumerate(shape) if n == 1 and found[k + extra] != 1]
    return _typed(np.reshape(np.sum(result, axis=(*range(extra), *kept)), shape), like)


def _spread(name: str, result: Any, like: Any) -> Any:
    """A tangent in the shape of the result: broadcast, where the rule saw no reason to."""
    shape, found = np.shape(like), np.shape(result)
    if found != shape:
        if not _fits(found, shape):
            raise ValueError(f"{name}: expected a result of shape {shape}, got {found}")
        result = np.broadcast_to(result, shape)
    return _typed(result, like)


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
    return [0.0 if isinstance(arg, Variable) else tree.convert(_held, arg) for arg in args]


def _held(leaf: Any) -> Any:
    return 0.0 if isinstance(leaf, Variable) else leaf


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
        at: list[_Place] = []
        operands: list[Variable] = []
        for i, arg in enumerate(args):
            if isinstance(arg, Variable):
                at.append((i, None))
                operands.append(arg)
                continue
            leaves = enumerate(leaf for _, leaf in tree.flatten(arg)[0])
            found = [(k, leaf) for k, leaf in leaves if isinstance(leaf, Variable)]
            if len(found) > _FEW and are_alike([leaf for _, leaf in found]):
                packed = Packed([k for k, _ in found], [leaf.shape for _, leaf in found])
                at.append((i, packed))
                operands.append(Packed.packed([leaf for _, leaf in found]))
                continue
            at += [(i, k) for k, _ in found]
            operands += [leaf for _, leaf in found]
        if not at:
            return tree.copied(self.function(*args, **kwargs))
        return applied(_Bound(self, _without(args), kwargs, at), operands)

    def __repr__(self) -> str:
        return f"<primitive {self.__name__}>"

    def _define(self, name: str, into: dict[int, Rule | None], rules: Any, argnums: Any) -> None:
        places = range(len(rules)) if argnums is None else argnums
        # One more than there are rules is too many already.
        places = [places] if isinstance(places, int) else list(islice(places, len(rules) + 1))
        if len(places) != len(rules) or not rules:
            raise ValueError(
                f"{name}: expected a rule for each of argnums, got {len(rules)} rule(s) for "
                f"argnums={argnums!r}"
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
        If the result is a tuple, list or dict, ``g`` is one, too, of arrays of the shapes and
        dtypes of those in the result, and zero for what nobody used. The gradient of the argument
        is summed over axes along which that was broadcast. Of an argument that is a tuple, list or
        dict of arrays it is such a container of their gradients, with all its keys, in any order.
        A rule of None says that the derivative is zero everywhere. Rules serve forward mode too,
        transposed. Raises ValueError for a rule of an argument that the function does not take.
        """
        self._define("defvjp", self.vjps, rules, argnums)
        return self

    def defjvp(self, *rules: Rule | None, argnums: int | Sequence[int] | None = None) -> Primitive:
        """Sets rules for forward mode: ``rule(t, ans, *args, **kwargs)`` with the tangent of its
        argument returns that of the result, in the form of the result, where a number stands for
        an array of it. Where there is no rule of ``defvjp`` it serves reverse mode too, transposed;
        where there is one, it is only needed if that, transposed, is not good enough.
        """
        self._define("defjvp", self.jvps, rules, argnums)
        return self


def primitive(f: Callable[..., Any]) -> Primitive:
    """Makes an operator of a function of plain arrays that returns numbers or arrays: one, or
    several in a nested tuple, named tuple, list or dict.

    Called with variables among its positional arguments, or in tuples, lists and dicts there, it
    is run on their values and recorded as one operator; with none, it is just run. The function and
    its rules get copies of arrays, to which the function cannot write, and what they return is
    copied. Arguments have the element types that NumPy would give them. Of what is returned
    float32 and float64 keep their type, integers and booleans become float64. ``defvjp`` gives it
    rules; without one for an argument that matters, taking a gradient raises NotImplementedError
    that says how. What is called with other shapes later (a frozen program may be) is called with
    zeros once to learn the shapes of its results. A function may refer to variables that it
    computed: Python's garbage collector sees through graphs and programs. A rule is differentiated
    by each of ``g``, ``ans`` and the arguments, so derivatives of high order cost some five times
    more with each.

    Raises TypeError if it returns anything else (None, text, complex numbers, float16, masked
    arrays), with the name of the function and of the place; ValueError if it is run again and
    the result has another form, or other shapes for arguments of the same shapes; RecursionError if
    a container contains itself.

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
    >>> @wy.primitive
    ... def polar(x, y):
    ...     return {"r": np.hypot(x, y), "angle": np.arctan2(y, x)}
    >>> polar.defvjp(
    ...     lambda g, ans, x, y: g["r"] * x / ans["r"] - g["angle"] * y / ans["r"] ** 2,
    ...     lambda g, ans, x, y: g["r"] * y / ans["r"] + g["angle"] * x / ans["r"] ** 2,
    ... )
    <primitive polar>
    >>> wy.grad(lambda x, y: polar(x, y)["r"] + polar(x, y)["angle"], argnums=(0, 1))(0.0, 2.0)
    (-0.5, 1.0)
    """
    return Primitive(f)
