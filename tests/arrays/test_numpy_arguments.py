"""Arguments and methods of NumPy's functions, given variables: NumPy's meaning or a TypeError that
names the argument, at special points too.
"""

import inspect
import itertools
import warnings

import array_cases
import numpy as np
import pytest
import scipy.special

import wyrmling as wy
from wyrmling import dispatch

X = np.array([[1.0, 4.0, 2.0], [3.0, 0.5, -1.0]])
MASK = np.array([[True, False, True], [False, True, True]])


KEEPING = [
    *("sum", "mean", "max", "min", "prod", "var", "std", "any", "all", "argmax", "argmin", "ptp"),
    *("median", "average", "nansum", "nanmean", "nanmax", "nanprod", "nanvar", "nanmedian"),
    *("count_nonzero", "linalg.norm"),
]


NAMED = {
    "broadcast_to": {"array": X, "shape": (2, 2, 3)},
    "clip": {"a": X, "a_min": 0.0, "a_max": 2.0},
    "diag": {"v": X},
    "dot": {"a": X, "b": X.T},
    "expand_dims": {"a": X, "axis": 1},
    "i0": {"x": X},
    "linalg.solve": {"a": np.array([[2.0, 1.0], [0.0, 4.0]]), "b": X},
    "max": {"axis": 1, "a": X},
    "mean": {"a": X},
    "real": {"val": X},
    "squeeze": {"a": X},
    "stack": {"arrays": [X, X], "axis": 1},
    "sum": {"a": X, "axis": 0, "keepdims": True},
    "tril": {"m": X, "k": 1},
}


@pytest.mark.parametrize("name", NAMED)
def test_all_arguments_may_have_their_names(name):
    function = np.linalg.solve if name == "linalg.solve" else getattr(np, name)
    given = {
        key: [wy.Variable(X), X] if key == "arrays" else wy.Variable(x) if x is X else x
        for key, x in NAMED[name].items()
    }
    expected = function(**NAMED[name])
    np.testing.assert_allclose(function(**given).value, expected, rtol=1e-12, strict=True)
    with pytest.raises(TypeError, match="unheard"):
        function(**given, unheard=1)


@pytest.mark.parametrize("keepdims", [0, 1, 2, np.int64(1), np.int8(0), True, np.bool_(False)])
@pytest.mark.parametrize("name", KEEPING)
def test_keepdims_may_be_an_integer(name, keepdims):
    f = np.linalg.norm if name.startswith("linalg") else getattr(np, name)
    expected = f(X, axis=1, keepdims=bool(keepdims))
    x = wy.Parameter(X)
    found = [f(x, axis=1, keepdims=keepdims)]
    if name in ("sum", "mean", "max", "min", "prod", "var", "std", "any", "all"):
        found.append(getattr(x, name)(axis=1, keepdims=keepdims))
    for y in found:
        np.testing.assert_allclose(getattr(y, "value", y), expected, rtol=1e-12, strict=True)


INTO = [
    lambda x, out: np.sum(x, 0, out=out),
    lambda x, out: np.mean(x, axis=0, out=out, where=MASK),
    lambda x, out: np.prod(x, 0, out=out),
    lambda x, out: np.max(x, 0, out),
    lambda x, out: np.var(x, 0, out=out),
    lambda x, out: np.add.reduce(x, out=out),
    lambda x, out: np.add(x[0], x[1], out=out),
    lambda x, out: np.add(x[0], x[1], out),
    lambda x, out: np.multiply(x[0], 2.0, out=out, where=MASK[0]),
    lambda x, out: np.nansum(x, 0, out=out),
]


@pytest.mark.parametrize("k", range(len(INTO)))
def test_results_are_assigned_to_out(k):
    x, out, plain = wy.Variable(X), wy.array([7.0, 7.0, 7.0]), np.full(3, 7.0)
    assert INTO[k](x, out) is out
    np.testing.assert_allclose(out.value, INTO[k](X, plain), rtol=1e-12)
    out.sum().backward()
    assert x.grad.any()


