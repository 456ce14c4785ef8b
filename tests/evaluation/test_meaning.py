"""How readable a forest is: hand-worked NPMI, a planted corpus, chance, invariances, gensim."""

from __future__ import annotations

import json
import math
from collections.abc import Sequence

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse

from tests.strategies import forests
from wordforest.coder.forest import Forest
from wordforest.errors import InputError
from wordforest.evaluation.meaning import Cooccurrence, Meaning, judge_meaning, stability_scores
from wordforest.evaluation.meaning.averages import mean_score, resampled_means
from wordforest.evaluation.meaning.coherence import affinity, families, family_scores
from wordforest.evaluation.meaning.intrusion import ask, by_node, chance, closeness, found_intruders
from wordforest.evaluation.meaning.node_words import top_words
from wordforest.evaluation.meaning.stability import match_nodes
from wordforest.evaluation.meaning.use import agreement, overlaps, uniqueness
from wordforest.evaluation.report import as_markdown, tabulate
from wordforest.vectors import Vectors

N_TOPICS = 6
N_WORDS = 20  # of a topic
WORDS = [f"t{topic}w{i}" for topic in range(N_TOPICS) for i in range(N_WORDS)]
TOPIC = np.repeat(np.arange(N_TOPICS), N_WORDS)


def counted(matrix: object, words: list[str] | None = None) -> Cooccurrence:
    square = np.asarray(matrix)
    return Cooccurrence(words or [chr(97 + i) for i in range(len(square))], square.sum(axis=1), square)


def npmi(held: Cooccurrence, a: Sequence[str], b: Sequence[str]) -> np.ndarray:
    """NPMI of pairs of words."""
    return held.npmi(held.rows(a), held.rows(b))


def npmi_block(held: Cooccurrence, a: Sequence[str], b: Sequence[str]) -> np.ndarray:
    """NPMI of every word of ``a`` with every word of ``b``, dense."""
    pairs = [(x, y) for x in a for y in b]
    return npmi(held, [x for x, _ in pairs], [y for _, y in pairs]).reshape(len(a), len(b))


def planted(seed: int = 0, within: float = 30.0, across: float = 1.0) -> Cooccurrence:
    """Six topics of twenty words: Poisson counts, far larger within a topic."""
    rng = np.random.default_rng(seed)
    rates = np.where(TOPIC[:, None] == TOPIC[None], within, across)
    upper = np.triu(rng.poisson(rates), 1)
    return counted(upper + upper.T, WORDS)


def topic_vectors(seed: int = 0) -> Vectors:
    """A node for each planted topic, all its words on, a few others faintly."""
    rng = np.random.default_rng(seed)
    A = np.where(TOPIC[:, None] == np.arange(N_TOPICS)[None], rng.uniform(1, 2, (len(WORDS), N_TOPICS)), 0)
    return Vectors(WORDS, A + 0.1 * (rng.random(A.shape) < 0.05))


def random_vectors(seed: int, n_nodes: int = 200, words: list[str] = WORDS, *, sign: bool = False) -> Vectors:
    rng = np.random.default_rng(seed)
    values = rng.standard_normal((len(words), n_nodes))
    return Vectors(words, values if sign else np.maximum(values, 0))


def tree_vectors(*, related: bool = True) -> Vectors:
    """Three trees of a root and two leaves; the words of a tree are of two topics, one for each leaf."""
    forest = Forest.complete(3, (2,))
    A = np.zeros((len(WORDS), len(forest)))
    rng = np.random.default_rng(3)
    for tree in range(3):
        topics = (2 * tree, 2 * tree + 1)
        for leaf, topic in enumerate(topics if related else ((topics[0] + 2) % 6, (topics[1] + 2) % 6)):
            A[topic == TOPIC, 3 * tree + 1 + leaf] = rng.uniform(1, 2, N_WORDS)
        A[np.isin(TOPIC, topics), 3 * tree] = rng.uniform(1, 2, 2 * N_WORDS)
    return Vectors(WORDS, A, forest=forest)


