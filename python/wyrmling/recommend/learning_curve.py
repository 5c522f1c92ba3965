"""The learning curve of a model: its loss, and metrics on validation data, epoch by epoch."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any

__all__ = ["LearningCurve"]


@dataclass
class LearningCurve:
    """A record with an entry for each epoch of training.

    Args:
        loss: the mean loss of a sample, each taken just before its update.
        seconds: wall-clock seconds, shuffling and sampling included, without validation; none for a
            model from a file.
        samples: how many samples an epoch has.
        validation: metrics on the validation data by name, if there were any.
        best_epoch: the epoch, from 0, whose state the model has; None for the last one, where
            there was no validation.
    """

    loss: list[float] = field(default_factory=list)
    seconds: list[float] = field(default_factory=list)
    samples: int = 0
    validation: dict[str, list[float]] = field(default_factory=dict)
    best_epoch: int | None = None

    def __len__(self) -> int:
        return len(self.loss)

    def plot(self, axes: Any = None) -> Any:
        """Draws it, as :func:`wyrmling.evaluation.plot_history` does; needs matplotlib."""
        from ..evaluation import plot_history

        return plot_history(self, axes)

    def copied(self) -> LearningCurve:
        """A copy, whose lists the caller may change."""
        # As deepcopy, in a hundredth of its time: it is made after each epoch.
        validation = {name: list(values) for name, values in self.validation.items()}
        return replace(self, loss=[*self.loss], seconds=[*self.seconds], validation=validation)
