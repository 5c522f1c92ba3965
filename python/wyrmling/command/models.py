"""Models by name, and their hyperparameters as options.

A hyperparameter's field says what it may be (``wyrmling.recommend.hyperparameters``); its option
takes that as text, and is checked in the same way.
"""

from __future__ import annotations

import argparse
import inspect
import re
from collections.abc import Callable, Sequence
from dataclasses import fields
from types import NoneType
from typing import Annotated, Any, Literal, get_args, get_origin

from ..recommend import (
    BPR,
    EASE,
    EWMA,
    GRU,
    LSTM,
    WARP,
    ExplicitMF,
    FactorizationMachine,
    ImplicitALS,
    ItemKNN,
    LogisticMF,
    Popularity,
    Recommender,
    SampledSoftmax,
    SASRec,
)
from ..recommend.hyperparameters import alternatives, check, parameter_types
from . import types

__all__ = ["MODELS", "add_options", "chosen", "model_of", "named", "offered", "parsed"]

MODELS: dict[str, type[Recommender]] = {
    "popularity": Popularity,
    "bpr": BPR,
    "warp": WARP,
    "logistic": LogisticMF,
    "softmax": SampledSoftmax,
    "explicit": ExplicitMF,
    "fm": FactorizationMachine,
    "als": ImplicitALS,
    "ease": EASE,
    "knn": ItemKNN,
    "ewma": EWMA,
    "gru": GRU,
    "lstm": LSTM,
    "sasrec": SASRec,
}
# What has options of its own.
COMMON = ("random_state", "num_threads")


def chosen(arguments: Sequence[str]) -> str:
    """The model that arguments name, as far as they do: its hyperparameters are options."""
    parser = argparse.ArgumentParser(add_help=False, exit_on_error=False)
    parser.add_argument("--model", default="bpr")
    try:
        name = parser.parse_known_args(arguments)[0].model
    except argparse.ArgumentError:
        return "bpr"
    return name.lower() if name.lower() in MODELS else "bpr"


def add_options(parser: argparse.ArgumentParser, name: str) -> None:
    """Adds the choice of a model, and the hyperparameters of the one that is chosen."""
    parser.add_argument(
        "--model",
        type=str.lower,
        choices=MODELS,
        default="bpr",
        help="what to train [%(default)s]",
    )
    model = MODELS[name]
    group = parser.add_argument_group(f"hyperparameters of {name}")
    defaults = {field.name: field.default for field in fields(model)}
    texts = described(model)
    for parameter, kind in parameter_types(model).items():
        if parameter not in offered(model):
            continue
        group.add_argument(
            f"--{parameter.replace('_', '-')}",
            dest=parameter,
            type=parsed(parameter, kind),
            default=defaults[parameter],
            metavar=_metavar(kind),
            help=f"{texts.get(parameter, '')} [%(default)s]".lstrip(),
        )


def offered(model: type[Recommender]) -> list[str]:
    """The hyperparameters of a class of models that are options of theirs."""
    left_out = COMMON + model._unused
    return [name for name in parameter_types(model) if name not in left_out]


def described(model: type[Recommender]) -> dict[str, str]:
    """What the docstrings of a model and of its bases say of each argument, on one line."""
    texts: dict[str, str] = {}
    for kind in reversed(model.__mro__):
        _, _, listed = inspect.cleandoc(kind.__doc__ or "").partition("Args:\n")
        # An argument is indented by 4, its further lines by 8; what follows the list by nothing.
        for name, text in re.findall(r"^    (\w+): (.*(?:\n {8}.*)*)", listed, re.MULTILINE):
            plain = re.sub(r":\w+:`\.?([^`]*)`|``([^`]*)``", r"\1\2", " ".join(text.split()))
            texts[name] = plain.rstrip(".").replace("%", "%%")
    return texts


def model_of(options: argparse.Namespace) -> Recommender:
    """The model that the options describe."""
    model = MODELS[options.model]
    given = {name: getattr(options, name) for name in offered(model)}
    return model(**given, num_threads=options.threads, random_state=options.seed)


def named(text: str) -> dict[str, type[Recommender]]:
    """Several models, named with commas between them."""
    names = [name.strip().lower() for name in text.split(",")]
    for name in names:
        if name not in MODELS:
            raise argparse.ArgumentTypeError(f"{name!r} is none of {', '.join(MODELS)}")
        if names.count(name) > 1:
            raise argparse.ArgumentTypeError(f"{name!r} is there twice, expected each model once")
    return {name: MODELS[name] for name in names}


def parsed(parameter: str, kind: Any) -> Callable[[str], Any]:
    """What makes a hyperparameter of a text."""

    def parse(text: str) -> Any:
        for one in alternatives(kind):
            value = _value(text, one)
            if value is not _OTHER:
                break
        else:
            value = text
        try:
            check(f"--{parameter.replace('_', '-')}", value, kind)
        except (TypeError, ValueError) as error:
            raise argparse.ArgumentTypeError(str(error)) from None
        return value

    return parse


_OTHER = object()


def _value(text: str, kind: Any) -> Any:
    """A text as a value of a kind; ``_OTHER`` if it is none."""
    if kind in (None, NoneType):
        return None if text.lower() == "none" else _OTHER
    if get_origin(kind) is Annotated:
        return _value(text, get_args(kind)[0])
    if get_origin(kind) is Literal:
        return text if text in get_args(kind) else _OTHER
    if kind is bool:
        return {"true": True, "false": False}.get(text.lower(), _OTHER)
    try:
        return int(text) if kind is int else types.finite(text)
    except (ValueError, argparse.ArgumentTypeError):
        return _OTHER


def _metavar(kind: Any) -> str:
    words = []
    for one in alternatives(kind):
        inner = get_args(one)[0] if get_origin(one) is Annotated else one
        if get_origin(inner) is Literal:
            words += [str(word) for word in get_args(inner)]
        else:
            known = {int: "N", float: "X", bool: "true|false", NoneType: "none"}
            words.append(known.get(inner, "VALUE"))
    return "|".join(words)
