"""Check the order of the files: none too long, none that import each other in a circle, and in Rust
no two types or macros of one name.

    python scripts/order.py

All code is looked through for long files, ``src`` and ``python/wyrmling`` for the rest. In Rust a
file needs another if it names something that the other defines, by a path or by ``use``, through
whatever exports it again; exporting itself is no need, and neither are tests inside the file. In
Python it needs what it imports, also inside a function. The file of a folder (``mod.rs``,
``__init__.py``) stands for the folder: that it uses files inside is no need. Names that a macro
makes, as those of elementwise operators, are not seen, and types inside a function or an inner
module need no name of their own.
"""

import ast
import re
import sys
from collections import defaultdict
from pathlib import Path

ROOT = Path(__file__).parent.parent
LONGEST = 500
GENERATED = {"_core.pyi", "_names.py", "_names.pyi", "functions.pyi", "__init__.pyi", "special.pyi"}
# Names that several files may define.
SHARED = {
    "Field",  # of matrices, with the feature linalg and without it
    "Sizes",  # of a product, in the operator and in its kernel without linalg
}

Module = tuple[str, ...]
Graph = dict[Path, dict[Path, set[str]]]

COMMENT_OR_TEXT = re.compile(
    r'//[^\n]*|/\*.*?\*/|b?r(#*)".*?"\1|b?"(?:\\.|[^"\\])*"|b?\'(?:\\.|[^\'\\])\'', re.DOTALL
)
DEFINED = re.compile(
    r"^\s*(?:pub(?:\([^)]*\))? +)?(?:(?:unsafe|const|async|extern(?: \"C\")?) +)*"
    r"(?:fn|struct|enum|union|trait|type|const|static(?: mut)?|macro_rules!) +(\w+)",
    re.MULTILINE,
)
NAMED = re.compile(r"\b(?:struct|enum|union|trait|type|macro_rules!) +(\w+)")
USE = re.compile(r"\b(pub(?:\([^)]*\))? +)?use +([^;]+);")
PATH = re.compile(r"\b\w+(?:::\w+)+")


def long_files(root: Path) -> list[str]:
    """The files of more lines than one should read at once."""
    found = []
    folders = ("src", "python/wyrmling", "tests", "benches", "examples", "scripts")
    for path in (path for folder in folders for path in sources(root, folder, "*")):
        count = path.read_text("utf-8").count("\n") if path.name not in GENERATED else 0
        if count > LONGEST:
            found.append(f"{path.relative_to(root)} has {count} lines, more than {LONGEST}")
    return found


def sources(root: Path, folder: str, pattern: str) -> list[Path]:
    """The source files of a folder, in order."""
    return sorted(p for p in (root / folder).rglob(pattern) if p.suffix in (".rs", ".py", ".pyi"))


class Rust:
    """The modules of a crate, what each defines, imports and exports."""

    def __init__(self, source: Path) -> None:
        self.files: dict[Module, Path] = {}
        self.code: dict[Module, str] = {}
        self.defined: dict[Module, set[str]] = {}
        # By name, the path that it stands for; `*` for each path of which all is imported.
        self.imported: dict[Module, dict[str, list[Module]]] = {}
        self.private: dict[Module, list[Module]] = {}
        for path in sorted(source.rglob("*.rs")):
            parts = path.relative_to(source).with_suffix("").parts
            module = parts[:-1] if parts[-1] in ("lib", "mod") else parts
            self.files[module] = path
            self.code[module] = outside_tests(COMMENT_OR_TEXT.sub(" ", path.read_text("utf-8")))
        for module, code in self.code.items():
            self.defined[module] = set(DEFINED.findall(outermost(code)))
            self.imported[module], self.private[module] = defaultdict(list), []
            for public, tree in USE.findall(code):
                for name, path in leaves(tree):
                    absolute = self.absolute(module, path)
                    if absolute is not None:
                        self.imported[module][name].append(absolute)
                        if not public:
                            self.private[module].append(absolute)

    def absolute(self, module: Module, path: Module) -> Module | None:
        """A path as the crate's root would write it; None if it leads out of the crate."""
        first, rest = path[0], path[1:]
        if first == "crate":
            return rest
        if first == "self":
            return module + rest
        if first == "super":
            above = module[:-1]
            return self.absolute(above, rest) if rest[:1] == ("super",) else above + rest
        if (*module, first) in self.files:
            return module + path
        names = self.imported.get(module, {}).get(first, [])
        return names[0] + rest if names else None

    def home(self, path: Module, seen: frozenset[Module] = frozenset()) -> Module | None:
        """The module that defines what a path names; None if no file does, or it is a module."""
        if path in seen:
            return None
        module: Module = ()
        for at, name in enumerate(path):
            if (*module, name) in self.files:
                module = (*module, name)
                continue
            if name in self.defined[module]:
                return module
            seen |= {path}
            exported = self.imported[module]
            candidates = [*exported.get(name, []), *((*p, name) for p in exported.get("*", []))]
            for candidate in candidates:
                found = self.home(candidate + path[at + 1 :], seen)
                if found is not None:
                    return found
            return None
        return None

    def needs(self) -> Graph:
        """Which file needs which, and for what names."""
        graph: Graph = {path: defaultdict(set) for path in self.files.values()}
        for module, code in self.code.items():
            named = list(self.private[module])
            for text in PATH.findall(USE.sub(" ", code)):
                path = self.absolute(module, tuple(text.split("::")))
                if path is not None:
                    named.append(path)
            for path in named:
                home = self.home(path)
                if home is not None and home[: len(module)] != module:
                    graph[self.files[module]][self.files[home]].add(path[-1])
        return graph