def same_scores(first: Meaning, second: Meaning) -> bool:
    """Say whether all scores are the same, NaN too, which from Python 3.13 on makes data classes differ."""
    return [*map(repr, first.scores)] == [*map(repr, second.scores)]


class TestCooccurrence:
    def test_npmi_by_hand(self) -> None:
        held = counted([[0, 2, 0], [2, 0, 1], [0, 1, 0]])  # T = 6; margins 2, 3, 1
        expected = [math.log((2 / 6) / (2 / 6 * 3 / 6)) / -math.log(2 / 6), -1.0, math.log(2) / math.log(6)]
        # 1e-12: a handful of roundings in float64
        assert npmi(held, ["a", "a", "b"], ["b", "c", "c"]) == pytest.approx(expected, abs=1e-12)

    def test_words_that_only_stand_together_have_one(self) -> None:
        held = counted([[0, 4, 0, 0], [4, 0, 0, 0], [0, 0, 0, 3], [0, 0, 3, 0]])
        assert npmi(held, ["a", "c"], ["b", "d"]) == pytest.approx([1.0, 1.0], abs=1e-12)

    def test_a_text_of_one_word_has_no_zero_division(self) -> None:
        assert npmi(counted([[5]]), ["a"], ["a"]).tolist() == [1.0]

    @given(st.integers(2, 7).flatmap(lambda n: st.lists(st.integers(0, 9), min_size=n * n, max_size=n * n)))
    def test_npmi_is_symmetric_in_bounds_and_minus_one_only_where_unseen(self, flat: list[int]) -> None:
        n = math.isqrt(len(flat))
        upper = np.triu(np.array(flat).reshape(n, n))
        held = counted(upper + upper.T)
        block = npmi_block(held, held.words, held.words)
        assert np.array_equal(block, block.T)
        assert (np.abs(block) <= 1).all()
        assert np.array_equal(block == -1, (upper + upper.T) == 0)

    @given(st.integers(2, 9))
    def test_all_counts_times_a_number_change_nothing(self, factor: int) -> None:
        held = planted()
        more = Cooccurrence(WORDS, held.counts * factor, held.matrix * factor)
        assert npmi_block(more, WORDS[:5], WORDS[:5]) == pytest.approx(
            npmi_block(held, WORDS[:5], WORDS[:5]), abs=1e-12
        )

    def test_npmi_and_lifted_agree(self) -> None:
        held = planted(across=0.3)
        some = WORDS[3:50:5]
        block = npmi_block(held, some, some)
        lifted = held.lifted(some).toarray()
        off = ~np.eye(len(some), dtype=bool)
        assert lifted[off] - 1 == pytest.approx(block[off], abs=1e-12)
        assert not lifted.diagonal().any()

    def test_candidates_are_known_to_all_often_enough_and_no_marks(self) -> None:
        held = Cooccurrence(["the", "#rare#", "cat", "dog", "hapax"], [900, 60, 20, 20, 1], np.ones((5, 5), int))
        assert held.candidates(min_count=5, max_share=0.5) == ("cat", "dog")
        assert held.candidates([["dog", "the"], ["dog", "cat"]], min_count=5, max_share=0.5) == ("dog",)
        assert held.candidates(min_count=1, max_share=1.0) == ("the", "cat", "dog", "hapax")

    def test_a_pair_at_the_judgeable_count_is_expected_once_at_a_hundredfold_lift(self) -> None:
        held = planted()
        n, total = held.counts.sum(), held.total
        # here tokens = pairs, so a word of count c has margin c: 100 c^2 / T is at least 1 at c and below it before
        assert n == total
        c = held.judgeable_count
        assert 100 * c**2 / total >= 1 > 100 * (c - 1) ** 2 / total

    @pytest.mark.parametrize(
        ("words", "counts", "matrix", "message"),
        [
            (["a", "b"], [1], [[0, 1], [1, 0]], "each word needs one count"),
            (["a", "b"], [1, 1], [[0, 1]], "each word needs one count"),
            (["a", "a"], [1, 1], [[0, 1], [1, 0]], "come twice"),
            (["a", "b"], [1, 1], [[0, 1], [2, 0]], "same both ways"),
            (["a", "b"], [1, 1], [[0, -1], [-1, 0]], "same both ways"),
        ],
    )
    def test_bad_counts_are_named(self, words: list[str], counts: list[int], matrix: object, message: str) -> None:
        with pytest.raises(InputError, match=message):
            Cooccurrence(words, counts, np.array(matrix))

    def test_words_not_in_the_text_are_named(self) -> None:
        with pytest.raises(InputError, match="'zebra' does not occur"):
            planted().rows(["zebra", "t0w0"])

    def test_gensim_finds_the_same_npmi_in_windows_of_two(self) -> None:
        """gensim's p(w) and p(a, b) are shares of windows; of two words in a ring without repeats, twice ours."""
        pytest.importorskip("gensim", reason="gensim is not installed")
        from gensim.corpora import Dictionary
        from gensim.models import CoherenceModel

        stream = np.random.default_rng(0).permutation(list("abcde") * 60).tolist()
        stream = [w for i, w in enumerate(stream) if i == 0 or w != stream[i - 1]]  # no word beside itself
        stream += stream[:1] if stream[-1] != stream[0] else []  # a ring: all words have two neighbours
        names = sorted(set(stream))
        ids = np.array([names.index(w) for w in stream])
        matrix = np.zeros((5, 5), int)
        np.add.at(matrix, (ids[:-1], ids[1:]), 1)
        held = counted(matrix + matrix.T, names)
        dictionary = Dictionary([stream])
        model = CoherenceModel(
            topics=[["a", "b"], ["c", "d"]],
            texts=[stream],
            dictionary=dictionary,
            coherence="c_npmi",
            window_size=2,
            processes=1,
        )
        theirs = model.get_coherence_per_topic()
        joint = np.array([matrix[0, 1] + matrix[1, 0], matrix[2, 3] + matrix[3, 2]]) / matrix.sum()
        ours = npmi(held, ["a", "c"], ["b", "d"])
        # ours is log(j/2 / (p/2 q/2)) / -log(j/2), theirs log(j / (p q)) / -log j
        pmi = ours * -np.log(joint / 2) - math.log(2)
        # 1e-9: gensim adds 1e-12 to every probability
        assert pmi / -np.log(joint) == pytest.approx(theirs, abs=1e-9)


