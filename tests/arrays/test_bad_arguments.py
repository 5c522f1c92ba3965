"""Bad arguments: NumPy's functions, given variables, raise what they raise for plain arrays, or
give what they give.

Every function of dispatch.py is called with arrays of many shapes, and with each of its arguments
replaced in turn by what is good and what is bad for its name. Value, shape, floating-point type and
the kind of exception are compared with NumPy's. Where ours deviate, ``DEVIATIONS`` says why: a line
there that is of no use any more fails, so the list can only shrink.
"""

import inspect
import re
import warnings

import numpy as np
import pytest

import wyrmling as wy
from wyrmling import _core, dispatch

NAN, INF = np.nan, np.inf
AXES = [0, -1, 2, -4, (0, 1), (0, 0), (1, -1), (), [0], [0, 1], 1.5, "a", None, np.int64(1)]
AXES += [np.array(0), np.array([0]), (1.5,), (0, 5)]
INTEGERS = [0, 1, -1, 5, -5, 1.5, "a", None, np.int64(1), np.array(1), [1], NAN]
SHAPES = [(3, 2), 6, -1, (-1, -1), (4,), [6], [[6]], 1.5, (2.0, 3.0), "a", (6, -1), (0,), (-2, 3)]
BOOLEANS = [True, False, "a", [], None]
ORDERS = [None, 0, 1, 2, -1, 3, 0.5, INF, -INF, "fro", "nuc", "a", NAN, [1], (1,)]
ENDS = [None, 0.5, 3.0, "a", [0.0, 1.0, 2.0], [0.0, 1.0], NAN]
HEAVY = [None, [1, 2, 3], [1.5, 2, 3], [1, 2], [[1, 2, 3]], [-1, 1, 1], [0, 0, 0], "a", []]
WEIGHTS = [np.ones(3), np.ones(2), np.ones((2, 3)), np.zeros((2, 3)), 1.0, "a", np.zeros(3), []]
SORTS = [None, "quicksort", "stable", "mergesort", "introselect", "q", "a", 5]
MASKS = [True, False, [True, False, True], [True, False], np.ones((2, 1), bool), None, "a"]
MASKS += [np.ones((1, 3), bool), np.ones((2, 2, 3), bool), 1, [1, 0, 1]]
PLACES = [0, 1, -1, 5, -7, [0, 1], [], 1.5, "a", None, [True, False], np.array([[0, 1, 0]]), [1.0]]
PARTS = [1, 2, 0, -1, [1], [2, 1], [5], [-1], 1.5, "a", None, np.array(3), [[1]], [], [1.5]]
SHARES = [0, 0.5, -0.1, 101, [0.1, 0.5], [[0.2]], [], "a", None, NAN, (0.5,), 0.5 + 0j]
EDGES = [3, 0, -1, [0.0, 1.0, 2.0], [2.0, 1.0], [1.0], "auto", "a", 1.5, None, [0.0, NAN]]
RANGES = [None, (0.0, 1.0), (1.0, 0.0), (1.0, 1.0), (0.0, INF), (NAN, 1.0), "a", 5]
# For each name of an argument what it is given.
POOL = {
    **dict.fromkeys(("axis", "axis1", "axis2", "axisa", "axisb", "axisc"), AXES),
    **dict.fromkeys(("source", "destination"), AXES),
    "axes": [*AXES, 2, ((0,), (1,)), ([0], [1]), (1, 0), (-1, 0), ((0, 0), (0, 0))],
    **dict.fromkeys(("k", "n", "N", "m", "offset", "num", "minlength"), INTEGERS),
    "ind": [*INTEGERS, [0, 1], [9]],
    "shift": [*INTEGERS, (1, 2)],
    "decimals": [0, 1, -1, 1.5, "a", None, np.array(1), [1]],
    **dict.fromkeys(("shape", "new_shape"), SHAPES),
    "window_shape": [*SHAPES, (1, 1), (0, 0), (2, 4), (1, 2, 1)],
    **dict.fromkeys(("keepdims", "endpoint", "increasing", "returned", "rowvar"), BOOLEANS),
    **dict.fromkeys(("bias", "hermitian", "density", "include_initial", "wrap"), BOOLEANS),
    "dtype": [float, "f4", int, bool, "zz", complex, None, 5, np.float16],
    "kind": SORTS,
    "stable": [None, True, False],
    "order": [None, "C", "F", "K", "a", 5, ["f"]],
    "ord": ORDERS,
    "p": ORDERS,
    "mode": ["full", "same", "valid", "a", "raise", "wrap", "clip", None, "reduced", "r"],
    "method": ["linear", "lower", "a", None, 5, "hazen"],
    "q": SHARES,
    "ddof": [0, 1, 3, 10, -1, 0.5, "a", [1], NAN, 1j],
    "correction": [0, 1, 0.5, "a"],
    "initial": [0.0, "a", None, [1.0], [1.0, 2.0, 3.0], np.ones(3), NAN, 1j],
    "where": MASKS,
    "mean": [1.0, np.ones((2, 1)), np.ones((1, 3)), np.ones((1, 1)), "a"],
    "indices_or_sections": PARTS,
    "indices": PLACES,
    "kth": PLACES,
    "obj": [*PLACES, slice(0, 1), slice(None)],
    "repeats": [0, 1, -1, 2, 1.5, "a", None, [1, 2], [1, 2, 3], [], [[1, 2]], [1.5, 2.5]],
    "reps": [0, 1, -1, 1.5, "a", None, (2, 2), (1, 2, 1), [], (-1,), (1.5,)],
    "pad_width": [0, 1, -1, (1, 2), ((1, 2), (0, 1)), [1], (1, 2, 3), 1.5, "a", None, [[1, 2]]],
    "condition": [True, [True, False], [[True, False, True]], [1, 0], [True] * 7, [], "a"],
    "fill_value": [1.0, [1.0, 2.0, 3.0], [1.0, 2.0], np.ones((2, 2, 3)), "a", NAN],
    "values": [1.0, [1.0, 2.0], [1.0, 2.0, 3.0], np.ones((4, 4)), "a", []],
    **dict.fromkeys(("vals", "val"), (1.0, [1.0, 2.0], [], "a")),
    "bins": EDGES,
    "range": RANGES,
    "weights": WEIGHTS,
    **dict.fromkeys(("fweights", "aweights"), HEAVY),
    **dict.fromkeys(("prepend", "append"), (0.0, [1.0], np.ones((2, 1)), np.ones((4, 4)), "a")),
    **dict.fromkeys(("to_end", "to_begin"), (None, 0.0, [1.0, 2.0], np.ones((2, 2)), "a")),
    "base": [10.0, 0, -1, "a", [2.0, 3.0, 4.0]],
    **dict.fromkeys(("left", "right"), (None, 1.0, "a", [1.0, 2.0], NAN)),
    "period": [None, 1.0, 0, -2.0, "a", INF, NAN],
    **dict.fromkeys(("nan", "posinf", "neginf"), (0.0, "a", [1.0, 2.0, 3.0], [1.0, 2.0])),
    **dict.fromkeys(("a_min", "a_max", "min", "max"), ENDS),
    "indexing": ["xy", "ij", "a", None],
    "edge_order": [1, 2, 3, 0, "a", 1.5],
    **dict.fromkeys(("x", "dx"), (1.0, [1.0, 2.0, 3.0], [1.0, 2.0], np.ones((2, 3)), "a", [])),
    "trim": ["fb", "f", "", "x", None, "FB"],
    "w": [None, [1.0, 2.0, 3.0], [1.0, 2.0], np.ones((2, 3)), "a"],
    "UPLO": ["L", "u", "a", None],
    "casting": ["same_kind", "no", "a", None],
    "mask": [[True, False, True], np.ones((2, 3), bool), np.ones((1, 3), bool), [1, 0], "a"],
    "side": ["left", "right", "a"],
    "rcond": [None, 0.1, -1, 1e3, "a"],
    "default": [0, 1.0, [1.0, 2.0, 3.0], [1.0, 2.0]],
    "copy": [True, "a"],
    "device": [None, "cpu", "gpu"],
    "out": [5, "a", np.zeros(3), np.zeros((2, 3)), ()],
    "deg": [0, 1, -1, 1.5, "a"],
    "unknown": [1],
}
# One array for each argument without a default, or two.
ALONE = [(), (0,), (1,), (3,), (2, 3), (0, 3), (3, 0), (3, 3), (2, 3, 3)]
PAIRS = [((3,), (2,)), ((2, 3), (3,)), ((2, 3), (2,)), ((2, 3), (3, 2)), ((3,), (0,)), ((), (3,))]
PAIRS += [((3, 3), (3,)), ((2, 3), (1, 3)), ((2, 3, 3), (3, 3)), ((2, 3), ())]
# What is given where an argument without a default is no array.
NEEDED = {
    "axis": 0, "axis1": 0, "axis2": 1, "source": 0, "destination": 1, "repeats": 2, "q": 0.5,
    "indices": np.array([[0, 1, 0]]), "n": 2, "shift": 1, "pad_width": 1, "reps": 2, "k": 0,
    "shape": (3, 2), "new_shape": (3, 2), "indices_or_sections": 1, "kth": 1, "obj": 1, "deg": 1,
    "values": 5.0, "fill_value": 2.0, "dtype": np.float32, "ind": [0, 1], "vals": [1.0, 2.0],
    "mask": np.ones((2, 3), bool), "condition": [True, False], "choices": [1.0, 2.0], "src": 1.0,
    "bins": [0.0, 1.0, 2.0], "window_shape": (1, 2),
}  # fmt: skip
STORING = {"put", "place", "putmask", "put_along_axis", "fill_diagonal", "copyto"}
# They show, save or describe, give what memory held, or take functions and lists of their own.
APART = {
    *dispatch._OF_VALUES_NOW, "empty_like", "vectorize", "apply_along_axis", "apply_over_axes",
    "piecewise", "select", "full", "array", "bincount",
}  # fmt: skip
# Elementwise functions of one entry of the rule table are alike.
ALIKE = {name for entry in _core.elementwise() for name in entry["numpy"]} - {"sin", "arctan2"}


