from __future__ import annotations

import bz2
import gzip
import hashlib
import io
import lzma
import random
import tracemalloc
import unicodedata
from collections import Counter
from pathlib import Path
from types import SimpleNamespace

import fsspec
import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from tests.reference import sentences_of_runs, sentences_of_words
from wordforest.errors import InputError
from wordforest.runtime.disk import created, opened, zstd_library
from wordforest.runtime.machine import Threads
from wordforest.text import RARE, TextRules, Tokens, Vocabulary, WordRules, choose_words, read_tokens, reader, tokens
from wordforest.text.reader import find_sources, read_chunks, total_bytes
from wordforest.text.tokenizer import BREAK, FormTable, Tokenizer, split_forms
from wordforest.text.tokens import normalise

RULES = {"words": TextRules("words"), "whitespace": TextRules("whitespace")}
REFERENCE = {"words": sentences_of_words, "whitespace": sentences_of_runs}
WRITERS = {
    ".gz": gzip.compress,
    ".bz2": bz2.compress,
    ".xz": lzma.compress,
    ".zst": zstd_library().compress,
}

# Any text, and text dense in the characters that the rules speak of.
rule_characters = (
    "aAbzIß1 23.,'’!?\"”)( \n\r\t-_#\u00ad\u200c\u200d\ufe0f\u0301\u0307éÉǅŽ漢語。．।ςΣ٣½一\u2028\u00a0😀𐐀𐐨א"
)
texts = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0")) | st.text(rule_characters)


def split_at_breaks(ids: np.ndarray, words: list[str]) -> list[list[str]]:
    sentences: list[list[str]] = [[]]
    for i in ids.tolist():
        if i == BREAK:
            sentences.append([])
        else:
            sentences[-1].append(words[i])
    return [sentence for sentence in sentences if sentence]


def sentences(text: str, tokenizer: Tokenizer = "words", **changes: bool) -> list[list[str]]:
    forms = split_forms(text.encode(), tokenizer)
    rules = TextRules(tokenizer, **changes)
    return split_at_breaks(forms.ids, [normalise(form.decode(), rules) for form in forms.forms])


def words(text: str, tokenizer: Tokenizer = "words", **changes: bool) -> list[str]:
    return [word for sentence in sentences(text, tokenizer, **changes) for word in sentence]


def sentences_of(read: Tokens) -> list[list[str]]:
    return split_at_breaks(read.ids[:], read.words)


def read_small_chunks(monkeypatch: pytest.MonkeyPatch, size: int) -> None:
    monkeypatch.setattr(tokens, "CHUNK_BYTES", size)


