"""What an evaluation found: the metrics, how sure they are, and what was left out."""

from __future__ import annotations

import html
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from ..array_types import Float64Array
from .intervals import bootstrap

__all__ = ["Evaluation", "Skipped"]


@dataclass(frozen=True)
class Skipped:
    """What of a test set was not measured, as numbers of its rows.

    Args:
        unknown: rows of a user or an item that the model does not know.
        unasked: rows of users that were not asked for.
        seen: rows of pairs that the model was trained on, where seen items are left out.
        repeated: rows of a pair that stands in the test set before.
    """

    unknown: int = 0
    unasked: int = 0
    seen: int = 0
    repeated: int = 0

    def __bool__(self) -> bool:
        return bool(self.unknown or self.unasked or self.seen or self.repeated)

    def __str__(self) -> str:
        words = (
            (self.unknown, "of a user or item that the model does not know"),
            (self.unasked, "of users not asked for"),
            (self.seen, "of pairs that were trained on"),
            (self.repeated, "of pairs that came before"),
        )
        return ", ".join(f"{count:,} {what}" for count, what in words if count)


class Evaluation(Mapping[str, float]):
    """Metrics of a model on held-out interactions: a mapping of a metric's name to its value.

    >>> import numpy as np
    >>> found = Evaluation({"hit@1": np.array([1.0, 0.0])}, {"coverage": 0.5}, ["ann", "bob"])
    >>> found["hit@1"], found.n_users, dict(found)
    (0.5, 2, {'hit@1': 0.5, 'coverage': 0.5})
    >>> found.interval["hit@1"]
    (0.0, 1.0)

    Args:
        per_user: the values of users by metric, each float64 of shape (n_users,).
        overall: the values of metrics that are of no user, such as coverage.
        users: the ids of the users who were measured.
        skipped: what was left out.
        confidence: of the intervals.
        resamples: how often users are drawn for the intervals.
        seed: of these draws.
        order: the metrics' names, in the order asked for.
    """

    def __init__(
        self,
        per_user: Mapping[str, Float64Array],
        overall: Mapping[str, float],
        users: Any,
        skipped: Skipped = Skipped(),
        *,
        confidence: float = 0.95,
        resamples: int = 1000,
        seed: int = 0,
        order: tuple[str, ...] | None = None,
    ) -> None:
        self.per_user = dict(per_user)
        self.users = users
        self.skipped = skipped
        self.confidence = confidence
        self.resamples = resamples
        self.seed = seed
        means = {name: float(np.mean(values)) for name, values in per_user.items()} | dict(overall)
        self._values = {name: means[name] for name in order or means}

    @property
    def n_users(self) -> int:
        """How many users were measured: those with something held out."""
        return len(self.users)

    @cached_property
    def interval(self) -> dict[str, tuple[float, float]]:
        """The bounds of each metric that is a mean over users, by the bootstrap.

        Computed when it is asked for. Coverage has none: users who are drawn again recommend
        nothing new, so that its bootstrap is below the value. Nor have errors of ratings.
        """
        if not self.per_user:
            return {}
        columns = np.stack(list(self.per_user.values()), axis=1)
        bounds = bootstrap(columns, self.confidence, self.resamples, self.seed)
        return {
            name: (low, high)
            for name, (low, high) in zip(self.per_user, bounds.tolist(), strict=True)
        }

    def difference(self, other: Evaluation, metric: str) -> tuple[float, float, float]:
        """How much better this is than another, of the same users, and the bounds of that.

        The users of both are drawn together, so that what is hard for both does not count: bounds
        on one side of 0 tell models apart whose intervals overlap.

        Raises:
            KeyError: a metric that one of them does not have for each user.
            TypeError: something else than an evaluation.
            ValueError: other users.
        """
        if not isinstance(other, Evaluation):
            raise TypeError(f"other is {other!r}, expected an Evaluation")
        for side in (self, other):
            if metric not in side.per_user:
                raise KeyError(
                    f"metric {metric!r} has no values of users, expected one of "
                    f"{', '.join(side.per_user)}"
                )
        if not np.array_equal(np.asarray(self.users), np.asarray(other.users)):
            raise ValueError(
                f"other is about {other.n_users} users, expected the {self.n_users} of this one"
            )
        gap = (self.per_user[metric] - other.per_user[metric])[:, None]
        low, high = bootstrap(gap, self.confidence, self.resamples, self.seed)[0].tolist()
        return float(gap.mean()), low, high

    def __getitem__(self, name: str) -> float:
        if name not in self._values:
            raise KeyError(f"{name!r} was not measured, expected one of {', '.join(self)}")
        return self._values[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._values)

    def __len__(self) -> int:
        return len(self._values)

    def __repr__(self) -> str:
        width = max(map(len, self))
        lines = [self._title()]
        for name, value, bounds in self._rows():
            lines.append(f"  {name:{width}}  {value}  {bounds}".rstrip())
        if self.skipped:
            lines.append(f"rows left out: {self.skipped}")
        return "\n".join(lines)

    def _repr_html_(self) -> str:
        rows = "".join(
            f"<tr><th>{html.escape(name)}</th><td>{value}</td><td>{bounds}</td></tr>"
            for name, value, bounds in self._rows()
        )
        left_out = f"<p>rows left out: {self.skipped}</p>" if self.skipped else ""
        return f"<table><caption>{self._title()}</caption>{rows}</table>{left_out}"

    def _title(self) -> str:
        users = f"{self.n_users:,} user{'' if self.n_users == 1 else 's'}"
        return f"{users}; the mean and its {self.confidence * 100:g} % interval"

    def _rows(self) -> Iterator[tuple[str, str, str]]:
        """Names, values and bounds, as text."""
        for name, value in self.items():
            low, high = self.interval.get(name, (None, None))
            yield name, f"{value:.4f}", "" if low is None else f"{low:.4f} to {high:.4f}"
