"""Draw every picture of the documents: figures of draw, the states of the page of explore, the recording.

python benchmarks/pictures.py CORPUS [--out docs/pictures] [--runs build/pictures]
python benchmarks/pictures.py --slices RUN
python benchmarks/pictures.py --addresses FOLDER --posts FOLDER

Trains what is missing under --runs: FOREST with 52 and 520 dimensions, PCA with 520, a readable forest. English text of
at least some million words is needed for the built-in word lists. Chromium is needed for the page. --slices draws what
compare finds in a run of the State of the Union addresses, trained with their decades as slices, and nothing else;
--addresses and --posts what forests.py has left in its --work: the pictures are of the forests in docs/reports.
"""

from __future__ import annotations

import argparse
import csv
import shutil
import subprocess
import sys
from pathlib import Path

MODELS = {
    "forest52": ("train", "COUNTS"),
    "forest520": ("train", "COUNTS", "--trees", "40"),
    "pca520": ("baseline", "pca", "COUNTS", "--dimensions", "520"),
    "readable": ("train", "COUNTS", "--preset", "readable"),
}
FIGURES = {
    "heatmap.png": ("heatmap", "forest52", "--words", "animals", "--words", "countries"),
    "heatmap_colorblind.png": (
        "heatmap",
        "forest52",
        "--words",
        "animals",
        "--words",
        "countries",
        "--colors",
        "colorblind",
        "--style",
        "print",
        "--dpi",
        "200",
    ),
    "tree.png": ("tree", "forest52", "--words", "animal,horse,elephant", "--tree", "0"),
    "tree_labels.png": ("tree", "readable", "--words", "jupiter,orbit,telescope", "--labels", "3"),
    "forest.png": ("tree", "forest520", "--words", "king", "--tree", "all"),
    "map_good_bad.png": (
        "map",
        "forest520",
        "pca520",
        "--title",
        "FOREST, M = 520",
        "--title",
        "PCA, M = 520",
        "--words",
        "good-bad",
    ),
    "map_man_woman.png": (
        "map",
        "forest520",
        "pca520",
        "--title",
        "FOREST, M = 520",
        "--title",
        "PCA, M = 520",
        "--words",
        "man-woman",
    ),
}
ADDRESSES = (  # what the tutorial tells of, by the first words of a node
    "banks paper bank",
    "form constitutional exercise",
    "bonds coinage coin",
    "corporations publicity combinations",
    "fighting enemy victory",
    "missile strategic arms",
    "terrorist qaida terror",
    "health care benefits",
)


def wordforest(*arguments: str) -> None:
    print("wordforest", *arguments, flush=True)
    subprocess.run([sys.executable, "-m", "wordforest", *arguments], check=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("corpus", nargs="?", help="text, or a counts folder")
    parser.add_argument("--slices", type=Path, help="a run with slices", metavar="RUN")
    parser.add_argument("--addresses", type=Path, help="what forests.py addresses works in", metavar="FOLDER")
    parser.add_argument("--posts", type=Path, help="what forests.py posts works in", metavar="FOLDER")
    parser.add_argument("--out", type=Path, default=Path("docs/pictures"))
    parser.add_argument("--runs", type=Path, default=Path("build/pictures"))
    options = parser.parse_args()
    options.out.mkdir(parents=True, exist_ok=True)
    if options.slices:
        draw_slices(options.slices, options.runs, options.out)
    if options.addresses:
        draw_addresses(options.addresses / "placed", options.out)
    if options.posts:
        draw_posts(options.posts / "placed", options.out)
    if options.corpus:
        draw_corpus(options.corpus, options.runs, options.out)
    elif not (options.slices or options.addresses or options.posts):
        parser.error("give a corpus, or one of --slices, --addresses and --posts")


def draw_corpus(corpus: str, runs: Path, out: Path) -> None:
    """Draw all that comes of one text: figures of draw, states of the page, and the recording."""
    counts = Path(corpus)
    if not (counts / "counts.safetensors").exists():
        counts = runs / "counts"
        if not (counts / "counts.safetensors").exists():
            wordforest("count", corpus, "--out", str(counts))
    for name, command in MODELS.items():
        if not (runs / name / "codes.safetensors").exists():
            here = [str(counts) if part == "COUNTS" else part for part in command]
            wordforest(*here, "--out", str(runs / name))
    for name, command in FIGURES.items():
        here = [str(runs / part) if part in MODELS else part for part in command]
        wordforest("draw", *here, "--out", str(out / name), "--force")
    page = [sys.executable, str(Path(__file__).with_name("explorer.py")), "pictures", str(runs / "readable")]
    subprocess.run([*page, "--out", str(out), "--words", "king", "queen", "president"], check=True)
    for picture in [*out.glob("explorer-*.png"), out / "forest.png"]:
        shrink(picture)
    if Path(corpus).is_file():  # counts are no text to train on
        tool = [sys.executable, str(Path(__file__).with_name("recording.py")), corpus]
        subprocess.run([*tool, "--out", str(out / "recording.svg")], check=True)


def draw_slices(run: Path, runs: Path, out: Path) -> None:
    """Draw the figure of a comparison of slices, and two of them on the page."""
    folder, page, figure = runs / "compared", out / "compare-slices.png", out / "compare-sotu.png"
    wordforest("compare", str(run), "--out", str(folder), "--force", "-k", "1")
    shutil.copyfile(folder / "compare.png", figure)
    tool = [sys.executable, str(Path(__file__).with_name("explorer.py")), "page", "/slices?a=1850&b=2010"]
    subprocess.run([*tool, str(run), "--compare", str(folder), "--out", str(page)], check=True)
    for picture in (page, figure):
        shrink(picture)


def draw_addresses(placed: Path, out: Path) -> None:
    """Draw shares of the nodes that the tutorial tells of, over time."""
    with (placed / "nodes.csv").open(encoding="utf-8", newline="") as file:
        number = {row["label"]: row["node"] for row in csv.DictReader(file)}
    chosen = [next(number[label] for label in number if label.startswith(words)) for words in ADDRESSES]
    draw("documents-sotu-time", "time", placed, out, "--nodes", ",".join(chosen))


def draw_posts(placed: Path, out: Path) -> None:
    """Draw topics as rings and as rectangles, of two levels so that labels have room, and by group."""
    draw("documents-news-groups", "groups", placed, out)
    for kind in ("sunburst", "treemap"):
        draw(f"documents-news-{kind}", kind, placed, out, "--depth", "1")
        shrink(out / f"documents-news-{kind}.png")


def draw(name: str, kind: str, folder: Path, out: Path, *options: str) -> None:
    wordforest("draw", kind, str(folder), "--out", str(out / f"{name}.png"), "--force", "--dpi", "110", *options)


def shrink(picture: Path) -> None:
    """Keep 256 colours: screenshots take a third of the bytes, and nobody sees it."""
    from PIL import Image

    Image.open(picture).convert("RGB").quantize(256, dither=Image.Dither.NONE).save(picture, optimize=True)


if __name__ == "__main__":
    main()
