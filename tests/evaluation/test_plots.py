"""Pictures: what they show, and what is said where matplotlib is missing."""

import builtins
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from wyrmling.evaluation import Comparison, Evaluation, Search, Trial, plot_history
from wyrmling.recommend import LearningCurve

HISTORY = LearningCurve([3.0, 2.0, 1.5], validation={"ndcg@10": [0.1, 0.2, 0.25]})


def comparison() -> Comparison:
    rng = np.random.default_rng(0)
    found = {
        name: Evaluation({"mrr": rng.random(50) / n}, {}, range(50))
        for n, name in enumerate(("popularity", "BPR"), 1)
    }
    return Comparison(found, {"BPR": None}, {"BPR": 1.0})


def searched() -> Search:
    trials = [Trial({"lr": value}, value, 0.1) for value in (0.1, 0.3, 0.2)]
    trials.append(Trial({"lr": 9.0}, float("nan"), 0.1, error="diverged"))
    return Search(trials, "mrr", trials[1], None)


def test_pictures_show_what_they_are_of() -> None:
    matplotlib = pytest.importorskip("matplotlib", reason="matplotlib is not installed")
    matplotlib.use("agg")
    from matplotlib import pyplot

    axes = HISTORY.plot()
    assert axes.get_lines()[0].get_ydata().tolist() == HISTORY.loss
    (beside,) = (other for other in axes.figure.axes if other is not axes)
    assert beside.get_lines()[0].get_ydata().tolist() == HISTORY.validation["ndcg@10"]
    assert plot_history(SimpleNamespace(loss=[])) is not None

    found = comparison()
    axes = found.plot()
    widths = [bar.get_width() for bar in axes.patches]
    assert widths == pytest.approx([found[name]["mrr"] for name in reversed(list(found))])
    assert [label.get_text() for label in axes.get_yticklabels()] == list(found)[::-1]
    assert axes.get_xlabel() == "mrr"

    axes = searched().plot()
    assert axes.get_lines()[-1].get_ydata().tolist() == [0.1, 0.3, 0.3, 0.3]
    trials = [Trial({}, 0.1, 0.1, epochs) for epochs in (1, 3)]
    shades = [dot.get_alpha() for dot in Search(trials, "mrr", trials[1], None).plot().lines[:2]]
    assert shades == pytest.approx([0.2 + 0.8 / 3, 1.0])
    own = pyplot.subplots()[1]
    assert plot_history(HISTORY, own) is own
    pyplot.close("all")


def test_what_has_no_losses_is_refused() -> None:
    with pytest.raises(TypeError, match=r"^history: expected what fit returned, .* got Search"):
        plot_history(searched())


@pytest.mark.parametrize(
    "draw",
    [lambda: HISTORY.plot(), lambda: comparison().plot(), lambda: searched().plot()],
)
def test_without_matplotlib_a_picture_says_what_to_install(
    draw: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = builtins.__import__

    def missing(name: str, *arguments: Any, **keywords: Any) -> Any:
        if name.partition(".")[0] == "matplotlib":
            raise ImportError(name)
        return real(name, *arguments, **keywords)

    monkeypatch.setattr(builtins, "__import__", missing)
    with pytest.raises(ImportError, match="need matplotlib, which is not installed: pip install"):
        draw()