# ---- what a word is


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("don't stop", ["don't", "stop"]),
        ("don’t", ["don't"]),
        ("rock'n'roll", ["rock'n'roll"]),
        ("'tis the dogs' o''clock", ["tis", "the", "dogs", "o", "clock"]),
        ("the 1990's", ["the", "1990's"]),
        ("1,000.5", ["#number#"]),
        ("1,000. 5", ["#number#", "#number#"]),
        ("3, 4", ["#number#", "#number#"]),
        ("20th", ["20th"]),
        ("1.5mm v1.5", ["1.5mm", "v1", "#number#"]),
        ("-5", ["#number#"]),
        ("٣٤ ½ Ⅷ", ["#number#"] * 3),
        ("1\u00ad000", ["#number#"]),
        ("一 十", ["一", "十"]),
        ("well-known and/or e-mail", ["well", "known", "and", "or", "e", "mail"]),
        ("snake_case a+b=c", ["snake", "case", "a", "b", "c"]),
        ("... -- !? ( ) _", []),
        ("", []),
        ("café", ["café"]),
        ("cafe\u0301", ["café"]),
        ("J\u030c \u01f0", ["ǰ", "ǰ"]),
        ("हिन्दी भाषा", ["हिन्दी", "भाषा"]),
        ("שָׁלוֹם עולם", ["שָׁלוֹם", "עולם"]),
        ("مرحبا بالعالم", ["مرحبا", "بالعالم"]),
        ("co\u00adoperate \u00ad ", ["cooperate"]),
        ("می\u200cخواهم", ["می\u200cخواهم"]),
        ("ක්\u200dෂ", ["ක්\u200dෂ"]),
        ("漢字仮名交じり文", ["漢字仮名交じり文"]),
        ("love ❤️ 😀 👨‍👩‍👧 👍🏽 🇩🇪 you", ["love", "you"]),
        ("\u0301 a", ["a"]),
        ("İstanbul", ["i̇stanbul"]),
        ("I ı", ["i", "ı"]),
        ("Straße STRASSE ẞ", ["straße", "strasse", "ß"]),
        ("ΟΔΟΣ Σ", ["οδος", "σ"]),
        ("𐌰𐌱 𐐀𐐁 𐐨", ["𐌰𐌱", "𐐨𐐩", "𐐨"]),
        ("ǅ", ["ǆ"]),
        ("a\u200bb a\ufeffb", ["a", "b", "a", "b"]),
        ("a\u00a0b\u3000c\u2028d", ["a", "b", "c", "d"]),
    ],
)
def test_words_table(text: str, expected: list[str]) -> None:
    assert words(text) == expected


@pytest.mark.parametrize(
    ("text", "n_words"),
    [
        ("He left. She stayed.", [2, 2]),
        ("In 1999. The end", [2, 2]),
        ("Yes! No? Well", [1, 1, 1]),
        ('"He left." She stayed', [2, 2]),
        ("(He left.) She stayed", [2, 2]),
        ("He left.” “She stayed", [2, 2]),
        ("He left.' 'She stayed", [2, 2]),
        ("He left ... She stayed", [2, 2]),
        ("Deseret. 𐐀𐐁", [1, 1]),
        ("e.g. the end", [4]),
        ("He left.She stayed", [4]),
        ("He left. , She stayed", [4]),
        ("Who, He", [2]),
        ("page. 5 Men", [3]),
        ("left. עולם", [2]),
        ("漢字。仮名！文", [1, 1, 1]),
        ("पहला वाक्य। दूसरा", [2, 1]),
        ("واحد۔ اثنان؟ ثلاثة", [1, 1, 1]),
        ("a b\nc", [2, 1]),
        ("a b\r\nc", [2, 1]),
        ("a b\rc\r\rd", [2, 1, 1]),
        ("\n\na\n\n\nb\n", [1, 1]),
        ("left. \nShe", [1, 1]),
    ],
)
def test_sentences_table(text: str, n_words: list[int]) -> None:
    assert [len(sentence) for sentence in sentences(text)] == n_words


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Don't , stop . Now", [["don't", ",", "stop", ".", "now"]]),
        ("a\u00a0b\u3000c\td\u2003e", [["a", "b", "c", "d", "e"]]),
        ("-3 +4 −5 1,000.5 - + 1. .5 5% 20th", [["#number#"] * 4 + ["-", "+", "1.", ".5", "5%", "20th"]]),
        ("a b\nc\r\nd\re", [["a", "b"], ["c"], ["d"], ["e"]]),
        ("A . B", [["a", ".", "b"]]),
        ("😀 漢。字 #NUMBER#", [["😀", "漢。字", "#number#"]]),
        ("\u00ad", [["\u00ad"]]),
        (" \n \t\n", []),
    ],
)
def test_whitespace_table(text: str, expected: list[list[str]]) -> None:
    assert sentences(text, "whitespace") == expected


def test_case_and_numbers_stay_when_asked() -> None:
    assert words("The 1,000.5 Cafe\u0301s", lowercase=False, numbers=False) == ["The", "1,000.5", "Cafés"]


