from __future__ import annotations

import json
import os
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from safetensors.numpy import load_file, save_file
from scipy import sparse

from wordforest.coder.forest import Forest
from wordforest.errors import InputError
from wordforest.store import (
    Run,
    check_free,
    is_counts_folder,
    is_run_folder,
    load_run,
    read_counts,
    read_json,
    read_vectors,
    remove_checkpoint,
    replace_file,
    save_counts,
    save_note,
    save_run,
    write_json,
    write_text,
)
from wordforest.vectors import NodeNote


def make_run(**changes: object) -> Run:
    run = Run(
        words=("the", "naïve", "#number#"),
        counts=np.array([9, 5, 2]),
        codes=sparse.csr_array(np.array([[1.5, 0, 0], [0, 0, -2], [0, 0, 0]], np.float32)),
        dictionary=np.arange(12, dtype=np.float32).reshape(4, 3),
        forest=Forest([-1, 0, 0]),
        config={"lam": 0.1, "window": 5},
        history=[{"seconds": 0.5, "objective": 2.0}, {"seconds": 1.0, "objective": 1.0}],
    )
    return replace(run, **changes)


def names_in(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


# files


def test_a_block_that_fails_leaves_the_old_file_and_nothing_else(tmp_path: Path) -> None:
    path = tmp_path / "a.txt"
    write_text(path, "old")

    def fail() -> None:
        with replace_file(path) as temporary:
            temporary.write_text("half")
            raise RuntimeError("killed")

    with pytest.raises(RuntimeError, match="killed"):
        fail()
    assert path.read_text() == "old"
    assert names_in(tmp_path) == ["a.txt"]


def test_the_old_file_stands_until_the_block_ends(tmp_path: Path) -> None:
    path = tmp_path / "a.txt"
    write_text(path, "old")
    with replace_file(path) as temporary:
        temporary.write_text("new")
        assert path.read_text() == "old"
    assert path.read_text() == "new"


def test_the_new_file_arrives_by_a_change_of_name(tmp_path: Path) -> None:
    path = tmp_path / "a.txt"
    write_text(path, "old")
    with replace_file(path) as temporary:
        temporary.write_text("new")
        inode = temporary.stat().st_ino
    assert path.stat().st_ino == inode


@pytest.mark.skipif(os.name != "posix", reason="file modes are POSIX")
@pytest.mark.parametrize("name", ["codes.safetensors", "config.json"])
def test_files_have_the_rights_that_the_umask_grants(tmp_path: Path, name: str) -> None:
    before = os.umask(0o022)
    try:
        save_run(tmp_path, make_run())
    finally:
        os.umask(before)
    assert (tmp_path / name).stat().st_mode & 0o777 == 0o644


def test_writing_into_a_missing_folder_says_so(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"gone/a\.txt: the folder .*gone does not exist"):
        write_text(tmp_path / "gone" / "a.txt", "x")


def test_writing_over_a_folder_says_so(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="this is a folder"):
        write_text(tmp_path, "x")


def test_text_without_a_utf8_form_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="surrogate"):
        write_text(tmp_path / "a.txt", "\ud800")


def test_json_round_trip_with_numpy_values(tmp_path: Path) -> None:
    write_json(tmp_path / "a.json", {"é": np.float32(0.5), "n": np.int64(3), "l": np.arange(2), "p": Path("x")})
    assert read_json(tmp_path / "a.json") == {"é": 0.5, "n": 3, "l": [0, 1], "p": "x"}


@pytest.mark.parametrize("value", [float("nan"), float("inf"), object()])
def test_json_refuses_what_it_cannot_hold(tmp_path: Path, value: object) -> None:
    with pytest.raises(InputError, match=r"a\.json: a value cannot be written"):
        write_json(tmp_path / "a.json", {"x": value})


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b'{"a": 1,\n "b" 2}', r"a\.json, line 2, column 6: not JSON"),
        (b"[1]", r"a\.json, line 1: expected a JSON object, but a list came"),
        (b"", r"a\.json, line 1, column 1: not JSON"),
        (b'{\n"a": "\xff"}', r"a\.json, line 2: not UTF-8"),
        (b"[" * 100_000, r"a\.json, line 1: not usable JSON"),
    ],
)
def test_damaged_json_names_file_and_line(tmp_path: Path, content: bytes, message: str) -> None:
    (tmp_path / "a.json").write_bytes(content)
    with pytest.raises(InputError, match=message):
        read_json(tmp_path / "a.json")