pytestmark = pytest.mark.skipif(
    np.lib.NumpyVersion(np.__version__) < "2.3.0", reason="errors of older NumPys differ"
)


def functions():
    """NumPy's functions by their names, with the module's in front, and their parameters."""
    for theirs in dispatch.functions():
        if theirs.__name__ in APART | ALIKE:
            continue
        try:
            parameters = inspect.signature(theirs).parameters
        except ValueError:
            continue  # an older NumPy does not tell
        inner = "linalg." if (theirs.__module__ or "").endswith("linalg") else ""
        yield inner + theirs.__name__, (theirs, list(parameters.values()))


FUNCTIONS = dict(functions())


def needed(name, parameters, shapes):
    """The positional arguments without a default: arrays of the shapes, and what is no array."""
    rng = np.random.default_rng(0)
    found = [] if name != "einsum" else ["...,..."]
    for parameter in parameters:
        if parameter.kind is parameter.VAR_POSITIONAL:
            found += [rng.uniform(0.3, 2.0, shape) for shape in (shapes[0], shapes[-1])]
        elif parameter.default is parameter.empty and parameter.kind not in (
            parameter.VAR_KEYWORD,
            parameter.KEYWORD_ONLY,
        ):
            at = sum(isinstance(x, np.ndarray) for x in found)
            array = rng.uniform(0.3, 2.0, shapes[min(at, len(shapes) - 1)])
            if parameter.name in ("arrays", "tup"):
                array = [array, rng.uniform(0.3, 2.0, shapes[-1])]
            found.append(NEEDED.get(parameter.name, array))
    return found[:1] if name == "gradient" else found


