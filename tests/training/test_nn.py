"""Layers, attention, sequences, clipping: by hand, by differences, trained, at special points."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from conftest import numeric_gradient

import wyrmling as wy
from wyrmling import nn

DRAWS = np.array([[0, 999, 300], [299, 500, 7]])
IDS = np.array([[3, 0, 1], [0, 0, 2]])

# A function of arrays, and their shapes. Sequences are (t, d) and (n, t, d).
CASES: dict[str, tuple[Callable[..., Any], list[tuple[int, ...]]]] = {
    "linear": (nn.linear, [(2, 4, 3), (3, 5), (5,)]),
    "linear without bias": (nn.linear, [(3,), (3, 5)]),
    "embedding": (lambda table: nn.embedding(table, IDS), [(4, 3)]),
    "embedding, padded": (lambda table: nn.embedding(table, IDS, padding=0), [(4, 3)]),
    "layer_norm": (nn.layer_norm, [(2, 4, 5), (5,), (5,)]),
    "layer_norm alone": (nn.layer_norm, [(5,)]),
    "dropout": (lambda x: nn.dropout(x, DRAWS, 0.3), [(2, 3)]),
    "attention": (nn.attention, [(4, 3), (5, 3), (5, 2)]),
    "attention of one query": (nn.attention, [(3,), (5, 3), (5, 2)]),
    "attention, causal": (lambda x, v: nn.attention(x, x, v, nn.causal(x)), [(2, 4, 3), (2, 4, 2)]),
    "attention, biased": (
        lambda q, k, v, bias: nn.attention(q, k, v, bias=bias),
        [(2, 3), (4, 3), (4, 5), (2, 4)],
    ),
    "gru_states": (nn.gru_states, [(4, 3), (3, 6), (2, 6), (6,)]),
    "gru_states of many": (nn.gru_states, [(2, 4, 3), (3, 6), (2, 6), (6,)]),
    "lstm_states": (nn.lstm_states, [(4, 3), (3, 8), (2, 8), (8,)]),
    "lstm_states, coupled": (
        lambda *given: nn.lstm_states(*given, coupled=True),
        [(2, 4, 3), (3, 6), (2, 6), (6,)],
    ),
    "one step": (nn.gru_states, [(1, 3), (3, 6), (2, 6), (6,)]),
}


def arrays_of(name: str, dtype: Any = np.float64) -> list[Any]:
    rng = np.random.default_rng(len(name))
    return [rng.normal(size=shape).astype(dtype) for shape in CASES[name][1]]


@pytest.mark.parametrize("mode", ["source", "auto", "trace"])
@pytest.mark.parametrize("name", CASES)
def test_gradients_are_differences(name: str, mode: str) -> None:
    function, arrays = CASES[name][0], arrays_of(name)
    weights = np.random.default_rng(1).normal(size=np.shape(function(*arrays))[-1])

    def weighted(*given: Any) -> Any:
        return (np.sin(3.0 * function(*given)) * weights).sum()

    places = tuple(range(len(arrays)))
    found = wy.grad(weighted, argnums=places, mode=mode)(*arrays)
    for place in places:
        expected = numeric_gradient(weighted, arrays, place)
        np.testing.assert_allclose(found[place], expected, rtol=1e-6, atol=1e-8)


@pytest.mark.parametrize("name", CASES)
def test_element_types_stay(name: str) -> None:
    function = CASES[name][0]
    for dtype in (np.float32, np.float64):
        arrays = arrays_of(name, dtype)
        assert function(*arrays).dtype == dtype
        gradient = wy.grad(lambda x, *rest: function(x, *rest).sum())(*arrays)
        assert gradient.dtype == dtype
        parameters = [wy.Parameter(array) for array in arrays]
        found = function(*parameters)
        assert found.dtype == dtype
        np.testing.assert_allclose(found.value, function(*arrays), rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("coupled", [False, True])
def test_sequences_are_cells_one_by_one(coupled: bool) -> None:
    rng = np.random.default_rng(3)
    vectors, h = rng.normal(size=(2, 5, 3)), 2
    gates = 3 if coupled else 4
    weights = [rng.normal(size=shape) for shape in [(3, gates * h), (h, gates * h), (gates * h,)]]
    found = nn.lstm_states(vectors, *weights, coupled=coupled)
    for n, sequence in enumerate(vectors):
        np.testing.assert_allclose(found[n], nn.lstm_states(sequence, *weights, coupled=coupled))
        state = memory = np.zeros(h)
        for t, vector in enumerate(sequence):
            state, memory = nn.lstm(state, memory, vector, *weights, coupled=coupled)
            np.testing.assert_allclose(found[n, t], state)
    if coupled:
        found = nn.gru_states(vectors, *weights)
        for n, sequence in enumerate(vectors):
            state = np.zeros(h)
            for t, vector in enumerate(sequence):
                state = nn.gru(state, vector, *weights)
                np.testing.assert_allclose(found[n, t], state)


def test_a_coupled_memory_forgets_what_it_learns() -> None:
    """By hand: i = 1/2, so the memory is the mean of itself and of the new content."""
    zeros = np.zeros((1, 3))
    weights = zeros, zeros, np.array([0.0, 0.0, 0.7])
    state, memory = nn.lstm(np.zeros(1), np.array([3.0]), np.ones(1), *weights, coupled=True)
    assert memory[0] == pytest.approx((3.0 + np.tanh(0.7)) / 2)
    assert state[0] == pytest.approx(np.tanh(memory[0]) / 2)
    for _ in range(200):
        state, memory = nn.lstm(state, memory, np.ones(1), *weights, coupled=True)
    assert memory[0] == pytest.approx(np.tanh(0.7)), "it stays between the contents"


def test_attention_by_hand() -> None:
    rng = np.random.default_rng(4)
    queries, keys, values = (rng.normal(size=shape) for shape in [(2, 3), (4, 3), (4, 5)])
    mask = np.array([[True, False, True, True], [False, True, False, False]])
    bias = rng.normal(size=(2, 4))
    found = nn.attention(queries, keys, values, mask, bias=bias)
    for row in range(2):
        scores = keys @ queries[row] / np.sqrt(3) + bias[row]
        odds = np.where(mask[row], np.exp(scores), 0.0)
        expected = sum(odds[k] * values[k] for k in range(4)) / sum(odds)
        np.testing.assert_allclose(found[row], expected)
    np.testing.assert_array_equal(found[1], values[1])


def test_special_points_of_attention() -> None:
    rows, values = np.eye(3), np.arange(6.0).reshape(3, 2)
    # Large logits choose one, without an overflow, and have a gradient of 0.
    np.testing.assert_array_equal(nn.attention(1e200 * rows, 1e100 * rows, values), values)
    gradient = wy.grad(lambda q: nn.attention(q, 1e4 * rows, values).sum())(1e4 * rows)
    np.testing.assert_array_equal(gradient, 0.0)
    # Whoever may look at nothing gets the mean, and derivatives that are finite.
    nothing = np.zeros((3, 3), bool)
    np.testing.assert_allclose(nn.attention(rows, rows, values, nothing), np.full((3, 2), [2, 3]))
    for by in range(3):
        gradient = wy.grad(lambda *x: nn.attention(*x, nothing).sum(), argnums=by)(
            rows, rows, values
        )
        np.testing.assert_allclose(gradient, 1.0 if by == 2 else 0.0)
    # What comes later changes nothing that was before.
    x = np.random.default_rng(5).normal(size=(4, 3))
    first = nn.attention(x[:2], x[:2], x[:2], nn.causal(x[:2]))
    np.testing.assert_allclose(nn.attention(x, x, x, nn.causal(x))[:2], first)
    np.testing.assert_array_equal(nn.attention(x[:1], x[:1], x[:1], nn.causal(x[:1])), x[:1])
    np.testing.assert_array_equal(nn.causal(x), np.tri(4, dtype=bool))


def test_special_points_of_cells() -> None:
    """Gates that are shut or open have derivatives of 0, and nothing overflows."""
    ones = np.ones((1, 3), np.float32)
    for size in (200.0, -200.0, 1e30, -1e30):
        bias = np.full(3, size, np.float32)
        with np.errstate(all="raise", under="ignore"):
            states = nn.gru_states(np.zeros((2, 1), np.float32), ones, ones, bias)
        assert np.isfinite(states).all()

        def total(bias: Any) -> Any:
            return nn.gru_states(0 * ones[:, :1], ones, ones, bias).sum()

        for mode in ("source", "trace"):
            assert np.isfinite(wy.grad(total, mode=mode)(bias)).all()
    for states, count in ((nn.gru_states, 3), (nn.lstm_states, 4)):
        wide = np.ones((1, count))
        with pytest.raises(IndexError):
            states(np.zeros((0, 1)), wide, wide, np.zeros(count))
        other = np.ones((1, count + 1))
        with pytest.raises(ValueError, match=rf"of_state has shape \(1, {count + 1}\)"):
            states(np.zeros((2, 1)), other, other, np.zeros(count + 1))


def test_layer_norm_at_special_points() -> None:
    np.testing.assert_array_equal(nn.layer_norm(np.full((2, 3), 7.0)), 0.0)
    np.testing.assert_array_equal(nn.layer_norm(np.array([[4.0]])), 0.0)
    assert np.isfinite(wy.grad(lambda x: nn.layer_norm(x)[0])(np.full(3, 7.0))).all()
    found = nn.layer_norm(np.random.default_rng(6).normal(3.0, 5.0, (4, 1000)))
    np.testing.assert_allclose(found.mean(axis=1), 0.0, atol=1e-12)
    np.testing.assert_allclose(found.var(axis=1), 1.0, rtol=1e-6)


def test_dropout() -> None:
    rng = np.random.default_rng(7)
    x = rng.normal(size=(200, 300))
    for rate in (0.0, 0.1, 0.5, 0.9):
        found = nn.dropout(x, rng.integers(1000, size=x.shape), rate)
        there = found != 0
        assert there.mean() == pytest.approx(1 - rate, abs=0.01)
        np.testing.assert_allclose(found[there], x[there] / (1 - rate))
    np.testing.assert_array_equal(nn.dropout(x, np.zeros(x.shape, int), 0.0), x)
    # Near 1 nearly nothing is left, a thousand times larger.
    np.testing.assert_allclose(nn.dropout(np.ones(2), np.array([998, 999]), 0.999), [0.0, 1000.0])
    infinite = np.array([np.inf, np.nan])
    np.testing.assert_array_equal(nn.dropout(infinite, np.array([0, 1]), 0.5), 0.0)
    for rate in (1.0, -0.1, 0.9996, np.nan):
        with pytest.raises(ValueError, match="rate is"):
            nn.dropout(x, np.zeros(x.shape, int), rate)
    with pytest.raises(IndexError):
        nn.dropout(np.ones(1), np.array([1000]), 0.5)


def test_clip_by_norm() -> None:
    def loss(tree: Any) -> Any:
        return (tree["w"] ** 2).sum() + 3.0 * tree["rest"][0] ** 2

    tree = {"w": np.array([1.0, -2.0]), "rest": [0.5, None]}
    gradients = wy.grad(loss)(tree)
    norm = np.sqrt(4 + 16 + 9)
    found = nn.clip_by_norm(gradients, 0.5)
    np.testing.assert_allclose(found["w"], np.array([2.0, -4.0]) * 0.5 / norm)
    assert found["rest"] == [pytest.approx(3 * 0.5 / norm), None]
    same = nn.clip_by_norm(gradients, 6.0)
    assert same["w"] is gradients["w"]
    # Element types stay, and the squares of large and small numbers do not overflow or vanish.
    for scale in (1e30, 1e-30):
        clipped = nn.clip_by_norm(np.array([3.0, 4.0], np.float32) * np.float32(scale), 1e-35)
        assert clipped.dtype == np.float32
        np.testing.assert_allclose(clipped / np.float32(1e-35), [0.6, 0.8], rtol=1e-2)
    np.testing.assert_allclose(nn.clip_by_norm(np.array([3e200, 4e200]), 1.0), [0.6, 0.8])
    assert isinstance(nn.clip_by_norm(np.float32(4), 1.0), np.float32)


def test_special_gradients_to_clip() -> None:
    for zero in (np.zeros(3), 0.0, np.zeros((0, 2)), [], None):
        assert nn.clip_by_norm(zero, 1.0) is zero or nn.clip_by_norm(zero, 1.0) == zero
    for bad in (np.inf, -np.inf, np.nan):
        with pytest.raises(FloatingPointError, match=r"gradients\['w'\] has an infinity or NaN"):
            nn.clip_by_norm({"w": np.array([1.0, bad])}, 1.0)
    for most in (0.0, -1.0, np.inf, np.nan):
        with pytest.raises(ValueError, match="most is"):
            nn.clip_by_norm(np.ones(2), most)
    for most in (True, "1", None):
        with pytest.raises(TypeError, match="most is"):
            nn.clip_by_norm(np.ones(2), most)
    for gradients in ("one", [np.ones(2, int)], {"w": object()}):
        with pytest.raises(TypeError, match="expected floating-point numbers"):
            nn.clip_by_norm(gradients, 1.0)


def test_padding_is_in_the_table() -> None:
    table = np.ones((3, 2))
    for padding in (-1, 3):
        with pytest.raises(ValueError, match=f"padding is {padding}, expected"):
            nn.embedding(table, np.array([0]), padding=padding)
    with pytest.raises(IndexError):
        nn.embedding(table, np.array([3]), padding=0)


# Training.


def fitted(
    loss: Callable[..., Any],
    columns: Any,
    weights: dict[str, Any],
    sample: Any = None,
    **options: Any,
) -> Any:
    """Trains; the parameters' values and what was lost in each epoch."""
    parameters = {name: wy.Parameter(array) for name, array in weights.items()}
    options = {"optimizer": wy.Adam(lr=0.02), "batch_size": 8, "epochs": 40, "seed": 1} | options
    history = wy.fit(loss, columns, parameters=parameters, sample=sample or {}, **options)
    return {name: one.value for name, one in parameters.items()}, history.loss


