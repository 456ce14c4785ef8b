"""Algorithm 1 on PyTorch tensors: the same visits lead where the processor's lead, and learning ends as well."""

from __future__ import annotations

from copy import deepcopy
from typing import Any

import numpy as np
import pytest
from wordforest.coder.pairs import stored_pairs
from wordforest.coder.walk import shape_of

from tests.coder.test_entries import FOREST, M, matrix
from tests.coder.test_rows_device import DEVICES
from wordforest.coder.entries import EntrySettings, EntryState, learn_from_entries
from wordforest.coder.entries_device import learn_from_entries_on
from wordforest.coder.forest import Forest
from wordforest.coder.kernels import entries, on_host, plain
from wordforest.coder.kernels.counter import below, random_bits, uniform
from wordforest.coder.kernels.entries import Rule, Side
from wordforest.coder.kernels.visits import Visits, visit_blocks, weighted_squares
from wordforest.coder.penalties import L1, ForestL2, NonNegativeL1, Penalty
from wordforest.errors import InputError
from wordforest.runtime.threads import Threads

torch = pytest.importorskip("torch", reason="the device is PyTorch's")

WORDS = CONTEXTS = 12
STARTS = [0, 3, 3, 8]  # three blocks, one without visits; they share neither words nor contexts
UNLIKE = Forest([-1, 0, 0, -1, 3, 4])  # trees of two shapes: no kernel of the card's own


def visits(device: str, by_mass: bool) -> Visits:
    """Visits of blocks, with words and contexts that come again within a block."""
    rng = np.random.default_rng(0)
    words = np.array([0, 1, 0, 8, 8, 9, 10, 8], dtype=np.int32)
    contexts = np.array([3, 3, 2, 7, 6, 7, 6, 7], dtype=np.int32)
    values, keeps, masses = (part.astype(np.float32) for part in (
        rng.standard_normal(8), rng.uniform(0.5, 1, 8), rng.uniform(0.5, 2, 8)
    ))  # fmt: skip
    parts = [torch.tensor(part, device=device) for part in (words, contexts, values, keeps, masses, np.array(STARTS))]
    return Visits(*parts[:4], parts[4] if by_mass else None, parts[5])


def visited_plainly(made: Visits, rows: dict[str, Any], penalty: Penalty, options: dict[str, bool]) -> None:
    """Algorithm 1, a visit after the other, in float64: kernels/entries.py's formulas as they are printed there."""
    shape = shape_of(penalty, rows["A"].shape[1])
    words, contexts, values, keeps = (on_host(part) for part in (made.words, made.contexts, made.values, made.keeps))
    masses = np.ones(len(words)) if made.masses is None else on_host(made.masses)
    for k, (v, c) in enumerate(zip(words, contexts, strict=True)):
        d, a, m = rows["D"][c], rows["A"][v], float(masses[k])
        error = values[k] - keeps[k] * d @ a
        s_c, s_v = rows["rates_c"][c, 0], rows["rates_v"][v, 0]
        if options["adagrad"]:
            rows["sq_c"][c] += 4 * (m * error) ** 2 * (a @ a)
            s_c = s_c / np.sqrt(rows["sq_c"][c])
        d = d + 2 * s_c * m * (a * error - rows["rates_c"][c, 1] * d - options["pulled"] * rows["pull_c"][c])
        error = values[k] - keeps[k] * d @ a
        if options["adagrad"]:
            rows["sq_v"][v] += 4 * (m * error) ** 2 * (d @ d)
            s_v = s_v / np.sqrt(rows["sq_v"][v])
        a = a + 2 * s_v * m * (d * error - options["pulled"] * rows["pull_v"][v])
        a = np.maximum(a, 0) if shape.nonnegative else a
        threshold = s_v * m * rows["rates_v"][v, 1]
        rows["D"][c], rows["A"][v] = d, plain.forest_prox(a[None], shape.forest, threshold * shape.weights)[0]


def numbers(n: int) -> dict[str, Any]:
    rng = np.random.default_rng(1)
    rows = {name: rng.standard_normal((WORDS, n)) for name in ("A", "D", "pull_v", "pull_c")}
    rows |= {name: rng.uniform(0.02, 0.05, (WORDS, 2)) for name in ("rates_v", "rates_c")}
    rows["rates_v"][:, 1] = 12  # lam: many codes become zero
    return rows | {"sq_v": np.ones(WORDS), "sq_c": np.ones(WORDS)}


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize(("by_mass", "pulled", "adagrad"), [(0, 0, 0), (1, 0, 0), (0, 1, 0), (1, 1, 1), (0, 0, 1)])
@pytest.mark.parametrize("penalty", [
    ForestL2(FOREST, 1.0), ForestL2(FOREST, 1.0, tuple(np.linspace(0.5, 2, M)), nonnegative=True), L1(1.0),
    NonNegativeL1(1.0), ForestL2(UNLIKE, 1.0), ForestL2(Forest.complete(5, (2, 2, 2)), 1.0),
], ids=["forest", "weighted", "l1", "nonnegative", "unlike", "deep"])  # fmt: skip
def test_visits_of_blocks_are_those_of_algorithm_1(
    device: str, by_mass: int, pulled: int, adagrad: int, penalty: Penalty
) -> None:
    n = len(penalty.forest) if isinstance(penalty, ForestL2) else M
    rows, made = numbers(n), visits(device, bool(by_mass))
    there = {name: torch.tensor(part.astype(np.float32), device=device) for name, part in rows.items()}
    none = there["A"][:0], there["sq_v"][:0]
    sides = [
        Side(there[name], there[f"rates_{k}"], there[f"pull_{k}"] if pulled else none[0],
             there[f"sq_{k}"] if adagrad else none[1])
        for name, k in (("A", "v"), ("D", "c"))
    ]  # fmt: skip
    visited_plainly(made, rows, penalty, {"pulled": bool(pulled), "adagrad": bool(adagrad)})
    assert bool(visit_blocks(made, sides[0], sides[1], shape_of(penalty, n), Rule(bool(by_mass), 1, 1e3)))
    for name in ("A", "D", "sq_v", "sq_c"):
        np.testing.assert_allclose(on_host(there[name]), rows[name], atol=2e-5, rtol=2e-5)  # float32, a few visits
    assert (rows["A"] == 0).any()
    np.testing.assert_array_equal(on_host(there["A"]) == 0, rows["A"] == 0)


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("value", [np.nan, 1e9])
def test_what_is_out_of_bounds_is_told(device: str, value: float) -> None:
    rows, made = numbers(M), visits(device, False)
    made.values[5] = value
    there = {name: torch.tensor(part.astype(np.float32), device=device) for name, part in rows.items()}
    sides = [Side(there[k], there[f"rates_{r}"], there[k][:0], there["sq_v"][:0]) for k, r in (("A", "v"), ("D", "c"))]
    assert not bool(visit_blocks(made, *sides, shape_of(ForestL2(FOREST, 1.0), M), Rule(False, 1, 1e3)))


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


