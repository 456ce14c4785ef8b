"""Scores and comparisons for a person or a program: terminal table, lines, Markdown, LaTeX, JSON objects."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

from wordforest.evaluation.scores import Comparison, Score

if TYPE_CHECKING:
    from rich.table import Table

RULES = {
    "similarity": "a pair with a word that has no vector is skipped.",
    "analogy": "a question with a word that has no vector is skipped.",
    "completion": "a question is skipped if a candidate has no vector or no other word has one; "
    "other words without a vector are left out.",
    "sentiment": "words without a vector are left out of a sentence; a sentence without any vector is skipped.",
    "meaning": "top words are chosen among words that all models know and the held-out text has often enough; "
    "a node with fewer than five such words is not judged.",
}
"""What happens to words without a vector, by task."""

_INTERVALS = "Brackets: 95 % interval; items that share words count as related."
_DIFFERENCES = (
    "Both on their common items; brackets: 95 % interval of the difference, each for itself; p: Student's t over "
    "clusters of items, exact McNemar test for completion and sentiment, after Holm's correction for all p here."
)
_NAMES = ("task", "set", "metric")

Models = Sequence[tuple[str, Sequence[Score]]]
Cells = tuple[str, ...]


@dataclass(frozen=True)
class Grid:
    """Text in rows and columns, the first three of them names, with notes below."""

    header: Cells
    rows: tuple[Cells, ...]
    notes: tuple[str, ...]


def tabulate(models: Models) -> Grid:
    """Return the scores of several models side by side, a row for each set and a column for each model.

    One model alone gets a column each for value, interval and coverage.
    """
    notes = (*_rules(score.task for _, scores in models for score in scores), _INTERVALS)
    if len(models) == 1:
        scores = models[0][1]
        alone = tuple((s.task, s.set, s.metric, _value(s), _interval(s), _coverage(s)) for s in scores)
        return Grid((*_NAMES, "value", "interval", "scored"), alone, notes)
    by_model = [{(s.task, s.set, s.metric): s for s in scores} for _, scores in models]
    names = dict.fromkeys(name for scores in by_model for name in scores)
    rows = tuple((*name, *(_cell(scores.get(name)) for scores in by_model)) for name in names)
    return Grid((*_NAMES, *(model for model, _ in models)), rows, notes)


def tabulate_comparison(comparisons: Sequence[Comparison], first: str, second: str) -> Grid:
    """Return two models and their difference, a row for each set."""
    header = (*_NAMES, first, second, "difference", "interval", "p (Holm)", "common items")
    notes = (*_rules(comparison.task for comparison in comparisons), _DIFFERENCES)
    return Grid(header, tuple(map(_compared, comparisons)), notes)


def as_table(grid: Grid) -> Table:
    """Return a Rich table of a grid, a line between tasks, the notes below."""
    from rich.table import Table
    from rich.text import Text

    table = Table(caption=Text("\n".join(grid.notes)), caption_justify="left")
    for i, name in enumerate(grid.header):
        table.add_column(Text(name), justify="left" if i < len(_NAMES) else "right", no_wrap=True)
    for i, row in enumerate(grid.rows):
        ends_task = i + 1 < len(grid.rows) and grid.rows[i + 1][0] != row[0]
        table.add_row(*map(Text, row), end_section=ends_task)
    return table


def as_text(grid: Grid) -> str:
    """Return one aligned line for the header and each row of a grid, then the notes."""
    rows = [grid.header, *grid.rows]
    widths = [max((len(row[i]) for row in rows), default=0) for i in range(len(grid.header))]
    return "\n".join([*(_aligned(row, widths) for row in rows), *grid.notes]) + "\n"


def as_markdown(grid: Grid) -> str:
    """Return a Markdown table of a grid, the notes as a list below it."""
    rows = [_escaped(row, _MARKDOWN) for row in (grid.header, *grid.rows)]
    lines = markdown_table(rows[0], rows[1:], len(_NAMES))
    return "\n".join([*lines, "", *(f"- {note}" for note in _escaped(grid.notes, _MARKDOWN)), ""])


def markdown_table(header: Sequence[str], rows: Iterable[Sequence[str]], n_names: int = 1) -> list[str]:
    """Return the lines of a Markdown table of cells that are escaped already: names first, numbers to the right."""
    rule = ["---" if i < n_names else "---:" for i in range(len(header))]
    return [f"| {' | '.join(row)} |" for row in (header, rule, *rows)]


def as_latex(grid: Grid) -> str:
    """Return a LaTeX tabular, without any package, of a grid; the notes follow it."""
    lines = [rf"\begin{{tabular}}{{{'l' * len(_NAMES)}{'r' * (len(grid.header) - len(_NAMES))}}}", r"\hline"]
    lines += [_latex_row(grid.header), r"\hline"]
    for i, row in enumerate(grid.rows):
        if i and grid.rows[i - 1][0] != row[0]:
            lines.append(r"\hline")
        lines.append(_latex_row(row))
    lines += [r"\hline", r"\end{tabular}", ""]
    return "\n".join([*lines, *_escaped(grid.notes, _LATEX), ""])


def as_objects(vectors: str | list[str], items: Iterable[Score | Comparison]) -> list[dict[str, Any]]:
    """Return one object for JSON for every score or comparison of some vectors; nan becomes None."""
    objects = ({"vectors": vectors, **asdict(item)} for item in items)
    return [{name: None if value != value else value for name, value in one.items()} for one in objects]


def _rules(tasks: Iterable[str]) -> list[str]:
    return [f"{task}: {RULES[task]}" for task in dict.fromkeys(tasks) if task in RULES]


def _number(value: float, metric: str) -> str:
    if math.isnan(value):
        return "-"
    return f"{value:.1f}" if metric == "accuracy" else f"{value:.3f}"


def _value(score: Score) -> str:
    percent = "%" if score.metric == "accuracy" and not math.isnan(score.value) else ""
    return _number(score.value, score.metric) + percent


def _interval(score: Score | Comparison) -> str:
    if math.isnan(score.low):
        return "-"
    return f"[{_number(score.low, score.metric)}, {_number(score.high, score.metric)}]"


def _coverage(score: Score) -> str:
    return f"{score.n_scored}/{score.n_total}"


def _cell(score: Score | None) -> str:
    if score is None:
        return ""
    return f"{_value(score)} {_interval(score)} {_coverage(score)}"


def _compared(c: Comparison) -> Cells:
    first, second, difference = (_number(value, c.metric) for value in (c.first, c.second, c.difference))
    p = "-" if math.isnan(c.p_holm) else f"{c.p_holm:.3f}" if c.p_holm >= 0.001 else "<0.001"
    return c.task, c.set, c.metric, first, second, difference, _interval(c), p, str(c.n_common)


def _aligned(row: Cells, widths: list[int]) -> str:
    cells = [
        f"{cell:<{width}}" if i < len(_NAMES) else f"{cell:>{width}}"
        for i, (cell, width) in enumerate(zip(row, widths, strict=True))
    ]
    return "  ".join(cells).rstrip()


_MARKDOWN = str.maketrans({character: f"\\{character}" for character in "\\|*_`<>#"} | {"\n": " "})
_LATEX = str.maketrans(
    {character: f"\\{character}" for character in "&%$#_{}"}
    | {"\\": r"\textbackslash{}", "~": r"\textasciitilde{}", "^": r"\textasciicircum{}"}
    | {"<": r"\textless{}", ">": r"\textgreater{}", "\n": " "}
)


def _escaped(cells: Cells, table: dict[int, str]) -> Cells:
    return tuple(cell.translate(table) for cell in cells)


def _latex_row(row: Cells) -> str:
    # braces: a cell that starts with [ would be taken for an argument of the row's end before it
    return " & ".join(f"{{{cell}}}" if cell.startswith("[") else cell for cell in _escaped(row, _LATEX)) + r" \\"
