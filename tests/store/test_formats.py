"""Files of vectors: round trips, files as others published them, odd ones, damaged ones."""

from __future__ import annotations

import bz2
import gzip
import io
import lzma
import struct
import subprocess
import sys
import zipfile
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from safetensors.numpy import save_file
from scipy import sparse

from wordforest.coder.forest import Forest
from wordforest.errors import InputError, MissingExtraError
from wordforest.runtime.disk import zstd_library
from wordforest.store import read_vectors, vector_files, write_vectors
from wordforest.store.files import read_text
from wordforest.store.formats.numbers import parse_numbers
from wordforest.vectors import Vectors

needs_pyarrow = pytest.mark.skipif(find_spec("pyarrow") is None, reason="needs the extra parquet")
GLOVE = Path(__file__).parents[3] / "shared/data/vectors/glove.6B.50d.top20k.txt.gz"
VALUES = [[0.5, 0.0, -1.25], [0.1, 3e-45, 3.4e38]]  # exact zero, smallest and largest float32
LINES = ["v.bin", "v.txt", "v.vec", "v.w2v", "v.glove", "v.glove.txt"]
ARRAYS = ["v.npz", "v.safetensors", pytest.param("v.parquet", marks=needs_pyarrow)]
FILES = [*LINES, "v.tsv", *ARRAYS]

# a file is written per example: the folder is shared between them on purpose
shared_folder = settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=40)
words_without_spaces = st.text(
    st.characters(exclude_categories=["Cs"], exclude_characters=" \t\n\r\x0b\f"), min_size=1, max_size=6
)
words_of_a_run = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\t\n"), max_size=6)
words_of_a_line = words_of_a_run.map(lambda word: "w" + word.replace("\r", ""))  # spaces inside and at the end
words_of_arrays = st.text(st.characters(exclude_categories=["Cs"]), max_size=6).map(lambda word: word.rstrip("\0"))
float32s = st.just(0.0) | st.floats(width=32, allow_nan=False, allow_infinity=False)


@st.composite
def some_vectors(
    draw: st.DrawFn, words: st.SearchStrategy[str] = words_without_spaces, structured: bool = False
) -> Vectors:
    names = draw(st.lists(words, min_size=1, max_size=5, unique=True))
    if names[0].startswith("\ufeff"):  # refused at the start of a file without a header
        names = list(dict.fromkeys(["x" + names[0], *names[1:]]))
    width = draw(st.integers(1, 4))
    matrix = draw(hnp.arrays(np.float32, (len(names), width), elements=float32s))
    if not structured:
        return Vectors(names, matrix)
    forest = draw(st.sampled_from([None, Forest.flat(width), Forest(range(-1, width - 1))]))
    return Vectors(names, sparse.csr_array(matrix) if draw(st.booleans()) else matrix, forest=forest)


def assert_same(a: Vectors, b: Vectors) -> None:
    assert a.words == b.words
    np.testing.assert_array_equal(a.dense, b.dense)


def put(path: Path, content: str | bytes) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    return path