def test_a_missing_file_names_itself(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"gone\.json: cannot be read \(No such file"):
        read_json(tmp_path / "gone.json")


# RUN and COUNTS folders


def test_run_round_trip(tmp_path: Path) -> None:
    run = make_run()
    save_run(tmp_path / "run", run)
    back = load_run(tmp_path / "run")
    assert (back.words, back.config, back.history, back.forest) == (
        run.words,
        run.config,
        run.history,
        run.forest,
    )
    np.testing.assert_array_equal(back.counts, run.counts)
    np.testing.assert_array_equal(back.codes.toarray(), run.codes.toarray())
    np.testing.assert_array_equal(back.dictionary, run.dictionary)


def test_a_run_without_dictionary_and_history_comes_back_without(tmp_path: Path) -> None:
    save_run(tmp_path, make_run())
    save_run(tmp_path, make_run(dictionary=None, history=[]))
    back = load_run(tmp_path)
    assert back.dictionary is None
    assert back.history == []


def test_codes_are_stored_as_csr_of_these_types(tmp_path: Path) -> None:
    save_run(tmp_path, make_run(codes=make_run().codes.astype(np.float64)))
    types = {name: array.dtype.name for name, array in load_file(tmp_path / "codes.safetensors").items()}
    assert types == {"data": "float32", "indices": "int32", "indptr": "int64", "shape": "int64"}


def test_vectors_of_a_run_carry_its_forest() -> None:
    run = make_run()
    assert run.vectors.forest == run.forest
    assert run.vectors is run.vectors


def test_labels_that_somebody_wrote_are_read_and_kept(tmp_path: Path) -> None:
    save_run(tmp_path / "run", make_run())
    assert not (tmp_path / "run" / "labels.tsv").exists()
    (tmp_path / "run" / "labels.tsv").write_bytes(
        "\ufeffnode\tlabel\r\n2\tThings, in general\r\n\r\n0\t Größe \r\n".encode()
    )
    run = load_run(tmp_path / "run")
    assert run.vectors.given_labels == {2: "Things, in general", 0: "Größe"}
    assert run.vectors.labels[2] == ("Things, in general",)
    save_run(tmp_path / "other", replace(run, labels={**run.labels, 1: "a\ttab\n"}))
    assert (tmp_path / "other" / "labels.tsv").read_text("utf-8") == "0\tGröße\n1\ta tab\n2\tThings, in general\n"
    save_run(tmp_path / "run", make_run())  # a new run has a new forest
    assert load_run(tmp_path / "run").labels == {}


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("0 one", "line 1: expected the number of a node from 0 to 2, a tab and a label, but '0 one' came"),
        ("0\tone\n3\tthree", "line 2: expected the number of a node from 0 to 2"),
        ("-1\tone", "line 1: expected"),
        ("1\t ", "line 1: expected"),
        ("1\tone\tno", "line 1: expected hidden or nothing in the third column, but 'no' came"),
        ("1\tone\n1\tuno", "line 2: node 1 has a label already. Keep one of them"),
    ],
)
def test_a_bad_line_of_labels_is_named(tmp_path: Path, content: str, message: str) -> None:
    save_run(tmp_path, make_run())
    (tmp_path / "labels.tsv").write_text(content)
    with pytest.raises(InputError, match=rf"labels\.tsv, {message}"):
        load_run(tmp_path)


