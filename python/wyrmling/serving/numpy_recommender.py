"""Recommendations by NumPy alone: the module of a wheel that does not need wyrmling.

It lies in such wheels beside ``scores.safetensors`` (:mod:`wyrmling.serving.wheel` writes both) and
imports nothing of wyrmling. The file is a part of the wheel and as trusted as this code; it is read
when the first question comes. Scores are wyrmling's but for rounding; equal scores rank by number.

A part of wyrmling. Copyright the wyrmling authors. SPDX-License-Identifier: MIT
"""

import functools
import json
from pathlib import Path
from typing import Any

import numpy as np

__all__ = ["item_ids", "recommend", "similar_items", "user_ids"]

TYPES = {"F32": "<f4", "I64": "<i8", "U64": "<u8", "U32": "<u4", "U8": "|u1"}
PATH = Path(__file__).with_name("scores.safetensors")


@functools.cache
def _arrays() -> dict[str, Any]:
    """The arrays of the file: a header's length, the header in JSON, and numbers."""
    with open(PATH, "rb") as file:
        start = 8 + int.from_bytes(file.read(8), "little")
        header = json.loads(file.read(start - 8))
    del header["__metadata__"]
    arrays = {}
    for name, tensor in header.items():
        begin, end = tensor["data_offsets"]
        kind = np.dtype(TYPES[tensor["dtype"]])
        numbers = np.fromfile(PATH, kind, (end - begin) // kind.itemsize, offset=start + begin)
        arrays[name] = numbers.reshape(tensor["shape"])
    return arrays


@functools.cache
def _ids(name: str) -> tuple[list[Any], dict[Any, int]]:
    """Ids by number, and numbers by id."""
    arrays = _arrays()
    if name + "_offsets" not in arrays:
        ids = arrays[name + "s"].tolist()
    else:
        text, ends = arrays[name + "s"].tobytes(), arrays[name + "_offsets"].tolist()
        ids = [text[ends[k] : ends[k + 1]].decode() for k in range(len(ends) - 1)]
        for number in np.flatnonzero(arrays.get(name + "_integers", ())).tolist():
            ids[number] = int(ids[number])
    return ids, {id: number for number, id in enumerate(ids)}


def user_ids() -> list[Any]:
    """The ids of all users, by number."""
    return list(_ids("user_id")[0])


def item_ids() -> list[Any]:
    """The ids of all items, by number."""
    return list(_ids("item_id")[0])


def recommend(user: Any, n: int = 10, exclude_seen: bool = True) -> list[tuple[Any, float]]:
    """The items with the highest scores for a user, the highest first.

    Args:
        user: the user's id; 1 is not "1".
        n: how many items; there are fewer when there are no more.
        exclude_seen: whether to leave out what the user had when the model was trained.

    Returns:
        Pairs (id of an item, score).

    Raises:
        FloatingPointError: a score that is not a number.
        KeyError: a user that the model does not know.
        TypeError: n that is no integer, or exclude_seen that is neither True nor False.
        ValueError: n below 1.
        RuntimeError: the wheel has no histories to exclude.
    """
    if not isinstance(exclude_seen, (bool, np.bool_)):
        raise TypeError(f"exclude_seen is {exclude_seen!r}, expected True or False")
    arrays, number = _arrays(), _number("user", user)
    had = []
    if exclude_seen:
        if "seen_items" not in arrays:
            raise RuntimeError("the wheel has no histories: exclude_seen=False asks for all items")
        start, end = arrays["seen_indptr"][number : number + 2].tolist()
        had = arrays["seen_items"][start:end]
    scores = _products(arrays["items"], arrays["users"][number])
    if "bias" in arrays:
        scores = scores + arrays["bias"]
    best = _best(scores, n, had)
    if "offsets" not in arrays:
        return best
    # Added to what is ranked already: beside it small differences would be lost.
    offset = arrays["offsets"][number]
    return [(id, float(np.float32(score) + offset)) for id, score in best]


def similar_items(item: Any, n: int = 10) -> list[tuple[Any, float]]:
    """The items most similar to an item, by the cosine of their vectors; the item is left out.

    Args:
        item: the item's id.
        n: how many items.

    Returns:
        Pairs (id of an item, cosine).

    Raises:
        FloatingPointError: a cosine that is not a number.
        KeyError: an item that the model does not know.
        TypeError: the model has no vectors of items, or n is no integer.
        ValueError: n below 1.
    """
    vectors, number = _arrays()["items"], _number("item", item)
    if not vectors.shape[1]:
        raise TypeError("the model has no vectors of items to compare")
    # In double precision, in which no square of a float32 number is infinite or 0.
    lengths = np.sqrt(np.einsum("id,id->i", vectors, vectors, dtype=np.float64))[:, None]
    directions = np.zeros_like(vectors)
    np.divide(vectors, lengths, out=directions, where=lengths > 0, casting="same_kind")
    return _best(_products(directions, directions[number]), n, [number])


def _products(vectors: Any, vector: Any) -> Any:
    """The product of each vector with one: equal vectors have equal products.

    Those of ``@`` may differ in their last bits, as BLAS takes rows in blocks, and items that are
    equal would not rank by number.
    """
    return np.einsum("id,d->i", vectors, vector)


def _number(kind: str, id: Any) -> int:
    ids, numbers = _ids(kind + "_id")
    if not isinstance(id, (int, str, np.integer)) or isinstance(id, bool) or id not in numbers:
        raise KeyError(f"{kind} {id!r} is not among the {len(ids):,} {kind}s, such as {ids[0]!r}")
    return numbers[id]


def _best(scores: Any, n: int, left_out: Any) -> list[tuple[Any, float]]:
    """The n best of all items but some, with their scores."""
    if isinstance(n, bool) or not isinstance(n, (int, np.integer)):
        raise TypeError(f"n is {n!r}, expected an integer at least 1")
    if n < 1:
        raise ValueError(f"n is {n}, expected at least 1")
    if np.isnan(scores).any():
        raise FloatingPointError(
            "a score is not a number: the vectors are so large that products overflow"
        )
    is_left = np.ones(len(scores), bool)
    is_left[left_out] = False
    left = np.flatnonzero(is_left)
    scores = scores[left]
    count = min(n, len(left))
    if not count:
        return []
    # Everything that is not below the count-th best, in the order of numbers.
    bound = np.partition(scores, -count)[-count]
    found = np.flatnonzero(scores >= bound)
    found = found[np.argsort(-scores[found], kind="stable")][:count]
    ids = _ids("item_id")[0]
    return [(ids[left[place]], float(scores[place])) for place in found.tolist()]
