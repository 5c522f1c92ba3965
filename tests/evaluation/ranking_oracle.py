"""Models with given scores, and the metrics of a ranking item by item, as they are defined."""

import math

import numpy as np
import numpy.typing as npt

from wyrmling import _core
from wyrmling.data import Interactions
from wyrmling.evaluation.trained import Trained

Pairs = set[tuple[int, int]]


def interactions(pairs: Pairs | list[tuple[int, int]], n_users: int, n_items: int) -> Interactions:
    columns = np.array(pairs if isinstance(pairs, list) else sorted(pairs), np.uint32)
    columns = columns.reshape(-1, 2)
    user_ids, item_ids = [f"u{n}" for n in range(n_users)], [f"i{n}" for n in range(n_items)]
    return Interactions(columns[:, 0], columns[:, 1], user_ids, item_ids)


def model_of(scores: npt.ArrayLike, train: Pairs) -> Trained:
    """A model that gives user u and item i ``scores[u, i]``."""
    table = np.array(scores, np.float32)
    data = interactions(train, *table.shape)
    items, bias = np.eye(table.shape[1], dtype=np.float32), np.zeros(table.shape[1], np.float32)
    seen = _core.Csr(data.users, data.items, *table.shape)
    return Trained(data.user_ids, data.item_ids, seen, lambda users: (table[users], items, bias))


def metric(
    name: str, scores: npt.ArrayLike, train: Pairs, test: Pairs, exclude_seen: bool = True
) -> dict[int, float]:
    """The value of each user who has something held out; of coverage, that of all as user -1."""
    table = np.array(scores, np.float64)
    n_users, n_items = table.shape
    kind, _, digits = name.partition("@")
    k = int(digits) if digits else 10 if kind in ("coverage", "novelty") else 10**9
    values, recommended = {}, set()
    for u in range(n_users):
        seen = {i for i in range(n_items) if (u, i) in train} if exclude_seen else set()
        competing = [i for i in range(n_items) if i not in seen]
        held_out = [i for i in competing if (u, i) in test]
        if not held_out:
            continue
        ranks = [sum(table[u, j] >= table[u, i] for j in competing) for i in held_out]
        hits = [rank for rank in ranks if rank <= k]
        best = sorted(competing, key=lambda i: (-table[u, i], i))[:k]
        recommended.update(best)
        if kind == "ndcg":
            ideal = sum(1 / math.log2(1 + r) for r in range(1, min(k, len(held_out)) + 1))
            values[u] = sum(1 / math.log2(1 + r) for r in hits) / ideal
        elif kind == "recall":
            values[u] = len(hits) / len(held_out)
        elif kind == "precision":
            values[u] = len(hits) / k
        elif kind == "map":
            at = [sum(other <= r for other in ranks) / r for r in hits]
            values[u] = sum(at) / min(k, len(held_out))
        elif kind == "hit":
            values[u] = float(bool(hits))
        elif kind == "mrr":
            values[u] = 1 / min(hits) if hits else 0.0
        elif kind == "auc":
            pairs = [
                (table[u, i] > table[u, j]) + 0.5 * (table[u, i] == table[u, j])
                for i in held_out
                for j in competing
                if j not in held_out
            ]
            values[u] = float(np.mean(pairs)) if pairs else 0.5
        elif kind == "novelty":
            share = [max(1, sum((v, i) in train for v in range(n_users))) / n_users for i in best]
            values[u] = float(np.mean([-math.log2(part) for part in share])) if best else 0.0
    if kind == "coverage":
        return {-1: len(recommended) / n_items}
    return values
