"""The explorer in Chromium, as a person uses it: mouse, keyboard, narrow screens, files, and words meant to do harm."""

from __future__ import annotations

import csv
import io
import shutil
import threading
import time
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import quote, unquote
from xml.etree import ElementTree

import numpy as np
import pytest

HAS_BROWSER = shutil.which("chromium") and shutil.which("chromedriver")
pytestmark = [
    pytest.mark.browser,
    pytest.mark.skipif(not HAS_BROWSER, reason="chromium and chromedriver are not installed"),
]
pytest.importorskip("selenium.webdriver", reason="selenium is not installed")
pytest.importorskip("flask", reason="the page needs Flask")

from selenium.webdriver.common.action_chains import ActionChains  # noqa: E402
from selenium.webdriver.common.keys import Keys  # noqa: E402
from selenium.webdriver.support.ui import WebDriverWait  # noqa: E402

from tests.explorer.made import HOSTILE, made_run  # noqa: E402
from wordforest.explorer.app import listen, make_app, open_server  # noqa: E402
from wordforest.explorer.model import build_model  # noqa: E402
from wordforest.explorer.page import page_text  # noqa: E402
from wordforest.explorer.views import comparison  # noqa: E402

# The kinds of colours that the points of the map have.
COLOURS = """
const c = document.querySelector('.points'), d = document.createElement('canvas');
d.width = c.width; d.height = c.height;
const pen = d.getContext('2d');
pen.drawImage(c, 0, 0);
const data = pen.getImageData(0, 0, d.width, d.height).data, found = new Set();
for (let i = 0; i < data.length; i += 4) {
  if (data[i + 3] < 200) continue;
  const gap = data[i] - data[i + 2];
  found.add(gap > 25 ? 'red' : gap < -25 ? 'blue' : 'grey');
}
return [...found];
"""


# The nodes where compared words part.
PARTINGS = """
const links = document.querySelector('.nodetable').querySelectorAll('tbody th a');
return [...links].map(a => Number(a.getAttribute('href').match(/node\\/(\\d+)/)[1]));
"""


class Page:
    """A browser at one address, with waits instead of pauses."""

    def __init__(self, driver, base: str) -> None:
        self.driver, self.base = driver, base

    def open(self, address: str) -> None:
        self.driver.get(self.base + address)
        self.wait(lambda: self.script("return document.querySelector('#stage h1') !== null"))

    def go(self, address: str) -> None:
        """Open a page from within the page, which is quicker than loading it anew."""
        self.script("window.wordforest.go(window.wordforest.prefix + arguments[0])", address)

    def wait(self, condition, seconds: float = 20):
        return WebDriverWait(self.driver, seconds, poll_frequency=0.05).until(lambda _: condition())

    def script(self, code: str, *arguments):
        return self.driver.execute_script(code, *arguments)

    def texts(self, selector: str) -> list[str]:
        return self.script("return [...document.querySelectorAll(arguments[0])].map(e => e.textContent)", selector)

    def first(self, selector: str):
        return self.wait(lambda: next(iter(self.driver.find_elements("css selector", selector)), None))

    def title(self) -> str:
        return self.script("return document.querySelector('#stage h1').textContent")

    def wait_title(self, text: str) -> None:
        self.wait(lambda: self.title() == text)

    def keys(self, *keys: str) -> None:
        ActionChains(self.driver).send_keys(*keys).perform()

    def focused(self, attribute: str) -> str:
        return self.script("return document.activeElement.getAttribute(arguments[0]) || ''", attribute)

    def errors(self) -> list[str]:
        return [entry["message"] for entry in self.driver.get_log("browser") if entry["level"] == "SEVERE"]

    def where(self) -> str:
        return unquote(self.driver.current_url.removeprefix(self.base))


@pytest.fixture(scope="module")
def models():
    return [build_model("made", made_run()), build_model("other", made_run(seed=1))]


@contextmanager
def served(models):
    """Serve a page that shows models within the block, and give its address."""
    server = open_server(make_app(models), listen(port=0))
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    yield f"http://127.0.0.1:{server.port}"
    server.shutdown()
    thread.join()
    server.server_close()


@pytest.fixture(scope="module")
def base(models):
    with served(models[:1]) as address:
        yield address