def test_a_regression_finds_its_weights() -> None:
    rng = np.random.default_rng(8)
    weights, bias = rng.normal(size=(3, 2)), rng.normal(size=2)
    x = rng.normal(size=(300, 3))

    def loss(w: Any, b: Any, x: Any, y: Any) -> Any:
        return ((nn.linear(x, w, b) - y) ** 2).sum()

    start = {"w": np.zeros((3, 2)), "b": np.zeros(2)}
    found, _ = fitted(loss, {"x": x, "y": x @ weights + bias}, start)
    np.testing.assert_allclose(found["w"], weights, atol=1e-3)
    np.testing.assert_allclose(found["b"], bias, atol=1e-3)


def first_token(layer: Callable[..., Any], gates: int) -> float:
    """Trains a layer to say, after sequences of 1 to 6 numbers, whether the first was above 0; the
    share that is right of others.
    """
    rng = np.random.default_rng(9)
    sequences = [rng.choice([-1.0, 1.0], size=(length, 1)) for length in rng.integers(1, 7, 800)]
    flat = wy.Ragged.from_list([sequence[:, 0] for sequence in sequences])
    first = np.array([sequence[0, 0] for sequence in sequences])
    h = 6

    def loss(v: Any, u: Any, b: Any, out: Any, xs: Any, y: Any) -> Any:
        return wy.softplus(-y * (layer(xs[:, None], v, u, b)[-1] @ out))

    start = {
        "v": nn.xavier((1, gates * h), rng),
        "u": nn.xavier((h, gates * h), rng),
        "b": np.zeros(gates * h, np.float32),
        "out": nn.xavier(h, rng),
    }
    columns = {"xs": flat[:600], "y": first[:600].astype(np.float32)}
    found, _ = fitted(loss, columns, start, epochs=30)
    weights = found["v"], found["u"], found["b"]
    said = [layer(sequence, *weights)[-1] @ found["out"] for sequence in sequences[600:]]
    return float(np.mean(np.sign(said) == first[600:]))


