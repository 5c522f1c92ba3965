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


def first_entry(x: Any, ragged: Any) -> Any:
    return x[0] * ragged[0][0] * len(ragged)


def entry_at(x: Any, ragged: Any, k: int) -> Any:
    return x[0] * ragged[k].sum()


def by_entries(x: Any, ragged: Any) -> Any:
    total = 0.0
    for k in range(2):
        for i in ragged[k]:
            total += x[i % 2] * (i + 1)
    return total


OTHER: Any = None


def by_a_global(x: Any) -> Any:
    return x[0] * OTHER[1][0]


@pytest.mark.parametrize("mode", ["source", "auto"])
def test_another_ragged_is_another_program(mode: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    x = np.array([1.5, 10.0])
    ones = wy.Ragged.from_list([[2, 1], [3]])
    twos = wy.Ragged.from_list([[5, 1], [7], [8]])
    halves = wy.Ragged.from_list([[2.5, 1.0], [4.5]])
    for f, given in ((first_entry, [ones, twos, halves]), (by_entries, [ones, twos])):
        slopes = wy.value_and_grad(f, mode=mode)
        for ragged in [*given, *given]:
            for _ in range(3):
                value, slope = slopes(x, ragged)
                assert value == f(x, ragged)
                unit = np.eye(2)
                assert slope == pytest.approx([f(one, ragged) for one in unit], rel=1e-14)
    slopes = wy.value_and_grad(entry_at, mode=mode)
    for ragged in (halves, wy.Ragged.from_list([[1.0], [2.0, 0.5]]), halves):
        for k in (0, 1, -1):
            assert slopes(x, ragged, k)[0] == entry_at(x, ragged, k)
    slopes = wy.value_and_grad(by_a_global, mode=mode)
    for ragged in (ones, twos, halves, ones):
        monkeypatch.setitem(globals(), "OTHER", ragged)
        for _ in range(4):
            assert slopes(x)[0] == by_a_global(x)
            closed = wy.value_and_grad(lambda x, held=ragged: x[0] * held[1][0], mode=mode)
            assert closed(x)[0] == by_a_global(x)