@pytest.mark.parametrize("tokenizer", ["words", "whitespace"])
@given(text=texts)
@example("a\nb\nc\nd\ne\n")
@example("A. B. C. D. E. F.")
@settings(deadline=None, max_examples=400)
def test_split_equals_the_slow_reference(tokenizer: Tokenizer, text: str) -> None:
    assert sentences(text, tokenizer) == REFERENCE[tokenizer](text)


@given(st.text(st.characters(categories=["L", "M"]), min_size=1))
@settings(deadline=None)
def test_composed_and_decomposed_writing_give_one_word(text: str) -> None:
    rules = TextRules()
    assert normalise(unicodedata.normalize("NFD", text), rules) == normalise(unicodedata.normalize("NFC", text), rules)


@pytest.mark.parametrize("tokenizer", ["words", "whitespace"])
def test_one_letter_a_line_fits_the_span_buffer(tokenizer: Tokenizer) -> None:
    n = 50_000
    assert sentences("a\n" * n, tokenizer) == [["a"]] * n


def test_the_form_table_grows() -> None:
    n = 40_000  # four doublings of 2^12
    forms = split_forms(" ".join(f"w{i % n}" for i in range(2 * n)).encode(), "words")
    assert forms.forms == [b"w%d" % i for i in range(n)]
    assert forms.ids.tolist() == [*range(n), *range(n)]


def mixed(h: int) -> int:
    h = (h ^ h >> 32) * 0x9E3779B97F4A7C15 % 2**64
    return h ^ h >> 29