@pytest.fixture
def page(driver, base):
    driver.get_log("browser")
    shown = Page(driver, base)
    yield shown
    driver.execute_cdp_cmd("Emulation.clearDeviceMetricsOverride", {})
    assert shown.errors() == []


@pytest.fixture(scope="module")
def sent(models, tmp_path_factory) -> str:
    path = tmp_path_factory.mktemp("sent") / "page.html"
    path.write_text(page_text(models[:1], top_words=60), encoding="utf-8")
    return f"file://{path}#"


@pytest.fixture(params=["served", "sent"])
def either(request, page, sent):
    """The served page, then the file that is sent: they behave alike."""
    if request.param == "sent":
        page.base = sent
        page.driver.get("about:blank")
    return page


def narrow(page: Page) -> None:
    metrics = {"width": 375, "height": 800, "deviceScaleFactor": 1, "mobile": True}
    page.driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", metrics)


def test_the_landing_page_shows_every_node_by_its_label(either, models):
    either.open("/")
    cells = either.texts(".cell .label")
    assert len(cells) == len(models[0].forest)
    assert cells[0] == ", ".join(models[0].labels[0])
    assert cells[7] == "not used"
    assert [row[:6] for row in either.texts(".depths tbody tr")] == ["Roots3", "Branch", "Leaves"]


def test_zoom_goes_from_trees_to_leaves(either):
    either.open("/")
    either.first('.zoom a[href$="depth=0"]').click()
    either.wait(lambda: len(either.texts(".cell")) == 3)
    either.first('.zoom a[href$="depth=2"]').click()
    either.wait(lambda: len(either.texts(".cell")) == 9)


def test_search_offers_words_and_opens_one(either):
    either.open("/")
    either.first("#search input").send_keys("kin")
    either.wait(lambda: either.texts("#search .offers [data-kind=word]") == ["king", "kings"])
    either.keys(Keys.ARROW_DOWN, Keys.ENTER)
    either.wait_title("king")
    assert either.where() == "/word/king"


def test_a_word_has_its_trees_in_colour_and_white_at_zero(either, models):
    either.open("/word/king")
    nodes = either.script("return [...document.querySelectorAll('.dot')].map(d => d.dataset.node)")
    fills = either.script("return [...document.querySelectorAll('.dot circle')].map(c => c.getAttribute('fill'))")
    vector = models[0].vectors["king"]
    for node, fill in zip(nodes, fills, strict=True):
        red, _, blue = (int(part) for part in fill[4:-1].split(","))
        value = vector[int(node)]
        assert (fill == "rgb(255,255,255)") == (value == 0)
        assert value == 0 or (blue > red) == (value > 0)
    assert len(either.texts(".bars li")) == 15


def test_a_zero_word_has_no_trees_and_no_neighbours(either, models):
    assert not models[0].vectors["kings"].any()
    either.open("/word/kings")
    assert sorted(either.texts(".none")) == ["All of its trees are exactly zero.", "None: its vector is zero."]


def test_the_colours_are_those_of_the_printed_figures(page):
    from wordforest.figures.style import rgb

    page.open("/")
    values = np.linspace(-1, 1, 41)
    ours = page.script("return arguments[0].map(v => window.wordforest.rgb(v, 1))", values.tolist())
    assert np.abs(np.array(ours) / 255 - rgb(values, 1.0)).max() < 0.003  # channels are whole numbers of 255


def test_a_click_on_a_node_opens_its_card_and_back_returns(either, models):
    either.open("/word/king")
    either.first('.dot[data-node="1"]').click()
    either.wait(lambda: either.where() == "/node/1")
    either.wait(lambda: "Strongest positive words" in either.texts("h3"))
    facts = dict(zip(either.texts(".facts dt"), either.texts(".facts dd"), strict=True))
    assert facts["Used by"].startswith(f"{models[0].used[1]} words")
    assert facts["Children"].endswith("3")
    assert "Strongest contexts" in either.texts("h3")
    either.driver.back()
    either.wait_title("king")


def test_two_words_are_compared(either):
    either.open("/compare")
    for word in ("king", "queen"):
        either.first(".picker input").send_keys(word)
        either.wait(lambda word=word: word in either.texts(".picker .offers li"))
        either.keys(Keys.ENTER)
        either.wait(lambda word=word: word in [text.strip("×") for text in either.texts(".picked")])
    either.wait(lambda: "Where they part" in either.texts("h3"))
    assert either.where() == "/compare/king,queen"
    assert len(either.driver.find_elements("css selector", ".matrixtree")) >= 2
    assert 2 in either.script(PARTINGS)


