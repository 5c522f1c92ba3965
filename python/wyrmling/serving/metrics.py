"""Counts and times of requests, in Prometheus' text format.

https://prometheus.io/docs/instrumenting/exposition_formats/ (version 0.0.4). Requests are counted
by route and status, and their times by route in a cumulative histogram. Routes are those of the
server, so that no caller can make new ones.
"""

from __future__ import annotations

import threading
from bisect import bisect_left
from collections import Counter

__all__ = ["Metrics"]

# Seconds.
BOUNDS = (0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0)


class Metrics:
    """What a server counts.

    >>> metrics = Metrics()
    >>> metrics.count("/health", 200, 0.002)
    >>> print(metrics.text({}).splitlines()[2])
    wyrmling_requests_total{route="/health",status="200"} 1
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._requests: Counter[tuple[str, int]] = Counter()
        self._times: dict[str, list[int]] = {}
        self._seconds: Counter[str] = Counter()

    def count(self, route: str, status: int, seconds: float) -> None:
        """Counts a request."""
        place = bisect_left(BOUNDS, seconds)
        with self._lock:
            self._requests[route, status] += 1
            self._times.setdefault(route, [0] * (len(BOUNDS) + 1))[place] += 1
            self._seconds[route] += seconds  # type: ignore[assignment]

    def text(self, gauges: dict[str, tuple[str, str, float]]) -> str:
        """All of it as Prometheus reads it.

        Args:
            gauges: by name its type (``gauge`` or ``counter``), what it is, and its value.
        """
        with self._lock:
            requests, seconds = dict(self._requests), dict(self._seconds)
            times = {route: list(counts) for route, counts in self._times.items()}
        lines = [
            "# HELP wyrmling_requests_total Requests answered.",
            "# TYPE wyrmling_requests_total counter",
        ]
        for (route, status), count in sorted(requests.items()):
            lines.append(f'wyrmling_requests_total{{route="{route}",status="{status}"}} {count}')
        lines += [
            "# HELP wyrmling_request_seconds Time that requests took.",
            "# TYPE wyrmling_request_seconds histogram",
        ]
        for route, counts in sorted(times.items()):
            below = 0
            for bound, count in zip((*BOUNDS, "+Inf"), counts, strict=True):
                below += count
                lines.append(
                    f'wyrmling_request_seconds_bucket{{route="{route}",le="{bound}"}} {below}'
                )
            lines.append(f'wyrmling_request_seconds_sum{{route="{route}"}} {seconds[route]:.6f}')
            lines.append(f'wyrmling_request_seconds_count{{route="{route}"}} {below}')
        for name, (kind, about, value) in gauges.items():
            lines += [f"# HELP {name} {about}", f"# TYPE {name} {kind}", f"{name} {value}"]
        return "\n".join(lines) + "\n"
