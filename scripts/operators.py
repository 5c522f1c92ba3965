"""Write the table of docs/operators.md: every operator, and each way to write it in Python.

    python scripts/operators.py

The operators come from the rule table, through the native module. A way to write one is an
expression that is tried: it counts if the program frozen from it applies the operator. So what
the table says works, and ``tests/operators/test_operators.py`` holds it against an operator that
nobody can write, and against a table that is out of date.
"""

import inspect
import re
import runpy
from pathlib import Path

import numpy as np
import scipy.special

import wyrmling as wy

PAGE = Path(__file__).parent.parent / "docs" / "operators.md"
BEGIN, END = "<!-- written by scripts/operators.py -->\n", "<!-- until here -->\n"

# Operators that users do not write, since only gradients or other functions use them, and what for.
INTERNAL = {name: why for name, *_, why in wy._core.operators() if why is not None}
# The operators that have a symbol in Python.
SYMBOLS = {
    "neg": "-x",
    "add": "x + y",
    "sub": "x - y",
    "mul": "x * y",
    "div": "x / y",
    "pow": "x ** y",
    "remainder": "x % y",
    "floor_divide": "x // y",
    "abs": "abs(x)",
    "matmul": "x @ y",
    "greater": "x > y",
    "greater_equal": "x >= y",
    "less": "x < y",
    "less_equal": "x <= y",
    "equal": "x == y",
    "not_equal": "x != y",
    "gather": "x[rows]",
    "bag": "wy.bag(x, [1, 0], [0, 2])",
    "slice": "x[0, ::2]",
    "transpose": "x.T",
    "cast": "x * single",
    "take_flat": "x[[0, 1], [1, 0]]",
    "slice_replace": "wy.replace(x, 0, 5.0)",
    "pick": "wy.cross_entropy(x, rows)",
    "diagonal_matrix": "wy.diag(x[0])",
}
# Operators that are parts of functions of wy.special, and expressions that apply them.
PARTS = runpy.run_path(str(Path(__file__).with_name("stubs.py")))["PARTS"]
# The operands of operators that take others than x, or x and y. A method has the first before its
# dot.
OPERANDS = {
    "where": "x > y, x, y",
    "reshape": "x, (1, 4)",
    "broadcast_to": "x, (3, 2, 2)",
    "expand_dims": "x, 0",
    "concatenate": "[x, y]",
    "stack": "[x, y]",
    "convolve": "x[0], y[0]",
    "correlate": "x[0], y[0]",
    "searchsorted": "x[0], y",
    "gather": "x, rows",
    "take_along_axis": "x, np.array([[1, 0]]), 0",
    "replace": "x, ([0, 1], [1, 0]), 5.0",
    "cross_entropy": "x, rows",
}
# The functions of both wyrmling.linalg and numpy.linalg, by operator.
LINALG = {
    "solve": "solve(x, y)",
    "inverse": "inv(x)",
    "det": "det(x)",
    "norm": "norm(x)",
    "log_abs_det": "slogdet(x).logabsdet",
    "det_sign": "slogdet(x).sign",
    "cholesky": "cholesky(x @ x.T)",
    "qr": "qr(x).R",
    "eigh": "eigh(x).eigenvalues",
    "svd": "svd(x).S",
    "pinv": "pinv(x)",
}
# Elementwise operators, as the rule table describes them.
ELEMENTWISE = {entry["operator"]: entry for entry in wy._core.elementwise()}
HEAD = "| operator | what it computes | source | symbol | function | method | NumPy or SciPy |"


def applied(expression: str) -> set[str]:
    """The operators that an expression applies; none if it does not work."""
    names = {
        "wy": wy,
        "np": np,
        "scipy": scipy,
        "x": wy.Input(np.array([[1.0, 2.0], [3.0, 4.0]])),
        "y": wy.Input(np.array([[0.5, 1.0], [1.5, 2.0]])),
        "single": wy.Input(np.ones((2, 2), np.float32)),
        "rows": wy.IndexInput([1, 0]),
    }
    if not expression:
        return set()
    try:
        program = wy.freeze(eval(expression, names))
    except (AttributeError, TypeError):
        return set()
    forward = str(program).partition("fn loss_adjoint")[0]
    return set(re.findall(r"^  %\d+: .* = (\w+)[\[(]", forward, re.MULTILINE))


