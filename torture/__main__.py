"""Run parts of the suite, print what was tried and what came of it, and keep it as JSON.

python -m torture [kills] [faults] [fuzz] [load] [--short] [--seed 0] [--only COMMAND] [--results DIR] [--scratch DIR]

--short takes seconds, as in CI; without it every command is killed at 100 moments, and so on. --results keeps a file
for every part, from which ``python -m torture.table`` makes the results files of docs/reports.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path

from torture.child import with_shim
from wordforest.reproduce.stamps import stamp

PARTS = ("kills", "faults", "fuzz", "load")
# A part is a function (folder, seed, short, only) -> rows. One more is one more line here.


def _part(name: str) -> Callable[[Path, int, bool, str], Iterator[dict[str, object]]]:
    if name == "kills":
        from torture.kills import torture_kills

        return lambda folder, seed, short, only: torture_kills(folder, seed, 2 if short else 100, only)
    if name == "faults":
        from torture.faults import torture_faults

        return lambda folder, seed, short, only: torture_faults(folder, seed, 2 if short else 20, only)
    if name == "fuzz":
        from torture.fuzz import torture_fuzz

        return lambda folder, seed, short, only: torture_fuzz(folder, seed, 2_000 if short else 1_000_000, only)
    from torture.load import torture_load

    return lambda folder, seed, short, _: torture_load(folder, seed, short)


def main() -> None:
    """Run what was asked for, one part after the other."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("parts", nargs="*", default=PARTS, metavar="PART", help=", ".join(PARTS))
    parser.add_argument("--short", action="store_true")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--only", default="", help="commands or readers whose name holds this")
    parser.add_argument("--results", type=Path)
    parser.add_argument("--scratch", type=Path, default=Path(os.environ.get("TORTURE_SCRATCH", tempfile.gettempdir())))
    options = parser.parse_args()
    with_shim(options.scratch / "torture-shim")
    for name in options.parts:
        print(f"{name}: seed {options.seed}", file=sys.stderr, flush=True)
        started = time.monotonic()
        folder = options.scratch / f"torture-{name}-{os.getpid()}"
        facts = {
            "part": name,
            "seed": options.seed,
            "short": options.short,
            **stamp(),
        }
        for row in _part(name)(folder, options.seed, options.short, options.only):
            seconds, started = time.monotonic() - started, time.monotonic()
            print(json.dumps(row), flush=True)
            if options.results:
                _keep(options.results / f"{name}.json", facts, {**row, "took": round(seconds, 1)})


def _keep(path: Path, facts: dict[str, object], row: dict[str, object]) -> None:
    """Write a row in place of that of the same name; others of the same seed stay, so that parts may be run alone."""
    known = json.loads(path.read_text(encoding="utf-8")) if path.exists() else {}
    if (known.get("seed"), known.get("short")) != (facts["seed"], facts["short"]):
        known = {"rows": []}
    rows = {_name(old): old for old in known["rows"]} | {_name(row): row}
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps({**facts, "rows": list(rows.values())}, indent=1) + "\n", encoding="utf-8")


def _name(row: dict[str, object]) -> tuple[object, ...]:
    return tuple(row.get(key) for key in ("command", "fault", "reader", "load"))


if __name__ == "__main__":
    main()
