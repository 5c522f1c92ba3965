"""Places for boxes in layers, and for the edges between them.

The method of Sugiyama, Tagawa and Toda, "Methods for visual understanding of hierarchical system
structures", 1981: layers by longest paths; long edges get a slot in each layer that they pass;
slots are ordered by the barycentres of their neighbours until few edges cross; then each slot
moves to where its neighbours are, as far as the order allows.

Two choices. A box stands directly above the first box that uses it, so that leaves are near what
they are for. It stands directly below what it uses instead where edges get no longer by that: the
sums of a loop stand beside its turns. And edges from one box share their slots: they run together
until each leaves for where it ends, as one trunk with branches.

Limits: time grows with the number of slots, and a box that is used far below takes one in every
layer between. A drawing's ``limit`` bounds both. Of many slots fewer orders and places are tried.
"""

from __future__ import annotations

from bisect import bisect_right, insort
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

# Space between boxes, between an edge and its neighbours, between layers, and around all.
BESIDE, ROOM, BELOW, MARGIN = 22.0, 14.0, 46.0, 16.0
# Distance at which edges end beside each other, and their last stretch straight down.
PORT, STRAIGHT = 26.0, 9.0
# The most sweeps over all slots, and the most visits of slots in all sweeps. Two sweeps are always
# made.
_SWEEPS, _VISITS = 16, 400_000

Point = tuple[float, float]


@dataclass(frozen=True)
class Box:
    """A rectangle, by its upper left corner."""

    x: float
    y: float
    width: float
    height: float


@dataclass(frozen=True)
class Layout:
    """Where everything is. Coordinates grow to the right and downwards."""

    width: float
    height: float
    boxes: list[Box]
    # An edge goes through its points by turns straight down and in a curve to the side.
    paths: list[list[Point]]


@dataclass
class _Slot:
    """A place in a layer: of a box, or of edges that pass."""

    layer: int
    width: float
    above: list[int]
    below: list[int]
    passing: bool = False
    x: float = 0.0


def arrange(sizes: Sequence[tuple[float, float]], edges: Sequence[tuple[int, int]]) -> Layout:
    """Finds places for boxes of the given widths and heights.

    An edge goes from one box to another with a larger number.
    """
    layers = _layers(len(sizes), edges)
    slots = [_Slot(layer, size[0], [], []) for layer, size in zip(layers, sizes, strict=True)]
    trunks = _add_trunks(slots, edges)
    rows: list[list[int]] = [[] for _ in range(max(layers, default=-1) + 1)]
    for at, slot in enumerate(slots):
        rows[slot.layer].append(at)
    _order(slots, rows)
    _move(slots, rows)
    return _draw(slots, rows, trunks, sizes, edges)


def _layers(count: int, edges: Sequence[tuple[int, int]]) -> list[int]:
    """The layer of each box, by the longest path down to a box that no edge leaves: such boxes are
    in the last layer. Then boxes are raised where edges get no longer.
    """
    users: list[list[int]] = [[] for _ in range(count)]
    for start, end in edges:
        users[start].append(end)
    depth = [0] * count
    for at in reversed(range(count)):
        depth[at] = max((depth[user] + 1 for user in users[at]), default=0)
    deepest = max(depth, default=0)
    return _raised([deepest - d for d in depth], users, edges)


def _raised(
    layers: list[int], users: list[list[int]], edges: Sequence[tuple[int, int]]
) -> list[int]:
    """The layers, in which each box is raised to directly below its operands if edges pass no more
    layers in all then. Leaves, which have no operands, are raised with the first of their users.
    """
    operands: list[dict[int, None]] = [{} for _ in layers]
    for start, end in edges:
        operands[end][start] = None
    for at, starts in enumerate(operands):
        above = [start for start in starts if operands[start]]
        top = max((layers[start] + 1 for start in above), default=layers[at])
        # The trunk from this box to its users gets longer, and those from its operands may get
        # shorter, down to their next user.
        longer = layers[at] - top
        if longer == 0:
            continue
        shorter = 0
        for start in above:
            end = max((layers[user] for user in users[start] if user != at), default=top)
            shorter += max(layers[at] - max(end, top), 0)
        if shorter >= longer:
            layers[at] = top
    for at, starts in enumerate(operands):
        if not starts and users[at]:
            layers[at] = min(layers[user] for user in users[at]) - 1
    return layers