def elementwise(name: str) -> list[str]:
    """The same of an operator whose names the rule table has."""
    entry = ELEMENTWISE[name]
    operands = "x, y"[: 3 * len(entry["domains"]) - 2]
    operands = f"2, {operands}" if entry["ordered"] else operands
    if name in PARTS:
        return ["", f"wy.special.{PARTS[name]}", "", f"scipy.special.{PARTS[name]}"]
    candidates = [
        [SYMBOLS.get(name, "")],
        [f"{where}.{entry['function']}({operands})" for where in ("wy", "wy.special")],
        [f"x.{entry['function']}({operands[3:]})"],
        [f"np.{other}({operands})" for other in entry["numpy"]]
        + [f"scipy.special.{other}({operands})" for other in entry["scipy"]],
    ]
    return [next((way for way in some if name in applied(way)), "") for some in candidates]


def ways(name: str) -> list[str]:
    """The symbol, function, method and NumPy function of an operator, empty if there is none."""
    table = {name for name, *_ in wy._core.operators()}
    if name in ELEMENTWISE and name not in OPERANDS:
        return elementwise(name)
    candidates: list[list[str]] = [[SYMBOLS.get(name, "")], [], [], []]
    for operands in [OPERANDS[name]] if name in OPERANDS else ["x", "x, y"]:
        candidates[1].append(f"wy.{name}({operands})")
        first, _, others = operands.partition(", ")
        if first == "x":
            candidates[2].append(f"x.{name}({others})")
        candidates[3].append(f"np.{name}({operands})")

    if name in LINALG:
        candidates[1].append(f"wy.linalg.{LINALG[name]}")
        candidates[3].append(f"np.linalg.{LINALG[name]}")

    def works(way: str) -> bool:
        found = applied(way)
        return name in found if name in table else bool(found)

    return [next(filter(works, some), "") for some in candidates]


def functions() -> list[tuple[str, str, str]]:
    """What is written as an operator is and made of several: its name, and of which."""
    table = {name for name, *_ in wy._core.operators()}
    found = {}
    names = [name for name in wy.__all__ if inspect.isbuiltin(getattr(wy, name))]
    known = {*table, "fit", "freeze"}.union(
        *({e["function"], *e["numpy"], *e["scipy"]} for e in ELEMENTWISE.values())
    )
    for name in names:
        if name not in known:
            way = next(way for way in ways(name) if way)
            parts = ", ".join(f"`{part}`" for part in sorted(applied(way)))
            found[name] = f"made of {parts}"
    return [(name, text, "definition") for name, text in sorted(found.items())]


def table() -> str:
    """The table, of operators that can be written and of functions made of them."""
    written = [
        (name, f"`{text}`", source)
        for name, text, source, _ in wy._core.operators()
        if name not in INTERNAL
    ]
    formulas = {name: text for name, text, *_ in wy._core.operators()}
    lines = [HEAD, "|" + " --- |" * 7]
    for name, text, source in written + functions():
        text = text.replace("|", "\\|")
        cells = [name, text, source, *(f"`{way}`" if way else "" for way in ways(name))]
        lines.append("| " + " | ".join(cells) + " |")
    composed = ", ".join(f"`{name}`" for name in wy.arrays.__all__ if name not in formulas)
    lines.append(
        "\nMade of these are NumPy's array functions, each by its name, in `wyrmling` too:"
    )
    lines.append(f"{composed}.\n")
    lines.append("Of these alone are gradients and other functions made:\n")
    lines.extend(f"- `{name}`, `{formulas[name]}`: {why}" for name, why in INTERNAL.items())
    return "\n".join(lines) + "\n"


def page(text: str) -> str:
    """The page with its table written anew."""
    before, _, rest = text.partition(BEGIN)
    _, _, after = rest.partition(END)
    return before + BEGIN + table() + END + after


if __name__ == "__main__":
    PAGE.write_text(page(PAGE.read_text("utf-8")), "utf-8")
