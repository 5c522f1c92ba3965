"""The web page: its answers, and what a browser shows of them.

The browser is Chromium, as Debian's package ``chromium`` installs it; without one those tests skip.
"""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from html.parser import HTMLParser
from pathlib import Path
from typing import Any
from urllib.parse import urlencode
from wsgiref.simple_server import WSGIRequestHandler, make_server

import numpy as np
import pytest
from test_application import ask

from wyrmling.data import Interactions
from wyrmling.datasets import make_interactions
from wyrmling.recommend import BPR, EASE, ItemKNN, Popularity
from wyrmling.serving import page as page_module
from wyrmling.serving.application import Application
from wyrmling.serving.current_model import CurrentModel
from wyrmling.serving.page import Page, components, item_map

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser")
HOSTILE = '<img src=x onerror="document.title=1">'


@pytest.fixture(scope="module")
def model() -> BPR:
    """A model whose ids are of all kinds; the first genre's first item is called by a tag."""
    data = make_interactions(60, 40, 8, seed=2)
    users = [7 if id == "user-7" else id for id in data.user_ids]
    items = [HOSTILE if id == "jazz-1" else id for id in data.item_ids]
    named = Interactions.from_ids([users[u] for u in data.users], [items[i] for i in data.items])
    return BPR(factors=4, epochs=3, num_threads=1).fit(named, validation=0.2)


@pytest.fixture(scope="module")
def application(tmp_path_factory: pytest.TempPathFactory, model: BPR) -> Application:
    path = tmp_path_factory.mktemp("page") / "model"
    model.save(path)
    return Application(CurrentModel(path), Page())


def test_the_files_allow_no_other_script(application: Application) -> None:
    for path, kind in (
        ("/", "text/html"),
        ("/page.js", "text/javascript"),
        ("/page.css", "text/css"),
    ):
        status, text, headers = ask(application, path)
        assert status == 200
        assert headers["Content-Type"] == f"{kind}; charset=utf-8"
        policy = headers["Content-Security-Policy"]
        assert "default-src 'none'" in policy
        assert "unsafe" not in policy
        assert not re.search(r"https?://(?!www\.w3\.org/2000/svg)", text)
        assert "innerHTML" not in text


def test_without_the_page_there_is_none(application: Application) -> None:
    plain = Application(application.current)
    for path in ("/", "/page.js", "/ui/model"):
        assert ask(plain, path)[0] == 404


def test_ids_are_proposed(application: Application, model: BPR) -> None:
    _, answer, _ = ask(application, "/ui/ids?kind=users&text=user-1")
    assert answer["ids"][0] == next(id for id in map(str, model.user_ids) if "user-1" in id)
    assert all("user-1" in id for id in answer["ids"])
    _, answer, _ = ask(application, "/ui/ids?kind=users&text=R-2")
    assert set(answer["ids"]) == {id for id in map(str, model.user_ids) if "r-2" in id}
    assert "7" in ask(application, "/ui/ids?kind=users&text=7")[1]["ids"]
    assert len(ask(application, "/ui/ids?kind=items&text=")[1]["ids"]) == 20
    assert ask(application, "/ui/ids?kind=items&text=zzz")[1]["ids"] == []
    assert ask(application, "/ui/ids?kind=colours")[0] == 400


def test_ids_of_the_page_are_texts(application: Application, model: BPR) -> None:
    _, answer, _ = ask(application, "/ui/recommend", {"user": "7", "n": 3})
    assert [pair["id"] for pair in answer["items"]] == [str(id) for id, _ in model.recommend(7, 3)]
    assert ask(application, "/ui/recommend", {"user": "nobody"})[0] == 404
    _, answer, _ = ask(application, "/ui/similar", {"item": HOSTILE, "n": 2})
    assert [p["id"] for p in answer["similar"]] == [id for id, _ in model.similar_items(HOSTILE, 2)]
    _, answer, _ = ask(application, "/ui/similar", {"user": "7", "n": 2})
    assert [p["id"] for p in answer["similar"]] == [str(id) for id, _ in model.similar_users(7, 2)]


