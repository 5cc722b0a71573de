"""The processes of a Flower federation on this machine: started, killed, started again and ended, by people and by tests.

`federation.py` is the command line of it. Everything lies in one folder, Flower's own configuration too.
"""

from __future__ import annotations

import http.client
import json
import os
import re
import shutil
import signal
import socket
import ssl
import subprocess
import sys
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from types import TracebackType
from typing import Any

CONNECTION = "hospitals"
COLOUR = re.compile(r"\x1b\[[0-9;]*m")
# Seconds. A task waits this long for its process at most; Flower's own default is 1.
TASK_POLL = 0.2
START_TIMEOUT = 30.0
STOP_TIMEOUT = 5.0
# A node that was killed is taken for alive, and refused, until two of its heartbeats (30 s) are missing.
REFUSED_AFTER_KILL = 75.0
RESTART_PAUSE = 5.0  # between two tries

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
        for each in (self.home, self.logs, self.pids):
            each.mkdir(parents=True, exist_ok=True, mode=0o700)

    def __enter__(self) -> Federation:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.stop()

    # The SuperLink.

    def start_superlink(self) -> None:
        """Starts the SuperLink (again, on the same port as before) and waits until it answers."""
        self._must_not_run("superlink")
        if not self.address:
            self.address = f"127.0.0.1:{free_port()}"
        host, port = self.address.split(":")
        words: list[Any] = ["flower-superlink", "--host", host, "--port", port, "--disable-runtime-dependency-installation"]
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
            self._wait(timeout, name, partial(self._is_connected, name))

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
        return list(self._json("supernode", "list", CONNECTION)["nodes"])

    # Runs of an app.

    def run(self, app: str | Path, config: dict[str, Value] | None = None) -> str:
        """Starts the app and returns the run's id; does not wait."""
        words: list[Any] = ["run", app, CONNECTION]
        if config:
            words += ["--run-config", config_text(config)]
        if self.simulated_nodes:
            words += ["--federation-config", f"num-supernodes={self.simulated_nodes} client-resources-num-cpus=1"]
        return str(self._json(*words)["run-id"])

    def status(self, run: str) -> str:
        """`pending`, `starting`, `running`, or `finished:completed`, `finished:failed`, `finished:stopped`."""
        return str(self._json("list", CONNECTION, "--run-id", run)["runs"][0]["status"])

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
        found = self.running()
        below = [pid for name in found for pid, _ in self._below(name)]
        # Nodes first: they tell the SuperLink that they leave.
        for name in sorted(found, key=lambda name: name == "superlink"):
            _signal(found[name], signal.SIGTERM)
            self._gone(name, found[name], STOP_TIMEOUT)
        for pid in below:
            _signal(pid, signal.SIGKILL)
        for path in self.pids.iterdir():
            path.unlink()
        self.processes.clear()

    def running(self) -> dict[str, int]:
        """The processes of this folder that run now, by name: `superlink`, and the nodes' names."""
        return {path.name: pid for path in self.pids.iterdir() if (pid := self._find(path.name))}

    def log(self, name: str) -> str:
        """What the process printed since its last start."""
        path = self.logs / f"{name}.log"
        return path.read_text(encoding="utf-8", errors="replace") if path.exists() else ""

    def last_words(self, name: str) -> str:
        """Why a process of Flower ended: the signal, or what stands below Flower's exit code, or else its last lines."""
        process = self.processes.get(name)
        if process and (process.returncode or 0) < 0:
            return f"killed by signal {-process.returncode}"
        lines = [line.strip() for line in COLOUR.sub("", self.log(name)).splitlines()]
        code = next((at for at, line in enumerate(lines) if "Exit Code:" in line), None)
        if code is None:
            return " | ".join([line for line in lines if line][-4:])
        end = lines.index("", code) if "" in lines[code:] else len(lines)
        return " | ".join(lines[code:end]).removeprefix("ERROR :").strip()

    # Below: processes, and the commands of Flower.

    def _start(self, name: str, words: list[Any], home: Path, cwd: Path | None) -> None:
        self._must_not_run(name)
        path = self.logs / f"{name}.log"
        path.write_bytes(b"")
        with path.open("ab") as log:
            process = subprocess.Popen(
                _command(words), stdin=subprocess.DEVNULL, stdout=log, stderr=subprocess.STDOUT, cwd=cwd,
                env=self.environment(home), start_new_session=True,
            )  # fmt: skip
        self.processes[name] = process
        (self.pids / name).write_text(str(process.pid))

    def _must_not_run(self, name: str) -> None:
        if self._find(name):
            raise FederationError(f"{name} is running already; end it with: python federation.py down {self.folder}")

    def _wait(self, timeout: float, name: str, there: Callable[[], bool]) -> None:
        end = time.monotonic() + timeout
        while not there():
            process = self.processes.get(name)
            if process and process.poll() is not None:
                raise FederationError(f"{name} ended: {self.last_words(name)}")
            if time.monotonic() > end:
                raise FederationError(f"{name} is not there after {timeout:g} s; see {self.logs / name}.log")
            time.sleep(0.1)

    def _is_connected(self, name: str) -> bool:
        return "SuperNode ID:" in self.log(name)

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
            _command(["flwr", *words]), env=self.environment(self.home), cwd=self.cwd, capture_output=True, text=True, check=False
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
        return int(probe.getsockname()[1])


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
