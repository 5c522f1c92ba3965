"""Model files with random faults: reading one ends in a model that answers, or in an error.

    python tests/recommend/mutations.py 1000000

prints how many of so many damaged files were read and refused. Memory is limited meanwhile. Most
files have no checksums, so that faults reach what is behind them.
"""

from __future__ import annotations

import json
import random
import resource
import sys
from collections import Counter
from collections.abc import Sequence
from typing import Any

import numpy as np

from wyrmling.recommend import Recommender

NUMBERS = (0, 1, 2, 3, 7, 8, 2**31, 2**32 - 1, 2**32, 2**63 - 1, 2**63, 2**64 - 1, -1, 10**30, 0.5)
VALUES = (*NUMBERS, None, True, [], {}, "", "F32", "U64", "users", "item_ids", [1, 2], {"a": 1})
BYTES = tuple(
    np.array(value, kind).tobytes()
    for value, kind in (
        (0, "<u8"),
        (1, "<u8"),
        (2**64 - 1, "<u8"),
        (2**63, "<u8"),
        (2**32 - 1, "<u4"),
        (np.inf, "<f4"),
        (np.nan, "<f4"),
        (3e38, "<f4"),
        (0xFF, "<u1"),
    )
)


def without_checksums(content: bytes) -> bytes:
    """The same file without checksums."""
    header, data = parts(content)
    about = header["__metadata__"]
    for name in [name for name in about if name.startswith("crc32.")]:
        del about[name]
    return joined(header, data)


def parts(content: bytes) -> tuple[Any, bytes]:
    """The header and the numbers of a file."""
    end = 8 + int.from_bytes(content[:8], "little")
    return json.loads(content[8:end]), content[end:]


def joined(header: Any, data: bytes) -> bytes:
    """A file of a header and numbers."""
    text = json.dumps(header).encode()
    return len(text).to_bytes(8, "little") + text + data


def mutated(content: bytes, rng: random.Random) -> bytes:
    """The file with some faults: in its bytes, in its numbers, or in its header."""
    for _ in range(rng.choice((1, 1, 1, 2, 4))):
        fault = rng.choices(range(6), (1, 1, 1, 6, 6, 5))[0]
        numbers = 8 + int.from_bytes(content[:8], "little")
        # More often among the numbers than in the header, which is longer.
        first = numbers if rng.random() < 0.8 and numbers < len(content) else 0
        at = rng.randrange(first, len(content) + 1)
        if fault == 0:
            content = content[:at]
        elif fault == 1:
            content = content[:at] + rng.randbytes(rng.randrange(1, 9)) + content[at:]
        elif fault == 2:
            content = content[:at] + content[at + rng.randrange(1, 9) :]
        elif fault == 3:
            content = content[:at] + bytes([rng.randrange(256)]) + content[at + 1 :]
        elif fault == 4:
            put = rng.choice(BYTES)
            content = content[:at] + put + content[at + len(put) :]
        else:
            try:
                header, data = parts(content)
                change(header, rng)
            except (ValueError, RecursionError, LookupError):
                continue
            content = joined(header, data)
        if not content:
            return content
    return content


def change(header: Any, rng: random.Random) -> None:
    """Changes something in the header: a tensor, or the metadata, in which there is JSON."""
    name = rng.choice(sorted(header))
    if rng.random() < 0.1:
        header[rng.choice(("array.x", "seen_items", "user_ids", "x"))] = header.pop(name)
        return
    at = header[name]
    key = rng.choice(sorted(at))
    if rng.random() < 0.1:
        del at[key]
    elif name == "__metadata__" and key in ("hyperparameters", "curve", "functions"):
        inner = json.loads(at[key])
        if isinstance(inner, dict) and inner:
            inner[rng.choice(sorted(inner))] = rng.choice(VALUES)
        at[key] = json.dumps(inner)
    elif isinstance(at[key], list) and at[key] and rng.random() < 0.8:
        at[key][rng.randrange(len(at[key]))] = rng.choice(NUMBERS)
    else:
        at[key] = rng.choice(VALUES)


