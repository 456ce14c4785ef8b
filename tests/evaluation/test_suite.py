"""The suite: where data are looked for, which tasks run, halves, and scores of real vectors on real data."""

from __future__ import annotations

import gzip
import math
import os
import subprocess
import sys
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from wordforest.errors import InputError
from wordforest.evaluation import TASKS, Score, datasets, evaluate, find_data, judge
from wordforest.evaluation.scores import TEN_SETS
from wordforest.evaluation.suite import half_of
from wordforest.vectors import Vectors

DATA = Path(os.environ.get("WORDFOREST_DATA") or Path(__file__).parents[3] / "shared" / "data")
ALL_FILES = ("wordsim", "analogy/questions-words.txt", "msr_scc/test_answer.csv", "sst2/stsa.binary.test")

needs_data = pytest.mark.skipif(
    not all((DATA / name).exists() for name in ALL_FILES), reason=f"the evaluation data are not all at {DATA}"
)
needs_glove = pytest.mark.skipif(
    not (DATA / "vectors" / "glove.6B.50d.top20k.txt.gz").is_file(), reason=f"there are no GloVe vectors at {DATA}"
)


def plane_vectors() -> Vectors:
    """Five words whose cosines with ``east`` are 1, sqrt(1/2), 0, -1 and, for the zero vector, 0."""
    rows = [[1, 0], [2, 2], [0, 3], [-1, 0], [0, 0]]
    return Vectors(["east", "northeast", "north", "west", "nowhere"], np.array(rows, dtype=np.float32))


def gensim_folder() -> Path:
    gensim = pytest.importorskip("gensim.test.utils", reason="gensim is not installed")
    return Path(gensim.datapath("questions-words.txt")).parent


def keyed_vectors(vectors: Vectors) -> Any:
    models = pytest.importorskip("gensim.models", reason="gensim is not installed")
    keyed = models.KeyedVectors(vectors.n_dimensions)
    keyed.add_vectors(list(vectors.words), np.array(vectors.dense))
    return keyed


def random_vectors(words: list[str], seed: int, n_dimensions: int = 20) -> Vectors:
    rng = np.random.default_rng(seed)
    return Vectors(words, rng.standard_normal((len(words), n_dimensions)).astype(np.float32))


def pairs_in(key: str) -> list[tuple[str, str]]:
    a, b, c, d, *_ = key.lower().partition(": ")[2].split()
    return [(a, b), (c, d)]


