"""einsum against NumPy's, on subscripts that hypothesis writes, and its gradients."""

import string

import numpy as np
import pytest
from conftest import numeric_gradient
from hypothesis import given
from hypothesis import strategies as st

import wyrmling as wy


@st.composite
def contractions(draw, operands=4):
    """Subscripts and shapes: letters shared or not, twice in a term, of length 1, an ellipsis."""
    letters = string.ascii_letters[20:26]
    sizes = {letter: draw(st.integers(0 if draw(st.booleans()) else 1, 3)) for letter in letters}
    hidden = draw(st.lists(st.integers(1, 3), max_size=2))
    terms, shapes, dotted = [], [], False
    for _ in range(draw(st.integers(1, operands))):
        term = draw(st.lists(st.sampled_from(letters), max_size=3))
        # A length of 1 broadcasts, unless the letter is there twice.
        shape = [
            1 if term.count(letter) == 1 and draw(st.integers(0, 5)) == 0 else sizes[letter]
            for letter in term
        ]
        if draw(st.booleans()):
            dotted = True
            at = draw(st.integers(0, len(term)))
            some = hidden[draw(st.integers(0, len(hidden))) :]
            some = [1 if draw(st.integers(0, 5)) == 0 else n for n in some]
            term, shape = [*term[:at], "...", *term[at:]], [*shape[:at], *some, *shape[at:]]
        terms.append("".join(term))
        shapes.append(tuple(shape))
    subscripts = ",".join(terms)
    if draw(st.booleans()):
        known = sorted(set(subscripts) - set(",."))
        output = draw(st.permutations(known))[: draw(st.integers(0, len(known)))]
        if dotted:
            output.insert(draw(st.integers(0, len(output))), "...")
        subscripts += "->" + "".join(output)
    return subscripts, shapes


def draws(shapes, seed=0):
    rng = np.random.default_rng(seed)
    return [rng.uniform(-1.0, 1.0, shape) for shape in shapes]


@given(contractions())
def test_values(contraction):
    subscripts, shapes = contraction
    args = draws(shapes)
    expected = np.einsum(subscripts, *args)
    got = np.einsum(subscripts, *[wy.Variable(a) for a in args])
    assert got.shape == expected.shape
    np.testing.assert_allclose(got.value, expected, rtol=1e-12, atol=1e-12)


@given(contractions(operands=3))
def test_gradients(contraction):
    subscripts, shapes = contraction
    args = draws(shapes)
    leaves = [wy.Variable(a) for a in args]
    y = np.einsum(subscripts, *leaves)
    weights = draws([y.shape], 1)[0]
    loss = (y * weights).sum()
    loss.backward()
    value, frozen = wy.freeze(loss).value_and_grad()
    np.testing.assert_allclose(value, loss.item(), rtol=1e-12, atol=1e-12)
    for k, leaf in enumerate(leaves):
        numeric = numeric_gradient(lambda *a: np.einsum(subscripts, *a) * weights, args, k)
        np.testing.assert_allclose(leaf.grad, numeric, rtol=1e-6, atol=1e-7)
        np.testing.assert_allclose(frozen[leaf], leaf.grad, rtol=1e-12, atol=1e-12)


@given(contractions(operands=3), st.integers(1, 5))
def test_another_length_gives_the_right_numbers_or_an_error(contraction, n):
    subscripts, shapes = contraction
    inputs = [wy.Input(a) for a in draws(shapes)]
    y = np.einsum(subscripts, *inputs)
    values = draws([(n, *shape[1:]) if shape else () for shape in shapes])
    try:
        expected = np.einsum(subscripts, *values)
    except ValueError:
        expected = None
    for one, value in zip(inputs, values, strict=True):
        one.value = value
    try:
        found = y.value
    except ValueError:
        return
    assert expected is not None
    assert found.shape == expected.shape
    np.testing.assert_allclose(found, expected, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("subscripts", ["bi,ij->bj", "bti,ij->btj", "bij,bjk->bik", "bi,bi->b"])
def test_a_batch_may_have_another_length(subscripts):
    first, second = subscripts.partition("->")[0].split(",")
    lengths = {"b": 2, "t": 3, "i": 4, "j": 2, "k": 3}
    for batch in (2, 5):
        lengths["b"] = batch
        values = draws([[lengths[c] for c in term] for term in (first, second)])
        if batch == 2:
            inputs = [wy.Input(a) for a in values]
            y = np.einsum(subscripts, *inputs)
            program = wy.freeze(y)
        expected = np.einsum(subscripts, *values)
        got = program.run(dict(zip(inputs, values, strict=True)))
        np.testing.assert_allclose(got, expected, rtol=1e-12)


def test_both_ways_to_write_it():
    a, b = draws([(2, 3), (3, 4)])
    v, w = wy.Variable(a), wy.Variable(b)
    for got, expected in [
        (np.einsum(v, [0, 1], w, [1, 2]), a @ b),
        (np.einsum(v, [0, 1], w, [1, 2], [2, 0]), (a @ b).T),
        (np.einsum(v, [..., 1], [1, ...]), a.T),
        (np.einsum(" i j , j k -> i k ", v, b), a @ b),
        (wy.einsum("ij->ji", wy.Variable(a)), a.T),
    ]:
        np.testing.assert_allclose(got.value, expected)


def test_many_operands_are_contracted_in_a_good_order():
    """Left to right this would make an array of 200⁴ elements."""
    u = wy.Variable(np.ones(200))
    got = np.einsum("i,j,k,l,i,j,k,l->", *[u] * 8)
    assert got.item() == 200.0**4


def test_single_precision_stays():
    x = wy.Variable(np.ones((2, 3), np.float32))
    assert np.einsum("ij,kj->ik", x, x).dtype == np.float32


@pytest.mark.parametrize(
    ("match", "call"),
    [
        ("do not fit", lambda v: np.einsum("ijk", v)),
        ("do not fit", lambda v: np.einsum("i", v)),
        ("1 operands, got 2", lambda v: np.einsum("ij", v, v)),
        ("2 operands, got 1", lambda v: np.einsum("ij,jk", v)),
        ("has lengths 2 and 3", lambda v: np.einsum("ij,ki", v, v)),
        ("axes 'i' of an operand differ", lambda v: np.einsum("ii", v[:1])),
        ("cannot have 'k'", lambda v: np.einsum("ij->ik", v)),
        ("cannot have 'i'", lambda v: np.einsum("ij->ii", v)),
        ("lacks the ellipsis", lambda v: np.einsum("i...->i", v)),
        ("letters and one ellipsis", lambda v: np.einsum("i.j", v)),
        ("letters and one ellipsis", lambda v: np.einsum("...i...", v)),
        ("at least one operand", lambda v: wy.einsum("ij")),
    ],
)
def test_errors(match, call):
    with pytest.raises(ValueError, match=match):
        call(wy.Variable(np.ones((2, 3))))
