"""The report of an experiment: tables with intervals and the paper's values, comparisons, costs, commands.

It is written as Markdown; the page in HTML is made of it, with a chart below each table of scores.
"""

from __future__ import annotations

import html
import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from statistics import fmean

from markdown_it import MarkdownIt

from wordforest.evaluation.report import as_markdown, markdown_table, tabulate
from wordforest.reproduce.chart import Dot, dots
from wordforest.reproduce.plan import Experiment
from wordforest.reproduce.results import COLUMNS, Against, Column, Number, Row
from wordforest.reproduce.scoring import HALVES

_CLEAR = 0.05  # p below which a difference is called one
_MISSING = "–"
_SHORT = {"development": "dev", "test": "test"}
_STYLE = """
body { font: 16px/1.5 system-ui, sans-serif; color: #1b1b1b; margin: 2rem auto; max-width: 90rem; padding: 0 1rem; }
h1, h2, h3 { line-height: 1.2; margin-top: 2em; } h1 { margin-top: 0; }
table { border-collapse: collapse; font-variant-numeric: tabular-nums; font-size: 14px; }
table { display: block; overflow-x: auto; }
.charts { display: flex; flex-wrap: wrap; gap: 1rem 2rem; margin-top: 1.5rem; }
th, td { padding: .25em .6em; border-bottom: 1px solid #ddd; white-space: nowrap; text-align: left; }
thead th { border-bottom: 2px solid #888; }
pre { background: #f5f5f5; padding: .8em; overflow-x: auto; font-size: 13px; }
svg { max-width: 100%; height: auto; } svg text { font: 12px system-ui, sans-serif; fill: #1b1b1b; }
"""


_CAPTION = "<p>Dots: our values with their 95 % intervals; diamonds: the paper's.</p>"


@dataclass(frozen=True)
class Charts:
    """SVG drawings side by side, shown in HTML alone; Markdown has the same numbers in a table."""

    svgs: tuple[str, ...]


Block = str | Charts  # a string is Markdown


@dataclass(frozen=True)
class Facts:
    """What was run where: lines for the head of the report."""

    corpus: str
    machine: str
    date: str
    version: str
    quick: bool
    skipped: tuple[str, ...]


def to_markdown(blocks: Sequence[Block]) -> str:
    """Return the report as Markdown."""
    return "\n\n".join(block for block in blocks if isinstance(block, str)) + "\n"


def to_html(title: str, blocks: Sequence[Block]) -> str:
    """Return the report as one HTML page that needs nothing else; all text is escaped."""
    render = MarkdownIt("commonmark", {"html": False, "xhtmlOut": True}).enable("table").render
    parts = [
        render(block) if isinstance(block, str) else f'<div class="charts">{"".join(block.svgs)}</div>{_CAPTION}'
        for block in blocks
    ]
    return (
        f'<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        f'<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f"<title>{html.escape(title)}</title>\n<style>{_STYLE}</style>\n</head>\n<body>\n{''.join(parts)}</body>\n</html>\n"
    )


def build(experiment: Experiment, rows: Sequence[Row], against: Sequence[Against], facts: Facts) -> list[Block]:
    """Return the report."""
    columns = [column for column in COLUMNS if any(row.number(column) for row in rows)]
    blocks: list[Block] = [f"# {experiment.title}", *([experiment.about] if experiment.about else [])]
    blocks.append(_head(facts, rows))
    for size in sorted({row.trial.size for row in rows}):
        blocks.append(f"## M = {size}" if size else "## Published vectors")
        blocks += _scores([row for row in rows if row.trial.size == size], columns, experiment)
    blocks += _compared(against)
    scored = [row for row in rows if row.scored]
    if experiment.halves:
        blocks += _halves(scored, columns)
    blocks += ["## Time, memory, sparsity", _costs(scored)]
    if scored:
        every = tabulate([(_label(row), row.scores["all"][0]) for row in scored])
        blocks += ["## Every set, first seeds", as_markdown(every).rstrip()]
    if experiment.notes:
        blocks += ["## Notes", _items(experiment.notes)]
    typed = dict.fromkeys(f"wordforest {job.command}" for row in rows for job in row.jobs)
    return [*blocks, "## Commands", "\n".join(["```text", *typed, "```"])]


def _items(texts: Iterable[str]) -> str:
    return "\n".join(f"- {text}" for text in texts)


def _table(header: Sequence[str], rows: Iterable[Sequence[str]], caption: str = "") -> str:
    escaped = [[cell.replace("|", "\\|") for cell in row] for row in (header, *rows)]
    lines = markdown_table(escaped[0], escaped[1:])
    return "\n".join([*lines, *(["", caption] if caption else [])])


def _head(facts: Facts, rows: Sequence[Row]) -> str:
    lines = [
        f"corpus: {facts.corpus}",
        f"{facts.date}, wordforest {facts.version}, {facts.machine}",
        "each cell: value, [its 95 % interval over resampled items], (the paper's value, where it has one); several "
        "seeds give their mean and, behind ±, their standard deviation; the best of a column is bold",
    ]
    if facts.quick:
        lines.insert(0, "**quick profile**: a small corpus and few passes, to see that everything runs")
    if facts.skipped:
        lines.append(f"left out: {', '.join(facts.skipped)}")
    failed = [row for row in rows if row.failure]
    lines += [f"**failed**: {row.trial.model.name}, M = {row.trial.size}: {row.failure}" for row in failed]
    return _items(lines)


