"""Algorithm 1 on PyTorch tensors: the visits of all blocks of a round lead where the processor's lead."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tests.coder.shared import DEVICES
from tests.coder.shared import low_rank_matrix as matrix
from wordforest.coder.entries_objective import shape_of
from wordforest.coder.forest import Forest
from wordforest.coder.kernels import entries, on_host, plain
from wordforest.coder.kernels.entries import Rule, Visited
from wordforest.coder.kernels.visits import Visits, visit_blocks, weighted_squares
from wordforest.coder.penalties import L1, ForestL2, NonNegativeL1, Penalty
from wordforest.coder.rows.pairs import stored_pairs

torch = pytest.importorskip("torch", reason="the device is PyTorch's")

FOREST = Forest.complete(2)
M = len(FOREST)
WORDS = CONTEXTS = 12
STARTS = [0, 3, 3, 8]  # three blocks, one without visits; they share neither words nor contexts
UNLIKE = Forest([-1, 0, 0, -1, 3, 4])  # trees of two shapes: no kernel of the GPU's own


PENALTIES: dict[str, Penalty] = {
    "forest": ForestL2(FOREST, 1.0),
    "weighted": ForestL2(FOREST, 1.0, tuple(np.linspace(0.5, 2, M)), nonnegative=True),
    "l1": L1(1.0),
    "nonnegative": NonNegativeL1(1.0),
    "unlike": ForestL2(UNLIKE, 1.0),
    "deep": ForestL2(Forest.complete(5, (2, 2, 2)), 1.0),
}


def visits(device: str, by_mass: bool, dtype: str = "float32") -> Visits:
    """Visits of blocks, with words and contexts that come again within a block."""
    rng = np.random.default_rng(0)
    words = np.array([0, 1, 0, 8, 8, 9, 10, 8], dtype=np.int32)
    contexts = np.array([3, 3, 2, 7, 6, 7, 6, 7], dtype=np.int32)
    drawn = rng.standard_normal(8), rng.uniform(0.5, 1, 8), rng.uniform(0.5, 2, 8)
    values, keeps, masses = (part.astype(dtype) for part in drawn)
    parts = [torch.tensor(part, device=device) for part in (words, contexts, values, keeps, masses, np.array(STARTS))]
    return Visits(*parts[:4], parts[4] if by_mass else None, parts[5])


def visited_plainly(made: Visits, rows: dict[str, Any], penalty: Penalty, pulled: bool) -> None:
    """Algorithm 1, a visit after the other, in float64: kernels/entries.py's formulas as they are printed there."""
    shape = shape_of(penalty, rows["A"].shape[1])
    words, contexts, values, keeps = (on_host(part) for part in (made.words, made.contexts, made.values, made.keeps))
    masses = np.ones(len(words)) if made.masses is None else on_host(made.masses)
    for k, (v, c) in enumerate(zip(words, contexts, strict=True)):
        d, a, m = rows["D"][c], rows["A"][v], float(masses[k])
        error = values[k] - keeps[k] * d @ a
        s_c, s_v = rows["rates_c"][c, 0], rows["rates_v"][v, 0]
        d = d + 2 * s_c * m * (a * error - rows["rates_c"][c, 1] * d - pulled * rows["pull_c"][c])
        error = values[k] - keeps[k] * d @ a
        a = a + 2 * s_v * m * (d * error - pulled * rows["pull_v"][v])
        a = np.maximum(a, 0) if shape.nonnegative else a
        threshold = s_v * m * rows["rates_v"][v, 1]
        rows["D"][c], rows["A"][v] = d, plain.forest_prox(a[None], shape.forest, threshold * shape.weights)[0]


def numbers(n: int) -> dict[str, Any]:
    rng = np.random.default_rng(1)
    rows = {name: rng.standard_normal((WORDS, n)) for name in ("A", "D", "pull_v", "pull_c")}
    rows |= {name: rng.uniform(0.02, 0.05, (WORDS, 2)) for name in ("rates_v", "rates_c")}
    rows["rates_v"][:, 1] = 12  # lam: many codes become zero
    return rows


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize(("by_mass", "pulled"), [(False, False), (True, False), (False, True), (True, True)])
@pytest.mark.parametrize(("dtype", "tolerance"), [("float32", 2e-5), ("float64", 1e-12)])  # after a few visits
@pytest.mark.parametrize("penalty", PENALTIES.values(), ids=PENALTIES)
def test_visits_of_blocks_are_those_of_algorithm_1(
    device: str, by_mass: bool, pulled: bool, dtype: str, tolerance: float, penalty: Penalty
) -> None:
    n = len(penalty.forest) if isinstance(penalty, ForestL2) else M
    rows, made = numbers(n), visits(device, by_mass, dtype)
    there = {name: torch.tensor(part.astype(dtype), device=device) for name, part in rows.items()}
    sides = [
        Visited(there[name], there[f"rates_{k}"], there[f"pull_{k}"] if pulled else there["A"][:0])
        for name, k in (("A", "v"), ("D", "c"))
    ]
    visited_plainly(made, rows, penalty, pulled)
    assert bool(visit_blocks(made, sides[0], sides[1], shape_of(penalty, n), Rule(by_mass, 1e3)))
    for name in ("A", "D"):
        np.testing.assert_allclose(on_host(there[name]), rows[name], atol=tolerance, rtol=tolerance)
    assert (rows["A"] == 0).any()
    np.testing.assert_array_equal(on_host(there["A"]) == 0, rows["A"] == 0)


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("value", [np.nan, 1e9])
def test_what_is_out_of_bounds_is_reported(device: str, value: float) -> None:
    rows, made = numbers(M), visits(device, False)
    made.values[5] = value
    there = {name: torch.tensor(part.astype(np.float32), device=device) for name, part in rows.items()}
    sides = [Visited(there[k], there[f"rates_{r}"], there[k][:0]) for k, r in (("A", "v"), ("D", "c"))]
    assert not bool(visit_blocks(made, *sides, shape_of(ForestL2(FOREST, 1.0), M), Rule(False, 1e3)))


@pytest.mark.parametrize("device", DEVICES)
def test_the_loss_of_pairs_is_that_of_the_processor(device: str) -> None:
    X = matrix()
    rng = np.random.default_rng(1)
    D, A = (rng.standard_normal((n, M)).astype(np.float32) for n in (200, 300))
    pairs = stored_pairs(X)
    part = pairs.part(slice(0, len(pairs)))
    there = [torch.tensor(array, device=device) for array in (*part, A, D)]
    value = weighted_squares(tuple(there[:4]), 0.3, there[4], there[5])
    assert value == pytest.approx(entries.weighted_squares(part, 0.3, A, D), rel=1e-10)  # sums in another order
