"""The order of the files: their length, names, that none import each other in a circle, and that
docs/architecture.md says which folders use which."""

import re
import runpy
from collections import defaultdict
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
order = runpy.run_path(str(ROOT / "scripts" / "order.py"))


def test_the_files_are_in_order():
    said = order["faults"](ROOT)
    assert not said, "\n".join(said)


def test_the_page_says_which_modules_use_which():
    source = ROOT / "src"
    uses = defaultdict(set)

    def module(file):
        return file.relative_to(source).parts[0].removesuffix(".rs")

    for file, others in order["Rust"](source).needs().items():
        if file.name != "tests.rs":
            uses[module(file)] |= {module(other) for other in others} - {module(file)}
    modules = {module(p) for p in source.rglob("*.rs")} - {"lib", "python"}
    page = (ROOT / "docs" / "architecture.md").read_text("utf-8")
    table = page.partition("| module | uses |\n")[2].partition("\n\n")[0]
    said = {}
    for row in table.splitlines()[1:]:
        names, used = (re.findall(r"`(\w+)`", cell) for cell in row.strip("|").split("|"))
        said |= dict.fromkeys(names, set(used) & modules)
    assert said == {name: uses[name] for name in modules}


def test_folders_of_reading_import_only_those_that_stand_before_them():
    package = ROOT / "python" / "wyrmling" / "source"
    text = (package / "__init__.py").read_text("utf-8")
    said = re.findall(r"``(\w+)``", text.partition("stand before it:")[2])
    folders = {p.name for p in package.iterdir() if any(p.glob("*.py"))}
    assert sorted(said) == sorted(folders)

    def place(file):
        parts = file.relative_to(package).parts
        return said.index(parts[0]) if len(parts) > 1 else len(said)

    needs = order["python_needs"](package.parent)
    inside = {file for file in needs if package in file.parents and file.name != "__init__.py"}
    assert len(inside) > 70
    against = [
        f"{file.relative_to(package)} imports {other.relative_to(package)}"
        for file in sorted(inside)
        for other in needs[file]
        if other in inside and place(other) > place(file)
    ]
    assert not against, "\n".join(against)


def tree(root, files):
    (root / "python" / "wyrmling").mkdir(parents=True)
    (root / "src").mkdir()
    for name, text in files.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(text, "utf-8")
    return order["faults"](root)


def test_long_files_are_named_but_generated_ones(tmp_path):
    short, long = "//\n" * 500, "//\n" * 501
    files = {"src/lib.rs": short, "src/a.rs": long, "python/wyrmling/_core.pyi": "#\n" * 900}
    tested = dict.fromkeys(("python/wyrmling/b.py", "tests/c.py"), "#\n" * 501)
    assert tree(tmp_path, files | tested) == [
        "src/a.rs has 501 lines, more than 500",
        "python/wyrmling/b.py has 501 lines, more than 500",
        "tests/c.py has 501 lines, more than 500",
    ]


def test_names_of_several_files_are_found_but_those_inside(tmp_path):
    inner = (
        "fn f() {\n    struct Guard;\n}\nmod sealed {\n    pub trait Sealed {}\n}\nfn part() {}\n"
    )
    tests = "#[cfg(test)]\nmod tests {\n    struct Model;\n}\n"
    files = {
        "src/lib.rs": "mod a;\nmod b;\nmod c;",
        "src/a.rs": inner + tests + "pub struct Part<T> {\n    x: T,\n}\nmacro_rules! files {}",
        "src/b.rs": inner + tests + "type Part<T> = Vec<T>;\nenum Only { Part }",
        "src/c.rs": inner
        + "// struct Only\nmacro_rules! files {}\nunsafe trait Other { type Only; }",
    }
    assert tree(tmp_path, files) == [
        "Part is defined in src/a.rs, src/b.rs",
        "files is defined in src/a.rs, src/c.rs",
    ]


@pytest.mark.parametrize(
    "need",
    [
        "use super::b::Other;",
        "use crate::a::b::{self, Other};",
        "use crate::a::{b::{Other as Renamed}};",
        "fn f(x: super::b::Other) {}",
        "use super::b;\nfn f() { b::Other::new() }",
        # Through the file of the folder, which exports it.
        "use super::Other;",
        "use super::*;\nfn f(x: crate::a::Other) {}",
        "pub use super::b::Used;\nfn f() { crate::Other::new() }",
    ],
)
def test_circles_of_rust_are_found_whatever_the_way(tmp_path, need):
    files = {
        "src/lib.rs": "mod a;\npub use a::*;",
        "src/a/mod.rs": "mod b;\nmod c;\npub use b::*;\npub use c::{Third};",
        "src/a/b.rs": "use super::Third;\npub struct Other;\npub struct Used;",
        "src/a/c.rs": f"{need}\npub struct Third;",
    }
    (fault,) = tree(tmp_path, files)
    assert fault.splitlines()[0] == "2 files need each other:"
    assert "src/a/b.rs -> src/a/c.rs: Third" in fault
    assert "src/a/c.rs -> src/a/b.rs:" in fault


@pytest.mark.parametrize(
    "need",
    [
        "// use super::b::Other;",
        "/* super::b::Other */",
        'const TEXT: &str = "crate::a::b::Other";',
        "/// See [`super::b::Other`].\nfn f() {}",
        "#[cfg(test)]\nmod tests { use crate::a::b::Other; fn f() { {} } }",
        "use std::b::Other;",
        "pub use super::b::Other;",
        "mod d;",
    ],
)
def test_what_is_no_need_makes_no_circle_in_rust(tmp_path, need):
    files = {
        "src/lib.rs": "mod a;",
        "src/a/mod.rs": "mod b;\nmod c;\nuse b::Other;\npub struct Above;",
        "src/a/b.rs": "use super::c::Third;\nuse super::Above;\npub struct Other;",
        "src/a/c.rs": f"{need}\npub struct Third;",
    }
    assert tree(tmp_path, files) == []


def test_circles_of_python_are_found(tmp_path):
    files = {
        "python/wyrmling/__init__.py": "from . import a\nfrom .a import one",
        "python/wyrmling/_core.pyi": "",
        "python/wyrmling/a.py": "from . import _core\nfrom .b import two",
        "python/wyrmling/b.py": "from . import a",
        "python/wyrmling/c.py": "from . import d",
        "python/wyrmling/d.py": "def f():\n    from . import c\n",
    }
    assert tree(tmp_path, files) == [
        "2 files need each other:\n"
        "  python/wyrmling/a.py -> python/wyrmling/b.py: two\n"
        "  python/wyrmling/b.py -> python/wyrmling/a.py: a",
        "2 files need each other:\n"
        "  python/wyrmling/c.py -> python/wyrmling/d.py: d\n"
        "  python/wyrmling/d.py -> python/wyrmling/c.py: c",
    ]