def test_recurrent_layers_remember_the_first_token() -> None:
    assert first_token(nn.gru_states, 3) > 0.97
    assert first_token(nn.lstm_states, 4) > 0.97
    assert first_token(lambda *given: nn.lstm_states(*given, coupled=True), 3) > 0.97


def test_attention_learns_to_copy_what_is_asked_for() -> None:
    """The value whose key is the query, of keys that are random ids."""
    rng = np.random.default_rng(10)
    keys = np.array([rng.permutation(8)[:4] for _ in range(600)])
    values, asked = rng.normal(size=(600, 4)), rng.integers(0, 4, 600)

    def loss(table: Any, query: Any, keys: Any, values: Any, y: Any) -> Any:
        seen = nn.attention(table[query], nn.embedding(table, keys, padding=8), values[:, None])
        return ((seen - y) ** 2).sum()

    rows = np.arange(600)
    columns = {"query": keys[rows, asked], "keys": keys, "values": values, "y": values[rows, asked]}
    found, losses = fitted(loss, columns, {"table": rng.normal(size=(9, 6))}, epochs=60)
    assert losses[-1] < 0.02 * losses[0]
    one = nn.attention(
        found["table"][3], found["table"][[5, 3, 1]], np.array([[1.0], [2.0], [3.0]])
    )
    assert one[0] == pytest.approx(2.0, abs=0.15)


