"""Analogies against cases worked by hand, plain formulas and gensim."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.evaluation.test_suite import gensim_folder, keyed_vectors, random_vectors, write
from wordforest.errors import InputError
from wordforest.evaluation import analogy, judge
from wordforest.evaluation.analogy import Section, judge_analogies, read_questions
from wordforest.vectors import Vectors


@pytest.fixture
def square() -> Vectors:
    """king - man + woman is queen exactly; ``throne`` is the second-best answer."""
    rows = [[1, 0, 1, 0], [1, 0, 0, 1], [0, 1, 1, 0], [0, 1, 0, 1], [0, 1, 1, 1]]
    return Vectors(["man", "woman", "king", "queen", "throne"], np.array(rows, dtype=np.float32))


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


def write_questions(path: Path, sections: list[Section]) -> Path:
    text = "".join(f": {s.name}\n" + "".join(" ".join(q) + "\n" for q in s.questions) for s in sections)
    return write(path, text)


class TestReadQuestions:
    def test_reads_sections_and_tells_syntactic_ones(self, tmp_path: Path) -> None:
        path = write(tmp_path / "q.txt", ": family\nhe she king queen\n: gram8-plural\ncat cats dog dogs")
        family, plural = read_questions(path)
        assert family == Section("family", (("he", "she", "king", "queen"),))
        assert (family.syntactic, plural.syntactic) == (False, True)

    def test_question_before_any_section_is_named(self, tmp_path: Path) -> None:
        with pytest.raises(InputError, match=r"q\.txt, line 1: expected a line such as ': family'"):
            read_questions(write(tmp_path / "q.txt", "he she king queen\n"))

    def test_question_of_three_words_is_named(self, tmp_path: Path) -> None:
        with pytest.raises(InputError, match=r"q\.txt, line 2: expected four words, found 'he she king'"):
            read_questions(write(tmp_path / "q.txt", ": family\nhe she king\n"))

    def test_file_without_questions_is_an_input_error(self, tmp_path: Path) -> None:
        with pytest.raises(InputError, match="found none"):
            read_questions(write(tmp_path / "q.txt", ": family\n"))

    def test_the_full_file_has_the_known_counts(self) -> None:
        sections = read_questions(gensim_folder() / "questions-words.txt")
        count = {kind: sum(len(s.questions) for s in sections if s.syntactic is kind) for kind in (True, False)}
        assert count == {True: 10675, False: 8869}


class TestAnalogy:
    def test_offset_answers_and_question_words_are_excluded(self, square: Vectors) -> None:
        section = Section("family", (("man", "woman", "king", "queen"), ("woman", "man", "king", "man")))
        score = judge_analogies(square, [section])[0]
        assert (score.name, score.values.tolist()) == (("analogy", "family", "accuracy"), [1.0, 0.0])

    def test_clusters_are_the_two_pairs_of_a_question_in_all_sections(self, square: Vectors) -> None:
        one = Section("family", (("man", "woman", "king", "queen"), ("king", "queen", "Man", "woman")))
        other = Section("again", (("man", "woman", "woman", "man"), ("boy", "girl", "man", "woman")))
        first, second, syntactic, semantic = (found.clusters for found in judge_analogies(square, [one, other]))
        assert first[0].tolist() == first[1].tolist()[::-1]
        assert second[0, 0] == first[0, 0] != second[0, 1]
        assert semantic.tolist() == [*first.tolist(), *second.tolist()]
        assert syntactic.shape == (0, 2)

    def test_missing_words_skip_the_question(self, square: Vectors) -> None:
        section = Section("family", (("Man", "WOMAN", "king", "queen"), ("man", "woman", "boy", "girl")))
        score = judge_analogies(square, [section])[0]
        assert (score.value, score.n_scored, score.n_total) == (100.0, 1, 2)

    def test_summaries_add_questions_not_sections(self, square: Vectors) -> None:
        right, wrong = ("man", "woman", "king", "queen"), ("man", "woman", "king", "throne")
        sections = [
            Section("gram1", (right,)),
            Section("gram2", (wrong, wrong, wrong)),
            Section("family", (right,)),
        ]
        *_, syntactic, semantic = judge_analogies(square, sections)
        assert (syntactic.set, syntactic.value, syntactic.n_scored) == ("syntactic", 25.0, 4)
        assert (semantic.set, semantic.value, semantic.n_scored) == ("semantic", 100.0, 1)

    def test_nothing_scored_is_nan(self, square: Vectors) -> None:
        scores = judge_analogies(square, [Section("family", (("a", "b", "c", "d"),))])
        assert all(math.isnan(score.value) for score in scores)

    def test_no_sections_give_empty_summaries(self, square: Vectors) -> None:
        assert [score.n_total for score in judge_analogies(square, [])] == [0, 0]

    @pytest.mark.parametrize("cells", [1, 2**21], ids=["across blocks", "within a block"])
    def test_equal_scores_go_to_the_lowest_row(
        self, square: Vectors, monkeypatch: pytest.MonkeyPatch, cells: int
    ) -> None:
        vectors = Vectors([*square.words, "twin"], np.vstack([square.dense, square["queen"]]))
        monkeypatch.setattr(analogy, "_PRODUCT_CELLS", cells)
        assert analogy.find_answers(vectors, np.array([[0, 1, 2]])).tolist() == [3]

    def test_question_words_are_excluded_where_all_others_point_away(self) -> None:
        vectors = Vectors(["a", "b", "c", "d"], np.array([[1], [2], [3], [-1]], dtype=np.float32))
        assert analogy.find_answers(vectors, np.array([[0, 1, 2]])).tolist() == [3]

    def test_random_vectors_score_near_zero(self) -> None:
        sections = read_questions(gensim_folder() / "questions-words.txt")
        words = sorted({word for section in sections for question in section.questions for word in question})
        *_, syntactic, semantic = judge_analogies(random_vectors(words, seed=0), sections)
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
        assert analogy.find_answers(vectors, asked).tolist() == scores.argmax(axis=1).tolist()

    @pytest.mark.parametrize("restrict", [None, 500])
    @pytest.mark.parametrize("structure", ["random", "planted"])
    def test_equals_gensim(self, tmp_path: Path, structure: str, restrict: int | None) -> None:
        seed = 0
        everything = read_questions(gensim_folder() / "questions-words.txt")
        sections = [Section(s.name, s.questions[::10]) for s in everything]
        vectors = planted_vectors(everything, seed)
        if structure == "random":
            vectors = random_vectors(list(vectors.words), seed, n_dimensions=4)
        path = write_questions(tmp_path / "analogy" / "questions-words.txt", sections)
        n_words = restrict or len(vectors)
        total, theirs = keyed_vectors(vectors).evaluate_word_analogies(str(path), restrict_vocab=n_words)
        ours = judge(vectors, tmp_path, restrict=restrict)
        scored = [(len(s["correct"]), len(s["correct"] + s["incorrect"])) for s in theirs[:-1]]
        assert [(int(o.values.sum()), o.n_scored) for o in ours[:-2]] == scored
        right = np.concatenate([outcome.values for outcome in ours[-2:]])
        assert right.mean() == pytest.approx(total, abs=1e-6)
        assert structure == "random" or right.sum() > 0  # otherwise equal numbers would say little

    def test_sections_of_one_name_keep_all_their_questions(self, square: Vectors) -> None:
        section = Section("family", (("man", "woman", "king", "queen"),))
        assert judge_analogies(square, [section, section])[-1].n_scored == 2
