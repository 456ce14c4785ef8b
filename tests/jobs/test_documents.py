"""Topics learned and documents placed in folders: what they hold, the same bits every time, and what is refused."""

from __future__ import annotations

import csv
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy import sparse

import wordforest as wf
from tests.documents.collection import collection
from tests.jobs.killed import kill, killed
from wordforest import store
from wordforest.documents.bags import count_words
from wordforest.documents.topics import TopicSettings
from wordforest.errors import InputError
from wordforest.jobs import documents as jobs
from wordforest.jobs import job as checkpoint
from wordforest.jobs.documents import DocumentColumns, learn_topics_of, place_documents
from wordforest.runtime.progress import Event, Reporter
from wordforest.store.documents import read_texts

TEXTS, SUBJECTS = collection()
ROWS = [
    {"name": f"d{i}", "body": text, "subject": subject, "year": 1990 + i % 10}
    for i, (text, subject) in enumerate(zip(TEXTS, SUBJECTS, strict=True))
]
COLUMNS = DocumentColumns("body", "name", "year", "subject")
SETTINGS = TopicSettings(levels=(4, 8), min_df=2)
RUN_FILES = ("codes.safetensors", "dictionary.safetensors", "space.safetensors", "vocab.tsv", "forest.json")
E = np.random.default_rng(0).normal(size=(len(TEXTS), 6)).astype(np.float32)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("documents")


@pytest.fixture(scope="module")
def run(folder: Path) -> Path:
    learn_topics_of(ROWS, out=folder / "run", columns=COLUMNS, settings=SETTINGS)
    return folder / "run"


@pytest.fixture(scope="module")
def placed(run: Path, folder: Path) -> Path:
    place_documents(run, ROWS, out=folder / "placed", columns=COLUMNS)
    return folder / "placed"


@pytest.fixture(autouse=True)
def small_chunks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(jobs, "_CHUNK", 32)


class Said(Reporter):
    """Keeps what was said."""

    def __init__(self) -> None:
        self.lines: list[str] = []

    def say(self, message: str) -> None:
        self.lines.append(message)


class KillAt(Reporter):
    """Kills this process when so many documents were read, or learning is at a step."""

    def __init__(self, stage: str, done: int) -> None:
        self.stage, self.done = stage, done

    def __call__(self, event: Event) -> None:
        if event.stage == self.stage and event.done >= self.done:
            kill()


def table(path: Path) -> list[dict[str, str]]:
    with path.open(newline="") as file:
        return list(csv.DictReader(file))


def same_files(a: Path, b: Path) -> bool:
    names = sorted(path.name for path in a.iterdir())
    assert names == sorted(path.name for path in b.iterdir())
    texts, shares = "texts.jsonl.zst", "shares.npz"  # archives: what is in them counts
    plain = [name for name in names if name not in (texts, shares)]
    with np.load(a / shares) as one, np.load(b / shares) as other:
        arrays = all(np.array_equal(one[name], other[name]) for name in one.files if name != "texts")
    same_texts = texts not in names or list(read_texts(a)) == list(read_texts(b))
    return arrays and same_texts and all((a / name).read_bytes() == (b / name).read_bytes() for name in plain)


def test_a_run_learned_in_a_job_has_the_bits_of_the_estimator(run: Path) -> None:
    fitted = wf.TopicForest(levels=(4, 8), min_df=2).fit(TEXTS)
    loaded = store.load_run(run)
    # keys of documents come from their ids, so only what does not depend on them is the same
    assert loaded.words == fitted.topics_.vocabulary.words
    np.testing.assert_array_equal(loaded.space["words"], fitted.topics_.coder.space.words)
    assert loaded.history


