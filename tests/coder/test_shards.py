"""How rows and text are cut for a cluster: what is cut adds up to the whole, whoever computes it."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse
from wordforest.coder.shards import equal_ranges, row_sizes, shard_rows, split_rows

from wordforest.counts.association import log_margins, margins, pmi, pmi_rows, sppmi
from wordforest.errors import InputError
from wordforest.runtime.scratch import ScratchFiles
from wordforest.text import TextRules, read_tokens, spans
from wordforest.text.spans import Span, cut_spans, read_span


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


@pytest.mark.parametrize("shift", [None, 0.0, 0.3])
def test_rows_of_an_association_are_those_of_the_whole(shift: float | None) -> None:
    counts = sparse.random_array((40, 30), density=0.3, rng=np.random.default_rng(0), format="csr")
    counts.data = np.ceil(counts.data * 50).astype(np.int32)
    whole = pmi(counts, smoothing=0.75) if shift is None else sppmi(counts, shift=shift, smoothing=0.75)
    log_v, log_c = log_margins(*margins(counts), 0.75)
    for first, last in ((0, 1), (1, 17), (17, 40)):
        part = pmi_rows(counts[first:last], log_v[first:last], log_c, shift)
        np.testing.assert_array_equal(part.toarray(), whole[first:last].toarray())


LINES = st.lists(st.text(st.sampled_from("ab. A?\u00e4\u4e00\u3002'1"), max_size=12), max_size=12)


@settings(max_examples=60)
@given(LINES, st.booleans(), st.integers(1, 40), st.sampled_from(["words", "whitespace"]))
def test_spans_have_the_words_of_the_whole(
    tmp_path_factory: pytest.TempPathFactory, lines: list[str], ends: bool, size: int, tokenizer: str
) -> None:
    path = tmp_path_factory.mktemp("spans") / "text.txt"
    path.write_text("\n".join(["anfang", *lines]) + ("\n" if ends else ""), encoding="utf-8")
    rules = TextRules(tokenizer=tokenizer)  # type: ignore[arg-type]
    place = ScratchFiles()
    whole = read_tokens(path, rules, place=place)
    ids = whole.ids.tolist()
    place.close()
    length = path.stat().st_size
    parts = [read_span(Span(str(path), start, min(start + size, length)), rules) for start in range(0, length, size)]
    found = [part.words[i] if i >= 0 else None for part in parts for i in part.ids]
    assert found == [whole.words[i] if i >= 0 else None for i in ids]
    counted = [(word, int(n)) for part in parts for word, n in zip(part.words, part.counts, strict=True)]
    totals = dict(zip(whole.words, whole.counts.tolist(), strict=True))
    assert {word: sum(n for w, n in counted if w == word) for word, _ in counted} == totals


def test_plain_text_is_cut_and_compressed_text_is_not(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(spans, "_LEAST", 100)
    plain, packed = tmp_path / "a.txt", tmp_path / "b.txt.gz"
    plain.write_bytes(b"word\n" * 1000)
    packed.write_bytes(b"not looked at" * 100)
    found = cut_spans([str(plain), str(packed), "memory://c.txt"])
    assert [span.stop for span in found[-2:]] == [None, None]
    assert len(found) == 16 + 2
    assert (found[0].start, found[15].stop) == (0, 5000)


def test_standard_input_cannot_be_shared() -> None:
    with pytest.raises(InputError, match="standard input cannot be read by the workers"):
        cut_spans(["-"])


def test_bad_text_names_the_span(tmp_path: Path) -> None:
    path = tmp_path / "bad.txt"
    path.write_bytes(b"good\nbad \xff here\nend\n")
    with pytest.raises(InputError, match=r"bad.txt, bytes 5 to 21: line 1: byte 0xff is not valid UTF-8"):
        read_span(Span(str(path), 5, 21), TextRules())