def test_dropout_is_drawn_anew_for_each_sample() -> None:
    """The mean of the squares is that of numbers of which a quarter is dropped."""

    def loss(w: Any, xs: Any, draws: Any) -> Any:
        return (nn.dropout(w * xs[:, None], draws, 0.25) ** 2).sum()

    lengths = np.random.default_rng(11).integers(1, 5, 500)
    xs = wy.Ragged.from_list([np.ones(length) for length in lengths])
    _, losses = fitted(
        loss,
        {"xs": xs},
        {"w": np.array([2.0, 2.0])},
        {"draws": wy.sampling.Uniform(1000, shape=("xs", 2))},
        optimizer=wy.SGD(lr=1e-12),
        epochs=3,
    )
    # E[(k w / 0.75)²] is w² / 0.75, and there are two for each number.
    expected = 2 * lengths.sum() * 4.0 / 0.75
    assert len(set(losses)) == 3
    np.testing.assert_allclose(losses, expected, rtol=0.05)


def test_a_layer_over_sequences_of_any_length_is_trained_by_its_gradient() -> None:
    """A step of `fit` is that of differences, also where the loss asks for lengths."""
    rng = np.random.default_rng(12)
    table, v, u, b = (rng.normal(size=shape) for shape in [(7, 3), (3, 6), (2, 6), (6,)])
    out = rng.normal(size=(7, 2))
    histories = [np.array(one) for one in ([1, 2], [3, 4, 5, 6, 0, 1, 2, 2, 1, 5], [6, 6, 1])]

    def loss(table: Any, v: Any, u: Any, b: Any, out: Any, history: Any) -> Any:
        states = nn.gru_states(table[history[:-1]], v, u, b)
        score = (states * out[history[1:]]).sum(1)
        every = wy.logsumexp(states @ out.T, axis=1)
        same = wy.cross_entropy(states @ out.T, history[1:])
        return (every - score + 2.0 * same).sum() / len(table)

    arrays = [table, v, u, b, out]
    names = ["table", "v", "u", "b", "out"]
    step = {"optimizer": wy.SGD(lr=1.0), "epochs": 1, "batch_size": 3}
    found, losses = fitted(
        loss, {"history": histories}, dict(zip(names, arrays, strict=True)), **step
    )

    def total(*given: Any) -> Any:
        return sum(loss(*given, history) for history in histories)

    assert losses[0] == pytest.approx(total(*arrays))
    for place, name in enumerate(names):
        expected = numeric_gradient(total, arrays, place)
        np.testing.assert_allclose(arrays[place] - found[name], expected, rtol=1e-6, atol=1e-8)


