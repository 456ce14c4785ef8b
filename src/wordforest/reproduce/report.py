"""The report of an experiment: tables with intervals and the paper's values, comparisons, costs, commands."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from wordforest.reproduce.chart import Dot, dots
from wordforest.reproduce.document import Block, Code, Heading, Items, Paragraph, Pictures, Table
from wordforest.reproduce.judging import HALVES
from wordforest.reproduce.plan import Experiment
from wordforest.reproduce.results import COLUMNS, Against, Column, Number, Row

_CLEAR = 0.05  # p below which a difference is called one
_MISSING = "–"
_SHORT = {"development": "dev", "test": "test"}


@dataclass(frozen=True)
class Facts:
    """What was run where: lines for the head of the report."""

    corpus: str
    machine: str
    date: str
    version: str
    rules: tuple[str, ...]
    quick: bool
    skipped: tuple[str, ...]


def build(experiment: Experiment, rows: Sequence[Row], against: Sequence[Against], facts: Facts) -> list[Block]:
    """Return the report."""
    columns = [column for column in COLUMNS if any(row.number(column) for row in rows)]
    blocks: list[Block] = [Heading(experiment.title, 1)]
    if experiment.about:
        blocks.append(Paragraph(experiment.about))
    blocks += _head(facts, rows)
    for size in sorted({row.cell.size for row in rows}):
        of_size = [row for row in rows if row.cell.size == size]
        blocks.append(Heading(f"M = {size}" if size else "Published vectors"))
        blocks += _scores(of_size, columns, experiment)
    blocks += _compared(against)
    if experiment.halves:
        blocks += _halves(rows, columns)
    blocks += [Heading("Time, memory, sparsity"), _costs(rows), Heading("Items scored"), _coverage(rows, columns)]
    blocks += _by_set(rows)
    if experiment.notes:
        blocks += [Heading("Notes"), Items(experiment.notes)]
    blocks += [Heading("Commands"), Code(tuple(_commands(rows)))]
    return blocks


def _head(facts: Facts, rows: Sequence[Row]) -> list[Block]:
    lines = [
        f"corpus: {facts.corpus}",
        f"{facts.date}, wordforest {facts.version}, {facts.machine}",
        "each cell: value, [its 95 % interval over resampled items], (the paper's value, where it has one); several "
        "seeds give their mean and, behind ±, their standard deviation; the best of a column is bold",
        *facts.rules,
    ]
    if facts.quick:
        lines.insert(0, "**quick profile**: a small corpus and few passes, to see that everything runs")
    if facts.skipped:
        lines.append(f"left out: {', '.join(facts.skipped)}")
    if failed := [row for row in rows if row.failure]:
        lines += [f"**failed**: {row.cell.model.name}, M = {row.cell.size}: {row.failure}" for row in failed]
    return [Items(tuple(lines))]


def _scores(rows: Sequence[Row], columns: Sequence[Column], experiment: Experiment) -> list[Block]:
    header = ("model", *(column.title for column in columns))
    best = {column.key: _best(rows, column) for column in columns}
    paper = {row.cell.model.name: _paper(experiment, row) for row in rows}
    table = Table(
        header,
        tuple(
            (row.cell.model.name, *(_cell(row.number(c), c, best[c.key], paper[row.cell.model.name]) for c in columns))
            for row in rows
        ),
    )
    charts = tuple(svg for column in columns if (svg := _chart(rows, column, paper)))
    return [table, Pictures(charts, "Dots: our values with their 95 % intervals; diamonds: the paper's.")]


def _chart(rows: Sequence[Row], column: Column, paper: dict[str, dict[str, float]]) -> str:
    shown = []
    for row in rows:
        if number := row.number(column):
            name = row.cell.model.name
            shown.append(Dot(name, number.value, number.low, number.high, paper[name].get(column.key, math.nan)))
    return dots(column.title, shown, column.digits)


def _paper(experiment: Experiment, row: Row) -> dict[str, float]:
    by_model = experiment.paper.get(str(row.cell.size), experiment.paper.get("any", {}))
    return by_model.get(row.cell.model.name, {})


def _best(rows: Sequence[Row], column: Column) -> float:
    numbers = [number.value for row in rows if (number := row.number(column))]
    return round(max(numbers), column.digits) if len(numbers) > 1 else math.inf


def _cell(number: Number | None, column: Column, best: float, paper: dict[str, float]) -> str:
    theirs = f" ({paper[column.key]:g})" if column.key in paper else ""
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
    rows = [
        (f"{found.second}, M = {found.size}", *(_difference(found, column) for column in COLUMNS)) for found in against
    ]
    behind = [line for found in against if (line := _not_ahead(found))]
    blocks: list[Block] = [
        Heading(f"{reference} against the others"),
        Paragraph(
            f"Differences on the items that both could be scored on, {reference} minus the other, first seeds, with "
            "95 % intervals from the same resamples for both; p: exact McNemar test for accuracies, paired bootstrap "
            "for correlations."
        ),
        Table(("against", *(column.title for column in COLUMNS)), tuple(rows)),
    ]
    if behind:
        blocks += [Paragraph(f"Where {reference} is not clearly ahead (p < {_CLEAR}):"), Items(tuple(behind))]
    return blocks


def _difference(found: Against, column: Column) -> str:
    for at, c in found.comparisons:
        if at is column and math.isfinite(c.difference):
            d = column.digits
            return f"{c.difference:+.{d}f} [{c.low:+.{d}f}, {c.high:+.{d}f}] p {c.p:.2g}"
    return _MISSING


def _not_ahead(found: Against) -> str:
    """Return in which tasks the reference is behind another model, and in which nothing can be told."""
    behind = [c.title for c, at in found.comparisons if at.difference < 0 and at.p < _CLEAR]
    open_ = [c.title for c, at in found.comparisons if at.p >= _CLEAR]
    parts = [f"behind in {', '.join(behind)}"] if behind else []
    parts += [f"no clear difference in {', '.join(open_)}"] if open_ else []
    return f"{found.second}, M = {found.size}: {'; '.join(parts)}" if parts else ""


def _halves(rows: Sequence[Row], columns: Sequence[Column]) -> list[Block]:
    header = ("model", *(f"{column.title}, {_SHORT[half]}" for column in columns for half in HALVES))
    cells = [
        (_label(row), *(_short(row.number(column, half), column) for column in columns for half in HALVES))
        for row in rows
        if row.judged
    ]
    about = (
        "Every set is split in two by a hash of its items. Choose settings by the development half and report the test "
        "half; the tables above are over all items, as in the paper."
    )
    return [Heading("Development and test halves"), Paragraph(about), Table(header, tuple(cells))]


def _costs(rows: Sequence[Row]) -> Table:
    header = ("model", "words", "non-zero", "seconds", "of them counting", "peak memory")
    return Table(header, tuple(_cost(row) for row in rows if row.judged), "Times are wall-clock, the whole command.")


def _cost(row: Row) -> tuple[str, ...]:
    density = f"{_mean([one.density for one in row.judged]):.1%}"
    size = f"{row.judged[0].n_words:,}"
    if not row.done:
        return (_label(row), size, density, _MISSING, _MISSING, _MISSING)
    seconds = _mean([done.seconds + done.counting for done in row.done])
    counting = _mean([done.counting for done in row.done])
    peak = max(done.peak for done in row.done)
    return (_label(row), size, density, f"{seconds:.1f}", f"{counting:.1f}", f"{peak / 1e9:.2f} GB")


def _coverage(rows: Sequence[Row], columns: Sequence[Column]) -> Table:
    cells = [(_label(row), *(_scored(row.number(column)) for column in columns)) for row in rows if row.judged]
    return Table(("model", *(column.title for column in columns)), tuple(cells), "scored / all")


def _by_set(rows: Sequence[Row]) -> list[Block]:
    """A table of every set of similarity pairs and every section of analogies, first seeds."""
    shown = [row for row in rows if row.judged]
    if not shown:
        return []
    blocks: list[Block] = []
    for task, title, digits in (
        ("similarity", "Every similarity set", 3),
        ("analogy", "Every section of analogies", 1),
    ):
        found = [[score for score in row.scores["all"][0] if score.task == task] for row in shown]
        names = [score.set for score in found[0]]
        if names:
            cells = tuple(
                (name, *(f"{scores[i].value:.{digits}f}".replace("nan", _MISSING) for scores in found))
                for i, name in enumerate(names)
            )
            blocks += [Heading(title), Table(("set", *(_label(row) for row in shown)), cells)]
    return blocks


def _commands(rows: Sequence[Row]) -> list[str]:
    typed = [f"wordforest {done.command}" for row in rows for done in row.done]
    return list(dict.fromkeys(typed))


def _label(row: Row) -> str:
    return f"{row.cell.model.name}, M = {row.size}"


def _short(number: Number | None, column: Column) -> str:
    return f"{number.value:.{column.digits}f}" if number else _MISSING


def _scored(number: Number | None) -> str:
    return f"{number.n_scored:,}/{number.n_total:,}" if number else _MISSING


def _mean(values: Sequence[float]) -> float:
    return sum(values) / len(values)
