"""Bad settings, columns and samplers are refused before training begins, and change nothing."""

import re

import numpy as np
import pytest
from conftest import refuses

import wyrmling as wy

NAN, INF = float("nan"), float("inf")


@pytest.mark.parametrize(
    ("make", "name"),
    [
        *[
            (lambda lr=lr, k=k: k(lr=lr), "lr")
            for lr in (-1e-9, -1.0, NAN, INF)
            for k in (wy.SGD, wy.Adagrad, wy.Adam)
        ],
        (lambda: wy.SGD(lr=0.1, momentum=1.0), "momentum"),
        (lambda: wy.SGD(lr=0.1, momentum=-0.1), "momentum"),
        (lambda: wy.SGD(lr=0.1, l2=-1.0), "l2"),
        (lambda: wy.SGD(lr=0.1, clip=0.0), "clip"),
        (lambda: wy.SGD(lr=0.1, clip=NAN), "clip"),
        (lambda: wy.Adagrad(lr=0.1, eps=0.0), "eps"),
        (lambda: wy.Adam(beta1=1.0), "beta1"),
        (lambda: wy.Adam(beta2=NAN), "beta2"),
        (lambda: wy.Adam(eps=-1e-8), "eps"),
    ],
)
def test_settings_of_optimizers(make, name):
    refuses(ValueError, f"^{name}: expected", make)


def test_step():
    a, b = wy.Parameter([1.0]), wy.Parameter([1.0], name="b")
    sgd = wy.SGD(lr=0.1)
    refuses(
        TypeError,
        "parameters: expected Parameters, got wyrmling.Variable",
        lambda: sgd.step([wy.Variable(1.0)]),
    )
    refuses(TypeError, "got float", lambda: sgd.step([1.0]))
    refuses(TypeError, "^parameters: expected a list of .*, got int", lambda: sgd.step(3))
    for alone in (a, wy.Parameter(1.0), a * 2.0):
        refuses(TypeError, "^parameters: expected a list of", lambda alone=alone: sgd.step(alone))
    (a * 1.0).backward()
    (b * np.inf).backward()
    refuses(FloatingPointError, "parameter 'b': the gradient", lambda: sgd.step([a, b]))
    refuses(ValueError, "given twice", lambda: sgd.step([a, a]))
    assert a.item() == 1.0


@pytest.mark.parametrize(
    ("kind", "names"),
    [
        (wy.SGD, ["lr", "momentum", "l2", "clip"]),
        (wy.Adagrad, ["lr", "eps", "l2", "clip"]),
        (wy.Adam, ["lr", "beta1", "beta2", "eps", "l2", "clip"]),
    ],
)
def test_optimizers_name_what_is_no_number(kind, names):
    for name in names:
        expected = f"^{name}: expected a number.*, got "
        refuses(
            TypeError, expected + "str 'fast'", lambda name=name: kind(**{"lr": 1, name: "fast"})
        )
        refuses(TypeError, expected + "list", lambda name=name: kind(**{"lr": 1, name: [0.1]}))
    refuses(TypeError, "^lr: .* got NoneType", lambda: kind(lr=None))

    class Broken:
        def __float__(self):
            raise ZeroDivisionError("mine")

    refuses(ZeroDivisionError, "^mine$", lambda: kind(lr=Broken()))


@pytest.mark.parametrize("name", ["epochs", "batch_size", "threads", "seed"])
def test_fit_names_what_is_no_integer(setting, name):
    _, _, _, loss, columns = setting
    for value, found in [(1.5, "float 1.5"), ("a", "str 'a'"), (True, "bool True"), ([1], "list")]:
        refuses(
            TypeError,
            f"^{name}: expected an integer, got {re.escape(found)}$",
            lambda value=value: wy.fit(loss, columns, optimizer=wy.SGD(lr=0.1), **{name: value}),
        )


