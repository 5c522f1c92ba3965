"""How well models rank, in a table."""

from __future__ import annotations

from collections.abc import Callable

from ..data import Interactions
from ..evaluation import evaluate
from ..recommend import Popularity, Recommender
from .text import count

__all__ = ["METRICS", "show_quality"]

METRICS = {
    "mrr": "MRR",
    "ndcg@10": "NDCG@10",
    "recall@10": "recall@10",
    "precision@10": "precision@10",
    "hit@10": "hit rate",
    "auc": "AUC",
}


def show_quality(
    model: Recommender,
    train: Interactions,
    test: Interactions,
    say: Callable[[str], None],
) -> None:
    """Measures a model and popularity on what was held out."""
    name = type(model).__name__
    measured = {name: evaluate(model, test, METRICS, resamples=1)}
    if not isinstance(model, Popularity):
        measured["popularity"] = evaluate(Popularity().fit(train), test, METRICS, resamples=1)
    users = count(measured[name].n_users, "user")
    say(f"\nranking of held-out items, mean over {users}\n")
    say(f"{'':10}  " + "  ".join(f"{head:>12}" for head in METRICS.values()))
    for kind, metrics in measured.items():
        say(f"{kind:10}  " + "  ".join(f"{metrics[metric]:12.4f}" for metric in METRICS))
