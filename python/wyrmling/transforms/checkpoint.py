"""Functions that are run again when their gradient is taken, which trades time for memory."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from .._core import Variable
from . import tree
from .definition import FunctionDefinition, applied
from .modes import DEFAULT, Mode, is_traced
from .packed import Packed, are_alike
from .reading import compile
from .tracing import function


def _kind(leaf: Any) -> type:
    """Whether a leaf of a result is of booleans, of integers or of other numbers."""
    kind = getattr(getattr(leaf, "dtype", None), "kind", None)
    if kind == "b" or isinstance(leaf, bool):
        return bool
    return int if kind in ("i", "u") or isinstance(leaf, int) else float


def _of_kind(leaf: Variable, kind: type) -> Any:
    """A leaf of a result, which an operator gives as floating-point numbers, as what it is."""
    return leaf if kind is float else leaf.astype(kind)


def checkpoint(f: Callable[..., Any], *, mode: Mode = DEFAULT) -> Callable[..., Any]:
    """``f``, of which nothing is kept for the gradient but its arguments: it is run again when
    the gradient is taken, which trades time for memory (Griewank and Walther, "Algorithm 799:
    revolve", 2000).

    ``f`` takes and returns floats, arrays and nested tuples, lists and dicts of them. Arguments to
    differentiate by are given by position. Keyword arguments are passed on. It must not close over
    variables: TypeError is raised if its result depends on one. It gets copies of arrays that are
    differentiated, and ValueError is raised if it writes to one; its results are copied. Masks and
    integers stay what they are, as arguments and as results. With a ``mode`` other than
    ``"trace"`` it is compiled where it gets no variables, as ``compile`` does.

    A gradient runs ``f`` once more, and so does each order of derivative; once for each argument
    that matters, if they are of both float types or follow an ``Input``. Checkpoints within each
    other multiply that: a checkpoint of a gradient of a checkpoint, and so on, runs the innermost
    function some four times as often for each.

    >>> import numpy as np
    >>> import wyrmling as wy
    >>> layer = wy.checkpoint(lambda x: np.tanh(np.sin(x)))
    >>> wy.grad(lambda x: layer(layer(x)))(0.0)
    1.0
    """
    function("checkpoint", f)
    value = f if is_traced("checkpoint", mode) else compile(f, mode=mode)
    name = str(getattr(f, "__name__", "checkpoint")).strip("<>")

    @functools.wraps(f)
    def transformed(*args: Any, **kwargs: Any) -> Any:
        labelled, rebuild = tree.flatten(args)
        leaves = [leaf for _, leaf in labelled]
        at = [i for i, leaf in enumerate(leaves) if isinstance(leaf, Variable)]
        if not at:
            return tree.copied(value(*args, **kwargs))

        kinds: list[type] = []

        given = [leaves[i] for i in at]
        packed = None
        if len(given) > 1 and are_alike(given):
            packed = Packed(at, [leaf.shape for leaf in given])
            given = [Packed.packed(given)]

        def run(*operands: Any) -> Any:
            filled = list(leaves)
            each = zip(at, operands, strict=True) if packed is None else packed.parts(*operands)
            for i, operand in each:
                filled[i] = operand
            result = f(*rebuild(iter(filled)), **kwargs)
            if not kinds:
                kinds.extend(_kind(leaf) for _, leaf in tree.flatten(result, name)[0])
            return result

        result = applied(FunctionDefinition(name, run), given)
        if all(kind is float for kind in kinds):
            return result
        of_leaf = iter(kinds)
        return tree.convert(lambda leaf: _of_kind(leaf, next(of_leaf)), result)

    return transformed
