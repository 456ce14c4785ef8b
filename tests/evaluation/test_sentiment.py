"""Sentiment against a direct computation with scikit-learn, and made-up reviews."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pytest
from scipy import sparse
from sklearn.linear_model import LogisticRegression

from tests.evaluation.test_suite import DATA, needs_data, random_vectors, write
from wordforest.errors import InputError
from wordforest.evaluation.sentiment import STRENGTHS, Review, Reviews, judge_sentiment, read_reviews
from wordforest.vectors import Vectors

WORDS = [f"w{i}" for i in range(80)]


def made_up(seed: int, signal: float, sizes: tuple[int, int, int] = (300, 150, 200)) -> Reviews:
    """Sentences of ten words; with ``signal`` 1 praise uses the first half of the words more often."""
    rng = np.random.default_rng(seed)
    lean = np.linspace(1, -1, len(WORDS)) * signal

    def part(n: int) -> tuple[Review, ...]:
        labels = rng.integers(0, 2, n)
        weights = [np.exp(lean if label else -lean) for label in labels]
        draws = [rng.choice(WORDS, 10, p=w / w.sum()) for w in weights]
        return tuple(Review(int(label), " ".join(d)) for label, d in zip(labels, draws, strict=True))

    return Reviews(*(part(n) for n in sizes))


def direct_answers(vectors: Vectors, reviews: Reviews) -> list[float]:
    """The same rule in plain scikit-learn: nothing centred, every C from scratch, lbfgs to the end."""

    def features(part: tuple[Review, ...]) -> np.ndarray:
        return np.array(
            [np.mean([vectors[w] for w in review.sentence.split()], axis=0) for review in part], dtype=float
        )

    train, dev, test = (features(part) for part in (reviews.train, reviews.dev, reviews.test))
    labels = {name: [review.label for review in getattr(reviews, name)] for name in ("train", "dev", "test")}
    scale = math.sqrt(train.var(axis=0).mean())
    models = [LogisticRegression(C=C, tol=1e-9, max_iter=10_000).fit(train / scale, labels["train"]) for C in STRENGTHS]
    best = max(models, key=lambda model: model.score(dev / scale, labels["dev"]))  # the first of equal ones
    return (best.predict(test / scale) == labels["test"]).astype(float).tolist()


class TestReadReviews:
    def test_reads_labels_and_both_encodings(self, tmp_path: Path) -> None:
        path = tmp_path / "reviews"
        path.write_bytes("1 a fine caf\u00e9 .\n".encode() + b"\n0 a bad caf\xe9 .\r\n1 good")
        assert read_reviews(path) == ((1, "a fine caf\u00e9 ."), (0, "a bad caf\u00e9 ."), (1, "good"))

    @pytest.mark.parametrize("line", ["2 fine", "fine", "1", "-1 bad"])
    def test_bad_line_is_named_with_its_file(self, tmp_path: Path, line: str) -> None:
        path = write(tmp_path / "reviews", f"1 fine\n{line}\n")
        with pytest.raises(InputError, match=r"reviews, line 2: expected 'label SPACE sentence'"):
            read_reviews(path)

    def test_file_without_sentences_is_an_input_error(self, tmp_path: Path) -> None:
        with pytest.raises(InputError, match="found none"):
            read_reviews(write(tmp_path / "reviews", "\n"))

    @needs_data
    def test_the_full_files_have_the_known_counts(self) -> None:
        sizes = [len(read_reviews(DATA / "sst2" / f"stsa.binary.{part}")) for part in ("train", "dev", "test")]
        assert sizes == [6920, 872, 1821]


class TestJudge:
    @pytest.mark.parametrize("seed", range(3))
    def test_equals_scikit_learn(self, seed: int) -> None:
        vectors, reviews = random_vectors(WORDS, seed, n_dimensions=15), made_up(seed, signal=0.5)
        assert judge_sentiment(vectors, reviews).values.tolist() == direct_answers(vectors, reviews)

    def test_of_equal_strengths_the_strongest_penalty_is_taken(self) -> None:
        vectors, reviews = random_vectors(WORDS, seed=0, n_dimensions=15), made_up(0, 0.5, sizes=(300, 4, 200))
        assert judge_sentiment(vectors, reviews).values.tolist() == direct_answers(vectors, reviews)

    @pytest.mark.parametrize("length", [1e-4, 1e4])
    def test_length_of_vectors_does_not_matter(self, length: float) -> None:
        vectors, reviews = random_vectors(WORDS, seed=0), made_up(0, signal=0.5)
        longer = Vectors(WORDS, vectors.dense * np.float32(length))
        assert judge_sentiment(longer, reviews).values.tolist() == judge_sentiment(vectors, reviews).values.tolist()

    def test_a_constant_added_to_all_vectors_does_not_matter(self) -> None:
        vectors, reviews = random_vectors(WORDS, seed=0), made_up(0, signal=0.5)
        moved = Vectors(WORDS, vectors.dense + np.float32(8))  # 8: every float32 sum stays close
        agree = judge_sentiment(moved, reviews).values == judge_sentiment(vectors, reviews).values
        assert agree.mean() > 0.98  # float32 rounding may move a sentence over the border

    def test_clear_sentiment_is_learned(self) -> None:
        assert judge_sentiment(random_vectors(WORDS, seed=0), made_up(0, signal=3)).value > 95

    @pytest.mark.parametrize("seed", range(3))
    def test_random_labels_score_as_chance(self, seed: int) -> None:
        value = judge_sentiment(random_vectors(WORDS, seed), made_up(seed, signal=0, sizes=(300, 150, 1000))).value
        assert abs(value - 50) < 4 * math.sqrt(50 * 50 / 1000)  # four standard errors

    def test_the_answers_repeat(self) -> None:
        vectors, reviews = random_vectors(WORDS, seed=0), made_up(0, signal=0.3)
        assert judge_sentiment(vectors, reviews).values.tolist() == judge_sentiment(vectors, reviews).values.tolist()

    def test_sparse_vectors_score_as_dense_ones(self) -> None:
        vectors, reviews = random_vectors(WORDS, seed=0), made_up(0, signal=0.5)
        as_sparse = Vectors(WORDS, sparse.csr_array(vectors.dense))
        assert judge_sentiment(as_sparse, reviews).values.tolist() == judge_sentiment(vectors, reviews).values.tolist()

    def test_words_without_a_vector_are_left_out_and_sentences_of_them_skipped(self) -> None:
        reviews = made_up(0, signal=0.5)
        noisy = {
            part: (*(Review(r.label, f"{r.sentence} zz --") for r in getattr(reviews, part)), Review(1, "zz"))
            for part in ("train", "dev", "test")
        }
        vectors = random_vectors(WORDS, seed=0)
        outcome = judge_sentiment(vectors, Reviews(**noisy))
        assert (outcome.n_scored, outcome.n_total) == (200, 201)
        assert outcome.values.tolist() == judge_sentiment(vectors, reviews).values.tolist()

    def test_words_are_looked_up_as_written_then_lower_cased_then_as_numbers(self) -> None:
        vectors = Vectors(["good", "#number#"], np.array([[1.0], [-1.0]], dtype=np.float32))
        part = (Review(1, "GOOD"), Review(0, "1,930"), Review(0, "3"))
        assert judge_sentiment(vectors, Reviews(part, part, part)).values.tolist() == [1.0, 1.0, 1.0]

    @pytest.mark.parametrize("gone", ["train", "dev", "test"])
    def test_nothing_is_scored_where_a_part_has_no_vectors(self, gone: str) -> None:
        reviews = made_up(0, signal=0.5)
        parts = {part: getattr(reviews, part) for part in ("train", "dev", "test")} | {gone: (Review(1, "zz"),)}
        outcome = judge_sentiment(random_vectors(WORDS, seed=0), Reviews(**parts))
        assert (outcome.n_scored, math.isnan(outcome.value)) == (0, True)

    def test_equal_vectors_say_nothing_and_do_not_fail(self) -> None:
        vectors = Vectors(WORDS, np.ones((len(WORDS), 3), dtype=np.float32))
        reviews = made_up(0, signal=0.5)
        majority = np.mean([r.label for r in reviews.train]) > 0.5
        expected = [float(r.label == majority) for r in reviews.test]
        assert judge_sentiment(vectors, reviews).values.tolist() == expected
