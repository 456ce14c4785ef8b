"""The data of the evaluation: a real server on loopback, real folders, and, where they are at hand, the real files."""

from __future__ import annotations

import hashlib
import logging
import os
import re
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path, PurePosixPath

import pytest

from wordforest.errors import InputError
from wordforest.evaluation import datasets
from wordforest.evaluation.datasets import DATASETS, DataFile, Dataset, cache_folder, check, fetch

DATA = Path(os.environ.get("WORDFOREST_DATA") or Path(__file__).parents[3] / "shared" / "data")
needs_data = pytest.mark.skipif(not DATA.is_dir(), reason=f"the evaluation data are not at {DATA}")

CONTENT = {"pairs/one.txt": b"cat\tdog\t7.5\n" * 5000, "pairs/two.txt": b"sun\tmoon\t3\n", "hand/made.csv": b"1,a\n"}

Handler = BaseHTTPRequestHandler


def send(handler: Handler, body: bytes, *, size: int | None = None, status: int = 200) -> None:
    handler.send_response(status)
    handler.send_header("Content-Length", str(len(body) if size is None else size))
    handler.end_headers()
    handler.wfile.write(body)


class Server:
    """A web server on loopback; ``answers`` maps a path to what writes its answer, ``seen`` lists the requests."""

    def __init__(self) -> None:
        self.answers: dict[str, Callable[[Handler], None]] = {}
        self.seen: list[str] = []
        server = self

        class Answering(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                server.seen.append(self.path)
                server.answers.get(self.path, lambda handler: send(handler, b"not here", status=404))(self)

            def log_message(self, *_: object) -> None:
                pass

        self.http = ThreadingHTTPServer(("127.0.0.1", 0), Answering)
        self.url = f"http://127.0.0.1:{self.http.server_port}"

    def serve(self, path: str, body: bytes) -> None:
        self.answers[path] = lambda handler: send(handler, body)


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[Server]:
    monkeypatch.setenv("NO_PROXY", "*")
    server = Server()
    thread = threading.Thread(target=server.http.serve_forever, args=(0.01,))
    thread.start()
    yield server
    server.http.shutdown()
    server.http.server_close()
    thread.join()


@pytest.fixture
def registry(monkeypatch: pytest.MonkeyPatch, server: Server) -> dict[str, Dataset]:
    """Two made-up data sets: ``pairs`` stands on the server, ``hand`` has no public address."""

    def file(path: str) -> DataFile:
        url = "" if path.startswith("hand/") else f"{server.url}/public/{path}"
        return DataFile(path, hashlib.sha256(CONTENT[path]).hexdigest(), url)

    files = (file("pairs/one.txt"), file("pairs/two.txt"))
    pairs = Dataset("pairs", "similarity", "made-up pairs", "free", "here", files)
    made = (file("hand/made.csv"),)
    hand = Dataset("hand", "completion", "made-up answers", "free", "here", made, "It is written by hand.")
    registry = {"pairs": pairs, "hand": hand}
    monkeypatch.setattr(datasets, "DATASETS", registry)
    for path in ("pairs/one.txt", "pairs/two.txt"):
        server.serve(f"/public/{path}", CONTENT[path])
    return registry


def write_copy(folder: Path) -> Path:
    for path, content in CONTENT.items():
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_bytes(content)
    return folder


def found(folder: Path) -> list[str]:
    """Return all files below a folder."""
    return sorted(path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file())


PAIRS = ["pairs/one.txt", "pairs/two.txt"]


# --- the registry


def test_the_layout_is_that_of_the_interface():
    paths = {file.path for dataset in DATASETS.values() for file in dataset.files}
    assert paths == {
        *(f"wordsim/EN-{name}.txt" for name in ("WS-353-ALL", "WS-353-SIM", "WS-353-REL", "MC-30", "RG-65")),
        *(f"wordsim/EN-{name}.txt" for name in ("RW-STANFORD", "MEN-TR-3k", "MTurk-287", "MTurk-771", "YP-130")),
        "wordsim/EN-SIMLEX-999.txt",
        "analogy/questions-words.txt",
        "msr_scc/testing_data.csv",
        "msr_scc/test_answer.csv",
        *(f"sst2/stsa.binary.{part}" for part in ("train", "dev", "test")),
    }


def test_the_registry_lists_four_sets_by_their_names():
    assert [(name, dataset.name) for name, dataset in DATASETS.items()] == [
        (name, name) for name in ("wordsim", "analogy", "msr_scc", "sst2")
    ]


def test_every_file_is_listed_once_below_the_folder_of_its_set():
    files = [(dataset.name, PurePosixPath(file.path)) for dataset in DATASETS.values() for file in dataset.files]
    assert len({path for _, path in files}) == len(files)
    assert all(path.parts[0] == name and len(path.parts) == 2 and ".." not in path.parts for name, path in files)


def test_every_file_has_a_hash_of_its_own():
    files = [file for dataset in DATASETS.values() for file in dataset.files]
    assert all(re.fullmatch("[0-9a-f]{64}", file.sha256) for file in files)
    assert len({file.sha256 for file in files}) == len(files)


def test_a_set_without_addresses_says_where_to_get_it_and_the_others_name_their_file_in_the_url():
    for dataset in DATASETS.values():
        assert all(file.url == "" for file in dataset.files) == bool(dataset.by_hand)
        assert all(file.url.startswith("https://") for file in dataset.files if not dataset.by_hand)
        assert all(file.url.endswith(PurePosixPath(file.path).name) for file in dataset.files if not dataset.by_hand)
        assert dataset.title
        assert dataset.terms
        assert dataset.source


# --- where the cache is


def test_the_environment_names_the_cache(monkeypatch, tmp_path):
    monkeypatch.setenv("WORDFOREST_CACHE", str(tmp_path))
    assert cache_folder() == tmp_path


@pytest.mark.skipif(sys.platform != "linux", reason="XDG_CACHE_HOME counts on Linux")
@pytest.mark.parametrize("unset", [True, False])
def test_without_it_the_cache_is_that_of_the_user(monkeypatch, tmp_path, unset):
    monkeypatch.setenv("WORDFOREST_CACHE", "")
    if unset:
        monkeypatch.delenv("WORDFOREST_CACHE")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    assert cache_folder() == tmp_path / "wordforest" / "data"


def test_fetch_and_check_use_the_cache_by_default(monkeypatch, tmp_path, registry):
    monkeypatch.setenv("WORDFOREST_CACHE", str(tmp_path / "cache"))
    fetch(["pairs"])
    assert [status.state for status in check()] == ["present", "present", "missing"]
    assert found(tmp_path / "cache") == PAIRS


def test_reading_the_registry_imports_neither_pooch_nor_requests():
    code = "import sys, wordforest.evaluation.datasets; print({'pooch', 'requests'} & set(sys.modules))"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True).stdout == "set()\n"


