"""``fit`` of losses that branch on a sample's numbers: both arms are computed and chosen by masks.

The same numbers are had in two other ways: from the derivative of the Python function for one
sample at a time, applied here, and from the same loss with a loop that no batch has a form for.
"""

from __future__ import annotations

import enum
import math
from typing import Any

import numpy as np
import pytest

import wyrmling as wy

USERS, ITEMS, COUNT, WIDTH, RATE = 11, 13, 200, 4, 0.002


def hinge(P: Any, Q: Any, user: Any, item: Any, rating: Any) -> Any:
    return max(0.0, rating - P[user] @ Q[item])


def hinge_returned(P: Any, Q: Any, user: Any, item: Any, rating: Any) -> Any:
    x = rating - P[user] @ Q[item]
    if x > 0:
        return x
    return 0.0


def hinge_chosen(P: Any, Q: Any, user: Any, item: Any, rating: Any) -> Any:
    x = rating - P[user] @ Q[item]
    return np.where(x > 0, x, 0.0)


def huber(P: Any, Q: Any, user: Any, item: Any, rating: Any) -> Any:
    x = rating - P[user] @ Q[item]
    size = abs(x)
    if size < 1.0:
        return 0.5 * x * x
    return size - 0.5


def clamped(P: Any, Q: Any, user: Any, item: Any, rating: Any) -> Any:
    x = P[user] @ Q[item]
    return (min(max(x, -0.5), 0.5) - rating) ** 2


def nested(P: Any, Q: Any, user: Any, item: Any, rating: Any) -> Any:
    x = rating - P[user] @ Q[item]
    if x > 0:
        if x > 1.0:
            weight = 3.0
        elif x > 0.5:
            weight = 2.0
        else:
            weight = x
        total = weight * x
    else:
        total = -x
    return total + 0.1 * (P[user] @ P[user])


def both_signs(P: Any, Q: Any, user: Any, item: Any, rating: Any) -> Any:
    x = P[user] @ Q[item]
    if x > 0 and rating > 0:
        return (x - rating) ** 2
    if x > 0 or rating > 0:
        return (x + rating) ** 2
    return 0.25 * x * x


def vectors_chosen(P: Any, Q: Any, user: Any, item: Any, rating: Any) -> Any:
    p, q = P[user], Q[item]
    v = p * 2.0 if rating > 0 else q - p
    return (v * v).sum() + 0.0 * (p @ q)


def softplus(P: Any, Q: Any, user: Any, item: Any, rating: Any) -> Any:
    """The arm that is not taken overflows, and its derivative is NaN."""
    x = 1e3 * rating * (P[user] @ Q[item])
    if x > 30.0:
        return x
    return np.log1p(np.exp(x))


def logarithm(P: Any, Q: Any, user: Any, item: Any, rating: Any) -> Any:
    """The arm that is not taken is the logarithm of a negative number, or of 0."""
    x = P[user] @ Q[item]
    y = P[user] @ P[user]
    if x > 0:
        return np.log(x) * 0.01 + y
    if x < 0:
        return np.sqrt(-x) * 0.01 + y
    return y


def in_a_loop(P: Any, Q: Any, user: Any, item: Any, rating: Any) -> Any:
    v = P[user] * Q[item]
    total = 0.0
    for k in range(WIDTH):
        if v[k] > 0.1:
            total += v[k]
        elif v[k] < -0.1:
            total -= rating * v[k]
    return total * total


def table_in_an_arm(P: Any, Q: Any, user: Any, item: Any, rating: Any) -> Any:
    """An arm that looks rows up is left to samples."""
    if rating > 0:
        return P[user] @ P[user]
    return Q[item] @ Q[item]


LOSSES = [
    hinge,
    hinge_returned,
    hinge_chosen,
    huber,
    clamped,
    nested,
    both_signs,
    vectors_chosen,
    softplus,
    logarithm,
    in_a_loop,
    table_in_an_arm,
]


def by_itself(loss: Any) -> Any:
    """The same loss, with a loop whose length a sample decides."""

    def other(P: Any, Q: Any, user: Any, item: Any, rating: Any) -> Any:
        x = rating
        while x > 1e300:
            x = x - 1.0
        return loss(P, Q, user, item, x)

    return other


def tables(dtype: Any) -> tuple[Any, Any]:
    rng = np.random.default_rng(3)
    P, Q = rng.normal(0, 0.7, (USERS, WIDTH)), rng.normal(0, 0.7, (ITEMS, WIDTH))
    P[0] = Q[0] = 0.0
    return P.astype(dtype), Q.astype(dtype)


def columns(dtype: Any) -> dict[str, Any]:
    rng = np.random.default_rng(4)
    return {
        "user": rng.integers(0, USERS, COUNT),
        "item": rng.integers(0, ITEMS, COUNT),
        "rating": rng.normal(0, 1, COUNT).astype(dtype),
    }


def trained(loss: Any, given: dict[str, Any], dtype: Any, **options: Any) -> tuple[Any, ...]:
    P, Q = (wy.Parameter(table) for table in tables(dtype))
    history = wy.fit(
        loss, given, parameters={"P": P, "Q": Q}, optimizer=wy.SGD(lr=RATE), seed=2, **options
    )
    return P.value, Q.value, np.array(history.loss)


