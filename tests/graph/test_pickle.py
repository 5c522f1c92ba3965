"""Pickles and copies: what comes back is equal, what was one object is one object, and training
goes on with the same bits."""

import copy
import pickle
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import wyrmling as wy
from wyrmling import _core
from wyrmling.datasets import make_interactions
from wyrmling.evaluation import evaluate
from wyrmling.recommend import BPR

PROTOCOLS = range(pickle.HIGHEST_PROTOCOL + 1)


def through_pickle(thing: Any) -> Any:
    return pickle.loads(pickle.dumps(thing))


WAYS = [through_pickle, copy.deepcopy]

OPTIMIZERS: dict[str, Callable[[], Any]] = {
    "sgd": lambda: wy.SGD(0.03, l2=0.01, clip=5.0),
    "momentum": lambda: wy.SGD(0.03, momentum=0.9),
    "adagrad": lambda: wy.Adagrad(0.1, eps=1e-9, clip=3.0),
    "adam": lambda: wy.Adam(0.02, beta1=0.8, beta2=0.95, eps=1e-7, l2=0.001),
}


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("shape", [(), (3,), (4, 2), (0, 3)])
@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_parameters_come_back(dtype: type, shape: tuple[int, ...], protocol: int) -> None:
    value = np.random.default_rng(0).normal(size=shape).astype(dtype)
    p = wy.Parameter(value, name="weights")
    back = pickle.loads(pickle.dumps(p, protocol))
    assert type(back) is wy.Parameter
    assert back is not p
    assert (back.name, back.dtype, back.shape) == ("weights", p.dtype, shape)
    np.testing.assert_array_equal(back.value, value)
    assert back.grad is None
    # It has numbers of its own.
    p.value = value + 1
    np.testing.assert_array_equal(back.value, value)


@pytest.mark.parametrize("way", [*WAYS, copy.copy])
def test_gradients_come_with_their_parameters(way: Callable[[Any], Any]) -> None:
    dense, rows, graph = (wy.Parameter(np.ones((4, 2), np.float32)) for _ in range(3))
    ((dense * 3).sum() + rows[[1, 3, 1]].sum()).backward()
    (graph * graph).sum().backward(create_graph=True)
    np.testing.assert_array_equal(way(dense).grad, dense.grad)
    back = way(rows).grad
    assert isinstance(back, wy.SparseGrad)
    np.testing.assert_array_equal(back.indices, rows.grad.indices)
    np.testing.assert_array_equal(back.values, rows.grad.values)
    np.testing.assert_array_equal(way(graph).grad, graph.grad.value)
    # The gradient counts on from there, and does not for the original.
    twin = way(dense)
    (twin * 3).sum().backward()
    np.testing.assert_array_equal(twin.grad, np.full((4, 2), 6))
    np.testing.assert_array_equal(dense.grad, np.full((4, 2), 3))


@pytest.mark.parametrize("way", WAYS)
def test_what_was_one_object_is_one_object(way: Callable[[Any], Any]) -> None:
    p, q = wy.Parameter([1.0, 2.0]), wy.Parameter([[3.0]])
    optimizer = wy.Adam()
    (p.sum() * q.sum()).backward()
    optimizer.step([p, q])
    back = way({"optimizer": optimizer, "list": [p, q, p], "p": p})
    assert back["list"][0] is back["list"][2] is back["p"]
    first, second, _ = back["list"]
    parameters = {id(parameter) for parameter, _ in back["optimizer"].__reduce__()[2]}
    assert parameters == {id(first), id(second)}
    # A graph of the copies knows them.
    assert {id(x) for x in (first.sum() * second.sum()).parameters()} == {id(first), id(second)}


class Regression:
    """A model as people write one: parameters, an optimizer, and a loss built anew."""

    def __init__(self, optimizer: Any) -> None:
        rng = np.random.default_rng(1)
        self.optimizer = optimizer
        self.table = wy.Parameter(rng.normal(size=(6, 3)), name="table")
        self.bias = wy.Parameter(np.zeros(6, np.float32), name="bias")

    def loss(self) -> tuple[Any, Any, Any]:
        i, y = wy.IndexInput([0]), wy.Input([0.0])
        error = self.table[i].sum(1) + self.bias[i] - y
        return (error * error).sum(), i, y

    def fit(self, seed: int, threads: int = 1) -> None:
        rng = np.random.default_rng(0)
        loss, i, y = self.loss()
        columns = {i: rng.integers(0, 5, 40), y: rng.normal(size=40)}
        wy.fit(
            loss,
            columns,
            optimizer=self.optimizer,
            epochs=2,
            batch_size=8,
            seed=seed,
            threads=threads,
            deterministic=threads > 1,
        )

    def step(self) -> None:
        loss, i, y = self.loss()
        i.value, y.value = [1, 4, 1], [0.5, -1.0, 2.0]
        for parameter in (self.table, self.bias):
            parameter.zero_grad()
        loss.backward()
        self.optimizer.step([self.table, self.bias])

    def numbers(self) -> list[bytes]:
        return [self.table.value.tobytes(), self.bias.value.tobytes()]


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("name", OPTIMIZERS)
def test_training_goes_on_with_the_same_bits(name: str, way: Callable[[Any], Any]) -> None:
    def begin() -> Regression:
        model = Regression(OPTIMIZERS[name]())
        model.fit(seed=1)
        model.step()
        return model

    def go_on(model: Regression) -> list[bytes]:
        model.step()
        model.fit(seed=2)
        model.fit(seed=3, threads=2)
        model.step()
        return model.numbers()

    model = begin()
    twin = way(model)
    assert twin.numbers() == model.numbers()
    assert repr(twin.optimizer) == repr(model.optimizer)
    expected = go_on(begin())
    assert go_on(twin) == expected
    # The original did not notice.
    assert go_on(model) == expected
    # That the state was lost would be seen.
    fresh = begin()
    fresh.optimizer = OPTIMIZERS[name]()
    assert (go_on(fresh) == expected) == (name == "sgd")