def test_averages_of_several_sequences_are_those_of_each() -> None:
    rng = np.random.default_rng(5)
    vectors, decay = rng.normal(size=(3, 4, 2)), rng.normal(size=2)
    for states, sequence in zip(nn.ewma_states(vectors, decay), vectors, strict=True):
        state = sequence[0]
        np.testing.assert_array_equal(states[0], state)
        for found, vector in zip(states[1:], sequence[1:], strict=True):
            state = nn.ewma(state, vector, decay)
            np.testing.assert_allclose(found, state)


@pytest.mark.parametrize("padding", [0.5, "a", np.nan, -1, 4])
def test_padding_that_is_no_id_is_refused(padding: Any) -> None:
    with pytest.raises(ValueError, match=r"padding is .*, expected at least 0 and less than 4"):
        nn.embedding(np.ones((4, 2)), IDS, padding=padding)


def padded(table: Any, word: Any) -> Any:
    return nn.embedding(table, word, padding=0).sum()


def test_a_single_id_may_be_padding_in_fit() -> None:
    table = wy.Parameter(np.arange(1.0, 7.0).reshape(3, 2))
    columns = {"word": np.array([0, 2, 0, 1], np.uint32)}
    wy.fit(padded, columns, parameters={"table": table}, optimizer=wy.SGD(lr=0.5), batch_size=4)
    # The gradients of a batch are added up, and a row that was looked up has one of 1.
    np.testing.assert_allclose(table.value, [[1.0, 2.0], [2.5, 3.5], [4.5, 5.5]])


