"""Features of users or of items: what is known of them beside who had what.

A feature has a name, an id, and each user or item has some of them, with weights. They are kept as
compressed sparse rows (a :class:`wyrmling.Ragged`), whose entries are bags of rows of a table of
features: see :func:`wyrmling.bag`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Set
from itertools import pairwise
from typing import Any

import numpy as np

from .. import Ragged
from ..arguments import is_one
from ..array_types import Float32Array, IndexArray
from ..data import Id, Ids
from ..data.columns import number_column

__all__ = ["Features"]


class Features:
    """Which features each of some users, or items, has.

    Args:
        ids: the ids of the users, or items, by number.
        names: what the features are called, by number: ids.
        bags: for each id the numbers of its features, with weights if they are not all 1.

    Raises:
        ValueError: not one bag an id, a feature without a name, or a weight that is not finite.

    >>> features = Features.of({"tea": ["drink", "hot"], "rye": [("bread", 0.5)]})
    >>> features
    <Features of 2 ids: 3 features, 1.5 an id>
    >>> list(features.names)
    ['drink', 'hot', 'bread']
    """

    __slots__ = ("bags", "ids", "names")

    def __init__(self, ids: Ids, names: Ids, bags: Ragged) -> None:
        if len(bags) != len(ids):
            raise ValueError(f"bags: expected one for each of {len(ids)} ids, got {len(bags)}")
        if len(bags.values) and not 0 <= bags.values.min() <= bags.values.max() < len(names):
            wrong = max(bags.values.max(), -bags.values.min())
            raise ValueError(f"bags: feature {wrong} is none of {len(names)} with a name")
        if bags.weights is not None:
            number_column("weights", bags.weights, np.float32)
        self.ids, self.names, self.bags = ids, names, bags

    @classmethod
    def of(cls, features: Mapping[Id, Any] | Features, what: str = "features") -> Features:
        """Features by id: for each a list of names, of pairs (name, weight), or a dict of weights.

        Names in a set are taken in the order of their texts.

        Raises:
            TypeError: no mapping of ids to these; an id or name that is no int or str.
            ValueError: a weight that is not finite.
        """
        if isinstance(features, Features):
            return features
        if not isinstance(features, Mapping):
            raise TypeError(
                f"{what}: expected a dict from ids to lists of features, or Features (made by "
                f"Features.from_csr or .from_columns), got {type(features).__name__}"
            )
        names: list[Any] = []
        weights: list[Any] = []
        counts = []
        for id_, given in features.items():
            found = _listed(what, id_, given)
            counts.append(len(found))
            for feature in found:
                pair = isinstance(feature, tuple) and len(feature) == 2
                names.append(feature[0] if pair else feature)
                weights.append(feature[1] if pair else 1.0)
        ids = Ids(list(features), what)
        offsets = np.cumsum([0, *counts], dtype=np.int64)
        try:
            numbers, known, column = _columns(what, names, weights)
        except (TypeError, ValueError):
            # Rows of all features together say nothing to who gave those of each id.
            for id_, own in zip(ids, pairwise(offsets.tolist()), strict=True):
                _columns(f"{what}: features of {id_!r}", names[slice(*own)], weights[slice(*own)])
            raise
        return cls(ids, known, Ragged(numbers, offsets, None if (column == 1).all() else column))

    @classmethod
    def from_columns(
        cls, ids: Iterable[Any], features: Iterable[Any], weights: Any = None
    ) -> Features:
        """Features from columns: row ``k`` says that ``ids[k]`` has ``features[k]``.

        Args:
            ids: ids of users or items, in any order; columns of pandas and polars too.
            features: the name of a feature for each.
            weights: its weight; 1 for all if None.

        Raises:
            ValueError: columns of different length, or a weight that is not finite.
            TypeError: an id that is no int or str.

        >>> features = Features.from_columns(["a", "b", "a"], ["old", "red", "red"])
        >>> [bag.tolist() for bag in features.bags]
        [[0, 1], [1]]
        """
        numbers, known = Ids.of(ids, "ids")
        named, names = Ids.of(features, "features")
        if len(named) != len(numbers):
            raise ValueError(
                f"features: expected one for each of {len(numbers)} ids, got {len(named)}"
            )
        by_id = np.argsort(numbers, kind="stable")
        offsets = np.zeros(len(known) + 1, np.int64)
        np.cumsum(np.bincount(numbers, minlength=len(known)), out=offsets[1:])
        found = None
        if weights is not None:
            found = number_column("weights", weights, np.float32)
            if len(found) != len(numbers):
                raise ValueError(f"weights: expected {len(numbers)} numbers, got {len(found)}")
            found = found[by_id]
        return cls(known, names, Ragged(named[by_id], offsets, found))

    @classmethod
    def from_csr(
        cls, matrix: Any, ids: Iterable[Any], names: Iterable[Any] | None = None
    ) -> Features:
        """Features as a sparse matrix of SciPy's, in CSR: a row for each id, a column a feature.

        Args:
            matrix: the weights, shape (ids, features).
            ids: the ids of the rows, in their order.
            names: the names of the columns; their numbers if None.

        Raises:
            TypeError: another matrix.
            ValueError: not one id for each row, or one name for each column.
        """
        bags = Ragged.from_csr(matrix)
        named = Ids(range(matrix.shape[1]) if names is None else names, "names")
        if len(named) != matrix.shape[1]:
            raise ValueError(f"names: expected {matrix.shape[1]} for the columns, got {len(named)}")
        return cls(Ids(ids, "ids"), named, bags)

    def bags_of(self, ids: Ids, names: Ids, normalize: bool) -> Ragged:
        """The bags of other ids, by their numbers, in features of these names.

        An id without features has an empty bag. All names of these features are among ``names``.
        With ``normalize`` the weights of each bag are divided by the sum of their magnitudes.
        """
        at = self.ids.numbers(ids.values)
        count = len(self.ids)
        weights = self.bags.weights
        weights = np.ones(len(self.bags.values), np.float32) if weights is None else weights
        lengths = self.bags.lengths
        if normalize and len(weights):
            bag = np.repeat(np.arange(count), lengths)
            total = np.bincount(bag, np.abs(weights), count)
            weights = weights / np.where(total > 0, total, 1.0)[bag]
        # One bag more, which is empty, for those without features.
        offsets = np.append(self.bags.offsets, self.bags.offsets[-1])
        all_bags = Ragged(
            names.numbers(self.names.values)[self.bags.values],
            offsets,
            np.asarray(weights, np.float32),
        )
        return all_bags[np.where(at < 0, count, at)]

    def __len__(self) -> int:
        return len(self.ids)

    def __repr__(self) -> str:
        each = len(self.bags.values) / max(len(self.ids), 1)
        return f"<Features of {len(self.ids)} ids: {len(self.names)} features, {each:.3g} an id>"


def _columns(
    what: str, names: list[Any], weights: list[Any]
) -> tuple[IndexArray, Ids, Float32Array]:
    """The numbers of features, what they are called, and their weights, compared."""
    numbers, known = Ids.of(names, f"{what}: names")
    return numbers, known, number_column(f"{what}: weights", weights, np.float32)


def _listed(what: str, id_: Any, given: Any) -> list[Any]:
    """The features of an id, as a list of names or pairs."""
    if isinstance(given, Mapping):
        return list(given.items())
    if is_one(given):
        raise TypeError(f"{what}: features of {id_!r}: expected a list of features, got {given!r}")
    # A set of texts has another order in each process, and vectors are drawn in the order of names.
    return sorted(given, key=repr) if isinstance(given, Set) else list(given)
