"""Arrays of integers and masks that a function makes: as results, and what is refused of them."""

import numpy as np
import pytest

import wyrmling as wy

X = np.array([0.35, 1.25, 0.75])


def compiled(f, *args):
    return wy.compile(f, mode="source")(*args)


def places(x):
    made = np.zeros(3, dtype=int)
    made[1] = 2
    made[np.argmax(x)] += 5
    return made


def kinds(x):
    inside = x > 0.5
    inside[0] = True
    return {"places": places(x), "inside": inside, "order": np.argsort(x), "signs": x > x.mean()}


def test_results_have_their_types():
    expected, found = kinds(X), compiled(kinds, X)
    assert list(found) == list(expected)
    for name, one in found.items():
        assert one.dtype == expected[name].dtype
        np.testing.assert_array_equal(one, expected[name])


def test_beside_what_is_differentiated():
    def loss(x):
        return np.sum(x * places(x)), x > 0.5

    for mode in ("source", "auto", "trace"):
        (value, mask), slope = wy.value_and_grad(loss, has_aux=True, mode=mode)(X)
        assert value == np.sum(X * [0, 7, 0])
        assert mask.dtype == np.bool_
        np.testing.assert_array_equal(mask, X > 0.5)
        np.testing.assert_array_equal(slope, [0, 7, 0])
        with pytest.raises(TypeError, match="integers have no gradient"):
            wy.jacobian(places, mode=mode)(X)


def test_a_result_that_shares_memory():
    def both(x):
        made = np.zeros(3, dtype=int)
        part = made[1:]
        made[2] = 4
        return made, part, x.sum()

    with pytest.raises(wy.SourceError, match="shares memory"):
        compiled(both, X)


def written(x, value, dtype=int):
    made = np.zeros(3, dtype=dtype)
    made[0] = value
    return x.sum() * made[0]


@pytest.mark.parametrize(
    ("value", "dtype", "message"),
    [(2**60, int, "53 bits"), (2.5, int, "a float written"), (3, np.int32, "this array")],
)
def test_what_is_refused(value, dtype, message):
    with pytest.raises(wy.SourceError, match=message):
        compiled(lambda x: written(x, value, dtype), X)
    assert wy.grad(written)(X, value, dtype).tolist() == [int(value)] * 3


def test_integers_beyond_53_bits_leave():
    def powers(x, n):
        made = np.ones(2, dtype=int)
        for _ in range(n):
            made[0] = made[0] * 3
        return x * (made[0] % 1000)

    for mode in ("source", "auto"):
        slope = wy.grad(powers, mode=mode)
        for n in (5, 36, 39):
            assert slope(1.5, n) == 3**n % 1000


def test_an_array_that_is_empty_has_any_elements():
    def backwards(x):
        made = np.empty(len(x), dtype=int)
        for i in range(len(x)):
            made[i] = len(x) - 1 - i
        return np.sum(x[made] * np.arange(len(x)))

    junk = np.full(3, 2**62)
    del junk
    assert wy.grad(backwards, mode="source")(X).tolist() == [2.0, 1.0, 0.0]


def test_an_element_costs_what_it_touches():
    def counted(x, n):
        made = np.zeros((n, n), dtype=int)
        for i in range(n):
            for j in range(n):
                made[i][j] = i + j
                x = x + made[i][j]
        return x

    text = wy.code_ir(counted, 1.5, 300)
    assert "replace_at" in text
    assert "replace_row" not in text


def test_truths_of_python_and_of_numpy():
    def truths(x):
        return np.array_equal(x, x), np.allclose(x, x + 1), (x > 1).all(), np.argmax(x), x[0] > 1

    expected, found = truths(X), compiled(truths, X)
    assert found == expected
    assert [type(one) for one in found] == [type(one) for one in expected]
    with pytest.raises(wy.SourceError, match="an array without axes"):
        compiled(lambda x: np.ones_like(x[0], dtype=bool), X)


def test_what_may_be_the_array_itself_is_no_copy():
    def alias(x):
        places = np.arange(3)
        same = places.astype(int, copy=False)
        same[0] = 2
        return np.sum(x * places)

    with pytest.raises(wy.SourceError, match="a write to this array"):
        compiled(alias, X)
    for mode in ("auto", "trace"):
        assert wy.grad(alias, mode=mode)(X).tolist() == [2.0, 1.0, 2.0]


def test_a_mask_behind_dots_is_no_mask_of_rows():
    def dots(x):
        y = np.outer(x, x)
        y[..., x > 0.5] = 0.0
        return y.sum()

    assert compiled(dots, X) == pytest.approx(dots(X), rel=1e-12)


def test_messages_name_what_is_written():
    with pytest.raises(wy.SourceError, match=r"x\[index\] of such arrays"):
        compiled(lambda x: x[..., x > 0.5].sum(), X)
