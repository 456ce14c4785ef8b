"""The report of an experiment, as Markdown: tables with intervals and the paper's values, comparisons, commands."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from statistics import fmean
from typing import Any

from wordforest.evaluation.report import as_markdown, markdown_table, tabulate
from wordforest.reproduce.plan import CODES, Experiment
from wordforest.reproduce.results import COLUMNS, HALVES, Against, Column, Number, Row, against_reference

_CLEAR = 0.05  # p below which a difference is called one
_MISSING = "–"
_SHORT = {"development": "dev", "test": "test"}


def as_report(experiment: Experiment, rows: Sequence[Row], facts: Mapping[str, Any], skipped: Sequence[str]) -> str:
    """Return the report; ``facts`` say what was run where: corpus, date, version, machine, and whether it was quick."""
    columns = [column for column in COLUMNS if any(row.number(column) for row in rows)]
    blocks = [f"# {experiment.title}", *([experiment.about] if experiment.about else []), _head(facts, rows, skipped)]
    for size in sorted({row.trial.size for row in rows}):
        blocks.append(f"## M = {size}" if size else "## Published vectors")
        blocks.append(_scores([row for row in rows if row.trial.size == size], columns, experiment))
    blocks += _compared(against_reference(rows, experiment.reference))
    scored = [row for row in rows if row.scored]
    if experiment.halves:
        blocks += _halves(scored, columns)
    blocks += ["## Time, memory, sparsity", _costs(scored)]
    if scored:
        every = tabulate([(_label(row), row.means["all"]) for row in scored])
        blocks += ["## Every set", as_markdown(every).rstrip()]
    if experiment.notes:
        blocks += ["## Notes", _items(experiment.notes)]
    typed = dict.fromkeys(f"wordforest {job.command}" for row in rows for job in row.jobs)
    return "\n\n".join([*blocks, "## Commands", "\n".join(["```text", *typed, "```"])]) + "\n"


def _items(texts: Iterable[str]) -> str:
    return "\n".join(f"- {text}" for text in texts)


def _table(header: Sequence[str], rows: Iterable[Sequence[str]], caption: str = "") -> str:
    escaped = [[cell.replace("|", "\\|") for cell in row] for row in (header, *rows)]
    lines = markdown_table(escaped[0], escaped[1:])
    return "\n".join([*lines, *(["", caption] if caption else [])])


def _head(facts: Mapping[str, Any], rows: Sequence[Row], skipped: Sequence[str]) -> str:
    lines = [
        f"`{facts['command']}`",
        f"corpus: {facts['corpus']}",
        f"{facts['date']}, commit {facts['commit'] or 'none'}, wordforest {facts['version']}, {facts['machine']}",
        "each cell: value, [its 95 % interval], (the paper's value, where it has one); several seeds give their mean "
        "and, behind ±, their standard deviation; the best of a column is bold",
        "intervals are for other items, of which questions that share a pair of words and pairs that share a word "
        "count as related, and for other seeds where there are several",
    ]
    if facts["quick"]:
        lines.insert(0, "**quick profile**: a small corpus and few passes, to see that everything runs")
    lines += [f"left out: {name}" for name in skipped]
    lines += [f"**failed**: {row.trial.model.name}, M = {row.trial.size}: {row.failure}" for row in rows if row.failure]
    return _items(lines)


def _scores(rows: Sequence[Row], columns: Sequence[Column], experiment: Experiment) -> str:
    cells = []
    for row in rows:
        by_model = experiment.paper.get(str(row.trial.size), experiment.paper.get("any", {}))
        paper = by_model.get(row.trial.model.name, {})
        numbers = [_cell(row.number(c), c, _best(rows, c), paper.get(c.name)) for c in columns]
        cells.append((row.trial.model.name, _of_codes(row), *numbers))
    return _table(("model", "non-zeros", *(column.name for column in columns)), cells)


def _of_codes(row: Row) -> str:
    return _nonzeros(row) if row.scored and row.trial.model.method in CODES else _MISSING


def _nonzeros(row: Row) -> str:
    return f"{fmean(one.density for one in row.scored):.1%}"


def _best(rows: Sequence[Row], column: Column) -> float:
    numbers = [number.value for row in rows if (number := row.number(column))]
    return round(max(numbers), column.digits) if len(numbers) > 1 else math.inf


def _cell(number: Number | None, column: Column, best: float, paper: float | None) -> str:
    d, theirs = column.digits, "" if paper is None else f" ({paper:g})"
    known = number is not None and math.isfinite(number.low)
    interval = f" [{number.low:.{d}f}, {number.high:.{d}f}]" if known and number else ""
    return _short(number, column, best) + interval + theirs


def _compared(against: Sequence[Against]) -> list[str]:
    if not against:
        return []
    reference = against[0].first
    cells = [
        (f"{found.second}, M = {found.size}", *(_difference(found, column) for column in COLUMNS)) for found in against
    ]
    blocks = [
        f"## {reference} against the others",
        _how_compared(against),
        _table(("against", *(column.name for column in COLUMNS)), cells),
    ]
    if behind := [line for found in against if (line := _not_ahead(found))]:
        blocks += [f"Where {reference} is not clearly ahead (corrected p < {_CLEAR}):", _items(behind)]
    return blocks


def _how_compared(against: Sequence[Against]) -> str:
    reference = against[0].first
    items = "items of the test half" if against[0].part == "test" else "items"
    n = sum(math.isfinite(c.p) for found in against for _, c in found.comparisons)
    text = (
        f"Differences on the {items} that both could be scored on, {reference} minus the other, with 95 % intervals, "
        "each for itself; p: Student's t over clusters of items and over seeds, for single items and one seed the "
        f"exact McNemar test, after Holm's correction for all {n} of this table."
    )
    one_seed = [(found.first if found.seeds[0] == 1 else found.second, found) for found in against if 1 in found.seeds]
    if names := dict.fromkeys(f"{name}, M = {found.size}" for name, found in one_seed):
        text += f" One seed, whose chance no interval holds: {'; '.join(names)}."
    return text


def _difference(found: Against, column: Column) -> str:
    for at, c in found.comparisons:
        if at is column and math.isfinite(c.difference):
            d, text = column.digits, f"{c.difference:+.{column.digits}f}"
            return f"{text} [{c.low:+.{d}f}, {c.high:+.{d}f}] p {c.p_holm:.2g}" if math.isfinite(c.p) else text
    return _MISSING


def _not_ahead(found: Against) -> str:
    """Return in which tasks the reference is behind another model, and in which there is no clear difference."""
    behind = [c.name for c, at in found.comparisons if at.difference < 0 and at.p_holm < _CLEAR]
    open_ = [c.name for c, at in found.comparisons if at.p_holm >= _CLEAR]
    parts = [f"behind in {', '.join(behind)}"] if behind else []
    parts += [f"no clear difference in {', '.join(open_)}"] if open_ else []
    return f"{found.second}, M = {found.size}: {'; '.join(parts)}" if parts else ""


def _halves(rows: Sequence[Row], columns: Sequence[Column]) -> list[str]:
    parts = [(column, half) for column in columns for half in HALVES]
    header = ("model", "non-zeros", *(f"{column.name}, {_SHORT[half]}" for column, half in parts))
    cells = [
        (_label(row), _of_codes(row), *(_short(row.number(column, half), column) for column, half in parts))
        for row in rows
    ]
    about = (
        "Every set is split in two by a hash of its items, analogies by their pairs of words: questions with pairs of "
        "different halves, about half of them, are in neither. Choose settings by the development half and "
        "report the test half; the tables above are over all items, as in the paper."
    )
    return ["## Development and test halves", about, _table(header, cells)]


def _costs(rows: Sequence[Row]) -> str:
    header = ("model", "words", "non-zeros", "seconds", "of them counting", "peak memory")
    cells = []
    for row in rows:
        spent = [_MISSING] * 3
        if row.jobs:
            counting = fmean(job.counting for job in row.jobs)
            seconds = fmean(job.seconds + job.counting for job in row.jobs)
            spent = [f"{seconds:.1f}", f"{counting:.1f}", f"{max(job.peak for job in row.jobs) / 1e9:.2f} GB"]
        cells.append((_label(row), f"{row.scored[0].n_words:,}", _nonzeros(row), *spent))
    return _table(header, cells, "Times are wall-clock, the whole command.")


def _label(row: Row) -> str:
    return f"{row.trial.model.name}, M = {row.size}"


def _short(number: Number | None, column: Column, best: float = math.inf) -> str:
    if number is None:
        return _MISSING
    d = column.digits
    value = f"{number.value:.{d}f}"
    value = f"**{value}**" if round(number.value, d) >= best else value
    return value + (f" ±{number.spread:.{d}f}" if math.isfinite(number.spread) else "")