def test_an_analogy_is_answered(either, models):
    either.open("/analogy/man,king,woman")
    either.wait(lambda: either.texts(".bars li"))
    if either.base.startswith("http"):
        best = models[0].vectors.analogy("man", "king", "woman", topn=1)[0][0]
        assert either.texts(".bars .word")[0] == best


@pytest.mark.parametrize(
    "address", ["/word/king", "/node/2", "/compare/king,queen", "/analogy/man,king,woman", "/map?node=3"]
)
def test_a_deep_link_works_again_after_a_reload(page, address):
    page.open(address)
    title = page.title()
    page.driver.refresh()
    page.wait(lambda: page.script("return document.querySelector('#stage h1') !== null"))
    assert (page.title(), page.where()) == (title, address)


def test_the_map_is_drawn_coloured_and_searched(either):
    either.open("/map")
    ready = "return document.querySelector('.plot').dataset.ready"
    either.wait(lambda: either.script(ready) == "plain")
    either.first(".mapbar input").send_keys("3")
    either.wait(lambda: either.texts(".mapbar .offers li"))
    either.keys(Keys.ENTER)
    either.wait(lambda: either.script(ready) == "3")
    assert either.where() == "/map?node=3"
    either.wait(lambda: {"red", "blue", "grey"} <= set(either.script(COLOURS)))
    find = either.driver.find_elements("css selector", ".mapbar input")[1]
    find.send_keys("king", Keys.ENTER)
    either.wait(lambda: either.texts(".pointed .word") == ["king"])


@pytest.mark.parametrize("webgl", [True, False])
def test_both_ways_to_draw_points_paint_them(page, webgl):
    page.open("/")
    page.script("window.wordforest.webgl = arguments[0]; window.wordforest.go('/map?node=0')", webgl)
    page.wait(lambda: page.script("const p = document.querySelector('.plot'); return p && p.dataset.ready") == "0")
    kind = page.script("return document.querySelector('.points').getContext('webgl') !== null")
    assert kind == webgl
    page.wait(lambda: {"red", "blue", "grey"} <= set(page.script(COLOURS)))


def saved(page: Page, downloads: Path, kind: str) -> Path:
    for old in downloads.iterdir():
        old.unlink()
    page.first(f'[data-file="{kind}"]').click()
    files = lambda: (path for path in downloads.glob(f"wordforest-*.{kind}") if path.stat().st_size)  # noqa: E731
    return page.wait(lambda: next(files(), None))  # a file is there before what it holds


def test_numbers_are_saved_as_csv(either, downloads):
    either.open("/word/king")
    text = saved(either, downloads, "csv").read_text(encoding="utf-8-sig")
    rows = list(csv.DictReader(io.StringIO(text)))
    assert {row["kind"] for row in rows} == {"nearest word", "node"}
    assert rows[0]["word"] == "king"


def test_a_formula_among_the_words_is_not_run_by_a_spreadsheet(page):
    page.open("/")
    assert page.script("return window.wordforest.toCsv([['=1+1', -2, 'a\"b']])") == '\'=1+1,-2,"a""b"\r\n'


@pytest.mark.parametrize("address", ["/", "/word/king", "/node/1", "/compare/king,queen", "/map"])
def test_every_view_is_saved_as_svg_and_png(page, downloads, address):
    page.open(address)
    if address == "/map":
        page.wait(lambda: page.script("return document.querySelector('.plot').dataset.ready") == "plain")
    root = ElementTree.fromstring(saved(page, downloads, "svg").read_bytes())
    texts = "".join(root.itertext())
    assert page.title().split(",")[0] in texts
    png = saved(page, downloads, "png").read_bytes()
    assert png.startswith(b"\x89PNG")
    assert len(png) > 5000


def test_words_meant_to_do_harm_are_shown_as_text(either):
    either.open("/")
    for word in HOSTILE:
        address = "/word?w=.." if word == ".." else "/word/" + quote(word, safe="")
        either.go(address)
        either.wait_title(word)
        assert either.script("return document.querySelectorAll('#stage script, #stage img, #stage h1 b').length") == 0
        either.go("/compare/" + quote(word, safe="") + ",king")
        either.wait_title("Compare words")
        assert word in either.texts(".picked .word")


