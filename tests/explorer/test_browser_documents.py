"""Documents in Chromium, on the served page and in the file that is sent: lists, texts, lines, curves, one search."""

from __future__ import annotations

import csv
import io

import pytest

pytest.importorskip("selenium.webdriver", reason="selenium is not installed")
pytest.importorskip("flask", reason="the page needs Flask")

from selenium.webdriver.common.keys import Keys

from tests.explorer.made import DOCUMENTS, NAMES
from tests.explorer.test_browser import (
    Page,
    pytestmark,  # noqa: F401 marks every test here
    saved,
    served,
)
from wordforest.explorer.page import page_text
from wordforest.reading import node_words

COLOURS = """
return [...document.querySelectorAll('.text mark')].map(m => [m.className, getComputedStyle(m).backgroundColor])
"""
PATH = "return [...document.querySelectorAll('.mainpath a')].map(a => a.href.match(/node.(\\d+)/)[1])"
# What would be there if a text had become markup.
INTRUDERS = "return document.querySelectorAll('#stage script, #stage img, #stage mark b, #stage i').length"


@pytest.fixture(scope="module")
def places(read, tmp_path_factory):
    """Where the page is served, and where its file lies."""
    path = tmp_path_factory.mktemp("sent") / "page.html"
    path.write_text(page_text([read], top_words=60, kept_documents=30), encoding="utf-8")
    with served([read]) as address:
        yield {"served": address, "sent": f"file://{path}#"}


@pytest.fixture(params=["served", "sent"])
def page(request, driver, places):
    driver.get_log("browser")
    driver.get("about:blank")
    shown = Page(driver, places[request.param])
    yield shown
    driver.execute_cdp_cmd("Emulation.clearDeviceMetricsOverride", {})
    assert shown.errors() == []


def text_of(page: Page) -> str:
    return page.texts(".text")[0]


def test_a_node_has_its_typical_documents_with_its_words_marked(page, collection):
    page.open("/node/0")
    assert page.texts(".docname")[:2] == ["doc 5", "first"]
    marked = {word.lower() for word in page.texts(".snippet mark")}
    of_node = {word for one in collection.shown(range(len(NAMES))) for word, nodes in one["words"] if 0 in nodes}
    assert marked
    assert marked <= of_node
    page.first(".docname").click()
    page.wait_title("doc 5")


def test_documents_are_turned_page_by_page(page):
    page.open("/documents")
    assert page.texts(".docname")[:4] == [*NAMES[:3], "without a name"]
    sent = page.base.startswith("file")
    assert ("This file holds 30 of 40 documents." in page.texts(".lead")[0]) == sent
    page.first('[rel="next"]').click()
    page.wait(lambda: page.texts('[rel="prev"]'))
    assert len(page.texts(".docname")) == (10 if sent else 20)


def test_a_document_shows_its_path_and_its_text_in_colours(page):
    page.open("/document/0")
    assert page.title() == "first"
    assert text_of(page) == DOCUMENTS[0]
    assert page.script(PATH) == ["0", "1", "3"]
    found = page.script(COLOURS)
    assert found
    assert all(colour.startswith("rgb(") for _, colour in found)
    assert len({*map(tuple, found)}) == len({name for name, _ in found})
    assert len(page.texts(".legend li")) >= len({name for name, _ in found})
    assert page.texts(".treesvg")
    page.first(".text mark a").click()
    page.wait(lambda: page.where().startswith("/word/"))


@pytest.mark.parametrize("row", range(4))
def test_texts_and_names_meant_to_do_harm_are_shown_as_text(page, row):
    page.open(f"/document/{row}")
    assert page.title() == (NAMES[row] or "without a name")
    assert (page.texts(".text") or [""])[0] == DOCUMENTS[row]
    page.go("/context/king")
    page.wait(lambda: page.texts(".lines"))
    page.go("/documents")
    page.wait_title("Documents")
    assert page.script(INTRUDERS) == 0
    assert page.script("return window.wordforest !== undefined")


def test_a_word_is_shown_in_context_and_sorted(page):
    page.open("/word/king")
    page.first('.action[href$="/context/king"]').click()
    page.wait(lambda: page.texts(".lines .key"))
    assert {word.lower() for word in page.texts(".lines .key")} == {"king"}
    sent = page.base.startswith("file")
    assert ("of 30 documents, a sample of 40." if sent else "of 40 documents.") in page.texts(".lead")[0]
    page.first('.zoom a[href*="sort=right"]').click()
    page.wait(lambda: page.where().endswith("sort=right") and page.texts(".lines .right"))
    page.wait(lambda: "on" in page.script("return document.querySelector('.zoom a[href*=\"=right\"]').className"))
    rights = [text.strip().casefold() for text in page.texts(".lines .right")]
    assert [text.split()[:1] for text in rights] == sorted(text.split()[:1] for text in rights)
    page.first(".lines .doc a").click()
    page.wait(lambda: page.where().startswith("/document/"))


