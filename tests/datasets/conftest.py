"""What the tests of downloads share: a publisher, and an environment without proxies and caches."""

from collections.abc import Iterator

import pytest
from publisher import Publisher


@pytest.fixture
def publisher() -> Iterator[Publisher]:
    server = Publisher()
    yield server
    server.close()


@pytest.fixture(autouse=True)
def _environment(monkeypatch: pytest.MonkeyPatch, tmp_path_factory: pytest.TempPathFactory) -> None:
    for name in ("http_proxy", "https_proxy", "all_proxy"):
        monkeypatch.delenv(name, raising=False)
        monkeypatch.delenv(name.upper(), raising=False)
    monkeypatch.delenv("XDG_CACHE_HOME", raising=False)
    monkeypatch.setenv("WYRMLING_DATA", str(tmp_path_factory.mktemp("cache") / "wyrmling"))
