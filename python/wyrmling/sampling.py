"""Samplers, for inputs that ``fit`` draws anew for every sample.

``Uniform`` and ``Popularity`` draw from all items, ``InBatch`` from what other samples of the batch
have, ``Custom`` by a function of your own. ``WARP``, ``Dynamic`` and ``Adaptive`` read the model,
and are for losses that are functions.

>>> import wyrmling as wy
>>> users = wy.IndexInput([0])
>>> wy.sampling.Uniform(3, positives=([0, 0], [1, 2]), given=users)
<Uniform of 3 items, without a user's positives>
"""

from ._core import (
    WARP,
    Adaptive,
    Custom,
    Dynamic,
    InBatch,
    Popularity,
    Rank,
    Sampler,
    ScoredSampler,
    Uniform,
)

__all__ = [
    "WARP",
    "Adaptive",
    "Custom",
    "Dynamic",
    "InBatch",
    "Popularity",
    "Rank",
    "Sampler",
    "ScoredSampler",
    "Uniform",
]