def test_the_words_that_say_most_of_a_node_are_shown_in_its_strongest_documents(page, read):
    page.open("/node/0")
    page.first('.morelinks a[href*="context"]').click()
    page.wait(lambda: page.texts(".lines .doc"))
    assert page.texts(".lines .doc")[0] in ("doc 5", "first")
    words = [word for word, _ in node_words(read.vectors, 0, 20)]
    assert page.texts(".lead")[0].endswith(f"Words of this node: {', '.join(words)}.")
    assert {word.lower() for word in page.texts(".lines .key")} <= {*words}


def test_a_curve_has_a_gap_where_nothing_is_known_and_a_table_of_its_numbers(page):
    page.open("/node/2")
    assert len(page.driver.find_elements("css selector", ".curve")) == 2  # 1990, and 1992 to 1994
    assert len(page.driver.find_elements("css selector", ".band")) == 2
    name = page.script("return document.querySelector('.changes').getAttribute('aria-label')")
    assert name == "Share over time: 10 % (5.0 % to 15 %) in 1990, 50 % (45 % to 55 %) in 1994"
    page.first(".numbers summary").click()
    assert page.texts(".numbers tbody tr")[:2] == ["199010 %5.0 %15 %", "1991–––"]
    assert page.texts(".changing .bars .word") == ["g2<i>", "g0<i>", "g1<i>"]
    assert len(page.driver.find_elements("css selector", ".changing .range")) == 2


def test_one_search_finds_words_nodes_and_documents(page, read):
    page.open("/")
    page.first("#search input").send_keys("king")
    page.wait(lambda: page.texts("#search [data-kind=document]"))
    kinds = page.script("return [...document.querySelectorAll('#search .offers li')].map(li => li.dataset.kind)")
    assert kinds == sorted(kinds, key=["word", "node", "document"].index)
    assert page.texts("#search [data-kind=word]") == ["king", "kings"]
    labelled = [node for node, label in enumerate(read.labels) if any(word.startswith("king") for word in label)]
    found = page.texts("#search [data-kind=node] .kind")
    assert found[: len(labelled)] == [f"node {node}" for node in labelled]  # then nodes that have most of the word
    assert len(found) > len(labelled) > 0
    page.keys(*[Keys.ARROW_DOWN] * (kinds.index("node") + 1), Keys.ENTER)
    page.wait(lambda: page.where() == f"/node/{labelled[0]}")
    page.first("#search input").send_keys("second")
    page.wait(lambda: NAMES[1] in "".join(page.texts("#search .offers li:first-child")))
    page.keys(Keys.ARROW_DOWN, Keys.ENTER)
    page.wait_title(NAMES[1])
    assert page.script("return document.activeElement.localName") == "h1"


def test_a_narrow_screen_needs_no_sideways_scrolling(page):
    metrics = {"width": 360, "height": 800, "deviceScaleFactor": 1, "mobile": True}
    page.driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", metrics)
    page.open("/")
    for address in ("/", "/node/0", "/documents", "/documents/0", "/document/0", "/document/1", "/context/king"):
        page.go(address)
        page.wait(lambda a=address: page.script("return document.getElementById('stage').dataset.address") == a)
        width = page.script("return [document.documentElement.scrollWidth, window.innerWidth]")
        assert width == [360, 360], address


@pytest.mark.parametrize("address", ["/document/0", "/documents/0", "/context/king", "/node/2"])
def test_every_view_is_saved(page, downloads, address):
    page.open(address)
    rows = list(csv.reader(io.StringIO(saved(page, downloads, "csv").read_text(encoding="utf-8-sig"))))
    assert len(rows) > 1
    assert len({len(row) for row in rows}) == 1
    if page.base.startswith("http"):
        assert saved(page, downloads, "png").read_bytes().startswith(b"\x89PNG")


def test_a_keyboard_reaches_the_documents(page):
    page.open("/")
    for _ in range(6):  # the skip link, the brand, four pages
        page.keys(Keys.TAB)
    page.keys(Keys.TAB, Keys.ENTER)
    page.wait_title("Documents")
    for _ in range(60):
        page.keys(Keys.TAB)
        if page.focused("class") == "docname":
            break
    page.keys(Keys.ENTER)
    page.wait_title("first")
