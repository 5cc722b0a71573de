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
import http.client
import json
import os
import re
import shlex
import shutil
import signal
import socket
import ssl
import subprocess
import sys
import time
from pathlib import Path
from types import TracebackType
from typing import Any

CONNECTION = "hospitals"
# Names become file names and words of commands.
NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}")
COLOUR = re.compile(r"\x1b\[[0-9;]*m")
# Seconds. A task waits this long for its process at most; Flower's own default is 1.
TASK_POLL = 0.2
START_TIMEOUT = 30.0
STOP_TIMEOUT = 5.0
# A node that was killed is taken for alive, and refused, until two of its heartbeats (30 s) are missing.
REFUSED_AFTER_KILL = 75.0
RESTART_PAUSE = 5.0

Value = str | int | float | bool


class FederationError(Exception):
    """Something that the user can mend; the message says how."""


class Federation:
    """The processes of one federation. Used as a context manager, nothing is left running."""

    def __init__(self, folder: str | Path, *, database: bool = False, simulated_nodes: int = 0, cwd: str | Path | None = None):
        """`cwd` is where the SuperLink is started, and therefore where the app's server side finds relative paths."""
        self.folder = Path(folder).resolve()
        self.keys = self.folder / "keys"
        self.home = self.folder / "flower"
        self.logs = self.folder / "logs"
        self.pids = self.folder / "pids"
        self.database = database
        self.simulated_nodes = simulated_nodes
        self.cwd = Path(cwd) if cwd else None
        self.address = ""
        self.processes: dict[str, subprocess.Popen[bytes]] = {}
        self.configs: dict[str, dict[str, Value]] = {}
        for folder in (self.home, self.logs, self.pids):
            folder.mkdir(parents=True, exist_ok=True, mode=0o700)

    def __enter__(self) -> Federation:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.stop()

    # The SuperLink.

    def start_superlink(self) -> None:
        """Starts the SuperLink (again, on the same port as before) and waits until it answers."""
        if not self.address:
            self.address = f"127.0.0.1:{free_port()}"
        host, port = self.address.split(":")
        words = ["flower-superlink", "--host", host, "--port", port, "--disable-runtime-dependency-installation"]
        if self.simulated_nodes:
            words += ["--insecure", "--simulation"]
        else:
            self._need_keys()
            words += ["--ssl-ca-certfile", self.keys / "ca.pem", "--ssl-certfile", self.keys / "server.pem"]
            words += ["--ssl-keyfile", self.keys / "server.key", "--enable-supernode-auth"]
        if self.database:
            words += ["--database", self.folder / "superlink.db"]
        self._write_connection()
        self._start("superlink", words, self.home, self.cwd)
        self._wait(START_TIMEOUT, "superlink", self._superlink_answers)

    def kill_superlink(self) -> None:
        """SIGKILL to the SuperLink and to what it started, the app's server side included."""
        self._kill("superlink")

    def register(self, name: str) -> None:
        """Makes the node's public key known to the SuperLink; that it is known already is no error."""
        answer = self._flwr("supernode", "register", self.keys / "nodes" / f"{name}.pub", CONNECTION, "--name", name, check=False)
        if answer.returncode != 0 and "already in use" not in answer.stdout + answer.stderr:
            raise FederationError(f"the key of {name} cannot be registered: {(answer.stderr or answer.stdout).strip()}")

    # Nodes.

    def start_node(self, name: str, config: dict[str, Value] | None = None, **replace: Any) -> None:
        """Starts a node, and does not wait for it. `config` is its node config; without it, the one of the last start.

        `replace` is for trying what must be refused: `key` and `authority` are other files, or None for none at all.
        """
        if config is not None:
            self.configs[name] = config
        home = self.folder / "nodes" / name
        home.mkdir(parents=True, exist_ok=True, mode=0o700)
        self._start(name, [*self.node_command(name, **replace), "--host", "127.0.0.1", "--port", free_port()], home, home)

    def node_command(self, name: str, **replace: Any) -> list[str]:
        """What a clinic types to start its node."""
        key = replace.get("key", self.keys / "nodes" / name)
        authority = replace.get("authority", self.keys / "ca.pem")
        config = self.configs.get(name, {"user": name})
        words = ["flower-supernode", "--superlink", self.address, "--node-config", config_text(config)]
        words += ["--root-certificates", str(authority)] if authority else []
        return [*words, *(["--auth-supernode-private-key", str(key)] if key else [])]

    def wait_online(self, *names: str, timeout: float = START_TIMEOUT) -> None:
        """Waits until each of the nodes is connected. A node that ended raises, with the last lines of its log."""
        for name in names:
            self._wait(timeout, name, lambda name=name: "SuperNode ID:" in self.log(name))

    def kill_node(self, name: str) -> None:
        """SIGKILL to the node and to what it started, the app's client side included."""
        self._kill(name)

    def restart_node(self, name: str, timeout: float = REFUSED_AFTER_KILL) -> float:
        """Starts a killed node until the SuperLink takes it. Returns the seconds that it was refused."""
        start = time.monotonic()
        while True:
            self.start_node(name)
            try:
                self.wait_online(name)
                return time.monotonic() - start
            except FederationError:
                if time.monotonic() - start > timeout:
                    raise
                time.sleep(RESTART_PAUSE)

    def nodes(self) -> list[dict[str, Any]]:
        """What `flwr supernode list` says of the nodes."""
        return self._json("supernode", "list", CONNECTION)["nodes"]

    # Runs of an app.

    def run(self, app: str | Path, config: dict[str, Value] | None = None) -> str:
        """Starts the app and returns the run's id; does not wait."""
        words: list[Any] = ["run", app, CONNECTION]
        if config:
            words += ["--run-config", config_text(config)]
        if self.simulated_nodes:
            words += ["--federation-config", f"num-supernodes={self.simulated_nodes} client-resources-num-cpus=1"]
        return self._json(*words)["run-id"]

    def status(self, run: str) -> str:
        """`pending`, `starting`, `running`, or `finished:completed`, `finished:failed`, `finished:stopped`."""
        return self._json("list", CONNECTION, "--run-id", run)["runs"][0]["status"]

    def wait(self, run: str, timeout: float) -> str:
        """Waits until the run has finished, and returns its last status."""
        end = time.monotonic() + timeout
        while not (status := self.status(run)).startswith("finished"):
            if time.monotonic() > end:
                raise FederationError(f"run {run} is still {status} after {timeout:g} s; see {self.logs / 'superlink.log'}")
            time.sleep(0.5)
        return status

    def stop_run(self, run: str) -> None:
        """Stops the run, as `flwr stop` does."""
        self._json("stop", run, CONNECTION)

    def run_log(self, run: str) -> str:
        """What the app's server side printed."""
        return self._flwr("log", run, CONNECTION, "--show").stdout

    def kill_server_app(self) -> int:
        """SIGKILL to the app's server side, of every run. Returns how many processes that were."""
        found = [pid for pid, command in self._below("superlink") if "flwr-serverapp" in command or "flwr-simulation" in command]
        for pid in found:
            _signal(pid, signal.SIGKILL)
        return len(found)

    # The end of all.

    def stop(self) -> None:
        """Ends every process of this folder, also those that another call of this program started."""
        found = {name: self._find(name) for name in self._names()}
        below = [pid for name in found for pid, _ in self._below(name)]
        # Nodes first: they tell the SuperLink that they leave.
        for name in sorted(found, key=lambda name: name == "superlink"):
            if pid := found[name]:
                _signal(pid, signal.SIGTERM)
                self._gone(name, pid, STOP_TIMEOUT)
            (self.pids / name).unlink(missing_ok=True)
        for pid in below:
            _signal(pid, signal.SIGKILL)
        self.processes.clear()

    def log(self, name: str) -> str:
        """What the process printed since its last start."""
        path = self.logs / f"{name}.log"
        return path.read_text(encoding="utf-8", errors="replace") if path.exists() else ""

    # Below: processes, and the commands of Flower.

    def _start(self, name: str, words: list[Any], home: Path, cwd: Path | None) -> None:
        if self._find(name):
            raise FederationError(f"{name} is running already; end it with: python federation.py down {self.folder}")
        path = self.logs / f"{name}.log"
        path.write_bytes(b"")
        with path.open("ab") as log:
            process = subprocess.Popen(
                _command(words), stdin=subprocess.DEVNULL, stdout=log, stderr=subprocess.STDOUT, cwd=cwd,
                env=self.environment(home), start_new_session=True,
            )  # fmt: skip
        self.processes[name] = process
        (self.pids / name).write_text(str(process.pid))

    def _wait(self, timeout: float, name: str, there: Any) -> None:
        end = time.monotonic() + timeout
        while not there():
            process = self.processes.get(name)
            if process and process.poll() is not None:
                raise FederationError(f"{name} ended: {_last_words(self.log(name))}")
            if time.monotonic() > end:
                raise FederationError(f"{name} is not there after {timeout:g} s; see {self.logs / name}.log")
            time.sleep(0.1)

    def _superlink_answers(self) -> bool:
        try:
            if self.simulated_nodes:
                connection = http.client.HTTPConnection(self.address, timeout=1)
            else:
                trust = ssl.create_default_context(cafile=str(self.keys / "ca.pem"))
                connection = http.client.HTTPSConnection(self.address, timeout=1, context=trust)
            connection.request("GET", "/health")
            return connection.getresponse().status == 200
        except OSError:
            return False

    def _kill(self, name: str) -> None:
        pid = self._find(name)
        if not pid:
            raise FederationError(f"{name} is not running")
        for each in [pid, *(below for below, _ in self._below(name))]:
            _signal(each, signal.SIGKILL)
        self._gone(name, pid, STOP_TIMEOUT)

    def _gone(self, name: str, pid: int, timeout: float) -> None:
        end = time.monotonic() + timeout
        while self._find(name) == pid:
            if time.monotonic() > end:
                _signal(pid, signal.SIGKILL)
            time.sleep(0.05)

    def _names(self) -> list[str]:
        return [path.name for path in self.pids.iterdir()]

    def _find(self, name: str) -> int | None:
        """The process of that name, if it runs. A pid may have been given to another program since: its command must be ours."""
        if process := self.processes.get(name):
            return process.pid if process.poll() is None else None
        try:
            pid = int((self.pids / name).read_text())
        except (OSError, ValueError):
            return None
        command = _processes().get(pid, (0, ""))[1]
        return pid if "flower-super" in command and (str(self.folder) in command or self.simulated_nodes) else None

    def _below(self, name: str) -> list[tuple[int, str]]:
        """What the process started, and what that started. Flower puts some of it into a session of its own."""
        if not (pid := self._find(name)):
            return []
        every, found = _processes(), [pid]
        for parent in found:
            found += [child for child, (above, _) in every.items() if above == parent]
        return [(child, every[child][1]) for child in found[1:]]

    def environment(self, home: Path) -> dict[str, str]:
        """Ours, without the user's own settings of Flower, and with Flower's reports to its makers switched off."""
        kept = {key: value for key, value in os.environ.items() if not key.startswith("FLWR_")}
        return kept | {
            "FLWR_HOME": str(home),
            "FLWR_TELEMETRY_ENABLED": "0",
            "FLWR_DISABLE_UPDATE_CHECK": "1",
            "FLWR_SUPEREXEC_TASK_POLL_INTERVAL": str(TASK_POLL),
            "RAY_USAGE_STATS_ENABLED": "0",
            "PATH": f"{Path(sys.executable).parent}{os.pathsep}{kept.get('PATH', '')}",
        }

    def _write_connection(self) -> None:
        lines = ["[superlink]", f'default = "{CONNECTION}"', f"[superlink.{CONNECTION}]", f'address = "{self.address}"']
        secure = f"root-certificates = {json.dumps(str(self.keys / 'ca.pem'))}"
        lines.append("insecure = true" if self.simulated_nodes else secure)
        (self.home / "config.toml").write_text("\n".join(lines) + "\n", encoding="utf-8")

    def _need_keys(self) -> None:
        for name in ("ca.pem", "server.pem", "server.key"):
            if not (self.keys / name).exists():
                raise FederationError(f"{self.keys / name} is not there; make it with: python federation.py keys {self.folder} …")

    def _flwr(self, *words: Any, check: bool = True) -> subprocess.CompletedProcess[str]:
        answer = subprocess.run(
            _command(["flwr", *words]), env=self.environment(self.home), cwd=self.cwd, capture_output=True, text=True
        )
        if check and answer.returncode != 0:
            raise FederationError(f"flwr {words[0]} failed: {(answer.stderr or answer.stdout).strip()}")
        return answer

    def _json(self, *words: Any) -> Any:
        text = self._flwr(*words, "--format", "json").stdout
        answer = json.loads(text[text.index("{") :])
        if not answer.get("success"):
            raise FederationError(f"flwr {words[0]} failed: {answer.get('error-message', text)}")
        return answer


