"""A model whose loss its user writes, or whose vectors were trained elsewhere."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Self

import numpy as np
import numpy.typing as npt

from .. import _core
from ..array_types import Float32Array
from ..data import Id, Interactions
from ..data.interactions import check_interactions
from .arguments import valued
from .factors import COLUMNS, DRAWN, PARAMETERS, TYPES, Loss, columns_of
from .files import UnloadedFunction, check_arrays
from .fitted import ArrayType, Fitted, NewUser
from .negatives import NegativeSampling
from .rehearsal import REHEARSED, kept_columns

__all__ = ["Custom"]


@dataclass(kw_only=True, eq=False, repr=False)
class Custom(NegativeSampling):
    """A factor model trained by a loss of your own, a plain Python function of one sample.

    >>> def hinge(users, items, item_bias, user, item, negative):
    ...     score = users[user] @ items[item] + item_bias[item]
    ...     other = users[user] @ items[negative] + item_bias[negative]
    ...     return max(0.0, 1.0 - score + other)
    >>> from wyrmling.datasets import make_interactions
    >>> model = Custom(hinge, epochs=5).fit(make_interactions(100, 40))
    >>> len(model.recommend("user-1", 3))
    3

    The arguments are found by their names, which :mod:`wyrmling.recommend.factors` lists. The loss
    has to name ``users`` and ``items``, for scores are products of these. What a function may do
    says ``docs/source.md``.

    A file has the name of the loss, not the loss. A model from a file recommends at once; to learn
    and to know new users it is given the loss: ``Custom.load(path, loss=hinge)``.

    Args:
        loss: the function; None for a model that is not to learn (:meth:`from_factors`).
    """

    loss: Callable[..., Any] | None = field(default=None, kw_only=False)

    @classmethod
    def from_factors(
        cls,
        users: npt.ArrayLike,
        items: npt.ArrayLike,
        data: Interactions,
        *,
        item_bias: npt.ArrayLike | None = None,
        user_bias: npt.ArrayLike | None = None,
        bias: npt.ArrayLike | None = None,
        loss: Callable[..., Any] | None = None,
    ) -> Self:
        """A fitted model of vectors that were trained elsewhere, copied as float32.

        Args:
            users: vectors of users, shape (data.n_users, d); of a Parameter, its ``value``.
            items: vectors of items, shape (data.n_items, d).
            data: what they were trained on. Names users and items, and says what
                :meth:`recommend` leaves out.
            item_bias: shape (data.n_items,); None for none.
            user_bias: shape (data.n_users,); None for none.
            bias: one number; None for none.
            loss: what :meth:`fold_in` and :meth:`partial_fit` go on with; None for a model that
                needs neither.

        Raises:
            TypeError: something else than Interactions, or than numbers.
            ValueError: shapes that do not fit together, or that the loss has not; no users or no
                items; a number that is not finite in single precision.

        >>> data = Interactions.from_ids(["ann", "ann", "bob"], ["tea", "rye", "rye"])
        >>> model = Custom.from_factors(np.eye(2), [[0.5, 2.0], [1.0, 0.0]], data)
        >>> model.recommend("bob")
        [('tea', 2.0)]
        """
        check_interactions("data", data)
        if not data.n_users or not data.n_items:
            raise ValueError(
                f"data has {data.n_users} users and {data.n_items} items, expected some of each"
            )
        if loss is not None:
            _signature(loss)
        given: dict[str, Any] = {
            "users": users,
            "items": items,
            "user_bias": user_bias,
            "item_bias": item_bias,
        }
        if bias is not None:
            given["bias"] = np.reshape(np.asarray(bias), -1)
        arrays = {
            name: _copied(name, array)
            for name, array in given.items()
            if array is not None or name in ("users", "items")
        }
        seen = _core.Csr(data.users, data.items, data.n_users, data.n_items)
        if loss is not None:
            arrays |= kept_columns(data, seen, columns_of(loss))
        fitted = Fitted(data.user_ids, data.item_ids, seen, arrays)
        # Vectors may have lengths that training has not.
        width = arrays["users"].shape[-1] if arrays["users"].ndim else 0
        model = cls(loss=loss, factors=min(max(width, 1), 2**16))
        check_arrays(model, fitted)
        model._set_fitted(fitted)
        return model

    def fold_in(self, history: Iterable[Id], *, values: Iterable[float] | None = None) -> NewUser:
        """A user that the model was not trained on, as :meth:`.Recommender.fold_in`.

        Numbers and arrays that the loss finds outside of itself count as they were for the first
        new user since the model was fitted or loaded.

        Args:
            history: ids of items.
            values: a finite number for each, if the loss asks for a value: an item that occurs more
                than once counts with each. None takes the loss's default, once for an item.

        Raises:
            KeyError: an item that the model does not know.
            TypeError: one id alone, or what is no id, or no number; no loss.
            ValueError: values that the loss does not ask for, or not one for each item.
        """
        value = _signature(self._loss()).get("value")
        if value and (values is not None or value.default is inspect.Parameter.empty):
            model = self._as_fitted()
            steps, numbers = valued(model.item_ids, history, values)
            return model._new_user(np.unique(steps), model._learnt(steps, numbers))
        if values is not None:
            raise ValueError("values: the loss asks for no value, expected None")
        return super().fold_in(history)

    def _loss(self) -> Loss:
        if self.loss is None:
            raise TypeError("loss is None, expected a function, which new users are learnt by too")
        known = PARAMETERS + COLUMNS + DRAWN
        asked = _signature(self.loss)
        for name, parameter in asked.items():
            if parameter.kind is parameter.POSITIONAL_ONLY:
                raise ValueError(
                    f"loss: argument {name!r} comes before a '/', expected one given by name"
                )
            if name not in known and parameter.default is inspect.Parameter.empty:
                raise ValueError(
                    f"loss: argument {name!r} is not known, expected one of {', '.join(known)}, or "
                    "a default"
                )
        for name in ("users", "items"):
            if name not in asked:
                raise ValueError(f"loss: expected an argument {name!r}, the vectors of {name}")
        if not asked.keys() & set(COLUMNS):
            raise ValueError(f"loss: expected an argument of a sample: {', '.join(COLUMNS)}")
        return self.loss

    def _scores_values(self) -> bool:
        # Without the loss, which files do not hold, a model may be of ratings: it counts as such.
        return not callable(self.loss) or "value" in _signature(self.loss)

    def _array_types(self) -> Mapping[str, ArrayType]:
        if callable(self.loss):
            return super()._array_types()
        # Without the loss it is not known which biases the model has: any may be there.
        types = {
            name: replace(kind, optional=name.endswith("bias")) for name, kind in TYPES.items()
        }
        return types | REHEARSED


def _signature(loss: object) -> Mapping[str, inspect.Parameter]:
    """The arguments of a loss by name; raises TypeError for what is no function of Python."""
    expected = f"loss is {loss!r}, expected a function"
    if isinstance(loss, UnloadedFunction):
        raise TypeError(f"{expected}: Custom.load(path, loss=...) takes it, for a file has no code")
    if not callable(loss):
        raise TypeError(expected)
    try:
        return inspect.signature(loss).parameters
    except ValueError:  # as of int, which says nothing of its arguments
        raise TypeError(f"{expected} that is written in Python") from None


def _copied(name: str, given: Any) -> Float32Array:
    """An argument of this name as float32, compared with what a model can have."""
    array = np.asarray(given)
    if array.dtype.kind not in "iufb":
        raise TypeError(f"{name}: expected numbers, got {array.dtype} such as {given!r:.60}")
    with np.errstate(over="ignore"):
        numbers = array.astype(np.float32)
    # Of others' arrays, such as PyTorch's, NumPy would ask for a type that it knows.
    if isinstance(given, np.ma.MaskedArray) and given.mask.any():
        place = ", ".join(map(str, np.argwhere(given.mask)[0]))
        raise ValueError(f"{name}[{place}] is masked, expected a number")
    wrong = np.argwhere(~np.isfinite(numbers))
    if len(wrong):
        at = tuple(wrong[0].tolist())
        place = ", ".join(map(str, at))
        raise ValueError(
            f"{name}[{place}] is {array[at]}, expected a number that is finite in single precision"
        )
    return numbers
