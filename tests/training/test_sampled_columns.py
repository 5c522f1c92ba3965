"""Columns that only a sampler of a loss of one sample uses."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import wyrmling as wy


def trained(
    loss: Callable[..., Any], columns: dict[str, Any], starts: dict[str, Any], **settings: Any
) -> tuple[dict[str, Any], list[float]]:
    """The parameters after training, and the losses of the epochs."""
    parameters = {name: wy.Parameter(value) for name, value in starts.items()}
    history = wy.fit(loss, columns, parameters=parameters, optimizer=wy.SGD(lr=0.05), **settings)
    return {name: parameter.value for name, parameter in parameters.items()}, history.loss


def counted(w: Any, items: Any, drawn: Any, user: Any) -> Any:
    """Adds up the weights of what is drawn."""
    total = 0.0
    for k in range(len(items)):
        for j in drawn[k]:
            total = total + w[j]
    return total + w[user] * 0.0


def counted_alone(w: Any, drawn: Any) -> Any:
    """Of what is drawn, how often each item comes."""
    total = 0.0
    for row in drawn:
        for item in row:
            total = total + w[item]
    return total


def test_columns_of_a_sampler_need_not_be_arguments() -> None:
    """Neither the user nor what gives the length; the same is drawn as where they are."""
    sampler = wy.sampling.Uniform(
        5, positives=([0, 0, 1], [2, 4, 3]), given="user", shape=("items", 20)
    )
    columns = {"items": wy.Ragged(np.zeros(9, int), [0, 4, 4, 9]), "user": [0, 1, 0]}
    with_arguments, without = (
        trained(loss, columns, {"w": np.zeros(5)}, sample={"drawn": sampler})
        for loss in (counted, counted_alone)
    )
    assert np.array_equal(with_arguments[0]["w"], without[0]["w"])
    assert without[0]["w"][2] == without[0]["w"][4] == 0.0
    assert without[0]["w"].sum() < 0.0
    with pytest.raises(TypeError, match="columns: counted_alone has no argument 'other'"):
        trained(
            counted_alone,
            columns | {"other": [1, 2, 3]},
            {"w": np.zeros(5)},
            sample={"drawn": sampler},
        )


def test_the_user_of_one_negative_need_not_be_an_argument() -> None:
    """As for BPR, whose batches are plans."""

    def loss(w: Any, item: Any) -> Any:
        return w[item] * w[item]

    sampler = wy.sampling.Uniform(4, positives=([0, 1, 1], [2, 0, 3]), given="user")
    found, _ = trained(loss, {"user": [0, 0, 0]}, {"w": np.ones(4)}, sample={"item": sampler})
    assert found["w"][2] == 1.0
    assert found["w"][0] < 1.0