class TestTopWords:
    def test_largest_first_zeros_and_ties_by_rule(self) -> None:
        vectors = Vectors(list("abcd"), [[0, 1], [3, 1], [0, 0], [5, 2]])
        tops = top_words(vectors, list("abcd"), n=3)
        assert tops.words(0) == ("d", "b")
        assert tops.words(1) == ("d", "a", "b")

    def test_the_heavier_side_of_a_signed_node_is_taken(self) -> None:
        tops = top_words(Vectors(list("abc"), [[1, 1], [2, 2], [-9, -1]]), list("abc"), n=2)
        assert tops.words(0) == ("c",)
        assert tops.words(1) == ("b", "a")
        assert tops.side.tolist() == [-1, 1]

    def test_sparse_and_dense_give_the_same(self) -> None:
        vectors = random_vectors(1, 20, sign=True)
        thin = Vectors(WORDS, sparse.csr_array(vectors.dense))
        for a, b in zip(top_words(vectors, WORDS).places, top_words(thin, WORDS).places, strict=True):
            assert np.array_equal(a, b)

    def test_nodes_with_few_words_are_empty_and_counted(self) -> None:
        A = np.zeros((len(WORDS), 3))
        A[:10, 0], A[:4, 1] = 1, 1
        meaning = judge_meaning(Vectors(WORDS, A), planted(), candidates=WORDS)
        coherence = meaning.score("coherence")
        assert (coherence.n_scored, coherence.n_total) == (1, 3)
        assert meaning.score("judged nodes").value == pytest.approx(1 / 3)
        assert math.isnan(meaning.numbers["coherence"][1])
        assert meaning.tops.words(2) == ()

    def test_no_candidates_is_an_input_error(self) -> None:
        with pytest.raises(InputError, match="no word can be judged"):
            judge_meaning(topic_vectors(), planted(), candidates=[])

    @pytest.mark.parametrize("n", [0, 1])
    def test_one_word_makes_no_pair(self, n: int) -> None:
        with pytest.raises(InputError, match="at least 2"):
            top_words(topic_vectors(), WORDS, n)


