"""How well models rank, in a table."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from ..data import Interactions
from ..evaluation import Evaluation, evaluate
from ..evaluation.metrics import ERRORS
from ..recommend import ExplicitMF, Popularity, Recommender
from .text import count

__all__ = ["METRICS", "measured", "show_quality"]

METRICS = {
    "mrr": "MRR",
    "ndcg@10": "NDCG@10",
    "recall@10": "recall@10",
    "precision@10": "precision@10",
    "hit@10": "hit rate",
    "auc": "AUC",
}


def measured(model: Recommender, train: Interactions, test: Interactions) -> dict[str, Evaluation]:
    """How well a model, and popularity, rank what was held out; of ratings the errors too."""
    asked = [*METRICS, *(ERRORS if isinstance(model, ExplicitMF) else ())]
    found = {type(model).__name__: evaluate(model, test, asked, resamples=1)}
    if not isinstance(model, Popularity):
        found["popularity"] = evaluate(Popularity().fit(train), test, METRICS, resamples=1)
    return found


def show_quality(found: Mapping[str, Evaluation], say: Callable[[str], None]) -> None:
    """Says what was measured."""
    users = count(next(iter(found.values())).n_users, "user")
    say(f"\nranking of held-out items, mean over {users}\n")
    say(f"{'':10}  " + "  ".join(f"{head:>12}" for head in METRICS.values()))
    for kind, metrics in found.items():
        say(f"{kind:10}  " + "  ".join(f"{metrics[metric]:12.4f}" for metric in METRICS))
    for kind, metrics in found.items():
        if errors := [f"{name} {metrics[name]:.4f}" for name in ERRORS if name in metrics]:
            say(f"\nerrors of ratings by {kind}: {', '.join(errors)}")
