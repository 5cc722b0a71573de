"""Every view of the page and every report: for who does not see it, sees little of it, uses no pointer, a phone, paper or the night."""

import pytest

VIEWS = ["folder", "new", "small", "study", "large", "fit", "run", "reproduce"]
LONGEST_WALK = 400


@pytest.fixture(params=VIEWS)
def view(request, open_page):
    """A page that is at rest, and how to open it in another way."""
    name = request.param
    if name in ("fit", "run", "reproduce"):
        url = request.getfixturevalue("reports")[name].as_uri()
    elif name == "large":
        url = request.getfixturevalue("large_server").url
    else:
        url = request.getfixturevalue("folder_server").url + ("" if name == "folder" else f"#s={name}.sgq")

    def open_view(**options):
        page = open_page(url, **options)
        page.name = name
        if name == "folder":
            page.page.get_by_role("row").nth(3).wait_for()
        elif name != "new":
            page.wait_for_picture()
        page.settle()
        return page

    return open_view


def test_it_is_clear_and_in_order(view, shot):
    page = view()
    shot(page, page.name, full_page=True)
    assert page.audit("texts", "lines", "controls", "headings", "pictures", "ids") == []
    assert page.page.title() and page.page.locator("html").get_attribute("lang") == "en"


def test_it_is_clear_at_night(view, shot):
    page = view(color_scheme="dark")
    shot(page, f"{page.name}-dark", full_page=True)
    assert page.audit("texts", "lines") == []
    paper = page.page.evaluate("() => getComputedStyle(document.body).backgroundColor.match(/[\\d.]+/g).map(Number)")
    assert max(paper[:3]) < 60, paper


def test_it_fits_a_phone(view, shot):
    page = view(viewport={"width": 360, "height": 740}, has_touch=True)
    shot(page, f"{page.name}-phone", full_page=True)
    wide = "() => [...document.querySelectorAll('body *')].filter((it) => it.checkVisibility() && it.getBoundingClientRect().right > innerWidth + 1).slice(0, 5).map((it) => it.outerHTML.slice(0, 150))"
    assert page.page.evaluate("() => document.documentElement.scrollWidth") <= 360, page.page.evaluate(wide)
    assert page.audit("texts") == []


def test_it_prints(view, shot):
    page = view()
    page.page.emulate_media(media="print")
    page.settle()
    assert page.audit("texts", "lines") == []
    assert len(page.page.pdf()) > 10_000


def test_all_of_it_is_reached_by_keyboard(view):
    page = view()
    page.audit()
    page.page.evaluate("audit.begin()")
    for _ in range(LONGEST_WALK):
        page.page.keyboard.press("Tab")
        if not page.page.evaluate("audit.visit()"):
            break
    assert page.page.evaluate("audit.unreached()") == []


def test_nothing_moves_once_it_is_there(view):
    page = view()
    page.page.wait_for_timeout(500)
    page.page.evaluate("() => { seen.shifts = []; }")
    page.page.wait_for_timeout(1000)
    assert page.page.evaluate("() => seen.shifts") == []