class TestCoherence:
    def test_affinity_is_the_mean_over_pairs_of_different_words(self) -> None:
        held, vectors = planted(across=0.3), random_vectors(2, 5)
        tops = top_words(vectors, WORDS, n=6)
        found = affinity(tops, held)
        for i in range(5):
            for j in range(5):
                block = npmi_block(held, tops.words(i), tops.words(j))
                different = np.array([[a != b for b in tops.words(j)] for a in tops.words(i)])
                assert found.npmi[i, j] == pytest.approx(block[different].mean(), abs=1e-12)
                assert found.positive[i, j] == pytest.approx(np.maximum(block[different], 0).mean(), abs=1e-12)

    def test_planted_topics_cohere_and_random_nodes_are_as_random_words(self) -> None:
        held = planted()
        good = judge_meaning(topic_vectors(), held, candidates=WORDS).score("coherence", "npmi")
        chance_level = judge_meaning(random_vectors(0), held, candidates=WORDS)
        bad = chance_level.score("coherence", "npmi")
        assert good.low > 0.2 > 0 > bad.high
        # three standard errors, a quarter of the interval's width each: a 95 % interval misses one seed in twenty
        error = (bad.high - bad.low) / 4
        assert bad.value == pytest.approx(chance_level.score("random words").value, abs=3 * error)

    def test_children_of_the_same_subject_are_nearer_to_their_parent_than_to_others(self) -> None:
        for related in (True, False):
            tops = top_words(tree_vectors(related=related), WORDS)
            scores = {s.set: s for s in family_scores(tops, families(tops, affinity(tops, planted())))}
            gap, ratio = scores["parent-child - unrelated"], scores["parent-child / unrelated"]
            assert (gap.low > 0.1) == related
            assert (ratio.low > 2) == related
            assert gap.n_scored == gap.n_total == 6

    def test_unrelated_are_the_nodes_of_the_parents_depth_in_other_trees(self) -> None:
        tops = top_words(tree_vectors(), WORDS)
        found = affinity(tops, planted())
        family = families(tops, found)
        assert np.flatnonzero(~np.isnan(family.related[:, 0])).tolist() == [1, 2, 4, 5, 7, 8]
        assert family.related[1, 0] == found.npmi[1, 0]
        assert family.unrelated[1, 0] == pytest.approx(found.npmi[1, [3, 6]].mean(), abs=1e-12)

    @given(forests(), st.integers(0, 5))
    def test_any_forest_can_be_judged(self, forest: Forest, seed: int) -> None:
        vectors = Vectors(WORDS, random_vectors(seed, len(forest)).matrix, forest=forest)
        tops = top_words(vectors, WORDS)
        family = families(tops, affinity(tops, planted()))
        scores = family_scores(tops, family)
        assert {score.n_total for score in scores[:4]} <= {len(forest) - len(forest.roots)}
        assert all(0 <= score.n_scored <= score.n_total for score in scores)

    def test_scaling_columns_changes_nothing_but_permuting_them_permutes(self) -> None:
        vectors, held = random_vectors(4, 12), planted()
        powers = 2.0 ** np.arange(-6, 6)  # exact in float32
        order = np.random.default_rng(0).permutation(12)
        plain = judge_meaning(vectors, held, candidates=WORDS)
        scaled = judge_meaning(Vectors(WORDS, vectors.dense * powers), held, candidates=WORDS)
        turned = judge_meaning(Vectors(WORDS, vectors.dense[:, order]), held, candidates=WORDS)
        assert same_scores(scaled, plain)
        assert turned.numbers["coherence"] == pytest.approx(plain.numbers["coherence"][order], abs=1e-12)
        assert turned.score("unique words").value == pytest.approx(plain.score("unique words").value, abs=1e-12)


