"""Models of sequences: cells and losses by hand, gradients by differences, orders, histories."""

from __future__ import annotations

import copy
import pickle
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import wyrmling as wy
from wyrmling import nn
from wyrmling.data import Interactions
from wyrmling.recommend import EWMA, GRU, LSTM, Recommender, SASRec
from wyrmling.recommend.files import check_arrays
from wyrmling.recommend.sequence import sasrec, sequence_model
from wyrmling.recommend.sequence.dropout import dropped, factors_of
from wyrmling.recommend.sequence.losses import LOSSES, next_items

MODELS = {"EWMA": EWMA, "GRU": GRU, "LSTM": LSTM, "SASRec": SASRec}
N_ITEMS = 12


def cycles(n_users: int = 60, seed: int = 0) -> Interactions:
    """Users who go through the items in order, each from an item of their own, for a while."""
    rng = np.random.default_rng(seed)
    lengths = rng.integers(2, 10, n_users)
    users = np.repeat(np.arange(n_users), lengths)
    starts = rng.integers(0, N_ITEMS, n_users)
    steps = np.concatenate([np.arange(length) for length in lengths])
    items = (starts[users] + steps) % N_ITEMS
    names = [f"item-{n}" for n in range(N_ITEMS)]
    return Interactions(users, items, list(range(n_users)), names, times=steps)


DATA = cycles()


def small(kind: str, **settings: Any) -> Any:
    defaults = {"factors": 6, "epochs": 3, "n_negatives": 5, "num_threads": 1}
    return MODELS[kind](**defaults | settings)


def sigmoid(x: float) -> float:
    return 1.0 / (1.0 + np.exp(-x))


def test_cells_by_hand() -> None:
    rng = np.random.default_rng(1)
    h, d = 2, 3
    state, memory, vector = rng.normal(size=h), rng.normal(size=h), rng.normal(size=d)
    for gates in (3, 4):
        w, u, b = (rng.normal(size=(n, gates * h)) for n in (d, h, 1))
        bias = b[0]
        given = [sum(vector[k] * w[k, c] for k in range(d)) + bias[c] for c in range(gates * h)]
        own = [sum(state[k] * u[k, c] for k in range(h)) for c in range(gates * h)]
        for k in range(h):
            if gates == 3:
                reset = sigmoid(given[k] + own[k])
                update = sigmoid(given[h + k] + own[h + k])
                new = np.tanh(given[2 * h + k] + reset * own[2 * h + k])
                found = nn.gru(state, vector, w, u, bias)[k]
                assert found == pytest.approx((1 - update) * new + update * state[k])
            else:
                i, f, o = (sigmoid(given[g * h + k] + own[g * h + k]) for g in range(3))
                c = np.tanh(given[3 * h + k] + own[3 * h + k])
                shown, kept = nn.lstm(state, memory, vector, w, u, bias)
                assert kept[k] == pytest.approx(f * memory[k] + i * c)
                assert shown[k] == pytest.approx(o * np.tanh(kept[k]))
        # Many at once are as one by one.
        many = [np.stack([x, 2 * x]) for x in (state, memory, vector)]
        if gates == 3:
            both = nn.gru(many[0], many[2], w, u, bias)
            np.testing.assert_allclose(both[0], nn.gru(state, vector, w, u, bias))
        else:
            both, _ = nn.lstm(*many, w, u, bias)
            np.testing.assert_allclose(both[0], nn.lstm(state, memory, vector, w, u, bias)[0])


def by_hand(name: str, score: Any, others: Any, n_items: int) -> float:
    """A loss of steps, one comparison at a time."""
    total = 0.0
    for s, row in zip(score, others, strict=True):
        if name == "softmax":
            total -= s - np.log(np.exp([s, *row]).sum())
            continue
        for drawn, other in enumerate(row, 1):
            if name == "bpr":
                total -= np.log(sigmoid(s - other))
            elif 1.0 - s + other > 0.0:
                weight = np.log(n_items / drawn) if name == "warp" else 1.0
                total += weight * (1.0 - s + other)
                if name == "warp":
                    break
    return total


@pytest.mark.parametrize("name", LOSSES)
def test_losses_by_hand(name: str) -> None:
    rng = np.random.default_rng(2)
    for steps, count in ((5, 3), (1, 1), (4, 7)):
        score, others = rng.normal(size=steps), rng.normal(size=(steps, count)) - 0.5
        expected = pytest.approx(by_hand(name, score, others, 50))
        for axis, along in ((0, others.T), (1, others)):
            only = partial(np.take_along_axis, along, axis=axis)
            given = np.expand_dims(score, axis), along, only, 50, axis
            assert LOSSES[name](*given, count) == expected


