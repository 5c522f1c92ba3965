"""Embeddings of users or of items in a factorisation machine: sums of their features' vectors.

A row that is trained is either a user's (an item's) own, its identity, or a feature's. Models score
by the sum of both.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, field, replace
from typing import Any, cast
from weakref import WeakKeyDictionary

import numpy as np
import numpy.typing as npt

import wyrmling as wy

from ..array_types import Float32Array
from ..data import Ids
from .features import Features
from .fitted import Arrays, ArrayType, Fitted

__all__ = ["Embeddings"]

NAMES: WeakKeyDictionary[Fitted, dict[str, Ids]] = WeakKeyDictionary()
"""Of each state the names of features of users and of items, made when they are first asked for."""


@dataclass(eq=False)
class Embeddings:
    """The tables of users, or of items, and the sums of their rows.

    Args:
        kind: ``"user"`` or ``"item"``, with which the names of arrays begin.
        names: what features are called; None if there are none.
        bags: the features of each row, by number, with weights; None if there are none.
        tables: ``"vectors"`` and ``"biases"`` of the rows themselves, unless they have no identity,
            and ``"feature_vectors"`` and ``"feature_biases"``. Biases may be missing.
    """

    kind: str
    names: Ids | None
    bags: wy.Ragged | None
    tables: dict[str, wy.Parameter] = field(default_factory=dict)

    def add(self, name: str, rows: npt.NDArray[Any]) -> None:
        """Adds a table that begins with these rows."""
        self.tables[name] = wy.Parameter(rows.astype(np.float32), name=f"{self.kind}_{name}")

    def vector(self, at: wy.Variable) -> Any:
        """The vectors of some rows, shape (b, factors), in a graph."""
        return self._sum("vectors", "feature_vectors", at)

    def bias(self, at: wy.Variable) -> Any:
        """The biases of some rows, shape (b,), in a graph."""
        return self._sum("biases", "feature_biases", at)

    def _sum(self, own: str, of_features: str, at: wy.Variable) -> Any:
        parts = []
        if own in self.tables:
            parts.append(self.tables[own][at])
        if of_features in self.tables and self.bags is not None:
            parts.append(wy.bag(self.tables[of_features], self.bags[at]))
        return parts[0] if len(parts) == 1 else parts[0] + parts[1]

    def arrays(self, order: npt.NDArray[np.int64]) -> dict[str, npt.NDArray[Any]]:
        """What is kept of a fitted model: the sums by which it scores, of the rows ``order``, and
        what is known of features.
        """
        kept: dict[str, npt.NDArray[Any]] = {}
        for plural, own in ((f"{self.kind}s", "vectors"), (f"{self.kind}_bias", "biases")):
            parts = []
            if own in self.tables:
                parts.append(self.tables[own].value)
            if f"feature_{own}" in self.tables and self.bags is not None:
                rows = self.tables[f"feature_{own}"].value
                parts.append(wy.bag(rows, self.bags))
                kept[f"{self.kind}_feature_{own}"] = rows
            if parts:
                kept[plural] = sum(parts[1:], parts[0])[order]
        if self.names is not None and self.bags is not None:
            bags = self.bags[order]
            kept[f"{self.kind}_feature_names"] = _text(self.names)
            kept[f"{self.kind}_bag_features"] = bags.values.astype(np.uint32)
            kept[f"{self.kind}_bag_offsets"] = bags.offsets
            kept[f"{self.kind}_bag_weights"] = _weights(bags)
        return kept


def array_types(kind: str) -> dict[str, ArrayType]:
    """What the arrays of features are, if there are any."""
    n, pairs = f"{kind}_features", f"{kind}_pairs"
    types = {
        f"{kind}_feature_vectors": ArrayType((n, "factors")),
        f"{kind}_feature_biases": ArrayType((n,)),
        f"{kind}_feature_names": ArrayType((f"{kind}_name_bytes",), "uint8"),
        f"{kind}_bag_features": ArrayType((pairs,), "uint32"),
        f"{kind}_bag_offsets": ArrayType((f"{kind}_bags",), "int64"),
        f"{kind}_bag_weights": ArrayType((pairs,)),
    }
    return {name: replace(one, optional=True) for name, one in types.items()}


def check_features(kind: str, count: int, arrays: Arrays) -> None:
    """Raises ValueError for arrays of features that contradict each other, as a file's may."""
    there = [name for name in array_types(kind) if name in arrays]
    if not there:
        return
    needed = set(array_types(kind))
    if f"{kind}_bias" not in arrays:
        needed.discard(f"{kind}_feature_biases")
    if missing := sorted(needed.difference(there)):
        raise ValueError(f"it has {there[0]} and no {missing[0]}")
    try:
        names, bags = cast(tuple[Ids, wy.Ragged], known(kind, arrays))
    except (TypeError, ValueError, RecursionError) as error:
        raise ValueError(f"its features of {kind}s are no features: {error}") from None
    rows = len(arrays[f"{kind}_feature_vectors"])
    if len(names) != rows or len(bags) != count:
        raise ValueError(
            f"it has {len(names)} names of features and {len(bags)} bags, "
            f"expected {rows} and {count}"
        )
    if len(bags.values) and bags.values.max() >= rows:
        raise ValueError(f"{kind}_bag_features has {bags.values.max()}, expected less than {rows}")


