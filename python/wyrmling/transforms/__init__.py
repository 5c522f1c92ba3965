"""Transforms of functions: their gradients, Jacobians and products of those.

A transform takes a function of floats, arrays and nested tuples, lists and dicts of them, and of
instances of classes that hold them, and gives another. The function is plain Python: it may branch,
loop, recurse, call other functions, close over values and use NumPy on what it is given. ``modes``
says how: its text is read and compiled (``wyrmling.source``), or it is run on variables that
remember what was computed from them (``tracing``), then gradients are pulled back (``reverse``) or
tangents pushed forward (``forward``); ``second`` composes both, ``check`` holds them against
differences.

Results are plain numbers and arrays, as the arguments are. They are variables where somebody
outside may want a gradient of them: inside another transform, or where an argument or something
that the function closes over is a variable that records a gradient. Each transform traces with
variables of its own, so that nested ones are never confused (Siskind and Pearlmutter,
"Perturbation confusion and referential transparency", 2005):

>>> import wyrmling as wy
>>> wy.grad(lambda x: x * wy.grad(lambda y: x * y)(1.0))(4.0)
8.0

Limits: a function that is traced is run anew each time. Python numbers given as arguments become
float64, which meets float32 arrays in float64.
"""

from .check import check_grads
from .checkpoint import checkpoint
from .forward import jacfwd, jvp
from .primitive import Primitive, primitive
from .reading import SourceError, code_adjoint, code_ir, compile, explain
from .reverse import (
    elementwise_grad,
    grad,
    jacobian,
    jacrev,
    pullback,
    value_and_grad,
    vjp,
)
from .second import hessian, hvp

__all__ = [
    "Primitive",
    "SourceError",
    "check_grads",
    "checkpoint",
    "code_adjoint",
    "code_ir",
    "compile",
    "elementwise_grad",
    "explain",
    "grad",
    "hessian",
    "hvp",
    "jacfwd",
    "jacobian",
    "jacrev",
    "jvp",
    "primitive",
    "pullback",
    "value_and_grad",
    "vjp",
]