def names_in(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


# round trips


@shared_folder
@given(vectors=some_vectors(words=words_of_a_run))
def test_any_vectors_come_back_from_a_run_folder(tmp_path: Path, vectors: Vectors) -> None:
    write_vectors(tmp_path / "run", vectors)
    assert_same(read_vectors(tmp_path / "run"), vectors)


def test_a_forest_comes_back_from_a_run_folder(tmp_path: Path) -> None:
    write_vectors(tmp_path / "run", Vectors(["a"], [[1.0, 2.0]], forest=Forest([-1, 0])))
    assert read_vectors(tmp_path / "run").forest == Forest([-1, 0])


def test_vectors_that_cannot_be_written_leave_the_old_file(tmp_path: Path) -> None:
    path = tmp_path / "v.txt"
    write_vectors(path, Vectors(["a"], [[1.0]]))
    with pytest.raises(InputError):
        write_vectors(path, Vectors(["b", "c d"], [[1.0], [2.0]]))
    assert_same(read_vectors(path), Vectors(["a"], [[1.0]]))


# formats of other tools


@pytest.mark.parametrize("name", LINES)
@shared_folder
@given(vectors=some_vectors())
@example(vectors=Vectors(["#", "1"], [[1.0], [2.0]]))  # neither a comment nor a matrix
def test_any_vectors_come_back_exactly(tmp_path: Path, name: str, vectors: Vectors) -> None:
    write_vectors(tmp_path / name, vectors)
    assert_same(read_vectors(tmp_path / name), vectors)


@pytest.mark.parametrize("name", FILES)
def test_every_bit_of_a_float32_comes_back(tmp_path: Path, name: str) -> None:
    bits = np.random.default_rng(2).integers(0, 0x7F800000, size=(500, 10), dtype=np.uint32)  # below infinity
    vectors = Vectors([f"w{i}" for i in range(500)], bits.view(np.float32))
    write_vectors(tmp_path / name, vectors)
    assert_same(read_vectors(tmp_path / name), vectors)


@pytest.mark.parametrize("suffix", [".gz", ".bz2", ".xz", ".zst"])
@pytest.mark.parametrize("name", ["v.txt", "v.glove.txt", "v.bin", "v.tsv"])
def test_compressed_files_come_back(tmp_path: Path, name: str, suffix: str) -> None:
    vectors = Vectors(["a", "ü"], VALUES)
    write_vectors(tmp_path / (name + suffix), vectors)
    assert_same(read_vectors(tmp_path / (name + suffix)), vectors)


@pytest.mark.parametrize(
    ("suffix", "start"),
    [(".gz", b"\x1f\x8b"), (".bz2", b"BZh"), (".xz", b"\xfd7zXZ"), (".zst", b"\x28\xb5\x2f\xfd")],
)
def test_a_suffix_of_compression_compresses(tmp_path: Path, suffix: str, start: bytes) -> None:
    path = tmp_path / f"v.txt{suffix}"
    write_vectors(path, Vectors(["a"], [[1.0]]))
    assert path.read_bytes().startswith(start)


@pytest.mark.parametrize(
    ("suffix", "compress"),
    [(".gz", gzip.compress), (".bz2", bz2.compress), (".xz", lzma.compress), (".zst", zstd_library().compress)],
)
class TestCompressed:
    def test_several_parts_in_a_row_are_all_read(self, tmp_path: Path, suffix: str, compress: object) -> None:
        path = tmp_path / f"v.glove.txt{suffix}"
        path.write_bytes(compress(b"a 1 2\n") + compress(b"b 3 4\n"))
        assert read_vectors(path).words == ("a", "b")

    def test_a_cut_file_is_refused(self, tmp_path: Path, suffix: str, compress: object) -> None:
        rows = np.random.default_rng(3).integers(0, 99, size=(5000, 2))
        content = b"".join(b"w%d %d %d\n" % (i, *row) for i, row in enumerate(rows))
        path = tmp_path / f"v.glove.txt{suffix}"
        path.write_bytes(compress(content)[:-20])
        with pytest.raises(InputError, match=r"v\.glove\.txt.* cannot be read to its end"):
            read_vectors(path)

    def test_a_file_that_is_not_compressed_is_refused(self, tmp_path: Path, suffix: str, compress: object) -> None:
        path = tmp_path / f"v.glove.txt{suffix}"
        path.write_bytes(b"a 1 2\nb 3 4\n" * 20)
        with pytest.raises(InputError, match="cannot be read to its end"):
            read_vectors(path)


def test_exact_zeros_are_written_as_0(tmp_path: Path) -> None:
    write_vectors(tmp_path / "v.txt", Vectors(["a"], [[0.0, -0.0, 0.5]]))
    assert read_text(tmp_path / "v.txt") == "1 3\na 0 0 0.5\n"


def test_glove_text_has_no_header(tmp_path: Path) -> None:
    write_vectors(tmp_path / "v.glove.txt", Vectors(["a"], [[1.0]]))
    assert read_text(tmp_path / "v.glove.txt") == "a 1\n"


def test_a_binary_file_is_recognised_without_its_suffix(tmp_path: Path) -> None:
    vectors = Vectors(["a", "b"], VALUES)
    write_vectors(tmp_path / "v.bin", vectors)
    (tmp_path / "v.bin").rename(tmp_path / "v.model")
    assert_same(read_vectors(tmp_path / "v.model"), vectors)


def test_a_text_word_of_control_characters_does_not_make_a_file_binary(tmp_path: Path) -> None:
    (tmp_path / "v.txt").write_bytes(b"1 2\n\x00\x01 1 2\n")
    assert read_vectors(tmp_path / "v.txt").words == ("\0\1",)


@pytest.mark.parametrize(
    "content",
    [
        b"a 1 2\nb 3 4\n",
        b"a 1 2\nb 3 4",
        b"a\t1 2 \r\nb  3\t4\r\n",
        b"2 2\na 1 2\nb 3 4\n",
        b"2 2 \na 1e0 +2 \nb 3. 4 \n",
    ],
)
def test_usual_varieties_of_text_are_read(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "v.txt").write_bytes(content)
    assert_same(read_vectors(tmp_path / "v.txt"), Vectors(["a", "b"], [[1, 2], [3, 4]]))


def test_a_word_with_spaces_is_read(tmp_path: Path) -> None:
    (tmp_path / "v.txt").write_bytes(b"a 1 2\n. . . 3 4\nat me@x.org 5 6\n")
    assert read_vectors(tmp_path / "v.txt").words == ("a", ". . .", "at me@x.org")


def test_words_with_underscores_are_read(tmp_path: Path) -> None:
    (tmp_path / "v.txt").write_bytes(b"new_york 1 2\n")
    assert read_vectors(tmp_path / "v.txt").words == ("new_york",)


def test_binary_records_may_end_with_a_line_end(tmp_path: Path) -> None:
    (tmp_path / "v.bin").write_bytes(b"2 1\na " + struct.pack("<f", 1) + b"\nb " + struct.pack("<f", 2) + b"\n")
    assert_same(read_vectors(tmp_path / "v.bin"), Vectors(["a", "b"], [[1], [2]]))


def test_binary_records_may_cross_the_borders_of_reading(tmp_path: Path) -> None:
    matrix = np.random.default_rng(5).normal(size=(700, 1000))  # 2.8 MB, read by the megabyte
    vectors = Vectors([f"w{i}" for i in range(700)], matrix)
    write_vectors(tmp_path / "v.bin", vectors)
    assert_same(read_vectors(tmp_path / "v.bin"), vectors)


ONE, NAN = struct.pack("<ff", 1, 2), struct.pack("<ff", 1, float("nan"))
# Damage that is not in the table of torture/bad_input.py.
DAMAGED_FILES = {
    "empty binary": ("v.bin", b"", r"v\.bin: expected word vectors, but the file is empty"),
    "blank line": ("v.txt", b"a 1 2\n\nb 3 4\n", r"v\.txt, line 2: .* 0 fields"),
    "blank first line": ("v.txt", b"\na 1\n", r"v\.txt, line 1: expected a word and its numbers"),
    "inf": ("v.txt", b"2 2\na 1 2\nb -inf 4\n", r"v\.txt, line 3: the vector of 'b' holds NaN or inf"),
    "header too large": (
        "v.txt",
        b"3 2\na 1 2\nb 3 4\n",
        r"v\.txt, line 1: the header promises 3 words, but 2",
    ),
    "header too small": (
        "v.txt",
        b"1 2\na 1 2\nb 3 4\n",
        r"v\.txt, line 1: the header promises 1 words, but 2",
    ),
    "header too wide": ("v.txt", b"1 3\na 1 2\n", r"v\.txt, line 2: expected a word and 3 numbers"),
    "first row partly numbers": ("v.txt", b"a 1 x\nb 1 2\n", r"v\.txt, line 1: value 2, 'x', is not a number"),
    "word missing in a tab row": ("v.txt", b"a\t1\t2\n\t3\t4\n", r"v\.txt, line 2: expected a word and 2 numbers"),
    "header alone": ("v.txt", b"2 2\n", r"v\.txt, line 1: the header promises 2 words, but 0"),
    "header of zeros": ("v.txt", b"0 0\n", r"v\.txt, line 1: expected a header"),
    "glove with header": ("v.glove", b"2 2\na 1 2\n", r"v\.glove, line 2: expected a word and 1 numbers"),
    "binary cut in a vector": ("v.bin", b"1 2\na " + ONE[:-1], r"v\.bin, record 1 of 1: .* the file ends"),
    "binary cut in a word": ("v.bin", b"2 2\na " + ONE + b"bc", r"v\.bin, record 2 of 2: .* the file ends"),
    "binary header alone": ("v.bin", b"2 2\n", r"v\.bin, record 1 of 2: .* the file ends"),
    "binary nan": ("v.bin", b"2 2\na " + ONE + b"b " + NAN, r"v\.bin, record 2: the vector of 'b' holds NaN"),
}


@pytest.mark.parametrize("case", DAMAGED_FILES)
def test_a_damaged_file_is_refused_with_its_place(tmp_path: Path, case: str) -> None:
    name, content, message = DAMAGED_FILES[case]
    (tmp_path / name).write_bytes(content)
    with pytest.raises(InputError, match=message):
        read_vectors(tmp_path / name)


@pytest.mark.parametrize("name", LINES)
@pytest.mark.parametrize("word", ["new york", "a\tb", "a\n", "\r", ""])
def test_a_word_with_whitespace_is_not_written(tmp_path: Path, name: str, word: str) -> None:
    with pytest.raises(InputError, match="is empty or holds a space"):
        write_vectors(tmp_path / name, Vectors([word], [[1.0]]))
    assert names_in(tmp_path) == []


def test_a_word_without_utf8_form_is_not_written(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="has no UTF-8 form"):
        write_vectors(tmp_path / "v.txt", Vectors(["\ud800"], [[1.0]]))


@pytest.mark.parametrize("shape", [(0, 2), (1, 0)])
def test_nothing_is_not_written(tmp_path: Path, shape: tuple[int, int]) -> None:
    with pytest.raises(InputError, match="nothing to write"):
        write_vectors(tmp_path / "v.txt", Vectors(["a"][: shape[0]], np.zeros(shape)))


@pytest.mark.parametrize("name", ["v.docx", "v.gz"])
def test_an_unknown_suffix_lists_the_known_ones(tmp_path: Path, name: str) -> None:
    with pytest.raises(InputError, match=r"no format goes by this name. Use \.bin"):
        write_vectors(tmp_path / name, Vectors(["a"], [[1.0]]))


@pytest.mark.parametrize("name", ["gone.txt", "gone.bin.zst", "gone"])
def test_missing_vectors_are_named(tmp_path: Path, name: str) -> None:
    with pytest.raises(InputError, match=f"{name}: no such file or folder"):
        read_vectors(tmp_path / name)


def test_an_unknown_protocol_is_named() -> None:
    with pytest.raises(InputError, match=r"nowhere://v\.txt: cannot be opened"):
        read_vectors("nowhere://v.txt")


# gensim as the oracle

GENSIM = [("v.txt", {}), ("v.bin", {"binary": True}), ("v.glove.txt", {"no_header": True})]
odd_words = ["naïve", "日本", "🌲", "1\u00a0½", "o'clock", "#number#", "\u2028", "_"]


# gensim leaves a file without header open
@pytest.mark.filterwarnings(r"ignore:unclosed file .*v\.glove\.txt:ResourceWarning")
@pytest.mark.parametrize(("name", "options"), GENSIM)
def test_gensim_reads_what_we_write(tmp_path: Path, name: str, options: dict[str, bool]) -> None:
    models = pytest.importorskip("gensim.models")
    vectors = Vectors(odd_words, np.random.default_rng(11).normal(size=(8, 5)))
    write_vectors(tmp_path / name, vectors)
    back = models.KeyedVectors.load_word2vec_format(str(tmp_path / name), **options)
    assert tuple(back.index_to_key) == vectors.words
    np.testing.assert_array_equal(back.vectors, vectors.dense)


@pytest.mark.parametrize(
    ("name", "options"), [("v.txt", {}), ("v.txt", {"write_header": False}), ("v.bin", {"binary": True})]
)
def test_we_read_what_gensim_writes(tmp_path: Path, name: str, options: dict[str, bool]) -> None:
    models = pytest.importorskip("gensim.models")
    matrix = np.random.default_rng(12).normal(size=(8, 5)).astype(np.float32)
    keyed = models.KeyedVectors(5)
    keyed.add_vectors(odd_words, matrix)
    keyed.save_word2vec_format(str(tmp_path / name), **options)
    assert_same(read_vectors(tmp_path / name), Vectors(odd_words, matrix))


@pytest.mark.skipif(not GLOVE.is_file(), reason=f"needs {GLOVE.name}, which is not part of the repository")
def test_published_glove_vectors_are_read() -> None:
    vectors = read_vectors(GLOVE)
    assert (len(vectors), vectors.n_dimensions, vectors.words[0]) == (20_000, 50, "the")
    assert vectors["the"][:2].tolist() == np.array([0.418, 0.24968], np.float32).tolist()
    assert "queen" in [word for word, _ in vectors.most_similar("king", topn=3)]


# arrays and the Embedding Projector


@pytest.mark.parametrize("name", ARRAYS)
@shared_folder
@given(vectors=some_vectors(words=words_of_arrays, structured=True))
def test_any_vectors_and_forest_come_back_from_arrays(tmp_path: Path, name: str, vectors: Vectors) -> None:
    write_vectors(tmp_path / name, vectors)
    back = read_vectors(tmp_path / name)
    assert_same(back, vectors)
    assert back.forest == vectors.forest


@pytest.mark.parametrize("name", ["v.npz", "v.safetensors"])
@pytest.mark.parametrize("kind", [np.asarray, sparse.csr_array])
def test_a_sparse_matrix_stays_sparse_and_a_dense_one_dense(tmp_path: Path, name: str, kind: object) -> None:
    vectors = Vectors(["a", "b"], kind(np.array([[0.0, 1.5], [0.0, 0.0]])))
    write_vectors(tmp_path / name, vectors)
    assert type(read_vectors(tmp_path / name).matrix) is type(vectors.matrix)


@shared_folder
@given(vectors=some_vectors(words=words_of_a_line))
def test_any_vectors_come_back_from_the_projector(tmp_path: Path, vectors: Vectors) -> None:
    write_vectors(tmp_path / "v.tsv", vectors)
    assert_same(read_vectors(tmp_path / "v.tsv"), vectors)


def test_the_projector_gets_values_and_words_in_two_files(tmp_path: Path) -> None:
    write_vectors(tmp_path / "v.tsv", Vectors(["new york", "ü"], [[0.5, 0.0], [-1.0, 2.0]]))
    assert read_text(tmp_path / "v.tsv") == "0.5\t0\n-1\t2\n"
    assert read_text(tmp_path / "v.metadata.tsv") == "new york\nü\n"


def test_metadata_of_several_columns_has_a_line_of_names(tmp_path: Path) -> None:
    put(tmp_path / "v.metadata.tsv", "Word\tCount\na\t5\nb\t3\n")
    assert_same(read_vectors(put(tmp_path / "v.tsv", "1\t2\n3\t4\n")), Vectors(["a", "b"], [[1, 2], [3, 4]]))


@pytest.mark.parametrize("name", ["v.tsv", "v.tsv.gz", "v.npz", "v.txt", "run"])
def test_vector_files_are_those_that_are_written(tmp_path: Path, name: str) -> None:
    write_vectors(tmp_path / name, Vectors(["a"], [[1.0]]))
    assert sorted(path.name for path in vector_files(tmp_path / name)) == names_in(tmp_path)


def test_npz_holds_plain_arrays(tmp_path: Path) -> None:
    write_vectors(tmp_path / "v.npz", Vectors(["a", "ü"], VALUES, forest=Forest([-1, 0, 0])))
    with np.load(tmp_path / "v.npz", allow_pickle=False) as arrays:
        assert {name: arrays[name].dtype.kind for name in arrays.files} == {"words": "U", "matrix": "f", "parent": "i"}
        assert arrays["words"].tolist() == ["a", "ü"]


def test_npz_refuses_a_word_that_it_would_shorten(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"word 0, 'a\\x00', ends with NUL"):
        write_vectors(tmp_path / "v.npz", Vectors(["a\0"], [[1.0]]))


@pytest.mark.parametrize("name", ["v.glove", "v.tsv"])
def test_a_first_word_that_readers_would_drop_is_not_written(tmp_path: Path, name: str) -> None:
    with pytest.raises(InputError, match=r"starts with U\+FEFF"):
        write_vectors(tmp_path / name, Vectors(["\ufeff"], [[1.0]]))


def npz(**arrays: object) -> bytes:
    file = io.BytesIO()
    np.savez(file, **arrays)
    return file.getvalue()


AB, EYE = np.array(["a", "b"]), np.eye(2, dtype=np.float32)
PARTS = {"data": np.ones(2, np.float32), "indices": np.array([0, 1]), "indptr": np.array([0, 1, 2])}
DAMAGED_NPZ = {
    "words of bytes": (npz(words=np.array([b"a", b"b"]), matrix=EYE), r"expected an array words of strings"),
    "no matrix": (npz(words=AB, vectors=EYE), r"expected words and matrix, or .* but there is vectors \(.*, words \("),
    "matrix nan": (npz(words=AB, matrix=EYE / np.array([1, np.nan])), r"v\.npz, row 0: the vector of 'a' holds NaN"),
    "matrix too large": (npz(words=AB, matrix=np.eye(2) * 1e99), r"v\.npz, row 0: the vector of 'a' holds NaN or inf"),
    "forest short": (
        npz(words=AB, matrix=EYE, parent=np.array([-1])),
        r"v\.npz: the forest has 1 nodes, but the matrix has 2 columns",
    ),
    "shape of three": (npz(words=AB, **PARTS, shape=np.array([2, 2, 2])), r"v\.npz: shape must be two sizes"),
    "shape of floats": (npz(words=AB, **PARTS, shape=np.ones(2)), "shape must be a list of int32 or int64"),
}


@pytest.mark.parametrize("case", DAMAGED_NPZ)
def test_a_damaged_npz_is_refused(tmp_path: Path, case: str) -> None:
    content, message = DAMAGED_NPZ[case]
    with pytest.raises(InputError, match=message):
        read_vectors(put(tmp_path / "v.npz", content))


def test_an_archive_of_something_else_is_refused(tmp_path: Path) -> None:
    with zipfile.ZipFile(tmp_path / "v.pt", "w") as archive:
        archive.writestr("archive/data.pkl", b"")
    with pytest.raises(InputError, match=r"expected an array words of strings, but there is archive/data\.pkl"):
        read_vectors(tmp_path / "v.pt")


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (b'["a", "\xff"]', "words must be a JSON list"),
        (b'["a"]', "1 words and 2 rows do not agree"),
    ],
)
def test_safetensors_with_damaged_words_is_refused(tmp_path: Path, words: bytes, message: str) -> None:
    save_file({"matrix": EYE, "words": np.frombuffer(words, np.uint8)}, tmp_path / "v.safetensors")
    with pytest.raises(InputError, match=message):
        read_vectors(tmp_path / "v.safetensors")


