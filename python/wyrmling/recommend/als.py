"""Implicit-feedback matrix factorisation by alternating least squares.

Hu, Koren and Volinsky, "Collaborative filtering for implicit feedback datasets", ICDM 2008. Of all
pairs of a user u and an item i, those that occur have the preference p = 1 and the confidence
``c = 1 + alpha·r``, where r is how much the user had of it; all others have p = 0 and c = 1.
Training makes

    ``Σ c_ui (p_ui - users[u]·items[i])² + Σ l2_u |users[u]|² + Σ l2_i |items[i]|²``

least, over all pairs: there is nothing to sample. The penalty of a vector grows with the number n
of its interactions, as ``l2·n^l2_power``: not at all (a power of 0, as in that paper), in
proportion (1: Zhou, Wilkinson, Schreiber and Pan, "Large-scale parallel collaborative filtering for
the Netflix prize", AAIM 2008), or between (Rendle, Krichene, Zhang and Koren, "Revisiting the
performance of iALS on item recommendation benchmarks", RecSys 2022).

With one side fixed, each row of the other is a least-squares problem of its own, which is solved
exactly (``solver="cholesky"``) or improved by some steps of conjugate gradients (Takács, Pilászy
and Tikk, "Applications of the conjugate gradient method for implicit feedback collaborative
filtering", RecSys 2011), which is faster and ranks as well.
"""

from __future__ import annotations

import math
import time
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import Annotated, Any, Literal, Self
from weakref import WeakKeyDictionary

import numpy as np
import numpy.typing as npt

from .. import _core
from ..array_types import Float32Array, Float64Array, IndexArray
from ..data import Id, Interactions
from ..data.pairs import users_of
from .arguments import valued
from .fitted import Arrays, ArrayType, Fitted, NewUser, Reasons
from .hyperparameters import Bounds, Count, Scale
from .sparsity import Sparsity, with_penalty
from .training import Task
from .vectors import VectorModel

__all__ = ["ImplicitALS"]

NO_SOLUTION = (
    "the least squares of a user, whose values are too large or the penalty too small, have no "
    "finite solution"
)
MOST_CONDITION = 2.0**40
"""Of a user's least squares; of the digits of a larger one's solution few are right."""
SQUARES: WeakKeyDictionary[Fitted, Float64Array] = WeakKeyDictionary()
"""Of each state the sum of the products of items' vectors, made when it is first asked for."""


