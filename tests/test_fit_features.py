"""Entries of a constant ``Ragged`` in functions that are read: the features of a sample's item."""

from typing import Any

import numpy as np
import pytest

import wyrmling as wy

FEATURES = wy.Ragged([0, 3, 1, 1, 2, 0], offsets=[0, 2, 2, 3, 6])
NUMBERS = wy.Ragged([0.5, -1.5, 2.0], offsets=[0, 2, 2, 3])


def by_features(users: Any, items: Any, of_feature: Any, user: int, item: int) -> Any:
    """The vector of an item is its own and those of its features."""
    vector = items[item] + of_feature[FEATURES[item]].sum(axis=0)
    for feature in FEATURES[item - 1]:
        vector = vector - 0.5 * of_feature[feature]
    return (users[user] @ vector - len(FEATURES[item])) ** 2


def test_entries_of_a_constant_ragged_are_bags_of_a_sample() -> None:
    drawn = np.random.default_rng(3)
    starts = {"users": (3, 2), "items": (4, 2), "of_feature": (4, 2)}
    tables = {name: wy.Parameter(drawn.normal(size=shape)) for name, shape in starts.items()}
    before = {name: table.value for name, table in tables.items()}
    columns = {"user": [0, 1, 2, 0], "item": [0, 1, 2, 3]}
    wy.fit(by_features, columns, parameters=tables, optimizer=wy.SGD(lr=1.0), batch_size=4)
    samples = list(zip(*columns.values(), strict=True))

    def total(*arrays: Any) -> Any:
        return sum(by_features(*arrays, user, item) for user, item in samples)

    slopes = wy.grad(total, argnums=(0, 1, 2), mode="trace")(*before.values())
    for (name, table), slope in zip(tables.items(), slopes, strict=True):
        assert np.allclose(before[name] - table.value, slope, rtol=1e-12, atol=1e-12), name


def test_entries_of_a_ragged_are_read_by_computed_numbers() -> None:
    def f(x: float, k: int) -> Any:
        total = x * len(NUMBERS) + x * NUMBERS[-1][0]
        for number in NUMBERS[k]:
            total += number * x**2
        return total

    for k in range(-3, 3):
        found = wy.value_and_grad(f, mode="source")(1.5, k)
        assert found == pytest.approx((f(1.5, k), 5.0 + 3.0 * sum(NUMBERS[k])), rel=1e-14)
    for k in (3, -4):
        with pytest.raises(IndexError, match=f"index {k} is out of range; there are 3 arrays"):
            wy.grad(f, mode="source")(1.5, k)