def test_what_cannot_take_a_result_is_refused():
    v = wy.Variable(X)
    for f in (
        lambda out: np.sum(v, 0, out=out),
        lambda out: np.std(v, 0, out=out),
        lambda out: np.cumsum(v, 0, out=out),
        lambda out: np.add.accumulate(v, out=out),
        lambda out: np.sin(v, out=out),
        lambda out: np.nanmax(v, 0, out=out),
    ):
        with pytest.raises(TypeError, match="out: a plain array cannot take"):
            f(np.zeros(3))
        with pytest.raises(ValueError, match="out: expected shape"):
            f(wy.array(np.zeros(5)))
    with pytest.raises(TypeError, match="where: without out"):
        np.add(v, 1.0, where=MASK)
    with pytest.raises(ValueError, match=r"max: where: .*initial must be given"):
        np.max(v, where=MASK)
    with pytest.raises(ValueError, match=r"sum: where: shape \(4,\) does not broadcast"):
        np.sum(v, where=np.ones(4, bool))
    with pytest.raises(ValueError, match=r"sum: where: shape \(2, 2, 3\)"):
        np.sum(v, where=np.ones((2, 2, 3), bool))
    with pytest.raises(TypeError, match="mean: where: expected booleans, got float64"):
        np.mean(v, where=np.ones(3))
    for name in ("hypot.reduce", "arctan2.accumulate", "hypot.reduceat", "power.at"):
        ufunc, method = name.split(".")
        args = [v, [0]] + ([1.0] if method == "at" else [])
        with pytest.raises(TypeError, match=rf"numpy\.{name} is not among"):
            getattr(getattr(np, ufunc), method)(
                *args[: 1 if method in ("reduce", "accumulate") else 3]
            )
    with pytest.raises(TypeError, match=r"\['casting'\] have no meaning"):
        np.add(v, v, casting="no")
    with pytest.raises(TypeError, match=r"\['order'\] have no meaning"):
        np.exp(v, order="F")
    # What is the default says nothing.
    np.testing.assert_allclose(np.exp(v, casting="same_kind", where=True).value, np.exp(X))


@pytest.mark.parametrize("dtype", [np.float32, np.float64, "f4", None])
def test_dtype_is_the_type_in_which_is_computed(dtype):
    x = np.array([1.5, 2.25, -3.1], np.float64)
    v = wy.Variable(x)
    for f in (
        np.sum,
        np.mean,
        np.prod,
        np.cumsum,
        np.cumprod,
        np.var,
        np.std,
        np.nansum,
        np.add.reduce,
    ):
        got, expected = f(v, dtype=dtype), f(x, dtype=dtype)
        assert got.dtype == expected.dtype
        np.testing.assert_allclose(got.value, expected, rtol=1e-5, atol=1e-5)
    got, expected = np.add(v, 1.0, dtype=dtype), np.add(x, 1.0, dtype=dtype)
    assert got.dtype == expected.dtype
    np.testing.assert_array_equal(got.value, expected)


def test_no_argument_of_numpys_is_ignored():
    """Each argument that a function of NumPy has, ours has, or refuses by its name."""
    # What cannot change the result: the kind of sort, memory, and what NumPy deprecated.
    free = {"kind", "stable", "order", "like", "overwrite_input", "subok", "copy"}
    v = wy.Variable(np.eye(2))
    for theirs, ours in dispatch.functions().items():
        try:
            known = inspect.signature(theirs).parameters
            have = inspect.signature(ours).parameters
        except ValueError:
            continue
        if any(p.kind is p.VAR_KEYWORD for p in have.values()):
            continue
        for name in set(known) - set(have) - free:
            if known[name].kind in (
                inspect.Parameter.VAR_POSITIONAL,
                inspect.Parameter.VAR_KEYWORD,
            ):
                continue
            if known[name].kind is inspect.Parameter.POSITIONAL_ONLY:
                continue
            with pytest.raises(TypeError, match=name):
                ours(v, **{name: None})