@needs_pyarrow
@pytest.mark.parametrize(
    ("columns", "message"),
    [
        ({"word": ["a"]}, r"expected the columns word \(string\) and vector .* but there is word \(string\)"),
        ({"word": [1], "vector": [[1.0]]}, r"there is word \(int64\)"),
        ({"word": ["a"], "vector": [["x"]]}, "list of floats"),
        ({"word": ["a", "b"], "vector": [[1.0, 2.0], [3.0]]}, "row 1: expected 2 numbers, but 1 came"),
        ({"word": ["a"], "vector": [[1.0, None]]}, "row 0: the vector of 'a' holds NaN"),
        ({"word": ["a", None], "vector": [[1.0], [2.0]]}, "2 rows with 1 empty cells"),
    ],
)
def test_a_parquet_table_of_another_form_is_refused(tmp_path: Path, columns: dict, message: str) -> None:
    import pyarrow
    import pyarrow.parquet

    pyarrow.parquet.write_table(pyarrow.table(columns), tmp_path / "v.parquet")
    with pytest.raises(InputError, match=message):
        read_vectors(tmp_path / "v.parquet")


@needs_pyarrow
def test_lists_of_doubles_are_read_from_parquet(tmp_path: Path) -> None:
    import pyarrow
    import pyarrow.parquet

    table = pyarrow.table({"word": ["a", "b"], "vector": [[1.0, 2.0], [3.0, 4.0]], "n": [1, 2]})
    pyarrow.parquet.write_table(table, tmp_path / "v.parquet")
    assert_same(read_vectors(tmp_path / "v.parquet"), Vectors(["a", "b"], [[1, 2], [3, 4]]))


