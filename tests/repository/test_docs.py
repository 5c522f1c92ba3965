"""Documentation: the examples of the native module run, everything public has a docstring, and the
pages and comments name files and modules that are there."""

import doctest
import inspect
import io
import re
import runpy
import textwrap
import tokenize
from pathlib import Path

import pytest

import wyrmling as wy
from wyrmling import _core, functions, plain

ROOT = Path(__file__).parents[2]
stubs = runpy.run_path(str(ROOT / "scripts" / "stubs.py"))
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
    inner = {
        "Csr",
        "MOST_WORKERS",
        "NO_ITEM",
        "top_k",
        "evaluate_ranking",
        "column_role",
        "read_interactions",
        "exported",
        "refusals",
    }
    inner |= {
        "register_functions",
        "write_tensors",
        "replace_file",
        "read_tensors",
        "tensor_places",
        "Sampler",
        "Uniform",
        "Popularity",
        "ScoredSampler",
        "WARP",
        "Dynamic",
        "Adaptive",
        "InBatch",
        "Custom",
        "Rank",
    }
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
    inner |= {"Captured", "IrBuilder", "IrFunction", "Compiled"}  # of source
    inner |= {"Dispatcher", "Specialization", "SpecializationTable"}  # of source
    inner |= {
        "CsrMatrix",
        "least_squares",
        "item_weights",
        "nearest_items",
        "sums_of_rows",
    }  # of recommend
    inner |= {"Public", "public", "has_variable"}  # of plain
    inner |= {"checkpoint_parts", "restore_checkpoint"}  # of checkpoints
    inner |= {"elementwise", *stubs["INNER"]}
    inner |= {name for name, _, home in _core.exported() if home == "inner"}
    modules = {
        "arrays",
        "data",
        "nn",
        "datasets",
        "evaluation",
        "linalg",
        "recommend",
        "sampling",
        "special",
    }
    # Some have the type that NumPy's have put around them, ``plain.native``.
    found = {name: plain.inner(plain.inner(getattr(wy, name))) for name in wy.__all__}
    native = {name for name, one in found.items() if one is getattr(_core, name, None)}
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


PAGES = ["README.md", "CONTRIBUTING.md", "CHANGELOG.md", *sorted((ROOT / "docs").glob("*.md"))]
FOLDERS = ["src", "python", "tests", "benches", "examples", "scripts", "docs", ".ci"]
ENDINGS = r"\.(?:py|pyi|rs|md|toml|sh|lock)"


def paths() -> set[str]:
    """Every file and folder, whole and without what stands in front of it."""
    inside = (path for folder in FOLDERS for path in [ROOT / folder, *(ROOT / folder).rglob("*")])
    parts = [path.relative_to(ROOT).parts for path in [*inside, *ROOT.glob("*.*")]]
    return {"/".join(part[k:]) for part in parts for k in range(len(part))}


def missing(page: str) -> list[str]:
    """The files, folders and modules of Rust that a page names and that are not there."""
    lacking, present = [], paths()
    for term in re.findall(r"`([^`\s]+)`", re.sub(r"```.*?```", "", page, flags=re.DOTALL)):
        path, _, name = term.partition("::")
        if re.fullmatch(rf"[.\w][\w./-]*(?:/|{ENDINGS})", term):
            if term.removeprefix("./").rstrip("/") not in present:
                lacking.append(term)
        elif re.fullmatch(r"[a-z_]+::[a-z_:]+", term) and (ROOT / "src" / path).is_dir():
            # A file, or what the folder exports.
            exported = (ROOT / "src" / path / "mod.rs").read_text("utf-8")
            if not re.search(rf"\b{name.split('::')[0]}\b", exported):
                lacking.append(term)
    return lacking


@pytest.mark.parametrize("page", PAGES, ids=lambda page: Path(page).name)
def test_pages_name_files_that_are_there(page):
    assert missing((ROOT / page).read_text("utf-8")) == []


def comments(file: Path) -> list[str]:
    """The comments of a file of Rust; those of one of Python, and its docstrings."""
    text = file.read_text("utf-8")
    if file.suffix == ".rs":
        return re.findall(r"//.*", text)
    tokens = tokenize.generate_tokens(io.StringIO(text).readline)
    return [one.string for one in tokens if one.string.startswith(("#", '"""', 'r"""'))]


def test_comments_name_files_that_are_there():
    present, found, lacking = paths(), 0, []
    for file in [path for folder in FOLDERS for path in (ROOT / folder).rglob("*.[pr][ys]")]:
        for term in re.findall(r"``?([^`\s]+)``?", "\n".join(comments(file))):
            if re.fullmatch(rf"[.\w][\w./-]*{ENDINGS}", term):
                found += 1
                if term.removeprefix("./") not in present:
                    lacking.append(f"{file.relative_to(ROOT)}: {term}")
    assert found > 80
    assert lacking == []


def test_names_of_no_file_are_found():
    lost = ["src/graph/walk.rs", "graph::asked", "lost.py", "tests/pointless/"]
    there = ["src/graph/node.rs", "exec::rows", "interrupt::wait", "setup.py::x", "np.exp", "src/"]
    assert missing(" ".join(f"`{term}`" for term in lost + there)) == lost


def test_make_targets_that_pages_name_are_there():
    made = set(re.findall(r"^([a-z-]+):.*## ", (ROOT / "Makefile").read_text(), re.MULTILINE))
    for page in PAGES:
        named = set(re.findall(r"`make ([a-z-]+)", (ROOT / page).read_text("utf-8")))
        assert named <= made, page


def test_parts_of_examples_are_in_them():
    found = 0
    for page in PAGES:
        text = (ROOT / page).read_text("utf-8")
        for example, code in re.findall(r"<!-- part of (\S+) -->\n\n((?: {4}.*\n|\n)+)", text):
            whole = (ROOT / example).read_text("utf-8")
            lines = textwrap.dedent(code).splitlines()
            assert lines
            missing = [line for line in lines if line not in whole.splitlines()]
            assert not missing, f"{page}: not in {example}"
            found += 1
    assert found >= 3


@pytest.mark.parametrize("home", ["wyrmling", "linalg", "special", "evaluation"])
def test_functions_say_what_they_raise(home):
    """Or whose errors theirs are."""
    module = wy if home == "wyrmling" else getattr(wy, home)
    things = {name: getattr(module, name) for name in module.__all__}
    functions = {name: f for name, f in things.items() if callable(f) and not inspect.isclass(f)}
    assert len(functions) > 1
    said = re.compile(r"raise|refuse|errors", re.IGNORECASE)
    silent = [name for name, f in functions.items() if not said.search(inspect.getdoc(f) or "")]
    assert silent == []
