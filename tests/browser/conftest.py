"""A headless Chromium, the programs, and the sessions and reports that the tests look at. `cargo xtask browser` runs them all."""

import os
from pathlib import Path

import pytest
from harness import FLAGS, Grower, Server, Watched, grow, sgq
from playwright.sync_api import sync_playwright

ROOT = Path(__file__).resolve().parents[2]
SHOTS = ROOT / "target" / "browser" / "screenshots"


@pytest.fixture(scope="session")
def chromium():
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=os.environ["SGQ_CHROMIUM"], args=FLAGS)
        yield browser
        browser.close()


@pytest.fixture
def open_page(chromium):
    """Opens an address in a window of its own, which is watched until the test is over: whatever the browser complains of, or a
    request to anywhere else, fails the test."""
    opened = []

    def open_page(url, **options):
        page = Watched(chromium, url, **options)
        opened.append(page)
        return page

    yield open_page
    for page in opened:
        page.check_quiet()
        page.close()


@pytest.fixture
def shot():
    """Keeps a picture of a page, for a person to look at."""
    SHOTS.mkdir(parents=True, exist_ok=True)

    def shot(page, name, **options):
        page.page.screenshot(path=SHOTS / f"{name}.png", **options)

    return shot


@pytest.fixture(scope="session")
def folder(tmp_path_factory):
    """Sessions of every kind: one that goes on, one by a plan, and a file that is damaged."""
    place = tmp_path_factory.mktemp("sessions")
    grow(place / "small.sgq", users=12, dim=5, queries=96)
    grow(place / "new.sgq", users=9, dim=3, queries=0)
    study(place)
    damaged = (place / "small.sgq").read_bytes()
    (place / "damaged.sgq").write_bytes(damaged[:4096] + b"\xff" * 4096 + damaged[8192:])
    (place / "text.sgq").write_text("not a ledger")
    return place


def study(place):
    """A logistic regression over four clinics by a plan, to its end."""
    names = [f"clinic-{number}" for number in range(4)]
    work = place / "work"
    work.mkdir()
    write_visits(work / "all.csv", names)
    header, *rows = (work / "all.csv").read_text(encoding="utf-8").splitlines()
    for name in names:
        own = [row.removeprefix(f'"{name}",') for row in rows if row.startswith(f'"{name}",')]
        (work / f"{name}.csv").write_text("\n".join([header.removeprefix("hospital,"), *own, ""]), encoding="utf-8")
    (work / "users.csv").write_text("\n".join(["user", *names, ""]), encoding="utf-8")
    sgq("plan", "new", "model.plan", "--quiet", "--answers", "hessian", "--family", "binomial", "--formula", "died ~ age + sex", cwd=work)
    sgq("session", "new", "../study.sgq", "--plan", "model.plan", "--users", "users.csv", "--precision", "1e-5", cwd=work)
    answer = f"'{os.environ['SGQ_BINARY']}' answer --plan model.plan --data {{user}}.csv --as {{user}}"
    sgq("session", "run", "../study.sgq", "--command", answer, "--quiet", cwd=work)


@pytest.fixture(scope="session")
def folder_server(folder):
    with Server(folder) as server:
        yield server


@pytest.fixture(scope="session")
def small_server(folder):
    with Server(folder / "small.sgq") as server:
        yield server


@pytest.fixture(scope="session")
def large_server(tmp_path_factory):
    """A hundred thousand users and ten thousand answers."""
    ledger = tmp_path_factory.mktemp("large") / "large.sgq"
    grow(ledger, users=100_000, dim=10, queries=10_000)
    with Server(ledger) as server:
        yield server


@pytest.fixture
def growing(tmp_path):
    """A session that goes on while a page is open."""
    with Grower(tmp_path / "growing.sgq", users=12, dim=5, queries=64, pace=400) as grower, Server(grower.ledger) as server:
        grower.server = server
        yield grower


@pytest.fixture(scope="session")
def reports(tmp_path_factory):
    """A report of each command that writes one."""
    place = tmp_path_factory.mktemp("reports")
    data = place / "visits.csv"
    # Names that try what a page may get wrong.
    write_visits(data, HOSTILE + [f"clinic-{number}" for number in range(7)])
    sgq("reproduce", "--out", place / "reproduce", "--quiet", cwd=ROOT)
    sgq("run", ROOT / "experiments" / "paper-fig2.toml", "--out", place / "run", "--trials", "20", cwd=ROOT)
    sgq("fit", data, "--user", "hospital", "--formula", "died ~ age + sex", "--family", "binomial", "--out", place / "fit")
    return {path.parent.name: path for path in sorted(place.glob("*/report.html"))}


HOSTILE = ["<script>document.title='taken'</script>", "مستشفى السلام", "🏥 clinic", '"quoted" & more', "x" * 300]


def write_visits(path, names):
    """Patients of hospitals, the older of whom die more often."""
    state = 7
    with path.open("w", encoding="utf-8") as file:
        file.write("hospital,age,sex,died\n")
        for row in range(600):
            state = (1103515245 * state + 12345) % 2**31
            age = 30 + state % 60
            name = names[row % len(names)].replace('"', '""')
            died = int((state >> 8) % 100 < age - 20)
            file.write(f'"{name}",{age},{"fm"[state >> 5 & 1]},{died}\n')