def outcome(call):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            return call()
        except Exception as error:
            return error


def call(theirs, args, named, trace):
    """What a function of NumPy gives for arrays that ``trace`` was called for."""

    def traced(x):
        if isinstance(x, list) and x and isinstance(x[0], np.ndarray):
            return [trace(part) for part in x]
        return trace(x) if isinstance(x, np.ndarray) and x.dtype == float else x

    args = [traced(x) for x in args]
    if theirs.__name__ not in STORING:
        return theirs(*args, **named)
    args[0] = args[0] * 1.0
    theirs(*args, **named)
    return args[0]


def parts(found):
    if isinstance(found, tuple | list):
        return [each for part in found for each in parts(part)]
    return [np.asarray(found.value if isinstance(found, wy.Variable) else found)]


KINDS = (np.exceptions.AxisError, np.linalg.LinAlgError, ZeroDivisionError, MemoryError)
ACCIDENTS = (AttributeError, UnboundLocalError, OverflowError)
KINDS += (*ACCIDENTS, IndexError, ValueError, TypeError, Exception)


def differs(expected, got):
    """How ours deviates from NumPy's, or None."""
    if isinstance(expected, Exception):
        if not isinstance(got, Exception):
            return f"answers, where NumPy raises {type(expected).__name__}: {expected}"
        kind = next(kind for kind in KINDS if isinstance(expected, kind))
        # Where NumPy's Python fails by accident any error will do.
        if kind in ACCIDENTS or isinstance(got, kind):
            return None
        return f"raises {type(got).__name__} for {kind.__name__}: {got}"
    if isinstance(got, Exception):
        return f"refuses by {type(got).__name__}: {got}"
    one, other = parts(expected), parts(got)
    if [x.shape for x in one] != [x.shape for x in other]:
        return f"has the shapes {[x.shape for x in other]} for {[x.shape for x in one]}"
    for x, y in zip(one, other, strict=True):
        tolerance = 1e-5 if x.dtype == np.float32 else 1e-10
        if x.dtype.kind not in "iufb":
            return None if np.array_equal(x, y) else "has another value"
        if not np.allclose(x, y, rtol=tolerance, atol=tolerance, equal_nan=True):
            return "has another value"
        if x.dtype.kind == "f" and x.dtype != y.dtype:
            return f"has the type {y.dtype} for {x.dtype}"
    return None


