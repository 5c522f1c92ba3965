"""Tuples, lists and dicts as arguments and results of transforms."""

import collections

import numpy as np
import pytest

import wyrmling as wy


def test_dicts_are_matched_by_their_keys():
    """Gradients and tangents fit what they belong to, in whatever order their keys were written."""

    def f(x):
        return {"a": x["u"] + 10.0 * x["v"], "b": {1: 100.0 * x["u"], 0: x["v"]}}

    x = {"u": 1.0, "v": 2.0}
    pullback = wy.vjp(f, x)[1]
    g = {"a": 1.0, "b": {1: 2.0, 0: 3.0}}
    assert pullback(g) == pullback({"b": {0: 3.0, 1: 2.0}, "a": 1.0}) == ({"u": 201.0, "v": 13.0},)
    t = {"v": 1.0, "u": 0.0}
    expected = {"a": 10.0, "b": {1: 0.0, 0: 1.0}}
    assert wy.jvp(f, (x,), (t,))[1] == wy.jvp(f, (x,), (dict(sorted(t.items())),))[1] == expected
    hvp = wy.hvp(lambda x: x["u"] * x["u"] * x["v"])
    assert hvp(x, t) == hvp(x, dict(sorted(t.items()))) == {"u": 2.0, "v": 0.0}
    for wrong in ({"u": 1.0}, {"u": 1.0, "w": 1.0}, {**t, "w": 1.0}, [1.0, 0.0], ("u", "v"), 1.0):
        with pytest.raises(TypeError, match="jvp: tangents: expected the form of the primals"):
            wy.jvp(f, (x,), (wrong,))


def test_results_of_primitives_are_matched_by_their_keys():
    keys = ["a", "b"]
    f = wy.primitive(lambda x: {key: x * (1.0 if key == "a" else 10.0) for key in keys})
    # The rules write them in another order, too.
    f.defvjp(lambda g, ans, x: g["a"] + 10.0 * g["b"])
    f.defjvp(lambda t, ans, x: {"b": 10.0 * t, "a": t})
    x = wy.Input(1.0)
    y = f(x)
    keys.reverse()
    x.value = 2.0
    assert (y["a"].item(), y["b"].item()) == (2.0, 20.0)
    assert wy.jvp(f, (1.0,), (1.0,))[1] == {"a": 1.0, "b": 10.0}
    assert wy.vjp(f, 1.0)[1]({"a": 1.0, "b": 0.0}) == (1.0,)


def test_gradients_of_rules_are_matched_by_their_keys():
    f = wy.primitive(lambda d: d["a"] * d["a"] * 3.0 + d["b"] * 5.0)
    f.defvjp(lambda g, ans, d: {"b": g * 5.0, "a": g * 6.0 * d["a"]})
    assert wy.grad(f)({"a": 1.0, "b": 10.0}) == {"a": 6.0, "b": 5.0}
    assert wy.grad(f)({"b": 10.0, "a": 1.0}) == {"a": 6.0, "b": 5.0}
    pair = collections.namedtuple("Pair", "first second")
    swapped = collections.namedtuple("Swapped", "second first")
    f = wy.primitive(lambda p: p.first * 2.0 + p.second * 3.0)
    f.defvjp(lambda g, ans, p: swapped(g * 3.0, g * 2.0))
    with pytest.raises(ValueError, match="a gradient for each leaf"):
        wy.grad(f)(pair(1.0, 1.0))


def test_trees_that_contain_themselves_are_refused_by_name():
    circle = [1.0]
    circle.append(circle)
    with pytest.raises(RecursionError, match=r"argument 0.*does it contain itself"):
        wy.grad(lambda x: x[0])(circle)
    with pytest.raises(RecursionError, match=r"the result.*does it contain itself"):
        wy.vjp(lambda x: circle, 1.0)
    with pytest.raises(RecursionError, match="does it contain itself"):
        wy.vjp(lambda x: [x, x], 1.0)[1](circle)
    inside = {"a": 1.0}
    inside["b"] = inside
    with pytest.raises(RecursionError, match="does it contain itself"):
        wy.jvp(lambda d: d["a"], (inside,), (inside,))


