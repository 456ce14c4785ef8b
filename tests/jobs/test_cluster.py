"""A real Dask cluster on this machine, scheduler and workers as processes: the bits of one machine, whoever dies."""

from __future__ import annotations

import errno
import gc
import os
import random
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy import sparse

import wordforest as wf
import wordforest.store
from tests.counts.test_phrases import sentences
from tests.documents.collection import collection
from wordforest.coder.rows import base
from wordforest.coder.rows.cluster import ClusterRows, HeldRows
from wordforest.documents.topics import TopicSettings
from wordforest.errors import ClusterError, InputError
from wordforest.jobs import count_on_cluster, documents
from wordforest.runtime.cluster import Cluster
from wordforest.runtime.progress import Event, Reporter
from wordforest.text import spans

distributed = pytest.importorskip("distributed")
pytestmark = [
    pytest.mark.cluster,
    pytest.mark.filterwarnings("ignore::ResourceWarning"),  # Dask's sockets to what was killed
    pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning"),
]

SETTINGS = {"trees": 2, "min_count": 5, "epochs": 3, "tol": 0.0}
FILES = ("codes.safetensors", "dictionary.safetensors", "vocab.tsv", "forest.json")
QUICK = {"DASK_DISTRIBUTED__COMM__TIMEOUTS__CONNECT": "5s", "DASK_DISTRIBUTED__SCHEDULER__ALLOWED_FAILURES": "20"}


class Processes:
    """A scheduler and workers, started and killed as a user's would be."""

    def __init__(self, folder: Path) -> None:
        self.env = {**os.environ, **QUICK}
        self.file = folder / "scheduler.json"
        self.scheduler = self._start("dask_scheduler", "--port", "0", "--scheduler-file", str(self.file))
        self.workers: list[subprocess.Popen[bytes]] = []

    def _start(self, name: str, *arguments: str) -> subprocess.Popen[bytes]:
        command = [sys.executable, "-m", f"distributed.cli.{name}", "--no-dashboard", "--host", "127.0.0.1", *arguments]
        return subprocess.Popen(command, env=self.env, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)

    def fill(self, n: int) -> None:
        """Have n workers alive."""
        self.workers = [worker for worker in self.workers if worker.poll() is None]
        while not self.file.exists():
            time.sleep(0.05)
        more = ("--scheduler-file", str(self.file), "--nthreads", "1", "--no-nanny", "--memory-limit", "0")
        self.workers += [self._start("dask_worker", *more) for _ in range(n - len(self.workers))]

    def connect(self) -> Any:
        """Return a client."""
        gc.collect()  # a client that failed is closed when it is collected: amid the start of this one both would wait
        return distributed.Client(scheduler_file=str(self.file), set_as_default=False)

    def cluster(self, client: Any) -> Cluster:
        """Return the cluster once all its workers are there."""
        client.wait_for_workers(len(self.workers), timeout=60)
        return Cluster(client)

    def end(self) -> None:
        for process in (*self.workers, self.scheduler):
            process.kill()
            process.wait()


@pytest.fixture(scope="module", autouse=True)
def _quick() -> Iterator[None]:
    """Small shards and spans, so that even small data have many; and no long waits for those who are dead."""
    import dask

    patch = pytest.MonkeyPatch()
    patch.setattr(base, "_SHARD_COST", 1 << 16)
    patch.setattr(spans, "_LEAST", 1 << 17)
    with dask.config.set({"distributed.comm.timeouts.connect": "5s"}):
        yield
    patch.undo()


@pytest.fixture(scope="module")
def processes(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Processes]:
    started = Processes(tmp_path_factory.mktemp("dask"))
    started.fill(3)
    yield started
    started.end()


@pytest.fixture(scope="module")
def client(processes: Processes) -> Iterator[Any]:
    connected = processes.connect()
    yield connected
    connected.close()


@pytest.fixture
def cluster(processes: Processes, client: Any) -> Cluster:
    """A cluster of three workers, new ones in place of those that were killed."""
    processes.fill(3)
    return processes.cluster(client)


