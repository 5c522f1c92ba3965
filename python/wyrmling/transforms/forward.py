"""Forward mode: how a result moves when arguments do, pushed forward from them.

A direction costs a few times what the function does, however many results there are.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from .. import _core
from .._core import Variable
from . import tree
from .modes import DEFAULT, Mode, chosen, is_traced, reading
from .reverse import joined
from .tracing import Argnums, Run, described, fitting, function, like


def _pushed(run: Run, tangents: Sequence[Any]) -> list[Any]:
    """The tangents of all outputs where the inputs have these, as variables or arrays."""
    live = run.live or any(isinstance(t, Variable) for t in tangents)
    variables = run.variables
    found = iter(_core.pushforward(variables, run.inputs, list(tangents)))
    moved: list[Any] = []
    for y in run.outputs:
        t = next(found) if isinstance(y, Variable) else None
        if t is None:
            moved.append(np.zeros(np.shape(y), getattr(y, "dtype", np.float64)))
        else:
            moved.append(t if live else t.value)
    return moved


def directions_of(tangents: Sequence[Any], primals: Sequence[Any]) -> list[Any]:
    """The leaves of tangents, each of the element type of the argument's leaf. Raises what ``jvp``
    does for one that does not fit.
    """
    given = tree.leaves_like(list(tangents), list(primals), opened=True)
    if given is None:
        raise TypeError(
            "jvp: tangents: expected the form of the primals, "
            f"{tree.shown(list(primals))}, got {tree.shown(list(tangents))}"
        )
    leaves = tree.flatten(list(primals), "tangents", [])[0]
    return [
        fitting(f"jvp: {label}", t, x, "argument")
        for t, (label, x) in zip(given, leaves, strict=True)
    ]


def jvp(
    f: Callable[..., Any],
    primals: Sequence[Any],
    tangents: Sequence[Any],
    *,
    mode: Mode = DEFAULT,
    **kwargs: Any,
) -> tuple[Any, Any]:
    """``f(*primals, **kwargs)``, and how it moves when the arguments move by ``tangents``: the
    Jacobian-vector product, of the form of the result.

    ``tangents`` has one for each of ``primals``, of the same form and shapes; its numbers take
    the dtype of the argument. Integers, Python's floats and float32 for float64 fit it, float64
    for float32 does not. ``mode`` is that of ``grad``, and no argument of ``f``. Raises TypeError
    or ValueError if a tangent does not fit, and errors as ``grad`` does.

    >>> import numpy as np
    >>> import wyrmling as wy
    >>> wy.jvp(np.sin, (0.0,), (2.0,))
    (0.0, 2.0)
    """
    function("jvp", f)
    for name, given in [("primals", primals), ("tangents", tangents)]:
        if not isinstance(given, tuple | list):
            raise TypeError(
                f"jvp: {name}: expected a tuple or list, one for each argument, got "
                f"{described(given)}"
            )
    if not primals:
        raise TypeError("jvp: expected at least one argument to differentiate by")
    directions = directions_of(tangents, primals)
    if is_traced("jvp", mode):
        return _traced_jvp(f, tuple(primals), directions, kwargs)
    found: tuple[Any, Any] = reading("immediate").with_tangents(
        f, tuple(primals), directions, kwargs, _traced_jvp, mode
    )
    return found


def _traced_jvp(
    f: Callable[..., Any], primals: tuple[Any, ...], directions: Sequence[Any], kwargs: Any
) -> tuple[Any, Any]:
    run = Run("jvp", f, primals, kwargs, range(len(primals)))
    moved = _pushed(run, directions)
    value = run.value()
    pairs = zip(tree.flatten(value, opened=[])[0], moved, strict=True)
    return value, run.rebuild_output(tree.derivatives([_as_plain(y, t) for (_, y), t in pairs]))


def _as_plain(value: Any, tangent: Any) -> Any:
    """A tangent in the form of the value that it belongs to."""
    return tangent if isinstance(tangent, Variable) else like(value, np.asarray(tangent))


def jacfwd(
    f: Callable[..., Any], argnums: Argnums = 0, has_aux: bool = False, *, mode: Mode = DEFAULT
) -> Callable[..., Any]:
    """A function that returns the Jacobian of ``f``, by forward mode: a tangent for each element
    of the arguments, so best for many results of few arguments.

    The result is that of ``jacrev``.

    Arguments and errors are those of ``jacrev``.

    >>> import numpy as np
    >>> import wyrmling as wy
    >>> wy.jacfwd(lambda t: np.stack([np.cos(t), np.sin(t)]))(0.0)
    array([0., 1.])
    """
    function("jacfwd", f)

    def transformed(*args: Any, **kwargs: Any) -> Any:
        run = Run("jacfwd", f, args, kwargs, argnums, has_aux)
        zeros = [run.zeros(at) for at in range(len(run.inputs))]
        # For each output and input, how the output moves with each element of the input.
        blocks: list[list[Any]] = [[] for _ in run.outputs]
        for at, x in enumerate(run.inputs):
            # Ask once for the memory of all columns: a lack of it shows before any is computed.
            for y in run.outputs:
                np.empty(np.shape(y) + x.shape, x.dtype)
            columns = []
            for index in np.ndindex(x.shape):
                direction = np.zeros(x.shape, x.dtype)
                direction[index] = 1.0
                columns.append(_pushed(run, [*zeros[:at], direction, *zeros[at + 1 :]]))
            for k, y in enumerate(run.outputs):
                shape = np.shape(y) + x.shape
                blocks[k].append(joined([column[k] for column in columns], -1, shape, x))
        found = run.rebuild_output(
            tree.derivatives([run.arranged(argnums, block) for block in blocks])
        )
        return (found, run.aux) if has_aux else found

    return chosen("jacfwd", f, transformed, mode, argnums, has_aux)