def key(form: bytes) -> int:
    """The key of a form in the table, from its definition."""
    if len(form) < 8:
        return int.from_bytes(form, "little")
    h = 0
    for start in range(0, len(form) // 8 * 8 + 1, 8):
        h = mixed(h ^ int.from_bytes(form[start : start + 8], "little"))
    return h | 1 << 63


def test_forms_of_one_slot_stay_apart() -> None:
    by_slot: dict[int, list[str]] = {}
    for i in range(60_000):
        by_slot.setdefault(mixed(key(b"w%d" % i)) % 2**13, []).append(f"w{i}")
    crowded = max(by_slot.values(), key=len)
    assert len(crowded) > 4
    assert words(" ".join(crowded + crowded)) == crowded + crowded


def test_forms_of_one_hash_and_length_stay_apart() -> None:
    rng = random.Random(0)
    letters = bytes(range(97, 123)) + bytes(range(65, 91)) + bytes(range(48, 58))
    first = b"abcdefgh" + b"ijklmnop"
    target = mixed(int.from_bytes(first[:8], "little")) ^ int.from_bytes(first[8:], "little")
    while True:  # any eight bytes and the eight that lead to the same hash, until those are letters: one in 84,000
        start = bytes(rng.choices(letters, k=8))
        rest = (target ^ mixed(int.from_bytes(start, "little"))).to_bytes(8, "little")
        if all(byte in letters for byte in rest):
            break
    pair = [first.decode(), (start + rest).decode()]
    assert key(pair[0].encode()) == key(pair[1].encode())
    assert words(" ".join(pair + pair), lowercase=False) == pair + pair


@pytest.mark.parametrize("length", [1, 6, 7, 8, 9, 15, 16, 17, 40])
def test_forms_that_differ_in_one_byte_stay_apart(length: int) -> None:
    forms = ["a" * i + "b" + "a" * (length - i - 1) for i in range(length)] + ["a" * length, "a" * (length + 1)]
    assert words(" ".join(forms + forms)) == forms + forms


def test_a_table_knows_the_forms_of_earlier_chunks() -> None:
    table = FormTable()
    first, second = (split_forms(text, "words", table) for text in (b"one two one", b"three two considerations"))
    assert (first.ids.tolist(), first.forms) == ([0, 1, 0], [b"one", b"two"])
    assert (second.ids.tolist(), second.forms) == ([2, 1, 3], [b"three", b"considerations"])
    assert table.forms() == [b"one", b"two", b"three", b"considerations"]


def test_a_worker_that_forgets_its_forms_changes_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "a.txt"
    path.write_text("".join(f"w{i * i % 97} w{i % 13}. End\n" for i in range(500)))
    read_small_chunks(monkeypatch, 100)
    whole = read_tokens(path, executor=Threads(2))
    monkeypatch.setattr(tokens, "_MOST_FORMS", 5)
    again = read_tokens(path, executor=Threads(2))
    assert (again.words, again.ids[:].tolist()) == (whole.words, whole.ids[:].tolist())
    assert again.counts.tolist() == whole.counts.tolist()


# ---- chunks


@pytest.mark.parametrize("tokenizer", ["words", "whitespace"])
@given(lines=st.lists(st.text(rule_characters.replace("\n", ""), max_size=12), max_size=12), size=st.integers(40, 90))
@settings(deadline=None)
def test_any_chunk_size_gives_the_same_tokens(
    tmp_path_factory: pytest.TempPathFactory, tokenizer: Tokenizer, lines: list[str], size: int
) -> None:
    text = "x\n" + "\n".join(lines)
    path = tmp_path_factory.mktemp("chunks") / "a.txt"
    path.write_bytes(text.encode())
    chunks = list(read_chunks([str(path)], size=size))
    assert [s for chunk in chunks for s in sentences(chunk.data.decode(), tokenizer)] == REFERENCE[tokenizer](text)


@given(
    parts=st.lists(st.sampled_from(["word ", "Word ", "ОБЪЁМ ", "é ", "7 ", "end. ", "He ", "” ", "\n", "\r\n", "。"])),
    size=st.integers(4, 40),
)
@example(parts=["word ", "\n", "He "] * 4, size=4)
@settings(deadline=None, max_examples=200)
def test_a_line_longer_than_two_chunks_keeps_words_and_sentences(
    tmp_path_factory: pytest.TempPathFactory, parts: list[str], size: int
) -> None:
    text = "x " + "".join(parts)
    path = tmp_path_factory.mktemp("long") / "a.txt"
    path.write_bytes(text.encode())
    with pytest.MonkeyPatch.context() as patch:
        read_small_chunks(patch, size)
        read = read_tokens(path, executor=Threads(1))
    assert sentences_of(read) == sentences_of_words(text)


@pytest.mark.parametrize("word", ["word", "WORD", "слово", "1234"])
def test_a_long_line_is_cut_into_chunks(tmp_path: Path, word: str) -> None:
    path = tmp_path / "line.txt"
    path.write_text(f"{word} " * 5000)
    chunks = list(read_chunks([str(path)], size=1000))
    assert max(len(chunk.data) for chunk in chunks) < 3000
    assert b"".join(chunk.data for chunk in chunks) == path.read_bytes()


def test_an_endless_word_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reader, "_LONGEST_LINE", 1 << 20)
    path = tmp_path / "a.txt"
    path.write_text("x" * (3 << 20))
    with pytest.raises(InputError, match=r"a.txt: a line of more than 1 MiB has no white space"):
        list(read_chunks([str(path)], size=1 << 18))


def test_a_chunk_ends_at_a_line_border(tmp_path: Path) -> None:
    path = tmp_path / "a.txt"
    path.write_text("one two\nthree\nfour five six\nseven")
    chunks = list(read_chunks([str(path)], size=16))
    assert [chunk.data for chunk in chunks] == [b"one two\nthree\n", b"four five six\n", b"seven"]
    assert [chunk.last for chunk in chunks] == [False, False, True]