def config_text(config: dict[str, Value]) -> str:
    """Keys and values as `--node-config` and `--run-config` read them: TOML, but without a quote inside of quotes."""
    return " ".join(f"{key}={_toml(value)}" for key, value in config.items())


def _toml(value: Value) -> str:
    if isinstance(value, str):
        # What JSON escapes, TOML escapes alike; Flower cuts a text at its first quotation mark, escaped or not.
        return '"' + json.dumps(value)[1:-1].replace('\\"', "\\u0022") + '"'
    return str(value).lower() if isinstance(value, bool) else repr(value)


def free_port() -> int:
    """A port of this machine that nothing listens on now."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def _command(words: list[Any]) -> list[str]:
    beside = Path(sys.executable).parent / words[0]
    program = str(beside) if beside.exists() else shutil.which(words[0])
    if not program:
        raise FederationError(f'{words[0]} is not installed: pip install "./python[flower]"')
    return [program, *map(str, words[1:])]


def _processes() -> dict[int, tuple[int, str]]:
    """pid → (parent, command) of every process here."""
    text = subprocess.run(["ps", "-A", "-ww", "-o", "pid=,ppid=,command="], capture_output=True, text=True, check=True).stdout
    rows = (line.split(None, 2) for line in text.splitlines())
    return {int(row[0]): (int(row[1]), row[2]) for row in rows if len(row) == 3}


def _signal(pid: int, number: signal.Signals) -> None:
    try:
        os.kill(pid, number)
    except ProcessLookupError:
        pass


def _last_words(log: str) -> str:
    """Why a process of Flower ended: what stands below its exit code, or else its last lines."""
    lines = [line.strip() for line in COLOUR.sub("", log).splitlines()]
    code = next((at for at, line in enumerate(lines) if "Exit Code:" in line), None)
    if code is None:
        return " | ".join([line for line in lines if line][-4:])
    end = lines.index("", code) if "" in lines[code:] else len(lines)
    return " | ".join(lines[code:end]).removeprefix("ERROR :     ")


# The command line.


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
    from certificates import make_keys

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
        raise FederationError(f"{federation.keys}/nodes has no keys; make them with: python federation.py keys {arguments.folder} …")
    configs = {name: _node_config(name, arguments) for name in names}
    for ending in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(ending, lambda *_: sys.exit(0))
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
    print(f"""
