"""The report of a sweep, as Markdown: facts, scores, and structures compared at equal density, error and bits."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from wordforest.evaluation.report import markdown_table
from wordforest.reproduce.plan import Experiment
from wordforest.reproduce.results import COLUMNS
from wordforest.reproduce.sweep.curves import (
    BITS,
    DENSITY,
    ERROR,
    PAPER_GAP,
    Curves,
    Measure,
    Record,
    Setting,
    Spread,
    by_setting,
)
from wordforest.reproduce.sweep.plan import NONE, STRUCTURES, cells_of
from wordforest.reproduce.sweep.score import SCALES

_MISSING = "–"
_NO_POINT = f"{_MISSING}: the curve does not reach, or has no points near enough to read between."
_PAPER_LAM = 0.1
_SAID = {"raw": "vectors as they are", "flat_norms": "every dimension divided by its norm"}
_FACTS = (
    Measure("penalty / objective", 4, ("penalty_share",)),
    ERROR,
    DENSITY,
    Measure("orphans", 3, ("orphans",)),
    Measure("like flat", 3, ("like_flat",)),
    Measure("like lam = 0", 3, ("like_none",)),
    BITS,
    Measure("seconds", 1, ("seconds",)),
)
_AXES = ((DENSITY, "share of non-zeros"), (ERROR, "reconstruction error"), (BITS, "bits a word"))


def as_report(
    experiment: Experiment, records: Sequence[Record], facts: Mapping[str, Any], failures: Sequence[Record]
) -> str:
    """Return the report; ``facts`` say what was run where."""
    asked = len(cells_of(experiment.sweeps))
    lines = [f"{len(records)} cells of {asked}; spread behind ± is the standard deviation over seeds"]
    lines += [f"**failed**: {one['failure']} ({one['structure']}, lam = {one['lam']:g})" for one in failures]
    half = "test" if experiment.halves else "all"
    blocks = [f"# {experiment.title}", experiment.about, _items([*_head(facts), *lines]), _items(experiment.notes)]
    told: list[str] = []
    for setting, own in by_setting(records).items():
        blocks += [f"## {setting}", _learned(own)]
        for scale in SCALES:
            blocks += [f"### Scores, all items: {_SAID[scale]}", _scores(own, scale, "all")]
        if half != "all":
            blocks += ["### Scores on the test half", _scores(own, "raw", half)]
        blocks += _compared(own, half)
        told += _clear(setting, own, half)
    blocks += ["## Where tree and flat differ", _DIFFER, _items(told) if told else "Nowhere."]
    blocks += ["## Time", _TIME, _table(_SPENT, [("the last run", *(f"{facts[name]:,}" for name in _SPENT[1:]))])]
    return "\n\n".join(block for block in blocks if block) + "\n"


_DIFFER = (
    "Tree minus flat, paired by seed, wherever the mean is beyond twice the standard deviation over the seeds. So many "
    "comparisons stand above that some are here by chance."
)


_SPENT = ("", "cells made", "seconds")
_TIME = "Of the whole command, by the clock: counting, learning and scoring. What was known before is not in it."


def _head(facts: Mapping[str, Any]) -> list[str]:
    quick = ["**quick profile**: a small corpus and few passes, to see that everything runs"] if facts["quick"] else []
    return [
        *quick,
        f"`{facts['command']}`",
        f"corpus: {facts['corpus']}",
        f"{facts['date']}, commit {facts['commit'] or 'none'}, wordforest {facts['version']}, {facts['machine']}",
    ]


def _items(texts: Iterable[str]) -> str:
    return "\n".join(f"- {text}" for text in texts)


def _table(header: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    return "\n".join(markdown_table(header, rows))


def measures(scale: str, half: str) -> list[Measure]:
    """Return the columns of scores."""
    return [Measure(column.name, column.digits, ("scores", scale, half, column.name)) for column in COLUMNS]


def _groups(records: Sequence[Record]) -> list[tuple[str, list[Record]]]:
    """Return a name for structure, lam and passes, with the records of all seeds."""
    found: dict[str, list[Record]] = {}
    order = (NONE, *STRUCTURES)
    for record in sorted(records, key=lambda r: (r["passes"], r["lam"], order.index(r["structure"]))):
        structure = "" if record["structure"] == NONE else f"{record['structure']}, "
        found.setdefault(f"{structure}lam = {record['lam']:g}, {record['passes']} passes", []).append(record)
    return list(found.items())


def _learned(records: Sequence[Record]) -> str:
    header = ("codes", *(one.name for one in _FACTS), "density by depth")
    rows = []
    for group, own in _groups(records):
        depths = [Spread.of(values) for values in zip(*(r["density_by_depth"] for r in own), strict=True)]
        by_depth = " / ".join(f"{one.mean:.3f}" for one in depths if one)
        rows.append((group, *(_over(own, one) for one in _FACTS), by_depth))
    return _table(header, rows)


def _scores(records: Sequence[Record], scale: str, half: str) -> str:
    columns = [one for one in measures(scale, half) if any(one.of(record) is not None for record in records)]
    rows = [(group, *(_over(own, one) for one in columns)) for group, own in _groups(records)]
    return _table(("codes", *(one.name for one in columns)), rows)


def _over(records: Sequence[Record], measure: Measure) -> str:
    return _said(Spread.of(measure.of(record) for record in records), measure)


def _said(spread: Spread | None, measure: Measure, sign: str = "") -> str:
    if spread is None:
        return _MISSING
    d = measure.digits
    text = f"{spread.mean:{sign}.{d}f}" + (f" ±{spread.sd:.{d}f}" if spread.n > 1 else "")
    return f"**{text}**" if sign and spread.is_clear else text


def _all_curves(records: Sequence[Record]) -> list[Curves]:
    made = [Curves(records, passes) for passes in sorted({record["passes"] for record in records})]
    return [curves for curves in made if {"tree", "flat"} <= {*curves.structures}]


def _compared(records: Sequence[Record], half: str) -> list[str]:
    """Return the tables at equal density, error and bits, and where flat has fallen as far as in the paper."""
    blocks, every = [], _all_curves(records)
    for x, words in _AXES if every else ():
        for scale in SCALES if x is DENSITY else ("raw",):
            columns = [*measures(scale, half), *(one for one in (DENSITY, ERROR, BITS) if one is not x)]
            rows = [row for curves in every for row in _at_places(curves, x, columns)]
            header = ("codes", *(one.name for one in columns))
            heading = f"### At equal {words}" + ("" if scale == "raw" else f", {_SAID[scale]}")
            blocks += [
                heading,
                f"Curves over lam, read off at equal {words}; {_NO_POINT} Items: {half}.",
                _table(header, rows),
            ]
    return blocks + (["### The gap of the paper", _gap(every, records[0]["size"])] if every else [])


def _at_places(curves: Curves, x: Measure, columns: Sequence[Measure]) -> Iterable[tuple[str, ...]]:
    for where in curves.places(x):
        if not any(curves.over_seeds(x, where, x, structure) for structure in curves.structures):
            continue
        place = f"{x.name} {where:.{x.digits}f}, {curves.passes} passes"
        for structure in curves.structures:
            found = (_said(curves.over_seeds(x, where, y, structure), y) for y in columns)
            yield (f"{structure}, {place}", *found)
        yield (f"tree - flat, {place}", *(_said(curves.difference(x, where, y), y, "+") for y in columns))


def _gap(every: Sequence[Curves], size: int) -> str:
    flat, forest = PAPER_GAP[min(PAPER_GAP, key=lambda M: abs(M - size))]
    rows = []
    for curves in every:
        for scale in SCALES:
            y = next(one for one in measures(scale, "all") if one.name == "syntactic")
            density, lam, share = curves.falls_to(flat / forest, y, _PAPER_LAM)
            found = (_said(density, DENSITY), _MISSING if lam is None else f"{lam.mean:.2g}", f"{share:.0%}")
            rows.append((f"{curves.passes} passes, {_SAID[scale]}", *found))
    about = (
        f"The paper's SC has {flat / forest:.1%} of FOREST's syntactic score ({flat} of {forest}). "
        f"Flat falls to that share of the tree at lam = {_PAPER_LAM:g} at this density:"
    )
    return f"{about}\n\n{_table(('flat', DENSITY.name, 'lam', 'of the seeds'), rows)}"


def _clear(setting: Setting, records: Sequence[Record], half: str) -> list[str]:
    """Return sentences on the differences of scores that are beyond the seeds' spread."""
    lines = []
    for curves in _all_curves(records):
        for x, _ in _AXES:
            for where in curves.places(x):
                columns = [*measures("raw", half), *([ERROR] if x is not ERROR else [])]
                found = [(y, curves.difference(x, where, y)) for y in columns]
                parts = [f"{y.name} {_said(one, y, '+').strip('*')}" for y, one in found if one and one.is_clear]
                place = f"{setting}, {curves.passes} passes, {x.name} {where:.{x.digits}f}"
                lines += [f"{place}: {', '.join(parts)}"] if parts else []
    return lines