class TestMeans:
    def test_interval_holds_the_mean_and_narrows_with_nodes(self) -> None:
        values = np.random.default_rng(0).standard_normal(400)
        wide, narrow = mean_score("a", "npmi", values[:40]), mean_score("a", "npmi", values)
        assert narrow.low < narrow.value < narrow.high
        # a normal sample of 400: the interval is 2 * 1.96 / sqrt(400) wide, up to a tenth for resampling
        assert narrow.high - narrow.low == pytest.approx(2 * 1.96 / 20, rel=0.1)
        assert wide.high - wide.low > 2 * (narrow.high - narrow.low)

    def test_groups_are_drawn_whole(self) -> None:
        values, groups = np.repeat([0.0, 1.0], 50), np.repeat([7, 9], 50)
        many = resampled_means("a", values, groups)
        assert set(many.round(12)) == {0.0, 0.5, 1.0}

    def test_one_group_has_no_interval(self) -> None:
        score = mean_score("a", "npmi", np.array([0.1, 0.2]), groups=np.array([4, 4]))
        assert score.value == pytest.approx(0.15)
        assert math.isnan(score.low)


class TestIntrusion:
    def test_planted_intruders_are_found(self) -> None:
        tops = top_words(topic_vectors(), WORDS)
        assert found_intruders(closeness(ask(tops), tops, planted())).mean() > 0.95

    def test_closeness_is_the_mean_over_the_other_words(self) -> None:
        held, vectors = planted(across=0.3), random_vectors(3, 4)
        tops = top_words(vectors, WORDS, n=6)
        questions = ask(tops, n_intruders=2)
        close = closeness(questions, tops, held)
        for words, found in zip(questions.sets, close, strict=True):
            for i, word in enumerate(words):
                others = [WORDS[w] for j, w in enumerate(words) if j != i]
                expected = np.maximum(npmi(held, [WORDS[word]] * len(others), others), 0).mean()
                assert found[i] == pytest.approx(expected, abs=1e-12)

    def test_random_nodes_are_at_chance(self) -> None:
        score = judge_meaning(random_vectors(5), planted(), candidates=WORDS).score("intrusion")
        # 200 nodes of 20 questions: the interval of a mean at chance, 1/11, is about a point wide on each side;
        # twice that, as nodes share words
        assert score.value == pytest.approx(100 / 11, abs=2)

    def test_words_without_any_counts_together_are_guessed(self) -> None:
        lonely = counted(np.eye(len(WORDS), dtype=int), WORDS)
        vectors = topic_vectors()
        tops = top_words(vectors, WORDS)
        questions = ask(tops)
        found = found_intruders(closeness(questions, tops, lonely))
        assert found == pytest.approx(np.full(len(found), 1 / 11), abs=1e-12)
        assert chance(questions) == pytest.approx(100 / 11, abs=1e-12)

    def test_an_intruder_is_low_here_and_high_elsewhere(self) -> None:
        vectors = random_vectors(6, 30, sign=True)
        tops = top_words(vectors, WORDS)
        questions = ask(tops, n_intruders=3)
        assert np.array_equal(np.bincount(questions.node), np.full(30, 3))
        for node, words in zip(questions.node, questions.sets, strict=True):
            strength = tops.side[node] * vectors.dense[:, node]
            assert strength[words[0]] <= np.median(strength)
            assert words[0] not in words[1:]
            assert any(words[0] in tops.places[other] for other in range(30) if other != node)

    def test_seed_alone_decides(self) -> None:
        vectors = random_vectors(7, 10)
        tops = top_words(vectors, WORDS)
        assert np.array_equal(ask(tops, seed=1).sets, ask(tops, seed=1).sets)
        assert not np.array_equal(ask(tops, seed=1).sets, ask(tops, seed=2).sets)

    def test_one_node_alone_has_no_intruder(self) -> None:
        vectors = Vectors(WORDS, topic_vectors().dense[:, :1])
        questions = ask(top_words(vectors, WORDS))
        assert len(questions.node) == 0
        assert np.isnan(by_node(questions, np.empty(0), 1)).all()