@pytest.mark.parametrize("shape", [(2,), (2, 4)], ids=["for all", "for each"])
def test_steps_are_compared_with_what_came_next(shape: tuple[int, ...]) -> None:
    rng = np.random.default_rng(3)
    items, bias = rng.normal(size=(8, 4)), rng.normal(size=8)
    history, negatives = np.array([3, 1, 4, 1]), rng.integers(0, 8, shape)
    states = rng.normal(size=(3, 4))
    seen: list[Any] = []
    next_items(states, items, bias, history, negatives, lambda *given: seen.extend(given))
    score, others, only, n_items, axis = seen
    chosen = np.expand_dims([1, 0, 1], axis)
    one = only(chosen)
    for k in range(3):
        came = history[k + 1]
        assert score.reshape(3)[k] == pytest.approx(states[k] @ items[came] + bias[came])
        scores = others[:, k] if axis == 0 else others[k]
        for j, drawn in enumerate(negatives if len(shape) == 1 else negatives[:, k + 1]):
            assert scores[j] == pytest.approx(states[k] @ items[drawn] + bias[drawn])
        assert one.reshape(3)[k] == pytest.approx(scores[chosen.reshape(3)[k]])
    assert one.shape == score.shape
    assert n_items == 8


def all_differentiated(
    score: Any, others: Any, only: Any, n_items: int, axis: int, count: int
) -> Any:
    """WARP's loss as a function of the scores of all others, of which it chooses by a mask."""
    margin = wy.relu(1.0 - score + others)
    above = np.sign(margin)
    first = np.where(np.cumsum(above, axis=axis) == above, margin, 0.0)
    ranks = n_items / np.arange(1, count + 1, dtype=np.float32)
    return (first.sum(1 - axis) * np.log(ranks)).sum()


@pytest.mark.parametrize("mode", ["source", "trace"])
@pytest.mark.parametrize("kind", MODELS)
@pytest.mark.parametrize("shape", [(4,), (4, 6)], ids=["for all", "for each"])
def test_what_warp_leaves_out_has_no_gradient(kind: str, shape: tuple[int, ...], mode: Any) -> None:
    rng = np.random.default_rng(5)
    loss = small(kind, factors=3, max_length=6)._loss()
    types = small(kind, factors=3)._parameter_types()
    arrays = {"items": rng.normal(size=(9, 3)), "item_bias": rng.normal(size=9)}
    for name, one in types.items():
        arrays[name] = rng.normal(size=[3 if a == "factors" else a for a in one.shape])
    history, negatives = np.array([1, 5, 2, 5, 7, 0]), rng.integers(0, 9, shape)
    found = []
    for ranking in (LOSSES["warp"], all_differentiated):
        ranking = partial(ranking, count=4)

        def of(given: dict[str, Any], ranking: Any = ranking) -> Any:
            return loss(**given, history=history, negatives=negatives, ranking=ranking)

        found.append(wy.value_and_grad(of, mode=mode)(arrays))
    (value, gradients), (expected, others) = found
    assert value == pytest.approx(expected, rel=1e-12)
    for name in arrays:
        np.testing.assert_allclose(gradients[name], others[name], rtol=1e-10, atol=1e-12)


@pytest.mark.parametrize("kind", MODELS)
@pytest.mark.parametrize("name", LOSSES)
@pytest.mark.parametrize("shape", [(2,), (2, 5)], ids=["for all", "for each"])
def test_gradients_are_differences(kind: str, name: str, shape: tuple[int, ...]) -> None:
    """Of the loss of a history, by every parameter, in double precision."""
    rng = np.random.default_rng(4)
    model = small(kind, factors=3, max_length=5)
    types = model._parameter_types()
    shapes = {n: tuple(3 if a == "factors" else a for a in t.shape) for n, t in types.items()}
    arrays = {"items": rng.normal(size=(9, 3)), "item_bias": rng.normal(size=9)}
    arrays |= {n: rng.normal(size=shape) for n, shape in shapes.items()}
    ranking = partial(LOSSES[name], count=2)
    loss = partial(model._loss(), ranking=ranking)
    fixed: dict[str, Any] = {"history": np.array([1, 5, 2, 5, 7])}
    fixed["negatives"] = rng.integers(0, 9, shape)

    def of(given: dict[str, Any]) -> Any:
        return loss(**given, **fixed)

    gradients = wy.grad(of, mode="trace")(arrays)
    for key, array in arrays.items():
        for place in [tuple(rng.integers(0, s) for s in array.shape) for _ in range(6)]:
            values = []
            for step in (1e-6, -1e-6):
                moved = {n: a.copy() for n, a in arrays.items()}
                moved[key][place] += step
                values.append(of(moved))
            difference = (values[0] - values[1]) / 2e-6
            assert gradients[key][place] == pytest.approx(difference, rel=1e-5, abs=1e-6)