# --- fetching


def test_files_come_from_their_public_address(tmp_path, registry, server):
    paths = fetch(["pairs"], folder=tmp_path)
    assert paths == [tmp_path / "pairs/one.txt", tmp_path / "pairs/two.txt"]
    assert [path.read_bytes() for path in paths] == [CONTENT["pairs/one.txt"], CONTENT["pairs/two.txt"]]
    assert found(tmp_path) == PAIRS


def test_a_second_fetch_asks_for_nothing(tmp_path, registry, server):
    fetch(["pairs"], folder=tmp_path)
    server.seen.clear()
    calls: list[tuple[str, bool]] = []
    paths = fetch(["pairs"], folder=tmp_path, on_file=lambda file, fetched: calls.append((file.path, fetched)))
    assert server.seen == []
    assert calls == [("pairs/one.txt", False), ("pairs/two.txt", False)]
    assert len(paths) == 2


def test_only_what_is_missing_or_different_is_fetched(tmp_path, registry, server):
    fetch(["pairs"], folder=tmp_path)
    server.seen.clear()
    (tmp_path / "pairs/two.txt").write_bytes(b"sun\tmoon\t4\n")  # the same size
    calls: list[tuple[str, bool]] = []
    fetch("pairs", folder=tmp_path, on_file=lambda file, fetched: calls.append((file.path, fetched)))
    assert server.seen == ["/public/pairs/two.txt"]
    assert calls == [("pairs/one.txt", False), ("pairs/two.txt", True)]
    assert (tmp_path / "pairs/two.txt").read_bytes() == CONTENT["pairs/two.txt"]


def test_a_name_given_twice_is_fetched_once(tmp_path, registry):
    assert len(fetch(["pairs", "pairs"], folder=tmp_path)) == 2


def test_a_short_failure_of_the_server_is_tried_again(tmp_path, registry, server):
    def once_failing(handler: Handler) -> None:
        first = server.seen.count("/public/pairs/one.txt") == 1
        send(handler, b"" if first else CONTENT["pairs/one.txt"], status=503 if first else 200)

    server.answers["/public/pairs/one.txt"] = once_failing
    fetch(["pairs"], folder=tmp_path)
    assert found(tmp_path) == PAIRS


@pytest.mark.skipif(os.name != "posix", reason="rights of POSIX")
def test_a_fetched_file_has_the_rights_of_any_new_file(tmp_path, registry):
    (tmp_path / "new").touch()
    [path, _] = fetch(["pairs"], folder=tmp_path)
    assert path.stat().st_mode == (tmp_path / "new").stat().st_mode


