"""Write what Python files list of the functions of the package.

    python scripts/stubs.py

It comes from the rule table, and from ``__all__`` of submodules. ``_names.py`` and ``_names.pyi``
of ``python/wyrmling`` list what ``wyrmling`` exports: the functions that NumPy has, those that are
methods of ``Variable``, and all of ``arrays``, ``bags``, ``drawing``, ``ragged`` and
``transforms``. ``_core.pyi`` declares these functions, and ``special.py`` exports those that NumPy
has not, or that SciPy has too; what else these two list stays. ``functions.pyi``,
``arrays/__init__.pyi``, ``linalg/__init__.pyi`` and ``special.pyi`` declare functions in their
public form: of variables a variable, of plain arguments what is plain.
``tests/operators/test_elementwise.py`` says if one is not current.
"""

import ast
import inspect
import re
import subprocess
import sys
import textwrap
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np

from wyrmling import _core, plain

PACKAGE = Path(__file__).parent.parent / "python" / "wyrmling"
BEGIN, END = "# written by scripts/stubs.py\n", "# until here\n"
# Functions of scipy.special that are not elementwise.
OTHERS = {"log_softmax", "logsumexp", "softmax"}
# Those that wyrmling.arrays has, with arguments that the native ones have not.
WRITTEN = {"logsumexp"}
# Those that special.py has itself, since the native ones of the same names have another default.
OVER_ALL = {"log_softmax", "softmax"}
# Operators that are parts of functions of special.py, and expressions that apply them.
PARTS = {
    "airy_ai": "airy(x)[0]",
    "airy_bi": "airy(x)[2]",
    "airy_aie": "airye(x)[0]",
    "airy_aie_slope": "airye(x)[1]",
    "airy_bie": "airye(x)[2]",
    "airy_bie_slope": "airye(x)[3]",
    "hurwitz_zeta": "zeta(x, y)",
    "riemann_zeta": "zeta(x)",
    "sinint": "sici(x)[0]",
    "cosint": "sici(x)[1]",
}
# Functions of special.py that are made of operators.
COMPOSED = {"multigammaln", *(way.partition("(")[0] for way in PARTS.values())}


def names(entry: dict[str, Any]) -> set[str]:
    """All names of an entry's function; none if Python has it otherwise (where)."""
    return {entry["function"], *entry["numpy"], *entry["scipy"]} if public(entry) else set()


def public(entry: dict[str, Any]) -> bool:
    """Whether there is a function of one or two operands, an order among them."""
    return len(entry["domains"]) + entry["ordered"] <= 2


ENTRIES = [entry for entry in _core.elementwise() if public(entry)]
ALL = set().union(*map(names, ENTRIES))
# Functions that users do not call, since only gradients or other functions use them.
INNER = set(PARTS).union(entry["function"] for entry in ENTRIES if entry["internal"])
NUMPY = set().union(*(entry["numpy"] for entry in ENTRIES))
# Exported by wyrmling: NumPy's functions, and those that are methods of Variable.
MAIN = NUMPY.union(
    entry["function"] for entry in ENTRIES if hasattr(_core.Variable, entry["function"])
)
# All others are exported by wyrmling.special alone: SciPy's, and those that neither has (arccscd).
OURS = {entry["function"] for entry in ENTRIES} - MAIN - INNER
SPECIAL = OTHERS.union(OURS, *(entry["scipy"] for entry in ENTRIES))
# Functions that are not elementwise, their signatures and homes (src/python/interop/export.rs).
EXPORTS = {name: (signature, home) for name, signature, home in _core.exported()}
# The functions of NumPy's names.
THEIRS = NUMPY | {name for name, (_, home) in EXPORTS.items() if home == "numpy"} | {"matmul"}
NATIVE = {name for name, (_, home) in EXPORTS.items() if home != "inner"}
# Modules whose public names are all exported by the package.
WHOLE = ["arrays", "bags", "checkpoints", "drawing", "ragged", "transforms"]


def signature(entry: dict[str, Any]) -> str:
    """The parameters of an entry's function."""
    if entry["ordered"]:
        return "n: SupportsIndex, x: _Like, /"
    text = getattr(_core, entry["function"]).__text_signature__
    return text.strip("()").replace(", /", "").replace(",", ": _Like,") + ": _Like, /"


def stubs() -> str:
    """The declarations of all functions."""
    lines = []
    for entry in ENTRIES:
        for name in [entry["function"], *sorted(names(entry) - {entry["function"]})]:
            lines.append(f"def {name}({signature(entry)}) -> Variable: ...\n")
    lines += [f"def {name}{text}: ...\n" for name, (text, _) in EXPORTS.items()]
    return "".join(lines)


