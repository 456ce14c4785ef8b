"""One run serves many numbers of passes to the same bits, and cells say how structures differ."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tests.coder.shared import low_rank_matrix
from wordforest.coder.coding import encode
from wordforest.coder.fit import Plan, fit
from wordforest.coder.forest import Forest
from wordforest.coder.kernels import on_host
from wordforest.coder.penalties import L1, ForestL2
from wordforest.coder.rows import Rows, as_rows
from wordforest.coder.rows.device import DeviceRows
from wordforest.reproduce.sweep.learn import learn_task, learn_through
from wordforest.reproduce.sweep.plan import NONE, Sweep, Task, tasks_of

FOREST = Forest.complete(2)
X = low_rank_matrix(1200, 60)
PASSES = (1, 2, 6)
SWEEP = Sweep(lam=(0, 0.5), structure=("tree", "flat", "permuted"), passes=(1, 3), seed=(3,), size=(13,))


def plan(lam: float) -> Plan:
    return Plan(FOREST, lambda forest: ForestL2(forest, lam), seed=3)


def rows_on(device: str) -> Rows:
    return DeviceRows.put(X, "cpu") if device == "tensors" else as_rows(X)


@pytest.mark.parametrize("lam", [0.3, 6.0])  # the second leaves atoms unused, which start anew after a pass
def test_a_snapshot_is_what_a_run_of_so_many_passes_gives_and_disturbs_nothing(lam: float) -> None:
    found = learn_through(as_rows(X), plan(lam), PASSES)
    for n in PASSES:
        alone = fit(as_rows(X), Plan(**{**vars(plan(lam)), "settings": {"epochs": n, "tol": 0.0}}))
        assert (alone.learned.revived > 0) == (lam > 1 and n > 1)
        np.testing.assert_array_equal(found[n].A, alone.A)
        np.testing.assert_array_equal(found[n].D, alone.D)
        assert found[n].passes == n
    assert [found[n].seconds for n in PASSES] == sorted(found[n].seconds for n in PASSES)


def test_learning_that_has_ended_serves_all_further_passes() -> None:
    nothing = as_rows(0 * X)
    found = learn_through(nothing, plan(0.3), (2, 4))
    assert found[2] is found[4]
    assert found[4].passes < 4


def only_task(known: Any = ()) -> Task:
    (task,) = tasks_of(SWEEP.cells, known)
    return task


@pytest.mark.parametrize("device", ["arrays", "tensors"])
def test_every_cell_is_coded_exactly_by_its_penalty(device: str) -> None:
    rows, forest = rows_on(device), Forest.complete(1)
    made = {(one.cell.structure, one.cell.passes): one for one in learn_task(rows, only_task())}
    assert {one.cell for one in made.values()} == {*SWEEP.cells}
    for (structure, _), one in made.items():
        penalty = L1(0.5) if structure == "flat" else ForestL2(forest, 0.0 if structure == NONE else 0.5)
        assert on_host(one.A).shape == (1200, 13)
        assert one.facts["gap"] < 1e-5
        assert one.facts["penalty"] == pytest.approx(float(penalty.per_word(on_host(one.A)).sum()), rel=1e-5)
    assert made["tree", 3].facts["objective"] < made["tree", 1].facts["objective"]
    assert made["tree", 3].facts["orphans"] == made["permuted", 3].facts["orphans"] == 0
    assert made["flat", 3].facts["orphans"] > 0


def test_permuted_has_the_trees_atoms_at_other_nodes() -> None:
    rows = as_rows(X)
    made = {(one.cell.structure, one.cell.passes): one for one in learn_task(rows, only_task())}
    tree = learn_through(rows, Plan(Forest.complete(1), lambda forest: ForestL2(forest, 0.5), seed=3), (3,))[3]
    atoms = np.random.default_rng((3, 1)).permutation(13)
    expected = encode(rows, tree.D[:, atoms], ForestL2(Forest.complete(1), 0.5)).A
    np.testing.assert_array_equal(made["permuted", 3].A, expected)
    np.testing.assert_array_equal(made["tree", 3].A, tree.A)


def test_likeness_is_of_the_same_atoms_and_passes() -> None:
    facts = {(one.cell.structure, one.cell.passes): one.facts for one in learn_task(as_rows(X), only_task())}
    assert "like_flat" not in facts["flat", 1]
    for structure in ("tree", "permuted"):
        assert 0.5 < facts[structure, 1]["like_flat"] < 1
        assert 0.5 < facts[structure, 1]["like_none"] < 1


def test_only_missing_cells_are_handed_over() -> None:
    missing = [cell for cell in SWEEP.cells if cell.structure == "permuted" and cell.passes == 3]
    whole = {one.cell: one for one in learn_task(as_rows(X), only_task())}
    (again,) = learn_task(as_rows(X), only_task([cell for cell in SWEEP.cells if cell not in missing]))
    assert again.cell == missing[0]
    np.testing.assert_array_equal(again.A, whole[again.cell].A)
    assert again.facts["like_flat"] == whole[again.cell].facts["like_flat"]
