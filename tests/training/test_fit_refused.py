"""Losses that ``fit`` refuses to read: before anything changes, with advice that holds for it."""

import functools
import os
from typing import Any

import numpy as np
import pytest

import wyrmling as wy


def fit_one_step(loss: Any, P: wy.Parameter) -> None:
    """An epoch of three samples."""
    wy.fit(loss, {"k": [0, 1, 2]}, parameters={"P": P}, optimizer=wy.SGD(lr=0.1), batch_size=2)


def write(P: Any, k: int) -> Any:
    P[k] = 0.0
    return P.sum()


def write_through_a_view(P: Any, k: int) -> Any:
    row = P[k:]
    row[0] = 2.0
    return P[k]


OUTSIDE = wy.Parameter(np.ones(3))


def of_a_parameter_outside(P: Any, k: int) -> Any:
    return P[k] * OUTSIDE[k]


def of_what_needs_python(P: Any, k: int) -> Any:
    return P[k] * os.getpid()


@pytest.mark.parametrize(
    "loss", [write, write_through_a_view, of_a_parameter_outside, of_what_needs_python]
)
def test_what_training_cannot_do_is_refused(loss: Any) -> None:
    P = wy.Parameter(np.ones(4))
    with pytest.raises(wy.SourceError):
        fit_one_step(loss, P)
    np.testing.assert_array_equal(P.value, np.ones(4))


def of_what_is_printed(P: Any, k: int) -> Any:
    print(k)
    return P[k]


@pytest.mark.parametrize(
    "loss",
    [
        max,
        functools.lru_cache(lambda P, k: P[k]),
        eval("lambda P, k: P[k]"),
        of_what_needs_python,
        of_what_is_printed,
    ],
)
def test_errors_do_not_advise_a_mode_that_fit_does_not_have(loss: Any) -> None:
    with pytest.raises(wy.SourceError) as caught:
        fit_one_step(loss, wy.Parameter(np.ones(4)))
    assert "mode" not in str(caught.value)


def beyond_the_end(P: Any, k: int) -> Any:
    return P[9] * P[k]


def test_a_loss_that_ends_for_every_sample_says_where() -> None:
    line = beyond_the_end.__code__.co_firstlineno + 1
    with pytest.raises(ValueError, match=f"never returns: line {line}, an index .* out of range"):
        fit_one_step(beyond_the_end, wy.Parameter(np.ones(4)))