def ordered(found: set[str]) -> list[str]:
    """Constants, classes, and the rest, numbers in them as numbers: as ruff sorts them."""

    def key(name: str) -> tuple[int, list[tuple[str, int]]]:
        kind = 0 if name.isupper() and len(name) > 1 else 1 if name[0].isupper() else 2
        parts = re.findall(r"(\D*)(\d*)", name)
        return kind, [(text, int(number or -1)) for text, number in parts]

    return sorted(found, key=key)


def listed(text: str, head: str, tail: str, add: set[str], quote: str) -> str:
    """The text with the list between head and tail: these names of ours, and no others."""
    before, _, rest = text.partition(head)
    body, _, after = rest.partition(tail)
    found = set(re.findall(r"\w+", body)) - ALL | add
    items = "".join(f"    {quote}{name}{quote},\n" for name in ordered(found))
    return f"{before}{head}{items}{tail}{after}"


def wrapped(text: str) -> str:
    """The text with long declarations on several lines, as ruff writes them."""

    def lines(line: str) -> str:
        found = re.fullmatch(r"def (\w+)\((.*)\) -> (.*)", line)
        if len(line) <= 100 or not found:
            return line
        name, parameters, rest = found.groups()
        if len(parameters) <= 96:
            return f"def {name}(\n    {parameters}\n) -> {rest}"
        # Commas within brackets separate no parameters.
        each = re.split(r", (?![^\[\]]*\])", parameters)
        return f"def {name}(\n" + "".join(f"    {one},\n" for one in each) + f") -> {rest}"

    return "\n".join(map(lines, text.split("\n")))


def stub_file(text: str) -> str:
    """``_core.pyi`` anew."""
    before, _, rest = text.partition(BEGIN)
    _, _, after = rest.partition(END)
    return before + BEGIN + wrapped(stubs()) + "\n" + END + after


def homes() -> dict[str, list[str]]:
    """What the package exports of each module, without what ``__init__.py`` itself imports."""
    whole = {name: ordered(set(import_module(f"wyrmling.{name}").__all__)) for name in WHOLE}
    taken = set().union(*whole.values())
    return {"functions": ordered((MAIN | NATIVE) - taken)} | whole


def names_file(text: str) -> str:
    """``_names.py`` anew: all below its head."""
    head, _, _ = text.partition(BEGIN)
    lines = []
    for module, names in homes().items():
        listed = textwrap.fill(" ".join(names), 92, break_on_hyphens=False)
        lines.append(f'    "{module}": """\n{textwrap.indent(listed, "        ")}\n    """,\n')
    flat = "__all__ = [name for names in HOMES.values() for name in names.split()]\n"
    return f"{head}{BEGIN}HOMES: dict[str, str] = {{\n{''.join(lines)}}}\n{flat}"


def public_forms(name: str, parameters: str) -> str:
    """The declarations of a function for variables, and for plain arguments."""
    kinds = {"Iterable[_Like]": "Iterable[Variable]", "_Like": "Variable", "_Index": "Variable"}
    found = list(re.finditer("|".join(map(re.escape, kinds)), parameters))
    given = [f"{parameters[: m.start()]}{kinds[m[0]]}{parameters[m.end() :]}" for m in found]
    forms = [(text, "Variable") for text in given]
    plain = parameters.replace("_Like", "npt.ArrayLike").replace("_Index", "_Integers")
    if name in THEIRS:
        # They are NumPy's, with NumPy's arguments.
        plain = f"{plain.partition('/')[0]}/, *args: Any, **kwargs: Any"
    return "".join(
        f"@overload\ndef {name}({text}) -> {result}: ...\n"
        for text, result in [*forms, (plain, "Any")]
    )


def native_signatures() -> dict[str, str]:
    """The parameters of all native functions."""
    given = {name: text[1:].partition(") -> ")[0] for name, (text, _) in EXPORTS.items()}
    given |= {name: signature(entry) for entry in ENTRIES for name in names(entry)}
    return given | {entry["function"]: signature(entry) for entry in ENTRIES}


def functions_stub(_: str) -> str:
    """``functions.pyi`` anew."""
    given = native_signatures()
    forms = "".join(public_forms(name, given[name]) for name in homes()["functions"])
    return (
        f"# Of functions.py, for type checkers: {BEGIN[2:]}\n"
        "from collections.abc import Iterable\nfrom typing import Any, Literal, overload\n\n"
        "import numpy.typing as npt\n\n"
        "from ._core import Variable, _Axis, _Index, _Integers, _Like, _Shape\n\n" + wrapped(forms)
    )


