"""Pictures of training, comparisons and searches, by matplotlib where it is installed."""

from __future__ import annotations

import math
from typing import Any

__all__ = ["plot_comparison", "plot_history", "plot_search"]


def plot_history(history: Any, axes: Any = None) -> Any:
    """Draws the loss of each epoch, and on an axis of its own each metric of validation.

    Args:
        history: what :func:`wyrmling.fit` returned, or the ``history`` of a recommender: it has
            ``loss`` by epoch and, where it was validated, ``validation``, a dict of lists.
        axes: where to draw, matplotlib's ``Axes``; a new figure if None.

    Returns:
        The axes.

    Raises:
        ImportError: matplotlib is not installed.
        TypeError: something without ``loss``, such as a model.
    """
    if not hasattr(history, "loss"):
        raise TypeError(
            f"history: expected what fit returned, with loss by epoch, got {type(history).__name__}"
        )
    axes = _axes(axes)
    epochs = range(1, len(history.loss) + 1)
    axes.plot(epochs, history.loss, color="C0", label="loss", marker="." if len(epochs) < 3 else "")
    axes.set_xlabel("epoch")
    axes.set_ylabel("loss")
    metrics = getattr(history, "validation", {})
    if metrics:
        beside = axes.twinx()
        for place, (name, values) in enumerate(metrics.items(), 1):
            beside.plot(range(1, len(values) + 1), values, color=f"C{place}", label=name)
        beside.set_ylabel("validation")
        lines = [*axes.get_lines(), *beside.get_lines()]
        beside.legend(lines, [line.get_label() for line in lines])
    return axes


def plot_comparison(comparison: Any, axes: Any = None) -> Any:
    """Draws the first metric of each model of a Comparison as a bar with its interval."""
    axes = _axes(axes)
    metric = comparison.metrics[0]
    for place, (name, found) in enumerate(reversed(list(comparison.items()))):
        value = found.get(metric, math.nan)
        low, high = found.interval.get(metric, (value, value))
        # By rounding a bound may lie on the other side of a value that it is equal to.
        error = [[max(0.0, value - low)], [max(0.0, high - value)]]
        color = "C0" if name in comparison.models else "0.6"
        axes.barh(place, value, xerr=error, color=color, ecolor="0.2", capsize=3)
    axes.set_yticks(range(len(comparison)), list(comparison)[::-1])
    axes.set_xlabel(metric)
    return axes


def plot_search(search: Any, axes: Any = None) -> Any:
    """Draws the value of each trial of a Search in the order tried, and the best until then.

    With halving, trials of few epochs are paler.
    """
    axes = _axes(axes)
    longest = max((trial.epochs or 1 for trial in search), default=1)
    best, line = -math.inf, []
    for place, trial in enumerate(search, 1):
        if trial.error is None:
            shade = 0.2 + 0.8 * ((trial.epochs or longest) / longest)  # at most 1
            axes.plot(place, trial.value, "o", color="C0", alpha=shade)
            best = max(best, search.sign * trial.value)
        line.append(search.sign * best if math.isfinite(best) else math.nan)
    axes.step(range(1, len(line) + 1), line, where="post", color="C1", label="best so far")
    axes.set_xlabel("trial")
    axes.set_ylabel(search.metric)
    axes.legend()
    return axes


def _axes(axes: Any) -> Any:
    """The axes that were given, or those of a new figure."""
    if axes is not None:
        return axes
    try:
        from matplotlib import pyplot
    except ImportError as error:
        raise ImportError(
            "pictures need matplotlib, which is not installed: pip install matplotlib"
        ) from error
    return pyplot.subplots()[1]