def test_nan_functions_at_special_points():
    for x in (np.full((2, 3), np.nan), np.array([[np.nan, 1.0, 2.0], [np.nan] * 3])):
        for f in (
            np.nanmax,
            np.nanmin,
            np.nanmean,
            np.nanvar,
            np.nanstd,
            np.nanmedian,
            np.nansum,
            np.nanprod,
            np.nancumsum,
            np.nancumprod,
        ):
            for axis in (0, 1, -1, None):
                with warnings.catch_warnings():
                    warnings.simplefilter("ignore", RuntimeWarning)
                    expected = f(x, axis=axis)
                np.testing.assert_allclose(f(wy.Variable(x), axis=axis).value, expected)
                np.testing.assert_allclose(f(wy.Input(x), axis=axis).value, expected)
    # What is NaN has no gradient.
    x = np.array([1.0, np.nan, 4.0])
    for f in (np.nanmean, np.nanmax, np.nanvar, np.nanmedian, lambda x: np.nanquantile(x, 0.3)):
        got = wy.grad(f)(x)
        assert got[1] == 0.0
        assert np.isfinite(got).all()


def test_ties_share_the_gradient_as_those_of_max_do():
    x = np.array([2.0, 2.0, np.nan])
    np.testing.assert_array_equal(wy.grad(np.nanmax)(x)[:2], wy.grad(np.max)(x[:2]))


def test_unique():
    x = np.array([[3.0, 1.0, 3.0], [1.0, 2.0, 3.0]])
    for named in (
        {},
        {"return_index": True},
        {"return_inverse": True, "return_counts": True},
        {"axis": 0},
        {"axis": 1, "return_index": True},
    ):
        got, expected = np.unique(wy.Variable(x), **named), np.unique(x, **named)
        if not isinstance(expected, tuple):
            got, expected = (got,), (expected,)
        assert isinstance(got[0], wy.Variable)
        for one, other in zip(got, expected, strict=True):
            np.testing.assert_array_equal(getattr(one, "value", one), other)
    weights = np.array([1.0, 10.0, 100.0])
    got = wy.grad(lambda x: (np.unique(x) * weights).sum())(x)
    np.testing.assert_array_equal(got, [[100.0, 1.0, 0.0], [0.0, 10.0, 0.0]])
    with pytest.raises(TypeError, match="unique: this follows an input"):
        np.unique(wy.Input(x))


def test_piecewise_gives_functions_their_own_elements_alone():
    x = np.array([-1.0, 4.0])
    got = wy.grad(lambda x: np.piecewise(x, [x < 0], [np.abs, np.sqrt]).sum())(x)
    np.testing.assert_array_equal(got, [-1.0, 0.25])
    v = wy.Input(x)
    y = np.piecewise(v, [v < 0, v > 100.0], [lambda x: x * 2.0, 5.0])
    program = wy.freeze(y)
    np.testing.assert_array_equal(program.run({v: [3.0, -4.0, 200.0]}), [0.0, -8.0, 5.0])


def test_interp_outside_and_at_its_points():
    xp, fp = np.array([0.0, 1.0, 2.0]), np.array([5.0, np.inf, 7.0])
    x = np.array([-1.0, 0.0, 1.0, 2.0, 3.0, np.nan])
    for named in ({}, {"left": 1.0, "right": -1.0}):
        expected = np.interp(x, xp, [5.0, 6.0, 7.0], **named)
        for v in (wy.Variable(x), wy.Input(x)):
            np.testing.assert_array_equal(
                np.interp(v, xp, [5.0, 6.0, 7.0], **named).value, expected
            )
    assert np.interp(wy.Variable(2.0), xp, fp).item() == 7.0
    assert np.interp(wy.Variable(0.3), xp, [1.0, 2.0, 3.0]).shape == ()
    for bad, match in [
        (lambda v: np.interp(v, xp, fp[:2]), "one length"),
        (lambda v: np.interp(v, [], []), "one point at least"),
        (lambda v: np.interp(v, xp, fp, period=0), "not zero"),
    ]:
        with pytest.raises(ValueError, match=match):
            bad(wy.Variable(x))


