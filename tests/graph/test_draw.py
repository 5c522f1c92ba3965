"""Drawings of graphs: every node and edge is there once, legible, and nothing of a name escapes."""

import html
import itertools
import math
import re
import threading
import time
import xml.etree.ElementTree as ET

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import wyrmling as wy
from wyrmling.drawing.graph import number, read, shown, shown_attributes
from wyrmling.drawing.layout import arrange
from wyrmling.drawing.svg import columns

SVG = "{http://www.w3.org/2000/svg}"
HOSTILE = [
    'a "quoted" name',
    "<script>alert(1)</script>",
    "two\nlines\r\t\0",
    "back\\slash \\N \\n",
    "&lt; &amp; #35; %%{init}%% ` end",
    "]]> --> |x| ]; } subgraph",
    "naïve 日本語 \U0001f40d",
    "\u202eright to left\u202c\ufffe",
    "x" * 500,
    "",
]


def regression():
    slope, intercept = wy.Parameter(1.0, name="slope"), wy.Parameter(0.0, name="intercept")
    x, y = wy.Input(3.0, name="x"), wy.Input(7.0)
    loss = (y - (slope * x + intercept)).square()
    loss.backward()
    return loss


def ranking():
    users = wy.Parameter(np.ones((30, 4), np.float32), name="users")
    items = wy.Parameter(np.ones((20, 4), np.float32), name="items")
    user, item, other = (wy.IndexInput([1, 2, 3], name=n) for n in ("user", "item", "other"))
    score = [wy.vecdot(users[user], items[rows]) for rows in (item, other)]
    loss = -(score[0] - score[1]).logsigmoid().sum()
    loss.backward()
    return loss


def diamond():
    b = wy.Variable([0.5, 2.0]).exp()
    return (b.sin() * b.cos() + b * b).sum()


def recurrent(steps=30):
    w, b = wy.Parameter(np.eye(3), name="w"), wy.Parameter(np.zeros(3), name="b")
    h, x = wy.Input(np.ones((1, 3))), wy.Input(np.ones((steps, 3)))
    for step in range(steps):
        h = wy.tanh(h @ w + x[step] + b)
    return h.sum()


GRAPHS = {"regression": regression, "ranking": ranking, "diamond": diamond, "recurrent": recurrent}


@pytest.fixture(params=GRAPHS)
def loss(request):
    return GRAPHS[request.param]()


def boxes_of(svg):
    """Of each node in an SVG its rectangle and the lines in it."""
    found = []
    for group in svg.iter(f"{SVG}g"):
        if group.get("class") == "node":
            rect = group.find(f"{SVG}rect")
            box = tuple(float(rect.get(k)) for k in ("x", "y", "width", "height"))
            found.append((box, group.findall(f"{SVG}text")))
    return found


def test_svg_has_every_node_and_edge_once(loss):
    graph = read(loss, 10_000)
    svg = ET.fromstring(wy.draw(loss, limit=10_000).svg())
    boxes = boxes_of(svg)
    assert [texts[0].text for _, texts in boxes] == [node.title for node in graph.nodes]
    for (_, texts), node in zip(boxes, graph.nodes, strict=True):
        assert [text.text for text in texts[1:]] == node.details
    assert len([p for p in svg.iter(f"{SVG}path") if p.get("class") == "edge"]) == len(graph.edges)
    heads = [p.get("d") for p in svg.iter(f"{SVG}path") if p.get("class") is None]
    ends = []
    for head in heads:
        x, y = map(float, re.search(r"L(\S+) (\S+)Z$", head).groups())
        inside = [k for k, ((bx, by, w, _), _) in enumerate(boxes) if y == by and bx < x < bx + w]
        ends += inside
    assert ends == [end for _, end, _ in graph.edges]


def test_text_fits_its_box_and_boxes_the_picture(loss):
    svg = ET.fromstring(wy.draw(loss).svg())
    width, height = float(svg.get("width")), float(svg.get("height"))
    for (x, y, w, h), texts in boxes_of(svg):
        assert 0 <= x <= x + w <= width
        assert 0 <= y <= y + h <= height
        for text in texts:
            # Courier, the widest of the usual fonts, takes 0.6 of the size for a character.
            assert columns(text.text) * float(text.get("font-size")) * 0.602 < w
            assert y < float(text.get("y")) < y + h
            assert float(text.get("x")) == pytest.approx(x + w / 2, abs=0.2)


