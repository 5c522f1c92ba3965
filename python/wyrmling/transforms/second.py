"""Second derivatives, by taking first ones twice."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, SupportsIndex

import numpy as np

from . import tree
from .forward import directions_of, jacfwd, jvp
from .modes import DEFAULT, Mode, chosen
from .reverse import grad, jacrev
from .tracing import Argnums, function, named, positions

DIRECTION = ".direction"
"""The name under which a direction is passed on, which no argument of a function has."""
PRODUCTS = "products"
"""The name under which what ``hvp`` made holds the transform to which it passes a direction on."""


def _aligned(direction: Any, xs: Sequence[Any], argnums: SupportsIndex) -> Any:
    """A direction with its parts in the order and of the types of the argument's. Raises what
    ``jvp`` does for one that does not fit.
    """
    x = xs[positions("hvp", argnums, len(xs))[0]]
    rebuild = tree.flatten(x, opened=[])[1]
    return rebuild(iter(directions_of([direction], [x])))


def _as_array(argument: Any, product: Any) -> Any:
    """An array, where the argument is one: the tangent of a gradient without axes is a number."""
    is_number = isinstance(argument, np.ndarray) and isinstance(product, float | np.floating)
    return np.asarray(product) if is_number else product


def hessian(
    f: Callable[..., Any], argnums: Argnums = 0, has_aux: bool = False, *, mode: Mode = DEFAULT
) -> Callable[..., Any]:
    """A function that returns the second derivatives of ``f``.

    For a result of shape ``s`` and an argument of shape ``t`` they are an array of shape
    ``s + t + t``; nested arguments give nested results, as with ``jacrev``. Arguments and errors
    are those of ``jacrev``.

    >>> import numpy as np
    >>> import wyrmling as wy
    >>> wy.hessian(lambda x: x[0] ** 2 * x[1])(np.array([1.0, 2.0]))
    array([[4., 2.],
           [2., 0.]])
    """
    function("hessian", f)
    slopes = jacrev(f, argnums, has_aux, mode="trace")
    reverse = jacrev(slopes, argnums, has_aux, mode="trace")

    def transformed(*args: Any, **kwargs: Any) -> Any:
        try:
            return reverse(*args, **kwargs)
        except np.linalg.LinAlgError:
            # Reverse mode twice is the fastest. Where eigenvalues or singular values coincide only
            # forward mode, which knows the direction, has second derivatives of their functions.
            return jacfwd(slopes, argnums, has_aux, mode="trace")(*args, **kwargs)

    return chosen("hessian", f, transformed, mode, argnums, has_aux)


def hvp(
    f: Callable[..., Any], argnums: SupportsIndex = 0, *, mode: Mode = DEFAULT
) -> Callable[..., Any]:
    """A function that returns the second derivatives of ``f``, which returns one number, times a
    direction: ``hvp(f)(*args, direction)``.

    ``direction`` comes after the arguments of ``f``, and has the form of the argument that
    ``argnums`` names, as has the result. It costs a few times what ``f`` does: the derivative of
    the gradient in that direction (Pearlmutter, "Fast exact multiplication by the Hessian",
    1994). Errors are those of ``grad`` and ``jvp``.

    >>> import numpy as np
    >>> import wyrmling as wy
    >>> wy.hvp(lambda x: np.sum(x**3))(np.array([1.0, 2.0]), np.array([1.0, 0.0]))
    array([6., 0.])
    """
    function("hvp", f)
    if isinstance(argnums, Sequence):
        raise TypeError(f"hvp: argnums: expected one integer, got {argnums!r}")

    def along(*args: Any, **kwargs: Any) -> Any:
        direction = kwargs.pop(DIRECTION)
        at = positions("hvp", argnums, len(args))[0]

        def gradient(x: Any) -> Any:
            changed = (*args[:at], x, *args[at + 1 :])
            return grad(f, at, mode="trace")(*changed, **kwargs)

        found = jvp(gradient, (args[at],), (direction,), mode="trace")[1]
        leaves, rebuild = tree.flatten(args[at], opened=[])
        parts = tree.leaves_like(found, args[at], opened=True) or []
        pairs = zip(leaves, parts, strict=True)
        return rebuild(tree.derivatives([_as_array(leaf, part) for (_, leaf), part in pairs]))

    products = chosen("hvp", f, along, mode, argnums)

    @named("hvp", f)
    def transformed(*args: Any, **kwargs: Any) -> Any:
        if len(args) < 2:
            raise TypeError(
                "hvp: expected the arguments of the function and a direction, got "
                f"{len(args)} argument(s)"
            )
        *xs, direction = args
        return products(*xs, **kwargs, **{DIRECTION: _aligned(direction, xs, argnums)})

    # ``explain`` and ``code_ir`` ask for it.
    vars(transformed)[PRODUCTS] = products
    return transformed