def by_hand(loss: Any, given: dict[str, Any], dtype: Any) -> tuple[Any, ...]:
    """One step of gradient descent on the sum of the losses, a sample at a time."""
    P, Q = tables(dtype)
    derivative = wy.value_and_grad(loss, argnums=(0, 1), mode="trace")
    total, dP, dQ = 0.0, np.zeros_like(P), np.zeros_like(Q)
    for user, item, rating in zip(given["user"], given["item"], given["rating"], strict=True):
        value, (p, q) = derivative(P, Q, int(user), int(item), rating.item())
        total, dP, dQ = total + float(value), dP + np.asarray(p), dQ + np.asarray(q)
    return P - RATE * dP, Q - RATE * dQ, np.array([total])


def agree(found: tuple[Any, ...], wanted: tuple[Any, ...], rtol: float) -> None:
    for one, other in zip(found, wanted, strict=True):
        assert np.isfinite(other).all()
        np.testing.assert_allclose(one, other, rtol=rtol, atol=rtol * 1e-2)


@pytest.mark.parametrize("loss", LOSSES)
def test_a_step_is_as_by_hand(loss: Any) -> None:
    given = columns(np.float64)
    found = trained(loss, given, np.float64, batch_size=COUNT)
    agree(found, by_hand(loss, given, np.float64), 1e-9)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("batch_size", [1, 7, 64])
@pytest.mark.parametrize("loss", LOSSES)
def test_batches_are_as_samples(loss: Any, batch_size: int, dtype: Any) -> None:
    given = columns(dtype)
    options: dict[str, Any] = {"batch_size": batch_size, "epochs": 2}
    rtol = 1e-9 if dtype == np.float64 else 1e-3
    agree(
        trained(loss, given, dtype, **options),
        trained(by_itself(loss), given, dtype, **options),
        rtol,
    )


def squared(P: Any, Q: Any, user: Any, item: Any, rating: Any) -> Any:
    return (rating - P[user] @ Q[item]) ** 2


def logistic(P: Any, Q: Any, user: Any, item: Any, rating: Any) -> Any:
    x = P[user] @ Q[item]
    return np.log1p(np.exp(-x)) if rating else np.log1p(np.exp(x))


def by_value(P: Any, Q: Any, user: Any, item: Any, rating: Any) -> Any:
    x = P[user] @ Q[item]
    if rating == 3:
        return (x - 1.0) ** 2
    if rating > 3 or user < 2:
        return x * x
    return x * 0.1 * rating


@pytest.mark.parametrize("loss", [squared, logistic, by_value])
@pytest.mark.parametrize(
    ("high", "dtype"),
    [
        (2, np.float32),
        (2**24 - 1, np.float32),
        (6, np.float64),
        (2**31, np.float64),
        (2**32 - 1, np.float64),
    ],
)
def test_integers_are_numbers(loss: Any, high: int, dtype: Any) -> None:
    """A column of integers trains as the same numbers in floating point, sample by sample."""
    given = columns(np.float64)
    given["rating"] = np.random.default_rng(6).integers(0, high, COUNT)
    if high > 6:
        given["rating"][given["rating"] % 2 == 0] = high
        loss_of_one, scale = loss, float(high)

        def loss(P: Any, Q: Any, user: Any, item: Any, rating: Any) -> Any:
            return loss_of_one(P, Q, user, item, rating) / scale / scale

    other = {**given, "rating": given["rating"].astype(np.float64)}
    rtol = 1e-9 if dtype == np.float64 else 2e-3
    agree(
        trained(loss, given, dtype, batch_size=50),
        trained(by_itself(loss), other, dtype, batch_size=50),
        rtol,
    )


@pytest.mark.parametrize("kind", [bool, np.int8, np.uint64, np.int64, np.float32])
def test_labels(kind: Any) -> None:
    given = columns(np.float64)
    labels = given["rating"] > 0
    floats = {**given, "rating": labels.astype(np.float64)}
    agree(
        trained(logistic, {**given, "rating": labels.astype(kind)}, np.float64),
        trained(by_itself(logistic), floats, np.float64),
        1e-9,
    )


def test_negative_labels() -> None:
    def loss(P: Any, Q: Any, user: Any, item: Any, rating: Any) -> Any:
        return np.log1p(np.exp(-rating * (P[user] @ Q[item])))

    given = columns(np.float64)
    labels = np.where(given["rating"] > 0, 1, -1)
    floats = {**given, "rating": labels.astype(np.float64)}
    found = trained(loss, {**given, "rating": labels}, np.float64)
    agree(found, trained(by_itself(loss), floats, np.float64), 1e-9)


def as_often(P: Any, Q: Any, user: Any, item: Any, rating: Any) -> Any:
    """A loop as long as a sample says, which starts from values of before."""
    x = y = P[user] @ Q[item]
    for _ in range(rating):
        y = np.tanh(y * x) + 0.5
    return y * y


