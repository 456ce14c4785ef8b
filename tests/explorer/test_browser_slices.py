"""Slices in Chromium, on the served page and in the file that is sent: choices, slider, colours, curves, words."""

from __future__ import annotations

from dataclasses import replace

import pytest

pytest.importorskip("selenium.webdriver", reason="selenium is not installed")
pytest.importorskip("flask", reason="the page needs Flask")

from selenium.webdriver.common.keys import Keys
from selenium.webdriver.support.ui import Select

from tests.explorer.made import FOREST, HOSTILE, TIMES, address_of, made_comparison
from tests.explorer.test_browser import (
    Page,
    pytestmark,  # noqa: F401 marks every test here
    saved,
    served,
)
from wordforest.explorer.page import page_text
from wordforest.explorer.slices import open_slices

INTRUDERS = "return document.querySelectorAll('#stage script, #stage img, #stage i').length"
CELL = "return document.querySelector('.cell[data-node=\"' + arguments[0] + '\"]')"
PATHS = """
const nodes = (way) => [...way.querySelectorAll('a')].map(a => a.href.match(/node.(\\d+)/)[1]);
return [...document.querySelectorAll('.way')].map(nodes);
"""
# Contrast of the label with the colour of its cell, as in WCAG, the lowest of all cells.
CONTRAST = """
const light = (color) => {
  const numbers = color.match(/[\\d.]+/g).map(Number);
  const part = color.startsWith('color(') ? numbers : numbers.map((one) => one / 255);
  const [r, g, b] = part.slice(0, 3).map((c) => (c <= 0.04045 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4));
  return 0.2126 * r + 0.7152 * g + 0.0722 * b + 0.05;
};
return Math.min(...[...document.querySelectorAll('.cell')].map((cell) => {
  const label = getComputedStyle(cell.querySelector('.label'));
  const [a, b] = [getComputedStyle(cell).backgroundColor, label.color].map(light);
  return Math.max(a, b) / Math.min(a, b);
}));
"""


@pytest.fixture(scope="module")
def places(model, tmp_path_factory):
    """Where pages are served and where their files lie: slices of time, and others."""
    folder = tmp_path_factory.mktemp("compared")
    groups = made_comparison(folder / "groups", ("left", "right", "<i>far</i>", "none"))
    time, other = (
        replace(model, slices=open_slices(one, FOREST)) for one in (made_comparison(folder / "time"), groups)
    )
    path = folder / "page.html"
    path.write_text(page_text([time], top_words=60), encoding="utf-8")
    with served([time]) as address, served([other]) as groups_address:
        yield {"served": address, "sent": f"file://{path}#", "groups": groups_address}


@pytest.fixture(params=["served", "sent"])
def page(request, driver, places):
    yield from shown(driver, places[request.param])


@pytest.fixture
def groups(driver, places):
    yield from shown(driver, places["groups"])


def shown(driver, base):
    driver.get_log("browser")
    driver.get("about:blank")
    page = Page(driver, base)
    yield page
    driver.execute_cdp_cmd("Emulation.clearDeviceMetricsOverride", {})
    driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": []})
    assert page.errors() == []


def cell(page: Page, node: int) -> tuple[set[str], str, str]:
    """The classes of a cell that tell its colour, the ratio in it, and what is told where one points."""
    script = f"{CELL.removeprefix('return')}"
    found = page.script(
        f"const c = {script}; return [c.className, c.querySelector('.ratio').textContent, c.title]", node
    )
    return {*found[0].split()} & {"ina", "inb", "unsure"}, found[1], found[2]


def test_two_slices_are_chosen_and_the_forest_takes_the_colour_of_the_one_that_has_more(page):
    page.open("/")
    page.first('header nav a[href$="/slices"]').click()
    page.wait_title("Slices")
    assert cell(page, 1)[:2] == ({"inb"}, "×8.0")
    assert cell(page, 2)[:2] == ({"ina", "unsure"}, "")  # intervals overlap
    assert cell(page, 0)[:2] == ({"unsure"}, "")
    assert "1990: 2.0 % (1.8 % to 2.2 %)\n2020: 16 % (14 % to 18 %)\n8.0 times as much in 2020" in cell(page, 1)[2]
    Select(page.first("select[name=a]")).select_by_visible_text("2020")
    Select(page.first("select[name=b]")).select_by_visible_text("2000")
    assert cell(page, 1)[:2] == ({"ina"}, "×4.0")
    assert page.texts(".sides h3") == ["More in 2020", "More in 2000"]
    assert page.where().endswith("/slices?a=2020&b=2000")
    page.open("/slices?a=2020&b=2000")
    assert cell(page, 1)[:2] == ({"ina"}, "×4.0")


def test_the_slider_moves_the_second_slice_over_time(page):
    page.open("/slices")
    line = page.first("input[type=range]")
    line.send_keys(Keys.ARROW_LEFT)
    assert cell(page, 1)[1] == "×4.0"
    assert page.script("return document.querySelector('select[name=b]').value") == "2010"
    assert page.script("return document.querySelector('input[type=range]').ariaValueText") == "2010"
    line.send_keys(Keys.HOME)
    assert cell(page, 1)[:2] == ({"unsure"}, "")  # one slice against itself
    assert page.texts(".sides .none") == ["No node: intervals overlap."] * 2
    Select(page.first("select[name=b]")).select_by_visible_text("2020")
    assert page.script("return document.querySelector('input[type=range]').value") == "3"


