"""The face of the package: what importing it loads, and which names it has."""

import inspect
import pickle
import re
import subprocess
import sys

import numpy as np
import pytest

import wyrmling as wy
from wyrmling import _core, dispatch, plain

TABLE = {name for entry in _core.elementwise() for name in entry["numpy"]}


def run(code):
    """What a new interpreter prints."""
    done = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)
    return done.stdout.split()


def loaded(code):
    """The modules that code loads besides NumPy, without those built into the interpreter."""
    head = "import sys, numpy\nbefore = set(sys.modules)\n"
    return set(run(f"{head}{code}\nprint(*set(sys.modules) - before)")) - {
        *sys.builtin_module_names
    }


def test_importing_the_package_loads_the_native_module_and_little_else():
    core = {"wyrmling", "wyrmling._core", "wyrmling._names", "wyrmling.variable"}
    assert loaded("import wyrmling") == core
    # Building a graph, training it and NumPy's own operators need no more.
    code = """
import numpy as np, wyrmling as wy
w = wy.Parameter([1.0, 2.0])
loss = (np.exp(w) * wy.sin(w) + w[0]).sum()
loss.backward()
wy.SGD(lr=0.1).step([w])
wy.freeze(loss)
"""
    assert loaded(code) == core | {"wyrmling.functions", "wyrmling.plain"}


def test_rare_modules_are_loaded_when_they_are_asked_for():
    transforms = loaded("import wyrmling; wyrmling.grad")
    assert "wyrmling.transforms" in transforms
    assert not {"wyrmling.drawing", "wyrmling.arrays", "numpy.random._generator"} & transforms
    assert "wyrmling.drawing.svg" in loaded("import wyrmling; wyrmling.draw")
    dispatched = loaded("import numpy as np, wyrmling; np.cumsum(wyrmling.Variable([1.0]))")
    assert "wyrmling.dispatch" in dispatched
    assert "wyrmling.recommend" not in dispatched
    assert "wyrmling.arrays" in loaded("import wyrmling; wyrmling.Variable([1.0]).cumsum()")


def test_submodules_that_the_documentation_names_are_there():
    named = set(re.findall(r"``(\w+)``", wy.__doc__.partition("The submodules:")[2]))
    assert {"recommend", "serving"} <= named
    code = f"import wyrmling; print(*(getattr(wyrmling, name).__name__ for name in {named}))"
    assert {*run(code)} == {f"wyrmling.{name}" for name in named}
    assert named <= {*wy.__all__}


def test_each_name_is_there_in_a_fresh_process_whatever_is_asked_first():
    for name in ["where", "grad", "Drawing", "special", "recommend", "abs"]:
        code = f"import wyrmling; x = wyrmling.{name}; assert x is wyrmling.{name}; print(x)"
        assert run(code)
    code = "from wyrmling import *; print(grad.__module__, Drawing.__name__, special.erf.__name__)"
    assert run(code) == ["wyrmling.transforms.reverse", "Drawing", "erf"]
    assert run("import wyrmling; print(*set(wyrmling.__all__) - set(dir(wyrmling)))") == []


def test_a_name_that_is_not_there_raises():
    with pytest.raises(AttributeError, match=r"^module 'wyrmling' has no attribute 'arccscd'$"):
        wy.arccscd  # noqa: B018
    with pytest.raises(ImportError, match="cannot import name 'gone'"):
        from wyrmling import gone  # noqa: F401
    assert not hasattr(wy, "__wrapped__")


def test_functions_and_classes_pickle_by_name():
    for thing in [wy.Variable, wy.Drawing, wy.grad, wy.cumsum, wy.exp, wy.special.airy]:
        assert pickle.loads(pickle.dumps(thing)) is thing
        # Without what this process has loaded, too.
        data = pickle.dumps(thing)
        name = run(f"import pickle; print(pickle.loads({data!r}).__name__)")
        assert name == [thing.__name__]


def test_methods_that_are_loaded_late_are_plain_functions_of_the_class():
    names = ["cumsum", "clip", "flatten"]
    code = f"""
import inspect, wyrmling as wy
x = wy.Variable([1.0, 2.0])
print(*x.flatten().value, *x.clip(0.0, 1.5).value)
print(*(inspect.isfunction(getattr(wy.Variable, name)) for name in {names}))
print(wy.Variable.ravel is wy.plain.inner(wy.ravel), "cumsum" in dir(x))
"""
    assert run(code) == ["1.0", "2.0", "1.0", "1.5", *["True"] * 5]
    signature = inspect.signature(wy.Variable.cumsum)
    assert list(signature.parameters) == ["a", "axis", "dtype", "out"]


@pytest.mark.parametrize("name", [name for name in wy.__all__ if hasattr(np, name)])
def test_a_public_name_of_numpys_is_that_function(name):
    """Given a variable, NumPy's function calls the one of this name."""
    theirs, ours = getattr(np, name), plain.inner(getattr(wy, name))
    if not callable(theirs):
        # The version, linalg, whose functions are among dispatch's, and what is indexed.
        assert name in ("__version__", "linalg", "c_", "r_")
    elif isinstance(theirs, np.ufunc):
        # By the rule table, or matmul, or what is made of several.
        assert name in TABLE or name == "matmul" or dispatch.functions()[theirs] is ours
    elif name in TABLE:
        assert ours is getattr(_core, name)
    else:
        assert dispatch.functions()[theirs] is ours


def test_other_public_names_are_said_to_be_ours():
    """The package's docstring names each function that NumPy has not."""
    known = set(re.findall(r"``(\w+)``", wy.__doc__))
    newer = TABLE | set(dispatch.functions())  # Of a newer NumPy than this.
    ours = {
        name
        for name in wy.__all__
        if not hasattr(np, name) and name not in newer and inspect.isbuiltin(getattr(wy, name))
    }
    assert ours - {"fit", "freeze"} <= known
    assert {"relu", "softmax", "gather"} <= ours


def test_what_only_special_has_is_not_in_the_package():
    ours = {"arccscd", "secd", "cospi", "trigamma", "coth", "arcsech"}
    assert ours <= set(wy.special.__all__)
    assert not ours & set(dir(wy))
    # What both have is one function, but that NumPy's names are NumPy's functions of plain arrays.
    for name in set(wy.special.__all__) & set(wy.__all__):
        here, there = getattr(wy, name), getattr(wy.special, name)
        if name in ("softmax", "log_softmax"):
            continue  # over the last axis, and over SciPy's: all
        assert plain.inner(here) is plain.inner(there)
        assert (here is there) == (not hasattr(np, name))
