"""Matrices larger than memory: arrays in files give the same bits, and no memory grows with the entries."""

import json
import shutil
import subprocess
import sys
from collections import namedtuple
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy import sparse

from wordforest.coder.entries import EntrySettings, learn_from_entries
from wordforest.coder.forest import Forest
from wordforest.coder.penalties import ForestL2
from wordforest.counts.association import pmi, ppmi, sppmi
from wordforest.errors import InputError
from wordforest.runtime.disk import arrays_in
from wordforest.runtime.machine import Threads
from wordforest.store.folders import read_counts, save_counts
from wordforest.store.tensors import read_csr, write_csr

FOREST = Forest.complete(1)


def is_mapped(array: Any) -> bool:
    while isinstance(array, np.ndarray):
        if isinstance(array, np.memmap):
            return True
        array = array.base
    return False


def table(V: int = 300, C: int = 200) -> sparse.csr_array:
    """Counts with empty rows, some rows nearly full."""
    rng = np.random.default_rng(0)
    counts = rng.poisson(3 / (1 + np.arange(V)[:, None] / 20) * rng.gamma(0.5, size=(V, C)))
    counts[::50] = 0
    return sparse.csr_array(counts.astype(np.int32))


def folder_of(counts: sparse.csr_array, folder: Path) -> Path:
    words = [f"w{i}" for i in range(counts.shape[0])]
    save_counts(folder, words, np.ones(len(words), dtype=np.int64), counts, {})
    return folder


def same(one: sparse.csr_array, other: sparse.csr_array) -> None:
    for name in ("data", "indices", "indptr"):
        np.testing.assert_array_equal(getattr(one, name), getattr(other, name))


def test_mapped_counts_are_the_counts(tmp_path: Path) -> None:
    counts = table()
    *_, back, _ = read_counts(folder_of(counts, tmp_path / "c"), mapped=True)
    same(back, counts)
    assert is_mapped(back.data)
    assert is_mapped(back.indices)
    with pytest.raises(ValueError, match="read-only"):
        back.data[0] = 1


def test_a_mapped_matrix_without_entries(tmp_path: Path) -> None:
    write_csr(tmp_path / "a", sparse.csr_array((3, 4), dtype=np.float32))
    assert read_csr(tmp_path / "a", ("float32",), mapped=True).toarray().tolist() == [[0] * 4] * 3


def unsorted(path: Path) -> None:
    from safetensors.numpy import save_file

    parts = {"data": np.ones(3, np.int32), "indices": np.array([0, 2, 1], np.int32), "indptr": np.array([0, 3])}
    save_file({**parts, "shape": np.array([1, 3])}, path)


def cut_short(path: Path) -> None:
    path.write_bytes(path.read_bytes()[:-4])


def of_another_type(path: Path) -> None:
    from safetensors.numpy import save_file

    save_file({name: np.zeros(2, np.float16) for name in ("data", "indices", "indptr", "shape")}, path)


@pytest.mark.parametrize(
    ("damage", "match"),
    [
        (unsorted, "ascend without repeats"),
        (cut_short, "not a usable safetensors file"),
        (of_another_type, "F16"),
        (Path.unlink, "is missing"),
    ],
)
def test_damaged_counts_are_seen_without_reading_them_whole(tmp_path: Path, damage: Any, match: str) -> None:
    folder = folder_of(table(), tmp_path / "c")
    damage(folder / "counts.safetensors")
    with pytest.raises(InputError, match=match):
        read_counts(folder, mapped=True)


@pytest.mark.parametrize(
    "measure", [pmi, ppmi, lambda counts, **more: sppmi(counts, shift=0.3, smoothing=0.75, **more)]
)
def test_association_in_files_has_the_same_bits(tmp_path: Path, measure: Any) -> None:
    counts = table()
    *_, mapped, _ = read_counts(folder_of(counts, tmp_path / "c"), mapped=True)
    X = measure(mapped, allocate=arrays_in(tmp_path))
    same(X, measure(counts))
    assert is_mapped(X.data)


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


def test_arrays_lie_in_memory_up_to_a_limit_and_then_in_files_without_names(tmp_path: Path) -> None:
    allocate = arrays_in(tmp_path, memory=1000)
    first, second, third = (allocate(100, np.float32) for _ in range(3))
    assert not is_mapped(first)
    assert not is_mapped(second)
    assert is_mapped(third)
    third[:] = 7
    assert third.shape == (100,)
    assert third.dtype == np.float32
    assert third.sum() == 700
    assert list(tmp_path.iterdir()) == []
    assert allocate(0, np.float32).shape == (0,)


def test_a_full_disk_is_an_error_before_anything_is_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    usage = namedtuple("usage", "total used free")
    monkeypatch.setattr(shutil, "disk_usage", lambda _: usage(10**9, 9 * 10**8, 10**8))
    with pytest.raises(InputError, match=r"needs 2.5 GB on this disk, but 100 MB are free"):
        arrays_in(tmp_path)(100 * 10**6, "V24")


def test_a_missing_folder_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="expected a folder"):
        arrays_in(tmp_path / "gone")(10, np.float32)


SCRIPT = """
import hashlib, json, sys, threading, time
from pathlib import Path
import numpy as np
from wordforest.counts.association import pmi
from wordforest.coder.entries import EntrySettings, learn_from_entries
from wordforest.coder.penalties import L1
from wordforest.runtime.machine import Threads
from wordforest.store.folders import read_counts
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
