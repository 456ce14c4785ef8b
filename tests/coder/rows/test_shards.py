"""How rows are cut into shards: what is cut adds up to the whole, whoever computes it."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse

from wordforest.coder.rows.base import equal_ranges, row_sizes, shard_rows, split_rows


@given(st.lists(st.integers(0, 1 << 20), min_size=1, max_size=60), st.integers(1, 600))
def test_shards_cover_all_rows_in_order(sizes: list[int], n_components: int) -> None:
    ranges = shard_rows(np.array(sizes), n_components)
    assert [first for first, _ in ranges] == [0, *(last for _, last in ranges[:-1])]
    assert ranges[-1][1] == len(sizes)
    assert all(first < last for first, last in ranges)


def test_ranges_have_equal_costs_where_rows_allow_it() -> None:
    cost = np.random.default_rng(0).integers(1, 100, 10_000)
    sums = [int(cost[a:b].sum()) for a, b in equal_ranges(cost, 7)]
    assert len(sums) == 7
    assert max(sums) - min(sums) <= 2 * 100  # a row at each border


def test_no_rows_have_no_ranges() -> None:
    assert equal_ranges(np.array([], dtype=np.int64), 1) == []


@given(st.sets(st.integers(0, 99)), st.sets(st.integers(1, 99), max_size=6))
def test_rows_fall_into_the_ranges_they_belong_to(rows: set[int], borders: set[int]) -> None:
    cuts = [0, *sorted(borders), 100]
    ranges = list(pairwise(cuts))
    chosen = np.array(sorted(rows), dtype=np.int64)
    for (first, last), place in zip(ranges, split_rows(chosen, ranges), strict=True):
        assert chosen[place].tolist() == [row for row in sorted(rows) if first <= row < last]


def test_entries_of_rows() -> None:
    X = sparse.csr_array(np.array([[1.0, 0, 2], [0, 0, 0]]))
    assert row_sizes(X).tolist() == [2, 0]
    assert row_sizes(X.toarray()).tolist() == [3, 3]