def known(kind: str, arrays: Arrays) -> tuple[Ids, wy.Ragged] | None:
    """The names of features and the bags of a fitted model; None if it has none."""
    if f"{kind}_feature_names" not in arrays:
        return None
    parts = (arrays[f"{kind}_bag_{part}"] for part in ("features", "offsets", "weights"))
    return _names(kind, arrays), wy.Ragged(*parts)


def names_of(kind: str, fitted: Fitted) -> Ids:
    """The names of the features of a state that has some, read once."""
    kept = NAMES.setdefault(fitted, {})
    if kind not in kept:
        kept[kind] = _names(kind, fitted.arrays)
    return kept[kind]


def _names(kind: str, arrays: Arrays) -> Ids:
    names = json.loads(arrays[f"{kind}_feature_names"].tobytes().decode())
    if not isinstance(names, list):
        raise TypeError(f"names of features are a {type(names).__name__}, expected a list")
    return Ids(names)


def own(kind: str, arrays: Arrays) -> dict[str, Float32Array]:
    """What a model has learnt of users (items) themselves: the sums without their features'."""
    features = known(kind, arrays)
    found = {}
    for plural, name in ((f"{kind}s", "vectors"), (f"{kind}_bias", "biases")):
        if plural not in arrays:
            continue
        found[name] = arrays[plural]
        if features is not None and f"{kind}_feature_{name}" in arrays:
            _, bags = features
            found[name] = found[name] - wy.bag(arrays[f"{kind}_feature_{name}"], bags)
    return found


def summed(features: Features, kind: str, fitted: Fitted, normalize: bool) -> Float32Array:
    """The vectors of ids by their features alone, for a model that knows features of this kind.

    Features that the model does not know count as nothing. Raises ValueError if it knows none.
    """
    if f"{kind}_feature_names" not in fitted.arrays:
        raise ValueError(f"features: the model was fitted without features of {kind}s")
    numbers = names_of(kind, fitted).numbers(features.names.values)
    table, there = fitted.arrays[f"{kind}_feature_vectors"], numbers >= 0
    rows = np.zeros((len(numbers), table.shape[1]), np.float32)
    rows[there] = table[numbers[there]]
    vectors: Float32Array = wy.bag(rows, features.bags_of(features.ids, features.names, normalize))
    return vectors


def _text(names: Ids) -> npt.NDArray[np.uint8]:
    """Ids as an array, in JSON."""
    return np.frombuffer(json.dumps(list(names)).encode(), np.uint8)


def _weights(bags: wy.Ragged) -> Float32Array:
    weights = bags.weights
    ones = np.ones(len(bags.values), np.float32)
    return ones if weights is None else weights.astype(np.float32)
