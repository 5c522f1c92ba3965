"""Helpers that several tests share."""

import gc
from collections.abc import Callable, Sequence

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import settings
from publisher import Publisher

# A loaded machine is no failure.
settings.register_profile("wyrmling", deadline=None)
settings.load_profile("wyrmling")

Array = npt.NDArray[np.floating]


def pytest_collection_finish():
    """What pytest holds of some 30,000 tests is not looked at again by each collection of garbage,
    which would take a tenth of a second, and tests of memory ask for many.
    """
    gc.collect()
    gc.freeze()


def numeric_gradient(
    f: Callable[..., Array], args: Sequence[Array], wrt: int, step: float = 1e-6
) -> Array:
    """The gradient of ``f(*args).sum()`` for one argument, by central differences in float64."""
    args = [np.array(a, np.float64) for a in args]
    gradient = np.zeros_like(args[wrt])
    for at in np.ndindex(args[wrt].shape):
        ends = []
        for sign in (1, -1):
            moved = [a.copy() for a in args]
            moved[wrt][at] += sign * step
            ends.append(np.sum(f(*moved), dtype=np.float64))
        gradient[at] = (ends[0] - ends[1]) / (2 * step)
    return gradient


@pytest.fixture
def rng() -> np.random.Generator:
    return np.random.default_rng(7)


def refuses(error, match, call):
    """All of them are caught by ``except Exception``."""
    assert issubclass(error, Exception)
    with pytest.raises(error, match=match):
        call()


@pytest.fixture
def publisher():
    """A server that publishes datasets, for tests of downloads."""
    server = Publisher()
    yield server
    server.close()


@pytest.fixture(autouse=True)
def _without_proxies_and_caches(request, monkeypatch):
    """The environment of tests of downloads."""
    if request.path.parent.name != "datasets":
        return
    for name in ("http_proxy", "https_proxy", "all_proxy"):
        monkeypatch.delenv(name, raising=False)
        monkeypatch.delenv(name.upper(), raising=False)
    monkeypatch.delenv("XDG_CACHE_HOME", raising=False)
    cache = request.getfixturevalue("tmp_path_factory").mktemp("cache")
    monkeypatch.setenv("WYRMLING_DATA", str(cache / "wyrmling"))