def _sweeps(slots: list[_Slot]) -> int:
    """The number of sweeps over these slots."""
    return max(2, min(_SWEEPS, _VISITS // max(len(slots), 1)))


def _add_trunks(slots: list[_Slot], edges: Sequence[tuple[int, int]]) -> list[list[int]]:
    """Adds the slots that edges pass: for each box its own slot and those below, in order."""
    trunks = [[at] for at in range(len(slots))]
    for start, end in edges:
        trunk = trunks[start]
        while slots[start].layer + len(trunk) < slots[end].layer:
            last = trunk[-1]
            slots.append(_Slot(slots[last].layer + 1, 0.0, [last], [], passing=True))
            slots[last].below.append(len(slots) - 1)
            trunk.append(len(slots) - 1)
    for start, end in edges:
        before = trunks[start][slots[end].layer - slots[start].layer - 1]
        slots[before].below.append(end)
        slots[end].above.append(before)
    return trunks


def _order(slots: list[_Slot], rows: list[list[int]]) -> None:
    """Orders the rows so that few edges cross."""
    best, fewest = [row[:] for row in rows], _crossings(slots, rows)
    for sweep in range(_sweeps(slots)):
        if fewest == 0:
            break
        down = sweep % 2 == 0
        place = {at: k for row in rows for k, at in enumerate(row)}
        for row in rows if down else reversed(rows):
            centre = {}
            for at in row:
                near = slots[at].above if down else slots[at].below
                places = [place[other] for other in near]
                centre[at] = sum(places) / len(places) if places else float(place[at])
            row.sort(key=centre.__getitem__)
            place.update((at, k) for k, at in enumerate(row))
        crossings = _crossings(slots, rows)
        if crossings < fewest:
            best, fewest = [row[:] for row in rows], crossings
    rows[:] = best


def _crossings(slots: list[_Slot], rows: list[list[int]]) -> int:
    """The number of pairs of edges that cross."""
    total = 0
    for upper, lower in pairwise(rows):
        place = {at: k for k, at in enumerate(lower)}
        ends: list[int] = []
        for at in upper:
            own = sorted(place[other] for other in slots[at].below)
            total += sum(len(ends) - bisect_right(ends, end) for end in own)
            for end in own:
                insort(ends, end)
    return total


def _move(slots: list[_Slot], rows: list[list[int]]) -> None:
    """Moves each slot to where its neighbours are, as far as the order of its row allows."""
    for row in rows:
        x = 0.0
        for at in row:
            slots[at].x = x + slots[at].width / 2
            x += slots[at].width + BESIDE
        for at in row:
            slots[at].x -= x / 2
    sweeps = _sweeps(slots)
    for sweep in range(sweeps + 1):
        down, last = sweep % 2 == 0, sweep == sweeps
        for row in rows if down else reversed(rows):
            wanted, weights = [], []
            for at in row:
                slot = slots[at]
                near = slot.above + slot.below if last else slot.above if down else slot.below
                force = [_force(slot, slots[other]) for other in near]
                pull = sum(f * slots[n].x for f, n in zip(force, near, strict=True))
                wanted.append(pull / sum(force) if near else slot.x)
                weights.append(sum(force) if near else 0.1)
            gaps = [_apart(slots[a], slots[b]) for a, b in pairwise(row)]
            for at, x in zip(row, _spread(wanted, weights, gaps), strict=True):
                slots[at].x = x


def _force(a: _Slot, b: _Slot) -> float:
    """How much two slots that are joined should be below each other.

    Where edges pass they should be straight; a leaf stands beside what others are computed from.
    """
    if a.passing and b.passing:
        return 8.0
    return 1.0 if a.above and b.above else 0.1


def _apart(a: _Slot, b: _Slot) -> float:
    """The least distance between the centres of two neighbours."""
    return (a.width + b.width) / 2 + (ROOM if a.passing or b.passing else BESIDE)


def _spread(wanted: list[float], weights: list[float], gaps: list[float]) -> list[float]:
    """The positions nearest to those wanted that keep the gaps, in weighted squares.

    With the gaps before them subtracted, positions must not decrease. That is isotonic regression,
    by pooling adjacent violators (Ayer et al., "An empirical distribution function for sampling
    with incomplete information", 1955).
    """
    offsets = [0.0]
    for gap in gaps:
        offsets.append(offsets[-1] + gap)
    blocks: list[tuple[float, float, int]] = []  # mean, weight, count
    for want, weight, offset in zip(wanted, weights, offsets, strict=False):
        mean, count = want - offset, 1
        while blocks and blocks[-1][0] > mean:
            other, heavy, more = blocks.pop()
            mean = (mean * weight + other * heavy) / (weight + heavy)
            weight += heavy
            count += more
        blocks.append((mean, weight, count))
    means = [mean for mean, _, count in blocks for _ in range(count)]
    return [mean + offset for mean, offset in zip(means, offsets, strict=False)]


def _draw(
    slots: list[_Slot],
    rows: list[list[int]],
    trunks: list[list[int]],
    sizes: Sequence[tuple[float, float]],
    edges: Sequence[tuple[int, int]],
) -> Layout:
    left = min((slot.x - slot.width / 2 for slot in slots), default=0.0) - MARGIN
    right = max((slot.x + slot.width / 2 for slot in slots), default=0.0) + MARGIN
    bands, y = [], MARGIN
    for row in rows:
        tall = max(sizes[at][1] for at in row if at < len(sizes))
        bands.append((y, y + tall))
        y += tall + BELOW
    boxes = []
    for slot, (width, height) in zip(slots, sizes, strict=False):
        top, bottom = bands[slot.layer]
        x, y_box = slot.x - left - width / 2, (top + bottom - height) / 2
        boxes.append(Box(x, y_box, width, height))

    paths: list[list[Point]] = []
    for start, end in edges:
        x = slots[start].x - left
        path = [(x, boxes[start].y + boxes[start].height), (x, bands[slots[start].layer][1])]
        for at in trunks[start][1 : slots[end].layer - slots[start].layer]:
            x, (top, bottom) = slots[at].x - left, bands[slots[at].layer]
            path += [(x, top), (x, bottom)]
        paths.append(path)
    incoming: list[list[int]] = [[] for _ in sizes]
    for edge, (_, end) in enumerate(edges):
        incoming[end].append(edge)
    for end, arriving in enumerate(incoming):
        arriving.sort(key=lambda edge: paths[edge][-1][0])
        box, top = boxes[end], bands[slots[end].layer][0]
        apart = min(PORT, box.width / (len(arriving) + 1))
        x = box.x + box.width / 2 - apart * (len(arriving) - 1) / 2
        for edge in arriving:
            paths[edge] += [(x, top - STRAIGHT), (x, box.y)]
            x += apart
    return Layout(right - left, y - BELOW + MARGIN if rows else 2 * MARGIN, boxes, paths)
