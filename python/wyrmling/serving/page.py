"""The web page of a server: recommendations, neighbours, the map of items and the learning curve.

Its files are in the folder ``page``: HTML, a style and a script, which ask the server and nobody
else. What the script shows is set as text, never as HTML, and the page's policy forbids any script
that is not in its file: an id is shown as it is, whatever it contains. Ids go to the script and
come back as texts, since its numbers hold integers below 2**53 only; where a model knows 7 and "7"
it means "7".

The map has the first two principal components of the items' vectors (Pearson, 1901), found by power
iteration in the space of the factors. Where a model has similarities in place of vectors, the
vector of an item has its similarities to the items on the map. Of a catalogue of more than
:data:`MOST_ON_MAP` items it shows those that most users had, or the first ones where the model has
no histories.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from importlib import resources
from typing import Any
from weakref import WeakKeyDictionary

import numpy as np
import numpy.typing as npt

from ..array_types import Float64Array
from ..recommend import Recommender
from ..recommend.similarity import SimilarityModel
from .endpoints import InUrl, Parameters, Refused, recommend, similar

__all__ = ["Page", "components", "item_map"]

MOST_ON_MAP = 2000
# Ids that a field proposes while somebody types.
MOST_PROPOSED = 20
# The names in answers under which items stand with their scores.
PAIRS = ("items", "similar")
# What the server answers for several at once, and the page does not.
SEVERAL = {"/ui/recommend": ("users", "histories"), "/ui/similar": ("items", "users")}

FILES = {
    "/": ("index.html", "text/html; charset=utf-8"),
    "/page.css": ("page.css", "text/css; charset=utf-8"),
    "/page.js": ("page.js", "text/javascript; charset=utf-8"),
}
POLICY = [
    (
        "Content-Security-Policy",
        "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; "
        "base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
    ),
    ("Referrer-Policy", "no-referrer"),
]

Answer = tuple[str, bytes, list[tuple[str, str]]]


class Page:
    """The page's files, and the answers that only it needs."""

    def __init__(self) -> None:
        folder = resources.files(__package__) / "page"
        self._files = {
            path: (kind, (folder / name).read_bytes()) for path, (name, kind) in FILES.items()
        }
        self._data: dict[str, Callable[[Recommender, Parameters], Any]] = {
            "/ui/model": _about,
            "/ui/ids": _proposed,
            "/ui/map": self._map,
        }
        self._endpoints: dict[str, Callable[[Recommender, Parameters], Any]] = {
            "/ui/recommend": recommend,
            "/ui/similar": similar,
        }
        self._maps: WeakKeyDictionary[Recommender, Any] = WeakKeyDictionary()
        self._lock = threading.Lock()

    @property
    def paths(self) -> dict[str, str]:
        """The paths that the page answers, each with its method."""
        read = dict.fromkeys([*self._files, *self._data], "GET")
        return read | dict.fromkeys(self._endpoints, "POST")

    def answer(self, path: str, parameters: Parameters, model: Recommender) -> Any:
        """A file, as (type, bytes, headers), or an object for JSON."""
        if path in self._files:
            return (*self._files[path], POLICY)
        if path in self._endpoints:
            return self._asked(path, model, parameters)
        return self._data[path](model, parameters)

    def _asked(self, path: str, model: Recommender, parameters: Parameters) -> Any:
        """An answer about one thing, which is all that the page asks."""
        for name in SEVERAL[path]:
            if name in parameters:
                path = path.removeprefix("/ui")
                raise Refused(400, "bad_request", f"{name}: the page has no such list, {path} does")
        asked = {name: _untyped(value) for name, value in parameters.items()}
        answer = self._endpoints[path](model, asked)
        return {name: _as_text(pairs) for name, pairs in answer.items() if name in PAIRS}

    def _map(self, model: Recommender, parameters: Parameters) -> Any:
        with self._lock:  # so that it is computed once
            if model not in self._maps:
                self._maps[model] = item_map(model)
            return self._maps[model]


def _untyped(value: Any) -> Any:
    """An id, or several, as texts that may mean integers; anything else stays what it is."""
    if isinstance(value, list):
        return [InUrl(one) if isinstance(one, str) else one for one in value]
    return InUrl(value) if isinstance(value, str) else value