def test_no_page_is_touched_and_nothing_is_loaded(loss):
    svg = wy.draw(loss).svg()
    root = ET.fromstring(svg)
    assert {e.tag.removeprefix(SVG) for e in root.iter()} <= {
        "svg", "g", "rect", "path", "text", "title"
    }  # fmt: skip
    assert not any(e.get("id") or e.get("href") or e.get("style") for e in root.iter())
    assert root.find(f"{SVG}rect").get("fill") == "#fbfcfd", "a ground of its own"


def overlap(a, b):
    return a.x < b.x + b.width and b.x < a.x + a.width and (
        a.y < b.y + b.height and b.y < a.y + a.height
    )  # fmt: skip


def along(path):
    """Points on an edge: straight down, then a cubic with upright ends, by turns."""
    for k, ((x0, y0), (x1, y1)) in enumerate(itertools.pairwise(path)):
        for t in np.linspace(0.01, 0.99, 25):
            s = 1 - t
            if k % 2 == 0:
                yield x0, s * y0 + t * y1
            else:
                middle = (y0 + y1) / 2
                yield (
                    (s**3 + 3 * s**2 * t) * x0 + (3 * s * t**2 + t**3) * x1,
                    s**3 * y0 + 3 * s * t * middle + t**3 * y1,
                )


def check_layout(sizes, edges):
    layout = arrange(sizes, edges)
    assert [(box.width, box.height) for box in layout.boxes] == list(sizes)
    for a, b in itertools.combinations(layout.boxes, 2):
        assert not overlap(a, b)
    assert len(layout.paths) == len(edges)
    for (start, end), path in zip(edges, layout.paths, strict=True):
        above, below = layout.boxes[start], layout.boxes[end]
        assert path[0] == pytest.approx((above.x + above.width / 2, above.y + above.height))
        assert path[-1][1] == pytest.approx(below.y)
        assert below.x < path[-1][0] < below.x + below.width
        assert all(a[1] <= b[1] + 1e-9 for a, b in itertools.pairwise(path)), "edges go down"
        others = [box for k, box in enumerate(layout.boxes) if k not in (start, end)]
        for x, y in along(path):
            assert 0 < x < layout.width
            for box in others:
                inside = box.x < x < box.x + box.width and box.y < y < box.y + box.height
                assert not inside, "an edge runs through a box"
    return layout


@given(st.data())
def test_boxes_and_edges_keep_apart(data):
    count = data.draw(st.integers(1, 14))
    size = st.tuples(st.floats(30, 300), st.floats(20, 90))
    sizes = data.draw(st.lists(size, min_size=count, max_size=count))
    pairs = [(a, b) for b in range(count) for a in range(b)]
    edges = data.draw(st.lists(st.sampled_from(pairs), max_size=24)) if pairs else []
    check_layout(sizes, edges)


def test_a_chain_is_straight_and_a_tree_has_no_crossing():
    layout = check_layout([(50.0, 30.0)] * 6, [(k, k + 1) for k in range(5)])
    assert len({round(box.x, 6) for box in layout.boxes}) == 1
    # 0 and 1 feed 4, 2 and 3 feed 5, listed so that the order given would cross.
    layout = check_layout([(50.0, 30.0)] * 7, [(0, 4), (2, 4), (1, 5), (3, 5), (4, 6), (5, 6)])
    x = [box.x for box in layout.boxes]
    assert (max(x[0], x[2]) < min(x[1], x[3])) == (x[4] < x[5])
    assert max(x[0], x[2]) < min(x[1], x[3]) or min(x[0], x[2]) > max(x[1], x[3])


def test_what_a_loop_adds_up_stands_beside_its_steps():
    """No edge passes many layers, and leaves stay above the first box that uses them."""
    edges, state, total = [], 0, 0
    # Each turn has four boxes: a weight, a product, the new state, and the sum of all states.
    for weight in range(1, 81, 4):
        edges += [(state, weight + 1), (weight, weight + 1), (weight + 1, weight + 2)]
        edges += [(weight + 2, weight + 3), *([(total, weight + 3)] if total else [])]
        state, total = weight + 2, weight + 3
    layout = check_layout([(50.0, 30.0)] * (total + 1), edges)
    assert max(map(len, layout.paths)) <= 10
    for weight, new in zip(layout.boxes[1::4], layout.boxes[2::4], strict=False):
        assert new.y - weight.y == pytest.approx(76.0)