def write(path: Path, text: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")
    return path


@cache
def glove() -> Vectors:
    with gzip.open(DATA / "vectors" / "glove.6B.50d.top20k.txt.gz", "rt", encoding="utf-8") as lines:
        words, rows = zip(*(line.rstrip("\n").split(" ", 1) for line in lines), strict=True)
    return Vectors(words, np.array([row.split() for row in rows], dtype=np.float32))


@pytest.fixture
def plane() -> Vectors:
    return plane_vectors()


@pytest.fixture(scope="session")
def scores() -> dict[str, Score]:
    return {score.set: score for score in evaluate(glove(), DATA)}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    write(tmp_path / "wordsim" / "EN-MC-30.txt", "east\tnortheast\t3\neast\twest\t1\n")
    write(tmp_path / "wordsim" / "EN-SIMLEX-999.txt", "east\tnortheast\t1\neast\twest\t3\n")
    write(tmp_path / "analogy" / "questions-words.txt", ": gram0\neast west north northeast\n")
    return tmp_path


@pytest.fixture
def full(folder: Path) -> Path:
    candidates = "north,northeast,west,east,nowhere"
    write(folder / "msr_scc" / "testing_data.csv", f'id,question,a),b),c),d),e)\n1,"Go _____, east!",{candidates}\n')
    write(folder / "msr_scc" / "test_answer.csv", "id,answer\n1,d\n")
    for part in ("train", "dev", "test"):
        write(folder / "sst2" / f"stsa.binary.{part}", "1 east northeast\n0 west\n1 east\n0 west west\n")
    return folder


class TestTasks:
    def test_runs_what_is_there_in_order(self, plane: Vectors, full: Path) -> None:
        assert [score.set for score in evaluate(plane, full)] == [
            "EN-MC-30",
            "EN-SIMLEX-999",
            "weighted mean",
            "plain mean",
            "gram0",
            "syntactic",
            "semantic",
            "MSR",
            "SST-2",
        ]

    def test_tasks_without_files_are_left_out(self, plane: Vectors, folder: Path) -> None:
        assert {score.task for score in evaluate(plane, folder)} == {"similarity", "analogy"}

    @pytest.mark.parametrize("tasks", [("completion",), "completion", ["sentiment", "similarity"]])
    def test_only_tasks_asked_for_run(self, plane: Vectors, full: Path, tasks: Any) -> None:
        asked = {tasks} if isinstance(tasks, str) else set(tasks)
        assert {score.task for score in evaluate(plane, full, tasks=tasks)} == asked

    @pytest.mark.parametrize(
        ("task", "gone"),
        [
            ("similarity", "wordsim/*.txt"),
            ("analogy", "analogy/questions-words.txt"),
            ("completion", "msr_scc/test_answer.csv"),
            ("sentiment", "sst2/stsa.binary.dev"),
        ],
    )
    def test_a_task_asked_for_names_its_missing_file(self, plane: Vectors, full: Path, task: str, gone: str) -> None:
        for path in full.glob(gone):
            path.unlink()
        with pytest.raises(InputError) as error:
            evaluate(plane, full, tasks=(task,))
        assert gone in str(error.value)

    @pytest.mark.parametrize("tasks", [("similarity", "parsing"), ()])
    def test_unknown_tasks_and_none_are_input_errors(self, plane: Vectors, full: Path, tasks: Any) -> None:
        with pytest.raises(InputError, match="expected some of similarity, analogy"):
            evaluate(plane, full, tasks=tasks)

    def test_means_run_over_the_sets_of_the_paper(self, plane: Vectors, folder: Path) -> None:
        scores = {score.set: score for score in evaluate(plane, folder)}
        assert scores["plain mean"].value == pytest.approx(1.0, abs=1e-12)
        assert scores["EN-SIMLEX-999"].value == pytest.approx(-1.0, abs=1e-12)

    def test_means_run_over_all_sets_where_none_is_of_the_paper(self, plane: Vectors, folder: Path) -> None:
        (folder / "wordsim" / "EN-MC-30.txt").unlink()
        scores = {score.set: score for score in evaluate(plane, folder)}
        assert scores["plain mean"].value == pytest.approx(-1.0, abs=1e-12)

    def test_restrict_makes_later_words_unknown_in_every_task(self, plane: Vectors, full: Path) -> None:
        scores = {score.set: score for score in evaluate(plane, full, restrict=3)}  # east, northeast, north
        kept = {name: scores[name].n_scored for name in ("EN-MC-30", "gram0", "MSR", "SST-2")}
        assert kept == {"EN-MC-30": 1, "gram0": 0, "MSR": 0, "SST-2": 0}

    def test_restrict_beyond_the_vocabulary_changes_nothing(self, plane: Vectors, full: Path) -> None:
        assert repr(evaluate(plane, full, restrict=99)) == repr(evaluate(plane, full))  # repr: nan is not itself

    def test_restrict_below_one_is_an_input_error(self, plane: Vectors, full: Path) -> None:
        with pytest.raises(InputError, match="restrict = 0: expected at least one word"):
            evaluate(plane, full, restrict=0)


class TestFindData:
    def test_environment_names_the_folder(self, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setenv("WORDFOREST_DATA", str(folder))
        assert find_data().of("similarity")[0].parent == folder / "wordsim"

    def test_a_named_folder_comes_before_the_environment(
        self, folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setenv("WORDFOREST_DATA", str(tmp_path / "elsewhere"))
        assert set(find_data(folder).files) == {"similarity", "analogy"}

    def test_the_cache_comes_after_the_environment(self, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setenv("WORDFOREST_DATA", str(folder))
        assert find_data(cache=Path("nowhere")).of("analogy")[0].is_relative_to(folder)

    def test_the_cache_comes_before_gensim(self, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.delenv("WORDFOREST_DATA", raising=False)
        assert find_data(cache=folder).of("analogy")[0].is_relative_to(folder)

    def test_an_empty_cache_is_passed_over(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.delenv("WORDFOREST_DATA", raising=False)
        gensim_folder()
        assert find_data(cache=tmp_path).place == "the sets that come with gensim"

    def test_what_was_found_can_be_handed_over(self, plane: Vectors, folder: Path) -> None:
        assert repr(evaluate(plane, find_data(folder))) == repr(evaluate(plane, folder))

    def test_absent_folder_is_an_input_error(self, plane: Vectors, tmp_path: Path) -> None:
        with pytest.raises(InputError, match=r"data = .*nowhere: expected a folder"):
            evaluate(plane, tmp_path / "nowhere")

    def test_empty_folder_is_an_input_error(self, plane: Vectors, tmp_path: Path) -> None:
        with pytest.raises(InputError, match="found none of them"):
            evaluate(plane, tmp_path)

    def test_sets_of_gensim_are_found_where_no_folder_is_named(
        self, plane: Vectors, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        gensim_folder()
        monkeypatch.delenv("WORDFOREST_DATA", raising=False)
        scores = evaluate(plane)
        assert [score.set for score in scores[:2]] == ["wordsim353", "simlex999"]
        assert scores[-2].n_total == 10675

    def test_a_task_that_gensim_lacks_names_its_file(self, plane: Vectors, monkeypatch: pytest.MonkeyPatch) -> None:
        gensim_folder()
        monkeypatch.delenv("WORDFOREST_DATA", raising=False)
        with pytest.raises(InputError, match=r"come with gensim: expected sst2/stsa\.binary\.train"):
            evaluate(plane, tasks=("sentiment",))

    def test_finding_the_sets_of_gensim_does_not_import_it(self) -> None:
        code = "import sys, wordforest.evaluation.datasets as d; d._in_gensim(); sys.exit('gensim' in sys.modules)"
        subprocess.run([sys.executable, "-c", code], check=True)

    def test_no_data_at_all_says_what_to_do(self, plane: Vectors, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.delenv("WORDFOREST_DATA", raising=False)
        monkeypatch.setattr(datasets, "find_spec", lambda name: None)
        with pytest.raises(InputError, match=r"neither data nor WORDFOREST_DATA .* (pip install|data fetch)"):
            evaluate(plane)


class TestHalves:
    def test_unknown_half_is_an_input_error(self, plane: Vectors, full: Path) -> None:
        with pytest.raises(InputError, match="half = 'train'"):
            evaluate(plane, full, half="train")  # type: ignore[arg-type]

    def test_half_of_an_item_is_fixed(self) -> None:
        # SHA-256 of "similarity\0car auto" and so on; other values would move every published half
        halves = [half_of("similarity", text) for text in ("auto car", "gem jewel", "boy lad", "coast shore")]
        assert halves == ["development", "development", "test", "development"]

    def test_a_pair_falls_in_the_same_half_in_every_set_and_order(self, plane: Vectors, folder: Path) -> None:
        write(folder / "wordsim" / "EN-RG-65.txt", "West\teast\t3\nnorth\teast\t1\n")
        write(folder / "wordsim" / "EN-MC-30.txt", "east\twest\t3\neast\twest\t1\neast\tnorth\t2\n")
        halves = [judge(plane, folder, tasks=("similarity",), half=half) for half in ("development", "test")]
        in_set = [{o.set: {key.removesuffix(" (2)") for key in o.keys} for o in outcomes} for outcomes in halves]
        for half in in_set:
            assert half["EN-RG-65"] == half["EN-MC-30"]

    def test_a_question_is_in_a_half_if_both_its_pairs_are(self, plane: Vectors, folder: Path) -> None:
        # SHA-256 of "analogy\0east west" and so on: "west east" and "west north" are of the test, the others are not
        one = "East West north east\neast west west north\nwest north east west\nwest north West East\n"
        write(folder / "analogy" / "questions-words.txt", f": one\n{one}: two\nnorth west east west\n")
        halves = [judge(plane, folder, tasks="analogy", half=half) for half in ("development", "test")]
        assert [[key for outcome in half[:2] for key in outcome.keys] for half in halves] == [
            ["one: East West north east", "two: north west east west"],
            ["one: west north West East"],
        ]

    @needs_data
    def test_no_pair_of_an_analogy_stands_in_both_halves(self) -> None:
        words = sorted(set((DATA / "analogy" / "questions-words.txt").read_text().split()))
        vectors = random_vectors(words, seed=0, n_dimensions=2)
        halves = [judge(vectors, DATA, tasks="analogy", half=half) for half in ("development", "test")]
        pairs = [{pair for outcome in half for key in outcome.keys for pair in pairs_in(key)} for half in halves]
        assert not pairs[0] & pairs[1]
        # syntactic and semantic questions of 10,675 and 8,869; other values would move every published half
        assert [[outcome.n_total for outcome in half[-2:]] for half in halves] == [[3066, 1881], [2351, 2565]]

    @needs_data
    def test_halves_are_disjoint_equal_and_everything(self) -> None:
        words = sorted({word for path in (DATA / "wordsim").glob("*.txt") for word in path.read_text().split()})
        vectors = random_vectors(words, seed=0, n_dimensions=2)
        tasks = ("similarity", "completion")
        one, other, both = (judge(vectors, DATA, tasks=tasks, half=half) for half in ("development", "test", None))
        for a, b, c in zip(one, other, both, strict=True):
            assert a.n_total + b.n_total == c.n_total
            assert not set(a.keys) & set(b.keys)
            assert set(a.keys) | set(b.keys) == set(c.keys)
        sizes = [sum(o.n_total for o in outcomes) for outcomes in (one, other)]
        # 9,000 fair coins: three standard errors are 285, and repeated pairs move together
        assert abs(sizes[0] - sizes[1]) < 1000

    def test_sentiment_halves_share_what_they_learn_from(self, plane: Vectors, full: Path) -> None:
        lines = "".join(f"1 east {'east ' * i}\n0 west {'west ' * i}\n" for i in range(20))
        write(full / "sst2" / "stsa.binary.test", lines)
        halves = [evaluate(plane, full, tasks="sentiment", half=half)[0] for half in ("development", "test")]
        assert sum(score.n_total for score in halves) == 40
        assert [score.value for score in halves] == [100.0, 100.0]


@needs_data
@needs_glove
class TestRealVectors:
    def test_ten_sets_hold_the_known_number_of_pairs(self, scores: dict[str, Score]) -> None:
        assert scores["weighted mean"].n_total == sum(scores[name].n_total for name in TEN_SETS) == 7125

    def test_the_other_tasks_hold_the_known_number_of_items(self, scores: dict[str, Score]) -> None:
        assert [scores[name].n_total for name in ("syntactic", "semantic", "MSR", "SST-2")] == [10675, 8869, 1040, 1821]

    def test_real_vectors_score_well(self, scores: dict[str, Score]) -> None:
        # GloVe of 50 dimensions is published with about 0.5 on WS-353 and more than half of the analogies
        # among its most frequent words; random vectors reach 0, 0, 20 and about 50
        assert scores["EN-WS-353-ALL"].value > 0.45
        assert scores["semantic"].value > 40
        assert scores["MSR"].value > 25
        assert scores["SST-2"].value > 65

    def test_every_interval_holds_its_value(self, scores: dict[str, Score]) -> None:
        assert all(score.low < score.value < score.high for score in scores.values())

    @pytest.mark.parametrize("restrict", [None, 5000])
    @pytest.mark.parametrize("name", [*TEN_SETS, "EN-SIMLEX-999"])
    def test_similarity_equals_gensim(self, name: str, restrict: int | None) -> None:
        outcomes = judge(glove(), DATA, tasks=("similarity",), restrict=restrict)
        ours = next(outcome for outcome in outcomes if outcome.set == name)
        path = str(DATA / "wordsim" / f"{name}.txt")
        _, theirs, _ = keyed_vectors(glove()).evaluate_word_pairs(path, restrict_vocab=restrict or len(glove()))
        assert ours.value == pytest.approx(theirs.statistic, abs=1e-6)  # float32 cosines of gensim


@needs_data
def test_random_vectors_score_as_chance_on_every_task() -> None:
    """Random vectors of two dimensions: with more, a linear model learns single words even from random vectors."""
    tasks = {task: find_data(DATA).of(task) for task in TASKS}
    texts = [path.read_bytes().decode("latin-1") for paths in tasks.values() for path in paths]
    words = sorted({word.strip('.,;:"?!').lower() for text in texts for word in text.replace(",", " ").split()})
    scores = {score.set: score for score in evaluate(random_vectors(words, seed=0, n_dimensions=2), DATA)}
    assert abs(scores["weighted mean"].value) < 4 / math.sqrt(7125)  # four standard errors of a correlation of 0
    assert max(scores["syntactic"].value, scores["semantic"].value) < 1
    for name, chance in (("MSR", 20.0), ("SST-2", 100 * 912 / 1821)):
        margin = 4 * math.sqrt(chance * (100 - chance) / scores[name].n_scored)  # four standard errors of a share
        assert abs(scores[name].value - chance) < margin