def _scores(rows: Sequence[Row], columns: Sequence[Column], experiment: Experiment) -> list[Block]:
    best = {column.name: _best(rows, column) for column in columns}
    paper = {row.trial.model.name: _paper(experiment, row) for row in rows}
    cells = [
        (row.trial.model.name, *(_cell(row.number(c), c, best[c.name], paper[row.trial.model.name]) for c in columns))
        for row in rows
    ]
    charts = tuple(svg for column in columns if (svg := _chart(rows, column, paper)))
    table = _table(("model", *(column.name for column in columns)), cells)
    return [table, Charts(charts)] if charts else [table]


def _chart(rows: Sequence[Row], column: Column, paper: dict[str, dict[str, float]]) -> str:
    shown = []
    for row in rows:
        if number := row.number(column):
            name = row.trial.model.name
            shown.append(Dot(name, number.value, number.low, number.high, paper[name].get(column.name, math.nan)))
    return dots(column.name, shown, column.digits)


def _paper(experiment: Experiment, row: Row) -> dict[str, float]:
    by_model = experiment.paper.get(str(row.trial.size), experiment.paper.get("any", {}))
    return by_model.get(row.trial.model.name, {})


def _best(rows: Sequence[Row], column: Column) -> float:
    numbers = [number.value for row in rows if (number := row.number(column))]
    return round(max(numbers), column.digits) if len(numbers) > 1 else math.inf


def _cell(number: Number | None, column: Column, best: float, paper: dict[str, float]) -> str:
    theirs = f" ({paper[column.name]:g})" if column.name in paper else ""
    if number is None:
        return _MISSING + theirs
    d = column.digits
    value = f"{number.value:.{d}f}"
    value = f"**{value}**" if round(number.value, d) >= best else value
    spread = f" ±{number.spread:.{d}f}" if math.isfinite(number.spread) else ""
    return f"{value}{spread} [{number.low:.{d}f}, {number.high:.{d}f}]{theirs}"


def _compared(against: Sequence[Against]) -> list[Block]:
    if not against:
        return []
    reference = against[0].first
    cells = [
        (f"{found.second}, M = {found.size}", *(_difference(found, column) for column in COLUMNS)) for found in against
    ]
    blocks: list[Block] = [
        f"## {reference} against the others",
        f"Differences on the items that both could be scored on, {reference} minus the other, first seeds, with 95 % "
        "intervals from the same resamples for both; p: exact McNemar test for accuracies, paired bootstrap for "
        "correlations.",
        _table(("against", *(column.name for column in COLUMNS)), cells),
    ]
    if behind := [line for found in against if (line := _not_ahead(found))]:
        blocks += [f"Where {reference} is not clearly ahead (p < {_CLEAR}):", _items(behind)]
    return blocks


def _difference(found: Against, column: Column) -> str:
    for at, c in found.comparisons:
        if at is column and math.isfinite(c.difference):
            d = column.digits
            return f"{c.difference:+.{d}f} [{c.low:+.{d}f}, {c.high:+.{d}f}] p {c.p:.2g}"
    return _MISSING


def _not_ahead(found: Against) -> str:
    """Return in which tasks the reference is behind another model, and in which there is no clear difference."""
    behind = [c.name for c, at in found.comparisons if at.difference < 0 and at.p < _CLEAR]
    open_ = [c.name for c, at in found.comparisons if at.p >= _CLEAR]
    parts = [f"behind in {', '.join(behind)}"] if behind else []
    parts += [f"no clear difference in {', '.join(open_)}"] if open_ else []
    return f"{found.second}, M = {found.size}: {'; '.join(parts)}" if parts else ""


def _halves(rows: Sequence[Row], columns: Sequence[Column]) -> list[Block]:
    parts = [(column, half) for column in columns for half in HALVES]
    header = ("model", *(f"{column.name}, {_SHORT[half]}" for column, half in parts))
    cells = [(_label(row), *(_short(row.number(column, half), column) for column, half in parts)) for row in rows]
    about = (
        "Every set is split in two by a hash of its items. Choose settings by the development half and report the test "
        "half; the tables above are over all items, as in the paper."
    )
    return ["## Development and test halves", about, _table(header, cells)]


def _costs(rows: Sequence[Row]) -> str:
    header = ("model", "words", "non-zero", "seconds", "of them counting", "peak memory")
    cells = []
    for row in rows:
        density = fmean(one.density for one in row.scored)
        spent = [_MISSING] * 3
        if row.jobs:
            counting = fmean(job.counting for job in row.jobs)
            seconds = fmean(job.seconds + job.counting for job in row.jobs)
            spent = [f"{seconds:.1f}", f"{counting:.1f}", f"{max(job.peak for job in row.jobs) / 1e9:.2f} GB"]
        cells.append((_label(row), f"{row.scored[0].n_words:,}", f"{density:.1%}", *spent))
    return _table(header, cells, "Times are wall-clock, the whole command.")


def _label(row: Row) -> str:
    return f"{row.trial.model.name}, M = {row.size}"


def _short(number: Number | None, column: Column) -> str:
    return f"{number.value:.{column.digits}f}" if number else _MISSING
