"""Matrix factorisation of ratings.

Koren, Bell and Volinsky, "Matrix Factorization Techniques for Recommender Systems", IEEE Computer
2009: the squared error of ratings by vectors and biases.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar

import numpy as np

from ..array_types import Float32Array, IndexArray
from ..data import Id
from .arguments import valued
from .factors import FactorModel, Loss
from .files import check_finite
from .fitted import Arrays, ArrayType, NewUser
from .hyperparameters import Bounds, Count
from .training import Task
from .units import deviation

__all__ = ["ExplicitMF"]


def loss(
    users: Any,
    items: Any,
    user_bias: Any,
    item_bias: Any,
    bias: Any,
    user: int,
    item: int,
    value: float,
    weight: float = 1.0,
) -> Any:
    """Half the squared error of a rating."""
    predicted = users[user] @ items[item] + user_bias[user] + item_bias[item] + bias[0]
    return 0.5 * weight * (predicted - value) ** 2


@dataclass(kw_only=True, eq=False, repr=False)
class ExplicitMF(FactorModel):
    """Matrix factorisation of ratings: ``predict`` gives ratings.

    It learns from the values of interactions, which need not be ratings: any finite numbers, which
    are measured in units of their standard deviation, as is the loss of its learning curve. It
    ranks what users would rate highest, which is not what they would choose: for ranking the
    models of implicit feedback are better.
    """

    lr: Annotated[float, Bounds(above=0)] = 0.02
    l2: Annotated[float, Bounds(least=0)] = 0.05
    batch_size: Count = 8

    _unused: ClassVar[tuple[str, ...]] = ("n_negatives",)

    def _loss(self) -> Loss:
        return loss

    def _scores_values(self) -> bool:
        return True

    def _unit(self, task: Task) -> float:
        return deviation(task.data) if task.start is None else _unit_of(task.start)

    def _array_types(self) -> Mapping[str, ArrayType]:
        return {**super()._array_types(), "unit": ArrayType((1,), optional=True)}

    def fold_in(self, history: Iterable[Id], *, values: Iterable[float] | None = None) -> NewUser:
        """A user that the model was not trained on, by the items that they had and their ratings.

        The user's vector and bias are those that make the loss least, while all else stays as it
        is: the solution of a ridge regression, in one step. The penalty of the vector is that of
        training, in units of the values' deviation.

        Args:
            history: ids of items. One that occurs more than once counts with each of its ratings.
            values: a finite number for each, such as the model was trained on.

        Raises:
            KeyError: an item that the model does not know.
            TypeError: one id alone, or what is no id, or no number.
            ValueError: no values, or not one for each item.
            FloatingPointError: values so large that single precision does not hold the solution,
                or vectors and biases, of a mapped file, that are not finite.

        >>> from wyrmling.data import Interactions
        >>> data = Interactions.from_ids([1, 1, 2, 2], list("abbc"), values=[5, 1, 2, 4])
        >>> model = ExplicitMF(factors=2, num_threads=1).fit(data)
        >>> [item for item, _ in model.recommend(model.fold_in(["b"], values=[5]))]
        ['a', 'c']
        """
        model = self._as_fitted()
        steps, numbers = valued(model.item_ids, history, values)
        return model._new_user(np.unique(steps), model._learnt(steps, numbers))

    def _learnt(self, items: IndexArray, values: Float32Array | None) -> Float32Array:
        assert values is not None
        arrays = self.fitted.arrays
        # In the unit of training, as the penalties are.
        unit = _unit_of(arrays)
        vectors = arrays["items"][items].astype(np.float64) / unit**0.5
        count, width = vectors.shape
        scales = np.append(np.full(width, unit**0.5), unit)
        rest = values - arrays["item_bias"][items].astype(np.float64) - arrays["bias"][0]
        # How often the penalty counts in an epoch.
        often = count if self.l2_per == "sample" else -(-count // self.batch_size)
        l2 = np.full(width + 1, self.l2 if self.l2_users is None else self.l2_users)
        l2[-1] = self.l2_bias
        # Without a penalty the solution is not unique: this gives the shortest.
        rows = np.concatenate([vectors, np.ones((count, 1))], axis=1)
        system = np.concatenate([rows, np.diag(np.sqrt(often * l2))])
        right = np.concatenate([rest / unit, np.zeros(width + 1)])
        # With an infinite number LAPACK does not end.
        check_finite("items", vectors)
        check_finite("item_bias with bias", rest)
        with np.errstate(over="ignore"):
            solution = np.linalg.lstsq(system, right, None)[0] * scales
            found: Float32Array = solution.astype(np.float32)
        check_finite("the solution of values, in single precision,", found)
        return found


def _unit_of(arrays: Arrays) -> float:
    """The unit that values were measured in when this was learnt."""
    return float(arrays["unit"][0]) if "unit" in arrays else 1.0