def ask(model: Recommender) -> None:
    """Asks a model all that its file decides."""
    seen = model.fitted.seen is not None
    answers = model.recommend(list(model.user_ids), 5, exclude_seen=seen)
    assert len(answers) == len(model.user_ids)
    model.predict([model.user_ids[-1]], [model.item_ids[-1]])
    assert repr(model)


def attempt(contents: Sequence[bytes], count: int, seed: int) -> Counter[str]:
    """Reads so many files with faults, and counts what came of them."""
    rng = random.Random(seed)
    found: Counter[str] = Counter()
    for _ in range(count):
        content = mutated(rng.choice(contents), rng)
        try:
            model = Recommender.load(content)
        except ValueError:
            found["refused"] += 1
            continue
        try:
            ask(model)
        except FloatingPointError:  # finite numbers may have scores that are not
            found["overflowed"] += 1
        except Exception:
            print(content)
            raise
        found["read"] += 1
    return found


def state(model: Recommender) -> tuple[Any, ...]:
    """All that a file says of a model."""
    fitted = model.fitted
    seen = fitted.seen and (fitted.seen.indptr.tolist(), fitted.seen.indices.tolist())
    arrays = {name: array.tobytes() for name, array in fitted.arrays.items()}
    ids = list(fitted.user_ids), list(fitted.item_ids)
    # What it takes is in the texts of hyperparameters and of the curve.
    return type(model), repr(model), repr(fitted.history), repr(fitted.params), ids, seen, arrays


def attempt_checked(contents: Sequence[bytes], count: int, seed: int) -> Counter[str]:
    """As ``attempt``, of files with checksums: none is read as another model than it was."""
    rng = random.Random(seed)
    found: Counter[str] = Counter()
    models = [state(Recommender.load(content)) for content in contents]
    for _ in range(count):
        which = rng.randrange(len(contents))
        content = bytearray(contents[which])
        for _ in range(rng.choice((1, 1, 2))):
            header = 8 + int.from_bytes(content[:8], "little")
            content[rng.randrange(8, rng.choice((header, len(content))))] = rng.randrange(256)
        try:
            model = Recommender.load(bytes(content))
        except ValueError:
            found["refused"] += 1
            continue
        assert state(model) == models[which], bytes(content)
        found["unchanged"] += 1
    return found


def small_files(checksums: bool = False) -> list[bytes]:
    """Files of small models of several kinds, with ids of both kinds."""
    import tempfile
    from pathlib import Path

    from wyrmling.data import Interactions
    from wyrmling.recommend import BPR, Custom, FactorizationMachine, Popularity

    users = ["ann", "ann", 7, "bob", 7]
    items = [3, 4, 4, 5, 3]
    mixed = Interactions.from_ids(users, items)
    features = FactorizationMachine(factors=2, epochs=2, num_threads=1)
    models = [
        features.fit(mixed, user_features={7: ["old", ("red", 0.5)]}, item_features={3: ["a", 9]}),
        BPR(factors=2, epochs=2, num_threads=1).fit(mixed),
        Popularity().fit(Interactions.from_ids(items, users)),
        Custom.from_factors(np.eye(3), np.eye(3), mixed, item_bias=[1, 2, 3]),
    ]
    with tempfile.TemporaryDirectory() as directory:
        path = Path(directory) / "model"
        found = []
        for model in models:
            for histories in (True, False):
                model.save(path, histories=histories)
                content = path.read_bytes()
                found.append(content if checksums else without_checksums(content))
    return found


if __name__ == "__main__":
    files = small_files()
    _, most = resource.getrlimit(resource.RLIMIT_AS)
    resource.setrlimit(resource.RLIMIT_AS, (3 << 30, most))
    seed = int(sys.argv[2]) if len(sys.argv) > 2 else 0
    print(dict(attempt(files, int(sys.argv[1]), seed)))
    print(f"most memory: {resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024:.0f} MB")
