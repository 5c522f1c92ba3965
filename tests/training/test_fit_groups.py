"""Batches of one sample: such that share no row run at once, with the bits of one after another."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import wyrmling as wy

SAMPLES = 6000  # from 4,096 on there are groups
USERS, ITEMS, WIDTH = 90, 400, 5

drawn = np.random.default_rng(8)
COLUMNS = {
    "u": (USERS * drawn.random(SAMPLES) ** 2).astype(int),
    "i": (ITEMS * drawn.random(SAMPLES) ** 2).astype(int),
    "pair": drawn.integers(ITEMS, size=(SAMPLES, 2)),
    "x": drawn.normal(size=SAMPLES),
}
STARTS = {
    "users": drawn.normal(size=(USERS, WIDTH)),
    "items": drawn.normal(size=(ITEMS, WIDTH)),
    "biases": drawn.normal(size=ITEMS),
}


def dot(p: Any, c: Any) -> Any:
    """The errors of predictions."""
    return (wy.vecdot(p["users"][c["u"]], p["items"][c["i"]]) + p["biases"][c["i"]] - c["x"]) ** 2


def pairwise(p: Any, c: Any) -> Any:
    """The first of two items, which may be the same, is better than the second."""
    scores = (wy.expand_dims(p["users"][c["u"]], 1) * p["items"][c["pair"]]).sum(axis=2)
    scores = scores + p["biases"][c["pair"]]
    return wy.softplus((scores * np.array([-1.0, 1.0], c["x"].dtype)).sum(axis=1))


def penalized(p: Any, c: Any) -> Any:
    """A penalty of the rows is part of the loss."""
    return dot(p, c) + 0.1 * (p["users"][c["u"]] ** 2).sum(axis=1)


def summed(p: Any, c: Any) -> Any:
    """The gradient of a row is a sum: a number times a row, and a number repeated."""
    user = p["users"][c["u"]]
    return (wy.vecdot(user, p["items"][c["i"]]) + user.mean(axis=1) - c["x"]) ** 2


def linear(p: Any, c: Any) -> Any:
    """The gradient of a row is a row and a constant that is repeated."""
    user = p["users"][c["u"]]
    return wy.vecdot(user, p["items"][c["i"]]) + 0.1 * user.sum(axis=1) - c["x"]


def trained(
    loss: Callable[..., Any],
    ending: Callable[[Any], Any],
    optimizer: Any,
    dtype: Any = np.float64,
    columns: dict[str, Any] = COLUMNS,
    **settings: Any,
) -> tuple[dict[str, Any], list[float]]:
    """The parameters and the losses after two epochs."""
    parameters = {name: wy.Parameter(start.astype(dtype)) for name, start in STARTS.items()}
    inputs = {
        name: (wy.IndexInput if values.dtype.kind == "i" else wy.Input)(
            values[:1] if values.dtype.kind == "i" else values[:1].astype(dtype), name=name
        )
        for name, values in columns.items()
    }
    result = ending(loss(parameters, inputs))
    columns = {name: x.astype(dtype) if x.dtype.kind == "f" else x for name, x in columns.items()}
    used = {inputs[name]: values for name, values in columns.items() if name in loss_inputs(loss)}
    settings = {"epochs": 2, "batch_size": 1, "threads": 1, "seed": 4, **settings}
    history = wy.fit(result, used, optimizer=optimizer(), **settings)
    return {name: parameter.value for name, parameter in parameters.items()}, history.loss


def loss_inputs(loss: Callable[..., Any]) -> tuple[str, ...]:
    """The inputs that a loss has."""
    return ("u", "pair") if loss is pairwise else ("u", "i", "x")


OPTIMIZERS: dict[str, Callable[[], Any]] = {
    "SGD": lambda: wy.SGD(lr=0.02),
    "SGD, l2 a step": lambda: wy.SGD(lr=0.02, l2=0.1),
    "SGD, l2 a sample": lambda: wy.SGD(lr=0.02, l2=0.1, l2_per="sample"),
    "SGD, clip": lambda: wy.SGD(lr=0.02, clip=0.01),
    "momentum": lambda: wy.SGD(lr=0.02, momentum=0.5),
    "Adagrad": lambda: wy.Adagrad(lr=0.02),
    "Adam": lambda: wy.Adam(lr=0.02, l2=0.01),
}


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("optimizer", OPTIMIZERS)
@pytest.mark.parametrize("loss", [dot, pairwise, penalized, summed, linear])
def test_the_parameters_have_the_same_bits(
    loss: Callable[..., Any], optimizer: str, dtype: Any
) -> None:
    """Of a sum, of a mean and of losses by sample, as of a loss that has no groups: for a shape
    that is given, there are none.
    """
    make = OPTIMIZERS[optimizer]
    expected, losses = trained(loss, lambda x: x.sum().reshape((1,)), make, dtype)
    for ending in (lambda x: x.sum(), lambda x: x.mean(), lambda x: x):
        found, others = trained(loss, ending, make, dtype)
        for name, value in expected.items():
            assert np.array_equal(found[name], value), name
        assert others == pytest.approx(losses, rel=1e-12)


def test_a_function_of_one_sample_has_the_same_bits() -> None:
    """It is trained as the same loss of a graph."""

    def loss(users: Any, items: Any, biases: Any, u: int, i: int, x: float) -> Any:
        return (users[u] @ items[i] + biases[i] - x) ** 2

    names = ("u", "i", "x")
    parameters = {name: wy.Parameter(start) for name, start in STARTS.items()}
    columns = {name: COLUMNS[name] for name in names}
    settings: dict[str, Any] = {"epochs": 2, "batch_size": 1, "threads": 1, "seed": 4}
    wy.fit(loss, columns, parameters=parameters, optimizer=wy.SGD(lr=0.02), **settings)
    expected, _ = trained(dot, lambda x: x.sum(), OPTIMIZERS["SGD"])
    for name, value in expected.items():
        assert np.allclose(parameters[name].value, value, rtol=1e-12, atol=1e-13), name


def test_a_loss_that_fails_is_that_of_its_sample() -> None:
    """It has its number, as one after the other, though samples are run in another order."""
    x = COLUMNS["x"].copy()
    x[1234] = np.inf
    messages = []
    for ending in (lambda x: x.sum(), lambda x: x.sum().reshape((1,))):
        with pytest.raises(FloatingPointError) as raised:
            trained(dot, ending, OPTIMIZERS["SGD"], columns={**COLUMNS, "x": x})
        messages.append(str(raised.value))
    assert messages[0] == messages[1]
    assert "the loss became inf in epoch 1, " in messages[0]


def test_a_sum_of_losses_that_overflows_is_no_failure() -> None:
    """Each sample's loss is finite, and float32 does not hold their sum."""
    columns = {**COLUMNS, "x": np.full(SAMPLES, 1.2e19)}
    results = []
    for ending in (lambda x: x.sum(), lambda x: x.sum().reshape((1,))):
        tiny = lambda: wy.SGD(lr=1e-37)  # noqa: E731
        found, losses = trained(dot, ending, tiny, np.float32, columns=columns, epochs=1)
        assert losses[0] == pytest.approx(SAMPLES * 1.44e38, rel=1e-3)
        results.append(found)
    for name, value in results[0].items():
        assert np.array_equal(value, results[1][name]), name


def test_several_threads() -> None:
    """They race for rows, and learn."""
    _, losses = trained(dot, lambda x: x.sum(), OPTIMIZERS["SGD"], threads=2, epochs=6)
    assert losses[-1] < losses[0] / 2


def test_workers_that_wait_for_each_other_take_single_samples() -> None:
    """Their result does not depend on groups, and is the same each time."""
    found = [
        trained(dot, ending, OPTIMIZERS["SGD"], threads=2, deterministic=True)[0]
        for ending in (lambda x: x.sum(), lambda x: x.sum().reshape((1,)))
    ]
    for name, value in found[0].items():
        assert np.array_equal(value, found[1][name]), name