@pytest.mark.parametrize("kind", MODELS)
@pytest.mark.parametrize("name", LOSSES)
def test_planted_orders_are_found(kind: str, name: str) -> None:
    settings: dict[str, Any] = {"loss": name, "epochs": 30, "factors": 12, "n_negatives": 5}
    settings["shared_negatives"] = name in ("warp", "softmax")
    settings["lr"] = 0.1 if kind == "EWMA" else 0.02
    if kind in ("GRU", "LSTM"):
        settings["epochs"] = 60
    model = small(kind, **settings).fit(cycles(200))
    hits = 0
    for start in range(N_ITEMS):
        had = [f"item-{(start + k) % N_ITEMS}" for k in range(4)]
        best = [item for item, _ in model.recommend(model.fold_in(had), 1)]
        hits += best == [f"item-{(start + 4) % N_ITEMS}"]
    assert hits >= 9


@pytest.mark.parametrize("kind", MODELS)
def test_states_are_those_of_histories(kind: str) -> None:
    model = small(kind, max_length=4).fit(DATA)
    for user in (0, 7, 33):
        had = [DATA.item_ids[i] for i in DATA.items[DATA.users == user]]
        new = model.fold_in(had)
        np.testing.assert_allclose(
            new.query, model.fitted.arrays["users"][user], rtol=1e-4, atol=1e-6
        )
        best, mine = model.recommend(new, 3), model.recommend(user, 3)
        assert [item for item, _ in best] == [item for item, _ in mine]
    # The order matters, and what is beyond the longest history does not.
    had = ["item-1", "item-5", "item-2", "item-7"]
    straight = model.fold_in(had).query
    assert not np.allclose(straight, model.fold_in(had[::-1]).query)
    np.testing.assert_array_equal(straight, model.fold_in(["item-9", *had]).query)
    assert not model.fold_in([]).query.any()


@pytest.mark.parametrize("kind", MODELS)
def test_times_tell_the_order(kind: str) -> None:
    shuffled = DATA.take(np.random.default_rng(5).permutation(len(DATA)))
    first, second = (small(kind).fit(data) for data in (DATA, shuffled))
    np.testing.assert_array_equal(first.fitted.arrays["users"], second.fitted.arrays["users"])


@pytest.mark.parametrize("kind", MODELS)
def test_it_goes_on(kind: str) -> None:
    model = small(kind).fit(DATA)
    more = Interactions.from_ids([0, "fred", "fred"], ["tango", "tango", "item-1"])
    again = copy.copy(model).partial_fit(more)
    assert set(again.item_ids) - set(model.item_ids) == {"tango"}
    assert set(again.user_ids) - set(model.user_ids) == {"fred"}
    arrays = again.fitted.arrays
    start, end = arrays["history_offsets"][:2]
    assert again.item_ids[int(arrays["history_items"][end - 1])] == "tango"
    assert end - start == (DATA.users == 0).sum() + 1
    assert again.recommend("fred", 3)
    with pytest.raises(ValueError, match="partial_fit goes on"):
        copy.copy(model).set_params(factors=7).partial_fit(more)


@pytest.mark.parametrize("kind", MODELS)
def test_files_and_pickles(kind: str, tmp_path: Path) -> None:
    model = small(kind).fit(DATA)
    path = tmp_path / "model.safetensors"
    model.save(path)
    for back in (Recommender.load(path), pickle.loads(pickle.dumps(model))):
        assert type(back) is type(model)
        assert back.recommend(3, 4) == model.recommend(3, 4)
        assert back.recommend(back.fold_in(["item-1", "item-2"]), 4)
        np.testing.assert_array_equal(
            back.partial_fit(DATA).fitted.arrays["users"],
            copy.copy(model).partial_fit(DATA).fitted.arrays["users"],
        )
    model.save(path, histories=False)
    without = Recommender.load(path)
    assert not [name for name in without.fitted.arrays if name.startswith("history")]
    assert without.recommend(3, 4, exclude_seen=False) == model.recommend(3, 4, exclude_seen=False)