@pytest.fixture(scope="module")
def whole(large_corpus: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What one machine makes of the corpus: counts, a run, and codes of all words with its dictionary."""
    folder = tmp_path_factory.mktemp("whole")
    wf.count_corpus(large_corpus, folder / "counts", min_count=5)
    wf.train(large_corpus, out=folder / "run", **SETTINGS)
    return folder


@pytest.fixture(scope="module")
def few(large_corpus: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Counts of a thousand words."""
    folder = tmp_path_factory.mktemp("few") / "counts"
    wf.count_corpus(large_corpus, folder, max_vocab=1000)
    return folder


@pytest.fixture(scope="module")
def there(
    processes: Processes, client: Any, large_corpus: Path, tmp_path_factory: pytest.TempPathFactory
) -> tuple[Path, float]:
    """What three workers make of the corpus, and how long they take if nobody harms them."""
    cluster = processes.cluster(client)
    began, out = time.monotonic(), tmp_path_factory.mktemp("there")
    wf.train(large_corpus, out=out, cluster=cluster, **SETTINGS)
    return out, time.monotonic() - began


def same(a: Path, b: Path, names: tuple[str, ...] = FILES) -> bool:
    return all((a / name).read_bytes() == (b / name).read_bytes() for name in names)


def data(n_rows: int = 2000) -> sparse.csr_array:
    X = sparse.random_array((n_rows, 300), density=0.1, rng=np.random.default_rng(0), format="csr", dtype=np.float32)
    X.data *= 5
    return X


@pytest.mark.parametrize(
    "options", [{}, {"subsample": 1e-3, "dynamic_window": True, "subsample_seed": 3, "mark_sides": True}]
)
def test_counting_has_the_bits_of_one_machine(
    cluster: Cluster, large_corpus: Path, tmp_path: Path, options: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    wf.count_corpus(large_corpus, tmp_path / "here", min_count=5, **options)
    for most_ids in (1 << 26, 1 << 15):  # at once, by spans
        monkeypatch.setattr(count_on_cluster, "_MOST_IDS", most_ids)
        out = tmp_path / f"{most_ids}"
        wf.count_corpus(large_corpus, out, min_count=5, cluster=cluster, **options)
        assert same(tmp_path / "here", out, ("counts.safetensors", "vocab.tsv"))


def test_phrases_and_their_tokens_have_the_bits_of_one_machine(
    cluster: Cluster, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    text = tmp_path / "text.txt"
    text.write_text("\n".join(sentences(9000)) + "\n", encoding="utf-8")
    monkeypatch.setattr(count_on_cluster, "_MOST_IDS", 1 << 14)
    options = {"phrases": True, "tokenizer": r"regex:\w+", "subsample": 1e-3}
    wf.count_corpus(text, tmp_path / "here", **options)
    wf.count_corpus(text, tmp_path / "there", cluster=cluster, **options)
    assert same(tmp_path / "here", tmp_path / "there", ("counts.safetensors", "vocab.tsv", "phrases.tsv"))


def test_text_too_large_to_keep_is_read_again_to_the_same_bits(
    cluster: Cluster, large_corpus: Path, whole: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Cluster, "least_memory", lambda _: 1)
    wf.count_corpus(large_corpus, tmp_path / "counts", min_count=5, cluster=cluster)
    assert same(tmp_path / "counts", whole / "counts", ("counts.safetensors", "vocab.tsv"))


def test_documents_have_the_bits_of_one_machine(
    cluster: Cluster, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(documents, "_CHUNK", 32)
    texts, _ = collection()
    run = documents.learn_topics_of(texts, settings=TopicSettings(levels=(4, 8), min_df=2))
    here = documents.place_documents(run, texts, out=tmp_path / "here")
    there = documents.place_documents(run, texts, out=tmp_path / "there", cluster=cluster)
    np.testing.assert_array_equal(there.shares.toarray(), here.shares.toarray())
    assert same(tmp_path / "here", tmp_path / "there", ("documents.csv", "nodes.csv", "texts.jsonl.zst"))


def test_training_has_the_bits_of_one_machine(there: tuple[Path, float], whole: Path) -> None:
    assert same(there[0], whole / "run")
    kept = ("objective", "gain", "nonzeros", "words_seen")
    found, expected = (
        [[row[name] for name in kept] for row in wf.load_run(run).history] for run in (there[0], whole / "run")
    )
    assert found == expected
    assert not (there[0] / "checkpoint").exists()


@pytest.mark.parametrize(
    "options",
    [
        # clusters of words, non-negative, words weighed, pairs dropped
        {"preset": "readable", "trees": 2, "epochs": 3},
        {"trees": 1, "measure": "sppmi", "shift": 0.1, "smoothing": 0.75, "init": "rows", "dtype": "float64"},
        {"trees": 1, "init": "spectral", "epochs": 1, "unit": True},
        {"trees": 1, "weights": "count:0.5", "zeros": 0.5, "epochs": 2},
        {"trees": 1, "weights": "count:0.5,1e-3", "measure": "ppmi", "spelling": 1.0, "zeros": 0.5, "epochs": 2},
    ],
)
def test_other_settings_have_the_bits_of_one_machine(cluster: Cluster, few: Path, tmp_path: Path, options: Any) -> None:
    wf.train(few, out=tmp_path / "here", **options)
    wf.train(few, out=tmp_path / "there", cluster=cluster, **options)
    assert same(tmp_path / "here", tmp_path / "there")


def test_new_words_are_coded_by_the_workers(cluster: Cluster, large_corpus: Path, whole: Path, tmp_path: Path) -> None:
    lines = large_corpus.read_text(encoding="utf-8").splitlines()
    (tmp_path / "other.txt").write_text("\n".join(lines[::2]) + "\nunheard of words " * 9, encoding="utf-8")
    wf.count_corpus(tmp_path / "other.txt", tmp_path / "other", min_count=5)  # contexts have other numbers there
    for number, counts in enumerate((whole / "counts", tmp_path / "other")):
        here, there = (tmp_path / f"{name}{number}" for name in ("here", "there"))
        one = wf.encode_counts(whole / "run", counts, here)
        other = wf.encode_counts(whole / "run", counts, there, cluster=cluster)
        assert same(here, there, ("codes.safetensors", "vocab.tsv", "forest.json", "config.json"))
        assert {file.name for file in here.iterdir()} == {file.name for file in there.iterdir()}
        assert (one.codes != other.codes).nnz == 0


def test_spelled_words_are_coded_by_the_workers(cluster: Cluster, few: Path, tmp_path: Path) -> None:
    settings: dict[str, Any] = {"trees": 1, "weights": "count:0.5", "spelling": 1.0, "epochs": 1}
    wf.train(few, out=tmp_path / "run", **settings)
    wf.encode_counts(tmp_path / "run", few, tmp_path / "here")
    wf.encode_counts(tmp_path / "run", few, tmp_path / "there", cluster=cluster)
    assert same(tmp_path / "here", tmp_path / "there", ("codes.safetensors", "vocab.tsv", "config.json"))


@pytest.mark.parametrize("seed", range(int(os.environ.get("WORDFOREST_TORTURE", "2"))))
def test_two_of_three_workers_are_killed_and_the_bits_stay(
    processes: Processes,
    cluster: Cluster,
    large_corpus: Path,
    whole: Path,
    there: tuple[Path, float],
    tmp_path: Path,
    seed: int,
) -> None:
    rng = random.Random(seed)
    victims = rng.sample(processes.workers, 2)
    moments = sorted(rng.uniform(0, there[1]) for _ in victims)

    def kill() -> None:
        start = time.monotonic()
        for moment, victim in zip(moments, victims, strict=True):
            time.sleep(max(0.0, moment - (time.monotonic() - start)))
            victim.kill()

    killer = threading.Thread(target=kill)
    killer.start()
    wf.train(large_corpus, out=tmp_path / "run", cluster=cluster, **SETTINGS)
    killer.join()
    assert [victim.wait() for victim in victims] == [-signal.SIGKILL] * 2
    assert same(tmp_path / "run", whole / "run")


def test_what_is_put_on_a_cluster_is_put_again_when_its_connection_breaks(
    cluster: Cluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    scatter, tries = cluster.client.scatter, list[int]()

    def break_once(*arguments: Any, **options: Any) -> Any:
        tries.append(1)
        if len(tries) == 1:
            raise distributed.comm.core.CommClosedError("Connection reset by peer")
        return scatter(*arguments, **options)

    monkeypatch.setattr(cluster.client, "scatter", break_once)
    assert [cluster.get(handle) for handle in cluster.put(["here"])] == ["here"]


def test_a_worker_that_cannot_be_reached_any_more_is_a_dead_one(cluster: Cluster) -> None:
    tries = []

    def ask() -> str:
        tries.append(1)
        if len(tries) == 1:  # what Dask raises when it asks a worker that was just killed
            raise OSError("Timed out trying to connect to tcp://127.0.0.1:1 after 30 s")
        return "found"

    assert cluster.attempt(lambda: cluster._asked(ask)) == "found"

    def fail() -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    with pytest.raises(OSError, match="No space left"):
        cluster.get(cluster.submit(fail))


def test_a_scheduler_that_dies_is_told_and_resume_continues(
    cluster: Cluster, large_corpus: Path, whole: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("wordforest.jobs.job._SHARE", 1e9)  # write a checkpoint after every step
    started, out, said = Processes(tmp_path), tmp_path / "run", list[str]()
    started.fill(2)
    with started.connect() as client:
        client.wait_for_workers(2, timeout=60)
        address = client.scheduler.address

    class Kill(Reporter):
        def __call__(self, event: Event) -> None:
            if event.stage == "learn" and (out / "checkpoint" / "state.safetensors").exists():
                started.scheduler.kill()

        def say(self, message: str) -> None:
            said.append(message)

    told = f"the scheduler of Dask at {address} does not answer any more.*--resume"
    with pytest.raises(ClusterError, match=told) as caught:
        wf.train(large_corpus, out=out, cluster=address, report=Kill(), **SETTINGS)
    started.end()
    assert "dashboard: http" in "".join(said)
    assert f"{out} keeps what was done" in "".join(caught.value.__notes__)
    wf.train(large_corpus, out=out, cluster=cluster, resume=True, **SETTINGS)
    assert same(out, whole / "run")


def test_a_worker_too_small_is_told_before_it_dies() -> None:
    with (
        distributed.LocalCluster(1, processes=False, memory_limit="12MB", dashboard_address="127.0.0.1:0") as local,
        distributed.Client(local, set_as_default=False) as client,
        pytest.raises(ClusterError, match=r"a worker may use 0.012 GB, but a part of X with \d+ pairs .* need about"),
    ):
        ClusterRows(HeldRows(data(50_000)), Cluster(client)).layout(26)


def _die() -> None:
    os.kill(os.getpid(), signal.SIGKILL)


def test_a_task_that_kills_its_workers_is_told_apart_from_a_bug() -> None:
    import dask

    with (
        dask.config.set({"distributed.scheduler.allowed-failures": 0}),
        distributed.LocalCluster(1, threads_per_worker=1, dashboard_address="127.0.0.1:0", silence_logs=50) as local,
        distributed.Client(local, set_as_default=False) as client,
        pytest.raises(ClusterError, match="Most often such a task needs more memory than a worker has"),
    ):
        Cluster(client).get(Cluster(client).submit(_die))


def test_results_come_in_order_and_errors_come_through(cluster: Cluster, tmp_path: Path) -> None:
    assert list(cluster.map(abs, range(-20, 0))) == list(range(20, 0, -1))
    with pytest.raises(ZeroDivisionError):
        list(cluster.map((1).__truediv__, [1, 0]))
    (tmp_path / "bad.txt").write_bytes(b"word \xff\n" * 100)
    with pytest.raises(InputError, match=r"bad.txt: line 1, column \d+: byte 0xff is not valid UTF-8"):
        wf.count_corpus(tmp_path / "bad.txt", tmp_path / "counts", cluster=cluster)
    assert not (tmp_path / "counts").exists()


def test_workers_of_the_same_machine_do_not_differ(cluster: Cluster) -> None:
    assert cluster.n_workers == 3
    assert cluster.differences() == []


@pytest.mark.parametrize(
    ("where", "said"),
    [
        ("local:0", "expected a number of processes, as in local:4"),
        ("local:many", "expected a number of processes, as in local:4"),
        ("tcp://127.0.0.1:1", "no scheduler of Dask can be reached there"),
        ("tls://127.0.0.1:1", "no scheduler of Dask can be reached there"),
    ],
)
def test_an_address_that_leads_nowhere(where: str, said: str) -> None:
    import dask

    with dask.config.set({"distributed.comm.timeouts.connect": "0.5s"}), pytest.raises(InputError, match=said):
        Cluster.connect(where)


@pytest.mark.parametrize("options", [{"learner": "entries"}, {"device": "cuda"}])
def test_what_a_cluster_cannot_do_is_refused(whole: Path, tmp_path: Path, options: Any) -> None:
    with pytest.raises(InputError, match="but a cluster learns online, on processors"):
        wf.train(whole / "counts", out=tmp_path / "run", cluster="local:1", **options)


@pytest.mark.parametrize("first", ["here", "there"])
def test_a_run_is_resumed_where_it_was_not_begun(
    cluster: Cluster, large_corpus: Path, whole: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, first: str
) -> None:
    class Stop(Reporter):
        def __call__(self, event: Event) -> None:
            if event.stage == "learn" and event.done > 3000:
                raise KeyboardInterrupt

    monkeypatch.setattr("wordforest.jobs.job._SHARE", 1e9)  # write a checkpoint after every step
    begin, end = (None, cluster) if first == "here" else (cluster, None)
    with pytest.raises(KeyboardInterrupt):
        wf.train(large_corpus, out=tmp_path / "run", cluster=begin, report=Stop(), **SETTINGS)
    assert (tmp_path / "run" / "checkpoint" / "state.safetensors").exists()
    before = (tmp_path / "run" / "counts" / "counts.safetensors").stat().st_mtime_ns
    run = wf.train(large_corpus, out=tmp_path / "run", cluster=end, resume=True, **SETTINGS)
    assert same(tmp_path / "run", whole / "run")
    assert (tmp_path / "run" / "counts" / "counts.safetensors").stat().st_mtime_ns == before  # not counted again
    assert "content" not in run.config


def test_a_run_beside_takes_the_counts_of_workers(
    there: tuple[Path, float], large_corpus: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("wordforest.jobs.count.count_into", None)  # would fail if it counted again
    out = there[0].parent / "beside"
    wf.train(large_corpus, out=out, **SETTINGS)
    assert same(out, there[0])


def test_text_that_changed_is_counted_anew(cluster: Cluster, large_corpus: Path, tmp_path: Path) -> None:
    text = tmp_path / "text.txt"
    text.write_bytes(large_corpus.read_bytes()[: 1 << 19])
    wf.train(text, out=tmp_path / "run", cluster=cluster, **SETTINGS)
    text.write_bytes(large_corpus.read_bytes()[: 1 << 18])
    changed = wf.train(text, out=tmp_path / "run", cluster=cluster, force=True, **SETTINGS)
    wf.train(text, out=tmp_path / "other", **SETTINGS)
    assert same(tmp_path / "run", tmp_path / "other")
    assert changed.config["corpus"] == [str(text)]


def test_a_cluster_needs_a_folder(whole: Path) -> None:
    with pytest.raises(InputError, match="needs a folder that all workers see"):
        wf.train(whole / "counts", cluster="local:1")
    with pytest.raises(InputError, match="needs a folder that all workers see"):
        wf.encode_counts(whole / "run", whole / "counts", cluster="local:1")


MEASURED = """
import sys, threading, time
import distributed
import numpy as np
import wordforest as wf
from wordforest.coder.dictionary import random_columns
from wordforest.runtime.progress import Reporter

random_columns((2, 2), 0, like=np.zeros(1, np.float32))  # compiled before measuring

def anonymous():
    lines = open("/proc/self/status").read().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith("RssAnon")) * 1024

class Watch(Reporter):
    before = most = 0
    def __call__(self, event):
        if event.stage == "learn" and not self.before:
            self.before = anonymous()

watch = Watch()
def look():
    while True:
        watch.most = max(watch.most, anonymous()) if watch.before else 0
        time.sleep(0.002)
threading.Thread(target=look, daemon=True).start()
client = distributed.Client(scheduler_file=sys.argv[1], set_as_default=False)
wf.train(sys.argv[2], out=sys.argv[3], cluster=wf.Cluster(client), trees=4, epochs=1, report=watch)
print(watch.most - watch.before)
"""


def test_the_client_holds_neither_pairs_nor_codes(processes: Processes, cluster: Cluster, tmp_path: Path) -> None:
    V, C, M = 120_000, 400, 52
    counts = sparse.random_array((V, C), density=0.15, rng=np.random.default_rng(0), format="csr", dtype=np.float32)
    counts.data = np.ceil(counts.data * 9).astype(np.int32)
    wf.store.save_counts(tmp_path / "counts", [f"w{i}" for i in range(V)], np.full(V, 10), counts, {})
    command = [sys.executable, "-c", MEASURED, str(processes.file), str(tmp_path / "counts"), str(tmp_path / "run")]
    done = subprocess.run(command, env=processes.env, capture_output=True, text=True, check=False, timeout=120)
    assert done.returncode == 0, done.stderr
    pairs, codes, batch = counts.nnz * 8, V * M * 4, V // 8 * M * 4
    # D, AA, XA and numbers for each word are 7 MB; a batch is here some times: as it was, coded, changed, on its way
    assert int(done.stdout) < 7e6 + 6 * batch < (pairs + codes) / 3