def parse_dot(text):
    """The nodes with their labels, and the edges, of DOT as Graphviz's grammar has it."""
    lines = text.splitlines()
    assert (lines[0], lines[-1]) == ("digraph {", "}")
    string = r'"((?:[^"\\]|\\.)*)"'
    attribute = rf"\w+=(?:{string}|\w+)"
    nodes, edges = {}, []
    for line in lines[1:-1]:
        statement = re.fullmatch(
            rf"  (\w+)(?: -> (\w+))?( \[{attribute}(?:, {attribute})*\])?;", line
        )
        assert statement, line
        start, end = statement[1], statement[2]
        if end:
            edges.append((int(start[1:]), int(end[1:])))
        elif start not in ("node", "edge"):
            label = re.search(rf"label={string}", line)[1]
            parts = re.findall(r"\\.|[^\\]", label)
            meaning = {r"\n": "\n", r"\"": '"', r"\\": "\\"}
            nodes[int(start[1:])] = html.unescape(
                "".join(meaning[p] if p[0] == "\\" else p for p in parts)
            )
    return nodes, edges


def parse_mermaid(text):
    """As ``parse_dot``, of the part of Mermaid's flowcharts that needs no knowledge of labels."""
    lines = text.splitlines()
    assert lines[0] == "flowchart TD"
    nodes, edges, classes, styled = {}, [], set(), set()
    for line in lines[1:]:
        if node := re.fullmatch(
            r'  n(\d+)\["([^"<>`{}|%\\\[\]]*(?:<br/>[^"<>`{}|%\\\[\]]*)*)"\]:::(\w+)', line
        ):
            decoded = re.sub(r"#(\d+);", lambda m: chr(int(m[1])), node[2].replace("<br/>", "\n"))
            nodes[int(node[1])] = decoded
            classes.add(node[3])
        elif edge := re.fullmatch(r"  n(\d+) -->(?:\|\d\|)? n(\d+)", line):
            edges.append((int(edge[1]), int(edge[2])))
        else:
            colour = "#[0-9a-f]{6}"
            style = re.fullmatch(
                rf"  classDef (\w+) fill:{colour},stroke:{colour},color:{colour}", line
            )
            assert style, line
            styled.add(style[1])
    assert classes == styled
    return nodes, edges


def words(graph):
    return {k: "\n".join([n.title, *n.details]) for k, n in enumerate(graph.nodes)}


def test_dot_and_mermaid_have_every_node_and_edge_once(loss):
    graph = read(loss, 200)
    expected = words(graph), [(start, end) for start, end, _ in graph.edges]
    assert parse_dot(wy.draw(loss).dot()) == expected
    assert parse_mermaid(wy.draw(loss).mermaid()) == expected


@pytest.mark.parametrize("name", HOSTILE)
def test_names_mean_nothing(name):
    loss = wy.Parameter(1.0, name=name) * wy.Input([1.0, 2.0], name=name)
    drawing, graph = wy.draw(loss), read(loss, 200)
    for node in graph.nodes[:2]:
        assert len(node.title) < 200
        assert node.title.isprintable()
        assert node.title.startswith(("Parameter ", "Input "))
    assert [texts[0].text for _, texts in boxes_of(ET.fromstring(drawing.svg()))] == [
        node.title for node in graph.nodes
    ]
    assert "<script" not in drawing.svg()
    assert parse_dot(drawing.dot()) == (words(graph), [(0, 2), (1, 2)])
    assert parse_mermaid(drawing.mermaid()) == (words(graph), [(0, 2), (1, 2)])
    assert str(drawing).count("\n") == 2


def test_what_nodes_say():
    w = wy.Parameter(np.array([[1.0, 2.0], [3.0, 4.5]]), name="w")
    rows = wy.IndexInput([1, 1])
    big = wy.Input(np.linspace(-1.0, 2.0, 1000).astype(np.float32))
    loss = (w[rows].sum(axis=0) * 2.0).sum() + big.max()
    unused = wy.Variable([1.0])
    loss.backward()
    assert str(wy.draw(unused)) == "%0  Variable  float64 (1,)  [1]"
    lines = str(wy.draw(loss)).splitlines()
    assert re.split("  +", lines[0])[1:4] == ["Parameter w", "float64 (2, 2)", "[[1, 2], [3, 4.5]]"]
    assert lines[0].endswith("  gradient [[4, 4]] in 1 row")
    text = "\n".join(re.sub(" +", " ", line) for line in lines)
    assert "IndexInput uint32 (2,) [1, 1]" in text
    assert "sum[axes [0]](%2) float64 (2,) [6, 9]" in text
    assert "Input float32 (1000,) -1 to 2" in text
    assert lines[-1].split()[1].startswith("add(")
    assert lines[-1].split()[-1] == "32"


