#!/usr/bin/env python3
"""Sessions with real processes, at their worst: what `sgq session run` does when it is killed, and when users are hostile.

    cargo build --release
    python3 scripts/real_users.py kills        200 kills of a run of 2,000 queries: the same point and events as without
    python3 scripts/real_users.py fuzz         100,000 hostile answers: a row for each, none in the state, memory bounded

Each prints what it measured, and ends with an error if it is not as it should be. Python's standard library alone.
"""

import argparse
import json
import os
import pathlib
import random
import signal
import subprocess
import sys
import tempfile
import time

USERS = ["north", "south", "west", "east", "centre"]
PARAMETERS = 4
SGQ = pathlib.Path(__file__).resolve().parent.parent / "target" / "release" / "sgq"


def right(question):
    """The gradient of a quadratic that differs from user to user."""
    user, point = question["user"], question["point"]
    steep = 1 + len(user) % 3
    return [steep * (x - (len(user) * 7 + place * 3) % 5) for place, x in enumerate(point)]


def hostile(question, chance):
    """Something that is no answer to the question, each time another one."""
    ticket, gradient = question["ticket"], right(question)
    junk = "".join(chr(chance.choice([0, 7, 27, 34, 44, 91, 92, 93, 123, 125, 233, 0x202E])) for _ in range(chance.randrange(40)))
    other = chance.choice([10**9 + chance.randrange(10**6), 2**64 - 1, 2**63])
    line = json.dumps({"ticket": ticket, "user": question["user"], "gradient": gradient})
    return chance.choice(
        [
            lambda: json.dumps({"ticket": other, "gradient": gradient}),
            lambda: json.dumps({"ticket": -ticket - 1, "gradient": gradient}),
            lambda: json.dumps({"ticket": str(ticket), "gradient": gradient}),
            lambda: json.dumps({"ticket": 1.5, "gradient": gradient}),
            lambda: json.dumps({"gradient": gradient}),
            lambda: json.dumps({"ticket": other, "user": junk, "gradient": [1e300] * len(gradient)}),
            lambda: json.dumps({"ticket": other, "error": junk}),
            lambda: line[: 1 + chance.randrange(len(line) - 2)],
            lambda: line[: len(line) // 2] + junk.replace("\n", "") + line[len(line) // 2 + 1 :] + "]",
            lambda: "[" * chance.randrange(1, 3000),
            lambda: '{"ticket": %d, "gradient": [NaN, Infinity]}' % other,
            lambda: '{"gradient": [1e999]}',
            lambda: "null",
            lambda: json.dumps([ticket, gradient]),
            lambda: "x" + junk.replace("\n", "") + "\udcff\udcfe",
            lambda: "y" * chance.randrange(100_000, 300_000),
        ]
    )()


def user(arguments):
    """Answers each question rightly, after so many lines that are no answers to it."""
    chance = random.Random(arguments.seed)
    out = sys.stdout.buffer
    for text in sys.stdin:
        question = json.loads(text)
        if arguments.received:
            with open(arguments.received, "a") as file:
                file.write(text)
        for _ in range(arguments.hostile):
            out.write(hostile(question, chance).replace("\n", " ").encode("utf-8", "surrogateescape") + b"\n")
        time.sleep(arguments.pause)
        out.write(json.dumps({"ticket": question["ticket"], "gradient": right(question)}).encode() + b"\n")
        out.flush()


def sgq(folder, *arguments):
    done = subprocess.run([SGQ, "session", *arguments], cwd=folder, capture_output=True, text=True)
    if done.returncode != 0:
        sys.exit(f"sgq session {' '.join(arguments)}: {done.stdout}{done.stderr}")
    return done.stdout


def new(folder, name, *more):
    (folder / "clinics.csv").write_text("user\n" + "".join(f"{name}\n" for name in USERS))
    sgq(folder, "new", name, "--users", "clinics.csv", "--dim", str(PARAMETERS), "--tol", "off", *more)


def command(**settings):
    words = [f"--{name} {value}" for name, value in settings.items()]
    return f"{sys.executable} -S {pathlib.Path(__file__).resolve()} user {' '.join(words)}"


def events(folder, name):
    """What happened, without when: that nobody could be asked is said again after a kill."""
    kept = []
    for line in sgq(folder, "history", name, "--json").splitlines():
        event = json.loads(line)
        if event["kind"] != "waited":
            kept.append((event["kind"], event["ticket"], event["user"], event["words"]))
    return kept


def kills(arguments):
    with tempfile.TemporaryDirectory() as place:
        folder, chance = pathlib.Path(place), random.Random(arguments.seed)
        settings = ["--budget", str(arguments.queries), "--open", str(arguments.open), "--method", arguments.method]
        if arguments.method == "saga":
            settings += ["--step-size", "0.02"]
        new(folder, "whole.sgq", *settings)
        new(folder, "pieces.sgq", *settings)
        begun = time.monotonic()
        sgq(folder, "run", "whole.sgq", "--command", command(pause=0.001), "--quiet")
        whole = time.monotonic() - begun
        asking = command(pause=0.001, received=folder / "received")
        killed, lines = 0, lambda: (folder / "received").read_bytes().count(b"\n") if (folder / "received").exists() else 0
        while killed < arguments.kills:
            # A tenth dies while it starts; the others somewhere in what is left of the run, a little before its end at the latest.
            left = (0.9 * arguments.queries - lines()) / (arguments.kills - killed)
            until = 0 if chance.random() < 0.1 else lines() + max(1, round(2 * left * chance.random()))
            process = subprocess.Popen([SGQ, "session", "run", "pieces.sgq", "--command", asking, "--quiet"], cwd=folder)
            while lines() < until and process.poll() is None:
                time.sleep(0.0005)
            time.sleep((0.005 if until else 0.1) * chance.random())
            if process.poll() is not None:
                sys.exit(f"it was over after {killed} kills: give more --queries")
            process.send_signal(signal.SIGKILL)
            process.wait()
            killed += 1
        queries = json.loads(sgq(folder, "status", "pieces.sgq", "--json"))["queries"]
        sgq(folder, "run", "pieces.sgq", "--command", asking, "--quiet")
        received = {}
        for line in (folder / "received").read_text().splitlines():
            ticket = json.loads(line)["ticket"]
            received[ticket] = received.get(ticket, 0) + 1
        again = sum(received.values()) - len(received)
        asked = [event[1] for event in events(folder, "pieces.sgq") if event[0] == "asked"]
        checks = {
            "the same point, bytes equal": sgq(folder, "point", "whole.sgq", "--json") == sgq(folder, "point", "pieces.sgq", "--json"),
            "the same events": events(folder, "whole.sgq") == events(folder, "pieces.sgq"),
            "whatever users received is in the ledger": sorted(received) == sorted(asked),
            "what came again was out at a kill": again <= arguments.open * killed,
            "the record is sound": json.loads(sgq(folder, "verify", "pieces.sgq", "--json"))["sound"],
        }
        print(f"{killed} kills of a run of {arguments.queries} queries, {arguments.open} out at once, {queries} of them before the last kill")
        print(f"{again} questions came again to a user, {again / killed:.2f} a kill; the whole run took {whole:.1f} s")
        report(checks)


def fuzz(arguments):
    with tempfile.TemporaryDirectory() as place:
        folder = pathlib.Path(place)
        queries, each = 500, -(-arguments.answers // 500)
        for name in ["good.sgq", "fuzzed.sgq"]:
            new(folder, name, "--budget", str(queries))
        sgq(folder, "run", "good.sgq", "--command", command(), "--quiet")
        asking = command(hostile=each, seed=arguments.seed)
        begun = time.monotonic()
        process = subprocess.Popen(
            [SGQ, "session", "run", "fuzzed.sgq", "--command", asking, "--quiet", "--wrong-lines", "1000000", "--wait", "1ms"],
            cwd=folder,
        )
        _, status, usage = os.wait4(process.pid, 0)
        seconds, peak = time.monotonic() - begun, usage.ru_maxrss / (1 if sys.platform == "darwin" else 1024)
        kinds = [event[0] for event in events(folder, "fuzzed.sgq")]
        rows = kinds.count("refused") + kinds.count("noted")
        checks = {
            "it ends well": status == 0,
            "a row for each": rows >= queries * each,
            "none in the state": sgq(folder, "point", "good.sgq", "--json") == sgq(folder, "point", "fuzzed.sgq", "--json"),
            "nothing failed": kinds.count("failed") == 0 and kinds.count("answered") == queries,
            "memory is bounded": peak < 200,
            "the record is sound": json.loads(sgq(folder, "verify", "fuzzed.sgq", "--json"))["sound"],
        }
        print(f"{queries * each} hostile answers in {seconds:.1f} s, {queries * each / seconds:.0f} a second; {rows} rows of them")
        print(f"{peak:.0f} MiB of memory at most; the ledger has {(folder / 'fuzzed.sgq').stat().st_size / 2**20:.0f} MiB")
        report(checks)


def report(checks):
    for what, holds in checks.items():
        print(f"  {'yes' if holds else 'NO ':<4}{what}")
    if not all(checks.values()):
        sys.exit(1)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    verbs = parser.add_subparsers(required=True)
    verb = verbs.add_parser("kills")
    verb.add_argument("--kills", type=int, default=200)
    verb.add_argument("--queries", type=int, default=2000)
    verb.add_argument("--open", type=int, default=4)
    verb.add_argument("--method", default="saga")
    verb.add_argument("--seed", type=int, default=1)
    verb.set_defaults(run=kills)
    verb = verbs.add_parser("fuzz")
    verb.add_argument("--answers", type=int, default=100_000)
    verb.add_argument("--seed", type=int, default=1)
    verb.set_defaults(run=fuzz)
    verb = verbs.add_parser("user")
    verb.add_argument("--hostile", type=int, default=0)
    verb.add_argument("--pause", type=float, default=0)
    verb.add_argument("--received")
    verb.add_argument("--seed", type=int, default=1)
    verb.set_defaults(run=user)
    arguments = parser.parse_args()
    arguments.run(arguments)


if __name__ == "__main__":
    main()