def test_pooch_says_nothing_and_may_speak_again_afterwards(tmp_path, registry):
    import pooch

    records: list[logging.LogRecord] = []
    heard = logging.Handler()
    heard.emit = records.append  # type: ignore[method-assign]
    logger, level = pooch.get_logger(), pooch.get_logger().level
    logger.addHandler(heard)
    logger.setLevel(logging.INFO)
    try:
        fetch(["pairs"], folder=tmp_path)
        assert records == []
        assert logger.level == logging.INFO
    finally:
        logger.removeHandler(heard)
        logger.setLevel(level)


# --- what goes wrong


def test_a_wrong_file_is_refused_and_leaves_nothing(tmp_path, registry, server):
    server.serve("/public/pairs/one.txt", b"cat\tdog\t1.0\n")
    with pytest.raises(InputError) as caught:
        fetch(["pairs"], folder=tmp_path / "cache")
    for part in ("pairs/one.txt", registry["pairs"].files[0].sha256, "by hand"):
        assert part in str(caught.value)
    assert found(tmp_path / "cache") == []


def test_a_refused_file_leaves_the_one_before_it_and_those_beside_it(tmp_path, registry, server):
    fetch(["pairs"], folder=tmp_path)
    (tmp_path / "pairs/two.txt").write_bytes(b"mine")
    server.serve("/public/pairs/two.txt", b"wrong")
    with pytest.raises(InputError, match="SHA-256"):
        fetch(["pairs"], folder=tmp_path)
    assert found(tmp_path) == PAIRS
    assert (tmp_path / "pairs/two.txt").read_bytes() == b"mine"


def test_a_file_that_the_server_lacks_is_told_with_its_answer(tmp_path, registry, server):
    del server.answers["/public/pairs/two.txt"]
    with pytest.raises(InputError, match=r"/public/pairs/two\.txt: cannot be fetched \(404 .*Not Found\)\. .*by hand"):
        fetch(["pairs"], folder=tmp_path)
    assert found(tmp_path) == ["pairs/one.txt"]


def moved(registry: dict[str, Dataset], monkeypatch: pytest.MonkeyPatch, url: str) -> None:
    """Let the first of the pairs have another address."""
    first, *rest = registry["pairs"].files
    monkeypatch.setitem(registry, "pairs", registry["pairs"]._replace(files=(first._replace(url=url), *rest)))


def unused_port() -> int:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        return int(taken.getsockname()[1])


def test_without_a_network_one_line_says_what_to_do(tmp_path, registry, server, monkeypatch):
    url = f"http://127.0.0.1:{unused_port()}/pairs/one.txt"
    moved(registry, monkeypatch, url)
    with pytest.raises(InputError) as caught:
        fetch(["pairs", "hand"], folder=tmp_path / "cache")
    message = str(caught.value)
    assert message.startswith(f"{url}: cannot be fetched (Connection refused). ")
    assert str(tmp_path / "cache" / "pairs" / "one.txt") in message
    assert "\n" not in message
    assert found(tmp_path / "cache") == []


def test_a_host_without_an_address_is_told_the_same_way(tmp_path, registry, monkeypatch):
    moved(registry, monkeypatch, "http://nowhere.invalid/pairs/one.txt")  # RFC 2606: never resolves
    with pytest.raises(InputError, match=r"^http://nowhere\.invalid/pairs/one\.txt: cannot be fetched \(.+\)\."):
        fetch(["pairs"], folder=tmp_path)


def test_a_server_that_never_answers_is_given_up(tmp_path, registry, server, monkeypatch):
    monkeypatch.setattr(datasets, "_TIMEOUTS", (0.2, 0.2))
    over = threading.Event()
    server.answers["/public/pairs/one.txt"] = lambda _: over.wait(5) and None  # then it hangs up
    try:
        with pytest.raises(InputError, match=r"cannot be fetched \(.*timed out\)"):
            fetch(["pairs"], folder=tmp_path)
    finally:
        over.set()


def test_a_transfer_that_breaks_off_leaves_nothing(tmp_path, registry, server):
    half = CONTENT["pairs/one.txt"][:30_000]
    server.answers["/public/pairs/one.txt"] = lambda handler: send(handler, half, size=60_000)
    with pytest.raises(InputError, match=r"one\.txt: cannot be fetched .*30000 bytes read"):
        fetch(["pairs"], folder=tmp_path)
    assert found(tmp_path) == []


