"""The files that ``wordforest train`` goes through, counted by tracing: functions of the package that run, from the
command line to the last file written.

python benchmarks/walk.py [options of train]
"""

from __future__ import annotations

import random
import sys
import tempfile
import threading
from pathlib import Path
from types import FrameType
from typing import Any

import wordforest

SOURCE = str(Path(wordforest.__file__).parent) + "/"
_OPTIMISED = 1  # a flag of functions, which the body of a class has not


def main() -> None:
    seen: dict[str, set[str]] = {}

    def look(frame: FrameType, event: str, _: Any) -> None:
        code = frame.f_code
        own = code.co_filename.startswith(SOURCE) and code.co_flags & _OPTIMISED and not code.co_name.startswith("<")
        if event == "call" and own:
            seen.setdefault(code.co_filename.removeprefix(SOURCE), set()).add(code.co_name)

    with tempfile.TemporaryDirectory() as folder:
        rng = random.Random(0)
        words = [f"w{chr(97 + i % 26)}{chr(97 + i // 26)}" for i in range(300)]
        corpus = Path(folder) / "corpus.txt"
        corpus.write_text("\n".join(" ".join(rng.choices(words, k=20)) for _ in range(3000)), encoding="utf-8")
        sys.argv[1:1] = ["train", str(corpus), "--out", f"{folder}/run", "--min-count", "2", "--quiet"]
        from wordforest.cli import main as run

        threading.setprofile(look)
        sys.setprofile(look)
        try:
            run()
        except SystemExit:
            pass
        finally:
            sys.setprofile(None)
            threading.setprofile(None)  # type: ignore[arg-type]
    print(f"{len(seen)} files")
    for name in sorted(seen):
        print(f"  {name}: {len(seen[name])} functions")


if __name__ == "__main__":
    main()
