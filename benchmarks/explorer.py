"""The page in Chromium: how quickly it answers on a made-up model of full size, and how it looks.

python benchmarks/explorer.py [speed] [--words 100000] [--trees 40] [--density 0.05 0.9] [--json]
python benchmarks/explorer.py pictures RUN... --out DIR [--words king queen president] [--analogy man king woman]
python benchmarks/explorer.py page ADDRESS RUN... [--compare FOLDER] --out FILE.png

speed: for each share of non-zeros the seconds until the command is ready and until the forest is painted in an empty
browser, and for each interaction from the key or click until the page shows the answer (median and slowest of several).
pictures: every page of a run as DIR/explorer-*.png, wide, narrow and dark.
page: one of them, wide.

Needs chromium, chromedriver, selenium and the extra ``explore``.
"""

from __future__ import annotations

import argparse
import json
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse
from selenium import webdriver
from selenium.webdriver.chrome.service import Service
from selenium.webdriver.support.ui import WebDriverWait

from wordforest.coder.forest import Forest
from wordforest.store import Run, save_run

SERVE = "import wordforest.cli.explore; from wordforest.cli import main; main()"
FLAGS = (
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-background-networking",
    "--no-first-run",
    "--window-size=1400,900",
    "--hide-scrollbars",
    "--enable-unsafe-swiftshader",
)
# Runs a step in the page and tells how long it took until a condition holds, and a frame more.
TIMED = """
const finish = arguments[0], start = performance.now();
(() => {{ {act} }})();
const done = () => {{ {done} }};
const look = () => (done() ? requestAnimationFrame(() => finish(performance.now() - start)) : setTimeout(look, 2));
look();
"""
AT = "return document.getElementById('stage').dataset.address === '{}'"
READY = "const p = document.querySelector('.plot'); return p && p.dataset.ready === '{}'"
WORDS = ("w5", "w17", "w300", "w4000", "w12345")


def made_run(folder: Path, n_words: int, trees: int, density: float) -> None:
    forest = Forest.complete(trees)
    rng = np.random.default_rng(0)
    codes = rng.standard_normal((n_words, len(forest)), dtype=np.float32)
    codes *= rng.random(codes.shape, dtype=np.float32) < density
    dictionary = rng.standard_normal((n_words, len(forest)), dtype=np.float32)
    words = tuple(f"w{i}" for i in range(n_words))
    save_run(folder, Run(words, np.arange(n_words, 0, -1), sparse.csr_array(codes), dictionary, forest))


@contextmanager
def served(runs: list[str]) -> Iterator[str]:
    """Yield the address of a server of its own."""
    command = [sys.executable, "-c", SERVE, "explore", *runs, "--port", "0"]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as server:
        try:
            lines = []
            while not (lines and "http://" in lines[-1]):
                lines.append(server.stderr.readline() if server.stderr else "")
                if not lines[-1]:
                    raise SystemExit("".join(lines))
            yield lines[-1].split()[0]
        finally:
            server.terminate()


@contextmanager
def browser(scratch: Path) -> Iterator[webdriver.Chrome]:
    """Yield a Chromium with an empty profile."""
    options = webdriver.ChromeOptions()
    options.binary_location = shutil.which("chromium") or ""
    for flag in (*FLAGS, f"--user-data-dir={tempfile.mkdtemp(dir=scratch)}"):
        options.add_argument(flag)
    driver = webdriver.Chrome(options=options, service=Service(shutil.which("chromedriver")))
    driver.set_script_timeout(60)
    try:
        yield driver
    finally:
        driver.quit()


def first_paint(driver: webdriver.Chrome, url: str) -> float:
    """Return seconds from the start of the navigation until the forest's cells stand on the page."""
    driver.get("about:blank")
    driver.get(url)
    WebDriverWait(driver, 60, 0.02).until(lambda d: d.find_elements("css selector", ".cell"))
    shown = "return (performance.getEntriesByName('wordforest-shown')[0] || {}).startTime"
    return float(WebDriverWait(driver, 60, 0.02).until(lambda d: d.execute_script(shown))) / 1000


def timed(driver: webdriver.Chrome, act: str, done: str) -> float:
    """Return the milliseconds from an act in the page until it is done."""
    return float(driver.execute_async_script(TIMED.format(act=act, done=done)))


def steps() -> dict[str, list[tuple[str, str]]]:
    """Return for each interaction what is done and how one sees that it is done."""
    go = "window.wordforest.go('{}')"
    pages = {
        "word": [f"/word/{word}" for word in WORDS],
        "node": [f"/node/{node}" for node in (0, 5, 99, 300, 519)],
        "compare five": [f"/compare/{','.join(WORDS)}", "/compare/w1,w2,w3,w4,w6", "/compare/w7,w8,w9,w10,w11"],
        "analogy": ["/analogy/w1,w2,w3", "/analogy/w4,w5,w6", "/analogy/w7,w8,w9"],
        "forest to leaves": ["/?depth=2", "/?depth=0", "/?depth=1"],
    }
    found = {name: [(go.format(a), AT.format(a)) for a in addresses] for name, addresses in pages.items()}
    found["map coloured by a node"] = [(go.format(f"/map?node={n}"), READY.format(n)) for n in (3, 77, 200, 519)]
    type_in = (
        "const i = document.querySelector('#search input'); i.value = '{}';"
        "i.dispatchEvent(new Event('input', {{bubbles: true}}))"
    )
    offered = "const l = document.querySelector('#search .offers li'); return l && l.textContent === '{}'"
    found["completion"] = [(type_in.format(w), offered.format(w)) for w in ("w1", "w12", "w999", "w54321")]
    return found


