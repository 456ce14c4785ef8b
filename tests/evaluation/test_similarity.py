"""Word similarity and ranks against cases worked by hand, SciPy and gensim."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pytest
from scipy import sparse, stats

from tests.evaluation.test_suite import gensim_folder, keyed_vectors, plane_vectors, random_vectors, write
from wordforest.errors import InputError
from wordforest.evaluation.similarity import Pair, judge_similarity, read_pairs
from wordforest.evaluation.standard_error import spearman
from wordforest.vectors import Vectors

GENSIM_SETS = ("wordsim353.tsv", "simlex999.txt")


@pytest.fixture
def plane() -> Vectors:
    return plane_vectors()


def words_of_pairs(pairs: list[Pair]) -> list[str]:
    return sorted({word.lower() for pair in pairs for word in pair[:2]})


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
        assert judge_similarity(plane, pairs, "hand").value == pytest.approx(1.0, abs=1e-12)

    def test_hand_worked_ties(self, plane: Vectors) -> None:
        # cosines 1, 0, 0, -1 have ranks 4, 2.5, 2.5, 1; human scores have ranks 3, 4, 1, 2:
        # covariance 1.5 * 0.5 - 1.5 * -0.5 = 1.5, sizes 4.5 and 5
        second = ("east", "north", "nowhere", "west")
        pairs = [Pair("east", word, score) for word, score in zip(second, (3, 4, 1, 2), strict=True)]
        assert judge_similarity(plane, pairs, "hand").value == pytest.approx(1.5 / math.sqrt(22.5), abs=1e-12)

    def test_pairs_with_missing_words_are_skipped_and_counted(self, plane: Vectors) -> None:
        pairs = [Pair("east", "west", 1), Pair("east", "up", 3), Pair("north", "east", 2)]
        score = judge_similarity(plane, pairs, "hand")
        assert (score.n_scored, score.n_total) == (2, 3)

    def test_words_are_looked_up_as_written_then_lower_cased(self) -> None:
        vectors = Vectors(["Polish", "polish", "shine"], np.array([[0, 1], [1, 0], [1, 0.1]], dtype=np.float32))
        pairs = [Pair("Polish", "SHINE", 1), Pair("polish", "Shine", 2)]
        score = judge_similarity(vectors, pairs, "hand")
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
        assert math.isnan(judge_similarity(plane, pairs, "hand").value)

    def test_parallel_vectors_tie_whatever_their_rounding(self) -> None:
        seed = 0
        scale = np.random.default_rng(seed).uniform(0.1, 9, size=(40, 1))
        vectors = Vectors([f"w{i}" for i in range(40)], (scale * [1, 3, 7]).astype(np.float32))
        pairs = [Pair(f"w{i}", f"w{i + 1}", i) for i in range(39)]
        assert math.isnan(judge_similarity(vectors, pairs, "parallel").value)

    def test_repeated_pairs_count_as_they_stand(self, plane: Vectors) -> None:
        pairs = [Pair("east", "north", 1), Pair("east", "west", 2), Pair("east", "east", 3)]
        assert judge_similarity(plane, [*pairs, pairs[1]], "hand").n_scored == 4

    @pytest.mark.parametrize("seed", range(5))
    def test_spearman_equals_scipy_with_ties(self, seed: int) -> None:
        x, y = np.random.default_rng(seed).integers(0, 9, size=(2, 50)).astype(float)
        assert spearman(x, y) == pytest.approx(stats.spearmanr(x, y).statistic, abs=1e-12)

    @pytest.mark.parametrize("name", GENSIM_SETS)
    def test_equals_gensim(self, name: str) -> None:
        pairs = read_pairs(gensim_folder() / name)
        vectors = random_vectors(words_of_pairs(pairs)[::2], seed=0)
        _, theirs, missing = keyed_vectors(vectors).evaluate_word_pairs(str(gensim_folder() / name))
        ours = judge_similarity(vectors, pairs, name)
        assert ours.value == pytest.approx(theirs.statistic, abs=1e-6)  # float32 cosines of gensim
        assert 100 * (1 - ours.n_scored / ours.n_total) == pytest.approx(missing)

    def test_random_vectors_score_near_zero(self) -> None:
        pairs = read_pairs(gensim_folder() / "simlex999.txt")
        score = judge_similarity(random_vectors(words_of_pairs(pairs), seed=0), pairs, "simlex999")
        assert abs(score.value) < 4 / math.sqrt(999)  # four standard errors of a correlation of 0

    def test_sparse_vectors_score_as_dense_ones(self, plane: Vectors) -> None:
        pairs = [Pair("east", "northeast", 1), Pair("east", "west", 2), Pair("north", "northeast", 3)]
        as_sparse = Vectors(plane.words, sparse.csr_array(plane.dense))
        assert (
            judge_similarity(as_sparse, pairs, "s").values.tolist()
            == judge_similarity(plane, pairs, "d").values.tolist()
        )

    def test_every_pair_has_its_own_key(self, plane: Vectors) -> None:
        pairs = [Pair("east", "north", 1), Pair("North", "east", 2), Pair("east", "up", 3), Pair("east", "west", 4)]
        assert judge_similarity(plane, pairs, "hand").keys == ("east north", "east north (2)", "east west")

    def test_clusters_are_the_words_of_a_pair_however_written(self, plane: Vectors) -> None:
        found = judge_similarity(plane, [Pair("East", "north", 1), Pair("west", "east", 2)], "hand").clusters
        assert found[0, 0] == found[1, 1]
        assert len(set(found.ravel().tolist())) == 3