class Labelled(list):
    """A list with a label."""

    label = "none"


class Triple(tuple):
    """A tuple that its class makes of three arguments."""

    __slots__ = ()

    def __new__(cls, a, b, c):
        return super().__new__(cls, (a, b, c))


def test_subclasses_of_containers_stay_what_they_are():
    labelled = Labelled([1.0, 2.0])
    labelled.label = "mine"
    default = collections.defaultdict(lambda: 10.0, a=2.0)
    ordered = collections.OrderedDict(b=1.0, a=3.0)
    ordered.move_to_end("b")
    counter = collections.Counter(a=3.0)
    arguments = (labelled, default, ordered, counter, Triple(1.0, 2.0, 3.0))

    def f(labelled, default, ordered, counter, triple):
        assert labelled.label == "mine"
        assert isinstance(triple, Triple)
        first = next(iter(ordered.values()))
        return labelled[0] * default["a"] * default["missing"] * first + counter["b"] * triple[2]

    found = wy.grad(f, range(5))(*arguments)
    assert [type(g) for g in found] == [type(a) for a in arguments]
    assert found[0] == [2.0 * 10.0 * 3.0, 0.0]
    assert found[0].label == "mine"
    assert (dict(found[1]), list(found[2].items())) == ({"a": 30.0}, [("a", 20.0), ("b", 0.0)])
    assert tuple(found[4]) == (0.0, 0.0, 0.0)
    assert "missing" not in default
    assert f(*arguments) == wy.value_and_grad(f)(*arguments)[0]


class Frozen(dict):
    """A dict that refuses to be written to."""

    def __setitem__(self, key, value):
        raise TypeError("frozen")


class Tagged(list):
    """A list with a slot."""

    __slots__ = ("tag",)


class Diagonal(collections.namedtuple("Diagonal", "a b")):
    """A named tuple that is made of one argument."""

    def __new__(cls, a):
        return super().__new__(cls, a, a)


def test_containers_are_not_made_by_their_classes():
    tagged = Tagged([3.0])
    tagged.tag = "mine"

    def f(frozen, tagged, diagonal):
        return frozen["a"] * tagged[0] * diagonal.b * (tagged.tag == "mine")

    frozen, tagged, diagonal = wy.grad(f, (0, 1, 2))(Frozen(a=2.0), tagged, Diagonal(5.0))
    assert frozen == {"a": 15.0}
    assert tagged == [10.0]
    assert tagged.tag == "mine"
    assert isinstance(diagonal, Diagonal)
    assert diagonal == (0.0, 6.0)


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_products_with_second_derivatives_have_the_form_of_gradients(dtype):
    """An array without axes stays one, alone and among others, and a number a number."""

    def cube(x):
        return x[0] ** 3 + x[1]["a"] ** 3 + np.sum(x[2] ** 3)

    x = (np.array(2.0, dtype), {"a": dtype(3.0)}, np.ones(2, dtype))
    gradient = wy.grad(cube)(x)
    product = wy.hvp(cube)(x, x)
    parts = [[tree[0], tree[1]["a"], tree[2]] for tree in (x, gradient, product)]
    for given, slope, found in zip(*parts, strict=True):
        assert type(found) is type(slope)
        assert np.asarray(found).dtype == dtype
        assert np.shape(found) == np.shape(given)
        np.testing.assert_allclose(found, 6.0 * given**2)
    alone = wy.hvp(lambda x: x**3)(np.array(2.0, dtype), np.array(1.0, dtype))
    assert isinstance(alone, np.ndarray)
    assert (alone.shape, alone.dtype, alone.item()) == ((), dtype, 12.0)
