"""The page of a session while another process runs it."""

import time

import pytest

# What the page says of how many answers there are, wherever it says it: the number beside the words "Queries answered".
QUERIES = """() => {
  const label = [...document.querySelectorAll("dt")].find((it) => it.textContent.trim() === "Queries answered");
  const words = label?.parentElement.querySelector("dd")?.textContent.replaceAll(",", "") ?? "";
  return Number(words.match(/\\d+/)?.[0] ?? -1);
}"""
# Writes down when each number of answers was first seen.
WATCH = """(read) => {
  const queries = eval(`(${read})`);
  window.times = [];
  const look = () => { const now = queries(); if (times.at(-1)?.[0] !== now) times.push([now, Date.now()]); };
  look();
  new MutationObserver(look).observe(document.querySelector("main"), { childList: true, subtree: true, characterData: true });
}"""


def live(open_page, growing, **options):
    page = open_page(growing.server.url, **options)
    page.wait_for_picture()
    return page


def test_a_new_answer_is_on_the_page_within_a_second(open_page, growing):
    page = live(open_page, growing)
    page.page.evaluate(WATCH.replace("eval(`(${read})`)", QUERIES), None)
    page.page.wait_for_timeout(5000)
    seen = page.page.evaluate("() => times")
    waits = [min((at for number, at in seen if number >= told), default=None) for told, _ in growing.answers()]
    # What came before the page was open, or after it was last looked at, says nothing.
    first, last = seen[0][1], seen[-1][1]
    waits = [(shown or 1e18) - at for (_, at), shown in zip(growing.answers(), waits, strict=False) if first < at < last - 1000]
    assert len(waits) >= 4, (growing.answers(), seen)
    assert max(waits) < 1000, sorted(waits)


def test_nothing_moves_while_answers_come(open_page, growing):
    page = live(open_page, growing)
    page.settle()
    before = page.page.evaluate(QUERIES)
    page.page.evaluate("() => { seen.shifts = []; }")
    page.page.wait_for_timeout(4000)
    assert page.page.evaluate(QUERIES) >= before + 4
    assert page.page.evaluate("() => seen.shifts") == []


def test_a_server_that_ends_is_said_and_does_not_break_the_page(open_page, growing):
    page = live(open_page, growing)
    growing.server.process.terminate()
    page.page.get_by_text("Connection lost", exact=False).first.wait_for()
    # That the server is gone is the browser's own complaint.
    page.complaints[:] = [it for it in page.complaints if "ERR_" not in it]


@pytest.mark.parametrize("view", ["folder", "session"])
def test_what_goes_wrong_is_said(view, open_page, folder_server):
    page = open_page(folder_server.url if view == "folder" else folder_server.url + "#s=nothing-of-this-name")
    page.page.get_by_text("cannot be read" if view == "folder" else "no such session", exact=False).first.wait_for()
    page.complaints[:] = [it for it in page.complaints if "404" not in it]


def test_a_writer_is_not_held_up(growing, open_page):
    began = time.monotonic()
    live(open_page, growing)
    page = open_page(growing.server.url)
    page.wait_for_picture()
    before = len(growing.answers())
    page.page.wait_for_timeout(3000)
    # One answer each 0.4 s, and what a write takes.
    assert len(growing.answers()) - before >= 5, time.monotonic() - began