def test_a_server_cannot_point_at_local_files(tmp_path, registry, server):
    secret = tmp_path / "secret.txt"
    secret.write_bytes(CONTENT["pairs/one.txt"])  # even with the right hash

    def redirect(handler: Handler) -> None:
        handler.send_response(302)
        handler.send_header("Location", secret.as_uri())
        handler.send_header("Content-Length", "0")
        handler.end_headers()

    server.answers["/public/pairs/one.txt"] = redirect
    with pytest.raises(InputError, match=r"one\.txt: cannot be fetched"):
        fetch(["pairs"], folder=tmp_path / "cache")
    assert found(tmp_path / "cache") == []


INTERRUPTED = """
import sys
from wordforest.evaluation import datasets
file = datasets.DataFile("pairs/one.txt", "0" * 64, sys.argv[1])
datasets.DATASETS = {"pairs": datasets.Dataset("pairs", "", "", "", "", (file,))}
try:
    datasets.fetch(["pairs"], folder=sys.argv[2])
except KeyboardInterrupt:
    sys.exit(130)
"""


@contextmanager
def stalled(server: Server, path: str) -> Iterator[threading.Event]:
    """Half of a file is sent, then nothing; the event tells that this half is on its way."""
    sent, over = threading.Event(), threading.Event()

    def stall(handler: Handler) -> None:
        send(handler, CONTENT["pairs/one.txt"][:30_000], size=60_000)
        sent.set()
        over.wait(60)

    server.answers[path] = stall
    try:
        yield sent
    finally:
        over.set()


@pytest.mark.skipif(os.name != "posix", reason="signals of POSIX")
def test_an_interrupted_fetch_leaves_nothing(tmp_path, server):
    cache = tmp_path / "cache"
    with stalled(server, "/public/pairs/one.txt") as sent:
        command = [sys.executable, "-c", INTERRUPTED, f"{server.url}/public/pairs/one.txt", str(cache)]
        heard = lambda: signal.signal(signal.SIGINT, signal.SIG_DFL)  # noqa: E731 a job in the background ignores it
        with subprocess.Popen(command, preexec_fn=heard) as process:
            assert sent.wait(60)
            assert any(cache.rglob("*"))  # a temporary file is there
            process.send_signal(signal.SIGINT)
            assert process.wait(60) == 130
    assert found(cache) == []


def test_a_set_without_address_is_explained_after_the_others_were_fetched(tmp_path, registry):
    with pytest.raises(InputError) as caught:
        fetch(["hand", "pairs"], folder=tmp_path)
    for part in ("hand/made.csv", "no public address", "It is written by hand.", str(tmp_path)):
        assert part in str(caught.value)
    assert found(tmp_path) == PAIRS


def test_a_set_without_address_that_was_put_by_hand_is_taken(tmp_path, registry):
    write_copy(tmp_path)
    assert fetch(["hand"], folder=tmp_path) == [tmp_path / "hand/made.csv"]


def test_an_unknown_name_is_an_error_that_lists_the_names(tmp_path):
    with pytest.raises(InputError, match=r"'wordnet'\. Choose from wordsim, analogy, msr_scc, sst2\."):
        fetch(["wordsim", "wordnet"], folder=tmp_path)
    assert found(tmp_path) == []


@pytest.mark.parametrize("call", [check, lambda folder: fetch(["wordsim"], folder=folder)])
def test_a_file_in_place_of_the_folder_is_an_error(tmp_path, call):
    (tmp_path / "file").touch()
    with pytest.raises(InputError, match="expected a folder"):
        call(tmp_path / "file")


# --- checking


def test_check_tells_present_missing_and_different(tmp_path, registry):
    write_copy(tmp_path)
    (tmp_path / "pairs/one.txt").unlink()
    (tmp_path / "pairs/two.txt").write_bytes(b"sun\tmoon\t4\n")  # the same size
    assert [(status.dataset, status.path, status.state) for status in check(tmp_path)] == [
        ("pairs", tmp_path / "pairs/one.txt", "missing"),
        ("pairs", tmp_path / "pairs/two.txt", "different"),
        ("hand", tmp_path / "hand/made.csv", "present"),
    ]


def test_a_folder_in_place_of_a_file_is_different(tmp_path, registry):
    (tmp_path / "hand/made.csv").mkdir(parents=True)
    assert check(tmp_path)[2].state == "different"


def test_check_of_no_folder_finds_all_missing_and_makes_none(tmp_path):
    assert {status.state for status in check(tmp_path / "none")} == {"missing"}
    assert found(tmp_path) == []


# --- the real files


@needs_data
def test_the_data_at_hand_are_those_of_the_registry():
    assert {str(status.path): status.state for status in check(DATA) if status.state != "present"} == {}
