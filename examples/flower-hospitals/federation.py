"""Makes and runs a deployed Flower federation on this machine: a SuperLink and one SuperNode for each user, with TLS and node keys.

    python federation.py keys FOLDER --users users.csv      once: certificates, and a key for each node
    python federation.py up FOLDER --data data              starts all of it, until Ctrl-C
    python federation.py down FOLDER                        ends it from elsewhere

Everything lies in FOLDER (keys, logs, Flower's own configuration); nothing of your own ~/.flwr is read or written. Everything
listens on 127.0.0.1 only. In a real study each clinic starts its own SuperNode; `up` prints the command that it would type.
"""

from __future__ import annotations

import argparse
import csv
import re
import shlex
import signal
import sys
import time
from pathlib import Path

from certificates import make_keys
from deployment import CONNECTION, RESTART_PAUSE, START_TIMEOUT, Federation, FederationError, Value

# Names become file names and words of commands.
NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}")


def node_names(users: Path | None, names: str | None) -> list[str]:
    """The nodes' names, from the column `user` of a CSV file or from a list with commas."""
    if users:
        with users.open(newline="", encoding="utf-8-sig") as file:
            rows = list(csv.DictReader(file))
        if not rows or "user" not in rows[0]:
            raise FederationError(f"{users} has no column `user`, or no rows")
        found = [row["user"].strip() for row in rows]
    else:
        found = [name.strip() for name in (names or "").split(",")]
    for name in found:
        if not NAME.fullmatch(name) or name == "superlink":
            raise FederationError(f"{name!r} cannot be a node's name: letters, digits, . _ - (at most 64), and not `superlink`")
    if len(set(found)) < len(found):
        raise FederationError("two users have the same name")
    return found


def keys(arguments: argparse.Namespace) -> None:
    """Makes the keys."""
    names = node_names(arguments.users, arguments.names)
    made = make_keys(arguments.folder.resolve() / "keys", names, tuple(arguments.host))
    for path in made:
        print(f"  {path}")
    print(f"{len(made)} files made, for {len(names)} nodes; what was there already stays")


def up(arguments: argparse.Namespace) -> None:
    """Starts everything, says what to type, and stays until Ctrl-C."""
    federation = Federation(arguments.folder, database=arguments.database)
    names = sorted(path.stem for path in (federation.keys / "nodes").glob("*.pub"))
    if not names:
        raise FederationError(
            f"{federation.keys}/nodes has no keys; make them with: python federation.py keys {arguments.folder} …"
        )
    if found := federation.running():
        raise FederationError(
            f"{', '.join(sorted(found))} run already; end them with: python federation.py down {arguments.folder}"
        )
    configs = {name: _node_config(name, arguments) for name in names}
    for ending in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(ending, lambda *_: sys.exit(0))
    # Shells let what they start with `&` ignore it.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    stays = False
    try:
        federation.start_superlink()
        print(f"  superlink  {federation.address}, TLS, registered nodes only")
        for name in names:
            federation.register(name)
            federation.start_node(name, configs[name])
        for name in names:
            federation.wait_online(name, timeout=START_TIMEOUT + len(names))
            print(f"  {name}  online")
        _next_steps(federation, names[0], arguments.detach)
        stays = arguments.detach
        if not stays:
            _watch(federation, names)
    except KeyboardInterrupt:
        print()
    finally:
        if not stays:
            # A second Ctrl-C must not leave half of it running.
            signal.signal(signal.SIGINT, signal.SIG_IGN)
            federation.stop()
            print("  ended")


def _node_config(name: str, arguments: argparse.Namespace) -> dict[str, Value]:
    config: dict[str, Value] = {"user": name}
    if arguments.data:
        data = (arguments.data / f"{name}.csv").resolve()
        if not data.exists():
            raise FederationError(f"{data} is not there: --data wants one file for each node")
        config["data"] = str(data)
    for word in arguments.set:
        key, is_there, value = word.partition("=")
        if not is_there or not key:
            raise FederationError(f"--set {word}: write KEY=VALUE")
        config[key] = str(Path(value).resolve()) if Path(value).exists() else value
    return config


def _next_steps(federation: Federation, name: str, detached: bool) -> None:
    command = shlex.join(federation.node_command(name))
    end = f"python federation.py down {shlex.quote(str(federation.folder))}" if detached else "Ctrl-C"
    print(
        f"""
What each clinic would type on its own machine, {name} for one:
  {command}

Start an app, in another terminal:
  export FLWR_HOME={shlex.quote(str(federation.home))} FLWR_TELEMETRY_ENABLED=0 FLWR_DISABLE_UPDATE_CHECK=1
  flwr run APP {CONNECTION} --stream --run-config "…"        APP: the folder with pyproject.toml; README.md has the words

Logs are in {federation.logs}. {end} ends it.""",
        flush=True,
    )


def _watch(federation: Federation, names: list[str]) -> None:
    """Starts a node again that ended, as a clinic's service manager would."""
    again: dict[str, float] = {}
    while True:
        if federation.processes["superlink"].poll() is not None:
            raise FederationError(f"the SuperLink ended: {federation.last_words('superlink')}")
        for name in names:
            process = federation.processes[name]
            if process.poll() is None:
                again.pop(name, None)
            elif time.monotonic() > again.setdefault(name, time.monotonic() + RESTART_PAUSE):
                print(f"  {name} ended and is started again: {federation.last_words(name)}", flush=True)
                federation.start_node(name)
                again.pop(name)
        time.sleep(0.5)


def down(arguments: argparse.Namespace) -> None:
    """Ends everything that `up` started in the folder."""
    federation = Federation(arguments.folder)
    found = federation.running()
    federation.stop()
    print(f"  ended: {', '.join(sorted(found)) or 'nothing was running'}")


def main() -> None:
    """Reads the command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    verbs = parser.add_subparsers(required=True, metavar="VERB")
    for verb, explain in ((keys, "make certificates and keys"), (up, "start the federation"), (down, "end it")):
        one = verbs.add_parser(verb.__name__, help=explain, description=verb.__doc__)
        one.add_argument("folder", type=Path, help="where everything of this federation lies")
        one.set_defaults(verb=verb)
        if verb is keys:
            who = one.add_mutually_exclusive_group(required=True)
            who.add_argument("--users", type=Path, help="CSV file with a column `user`, as `sgq session new` reads it")
            who.add_argument("--names", help="or the names themselves: north,south,west")
            one.add_argument("--host", action="append", default=[], help="a name or address of the server beside 127.0.0.1")
        if verb is up:
            one.add_argument("--data", type=Path, help="folder with NAME.csv for each node: its node config gets data=…")
            one.add_argument(
                "--set", action="append", default=[], metavar="KEY=VALUE", help="more node config; files get full paths"
            )
            one.add_argument("--database", action="store_true", help="the SuperLink keeps its state on disk")
            one.add_argument("--detach", action="store_true", help="return when all are online; end it with `down`")
    arguments = parser.parse_args()
    try:
        arguments.verb(arguments)
    except (FederationError, OSError) as error:
        sys.exit(f"error: {error}")


if __name__ == "__main__":
    main()
