"""The examples in the docstrings of the native module run, and everything has a docstring."""

import doctest
import inspect
import runpy
from pathlib import Path

import pytest

import wyrmling as wy
from wyrmling import _core, functions, plain

stubs = runpy.run_path(str(Path(__file__).parent.parent / "scripts" / "stubs.py"))
PUBLIC = sorted(name for name in _core.__all__ if callable(getattr(_core, name)))


@pytest.mark.parametrize("name", PUBLIC)
def test_examples(name):
    thing = getattr(_core, name)
    assert thing.__doc__, f"{name} has no docstring"
    # Users get the public form of a function, where there is one.
    forms = [vars(functions), vars(wy.linalg), {"replace": wy.replace}, vars(_core)]
    names = {key: next(form[key] for form in forms if key in form) for key in PUBLIC}
    names |= {"sampling": wy.sampling}
    examples = doctest.DocTestParser().get_doctest(thing.__doc__, names, name, None, None)
    runner = doctest.DocTestRunner(optionflags=doctest.REPORT_NDIFF)
    runner.run(examples)
    assert runner.summarize().failed == 0


@pytest.mark.parametrize("name", [n for n in PUBLIC if inspect.isclass(getattr(_core, n))])
def test_members_are_documented(name):
    for member, value in vars(getattr(_core, name)).items():
        if not member.startswith("_"):
            assert value.__doc__, f"{name}.{member} has no docstring"


def test_everything_public_is_exported():
    """What users need is in the package; the rest is reached through its own modules."""
    inner = {"Csr", "NO_ITEM", "top_k", "evaluate_ranking", "read_interactions", "exported"}
    inner |= {"register_functions", "save_model", "load_model", "Sampler", "Uniform", "Popularity"}
    inner |= {
        "traced",
        "differentiable",
        "is_read",
        "is_number",
        "is_scalar",
        "is_view",
        "as_number",
        "captures",
        "gradients",
        "pushforward",
    }  # of transforms
    inner |= {"replace_node", "apply_primitive", "outline", "HookHandle", "restored_history"}
    inner |= {"Public", "public", "has_variable"}  # of plain
    inner |= {"elementwise", *stubs["INNER"]}
    inner |= {name for name, _, home in _core.exported() if home == "inner"}
    modules = {"arrays", "datasets", "evaluate", "linalg", "recommend", "sampling", "special"}
    native = {
        name for name in wy.__all__ if plain.inner(getattr(wy, name)) is getattr(_core, name, None)
    }
    native |= set(wy.special.__all__) - stubs["COMPOSED"]
    # Or they have another signature there.
    composed = set(wy.arrays.__all__)
    assert set(_core.__all__) - inner - composed == native - composed
    assert modules | composed <= set(wy.__all__)
    assert len(set(wy.special.__all__)) == len(wy.special.__all__)
    assert len(set(wy.__all__)) == len(wy.__all__)
    for name in wy.__all__:
        assert hasattr(wy, name)
    for name in modules:
        assert inspect.ismodule(getattr(wy, name))
        assert f"``{name}``" in wy.__doc__
