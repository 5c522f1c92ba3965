"""The functions of the native module as users call them, which ``wyrmling`` exports.

Plain arguments give plain results, see ``plain``. They are those of NumPy's names, and a few of
ours: ``relu``, ``softmax``, ``gather`` and so on. ``_names.py`` lists them.
"""

from typing import Any

import numpy as np

from . import _core, _names, plain


def _stop_gradient(x: Any) -> Any:
    """A plain value as an array."""
    _core.stop_gradient(x)  # It raises for what is no number.
    return np.asanyarray(x)[()]


def _gather(x: Any, index: Any) -> Any:
    """Rows of a plain array, of any type."""
    _core.gather(x, index)  # As above, and for what is no index.
    return np.take(x, np.asarray(index, np.intp), axis=0)


# What functions that NumPy has not do with plain arguments, if it is not what they do with others.
_PLAIN: dict[str, plain.Function] = {"gather": _gather, "stop_gradient": _stop_gradient}


def _made() -> dict[str, plain.Function]:
    # Names of one function of ours are one function, if they are in NumPy (fabs is not abs).
    made: dict[tuple[int, int], plain.Function] = {}
    found = {}
    for name in _names.HOMES["functions"].split():
        ours = plain.native(name)
        theirs = plain.numpys(name) or plain.numpys(ours.__name__) or _PLAIN.get(name)
        both = id(ours), id(theirs)
        if both not in made:
            made[both] = plain.public(ours, "wyrmling", theirs)
        found[name] = made[both]
    return found


globals().update(_made())
