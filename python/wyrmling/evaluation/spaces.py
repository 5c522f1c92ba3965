"""What hyperparameters may be: choices and distributions, drawn at random."""

from __future__ import annotations

import math
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from typing import Any, Protocol

import numpy as np

from ..arguments import check_flag, check_integer, check_number

__all__ = ["Distribution", "draw", "integers", "log_uniform", "uniform"]

TRIES = 100
"""How often parameters are drawn again that were drawn before."""

LISTS = (Sequence, np.ndarray)
"""What has choices by number."""


class Distribution(Protocol):
    """What can be drawn from, by a generator; frozen distributions of scipy.stats are such."""

    def rvs(self, *, random_state: np.random.Generator) -> Any:
        """A value drawn at random."""


@dataclass(frozen=True)
class _Between:
    """Numbers between two bounds, both included if they are whole."""

    low: float
    high: float
    log: bool = False
    whole: bool = False

    def __post_init__(self) -> None:
        least = 1 if self.whole else 0
        if not (math.isfinite(self.high - self.low) and self.low <= self.high):
            raise ValueError(
                f"bounds are {self.low} and {self.high}, expected finite ones in rising order, "
                "whose difference is finite too"
            )
        if self.log and not (self.low >= least if self.whole else self.low > 0):
            raise ValueError(f"low is {self.low}, expected more than 0 on a logarithmic scale")

    def rvs(self, *, random_state: np.random.Generator) -> float | int:
        if self.whole and not self.log:
            return int(random_state.integers(int(self.low), int(self.high), endpoint=True))
        low, high = self.low, self.high + (1 if self.whole else 0)
        if self.log:
            low, high = math.log(low), math.log(high)
        drawn = random_state.uniform(low, high)
        number = math.exp(drawn) if self.log else drawn
        # Rounding may lead out of the bounds.
        number = min(max(number, self.low), self.high)
        return math.floor(number) if self.whole else number


def uniform(low: float, high: float) -> Distribution:
    """Numbers between two bounds, all as likely.

    Raises TypeError for bounds that are no numbers, and ValueError for bounds that are not finite,
    or not in rising order; so do the others.
    """
    return _Between(check_number("low", low), check_number("high", high))


def log_uniform(low: float, high: float) -> Distribution:
    """Positive numbers whose logarithms are all as likely: what to take for rates and penalties.

    Raises ValueError for a bound that is not above 0, too.

    >>> drawn = [log_uniform(0.001, 0.1).rvs(random_state=np.random.default_rng(n)) for n in (0, 1)]
    >>> all(0.001 <= number <= 0.1 for number in drawn)
    True
    """
    return _Between(check_number("low", low), check_number("high", high), log=True)


def integers(low: int, high: int, log: bool = False) -> Distribution:
    """Whole numbers from ``low`` to ``high``, both included; with ``log`` small ones are likelier.

    Raises TypeError for bounds that are not integers, and ValueError for bounds that int64 cannot
    hold.
    """
    low, high = (
        check_integer(name, bound, -(2**63), 2**63 - 1)
        for name, bound in (("low", low), ("high", high))
    )
    return _Between(low, high, check_flag("log", log), whole=True)


def draw(
    space: Mapping[str, Sequence[Any] | Distribution], trials: int, rng: np.random.Generator
) -> list[dict[str, Any]]:
    """Parameters for so many trials, no two alike; if the space has fewer, all that it has.

    Raises:
        TypeError: a parameter that is neither a sequence nor a distribution.
        ValueError: a parameter without a choice, or no parameter.
    """
    if not isinstance(space, Mapping):
        raise TypeError(f"space: expected a dict by parameter, got {type(space).__name__}")
    if not space:
        raise ValueError("space is empty, expected parameters and what they may be")
    for name, choices in space.items():
        if hasattr(choices, "rvs"):
            continue
        if isinstance(choices, (str, bytes)) or not isinstance(choices, LISTS):
            raise TypeError(
                f"space[{name!r}]: expected a list of choices, or a distribution such as "
                f"log_uniform(0.001, 0.1), got {choices!r}"
            )
        if len(shape := np.shape(choices) if hasattr(choices, "shape") else (1,)) != 1:
            raise TypeError(f"space[{name!r}]: expected choices on one axis, found shape {shape}")
        if not len(choices):
            raise ValueError(f"space[{name!r}] is empty, expected at least one choice")
    drawn: dict[Hashable, dict[str, Any]] = {}
    while len(drawn) < trials:
        for _ in range(TRIES):
            parameters = {name: _one(choices, rng) for name, choices in space.items()}
            if (key := _key(parameters)) not in drawn:
                drawn[key] = parameters
                break
        else:
            # Nearly all are drawn, or all: what is left is found where it can be counted.
            rest = _rest(space, drawn)
            order = rng.permutation(len(rest))[: trials - len(drawn)]
            return [*drawn.values(), *(rest[place] for place in order.tolist())]
    return list(drawn.values())


def _rest(
    space: Mapping[str, Sequence[Any] | Distribution], drawn: Mapping[Hashable, Any]
) -> list[dict[str, Any]]:
    """The parameters that were not drawn; none where a distribution does not say what it has."""
    listed = [_listed(choices) for choices in space.values()]
    rest: dict[Hashable, dict[str, Any]] = {}
    if None not in listed:
        for values in product(*(values for values in listed if values is not None)):
            parameters = dict(zip(space, values, strict=True))
            if (key := _key(parameters)) not in drawn:
                rest.setdefault(key, parameters)
    return list(rest.values())


def _key(value: Any) -> Hashable:
    """What equal values have in common, and NaN; what has no hash and is no container is like no
    other.
    """
    if isinstance(value, np.ndarray) and value is not np.ma.masked:
        plain = value.dtype.kind != "O"
        content = value.tobytes() if plain else tuple(map(_key, value.ravel()))
        return (value.shape, value.dtype.str, content)
    if isinstance(value, list | tuple):
        return (type(value), *map(_key, value))
    if isinstance(value, set):
        return frozenset(value)
    if isinstance(value, float | np.floating) and np.isnan(value):
        return "NaN", ...
    if isinstance(value, Mapping):
        return frozenset((name, _key(one)) for name, one in value.items())
    try:
        hash(value)
    except TypeError:
        return id(value)
    found: Hashable = value
    return found


def _listed(choices: Sequence[Any] | Distribution) -> Sequence[Any] | None:
    """All that a parameter may be, if it can be counted."""
    if isinstance(choices, _Between):
        return range(int(choices.low), int(choices.high) + 1) if choices.whole else None
    return [_plain(value) for value in choices] if isinstance(choices, LISTS) else None


def _one(choices: Sequence[Any] | Distribution, rng: np.random.Generator) -> Any:
    if isinstance(choices, LISTS):
        return _plain(choices[int(rng.integers(len(choices)))])
    return _plain(choices.rvs(random_state=rng))


def _plain(value: Any) -> Any:
    """A number of NumPy's as one of Python's."""
    return value.item() if isinstance(value, np.generic) else value