def test_state_is_pickled_between_epochs() -> None:
    model, pickles = Regression(wy.Adam()), []
    loss, i, y = model.loss()
    columns = {i: np.arange(6), y: np.ones(6)}
    wy.fit(
        loss,
        columns,
        optimizer=model.optimizer,
        epochs=3,
        threads=1,
        callback=lambda epoch, history: pickles.append(pickle.dumps((model, history))),
    )
    back, history = zip(*map(pickle.loads, pickles), strict=True)
    assert [len(h) for h in history] == [1, 2, 3]
    assert back[-1].numbers() == model.numbers() != back[0].numbers()
    model.step()
    back[-1].step()
    assert back[-1].numbers() == model.numbers()


def test_a_shallow_copy_of_an_optimizer_has_state_of_its_own() -> None:
    model = Regression(wy.SGD(0.1, momentum=0.9))
    model.step()
    twin = copy.copy(model.optimizer)
    state = dict(twin.__reduce__()[2])
    assert set(state) == {model.table, model.bias}
    model.step()
    for parameter, [velocity] in twin.__reduce__()[2]:
        np.testing.assert_array_equal(velocity, state[parameter][0])


def test_state_that_does_not_fit_is_refused() -> None:
    p = wy.Parameter(np.ones((2, 3), np.float32))
    optimizer = wy.Adam()
    ok = [np.ones((2, 3), np.float32), np.ones((2, 3), np.float32), np.ones(2, np.float32)]
    optimizer.__setstate__([(p, ok)])
    for bad, error, match in [
        (ok[:2], ValueError, "expected 3 arrays, got 2"),
        ([*ok[:2], np.ones(3, np.float32)], ValueError, r"expected shape \[?\(?2"),
        ([*ok[:2], np.ones(2)], TypeError, "expected float32, got float64"),
    ]:
        with pytest.raises(error, match=match):
            optimizer.__setstate__([(p, bad)])
    with pytest.raises(TypeError, match="expected Parameters"):
        optimizer.__setstate__([(wy.Input([1.0]), ok)])
    [(_, kept)] = optimizer.__reduce__()[2]
    for got, expected in zip(kept, ok, strict=True):
        np.testing.assert_array_equal(got, expected)
    with pytest.raises(ValueError, match="the parameter's shape"):
        p.__setstate__(np.ones(3, np.float32))


@pytest.mark.parametrize("way", [*WAYS, copy.copy])
def test_inputs_come_back(way: Callable[[Any], Any]) -> None:
    for x in (wy.Input(np.ones((2, 1), np.float32), "x"), wy.IndexInput([3, 1], "rows")):
        back = way(x)
        assert type(back) is type(x)
        assert back is not x
        assert (back.name, back.dtype) == (x.name, x.dtype)
        np.testing.assert_array_equal(back.value, x.value)


def drawn(sampler: Any, u: Any, j: Any) -> bytes:
    """What a table looks like after training on the items that are drawn for some users."""
    table, keep = wy.Parameter(np.zeros(7)), wy.Parameter(np.zeros(6))
    loss = (table[j] * table[j] + table[j] + keep[u] * 0.0).sum()
    columns = {u: np.array([0, 5, 1, 0] * 50)}
    optimizer = wy.SGD(0.1)
    settings = {"epochs": 2, "threads": 1, "seed": 5, "batch_size": 10}
    wy.fit(loss, columns, sample={j: sampler}, optimizer=optimizer, **settings)
    return table.value.tobytes()


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("known", [False, True])
@pytest.mark.parametrize("kind", ["uniform", "popularity"])
def test_samplers_draw_the_same(kind: str, known: bool, way: Callable[[Any], Any]) -> None:
    u, j = wy.IndexInput([0]), wy.IndexInput([0])
    named = {"positives": ([0, 0, 5], [1, 2, 0]), "given": u} if known else {}
    if kind == "uniform":
        sampler = wy.sampling.Uniform(7, **named)
    else:
        sampler = wy.sampling.Popularity([3, 0, 1e-9, 1.5, 1e6, 2, 2], 0.6, **named)
    back, back_u, back_j = way((sampler, u, j))
    assert repr(back) == repr(sampler)
    assert back_u is not u
    assert drawn(back, back_u, back_j) == drawn(sampler, u, j)


