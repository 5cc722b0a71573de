"""What one `ask` and `tell` cost from Python, beside the same steps of SGD and SAGA written in numpy, and beside one copy.

    pip install ./python && python python/benchmarks/overhead.py

The users' work is left out: everybody answers with the same array. Medians of five rounds, in µs.
"""

import statistics
import time

import numpy as np

import sgq

USERS = 10
ROUNDS = 5


def by_session(method, start, gradient, steps):
    session = sgq.Session(method, x0=start, users=USERS, smoothness=1.0, step_size=1e-3)

    def take(count):
        for _ in range(count):
            query = session.ask()
            session.tell(query.ticket, gradient)

    take(2 * USERS)
    return timed(take, steps)


def numpy_sgd(start, gradient, steps):
    x = start.copy()
    random = np.random.default_rng(0)

    def take(count):
        nonlocal x
        for _ in range(count):
            random.integers(USERS)
            # What a session also does: an answer must be finite, and the point is still held by whoever was asked.
            assert np.isfinite(gradient).all()
            x = x - 1e-3 * gradient

    return timed(take, steps)


def numpy_saga(start, gradient, steps):
    x = start.copy()
    table = np.tile(gradient, (USERS, 1))
    mean = table.mean(axis=0)
    random = np.random.default_rng(0)

    def take(count):
        nonlocal x
        for _ in range(count):
            user = random.integers(USERS)
            assert np.isfinite(gradient).all()
            change = gradient - table[user]
            x = x - 1e-3 * (change + mean)
            mean[:] += change / USERS
            table[user] = gradient

    return timed(take, steps)


def copy(start, _gradient, steps):
    def take(count):
        for _ in range(count):
            start.copy()

    return timed(take, steps)


def timed(take, steps):
    begin = time.perf_counter()
    take(steps)
    return (time.perf_counter() - begin) / steps * 1e6


def main():
    contestants = {
        "sgd, session": lambda *case: by_session("sgd", *case),
        "sgd, numpy": numpy_sgd,
        "saga, session": lambda *case: by_session("saga", *case),
        "saga, numpy": numpy_saga,
        "sgq, session": lambda *case: by_session("sgq", *case),
        "one copy": copy,
    }
    for dim, steps in ((100, 20_000), (1_000_000, 20)):
        start, gradient = np.zeros(dim), np.random.default_rng(1).normal(size=dim)
        times = {name: [] for name in contestants}
        for _ in range(ROUNDS):
            for name, contestant in contestants.items():
                times[name].append(contestant(start, gradient, steps))
        print(f"d = {dim:,}")
        for name, each in times.items():
            print(f"  {name:16}{statistics.median(each):12,.2f}   ({min(each):,.2f} to {max(each):,.2f})")


if __name__ == "__main__":
    main()