# What may deviate: functions, arguments, how, and why. Each is a pattern for the whole text.
DEVIATIONS = [
    (".*", ".*", "refuses by TypeError: .* have no meaning for variables.*", "of memory"),
    (".*", "out", ".* TypeError.*: .*a plain array cannot take.*", "it would lose the gradient"),
    (".*", ".*", ".*TypeError.*a variable holds float32 or float64.*", "documented"),
    (".*", "dtype", ".*TypeError.*in which nothing is differentiated.*", "rounds every step"),
    (".*", ".*", "refuses by TypeError: .*expected True or False.*", "a boolean is no number"),
    (
        ".*",
        "where",
        ".*TypeError.*where: (expected booleans|without out).*",
        "no mask",
    ),
    (".*", ".*", "raises TypeError for (Value|Index)Error: .*expected.*", "of that type it is not"),
    (
        ".*",
        ".*",
        "refuses by .*Error: .*: expected an integer.*, got .*",
        "of no such kind",
    ),
    (".*", ".*", "refuses by TypeError: .*: expected (one )?number.*", "of no such kind"),
    (".*", "casting|keepdims|axes", "answers, .*(must be|should be) .*", "None is the default"),
    (".*", "initial", "answers, .* reduction operation .*", "None is the default"),
    (".*", "weights", ".*: weights: quantiles of weighted .*", "refused by name"),
    (
        ".*",
        "dtype",
        "answers, .*(No loop|Cannot cast).*",
        "computed in floats",
    ),
    ("bitwise_.*|invert", ".*", "answers, .* not supported .*", "of no elements all are booleans"),
    ("(arg)?partition", "kth", "answers, .* must be integer.*", "no place is in no order"),
    ("average", "axis", "answers, .*ZeroDivisionError.*", "of no lanes there is no mean"),
    ("expand_dims", "axis", "answers, .*", "an array of axes is a sequence of them"),
    ("geomspace|linspace", "axis", ".*", "None is all axes"),
    ("linalg.cond", "p", "raises .*no order.*", "another of the errors"),
    ("linalg.(qr|svd|pinv)", ".*", ".*NotImplementedError.*", "documented"),
    ("linalg.multi_dot", ".*", "refuses by LinAlgError.* is not a matrix.*", "NumPy's two alone"),
    ("(linalg.)?tensordot", ".*", ".*axes are not in arrays.*", "another error, or none"),
    ("(linalg.)?tensordot", ".*", ".*expected a number of axes.*", "an array is no number"),
    ("linalg.tensorinv", "shapes", "answers, .*", "NumPy's reshape of no axes is an accident"),
    ("linalg.tensorsolve", "shapes", ".*", "NumPy's shape of equal axes is an accident; empty"),
    ("linalg.*norm", "axis", ".*TypeError.*got (float )?1.5", "no axis"),
    (
        "percentile|quantile",
        ".*",
        "raises ValueError for IndexError.*no elements.*",
        "says what is",
    ),
    ("nan_to_num", "copy", "answers, .*", "anything else is true"),
    ("(nan)?(std|var)", "mean", "refuses by ValueError: .*expected shape.*", "as documented"),
    ("poly.*", "shapes", ".*expected one axis of coefficients.*", "a matrix is no polynomial"),
    ("poly|polyval", "shapes", ".*expected (a vector|the coefficients).*", "refused by name"),
    ("put|take", "mode", "refuses by ValueError.*got None.*", "a mode is a text"),
    (
        "put.*|place",
        ".*",
        "raises ValueError for TypeError: .*mask: expected.*",
        "of another shape",
    ),
    ("put_along_axis", "axis", "answers, .*", "indices of several axes are flattened"),
    ("ravel|reshape", "order", ".*expected 'C' or 'F'.*", "the others follow memory"),
    ("reshape", "copy", ".*unexpected keyword.*", "a variable is never written elsewhere"),
    ("reshape", "shape", "refuses by ValueError.*cannot be -2", "NumPy's is an accident"),
    ("roll", "axis", "answers, .*", "no axes change nothing"),
    (".*split", ".*", "raises ValueError for ZeroDivisionError.*", "says what is wrong"),
    ("gradient", "edge_order", "raises ValueError for IndexError.*", "says what is wrong"),
    ("tril|triu", "shapes", "raises ValueError for TypeError.*a matrix.*", "says what is wrong"),
    (".*", "casting", "raises .*", "another of the errors: of memory"),
    ("cumulative_.*|unstack", "axis", "raises TypeError for AxisError.*", "only one axis is one"),
    ("delete", "obj", "refuses by ValueError.*along one axis.*", "a matrix is no list of places"),
    ("histogram2d", "shapes", "raises ValueError for TypeError.*", "another of the errors"),
    ("histogramdd", "weights", "refuses by ValueError.*", "of no points NumPy reads no weights"),
    ("linalg.(lstsq|pinv)", "rcond", "raises ValueError.*convert string.*", "Python's own error"),
    ("linspace", "device", "answers, .*", "numbers are no device's"),
    ("logspace|moveaxis", ".*", "raises ValueError.*(given twice|cannot move).*", "another error"),
    ("take", "indices", "refuses by TypeError: index.*", "fractions and masks are no indices"),
    ("vecdot", "keepdims", ".*unexpected keyword.*", "refused by name"),
]
if np.lib.NumpyVersion(np.__version__) >= "2.5.0":
    DEVIATIONS += [
        ("interp", "shapes", "refuses by ValueError.*one point at least.*", "it was NumPy's error"),
    ]