@pytest.mark.parametrize("length", [1, 2, 3])
def test_interp_among_infinities_and_nan(length):
    """NumPy's value to the bit, and gradients that are no NaN where heights are finite."""
    inf, nan = np.inf, np.nan
    at = np.array([-inf, -2.0, -1.0, 0.0, 0.5, 2.0, 3.0, inf, nan])
    places = itertools.combinations_with_replacement((-inf, -1.0, 0.0, 2.0, inf), length)
    for xp in map(np.array, places):
        for fp in map(np.array, itertools.product((-inf, 1.0, 3.0, nan), repeat=length)):
            expected = np.interp(at, xp, fp)
            for leaf in (wy.Variable, wy.Input):
                got = np.interp(leaf(at), leaf(xp), leaf(fp)).value
                np.testing.assert_array_equal(got, expected, f"{xp} {fp}")
            if np.isfinite(fp).all() and np.isfinite(expected[1:7]).all():
                slopes = wy.grad(lambda *args: np.interp(*args).sum(), (0, 1, 2))(at[1:7], xp, fp)
                assert not any(np.isnan(slope).any() for slope in slopes), f"{xp} {fp}"


def test_weights_of_several_axes_are_in_the_order_of_the_axes():
    """As NumPy 2 has it, against a sum of products."""
    x, w = np.random.default_rng(2).random((2, 2, 3, 4)), np.random.default_rng(3).random((4, 2))
    mean = lambda x, w: np.average(x, axis=(3, 1), weights=w, keepdims=True)  # noqa: E731
    product = lambda x, w: np.einsum("iajk,ka->ij", x, w) / w.sum()  # noqa: E731
    assert mean(wy.Variable(x), w).shape == (2, 1, 3, 1)
    np.testing.assert_allclose(mean(wy.Variable(x), w).value[:, 0, :, 0], product(x, w))
    for argnums in (0, 1):
        found, expected = (
            wy.grad(lambda *args, f=f: (f(*args) ** 2).sum(), argnums, mode="trace")(x, w)
            for f in (mean, product)
        )
        np.testing.assert_allclose(found, expected, rtol=1e-12)
    with pytest.raises(ValueError, match=r"\(4, 2\) along axis \(3, 1\); got \(2, 4\)"):
        mean(wy.Variable(x), w.T)


def test_weights_that_add_up_to_zero_are_refused_as_numpys():
    x = np.arange(4.0)
    for f in (
        lambda w: np.average(x, weights=w),
        lambda w: np.average(np.ones((3, 4)), 1, weights=w),
        lambda w: np.average(x * w, weights=np.zeros(4)),
        lambda w: np.cov(x, aweights=w * 0.0),
        lambda w: np.cov(x * w, fweights=[0, 0, 0, 0]),
        lambda w: np.average(x[:0], weights=w[:0]),
    ):
        with pytest.raises(ZeroDivisionError):
            f(np.array([3.0, -4.0, 1.0, 0.0]))
        with pytest.raises(ZeroDivisionError):
            wy.vjp(f, np.array([3.0, -4.0, 1.0, 0.0]))
    # Weights that can change may add up to something later.
    weights = wy.Input(np.zeros(4))
    program = wy.freeze(np.average(x, weights=weights))
    assert program.run({weights: [0.0, 0.0, 1.0, 1.0]}) == 2.5


def test_arguments_of_some_ufuncs_are_refused_for_the_others():
    v = wy.Variable(np.eye(2))
    for f in (np.matmul, np.add):
        for named in ({"axis": 0}, {"axes": [0, 0, 0]}, {"keepdims": True}):
            with pytest.raises(TypeError):
                f(v, v, **named)