def from_the_last(P: Any, Q: Any, user: Any, item: Any, rating: Any) -> Any:
    """Each value of the loop is that of another the time before."""
    x = P[user] @ Q[item]
    a, b, v = x, 1.0 + 0.0 * x, P[user]
    for _ in range(rating):
        a, b, v = b, np.tanh(a + b * x), v * b + Q[item]
    return a - 2.0 * b + v @ v


def left_early(P: Any, Q: Any, user: Any, item: Any, rating: Any) -> Any:
    """The way out of the loop uses what another turn would give anew."""
    y = P[user] @ Q[item]
    for _ in range(rating):
        if y > 0.5:
            return y * 3.0
        y = y + 0.25
    return y * y


def broken_off(P: Any, Q: Any, user: Any, item: Any, rating: Any) -> Any:
    y = P[user] @ Q[item]
    before = y
    for _ in range(4):
        if y > rating:
            break
        before, y = y, y + 1.0
    return before * y


def in_one_another(P: Any, Q: Any, user: Any, item: Any, rating: Any) -> Any:
    x = y = P[user] @ Q[item]
    for _ in range(rating):
        z = y
        for _ in range(rating):
            z = 0.5 * z + x
        y = y + z if z > 0 else y - x
    return y


def in_an_arm(P: Any, Q: Any, user: Any, item: Any, rating: Any) -> Any:
    x = y = P[user] @ Q[item]
    if x > 0:
        for _ in range(rating):
            y = np.tanh(y * x) + 1.0
        y = y - x
    return y * y


@pytest.mark.parametrize(
    "loss", [as_often, from_the_last, left_early, broken_off, in_one_another, in_an_arm]
)
@pytest.mark.parametrize("least", [0, 1, 3])
def test_loops_are_as_long_as_a_sample_says(loss: Any, least: int) -> None:
    given = columns(np.float64)
    given["rating"] = np.random.default_rng(7).integers(least, 4, COUNT)
    found = trained(loss, given, np.float64, batch_size=COUNT)
    agree(found, by_hand(loss, given, np.float64), 1e-9)
    options: dict[str, Any] = {"batch_size": 7, "epochs": 2}
    floats = {**given, "rating": given["rating"].astype(np.float64)}
    agree(
        trained(loss, given, np.float64, **options),
        trained(counted(loss), floats, np.float64, **options),
        1e-9,
    )


def counted(loss: Any) -> Any:
    """The same loss, whose integer is counted in a loop that no batch has a form for."""

    def other(P: Any, Q: Any, user: Any, item: Any, rating: Any) -> Any:
        count = 0
        while count < rating:
            count += 1
        return loss(P, Q, user, item, count)

    return other


def test_nan_takes_the_arm_that_python_takes() -> None:
    def loss(P: Any, Q: Any, user: Any, item: Any, rating: Any) -> Any:
        x = P[user] @ Q[item]
        if rating > 0:
            return x * x * rating
        if rating <= 0:
            return x
        return 2.0 * x * x

    given = columns(np.float64)
    given["rating"][::3] = np.nan
    found = trained(loss, given, np.float64, batch_size=COUNT)
    agree(found, by_hand(loss, given, np.float64), 1e-9)


def test_raising_in_an_arm_names_the_sample() -> None:
    def loss(P: Any, Q: Any, user: Any, item: Any, rating: Any) -> Any:
        x = P[user] @ Q[item]
        if rating > 5.0:
            raise ValueError("no such rating")
        return x * math.sqrt(abs(rating))

    given = columns(np.float64)
    assert np.isfinite(trained(loss, given, np.float64)[2]).all()
    given["rating"][17] = 6.0
    with pytest.raises(ValueError, match="no such rating") as raised:
        trained(loss, given, np.float64)
    assert "sample 17" in "".join(raised.value.__notes__)


def test_an_integer_that_float32_lacks_is_named() -> None:
    given = columns(np.float64)
    given["rating"] = np.arange(COUNT)
    given["rating"][17] = 2**24
    with pytest.raises(wy.SourceError, match=r"an integer is no float32.* by sample 17 "):
        trained(squared, given, np.float32)


def test_a_comparison_of_one_arm_alone_is_named() -> None:
    """It is copied where the arms meet, and read after that."""

    def loss(P: Any, Q: Any, user: Any, item: Any, rating: Any) -> Any:
        x = P[user] @ Q[item]
        if rating > 0:
            above = np.where(x > 0, rating > 1.0, rating > 0.5)
        return x + above

    with pytest.raises(wy.SourceError, match="above"):
        trained(loss, columns(np.float64), np.float64)


class Weight(enum.IntEnum):
    """Integers of a class of their own."""

    SMALL = 1
    LARGE = 3


def test_members_of_an_enumeration_are_integers() -> None:
    def of(small: int, large: int) -> Any:
        def loss(P: Any, Q: Any, user: Any, item: Any, rating: Any) -> Any:
            x = rating - P[user] @ Q[item]
            return x * x * large if x > small else small * abs(x)

        return trained(loss, columns(np.float64), np.float64)

    for found, wanted in zip(of(Weight.SMALL, Weight.LARGE), of(1, 3), strict=True):
        np.testing.assert_array_equal(found, wanted)
