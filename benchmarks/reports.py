"""The results files of docs/reports, made anew: every benchmark and experiment that the docs name.

make reports CORPUS=enwiki_dev.txt.xz DATA=DIR [ONLY="spams solvers"]        or
python benchmarks/reports.py [NAME ...] [--corpus TEXT] [--data DIR] [--work DIR] [--out DIR] [--again] [--list]
python benchmarks/reports.py take NAME FOLDER [--commit C]      a finished folder of ``wordforest reproduce``

``take`` is for what was made on another machine; --commit names its code where that was a copy without git.

benchmarks/reports.toml lists them: the command, how long it takes, and what its seconds include. One whose results file
was made from the same code is skipped, so what was broken off is resumed by the same command; ``reproduce`` itself
resumes inside of --work. Afterwards ``make figures`` writes the figures of README and docs anew.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import shlex
import shutil
import subprocess
import sys
import time
import tomllib
from pathlib import Path
from typing import Any

from figures import HOME, REPORTS, as_json, results_of
from wordforest.reproduce.stamps import stamp

_PLACES = re.compile(r"\{([\w.]+)\}")
_GIVEN = {"corpus": "CORPUS", "data": "DATA", "peers": "PEERS"}  # places that only a user can fill, as make calls them


class Desk:
    """What commands work on: what the user gave, and counts and tokens, which are made when first needed."""

    def __init__(self, asked: argparse.Namespace, recipes: dict[str, str]) -> None:
        self.work: Path = asked.work.resolve()
        self.given = {place: vars(asked)[place] for place in _GIVEN}
        self.recipes = recipes

    def path(self, place: str, name: str) -> str:
        """Return what stands in a command for {place}."""
        if place == "out":
            return str(self.work / name)
        if place in _GIVEN:
            return str(self.given[place].resolve())
        made = self.work / place
        if not made.exists():
            print(f"making {made}", flush=True)
            run(self.filled(self.recipes[place].replace("{path}", str(made)), name))
        return str(made)

    def filled(self, command: str, name: str) -> list[str]:
        """Return a command as a list of arguments."""
        words = shlex.split(command)
        start = {"wordforest": [sys.executable, "-m", "wordforest"], "python": [sys.executable]}[words[0]]
        return start + [_PLACES.sub(lambda place: self.path(place[1], name), word) for word in words[1:]]

    def lacking(self, command: str) -> list[str]:
        """Return the variables that a command needs and nobody gave."""
        places, new = set[str](), set(_PLACES.findall(command))
        while new:
            places |= new
            new = {own for place in new for own in _PLACES.findall(self.recipes.get(place, ""))} - places
        return [f"{_GIVEN[place]}=..." for place in sorted(places & _GIVEN.keys()) if not self.given[place]]

    def shown(self, text: str) -> str:
        """Return a text without paths of this machine."""
        for place, path in self.given.items():
            if path:
                name = path.name if place == "corpus" else _GIVEN[place]
                text = text.replace(str(path.resolve()), name)
        return text.replace(f"{self.work}/", "").replace(f"{HOME}/", "").replace(str(sys.executable), "python")


def run(command: list[str]) -> str:
    """Run a command in the repository, show what it prints, and return it."""
    printed = []
    with subprocess.Popen(command, cwd=HOME, stdout=subprocess.PIPE, text=True) as process:
        for line in process.stdout or ():
            print("  " + line, end="", flush=True)
            printed.append(line)
    if process.returncode:
        sys.exit(
            f"{shlex.join(command)} ended with {process.returncode}. Mend it and run make reports again: it resumes."
        )
    return "".join(printed)


def report(name: str, entry: dict[str, Any], facts: dict[str, Any], body: str) -> str:
    """Return a results file: the title, the stamp, and what the command printed."""
    stamps = {
        "command": f"`{facts['command']}`",
        "commit": facts["commit"] or f"none, version {facts['version']}",
        "date": facts["date"],
        "machine": facts["machine"],
        "load": facts.get("load", ""),
        "includes": entry.get("includes", ""),
    }
    lines = [f"# {entry.get('title', name)}", "", *(f"- {key}: {value}" for key, value in stamps.items() if value), ""]
    return "\n".join(lines) + "\n" + body.strip() + "\n"


def taken(folder: Path, name: str, entry: dict[str, Any], **more: str) -> str:
    """Return the results file of a finished folder of ``reproduce``."""
    facts = json.loads((folder / "results.json").read_text(encoding="utf-8"))
    text = (folder / "REPORT.md").read_text(encoding="utf-8")
    about, _, rest = text.partition("\n\n")[2].partition("\n## ")
    prose = [line for line in about.splitlines() if line != f"- `{facts.get('command')}`" and facts["date"] not in line]
    entry = {"title": facts["title"], **entry}
    return report(name, entry, facts | more, "\n".join(prose) + "\n\n## " + rest)


def made(name: str, entry: dict[str, Any], desk: Desk) -> str:
    """Run what a results file needs and return the file."""
    command = desk.filled(entry["command"], name)
    began, busy = time.monotonic(), os.getloadavg()[0]
    facts = {**stamp(), "load": f"{busy:.1f} when it began"}
    if busy > 1:
        print(f"other work shares the cores (load {busy:.1f}): take its seconds as upper bounds", flush=True)
    printed = run(command)
    print(f"{name} took {time.monotonic() - began:.0f} s", flush=True)
    if (desk.work / name / "REPORT.md").is_file():
        return desk.shown(taken(desk.work / name, name, entry, load=facts["load"]))
    short = _PLACES.sub(lambda place: place[1] if place[1] != "corpus" else desk.given["corpus"].name, entry["command"])
    return report(name, entry, {"command": short, **facts}, desk.shown(printed))


def is_fresh(path: Path, entry: dict[str, Any]) -> bool:
    """Return whether a results file is there and was made by a command, from the code as it is."""
    if not path.is_file():
        return False
    found = json.loads(path.read_text(encoding="utf-8"))
    if found.keys() & {"transcribed", "rebased"} or not re.fullmatch(r"[0-9a-f]{7,}", found.get("commit", "")):
        return False
    measured = entry.get("measures", ["src/wordforest"]) + re.findall(r"experiments/\w+\.toml", entry["command"])
    same = ["git", "-C", str(HOME), "diff", "--quiet", found["commit"], "--", *measured]
    return subprocess.run(same, stderr=subprocess.DEVNULL, check=False).returncode == 0


def why_not(entry: dict[str, Any], desk: Desk) -> str:
    """Return why a report cannot be made here, or nothing."""
    if entry.get("needs") == "gpu" and not shutil.which("nvidia-smi"):
        return "it needs a GPU"
    return f"it needs {' '.join(lacking)}" if (lacking := desk.lacking(entry["command"])) else ""


def save(out: Path, name: str, text: str) -> None:
    out.mkdir(parents=True, exist_ok=True)
    (out / f"{name}.json").write_text(as_json(results_of(text)) + "\n", encoding="utf-8")
    (out / f"{name}.md").write_text(text, encoding="utf-8")
    print(f"wrote {out / name}.md, {name}.json", flush=True)


def parse(known: dict[str, Any]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"of {', '.join(known)}")
    parser.add_argument("--corpus", type=Path)
    parser.add_argument("--data", type=Path)
    parser.add_argument("--peers", type=Path, help="the Python of an environment with the peers of docs/documents.md")
    parser.add_argument("--work", type=Path, default=HOME / "build" / "reports")
    parser.add_argument("--out", type=Path, default=REPORTS)
    parser.add_argument("--again", action="store_true", help="also what is there and made from this code")
    parser.add_argument("--list", action="store_true")
    parser.add_argument("--commit", default={}, type=lambda commit: {"commit": commit}, help="take: of a copy")
    asked = parser.parse_args()
    for place in _GIVEN:
        path = vars(asked)[place] = vars(asked)[place] if str(vars(asked)[place] or "") not in ("", ".") else None
        if path and not path.exists():
            parser.error(f"{_GIVEN[place]}: {path} does not exist")
    if asked.names[:1] != ["take"] and (unknown := [name for name in asked.names if name not in known]):
        parser.error(f"no report {', '.join(unknown)}; there are {', '.join(known)}")
    return asked


def main() -> None:
    listed = tomllib.loads((HOME / "benchmarks" / "reports.toml").read_text(encoding="utf-8"))
    recipes = listed.pop("make")
    asked = parse(listed)
    if asked.names[:1] == ["take"]:
        _, name, folder = asked.names
        save(asked.out, name, taken(Path(folder), name, listed.get(name, {}), **asked.commit))
        return
    desk = Desk(asked, recipes)
    desk.work.mkdir(parents=True, exist_ok=True)
    left: dict[str, str] = {}
    for name in asked.names or listed:
        entry = listed[name]
        reason = why_not(entry, desk)
        fresh = not asked.again and is_fresh(asked.out / f"{name}.json", entry)
        left |= {name: reason} if reason else {}
        state = f"skipped: {reason}" if reason else "skipped: made from this code" if fresh else "now"
        print(f"{name}, takes {entry['takes']}: {state}", flush=True)
        if not (asked.list or reason or fresh):
            save(asked.out, name, made(name, entry, desk))
    if left and not asked.list:
        sys.exit("not made: " + "; ".join(f"{name}, {reason}" for name, reason in left.items()))


if __name__ == "__main__":
    main()
