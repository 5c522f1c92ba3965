"""What all recommenders have in common: fit, ask, save.

A recommender is a dataclass of hyperparameters. ``fit`` gives it a state (:class:`.Fitted`), which
is replaced as a whole: a fit that fails or is interrupted leaves the model as it was. A model
brings how it learns (``_learn``) and how it scores (``_scores``); ids, what was seen, ranking, new
users and checks are here.
"""

from __future__ import annotations

import copy
import os
from abc import ABC, abstractmethod
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Annotated, Any, Literal, Self, cast

import numpy as np
import numpy.typing as npt

from .. import _core
from ..arguments import check_choice, check_flag, check_integer, check_path, is_one
from ..array_types import Float32Array, IndexArray
from ..data import Id, Ids, Interactions
from .arguments import numbers_of, of_ids, one_id, several
from .files import load_model, save_model
from .fitted import Arrays, Fitted, NewUser, Reasons, Stateful, pairs_of
from .hyperparameters import Bounds
from .learning_curve import LearningCurve
from .recommendations import listed, named
from .score_checks import check_finite, numbers_only
from .scoring import FactorScores, Scores, by_bias, shifted, top
from .training import Callback, MonitorSettings, Task, TrainingMonitor

__all__ = ["Recommender"]


@dataclass(kw_only=True, eq=False, repr=False)
class Recommender(Stateful, ABC):
    """A model that learns from interactions and recommends items to users.

    Args:
        random_state: seed of all random choices; None for another one each time.
        num_threads: workers; 0 takes all cores. With 1, training gives the same bits each time.
    """

    random_state: Annotated[int, Bounds(least=0, most=2**63 - 1)] | None = 0
    num_threads: Annotated[int, Bounds(least=0, most=_core.MOST_WORKERS)] = 0

    # How a model learns and scores.

    @abstractmethod
    def _learn(self, task: Task) -> Arrays:
        """What the model learns from the data of a task, as arrays by name."""

    @abstractmethod
    def _scores(self, users: IndexArray) -> Scores:
        """The scores of all items for some users, by number."""

    @abstractmethod
    def _new_scores(self, users: Sequence[NewUser]) -> Scores:
        """The scores of all items for some new users."""

    @abstractmethod
    def _predict(self, users: IndexArray, items: IndexArray) -> Float32Array:
        """The score of each pair of a user and an item."""

    def _query(self, items: IndexArray) -> Float32Array | None:
        """What the model makes of a new user's history; None if the history is all it needs."""
        return None

    def _offsets(self, users: IndexArray | Sequence[NewUser]) -> Float32Array | None:
        """What all scores of each user have in common, which `_scores` leaves out; None for 0."""
        return None

    def _reasons(self, user: int | NewUser, item: int) -> Reasons:
        """What the items that a user had add to the score of an item."""
        raise NotImplementedError(
            f"{type(self).__name__} cannot explain a score: it depends on no item that the user had"
        )

    def _item_similarity(self, items: IndexArray) -> Scores:
        """How similar all items are to each of some items."""
        raise TypeError(f"{type(self).__name__} does not compare items")

    def _user_similarity(self, users: IndexArray) -> Scores:
        """How similar all users are to each of some users."""
        raise TypeError(f"{type(self).__name__} does not compare users")

    # Learning.

    def fit(
        self,
        data: Interactions,
        *,
        epochs: int | None = None,
        validation: Interactions | float | None = None,
        metric: str = "ndcg@10",
        patience: int | None = None,
        callback: Callback | None = None,
        progress: bool = False,
        checkpoint: str | os.PathLike[str] | None = None,
    ) -> Self:
        """Learns from interactions, and forgets what it had learnt before.

        Args:
            data: what to learn from.
            epochs: passes over the data, in place of the hyperparameter of that name.
            validation: interactions to measure the model on after each epoch, or a share of
                ``data`` (between 0 and 1) that is held out for that. The model gets the state of
                the epoch that was best on them; one without epochs has no history of it. A model
                that is worse there than the ranking by popularity gives a warning.
            metric: what is measured, as :func:`wyrmling.evaluation.evaluate` names it.
            patience: stop after so many epochs without an improvement; None never stops early.
            callback: called as ``callback(epoch, history)`` after each epoch, numbered from 0, with
                a :class:`.LearningCurve`; returns True to stop, else False or None.
            progress: whether to show how training proceeds.
            checkpoint: a file that is written after each epoch. If it is there, the run goes on
                where it was interrupted and gives the same bits, as :mod:`.checkpointing` says;
                models that are not trained by gradient steps have none.

        Returns:
            The model itself.

        Raises:
            TypeError: something else than Interactions, or an argument or hyperparameter of
                another kind.
            ValueError: nothing to learn from, or to measure, an unknown metric, a setting outside
                its range, or a checkpoint of another run.
            OSError: the checkpoint cannot be read or written.
            FloatingPointError: training diverged; a smaller ``lr`` may help.
        """
        settings = MonitorSettings(metric, patience, callback, progress, checkpoint)
        return self._train(data, None, epochs, validation, settings)

    def partial_fit(
        self,
        data: Interactions,
        *,
        epochs: int | None = None,
        validation: Interactions | float | None = None,
        metric: str = "ndcg@10",
        patience: int | None = None,
        callback: Callback | None = None,
        progress: bool = False,
        checkpoint: str | os.PathLike[str] | None = None,
    ) -> Self:
        """Learns from more interactions, from where it is. Arguments and errors are those of `fit`.

        New users and items come after those known, which keep their numbers. What was seen stays
        seen and is learnt from again, lest it be forgotten: an epoch is one of all data. Gradient
        steps take the second half of the model's epochs, by the schedule, if ``epochs`` is None. A
        model not fitted is fitted; one saved without histories learns from the new data alone.
        """
        settings = MonitorSettings(metric, patience, callback, progress, checkpoint)
        return self._train(data, self._fitted, epochs, validation, settings)

    def _train(
        self,
        data: Interactions,
        before: Fitted | None,
        epochs: int | None,
        validation: Interactions | float | None,
        settings: MonitorSettings,
    ) -> Self:
        self.check_params()
        # Settings that a callback changes count from the next fit on.
        model = self._plain()
        task = Task.of(model, data, before, epochs, validation)
        # Of a model without histories the new pairs alone say nothing of the data.
        knows = before is None or before.seen is not None
        model = model._resolved(task.seen if knows else None, task.data, before)
        monitor = TrainingMonitor(model, task, settings)
        arrays = model._learn(replace(task, monitor=monitor))
        self._set_fitted(monitor.finish(arrays))
        return self

    def _with(self, fitted: Fitted) -> Self:
        """The same model in another state."""
        model = copy.copy(self)
        model._fitted = fitted
        return model

    # What is known of a fitted model.

    @property
    def user_ids(self) -> Ids:
        """The users' ids, by number."""
        return self.fitted.user_ids

    @property
    def item_ids(self) -> Ids:
        """The items' ids, by number."""
        return self.fitted.item_ids

    @property
    def seen(self) -> _core.Csr:
        """The items that each user had in training.

        Raises RuntimeError for a model that was saved without histories.
        """
        if (seen := self.fitted.seen) is not None:
            return seen
        raise RuntimeError(
            "the model was saved without histories: it does not know what users have had "
            "(exclude_seen=False asks for all items)"
        )

    @property
    def history(self) -> LearningCurve | None:
        """How training went; None for a model that has no epochs."""
        return self.fitted.history

    # Asking.

    def predict(self, users: Iterable[Id], items: Iterable[Id]) -> Float32Array:
        """The scores of pairs: of ``users[k]`` and ``items[k]``, ids of the same number.

        Returns:
            float32, shape (k,). Scores compare within a user; those of a model of ratings are
            ratings.

        Raises:
            FloatingPointError: a score that is not a number.
            KeyError: an id that the model does not know.
            TypeError: one id alone, a set, or what is no id.
            ValueError: columns of different length, or an id beyond int64.
            RuntimeError: the model is not fitted, or has no histories that it scores by.
        """
        model = self._snapshot()
        rows = numbers_of("users", model.user_ids, users, ordered=True)
        columns = numbers_of("items", model.item_ids, items, ordered=True)
        if len(rows) != len(columns):
            raise ValueError(
                f"users has {len(rows)} ids and items {len(columns)}, expected as many"
            )
        return numbers_only(model._predict(rows, columns), model, rows, columns)

    def recommend(
        self,
        users: Id | NewUser | Iterable[Id] | Sequence[NewUser],
        n: int = 10,
        *,
        exclude_seen: bool = True,
        items: Iterable[Id] | None = None,
        filter_items: Iterable[Id] | None = None,
        cold_start: Literal["error", "popular"] = "error",
    ) -> Any:
        """The items with the highest scores, the highest first. Equal scores rank by number. A
        bias that all scores of a user share is added after ranking: others may be equal then.

        Args:
            users: a user's id, several, or new users that :meth:`fold_in` has made.
            n: how many items; there are fewer when there are no more.
            exclude_seen: whether to leave out what the user had in training, or in the history of
                a new user.
            items: ids of the only items that may be recommended; None for all.
            filter_items: ids of items that may not.
            cold_start: what to do for an id that the model does not know: ``"error"`` raises,
                ``"popular"`` recommends what most users had.

        Returns:
            For one user a list of (item, score); for several :class:`.Recommendations`: arrays of
            ids and scores, of shape (users, n or fewer). Scores compare within a user.

        Raises:
            FloatingPointError: a score that is not a number.
            KeyError: an id that the model does not know.
            TypeError: what is no id, or an argument of another type.
            ValueError: n below 1, an id beyond int64, or a new user of another model.
            IndexError: a new user of another model, who had an item that this one does not know.
            RuntimeError: the model is not fitted, or has no histories to exclude or to count.
        """
        model = self._snapshot()
        n = min(check_integer("n", n, 1), len(model.fitted.item_ids))
        exclude_seen = check_flag("exclude_seen", exclude_seen)
        check_choice("cold_start", cold_start, ("error", "popular"))
        allowed = model._allowed(items, filter_items)
        if isinstance(users, NewUser):
            return listed(model.item_ids, *model._recommend_new([users], n, exclude_seen, allowed))
        if is_one(users):
            return model._recommend_one(users, n, exclude_seen, allowed, cold_start)
        asked = users if hasattr(users, "__array__") else list(cast(Iterable[Any], users))
        if isinstance(asked, list) and any(isinstance(user, NewUser) for user in asked):
            if not all(isinstance(user, NewUser) for user in asked):
                raise TypeError("users: expected ids or new users, got some of both")
            best = model._recommend_new(asked, n, exclude_seen, allowed)
            return named(model.item_ids, np.full(len(asked), None), *best)
        known = several("users", asked)
        best = model._recommend_known(known, n, exclude_seen, allowed, cold_start)
        return named(model.item_ids, of_ids(known), *best)

    def similar_items(self, items: Id | Iterable[Id], n: int = 10) -> Any:
        """The items most similar to an item, or to each of several; the item itself is left out.

        Returns:
            As :meth:`recommend`. What similarity is, the model says; for vectors it is the cosine.

        Raises:
            KeyError: an id that the model does not know.
            TypeError: the model does not compare items, or what is no id.
            ValueError: n below 1.
        """
        return self._snapshot()._similar("items", items, n)

    def similar_users(self, users: Id | Iterable[Id], n: int = 10) -> Any:
        """The users most similar to a user, or to each of several, as :meth:`similar_items`."""
        return self._snapshot()._similar("users", users, n)

    def fold_in(self, history: Iterable[Id]) -> NewUser:
        """A user that the model was not trained on, by the items that they had.

        The model stays as it is. Items that occur more than once count once. For an empty history
        items rank by what does not depend on the user, such as their biases, else by number.

        >>> model.recommend(model.fold_in(["tea", "rye"]))  # doctest: +SKIP

        Raises:
            KeyError: an item that the model does not know.
            TypeError: one id alone, or what is no id.
        """
        model = self._as_fitted()
        items = np.unique(numbers_of("history", model.item_ids, history))
        return model._new_user(items, model._query(items))

    def explain(self, user: Id | NewUser, item: Id) -> list[tuple[Id | None, float]]:
        """What the items that a user had add to the score of an item, as the model says it.

        Args:
            user: a user's id, or a new user that :meth:`fold_in` has made.
            item: an item's id.

        Returns:
            Pairs of an item that the user had and its part, the largest first. Where parts are
            exact they add up to the score, with what comes of no item that the user had beside
            the id None.

        Raises:
            FloatingPointError: a score that is infinite or not a number.
            KeyError: an id that the model does not know.
            NotImplementedError: the model's scores depend on no item that the user had.
            RuntimeError: the model is not fitted, or has no histories.
            TypeError: what is no id.
            ValueError: a new user of another model, or an id beyond int64.
        """
        model = self._as_fitted()
        number = model.item_ids.number(item, "item")
        asked = user if isinstance(user, NewUser) else model.user_ids.number(user, "user")
        model._check_new([asked] if isinstance(asked, NewUser) else [])
        check_finite(model, asked, number)
        return model._reasons(asked, number).listed(model.item_ids)

    def _had(self, user: int | NewUser) -> IndexArray:
        """The numbers of the items that a user had, rising."""
        return user.items if isinstance(user, NewUser) else self.seen.row(user)

    # Files.

    def save(self, path: str | os.PathLike[str], *, histories: bool = True) -> None:
        """Writes the model to a safetensors file, which replaces an existing one all at once.

        The new file keeps the permissions of the old, and where the path is a symbolic link the
        file that it leads to is replaced. :mod:`wyrmling.recommend.files` says what it holds.

        Args:
            path: the file.
            histories: whether to write what users had in training. Without, the file is much
                smaller and tells nothing of single users but their ids and vectors; the model from
                it can only recommend with ``exclude_seen=False``, and where scores are made of
                histories (:class:`.EASE`, :class:`.ItemKNN`) to new users alone.

        Raises:
            RuntimeError: the model was not fitted.
            OSError: the file cannot be written.
            TypeError, ValueError: a hyperparameter that no fit or no file takes, or an argument.
            FloatingPointError: a number is not finite.
        """
        save_model(self, check_path("path", path), check_flag("histories", histories))

    @classmethod
    def load(
        cls,
        source: str | os.PathLike[str] | bytes | bytearray | memoryview,
        *,
        mmap: bool = False,
        verify: bool | None = None,
        **given: Any,
    ) -> Self:
        """Reads a model that :meth:`save` wrote. The file need not be trusted.

        ``Recommender.load`` reads any model, that of a class one of this class or of those that
        inherit from it.

        Args:
            source: a path, or the bytes of a file.
            mmap: whether to map arrays of floats into memory in place of reading them; processes
                then share them, and the file must stay as it is (:mod:`wyrmling.tensor_files`).
            verify: whether to compare the file with its checksums and look for numbers that are not
                finite. None does so unless the file is mapped, for it reads all of it.
            given: hyperparameters in place of those in the file, such as the ``loss`` of
                :class:`.Custom`, which no file holds.

        Raises:
            OSError: the file cannot be read.
            TypeError: neither a path nor bytes, or a hyperparameter that the model does not take.
            ValueError: it is no model, one of another class, or damaged.
            MemoryError: there is no memory for it.
        """
        if verify is not None:
            verify = check_flag("verify", verify)
        return load_model(source, cls, check_flag("mmap", mmap), verify, given)

    # Between ids and numbers.

    def _allowed(
        self, items: Iterable[Id] | None, filter_items: Iterable[Id] | None
    ) -> IndexArray | None:
        """The numbers of the items that may be recommended, rising; None for all."""
        if items is None and filter_items is None:
            return None
        allowed = np.ones(len(self.item_ids), bool)
        if items is not None:
            allowed[:] = False
            allowed[numbers_of("items", self.item_ids, items)] = True
        if filter_items is not None:
            allowed[numbers_of("filter_items", self.item_ids, filter_items)] = False
        return np.flatnonzero(allowed).astype(np.uint32)

    def _recommend_one(
        self, user: Any, n: int, exclude_seen: bool, allowed: IndexArray | None, cold_start: str
    ) -> list[tuple[Id, float]]:
        """As for several known users, by fewer steps."""
        if type(user) is not str and type(user) is not int:
            user = one_id("users", user)
        fitted = self.fitted
        try:
            known = np.array([fitted.user_ids.number(user, "user")], np.uint32)
        except KeyError:
            if cold_start == "error":
                raise
            return listed(fitted.item_ids, *top(self._popularity(), None, n, allowed))
        seen = self.seen.select(known) if exclude_seen else None
        best, scores = top(self._scores(known), seen, n, allowed)
        return listed(fitted.item_ids, best, shifted(scores, self._offsets(known)))

    def _recommend_known(
        self,
        users: npt.NDArray[np.int64] | list[Id],
        n: int,
        exclude_seen: bool,
        allowed: IndexArray | None,
        cold_start: str,
    ) -> tuple[IndexArray, Float32Array]:
        numbers = self.user_ids.numbers(users, "users")
        unknown = np.flatnonzero(numbers < 0)
        if len(unknown) and cold_start == "error":
            self.user_ids.number(users[unknown[0]], "user")  # raises
        known = numbers[numbers >= 0].astype(np.uint32)
        seen = self.seen.select(known) if exclude_seen else None
        best, scores = top(self._scores(known), seen, n, allowed)
        scores = shifted(scores, self._offsets(known))
        if not len(unknown):
            return best, scores
        popular = top(self._popularity(), None, n, allowed)
        filled = []
        for of_known, of_unknown in zip((best, scores), popular, strict=True):
            rows = np.repeat(of_unknown, len(users), axis=0)
            rows[numbers >= 0] = of_known
            filled.append(rows)
        return filled[0], filled[1]

    def _recommend_new(
        self, users: Sequence[NewUser], n: int, exclude_seen: bool, allowed: IndexArray | None
    ) -> tuple[IndexArray, Float32Array]:
        seen = pairs_of(users, len(self.item_ids)) if exclude_seen else None
        self._check_new(users)
        best, scores = top(self._new_scores(users), seen, n, allowed)
        return best, shifted(scores, self._offsets(users))

    def _popularity(self) -> FactorScores:
        """Scores by the number of users who had an item."""
        fitted = self.fitted
        if fitted.seen is None:
            raise RuntimeError(
                "the model was saved without histories: it does not know what is popular, expected "
                "cold_start='error'"
            )
        return by_bias(1, fitted.popularity)

    def _similar(self, kind: Any, ids: Id | Iterable[Id], n: int) -> Any:
        of = self.item_ids if kind == "items" else self.user_ids
        scores = self._item_similarity if kind == "items" else self._user_similarity
        n = min(check_integer("n", n, 1), max(len(of) - 1, 1))
        one = is_one(ids)
        asked = [one_id(kind, ids)] if one else cast(Iterable[Id], ids)
        numbers = numbers_of(kind, of, asked)
        rows = np.arange(len(numbers), dtype=np.uint32)
        itself = _core.Csr(rows, numbers, len(numbers), len(of))
        best = top(scores(numbers), itself, n, None)
        return listed(of, *best) if one else named(of, of.take(numbers), *best)