@pytest.mark.parametrize(
    ("error", "match", "call"),
    [
        (ValueError, "as many conditions", lambda v: np.select([v > 0], [v, v])),
        (TypeError, "select: condition 0: expected booleans", lambda v: np.select([X], [v])),
        (ValueError, "with 1 conditions, 1 or 2", lambda v: np.piecewise(v, [X > 0], [1, 2, 3])),
        (ValueError, "kth: 7 is out of range", lambda v: np.partition(v, 7)),
        (IndexError, "index 9 is out of range", lambda v: np.insert(v, 9, 1.0)),
        (IndexError, "out of", lambda v: np.delete(v, 9)),
        (TypeError, "obj: .* got a variable", lambda v: np.delete(v, v[0, 0])),
        (TypeError, "obj: expected integers", lambda v: np.insert(v, 1.5, 1.0)),
        (TypeError, "tuple", lambda v: np.block([(v, v)])),
        (ValueError, "lists of one depth", lambda v: np.block([[v], v])),
        (ValueError, "not empty", lambda v: np.block([[v], []])),
        (ValueError, "at least 3 elements along axis 0", lambda v: np.gradient(v, edge_order=2)),
        (ValueError, "edge_order", lambda v: np.gradient(v, edge_order=3)),
        (TypeError, "0, 1 or 2 distances", lambda v: np.gradient(v, 1.0, 2.0, 3.0)),
        (ValueError, "places of the 3 elements", lambda v: np.gradient(v, [0.0, 1.0], axis=1)),
        (ValueError, "vander: x", np.vander),
        (ValueError, "not zero, got 0", lambda v: np.geomspace(v * 0.0, 1.0)),
        (ValueError, "one lane at least", lambda v: np.apply_along_axis(np.sum, 1, v[:0])),
        (ValueError, "axis 3 is out of range", lambda v: np.cross(v, v, axis=3)),
        (ValueError, "fweights: expected 3 weights", lambda v: np.cov(v, fweights=[1, 2])),
        (ValueError, "cannot be negative", lambda v: np.cov(v, aweights=[1, 2, -1])),
        (ValueError, "signature: expected", lambda v: wy.vectorize(abs, signature="()")),
        (TypeError, "full: shape", lambda v: wy.full(1.5, v)),
        (ValueError, "full: fill_value", lambda v: wy.full(2, v)),
        (ValueError, "up to three integers", lambda v: wy.r_["a", v]),
        (TypeError, "matrix", lambda v: wy.r_["r", v]),
    ],
)
def test_errors(error, match, call):
    with pytest.raises(error, match=match):
        call(wy.Variable(X))


def test_numpys_objects_that_ask_nobody_name_what_does():
    v = wy.Variable([1.0, 2.0])
    for f, way in (
        (lambda: np.full(2, v), r"np\.full: .*use wyrmling\.full"),
        (lambda: np.r_[v, 1.0], r"np\.r_.*use wyrmling\.r_"),
        (lambda: np.c_[v, v], r"np\.c_.*use wyrmling\.c_"),
        (lambda: np.append([v[0]], [v[1]]), r"np\.append: .*use wyrmling\.append"),
        (lambda: np.vectorize(np.sin)(v), "carries a gradient"),
    ):
        with pytest.raises(TypeError, match=way):
            f()
    assert wy.full(2, v).value.tolist() == [1.0, 2.0]
    np.testing.assert_array_equal(wy.vectorize(lambda x: x + 1)(X), X + 1)
    found = wy.vectorize(lambda x, k: x * k, excluded={1})(v, 3.0)
    np.testing.assert_array_equal(found.value, [3.0, 6.0])


def test_logsumexp_with_factors():
    rng = np.random.default_rng(0)
    a, b = rng.normal(size=(3, 4)) * 5, rng.normal(size=(3, 4))
    b[0, 1] = 0.0
    a[1, 2] = -np.inf
    for axis in (None, 0, 1, (0, 1)):
        for keepdims in (False, True):
            got = wy.special.logsumexp(a, axis, b, keepdims, return_sign=True)
            expected = scipy.special.logsumexp(a, axis, b, keepdims, return_sign=True)
            for one, other in zip(got, expected, strict=True):
                assert one.shape == other.shape
                np.testing.assert_allclose(one, other, rtol=1e-12)
    got = wy.special.logsumexp(a[:, 3], b=[1.0, 2.0, 0.0])
    np.testing.assert_allclose(got, scipy.special.logsumexp(a[:, 3], b=[1.0, 2.0, 0.0]))
    assert np.isnan(wy.special.logsumexp([0.0, 0.0], b=[1.0, -2.0]).item())
    assert wy.special.logsumexp([800.0, 900.0], b=[2.0, 0.0]).item() == 800.0 + np.log(2.0)
    # A factor of zero takes no part, whatever its element is.
    assert wy.special.logsumexp([1.0, np.inf], b=[1.0, 0.0]).item() == 1.0
    wy.check_grads(lambda a, b: wy.special.logsumexp(a, 1, b), (a[:1], np.abs(b[:1])))
    wy.check_grads(
        lambda a, b: wy.special.logsumexp(a, b=b, return_sign=True)[0], (a[2], b[2] - 3.0)
    )
    sign = wy.special.logsumexp(np.ones(2), return_sign=True)[1]
    assert sign.item() == 1.0


