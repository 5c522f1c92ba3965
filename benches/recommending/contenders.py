"""The models that are compared, ours and theirs, with what is tuned of each."""

from __future__ import annotations

from collections.abc import Mapping

from . import ours, peers
from .quality import Contender, Draw, log_uniform, one_of, popularity

WIDTHS = one_of(16, 32, 64, 128)
RATES = log_uniform(0.005, 0.2)
PENALTIES = log_uniform(1e-3, 0.1)
EPOCHS = one_of(10, 20, 40, 80, 160)
SMALL_PENALTIES = log_uniform(1e-7, 1e-3)

LIGHTFM: dict[str, Draw] = {
    "no_components": WIDTHS,
    "learning_rate": log_uniform(0.01, 0.1),
    "user_alpha": SMALL_PENALTIES,
    "item_alpha": SMALL_PENALTIES,
    "epochs": one_of(10, 20, 40, 80),
}

THEIRS = [
    Contender(
        "implicit BPR",
        peers.implicit_bpr,
        {
            "factors": WIDTHS,
            "learning_rate": RATES,
            "regularization": PENALTIES,
            "iterations": EPOCHS,
        },
    ),
    Contender(
        "implicit ALS",
        peers.implicit_als,
        {
            "factors": WIDTHS,
            "regularization": log_uniform(0.01, 100.0),
            "alpha": log_uniform(0.5, 40.0),
            "iterations": one_of(5, 10, 15, 25),
        },
    ),
    Contender("LightFM BPR", peers.lightfm("bpr"), LIGHTFM),
    Contender(
        "LightFM WARP", peers.lightfm("warp"), {**LIGHTFM, "max_sampled": one_of(5, 10, 30, 100)}
    ),
    Contender(
        "Cornac BPR",
        peers.cornac_bpr,
        {"k": WIDTHS, "learning_rate": RATES, "lambda_reg": PENALTIES, "max_iter": EPOCHS},
    ),
]

BASELINE = [Contender("popularity", popularity)]

OURS = [
    Contender(
        "BPR",
        ours.fit("BPR"),
        {
            "factors": WIDTHS,
            "lr": log_uniform(0.03, 0.3),
            "l2": log_uniform(0.005, 0.05),
            "epochs": one_of(20, 40, 80),
        },
    ),
    Contender(
        "WARP",
        ours.fit("WARP"),
        # The penalty goes by the data: one chosen on the smaller training part is too large for
        # all of it.
        {
            "factors": one_of(32, 48, 64),
            "lr": log_uniform(0.006, 0.013),
            "l2_bias": log_uniform(0.05, 0.3),
            "n_negatives": one_of(30, 50),
            "epochs": one_of(40, 60, 100),
        },
    ),
    Contender(
        "LogisticMF",
        ours.fit("LogisticMF"),
        {
            "factors": WIDTHS,
            "lr": log_uniform(0.03, 0.3),
            "l2": log_uniform(0.02, 0.1),
            "epochs": one_of(20, 40),
        },
    ),
    Contender(
        "ImplicitALS",
        ours.fit("ImplicitALS"),
        {
            "factors": WIDTHS,
            "l2": log_uniform(0.01, 100.0),
            "alpha": log_uniform(0.5, 40.0),
            "epochs": one_of(5, 10, 15, 25),
        },
    ),
    Contender("EASE", ours.fit("EASE"), {"l2": log_uniform(20.0, 2_000.0)}),
    Contender(
        "ItemKNN",
        ours.fit("ItemKNN"),
        {"neighbours": one_of(20, 50, 100, 200), "shrink": log_uniform(1.0, 200.0)},
    ),
]

ALL = [*OURS, *THEIRS, *BASELINE]
TARGETS = {"BPR": 0.40, "WARP": 0.45, "ImplicitALS": 0.40, "EASE": 0.445}
"""NDCG@10 that the project has set itself, as means of three seeds."""
TOLERANCE = 0.005


def all_names() -> list[str]:
    """The names of all models."""
    return [contender.name for contender in ALL]


def named(names: list[str] | None) -> list[Contender]:
    """The models of some names, or all."""
    return chosen(ALL, names)


def chosen(everyone: list[Contender], names: list[str] | None) -> list[Contender]:
    """Those of some names, or all."""
    return [contender for contender in everyone if not names or contender.name in names]


def judged(means: Mapping[str, float]) -> int:
    """Prints which targets were met; how many were missed."""
    missed = reached("NDCG@10", TARGETS, means)
    mine, others = (
        {c.name: means[c.name] for c in side if c.name in means} for side in (OURS, THEIRS)
    )
    if mine and others:
        best, peer = max(mine, key=mine.__getitem__), max(others, key=others.__getitem__)
        text = f"{best} ({mine[best]:.4f}) above {peer} ({others[peer]:.4f})"
        missed += said(mine[best] > others[peer], text)
    return missed


def reached(metric: str, targets: Mapping[str, float], means: Mapping[str, float]) -> int:
    """Prints which models have what is expected of them; how many have not."""
    print()
    return sum(
        said(
            means[name] >= least - TOLERANCE,
            f"{metric} of {name} at least {least} ({means[name]:.4f})",
        )
        for name, least in targets.items()
        if name in means
    )


def said(met: bool, text: str) -> bool:
    """Prints whether a target was met; whether it was missed."""
    print(f"  target {'met' if met else 'MISSED'}: {text}")
    return not met
