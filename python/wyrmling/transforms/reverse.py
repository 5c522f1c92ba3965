"""Reverse mode: gradients of one number by many, pulled back from the result.

The cost of a gradient is a few times that of the function, however many arguments there are
(Griewank and Walther, "Evaluating Derivatives", 2nd edition, chapter 4); the price is memory for
what was computed on the way.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from .. import _core
from .._core import Variable, stack
from . import tree
from .modes import DEFAULT, Mode, chosen, is_traced, reading
from .tracing import Argnums, Run, fitting, function


def value_and_grad(
    f: Callable[..., Any],
    argnums: Argnums = 0,
    has_aux: bool = False,
    *,
    mode: Mode = DEFAULT,
) -> Callable[..., Any]:
    """A function that returns ``(f(...), grad(f)(...))``, computed together.

    With ``has_aux``, ``f`` returns ``(value, aux)``, and so it is ``((value, aux), gradient)``.
    Arguments and errors are those of ``grad``.

    >>> import wyrmling as wy
    >>> wy.value_and_grad(lambda x: x * x)(3.0)
    (9.0, 6.0)
    """
    function("value_and_grad", f)

    def transformed(*args: Any, **kwargs: Any) -> Any:
        run = Run("value_and_grad", f, args, kwargs, argnums, has_aux)
        gradient = _gradient(run, argnums)
        value = run.value()
        return ((value, run.aux) if has_aux else value), gradient

    return chosen("value_and_grad", f, transformed, mode, argnums, has_aux)


def _gradient(run: Run, argnums: Argnums) -> Any:
    y = run.scalar()
    return run.arranged(argnums, run.gradients(y))


def grad(
    f: Callable[..., Any],
    argnums: Argnums = 0,
    has_aux: bool = False,
    *,
    mode: Mode = DEFAULT,
) -> Callable[..., Any]:
    """A function that returns the gradient of ``f``, which returns one number.

    ``argnums`` says which positional arguments to differentiate by: one, or several, for a tuple
    of gradients. Each may be a float, an array (float32 or float64) or a nested tuple, list or
    dict of them, and its gradient has the same form, shapes and dtypes. It may be, or hold, an
    instance of a class written in Python, such as a dataclass: the gradient is one of the same
    class, with None for attributes that are no floating-point numbers, and ``f`` must not change
    it. Other arguments, and keyword arguments, are passed on as they are. With ``has_aux``, ``f``
    returns ``(value, aux)`` and the result is ``(gradient, aux)``.

    With ``mode="trace"`` the function is run on variables that remember what was computed; with
    ``"source"`` its text is read and compiled, loops and branches included, so that later calls
    run no Python; ``"auto"`` reads what is called again or has loops, if it can be read, and
    traces the rest, with the same results.

    Raises SourceError, a NotImplementedError, if ``f`` is to be read and has something in it that
    is not supported, ValueError for another mode, and TypeError if an argument to differentiate by
    is not made of floating-point numbers (integers alone are taken as floats), or if ``f`` returns
    anything but one floating-point number, by itself or in an array. The gradient by what ``f``
    does not read is zero.

    >>> import numpy as np
    >>> import wyrmling as wy
    >>> wy.grad(np.sin)(0.0)
    1.0
    >>> loss = lambda w, x: np.sum(np.tanh(x @ w["layer"]) * w["scale"])
    >>> wy.grad(loss)({"layer": np.zeros(2), "scale": 3.0}, np.ones((4, 2)))
    {'layer': array([12., 12.]), 'scale': 0.0}
    >>> wy.grad(wy.grad(wy.grad(lambda x: x**4)))(1.0)
    24.0
    """
    function("grad", f)

    def transformed(*args: Any, **kwargs: Any) -> Any:
        run = Run("grad", f, args, kwargs, argnums, has_aux)
        gradient = _gradient(run, argnums)
        return (gradient, run.aux) if has_aux else gradient

    return chosen("grad", f, transformed, mode, argnums, has_aux)


def elementwise_grad(
    f: Callable[..., Any], argnums: Argnums = 0, *, mode: Mode = DEFAULT
) -> Callable[..., Any]:
    """A function that returns the derivative of ``f`` at each element, for ``f`` that acts on
    each element alone: the gradient of the sum of its results, of whatever shape.

    Arguments and errors are those of ``grad``, but for the shape of the result.

    >>> import numpy as np
    >>> import wyrmling as wy
    >>> wy.elementwise_grad(lambda x: x**3)(np.array([1.0, 2.0]))
    array([ 3., 12.])
    """
    function("elementwise_grad", f)

    def transformed(*args: Any, **kwargs: Any) -> Any:
        run = Run("elementwise_grad", f, args, kwargs, argnums)
        y = run.single("number or array", "use jacobian or vjp")
        return run.arranged(argnums, run.gradients(y))

    return chosen("elementwise_grad", f, transformed, mode, argnums)


def _sum_of(run: Run, seeds: list[Any]) -> list[Any]:
    """The gradients of ``sum(output * seed)`` over all outputs."""
    pairs = [each for each in zip(run.outputs, seeds, strict=True) if isinstance(each[0], Variable)]
    if len(pairs) < 2:
        return run.gradients(*pairs[0]) if pairs else run.gradients(None)
    # One pass for all: each by itself would walk over what they share, and give a gradient of every
    # input.
    parts = [_core.sum(output * seed) for output, seed in pairs]
    total = sum(parts[1:], parts[0])
    live = any(isinstance(seed, Variable) for _, seed in pairs)
    return run.gradients(total, _core.constant(np.ones((), total.dtype)) if live else None)


def vjp(
    f: Callable[..., Any], *xs: Any, mode: Mode = DEFAULT, **kwargs: Any
) -> tuple[Any, Callable[[Any], Any]]:
    """``f(*xs, **kwargs)``, and the function that pulls a gradient of it back to ``xs``.

    The pullback takes a gradient of the result's form and shapes, and returns a tuple with one of
    the form of each of ``xs``: vector-Jacobian products. Numbers of the gradient are taken in the
    dtype of the result, by the rule by which ``jvp`` takes tangents in that of the argument. The
    pullback can be called again and again.
    ``mode`` is that of ``grad``, and no argument of ``f``. Raises TypeError or ValueError if the
    gradient does not fit the result, and errors as ``grad`` does.

    >>> import numpy as np
    >>> import wyrmling as wy
    >>> y, pullback = wy.vjp(lambda x, w: w * x, 3.0, np.array([1.0, 2.0]))
    >>> y
    array([3., 6.])
    >>> pullback(np.array([1.0, 0.0]))
    (1.0, array([3., 0.]))
    """
    function("vjp", f)
    if not xs:
        raise TypeError("vjp: expected at least one argument to differentiate by")
    if is_traced("vjp", mode):
        return _traced_vjp(f, *xs, **kwargs)
    found: tuple[Any, Callable[[Any], Any]] = reading("immediate").with_pullback(
        f, xs, kwargs, _traced_vjp, _seeds, mode
    )
    return found


def _traced_vjp(f: Callable[..., Any], *xs: Any, **kwargs: Any) -> tuple[Any, Callable[[Any], Any]]:
    run = Run("vjp", f, xs, kwargs, range(len(xs)))
    shape = tree.bare(run.result)

    def pullback(gradient: Any) -> Any:
        return run.arranged(range(len(xs)), _sum_of(run, _seeds(gradient, shape, run.outputs)))

    return run.value(), pullback


def _seeds(gradient: Any, shape: Any, outputs: list[Any]) -> list[Any]:
    """The leaves of a gradient that a pullback was given, if they fit a result of this shape."""
    given = tree.leaves_like(gradient, shape, opened=True)
    if given is None:
        raise TypeError(
            f"pullback: expected a gradient of the form of the result, {tree.shown(shape)}, got "
            f"{tree.shown(gradient)}"
        )
    labels = [label for label, _ in tree.flatten(shape, "gradient", [])[0]]
    return [
        fitting(f"pullback: {label}", seed, y, "result")
        for label, seed, y in zip(labels, given, outputs, strict=True)
    ]


pullback = vjp
"""The name of ``vjp`` in the Julia packages that wyrmling descends from."""


def jacrev(
    f: Callable[..., Any], argnums: Argnums = 0, has_aux: bool = False, *, mode: Mode = DEFAULT
) -> Callable[..., Any]:
    """A function that returns the Jacobian of ``f``, by reverse mode: a pullback for each element
    of the result, so best for few results of many arguments.

    For a result of shape ``s`` and an argument of shape ``t`` it is an array of shape ``s + t``;
    where the result or the arguments are nested, it has the form of the result, with the form of
    the arguments in the place of each leaf. Arguments and errors are those of ``grad``, but for
    what ``f`` returns. With ``has_aux`` the result is ``(jacobian, aux)``, and ``f`` is traced:
    ``mode="source"`` refuses it.

    >>> import numpy as np
    >>> import wyrmling as wy
    >>> wy.jacrev(lambda x: x**2 * np.array([1.0, 10.0]))(np.array([1.0, 2.0]))
    array([[ 2.,  0.],
           [ 0., 40.]])
    """
    function("jacrev", f)

    def transformed(*args: Any, **kwargs: Any) -> Any:
        run = Run("jacrev", f, args, kwargs, argnums, has_aux)
        blocks = [run.arranged(argnums, _rows(run, y)) for y in run.outputs]
        found = run.rebuild_output(tree.derivatives(blocks))
        return (found, run.aux) if has_aux else found

    return chosen("jacrev", f, transformed, mode, argnums, has_aux)


def _rows(run: Run, y: Any) -> list[Any]:
    """The Jacobian of one output by each input, from its rows."""
    shape = np.shape(y)
    if not isinstance(y, Variable):
        return [np.zeros(shape + x.shape, x.dtype) for x in run.inputs]
    if shape == ():
        return run.gradients(y)
    rows: list[list[Any]] = [[] for _ in run.inputs]
    seed = np.zeros(shape, y.dtype)
    for at in np.ndindex(shape):
        seed[at] = 1.0
        for row, part in zip(rows, run.gradients(y, seed), strict=True):
            row.append(part)
        seed[at] = 0.0
    pairs = zip(rows, run.inputs, strict=True)
    return [joined(row, 0, shape + x.shape, x) for row, x in pairs]


def joined(parts: list[Any], axis: int, shape: tuple[int, ...], like: Variable) -> Any:
    """Rows or columns of a Jacobian, as one array of ``shape`` or one variable."""
    if not parts:
        return np.zeros(shape, like.dtype)
    if any(isinstance(part, Variable) for part in parts):
        return stack(parts, axis=axis).reshape(shape)
    return np.stack(parts, axis=axis).reshape(shape)


jacobian = jacrev