@pytest.mark.parametrize(
    "change",
    [
        {"history_items": lambda a: a + N_ITEMS},
        {"history_offsets": lambda a: a[::-1].copy()},
        {"history_offsets": lambda a: a[:-1].copy()},
        {"history_offsets": lambda a: a + 1},
        {"history_items": None},
        {"decay": lambda a: a[:-1].copy()},
    ],
)
def test_arrays_that_contradict_each_other_are_refused(change: dict[str, Any]) -> None:
    model = small("EWMA", epochs=1).fit(DATA)
    arrays = dict(model.fitted.arrays)
    for name, how in change.items():
        array = arrays.pop(name)
        if how is not None:
            arrays[name] = how(array)
    fitted = model.fitted
    broken = type(fitted)(fitted.user_ids, fitted.item_ids, fitted.seen, arrays)
    with pytest.raises(ValueError, match=r"it |has |offsets"):
        check_arrays(model, broken)


@pytest.mark.parametrize("kind", MODELS)
def test_special_histories(kind: str) -> None:
    """One interaction, all items, one user: what can be learnt is, and the rest is said."""
    users = ["one", "all", "all", "all", "two", "two"]
    items = ["a", "a", "b", "c", "b", "c"]
    model = small(kind).fit(Interactions.from_ids(users, items))
    assert model.recommend("all", 5) == []
    assert {item for item, _ in model.recommend("one", 5)} == {"b", "c"}
    assert np.isfinite(model.fitted.arrays["users"]).all()
    for bad in (["a"], ["a", "b"]):
        with pytest.raises(ValueError, match="expected some to learn from"):
            small(kind).fit(Interactions.from_ids(["u"] * len(bad), bad))
    with pytest.raises(ValueError, match="max_length"):
        small(kind, max_length=0).fit(DATA)
    with pytest.raises(ValueError, match="loss"):
        small(kind, loss="square").fit(DATA)


@pytest.mark.parametrize("kind", MODELS)
def test_equal_seeds_give_equal_bits(kind: str) -> None:
    first, second = (small(kind).fit(DATA).fitted.arrays for _ in range(2))
    assert first.keys() == second.keys()
    for name, array in first.items():
        np.testing.assert_array_equal(array, second[name])


def test_blocks_of_attention() -> None:
    """What comes later changes no earlier state, with one block and with two."""
    for blocks in (1, 2):
        model = small("SASRec", epochs=2, blocks=blocks).fit(DATA)
        arrays = model.fitted.arrays
        vectors = arrays["items"][[1, 2, 3, 4]][:, None]
        short = model._encode(vectors[:2], arrays)
        states = (sasrec.of_one if blocks == 1 else sasrec.of_two)(
            vectors[:, 0], *(arrays[name] for name in ("kept", "weights", "hidden", "decay"))
        )
        np.testing.assert_allclose(states[1], short[0], rtol=1e-4, atol=1e-5)
        assert len(arrays["weights"]) == blocks
    with pytest.raises(ValueError, match="blocks"):
        SASRec(blocks=3).fit(DATA)


def scaled(vector: Any) -> Any:
    """A vector with mean 0 and variance 1."""
    return (vector - vector.mean()) / np.sqrt(vector.var() + 1e-6)


def test_attention_by_hand() -> None:
    """A block, one pair of places at a time."""
    rng = np.random.default_rng(6)
    n, d = 5, 3
    vectors, decay = rng.normal(size=(n, d)), 0.7
    weights, hidden = rng.normal(size=(3, d, d)), rng.normal(size=(2, d, d))
    scale = 0.04 / np.sqrt(d)
    found = sasrec.block(vectors, weights / scale, hidden / scale, decay)
    rows = [scaled(vector) for vector in vectors]
    for i in range(n):
        shares = np.array(
            [
                np.exp((rows[i] @ weights[0]) @ (rows[j] @ weights[1]) / np.sqrt(d))
                * sigmoid(decay) ** (i - j)
                for j in range(i + 1)
            ]
        )
        shares /= shares.sum()
        seen = vectors[i] + sum(s * rows[j] @ weights[2] for j, s in enumerate(shares))
        mine = seen + np.maximum(scaled(seen) @ hidden[0], 0.0) @ hidden[1]
        np.testing.assert_allclose(found[i], mine, rtol=1e-9)