def test_a_chosen_node_has_its_curve_with_changes_and_leads_to_its_page(page):
    page.open("/slices?depth=2")
    assert page.texts(".changed") == ["▲2000", "▲2020"]
    assert page.texts(".changelist li") == ["from 2000 on more: 2.0 % → 9.0 %", "from 2020 on more: 5.0 % → 16 %"]
    page.first('.cell[data-node="3"]').click()
    assert page.texts(".chosen h2 .id") == ["node 3"]
    assert page.texts(".chosen dd") == ["10 % (9.0 % to 11 %)", "10 % (9.0 % to 11 %)", "The same share."]
    assert page.texts(".changelist li") == ["No change over time is sure."]
    assert "node=3" in page.where()
    page.first('.sides a[data-node="1"]').click()
    assert page.texts(".chosen h2 .id") == ["node 1"]
    assert page.focused("data-node") == "1"
    page.first('.cell[data-node="3"]').click()
    page.first(".chosen h2 a").click()
    page.wait(lambda: page.where() == "/node/3")
    page.first(".changing .curve")
    assert len(page.driver.find_elements("css selector", ".changing .curve")) == 1
    page.driver.back()
    page.wait_title("Slices")
    assert page.texts(".chosen h2 .id") == ["node 3"]


def test_a_node_that_is_not_known_in_a_slice_has_no_difference(page):
    page.open("/slices?node=7&depth=2")
    assert cell(page, 7)[:2] == ({"unsure"}, "")
    assert page.texts(".chosen dd")[:2] == ["10 % (9.0 % to 11 %)", "no documents"]


def test_words_that_changed_their_company_lead_to_what_was_before_and_after(page):
    page.open("/moved")
    assert page.texts(".movedwords .head .word") == ["king", HOSTILE[0]]
    assert len(page.texts(".badge")) == 1
    page.first(".movedwords .head .word").click()
    page.wait_title("king")
    assert page.texts(".examples li") == ["then the king left doc 1", "a king size bed doc 2"]
    assert page.texts(".examples mark") == ["king", "king"]
    assert page.script(PATHS) == [["0", "1", "3"], ["8"]]
    name = page.script("return document.querySelector('.changes').getAttribute('aria-label')")
    assert name == "Times in a million words: 100 in 1990, 0 in 2020"
    page.go("/word/king")
    page.wait(lambda: page.texts('.action[href$="/moved/king"]') == ["By slice"])


def test_words_that_came_and_went_stand_by_slice(page):
    page.open("/vocabulary")
    assert page.texts(".vocabulary h2") == [*TIMES[1:]]
    assert page.texts(".vocabulary h3")[:2] == ["Came", "Went: none"]
    assert page.texts(".newwords li")[0] == "queen1,234"
    page.first('.kinds a[href$="kind=more"]').click()
    page.wait(lambda: "Less from then on" in page.texts(".vocabulary h3"))


@pytest.mark.parametrize("address", ["/moved", "/vocabulary", address_of("moved", HOSTILE[0]), "/slices"])
def test_words_and_slices_meant_to_do_harm_are_shown_as_text(page, groups, address):
    for one in (page, groups):
        one.open(address)
        assert one.script(INTRUDERS) == 0


def test_slices_that_are_not_times_have_bars_and_no_slider(groups):
    groups.open("/slices?a=left&b=<i>far</i>")
    assert groups.texts(".sides h3") == ["More in left", "More in <i>far</i>"]
    assert groups.driver.find_elements("css selector", "input[type=range]") == []
    assert groups.texts(".chosen .bars .word") == ["none", "<i>far</i>", "right", "left"]
    assert len(groups.driver.find_elements("css selector", ".chosen .range")) == 4
    groups.open("/vocabulary")
    assert groups.texts(".vocabulary h3")[0] == "Here, hardly elsewhere"


@pytest.mark.parametrize("width", [1400, 1000, 390])
def test_no_screen_needs_sideways_scrolling(page, width):
    metrics = {"width": width, "height": 800, "deviceScaleFactor": 1, "mobile": width < 500}
    page.driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", metrics)
    page.open("/slices")
    for address in ("/moved", "/moved/king", "/vocabulary", "/node/1", "/slices?depth=2"):
        page.go(address)
        page.wait(lambda a=address: page.script("return document.getElementById('stage').dataset.address") == a)
        assert page.script("return document.documentElement.scrollWidth") <= width, address
    page.first('.cell[data-node="3"]').click()
    assert page.script("return document.querySelector('.tree + .chosen') !== null") == (width == 390)


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_labels_are_legible_on_their_colours(page, scheme):
    features = [{"name": "prefers-color-scheme", "value": scheme}]
    page.driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": features})
    page.open("/slices?depth=2")
    assert page.script(CONTRAST) > 4.5  # WCAG 2, level AA


def test_every_view_is_saved(page, downloads):
    for address in ("/slices", "/moved", "/moved/king", "/vocabulary"):
        page.open(address)
        rows = saved(page, downloads, "csv").read_text(encoding="utf-8-sig").splitlines()
        assert len(rows) > 1
    page.open("/slices")
    drawing = saved(page, downloads, "svg").read_text(encoding="utf-8")
    assert "color(" not in drawing  # what other programs cannot read
    assert 'class="curve"' not in drawing
