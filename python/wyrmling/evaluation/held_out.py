"""What was held out, in the numbers of the model that is measured by it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from .. import _core
from ..arguments import is_one
from ..array_types import Float32Array, IndexArray
from ..data import Interactions
from ..data.interactions import check_interactions
from ..data.pairs import among
from .metrics import ERRORS, Metric
from .ranking import Columns, errors, measured, selected
from .result import Skipped
from .trained import Trained, check_values, numbers_of, trained

__all__ = ["HeldOut", "Unknown"]

Unknown = Literal["skip", "error"]


@dataclass(frozen=True, eq=False)
class HeldOut:
    """The rows of a test set that a model can be asked for.

    Args:
        name: what errors call the test set.
        model: the model.
        exclude_seen: whether items that a user has in training do not compete.
        users: the user of each row, by the model's numbers.
        items: the item of each row.
        values: the value of each row; None where there are none.
        skipped: what was left out.
    """

    name: str
    model: Trained
    exclude_seen: bool
    users: IndexArray
    items: IndexArray
    values: Float32Array | None
    skipped: Skipped

    @classmethod
    def of(
        cls,
        name: str,
        model: Any,
        test: Interactions,
        metrics: Sequence[Metric],
        exclude_seen: bool,
        unknown: Unknown = "skip",
        users: Iterable[Any] | None = None,
    ) -> HeldOut:
        """Checks what a model is to be measured on, and numbers it as the model does.

        The arguments, and what is raised, are those of :func:`.evaluate`.
        """
        check_interactions(name, test)
        known = trained(model)
        check_values(model, test, metrics, name)
        names = ("user", test.users, test.user_ids), ("item", test.items, test.item_ids)
        columns = []
        for (kind, column, ids), own in zip(names, (known.user_ids, known.item_ids), strict=True):
            numbers = numbers_of(own, ids).take(column)
            if unknown == "error" and (numbers < 0).any():
                first = ids[int(column[np.argmax(numbers < 0)])]
                raise ValueError(f"{name} has {kind} {first!r}, which the model does not know")
            columns.append(numbers)
        there = (columns[0] >= 0) & (columns[1] >= 0)
        skipped = Skipped(unknown=int(np.count_nonzero(~there)))
        if users is not None:
            wanted = there & np.isin(columns[0], _asked(known, users, unknown))
            skipped = replace(skipped, unasked=int(np.count_nonzero(there & ~wanted)))
            there = wanted
        chosen = columns if there.all() else [column[there] for column in columns]
        user, item = (column.astype(np.uint32) for column in chosen)
        values = None if test.values is None else test.values[there]
        return cls(name, known, exclude_seen, user, item, values, skipped)

    def measured(
        self, metrics: Sequence[Metric], progress: bool = False
    ) -> tuple[Columns, dict[str, float], Any, Skipped]:
        """The values of users by metric, the metrics that are of no user, the ids of the users who
        were measured, and what was left out.

        Raises ValueError if nothing can be measured, FloatingPointError for a score that is not a
        number, or infinite for an error of ratings.
        """
        known = self.model
        pairs = _core.Csr(self.users, self.items, known.n_users, known.n_items)
        skipped = replace(self.skipped, repeated=len(self.users) - len(pairs))
        rows = np.flatnonzero(pairs.counts).astype(np.uint32)
        seen = selected(known.seen, rows) if self.exclude_seen else None
        popularity = np.zeros(known.n_items, np.int64)
        if any(metric.kind == "novelty" for metric in metrics):
            popularity = np.bincount(known.seen.indices, minlength=known.n_items)
        nothing = f"{self.name} has nothing to measure; left out:"
        if not len(rows):
            raise ValueError(f"{nothing} {skipped or 'nothing'}")
        per_user, overall, measured_rows, held_out = measured(
            known.scores,
            rows,
            seen,
            selected(pairs, rows),
            popularity,
            known.n_users,
            [metric for metric in metrics if metric.kind not in ERRORS],
            progress,
        )
        skipped = replace(skipped, seen=len(pairs) - held_out)
        if not len(measured_rows):
            raise ValueError(f"{nothing} {skipped}")
        if any(metric.kind in ERRORS for metric in metrics):
            overall |= self._errors(metrics)
        return per_user, overall, known.user_id(rows[measured_rows]), skipped

    def _errors(self, metrics: Sequence[Metric]) -> dict[str, float]:
        """The errors of ratings that are asked for, of the rows that are not in training."""
        known, users, items, values = self.model, self.users, self.items, self.values
        assert known.predict is not None
        assert values is not None
        new = ~among(known.seen, users, items) if self.exclude_seen else slice(None)
        off = errors(known.predict, users[new], items[new], values[new])
        return {metric.name: off[metric.kind] for metric in metrics if metric.kind in ERRORS}


def _asked(model: Trained, users: Iterable[Any], unknown: Unknown) -> npt.NDArray[np.int64]:
    """The numbers of users that were asked for by id."""
    if is_one(users):
        raise TypeError(f"users: expected several ids, such as ['ann'], got {users!r}")
    # Elements of others' arrays, such as Arrow's, are no ids.
    ids: Any = users if hasattr(users, "__array__") else list(users)
    numbers = numbers_of(model.user_ids, ids, "users")
    if unknown == "error" and (numbers < 0).any():
        first = list(ids)[int(np.argmax(numbers < 0))]
        raise ValueError(f"users has {first!r}, which the model does not know")
    return numbers