def test_parquet_without_pyarrow_names_the_extra(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    with pytest.raises(MissingExtraError, match=r"pip install 'pyarrow>=15'"):
        write_vectors(tmp_path / "v.parquet", Vectors(["a"], [[1.0]]))


def test_gensims_own_file_is_refused_with_the_way_out(tmp_path: Path) -> None:
    models = pytest.importorskip("gensim.models")
    keyed = models.KeyedVectors(2)
    keyed.add_vectors(["a"], np.ones((1, 2), np.float32))
    keyed.save(str(tmp_path / "v.kv"))
    with pytest.raises(InputError, match=r"this is a pickle.*save_word2vec_format"):
        read_vectors(tmp_path / "v.kv")


# files as they were published

ROWS, TWO = "0.5 -1\n2 3e-1\n", Vectors(["a", "b"], [[0.5, -1], [2, 0.3]])
PUBLISHED = {
    "SENNA": ({"hash/words.lst": "a\nb\n", "embeddings/embeddings.txt": ROWS}, "embeddings/embeddings.txt"),
    "RNN-DC": ({"vocab.txt": "a\nb\n", "wordVectors.txt": ROWS}, "wordVectors.txt"),
    "HPCA": ({"vocab.txt": "a\nb\n", "words.txt": ROWS}, "words.txt"),
    "HPCA, other names": ({"words.txt": "a\nb\n", "vectors.txt": ROWS}, "vectors.txt"),
    "words without a last line end": ({"vocab.txt": "a\r\nb", "x.txt": ROWS.replace(" ", "\t")}, "x.txt"),
    "HLBL": ({"hlbl.txt": "a 0.5 -1\nb 2 3e-1\n"}, "hlbl.txt"),
    "NNSE": ({"nnse.txt": "a\t0.5\t-1\nb\t2\t3e-1\n"}, "nnse.txt"),
    "GloVe": ({"glove.6B.txt": "a 0.5 -1\nb 2 3e-1\n"}, "glove.6B.txt"),
    "fastText": ({"wiki.vec": "2 2\na 0.5 -1 \nb 2 3e-1 \n"}, "wiki.vec"),
    "word2vec without header": ({"v.txt": "a 0.5 -1 \nb 2 3e-1 \n"}, "v.txt"),
}


@pytest.mark.parametrize("case", PUBLISHED)
def test_published_forms_are_read(tmp_path: Path, case: str) -> None:
    files, name = PUBLISHED[case]
    for path, content in files.items():
        put(tmp_path / path, content)
    assert_same(read_vectors(tmp_path / name), TWO)


def test_words_of_fasttext_may_be_odd_spaces(tmp_path: Path) -> None:
    path = put(tmp_path / "wiki.vec", "4 1\n\u00a0 1 \na\u2009b 2 \n\u3000 3 \n\x85 4 \n")
    assert read_vectors(path).words == ("\u00a0", "a\u2009b", "\u3000", "\x85")


def test_a_pair_may_be_named_in_one(tmp_path: Path) -> None:
    words, vectors = put(tmp_path / "c++.txt", "a\nb\n"), put(tmp_path / "other" / "x.dat", ROWS)
    assert_same(read_vectors(f"{words}+{vectors}"), TWO)


def test_a_pair_may_be_compressed(tmp_path: Path) -> None:
    put(tmp_path / "words.txt.gz", gzip.compress(b"a\nb\n"))
    assert_same(read_vectors(put(tmp_path / "v.txt.bz2", bz2.compress(ROWS.encode()))), TWO)


def test_a_file_whose_name_holds_a_plus_is_no_pair(tmp_path: Path) -> None:
    assert_same(read_vectors(put(tmp_path / "a+b.txt", "a 0.5 -1\nb 2 3e-1\n")), TWO)


def test_a_matrix_of_two_whole_columns_is_no_header(tmp_path: Path) -> None:
    put(tmp_path / "words.txt", "a\nb\n")
    assert_same(read_vectors(put(tmp_path / "v.txt", "2 2\n3 4\n")), Vectors(["a", "b"], [[2, 2], [3, 4]]))


def test_a_header_of_one_dimension_is_no_matrix(tmp_path: Path) -> None:
    assert_same(read_vectors(put(tmp_path / "v.txt", "2 1\n3 4\n5 6\n")), Vectors(["3", "5"], [[4], [6]]))


WORDS = {"words.txt": "a\nb\n"}
DAMAGED_PAIRS = {
    "no words": (
        {},
        ".5 2\n",
        r"v\.txt: its first lines are numbers .* Looked in .* for v\.metadata\.tsv, .*words\.lst",
    ),
    "fewer words": ({"words.txt": "a\n"}, "1 2\n3 4\n", r"words\.txt has 1 words, but .*v\.txt has 2 lines"),
    "empty words": ({"words.txt": ""}, "1\n", r"words\.txt, line 1: expected a word, but none came"),
    "words are numbers": ({"words.txt": "1 2 3\n"}, ".5 2\n", r"words\.txt: expected a word on each line, but numbers"),
    "short row": (WORDS, ".5 2\n3\n", r"v\.txt, line 2: expected 2 numbers, but 1 fields came: '3"),
    "long row": (WORDS, ".5 2\n3 4 5\n", r"v\.txt, line 2: expected 2 numbers, but 3 fields came"),
    "blank row": (WORDS, ".5 2\n" * 10 + "\n", r"v\.txt, line 11: expected 2 numbers, but 0 fields"),
    "no number": (WORDS, ".5 2\n" * 10 + "1 x\n", r"v\.txt, line 11: value 2, 'x', is not a number"),
    "nan": (WORDS, "1 2\n3 nan\n", r"v\.txt, line 2: the vector of 'b' holds NaN"),
}


@pytest.mark.parametrize("case", DAMAGED_PAIRS)
def test_a_damaged_pair_is_refused_with_its_place(tmp_path: Path, case: str) -> None:
    files, rows, message = DAMAGED_PAIRS[case]
    for name, content in files.items():
        put(tmp_path / name, content)
    with pytest.raises(InputError, match=message):
        read_vectors(put(tmp_path / "v.txt", rows))


def test_an_empty_matrix_is_refused(tmp_path: Path) -> None:
    words, vectors = put(tmp_path / "w", "a\n"), put(tmp_path / "v", "")
    with pytest.raises(InputError, match=r"expected a matrix of numbers, but the file is empty"):
        read_vectors(f"{words}+{vectors}")


def test_a_missing_part_of_a_pair_is_named(tmp_path: Path) -> None:
    words = put(tmp_path / "w", "a\n")
    with pytest.raises(InputError, match=r"as WORDS\+VECTORS 'gone' is missing"):
        read_vectors(f"{words}+gone")


# odd but usable


def heard(path: Path) -> tuple[Vectors, list[str]]:
    notices: list[str] = []
    return read_vectors(path, on_notice=notices.append), notices


def test_usual_files_give_no_notice(tmp_path: Path) -> None:
    write_vectors(tmp_path / "v.txt", Vectors(["a", "ü"], VALUES))
    assert heard(tmp_path / "v.txt")[1] == []


LATIN = struct.pack("<f", 1)
LATIN_1 = {
    "text": ({"v.txt": b"a 1\nna\xefve 2\n\xfc 3\n"}, "v.txt: line 2"),
    "binary": ({"v.bin": b"3 1\na " + LATIN + b"na\xefve " + LATIN + b"\xfc " + LATIN}, "v.bin: record 2"),
    "pair": ({"v.txt": b"1\n2\n3\n", "words.txt": b"a\nna\xefve\n\xfc\n"}, "words.txt: line 2"),
}


@pytest.mark.parametrize("case", LATIN_1)
def test_words_that_are_not_utf8_are_read_as_latin_1_with_a_notice(tmp_path: Path, case: str) -> None:
    files, place = LATIN_1[case]
    for name, content in files.items():
        put(tmp_path / name, content)
    vectors, notices = heard(tmp_path / next(iter(files)))
    assert vectors.words == ("a", "naïve", "ü")
    assert notices == [f"{tmp_path}/{place} is not UTF-8, so all words are read as Latin-1 (here 'naïve')."]


def test_one_file_has_one_encoding(tmp_path: Path) -> None:
    vectors, _ = heard(put(tmp_path / "v.txt", b"\xc3\xbc 1\n\xfc 2\n"))
    assert vectors.words == ("Ã¼", "ü")


@pytest.mark.parametrize("content", ["2 1\na 1\nb 2\n", "a 1\nb 2\n"])
def test_a_byte_order_mark_is_dropped(tmp_path: Path, content: str) -> None:
    assert read_vectors(put(tmp_path / "v.txt", "\ufeff" + content)).words == ("a", "b")


def test_a_byte_order_mark_is_dropped_from_words_and_from_numbers(tmp_path: Path) -> None:
    put(tmp_path / "words.txt", "\ufeffa\nb\n")
    assert_same(read_vectors(put(tmp_path / "v.txt", "\ufeff" + ROWS)), TWO)


REPEATED = {
    "v.txt": b"4 1\na 1\nb 2\na 3\nb 4\n",
    "v.bin": b"4 1\n" + b"".join(b"%s " % w + struct.pack("<f", i) for i, w in enumerate([b"a", b"b", b"a", b"b"], 1)),
    "v.npz": npz(words=np.array(["a", "b", "a", "b"]), matrix=np.arange(1.0, 5).reshape(4, 1)),
}


@pytest.mark.parametrize(
    ("name", "again", "first"),
    [("v.txt", "line 4", "line 2"), ("v.bin", "record 3", "record 1"), ("v.npz", "row 2", "row 0")],
)
def test_of_repeated_words_the_first_row_stays(tmp_path: Path, name: str, again: str, first: str) -> None:
    vectors, notices = heard(put(tmp_path / name, REPEATED[name]))
    assert_same(vectors, Vectors(["a", "b"], [[1], [2]]))
    assert notices == [
        f"{tmp_path / name}: 2 rows of repeated words are left out, the first row of each stays "
        f"('a' on {again} stands on {first} already)."
    ]


def test_a_row_that_starts_like_a_comment_is_a_row(tmp_path: Path) -> None:
    assert read_vectors(put(tmp_path / "v.txt", "#rare# 1 2\n% 3 4\n")).words == ("#rare#", "%")


# a limit


@pytest.mark.parametrize("name", [*FILES, "run"])
@pytest.mark.parametrize("limit", [1, 2, 3, 99])
def test_a_limit_gives_the_first_rows(tmp_path: Path, name: str, limit: int) -> None:
    vectors = Vectors(["a", "b", "c"], np.arange(6).reshape(3, 2))
    write_vectors(tmp_path / name, vectors)
    assert_same(read_vectors(tmp_path / name, limit=limit), Vectors(vectors.words[:limit], vectors.dense[:limit]))


@pytest.mark.parametrize("name", ["run", *ARRAYS])
def test_a_limit_keeps_the_forest(tmp_path: Path, name: str) -> None:
    write_vectors(tmp_path / name, Vectors(["a", "b"], sparse.csr_array(EYE), forest=Forest([-1, 0])))
    assert read_vectors(tmp_path / name, limit=1).forest == Forest([-1, 0])


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("v.txt", b"9 1\na 1\nb 2\nc x\n"),
        ("v.glove", b"a 1\nb 2\nc nan\n"),
        ("v.bin", b"9 1\na " + LATIN + b"b " + LATIN + b"c"),
        ("v.npz", npz(words=np.array(["a", "b", "c"]), matrix=np.array([[1.0], [2], [np.nan]]))),
    ],
)
def test_damage_behind_the_limit_is_not_met(tmp_path: Path, name: str, content: bytes) -> None:
    assert read_vectors(put(tmp_path / name, content), limit=2).words == ("a", "b")
    with pytest.raises(InputError):
        read_vectors(tmp_path / name)


