"""Scores against cases worked by hand, SciPy and gensim."""

from __future__ import annotations

import gzip
import math
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from rich.console import Console
from scipy import stats

from wordforest.errors import InputError
from wordforest.evaluation import (
    TEN_SETS,
    Pair,
    Score,
    Section,
    analogy,
    as_lines,
    as_table,
    evaluate,
    evaluate_analogies,
    evaluate_similarity,
    plain_mean,
    read_pairs,
    read_questions,
    suite,
    weighted_mean,
)
from wordforest.evaluation.similarity import spearman
from wordforest.vectors import Vectors

DATA = Path(__file__).parents[2] / "shared" / "data"
GENSIM_SETS = ("wordsim353.tsv", "simlex999.txt")

needs_data = pytest.mark.skipif(not DATA.is_dir(), reason=f"the evaluation data are not at {DATA}")


@pytest.fixture
def plane() -> Vectors:
    """Five words whose cosines with ``east`` are 1, sqrt(1/2), 0, -1 and, for the zero vector, 0."""
    rows = [[1, 0], [2, 2], [0, 3], [-1, 0], [0, 0]]
    return Vectors(["east", "northeast", "north", "west", "nowhere"], np.array(rows, dtype=np.float32))


@pytest.fixture
def square() -> Vectors:
    """king - man + woman is queen exactly; ``throne`` is the second-best answer."""
    rows = [[1, 0, 1, 0], [1, 0, 0, 1], [0, 1, 1, 0], [0, 1, 0, 1], [0, 1, 1, 1]]
    return Vectors(["man", "woman", "king", "queen", "throne"], np.array(rows, dtype=np.float32))


@pytest.fixture(scope="session")
def gensim_data() -> Path:
    gensim = pytest.importorskip("gensim.test.utils", reason="gensim is not installed")
    return Path(gensim.datapath("questions-words.txt")).parent


@pytest.fixture(scope="session")
def glove() -> Vectors:
    path = DATA / "vectors" / "glove.6B.50d.top20k.txt.gz"
    with gzip.open(path, "rt", encoding="utf-8") as lines:
        words, rows = zip(*(line.rstrip("\n").split(" ", 1) for line in lines), strict=True)
    return Vectors(words, np.array([row.split() for row in rows], dtype=np.float32))


@pytest.fixture(scope="session")
def glove_scores(glove: Vectors) -> dict[str, Score]:
    return {score.set: score for score in evaluate(glove, DATA)}


def keyed_vectors(vectors: Vectors) -> Any:
    models = pytest.importorskip("gensim.models", reason="gensim is not installed")
    keyed = models.KeyedVectors(vectors.n_dimensions)
    keyed.add_vectors(list(vectors.words), np.array(vectors.dense))
    return keyed


def random_vectors(words: list[str], seed: int, n_dimensions: int = 20) -> Vectors:
    rng = np.random.default_rng(seed)
    return Vectors(words, rng.standard_normal((len(words), n_dimensions)).astype(np.float32))


def planted_vectors(sections: list[Section], seed: int) -> Vectors:
    """Lower-cased words in which b = a + offset of the section + noise, with every seventh word left out."""
    rng = np.random.default_rng(seed)
    rows: dict[str, Any] = {}
    for section in sections:
        offset = rng.standard_normal(20)
        for question in section.questions:
            for a, b in (question[:2], question[2:]):
                start = rows.setdefault(a.lower(), rng.standard_normal(20))
                rows.setdefault(b.lower(), start + offset + 0.5 * rng.standard_normal(20))
    kept = [word for i, word in enumerate(rows) if i % 7]
    return Vectors(kept, np.array([rows[word] for word in kept], dtype=np.float32))


def words_of_pairs(pairs: list[Pair]) -> list[str]:
    return sorted({word.lower() for pair in pairs for word in pair[:2]})


