"""A sweep is the product of its axes; what is known is not made again."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from wordforest.errors import InputError
from wordforest.reproduce.plan import read_experiment
from wordforest.reproduce.sweep.plan import Sweep, as_record, cell_in, cells_of, tasks_of

TREE = Path(__file__).resolve().parents[3] / "experiments" / "tree.toml"
SWEEP = Sweep(lam=(0, 0.1), structure=("tree", "flat"), passes=(2, 5), seed=(0, 1))


def test_cells_are_the_product_of_the_axes_and_without_a_penalty_all_structures_are_one():
    assert len(SWEEP.cells) == (1 + 2) * 2 * 2
    assert {cell.structure for cell in SWEEP.cells if not cell.lam} == {"none"}
    assert cells_of([SWEEP, replace(SWEEP, name="again")]) == SWEEP.cells


def test_a_cell_is_read_back_from_its_record():
    assert [cell_in({**as_record(cell), "error": 1.0}) for cell in SWEEP.cells] == SWEEP.cells


def test_a_task_has_the_cells_of_a_seed_and_one_that_is_known_whole_is_not_made():
    first, second = tasks_of(SWEEP.cells, [])
    assert {cell.seed for cell in first.cells} == {0}
    assert first.passes(0.1, "tree") == (2, 5)
    assert tasks_of(SWEEP.cells, first.cells) == [second]
    (rest,) = tasks_of(SWEEP.cells, [*first.cells, *second.cells[1:]])
    assert (rest.cells, rest.missing) == (second.cells, frozenset(second.cells[:1]))
    assert not rest.lacks(0.1, "tree")
    assert rest.passes(0, "none") == (2,)  # no run is longer than the missing cells ask for
    assert rest.passes(0.1, "flat") == ()


def test_long_tasks_come_first():
    tasks = tasks_of(Sweep(size=(13, 52), seed=(0, 1), rows=("unit", "raw")).cells, [])
    order = [(task.first.size, task.first.rows, task.first.seed) for task in tasks]
    assert order == [(size, rows, seed) for size in (52, 13) for rows in ("raw", "unit") for seed in (0, 1)]


def test_the_experiment_of_the_paper_has_all_that_it_promises():
    main, *others = read_experiment(TREE).sweeps
    assert len(main.cells) == (1 + 5 * 3) * 4 * 5 * 2 * 2
    assert {cell.source for sweep in others for cell in sweep.cells}.isdisjoint({main.cells[0].source})


def test_quick_changes_axes_and_those_of_the_source_only_where_a_sweep_has_them():
    main, *others = read_experiment(TREE, quick=True).sweeps
    assert {cell.passes for cell in main.cells} == {2, 5}
    assert {cell.source for cell in main.cells} == {(1, 1, 0)}
    assert {source for sweep in others for source in (cell.source for cell in sweep.cells)} == {
        (0.25, 1, 0),
        (1, 0.5, 0),
        (1, 1, 1000),
    }


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("size = [50]", "number 1: size = 50, but it must be a multiple of 13"),
        ("structure = ['bush']", "structure = 'bush', but it must be one of tree, flat, permuted"),
        ("share = [0.3]", "every k-th line"),
        ("thin = [0]", "above 0"),
        ("lam = 1", "lam = 1: expected a list of numbers"),
        ("colour = [1]", "number 1: unknown key 'colour'"),
        ("[[model]]\nmethod = 'pca'", "found both"),
    ],
)
def test_a_bad_sweep_names_what_is_wrong(tmp_path, text, message):
    path = tmp_path / "bad.toml"
    path.write_text(f"[[sweep]]\n{text}\n")
    with pytest.raises(InputError, match=message):
        read_experiment(path)