class TestDistinct:
    def test_overlap_and_uniqueness_by_hand(self) -> None:
        A = np.zeros((8, 2))
        A[:5, 0], A[3:8, 1] = 1, 1
        tops = top_words(Vectors(list("abcdefgh"), A), list("abcdefgh"), n=5)
        assert overlaps(tops)[0, 1] == 2 / 5
        assert uniqueness(tops) == pytest.approx([(3 + 2 / 2) / 5] * 2, abs=1e-12)  # 8 words in 10 places

    def test_coverage_and_density_by_depth(self) -> None:
        forest = Forest([-1, 0])
        A = np.zeros((len(WORDS), 2))
        A[:60, 0], A[:30, 1] = 1, 1
        meaning = judge_meaning(Vectors(WORDS, A, forest=forest), planted(), candidates=WORDS)
        found = {name: meaning.score(name).value for name in ("coverage depth 0", "coverage depth 1", "density")}
        assert found == {"coverage depth 0": 0.5, "coverage depth 1": 0.25, "density": 0.375}


class TestStability:
    def test_permuted_trees_match_fully(self) -> None:
        vectors = tree_vectors()
        order = np.concatenate([np.arange(6, 9), np.arange(3), np.arange(3, 6)])
        match = match_nodes(vectors, Vectors(WORDS, vectors.dense[:, order] * 4, forest=vectors.forest))
        assert np.array_equal(order[match.second], match.first)
        assert match.cosine == pytest.approx(np.ones(9), abs=1e-6)  # float32
        assert match.overlap.tolist() == [1.0] * 9
        assert match.parents[[1, 2, 4, 5, 7, 8]].tolist() == [1.0] * 6
        assert np.isnan(match.parents[[0, 3, 6]]).all()

    @given(st.permutations(range(8)))
    def test_order_of_columns_and_words_does_not_matter(self, order: list[int]) -> None:
        vectors = random_vectors(8, 8)
        back = Vectors(WORDS[::-1], vectors.dense[::-1, order])
        match = match_nodes(vectors, back)
        assert [order[j] for j in match.second] == list(range(8))

    def test_signs_of_signed_nodes_are_arbitrary(self) -> None:
        vectors = random_vectors(9, 6, sign=True)
        match = match_nodes(vectors, Vectors(WORDS, -vectors.dense))
        assert match.cosine == pytest.approx(np.ones(6), abs=1e-6)
        assert match.overlap.tolist() == [1.0] * 6

    def test_moved_leaves_keep_cosine_but_lose_their_parents(self) -> None:
        vectors = tree_vectors()
        moved = vectors.dense.copy()
        moved[:, [1, 4, 7]] = vectors.dense[:, [4, 7, 1]]
        scores = stability_scores([vectors, Vectors(WORDS, moved, forest=vectors.forest)])
        values = {score.set: score.value for score in scores}
        assert values["stability"] == pytest.approx(1.0, abs=1e-6)
        assert values["stability of parents"] == pytest.approx(0.5)

    def test_unequal_sizes_and_a_zero_column(self) -> None:
        vectors = random_vectors(1, 5)
        wider = np.concatenate([np.zeros((len(WORDS), 1)), vectors.dense], axis=1)
        assert match_nodes(vectors, Vectors(WORDS, wider)).second.tolist() == [1, 2, 3, 4, 5]

    def test_a_child_that_becomes_a_root_has_lost_its_parent(self) -> None:
        both = Vectors(WORDS, topic_vectors().dense[:, :2], forest=Forest([-1, 0]))
        match = match_nodes(both, Vectors(WORDS, both.dense[:, 1:]))  # the parent itself has no match
        assert (match.first.tolist(), match.parents.tolist()) == ([1], [0.0])

    def test_one_run_or_no_common_word_is_an_input_error(self) -> None:
        with pytest.raises(InputError, match="at least 2"):
            stability_scores([tree_vectors()])
        with pytest.raises(InputError, match="no word in common"):
            match_nodes(Vectors(["a"], [[1.0]]), Vectors(["b"], [[1.0]]))