def test_a_header_that_promises_less_than_the_limit_must_hold(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="the header promises 1 words, but 2 came"):
        read_vectors(put(tmp_path / "v.txt", "1 1\na 1\nb 2\n"), limit=2)


def test_a_limit_below_one_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="limit = 0, but at least one word"):
        read_vectors(tmp_path, limit=0)


@pytest.mark.parametrize(("name", "options"), GENSIM[:2])
def test_the_limit_is_that_of_gensim(tmp_path: Path, name: str, options: dict[str, bool]) -> None:
    models = pytest.importorskip("gensim.models")
    write_vectors(tmp_path / name, Vectors(odd_words, np.random.default_rng(17).normal(size=(8, 3))))
    theirs = models.KeyedVectors.load_word2vec_format(str(tmp_path / name), limit=3, **options)
    ours = read_vectors(tmp_path / name, limit=3)
    assert ours.words == tuple(theirs.index_to_key)
    np.testing.assert_array_equal(ours.dense, theirs.vectors)


# the fast way through large text

number_fields = (
    st.floats(width=32, allow_nan=False, allow_infinity=False).map(lambda x: f"{x:.9g}")
    | st.floats(allow_nan=False, allow_infinity=False).map(repr)
    | st.decimals(-1000, 1000, places=6).map(str)
    | st.integers(-(10**16), 10**16).map(str)
    | st.sampled_from(
        ["0", "-0", "-0.0", "+1", ".5", "-.5", "5.", "1E5", "1e-400", "inf", "007", "0.10000000149011612"]
    )
)