def test_values_are_those_of_now():
    loss = regression()
    x = wy.Input(1.0)
    y = loss * x
    before = wy.draw(y)
    x.value = 2.0
    assert str(wy.draw(y)).splitlines()[-1].endswith("32")
    assert str(before).splitlines()[-1].endswith("16"), "a drawing is of when it was made"


@pytest.mark.parametrize(
    ("shape", "elements", "expected"),
    [
        ((), [0.1234567], "0.12346"),
        ((3,), [1.0, 2.5, -3.0], "[1, 2.5, -3]"),
        ((2, 2), [1.0, 2.0, 3.0, 4.0], "[[1, 2], [3, 4]]"),
        ((0, 3), [], "empty"),
        ((2,), [math.nan, math.inf], "[nan, inf]"),
        ((7,), [2.0] * 7, "all 2"),
        ((7,), [math.nan] * 7, "all NaN"),
        ((8,), [math.nan, -1.0, 5.5] + [0.0] * 5, "-1 to 5.5, 1 NaN"),
        ((7,), [-math.inf, math.inf] + [0.0] * 5, "-inf to inf"),
        ((6,), [0.111111, 0.222222, 0.333333, 0.444444, 0.555555, 0.666666], "0.11111 to 0.66667"),
    ],
)
def test_values_in_short(shape, elements, expected):
    x = wy.Input(np.array(elements).reshape(shape))
    assert read(x, 1).nodes[0].value == expected


@given(st.floats(-1e308, 1e308) | st.sampled_from([math.nan, math.inf, -math.inf]))
def test_numbers_in_short(x):
    text = number(x)
    assert len(text) <= 12
    assert float(text) == pytest.approx(x, rel=1e-4, nan_ok=True)


def test_attributes_in_short():
    x = wy.Variable(np.ones((2, 3, 4)))
    for result, expected in [
        (x.sum(axis=1), "axes [1]"),
        (x.sum(axis=1, keepdims=True), "axes [1], keepdims"),
        (x[0, :, 1:3], "items [0, :, 1:3]"),
        (x[:, None, ::2], "items [:, None, ::2]"),
        (x.reshape(6, -1), "shape [6, -1]"),
        (x.exp(), ""),
    ]:
        assert read(result, 1).nodes[-1].attributes == expected
    assert shown_attributes("2.0") == "2.0"
    assert shown([3], ([1.0, 2.0, 3.0], 1.0, 3.0, 0)) == "[1, 2, 3]"


@pytest.fixture(scope="module")
def long_chain():
    y = wy.Variable(0.5)
    for _ in range(200_000):
        y = y + 0.0
    return y


@pytest.mark.parametrize("limit", [1, 2, 7, 200])
def test_a_long_chain_is_cut(long_chain, limit):
    drawing = wy.draw(long_chain, limit=limit)
    svg = drawing.svg()
    boxes = boxes_of(ET.fromstring(svg))
    assert len(boxes) == limit + 1
    left_out = f"{400_001 - limit:,} more nodes"
    assert boxes[0][1][1].text == left_out
    assert boxes[-1][1][0].text == "add"
    assert str(drawing).splitlines()[0] == f"... {left_out}"
    assert len(parse_dot(drawing.dot())[0]) == len(parse_mermaid(drawing.mermaid())[0]) == limit + 1
    assert len(svg) < 2000 * (limit + 1)


def test_what_is_near_is_shown():
    """The nodes left out are the farthest, whichever branch they are in."""
    a, b = wy.Variable(1.0), wy.Variable(2.0)
    x, y = a, b
    for _ in range(50):
        x, y = x.sin(), y.cos()
    titles = [node.title for node in read(x * y, 21).nodes]
    assert titles.count("sin") == titles.count("cos") == 10
    assert titles[0] == "..."
    whole = read(x * y, 103)
    assert len(whole.nodes) == 103
    assert whole.nodes[0].kind == "Variable"
    assert read(x * y, 102).nodes[0].type == "1 more node"


