"""The table of people in a real browser: it fits a desktop, and says so where it does not."""

import pytest

from confide.report import write_report
from report_pages import PHONE, fitted, new_patients, study_of

pytestmark = [pytest.mark.slow, pytest.mark.xdist_group("browser")]

DESKTOP = {"viewport": {"width": 1200, "height": 900}}


@pytest.fixture(scope="module")
def pages(tmp_path_factory):
    folder, study = tmp_path_factory.mktemp("rows"), study_of()
    for side in ("both", "upper"):
        model = fitted(study=study, side=side, alpha=0.2, control="placebo")
        write_report(folder / f"{side}.html", model, new_patients(), below=5.0, unit="days")
    return folder


def room(seen):
    return seen.page.eval_on_selector("#rows-box", "box => [box.scrollWidth, box.clientWidth]")


@pytest.mark.parametrize("side", ["both", "upper"])
def test_all_columns_fit_at_1200_pixels(look, pages, screenshots, side):
    seen = look(pages / f"{side}.html", **DESKTOP)
    wide, box = room(seen)
    assert wide <= box
    assert not seen.page.is_visible(".hint + #rows-box.more")
    seen.page.locator("#people").screenshot(path=screenshots / f"rows-{side}.png")


def test_bounds_of_outcomes_come_before_what_they_say_of_effects(look, pages):
    heads = {}
    for side in ("both", "upper"):
        seen = look(pages / f"{side}.html", **DESKTOP)
        heads[side] = seen.page.eval_on_selector_all("#rows thead button", "all => all.map(each => each.title)")
    assert heads["upper"].index("its upper bound, under drug") < heads["upper"].index("effect (days)")
    assert heads["upper"][-1] == "says"
    assert heads["both"].index("says") < heads["both"].index("under drug")


def test_a_table_that_scrolls_sideways_says_so_until_its_end(look, pages):
    seen = look(pages / "upper.html", **PHONE)
    hint = seen.page.locator("p.hint:has(+ #rows-box)")
    wide, box = room(seen)
    assert wide > box
    assert hint.is_visible()
    assert "scroll this table sideways" in hint.text_content()
    assert seen.page.query_selector("#rows-box.more")
    seen.page.eval_on_selector("#rows-box", "box => box.scrollTo(box.scrollWidth, 0)")
    seen.page.wait_for_selector("#rows-box:not(.more)")
