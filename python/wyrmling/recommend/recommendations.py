"""What a model recommends to several users: arrays of ids and scores."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from ..array_types import Float32Array, IndexArray
from ..data import Id, Ids
from .scoring import NO_ITEM

__all__ = ["Recommendations", "listed", "named"]


@dataclass(frozen=True, eq=False)
class Recommendations:
    """The best items for each of some users, or the nearest neighbours of each of some items.

    ``items, scores = model.recommend(users)`` takes it apart. A user for whom there are fewer items
    than were asked for has None in the place of an id after the last, and a score of -inf; the
    array of ids is then one of objects.

    Args:
        of: whom they are for: ids, shape (n,).
        items: ids, the best first, shape (n, k): int64, text, or objects.
        scores: float32, shape (n, k); they only compare within a row.
    """

    of: npt.NDArray[Any]
    items: npt.NDArray[Any]
    scores: Float32Array

    def __iter__(self) -> Iterator[npt.NDArray[Any]]:
        return iter((self.items, self.scores))

    def __len__(self) -> int:
        """The number of users (or items) that they are for."""
        return len(self.of)

    @property
    def there(self) -> npt.NDArray[np.bool_]:
        """Where there is an item: bool, shape (n, k)."""
        missing = [[item is None for item in row] for row in self.items.tolist()]
        return ~np.array(missing, bool).reshape(self.items.shape)

    def row(self, number: int) -> list[tuple[Any, float]]:
        """The items for one of the users, with their scores."""
        pairs = zip(self.items[number].tolist(), self.scores[number].tolist(), strict=True)
        return [(item, score) for item, score in pairs if item is not None]

    def to_pandas(self) -> Any:
        """A data frame with columns ``of``, ``rank`` (from 1), ``item`` and ``score``.

        Raises:
            ImportError: pandas is not installed.
        """
        import pandas  # type: ignore[import-untyped, unused-ignore]

        rows, places = np.nonzero(self.there)
        frame = pandas.DataFrame(
            {
                "of": self.of[rows],
                "rank": places + 1,
                "item": self.items[rows, places],
                "score": self.scores[rows, places],
            }
        )
        # Without the ends of lists, integers are no objects.
        return frame.infer_objects()


def named(
    ids: Ids, of: npt.NDArray[Any], numbers: IndexArray, scores: Float32Array
) -> Recommendations:
    """What was found for each ``of``, by numbers of shape (n, k) with NO_ITEM at ends of lists."""
    missing = numbers == NO_ITEM
    if not missing.any():
        return Recommendations(of, ids.take(numbers), scores)
    found = np.full(numbers.shape, None)
    found[~missing] = ids.take(numbers[~missing])
    return Recommendations(of, found, scores)


def listed(ids: Ids, numbers: IndexArray, scores: Float32Array) -> list[tuple[Id, float]]:
    """The only row of what was found, as the row of :func:`named` would be, by fewer steps."""
    found, (own,) = numbers[0], scores.tolist()
    if len(found) and found.item(-1) == NO_ITEM:
        found = found[found != NO_ITEM]
    return list(zip(ids.values.take(found).tolist(), own[: len(found)], strict=True))