def test_notes_of_nodes_are_kept_one_by_one_and_taken_away(tmp_path: Path) -> None:
    save_run(tmp_path, make_run())
    (tmp_path / "labels.tsv").write_text("0\tsize\n")
    save_note(tmp_path, 2, NodeNote("things", hidden=True, remark="many\tand \n all"))
    save_note(tmp_path, 1, NodeNote(remark="odd"))
    assert (tmp_path / "labels.tsv").read_text() == "0\tsize\n1\t\t\todd\n2\tthings\thidden\tmany and all\n"
    notes = load_run(tmp_path).vectors.notes
    assert notes == {0: NodeNote("size"), 1: NodeNote(remark="odd"), 2: NodeNote("things", True, "many and all")}
    assert save_note(tmp_path, 0, NodeNote()) == {node: notes[node] for node in (1, 2)}
    with pytest.raises(InputError, match="from 0 to 2"):
        save_note(tmp_path, 3, NodeNote("none"))


def test_a_note_goes_into_run_folders_alone(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="no run folder"):
        save_note(tmp_path, 0, NodeNote("x"))
    assert not any(tmp_path.iterdir())


def test_a_note_that_cannot_be_written_is_told(tmp_path: Path) -> None:
    save_run(tmp_path, make_run())
    (tmp_path / "labels.tsv").mkdir()
    with pytest.raises(InputError, match=r"labels\.tsv: "):
        save_note(tmp_path, 0, NodeNote("x"))


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"words": ("a", "b")}, "2 words, 3 counts and 3 rows"),
        ({"counts": np.array([1])}, "3 words, 1 counts and 3 rows"),
        ({"forest": Forest.flat(4)}, "4 nodes, but the codes have 3 columns"),
        ({"dictionary": np.ones((4, 2), np.float32)}, r"shape \(4, 2\), but \(contexts, 3\)"),
        ({"dictionary": np.full((4, 3), np.nan, np.float32)}, "the dictionary holds NaN"),
        ({"codes": sparse.csr_array([[0, 0, 0], [0, np.inf, 0], [0, 0, 0]])}, "code of 'naïve' holds NaN"),
    ],
)
def test_parts_of_a_run_must_agree(changes: dict[str, object], message: str) -> None:
    with pytest.raises(InputError, match=message):
        make_run(**changes)


@pytest.mark.parametrize("words", [("a", "b\tc", "d"), ("a", "b\n", "d"), ("a", "b", "a"), ("a", "\ud800", "b")])
def test_words_that_vocab_tsv_cannot_hold_are_refused(tmp_path: Path, words: tuple[str, ...]) -> None:
    with pytest.raises(InputError, match=r"vocab\.tsv"):
        save_run(tmp_path, make_run(words=words))


def rewrite(name: str, **tensors: object) -> object:
    """Return a damage: some tensors of a file replaced, or removed where None."""

    def damage(folder: Path) -> None:
        content = {**load_file(folder / name), **tensors}
        save_file({key: array for key, array in content.items() if array is not None}, folder / name)

    return damage


def put(name: str, content: bytes | None) -> object:
    """Return a damage: a file's content replaced, or the file removed where None."""

    def damage(folder: Path) -> None:
        (folder / name).unlink()
        if content is not None:
            (folder / name).write_bytes(content)

    return damage