def test_random_bits_are_spread_evenly() -> None:
    bits = random_bits(12345, 200_000, torch.zeros(1))
    places = below(bits, torch.full((200_000,), 10)).bincount(minlength=10)
    assert abs(places - 20_000).max() < 5 * 20_000**0.5
    assert float(uniform(bits).mean()) == pytest.approx(0.5, abs=5 * 0.29 / 200_000**0.5)
    assert not torch.equal(bits, random_bits(12346, 200_000, torch.zeros(1)))


def learn(device: str, X: Any, penalty: Penalty | None = None, **more: Any) -> Any:
    keywords = {name: more.pop(name) for name in ("weights", "resume", "on_step") if name in more}
    return learn_from_entries_on(device, X, penalty or ForestL2(FOREST, 0.01), M, EntrySettings(**more), **keywords)


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize(("sampling", "schedule", "zeros"), [
    ("proportional", "linear", 0.0), ("uniform", "constant", 0.0), ("proportional", "linear", 0.3),
    ("uniform", "adagrad", 0.3), ("proportional", "adagrad", 0.0),
])  # fmt: skip
def test_learning_ends_as_well_as_on_the_processor(device: str, sampling: Any, schedule: Any, zeros: float) -> None:
    X, settings = matrix(), {"sampling": sampling, "schedule": schedule, "zeros": zeros, "epochs": 4, "tol": 0.0}
    here = learn_from_entries(X, ForestL2(FOREST, 0.01), M, EntrySettings(**settings), executor=Threads(1))
    there = learn(device, X, eta=here.eta, **settings)
    assert there.history[-1].objective < 1.05 * here.history[-1].objective  # other draws
    begun = here.history[0].objective + here.history[0].gain
    assert there.history[0].objective + there.history[0].gain == pytest.approx(begun, rel=1e-6)  # the same start


def test_a_step_size_is_searched_as_on_the_processor() -> None:
    X = matrix(80, 60)
    here = learn_from_entries(X, ForestL2(FOREST, 0.01), M, EntrySettings(epochs=1), executor=Threads(1))
    there = learn("cpu", X, epochs=1)
    assert there.eta / here.eta in (0.5, 1, 2)  # other draws may prefer the next power of two


@pytest.mark.parametrize("device", DEVICES)
def test_the_same_seed_gives_the_same_bits_and_learning_goes_on_from_a_pass(device: str) -> None:
    X, kept = matrix(100, 80), []

    def keep(step: Any, state: EntryState) -> None:
        if step.epoch == 2:
            parts = [on_host(getattr(state, name)).copy() for name in ("D", "A", "word_squares", "context_squares")]
            kept.append(EntryState(parts[0], parts[1], state.eta, parts[2], parts[3], deepcopy(state.history)))

    settings = {"epochs": 3, "tol": 0.0, "zeros": 0.3, "schedule": "adagrad", "eta": 0.1}
    whole, again = learn(device, X, on_step=keep, **settings), learn(device, X, **settings)
    resumed = learn(device, X, resume=kept[0], **settings)
    for other in (again, resumed):
        assert torch.equal(other.A, whole.A)
        assert torch.equal(other.D, whole.D)
        assert [step.objective for step in other.history] == [step.objective for step in whole.history]


@pytest.mark.parametrize("device", DEVICES)
def test_a_step_size_that_is_far_too_large_is_halved(device: str) -> None:
    learned = learn(device, matrix(80, 60), eta=50.0, epochs=1)
    assert any("diverged" in notice for notice in learned.notices)
    assert np.isfinite(learned.history[-1].objective)


def test_weights_of_pairs_count() -> None:
    X = matrix()
    weights = np.zeros(X.nnz, dtype=np.float32)
    weights[: X.indptr[150]] = 1
    A = on_host(learn("cpu", X, weights=weights, epochs=1, eta=0.02).A)
    assert A[:150].any()
    assert not A[150:].any()


def test_lazy_is_refused() -> None:
    with pytest.raises(InputError, match="On a card leave lazy out"):
        learn("cpu", matrix(), lazy=4)


@pytest.mark.gpu
@pytest.mark.skipif(not torch.cuda.is_available(), reason="no CUDA card here")
def test_the_card_ends_where_torch_on_the_processor_ends() -> None:
    X = matrix(500, 400)
    ends = [learn(device, X, epochs=2, tol=0.0, eta=0.02).history[-1].objective for device in ("cpu", "cuda")]
    assert ends[1] == pytest.approx(ends[0], rel=1e-3)  # the same visits; rounding grows over them
