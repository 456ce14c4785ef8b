"""Figures in README, docs and paper, tied to the results files of docs/reports.

python benchmarks/figures.py            write every tied figure anew from its file: make figures
python benchmarks/figures.py --check    say what differs, and which measured figures are tied to no file

A results file is docs/reports/NAME.md, the tables as a command made them below a stamp (command, commit, date,
machine), and NAME.json, made of it: the stamp, and the figures by heading, row and column; benchmarks/reports.py runs
the commands. A tie is a comment that no reader of the page sees:

    14.5 s<!--best:M = 52.BEST.seconds-->                   the number before it: the first of that cell
    14.5 (15.6, 14.0, 13.9)<!--best:M = 52.BEST.all.*-->    as many numbers as the cell has
    40.2 and 32.7<!--best:BEST.syntactic; BEST.semantic-->  two numbers, two cells
    21 times<!--best:SG.seconds / BEST.seconds-->           also with -
    0.606<!--best:BEST.similarity.2-->                      a later number of the cell, counted from 0

    <!--best:M = 52-->                              a table behind it: rows and columns have the names of the file,
    | model | both<!--syntactic; semantic--> |      or those in a comment in the row's first cell or in the header
    |---|---|
    | **BEST**<!--BEST--> | 40.2 / 32.7 |           <!--given--> in the header: not a measured column

<!--given--> says of a line as far as that, or of the table behind it, that its figures were not measured here:
settings, limits, the paper's values. A measured figure is a number with a unit, a decimal that nothing is set to (lam
= 0.1 is), or a number in a table whose header has a unit. Code is left alone.
"""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

HOME = Path(__file__).resolve().parents[1]
REPORTS = HOME / "docs" / "reports"
STAMP = ("command", "commit", "rebased", "date", "machine", "load", "includes", "transcribed")
GIVEN = "given"

_NUMBER = re.compile(r"(?<![\w.^])[+-]?(?:\d{1,3}(?:,\d{3})+|\d+)(?:\.\d+)?(?:e[+-]?\d+)?(?!\w*\d)")
_UNITS = "%|x|s|ms|us|seconds?|minutes?|hours?|times|points?|[KMGT]i?B|kB|bytes|tokens/s|visits/s"
_DECIMAL = r"(?<![\w.=^])(?<!= )(?<!Python )[+-]?\d+\.\d+(?:e[+-]?\d+)?(?![.\w]*\d)"
_MEASURED = re.compile(rf"{_NUMBER.pattern}(?:[%x]|\s(?:{_UNITS}))(?![\w/])|{_DECIMAL}")
_UNIT = re.compile(rf"(?<!\w)(?:{_UNITS})(?!\w)")
_COMMENT = re.compile(r"<!--(.*?)-->")
_TIE = re.compile(r"<!--([a-z][\w-]*):\s*(.*?)\s*-->")
_CODE = re.compile(r"^```[\s\S]*?^```|(?<=\n\n)(?: {4}.*\n)+(?:\n?(?: {4}.*\n)+)*|`[^`\n]+`|\]\([^)\s]*\)", re.M)
_TABLE = re.compile(r"^(?:<!--([^\n]*?)-->\n)?((?:\|[^\n]*\n)+)", re.M)
_CELL = re.compile(r"(?<=\|)(?:\\.|[^|\\\n])*(?=\|)")


class Edit(NamedTuple):
    """A number of a page: where it stands, and what should stand there."""

    start: int
    end: int
    value: float | None  # None: not measured here, left as it is


class Page(NamedTuple):
    """What was found on a page: the text with its figures written anew, and what is wrong, with lines."""

    text: str
    problems: list[str]


def numbers(text: str) -> list[float]:
    """Return the numbers of a cell."""
    return [_value(match[0]) for match in _NUMBER.finditer(_COMMENT.sub("", text))]


def _value(shown: str) -> float:
    plain = shown.replace(",", "")
    return float(plain) if re.search(r"[.e]", plain) else int(plain)