def bits_of_float(fields: list[str]) -> list[int]:
    with np.errstate(over="ignore"):
        return np.array([float(field) for field in fields]).astype(np.float32).view(np.uint32).tolist()


@given(fields=st.lists(number_fields, min_size=1, max_size=8), separator=st.sampled_from([" ", "\t", "  "]))
def test_parse_numbers_gives_the_bits_of_float(fields: list[str], separator: str) -> None:
    line = (separator.join(fields) + " \r\n").encode()
    values = parse_numbers([line, line], len(fields))
    assert values.view(np.uint32).tolist() == [bits_of_float(fields)] * 2


@pytest.mark.parametrize("field", ["9.098635196685791", "1.1470959782600403", "351.473037719726562"])
def test_more_than_fifteen_digits_are_rounded_once(field: str) -> None:
    # beside the middle of two float32: a numerator above 2^53 divided by a power of ten ends on the wrong side
    assert parse_numbers([field.encode()], 1).view(np.uint32).tolist() == [bits_of_float([field])]


def test_parse_numbers_gives_the_bits_of_float_for_a_million_digits() -> None:
    rng = np.random.default_rng(19)
    fields = [f"{x:.{d}f}" for x, d in zip(rng.normal(size=100_000), rng.integers(1, 15, 100_000), strict=True)]
    assert parse_numbers([" ".join(fields).encode()], len(fields)).view(np.uint32).tolist() == [bits_of_float(fields)]