def test_the_page_asks_about_one_thing(application: Application) -> None:
    item = {"item": HOSTILE}
    nested: list[Any] = []  # as deep as JSON may be
    for _ in range(sys.getrecursionlimit() * 3 // 4):
        nested = [nested]
    for path, question in (
        ("recommend", {"users": ["7"]}),
        ("recommend", {"histories": [[HOSTILE]]}),
        ("recommend", {"user": "\ud800"}),
        ("recommend", {"user": "\ud800", "cold_start": "popular"}),
        ("similar", {"items": [HOSTILE]}),
        ("similar", {"users": ["7"]}),
        ("similar", item | {"n": 0}),
        ("recommend", {"user": "7", "items": nested}),
    ):
        status, answer, _ = ask(application, f"/ui/{path}", question)
        assert (status, set(answer)) == (400, {"error"}), (question, answer)


def test_components_are_those_of_the_singular_values() -> None:
    rng = np.random.default_rng(0)
    for shape in ((30, 6), (4, 20), (7, 2)):
        vectors = rng.normal(size=shape) * np.linspace(5, 1, shape[1])
        left, values, _ = np.linalg.svd(vectors - vectors.mean(axis=0), full_matrices=False)
        expected = left[:, :2] * values[:2]
        found = components(vectors)
        np.testing.assert_allclose(np.abs(found), np.abs(expected), rtol=1e-6, atol=1e-8)
    np.testing.assert_array_equal(components(np.ones((3, 4))), np.zeros((3, 2)))
    np.testing.assert_array_equal(components(np.ones((1, 1))), np.zeros((1, 2)))
    one = components(np.array([[1.0], [3.0]]))
    np.testing.assert_allclose(one, [[-1, 0], [1, 0]])


def test_the_map_is_of_vectors(model: BPR) -> None:
    found = item_map(model)
    assert found["items"] == [str(id) for id in model.item_ids]
    places = np.array([found["x"], found["y"]])
    assert np.abs(places).max() == 1
    popular = Popularity().fit(make_interactions(20, 10, 3))
    assert item_map(popular)["items"] is None


@pytest.mark.parametrize("kind", [ItemKNN, EASE])
def test_similar_items_are_near_each_other_on_the_map(kind: Any) -> None:
    model = kind().fit(make_interactions(400, 160, seed=1))
    found = item_map(model)
    genres = np.array([id.split("-")[0] for id in found["items"]])
    places = np.array([found["x"], found["y"]]).T
    apart = ((places[:, None] - places) ** 2).sum(axis=-1)
    near = np.argsort(apart, axis=1)[:, 1:6]
    # By chance an eighth is of the same genre.
    assert (genres[near] == genres[:, None]).mean() > 0.35


class Quiet(WSGIRequestHandler):
    """Says nothing of requests."""

    def log_message(self, *_: Any) -> None:
        pass


@pytest.fixture
def show(application: Application, tmp_path: Path) -> Iterator[Callable[..., str]]:
    """A browser, which gives the page as it is after all its scripts have run."""
    if CHROMIUM is None:
        pytest.skip("there is no chromium (Debian's package of this name)")
    server = make_server("127.0.0.1", 0, application, handler_class=Quiet)
    threading.Thread(target=server.serve_forever, daemon=True).start()

    def show(*asked: tuple[str, str]) -> str:
        url = f"http://127.0.0.1:{server.server_port}/#{urlencode(asked)}"
        options = ["--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage"]
        options += [f"--user-data-dir={tmp_path}", "--enable-logging=stderr", "--dump-dom"]
        done = subprocess.run(
            [CHROMIUM, *options, "--virtual-time-budget=20000", url],
            capture_output=True,
            encoding="utf-8",
            timeout=120,
            check=True,
        )
        assert "CONSOLE" not in done.stderr, done.stderr
        assert 'data-ready="yes"' in done.stdout
        return done.stdout

    yield show
    server.shutdown()
    server.server_close()


class Texts(HTMLParser):
    """The texts of the buttons in a list of a page."""

    def __init__(self, page: str, name: str) -> None:
        super().__init__()
        self.name, self.within, self.found = name, "", list[str]()
        self.feed(page)

    def handle_starttag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        if tag in ("ol", "ul"):
            self.within = dict(attributes).get("id") or ""
        if tag == "button" and self.within == self.name:
            self.found.append("")

    def handle_endtag(self, tag: str) -> None:
        if tag in ("ol", "ul"):
            self.within = ""

    def handle_data(self, text: str) -> None:
        if self.within == self.name and self.found and not self.found[-1]:
            self.found[-1] = text


# The script with elements that keep what is set, and a server that answers "slow" last.
OVERTAKING = """
const made = () => ({ classList: { add() {}, remove() {} }, append() {}, replaceChildren() {},
  addEventListener() {}, setAttribute() {}, dataset: {} });
const elements = {};
globalThis.document = { getElementById: (id) => (elements[id] ??= made()),
  createElement: made, createElementNS: made, body: made() };
globalThis.fetch = async (path, options) => {
  const item = options && JSON.parse(options.body).item;
  await new Promise((done) => setTimeout(done, item === "slow" ? 100 : 1));
  return { ok: path === "ui/similar", json: async () => ({ similar: [], error: {} }) };
};
(0, eval)(require("fs").readFileSync(process.argv[1], "utf8") + "; globalThis.near = neighbours");
Promise.all([near("slow"), near("quick")]).then(
  () => console.log(elements["near-title"].textContent));
"""


@pytest.mark.skipif(shutil.which("node") is None, reason="there is no node")
def test_the_last_question_counts_whichever_answer_comes_last() -> None:
    script = Path(page_module.__file__).parent / "page" / "page.js"
    command = ["node", "-e", OVERTAKING, str(script)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=True)
    assert done.stdout == "Neighbours of quick\n"


def test_a_browser_shows_a_user(show: Callable[..., str], model: BPR) -> None:
    page = show(("user", "7"), ("near", HOSTILE))
    assert "For 7</h2>" in page
    assert Texts(page, "best").found == [str(id) for id, _ in model.recommend(7)]
    assert Texts(page, "near").found == [str(id) for id, _ in model.similar_items(HOSTILE)]
    assert page.count("<circle") == 40
    best = [circle for circle in re.findall(r"<circle[^>]*>", page) if "best" in circle]
    assert len(best) == len(model.recommend(7))
    assert page.count("<polyline") == 2
    assert "loss: " in page
    assert "ndcg@10: " in page
    # An id is shown as it is, and is never a part of the page.
    assert "<img" not in page
    assert "Neighbours of &lt;img src=x onerror=" in page
    assert "<title>wyrmling</title>" in page


def test_a_browser_shows_somebody_new(show: Callable[..., str], model: BPR) -> None:
    history = [HOSTILE, "folk-2"]
    page = show(*(("item", id) for id in history))
    assert Texts(page, "history").found == [f"{id} \u00d7" for id in history]
    expected = [str(id) for id, _ in model.recommend(model.fold_in(history))]
    assert Texts(page, "best").found == expected


def test_a_browser_shows_what_is_wrong(show: Callable[..., str]) -> None:
    page = show(("user", "<b>nobody</b>"))
    assert "user '&lt;b&gt;nobody&lt;/b&gt;' is not among the 60 users" in page
    assert Texts(page, "best").found == []
