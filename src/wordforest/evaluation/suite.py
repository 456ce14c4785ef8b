"""All evaluations for which there is data, in one call."""

from __future__ import annotations

import os
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path

from wordforest.errors import InputError
from wordforest.evaluation.analogy import evaluate_analogies, read_questions
from wordforest.evaluation.score import Score, plain_mean, weighted_mean
from wordforest.evaluation.similarity import evaluate_similarity, read_pairs
from wordforest.vectors import Vectors

TEN_SETS = (
    "EN-WS-353-ALL",
    "EN-WS-353-SIM",
    "EN-WS-353-REL",
    "EN-MC-30",
    "EN-RG-65",
    "EN-RW-STANFORD",
    "EN-MEN-TR-3k",
    "EN-MTurk-287",
    "EN-MTurk-771",
    "EN-YP-130",
)
"""The similarity sets of the paper, by the stem of their file."""

_LAYOUT = "wordsim/*.txt or analogy/questions-words.txt"
_ENVIRONMENT = "WORDFOREST_DATA"


@dataclass(frozen=True)
class _Sources:
    pairs: tuple[Path, ...]
    questions: Path | None


def evaluate(vectors: Vectors, data: str | Path | None = None) -> list[Score]:
    """Return the scores of every similarity set and analogy section found, with their summaries.

    ``data`` is a folder with ``wordsim/*.txt`` and ``analogy/questions-words.txt``, or one of them; without
    it the folder named by WORDFOREST_DATA; without that the files that come with gensim, where it is
    installed. The weighted and the plain mean run over those of the ten sets of the paper that are there;
    if none of them is, over all similarity sets there are.
    """
    sources = _find(data)
    scores = [evaluate_similarity(vectors, read_pairs(path), path.stem) for path in sources.pairs]
    if scores:
        chosen = [score for score in scores if score.set in TEN_SETS] or scores
        scores += [weighted_mean(chosen), plain_mean(chosen)]
    if sources.questions is not None:
        scores += evaluate_analogies(vectors, read_questions(sources.questions))
    return scores


def _find(data: str | Path | None) -> _Sources:
    folder, origin = data, "data"
    if folder is None:
        folder, origin = os.environ.get(_ENVIRONMENT) or None, _ENVIRONMENT
    if folder is not None:
        return _in_folder(Path(folder), origin)
    sources = _in_gensim()
    if sources is None:
        raise InputError(
            f"expected evaluation data, found none: neither data nor {_ENVIRONMENT} names a folder, and "
            f"gensim, which carries a few sets, is not installed. Give a folder with {_LAYOUT}, or run: "
            "pip install 'wordforest[demo]'"
        )
    return sources


def _in_folder(folder: Path, origin: str) -> _Sources:
    if not folder.is_dir():
        raise InputError(f"{origin} = {folder}: expected a folder with {_LAYOUT}, found none. Check the path.")
    pairs = sorted((folder / "wordsim").glob("*.txt"), key=_paper_order)
    questions = folder / "analogy" / "questions-words.txt"
    if not pairs and not questions.is_file():
        raise InputError(f"{origin} = {folder}: expected {_LAYOUT} in it, found neither. Check the path.")
    return _Sources(tuple(pairs), questions if questions.is_file() else None)


def _paper_order(path: Path) -> tuple[int, str]:
    return (TEN_SETS.index(path.stem) if path.stem in TEN_SETS else len(TEN_SETS)), path.stem


def _in_gensim() -> _Sources | None:
    """Return the sets inside gensim's wheel, found without importing it: that takes seconds."""
    spec = find_spec("gensim")
    if spec is None or not spec.submodule_search_locations:
        return None
    folder = Path(spec.submodule_search_locations[0]) / "test" / "test_data"
    pairs = tuple(path for name in ("wordsim353.tsv", "simlex999.txt") if (path := folder / name).is_file())
    questions = folder / "questions-words.txt"
    if not pairs and not questions.is_file():
        return None
    return _Sources(pairs, questions if questions.is_file() else None)
