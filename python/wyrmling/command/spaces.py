"""What a search on the command line may choose hyperparameters from: options, and defaults.

The defaults are factors around a model's own defaults, which suit data of some hundred thousand
interactions: wide enough for other data, and narrow enough for a dozen trials.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from typing import Annotated, Any, get_args, get_origin

from .. import _core
from ..data import Interactions
from ..evaluation import integers, log_uniform, uniform
from ..evaluation.spaces import Distribution
from ..recommend import Recommender
from ..recommend.hyperparameters import alternatives, parameter_types
from .models import MODELS, offered, parsed

__all__ = ["Choices", "around", "varied"]

Choices = Sequence[Any] | Distribution

# By hyperparameter, the least and the most that it may be, in multiples of the default. A penalty
# that is a few times too large leaves nothing to be learnt, one that is too small does less harm.
RANGES = {
    "lr": (0.25, 4.0),
    "l2": (0.2, 3.0),
    "l2_bias": (0.1, 4.0),
    "alpha": (0.1, 10.0),
    "shrink": (0.1, 10.0),
}
# By hyperparameter, of which multiples of the default one is taken.
MULTIPLES = {"factors": (0.5, 1, 2, 4), "neighbours": (0.25, 0.5, 1, 2)}


def around(model: Recommender, data: Interactions) -> dict[str, Choices]:
    """What is varied if nobody says so: some hyperparameters that have their defaults.

    A default of None stands for the number that the model chooses for the data.
    """
    space: dict[str, Choices] = {}
    defaults = type(model)().get_params()
    pairs = _core.Csr(data.users, data.items, data.n_users, data.n_items)
    chosen = model._resolved(pairs, data).get_params()
    for name, given in model.get_params().items():
        value = chosen[name]
        if given != defaults[name] or not value:
            continue
        if name in RANGES:
            low, high = RANGES[name]
            space[name] = log_uniform(value * low, value * high)
        elif name in MULTIPLES:
            space[name] = [int(value * times) for times in MULTIPLES[name]]
    return space


def varied(model: str, text: str) -> tuple[str, Choices]:
    """A hyperparameter and what it may be, of ``NAME=A,B,C`` or ``NAME=LOW..HIGH``.

    Between bounds, logarithms are all as likely if the lower one is more than 0, else numbers are.
    """
    name, equals, values = text.partition("=")
    name = name.strip().replace("-", "_")
    kinds = parameter_types(MODELS[model])
    known = offered(MODELS[model])
    if not equals or name not in known:
        raise argparse.ArgumentTypeError(
            f"{text!r}: expected NAME=VALUES with a hyperparameter of {model}"
            + (f": {', '.join(known)}" if known else ", which has none")
        )
    parse = parsed(name, kinds[name])
    low, between, high = values.partition("..")
    if not between:
        return name, [parse(value.strip()) for value in values.split(",")]
    bounds = parse(low.strip()), parse(high.strip())
    if any(isinstance(bound, bool) or not isinstance(bound, (int, float)) for bound in bounds):
        raise argparse.ArgumentTypeError(f"{text!r}: expected numbers before and after ..")
    whole = not any(_plain(kind) is float for kind in alternatives(kinds[name]))
    try:
        if whole:
            return name, integers(*bounds, log=bounds[0] >= 1)
        return name, log_uniform(*bounds) if bounds[0] > 0 else uniform(*bounds)
    except ValueError as error:
        raise argparse.ArgumentTypeError(f"{text!r}: {error}") from None


def _plain(kind: Any) -> Any:
    """A kind of number without its bounds."""
    return get_args(kind)[0] if get_origin(kind) is Annotated else kind