@dataclass(kw_only=True, eq=False, repr=False)
class ImplicitALS(VectorModel):
    """Vectors by alternating least squares, for interactions that tell what users had, or how much.

    What a user had of an item is the sum of the values of their interactions with it, times their
    weights; without values each counts 1. Values are at least 0, and one of 0 teaches nothing: it
    is left out of training, and the item counts as had where such are left out.
    Ratings are no amounts: leave them out (``values=None``), or let only high ones count.

    Equal random states give the same bits for any number of threads. An epoch solves all users and
    then all items. The learning curve has the loss after it, divided by the number of pairs that
    occur: ``Σ c (p - users[u]·items[i])²`` over all pairs, where p is 1 and c ``1 + alpha·r`` for
    those that occur and p is 0 and c is 1 for all others, plus the penalties (Hu, Koren and
    Volinsky, 2008). `partial_fit` goes on with all interactions, old and new.

    Args:
        factors: length of the vectors.
        l2: weight of the penalty, of a vector with one interaction. None takes the bound of what
            noise has: ``0.9·(1 + alpha·r)·(√u + √i)·(1 - √density) / (u·i)^(l2_power/2)`` for a
            mean amount r, and u and i pairs of a user and of an item, of those that occur; at least
            a tenth of it where most do.
        l2_power: the penalty is ``l2·n^l2_power`` for a vector with n interactions.
        alpha: how much more confidence an interaction of value 1 has than none.
        epochs: how many times both sides are solved.
        solver: ``"cg"``, conjugate gradients, or ``"cholesky"``, which solves exactly, in a time
            that grows with the cube of ``factors``.
        cg_steps: steps of conjugate gradients.
        init_scale: standard deviation of the items' vectors that training starts from.
    """

    factors: Annotated[int, Bounds(least=1, most=2**16)] = 64
    l2: Annotated[float, Bounds(above=0)] | None = None
    l2_power: Annotated[float, Bounds(least=0, most=1)] = 0.5
    alpha: Annotated[float, Bounds(above=0)] = 0.2
    epochs: Count = 15
    solver: Literal["cg", "cholesky"] = "cg"
    cg_steps: Annotated[int, Bounds(least=1, most=2**16)] = 3
    init_scale: Scale = 0.1

    def _array_types(self) -> Mapping[str, ArrayType]:
        return {
            "users": ArrayType(("users", "factors")),
            "items": ArrayType(("items", "factors")),
            "values": ArrayType(("pairs",), optional=True, private=True),
        }

    def _check_arrays(self, fitted: Fitted) -> None:
        values = fitted.arrays.get("values")
        if values is not None and fitted.seen is not None and len(values) != len(fitted.seen):
            raise ValueError(f"values has {len(values)} numbers for {len(fitted.seen)} pairs")

    # Learning.

    def _resolved(
        self,
        pairs: _core.Csr | None,
        data: Interactions | None = None,
        before: Fitted | None = None,
    ) -> Self:
        amount = 1.0
        if pairs is not None and data is not None and self.l2 is None:
            users, items, amounts = _rows(data, before)
            there = amounts > 0
            if not there.all():
                pairs = _core.Csr(users[there], items[there], *pairs.shape)
            amount = float(amounts.sum(dtype=np.float64)) / max(len(pairs), 1)
        if pairs is not None and not len(pairs):
            return self  # which learning refuses
        return with_penalty(self, pairs, partial(self._penalty, amount))

    def _penalty(self, amount: float, pairs: Sparsity) -> float:
        """The weight of the penalty for data of this sparsity and mean amount."""
        edge = math.sqrt(pairs.per_user) + math.sqrt(pairs.per_item)
        structure = max(1 - math.sqrt(pairs.density), 0.1)
        scale = (pairs.per_user * pairs.per_item) ** (self.l2_power / 2)
        return float(0.9 * (1 + self.alpha * amount) * edge * structure / scale)

    def _learn(self, task: Task) -> Arrays:
        before = self._fitted if task.start is not None else None
        amounts = _amounts(task.data, before)
        by_user = self._confidences(amounts)
        by_item = by_user.transposed()
        users, items = self._start(task)
        # A new vector without interactions is 0. One that was there stays, since a model that was
        # saved without histories has no interactions for it.
        without = _counts(by_user) == 0, _counts(by_item) == 0
        known = 0 if task.start is None else len(task.start["items"])
        items[known:][without[1][known:]] = 0.0
        kept = users[without[0]], items[without[1]]
        arrays: dict[str, npt.NDArray[Any]] = {"users": users, "items": items}
        if (amounts.values != 1).any():
            arrays["values"] = amounts.values
        penalties = self._penalties(by_user)
        monitor = task.monitor
        assert monitor is not None
        epochs = task.epochs or self.epochs
        monitor.begin(epochs)
        for epoch in range(epochs):
            began = time.perf_counter()
            users, _ = self._solve(by_user, items, users)
            users[without[0]] = kept[0]
            items, loss = self._solve(by_item, users, items)
            items[without[1]] = kept[1]
            arrays |= {"users": users, "items": items}
            loss += float(penalties @ np.einsum("ud,ud->u", users, users))
            record = _core.restored_history([loss], [time.perf_counter() - began], len(by_user))
            if monitor.epoch(epoch, record, partial(dict, arrays)):
                break
        return arrays

    def _start(self, task: Task) -> tuple[Float32Array, Float32Array]:
        """The vectors that training starts from: those that are known, random ones of new items."""
        data, start = task.data, task.start
        users = np.zeros((data.n_users, self.factors), np.float32)
        drawn = task.rng.normal(0.0, self.init_scale, (data.n_items, self.factors))
        items = drawn.astype(np.float32)
        if start is not None:
            known = start["users"].shape[1]
            if known != self.factors:
                raise ValueError(
                    f"factors is {self.factors}, and was {known} when the model was fitted: "
                    "partial_fit goes on with the length that it had"
                )
            users[: len(start["users"])] = start["users"]
            items[: len(start["items"])] = start["items"]
        return users, items

    def _confidences(self, amounts: _core.CsrMatrix) -> _core.CsrMatrix:
        """How much more than 1 the confidence of each pair is; pairs of an amount of 0 are none."""
        there = amounts.values > 0
        if not there.any():
            raise ValueError(
                "data has no interaction of a value above 0, expected some to learn from"
            )
        n_users, _ = amounts.shape
        users = np.repeat(np.arange(n_users, dtype=np.uint32), _counts(amounts))
        extra = self._extra(amounts.values[there])
        return _core.CsrMatrix(users[there], amounts.indices[there], extra, *amounts.shape)

    def _extra(self, amounts: Float32Array) -> Float32Array:
        """How much more confidence than none these amounts give."""
        with np.errstate(over="ignore"):
            extra: Float32Array = np.float32(self.alpha) * amounts
        if not np.isfinite(extra).all():
            raise ValueError(
                f"alpha is {self.alpha} and the largest value {amounts.max()}, expected a finite "
                "product"
            )
        return extra

    def _solve(
        self, matrix: _core.CsrMatrix, fixed: Float32Array, start: Float32Array
    ) -> tuple[Float32Array, float]:
        """One side, while the other is fixed, and the sum that is made least."""
        steps = None if self.solver == "cholesky" else self.cg_steps
        return _core.least_squares(
            matrix, fixed, start, self._penalties(matrix), steps, self.num_threads
        )

    @property
    def _l2(self) -> float:
        assert self.l2 is not None, "a model that learns or answers has chosen it"
        return self.l2

    def _penalties(self, matrix: _core.CsrMatrix) -> Float32Array:
        """The penalty of each row's vector."""
        counts = np.maximum(_counts(matrix), 1)
        with np.errstate(over="ignore"):
            penalties = self._l2 * counts**self.l2_power
        if penalties.max() > np.finfo(np.float32).max:
            raise ValueError(f"l2 is {self.l2}, expected penalties within single precision")
        found: Float32Array = penalties.astype(np.float32)
        return found

    # New users, and reasons.

    def fold_in(self, history: Iterable[Id], *, values: Iterable[float] | None = None) -> NewUser:
        """A user that the model was not trained on, by the items that they had, and how much.

        Args:
            history: ids of items.
            values: how much the user had of each, as in training: at least 0, and what is said of
                one item more than once adds up. None for 1 of each item, however often it occurs.

        Raises:
            KeyError: an item that the model does not know.
            TypeError: one id alone, or what is no id, or no number.
            ValueError: not one value for each item, or a value below 0 or too large.
            FloatingPointError: values so large, or a penalty so small, that few digits of the
                solution would be right.
        """
        if values is None:
            return super().fold_in(history)
        model = self._as_fitted()
        steps, numbers = valued(model.item_ids, history, values)
        _check_amounts("values", numbers)
        items, place = np.unique(steps, return_inverse=True)
        with np.errstate(over="ignore"):
            amounts = np.bincount(place, numbers, len(items)).astype(np.float32)
        new = model._new_user(items, model._query(items, amounts))
        return replace(new, values=amounts)

    def _query(self, items: IndexArray, amounts: Float32Array | None = None) -> Float32Array:
        """The vector of a new user: the exact solution while items stay as they are."""
        amounts = np.ones(len(items), np.float32) if amounts is None else amounts
        self._extra(amounts)  # refuses what training would
        matrix, sides = self._system(items, amounts.astype(np.float64))
        with np.errstate(over="ignore"):
            found: Float32Array = _solution(matrix, sides.sum(axis=0)).astype(np.float32)
        if not np.isfinite(found).all():
            raise FloatingPointError(f"{NO_SOLUTION} in single precision")
        return found

    def _system(
        self, items: IndexArray, amounts: Float64Array
    ) -> tuple[Float64Array, Float64Array]:
        """The least squares of a user: their matrix, and what each item adds to the right side."""
        fitted = self.fitted
        if (squares := SQUARES.get(fitted)) is None:
            vectors = fitted.arrays["items"].astype(np.float64)
            squares = SQUARES[fitted] = vectors.T @ vectors
        own = fitted.arrays["items"][items].astype(np.float64)
        extra = self.alpha * amounts
        penalty = self._l2 * max(int(np.count_nonzero(amounts)), 1) ** self.l2_power
        matrix = squares + (own.T * extra) @ own + penalty * np.eye(len(squares))
        # The trace over the penalty is a bound that is seldom so large.
        is_large = MOST_CONDITION * penalty < np.trace(matrix) < np.inf
        if is_large and np.linalg.cond(matrix) > MOST_CONDITION:
            raise FloatingPointError(f"{NO_SOLUTION} in double precision")
        return matrix, np.where(amounts > 0, 1 + extra, 0.0)[:, None] * own

    def _reasons(self, user: int | NewUser, item: int) -> Reasons:
        """The parts of the exact solution of a user's vector (Hu et al., section 5).

        They add up to the score that it has. That of :meth:`recommend` is by the vector that was
        solved for before the items last were, and differs as the last epoch has moved them, and by
        what conjugate gradients leave.
        """
        had = self._had(user)
        amounts = np.ones(len(had))
        values = self.fitted.arrays.get("values")
        if isinstance(user, NewUser):
            amounts = amounts if user.values is None else user.values.astype(np.float64)
        elif values is not None:
            begin = int(self.seen.indptr[user])
            amounts = values[begin : begin + len(had)].astype(np.float64)
        matrix, sides = self._system(had, amounts)
        target = self.fitted.arrays["items"][item].astype(np.float64)
        return Reasons(had, sides @ _solution(matrix, target))


