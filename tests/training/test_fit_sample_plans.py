"""fit of a function without loops over sequences whose lengths occur again: by a plan for each set
of lengths, against gradients that are taken and applied by hand. And indices that a program
computes.
"""

from typing import Any

import numpy as np
import pytest

import wyrmling as wy

ITEMS, WIDTH, LR = 9, 3, 0.05


def loss(E: Any, bias: Any, decay: Any, items: Any, others: Any) -> Any:
    """How much less likely what came next is than something else, by moving averages."""
    states = wy.nn.ewma_states(E[items[:-1]], decay)
    came, other = items[1:], others[1:]
    score = wy.vecdot(states, E[came]) + bias[came]
    return -wy.logsigmoid(score - wy.vecdot(states, E[other]) - bias[other]).sum() * (1.0 / len(E))


def values() -> dict[str, Any]:
    """The parameters before training."""
    drawn = np.random.default_rng(3)
    shapes = {"E": (ITEMS, WIDTH), "bias": (ITEMS,), "decay": (WIDTH,)}
    return {name: drawn.normal(0.0, 0.5, shape) for name, shape in shapes.items()}


def rows(lengths: list[int], seed: int) -> wy.Ragged:
    """Items of sequences of these lengths."""
    drawn = np.random.default_rng(seed)
    return wy.Ragged.from_list([drawn.integers(0, ITEMS, n) for n in lengths])


def by_hand(columns: dict[str, wy.Ragged], starts: dict[str, Any], order: Any) -> dict[str, Any]:
    """Steps of plain gradient descent, by gradients of the eager graph."""
    found = {name: np.array(value) for name, value in starts.items()}
    for k in order:
        parts = [column.values[slice(*column.offsets[k : k + 2])] for column in columns.values()]
        tables = {name: wy.Parameter(value) for name, value in found.items()}
        loss(*tables.values(), *parts).backward()
        for name, table in tables.items():
            gradient = table.grad
            if gradient is not None:
                dense = gradient.to_dense() if hasattr(gradient, "to_dense") else gradient
                found[name] = found[name] - LR * np.asarray(dense)
    return found