def test_a_wide_graph_is_drawn():
    x = wy.stack([wy.Input(float(k)) * 2.0 for k in range(60)])
    svg = ET.fromstring(wy.draw(x.sum(), limit=1000).svg())
    titles = [texts[0].text for _, texts in boxes_of(svg)]
    assert titles.count("mul") == titles.count("Input") == titles.count("constant") == 60
    assert titles[-2:] == ["concatenate", "sum"]


def test_the_same_graph_gives_the_same_picture():
    for make in GRAPHS.values():
        a, b = wy.draw(make()), wy.draw(make())
        assert a.svg() == b.svg()
        assert (a.dot(), a.mermaid(), str(a)) == (b.dot(), b.mermaid(), str(b))


def test_it_shows_itself(loss):
    drawing = wy.draw(loss)
    assert drawing._repr_svg_() == drawing.svg()
    assert repr(drawing) == str(drawing)
    assert len(str(drawing).splitlines()) == len(read(loss, 200).nodes)


def test_save(tmp_path):
    drawing = wy.draw(wy.Parameter(1.0, name="日本"))
    for suffix, write in ((".svg", drawing.svg), (".dot", drawing.dot), (".MMD", drawing.mermaid)):
        path = tmp_path / f"graph{suffix}"
        drawing.save(path)
        assert path.read_text(encoding="utf-8") == write()
        drawing.save(str(path))
    for name in ("graph.png", "graph", ".svg"):
        with pytest.raises(ValueError, match=r"one of \.svg, \.dot, \.mmd, got "):
            drawing.save(tmp_path / name)
    with pytest.raises(FileNotFoundError):
        drawing.save(tmp_path / "none" / "graph.svg")
    assert len(list(tmp_path.iterdir())) == 3


def test_refusals():
    loss = regression()
    with pytest.raises(TypeError, match="loss: expected a variable, got float"):
        wy.draw(1.0)
    with pytest.raises(TypeError, match="got Program; draw the loss that it was frozen from"):
        wy.draw(wy.freeze(loss))
    for limit in (0, -1):
        with pytest.raises(ValueError, match=f"limit: expected at least 1 node, got {limit}"):
            wy.draw(loss, limit=limit)
    with pytest.raises(TypeError, match="limit: expected a number of nodes, got float"):
        wy.draw(loss, limit=2.5)
    assert len(str(wy.draw(loss, limit=10**30)).splitlines()) == 8
    x = wy.Input([1.0])
    y = x + np.zeros(3)
    x.value = [1.0, 2.0]
    with pytest.raises(ValueError, match="broadcast"):
        wy.draw(y)


def test_another_thread():
    loss, raised = regression(), []

    def work():
        try:
            wy.draw(loss)
        except RuntimeError as e:
            raised.append(str(e))
        raised.append(str(wy.draw(wy.Parameter(1.0))))

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    assert "another thread" in raised[0]
    assert raised[1] == "%0  Parameter  float64  1"


def test_a_table_is_not_copied():
    """Nor is a lookup's gradient made an array: 2 GB would be noticed by who runs this."""
    w = wy.Parameter(np.zeros((1_000_000, 64), np.float32), name="w")
    loss = (w[wy.IndexInput([5, 5, 7])] + 1.0).sum()
    loss.backward()
    node = read(loss, 10).nodes[0]
    assert (node.value, node.gradient) == ("all 0", "1 to 2 in 2 rows")


def test_a_parameter_in_training_says_so():
    """Its value waits for the epoch's end; a drawing does not."""
    w = wy.Parameter(np.zeros((200, 8)), name="w")
    x = wy.IndexInput([0])
    program = wy.freeze(w[x].square().sum())
    begun, seen = threading.Event(), threading.Event()

    def report(_epoch, _history):
        begun.set()
        return seen.is_set()

    def train():
        columns = {x: np.zeros(100_000, int)}
        wy.fit(program, columns, optimizer=wy.SGD(lr=0.1), epochs=1_000_000, callback=report)

    thread = threading.Thread(target=train)
    thread.start()
    try:
        assert begun.wait(60.0)
        values = set()
        end = time.monotonic() + 60.0
        while "is being trained" not in values and thread.is_alive():
            values.add(read(w, 1).nodes[0].value)
            assert time.monotonic() < end
    finally:
        seen.set()
        thread.join()
    assert values <= {"is being trained", "all 0"}
    assert "is being trained" in values
    assert "all 0" in str(wy.draw(w))
