"""Programs that run while a test does, and a page that is watched."""

import os
import re
import subprocess
import threading
import time
from pathlib import Path
from urllib.parse import urlsplit

HERE = Path(__file__).parent
BEFORE = (HERE / "before.js").read_text(encoding="utf-8")
AUDIT = (HERE / "audit.js").read_text(encoding="utf-8")
# In a container there is no sandbox, and nothing but the pages may ask for anything.
FLAGS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]
PATIENCE_S = 60


def sgq(*arguments, **options):
    """Runs the command line to its end."""
    command = [os.environ["SGQ_BINARY"], *map(str, arguments)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=PATIENCE_S, check=False, **options)
    assert done.returncode == 0, f"{command} ended with {done.returncode}:\n{done.stderr}"
    return done.stdout


def grow(ledger, *, users, dim, queries):
    """Makes a ledger."""
    command = [os.environ["SGQ_GROW"], str(ledger), str(users), str(dim), str(queries)]
    subprocess.run(command, check=True, capture_output=True, timeout=PATIENCE_S)


class Process:
    """A program whose lines are read while it runs."""

    def __init__(self, command):
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self.lines = []
        self.news = threading.Condition()
        self.reader = threading.Thread(target=self.read, daemon=True)
        self.reader.start()

    def read(self):
        for line in self.process.stdout:
            with self.news:
                self.lines.append(line.strip())
                self.news.notify_all()

    def line(self, pattern):
        """The first line that matches."""
        found = []

        def look():
            found[:] = [match for line in self.lines if (match := re.search(pattern, line))]
            return found or self.process.poll() is not None

        with self.news:
            self.news.wait_for(look, PATIENCE_S)
        assert found, f"{self.process.args} said no {pattern}: {self.lines}"
        return found[0]

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.stdin.close()
        self.process.terminate()
        self.process.wait(PATIENCE_S)


class Server(Process):
    """`sgq serve` on a port that is free."""

    def __init__(self, path, *more):
        super().__init__([os.environ["SGQ_BINARY"], "serve", str(path), "--port", "0", *more])
        self.url = self.line(r"http://\S+")[0]


class Grower(Process):
    """A session that asks and is answered at a pace."""

    def __init__(self, ledger, *, users, dim, queries, pace):
        self.ledger = ledger
        super().__init__([os.environ["SGQ_GROW"], str(ledger), *map(str, (users, dim, queries, pace))])
        self.line("ready")

    def answers(self):
        """How many answers there were at which time, in milliseconds since 1970."""
        with self.news:
            return [tuple(map(int, line.split())) for line in self.lines if line[:1].isdigit()]


class Watched:
    """A page of which everything is kept that the browser says of it."""

    def __init__(self, chromium, url, **options):
        options.setdefault("viewport", {"width": 1280, "height": 900})
        self.context = chromium.new_context(reduced_motion="reduce", **options)
        self.context.set_default_timeout(10_000)
        self.page = self.context.new_page()
        self.origin = "{0.scheme}://{0.netloc}".format(urlsplit(url))
        self.complaints = []
        self.requests = []
        self.page.on("console", self.hear)
        self.page.on("pageerror", lambda error: self.complaints.append(f"error: {error}"))
        self.page.on("request", lambda request: self.requests.append(request.url))
        self.page.on("requestfailed", lambda request: self.failed(request))
        self.page.add_init_script(BEFORE)
        self.url = url
        self.page.goto(url)

    def hear(self, message):
        if message.type in ("error", "warning", "assert"):
            self.complaints.append(f"{message.type}: {message.text} ({message.location.get('url', '')})")

    def failed(self, request):
        # A page that is left ends what it was reading.
        if request.failure != "net::ERR_ABORTED":
            self.complaints.append(f"{request.url}: {request.failure}")

    def audit(self, *what):
        """What is wrong by these functions of audit.js."""
        self.page.evaluate(AUDIT)
        return [words for it in what for words in self.page.evaluate(f"audit.{it}()")]

    def wait_for(self, condition, argument=None, seconds=15):
        """Waits until a function of JavaScript says yes. A strict policy lets nothing but this ask again and again."""
        end = time.monotonic() + seconds
        while not self.page.evaluate(condition, argument):
            assert time.monotonic() < end, f"not within {seconds} s: {condition} {argument or ''}"
            self.page.wait_for_timeout(30)

    def wait_for_picture(self):
        self.wait_for("() => seen.firstPicture !== null")

    def settle(self):
        """Waits until a page that is not live is at rest."""
        self.page.wait_for_timeout(300)

    def foreign_requests(self):
        is_own = lambda url: url.startswith((self.origin + "/", "data:", "blob:"))  # noqa: E731
        # A report from a disk is one file, and asks for nothing.
        allowed = [self.url.split("#")[0]] if self.url.startswith("file:") else None
        return [url for url in self.requests if (url.split("#")[0] not in allowed if allowed else not is_own(url))]

    def check_quiet(self):
        """Nothing in the console, nothing that the policy forbids, and no request to anywhere else."""
        assert not self.complaints, "\n".join(self.complaints)
        assert not (found := self.page.evaluate("() => seen.violations")), found
        assert not (found := self.foreign_requests()), found

    def close(self):
        self.context.close()
