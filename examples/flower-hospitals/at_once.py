"""What asking several hospitals at once brings, deployed: 16 nodes on this machine, with TLS and node keys.

    python at_once.py                   2 repetitions of 1, 4 and 16 questions out: about 15 minutes on two cores

The method is our default (frugal, told nothing), on the logistic regression of compare.py with the 16 largest hospitals. The gap is computed
afterwards from where the session stood after each answer; nobody is asked for it. A session's seed is the repetition's number. How many
answers it takes is also computed for 40 seeds without a network, where those that are out answer in random order.

Writes docs/results/flower/at-once.txt and at-once.csv.
"""

import argparse
import json
import os
import platform
import random
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
from certificates import make_keys
from deployment import TASK_POLL, Federation

import sgq

HERE = Path(__file__).resolve().parent
DATA = HERE.parent / "medpar.csv"
RESULTS = HERE.parents[1] / "docs" / "results" / "flower"
sys.path.insert(0, str(HERE / "compare"))
from hospitals import Hospitals  # noqa: E402

NODES = 16
TARGET = 0.01
# Answers of a run, by how many are out.
ANSWERS = {1: 30, 4: 48, 16: 96}
SEEDS = range(40)

hospitals = Hospitals(DATA, NODES)


def deployed(federation, folder, out, seed):
    """One run: when each answer was taken, the gap after it; the seconds that processors worked for each, and how many of them were
    busy with it, and with other things; and how many questions failed."""
    settings = {"open": out, "seed": seed, "budget": ANSWERS[out], "tol": None}
    ledger = f"{folder}/{out}-{seed}.sgq"
    jobs, done = Path(folder) / "jobs.json", Path(folder) / f"{out}-{seed}.json"
    jobs.write_text(json.dumps([{"how": "run", "method": None, "ledger": ledger, "settings": settings}]))
    began, all_began, ours_began = time.monotonic(), busy(), worked_by(federation)
    files = {"data": str(DATA), "largest": NODES, "jobs": str(jobs), "out": str(done)}
    run = federation.run(HERE / "compare", files)
    # The commands of Flower take a second of a processor each: they are not used to look whether it has ended.
    until = time.monotonic() + 1800
    while not done.exists() and time.monotonic() < until:
        time.sleep(0.5)
    took, ours = time.monotonic() - began, worked_by(federation) - ours_began
    others = busy() - all_began - ours
    status = federation.wait(run, 60)
    if status != "finished:completed":
        sys.exit(f"Flower's run ended as {status}:\n{federation.run_log(run)[-3000:]}")
    [job] = json.loads(done.read_text())
    with sgq.open(ledger, read_only=True) as session:
        odd = [event["kind"] for event in session.history() if event["kind"] in ("failed", "refused", "flagged")]
    gaps = [hospitals.gap(np.array(point)) for point in job["points"]]
    return np.array(job["times"]), np.array(gaps), ours / len(job["times"]), ours / took, others / took, len(odd)


def without_network(out, seed):
    """How many answers until the gap is there, where those that are out answer in random order."""
    order = random.Random(seed)
    session = sgq.Session(users=NODES, x0=hospitals.start, open=out, seed=seed, budget=400, tol=None)
    waiting = []
    while waiting := [*waiting, *session.ask_many(out)]:
        query = waiting.pop(order.randrange(len(waiting)))
        session.tell(query, hospitals.answer(query.user, query.point)[1])
        if hospitals.gap(session.point) <= TARGET:
            return session.queries
    return np.inf


def busy():
    """Seconds that all processors have worked, whoever for; Linux only."""
    words = Path("/proc/stat").read_text().split("\n")[0].split()[1:]
    user, nice, system, _, _, interrupts, soft, *_ = map(int, words)
    return (user + nice + system + interrupts + soft) / os.sysconf("SC_CLK_TCK")


