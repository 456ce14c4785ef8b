"""Several models in Chromium, and notes about nodes: what stands first, what fits, what is found, what is kept."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from scipy import sparse

pytest.importorskip("selenium.webdriver", reason="selenium is not installed")
pytest.importorskip("flask", reason="the page needs Flask")

from selenium.webdriver.common.keys import Keys

from tests.explorer.test_browser import (
    Page,
    pytestmark,  # noqa: F401 marks every test here
    served,
)
from wordforest.coder.forest import Forest
from wordforest.explorer.model import open_models
from wordforest.explorer.page import page_text
from wordforest.store import Run, load_run, save_run

KNOWN = ("kings", "king", "queen", "man", "woman", "a", "b", "c", "山", "the")
LETTERS = "abcdefghijklmnopqrstuvwxyz"


def long_run(seed: int) -> Run:
    """A run of long words on three trees of three levels; kings are more frequent than a king."""
    rng = np.random.default_rng(seed)
    others = {"".join(rng.choice([*LETTERS], 17)): None for _ in range(110)}
    words = (*KNOWN, *others)
    forest = Forest(np.concatenate([_tree(at) for at in (0, 13, 26)]).tolist())
    codes = rng.standard_normal((len(words), 39)) * (rng.random((len(words), 39)) < 0.5)
    counts = np.arange(len(words), 0, -1) * 1000
    return Run(words, counts, sparse.csr_array(codes.astype(np.float32)), None, forest)


def _tree(at: int) -> np.ndarray:
    return np.array([-1, at, at + 1, at + 1, at + 1, at, at + 5, at + 5, at + 5, at, at + 9, at + 9, at + 9])


@pytest.fixture(scope="module")
def folders(tmp_path_factory):
    found = [tmp_path_factory.mktemp(f"model{seed}") for seed in range(3)]
    for seed, folder in enumerate(found):
        save_run(folder, long_run(seed))
    return found


@pytest.fixture(scope="module")
def models(folders):
    return open_models([str(folder) for folder in folders])


@pytest.fixture(scope="module")
def three(models):
    with served(models) as address:
        yield address


@pytest.fixture(scope="module")
def one(models):
    with served(models[:1]) as address:
        yield address


def opened(driver, base):
    driver.get_log("browser")
    driver.get("about:blank")
    shown = Page(driver, base)
    yield shown
    driver.execute_cdp_cmd("Emulation.clearDeviceMetricsOverride", {})
    assert shown.errors() == []


@pytest.fixture
def page(driver, one):
    yield from opened(driver, one)


@pytest.fixture
def several(driver, three):
    yield from opened(driver, three)


@pytest.fixture(scope="module")
def sent(models, tmp_path_factory):
    path = tmp_path_factory.mktemp("sent") / "page.html"
    path.write_text(page_text(models, top_words=60), encoding="utf-8")
    return f"file://{path}#"


@pytest.fixture(params=["served", "sent"])
def either(request, several, sent):
    several.base = sent if request.param == "sent" else several.base
    return several


def widen(page: Page, width: int, height: int = 900) -> None:
    metrics = {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": width < 500}
    page.driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", metrics)


def tops(page: Page, selector: str) -> list[float]:
    return page.script(
        "return [...document.querySelectorAll(arguments[0])].map(e => e.getBoundingClientRect().top)", selector
    )


@pytest.mark.parametrize("width", [1400, 1000, 390])
def test_nothing_scrolls_sideways_with_three_models(either, width):
    widen(either, width)
    either.open("/")
    words = ",".join(long_run(0).words[i] for i in (1, 2, 3, 4, 10))
    addresses = ("/", "/?depth=0", "/?depth=2", "/word/king", "/across/king", "/node/1?model=2", "/compare")
    for address in (*addresses, f"/compare/{words}", "/analogy", "/map", "/map?node=1&word=king", "/nowhere"):
        either.go(address)
        either.wait(lambda a=address: either.script("return document.getElementById('stage').dataset.address") == a)
        found = either.script("return [document.documentElement.scrollWidth, window.innerWidth]")
        assert found[0] <= found[1] == width, address


def test_enter_takes_the_first_suggestion_in_any_case(either):
    either.open("/")
    either.first("#search input").send_keys("QUEE", Keys.ENTER)  # before anything is offered
    either.wait_title("queen")
    either.first("#search input").send_keys("King")
    either.wait(lambda: either.texts("#search [data-kind=word]") == ["king", "kings"])
    either.keys(Keys.ENTER)
    either.wait_title("king")
    either.open("/analogy/man,KING,woman")
    either.wait(lambda: either.title().startswith("man is to king"))
    field = either.driver.find_elements("css selector", ".equation input")[1]
    field.send_keys(Keys.CONTROL + "a" + Keys.NULL, "QUE", Keys.ENTER)
    either.wait(lambda: either.where() == "/analogy/man,queen,woman")


def test_an_address_is_found_in_any_case(either):
    either.open("/word/KING")
    assert either.title() == "king"
    either.go("/compare/Man,WOMAN")
    either.wait(lambda: [text.strip("×") for text in either.texts(".picked")] == ["man", "woman"])


def test_pages_that_ask_for_words_open_with_an_example(either):
    either.open("/compare")
    assert either.where() == "/compare"
    words = either.texts(".note bdi")
    assert len(words) == 2
    assert either.texts(".picked") == []
    assert len(either.texts(".matrixtree")) >= 3
    either.first(".picker input").send_keys("man", Keys.ENTER)
    either.wait(lambda: either.where() == "/compare/man")  # one's own word comes in place of the example
    either.open("/analogy")
    fields = either.script("return [...document.querySelectorAll('.equation input')].map(field => field.value)")
    assert len(set(fields)) == 3
    assert all(word in either.title() for word in fields)
    assert len(either.texts(".bars li")) >= 3
    either.open("/across")
    assert either.title().startswith(words[0])


def test_labels_are_told_in_full_where_one_points(either, models):
    whole = ", ".join(models[0].labels[0])
    for address, place in (("/", ".cell"), ("/word/king", ".noderows"), ("/compare/king,queen", ".nodetable")):
        either.open(address)
        titles = either.script(
            "return [...document.querySelectorAll(arguments[0] + ' .label')].map(l => [l.title, l.textContent])", place
        )
        assert titles
        assert all(shown.split(", ")[0] in title and "words use it" in title for title, shown in titles)
        if place == ".cell":
            assert whole in titles[0][0]


def test_with_several_models_the_forest_comes_before_the_neighbours(either):
    widen(either, 1400)
    either.open("/word/king")
    assert either.texts(".panel h3")[:2] == ["Its forest", "Nearest words"]
    forest, near = tops(either, ".panel .trees"), tops(either, ".panel .nearest")
    assert len(forest) == len(near) == 3
    assert all(a < b for a, b in zip(forest, near, strict=True))


def test_one_word_across_models_has_its_paths_and_nearest_words_side_by_side(either, models):
    widen(either, 1400)
    either.open("/word/king")
    either.first('.tools a[href*="/across/"]').click()
    either.wait(lambda: either.title() == "king across 3 models")
    assert either.texts(".panel h2") == [model.name for model in models]
    assert len(set(tops(either, ".panel"))) == 1
    paths = "return [...document.querySelectorAll('.mainpath')].map(p => [...p.querySelectorAll('a')].map(a => a.href))"
    steps = [[int(href.split("/node/")[1].split("?")[0]) for href in path] for path in either.script(paths)]
    assert len(steps) == 9
    for i, path in enumerate(steps):
        model = models[i // 3]
        assert model.forest.parent[path].tolist() == [-1, *path[:-1]]
    strengths = np.abs(models[0].vectors["king"]).reshape(3, 13).sum(axis=1)
    assert [path[0] for path in steps[:3]] == (13 * np.argsort(-strengths)).tolist()
    if either.base.startswith("http"):
        near = [word for word, _ in models[1].vectors.most_similar("king", topn=15)]
        assert either.texts(".nearest .word")[15:30] == near
    either.first(".picker input").send_keys("quee", Keys.ENTER)
    either.wait(lambda: either.where() == "/across/queen")


def test_a_word_found_on_the_map_is_in_view_and_marked(either):
    widen(either, 390, 480)  # a short screen: the map is below what one sees at first
    either.open("/map")
    either.wait(lambda: either.script("return [...document.querySelectorAll('.plot')].every(p => p.dataset.ready)"))
    either.driver.find_elements("css selector", ".mapbar input")[5].send_keys("KING", Keys.ENTER)  # of the third map
    either.wait(lambda: either.texts(".pointed .word") == ["king"])
    either.wait(lambda: 90 < (either.script(MARKED, 2) or 0) < 480)  # below the bar, above the end of the screen
    either.open("/map?word=Queen")  # of three maps the first is shown
    either.wait(lambda: either.texts(".pointed .word") == ["queen"] * 3)
    either.wait(lambda: 90 < (either.script(MARKED, 0) or 0) < 480)


# The height of the middle of a map on the screen, once the mark is drawn there.
MARKED = """
const plot = document.querySelectorAll('.plot')[arguments[0]], names = plot.querySelector('.names');
const box = plot.getBoundingClientRect(), middle = [names.width / 2 - 14, names.height / 2 - 14];
const data = names.getContext('2d').getImageData(...middle, 28, 28).data;
for (let i = 0; i < data.length; i += 4) {
  if (data[i] > 150 && data[i + 1] < 110 && data[i + 2] < 60 && data[i + 3] > 200) return (box.top + box.bottom) / 2;
}
return null;
"""


def test_names_on_the_map_are_no_single_letters(page):
    page.open("/")
    page.script(
        "window.written = []; const fill = CanvasRenderingContext2D.prototype.fillText;"
        "CanvasRenderingContext2D.prototype.fillText = function (text, ...rest) { window.written.push(text);"
        "fill.call(this, text, ...rest); }"
    )
    page.script("window.wordforest.go('/map')")
    written = page.wait(lambda: page.script("return window.written"))
    assert "山" in written
    assert not {"a", "b", "c"} & {*written}


def test_nodes_are_found_by_number_label_and_word(page, models):
    page.open("/")
    field = page.first("#search input")
    field.send_keys("node 17")
    page.wait(lambda: page.texts("#search [data-kind=node] .kind")[:1] == ["node 17"])
    field.clear()
    label = models[0].labels[20][0]
    field.send_keys(label[:9].upper())
    page.wait(lambda: "node 20" in page.texts("#search [data-kind=node] .kind"))
    field.clear()
    field.send_keys("man")
    strongest = int(np.abs(models[0].vectors["man"]).argmax())
    page.wait(lambda: f"node {strongest}" in page.texts("#search [data-kind=node] .kind"))


def write(page: Page, **note: str) -> None:
    page.first(".edit summary").click()
    for part, text in note.items():
        field = page.first(f".edit [name={part}]")
        field.clear()
        field.send_keys(text)


def test_a_node_is_renamed_annotated_hidden_and_shown_again(page, models, folders):
    words = ", ".join(models[0].titles[1])
    page.open("/node/1")
    write(page, name="Wells & <b>rings</b>", remark="to be read again")
    page.first(".edit button").click()
    page.wait_title("Wells & <b>rings</b>")
    assert page.texts(".remark") == ["to be read again"]
    assert page.texts(".noted .none") == [f"Its words: {words}"]
    assert load_run(folders[0]).vectors.notes == {1: ("Wells & <b>rings</b>", False, "to be read again")}
    page.open("/")
    assert "Wells & <b>rings</b>" in page.texts('.cell[data-node="1"] .label')
    page.first("#search input").send_keys("wells")
    page.wait(lambda: page.texts("#search [data-kind=node] .kind") == ["node 1"])
    page.open("/node/1")
    write(page)
    page.first(".edit [name=hidden]").click()
    page.first(".edit button").click()
    page.wait(lambda: "Hidden in the forest, with all below it." in page.texts(".noted p"))
    page.open("/?depth=2")
    assert not set(page.script("return [...document.querySelectorAll('.cell')].map(c => c.dataset.node)")) & {*"1234"}
    assert page.texts(".edit li .id") == ["1"]
    page.open("/word/king")
    dots = page.script("return [...document.querySelectorAll('.dot')].map(c => c.dataset.node)")
    assert dots
    assert not set(dots) & {*"1234"}
    page.open("/node/1")
    write(page, name="", remark="")
    page.first(".edit [name=hidden]").click()
    page.first(".edit button").click()
    page.wait_title(words)
    assert load_run(folders[0]).vectors.notes == {}


def test_a_file_that_is_sent_shows_notes_and_takes_none(driver, folders, tmp_path):
    (folders[2] / "labels.tsv").write_text("0\tMy name\t\tmy remark\n13\t\thidden\n")
    (tmp_path / "page.html").write_text(page_text(open_models([str(folders[2])])), encoding="utf-8")
    (folders[2] / "labels.tsv").unlink()
    for page in opened(driver, f"file://{tmp_path / 'page.html'}#"):
        page.open("/node/0")
        assert (page.title(), page.texts(".remark")) == ("My name", ["my remark"])
        assert page.texts(".edit") == []
        page.open("/")
        assert page.script(
            "return [...document.querySelectorAll('.cell[data-depth=\"0\"]')].map(c => c.dataset.node)"
        ) == [*("0", "26")]


def test_why_nothing_can_be_written_is_told(driver, models):
    with served([replace(models[0], folder=None)]) as base:
        for page in opened(driver, base):
            page.open("/node/1")
            page.first(".edit summary").click()
            assert "kept in run folders" in page.texts(".edit p")[0]
            page.script("window.wordforest.source.write = null; window.wordforest.open()")  # as without a token
            page.wait(lambda page=page: page.texts(".edit p") == ["Others can reach this page, so it takes no notes."])