@pytest.mark.parametrize("of_vector", [np.ones((2, 6)), np.ones((2, 1))])
def test_cells_of_one_number_are_not_broadcast(of_vector: np.ndarray[Any, Any]) -> None:
    one, vector = np.zeros(1), np.ones(2)
    bias = np.zeros(of_vector.shape[1])
    with pytest.raises(ValueError, match=r"of_vector and bias give .* numbers, expected 3"):
        nn.gru(one, vector, of_vector, np.ones((1, 3)), bias)
    with pytest.raises(ValueError, match=r"of_vector and bias give .* numbers, expected 3"):
        nn.lstm(one, one, vector, of_vector, np.ones((1, 3)), bias, coupled=True)
    with pytest.raises(ValueError, match=r"memory has shape \(1,\), expected that of state"):
        nn.lstm(vector, one, vector, np.ones((2, 8)), np.ones((2, 8)), np.ones(8))


def test_dropout_keeps_float32_whatever_integer_says_how_many() -> None:
    found = nn.dropout(np.ones(2, np.float32), np.array([0, 3]), 0.5, np.int64(4))  # type: ignore[arg-type]
    assert found.dtype == np.float32
    np.testing.assert_array_equal(found, [0.0, 2.0])


@pytest.mark.parametrize("padding", [True, False, np.True_])
def test_a_truth_value_is_no_id_of_padding(padding: Any) -> None:
    with pytest.raises(TypeError, match=f"padding is {padding}, expected an integer"):
        nn.embedding(np.ones((3, 2)), np.array([0, 1]), padding=padding)


