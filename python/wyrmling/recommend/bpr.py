"""Bayesian personalised ranking, with its loss written where you can read it.

Rendle, Freudenthaler, Gantner and Schmidt-Thieme, "BPR: Bayesian Personalized Ranking
from Implicit Feedback", UAI 2009. A user has a vector, an item a vector and a bias;
their score is the product of the vectors plus the bias. For each interaction an item
is drawn that the user has not interacted with, and training raises the odds that the
item interacted with scores higher.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

import wyrmling as wy

from ..datasets import Interactions, generator
from ..evaluate import seen_pairs
from .model import Model

__all__ = ["BPR"]


@dataclass(frozen=True)
class BPR:
    """A recommender for implicit feedback: interactions, without a rating.

    Args:
        factors: length of the users' and items' vectors.
        lr: step length of stochastic gradient descent.
        l2: weight of the penalty ``l2/2 · |w|²``; larger is smoother. It is added once for
            each vector and bias that a step uses, so larger batches weaken it.
        epochs: how many times every interaction is trained on.
        batch_size: interactions a step.
        threads: workers; 0 takes all cores. With 1, training is reproducible.
        seed: of the initial vectors and the order and choice of samples.

    The defaults suit data of the size of MovieLens 100K; larger data needs fewer
    epochs and bears more factors.
    """

    factors: int = 32
    lr: float = 0.05
    l2: float = 0.01
    epochs: int = 20
    batch_size: int = 64
    threads: int = 0
    seed: int = 0

    def fit(
        self,
        data: Interactions,
        progress: bool = False,
        callback: Callable[[int, wy.History], bool | None] | None = None,
    ) -> Model:
        """Trains a model on all interactions, whatever their rating.

        A user who has every item says nothing about preference: there is no other
        item to compare with. Such users are left out of training, not of the model.

        Args:
            data: what to learn from.
            progress: whether to show how training proceeds.
            callback: called after each epoch, as in :func:`wyrmling.fit`.

        Raises:
            TypeError: something else than Interactions.
            ValueError: no interactions to compare, or a setting outside its range.
            FloatingPointError: training diverged; a smaller ``lr`` may help.
        """
        if not isinstance(data, Interactions):
            raise TypeError(
                f"data: expected Interactions, got {type(data).__name__}; see "
                "wyrmling.datasets.read_interactions and Interactions.from_ids"
            )
        if self.factors < 1:
            raise ValueError(f"factors is {self.factors}, expected at least 1")
        pairs = seen_pairs("data", data)
        compared = data.take(pairs.counts[data.users] < data.n_items)
        if len(compared) == 0:
            raise ValueError(
                f"of {len(data)} interactions none is of a user who lacks an item, "
                "expected some to learn from"
            )
        rng = generator(self.seed)

        def vectors(count: int) -> npt.NDArray[np.float32]:
            return rng.normal(0, 0.1, (count, self.factors)).astype(np.float32)

        users = wy.Parameter(vectors(data.n_users), name="users")
        items = wy.Parameter(vectors(data.n_items), name="items")
        bias = wy.Parameter(np.zeros(data.n_items, np.float32), name="item bias")

        # A user u, an item i of the user's, and another item j.
        u, i, j = wy.IndexInput([0]), wy.IndexInput([0]), wy.IndexInput([0])
        score_i = wy.vecdot(users[u], items[i]) + bias[i]
        score_j = wy.vecdot(users[u], items[j]) + bias[j]
        loss = -(score_i - score_j).logsigmoid().sum()

        others = wy.sampling.Uniform(
            data.n_items, positives=(compared.users, compared.items), given=u
        )
        history = wy.fit(
            loss,
            {u: compared.users, i: compared.items},
            sample={j: others},
            optimizer=wy.SGD(lr=self.lr, l2=self.l2),
            epochs=self.epochs,
            batch_size=self.batch_size,
            threads=self.threads,
            seed=self.seed,
            callback=callback,
            progress=progress,
        )
        return Model(
            users=users.value,
            items=items.value,
            item_bias=bias.value,
            user_ids=data.user_ids,
            item_ids=data.item_ids,
            train=pairs,
            history=history,
        )