def test_a_word_meant_to_do_harm_is_found_by_search(either):
    either.open("/")
    either.first("#search input").send_keys("<scr")
    either.wait(lambda: either.texts("#search .offers [data-kind=word]") == [HOSTILE[0]])
    either.keys(Keys.ENTER)
    either.keys(Keys.ARROW_DOWN, Keys.ENTER)
    either.wait(lambda: HOSTILE[0] in either.title() or "scr" in either.title())


def test_an_unknown_word_is_told_with_words_like_it(page):
    page.open("/")
    page.script("window.wordforest.go('/word/kingdom')")
    page.wait_title("kingdom")
    assert page.texts(".panel .word") == ["king", "kings"]


def test_a_keyboard_alone_is_enough(either):
    either.open("/")
    either.keys(Keys.TAB)
    assert either.focused("class") == "skip"
    for _ in range(6):  # brand, four pages, search
        either.keys(Keys.TAB)
    assert either.focused("role") == "combobox"
    either.keys("king")
    either.wait(lambda: either.texts("#search .offers [data-kind=word]") == ["king", "kings"])
    either.keys(Keys.ARROW_DOWN, Keys.ARROW_DOWN, Keys.ARROW_UP, Keys.ENTER)
    either.wait_title("king")
    assert either.script("return document.activeElement.localName") == "h1"
    for _ in range(40):
        either.keys(Keys.TAB)
        if either.focused("class") == "dot":
            break
    outline = either.script("return getComputedStyle(document.activeElement.querySelector('circle')).strokeWidth")
    assert float(outline.removesuffix("px")) >= 3
    either.keys(Keys.ENTER)
    either.wait(lambda: either.where().startswith("/node/"))


def test_escape_closes_the_offers_and_slash_opens_the_search(page):
    page.open("/word/king")
    page.keys("/")
    assert page.focused("role") == "combobox"
    page.keys("q")
    page.wait(lambda: page.texts("#search .offers [data-kind=word]") == ["queen"])
    page.keys(Keys.ESCAPE)
    assert not page.first("#search .offers").is_displayed()


def test_a_narrow_screen_needs_no_sideways_scrolling(either):
    narrow(either)
    either.open("/")
    for address in ("/", "/word/king", "/node/1", "/compare/king,queen,man,woman,kings", "/analogy", "/map"):
        either.go(address)
        either.wait(lambda a=address: either.script("return document.getElementById('stage').dataset.address") == a)
        width = either.script("return [document.documentElement.scrollWidth, window.innerWidth]")
        assert width == [375, 375], address
    either.first("#search input").send_keys("quee")
    either.wait(lambda: either.texts("#search .offers [data-kind=word]") == ["queen"])


def test_two_models_stand_side_by_side(models, driver):
    server = open_server(make_app(models), listen(port=0))
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        page = Page(driver, f"http://127.0.0.1:{server.port}")
        page.open("/word/king")
        assert page.texts(".panel h2") == ["made", "other"]
        tops = page.script("return [...document.querySelectorAll('.panel')].map(p => p.getBoundingClientRect().top)")
        assert tops[0] == tops[1]
        page.open("/node/2?model=1")
        assert page.texts(".kicker") == ["other · Node 2"]
        assert page.errors() == []
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


def test_the_file_asks_the_network_for_nothing(page, sent):
    page.base = sent
    page.driver.get("about:blank")
    page.open("/word/king")
    time.sleep(0.2)
    names = page.script("return performance.getEntriesByType('resource').map(e => e.name)")
    assert [name for name in names if not name.startswith(("data:", "blob:"))] == []


def test_the_file_finds_the_same_neighbours_and_partings(page, sent, models):
    page.base = sent
    page.driver.get("about:blank")
    page.open("/word/king")
    page.script("window.wordforest.go('#/compare/king,queen,word005')")
    page.wait_title("Compare words")
    page.wait(lambda: page.texts(".nodetable"))
    told = page.script(PARTINGS)
    wanted = comparison(models[0], ["king", "queen", "word005"])
    assert told == [row["node"] for row in wanted["parting"]]
    page.open("/word/king")
    kept = set(page.script("return window.wordforest.source.words(0)"))
    all_near = [word for word, _ in models[0].vectors.most_similar("king", topn=len(models[0].words))]
    assert page.texts(".bars .word") == [word for word in all_near if word in kept][:15]