def test_attention_of_vectors_without_length_is_the_mean_of_all_values() -> None:
    values = np.array([[1.0, 2.0], [5.0, 4.0]])
    found = nn.attention(np.ones((3, 0)), np.ones((2, 0)), values)
    np.testing.assert_allclose(found, np.tile([3.0, 3.0], (3, 1)))


@pytest.mark.parametrize("states", [nn.lstm_states, nn.gru_states])
def test_states_may_have_a_gradient_by_their_own_weights_alone(states: Any) -> None:
    parts = 4 if states is nn.lstm_states else 3
    rng = np.random.default_rng(4)
    vectors, of_vector = rng.normal(size=(5, 2)), rng.normal(size=(2, parts * 3))
    of_state, bias = rng.normal(size=(3, parts * 3)), rng.normal(size=parts * 3)

    def total(weights: Any) -> Any:
        return np.sum(states(vectors, of_vector, weights, bias))

    found = {mode: wy.grad(total, mode=mode)(of_state) for mode in ("trace", "source")}
    parameter = wy.Parameter(of_state)
    loss = states(vectors, of_vector, parameter, bias)
    np.sum(loss).backward()
    step = np.zeros_like(of_state)
    step[1, 2] = 1e-6
    difference = (total(of_state + step) - total(of_state - step)) / 2e-6
    for gradient in (*found.values(), np.asarray(parameter.grad)):
        assert gradient[1, 2] == pytest.approx(difference, rel=1e-6)
        np.testing.assert_allclose(gradient, found["trace"], rtol=1e-10)
    # The element type is that of all operands.
    single = vectors.astype(np.float32), of_vector.astype(np.float32)
    result = states(*single, of_state, bias.astype(np.float32))
    assert result.dtype == np.float64
    assert states(*single, of_state.astype(np.float32), bias.astype(np.float32)).dtype == np.float32


@pytest.mark.parametrize("make", [nn.xavier, nn.he, lambda s, r: nn.uniform(s, 0.1, r)])
@pytest.mark.parametrize("source", [0, None, "a", np.random], ids=repr)
def test_initialisers_say_what_source_of_numbers_they_need(make, source):
    with pytest.raises(TypeError, match=r"rng is .*, expected numpy.random.default_rng\(seed\)"):
        make((2, 3), source)


@pytest.mark.parametrize("size", [-1.0, np.nan, np.inf, 1e39, "a", None])
def test_initialisers_name_a_bad_size(size, rng):
    kind = ValueError if isinstance(size, float) else TypeError
    for make, name in ((nn.normal, "scale"), (nn.uniform, "bound")):
        with pytest.raises(kind, match=rf"{name} is {re.escape(repr(size))}, expected"):
            make(3, size, rng)
    assert nn.xavier(np.int64(3), rng).shape == (3,)


def test_layer_norm_of_a_list_is_that_of_its_array():
    x = [[1.0, 3.0], [5.0, 2.0]]
    np.testing.assert_array_equal(nn.layer_norm(x), nn.layer_norm(np.array(x)))
    with pytest.raises(ValueError, match="axis"):
        nn.layer_norm(2.0)


def test_lists_are_arrays_or_raise_type_errors():
    queries, keys, values = np.eye(2), np.arange(6.0).reshape(3, 2), np.ones((3, 1))
    lists = [each.tolist() for each in (queries, keys, values)]
    np.testing.assert_array_equal(nn.attention(*lists), nn.attention(queries, keys, values))
    weights = np.ones((2, 8)).tolist()
    with pytest.raises(TypeError, match="unsupported operand"):
        nn.lstm([0.0, 0.0], [0.0, 0.0], [1.0, 2.0], weights, weights, [0.0] * 8)
