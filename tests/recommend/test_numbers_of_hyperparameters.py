"""Hyperparameters may be numbers of any kind: models compute as with Python's."""

from __future__ import annotations

import warnings
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from wyrmling.data import Interactions
from wyrmling.recommend import EASE, EWMA, ExplicitMF, ImplicitALS, Recommender

RNG = np.random.default_rng(0)
DATA = Interactions(
    RNG.integers(0, 6, 40), RNG.integers(0, 8, 40), range(6), range(8), RNG.integers(1, 6, 40)
)


def answers(model: Any) -> list[Any]:
    """What a model says by its hyperparameters, of one it knows and of somebody new."""
    given = {"values": [1, 2]} if isinstance(model, ExplicitMF) else {}
    new = model.fold_in([1, 2], **given)
    return [model.recommend(new), model.explain(0, 1), model.explain(new, 1)]


@pytest.mark.parametrize(
    ("kind", "name", "given", "plain"),
    [
        (EWMA, "max_length", np.uint8(2), 2),
        (EWMA, "max_length", np.uint64(2), 2),
        (ImplicitALS, "l2", np.float16(0.1), float(np.float16(0.1))),
        (ImplicitALS, "alpha", Fraction(1, 3), 1 / 3),
        (ImplicitALS, "l2_power", np.longdouble(0.5), 0.5),
        (ExplicitMF, "l2", 2**70, 2.0**70),
        (EWMA, "shared_negatives", np.False_, False),  # as spaces of scikit-learn draw them
        (ExplicitMF, "deterministic", np.True_, True),
        (ExplicitMF, "l2", 1, 1.0),  # beside which a bias has a penalty that is no integer
    ],
)
def test_a_model_computes_as_with_a_plain_number(
    kind: Any, name: str, given: Any, plain: object, tmp_path: Path
) -> None:
    settings: dict[str, Any] = {"factors": 3, "epochs": 1, "num_threads": 1}
    if kind is ExplicitMF:
        settings |= {"lr": 2.0**-80, "l2_bias": 0.5}
    model = kind(**settings, **{name: given}).fit(DATA)
    other = kind(**settings, **{name: plain}).fit(DATA)
    assert answers(model) == answers(other)
    model.save(tmp_path / "model")
    other.save(tmp_path / "other")
    assert (tmp_path / "model").read_bytes() == (tmp_path / "other").read_bytes()
    back = Recommender.load(tmp_path / "model", **{name: given})
    assert answers(back) == answers(other)


@pytest.mark.parametrize(
    ("name", "given", "error"),
    [
        # NumPy counts durations among the integers.
        ("factors", np.timedelta64(2, "ns"), TypeError),
        ("lr", np.timedelta64(2, "s"), TypeError),
        ("random_state", np.timedelta64(2, "s"), TypeError),
        ("l2_users", np.timedelta64(2, "s"), TypeError),
        # Vectors of this size have no finite products, and of 1e39 no numbers.
        ("init_scale", 1e39, ValueError),
        ("init_scale", 2**63, ValueError),
    ],
)
def test_what_no_fit_can_take_is_named(name: str, given: object, error: type[Exception]) -> None:
    with pytest.raises(error, match=f"^{name} is .*, expected (an integer|a finite number)"):
        ExplicitMF(epochs=2**31 - 1, num_threads=1, **{name: given}).fit(DATA)  # type: ignore[arg-type]
    if name == "init_scale":
        with pytest.raises(error, match=r"^init_scale is .* and at most 1000000000"):
            ImplicitALS(init_scale=given).fit(DATA)  # type: ignore[arg-type]


def test_bounds_are_compared_without_a_warning() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        EASE(l2=np.float16(0.5)).fit(DATA)
        with pytest.raises(ValueError, match=r"l2 is 1e\+308, expected penalties within single"):
            ImplicitALS(l2=1e308).fit(DATA)


def test_a_file_is_read_with_hyperparameters_that_a_fit_would_take(tmp_path: Path) -> None:
    ImplicitALS(factors=3, epochs=1).fit(DATA).save(tmp_path / "model")
    with pytest.raises(ValueError, match="l2 is -1, expected a finite number more than 0"):
        Recommender.load(tmp_path / "model", l2=-1)
    with pytest.raises(TypeError, match=r"factors is array\(\[1, 2\]\), expected an integer"):
        Recommender.load(tmp_path / "model", factors=np.array([1, 2]))
