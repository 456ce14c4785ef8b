"""Sentence completion against cases worked by hand and a plain implementation of the rule."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pytest

from tests.evaluation.test_suite import DATA, needs_data, random_vectors, write
from wordforest.errors import InputError
from wordforest.evaluation.completion import Gap, judge_completion, read_gaps, words_of
from wordforest.vectors import Vectors

QUESTIONS = "id,question,a),b),c),d),e)\n"
ANSWERS = "id,answer\n1,c\n2,a\n"
FIVE = ("v", "w", "x", "y", "z")


@pytest.fixture
def compass() -> Vectors:
    rows = [[1, 0], [3, 3], [0, 2], [-1, 1], [-1, 0], [5, 1], [0, 0], [2, 9]]
    words = [*FIVE, "sun", "dark", "#number#"]
    return Vectors(words, np.array(rows, dtype=np.float32))


def plain_choice(vectors: Vectors, gap: Gap) -> int:
    words = [word for word in words_of(gap.sentence) if word in vectors]
    averages = [sum(vectors.similarity(c, word) for word in words) / len(words) for c in gap.candidates]
    return averages.index(max(averages))


class TestReadGaps:
    def test_reads_quotes_and_order_by_id(self, tmp_path: Path) -> None:
        questions = write(
            tmp_path / "q.csv", QUESTIONS + '2,"Well, _____ is it.",a,b,c,d,e\r\n1,_____ it.,f,g,h,i,j\r\n'
        )
        answers = write(tmp_path / "a.csv", ANSWERS)
        assert read_gaps(questions, answers) == [
            Gap("Well, _____ is it.", ("a", "b", "c", "d", "e"), 0),
            Gap("_____ it.", ("f", "g", "h", "i", "j"), 2),
        ]

    @pytest.mark.parametrize(
        ("row", "expected"),
        [
            ("2,no blank,a,b,c,d,e", "one blank"),
            ("2,_____ and _____,a,b,c,d,e", "one blank"),
            ("2,_____,a,b,c,d", "7 fields"),
            ("2,_____,a,b,,d,e", "7 fields, none empty"),
            ("1,_____,a,b,c,d,e", "every id once"),
            ("3,_____,a,b,c,d,e", "has an answer for"),
            ('2,"_____,a,b,c,d,e', "comma-separated fields"),
        ],
    )
    def test_bad_question_is_named_with_its_line(self, tmp_path: Path, row: str, expected: str) -> None:
        questions = write(tmp_path / "q.csv", f"{QUESTIONS}1,_____ it.,f,g,h,i,j\n{row}\n")
        with pytest.raises(InputError, match=rf"q\.csv, line 3: expected .*{expected}"):
            read_gaps(questions, write(tmp_path / "a.csv", ANSWERS))

    @pytest.mark.parametrize(("row", "expected"), [("2,f", "from a to e"), ("2,ab", "from a to e"), ("1,a", "once")])
    def test_bad_answer_is_named_with_its_line(self, tmp_path: Path, row: str, expected: str) -> None:
        answers = write(tmp_path / "a.csv", f"id,answer\n1,c\n{row}\n")
        with pytest.raises(InputError, match=rf"a\.csv, line 3: expected .*{expected}"):
            read_gaps(tmp_path / "q.csv", answers)

    def test_a_file_without_its_first_line_is_named(self, tmp_path: Path) -> None:
        with pytest.raises(InputError, match=r"a\.csv, line 1: expected a first line that starts with id"):
            read_gaps(tmp_path / "q.csv", write(tmp_path / "a.csv", "1,c\n"))

    def test_a_file_without_questions_is_an_input_error(self, tmp_path: Path) -> None:
        with pytest.raises(InputError, match=r"q\.csv: expected questions"):
            read_gaps(write(tmp_path / "q.csv", QUESTIONS), write(tmp_path / "a.csv", ANSWERS))

    @needs_data
    def test_the_full_files_have_the_known_counts(self) -> None:
        gaps = read_gaps(DATA / "msr_scc" / "testing_data.csv", DATA / "msr_scc" / "test_answer.csv")
        assert (len(gaps), {len(gap.candidates) for gap in gaps}) == (1040, {5})


class TestWords:
    @pytest.mark.parametrize(
        ("sentence", "words"),
        [
            ("It 's _____ o'clock , he\u2019d say .", ["It", "s", "o'clock", "he'd", "say"]),
            ("for 30,000 napoleons, 2.5 or 90.", ["for", "30,000", "napoleons", "2.5", "or", "90"]),
            ("the worn-out 1930s", ["the", "worn", "out", "1930s"]),
            ("_____", []),
        ],
    )
    def test_words_have_inner_apostrophes_only(self, sentence: str, words: list[str]) -> None:
        assert words_of(sentence) == words


class TestJudge:
    def test_highest_average_cosine_wins(self, compass: Vectors) -> None:
        # with sun (5, 1) and v (1, 0), v itself is nearest; with sun and x (0, 2) it is w (3, 3)
        gaps = [Gap("sun v _____ .", FIVE, 0), Gap("sun x _____ .", FIVE, 1), Gap("sun x _____ !", FIVE, 0)]
        assert judge_completion(compass, gaps).values.tolist() == [1.0, 1.0, 0.0]

    def test_repeated_words_count_each_time(self, compass: Vectors) -> None:
        gap = Gap("v x x x x x _____ .", FIVE, 2)
        assert judge_completion(compass, [gap]).value == 100.0

    def test_words_without_a_vector_are_left_out(self, compass: Vectors) -> None:
        gaps = [Gap("sun _____", FIVE, 0), Gap("the moon and the sun _____", FIVE, 0)]
        assert judge_completion(compass, gaps).value == 100.0

    def test_missing_candidate_or_context_skips_the_question(self, compass: Vectors) -> None:
        gaps = [Gap("sun _____", (*FIVE[:4], "up"), 0), Gap("the moon _____", FIVE, 0), Gap("Sun _____", FIVE, 0)]
        outcome = judge_completion(compass, gaps)
        assert (outcome.keys, outcome.n_total) == (("Sun _____",), 3)

    def test_ties_go_to_the_first_candidate(self, compass: Vectors) -> None:
        assert judge_completion(compass, [Gap("dark _____", FIVE, 0)]).value == 100.0  # zero: all cosines are 0

    def test_parallel_candidates_tie_whatever_their_length(self) -> None:
        scale = np.array([[1], [3], [5], [7], [9]])  # exact in float32, not so after division by the norm
        vectors = Vectors([*FIVE, "sun"], np.vstack([scale * [1, 3, 7], [[1, 1, 1]]]).astype(np.float32))
        gaps = [Gap("sun _____", tuple(FIVE[(i + k) % 5] for k in range(5)), 0) for i in range(5)]
        assert judge_completion(vectors, gaps).value == 100.0

    def test_numbers_are_the_number_word(self, compass: Vectors) -> None:
        assert judge_completion(compass, [Gap("30,000 _____", FIVE, 2)]).value == 100.0  # (2, 9) is nearest to x

    def test_candidates_are_looked_up_with_hyphens_and_without_outer_apostrophes(self) -> None:
        vectors = Vectors(["worn-out", "comin", "a", "b", "c", "old"], np.eye(6, dtype=np.float32)[[0, 1, 2, 3, 4, 0]])
        gap = Gap("old _____", ("worn-out", "comin'", "a", "b", "c"), 0)
        assert judge_completion(vectors, [gap, gap._replace(candidates=("to-day", *gap.candidates[1:]))]).n_scored == 1

    def test_nothing_scored_is_nan(self, compass: Vectors) -> None:
        assert math.isnan(judge_completion(compass, []).value)

    def test_equals_a_plain_writing(self) -> None:
        rng = np.random.default_rng(0)
        words = [f"w{i}" for i in range(60)]
        vectors = random_vectors(words, seed=0)
        draws = [rng.choice(words, 14) for _ in range(50)]
        gaps = [Gap(" ".join(d[5:]) + " _____", tuple(d[:5]), 0) for d in draws]
        gaps = [gap._replace(answer=plain_choice(vectors, gap)) for gap in gaps]
        assert judge_completion(vectors, gaps).value == 100.0

    def test_random_vectors_score_as_chance(self) -> None:
        rng = np.random.default_rng(0)
        words = [f"w{i}" for i in range(500)]
        draws = [rng.choice(words, 14, replace=False) for _ in range(1000)]
        gaps = [Gap(" ".join(d[5:]) + " _____", tuple(d[:5]), int(rng.integers(5))) for d in draws]
        value = judge_completion(random_vectors(words, seed=1), gaps).value
        assert abs(value - 20) < 4 * math.sqrt(20 * 80 / 1000)  # four standard errors