@pytest.mark.parametrize(
    "lines",
    [
        ["1 2\n", "3\n"],
        ["1\n", "2 3 4\n"],
        ["1 2 3\n", "4\n"],
        ["1 2 3 4\n", "\n"],
        ["1 2\n", "3 x\n"],
        ["1 2\n", "3 1_0\n"],
        ["1 2\n", "3 -\n"],
        ["1 2\n", "3 .\n"],
        ["1 2\n", "3 --4\n"],
        ["1 2\n", "3 4-5\n"],
        ["1 2\n", "3 4.5.6\n"],
        ["1 2\n", "3 4\x015\n"],
        ["1 2\n", "3 4\u00a0\n"],
    ],
)
def test_parse_numbers_has_no_answer_to_doubtful_lines(lines: list[str]) -> None:
    assert parse_numbers([line.encode() for line in lines], 2) is None


def test_parse_numbers_does_not_believe_an_immense_width() -> None:
    assert parse_numbers([b"1 2\n"], 10**17) is None


@pytest.fixture(scope="module")
def large() -> Vectors:
    """About three megabytes of text, so that several blocks go the fast way."""
    matrix = np.random.default_rng(23).normal(size=(6000, 50)).astype(np.float32)
    return Vectors([f"w{i}" for i in range(6000)], matrix)


