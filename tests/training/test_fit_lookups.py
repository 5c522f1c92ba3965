"""Rows that a fitted function looks up: one by one, all at once, and at constant places."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import wyrmling as wy


def trained(
    loss: Callable[..., Any], columns: dict[str, Any], starts: dict[str, Any], **settings: Any
) -> tuple[dict[str, Any], list[float]]:
    """The parameters after training, and the losses of the epochs."""
    settings.setdefault("optimizer", wy.SGD(lr=0.05))
    parameters = {name: wy.Parameter(value) for name, value in starts.items()}
    history = wy.fit(loss, columns, parameters=parameters, **settings)
    return {name: parameter.value for name, parameter in parameters.items()}, history.loss


def bag(P: Any, q: Any, items: Any) -> Any:
    """All rows at once."""
    return ((P[items] @ q).sum() - 1.0) ** 2


def along(P: Any, q: Any, items: Any) -> Any:
    """A number that is Python's where there are no pairs, and NumPy's else."""
    total = 0.0
    for i, j in zip(items[:-1], items[1:], strict=True):  # noqa: RUF007
        total += (P[i] @ P[j] - q[0]) ** 2
    return total


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("loss", [bag, along])
def test_a_step_of_either_element_type(loss: Callable[..., Any], dtype: Any) -> None:
    """It is by the sum of the gradients that tracing gives."""
    drawn = np.random.default_rng(6)
    P, q = drawn.normal(size=(5, 3)).astype(dtype), drawn.normal(size=3).astype(dtype)
    rows = [[0, 1], [2], [3, 3, 4, 1]]
    found, losses = trained(loss, {"items": rows}, {"P": P, "q": q}, optimizer=wy.SGD(lr=1.0))
    gradient = wy.grad(loss, argnums=(0, 1), mode="trace")
    digits = 1e-5 if dtype is np.float32 else 1e-12
    assert losses == pytest.approx([sum(loss(P, q, np.array(row)) for row in rows)], rel=digits)
    # Of a single item there is no pair, and no gradient.
    parts = [gradient(P, q, np.array(row)) for row in rows if loss is bag or len(row) > 1]
    assert np.allclose(P - found["P"], sum(part[0] for part in parts), rtol=digits, atol=digits)
    assert np.allclose(q - found["q"], sum(part[1] for part in parts), rtol=digits, atol=digits)


def test_indices_of_all_rows_at_once_that_do_not_fit() -> None:
    """Python's exception, or that Python does what is not imitated; both say in which sample."""
    starts = {"P": np.ones((5, 3)), "q": np.ones(3)}
    with pytest.raises(IndexError, match="index 7 is out of bounds") as raised:
        trained(bag, {"items": [[0, 1], [3, 7]]}, starts)
    assert "sample 1 of the columns" in raised.value.__notes__[0]
    with pytest.raises(wy.SourceError, match=r"does not fit.* by sample 0 of the columns"):
        trained(bag, {"items": [[0, -1], [3]]}, starts)


def test_rows_at_constant_places_see_updates() -> None:
    """They are looked up at each run, and not when the loss is compiled."""

    def line(w: Any, x: Any) -> Any:
        return (w[0] * x + w[-1] - 3.0) ** 2

    w = wy.Parameter(np.array([0.5, 9.0, 1.0]))
    columns = {"x": np.array([0.0, 1.0, -1.0])}
    history = wy.fit(
        line, columns, parameters={"w": w}, optimizer=wy.SGD(lr=0.1), epochs=40, batch_size=1
    )
    assert history.loss[-1] < 1e-6
    assert np.allclose(w.value, [0.0, 9.0, 3.0], atol=1e-3)


def per_turn(P: Any, items: Any) -> Any:
    total = 0.0
    for i in items:
        total = np.tanh(total + P[i] @ P[1:3].sum(axis=0))
    return total


def once(P: Any, items: Any) -> Any:
    total = 0.0
    for part in P[1:3, 1:]:
        for i in items:
            total = total * 0.5 + P[i][1:] @ part
    return total


@pytest.mark.parametrize("loss", [per_turn, once])
@pytest.mark.parametrize("optimizer", [wy.SGD(lr=0.1, l2=0.5), wy.Adam(lr=0.1, l2=0.5)])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_a_slice_of_rows_in_a_loop_leaves_the_others(loss: Any, optimizer: Any, dtype: Any) -> None:
    """It looks its rows up, as in a graph: only they are read, shrunk and remembered."""
    P = np.random.default_rng(7).normal(size=(7, 3)).astype(dtype)
    rows, touched = [[4, 0], [], [4, 4, 2]], [0, 1, 2, 4]
    found = trained(loss, {"items": rows}, {"P": P}, optimizer=optimizer)[0]["P"]
    assert np.array_equal(found[[3, 5, 6]], P[[3, 5, 6]])
    slope = wy.grad(loss, mode="trace")
    gradient = sum(slope(P, np.array(row, int)) for row in rows if row) + 0.5 * P
    change = (P - found)[touched]
    expected = 0.1 * (gradient if isinstance(optimizer, wy.SGD) else np.sign(gradient))[touched]
    assert np.allclose(change, expected, atol=1e-5)
