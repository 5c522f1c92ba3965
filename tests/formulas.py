"""Formulas with reverse mode in NumPy alone: what graphs are compared with.

A formula is an operator with operands; its value and its gradients are computed anew from the
leaves each time that they are asked for, so that nothing can be out of date.
"""

from __future__ import annotations

from typing import Any

import numpy as np


class Formula:
    """An operator, its operands and its settings."""

    def __init__(self, operator: str, *operands: Any, **settings: Any) -> None:
        self.operator, self.settings = operator, settings
        self.operands = [one if isinstance(one, Formula) else Leaf(one) for one in operands]


class Leaf(Formula):
    """A value, and the gradient that it has collected if it records one."""

    def __init__(self, value: Any, records: bool = False) -> None:
        super().__init__("leaf")
        self.value, self.records = np.array(value), records
        self.grad: Any = None


FORWARD: dict[str, Any] = {
    "add": np.add,
    "subtract": np.subtract,
    "multiply": np.multiply,
    "tanh": np.tanh,
    "sin": np.sin,
    "greater": np.greater,
    "where": np.where,
    "cumsum": np.cumsum,
    "stop": lambda x: x,
    "sum": lambda x, axis=None: np.sum(x, axis=axis),
    "mean": lambda x, axis=None: np.mean(x, axis=axis),
    "part": lambda x, key: x[key],
    "rows": lambda table, ids: table[ids],
}


def _spread(g: Any, x: Any, axis: int | None = None) -> Any:
    return np.broadcast_to(g if axis is None else np.expand_dims(g, axis), x.shape)


def _added(g: Any, x: Any, key: Any) -> Any:
    total = np.zeros(x.shape)
    np.add.at(total, key, g)
    return total


# The gradients of the operands, of that of the result, the result, and the operands.
BACKWARD: dict[str, Any] = {
    "add": lambda g, y, a, b: (g, g),
    "subtract": lambda g, y, a, b: (g, -g),
    "multiply": lambda g, y, a, b: (g * b, g * a),
    "tanh": lambda g, y, x: (g * (1 - y * y),),
    "sin": lambda g, y, x: (g * np.cos(x),),
    "where": lambda g, y, c, a, b: (None, np.where(c, g, 0.0), np.where(c, 0.0, g)),
    "cumsum": lambda g, y, x: (np.cumsum(g[::-1])[::-1],),
    "sum": lambda g, y, x, axis=None: (_spread(g, x, axis),),
    "mean": lambda g, y, x, axis=None: (_spread(g, x, axis) * y.size / x.size,),
    "part": lambda g, y, x, key: (_added(g, x, key),),
    "rows": lambda g, y, table, ids: (_added(g, table, ids), None),
}


def below(root: Formula) -> list[Formula]:
    """All formulas below one, operands first."""
    found: dict[int, Formula] = {}

    def visit(one: Formula) -> None:
        if id(one) not in found:
            for operand in one.operands:
                visit(operand)
            found[id(one)] = one

    visit(root)
    return list(found.values())


def _values(root: Formula, instead: dict[Leaf, Any] | None) -> dict[Formula, Any]:
    values: dict[Formula, Any] = {}
    for one in below(root):
        if isinstance(one, Leaf):
            values[one] = (instead or {}).get(one, one.value)
        else:
            given = [values[operand] for operand in one.operands]
            values[one] = FORWARD[one.operator](*given, **one.settings)
    return values


def value(root: Formula, instead: dict[Leaf, Any] | None = None) -> Any:
    """The value, of leaves with other values if these are given."""
    return _values(root, instead)[root]


def gradients(
    root: Formula, seed: Any = 1.0, instead: dict[Leaf, Any] | None = None
) -> dict[Leaf, Any]:
    """The gradient by each leaf that records one and matters."""
    values = _values(root, instead)
    collected: dict[Formula, Any] = {root: seed * np.ones(np.shape(values[root]))}
    for one in reversed(below(root)):
        rule = BACKWARD.get(one.operator)
        if one not in collected or rule is None:
            continue
        given = [values[operand] for operand in one.operands]
        parts = rule(collected[one], values[one], *given, **one.settings)
        for operand, part in zip(one.operands, parts, strict=True):
            if part is not None:
                shape = np.shape(values[operand])
                beyond = tuple(range(np.ndim(part) - len(shape)))
                collected[operand] = collected.get(operand, 0.0) + np.sum(part, axis=beyond)
    return {one: found for one, found in collected.items() if isinstance(one, Leaf) and one.records}