def given_forms(name: str, function: Any) -> str:
    """The declarations of a function of Python, from its signature."""
    (node,) = ast.parse(inspect.getsource(function)).body
    assert isinstance(node, ast.FunctionDef)
    of_arrays = {"Like": "Variable", "Sequence[Like]": "Sequence[Variable]"}
    node.args.defaults = [ast.Constant(...) for _ in node.args.defaults]
    node.args.kw_defaults = [d and ast.Constant(...) for d in node.args.kw_defaults]
    arguments = [*node.args.posonlyargs, *node.args.args]
    required = arguments[: len(arguments) - len(node.args.defaults)]
    result = ast.unparse(node.returns or ast.Constant(None))
    whole = ast.unparse(node.args)
    forms = []
    for argument in required if result != "Any" else []:
        before = argument.annotation
        if before is not None and (kind := of_arrays.get(ast.unparse(before))):
            argument.annotation = ast.Name(kind)
            forms.append((ast.unparse(node.args), result))
            argument.annotation = before
    if vars(np).get(name) is not None and "*" not in whole:
        whole += ", *args: Any, **kwargs: Any"
    mark = "@overload\n" if forms else ""
    text = "".join(
        f"{mark}def {name}({parameters}) -> {made}: ...\n"
        for parameters, made in [*forms, (whole, "Any" if forms else result)]
    )
    return text


def tidy(text: str) -> str:
    """A stub as ruff writes it, without imports that nothing needs."""
    ruff = [sys.executable, "-m", "ruff"]
    for command in (["check", "--fix", "--quiet", "--select", "F401,I"], ["format"]):
        call = [*ruff, *command, "--stdin-filename", str(PACKAGE / "stub.pyi"), "-"]
        text = subprocess.run(call, input=text, capture_output=True, text=True, check=True).stdout
    return text


def module_stub(module: str) -> str:
    """The stub of a module of functions in their public form."""
    public, signatures = import_module(f"wyrmling.{module}"), native_signatures()
    package = public.__spec__.parent
    made, lines = "", [f"# Of {module}, for type checkers: {BEGIN[2:]}"]
    for name in public.__all__:
        function = plain.inner(getattr(public, name))
        if inspect.isfunction(function) and function.__name__ == name:
            made += given_forms(name, function)
            results = re.findall(r"\w+Result", inspect.getsource(function))
            lines += [
                f"from {function.__module__} import {result}"
                for result in {*results} - {*public.__all__}
            ]
        elif name in signatures:
            made += public_forms(name, signatures[name])
        else:
            home = getattr(function, "__module__", type(function).__module__)
            lines.append(f"from {home} import {name} as {name}")
    lines += [
        "from collections.abc import Callable, Iterable, Sequence",
        "from typing import Any, Literal, SupportsIndex, overload",
        "import numpy.typing as npt",
        "from wyrmling._core import Variable, _Axis, _Index, _Integers, _Like, _Shape",
        "from wyrmling.arrays.operand import Array, Axis, Like",
    ]
    text = "\n".join(dict.fromkeys(lines)).replace(f"from {package}.", "from .")
    if package != "wyrmling":
        text = text.replace("from wyrmling.", "from ..")
    listed = "".join(f'    "{name}",\n' for name in public.__all__)
    return tidy(f"{text}\n\n__all__ = [\n{listed}]\n\n{made}")


def names_stub(_: str) -> str:
    """``_names.pyi`` anew."""
    lines = [f"# Of _names.py, for type checkers: {BEGIN[2:]}\n"]
    for module, names in sorted(homes().items()):
        items = "".join(f"    {name},\n" for name in names)
        lines.append(f"from .{module} import (\n{items})\n")
    listed = "".join(f'    "{name}",\n' for name in ordered(set().union(*homes().values())))
    lines.append(f"\n__all__ = [\n{listed}]\n\nHOMES: dict[str, str]\n")
    return "".join(lines)


def special_file(text: str) -> str:
    """``special.py`` anew."""
    native = (SPECIAL - WRITTEN - OVER_ALL) | set(PARTS) | {"Variable"}
    text = listed(text, "from ._core import (\n", ")\n", native, "")
    return listed(text, "__all__ = [\n", "]\n", SPECIAL | COMPOSED, '"')


FILES = {
    PACKAGE / "_core.pyi": stub_file,
    PACKAGE / "_names.py": names_file,
    PACKAGE / "functions.pyi": functions_stub,
    PACKAGE / "_names.pyi": names_stub,
    PACKAGE / "special.py": special_file,
    PACKAGE / "arrays" / "__init__.pyi": lambda _: module_stub("arrays"),
    PACKAGE / "linalg" / "__init__.pyi": lambda _: module_stub("linalg"),
    PACKAGE / "special.pyi": lambda _: module_stub("special"),
}

if __name__ == "__main__":
    for path, written in FILES.items():
        before = path.read_text("utf-8") if path.exists() else ""
        path.write_text(written(before), "utf-8")