def written(value: float, like: str) -> str:
    """Return a value with as many digits, and in the same way, as a number that is shown."""
    digits = len(match[1]) if (match := re.search(r"\.(\d+)", like)) else 0
    sign = "+" if like.startswith("+") else ""
    if "e" in like:
        return re.sub(r"e([+-])0*(\d)", lambda m: "e" + m[1].replace("+", "") + m[2], f"{value:{sign}.{digits}e}")
    whole = like.lstrip("+-").split(".")[0]
    thousands = "," if "," in whole or len(whole) < 4 else ""
    return f"{value:{sign}{thousands}.{digits}f}"


def cells_of(line: str) -> list[re.Match[str]]:
    return list(_CELL.finditer(line))


def label(cell: str) -> str:
    """Return what a cell is called: its text without marks, or the last comment in it."""
    comments = _COMMENT.findall(cell)
    return (comments[-1] if comments else re.sub(r"[*`]|\\(?=\|)|(?<=\d) (?=%)", "", cell)).strip()


def figures_of(markdown: str) -> dict[str, Any]:
    """Return the numbers of all tables by headings (where there are any below the title), row and column.

    A row is called by its first cell, or by the first few where that is not enough to tell rows apart; a table of two
    columns has no names of columns. A cell with several numbers is a list.
    """
    found: dict[str, Any] = {}
    for match in _TABLE.finditer(markdown):
        place = found
        for heading in _headings(markdown[: match.start()]):
            place = place.setdefault(heading, {})
        header, rows = _parsed(match[2])
        k = _n_names(rows)
        for row in rows:
            values = {h: _cell(c) for h, c in zip(header[k:], row[k:], strict=False) if numbers(c)}
            if values:
                place[_name(row[:k])] = next(iter(values.values())) if len(header) == 2 else values
    return {name: part for name, part in found.items() if part != {}}


def _headings(markdown: str) -> list[str]:
    """Return the headings that the end of a text lies below, less the title."""
    above: dict[int, str] = {}
    for marks, heading in re.findall(r"^(##+) (.*)$", markdown, re.M):
        above = {depth: name for depth, name in above.items() if depth < len(marks)} | {len(marks): label(heading)}
    return list(above.values())


def _parsed(table: str) -> tuple[list[str], list[list[str]]]:
    header, _, *rows = ([cell[0].strip() for cell in cells_of(line)] for line in table.splitlines())
    return [label(cell) for cell in header], rows


def _n_names(rows: list[list[str]]) -> int:
    """Return how many cells it takes to tell rows apart."""
    names = [[label(cell) for cell in row] for row in rows]
    apart = (k for k in range(1, len(names[0])) if len({tuple(row[:k]) for row in names}) == len(names))
    return next(apart, 1)


def _name(cells: list[str]) -> str:
    return ", ".join(filter(None, map(label, cells)))


def _cell(text: str) -> float | list[float]:
    values = numbers(text)
    return values[0] if len(values) == 1 else values


def results_of(markdown: str) -> dict[str, Any]:
    """Return a results file as an object: title, stamp, and figures."""
    title = re.findall(r"^# (.*)$", markdown, re.M)[:1]
    stamp = re.findall(rf"^- ({'|'.join(STAMP)}): `?(.*?)`?$", markdown, re.M)
    return {"title": title[0] if title else "", **dict(stamp), "figures": figures_of(markdown)}


def as_json(node: Any, depth: int = 0) -> str:
    """Return an object as JSON, with what fits into a line on one line."""
    flat = json.dumps(node, ensure_ascii=False)
    if not isinstance(node, dict) or (depth and len(flat) + depth <= 200):
        return flat
    indent = " " * (depth + 2)
    parts = (
        f"{indent}{json.dumps(name, ensure_ascii=False)}: {as_json(part, depth + 2)}" for name, part in node.items()
    )
    return "{\n" + ",\n".join(parts) + "\n" + " " * depth + "}"


@cache
def results(name: str) -> dict[str, Any]:
    """Return a results file."""
    path = REPORTS / f"{name}.json"
    if not path.is_file():
        raise KeyError(f"there is no docs/reports/{name}.json")
    return dict(json.loads(path.read_text(encoding="utf-8")))


