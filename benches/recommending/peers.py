"""The other packages: implicit, LightFM (as ``rectools-lightfm``) and Cornac.

A fit gives dense scores of all users and items, so that one function measures all models; an
epoch is timed by what the package offers for it.
"""

from __future__ import annotations

import importlib
import warnings
from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from .clock import Laps, clock, limited
from .pairs import Pairs

Scores = npt.NDArray[np.float32]
Parameters = Mapping[str, Any]

warnings.filterwarnings("ignore", module="implicit")
warnings.filterwarnings("ignore", module="lightfm")


def versions() -> list[str]:
    """The packages that can be imported, with their versions."""
    found = []
    for package, name in (("implicit", "implicit"), ("lightfm", "LightFM"), ("cornac", "Cornac")):
        try:
            found.append(f"{name} {importlib.import_module(package).__version__}")
        except ImportError:
            print(f"not installed: {name}")
    return found


def implicit_bpr(data: Pairs, parameters: Parameters, seed: int) -> Scores:
    """implicit's BPR, with threads and rejection as it comes."""
    from implicit.cpu.bpr import BayesianPersonalizedRanking

    model = BayesianPersonalizedRanking(**parameters, num_threads=1, random_state=seed)
    with limited(1):
        model.fit(data.matrix, show_progress=False)
    return np.asarray(model.user_factors @ model.item_factors.T, np.float32)


def implicit_als(data: Pairs, parameters: Parameters, seed: int) -> Scores:
    """implicit's alternating least squares."""
    from implicit.cpu.als import AlternatingLeastSquares

    model = AlternatingLeastSquares(**parameters, num_threads=1, random_state=seed)
    with limited(1):
        model.fit(data.matrix, show_progress=False)
    return np.asarray(model.user_factors @ model.item_factors.T, np.float32)


def lightfm(loss: str) -> Any:
    """LightFM with a loss, ``"bpr"`` or ``"warp"``."""

    def fit(data: Pairs, parameters: Parameters, seed: int) -> Scores:
        from lightfm import LightFM

        settings = dict(parameters)
        epochs = settings.pop("epochs", 1)  # as LightFM has it
        model = LightFM(loss=loss, random_state=seed, **settings)
        model.fit(data.matrix, epochs=epochs, num_threads=1)
        scores = model.user_embeddings @ model.item_embeddings.T + model.item_biases
        return np.asarray(scores, np.float32)

    return fit


def cornac_bpr(data: Pairs, parameters: Parameters, seed: int) -> Scores:
    """Cornac's BPR."""
    from cornac.models import BPR

    model = BPR(**parameters, seed=seed)
    model.fit(data.cornac)
    return np.asarray(model.u_factors @ model.i_factors.T + model.i_biases, np.float32)


def time_implicit_bpr(data: Pairs, factors: int, threads: int, epochs: int = 3) -> list[float]:
    """Seconds of epochs of implicit's BPR with its defaults: rejection of known items, l2."""
    from implicit.cpu.bpr import BayesianPersonalizedRanking

    model = BayesianPersonalizedRanking(
        factors=factors, iterations=epochs, num_threads=threads, random_state=1
    )
    laps = Laps(threads)
    model.fit(data.matrix, show_progress=False, callback=laps)
    # The first epoch has the preparations of the fit in it.
    return laps.seconds[1:]


def time_implicit_als(
    data: Pairs, factors: int, threads: int, conjugate: bool, epochs: int = 3
) -> list[float]:
    """Seconds of iterations of implicit's ALS, by conjugate gradients or Cholesky."""
    from implicit.cpu.als import AlternatingLeastSquares

    laps = Laps(threads)
    model = AlternatingLeastSquares(
        factors=factors,
        iterations=epochs,
        use_cg=conjugate,
        num_threads=threads,
        random_state=1,
    )
    with limited(1):  # its own threads call BLAS
        model.fit(data.matrix, show_progress=False, callback=laps)
    return laps.seconds[1:]


def time_lightfm(
    loss: str, data: Pairs, factors: int, threads: int, epochs: int = 2
) -> list[float]:
    """Seconds of epochs of LightFM."""
    from lightfm import LightFM

    model = LightFM(no_components=factors, loss=loss, random_state=1)
    model.fit_partial(data.matrix, epochs=1, num_threads=threads)
    laps = Laps(threads)
    for _ in range(epochs):
        model.fit_partial(data.matrix, epochs=1, num_threads=threads)
        laps()
    return laps.seconds


def time_cornac_bpr(data: Pairs, factors: int, threads: int, epochs: int = 3) -> list[float]:
    """Seconds of an epoch of Cornac's BPR: those of a fit with some less those of one without."""
    from cornac.models import BPR

    now = clock(threads)
    seconds = []
    for count in (0, epochs):
        model = BPR(k=factors, max_iter=count, num_threads=threads)
        start = now()
        model.fit(data.cornac)
        seconds.append(now() - start)
    return [(seconds[1] - seconds[0]) / epochs]