else:
    DEVIATIONS += [
        ("cross", ".*", "refuses by ValueError.*3 components.*", "two are deprecated by NumPy"),
        (
            "median|percentile|quantile",
            "axis",
            "answers, .*cannot reshape.*",
            "an accident of NumPy's",
        ),
    ]
USED = set()


def allowed(name, argument, how):
    for k, (functions, arguments, deviation, _) in enumerate(DEVIATIONS):
        patterns = ((functions, name), (arguments, argument), (deviation, how))
        if all(re.fullmatch(pattern, text, re.DOTALL) for pattern, text in patterns):
            USED.add(k)
            return True
    return False


def cases(name, parameters):
    """Arguments by position and by name, which of them is bad, and whether the others are good."""
    theirs = FUNCTIONS[name][0]
    for shapes in [*((shape,) for shape in ALONE), *PAIRS]:
        yield needed(name, parameters, shapes), {}, "shapes", True
    yield needed(name, parameters, [(2, 3)]), {"unknown": 1}, "unknown", True
    names = [parameter.name for parameter in parameters]
    for shape in ((2, 3), (3,), (), (0, 3)):
        args = needed(name, parameters, [shape])
        found = outcome(lambda args=args: call(theirs, args, {}, np.copy))
        good = not isinstance(found, Exception)
        for parameter in parameters:
            by_name = parameter.name
            if (
                parameter.kind in (parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD)
                or (shape != (2, 3) and not re.match("axis|q|ord|init|wei|where|k$", by_name))
                or (parameter.default is parameter.empty and by_name not in NEEDED)
            ):
                continue
            for value in POOL.get(by_name, []):
                args, at = needed(name, parameters, [shape]), names.index(by_name)
                if parameter.kind is parameter.KEYWORD_ONLY or at >= len(args):
                    yield args, {by_name: value}, by_name, good
                else:
                    args[at] = value
                    yield args, {}, by_name, good


def deviations(name, trace):
    theirs, parameters = FUNCTIONS[name]
    for args, named, argument, good in cases(name, parameters):
        expected = outcome(lambda args=args, named=named: call(theirs, args, named, np.copy))
        got = outcome(lambda args=args, named=named: call(theirs, args, named, trace))
        if not good and isinstance(expected, Exception) and isinstance(got, Exception):
            continue  # two things are wrong, and either is named
        how = differs(expected, got)
        if how and not allowed(name, argument, how):
            yield f"{argument}: {args} {named}: {how}; NumPy: {expected!r}"


@pytest.mark.parametrize("name", FUNCTIONS)
def test_bad_arguments_are_as_bad_as_numpys(name):
    found = list(deviations(name, wy.Variable))
    assert not found, "\n".join(found)


def test_every_deviation_that_is_listed_is_one():
    """Run alone it calls everything itself."""
    if len(USED) < len(DEVIATIONS):
        for name in FUNCTIONS:
            list(deviations(name, wy.Variable))
    unused = [deviation for k, deviation in enumerate(DEVIATIONS) if k not in USED]
    assert not unused


def test_pad_by_more_than_an_array_has():
    """``np.arange`` of such a length is empty, and no error."""
    with pytest.raises(ValueError, match=r"too big|Maximum"):
        np.pad(wy.Variable([1.0, 2.0]), (2**63 - 1, 0), "linear_ramp")