def find(node: Any, path: str) -> Any:
    """Return what stands at a path of names with dots between; names may have dots themselves."""
    if not path:
        return node
    if isinstance(node, list) and path.isdecimal() and int(path) < len(node):
        return node[int(path)]
    known = sorted(node, key=len, reverse=True) if isinstance(node, dict) else []
    for name in known:
        if path == name or path.startswith(f"{name}."):
            try:
                return find(node[name], path[len(name) + 1 :])
            except KeyError:
                continue
    raise KeyError(f"no {path!r} among {', '.join(map(repr, sorted(known))) or 'numbers'}")


def values_of(name: str, keys: str) -> list[float]:
    """Return the values that a tie names."""
    figures, found = results(name)["figures"], []
    for key in keys.split("; "):
        parts = re.fullmatch(r"(.*?) ([/-]) (.*)", key)
        if key.endswith(".*"):
            found += _listed(find(figures, key[:-2]))
        elif parts and not _has(figures, key):
            first, second = (_first(find(figures, part)) for part in (parts[1], parts[3]))
            found.append(first / second if parts[2] == "/" else first - second)
        else:
            found.append(_first(find(figures, key)))
    return found


def _has(node: Any, path: str) -> bool:
    try:
        find(node, path)
    except KeyError:
        return False
    return True


def _listed(found: Any) -> list[float]:
    if isinstance(found, dict):
        raise KeyError(f"{', '.join(found)}: a row, not a number")
    return found if isinstance(found, list) else [found]


def _first(found: Any) -> float:
    return _listed(found)[0]


def _tied_numbers(text: str) -> Iterator[Edit | str]:
    """Yield the numbers right before ties, and what is wrong with ties."""
    free, last = _without_code(text), 0
    for tie in _TIE.finditer(free):
        shown = list(_NUMBER.finditer(free, last, tie.start()))
        last = tie.end()
        try:
            values = values_of(tie[1], tie[2])
        except KeyError as error:
            yield _at(text, tie.start(), f"{tie[0]}: {error.args[0]}")
            continue
        if len(shown) < len(values):
            yield _at(text, tie.start(), f"{tie[0]} has {len(values)} figures, before it stand {len(shown)} numbers")
        for match, value in zip(shown[-len(values) :], values, strict=False):
            yield Edit(match.start(), match.end(), value)


def _at(text: str, place: int, what: str) -> str:
    return f"line {text.count(chr(10), 0, place) + 1}: {what}"


def _tabled_numbers(text: str) -> Iterator[Edit | str]:
    """Yield the numbers of tied tables, and of those that are given."""
    for match in _TABLE.finditer(text):
        tie = _TIE.fullmatch(f"<!--{match[1]}-->")
        if match[1] == GIVEN:
            yield Edit(match.start(2), match.end(2), None)
        elif tie:
            yield from _of_table(text, match.start(2), match[2], tie)


def _of_table(text: str, start: int, table: str, tie: re.Match[str]) -> Iterator[Edit | str]:
    lines = table.splitlines(keepends=True)
    header = [cell[0] for cell in cells_of(lines[0])]
    starts = [start + sum(map(len, lines[:i])) for i in range(len(lines))]
    yield Edit(starts[0], starts[2] if len(lines) > 2 else start + len(table), None)
    k = _n_names([[cell[0] for cell in cells_of(line)] for line in lines[2:]])
    for at, line in zip(starts[2:], lines[2:], strict=True):
        cells = cells_of(line)
        yield Edit(at, at + cells[k - 1].end(), None)
        try:
            row = _row(tie, _name([cell[0] for cell in cells[:k]]))
        except KeyError as error:
            yield _at(text, at, error.args[0])
            continue
        for cell, column in zip(cells[k:], header[k:], strict=False):
            yield from _of_cell(text, at + cell.start(), cell[0], row, label(column))


def _row(tie: re.Match[str], name: str) -> Any:
    if own := re.fullmatch(r"([a-z][\w-]*):(\S.*)", name):  # a label may have a colon and a space
        return find(results(own[1])["figures"], own[2].strip())
    return find(find(results(tie[1])["figures"], tie[2]), name)


