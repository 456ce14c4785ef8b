"""The stored pairs of X, which may be larger than memory: arrays in files give the same bits and take no memory."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy import sparse

from tests.store.test_counts import folder_of, same, table
from wordforest.coder.entries import EntrySettings, learn_from_entries
from wordforest.coder.forest import Forest
from wordforest.coder.penalties import ForestL2
from wordforest.coder.rows.pairs import stored_pairs
from wordforest.counts.association import pmi
from wordforest.runtime.disk import arrays_in
from wordforest.runtime.machine import Threads
from wordforest.store.folders import read_counts

FOREST = Forest.complete(1)


def test_a_part_is_a_slice_of_the_pairs_in_the_order_of_x() -> None:
    X = pmi(table())
    pairs = stored_pairs(X)
    rows, columns = X.tocoo().coords
    part = pairs.part(slice(100, 250))
    for found, expected in zip(part, (rows, columns, X.data, abs(X.data)), strict=True):
        np.testing.assert_array_equal(found, expected[100:250])


def test_a_sample_is_spread_over_all_pairs() -> None:
    X = pmi(table())
    sample = stored_pairs(X).sample(50, np.random.default_rng(0))
    np.testing.assert_array_equal(sample.values, X.toarray()[sample.words, sample.contexts])
    places = np.searchsorted(X.indptr, np.arange(50) * X.nnz // 50, "right") - 1
    assert (sample.words >= places).all()
    assert len(stored_pairs(X).sample(10**9, np.random.default_rng(0)).words) == X.nnz


def test_int32_indices_beside_int64_indptr_stay_as_they_are(tmp_path: Path) -> None:
    """Beyond 2^31 entries only indptr needs 64 bits; SciPy would copy the indices to make them as wide."""
    counts = table()
    wide = sparse.csr_array(counts.shape, dtype=counts.dtype)
    wide.data, wide.indices, wide.indptr = counts.data, counts.indices, counts.indptr.astype(np.int64)
    wide.has_canonical_format = True
    X = pmi(wide, share_pattern=True)
    assert X.indices is counts.indices
    same(X, pmi(counts))
    np.testing.assert_array_equal(learn(X).A, learn(pmi(counts)).A)


def learn(X: Any, **more: Any) -> Any:
    options = {name: more.pop(name) for name in ("allocate", "weights", "workers") if name in more}
    executor = Threads(options.pop("workers", 2))
    settings = EntrySettings(**{"epochs": 2, "blocks": 4, **more})
    return learn_from_entries(X, ForestL2(FOREST, 0.01), len(FOREST), settings, executor=executor, **options)


@pytest.mark.parametrize("sampling", ["proportional", "uniform"])
@pytest.mark.parametrize("zeros", [0.0, 0.3])
@pytest.mark.parametrize("workers", [1, 2])
def test_entries_in_a_file_give_the_same_bits(tmp_path: Path, sampling: Any, zeros: float, workers: int) -> None:
    *_, mapped, _ = read_counts(folder_of(table(), tmp_path / "c"), mapped=True)
    allocate = arrays_in(tmp_path)
    settings = {"sampling": sampling, "zeros": zeros}
    spooled = learn(pmi(mapped, share_pattern=True, allocate=allocate), allocate=allocate, workers=workers, **settings)
    in_memory = learn(pmi(table()), **settings)
    np.testing.assert_array_equal(spooled.A, in_memory.A)
    np.testing.assert_array_equal(spooled.D, in_memory.D)
    assert spooled.history == in_memory.history


def test_weights_may_be_one_number_repeated_without_memory() -> None:
    X = pmi(table())
    repeated = learn(X, weights=np.broadcast_to(np.float32(1), X.nnz))
    np.testing.assert_array_equal(repeated.A, learn(X, weights=np.ones(X.nnz)).A)


SCRIPT = """
import hashlib, json, sys, threading, time
from pathlib import Path
import numpy as np
from wordforest.counts.association import pmi
from wordforest.coder.entries import EntrySettings, learn_from_entries
from wordforest.coder.penalties import L1
from wordforest.runtime.machine import Threads
from wordforest.store import read_counts
from wordforest.runtime.disk import arrays_in

folder, spooled, warm_up = Path(sys.argv[1]), sys.argv[2] == "spooled", Path(sys.argv[3])

def anonymous():
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) * 1024 for line in lines if line.startswith("RssAnon"))

def learn(folder):
    allocate = arrays_in(folder) if spooled else np.empty
    *_, counts, _ = read_counts(folder, mapped=spooled)
    X = pmi(counts, share_pattern=True, allocate=allocate)
    settings = EntrySettings(epochs=1, blocks=16, seed=3, zeros=0.1)
    return X.nnz, learn_from_entries(X, L1(0.01), 4, settings, executor=Threads(2), allocate=allocate)

learn(warm_up)  # the compiler's memory is not the matrix's
start, peak, done = anonymous(), 0, False

def watch():
    global peak
    while not done:
        peak = max(peak, anonymous())
        time.sleep(0.002)

watcher = threading.Thread(target=watch)
watcher.start()
nnz, learned = learn(folder)
done = True
watcher.join()
print(json.dumps({"nnz": nnz, "grown": peak - start, "bits": hashlib.sha256(learned.A.tobytes()).hexdigest()}))
"""


@pytest.mark.skipif(not Path("/proc/self/status").is_file(), reason="memory is read from /proc")
def test_memory_does_not_grow_with_the_entries(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    V, C, per_row = 6000, 6000, 1000
    indices = np.sort(rng.permuted(np.tile(np.arange(C, dtype=np.int32), (V // 10, 1)), axis=1)[:, :per_row], axis=1)
    data = rng.integers(1, 50, V * per_row).astype(np.int32)
    parts = (data, np.tile(indices, (10, 1)).ravel(), np.arange(0, V * per_row + 1, per_row, dtype=np.int32))
    large = folder_of(sparse.csr_array(parts, shape=(V, C)), tmp_path / "large")
    small = folder_of(table(), tmp_path / "small")
    found = {}
    for way in ("spooled", "in memory"):
        command = [sys.executable, "-c", SCRIPT, str(large), way, str(small)]
        found[way] = json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)
    assert found["spooled"]["bits"] == found["in memory"]["bits"]
    entry_bytes = 24 * found["spooled"]["nnz"]
    assert entry_bytes == 144_000_000
    assert found["in memory"]["grown"] > entry_bytes  # the measure sees what lies in memory
    # the sample of the search takes 17 MB, a block and its draws 1, parts of X 10 for each worker
    assert found["spooled"]["grown"] < entry_bytes / 2