@pytest.mark.parametrize("way", [*WAYS, copy.copy])
def test_samplers_keep_users_far_beyond_their_number(way: Callable[[Any], Any]) -> None:
    u = wy.IndexInput([0])
    users = np.array([4_000_000_000, 3, 3], np.uint32)
    sampler = wy.sampling.Uniform(7, positives=(users, [1, 2, 0]), given=u)
    _, arguments, named = way(sampler).__reduce__()[1]
    assert arguments == (7,)
    assert (named["given"] is u) == (way is copy.copy)
    pairs = [column.tolist() for column in named["positives"]]
    assert pairs == [[3, 3, 4_000_000_000], [0, 2, 1]]


@pytest.mark.parametrize("way", [*WAYS, copy.copy])
def test_models_and_their_parts_come_back(way: Callable[[Any], Any]) -> None:
    data, test = make_interactions(60, 20, 5).split(0.3)
    model = BPR(factors=3, epochs=2, num_threads=1).fit(data)
    back = way(model)
    assert back.recommend("user-2", 5) == model.recommend("user-2", 5)
    assert dict(evaluate(back, test)) == dict(evaluate(model, test))
    assert back.history.loss == model.history.loss
    assert back.get_params() == model.get_params()
    np.testing.assert_array_equal(way(model.seen).counts, model.seen.counts)
    assert way(data).item_ids == data.item_ids
    assert not way(BPR(factors=3)).is_fitted


@pytest.mark.parametrize("way", [*WAYS, copy.copy])
def test_graphs_and_programs_say_what_to_do_instead(way: Callable[[Any], Any]) -> None:
    p = wy.Parameter([1.0])
    for node in (p * 2.0, wy.Variable(1.0), wy.array([1.0])):
        with pytest.raises(
            TypeError, match=r"cannot be copied or pickled: .*x\.value.*x\.copy\(\)"
        ):
            way(node)
    with pytest.raises(TypeError, match="cannot be copied or pickled: pickle the Parameters"):
        way(wy.freeze((p * p).sum()))
    # A model that holds a graph says so, and does not come back tied to other parameters.
    with pytest.raises(TypeError, match="build its loss again"):
        copy.deepcopy({"p": p, "loss": (p * p).sum()})


def test_every_class_can_be_pickled_or_says_why_not() -> None:
    places = np.array([1, 0, 1], np.uint32), np.array([2, 1, 0], np.uint32)
    matrix = _core.CsrMatrix(*places, np.array([1.0, 2.0, 3.0], np.float32), 3, 4)
    examples: dict[str, Any] = {
        "Parameter": wy.Parameter(1.0),
        "Input": wy.Input(1.0),
        "IndexInput": wy.IndexInput([1]),
        "SparseGrad": wy.SparseGrad([0], [[1.0]], (2, 1)),
        "SGD": wy.SGD(0.1),
        "Adagrad": wy.Adagrad(0.1),
        "Adam": wy.Adam(),
        "Uniform": wy.sampling.Uniform(3),
        "Popularity": wy.sampling.Popularity([1, 2]),
        "InBatch": wy.sampling.InBatch("item", 3, positives=([0], [1]), given="user", shape=2),
        "Custom": wy.sampling.Custom(len, 3, columns=["item"]),
        "History": _core.restored_history([1.0], [0.1], 3),
        "Csr": _core.Csr(np.zeros(1, np.uint32), np.zeros(1, np.uint32), 1, 2),
        "CsrMatrix": matrix,
    }
    builder = _core.IrBuilder("nothing")
    builder.returns([])
    function = builder.finish()
    p = wy.Parameter([[1.0], [2.0]])
    warp = wy.sampling.WARP(p, p)
    refused: dict[str, Any] = {
        "IrBuilder": builder,
        "IrFunction": function,
        "Compiled": function.compile(),
        "Specialization": _core.Specialization(0, (), [], [], None),
        "SpecializationTable": _core.SpecializationTable(),
        "Dispatcher": _core.Dispatcher(len, print),
        "Captured": _core.Captured(np.zeros(2)),
        "Variable": wy.Variable(1.0),
        "Program": wy.freeze(wy.Parameter(1.0) * 2.0),
        "WARP": warp,
        "Dynamic": wy.sampling.Dynamic(p, p),
        "Adaptive": wy.sampling.Adaptive(p, p),
        "Rank": warp.rank,
        "HookHandle": wy.Variable(1.0).register_hook(lambda g: g),
    }
    abstract = {"Optimizer", "Sampler", "ScoredSampler", "Public"}
    classes = {name for name in _core.__all__ if isinstance(getattr(_core, name), type)}
    assert classes == set(examples) | set(refused) | abstract
    for example in examples.values():
        assert repr(through_pickle(example)) == repr(example)
    again = through_pickle(matrix)
    for part in ("shape", "indptr", "indices", "values"):
        np.testing.assert_array_equal(getattr(again, part), getattr(matrix, part))
    for example in refused.values():
        with pytest.raises(TypeError, match="pickle"):
            pickle.dumps(example)
