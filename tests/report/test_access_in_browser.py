"""Who can use the page, in a real browser: on a phone, in the dark, by keyboard, by ear and on paper."""

import re

import pytest
from axe_playwright_python.sync_playwright import Axe

from report_pages import PHONE, widths_of

pytestmark = [pytest.mark.slow, pytest.mark.xdist_group("browser")]
LOOKS = {"desktop": {}, "phone": PHONE, "dark": {"color_scheme": "dark"}}


@pytest.mark.parametrize("name", LOOKS)
def test_everyone_can_use_it(look, whole, screenshots, name):
    """No serious fault for people who cannot see it, no page wider than the screen; a picture for those who can."""
    seen = look(whole, **LOOKS[name])
    for details in seen.page.query_selector_all("details"):
        details.evaluate("each => { each.open = true }")
    found = Axe().run(seen.page).response["violations"]
    faults = {fault["id"]: fault["nodes"][0]["html"] for fault in found if fault["impact"] in ("serious", "critical")}
    assert faults == {}
    for details in seen.page.query_selector_all("details"):
        details.evaluate("each => { each.open = false }")
    page_width, window_width = widths_of(seen)
    assert page_width <= window_width
    seen.page.screenshot(path=screenshots / f"report-{name}.png", full_page=True)


def test_charts_follow_the_colours(look, many):
    seen = look(many)
    fills = []
    for scheme in ("light", "dark"):
        seen.page.emulate_media(color_scheme=scheme)
        fills.append(
            seen.page.evaluate("getComputedStyle(document.querySelector('#effects-chart [aria-label=area] path')).fill")
        )
    assert fills[0] != fills[1]


def test_charts_follow_the_width(look, whole):
    seen = look(whole)
    widths = []
    for width in (1280, 420):
        seen.page.set_viewport_size({"width": width, "height": 900})
        seen.page.wait_for_function(
            "() => { const box = document.getElementById('effects-chart');"
            " return Math.abs(box.firstChild.getAttribute('width') - box.clientWidth) < 2 }"
        )
        widths.append(seen.page.evaluate("document.querySelector('#effects-chart svg').clientWidth"))
    assert widths[1] < widths[0] / 2


def test_the_keyboard_is_enough(look, whole):
    seen = look(whole)
    page = seen.page

    def tab_to(wanted):
        for _ in range(80):
            page.keyboard.press("Tab")
            if page.evaluate("wanted => document.activeElement.matches(wanted)", wanted):
                width = "getComputedStyle(document.activeElement{}).outlineWidth"
                beside = ".nextElementSibling" if "group" in wanted else ""
                assert page.evaluate(width.format(beside)) == "3px"
                return
        pytest.fail(f"{wanted} is not reached")

    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.textContent") == "Skip to the individuals"
    page.keyboard.press("Enter")
    tab_to("#alpha")
    page.keyboard.press("ArrowRight")
    page.wait_for_function("() => document.getElementById('status').textContent.includes('79 % intervals')")
    tab_to("[name=group]")
    page.keyboard.press("ArrowRight")
    assert "rows effect above 0 selected" in page.text_content("#status")
    tab_to("#search")
    page.keyboard.type("Öst")
    page.wait_for_function("() => document.getElementById('status').textContent.includes('Öst')")
    tab_to("#rows button[title=effect]")
    page.keyboard.press("Enter")
    assert page.evaluate("document.activeElement.title") == "effect"
    assert page.get_attribute("#rows thead th:has(button[title=effect])", "aria-sort") == "ascending"


def test_what_changes_is_announced_and_charts_have_words(look, whole):
    seen = look(whole)
    assert seen.page.get_attribute("#status", "aria-live") == "polite"
    for chart in seen.page.query_selector_all(".chart"):
        assert chart.get_attribute("role") == "img"
        assert len(chart.get_attribute("aria-label")) > 40
    said = seen.page.get_attribute("#effects-chart", "aria-label")
    counts = [int(count) for count in re.findall(r"(\d+) (?:effect|undecided)", said)]
    assert sum(counts) == 200
    assert len(seen.page.query_selector_all("#effects-numbers tbody tr")) == 7
    names = seen.page.eval_on_selector_all(
        "#rows thead button[aria-label]", "all => all.map(each => [each.getAttribute('aria-label'), each.textContent])"
    )
    assert len(names) == 3
    assert all(text in name for name, text in names)  # who says what they see is understood
    seen.page.click("#next")
    assert "The table shows rows 26 to 50 of 200, page 2;" in seen.page.text_content("#status")
    landmarks = seen.page.eval_on_selector_all("header, nav, main, footer", "all => all.map(each => each.localName)")
    assert landmarks == ["header", "nav", "main", "footer"]


def test_it_prints(look, whole, screenshots):
    """On two sheets of paper: light, the answer first, without controls and without the list of people."""
    seen = look(whole, color_scheme="dark")
    pdf = seen.page.pdf(prefer_css_page_size=True, path=screenshots / "report-print.pdf")
    assert len(re.findall(rb"/Type\s*/Page\b", pdf)) == 2
    seen.page.emulate_media(media="print", color_scheme="dark")
    assert seen.page.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(255, 255, 255)"
    for hidden in ("#controls", "#rows", "nav", "#methods", "#averages details"):
        assert not seen.page.is_visible(hidden)
    for printed in (
        "h1",
        ".verdict",
        "#averages-chart svg",
        ".tiles",
        "#love-chart",
        "#gammas",
        "#promise",
        "#small-print",
    ):
        assert seen.page.is_visible(printed)
    seen.page.set_viewport_size({"width": 720, "height": 1000})
    seen.page.evaluate("window.dispatchEvent(new Event('beforeprint'))")
    seen.page.screenshot(path=screenshots / "report-print.png", full_page=True)


def test_charts_are_drawn_again_for_paper(look, whole):
    seen = look(whole, **PHONE)

    def widths():
        return set(seen.page.eval_on_selector_all(".chart svg", "all => all.map(each => each.getAttribute('width'))"))

    before = widths()
    seen.page.evaluate("window.dispatchEvent(new Event('beforeprint'))")
    assert widths() == {"660", "320"} != before  # balance has half a sheet
    seen.page.evaluate("window.dispatchEvent(new Event('afterprint'))")
    assert widths() == before