@pytest.mark.filterwarnings("ignore::RuntimeWarning")  # NumPy's, of infinity less infinity
def test_infinite_terms_of_logsumexp_share_its_gradient():
    """With factors and without, as ``logaddexp``'s two do: equal shares, which do not change."""
    inf = np.inf
    numbers = (-inf, -1.0, 2.0, inf, np.nan)
    for x in map(np.array, itertools.product(numbers, repeat=2)):
        for plain, pair in (
            (wy.special.logsumexp, lambda x: np.logaddexp(x[0], x[1])),
            (lambda x: wy.special.logsumexp(x, b=[1.0, 1.0]), wy.special.logsumexp),
            (lambda x: wy.special.logsumexp(x, b=[-1.0, -1.0], return_sign=True)[0], wy.logsumexp),
        ):
            for derived in (lambda f: f, wy.grad, wy.hessian):
                np.testing.assert_allclose(derived(plain)(x), derived(pair)(x), rtol=1e-13)
    for x in map(np.array, itertools.product(numbers, repeat=3)):
        for b in itertools.product((3.0, 1.0, -2.0, 0.0), repeat=3):
            if not np.any(b):
                continue
            value, sign = wy.special.logsumexp(x, b=b, return_sign=True)
            counted = x[np.array(b) != 0.0]
            if not np.isnan(x).any():
                # SciPy multiplies what does not count, too.
                terms = [(t, f) for t, f in zip(x, b, strict=True) if f]
                elements, factors = zip(*terms, strict=True)
                expected = scipy.special.logsumexp(elements, b=factors, return_sign=True)
                np.testing.assert_allclose((value, sign), expected, rtol=1e-12, atol=1e-12)
            if counted.max() != inf:
                continue
            slope = wy.grad(lambda x, b=b: wy.special.logsumexp(x, b=b, return_sign=True)[0])(x)
            tops = (x == inf) & (np.array(b) != 0.0)
            if len({np.sign(f) for f in np.array(b)[tops]}) == 1:
                np.testing.assert_array_equal(slope, tops / tops.sum())
            else:
                assert np.isnan(value)


def test_every_new_function_has_a_case():
    names = {name.split()[0].split(".")[-1] for name in array_cases.CASES}
    for name in (
        "full",
        "r_",
        "c_",
        "append",
        "gradient",
        "select",
        "piecewise",
        "partition",
        "insert",
        "delete",
        "block",
        "interp",
        "cov",
        "corrcoef",
        "nanmax",
        "nanvar",
        "ediff1d",
        "vander",
        "logspace",
        "geomspace",
        "cross",
        "apply_along_axis",
        "vectorize",
        "row_stack",
        "reduce",
        "outer",
        "accumulate",
    ):
        assert name in names


AVERAGES = (np.mean, np.var, np.std, np.nanmean, np.nanvar, np.nanstd)
SUMS = (np.sum, np.prod, np.nansum, np.nanprod, np.cumsum, np.cumprod, np.nancumsum, np.nancumprod)


@pytest.mark.parametrize("f", AVERAGES + SUMS)
@pytest.mark.parametrize("dtype", [int, np.uint8, bool])
def test_types_that_round_every_step_are_refused(f, dtype):
    x = np.array([1.0, 2.7, 3.0])
    for v in (wy.Variable(x), wy.Parameter(x), wy.Input(x)):
        with pytest.raises(TypeError, match=rf"^{f.__name__}: dtype: .*{np.dtype(dtype)}"):
            f(v, dtype=dtype)
    # What NumPy refuses too, it says itself.
    with pytest.raises(TypeError, match=f"^{f.__name__}: dtype|dtype must be inexact"):
        wy.grad(lambda v: np.sum(f(v, dtype=dtype)))(x)


def test_integers_are_added_up_in_integers():
    x = wy.Input(np.array([1.0, 2.7, 3.0]))
    for f in (np.sum, np.prod, np.cumsum):
        np.testing.assert_array_equal(f(x > 1.5, dtype=int).value, f(x.value > 1.5, dtype=int))
    with pytest.raises(TypeError, match=r"^mean: dtype"):
        np.mean(x > 1.5, dtype=int)
