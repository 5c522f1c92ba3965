"""Automatic differentiation and native-speed training of sparse models.

Operators on ``Parameter``, ``Input``, ``IndexInput`` and ``Variable`` record how values were
computed; ``backward`` collects gradients. ``freeze`` compiles a loss to a ``Program``, and
``fit`` trains it, or a plain Python function of one sample, without Python in the loop;
``save_checkpoint`` and ``load_checkpoint`` keep what a run needs to go on in another process.
Transforms such as ``grad`` differentiate functions of plain NumPy code, of which they compile the
source, or which they run on variables. ``draw`` shows a graph.

A function that has the name of one of NumPy's is that function, for variables too. These are of
this package: ``relu``, ``sigmoid``, ``logsigmoid``, ``softplus``, ``softmax``, ``log_softmax``,
``logsumexp`` and ``cross_entropy``; ``gather`` looks up rows, ``linear_recurrence`` goes over
steps, ``replace`` puts others in the place of some elements, ``stop_gradient`` lets no gradient
pass.

The submodules: ``arrays`` has NumPy's array functions that are made of several operators, which are
exported here too, ``sampling`` draws inputs anew for every sample, ``datasets`` reads interactions,
makes them up and downloads published ones, ``data`` has the classes of interactions and ids, ``nn``
has layers and initialisers, ``recommend`` has recommenders and their files, ``evaluation`` measures
them, ``serving`` answers HTTP requests with them and makes wheels of them, ``linalg`` is NumPy's
linear algebra, ``special`` has the functions of ``scipy.special``.

>>> import wyrmling as wy
>>> slope, intercept = wy.Parameter(1.0), wy.Parameter(0.0)
>>> x, y = wy.Input(3.0), wy.Input(7.0)
>>> loss = (y - (slope * x + intercept)).square()
>>> loss.backward()
>>> float(slope.grad), float(intercept.grad)
(-24.0, -8.0)
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from . import _names
from . import variable as variable
from ._core import (
    SGD,
    Adagrad,
    Adam,
    History,
    IndexInput,
    Input,
    Optimizer,
    Parameter,
    Program,
    SparseGrad,
    Variable,
    __version__,
    fit,
    freeze,
)

if TYPE_CHECKING:
    from . import (
        arrays,
        data,
        datasets,
        evaluation,
        linalg,
        nn,
        recommend,
        sampling,
        serving,
        special,
    )
    from ._names import *  # noqa: F403

__all__ = [
    "SGD",
    "Adagrad",
    "Adam",
    "History",
    "IndexInput",
    "Input",
    "Optimizer",
    "Parameter",
    "Program",
    "SparseGrad",
    "Variable",
    "__version__",
    "arrays",
    "data",
    "datasets",
    "evaluation",
    "fit",
    "freeze",
    "linalg",
    "nn",
    "recommend",
    "sampling",
    "serving",
    "special",
]
__all__ += _names.__all__

# Importing the package is to cost little: what follows loads functions and submodules when they
# are asked for.
_SUBMODULES = {"arrays", "datasets", "drawing", "evaluation", "linalg"}
_SUBMODULES |= {"data", "nn", "recommend", "sampling", "serving", "special", "transforms"}
_HOMES = {name: module for module, names in _names.HOMES.items() for name in names.split()}


def __getattr__(name: str) -> Any:
    """A function or submodule, asked for the first time."""
    if name in _HOMES:
        value = getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)
    elif name in _SUBMODULES:
        value = import_module(f"{__name__}.{name}")
    else:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    """All public names, loaded or not, and the module's own."""
    own = (name for name in globals() if name.startswith("__"))
    return sorted({*own, *__all__, *_SUBMODULES})