def _as_text(pairs: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return [
        {"id": str(pair.get("item", pair.get("user"))), "score": pair["score"]} for pair in pairs
    ]


def _about(model: Recommender, parameters: Parameters) -> Any:
    """What the page shows before anything is asked."""
    curve = model.history
    return {
        "model": repr(model),
        "users": len(model.user_ids),
        "items": len(model.item_ids),
        "curve": None
        if curve is None
        else {
            "loss": _plottable(curve.loss),
            "validation": {name: _plottable(c) for name, c in curve.validation.items()},
        },
    }


def _plottable(column: list[float]) -> list[float | None]:
    return [float(value) if np.isfinite(value) else None for value in column]


def _proposed(model: Recommender, parameters: Parameters) -> Any:
    """Ids that contain a text, those that begin with it first."""
    kind, text = str(parameters.get("kind", "")), str(parameters.get("text", "")).casefold()
    if kind not in ("users", "items"):
        raise Refused(400, "bad_value", "kind: expected users or items")
    begin: list[int | str] = []
    contain: list[int | str] = []
    for id in model.user_ids if kind == "users" else model.item_ids:
        folded = str(id).casefold()
        if folded.startswith(text):
            begin.append(id)
            if len(begin) == MOST_PROPOSED:
                break
        elif len(contain) < MOST_PROPOSED and text in folded:
            contain.append(id)
    return {"ids": [str(id) for id in (begin + contain)[:MOST_PROPOSED]]}


def item_map(model: Recommender) -> Any:
    """The map of a model's items, for JSON: ids, and places between -1 and 1; None for no map."""
    n_items, arrays = len(model.item_ids), model.fitted.arrays
    shown = np.arange(min(n_items, MOST_ON_MAP), dtype=np.uint32)
    if n_items > MOST_ON_MAP and model.fitted.seen is not None:
        order = np.argsort(-model.fitted.popularity, kind="stable")
        shown = np.sort(order[:MOST_ON_MAP]).astype(np.uint32)
    if isinstance(model, SimilarityModel):
        # How similar an item is to each of those on the map.
        blocks = model._item_similarity(shown).blocks()
        vectors = np.concatenate([block.items[shown].T for _, block in blocks])
    else:
        # A model of another's class may have anything by this name.
        vectors = arrays.get("items", np.empty(0))
        if vectors.ndim != 2 or len(vectors) != n_items or not vectors.shape[1]:
            return {"items": None, "x": [], "y": []}
        vectors = vectors[shown]
    places = components(vectors)
    largest = np.abs(places).max(initial=0.0)
    places = places / largest if largest > 0 else places
    return {
        "items": [str(model.item_ids[number]) for number in shown.tolist()],
        "x": np.round(places[:, 0], 4).tolist(),
        "y": np.round(places[:, 1], 4).tolist(),
    }


def components(vectors: npt.NDArray[Any], rounds: int = 100) -> Float64Array:
    """The first two principal components of some vectors, shape (m, 2).

    The axes are the two eigenvectors of the covariance with the largest eigenvalues, by power
    iteration of a plane (Golub and Van Loan, *Matrix Computations*, 7.3.2), in which each has its
    element of largest size positive. The second is 0 where vectors have one element.

    >>> components(np.array([[0.0, 2.0], [0.0, -2.0], [1.0, 0.0], [-1.0, 0.0]])).round(6).tolist()
    [[2.0, 0.0], [-2.0, 0.0], [0.0, 1.0], [0.0, -1.0]]
    """
    centred = vectors.astype(np.float64)
    centred -= centred.mean(axis=0, keepdims=True)
    if centred.shape[1] < 2:
        centred = np.pad(centred, ((0, 0), (0, 2 - centred.shape[1])))
    plane = np.random.default_rng(0).normal(size=(centred.shape[1], 2))
    for _ in range(rounds):
        plane, _ = np.linalg.qr(centred.T @ (centred @ plane))
    # Within the plane the axes are those of the largest variance.
    inner = centred @ plane
    _, turn = np.linalg.eigh(inner.T @ inner)
    axes = plane @ turn[:, ::-1]
    largest = np.abs(axes).argmax(axis=0)
    signs = np.where(axes[largest, [0, 1]] < 0, -1.0, 1.0)
    return np.asarray(centred @ axes * signs + 0.0)  # no negative zeros