def write(path: Path, text: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")
    return path


class TestReadPairs:
    def test_reads_tabs_spaces_comments_and_a_last_line_without_end(self, tmp_path: Path) -> None:
        path = write(tmp_path / "set.txt", "# a comment\ncar\tauto\t3.9\r\n\ngem jewel 4\nnoon\tmidday\t1e-1")
        assert read_pairs(path) == [("car", "auto", 3.9), ("gem", "jewel", 4.0), ("noon", "midday", 0.1)]

    @pytest.mark.parametrize("line", ["car auto", "car\tauto\thigh", "car\tauto\tnan", "a b c 1", "car\t\t1"])
    def test_bad_line_is_named_with_its_file(self, tmp_path: Path, line: str) -> None:
        path = write(tmp_path / "set.txt", f"gem\tjewel\t4\n{line}\n")
        with pytest.raises(InputError, match=r"set\.txt, line 2: expected .*Correct or delete"):
            read_pairs(path)

    def test_bytes_that_are_not_utf8_are_named_with_their_line(self, tmp_path: Path) -> None:
        (tmp_path / "set.txt").write_bytes(b"gem\tjewel\t4\ncaf\xe9\tbar\t2\n")
        with pytest.raises(InputError, match=r"line 2: expected UTF-8 text, found byte 0xe9"):
            read_pairs(tmp_path / "set.txt")

    def test_absent_file_is_an_input_error(self, tmp_path: Path) -> None:
        with pytest.raises(InputError, match=r"none\.txt: .*No such file"):
            read_pairs(tmp_path / "none.txt")

    def test_file_without_pairs_is_an_input_error(self, tmp_path: Path) -> None:
        with pytest.raises(InputError, match="found none"):
            read_pairs(write(tmp_path / "set.txt", "# nothing\n"))


class TestSimilarity:
    def test_perfect_order_scores_one(self, plane: Vectors) -> None:
        pairs = [Pair("east", "east", 9), Pair("east", "northeast", 5), Pair("east", "west", 1)]
        assert evaluate_similarity(plane, pairs, "hand").value == pytest.approx(1.0, abs=1e-12)

    def test_hand_worked_ties(self, plane: Vectors) -> None:
        # cosines 1, 0, 0, -1 have ranks 4, 2.5, 2.5, 1; human scores have ranks 3, 4, 1, 2:
        # covariance 1.5 * 0.5 - 1.5 * -0.5 = 1.5, sizes 4.5 and 5
        second = ("east", "north", "nowhere", "west")
        pairs = [Pair("east", word, score) for word, score in zip(second, (3, 4, 1, 2), strict=True)]
        assert evaluate_similarity(plane, pairs, "hand").value == pytest.approx(1.5 / math.sqrt(22.5), abs=1e-12)

    def test_pairs_with_missing_words_are_skipped_and_counted(self, plane: Vectors) -> None:
        pairs = [Pair("east", "west", 1), Pair("east", "up", 3), Pair("north", "east", 2)]
        score = evaluate_similarity(plane, pairs, "hand")
        assert (score.n_scored, score.n_total) == (2, 3)

    def test_words_are_looked_up_as_written_then_lower_cased(self) -> None:
        vectors = Vectors(["Polish", "polish", "shine"], np.array([[0, 1], [1, 0], [1, 0.1]], dtype=np.float32))
        pairs = [Pair("Polish", "SHINE", 1), Pair("polish", "Shine", 2)]
        score = evaluate_similarity(vectors, pairs, "hand")
        assert (score.value, score.n_scored) == (pytest.approx(1.0, abs=1e-12), 2)

    @pytest.mark.parametrize(
        "pairs",
        [
            [],
            [Pair("up", "down", 1)],
            [Pair("east", "west", 1)],
            [Pair("east", "west", 1), Pair("east", "north", 1)],
            [Pair("east", "north", 1), Pair("nowhere", "north", 2)],
        ],
        ids=["none", "none scored", "one", "human scores equal", "cosines equal"],
    )
    def test_value_is_nan_where_ranks_say_nothing(self, plane: Vectors, pairs: list[Pair]) -> None:
        assert math.isnan(evaluate_similarity(plane, pairs, "hand").value)

    def test_parallel_vectors_tie_whatever_their_rounding(self) -> None:
        seed = 0
        scale = np.random.default_rng(seed).uniform(0.1, 9, size=(40, 1))
        vectors = Vectors([f"w{i}" for i in range(40)], (scale * [1, 3, 7]).astype(np.float32))
        pairs = [Pair(f"w{i}", f"w{i + 1}", i) for i in range(39)]
        assert math.isnan(evaluate_similarity(vectors, pairs, "parallel").value)

    def test_repeated_pairs_count_as_they_stand(self, plane: Vectors) -> None:
        pairs = [Pair("east", "north", 1), Pair("east", "west", 2), Pair("east", "east", 3)]
        assert evaluate_similarity(plane, [*pairs, pairs[1]], "hand").n_scored == 4

    @pytest.mark.parametrize("seed", range(5))
    def test_spearman_equals_scipy_with_ties(self, seed: int) -> None:
        x, y = np.random.default_rng(seed).integers(0, 9, size=(2, 50)).astype(float)
        assert spearman(x, y) == pytest.approx(stats.spearmanr(x, y).statistic, abs=1e-12)

    @pytest.mark.parametrize("name", GENSIM_SETS)
    def test_equals_gensim(self, gensim_data: Path, name: str) -> None:
        pairs = read_pairs(gensim_data / name)
        vectors = random_vectors(words_of_pairs(pairs)[::2], seed=0)
        _, theirs, missing = keyed_vectors(vectors).evaluate_word_pairs(str(gensim_data / name))
        ours = evaluate_similarity(vectors, pairs, name)
        assert ours.value == pytest.approx(theirs.statistic, abs=1e-6)  # float32 cosines of gensim
        assert 100 * (1 - ours.n_scored / ours.n_total) == pytest.approx(missing)

    def test_random_vectors_score_near_zero(self, gensim_data: Path) -> None:
        pairs = read_pairs(gensim_data / "simlex999.txt")
        score = evaluate_similarity(random_vectors(words_of_pairs(pairs), seed=0), pairs, "simlex999")
        assert abs(score.value) < 4 / math.sqrt(999)  # four standard errors of a correlation of 0


class TestReadQuestions:
    def test_reads_sections_and_tells_syntactic_ones(self, tmp_path: Path) -> None:
        path = write(tmp_path / "q.txt", ": family\nhe she king queen\n: gram8-plural\ncat cats dog dogs")
        family, plural = read_questions(path)
        assert family == Section("family", (("he", "she", "king", "queen"),))
        assert (family.syntactic, plural.syntactic) == (False, True)

    def test_question_before_any_section_is_named(self, tmp_path: Path) -> None:
        with pytest.raises(InputError, match=r"q\.txt, line 1: expected ': section'"):
            read_questions(write(tmp_path / "q.txt", "he she king queen\n"))

    def test_question_of_three_words_is_named(self, tmp_path: Path) -> None:
        with pytest.raises(InputError, match=r"q\.txt, line 2: expected four words, found 3"):
            read_questions(write(tmp_path / "q.txt", ": family\nhe she king\n"))

    def test_file_without_questions_is_an_input_error(self, tmp_path: Path) -> None:
        with pytest.raises(InputError, match="found none"):
            read_questions(write(tmp_path / "q.txt", ": family\n"))

    def test_the_full_file_has_the_known_counts(self, gensim_data: Path) -> None:
        sections = read_questions(gensim_data / "questions-words.txt")
        count = {kind: sum(len(s.questions) for s in sections if s.syntactic is kind) for kind in (True, False)}
        assert count == {True: 10675, False: 8869}


class TestAnalogy:
    def test_offset_answers_and_question_words_are_excluded(self, square: Vectors) -> None:
        section = Section("family", (("man", "woman", "king", "queen"), ("woman", "man", "king", "man")))
        score = evaluate_analogies(square, [section])[0]
        assert score == Score("analogy", "family", "accuracy", 50.0, 2, 2)

    def test_missing_words_skip_the_question(self, square: Vectors) -> None:
        section = Section("family", (("Man", "WOMAN", "king", "queen"), ("man", "woman", "boy", "girl")))
        score = evaluate_analogies(square, [section])[0]
        assert (score.value, score.n_scored, score.n_total) == (100.0, 1, 2)

    def test_summaries_add_questions_not_sections(self, square: Vectors) -> None:
        right, wrong = ("man", "woman", "king", "queen"), ("man", "woman", "king", "throne")
        sections = [
            Section("gram1", (right,)),
            Section("gram2", (wrong, wrong, wrong)),
            Section("family", (right,)),
        ]
        *_, syntactic, semantic = evaluate_analogies(square, sections)
        assert (syntactic.set, syntactic.value, syntactic.n_scored) == ("syntactic", 25.0, 4)
        assert (semantic.set, semantic.value, semantic.n_scored) == ("semantic", 100.0, 1)

    def test_nothing_scored_is_nan(self, square: Vectors) -> None:
        scores = evaluate_analogies(square, [Section("family", (("a", "b", "c", "d"),))])
        assert all(math.isnan(score.value) for score in scores)

    def test_no_sections_give_empty_summaries(self, square: Vectors) -> None:
        assert [score.n_total for score in evaluate_analogies(square, [])] == [0, 0]

    @pytest.mark.parametrize("cells", [1, 2**21], ids=["across blocks", "within a block"])
    def test_equal_scores_go_to_the_lowest_row(
        self, square: Vectors, monkeypatch: pytest.MonkeyPatch, cells: int
    ) -> None:
        vectors = Vectors([*square.words, "twin"], np.vstack([square.dense, square["queen"]]))
        monkeypatch.setattr(analogy, "_PRODUCT_CELLS", cells)
        assert analogy._answers(vectors, np.array([[0, 1, 2]])).tolist() == [3]

    def test_question_words_are_excluded_where_all_others_point_away(self) -> None:
        vectors = Vectors(["a", "b", "c", "d"], np.array([[1], [2], [3], [-1]], dtype=np.float32))
        assert analogy._answers(vectors, np.array([[0, 1, 2]])).tolist() == [3]

    def test_random_vectors_score_near_zero(self, gensim_data: Path) -> None:
        sections = read_questions(gensim_data / "questions-words.txt")
        words = sorted({word for section in sections for question in section.questions for word in question})
        *_, syntactic, semantic = evaluate_analogies(random_vectors(words, seed=0), sections)
        assert max(syntactic.value, semantic.value) < 1  # chance is one word in 905

    @pytest.mark.parametrize("cells", [(1, 1), (40, 7), (2**21, 2**18)])
    def test_blocks_do_not_change_the_answers(self, monkeypatch: pytest.MonkeyPatch, cells: tuple[int, int]) -> None:
        seed = 0
        vectors = random_vectors([f"w{i}" for i in range(30)], seed)
        asked = np.array([np.random.default_rng(seed + i).permutation(30)[:3] for i in range(50)])
        target = vectors.unit[asked[:, 1]] - vectors.unit[asked[:, 0]] + vectors.unit[asked[:, 2]]
        scores = target @ vectors.unit.T
        np.put_along_axis(scores, asked, -np.inf, axis=1)
        monkeypatch.setattr(analogy, "_PRODUCT_CELLS", cells[0])
        monkeypatch.setattr(analogy, "_SCORE_CELLS", cells[1])
        assert analogy._answers(vectors, asked).tolist() == scores.argmax(axis=1).tolist()

    @pytest.mark.parametrize("structure", ["random", "planted"])
    def test_equals_gensim(self, gensim_data: Path, tmp_path: Path, structure: str) -> None:
        seed = 0
        everything = read_questions(gensim_data / "questions-words.txt")
        sections = [Section(s.name, s.questions[::10]) for s in everything]
        vectors = planted_vectors(everything, seed)
        if structure == "random":
            vectors = random_vectors(list(vectors.words), seed, n_dimensions=4)
        text = "".join(f": {s.name}\n" + "".join(" ".join(q) + "\n" for q in s.questions) for s in sections)
        path = write(tmp_path / "questions.txt", text)
        _, theirs = keyed_vectors(vectors).evaluate_word_analogies(str(path), restrict_vocab=len(vectors))
        ours = evaluate_analogies(vectors, sections)
        scored = [(len(s["correct"]), len(s["correct"] + s["incorrect"])) for s in theirs[:-1]]
        assert [(round(s.value * s.n_scored / 100), s.n_scored) for s in ours[:-2] if s.n_scored] == [
            pair for pair in scored if pair[1]
        ]
        assert sum(right for right, _ in scored) > 0  # otherwise equal numbers would say little


class TestMeans:
    scores = (
        Score("similarity", "a", "spearman", 0.2, 30, 40),
        Score("similarity", "b", "spearman", 0.6, 10, 10),
        Score("similarity", "c", "spearman", math.nan, 1, 5),
    )

    def test_weighted_mean_weighs_by_scored_pairs(self) -> None:
        mean = weighted_mean(self.scores)
        assert (mean.value, mean.n_scored, mean.n_total) == (pytest.approx(0.3, abs=1e-12), 40, 55)

    def test_plain_mean_counts_sets_once(self) -> None:
        assert plain_mean(self.scores).value == pytest.approx(0.4, abs=1e-12)

    @pytest.mark.parametrize("mean", [weighted_mean, plain_mean])
    def test_mean_of_nothing_is_nan(self, mean: Any) -> None:
        assert math.isnan(mean(self.scores[2:]).value)


class TestSuite:
    @pytest.fixture
    def data(self, tmp_path: Path) -> Path:
        write(tmp_path / "wordsim" / "EN-MC-30.txt", "east\tnortheast\t3\neast\twest\t1\n")
        write(tmp_path / "wordsim" / "EN-SIMLEX-999.txt", "east\tnortheast\t1\neast\twest\t3\n")
        write(tmp_path / "analogy" / "questions-words.txt", ": gram0\neast west north northeast\n")
        return tmp_path

    def test_runs_what_is_there_in_order(self, plane: Vectors, data: Path) -> None:
        assert [score.set for score in evaluate(plane, data)] == [
            "EN-MC-30",
            "EN-SIMLEX-999",
            "weighted mean",
            "plain mean",
            "gram0",
            "syntactic",
            "semantic",
        ]

    def test_means_run_over_the_sets_of_the_paper(self, plane: Vectors, data: Path) -> None:
        scores = {score.set: score for score in evaluate(plane, data)}
        assert scores["plain mean"].value == pytest.approx(1.0, abs=1e-12)
        assert scores["EN-SIMLEX-999"].value == pytest.approx(-1.0, abs=1e-12)

    def test_means_run_over_all_sets_where_none_is_of_the_paper(self, plane: Vectors, data: Path) -> None:
        (data / "wordsim" / "EN-MC-30.txt").unlink()
        scores = {score.set: score for score in evaluate(plane, data)}
        assert scores["plain mean"].value == pytest.approx(-1.0, abs=1e-12)

    def test_environment_names_the_folder(self, plane: Vectors, data: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setenv("WORDFOREST_DATA", str(data))
        assert next(score.set for score in evaluate(plane)) == "EN-MC-30"

    def test_absent_folder_is_an_input_error(self, plane: Vectors, tmp_path: Path) -> None:
        with pytest.raises(InputError, match=r"data = .*nowhere: expected a folder"):
            evaluate(plane, tmp_path / "nowhere")

    def test_empty_folder_is_an_input_error(self, plane: Vectors, tmp_path: Path) -> None:
        with pytest.raises(InputError, match="found neither"):
            evaluate(plane, tmp_path)

    def test_sets_of_gensim_are_found_where_no_folder_is_named(
        self, plane: Vectors, gensim_data: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.delenv("WORDFOREST_DATA", raising=False)
        scores = evaluate(plane)
        assert [score.set for score in scores[:2]] == ["wordsim353", "simlex999"]
        assert scores[-2].n_total == 10675

    def test_finding_the_sets_of_gensim_does_not_import_it(self) -> None:
        code = "import sys, wordforest.evaluation.suite as s; s._in_gensim(); sys.exit('gensim' in sys.modules)"
        subprocess.run([sys.executable, "-c", code], check=True)

    def test_no_data_at_all_says_what_to_do(self, plane: Vectors, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.delenv("WORDFOREST_DATA", raising=False)
        monkeypatch.setattr(suite, "find_spec", lambda name: None)
        with pytest.raises(InputError, match=r"neither data nor WORDFOREST_DATA .* pip install"):
            evaluate(plane)


class TestReport:
    scores = (
        Score("similarity", "EN-MC-30", "spearman", 0.51234, 28, 30),
        Score("analogy", "family", "accuracy", 41.25, 400, 506),
        Score("analogy", "semantic", "accuracy", math.nan, 0, 8869),
    )

    def test_lines_show_value_coverage_and_rule(self) -> None:
        assert as_lines(self.scores) == [
            "similarity  EN-MC-30  spearman   0.512  28/30 scored",
            "analogy     family    accuracy   41.2%  400/506 scored",
            "analogy     semantic  accuracy       -  0/8869 scored",
            "Items with a word that has no vector are skipped; 'scored' counts the others.",
        ]

    def test_table_shows_value_coverage_and_rule(self) -> None:
        console = Console(width=100)
        with console.capture() as capture:
            console.print(as_table(self.scores))
        text = capture.get()
        assert all(part in text for part in ("EN-MC-30", "0.512", "28/30", "41.2%", "0/8869", "are skipped"))


@needs_data
class TestRealData:
    def test_ten_sets_hold_the_known_number_of_pairs(self, glove_scores: dict[str, Score]) -> None:
        assert glove_scores["weighted mean"].n_total == sum(glove_scores[name].n_total for name in TEN_SETS) == 7125

    def test_real_vectors_score_well(self, glove_scores: dict[str, Score]) -> None:
        # GloVe of 50 dimensions is published with about 0.5 on WS-353 and more than half of the analogies
        # among its most frequent words; random vectors reach 0 and 0
        assert glove_scores["EN-WS-353-ALL"].value > 0.45
        assert glove_scores["semantic"].value > 40

    @pytest.mark.parametrize("name", [*TEN_SETS, "EN-SIMLEX-999"])
    def test_similarity_equals_gensim(self, glove: Vectors, glove_scores: dict[str, Score], name: str) -> None:
        _, theirs, _ = keyed_vectors(glove).evaluate_word_pairs(str(DATA / "wordsim" / f"{name}.txt"))
        assert glove_scores[name].value == pytest.approx(theirs.statistic, abs=1e-6)  # float32 cosines of gensim
