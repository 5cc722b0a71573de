"""Names that are markup, long, written from the right, or pictures."""

import pytest

NAMES = ["<script>document.title='taken'</script>", "<img src=x onerror=", "مستشفى السلام", "🏥👩‍⚕️ clinic 🇧🇷", "\"quoted\" 'name' & more; --"]


def check_text(page, names):
    page.settle()
    for name in names:
        page.page.get_by_text(name, exact=False).first.wait_for(state="attached")
    made = page.page.evaluate("() => document.querySelectorAll('main script:not([type]), td script, td img, bdi script, bdi img, text script').length")
    assert made == 0 and page.page.title() != "taken"


def test_names_of_users_are_text(open_page, small_server, shot):
    page = open_page(small_server.url)
    page.page.get_by_text("clinic-000008").first.wait_for()
    check_text(page, NAMES)
    # The longest name is cut, and nothing is as wide as it.
    assert page.page.evaluate("() => document.documentElement.scrollWidth <= innerWidth")
    # What turns the direction is not in the page, or turns nothing but itself.
    spoofs = "() => [...document.querySelectorAll('td, bdi, p, li, text')].filter((it) => it.children.length === 0 && /[\\u202a-\\u202e\\u2066-\\u2069]/.test(it.textContent)).length"
    assert page.page.evaluate(spoofs) == 0
    shot(page, "names", full_page=True)


@pytest.mark.parametrize("scheme", ["javascript:alert(1)", "<b>x</b>", "../../etc/passwd", "%00", "x" * 2000])
def test_a_session_of_a_hostile_name_is_not_found(scheme, open_page, folder_server):
    page = open_page(folder_server.url + "#s=" + scheme)
    page.page.get_by_role("alert").wait_for()
    assert page.page.evaluate("() => document.querySelector('main b') === null")
    page.complaints[:] = [it for it in page.complaints if "404" not in it and "400" not in it and "414" not in it]


def test_names_in_a_report_are_text(open_page, reports):
    page = open_page(reports["fit"].as_uri())
    check_text(page, NAMES[2:3])