def test_a_folder_has_a_row_for_every_document_and_node(run: Path, placed: Path) -> None:
    documents, nodes = table(placed / "documents.csv"), table(placed / "nodes.csv")
    assert [row["document"] for row in documents] == [row["name"] for row in ROWS]
    assert [*documents[0]] == ["document", "depth0", "depth1", "share0", "share1"]
    forest = store.load_run(run).forest
    assert [int(row["parent"]) for row in nodes] == forest.parent.tolist()
    assert sum(float(row["share"]) for row in nodes if row["depth"] == "0") == pytest.approx(1, abs=1e-5)
    assert all(json.loads(row["typical"]) for row in nodes if float(row["share"]))
    shares = sparse.load_npz(placed / "shares.npz")
    assert shares.shape == (len(ROWS), len(forest))
    main = [shares[i, int(row["depth0"])] for i, row in enumerate(documents)]
    np.testing.assert_allclose(main, [float(row["share0"]) for row in documents], atol=1e-6)


def test_groups_and_times_have_a_row_for_every_node_and_bin(run: Path, placed: Path) -> None:
    groups, times = table(placed / "by_group.csv"), table(placed / "over_time.csv")
    n_nodes = len(store.load_run(run).forest)
    assert len(groups) == 4 * n_nodes
    assert {row["group"] for row in groups} == {*SUBJECTS}
    assert len(times) == 10 * n_nodes
    assert {row["time"] for row in times} == {str(1990 + i) for i in range(10)}


def test_texts_are_kept_with_their_fields_unless_they_should_not(run: Path, placed: Path, tmp_path: Path) -> None:
    kept = list(read_texts(placed))
    assert kept[7] == {"id": "d7", "text": TEXTS[7], "year": 1997, "subject": SUBJECTS[7]}
    assert store.load_documents(placed).texts([150, 7]) == [kept[150], kept[7]]
    place_documents(run, ROWS, out=tmp_path / "bare", columns=COLUMNS, texts=False)
    assert not (tmp_path / "bare" / "texts.jsonl.zst").exists()
    assert (tmp_path / "bare" / "documents.csv").read_bytes() == (placed / "documents.csv").read_bytes()


def test_parquet_has_what_csv_has(run: Path, placed: Path, tmp_path: Path) -> None:
    pytest.importorskip("pyarrow")
    found = place_documents(run, ROWS, out=tmp_path / "parquet", columns=COLUMNS, form="parquet")
    written = store.load_documents(placed)
    assert not list((tmp_path / "parquet").glob("*.csv"))
    for name in ("documents", "nodes", "by_group", "over_time"):
        for column, values in getattr(written, name).items():
            other = getattr(found, name)[column]
            if values and isinstance(values[0], float):
                np.testing.assert_allclose(np.array(other, float), np.array(values, float), rtol=1e-5, atol=1e-9)
            else:
                assert [str(one) for one in other] == [str(one) for one in values]


@pytest.mark.parametrize("workers", [1, 2])
def test_bits_do_not_depend_on_workers(run: Path, placed: Path, tmp_path: Path, workers: int) -> None:
    place_documents(run, ROWS, out=tmp_path / "placed", columns=COLUMNS, workers=workers)
    assert same_files(placed, tmp_path / "placed")
    learn_topics_of(ROWS, out=tmp_path / "run", columns=COLUMNS, settings=SETTINGS, workers=workers)
    assert all((run / name).read_bytes() == (tmp_path / "run" / name).read_bytes() for name in RUN_FILES)


