"""Who asked for a plain array of a variable, and what to write in its place.

NumPy asks ``Variable.__array__`` from within its own functions, which say nothing of themselves. So
the message is made from the caller's source: the expression that runs in the first frame outside of
NumPy and SciPy names the function. Where there is no source, as at a prompt of older Pythons, the
message speaks of no function.
"""

import ast
import dis
import linecache
import sys
from types import FrameType

_LIBRARIES = ("numpy", "scipy", "wyrmling")

# By the last part of a function's name.
_WAYS = {
    "array": "use np.stack or wyrmling.array to make an array of variables",
    "asarray": "use np.stack or wyrmling.array to make an array of variables",
    "asanyarray": "use np.stack or wyrmling.array to make an array of variables",
    "ascontiguousarray": "it is not needed: a variable has no layout in memory",
    "take": "use wyrmling.take",
    "full": "use wyrmling.full",
    "append": "use wyrmling.append",
    "vectorize": "use wyrmling.vectorize",
    "Variable": "a leaf is made of plain values",
    "Parameter": "a leaf is made of plain values",
    "Input": "a leaf is made of plain values",
    "IndexInput": "a leaf is made of plain values",
    "logsumexp": "use wyrmling.special.logsumexp",
    "softmax": "use wyrmling.special.softmax",
    "log_softmax": "use wyrmling.special.log_softmax",
    "isin": "compare with each value: (x == a) | (x == b)",
    "float64": "leave it out, or use x.astype",
    "float32": "use x.astype(np.float32)",
}
_ELSE = (
    "use a function of wyrmling or NumPy that takes variables (docs/operators.md lists them), or "
    "wyrmling.primitive to give this one a derivative"
)


def _expression(frame: FrameType) -> ast.AST | None:
    """The expression that a frame is running, if its source is there."""
    positions = list(frame.f_code.co_positions())
    at = frame.f_lasti // 2
    if not 0 <= at < len(positions):
        return None
    first, last, start, stop = positions[at]
    if first is None or last is None or start is None or stop is None:
        return None
    name = frame.f_code.co_filename
    lines = [linecache.getline(name, k, frame.f_globals) for k in range(first, last + 1)]
    if not all(lines):
        return None
    # Columns are counted in bytes.
    encoded = [line.encode() for line in lines]
    encoded[-1] = encoded[-1][:stop]
    encoded[0] = encoded[0][start:]
    try:
        return ast.parse(b"".join(encoded).decode().strip()).body[0]
    except (SyntaxError, IndexError, UnicodeDecodeError):
        return None


def _is_assignment(frame: FrameType | None) -> bool:
    """Whether a frame is assigning to an element, and not reading one."""
    if frame is None:
        return False
    return dis.opname[frame.f_code.co_code[frame.f_lasti]] == "STORE_SUBSCR"


def _asked() -> tuple[str, str]:
    """How the message begins, and the way out."""
    frame: FrameType | None = sys._getframe(1)
    while frame is not None:
        library = str(frame.f_globals.get("__name__", "")).partition(".")[0]
        if library not in _LIBRARIES:
            break
        frame = frame.f_back
    found = None if frame is None else _expression(frame)
    if isinstance(found, ast.Expr):
        call = found.value
        if isinstance(call, ast.Call):
            name = ast.unparse(call.func)
            return f"{name}: ", _WAYS.get(name.rpartition(".")[2], _ELSE)
        if isinstance(call, ast.Subscript):
            array, key = ast.unparse(call.value), ast.unparse(call.slice)
            if array.endswith((".r_", ".c_")):
                way = f"use wyrmling.{array[-2:]}"
            elif _is_assignment(frame):
                way = (
                    f"make {array} by np.zeros_like(v) or wyrmling.array(...), of which elements "
                    "can be variables, or all of it at once by np.stack"
                )
            else:
                way = f"write wyrmling.take({array}, rows, 0) to look up by rows that can change"
            return f"{array}[{key}]: ", way
    return "", (
        "write wyrmling.take(array, i) for array[i]; use np.stack or wyrmling.array to make an "
        "array of variables, wyrmling.array(x) for an array x that is to take them by x[i] = v, "
        "and " + _ELSE.removeprefix("use ")
    )


def refusal(differentiated: bool) -> str:
    """What is said where a plain array of a variable is asked for, which carries a gradient or
    follows something that can change.
    """
    asked, way = _asked()
    lost = (
        "this variable carries a gradient, which a plain array would lose"
        if differentiated
        else "an array made of this variable would be a constant, whatever the variable is later"
    )
    return f"{asked}{lost}; {way}; use .value for what it is now, which leaves the graph"