def test_what_is_no_dictionary_or_truth_value_is_named(setting):
    _, _, x, loss, columns = setting
    sgd, program = wy.SGD(lr=0.1), wy.freeze((x * 2.0).sum())
    for given, found in [
        ([1.0], "list"),
        (3, "int"),
        ("x", "str 'x'"),
        (np.ones(2), "numpy.ndarr"),
    ]:
        expected = f"expected a dict whose keys are inputs of the graph, got {found}"
        for run in (program.run, program.value_and_grad):
            refuses(TypeError, f"^inputs: {expected}", lambda run=run, given=given: run(given))
        refuses(
            TypeError,
            f"^columns: {expected}",
            lambda given=given: wy.fit(loss, given, optimizer=sgd),
        )
        refuses(
            TypeError,
            f"^sample: {expected}",
            lambda given=given: wy.fit(loss, columns, sample=given, optimizer=sgd),
        )
    for name in ("deterministic", "progress"):
        refuses(
            TypeError,
            f"^{name}: expected True or False, got str 'no'",
            lambda name=name: wy.fit(loss, columns, optimizer=sgd, **{name: "no"}),
        )
    for f in (wy.sum, wy.mean, wy.max, wy.min, wy.logsumexp):
        refuses(TypeError, "keepdims: expected True or False", lambda f=f: f(x, keepdims="no"))
    refuses(TypeError, "power: expected a number", lambda: wy.sampling.Popularity([1], power="a"))


def test_a_long_text_is_not_repeated_in_a_message():
    refuses(TypeError, "^lr: expected a number, got str$", lambda: wy.SGD(lr="fast" * 100))


@pytest.fixture
def setting():
    """A table of 4 rows, a loss over it, and good data."""
    w = wy.Parameter(np.ones((4, 2)), name="w")
    i, x = wy.IndexInput([0], "i"), wy.Input([0.0], "x")
    loss = (w[i].sum(axis=1) * x).sum()
    return w, i, x, loss, {i: [0, 1, 2], x: [1.0, 2.0, 3.0]}


@pytest.mark.parametrize(
    ("error", "match", "change"),
    [
        (IndexError, "input 'i': index 4 at position 2.*4 rows", {"i": [0, 1, 4]}),
        (IndexError, "input 'i': index -1 at position 0.*4 rows", {"i": [-1, 1, 2]}),
        (IndexError, "input 'i': index 4294967296 .*4 rows", {"i": [0, 1, 2**32]}),
        (TypeError, "input 'i': expected integer indices", {"i": [0.0, 1.0, 2.0]}),
        (ValueError, "'i' has 2 rows|'x' has 3", {"i": [0, 1]}),
        (ValueError, "no samples", {"i": [], "x": []}),
        (ValueError, "input 'i': expected 1 axes", {"i": [[0], [1], [2]]}),
        (TypeError, r"input 'x': expected numbers .* got list \(dtype comp", {"x": [1j] * 3}),
        (ValueError, "input 'x' is not bound", {"x": None}),
        (ValueError, "epochs: expected at least 1, got 0", {"epochs": 0}),
        (ValueError, "epochs: expected at least 1, got -1", {"epochs": -1}),
        (ValueError, "batch_size: expected at least 1, got 0", {"batch_size": 0}),
        (ValueError, "threads: expected at least 0, got -1", {"threads": -1}),
        (ValueError, "threads: expected at most", {"threads": 10**6}),
        (ValueError, "^seed: expected at least 0, got -1", {"seed": -1}),
        (ValueError, "^seed: expected at most 18446744073709551615, got 1844", {"seed": 2**64}),
        (ValueError, "^seed: expected at least 0, got -1267", {"seed": -(2**100)}),
        (ValueError, "^seed: expected at most", {"seed": 2**1000}),
        (TypeError, "seed", {"seed": 0.5}),
        (TypeError, "seed", {"seed": True}),
        (ValueError, "^epochs: expected at most .*, got 1180591620717411303424", {"epochs": 2**70}),
        (TypeError, "epochs", {"epochs": 1.5}),
        (TypeError, "optimizer: expected .* got 0.1", {"optimizer": 0.1}),
        (TypeError, r"optimizer: .*SGD\(lr=0.1\), got <class .*SGD'>", {"optimizer": wy.SGD}),
        (TypeError, "expected a sampler", {"sample": "i"}),
        (TypeError, "callback", {"callback": 1}),
    ],
)
def test_fit_checks_before_it_starts(setting, error, match, change):
    w, i, x, loss, columns = setting
    before = w.value.tobytes()
    options = {"optimizer": wy.SGD(lr=0.1)}
    for key, value in change.items():
        if key in ("i", "x"):
            leaf = {"i": i, "x": x}[key]
            columns[leaf] = value
            if value is None:
                del columns[leaf]
        else:
            options[key] = {i: 3} if key == "sample" else value
    refuses(error, match, lambda: wy.fit(loss, columns, **options))
    assert w.value.tobytes() == before
    assert w.grad is None