def outside_tests(code: str) -> str:
    """Code without its test modules."""
    while found := re.search(r"#\[cfg\(test\)\]\s*(?:pub(?:\([^)]*\))? +)?mod +\w+ *\{", code):
        code = code[: found.start()] + code[block_end(code, found.end()) :]
    return code


def outermost(code: str) -> str:
    """Code without what stands in braces."""
    kept, depth = [], 0
    for part in re.split(r"([{}])", code):
        depth += {"{": 1, "}": -1}.get(part, 0)
        if depth == 0:
            kept.append(part)
    return "".join(kept)


def block_end(code: str, start: int) -> int:
    """Where the block ends whose opening brace is just before ``start``."""
    depth = 1
    for found in re.finditer(r"[{}]", code[start:]):
        depth += 1 if found[0] == "{" else -1
        if depth == 0:
            return start + found.end()
    return len(code)


def leaves(tree: str) -> list[tuple[str, Module]]:
    """What a tree of ``use`` imports: each name with its path, ``*`` with that of its module."""
    tree = tree.strip()
    head, brace, body = tree.partition("{")
    prefix = tuple(part.strip() for part in head.split("::") if part.strip())
    if brace:
        parts, depth, start = [], 0, 0
        body = body.rpartition("}")[0]
        for at, sign in enumerate(body):
            depth += {"{": 1, "}": -1}.get(sign, 0)
            if sign == "," and depth == 0:
                parts.append(body[start:at])
                start = at + 1
        parts.append(body[start:])
        found = [leaf for part in parts if part.strip() for leaf in leaves(part)]
        return [
            (prefix[-1], prefix) if path == ("self",) else (name, prefix + path)
            for name, path in found
        ]
    if prefix[-1] == "*":
        return [("*", prefix[:-1])]
    last, _, alias = prefix[-1].partition(" as ")
    return [(alias.strip() or last.strip(), (*prefix[:-1], last.strip()))]


def python_needs(package: Path) -> Graph:
    """Which file of a Python package imports which, at once or when a function is called."""
    files = {}
    for path in sources(package.parent, package.name, "*.py"):
        parts = path.relative_to(package.parent).with_suffix("").parts
        files[parts[:-1] if parts[-1] == "__init__" else parts] = path
    graph: Graph = {path: defaultdict(set) for path in files.values()}
    for module, path in files.items():
        inside = module if path.name == "__init__.py" else module[:-1]
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            if not isinstance(node, ast.ImportFrom):
                continue
            base = inside[: len(inside) - node.level + 1] if node.level else ()
            base += tuple((node.module or "").split(".")) if node.module else ()
            for alias in node.names:
                home = (*base, alias.name) if (*base, alias.name) in files else base
                native = (package.parent.joinpath(*base) / alias.name).with_suffix(".pyi").exists()
                if home in files and home[: len(module)] != module and not native:
                    graph[path][files[home]].add(alias.name)
    return graph


def circles(graph: Graph) -> list[list[Path]]:
    """The sets of files that reach each other, by Tarjan's algorithm."""
    number: dict[Path, int] = {}
    low: dict[Path, int] = {}
    stack: list[Path] = []
    found = []

    def visit(file: Path) -> None:
        number[file] = low[file] = len(number)
        stack.append(file)
        for other in graph[file]:
            if other not in number:
                visit(other)
                low[file] = min(low[file], low[other])
            elif other in stack:
                low[file] = min(low[file], number[other])
        if low[file] == number[file]:
            at = stack.index(file)
            if len(stack) - at > 1:
                found.append(sorted(stack[at:]))
            del stack[at:]

    for file in graph:
        if file not in number:
            visit(file)
    return sorted(found)


def described(root: Path, graph: Graph, circle: list[Path]) -> str:
    """A circle, with the names that tie it."""
    lines = [f"{len(circle)} files need each other:"]
    for file in circle:
        for other, names in sorted(graph[file].items()):
            if other in circle:
                ends = f"{file.relative_to(root)} -> {other.relative_to(root)}"
                lines.append(f"  {ends}: {', '.join(sorted(names))}")
    return "\n".join(lines)


def shared_names(root: Path, rust: Rust) -> list[str]:
    """The types and macros that several files define, outside of tests and of functions."""
    homes: dict[str, list[str]] = defaultdict(list)
    for module, code in rust.code.items():
        if module[-1:] != ("tests",):
            for name in sorted(set(NAMED.findall(outermost(code))) - SHARED):
                homes[name].append(str(rust.files[module].relative_to(root)))
    several = sorted((name, files) for name, files in homes.items() if len(files) > 1)
    return [f"{name} is defined in {', '.join(files)}" for name, files in several]


def faults(root: Path) -> list[str]:
    """All that is out of order."""
    rust = Rust(root / "src")
    found = long_files(root) + shared_names(root, rust)
    for graph in (rust.needs(), python_needs(root / "python" / "wyrmling")):
        found += [described(root, graph, circle) for circle in circles(graph)]
    return found


if __name__ == "__main__":
    said = faults(ROOT)
    print("\n".join(said) if said else "The files are in order.")
    sys.exit(bool(said))
