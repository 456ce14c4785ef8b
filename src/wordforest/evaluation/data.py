"""Where the files of every task are: a folder, the environment, a cache, or gensim."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path

from wordforest.errors import InputError
from wordforest.evaluation.scores import TEN_SETS

ENVIRONMENT = "WORDFOREST_DATA"
TASKS = ("similarity", "analogy", "completion", "sentiment")
"""Every task, in the order of their scores."""

_PAIRS = "wordsim/*.txt"
_FILES = {
    "analogy": ("analogy/questions-words.txt",),
    "completion": ("msr_scc/testing_data.csv", "msr_scc/test_answer.csv"),
    "sentiment": ("sst2/stsa.binary.train", "sst2/stsa.binary.dev", "sst2/stsa.binary.test"),
}
_LAYOUT = ", ".join((_PAIRS, "analogy/questions-words.txt", "msr_scc/*.csv or sst2/stsa.binary.*"))


@dataclass(frozen=True)
class Data:
    """The files of every task for which all of them are there; ``place`` says where they were looked for."""

    place: str
    files: Mapping[str, tuple[Path, ...]]
    missing: Mapping[str, str]

    def of(self, task: str) -> tuple[Path, ...]:
        """Return the files of a task."""
        if task not in self.files:
            raise InputError(
                f"{self.place}: expected {self.missing[task]} for the task {task}, found no such file. "
                "Add it, give another folder, or leave the task out."
            )
        return self.files[task]


def find_data(data: str | Path | None = None, cache: Path | None = None) -> Data:
    """Return the data in the folder ``data``, else in that of WORDFOREST_DATA, else in ``cache``, else in gensim.

    The first place that is named counts alone; the cache counts if anything is in it. A folder holds wordsim/*.txt,
    analogy/questions-words.txt, msr_scc/{testing_data,test_answer}.csv, sst2/stsa.binary.{train,dev,test}, or some
    of these.
    """
    folder, origin = data, "data"
    if folder is None:
        folder, origin = os.environ.get(ENVIRONMENT) or None, ENVIRONMENT
    if folder is not None:
        return _named(Path(folder), f"{origin} = {folder}")
    if cache is not None and (found := _in_folder(cache, str(cache))).files:
        return found
    in_gensim = _in_gensim()
    if in_gensim is None:
        tried = f", nothing is in {cache}" if cache is not None else ""
        raise InputError(
            f"expected evaluation data, found none: neither data nor {ENVIRONMENT} names a folder{tried}, and "
            f"gensim, which carries a few sets, is not installed. Give a folder with {_LAYOUT}, or run: "
            "pip install 'wordforest[demo]'"
        )
    return in_gensim


def _named(folder: Path, place: str) -> Data:
    if not folder.is_dir():
        raise InputError(f"{place}: expected a folder with {_LAYOUT}, found none. Check the path.")
    found = _in_folder(folder, place)
    if not found.files:
        raise InputError(f"{place}: expected {_LAYOUT} in it, found none of them. Check the path.")
    return found


def _in_folder(folder: Path, place: str) -> Data:
    files: dict[str, tuple[Path, ...]] = {}
    missing: dict[str, str] = {}
    if pairs := sorted((folder / "wordsim").glob("*.txt"), key=_paper_order):
        files["similarity"] = tuple(pairs)
    else:
        missing["similarity"] = _PAIRS
    for task, names in _FILES.items():
        if absent := [name for name in names if not (folder / name).is_file()]:
            missing[task] = absent[0]
        else:
            files[task] = tuple(folder / name for name in names)
    return Data(place, files, missing)


def _paper_order(path: Path) -> tuple[int, str]:
    return (TEN_SETS.index(path.stem) if path.stem in TEN_SETS else len(TEN_SETS)), path.stem


def _in_gensim() -> Data | None:
    """Return the sets inside gensim's wheel, found without importing it: that takes seconds."""
    spec = find_spec("gensim")
    if spec is None or not spec.submodule_search_locations:
        return None
    folder = Path(spec.submodule_search_locations[0]) / "test" / "test_data"
    pairs = tuple(path for name in ("wordsim353.tsv", "simlex999.txt") if (path := folder / name).is_file())
    questions = folder / "questions-words.txt"
    files = {"similarity": pairs} if pairs else {}
    if questions.is_file():
        files["analogy"] = (questions,)
    missing = {"similarity": _PAIRS, **{task: names[0] for task, names in _FILES.items()}}
    place = "the sets that come with gensim"
    return Data(place, files, missing) if files else None