def test_tokens_do_not_depend_on_the_workers(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "a.txt"
    path.write_text("".join(f"w{i * i % 97} w{i % 13}. End\n" for i in range(500)))
    read_small_chunks(monkeypatch, 100)
    one, three = (read_tokens(path, executor=Threads(n)) for n in (1, 3))
    assert one.words == three.words
    assert one.ids[:].tolist() == three.ids[:].tolist()
    assert one.fingerprint == three.fingerprint


def test_reading_holds_chunks_and_not_the_text(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "big.txt"
    path.write_bytes(b"the cat sat on the mat, 12 times.\n" * 600_000)  # 20 MB
    read_small_chunks(monkeypatch, 1 << 16)
    read_tokens(tmp_path / "big.txt", executor=Threads(1))  # compiled and imported before measuring
    tracemalloc.start()
    try:
        read_tokens(path, executor=Threads(2))
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < path.stat().st_size / 5


# ---- sources


def test_a_file_is_itself(tmp_path: Path) -> None:
    path = tmp_path / "a.txt"
    path.write_text("x")
    assert find_sources(path) == find_sources(str(path)) == [str(path)]


def test_a_folder_is_its_visible_files_sorted(tmp_path: Path) -> None:
    names = ["b.txt", "a.txt", "sub/deep/d.txt", "sub/c.txt", ".hidden", ".git/config", "sub/.cache/e.txt"]
    for name in names:
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text("x")
    found = [Path(source).relative_to(tmp_path).as_posix() for source in find_sources(tmp_path)]
    assert found == ["a.txt", "b.txt", "sub/c.txt", "sub/deep/d.txt"]


def test_a_folder_below_a_hidden_one_is_read(tmp_path: Path) -> None:
    folder = tmp_path / ".cache" / "corpus"
    folder.mkdir(parents=True)
    (folder / "a.txt").write_text("x")
    assert find_sources(folder) == [str(folder / "a.txt")]


def test_a_glob_is_its_files_sorted(tmp_path: Path) -> None:
    for name in ("b.txt", "a.txt", "c.md"):
        (tmp_path / name).write_text("x")
    (tmp_path / "z.txt").mkdir()
    assert find_sources(str(tmp_path / "*.txt")) == [str(tmp_path / "a.txt"), str(tmp_path / "b.txt")]


def test_a_list_keeps_its_order(tmp_path: Path) -> None:
    for name in ("b.txt", "a.txt"):
        (tmp_path / name).write_text("x")
    files = [tmp_path / "b.txt", tmp_path / "a.txt"]
    assert find_sources(iter(files)) == [str(file) for file in files]


@pytest.mark.parametrize("name", ["x[1].txt", "a::b.txt", "with space.txt", "50%.txt", "é?.txt"])
def test_odd_file_names_are_read(tmp_path: Path, name: str) -> None:
    (tmp_path / name).write_text("word")
    assert read_tokens(tmp_path / name).words == ["word"]


@pytest.mark.parametrize("name", ["absent.txt", "absent*.txt", "the text itself " * 300])
def test_what_does_not_exist_is_named(tmp_path: Path, name: str) -> None:
    with pytest.raises(InputError, match=r"no such file or folder|File name too long"):
        find_sources(str(tmp_path / name))


def test_a_missing_url_is_named() -> None:
    with pytest.raises(InputError, match=r"memory://absent.txt: no such file"):
        read_tokens("memory://absent.txt")


def test_no_corpus_is_an_error() -> None:
    with pytest.raises(InputError, match="no corpus given"):
        find_sources([])


@pytest.mark.parametrize("content", ["", "\n \n", "... !\n", "\ufeff"])
def test_a_corpus_without_words_is_named(tmp_path: Path, content: str) -> None:
    path = tmp_path / "void.txt"
    path.write_text(content)
    for corpus in (path, [path], iter([path])):
        with pytest.raises(InputError, match=r"void.txt: the corpus holds no words"):
            read_tokens(corpus)


def test_dash_is_standard_input(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.stdin", SimpleNamespace(buffer=io.BytesIO("Hello wörld\n".encode())))
    assert read_tokens("-").words == ["hello", "wörld"]


@pytest.mark.parametrize("scheme", ["file", "memory"])
def test_urls_are_read(tmp_path: Path, scheme: str) -> None:
    url = f"{scheme}://{tmp_path}/a.txt.gz"
    with fsspec.open(url, "wb") as handle:
        handle.write(gzip.compress(b"some words"))
    assert read_tokens(url).words == ["some", "words"]


def test_files_are_sentence_borders_without_a_final_newline(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("one two")
    (tmp_path / "b.txt").write_text("three four")
    assert sentences_of(read_tokens(tmp_path)) == [["one", "two"], ["three", "four"]]


def test_the_size_is_known_for_plain_files_only(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("12345")
    (tmp_path / "b.txt.GZ").write_bytes(gzip.compress(b"12345"))
    plain = str(tmp_path / "a.txt")
    assert total_bytes([plain, plain]) == 10
    assert [total_bytes([plain, other]) for other in ("-", "memory://a.txt", str(tmp_path / "b.txt.GZ"))] == [None] * 3


# ---- compression


@pytest.mark.parametrize("suffix", [*WRITERS, ".GZ", ".ZST"])
def test_compressed_files_are_read(tmp_path: Path, suffix: str) -> None:
    text = "".join(f"w{i} " for i in range(3000)).encode()
    compress = WRITERS[suffix.lower()]
    path = tmp_path / f"a.txt{suffix}"
    path.write_bytes(compress(text[:7000]) + compress(text[7000:]))  # several members, as parallel tools write
    with opened(str(path)) as stream:
        assert stream.read() == text


@pytest.mark.parametrize("suffix", WRITERS)
def test_a_cut_compressed_file_is_named(tmp_path: Path, suffix: str) -> None:
    path = tmp_path / f"a.txt{suffix}"
    path.write_bytes(WRITERS[suffix](np.random.default_rng(0).bytes(2000).hex().encode())[:-9])
    with pytest.raises(InputError, match=rf"a.txt\{suffix}: cannot be read to its end"):
        read_tokens(path)


@pytest.mark.parametrize("suffix", WRITERS)
def test_a_wrongly_named_plain_file_is_named(tmp_path: Path, suffix: str) -> None:
    path = tmp_path / f"a.txt{suffix}"
    path.write_text("plain text that is not compressed")
    with pytest.raises(InputError, match=rf"a.txt\{suffix}: cannot be read to its end"):
        read_tokens(path)


def test_zst_with_skippable_frames_is_read(tmp_path: Path) -> None:
    skippable = bytes.fromhex("502a4d1804000000") + b"abcd"
    path = tmp_path / "a.zst"
    path.write_bytes(skippable + WRITERS[".zst"](b"one ") + skippable + WRITERS[".zst"](b"two"))
    assert read_tokens(path).words == ["one", "two"]


def test_zst_written_with_a_long_window_is_read(tmp_path: Path) -> None:
    writer = zstd_library().ZstdCompressor(options={zstd_library().CompressionParameter.window_log: 29})
    path = tmp_path / "a.zst"
    path.write_bytes(writer.compress(b"one two") + writer.flush())
    assert read_tokens(path).words == ["one", "two"]


@pytest.mark.parametrize("suffix", ["", *WRITERS])
def test_created_files_are_opened_again(tmp_path: Path, suffix: str) -> None:
    path = tmp_path / f"a{suffix}"
    with created(path, suffix) as handle:
        handle.write(b"content")
    with opened(str(path)) as stream:
        assert stream.read() == b"content"


# ---- bytes


def test_a_byte_order_mark_is_dropped(tmp_path: Path) -> None:
    path = tmp_path / "a.txt"
    path.write_bytes(b"\xef\xbb\xbfword word")
    assert read_tokens(path, RULES["whitespace"]).words == ["word"]


@pytest.mark.parametrize("encoding", ["utf-16", "utf-16-be", "utf-16-le"])
def test_utf16_is_refused(tmp_path: Path, encoding: str) -> None:
    path = tmp_path / "a.txt"
    path.write_bytes("some words\n".encode(encoding))
    with pytest.raises(InputError, match=r"a.txt: line 1.*: .*(UTF-16|NUL)"):
        read_tokens(path)


@pytest.mark.parametrize("bad_line", [1, 2, 700, 1000])
def test_invalid_utf8_is_refused_with_its_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, bad_line: int) -> None:
    lines = [b"caf\xc3\xa9 au lait"] * 1000
    lines[bad_line - 1] = b"caf\xe9 au lait"
    path = tmp_path / "a.txt"
    path.write_bytes(b"\xef\xbb\xbf" + b"\n".join(lines))
    read_small_chunks(monkeypatch, 1000)
    with pytest.raises(InputError, match=rf"a.txt: line {bad_line}, column \d+: byte 0xe9 is not valid UTF-8"):
        read_tokens(path)


def test_invalid_utf8_is_replaced_when_asked(tmp_path: Path) -> None:
    path = tmp_path / "a.txt"
    path.write_bytes(b"one tw\xe9o three")
    rules = TextRules("whitespace", errors="replace")
    assert read_tokens(path, rules).words == ["one", "tw\ufffdo", "three"]


@pytest.mark.parametrize("data", [b"\xc3", b"a\xf0\x9f\x98", b"\xed\xa0\x80", b"\xc0\xaf", b"\xf5\x80\x80\x80"])
def test_cut_and_forbidden_sequences_are_refused(tmp_path: Path, data: bytes) -> None:
    path = tmp_path / "a.txt"
    path.write_bytes(data)
    with pytest.raises(InputError, match="not valid UTF-8"):
        read_tokens(path)


# ---- tokens


@given(text=texts)
@settings(deadline=None)
def test_tokens_hold_every_word_with_its_count(tmp_path_factory: pytest.TempPathFactory, text: str) -> None:
    path = tmp_path_factory.mktemp("tokens") / "a.txt"
    path.write_bytes(("x\n" + text).encode())
    read = read_tokens(path)
    expected = Counter(word for sentence in sentences_of_words("x\n" + text) for word in sentence)
    assert dict(zip(read.words, read.counts.tolist(), strict=True)) == expected
    assert read.n_tokens == expected.total()


def test_more_words_than_the_first_count_array(tmp_path: Path) -> None:
    n = (1 << 16) + 5
    path = tmp_path / "a.txt"
    path.write_text(" ".join(f"w{i}" for i in range(n)))
    read = read_tokens(path)
    assert len(read.words) == n
    assert read.counts.tolist() == [1] * n


def test_the_fingerprint_is_the_hash_of_the_text(tmp_path: Path) -> None:
    path = tmp_path / "a.txt.gz"
    path.write_bytes(gzip.compress(b"one two\nthree"))
    assert read_tokens(path).fingerprint == hashlib.sha256(b"one two\nthree").hexdigest()


def test_progress_tells_tokens_and_bytes(tmp_path: Path) -> None:
    path = tmp_path / "a.txt"
    path.write_text("one two three")
    seen: list[tuple[int, int]] = []
    read_tokens(path, on_progress=lambda done, size: seen.append((done, size)))
    assert seen[-1] == (3, 13)


def test_no_temporary_file_is_left(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("one two")
    folder = tmp_path / "spool"
    folder.mkdir()
    read = read_tokens(tmp_path / "a.txt", scratch_folder=folder)
    assert list(folder.iterdir()) == []
    assert sentences_of(read) == [["one", "two"]]


# ---- vocabulary


def chosen(counts: dict[str, int], min_count: int, max_vocab: int | None = None) -> tuple[dict[str, int], list[str]]:
    """The vocabulary, and the word that each given word became."""
    vocabulary, rows = choose_words(list(counts), np.array(list(counts.values())), WordRules(min_count, max_vocab))
    return dict(zip(vocabulary.words, vocabulary.counts.tolist(), strict=True)), [vocabulary.words[r] for r in rows]


def test_rare_words_become_one() -> None:
    vocabulary, became = chosen({"a": 5, "b": 1, "c": 3, "d": 1}, min_count=2)
    assert list(vocabulary.items()) == [("a", 5), ("c", 3), (RARE, 2)]
    assert became == ["a", RARE, "c", RARE]


def test_a_word_seen_exactly_min_count_times_is_kept() -> None:
    assert chosen({"a": 2, "b": 1}, min_count=2)[0] == {"a": 2, RARE: 1}


def test_ties_are_in_code_point_order() -> None:
    vocabulary, became = chosen({"b": 2, "é": 2, "a": 2, "!": 2, "rare": 1, "rarer": 1}, min_count=2)
    assert list(vocabulary) == ["!", RARE, "a", "b", "é"]
    assert became == ["b", "é", "a", "!", RARE, RARE]


def test_without_rare_words_there_is_no_rare() -> None:
    assert chosen({"a": 2, "b": 2}, min_count=1) == ({"a": 2, "b": 2}, ["a", "b"])


def test_max_vocab_keeps_the_most_frequent() -> None:
    vocabulary, became = chosen({"a": 1, "b": 5, "c": 4}, min_count=1, max_vocab=2)
    assert vocabulary == {"b": 5, "c": 4, RARE: 1}
    assert became == [RARE, "b", "c"]


def test_rare_written_in_the_text_joins_the_rare_words() -> None:
    vocabulary, became = chosen({RARE: 7, "a": 5, "b": 1}, min_count=2)
    assert list(vocabulary.items()) == [(RARE, 8), ("a", 5)]
    assert became == [RARE, "a", RARE]


@pytest.mark.parametrize("counts", [{"a": 1, "b": 1}, {RARE: 50}])
def test_nothing_left_is_an_error(counts: dict[str, int]) -> None:
    with pytest.raises(InputError, match="no word occurs 2 times or more"):
        chosen(counts, min_count=2)


@pytest.mark.parametrize("max_vocab", [0, -1])
def test_max_vocab_below_one_is_an_error(max_vocab: int) -> None:
    with pytest.raises(InputError, match=rf"max_vocab = {max_vocab}"):
        chosen({"a": 2, "b": 2}, min_count=1, max_vocab=max_vocab)


@given(
    st.dictionaries(st.sampled_from([RARE, *"abcdefgh#z"]), st.integers(1, 6), min_size=1),
    st.integers(1, 4),
    st.none() | st.integers(1, 5),
)
def test_the_vocabulary_keeps_every_token_in_order(
    counts: dict[str, int], min_count: int, max_vocab: int | None
) -> None:
    try:
        vocabulary, became = chosen(counts, min_count, max_vocab)
    except InputError:
        assert all(n < min_count for word, n in counts.items() if word != RARE)
        return
    summed: Counter[str] = Counter()
    for word, n in zip(became, counts.values(), strict=True):
        summed[word] += n
    assert vocabulary == summed
    assert list(vocabulary) == sorted(summed, key=lambda word: (-summed[word], word))
    assert all(new in (old, RARE) for old, new in zip(counts, became, strict=True))


def test_a_vocabulary_needs_a_count_for_each_word() -> None:
    with pytest.raises(InputError, match="2 words but 1 counts"):
        Vocabulary(["a", "b"], [1])


def test_a_vocabulary_knows_its_words_and_cannot_be_written_to() -> None:
    vocabulary = Vocabulary(["a", "b"], [3, 1])
    assert (len(vocabulary), "b" in vocabulary, "c" in vocabulary, vocabulary.index) == (
        2,
        True,
        False,
        {"a": 0, "b": 1},
    )
    with pytest.raises(ValueError, match="read-only"):
        vocabulary.counts[0] = 9
