"""Operators written in Python, as the graph asks for them.

A *definition* is the object by which the graph (``src/python/operations/primitive.rs``) has such
an operator: it has a ``name``, a method ``call(*arrays)``, which gives an array, or one for each of
its ``labels``, and methods ``vjp(i)`` and ``jvp(i)``, which give the definitions of its products.
The product of ``vjp`` is called with the gradients of all results, all results if the definition
``reads_result``, and the operands; that of ``jvp`` with one tangent, all results and the operands.

Two kinds are derived from ``BaseDefinition``: what ``primitive`` makes has rules, and
``FunctionDefinition`` is differentiated by running its function.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Protocol

import numpy as np

from .. import _core
from .._core import Variable
from . import tree
from .reverse import vjp
from .tracing import described


class Definition(Protocol):
    """What the native module asks of an operator written in Python."""

    name: str
    reads_result: bool

    @property
    def labels(self) -> list[str] | None:
        """For each result in a container a suffix to the name, such as ``[0]``; None for a result
        by itself. It is asked for after a call.
        """

    def call(self, *arrays: Any) -> Any:
        """The result as a plain array, or a list of them if there are labels."""

    def vjp(self, i: int) -> Definition | None:
        """The operator that gives the gradient of operand ``i``; None if that is zero."""

    def jvp(self, i: int) -> Definition | None:
        """The operator that gives the tangents of the results for a tangent of operand ``i``; None
        if that is to be ``vjp`` transposed.
        """


class ResultTree:
    """The form of what an operator returns: one array, or tuples, lists and dicts of some."""

    def __init__(self, name: str, result: Any) -> None:
        labelled, self._rebuild = tree.flatten(result, name)
        if not labelled:
            raise TypeError(
                f"{name}: expected a number or an array, or tuples, lists and dicts of them, got "
                f"{described(result)}"
            )
        self.is_single = tree.is_leaf(result)
        self.like = tree.structure(result)
        self.labels = [label.removeprefix(name) for label, _ in labelled]

    def leaves(self, name: str, result: Any) -> list[Any]:
        """The leaves of another result, in the order of those of the first."""
        found = tree.leaves_like(result, self.like)
        if found is None:
            raise ValueError(
                f"{name}: expected a result of the form {self.like!s:.200}, as before, got "
                f"{tree.structure(result)!s:.200}"
            )
        return found

    def filled(self, leaves: Sequence[Any]) -> Any:
        """Such a result of other leaves."""
        return self._rebuild(iter(leaves))

    def results(self, given: Sequence[Any]) -> tuple[Any, Sequence[Any]]:
        """One result of the first of some leaves, and those that are left."""
        if self.is_single:
            return given[0], given[1:]
        count = len(self.labels)
        return self.filled(given[:count]), given[count:]


ONE = ResultTree("", 0.0)

# What most results are: they are known without looking further.
_PLAIN_TYPES = frozenset({np.ndarray, np.float64, np.float32, float})


def _is_array(leaf: Any) -> bool:
    """Whether this is a number or an array, or makes one of itself. Sequences do not: an object may
    say anything of its length.
    """
    if isinstance(leaf, np.ndarray | np.generic | float | int) or hasattr(type(leaf), "__array__"):
        return True
    try:
        memoryview(leaf)
    except TypeError:
        return False
    return True


def _plain(name: str, leaf: Any) -> Any:
    """A leaf of a result without variables."""
    if isinstance(leaf, Variable):
        if _core.differentiable(leaf):
            raise TypeError(
                f"{name}: the result depends on variables that are no arguments, and their "
                "gradients would be lost; pass them as arguments"
            )
        return leaf.value
    if not _is_array(leaf):
        raise TypeError(f"{name}: expected a number or an array, got {described(leaf)}")
    return leaf


class BaseDefinition:
    """A definition of an operator that ``run`` computes, on arrays or variables. The form of its
    result is that of the first, where it is not known before.
    """

    name: str
    run: Callable[..., Any]
    reads_result = True
    # As in ``Definition``.
    labels: list[str] | None = None
    _form: ResultTree | None = None
    # Rules always get copies, to which they may write. Functions get the caller's arrays where
    # nothing is traced, so they get read-only ones here, and write to an argument nowhere.
    _is_rule = False

    @property
    def form(self) -> ResultTree:
        """The form of the result."""
        if self._form is None:
            raise RuntimeError(f"{self.name}: it has not been called yet")
        return self._form

    @form.setter
    def form(self, form: ResultTree) -> None:
        self._form = form
        if not form.is_single:
            self.labels = form.labels

    def call(self, *arrays: Any) -> Any:
        """As ``Definition.call``."""
        if not self._is_rule:
            for array in arrays:
                # An array without axes was made for this call, so that a write to it does no harm.
                if array.ndim:
                    array.setflags(False)
        result = self.run(*arrays)
        form = self._form
        if type(result) in _PLAIN_TYPES and (form is None or form.is_single):
            if form is None:
                self._form = ONE
            return result
        if form is None:
            self.form = form = ResultTree(self.name, result)
        leaves = form.leaves(self.name, result)
        pairs = zip(form.labels, leaves, strict=True)
        plain = [_plain(self.name + label, leaf) for label, leaf in pairs]
        return plain[0] if form.is_single else plain


def _floating(leaf: Any) -> Any:
    """A leaf of which a gradient may be asked: zero, where it is an integer."""
    if isinstance(leaf, Variable) or np.asarray(leaf).dtype.kind not in "iub":
        return leaf
    return np.asarray(leaf, np.float64)


class FunctionDefinition(BaseDefinition):
    """An operator whose derivative is found by running its function on variables. With ``form`` it
    is a rule, whose result is of that form.
    """

    # So a gradient does not seem to depend on it, and need not be differentiated by it in turn.
    reads_result = False

    def __init__(
        self, name: str, function: Callable[..., Any], form: ResultTree | None = None
    ) -> None:
        self.name = name
        self.run = function
        if form is not None:
            self.form = form
            self._is_rule = True

    def vjp(self, i: int) -> Definition:
        """As ``Definition.vjp``: by reverse mode through the function."""

        def product(*given: Any) -> Any:
            g, x = self.form.results(given)

            # Differentiate by operand i alone, since the others may be indices.
            def run(at: Any) -> Any:
                return tree.convert(_floating, self.run(*x[:i], at, *x[i + 1 :]))

            return vjp(run, x[i])[1](g)[0]

        return FunctionDefinition(f"{self.name}.vjp{i}", product, ONE)

    def jvp(self, i: int) -> None:
        """As ``Definition.jvp``: there is none."""


def applied(definition: BaseDefinition, operands: Sequence[Variable]) -> Any:
    """What an operator gives for variables, in the form of its result."""
    results = _core.apply_primitive(definition, operands)
    return results if definition.labels is None else definition.form.filled(results)
