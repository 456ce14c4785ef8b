"""Text cut for a cluster: the words of the spans are those of the whole."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from wordforest.errors import InputError
from wordforest.runtime.disk import ScratchFiles
from wordforest.text import TextRules, read_tokens, spans
from wordforest.text.spans import Span, cut_spans, read_span

LINES = st.lists(st.text(st.sampled_from("ab. A?\u00e4\u4e00\u3002'1"), max_size=12), max_size=12)


@settings(max_examples=60)
@given(LINES, st.booleans(), st.integers(1, 40), st.sampled_from(["words", "whitespace"]))
def test_spans_have_the_words_of_the_whole(
    tmp_path_factory: pytest.TempPathFactory, lines: list[str], ends: bool, size: int, tokenizer: str
) -> None:
    path = tmp_path_factory.mktemp("spans") / "text.txt"
    path.write_text("\n".join(["anfang", *lines]) + ("\n" if ends else ""), encoding="utf-8")
    rules = TextRules(tokenizer=tokenizer)  # type: ignore[arg-type]
    scratch = ScratchFiles()
    whole = read_tokens(path, rules, scratch=scratch)
    ids = whole.ids[:].tolist()
    scratch.close()
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
    with pytest.raises(InputError, match=r"bad.txt, bytes 5 to 21: line 1, column 5: byte 0xff is not valid UTF-8"):
        read_span(Span(str(path), 5, 21), TextRules())