CODES, VOCAB = "codes.safetensors", "vocab.tsv"
DAMAGED_RUNS = {
    "no codes": (put(CODES, None), "expected a run folder with codes.safetensors"),
    "no vocabulary": (put(VOCAB, None), r"vocab\.tsv: cannot be read"),
    "no forest": (put("forest.json", None), r"forest\.json: cannot be read"),
    "no settings": (put("config.json", None), r"config\.json: cannot be read"),
    "no history": (put("history.jsonl", None), r"history\.jsonl: cannot be read"),
    "codes cut": (put(CODES, b"\x08\0\0\0"), r"codes\.safetensors: not a usable safetensors file"),
    "codes lack indptr": (rewrite(CODES, indptr=None), "indptr is missing"),
    "codes not float32": (rewrite(CODES, data=np.ones(2)), "data must be a list of float32"),
    "codes nan": (rewrite(CODES, data=np.array([1, np.nan], np.float32)), "code of 'naïve' holds NaN"),
    "codes inf": (
        rewrite(CODES, data=np.array([np.inf, 1], np.float32)),
        "code of 'the' holds NaN or infinity",
    ),
    "indices too large": (rewrite(CODES, indices=np.array([0, 3], np.int32)), "indices run from 0 to 3"),
    "indices negative": (rewrite(CODES, indices=np.array([0, -1], np.int32)), "indices run from -1 to 0"),
    "indices too few": (rewrite(CODES, indices=np.array([0], np.int32)), "2 values and 1 indices"),
    "indptr falls": (rewrite(CODES, indptr=np.array([0, 2, 1, 2])), "never fall"),
    "indptr too short": (rewrite(CODES, indptr=np.array([0, 1, 2])), "indptr must have 4 entries"),
    "indptr too far": (rewrite(CODES, indptr=np.array([0, 1, 2, 9])), "indptr ends at 9"),
    "position twice": (
        rewrite(CODES, indptr=np.array([0, 2, 2, 2]), indices=np.array([1, 1], np.int32)),
        "ascend without repeats",
    ),
    "shape of three": (rewrite(CODES, shape=np.array([3, 3, 1])), "shape must be two sizes"),
    "shape negative": (rewrite(CODES, shape=np.array([3, -3])), "shape must be two sizes"),
    "dictionary flat": (
        rewrite("dictionary.safetensors", D=np.ones(3, np.float32)),
        "D must be a float32 matrix",
    ),
    "dictionary narrow": (
        rewrite("dictionary.safetensors", D=np.ones((4, 2), np.float32)),
        r"shape \(4, 2\)",
    ),
    "dictionary nan": (
        rewrite("dictionary.safetensors", D=np.full((4, 3), np.nan, np.float32)),
        "dictionary holds NaN",
    ),
    "word missing": (put(VOCAB, b"the\t9\n"), "1 words, 1 counts and 3 rows"),
    "no tab": (put(VOCAB, b"the\t9\na 5\nb\t2\n"), r"vocab\.tsv, line 2: expected a word, a tab and a count"),
    "count not whole": (put(VOCAB, b"the\t9.5\n"), r"vocab\.tsv, line 1"),
    "count negative": (put(VOCAB, b"the\t-9\n"), r"vocab\.tsv, line 1"),
    "count too large": (put(VOCAB, b"the\t9999999999999999999\n"), r"vocab\.tsv, line 1"),
    "vocabulary cut": (put(VOCAB, b"the\t9\na\t5"), r"vocab\.tsv, line 2: the line end is missing"),
    "word twice": (put(VOCAB, b"the\t9\na\t5\nthe\t2\n"), r"line 3: 'the' stands on line 1 already"),
    "vocabulary not UTF-8": (put(VOCAB, b"the\t9\n\xff\t5\n"), r"vocab\.tsv, line 2: not UTF-8"),
    "forest of fewer": (put("forest.json", b'{"parent": [-1]}'), "1 nodes, but the codes have 3 columns"),
    "forest no forest": (put("forest.json", b'{"parent": [-1, 1, 0]}'), r"forest\.json: parent\[1\] = 1"),
    "forest of floats": (put("forest.json", b'{"parent": [-1, 0.0, 0]}'), "one whole number a node"),
    "forest without parents": (put("forest.json", b"{}"), "one whole number a node"),
    "history not JSON": (put("history.jsonl", b'{"a": 1}\n{"a"\n'), r"history\.jsonl, line 2"),
}


@pytest.mark.parametrize("case", DAMAGED_RUNS)
def test_a_damaged_run_is_refused_with_its_place(tmp_path: Path, case: str) -> None:
    damage, message = DAMAGED_RUNS[case]
    save_run(tmp_path, make_run())
    damage(tmp_path)
    with pytest.raises(InputError, match=message) as caught:
        load_run(tmp_path)
    assert str(tmp_path) in str(caught.value)


def test_vocab_with_windows_line_ends_is_read(tmp_path: Path) -> None:
    save_run(tmp_path, make_run())
    (tmp_path / VOCAB).write_bytes(b"a\t3\r\nb\t2\r\nc\t1\r\n")
    assert load_run(tmp_path).words == ("a", "b", "c")


