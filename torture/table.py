"""The tables of what the suite wrote down, as results files, and the table of bad input.

python -m torture.table: writes docs/reports/torture-PART.md, and bad input between the marks of docs/messages.md.
"""

from __future__ import annotations

import json
import re
import tempfile
from pathlib import Path
from typing import Any

HOME = Path(__file__).resolve().parent.parent
DOCUMENT = HOME / "docs" / "messages.md"
REPORTS = HOME / "docs" / "reports"
RESULTS = HOME / "torture" / "results"
TITLES = {"kills": "Killed at any moment", "faults": "Faults", "fuzz": "Damaged files", "load": "Load and giants"}
_BAD_INPUT = re.compile(r"^\| (.+?) \| (.+?) \| `(.+)` \|$", re.MULTILINE)


def bad_input_rows(text: str) -> dict[str, str]:
    """Return what the document says of each case of bad input."""
    part = _between(text, "bad-input")
    return {f"{given}: {wrong}": _plain(shown) for given, wrong, shown in _BAD_INPUT.findall(part)}


def bad_input_table() -> str:
    """Run every case and return the table."""
    from torture.bad_input import CASES, make_desk, run_case, shown

    lines = ["<!--given-->", "| given | what is wrong | what the user sees |", "|---|---|---|"]
    with tempfile.TemporaryDirectory() as folder:
        desk = Path(folder) / "desk"
        make_desk(desk)
        for case in CASES:
            ended, _ = run_case(case, desk)
            lines.append(f"| {case.given} | {case.wrong} | `{_escaped(shown(ended.stderr))}` |")
    return "\n".join(lines)


def kills_table(found: dict[str, Any]) -> str:
    """Return the table of commands that were killed."""
    lines = [
        "| command | killed | at a time / before an event / inside a write | over old results | again | lost |",
        "|---|---|---|---|---|---|",
    ]
    for row in found["rows"]:
        by_time = row["tries"] - row["by event"]
        moments = f"{by_time} / {row['by event'] - row['torn writes']} / {row['torn writes']}"
        lines.append(
            f"| {row['command']} | {row['killed']} | {moments} | {row['over old']} | {row['again']} | {row['losses']} |"
        )
    total = sum(row["killed"] for row in found["rows"])
    return "\n".join([*lines, f"| **all** | **{total:,}** | | | | **{sum(r['losses'] for r in found['rows'])}** |"])


def faults_table(found: dict[str, Any]) -> str:
    """Return the table of faults, commands put together."""
    lines = [
        "| fault | commands | tried | had an effect | exit code, and what was seen | lost |",
        "|---|---|---|---|---|---|",
    ]
    for fault in dict.fromkeys(row["fault"] for row in found["rows"]):
        rows = [row for row in found["rows"] if row["fault"] == fault]
        tried, injected, lost = (sum(row[key] for row in rows) for key in ("tried", "injected", "losses"))
        seen = _merged([row["seen"] for row in rows])
        lines.append(f"| {fault} | {len(rows)} | {tried} | {injected} | {seen} | {lost} |")
    return "\n".join(lines)


def fuzz_table(found: dict[str, Any]) -> str:
    """Return the table of inputs for the readers."""
    lines = [
        "| reader | inputs | read | refused | slowest | peak memory of the process | crashes, hangs |",
        "|---|---|---|---|---|---|---|",
    ]
    for row in found["rows"]:
        lines.append(
            f"| {row['reader']} | {row['inputs']:,} | {row['read']:,} | {row['refused']:,} | "
            f"{row['slowest_ms']} ms | {row['peak_mib']} MiB | {row['crashes']} |"
        )
    total = sum(row["inputs"] for row in found["rows"])
    return "\n".join([*lines, f"| **all** | **{total:,}** | | | | | **0** |"])


def load_table(found: dict[str, Any]) -> str:
    """Return the tables of load and of giants."""
    lines = [
        "| load | seconds | requests, calls | errors | memory before, after | median, 99th percentile |",
        "|---|---|---|---|---|---|",
    ]
    giants = ["| giant | size | exit code | seconds | peak memory | bound |", "|---|---|---|---|---|---|"]
    for row in found["rows"]:
        if "memory_mib" in row:
            times = f"{row['median_ms']} ms, {row['p99_ms']} ms" if "median_ms" in row else ""
            before, after = row["memory_mib"]
            lines.append(
                f"| {row['load']} | {row['seconds']} | {row['requests']:,} | {row['errors']} | "
                f"{before}, {after} MiB | {times} |"
            )
        else:
            size = "" if "million" in row["load"] else f"{row['gib']:g} GiB"
            giants.append(
                f"| {row['load']} | {size} | {row['exit']} | {row['seconds']} | {row['peak_mib']} MiB | "
                f"{row['bound_mib']} MiB |"
            )
    return "\n".join(["## Load\n", *lines, "", "## Giants\n", *giants])


TABLES = {"kills": kills_table, "faults": faults_table, "fuzz": fuzz_table, "load": load_table}


def report(name: str, found: dict[str, Any]) -> str:
    """Return a results file: its stamp and its table, as benchmarks/figures.py reads them."""
    stamp = {fact: found[fact] for fact in ("commit", "date", "machine")}
    seconds = sum(row["took"] for row in found["rows"])
    lines = [f"# {TITLES[name]}", "", f"- command: `make torture TORTURE={name}`"]
    lines += [f"- {fact}: {value}" for fact, value in stamp.items()]
    return "\n".join([*lines, "", f"Seed {found['seed']}, {seconds:,.0f} s.", "", TABLES[name](found), ""])


def main() -> None:
    """Write the results files, and bad input into the document."""
    for name in TABLES:
        if (RESULTS / f"{name}.json").exists():
            found = json.loads((RESULTS / f"{name}.json").read_text(encoding="utf-8"))
            (REPORTS / f"torture-{name}.md").write_text(report(name, found), encoding="utf-8")
    text = DOCUMENT.read_text(encoding="utf-8")
    DOCUMENT.write_text(_put(text, "bad-input", bad_input_table()), encoding="utf-8")


def _between(text: str, name: str) -> str:
    begin, end = f"<!-- {name} -->\n", f"<!-- end of {name} -->"
    return text[text.index(begin) + len(begin) : text.index(end)]


def _put(text: str, name: str, content: str) -> str:
    begin, end = f"<!-- {name} -->\n", f"<!-- end of {name} -->"
    return text[: text.index(begin) + len(begin)] + content + "\n" + text[text.index(end) :]


def _merged(texts: list[str]) -> str:
    """Return one text for several that differ in numbers alone: the numbers behind the comma added up."""
    heads = {re.sub(r"\d+ times", "N times", text) for text in texts}
    total = sum(int(n) for text in texts for n in re.findall(r"(\d+) times", text))
    return "; ".join(sorted(head.replace("N times", f"{total} times") for head in heads))


def _escaped(text: str) -> str:
    return text.replace("|", "\\|").replace("`", "'")


def _plain(text: str) -> str:
    return text.replace("\\|", "|")


if __name__ == "__main__":
    main()
