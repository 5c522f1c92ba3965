"""A function of one sample that goes one way for all samples is trained as a batch at once."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import wyrmling as wy

ALL_OPERATORS_OF_A_BATCH = {
    "matmul": lambda W, P, b, k, x, r: np.tanh(W @ P[k]).sum() + b[k],
    "vector times matrix": lambda W, P, b, k, x, r: (x @ W.T).sum() + 0.0 * P[k].sum() + b[k],
    "number times row": lambda W, P, b, k, x, r: (b[k] * P[k]).sum() * r + W[0] @ x,
    "the same for all": lambda W, P, b, k, x, r: (W * W).sum() + P[0] @ P[k] + b[1],
    "mean": lambda W, P, b, k, x, r: np.mean(P[k] * x) + (W[1] + P[k]).mean() + b[-1] * r,
    "outer": lambda W, P, b, k, x, r: (P[k][:, None] * x).sum() + np.sum(W, axis=0) @ x + b[k],
    "reshape": lambda W, P, b, k, x, r: (P[k].reshape(2, 2) * W[0, 0]).sum() * b[k],
    "a loop of known length": lambda W, P, b, k, x, r: sum(W[i] @ P[k] for i in range(3)) + b[k],
    "powers": lambda W, P, b, k, x, r: ((P[k] - x) ** 2).sum() + W[0, 0] ** 3 + np.exp(b[k]) * r,
}


@pytest.mark.parametrize("name", ALL_OPERATORS_OF_A_BATCH)
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_a_batch_at_once_is_as_its_samples(name: str, dtype: Any) -> None:
    """A sample by itself, since a comparison of its numbers decides, is the oracle."""
    of = ALL_OPERATORS_OF_A_BATCH[name]

    def single(W: Any, P: Any, b: Any, k: int, x: Any, r: float, one: float) -> Any:
        return of(W, P, b, k, x, r) if one > 0.0 else r * b[0]

    rng = np.random.default_rng(6)
    columns = {
        "k": rng.integers(0, 6, 20),
        "x": rng.normal(size=(20, 4)).astype(dtype),
        "r": rng.normal(size=20),
    }
    found = []
    for loss, more in ((of, {}), (single, {"one": np.ones(20)})):
        start = np.random.default_rng(7)
        shapes = {"W": (3, 4), "P": (6, 4), "b": (6,)}
        trained = {
            key: wy.Parameter(start.normal(0, 0.3, shape).astype(dtype))
            for key, shape in shapes.items()
        }
        history = wy.fit(
            loss,
            columns | more,
            parameters=trained,
            optimizer=wy.Adagrad(lr=0.05),
            epochs=2,
            batch_size=6,
            seed=3,
        )
        found.append([*(each.value for each in trained.values()), np.array(history.loss)])
    for a, b in zip(*found, strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-9 if dtype == np.float64 else 2e-4, atol=1e-6)


def test_several_negatives_are_trained_as_a_batch() -> None:
    """The loss of one sample with drawn arrays, against the same as a graph of a batch."""
    rng = np.random.default_rng(3)
    n_users, n_items, n_samples = 12, 9, 40
    user = rng.integers(0, n_users, n_samples)
    item = rng.integers(0, n_items, n_samples)
    start = rng.normal(0, 0.3, (n_users, 4)), rng.normal(0, 0.3, (n_items, 4))

    def softmax(users, items, user, item, negatives):
        score = users[user] @ items[item]
        others = items[negatives] @ users[user]
        return wy.logaddexp(score, wy.logsumexp(others)) - score

    for items_of in (None, (user, item)):
        given = {} if items_of is None else {"positives": items_of, "given": "user"}
        sampler = wy.sampling.Uniform(n_items, shape=5, **given)
        tables = [wy.Parameter(array) for array in start]
        names = dict(zip(("users", "items"), tables, strict=True))
        columns, drawn = {"user": user, "item": item}, {"negatives": sampler}
        settings = {"optimizer": wy.SGD(lr=0.1), "batch_size": 8, "seed": 1}
        history = wy.fit(softmax, columns, sample=drawn, parameters=names, **settings)

        again = [wy.Parameter(array) for array in start]
        u, i = wy.IndexInput([0]), wy.IndexInput([0])
        j = wy.IndexInput([[0] * 5])
        given = {} if items_of is None else {"positives": items_of, "given": u}
        score = wy.vecdot(again[0][u], again[1][i])
        others = (again[1][j] @ again[0][u].reshape(-1, 4, 1)).reshape(-1, 5)
        loss = wy.logaddexp(score, wy.logsumexp(others, axis=1)) - score
        drawn = {j: wy.sampling.Uniform(n_items, **given)}
        expected = wy.fit(loss.sum(), {u: user, i: item}, sample=drawn, **settings)
        np.testing.assert_allclose(history.loss, expected.loss, rtol=1e-12)
        for found, wanted in zip(tables, again, strict=True):
            np.testing.assert_allclose(found.value, wanted.value, rtol=1e-12)
