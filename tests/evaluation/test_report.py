"""Reports: what a person reads and what a program gets."""

from __future__ import annotations

import json
import math

import pytest
from rich.console import Console

from wordforest.evaluation import TASKS, Comparison, Score
from wordforest.evaluation.report import (
    RULES,
    Grid,
    as_latex,
    as_markdown,
    as_objects,
    as_table,
    as_text,
    tabulate,
    tabulate_comparison,
)

SCORES = (
    Score("similarity", "EN-MC-30", "spearman", 0.51234, 28, 30, 0.2, 0.7),
    Score("analogy", "family", "accuracy", 41.25, 400, 506, 36.5, 46.04),
    Score("analogy", "semantic", "accuracy", math.nan, 0, 8869),
)
OTHER = (
    Score("similarity", "EN-MC-30", "spearman", 0.4, 30, 30, 0.1, 0.6),
    Score("completion", "MSR", "accuracy", 30.0, 900, 1040, 27.0, 33.0),
)
COMPARISONS = (
    Comparison("similarity", "EN-MC-30", "spearman", 0.5, 0.4, 0.1, -0.05, 0.25, 0.105, 28, 0.21),
    Comparison("completion", "MSR", "accuracy", 30.0, 20.0, 10.0, 7.0, 13.0, 1e-7, 900, 2e-7),
    Comparison("sentiment", "SST-2", "accuracy", math.nan, math.nan, math.nan, math.nan, math.nan, math.nan, 0),
)


def printed(table: object) -> str:
    console = Console(width=150)
    with console.capture() as capture:
        console.print(table)
    return capture.get()


def test_lines_show_value_interval_coverage_and_rules() -> None:
    assert as_text(tabulate([("a", SCORES)])).splitlines() == [
        "task        set       metric    value        interval   scored",
        "similarity  EN-MC-30  spearman  0.512  [0.200, 0.700]    28/30",
        "analogy     family    accuracy  41.2%    [36.5, 46.0]  400/506",
        "analogy     semantic  accuracy      -               -   0/8869",
        "similarity: a pair with a word that has no vector is skipped.",
        "analogy: a question with a word that has no vector is skipped.",
        "Brackets: 95 % interval; items that share words count as related.",
    ]


def test_table_shows_value_interval_coverage_and_rules() -> None:
    text = printed(as_table(tabulate([("a", SCORES)])))
    parts = ("EN-MC-30", "0.512", "[0.200, 0.700]", "28/30", "41.2%", "0/8869", "is skipped")
    assert all(part in text for part in parts)


def test_names_are_no_markup_of_the_terminal() -> None:
    text = printed(as_table(tabulate([("[red]a[/red]", SCORES), ("b", OTHER)])))
    assert "[red]a[/red]" in text


def test_every_task_has_a_rule() -> None:
    assert set(RULES) == {*TASKS, "meaning"}


def test_models_stand_side_by_side_with_all_sets_of_both() -> None:
    grid = tabulate([("a", SCORES), ("b", OTHER)])
    assert grid.header == ("task", "set", "metric", "a", "b")
    assert grid.rows[0][3:] == ("0.512 [0.200, 0.700] 28/30", "0.400 [0.100, 0.600] 30/30")
    assert [row[1] for row in grid.rows] == ["EN-MC-30", "family", "semantic", "MSR"]
    assert grid.rows[3][3:] == ("", "30.0% [27.0, 33.0] 900/1040")


def test_markdown_of_one_model() -> None:
    assert as_markdown(tabulate([("a", SCORES[:1])])) == (
        "| task | set | metric | value | interval | scored |\n"
        "| --- | --- | --- | ---: | ---: | ---: |\n"
        "| similarity | EN-MC-30 | spearman | 0.512 | [0.200, 0.700] | 28/30 |\n"
        "\n"
        "- similarity: a pair with a word that has no vector is skipped.\n"
        "- Brackets: 95 % interval; items that share words count as related.\n"
    )


def test_markdown_escapes_what_would_break_a_table() -> None:
    assert r"a\|b\_c" in as_markdown(tabulate([("a|b_c", SCORES), ("b", OTHER)])).splitlines()[0]


def test_latex_of_one_model() -> None:
    assert as_latex(tabulate([("a", SCORES[:2])])) == (
        "\\begin{tabular}{lllrrr}\n"
        "\\hline\n"
        "task & set & metric & value & interval & scored \\\\\n"
        "\\hline\n"
        "similarity & EN-MC-30 & spearman & 0.512 & {[0.200, 0.700]} & 28/30 \\\\\n"
        "\\hline\n"
        "analogy & family & accuracy & 41.2\\% & {[36.5, 46.0]} & 400/506 \\\\\n"
        "\\hline\n"
        "\\end{tabular}\n"
        "\n"
        "similarity: a pair with a word that has no vector is skipped.\n"
        "analogy: a question with a word that has no vector is skipped.\n"
        "Brackets: 95 \\% interval; items that share words count as related.\n"
    )


def test_latex_escapes_every_special_character() -> None:
    grid = Grid((r"\&%$#_{}~^<>",), (), ())
    expected = r"\textbackslash{}\&\%\$\#\_\{\}\textasciitilde{}\textasciicircum{}\textless{}\textgreater{} \\"
    assert as_latex(grid).splitlines()[2] == expected


def test_objects_are_json_without_nan() -> None:
    objects = as_objects("a", SCORES) + as_objects("b", OTHER)
    assert json.loads(json.dumps(objects, allow_nan=False)) == objects
    assert [o["vectors"] for o in objects] == ["a", "a", "a", "b", "b"]
    assert objects[2]["value"] is None
    assert objects[0]["low"] == 0.2


def test_comparison_shows_both_models_difference_and_p() -> None:
    grid = tabulate_comparison(COMPARISONS, "forest", "pca")
    assert grid.header[3:] == ("forest", "pca", "difference", "interval", "p (Holm)", "common items")
    assert grid.rows[0][3:] == ("0.500", "0.400", "0.100", "[-0.050, 0.250]", "0.210", "28")
    assert grid.rows[1][-2:] == ("<0.001", "900")
    assert grid.rows[2][3:] == ("-", "-", "-", "-", "-", "0")


@pytest.mark.parametrize("form", [as_markdown, as_latex, as_text, as_table], ids=lambda form: form.__name__)
def test_comparison_comes_in_every_form(form: object) -> None:
    shown = form(tabulate_comparison(COMPARISONS, "forest", "pca"))  # type: ignore[operator]
    text = shown if isinstance(shown, str) else printed(shown)
    assert all(part in text for part in ("forest", "pca", "0.210", "900", "McNemar"))


def test_comparison_objects_are_json_without_nan() -> None:
    objects = as_objects(["forest", "pca"], COMPARISONS)
    assert json.loads(json.dumps(objects, allow_nan=False)) == objects
    assert (objects[0]["vectors"], objects[0]["p_holm"], objects[2]["p"]) == (["forest", "pca"], 0.21, None)