@pytest.mark.parametrize("dtype", [np.int32, np.int64])
def test_counts_round_trip_keeps_the_type(tmp_path: Path, dtype: type) -> None:
    matrix = sparse.csr_array(np.array([[0, 3], [2**31 - 1, 0]], dtype))
    save_counts(tmp_path / "c", ("a", "b"), np.array([2**40, 1]), matrix, {"window": 5})
    words, counts, back, config = read_counts(tmp_path / "c")
    assert (words, counts.tolist(), config) == (("a", "b"), [2**40, 1], {"window": 5})
    assert back.dtype == dtype
    assert back.toarray().tolist() == matrix.toarray().tolist()


def test_counts_leave_an_unsorted_matrix_alone(tmp_path: Path) -> None:
    matrix = sparse.csr_array((np.array([1, 2]), [1, 0], [0, 2]), shape=(1, 2))
    save_counts(tmp_path, ("a",), np.array([1]), matrix, {})
    assert matrix.indices.tolist() == [1, 0]
    assert read_counts(tmp_path)[2].toarray().tolist() == [[2, 1]]


@pytest.mark.parametrize(
    ("words", "matrix", "message"),
    [
        (("a",), sparse.csr_array([[0.5]]), "must be integers, but float64 came"),
        (("a", "b"), sparse.csr_array([[1]]), "2 words, 1 counts and 1 rows"),
        (("a",), sparse.csr_array([[-1]]), "a window count is -1"),
    ],
)
def test_counts_that_are_none_are_refused(tmp_path: Path, words: tuple[str], matrix: object, message: str) -> None:
    with pytest.raises(InputError, match=message):
        save_counts(tmp_path, words, np.array([1]), matrix, {})


def test_a_missing_counts_folder_says_how_to_make_one(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="wordforest count CORPUS --out"):
        read_counts(tmp_path / "gone")


def test_folders_are_told_apart(tmp_path: Path) -> None:
    save_run(tmp_path / "run", make_run())
    save_counts(tmp_path / "counts", ("a",), np.array([1]), sparse.csr_array([[1]]), {})
    assert [is_run_folder(tmp_path / name) for name in ("run", "counts", "gone")] == [True, False, False]
    assert [is_counts_folder(tmp_path / name) for name in ("run", "counts", "gone")] == [False, True, False]


def test_counts_in_place_of_a_run_are_named(tmp_path: Path) -> None:
    save_counts(tmp_path, ("a",), np.array([1]), sparse.csr_array([[1]]), {})
    with pytest.raises(InputError, match="this is a counts folder"):
        read_vectors(tmp_path)


def test_a_folder_that_holds_something_needs_force(tmp_path: Path) -> None:
    save_run(tmp_path, make_run())
    check_free(tmp_path / "new", force=False)
    check_free(tmp_path, force=True)
    with pytest.raises(InputError, match="already exists; add --force to replace it or choose another --out"):
        check_free(tmp_path, force=False)


def test_a_file_is_no_folder_for_results(tmp_path: Path) -> None:
    write_text(tmp_path / "a", "x")
    with pytest.raises(InputError, match="this is a file"):
        check_free(tmp_path / "a", force=True)


def test_results_replace_ours_and_nothing_else(tmp_path: Path) -> None:
    save_run(tmp_path, make_run())
    for name in ("notes.txt", "all"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "precious").write_text("x")
    (tmp_path / ".wordforest-0123.tmp").mkdir()
    save_counts(tmp_path, ("a",), np.array([1]), sparse.csr_array([[1]]), {})
    assert names_in(tmp_path) == ["all", "config.json", "counts.safetensors", "notes.txt", "vocab.tsv"]
    assert (tmp_path / "all" / "precious").read_text() == "x"


def test_removing_a_checkpoint_does_not_follow_a_link(tmp_path: Path) -> None:
    (tmp_path / "precious").mkdir()
    (tmp_path / "precious" / "settings.json").write_text("x")
    (tmp_path / "run").mkdir()
    (tmp_path / "run" / "checkpoint").symlink_to(tmp_path / "precious")
    remove_checkpoint(tmp_path / "run")
    assert (tmp_path / "precious" / "settings.json").read_text() == "x"
    assert names_in(tmp_path / "run") == []


def test_config_is_plain_json(tmp_path: Path) -> None:
    save_run(tmp_path, make_run())
    assert json.loads((tmp_path / "config.json").read_text()) == {"lam": 0.1, "window": 5}
