"""Ratings of any scale are learnt alike."""

from __future__ import annotations

import dataclasses
from pathlib import Path

import numpy as np
import pytest

from wyrmling.data import Interactions
from wyrmling.recommend import ExplicitMF
from wyrmling.recommend.units import deviation

ITEMS = list("abcdef")


@pytest.fixture
def rated(rng: np.random.Generator) -> Interactions:
    users, items = np.nonzero(rng.random((40, 6)) < 0.7)
    values = (3.0 + np.sin(users) * np.cos(items) + rng.normal(0, 0.2, len(users))).astype("f")
    return Interactions(users, items, range(40), ITEMS, values)


@pytest.mark.parametrize("scale", [1e-30, 0.01, 20.0, 1000.0, 1e30])
@pytest.mark.parametrize("optimizer", ["sgd", "adagrad", "adam"])
def test_predictions_are_as_large_as_ratings(
    scale: float, optimizer: str, rated: Interactions
) -> None:
    assert rated.values is not None
    large = dataclasses.replace(rated, values=rated.values * np.float32(scale))
    one, other = (
        ExplicitMF(factors=4, epochs=10, num_threads=1, optimizer=optimizer).fit(data)
        for data in (rated, large)
    )
    all_items = [3] * len(ITEMS), ITEMS
    expected = scale * one.predict(*all_items)
    np.testing.assert_allclose(other.predict(*all_items), expected, rtol=1e-3)
    history, values = ["a", "c"], np.array([4.0, 2.5])
    new, larger = one.fold_in(history, values=values), other.fold_in(history, values=scale * values)
    best, rescaled = (
        dict(model.recommend(user, 6, exclude_seen=False))
        for model, user in ((one, new), (other, larger))
    )
    np.testing.assert_allclose(
        [rescaled[item] for item in ITEMS], [scale * best[item] for item in ITEMS], rtol=1e-3
    )


def test_a_model_goes_on_in_its_unit(rated: Interactions, tmp_path: Path) -> None:
    """Also from a file, and by new ratings that are all alike."""
    model = ExplicitMF(factors=4, epochs=10, num_threads=1).fit(rated)
    unit = model.fitted.arrays["unit"]
    assert unit.tolist() == [np.float32(rated.values.astype(np.float64).std())]
    model.save(tmp_path / "model.safetensors", histories=False)
    for one in (model, ExplicitMF.load(tmp_path / "model.safetensors")):
        before = one.predict([5] * 6, ITEMS)
        one.partial_fit(Interactions.from_ids([5, 7], ["a", "b"], values=[3.0, 3.0]), epochs=1)
        assert one.fitted.arrays["unit"].tolist() == unit.tolist()
        np.testing.assert_allclose(one.predict([5] * 6, ITEMS), before, atol=0.5)


def test_the_unit_of_values() -> None:
    def unit(values: list[float], weights: list[float] | None = None) -> float:
        count = len(values)
        return deviation(
            Interactions(range(count), [0] * count, range(count), ["x"], values, weights)
        )

    assert unit([4.0, 4.0]) == 1.0
    assert unit([1.0, 3.0]) == 1.0
    assert unit([0.0, 10.0]) == 5.0
    assert unit([0.0, 10.0, 90.0], [1.0, 1.0, 0.0]) == 5.0
    assert unit([0.0, 10.0], [0.0, 0.0]) == 5.0
    assert unit([-3e38, 3e38]) == pytest.approx(3e38)
    assert unit([1e-45, 0.0]) == 1.0 or unit([1e-45, 0.0]) > 0.0