def measure(n_words: int, trees: int, density: float, scratch: Path) -> dict[str, object]:
    folder = scratch / f"run{density}"
    made_run(folder, n_words, trees, density)
    begin = time.perf_counter()
    with served([str(folder)]) as url, browser(scratch) as driver:
        told: dict[str, object] = {"command ready, s": round(time.perf_counter() - begin, 2)}
        told["first paint, s"] = [round(first_paint(driver, url), 2) for _ in range(3)]
        begin = time.perf_counter()
        timed(driver, "window.wordforest.go('/map')", READY.format("plain"))
        told["first map, s"] = round(time.perf_counter() - begin, 2)
        for name, actions in steps().items():
            times = [timed(driver, act, done) for act, done in actions]
            told[f"{name}, ms"] = {"median": round(statistics.median(times)), "slowest": round(max(times))}
    shutil.rmtree(folder)
    return told


def pictures(runs: list[str], out: Path, words: list[str], analogy: list[str]) -> list[Path]:
    """Write every page of a run as a picture."""
    word = f"/word/{words[0]}"
    pages = {
        "forest": "/",
        "leaves": "/?depth=2",
        "word": word,
        "compare": f"/compare/{','.join(words)}",
        "analogy": f"/analogy/{','.join(analogy)}",
        "map": "/map",
    }
    if len(runs) > 1:
        pages["across"] = f"/across/{words[0]}"
    written = []
    with tempfile.TemporaryDirectory() as scratch, served(runs) as url, browser(Path(scratch)) as driver:
        open_page(driver, url + word[1:])
        node = driver.execute_script(
            "const n = document.querySelector('.noderows a'); return n && n.getAttribute('href')"
        )
        if node:
            number = node.split("/")[2].split("?")[0]
            pages |= {"node": node, "map-node": f"/map?node={number}"}
        for look, width, height in (("", 1440, 900), ("narrow-", 390, 844), ("dark-", 1440, 900)):
            scheme = "dark" if look == "dark-" else "light"
            features = [{"name": "prefers-color-scheme", "value": scheme}]
            driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": features})
            for name, address in pages.items():
                if look == "dark-" and name not in ("forest", "word", "map"):
                    continue
                path = out / f"explorer-{look}{name}.png"
                photograph(driver, url + address[1:], width, height, path)
                written.append(path)
    return written


def picture(address: str, runs: list[str], compare: str | None, path: Path) -> None:
    """Write one page as a picture."""
    options = ["--compare", compare] if compare else []
    with tempfile.TemporaryDirectory() as scratch, served([*runs, *options]) as url, browser(Path(scratch)) as driver:
        photograph(driver, url + address[1:], 1400, 900, path)


def photograph(driver: webdriver.Chrome, url: str, width: int, height: int, path: Path) -> None:
    """Write a page as a picture of a width, as high as the page is and at most two and a half screens."""
    size = {"width": width, "height": height, "deviceScaleFactor": 1.25, "mobile": width < 500}
    driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)
    open_page(driver, url)
    full = driver.execute_script("return document.documentElement.scrollHeight")
    driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size | {"height": min(full, int(2.5 * height))})
    time.sleep(0.4)  # the map is drawn again after a change of size
    driver.save_screenshot(str(path))


def open_page(driver: webdriver.Chrome, url: str) -> None:
    driver.get(url)
    drawn = "[...document.querySelectorAll('.plot')].every(plot => plot.dataset.ready)"
    there = f"return document.querySelector('#stage h1') !== null && {drawn}"
    WebDriverWait(driver, 60, 0.05).until(lambda d: d.execute_script(there))


def as_table(told: dict[float, dict[str, Any]]) -> str:
    """Return a table with a column for each density; of several numbers the median and the slowest."""

    def cell(value: Any) -> str:
        numbers = value.values() if isinstance(value, dict) else value if isinstance(value, list) else [value]
        return " / ".join(map(str, numbers))

    header = "".join(f" {density:.0%} non-zeros |" for density in told)
    names = next(iter(told.values()))
    rows = [f"| {name} | {' | '.join(cell(found[name]) for found in told.values())} |" for name in names]
    return "\n".join([f"| |{header}", "|---|" + "---|" * len(told), *rows])


def main(show: Callable[[str], None] = print) -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(dest="command")
    speed = commands.add_parser("speed")
    speed.add_argument("--words", type=int, default=100_000)
    speed.add_argument("--trees", type=int, default=40)
    speed.add_argument("--density", type=float, nargs="+", default=[0.05, 0.9])
    speed.add_argument("--json", action="store_true")
    shots = commands.add_parser("pictures")
    shots.add_argument("runs", nargs="+")
    shots.add_argument("--out", type=Path, required=True)
    shots.add_argument("--words", nargs="+", default=["king", "queen", "president"])
    shots.add_argument("--analogy", nargs=3, default=["man", "king", "woman"])
    page = commands.add_parser("page")
    page.add_argument("address")
    page.add_argument("runs", nargs="+")
    page.add_argument("--compare")
    page.add_argument("--out", type=Path, required=True)
    options = parser.parse_args(sys.argv[1:] or ["speed"])
    if not (shutil.which("chromium") and shutil.which("chromedriver")):
        show("skipped: chromium and chromedriver are not installed")
    elif options.command == "pictures":
        for path in pictures(options.runs, options.out, options.words, options.analogy):
            show(str(path))
    elif options.command == "page":
        picture(options.address, options.runs, options.compare, options.out)
    else:
        with tempfile.TemporaryDirectory() as scratch:
            told = {d: measure(options.words, options.trees, d, Path(scratch)) for d in options.density}
        show(json.dumps(told) if options.json else as_table(told))


if __name__ == "__main__":
    main()