What each clinic would type on its own machine, {name} for one:
  {command}

Start an app, in another terminal:
  export FLWR_HOME={shlex.quote(str(federation.home))} FLWR_TELEMETRY_ENABLED=0 FLWR_DISABLE_UPDATE_CHECK=1
  flwr run . {CONNECTION} --stream

Logs are in {federation.logs}. {end} ends it.""", flush=True)


def _watch(federation: Federation, names: list[str]) -> None:
    """Starts a node again that ended, as a clinic's service manager would."""
    again: dict[str, float] = {}
    while True:
        if federation.processes["superlink"].poll() is not None:
            raise FederationError(f"the SuperLink ended: {_last_words(federation.log('superlink'))}")
        for name in names:
            process = federation.processes[name]
            if process.poll() is None:
                again.pop(name, None)
            elif time.monotonic() > again.setdefault(name, time.monotonic() + RESTART_PAUSE):
                print(f"  {name} ended and is started again: {_last_words(federation.log(name))}", flush=True)
                federation.start_node(name)
                again.pop(name)
        time.sleep(0.5)


def down(arguments: argparse.Namespace) -> None:
    """Ends everything that `up` started in the folder."""
    federation = Federation(arguments.folder)
    found = [name for name in federation._names() if federation._find(name)]
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
            one.add_argument("--set", action="append", default=[], metavar="KEY=VALUE", help="more node config; files get full paths")
            one.add_argument("--database", action="store_true", help="the SuperLink keeps its state on disk")
            one.add_argument("--detach", action="store_true", help="return when all are online; end it with `down`")
    arguments = parser.parse_args()
    try:
        arguments.verb(arguments)
    except (FederationError, OSError) as error:
        sys.exit(f"error: {error}")


if __name__ == "__main__":
    main()
