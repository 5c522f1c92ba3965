"""What `search` and `cross_validate` hold out: their errors do not call it ``test``."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from wyrmling.datasets import make_interactions
from wyrmling.evaluation import cross_validate, search
from wyrmling.recommend import BPR, ExplicitMF

DATA = make_interactions(n_users=40, n_items=30)
KNOWN, UNRATED = DATA.take(np.arange(5)), replace(DATA, values=None)
RANKING, RATINGS = BPR(epochs=1, num_threads=1), ExplicitMF(epochs=1, num_threads=1)
SPACE = {"lr": [0.1]}


@pytest.mark.parametrize(
    ("message", "call"),
    [
        (
            "validation has nothing to measure",
            lambda: search(RANKING, SPACE, DATA, validation=KNOWN),
        ),
        (
            "and validation has no values",
            lambda: search(RATINGS, SPACE, UNRATED, metric="rmse"),
        ),
        (
            r"folds\[0\]\[1\] has nothing to measure",
            lambda: cross_validate(RANKING, DATA, [(DATA, KNOWN)]),
        ),
        (
            "and fold 0 of data has no values",
            lambda: cross_validate(RATINGS, UNRATED, 2, "rmse"),
        ),
    ],
)
def test_errors_name_what_was_held_out(message: str, call: Callable[[], Any]) -> None:
    with pytest.raises(ValueError, match=message):
        call()