def _of_cell(text: str, at: int, cell: str, row: Any, column: str) -> Iterator[Edit | str]:
    shown = list(_NUMBER.finditer(cell))
    if _TIE.search(cell) or not shown:
        return
    if column == GIVEN:
        yield Edit(at, at + len(cell), None)
        return
    try:
        parts = [find(row, key) for key in column.split("; ")] if isinstance(row, dict) else [row]
        values = _listed(parts[0]) if len(parts) == 1 else [_first(part) for part in parts]
    except KeyError as error:
        yield _at(text, at, error.args[0])
        return
    if len(shown) > len(values):
        yield _at(text, at, f"the cell {cell.strip()!r} has more numbers than its file: {values}")
    for match, value in zip(shown, values, strict=False):
        yield Edit(at + match.start(), at + match.end(), value)


def _blank(text: str, start: int, end: int) -> str:
    return text[:start] + re.sub(r"[^\n]", " ", text[start:end]) + text[end:]


def _without_code(text: str) -> str:
    for match in list(_CODE.finditer(text)):
        text = _blank(text, *match.span())
    return text


def _untied(text: str, edits: list[Edit]) -> Iterator[str]:
    """Yield the measured figures that no tie covers."""
    for edit in edits:
        text = _blank(text, edit.start, edit.end)
    text = _without_code(text).replace("95 %", "    ")
    for match in _TABLE.finditer(text):
        header, rows = _parsed(match[2])
        of_unit = [_UNIT.search(cell) is not None for cell in header]
        if any(
            _NUMBER.search(_COMMENT.sub("", cell))
            for row in rows
            for cell, unit in zip(row, of_unit, strict=False)
            if unit
        ):
            yield _at(text, match.start(2), "a table with measured figures is tied to no results file")
    for number, line in enumerate(text.splitlines(), start=1):
        own = line if line.startswith("|") else line.rpartition(f"<!--{GIVEN}-->")[2]
        seen = _COMMENT.sub(" ", own)
        figures = [match[0] for match in _MEASURED.finditer(seen)]
        if figures:
            yield f"line {number}: tied to no results file: {', '.join(figures)}"


def look_at(text: str) -> Page:
    """Return a page with its figures as their files have them, and what is wrong with it."""
    tabled = list(_tabled_numbers(text))
    named = text  # less what ties of tables stand on: their names of rows and columns
    for match in _TABLE.finditer(text):
        named = _blank(named, match.start(), match.start(2))
    for edit in tabled:
        named = _blank(named, edit.start, edit.end) if isinstance(edit, Edit) and edit.value is None else named
    found = [*_tied_numbers(named), *tabled]
    edits = [one for one in found if isinstance(one, Edit)]
    problems = [one for one in found if isinstance(one, str)] + list(_untied(text, edits))
    for start, end, value in sorted((edit for edit in edits if edit.value is not None), reverse=True):
        new = written(value or 0, text[start:end])
        if new != text[start:end]:
            problems.append(_at(text, start, f"{text[start:end]}, but its results file has {new}"))
            text = text[:start] + new + text[end:]
    return Page(text, sorted(dict.fromkeys(problems), key=lambda one: int(re.findall(r"\d+", one)[0])))


def pages() -> list[Path]:
    """Return the pages whose figures are tied: README, docs and the paper, but not what is generated."""
    return [
        HOME / "README.md",
        *sorted((HOME / "docs").glob("*.md")),
        *sorted((HOME / "docs" / "tutorials").glob("*.md")),
        HOME / "paper" / "paper.md",
    ]


def write_results() -> None:
    """Make every NAME.json of docs/reports from its NAME.md."""
    for path in REPORTS.glob("*.md"):
        made = as_json(results_of(path.read_text(encoding="utf-8"))) + "\n"
        path.with_suffix(".json").write_text(made, encoding="utf-8")
    results.cache_clear()


def main() -> None:
    check, wrong = "--check" in sys.argv, False
    if not check:
        write_results()
    for path in pages():
        page = look_at(path.read_text(encoding="utf-8"))
        for problem in page.problems:
            print(f"{path.relative_to(HOME)}, {problem}")
        if not check:
            path.write_text(page.text, encoding="utf-8")
        wrong |= bool(page.problems)
    sys.exit(wrong and check)


if __name__ == "__main__":
    main()
