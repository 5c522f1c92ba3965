"""The learning rate of an optimizer changes between steps and epochs, and its state stays."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import wyrmling as wy

OPTIMIZERS: list[Any] = [
    lambda lr: wy.SGD(lr=lr),
    lambda lr: wy.SGD(lr=lr, momentum=0.5),
    lambda lr: wy.Adagrad(lr=lr),
    lambda lr: wy.Adam(lr=lr),
]


def loss_of(w: wy.Parameter) -> tuple[Any, Any]:
    row = wy.IndexInput([0], "row")
    return row, ((w[row] - 3.0) ** 2).sum()


@pytest.mark.parametrize("make", OPTIMIZERS)
def test_a_callback_changes_the_rate_of_the_next_epoch(make: Any) -> None:
    """As many runs of one epoch, by one optimizer, give the same bits."""
    rates = [0.3, 0.1, 0.02, 0.05, 0.0]
    columns = np.array([0, 1, 1])
    at_once, one_by_one = (
        wy.Parameter(np.array([1.0, -2.0], np.float32), name="w") for _ in range(2)
    )
    optimizer = make(rates[0])

    def next_rate(epoch: int, history: wy.History) -> None:
        if epoch + 1 < len(rates):
            optimizer.lr = rates[epoch + 1]

    row, loss = loss_of(at_once)
    settings: Any = {"batch_size": 3, "seed": 4}
    wy.fit(loss, {row: columns}, optimizer=optimizer, epochs=5, callback=next_rate, **settings)
    other = make(1.0)
    row, loss = loss_of(one_by_one)
    for rate in rates:
        other.lr = rate
        wy.fit(loss, {row: columns}, optimizer=other, **settings)
    np.testing.assert_array_equal(at_once.value, one_by_one.value)
    # What has a rate of its own throughout ends elsewhere.
    constant = wy.Parameter(np.array([1.0, -2.0], np.float32), name="w")
    row, loss = loss_of(constant)
    wy.fit(loss, {row: columns}, optimizer=make(rates[0]), epochs=5, **settings)
    assert not np.array_equal(constant.value, at_once.value)


def test_functions_are_trained_at_the_rate_as_well() -> None:
    def loss(w: Any, row: int) -> Any:
        total = 0.0
        for _ in range(row + 1):
            total += (w[row] - 3.0) ** 2
        return total

    w = wy.Parameter(np.zeros(2), name="w")
    optimizer = wy.SGD(lr=1.0)
    optimizer.lr = 0.25
    wy.fit(loss, {"row": np.array([0, 1])}, parameters={"w": w}, optimizer=optimizer, batch_size=1)
    np.testing.assert_allclose(w.value, [1.5, 3.0])


def test_steps_by_hand_take_the_rate() -> None:
    w = wy.Parameter(1.0)
    optimizer = wy.SGD(lr=1.0)
    optimizer.lr = 0.125
    (w * 8.0).backward()
    optimizer.step([w])
    assert w.item() == 0.0
    assert repr(optimizer) == "SGD(lr=0.125, momentum=0.0, l2=0.0, clip=None)"


@pytest.mark.parametrize("make", OPTIMIZERS)
def test_at_a_rate_of_zero_parameters_stay(make: Any) -> None:
    w = wy.Parameter(np.array([1.0, -2.0]))
    optimizer = make(0.0)
    (w * w).sum().backward()
    optimizer.step([w])
    assert w.value.tolist() == [1.0, -2.0]
    row, loss = loss_of(w)
    wy.fit(loss, {row: np.array([0, 1, 1])}, optimizer=optimizer, epochs=2, batch_size=1)
    assert w.value.tolist() == [1.0, -2.0]


@pytest.mark.parametrize("wrong", [-1e-9, -1.0, float("nan"), float("inf"), "fast", None])
def test_what_is_no_rate_is_refused(wrong: Any) -> None:
    optimizer = wy.Adam(lr=0.5)
    with pytest.raises((ValueError, TypeError), match="lr"):
        optimizer.lr = wrong
    assert optimizer.lr == 0.5


@pytest.mark.parametrize("truth", [True, np.True_, np.array(True)])
@pytest.mark.parametrize(
    ("name", "make"),
    [
        ("lr", lambda x: wy.SGD(lr=x)),
        ("lr", lambda x: setattr(wy.SGD(lr=0.5), "lr", x)),
        ("momentum", lambda x: wy.SGD(lr=0.5, momentum=x)),
        ("l2", lambda x: wy.SGD(lr=0.5, l2=x)),
        ("l2", lambda x: wy.SGD(lr=0.5, l2={"users": x})),
        ("clip", lambda x: wy.SGD(lr=0.5, clip=x)),
        ("eps", lambda x: wy.Adagrad(lr=0.5, eps=x)),
        ("beta1", lambda x: wy.Adam(beta1=x)),
        ("beta2", lambda x: wy.Adam(beta2=x)),
        ("power", lambda x: wy.sampling.Popularity([1, 2], power=x)),
        ("margin", lambda x: wy.sampling.WARP(*vectors(), margin=x)),
        ("rank_scale", lambda x: wy.sampling.Adaptive(*vectors(), rank_scale=x)),
    ],
)
def test_truth_values_are_no_numbers(name: str, make: Any, truth: Any) -> None:
    """As where integers are expected, and as of a recommender's hyperparameters."""
    with pytest.raises(TypeError, match=f"^{name}: expected a number"):
        make(truth)


def vectors() -> list[wy.Parameter]:
    return [wy.Parameter([[1.0], [2.0]]), wy.Parameter([[1.0], [2.0]])]


@pytest.mark.parametrize("make", [wy.SGD, wy.Adagrad, wy.Adam])
def test_an_integer_beyond_all_floats_is_refused_by_name(make):
    with pytest.raises(ValueError, match=r"lr: expected a number, got .* that no float can hold"):
        make(lr=10**400)
    optimizer = make(lr=0.5)
    with pytest.raises(ValueError, match=r"lr: .* that no float can hold"):
        optimizer.lr = 10**400
    assert optimizer.lr == 0.5
