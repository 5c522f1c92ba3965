"""How fast: an epoch of training, recommending, and measuring, beside the other packages.

In each row the sides take turns. One thread is timed by what the processor spent on this process,
which other work on the machine disturbs little; two by the wall's clock, or, with ``--busy``, by
half of what the processor spent.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Any

import numpy as np
from side_by_side.rows import OURS, Row, Run, Target

from . import ours, peers, sbr
from .clock import clock, limited
from .pairs import SIZES, Pairs, generated

FACTORS = (32, 64, 128)
RECOMMENDED = 10


def rows(sizes: Sequence[str], threads: Sequence[int], only: Sequence[str]) -> Iterator[Row]:
    """The rows of some kinds (all if none is named), for some sizes of data."""
    for size in sizes:
        data = generated(*SIZES[size])
        for kind, made in _kinds().items():
            for count in threads if not only or kind in only else ():
                yield from made(data, f"made-up data like MovieLens {size.upper()}", count)


def all_names() -> list[str]:
    """The names of all kinds of rows."""
    return [*_kinds()]


def _kinds() -> dict[str, Callable[[Pairs, str, int], Iterator[Row]]]:
    return {
        "bpr": _bpr,
        "warp": _warp,
        "als": _als,
        "sequences": _sequences,
        "recommend": _recommend,
        "evaluate": _evaluate,
    }


def _named(threads: int) -> str:
    return f"{threads} thread{'' if threads == 1 else 's'}"


def _row(
    title: str, sides: dict[str, Run], targets: Sequence[Target], repeats: int, unit: str = "ms"
) -> Row:
    scale = {"ms": 1e3, "us": 1e6}[unit]
    return Row(title, unit, lambda seconds: f"{seconds * scale:,.2f}", sides, targets, repeats)


def _faster(than: str, times: float) -> Target:
    text = f"at least {times:g} times as fast as {than}" if times != 1 else f"ahead of {than}"
    return Target(text, than, OURS, least=times)


def _bpr(data: Pairs, name: str, threads: int) -> Iterator[Row]:
    """``BPR()`` with its defaults but for the width: rejection and l2 are on, on all sides."""
    for factors in FACTORS:
        sides = {
            OURS: partial(ours.time_epochs, "BPR", data, factors, threads),
            "implicit": partial(peers.time_implicit_bpr, data, factors, threads),
            "Cornac": partial(peers.time_cornac_bpr, data, factors, threads),
        }
        yield _row(
            f"BPR epoch, {name}, {factors} factors, {_named(threads)}",
            sides,
            [_faster("implicit", 2), _faster("Cornac", 2)],
            5,
        )


def _warp(data: Pairs, name: str, threads: int) -> Iterator[Row]:
    """The second and third epoch of WARP, which takes longer the better the model is."""
    for factors in FACTORS:
        sides = {
            OURS: partial(ours.time_epochs, "WARP", data, factors, threads),
            "LightFM": partial(peers.time_lightfm, "warp", data, factors, threads),
        }
        title = f"WARP epoch, {name}, {factors} factors, {_named(threads)}"
        yield _row(title, sides, [_faster("LightFM", 3)], 3)


def _als(data: Pairs, name: str, threads: int) -> Iterator[Row]:
    """An iteration of alternating least squares: users, then items."""
    for solver, conjugate in (("conjugate gradient", True), ("Cholesky", False)):
        for factors in FACTORS:
            sides = {
                OURS: partial(ours.time_als, data, factors, threads, conjugate),
                "implicit": partial(peers.time_implicit_als, data, factors, threads, conjugate),
            }
            title = f"ALS by {solver}, {name}, {factors} factors, {_named(threads)}"
            yield _row(title, sides, [_faster("implicit", 1)], 5)


def _sequences(data: Pairs, name: str, threads: int) -> Iterator[Row]:
    """An epoch over histories of up to 128 items in the order of rows, on one thread.

    Both sides draw one item to compare with each that came, by the hinge; by WARP up to five, until
    one is ranked less than 1 below.
    """
    if threads != 1 or not sbr.built():
        return
    for kind in ("EWMA", "LSTM"):
        for loss, draws in (("hinge", 1), ("warp", 5)):
            settings = {
                "loss": loss,
                "n_negatives": draws,
                "shared_negatives": False,
                "dropout": 0.0,
                "max_length": sbr.AS_IN_ITS_TESTS["length"],
                "optimizer": "adagrad",
            }
            sides = {
                OURS: partial(ours.time_epochs, kind, data, 32, 1, **settings),
                "sbr": partial(sbr.time_epochs, kind.lower(), loss, data, 32),
            }
            title = f"{kind} epoch, {loss}, {name}, 32 factors, {_named(1)}"
            yield _row(title, sides, [_faster("sbr", 2)], 3)


class _Vectors:
    """The same random vectors as a model of each package, and what they were trained on."""

    def __init__(self, data: Pairs, factors: int, threads: int) -> None:
        from implicit.cpu.als import AlternatingLeastSquares
        from lightfm import LightFM

        rng = np.random.default_rng(1)
        self.train, self.test = data.split(0.2, 1)
        users, items = (
            rng.normal(0, 0.1, (count, factors)).astype(np.float32)
            for count in (data.n_users, data.n_items)
        )
        self.ours = ours.model_of(self.train, users, items, threads)
        self.implicit = AlternatingLeastSquares(factors=factors, num_threads=threads)
        self.implicit.user_factors, self.implicit.item_factors = users, items
        self.lightfm = LightFM(no_components=factors, random_state=1)
        self.lightfm.fit_partial(self.train.matrix, epochs=0)
        self.lightfm.user_embeddings, self.lightfm.item_embeddings = users, items


def _timed(threads: int, call: Callable[[], Any]) -> Run:
    """A run of a call, by the clock for so many threads, that keeps BLAS to one."""
    now = clock(threads)

    def run() -> list[float]:
        with limited(1):
            start = now()
            call()
            return [now() - start]

    return run


def _recommend(data: Pairs, name: str, threads: int) -> Iterator[Row]:
    """The first ten items of one user and of all, without those that the user has."""
    vectors = _Vectors(data, 64, threads)
    chosen = np.random.default_rng(2).integers(data.n_users, size=200).tolist()
    matrix = vectors.train.matrix
    histories = {user: matrix[user] for user in chosen}
    everybody = np.arange(data.n_users)

    def one_by_one(recommend: Callable[[int], Any]) -> Run:
        def run() -> list[float]:
            with limited(1):
                recommend(chosen[0])
                # Reading the processor's time takes some microseconds: it is read once for all.
                now = clock(threads)
                start = now()
                for user in chosen:
                    recommend(user)
                return [(now() - start) / len(chosen)]

        return run

    implicit = vectors.implicit
    yield _row(
        f"recommend for one user, {name}, 64 factors, {_named(threads)}",
        {
            OURS: one_by_one(ours.recommend_one(vectors.ours)),
            "implicit": one_by_one(lambda user: implicit.recommend(user, histories[user])),
        },
        [_faster("implicit", 2)],
        9,
        "us",
    )
    yield _row(
        f"recommend for all users, {name}, 64 factors, {_named(threads)}",
        {
            OURS: _timed(threads, lambda: ours.recommend_all(vectors.ours)),
            "implicit": _timed(threads, lambda: implicit.recommend(everybody, matrix)),
        },
        [_faster("implicit", 2)],
        9,
    )


def _evaluate(data: Pairs, name: str, threads: int) -> Iterator[Row]:
    """Four metrics of the first ten, all items ranked."""
    from implicit.evaluation import ranking_metrics_at_k
    from lightfm.evaluation import precision_at_k

    vectors = _Vectors(data, 64, threads)
    train, test = vectors.train.matrix, vectors.test.matrix
    theirs = {"K": RECOMMENDED, "show_progress": False, "num_threads": threads}
    lightfm = {"k": RECOMMENDED, "num_threads": threads, "check_intersections": False}
    yield _row(
        f"evaluate, {name}, 64 factors, {_named(threads)}",
        {
            OURS: _timed(threads, lambda: ours.measure(vectors.ours, vectors.test)),
            "implicit": _timed(
                threads, lambda: ranking_metrics_at_k(vectors.implicit, train, test, **theirs)
            ),
            "LightFM, precision alone": _timed(
                threads, lambda: precision_at_k(vectors.lightfm, test, train, **lightfm)
            ),
        },
        [_faster("implicit", 3), _faster("LightFM, precision alone", 3)],
        5,
    )