def _solution(matrix: Float64Array, side: Float64Array) -> Float64Array:
    """The solution of a linear system; raises FloatingPointError where none is finite."""
    try:
        found: Any = np.linalg.solve(matrix, side)
    except np.linalg.LinAlgError:
        raise FloatingPointError(NO_SOLUTION) from None
    if not np.isfinite(found).all():
        raise FloatingPointError(NO_SOLUTION)
    return found  # type: ignore[no-any-return]


def _counts(matrix: _core.CsrMatrix) -> npt.NDArray[np.int64]:
    """How many entries each row has."""
    ends = matrix.indptr.astype(np.int64)
    return ends[1:] - ends[:-1]


def _check_amounts(name: str, values: Float32Array) -> None:
    """Raises ValueError for a value below 0 in what has this name."""
    negative = np.flatnonzero(values < 0)
    if len(negative):
        at = negative[0]
        raise ValueError(
            f"{name} has the value {values[at]} at {at}, expected at least 0: it is how much a "
            "user had of an item"
        )


def _amounts(data: Interactions, before: Fitted | None) -> _core.CsrMatrix:
    """How much each user had of each item, with what they had before."""
    return _core.CsrMatrix(*_rows(data, before), data.n_users, data.n_items)


def _rows(data: Interactions, before: Fitted | None) -> tuple[IndexArray, IndexArray, Float32Array]:
    """Users, items and amounts: those of the pairs of an earlier state, then of interactions."""
    amounts = np.ones(len(data), np.float32)
    if data.values is not None:
        _check_amounts("data", data.values)
        amounts *= data.values
    if data.weights is not None:
        with np.errstate(over="ignore"):
            amounts *= data.weights
        if len(wrong := np.flatnonzero(~np.isfinite(amounts))):
            at = wrong[0]
            raise ValueError(
                f"data has the value {1.0 if data.values is None else data.values[at]} and the "
                f"weight {data.weights[at]} at {at}, expected a product within single precision"
            )
    if before is None or before.seen is None:
        return data.users, data.items, amounts
    seen = before.seen
    known = before.arrays.get("values", np.ones(len(seen), np.float32))
    users = np.concatenate([users_of(seen), data.users])
    items = np.concatenate([seen.indices, data.items])
    return users, items, np.concatenate([known, amounts])
