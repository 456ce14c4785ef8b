"""The clicks that docs/gallery.md asks for, in a file that was sent: each question has its way to the answer."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

pytest.importorskip("selenium.webdriver", reason="selenium is not installed")
pytest.importorskip("flask", reason="the page needs Flask")

from selenium.webdriver.common.keys import Keys

from tests.explorer.test_browser import (
    Page,
    pytestmark,  # noqa: F401 marks every test here
)
from wordforest.explorer.page import page_text

HOME = Path(__file__).resolve().parents[2]
_ANSWER = re.compile(r"<summary>Answer</summary>(.*?)`(build/gallery/[\w-]+\.html)#([^`]+)`", re.DOTALL)
ANSWERS = _ANSWER.findall((HOME / "docs" / "gallery.md").read_text(encoding="utf-8"))


@pytest.fixture(scope="module")
def sent(read, tmp_path_factory) -> str:
    path = tmp_path_factory.mktemp("gallery") / "page.html"
    path.write_text(page_text([read], top_words=60, kept_documents=30), encoding="utf-8")
    return f"file://{path}#"


@pytest.fixture(params=[1400, 390], ids=["wide", "narrow"])
def page(request, driver, sent):
    driver.get_log("browser")
    driver.get("about:blank")
    metrics = {"width": request.param, "height": 900, "deviceScaleFactor": 1, "mobile": request.param < 500}
    driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", metrics)
    shown = Page(driver, sent)
    shown.open("/")
    yield shown
    driver.execute_cdp_cmd("Emulation.clearDeviceMetricsOverride", {})
    assert shown.errors() == []


def click(page: Page, selector: str, text: str = "") -> None:
    """Click the first thing of a kind that has a text."""
    found = page.wait(lambda: [e for e in page.driver.find_elements("css selector", selector) if text in e.text])[0]
    page.script("arguments[0].scrollIntoView({block: 'center'})", found)
    found.click()


def enter(page: Page, selector: str, text: str, nth: int = 0) -> None:
    """Write a word into a field in place of what is there, and take the first offer."""
    field = page.wait(lambda: page.driver.find_elements("css selector", selector)[nth:])[0]
    field.click()
    field.send_keys(Keys.CONTROL, "a")
    field.send_keys(text)
    page.wait(lambda: text in page.texts(".offers:not([hidden]) li"))
    field.send_keys(Keys.ENTER)


def test_a_word_is_searched_and_its_strongest_tree_opened(page, read):
    enter(page, "#search input", "king")
    page.wait_title("king")
    name = page.texts(".treename")[0]
    assert name.startswith(read.labels[0][0])
    click(page, ".treename a")
    page.wait(lambda: page.where() == "/node/0")
    page.first(".facts dd")
    assert page.texts(".facts dd")[0] == "0 (roots)"


def test_words_are_compared_one_after_the_other(page):
    click(page, "header nav a", "Compare")
    for word in ("king", "queen", "man"):
        enter(page, ".picker input", word)
        page.wait(lambda word=word: page.where().endswith(word))
    assert page.where() == "/compare/king,queen,man"
    page.wait(lambda: page.texts(".nodetable thead")[:1] == ["kingqueenman"])


def test_a_word_of_an_analogy_is_changed(page):
    click(page, "header nav a", "Analogy")
    page.wait(lambda: "is to" in page.title())
    before = page.title().split(" is to ")[0]
    enter(page, "#stage input", "queen", nth=2)
    page.wait(lambda: page.title().endswith("as queen is to …"))
    assert page.title().startswith(before)
    assert len(page.texts(".bars .word")) > 5


def test_a_node_of_the_forest_tells_its_times_groups_and_first_document(page, read):
    click(page, ".cell", read.labels[1][0])
    page.wait(lambda: page.where() == "/node/1")
    click(page, ".changing .numbers summary")
    assert page.texts(".changing .numbers tbody tr")[0] == "199010 %5.0 %15 %"
    assert page.texts(".changing .bars .word") == ["g2<i>", "g0<i>", "g1<i>"]
    name = page.texts(".docname")[0]
    click(page, ".docname")
    page.wait_title(name)
    assert page.texts(".text")
    assert page.texts(".docpage h3")[0] == "Its main path"


def test_curves_and_groups_stand_below_the_words_of_a_node_and_not_below_its_documents(page):
    page.go("/node/1")
    page.wait(lambda: page.texts(".changing .changes"))
    boxes = "return arguments[0].map(s => document.querySelector(s).getBoundingClientRect().toJSON())"
    words, curve, documents = page.script(boxes, [".nodepage .pair", ".changing", ".documents"])
    assert words["bottom"] <= curve["top"]
    beside = curve["right"] <= documents["left"]
    assert beside or curve["bottom"] <= documents["top"]


def test_a_word_leads_to_its_lines_and_a_line_to_its_document(page):
    enter(page, "#search input", "king")
    click(page, ".action", "In the documents")
    page.wait(lambda: page.texts(".lines .key"))
    name = page.texts(".lines .doc")[-1]
    page.script("[...document.querySelectorAll('.lines .doc a')].pop().click()")
    page.wait_title(name)


def test_a_node_is_taken_from_the_search_and_its_words_shown_in_context(page):
    page.first("#search input").send_keys("king")
    page.wait(lambda: page.texts("#search [data-kind=node]"))
    click(page, "#search [data-kind=node]")
    page.wait(lambda: page.where().startswith("/node/"))
    click(page, ".morelinks a", "Its words in context")
    page.wait(lambda: page.texts(".lines .key"))
    assert "Words of this node: " in page.texts(".lead")[0]


def test_a_browser_that_cannot_decompress_is_told_so(driver, sent):
    without = {"source": "delete window.DecompressionStream"}
    script = driver.execute_cdp_cmd("Page.addScriptToEvaluateOnNewDocument", without)
    driver.get("about:blank")
    driver.get(sent)
    shown = Page(driver, sent)
    shown.wait(lambda: "needs a browser" in shown.texts("#stage")[0])
    driver.execute_cdp_cmd("Page.removeScriptToEvaluateOnNewDocument", script)


def test_every_question_has_an_answer_and_a_page():
    text = (HOME / "docs" / "gallery.md").read_text(encoding="utf-8")
    assert len(ANSWERS) == text.count("<details") == 9


@pytest.mark.parametrize(("answer", "file", "address"), ANSWERS, ids=[address for *_, address in ANSWERS])
def test_the_words_of_an_answer_are_on_the_page_that_it_links(driver, answer, file, address):
    if not (HOME / file).is_file():
        pytest.skip(f"{file} was not made here: make gallery")
    driver.get("about:blank")
    shown = Page(driver, f"file://{HOME / file}#")
    shown.open(address)
    words = {word.lower() for phrase in re.findall(r"\*([^*]+)\*", answer) for word in phrase.split(", ")}
    there = shown.script("return document.getElementById('stage').innerText.toLowerCase()")
    assert {word for word in words if not re.search(rf"\b{re.escape(word)}\b", there)} == set()
