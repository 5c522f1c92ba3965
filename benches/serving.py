"""A server under load: requests at a fixed rate for a minute, while its model is replaced.

    python benches/serving.py
    python benches/serving.py --rate 2000 --seconds 10

The server has one core (Linux); those who ask have the others. Each request asks the best ten items
of one of 943 users among 1,682 items, by vectors of length 64, over one of 16 connections that stay
open. Its time runs from the moment at which it was due, so that a server that falls behind is not
asked less. Every answer is compared with those of the two models that take turns.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np

from wyrmling.datasets import make_interactions
from wyrmling.recommend import BPR

CONNECTIONS = 16
START = """
import sys
from wyrmling.serving import serve
serve(sys.argv[1], port=0, ready=lambda url: print(url, flush=True))
"""

Answers = list[set[str]]


def models(directory: Path) -> Answers:
    """Writes two models, and gives the answers that either may have for each user."""
    data = make_interactions(943, 1682, 106)
    answers: Answers = [set() for _ in range(data.n_users)]
    for seed in (0, 1):
        model = BPR(factors=64, epochs=2, random_state=seed).fit(data)
        model.save(directory / f"{seed}.safetensors")
        best = model.recommend(list(model.user_ids))
        for user, row in enumerate(best.items.tolist()):
            answers[model.user_ids.number(f"user-{user + 1}")].add(json.dumps(row))
    return answers


async def ask(
    port: int, users: list[int], due: list[float], answers: Answers, times: list[float]
) -> int:
    """Asks for some users, each when it is due, over one connection; counts the wrong answers."""
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    wrong = 0
    for user, at in zip(users, due, strict=True):
        await asyncio.sleep(max(0.0, at - time.perf_counter()))
        path = f"/recommend?user=user-{user + 1}"
        writer.write(f"GET {path} HTTP/1.1\r\nHost: localhost\r\n\r\n".encode())
        head = await reader.readuntil(b"\r\n\r\n")
        length = next(
            int(line.partition(b":")[2])
            for line in head.split(b"\r\n")
            if line.lower().startswith(b"content-length")
        )
        body = json.loads(await reader.readexactly(length))
        times.append(time.perf_counter() - at)
        items = json.dumps([pair["item"] for pair in body.get("items", [])])
        wrong += not head.startswith(b"HTTP/1.1 200") or items not in answers[user]
    writer.close()
    return wrong


async def replace(directory: Path, path: Path, every: float, ends: float) -> None:
    """Puts one model in the other's place, as save does, until it is time to end."""
    turn = 1
    while time.perf_counter() + every < ends:
        await asyncio.sleep(every)
        copy = directory / "next"
        copy.write_bytes((directory / f"{turn}.safetensors").read_bytes())
        copy.replace(path)
        turn = 1 - turn


async def load(port: int, options: argparse.Namespace, path: Path, answers: Answers) -> Any:
    """Asks at a rate, and gives the seconds that each answer took and how many were wrong."""
    count = int(options.rate * options.seconds)
    rng = np.random.default_rng(0)
    users = rng.integers(0, len(answers), count)
    start = time.perf_counter() + 0.5
    due = start + np.arange(count) / options.rate
    times: list[float] = []
    asking = [
        ask(port, users[k::CONNECTIONS].tolist(), due[k::CONNECTIONS].tolist(), answers, times)
        for k in range(CONNECTIONS)
    ]
    *wrong, _ = await asyncio.gather(
        *asking, replace(path.parent, path, options.reload, start + options.seconds)
    )
    return np.array(times), sum(wrong), time.perf_counter() - start


def main() -> None:
    """Runs the server and prints what it did."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rate", type=float, default=1000, help="requests a second")
    parser.add_argument("--seconds", type=float, default=60)
    parser.add_argument("--reload", type=float, default=5, help="seconds between models")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as scratch:
        directory = Path(scratch)
        path = directory / "model.safetensors"
        answers = models(directory)
        path.write_bytes((directory / "0.safetensors").read_bytes())
        cores = sorted(os.sched_getaffinity(0))
        os.sched_setaffinity(0, cores[:1])
        server = subprocess.Popen(
            [sys.executable, "-c", START, str(path)], stdout=subprocess.PIPE, text=True
        )
        os.sched_setaffinity(0, cores[1:] or cores)
        assert server.stdout is not None
        port = int(server.stdout.readline().rstrip("/\n").rpartition(":")[2])
        times, wrong, seconds = asyncio.run(load(port, options, path, answers))
        time.sleep(2)
        health = subprocess.run(
            ["curl", "-s", f"http://127.0.0.1:{port}/health"], capture_output=True, check=True
        )
        server.terminate()
        server.wait()
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    cpu = used.ru_utime + used.ru_stime
    print(f"{len(times):,} requests in {seconds:.1f} s: {len(times) / seconds:,.0f} a second")
    print(f"wrong: {wrong}; models read meanwhile: {json.loads(health.stdout)['reloads']}")
    half, most, worst = np.quantile(times, (0.5, 0.99, 1)) * 1e3
    print(f"milliseconds: median {half:.2f}, 99 of 100 {most:.2f}, worst {worst:.1f}")
    print(f"processor time of the server: {cpu:.1f} s, {1e6 * cpu / len(times):.0f} us a request")


if __name__ == "__main__":
    main()