def test_fit_binds_what_the_loss_uses(setting):
    w, i, x, loss, columns = setting
    sgd = wy.SGD(lr=0.1)
    stranger = wy.Input([0.0], name="stranger")
    refuses(
        ValueError,
        "'stranger' is not one of this graph",
        lambda: wy.fit(loss, columns | {stranger: [1.0] * 3}, optimizer=sgd),
    )
    refuses(
        TypeError,
        "expected an Input or IndexInput, got wyrmling.Parameter",
        lambda: wy.fit(loss, columns | {w: [1.0] * 3}, optimizer=sgd),
    )
    refuses(
        TypeError,
        "expected an Input or IndexInput, got str",
        lambda: wy.fit(loss, columns | {"i": [1.0] * 3}, optimizer=sgd),
    )
    uniform = wy.sampling.Uniform(4)
    refuses(
        ValueError, "bound twice", lambda: wy.fit(loss, columns, sample={i: uniform}, optimizer=sgd)
    )
    del columns[i]
    big = wy.sampling.Uniform(5)
    refuses(
        IndexError,
        "'i': the sampler draws from 5 rows, the table has 4",
        lambda: wy.fit(loss, columns, sample={i: big}, optimizer=sgd),
    )
    refuses(
        ValueError,
        "at least one input needs a column|not bound",
        lambda: wy.fit(loss, {}, sample={i: uniform}, optimizer=sgd),
    )
    refuses(ValueError, "no Parameter", lambda: wy.fit((x * 2.0).sum(), {x: [1.0]}, optimizer=sgd))
    number = wy.Input(0.0, name="number")
    refuses(
        ValueError,
        "input 'number' is a single number",
        lambda: wy.fit(w.sum() * number, {number: [1.0]}, optimizer=sgd),
    )
    refuses(
        TypeError,
        "loss: expected a Variable, a Program or a function, got float",
        lambda: wy.fit(1.0, {}, optimizer=sgd),
    )


def test_samplers():
    u = wy.IndexInput([0], "u")
    refuses(ValueError, "n is 0|n: expected at least 1", lambda: wy.sampling.Uniform(0))
    refuses(ValueError, "n: expected at least 1, got -3", lambda: wy.sampling.Uniform(-3))
    refuses(
        ValueError,
        "user 7 knows every item",
        lambda: wy.sampling.Uniform(2, positives=([7, 7], [0, 1]), given=u),
    )
    refuses(
        IndexError,
        r"items\[0\] is 2",
        lambda: wy.sampling.Uniform(2, positives=([7], [2]), given=u),
    )
    refuses(
        ValueError, "same length", lambda: wy.sampling.Uniform(2, positives=([7, 8], [1]), given=u)
    )
    refuses(TypeError, "given", lambda: wy.sampling.Uniform(2, positives=([7], [1])))
    refuses(TypeError, "positives", lambda: wy.sampling.Uniform(2, given=u))
    pair = r"positives: expected a pair of columns \(users, items\), got"
    refuses(TypeError, f"{pair} int", lambda: wy.sampling.Uniform(2, positives=3, given=u))
    refuses(ValueError, f"{pair} 3", lambda: wy.sampling.Uniform(2, positives=[[]] * 3, given=u))
    refuses(
        TypeError,
        "given: expected an Input",
        lambda: wy.sampling.Uniform(2, positives=([7], [1]), given=3),
    )
    for bad in ([], [-1.0], [NAN], [INF], [0.0, 0.0]):
        refuses(ValueError, "counts", lambda bad=bad: wy.sampling.Popularity(bad))
    refuses(ValueError, "counts: expected one number", lambda: wy.sampling.Popularity([[1.0]]))
    refuses(ValueError, "power", lambda: wy.sampling.Popularity([1.0], power=NAN))
