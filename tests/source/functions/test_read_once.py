"""A loss that is read once for arguments of the same kinds."""

from typing import Any

import numpy as np
import pytest

import wyrmling as wy
from wyrmling.source import training
from wyrmling.source.read_once import ReadOnce


def loss(w: Any, x: float, user: int, scale: float) -> Any:
    return scale * (w[user] - x) ** 2


def trained(function: Any, columns: dict[str, Any], rows: int = 2) -> Any:
    w = wy.Parameter(np.zeros(rows, np.float32))
    wy.fit(function, columns, parameters={"w": w}, optimizer=wy.SGD(lr=0.1), epochs=3)
    return w.value


@pytest.fixture
def reads(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    found: list[Any] = []
    read = training._read
    monkeypatch.setattr(training, "_read", lambda *args: (found.append(args), read(*args))[1])
    return found


def test_it_is_read_once_for_each_kind_of_arguments(reads: list[Any]) -> None:
    wrapped = ReadOnce(loss)
    user = np.array([0, 1, 1])
    columns = {"x": np.ones(3, np.float32), "user": user, "scale": np.ones(3, np.float32)}
    for scale in (1.0, 2.0, 0.5):
        columns["scale"] = np.full(3, scale, np.float32)
        np.testing.assert_array_equal(trained(wrapped, columns), trained(loss, columns))
    assert len(reads) == 4
    # Other shapes of parameters, or types of columns, are read anew.
    np.testing.assert_array_equal(trained(wrapped, columns, 5), trained(loss, columns, 5))
    columns["x"] = np.ones(3)
    np.testing.assert_array_equal(trained(wrapped, columns), trained(loss, columns))
    assert len(reads) == 8
    trained(wrapped, columns)
    assert len(reads) == 8


@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.int64])
def test_what_it_finds_outside_stays_as_it_was_when_it_was_read(dtype: Any) -> None:
    found = np.array([[2, 3], [1, 0]]).astype(dtype)

    def of_found(w: Any, x: float, user: int) -> Any:
        return (w[user] - found[user, 0] * x + 0.5 * found[1, 1]) ** 2

    columns = {"x": np.ones(3, np.float32), "user": np.array([0, 1, 1])}
    wrapped, first = ReadOnce(of_found), trained(of_found, columns)
    for _ in range(3):
        np.testing.assert_array_equal(trained(wrapped, columns), first)
        found[:] = 7
        assert not np.array_equal(trained(of_found, columns), first)


def test_arrays_of_different_lengths_are_read_each_time(reads: list[Any]) -> None:
    def of_lists(w: Any, x: Any) -> Any:
        return (w.sum() - x.sum()) ** 2

    wrapped = ReadOnce(of_lists)
    for lists in ([[1.0], [1.0, 2.0]], [[1.0, 2.0], [1.0, 2.0]], [[1.0] * 7]):
        columns = {"x": [np.array(one, np.float32) for one in lists]}
        np.testing.assert_array_equal(trained(wrapped, columns), trained(of_lists, columns))
    assert len(reads) >= 6


def test_errors_are_those_of_the_function() -> None:
    def fails(w: Any, x: float) -> Any:
        if x > 1.0:
            raise ZeroDivisionError(f"x is {x}")
        return w[0] * x

    for _ in range(2):
        with pytest.raises(ZeroDivisionError, match="x is 2"):
            trained(ReadOnce(fails), {"x": np.array([1.0, 2.0], np.float32)})