def new_arrays(model: Any, rng: np.random.Generator) -> dict[str, Any]:
    """The parameters of a model that has learnt nothing, beside those of items."""
    sizes = {"factors": model.factors}
    return {
        name: model._new(name, tuple(sizes.get(axis, axis) for axis in kind.shape), rng)
        for name, kind in model._parameter_types().items()
    }


@pytest.mark.parametrize("kind", MODELS)
def test_new_models_are_averages(kind: str) -> None:
    """Of the vectors before: the last one has half of the weight, the one before a quarter."""
    rng = np.random.default_rng(7)
    model = small(kind, factors=8)
    vectors = 0.01 * rng.normal(size=(6, 8))
    state = model._encode(vectors[:, None], new_arrays(model, rng))[0]
    shares = 0.5 ** np.arange(6, 0, -1)
    exact = kind in ("EWMA", "SASRec")
    if exact:
        shares[0] *= 2.0  # the first vector is the first state
    average = shares @ vectors
    tolerance = 1e-6 if exact else 0.25 * abs(average).max()
    np.testing.assert_allclose(state, average, atol=tolerance)
    if not exact:
        cosine = state @ average / np.linalg.norm(state) / np.linalg.norm(average)
        assert cosine > 0.98


@pytest.mark.parametrize("rate", [0.25, 0.5, 0.9])
def test_dropout_leaves_scores_the_same_on_average(rate: float) -> None:
    """The same numbers of all states are 0, and the others larger by as much."""
    rng = np.random.default_rng(8)
    draws = rng.integers(0, 1000, 20_000)
    states = rng.normal(size=(3, len(draws)))
    found = dropped(states, draws, factors_of(rate))
    gone = draws < 1000 * rate
    assert not found[:, gone].any()
    np.testing.assert_allclose(found[:, ~gone], states[:, ~gone] / (1.0 - rate), rtol=1e-6)
    assert gone.mean() == pytest.approx(rate, abs=0.02)


@pytest.mark.parametrize("kind", MODELS)
def test_dropout_changes_training_and_not_states(kind: str) -> None:
    without, with_it = (small(kind, dropout=rate, epochs=2).fit(DATA) for rate in (0.0, 0.5))
    assert (without.fitted.arrays["items"] != with_it.fitted.arrays["items"]).any()
    history = ["item-1", "item-2", "item-3"]
    first, again = (with_it.fold_in(history).query for _ in range(2))
    np.testing.assert_array_equal(first, again)
    for bad in (-0.1, 1.0, float("nan")):
        with pytest.raises(ValueError, match="dropout"):
            small(kind, dropout=bad).fit(DATA)


def test_initialisers() -> None:
    rng = np.random.default_rng(0)
    wide = nn.xavier((400, 200), rng)
    assert wide.dtype == np.float32
    assert abs(wide).max() <= np.sqrt(6 / 600)
    assert wide.std() == pytest.approx(np.sqrt(2 / 600), rel=0.02)
    assert nn.he((400, 200), rng).std() == pytest.approx(np.sqrt(2 / 400), rel=0.02)
    assert nn.normal(10_000, 0.5, rng).std() == pytest.approx(0.5, rel=0.05)
    assert abs(nn.uniform(1000, 0.5, rng)).max() <= 0.5
    for shape in ((), (0, 2), 0):
        with pytest.raises(ValueError, match="shape"):
            nn.xavier(shape, rng)


@pytest.mark.parametrize("kind", MODELS)
def test_states_of_many_users_are_computed_by_parts(
    kind: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    model = small(kind).fit(DATA)
    encoded = []

    def encode(self: Any, vectors: Any, arrays: Any) -> Any:
        encoded.append(max(vectors.size, vectors.shape[1] * vectors.shape[0] ** 2))
        return of_all(self, vectors, arrays)

    of_all = MODELS[kind]._encode
    monkeypatch.setattr(MODELS[kind], "_encode", encode)
    rng = np.random.default_rng(2)
    lengths = rng.integers(0, 60, 5000)
    offsets = np.append(0, np.cumsum(lengths))
    histories = wy.Ragged(rng.integers(0, N_ITEMS, offsets[-1]), offsets)
    monkeypatch.setattr(sequence_model, "ENCODED_AT_ONCE", 20_000)
    found = model._states(histories, model.fitted.arrays)
    assert max(encoded) <= 20_000 < sum(encoded)
    for user in (0, 17, 4999):
        alone = model._states(histories[user : user + 1], model.fitted.arrays)
        np.testing.assert_allclose(found[user], alone[0], rtol=1e-4, atol=1e-6)
