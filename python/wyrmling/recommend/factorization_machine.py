"""A hybrid factorisation machine: users and items are sums of the vectors of their features.

Kula, "Metadata Embeddings for User and Item Cold-start Recommendations", CBRecSys 2015 (LightFM):
the vector of an item is the sum of the vectors of its features, and so is its bias; the same holds
of users. A feature of its own, its identity, makes an item different from others with the same
features. Who has features but no interactions is recommended, and gets recommendations, by them.
Between users and items alone are products, so it is that part of a factorisation machine (Rendle,
ICDM 2010) by which items rank.

Limit: features are known when a model is fitted; those of users can be given later, too.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from copy import copy
from dataclasses import dataclass, replace
from typing import Annotated, Any, ClassVar, Literal, Self
from weakref import WeakKeyDictionary

import numpy as np
import numpy.typing as npt

import wyrmling as wy

from .. import _core
from ..array_types import Float32Array, IndexArray
from ..data import Id, Ids, Interactions
from ..data.interactions import check_interactions
from .arguments import numbers_of
from .embeddings import Embeddings, array_types, check_features, known, names_of, own, summed
from .factors import FactorModel, Loss
from .features import Features
from .fitted import Arrays, ArrayType, Fitted, NewUser
from .hyperparameters import Bounds, Count, Scale
from .rehearsal import REHEARSED, check_kept, kept_columns, rehearsed
from .score_checks import check_finite
from .training import Task

__all__ = ["FactorizationMachine"]

Given = Mapping[Id, Any] | Features

ORDERS: WeakKeyDictionary[Fitted, tuple[npt.NDArray[Any], IndexArray, int]] = WeakKeyDictionary()
"""Of each state the order of items by which new users are learnt, made when it is first asked for.
"""


@dataclass(kw_only=True, eq=False, repr=False)
class FactorizationMachine(FactorModel):
    """Vectors of users and items that are sums of vectors of their features (LightFM).

    Args:
        loss: ``"bpr"``, the odds that an item scores higher than one that the user did not have
            (see :class:`.BPR`), or ``"logistic"``, the probability of an interaction among
            ``n_negatives`` items drawn at random (see :class:`.LogisticMF`).
        identity: whether users, or items, that have features have a vector of their own besides.
            Those of a kind without any features always have. Without, an item that has no
            features scores 0.
        normalize: whether the weights of the features of each user or item are divided by the sum
            of their magnitudes.
        l2_features: as ``l2``, of the vectors and biases of features.

    >>> from wyrmling.datasets import make_interactions
    >>> data = make_interactions(n_users=60, n_items=40, seed=1)
    >>> genres = {item: [item.split("-")[0]] for item in data.item_ids}
    >>> genres["jazz-new"] = ["jazz"]                       # nobody has had it yet
    >>> model = FactorizationMachine(factors=8, epochs=5, num_threads=1)
    >>> model = model.fit(data, item_features=genres)
    >>> len(model.recommend("user-1", n=3))
    3
    >>> [item.split("-")[0] for item, _ in model.similar_items("jazz-new", n=2)]
    ['jazz', 'jazz']
    """

    loss: Literal["bpr", "logistic"] = "bpr"
    identity: bool = True
    normalize: bool = True
    # Many samples of a batch share a feature: Adagrad shortens the steps of these.
    optimizer: Literal["sgd", "adagrad", "adam"] = "adagrad"
    lr: Annotated[float, Bounds(above=0)] = 0.05
    l2: Annotated[float, Bounds(least=0)] = 0.02
    l2_bias: Annotated[float, Bounds(least=0)] = 0.001
    l2_features: Annotated[float, Bounds(least=0)] = 0.001
    epochs: Count = 30
    init_scale: Scale = 0.01
    n_negatives: Annotated[int, Bounds(least=1, most=2**8)] = 5

    # What the fit at hand is given, no fields.
    _user_features: ClassVar[Features | None] = None
    _item_features: ClassVar[Features | None] = None

    def fit(
        self,
        data: Interactions,
        *,
        user_features: Given | None = None,
        item_features: Given | None = None,
        **settings: Any,
    ) -> Self:
        """Learns from interactions and features, and forgets what it had learnt before.

        Args:
            data: what to learn from.
            user_features: a dict from ids of users to lists of features, of pairs (feature,
                weight) or to dicts of weights; or :class:`.Features`, which are made of columns
                or of a sparse matrix. Users that are not in ``data`` become known by them. None
                for no features.
            item_features: the same of items.
            settings: further arguments of :meth:`.Recommender.fit`.

        Returns:
            The model itself.

        Raises:
            TypeError: features of another kind, and as :meth:`.Recommender.fit`.
            ValueError: a weight that is not finite, and as :meth:`.Recommender.fit`.
        """
        return self._fit_with(FactorModel.fit, data, user_features, item_features, settings)

    def partial_fit(
        self,
        data: Interactions,
        *,
        user_features: Given | None = None,
        item_features: Given | None = None,
        **settings: Any,
    ) -> Self:
        """Learns from more interactions, from where it is. Arguments and errors are those of `fit`.

        Features that are given take the place of those that the model had of the same kind; what it
        has learnt of features of the same names stays. None leaves them as they are.
        """
        return self._fit_with(FactorModel.partial_fit, data, user_features, item_features, settings)

    def _fit_with(
        self,
        fit: Callable[..., Any],
        data: Interactions,
        user_features: Given | None,
        item_features: Given | None,
        settings: dict[str, Any],
    ) -> Self:
        check_interactions("data", data)
        model = copy(self)
        # Those with features alone are known, too, after all others.
        if user_features is not None:
            features = Features.of(user_features, "user_features")
            data = replace(data, user_ids=data.user_ids.extended(features.ids.values))
            object.__setattr__(model, "_user_features", features)
        if item_features is not None:
            features = Features.of(item_features, "item_features")
            data = replace(data, item_ids=data.item_ids.extended(features.ids.values))
            object.__setattr__(model, "_item_features", features)
        fit(model, data, **settings)
        self._fitted = model._fitted
        return self

    def _loss(self) -> Loss:
        return {"bpr": bpr, "logistic": logistic}[self.loss]

    def _learn(self, task: Task) -> Arrays:
        data = task.data
        before = None if task.start is None else self._fitted
        of_users = self._bags("user", self._user_features, data.user_ids, task)
        of_items = self._bags("item", self._item_features, data.item_ids, task)
        # What is drawn to be compared with comes first.
        compared_with = self._compared_with(
            np.bincount(task.seen.indices, minlength=data.n_items),
            None if of_items is None else of_items[1].lengths,
        )
        order, place = _first(compared_with)
        n_drawn = int(compared_with.sum())
        learnt = rehearsed(data, before, {"weights": 1.0})
        compared = learnt.take(task.seen.counts[learnt.users] < n_drawn)
        if len(compared) == 0:
            raise ValueError(
                "data has no interaction of a user who lacks an item to compare with, expected "
                "some to learn from"
            )
        user_order = np.arange(data.n_users)
        of_compared = replace(task, data=compared)
        users = self._embeddings("user", of_users, data.user_ids, user_order, of_compared)
        items = self._embeddings("item", of_items, data.item_ids, order, task)
        kept = kept_columns(learnt, task.seen, ["weights"])

        def arrays() -> Arrays:
            return users.arrays(user_order) | items.arrays(place) | kept

        user, item = wy.IndexInput([0], name="user"), wy.IndexInput([0], name="item")
        columns: dict[Any, Any] = {user: compared.users, item: place[compared.items]}
        count = self.n_negatives if self.loss == "logistic" else 1
        drawn = [wy.IndexInput([0], name="negative") for _ in range(count)]
        loss = self._graph(users, items, user, item, drawn)
        if compared.weights is not None:
            weight = wy.Input(np.ones(1, np.float32), name="weight")
            columns[weight] = compared.weights
            loss = weight * loss
        seen_users = np.repeat(
            np.arange(data.n_users, dtype=np.uint32), task.seen.counts.astype(np.int64)
        )
        # A user who has every item has no samples, and there would be nothing to draw for them.
        lacking = task.seen.counts[seen_users] < n_drawn
        seen_items = place[task.seen.indices].astype(np.uint32)
        sampler = wy.sampling.Uniform(
            n_drawn,
            positives=(seen_users[lacking], seen_items[lacking]),
            given=user,
        )
        tables = {
            f"{embeddings.kind}_{name}": table
            for embeddings in (users, items)
            for name, table in embeddings.tables.items()
        }
        run = self._run(task, tables, self._optimizer_of(users, items), arrays)
        wy.fit(loss, columns, sample=dict.fromkeys(drawn, sampler), **run)
        return arrays()

    def _compared_with(
        self, counts: npt.NDArray[Any], lengths: npt.NDArray[Any] | None
    ) -> npt.NDArray[np.bool_]:
        """Which items are drawn to be compared with, by how many users had each and how many
        features it has; None where items have no features.

        Items that nobody had are not drawn where they have features: they rank by these. Of one
        without there is nothing else to learn.
        """
        if lengths is None:
            return np.ones(len(counts), bool)
        had: npt.NDArray[np.bool_] = counts > 0
        return had | (lengths == 0) if self.identity else had

    def _graph(
        self, users: Embeddings, items: Embeddings, user: Any, item: Any, drawn: list[wy.IndexInput]
    ) -> Any:
        """The loss of a batch, as a graph."""
        vector = users.vector(user)
        if self.loss == "bpr":
            (negative,) = drawn
            difference = items.vector(item) - items.vector(negative)
            odds = wy.vecdot(vector, difference) + items.bias(item) - items.bias(negative)
            return wy.softplus(-odds)
        of_user = users.bias(user)
        total = wy.softplus(-(wy.vecdot(vector, items.vector(item)) + of_user + items.bias(item)))
        for other in drawn:
            score = wy.vecdot(vector, items.vector(other)) + of_user + items.bias(other)
            total = total + wy.softplus(score)
        return total

    def _bags(
        self, kind: str, given: Features | None, ids: Ids, task: Task
    ) -> tuple[Ids, wy.Ragged] | None:
        """The names of features, and those of each user, or item; None where there are none."""
        before = None if task.start is None else known(kind, task.start)
        if given is not None:
            names = given.names if before is None else before[0].extended(given.names.values)
            return names, given.bags_of(ids, names, self.normalize)
        if before is None:
            return None
        names, bags = before
        empty = np.full(len(ids) - len(bags), bags.offsets[-1])
        return names, wy.Ragged(bags.values, np.concatenate([bags.offsets, empty]), bags.weights)

    def _embeddings(
        self,
        kind: str,
        features: tuple[Ids, wy.Ragged] | None,
        ids: Ids,
        order: npt.NDArray[np.int64],
        task: Task,
    ) -> Embeddings:
        """Users, or items, in an order, as they are before training: known rows as they were, new
        ones at random. Rows that nothing is learnt of are 0.
        """
        before = None if task.start is None else known(kind, task.start)
        names, bags = (None, None) if features is None else (features[0], features[1][order])
        embeddings = Embeddings(kind, names, bags)
        rng = task.rng
        has_bias = kind == "item" or self.loss == "logistic"
        if names is None or self.identity:
            vectors = rng.normal(0.0, self.init_scale, (len(ids), self.factors))
            column = task.data.users if kind == "user" else task.data.items
            vectors[np.bincount(column, minlength=len(ids)) == 0] = 0.0
            if task.start is not None:
                learnt = own(kind, task.start)
                self._continue(vectors, learnt["vectors"])
            embeddings.add("vectors", vectors[order])
            if has_bias:
                biases = np.zeros(len(ids))
                if task.start is not None and "biases" in learnt:
                    biases[: len(learnt["biases"])] = learnt["biases"]
                embeddings.add("biases", biases[order])
        if names is not None:
            vectors = rng.normal(0.0, self.init_scale, (len(names), self.factors))
            biases = np.zeros(len(names))
            if before is not None and task.start is not None:
                self._continue(vectors, task.start[f"{kind}_feature_vectors"])
                learnt_biases = task.start.get(f"{kind}_feature_biases")
                if learnt_biases is not None:
                    biases[: len(learnt_biases)] = learnt_biases
            embeddings.add("feature_vectors", vectors)
            if has_bias:
                embeddings.add("feature_biases", biases)
        return embeddings

    def _optimizer_of(self, *both: Embeddings) -> wy.Optimizer:
        """The optimizer, with the penalty of each kind of parameter."""
        of_vectors = {"user": self.l2_users, "item": self.l2_items}
        l2 = {}
        for embeddings in both:
            own_l2 = of_vectors[embeddings.kind]
            own_l2 = self.l2 if own_l2 is None else own_l2
            by_name = {"vectors": own_l2, "biases": self.l2_bias}
            for name, table in embeddings.tables.items():
                l2[table] = by_name.get(name, self.l2_features)
        return self._optimizer_with(l2)

    def _array_types(self) -> Mapping[str, ArrayType]:
        types = {
            "users": ArrayType(("users", "factors")),
            "items": ArrayType(("items", "factors")),
            "user_bias": ArrayType(("users",), optional=True),
            "item_bias": ArrayType(("items",)),
        }
        return types | array_types("user") | array_types("item") | REHEARSED

    def _check_arrays(self, fitted: Fitted) -> None:
        check_kept(fitted)
        for kind, ids in (("user", fitted.user_ids), ("item", fitted.item_ids)):
            check_features(kind, len(ids), fitted.arrays)

    # New users, and reasons.

    def fold_in(
        self, history: Iterable[Id] = (), *, features: Iterable[Any] | Mapping[Id, float] = ()
    ) -> NewUser:
        """A user that the model was not trained on, by the items that they had, or their features.

        Args:
            history: ids of items; those that occur more than once count once.
            features: names of features, pairs (name, weight) or a dict of weights. Those that the
                model does not know count as nothing.

        Raises:
            KeyError: an item that the model does not know.
            ValueError: features, and the model was fitted without features of users.
        """
        model = self._as_fitted()
        items = np.unique(numbers_of("history", model.item_ids, history))
        found = Features.of({"new": features}, "features")
        arrays = model.fitted.arrays
        offset = np.zeros(arrays["users"].shape[1], np.float32)
        if len(found.names):
            offset = summed(found, "user", model.fitted, model.normalize)[0]
        return model._new_user(items, model._query(items, offset))

    def _query(self, items: IndexArray, offset: Float32Array | None = None) -> Float32Array:
        """The vector of a new user: that of their features, and what the items that they had add to
        it, found as in training while all else stays as it is.
        """
        arrays = self.fitted.arrays
        if offset is None:
            offset = np.zeros(arrays["users"].shape[1], np.float32)
        _, place, n_drawn = self._drawn_first()
        items = place[items]
        had = items[items < n_drawn]
        if not len(items) or len(had) == n_drawn:
            return offset
        vector = wy.Parameter(np.zeros((1, len(offset)), np.float32), name="users")
        user = np.zeros(len(items), np.uint32)
        self._minimise(
            self._fixed(self._loss())[0],
            {"users": vector},
            {"users": vector},
            Interactions(user, items, Ids(["new"]), self.fitted.item_ids),
            _core.Csr(user[: len(had)], had, 1, n_drawn),
            more={"offset": np.tile(offset, (len(items), 1))},
        )
        learnt: Float32Array = offset + vector.value[0]
        return learnt

    def _known(self, names: list[str]) -> Arrays:
        order, _, n_drawn = self._drawn_first()
        arrays = super()._known(names)
        return arrays if n_drawn == len(order) else {name: arrays[name][order] for name in names}

    def _drawn_first(self) -> tuple[npt.NDArray[Any], IndexArray, int]:
        """The items in the order in which those come first that training has drawn to compare with,
        the place of each there, and how many were drawn: all, if nobody knows who had what.
        """
        fitted = self.fitted
        if fitted not in ORDERS:
            counts = np.ones(len(fitted.item_ids)) if fitted.seen is None else fitted.popularity
            ends = fitted.arrays.get("item_bag_offsets")
            drawn = self._compared_with(counts, None if ends is None else np.diff(ends))
            order, place = _first(drawn)
            ORDERS[fitted] = order, place.astype(np.uint32), int(drawn.sum())
        return ORDERS[fitted]

    def explain(self, user: Id | NewUser, item: Id) -> list[tuple[Id | None, float]]:
        """What an item's score for a user is made of: the part of each of its features.

        Returns:
            Pairs of a feature's name and its part, the largest first; the part of the item itself,
            with the user's bias, has None for a name. They add up to the score.

        Raises:
            FloatingPointError: a score that is infinite or not a number.
            KeyError: an id that the model does not know.
            TypeError: what is no id.
        """
        model = self._snapshot()
        arrays = model.fitted.arrays
        number = model.item_ids.number(item, "item")
        if isinstance(user, NewUser):
            vector, offsets = model._new_vectors([user])[0], model._offsets([user])
        else:
            row = model.user_ids.number(user, "user")
            vector = arrays["users"][row]
            offsets = model._offsets(np.array([row], np.uint32))
        check_finite(model, user if isinstance(user, NewUser) else row, number)
        score = float(vector @ arrays["items"][number] + arrays["item_bias"][number])
        score += 0.0 if offsets is None else float(offsets[0])
        parts: list[tuple[Id | None, float]] = []
        if "item_feature_names" in arrays:
            names = names_of("item", model.fitted)
            bag = slice(*arrays["item_bag_offsets"][number : number + 2])
            # A feature that is named twice is one, of both weights.
            numbers, places = np.unique(arrays["item_bag_features"][bag], return_inverse=True)
            weights = np.bincount(places, arrays["item_bag_weights"][bag], len(numbers))
            for feature, weight in zip(numbers, weights, strict=True):
                part = vector @ arrays["item_feature_vectors"][feature]
                part += arrays["item_feature_biases"][feature]
                parts.append((names[int(feature)], float(weight * part)))
        parts.append((None, score - sum(part for _, part in parts)))
        return sorted(parts, key=lambda pair: -pair[1])


def _first(those: npt.NDArray[np.bool_]) -> tuple[npt.NDArray[Any], npt.NDArray[Any]]:
    """The numbers of all in the order in which those come first, and the place of each there."""
    order = np.argsort(~those, kind="stable")
    place = np.empty(len(order), np.int64)
    place[order] = np.arange(len(order))
    return order, place


def bpr(
    users: Any, items: Any, item_bias: Any, offset: Any, user: int, item: int, negative: int
) -> Any:
    """BPR's loss of a new user, whose vector is learnt beside an offset."""
    vector = users[user] + offset
    score = vector @ items[item] + item_bias[item]
    return -wy.logsigmoid(score - vector @ items[negative] - item_bias[negative])


def logistic(
    users: Any, items: Any, item_bias: Any, offset: Any, user: int, item: int, negatives: Any
) -> Any:
    """The logistic loss of a new user, whose vector is learnt beside an offset."""
    vector = users[user] + offset
    score = vector @ items[item] + item_bias[item]
    others = items[negatives] @ vector + item_bias[negatives]
    return -wy.logsigmoid(score) - wy.logsigmoid(-others).sum()
