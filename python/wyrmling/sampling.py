"""Samplers, for inputs that ``fit`` draws anew for every sample.

>>> import wyrmling as wy
>>> users = wy.IndexInput([0])
>>> wy.sampling.Uniform(3, positives=([0, 0], [1, 2]), given=users)
<Uniform of 3 items, without a user's positives>
"""

from ._core import WARP, Dynamic, Popularity, Rank, Sampler, ScoredSampler, Uniform

__all__ = ["WARP", "Dynamic", "Popularity", "Rank", "Sampler", "ScoredSampler", "Uniform"]