@pytest.mark.parametrize(
    "lengths",
    [
        [4] * 12,
        [2, 9, 30, 5] * 8,  # the memory grows with each of the first three
        [30, 2, 5, 9] * 8,
        list(range(2, 14)),  # none occurs again: the function itself runs
    ],
)
def test_each_sample_is_a_step(lengths: list[int]) -> None:
    columns = {"items": rows(lengths, 1), "others": rows(lengths, 2)}
    starts = values()
    # The number of a sample is no array, so that this loss has no plans.
    parameters = {name: wy.Parameter(value) for name, value in starts.items()}
    number = wy.Parameter(np.zeros(len(lengths)))

    def numbered(
        E: Any, bias: Any, decay: Any, number: Any, items: Any, others: Any, k: Any
    ) -> Any:
        return loss(E, bias, decay, items, others) + 0.0 * number[k]

    wy.fit(
        numbered,
        columns | {"k": np.arange(len(lengths))},
        parameters=parameters | {"number": number},
        optimizer=wy.SGD(lr=LR),
        epochs=1,
        batch_size=1,
        seed=4,
    )
    trained = {name: wy.Parameter(value) for name, value in starts.items()}
    history = wy.fit(
        loss,
        columns,
        parameters=trained,
        optimizer=wy.SGD(lr=LR),
        epochs=1,
        batch_size=1,
        seed=4,
    )
    assert np.isfinite(history.loss[0])
    for name, table in trained.items():
        np.testing.assert_allclose(table.value, parameters[name].value, rtol=1e-10, atol=1e-12)
    # One sample alone has one order.
    for k in range(len(lengths)):
        one = {
            name: wy.Ragged.from_list([column.values[slice(*column.offsets[k : k + 2])]] * 4)
            for name, column in columns.items()
        }
        alone = {name: wy.Parameter(value) for name, value in starts.items()}
        wy.fit(
            loss,
            one,
            parameters=alone,
            optimizer=wy.SGD(lr=LR),
            epochs=1,
            batch_size=1,
        )
        for name, value in by_hand(one, starts, [0] * 4).items():
            np.testing.assert_allclose(alone[name].value, value, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("rule", [wy.SGD, wy.Adagrad, wy.Adam])
def test_equal_bits_each_time_and_for_runs_that_go_on(rule: Any) -> None:
    lengths = [5, 2, 8] * 9
    columns = {"items": rows(lengths, 1)}
    sampler = {"others": wy.sampling.Uniform(ITEMS, shape="items")}

    def run(*parts: tuple[int, int]) -> dict[str, Any]:
        tables = {name: wy.Parameter(value) for name, value in values().items()}
        optimizer = rule(lr=0.02)
        for first, epochs in parts:
            wy.fit(
                loss,
                columns,
                sample=sampler,
                parameters=tables,
                optimizer=optimizer,
                epochs=epochs,
                first_epoch=first,
                batch_size=1,
                seed=7,
            )
        return {name: table.value for name, table in tables.items()}

    once, again, parted = run((0, 4)), run((0, 4)), run((0, 1), (1, 4))
    for name, value in once.items():
        assert (value == again[name]).all()
        assert (value == parted[name]).all()


@pytest.mark.parametrize("threads", [2, 3])
def test_workers_in_turn(threads: int) -> None:
    columns = {"items": rows([5, 2, 8] * 9, 1), "others": rows([5, 2, 8] * 9, 2)}
    found = []
    for _ in range(2):
        tables = {name: wy.Parameter(value) for name, value in values().items()}
        wy.fit(
            loss,
            columns,
            parameters=tables,
            optimizer=wy.SGD(lr=LR),
            epochs=3,
            batch_size=1,
            threads=threads,
            deterministic=True,
        )
        found.append({name: table.value for name, table in tables.items()})
    assert all((found[0][name] == found[1][name]).all() for name in found[0])


@pytest.mark.parametrize("wrong", [ITEMS, 2**31 - 1, -1])
def test_an_index_beyond_the_table_ends_the_run(wrong: int) -> None:
    lengths = [4] * 12
    items = rows(lengths, 1)
    spoiled = np.array(items.values, np.int64)
    spoiled[4 * 7 + 2] = wrong
    starts = values()
    tables = {name: wy.Parameter(value) for name, value in starts.items()}
    with pytest.raises(Exception, match=r"sample 7|out of|below 0|index") as caught:
        wy.fit(
            loss,
            {"items": wy.Ragged(spoiled, items.offsets), "others": rows(lengths, 2)},
            parameters=tables,
            optimizer=wy.SGD(lr=LR),
            epochs=2,
            batch_size=1,
        )
    assert isinstance(caught.value, (IndexError, ValueError, RuntimeError))
    assert all(np.isfinite(table.value).all() for table in tables.values())


def test_lengths_that_do_not_fit_say_which_sample() -> None:
    def mean(E: Any, items: Any, weights: Any) -> Any:
        return (wy.vecdot(E[items], E[items]) * weights).sum()

    items = rows([3] * 8, 1)
    weights = [np.ones(3)] * 5 + [np.ones(2)] + [np.ones(3)] * 2
    with pytest.raises(ValueError, match="sample 5"):
        wy.fit(
            mean,
            {"items": items, "weights": weights},
            parameters={"E": wy.Parameter(values()["E"])},
            optimizer=wy.SGD(lr=LR),
            epochs=1,
            batch_size=1,
        )


# Indices that a program computes.


@pytest.mark.parametrize(
    "take",
    [
        lambda i: i[1:],
        lambda i: i[::-1],
        lambda i: np.concatenate([i[2:], i[:1]]),
        lambda i: i.reshape(2, 2),
    ],
)
def test_gradients_by_computed_indices_are_rows(take: Any) -> None:
    table, index = wy.Parameter(values()["E"]), wy.IndexInput([1, 4, 1, 8])
    graph = (table[take(index)] ** 2).sum()
    program = wy.freeze(graph)
    graph.backward()
    gradient = program.value_and_grad({index: [1, 4, 1, 8]})[1][table]
    assert isinstance(gradient, wy.SparseGrad)
    np.testing.assert_allclose(gradient.to_dense(), table.grad.to_dense(), rtol=1e-14)
    expected = np.zeros((ITEMS, WIDTH))
    np.add.at(expected, take(np.array([1, 4, 1, 8])).ravel(), 1.0)
    np.testing.assert_allclose(gradient.to_dense(), 2 * expected * table.value, rtol=1e-14)
    other = np.array([0, ITEMS - 1, 3, 3])
    gradient = program.value_and_grad({index: other})[1][table]
    expected = np.zeros((ITEMS, WIDTH))
    np.add.at(expected, take(other).ravel(), 1.0)
    np.testing.assert_allclose(gradient.to_dense(), 2 * expected * table.value, rtol=1e-14)


def test_a_computed_index_beyond_the_table_is_refused_and_changes_nothing() -> None:
    start = values()["E"]
    table, index = wy.Parameter(start), wy.IndexInput([1, 4, 1])
    graph = (table[index[1:]] ** 2).sum()
    program = wy.freeze(graph)
    with pytest.raises(IndexError, match="out of range"):
        program.value_and_grad({index: [0, 1, ITEMS]})
    with pytest.raises(IndexError, match="out of range"):
        wy.fit(
            graph,
            {index: np.array([ITEMS] * 3)},
            optimizer=wy.SGD(lr=LR),
            epochs=1,
            batch_size=3,
        )
    assert (table.value == start).all()
    # The one that is not looked up may be any number.
    program.value_and_grad({index: [ITEMS + 5, 1, 2]})