class TestHierarchy:
    def test_signs_that_part_at_leaves_are_seen(self) -> None:
        """Roots carry the sign of the topic, leaves a random one: neighbours agree above and part below."""
        rng = np.random.default_rng(2)
        forest = Forest.complete(8, (2,))
        roots = rng.choice([-1.0, 1.0], (N_TOPICS, 8))[TOPIC] * 3
        A = rng.choice([-0.5, 0.5], (len(WORDS), len(forest)))
        A[:, forest.roots] = roots
        found = agreement(Vectors(WORDS, A, forest=forest), WORDS, k=5)
        near, far = found["signs of neighbours"], found["signs of random words"]
        assert near[:, 0].mean() == 1.0
        # nearest by cosine also means a few equal leaves: at most a fifth above a half
        assert 0.45 < near[:, 1].mean() < 0.7
        assert near[:, 0].mean() > far[:, 0].mean() + 0.2
        assert found["use of neighbours"].min() == 1.0

    def test_use_by_hand(self) -> None:
        vectors = Vectors(list("abc"), [[1, 1, 0], [1, 0, 1], [-1, 0, 0]])
        found = agreement(vectors, list("abc"), k=2)
        assert found["use of neighbours"][:, 0] == pytest.approx([2 / (3 + 2), 2 / (3 + 2), 2 / 4], abs=1e-12)
        assert found["signs of neighbours"][:, 0] == pytest.approx([0.5, 0.5, 0.0], abs=1e-12)


class TestJudge:
    def test_one_call_gives_scores_for_tables_and_nodes_for_json(self) -> None:
        meaning = judge_meaning(tree_vectors(), planted(), candidates=WORDS)
        names = {score.set for score in meaning.scores}
        assert {"coherence", "coherence depth 1", "parent-child", "intrusion depth 1", "unique words"} <= names
        assert {"signs of neighbours depth 0", "density depth 1", "judged nodes"} <= names
        assert {score.task for score in meaning.scores} == {"meaning"}
        assert len({(score.set, score.metric) for score in meaning.scores}) == len(meaning.scores)
        assert "coherence depth 1" in as_markdown(tabulate([("forest", meaning.scores)]))
        objects = json.loads(json.dumps(meaning.as_objects(), allow_nan=False))
        assert [o["parent"] for o in objects] == [-1, 0, 0, -1, 3, 3, -1, 6, 6]
        assert objects[0]["with_parent"] is None
        assert len(objects[1]["words"]) == 10

    def test_flat_vectors_have_one_level_and_no_families(self) -> None:
        names = {score.set for score in judge_meaning(topic_vectors(), planted(), candidates=WORDS).scores}
        assert not [name for name in names if "depth" in name or "parent" in name]

    def test_same_seed_same_numbers(self) -> None:
        first, second = (judge_meaning(tree_vectors(), planted(), candidates=WORDS, seed=4) for _ in range(2))
        assert same_scores(first, second)

    def test_candidates_default_to_words_both_know(self) -> None:
        counts = [*[50] * 121, 10**6]  # so common a last word that the others are below a thousandth
        held = Cooccurrence([*WORDS, "unknown", "the"], counts, 900 * np.ones((122, 122), int))
        vectors = Vectors([*WORDS, "the"], np.vstack([topic_vectors().dense, np.full(N_TOPICS, 9)]))
        judged = judge_meaning(vectors, held)
        assert same_scores(judged, judge_meaning(vectors, held, candidates=held.candidates([vectors.words])))
        words = {word for node in judged.as_objects() for word in node["words"]}
        assert words
        assert words <= set(WORDS)