def test_killed_and_resumed_documents_end_with_the_same_bytes(
    run: Path, placed: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    out = tmp_path / "placed"
    killed(lambda: place_documents(run, ROWS, out=out, columns=COLUMNS, workers=1, report=KillAt("documents", 160)))
    done = sorted(path.name for path in store.checkpoint_folder(out).glob("*.safetensors"))
    assert done == [f"documents-{n:06d}.safetensors" for n in range(4)]
    coded: list[int] = []
    code = jobs._coded_chunk
    monkeypatch.setattr(
        jobs, "_coded_chunk", lambda topics, task: (coded.append(len(task.documents)), code(topics, task))[1]
    )
    place_documents(run, ROWS, out=out, columns=COLUMNS, resume=True, workers=1)
    assert coded == [0] * 4 + [32, 32, 8]
    assert same_files(placed, out)


def test_documents_that_changed_since_are_coded_again(run: Path, tmp_path: Path) -> None:
    out, other = tmp_path / "placed", [{**row, "body": row["body"][::-1]} for row in ROWS]
    killed(lambda: place_documents(run, other, out=out, columns=COLUMNS, workers=1, report=KillAt("documents", 160)))
    place_documents(run, ROWS, out=out, columns=COLUMNS, resume=True)
    place_documents(run, ROWS, out=tmp_path / "whole", columns=COLUMNS)
    assert same_files(tmp_path / "whole", out)


def test_killed_and_resumed_topics_end_with_the_same_bits(run: Path, tmp_path: Path) -> None:
    def learn(report: Reporter | None = None, *, resume: bool = False, rows: Any = ROWS) -> None:
        out = tmp_path / "run"
        learn_topics_of(rows, out=out, columns=COLUMNS, settings=SETTINGS, report=report, resume=resume)

    def begin() -> None:
        checkpoint._SHARE = 1e9
        learn(KillAt("learn", 2 * len(ROWS)))

    killed(begin)
    assert store.has_checkpoint(tmp_path / "run")
    with pytest.raises(InputError, match="the text has changed"):
        learn(resume=True, rows=[*ROWS[:-1], {**ROWS[-1], "body": "bike bike bike bread"}])
    learn(resume=True)
    assert all((run / name).read_bytes() == (tmp_path / "run" / name).read_bytes() for name in RUN_FILES)
    assert not store.has_checkpoint(tmp_path / "run")


def test_what_is_complete_is_not_done_again_and_other_settings_are_refused(run: Path, placed: Path) -> None:
    before = (placed / "shares.npz").stat().st_mtime_ns
    assert place_documents(run, ROWS, out=placed, columns=COLUMNS, resume=True).ids[0] == "d0"
    assert (placed / "shares.npz").stat().st_mtime_ns == before
    with pytest.raises(InputError, match=r"with texts = True, and now it is False.*--force"):
        place_documents(run, ROWS, out=placed, columns=COLUMNS, texts=False, resume=True)
    with pytest.raises(InputError, match=r"with min_df = 2, and now it is 3"):
        learn_topics_of(ROWS, out=run, columns=COLUMNS, settings=TopicSettings((4, 8), 3), resume=True)
    with pytest.raises(InputError, match="already exists"):
        place_documents(run, ROWS, out=placed, columns=COLUMNS)


def test_a_folder_is_replaced_by_force_but_never_a_run(run: Path, placed: Path, tmp_path: Path) -> None:
    out = tmp_path / "placed"
    place_documents(run, ROWS, out=out, columns=COLUMNS)
    place_documents(run, ROWS[:50], out=out, columns=DocumentColumns("body", "name"), force=True)
    assert len(table(out / "documents.csv")) == 50
    assert not (out / "by_group.csv").exists()
    with pytest.raises(InputError, match=r"holds a run.*another --out"):
        place_documents(run, ROWS, out=run, columns=COLUMNS, force=True)
    with pytest.raises(InputError, match=r"holds documents.*another --out"):
        learn_topics_of(ROWS, out=placed, columns=COLUMNS, settings=SETTINGS, force=True)


def test_merged_and_hidden_nodes_are_gone_and_the_rest_has_its_shares(run: Path, placed: Path, tmp_path: Path) -> None:
    forest, whole = store.load_run(run).forest, sparse.load_npz(placed / "shares.npz").toarray()
    root = next(int(node) for node in forest.roots if len(forest.children(int(node))) > 1)
    pair = [int(node) for node in forest.children(root)[:2]]
    found = place_documents(run, ROWS, out=tmp_path / "merged", columns=COLUMNS, edits=[("merge", pair)])
    shares = found.shares.toarray()
    assert shares.shape[1] == len(forest) - 1
    np.testing.assert_allclose(shares[:, pair[0]], whole[:, pair].sum(1), atol=1e-6)
    found = place_documents(run, ROWS, out=tmp_path / "hidden", columns=COLUMNS, edits=[("hide", [root])])
    assert found.shares.shape[1] == len(forest) - 1 - len(forest.children(root))


@pytest.mark.parametrize("edit", [("hide", [99]), ("merge", [0]), ("hide", range(12))])
def test_edits_that_cannot_be_are_refused_before_a_document_is_read(run: Path, tmp_path: Path, edit: Any) -> None:
    def documents() -> Any:
        raise AssertionError("read")
        yield

    with pytest.raises(InputError):
        place_documents(run, documents(), out=tmp_path / "x", edits=[edit])
    assert not (tmp_path / "x").exists()


def test_names_come_from_the_run_and_stop_words_name_no_node(run: Path, tmp_path: Path) -> None:
    loaded = store.load_run(run)
    labelled = tmp_path / "run"
    learn_topics_of(ROWS, out=labelled, columns=COLUMNS, settings=SETTINGS)
    (labelled / "labels.tsv").write_text("0\tmy own name\n")
    first = store.load_documents(_placed(labelled, tmp_path / "a")).nodes["label"]
    assert first[0] == "my own name"
    word = first[1].split()[0]
    again = place_documents(labelled, ROWS, out=tmp_path / "b", columns=COLUMNS, stop_words=[word]).nodes["label"]
    assert word in loaded.words
    assert not any(word in label.split() for label in again)


def _placed(run: Path, out: Path) -> Path:
    place_documents(run, ROWS, out=out, columns=COLUMNS)
    return out


def test_what_was_merged_and_named_in_python_holds_for_the_folder(tmp_path: Path) -> None:
    topics = wf.TopicForest(levels=(4, 8), min_df=2, stop_words=["bike"]).fit(TEXTS)
    pair = [int(node) for root in topics.forest_.roots for node in topics.forest_.children(int(root))][:2]
    topics.merge_topics(pair).set_topic_labels({0: "mine"})
    wf.save_topics(tmp_path / "run", topics)
    found = place_documents(tmp_path / "run", TEXTS, out=tmp_path / "placed")
    np.testing.assert_array_equal(found.shares.toarray(), topics.documents_.shares.toarray())
    assert found.nodes["label"] == [*topics.documents_.labels] == [*wf.load_topics(tmp_path / "run").documents_.labels]
    assert found.config["edits"] == [["merge", pair]]


def test_empty_foreign_and_twice_named_documents_are_told_and_kept(run: Path, tmp_path: Path) -> None:
    said = Said()
    rows = [{"name": "a", "body": ""}, {"name": "a", "body": "Pfannkuchen"}, {"name": None, "body": "bread and flour"}]
    columns = DocumentColumns("body", "name")
    found = place_documents(run, rows, out=tmp_path / "placed", columns=columns, report=said)
    assert found.ids == ["a", "a#2", "2"]
    assert found.documents["depth0"][:2] == [-1, -1]
    assert found.documents["share0"][2] > 0
    assert any("2 of 3 documents have no word that the forest knows" in line for line in said.lines)
    assert any("'a' occurs again" in line for line in said.lines)
    with pytest.raises(InputError, match="there are no documents"):
        place_documents(run, [], out=tmp_path / "none")
    assert not (tmp_path / "none").exists()


@pytest.mark.parametrize(
    ("columns", "bins", "message"),
    [
        (DocumentColumns("nope"), None, "no column 'nope'.*name, body, subject, year"),
        (DocumentColumns("body", "nope"), None, "no column 'nope'"),
        (DocumentColumns("body", time="nope"), None, "no column 'nope'"),
        (DocumentColumns("body", group="nope"), None, "no column 'nope'"),
        (DocumentColumns("body", time="subject"), None, "expected a date or a number"),
        (DocumentColumns("body", time="year"), "week", "bins = week"),
    ],
)
def test_wrong_columns_are_told_before_any_work(
    run: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, columns: DocumentColumns, bins: Any, message: str
) -> None:
    monkeypatch.setattr(jobs, "_coded_chunk", lambda *_: pytest.fail("a document was coded"))
    with pytest.raises(InputError, match=message):
        place_documents(run, ROWS, out=tmp_path / "placed", columns=columns, bins=bins)
    assert not (tmp_path / "placed").exists()


def test_files_of_a_folder_have_no_group(run: Path, tmp_path: Path) -> None:
    (tmp_path / "files").mkdir()
    (tmp_path / "files" / "a.txt").write_text("bread and flour")
    with pytest.raises(InputError, match="no columns, but 'x'"):
        place_documents(run, tmp_path / "files", out=tmp_path / "placed", columns=DocumentColumns(group="x"))
    assert place_documents(run, tmp_path / "files", out=tmp_path / "placed").ids == ["a.txt"]


@pytest.fixture(scope="module")
def embedded(folder: Path) -> Path:
    learn_topics_of(ROWS, out=folder / "embedded", columns=COLUMNS, settings=SETTINGS, embeddings=E)
    return folder / "embedded"


def test_embeddings_of_documents_come_in_blocks_with_them(embedded: Path, tmp_path: Path) -> None:
    found = place_documents(embedded, ROWS, out=tmp_path / "placed", columns=COLUMNS, embeddings=E)
    topics = jobs.topics_of(store.load_run(embedded))
    bags = next(iter(count_words(jobs.read_documents(TEXTS), topics.vocabulary)))
    np.testing.assert_allclose(found.shares.toarray(), topics.coder.shares(bags.counts, E).matrix.toarray(), atol=2e-3)


def test_other_embeddings_are_not_what_was_begun_with(embedded: Path, tmp_path: Path) -> None:
    asked: dict[str, Any] = {"columns": COLUMNS, "resume": True}
    learn_topics_of(ROWS, out=embedded, settings=SETTINGS, embeddings=E, **asked)
    place_documents(embedded, ROWS, out=tmp_path, embeddings=E, **asked)
    for other in (E + 1, None, E.T.copy().T[::-1]):
        with pytest.raises(InputError, match="complete, but with embeddings"):
            learn_topics_of(ROWS, out=embedded, settings=SETTINGS, embeddings=other, **asked)
        with pytest.raises(InputError, match="complete, but with embeddings"):
            place_documents(embedded, ROWS, out=tmp_path, embeddings=other, **asked)


@pytest.mark.parametrize("n", [0, 150, 201])
def test_embeddings_of_another_length_are_refused(embedded: Path, tmp_path: Path, n: int) -> None:
    other = np.resize(E, (n, 6))
    with pytest.raises(InputError, match="embeddings"):
        place_documents(embedded, ROWS, out=tmp_path / "placed", columns=COLUMNS, embeddings=other)
    with pytest.raises(InputError, match=f"{n} embeddings came for 200 documents"):
        learn_topics_of(ROWS, columns=COLUMNS, settings=SETTINGS, embeddings=other)


def test_embeddings_that_are_missing_or_not_wanted_are_told(run: Path, embedded: Path, tmp_path: Path) -> None:
    with pytest.raises(InputError, match="learned with embeddings"):
        place_documents(embedded, ROWS, out=tmp_path / "placed", columns=COLUMNS)
    with pytest.raises(InputError, match="learned without any"):
        place_documents(run, ROWS, out=tmp_path / "placed", columns=COLUMNS, embeddings=E)
    with pytest.raises(InputError, match="vectors of words"):
        place_documents(run, ROWS, out=tmp_path / "x", columns=COLUMNS, embeddings=store.load_run(run).vectors)


def test_of_too_many_documents_those_drawn_by_id_are_learned_from_with_their_embeddings(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    said, seen = Said(), dict[str, Any]()
    learn: Callable[..., Any] = jobs.learn_topics

    def watched(vocabulary: Any, bags: Any, *rest: Any, **more: Any) -> Any:
        seen["ids"], seen["embeddings"] = bags.ids, more["embeddings"]
        return learn(vocabulary, bags, *rest, **more)

    monkeypatch.setattr(jobs, "learn_topics", watched)
    memory = 6 * 100 * (len(TEXTS[0]) + 550)
    learn_topics_of(ROWS, columns=COLUMNS, settings=SETTINGS, embeddings=E, memory=memory, report=said)
    kept = [int(one[1:]) for one in seen["ids"]]
    assert 50 < len(kept) < 150
    assert kept == sorted(kept)
    np.testing.assert_array_equal(seen["embeddings"], E[kept])
    keys = np.array([jobs.key_of(row["name"]) for row in ROWS], dtype=np.uint64)
    assert keys[kept].max() < np.delete(keys, kept).min()
    assert any(f"learned from {len(kept)} of 200 documents" in line for line in said.lines)