def worked_by(federation):
    """Seconds that the federation's processes have worked, with all that they started."""
    above, seconds = {}, {}
    for place in Path("/proc").glob("[0-9]*/stat"):
        try:
            words = place.read_text().rpartition(")")[2].split()
        except OSError:
            continue  # it has ended meanwhile
        above[int(place.parent.name)] = int(words[1])
        seconds[int(place.parent.name)] = sum(map(int, words[11:15])) / os.sysconf("SC_CLK_TCK")
    found = [process.pid for process in federation.processes.values()]
    for parent in found:
        found += [pid for pid, other in above.items() if other == parent]
    return sum(seconds.get(pid, 0.0) for pid in found)


def among(numbers, words):
    """The smallest … the largest."""
    low, high = words.format(min(numbers)), words.format(max(numbers))
    return low if low == high else f"{low} … {high}"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--repetitions", type=int, default=2)
    repetitions = parser.parse_args().repetitions
    RESULTS.mkdir(parents=True, exist_ok=True)
    load = os.getloadavg()[0]
    names = [f"user-{number}" for number in range(NODES)]
    rows, runs = [], {out: [] for out in ANSWERS}
    with tempfile.TemporaryDirectory() as folder, Federation(folder) as federation:
        make_keys(federation.keys, names)
        federation.start_superlink()
        for number, name in enumerate(names):
            federation.register(name)
            federation.start_node(name, {"user": name, "partition-id": number})
        federation.wait_online(*names, timeout=120)
        before = worked_by(federation)
        time.sleep(20)
        idle = (worked_by(federation) - before) / 20
        for seed in range(repetitions):
            for out in ANSWERS:
                times, gaps, each, ours, others, odd = deployed(federation, folder, out, seed)
                reached = int(np.argmax(gaps <= TARGET)) if (gaps <= TARGET).any() else None
                # From the first answer on, so that the start of the run does not count.
                rate = 60 * (len(times) - 1) / (times[-1] - times[0])
                when = times[reached - 1] if reached else float("inf")
                runs[out].append((rate, reached or float("inf"), when, each, ours, others))
                rows.append([out, seed, len(times), f"{times[0]:.2f}", f"{times[-1]:.2f}", f"{rate:.2f}", reached, f"{when:.1f}", f"{each:.2f}", f"{ours:.2f}", f"{others:.2f}", odd])
                print(*rows[-1], flush=True)
    answers = {out: [without_network(out, seed) for seed in SEEDS] for out in ANSWERS}
    head = ["out", "answers a minute", "answers to 1%", "seconds to 1%", "processor seconds an answer", "processors busy with it", "with other things", "answers to 1%, 40 seeds, without a network", "that many take"]
    lines = ["| " + " | ".join(head) + " |", "|" + "---|" * len(head)]
    for out, found in runs.items():
        rate, reached, when, each, ours, others = zip(*found)
        median = float(np.median(answers[out]))
        cells = [str(out), among(rate, "{:.1f}"), among(reached, "{:.0f}"), among(when, "{:.0f}"), among(each, "{:.1f}"), among(ours, "{:.1f}"), among(others, "{:.1f}"), f"{median:g} ({among(answers[out], '{:.0f}')})", f"{60 * median / np.mean(rate):.0f} s"]
        lines.append("| " + " | ".join(cells) + " |")
    failed = sum(row[-1] for row in rows)
    note = (
        f"{NODES} nodes on one machine with {os.cpu_count()} processors, {platform.system()}; FLWR_SUPEREXEC_TASK_POLL_INTERVAL={TASK_POLL}; {repetitions} "
        f"repetitions, smallest … largest. Load before: {load:.1f}; nodes that wait keep {idle:.2f} processors busy. "
        f"Questions that failed, or answers that were refused or flagged: {failed}."
    )  # fmt: skip
    text = "\n".join([*lines, "", note, ""])
    (RESULTS / "at-once.txt").write_text(text)
    columns = "out,seed,answers,first answer s,last answer s,answers a minute,answers to 1%,seconds to 1%,processor seconds an answer,processors busy with it,with other things,odd"
    (RESULTS / "at-once.csv").write_text("\n".join([columns, *(",".join(map(str, row)) for row in rows)]) + "\n")
    print(text)


if __name__ == "__main__":
    main()