@pytest.mark.parametrize("name", ["v.txt", "v.glove", "v.tsv", "v.txt.gz"])
def test_large_files_come_back_exactly(tmp_path: Path, large: Vectors, name: str) -> None:
    write_vectors(tmp_path / name, large)
    assert_same(read_vectors(tmp_path / name), large)


def test_a_word_with_spaces_in_a_large_file_is_read(tmp_path: Path, large: Vectors) -> None:
    write_vectors(tmp_path / "v.txt", large)
    put(tmp_path / "v.txt", (tmp_path / "v.txt").read_bytes().replace(b"\nw4000 ", b"\n. w . "))
    words = [". w ." if word == "w4000" else word for word in large.words]
    assert_same(read_vectors(tmp_path / "v.txt"), Vectors(words, large.dense))


@pytest.mark.parametrize(("bad", "message"), [(b"7 ", "expected a word and 50 numbers"), (b"1_", "value 1, '1_")])
def test_damage_in_a_large_file_is_named(tmp_path: Path, large: Vectors, bad: bytes, message: str) -> None:
    write_vectors(tmp_path / "v.txt", large)
    put(tmp_path / "v.txt", (tmp_path / "v.txt").read_bytes().replace(b"\nw4000 ", b"\nw4000 " + bad))
    with pytest.raises(InputError, match=f"line 4002: {message}"):
        read_vectors(tmp_path / "v.txt")


def test_a_limit_inside_a_large_file(tmp_path: Path, large: Vectors) -> None:
    write_vectors(tmp_path / "v.txt", large)
    assert_same(read_vectors(tmp_path / "v.txt", limit=4321), Vectors(large.words[:4321], large.dense[:4321]))


def test_a_small_file_is_read_without_the_compiler(tmp_path: Path) -> None:
    write_vectors(tmp_path / "v.txt", Vectors(["a"], [[1.0]]))
    program = (
        "import sys; from wordforest.store import read_vectors as r; r(sys.argv[1]); sys.exit('numba' in sys.modules)"
    )
    subprocess.run([sys.executable, "-c", program, str(tmp_path / "v.txt")], check=True)
