"""Programs keep copies of parameters that they read whole. A run is of what these hold when it
begins, also beside training."""

import threading

import numpy as np

import wyrmling as wy


def test_a_run_in_a_callback_is_of_the_parameters_of_now() -> None:
    w = wy.Parameter(np.zeros(500))
    i = wy.IndexInput([0])
    program = wy.freeze((w * 2.0).sum())
    assert program.run() == 0.0
    seen = []

    def callback(epoch: int, history: object) -> None:
        for _ in range(2):
            seen.append((float(program.run()), 2.0 * float(w.value.sum())))

    wy.fit(
        (w[i] - 1.0).square().sum(),
        {i: np.arange(500)},
        optimizer=wy.SGD(lr=0.1),
        epochs=3,
        callback=callback,
    )
    assert len(seen) == 6
    np.testing.assert_allclose(*zip(*seen, strict=True), rtol=1e-12)
    assert len({run for run, _ in seen}) == 3
    np.testing.assert_allclose(program.run(), 2.0 * w.value.sum(), rtol=1e-12)


def test_runs_beside_training_end_at_what_it_has_made() -> None:
    w = wy.Parameter(np.zeros(2000, np.float32))
    i = wy.IndexInput([0])
    loss = (w[i] - 1.0).square().sum()
    program = wy.freeze(w.sum())
    stop = threading.Event()
    seen: list[float] = []

    def run() -> None:
        while not stop.is_set():
            seen.append(float(program.run()))

    thread = threading.Thread(target=run)
    thread.start()
    try:
        for _ in range(20):
            column = {i: np.arange(2000)}
            wy.fit(loss, column, optimizer=wy.SGD(lr=0.1), epochs=3, threads=2)
            now = w.value.sum(dtype=np.float64)
            np.testing.assert_allclose(float(program.run()), now, rtol=1e-5)
    finally:
        stop.set()
        thread.join()
    # What training has made only grows towards 1.
    assert all(0.0 <= value <= 2001.0 for value in seen)
