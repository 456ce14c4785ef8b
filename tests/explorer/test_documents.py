"""Documents on the page as plain data: whole texts, words with their nodes, lines, groups, and what a file keeps."""

from __future__ import annotations

import json

import numpy as np
import pytest
from scipy import sparse

from tests.explorer.made import DOCUMENTS, FOREST, NAMES, made_documents, made_run
from wordforest.documents.topics import TopicSettings
from wordforest.errors import InputError
from wordforest.explorer import documents as module
from wordforest.explorer import views
from wordforest.explorer.app import make_app
from wordforest.explorer.documents import collection_data, kept_rows, open_collection
from wordforest.explorer.page import page_text
from wordforest.jobs.documents import DocumentColumns, learn_topics_of, place_documents
from wordforest.reading.columns import branch_shares
from wordforest.store import save_documents
from wordforest.vectors import Vectors


def test_the_pieces_of_a_document_are_its_text_and_its_words(collection):
    for row, shown in enumerate(collection.shown(range(len(NAMES)))):
        assert "".join(shown["pieces"]) == DOCUMENTS[row]
        assert len(shown["pieces"]) == 2 * len(shown["tokens"]) + 1
        words = [shown["words"][token][0] for token in shown["tokens"]]
        assert words == [piece.lower() for piece in shown["pieces"][1::2]]
        assert (shown["id"], shown["length"]) == (NAMES[row], len(DOCUMENTS[row]))


def test_a_word_comes_with_the_nodes_that_have_a_good_part_of_it(collection):
    vectors = collection.vectors
    for word, nodes in collection.shown([4])[0]["words"]:
        sizes = np.abs(vectors[word])
        shares = {i: sizes[i : FOREST.end[i]].sum() / (sizes.sum() or 1) for i in range(len(FOREST))}
        assert {*nodes} == {node for node, share in shares.items() if share >= 0.3}, word
        assert [shares[node] for node in nodes] == sorted((shares[node] for node in nodes), reverse=True)


def test_words_that_are_everywhere_are_not_marked(tmp_path):
    words = ("common", *(f"w{i}" for i in range(398)), "the")
    vectors = Vectors(words, sparse.csr_array(np.ones((400, 1))))
    tables = {"documents": {"document": ["d"]}, "nodes": {"node": [0]}}
    records = [{"id": "d", "text": "Common w1 the"}]
    save_documents(tmp_path, ids=["d"], shares=vectors.matrix[:1], config={}, texts=records, **tables)
    shown = open_collection(tmp_path, vectors, {}).shown([0])[0]
    assert shown["words"] == [["common", []], ["w1", [0]], ["the", []]]


def test_shares_of_branches_are_those_of_an_additive_forest():
    A = [[3, 2, 1, 0], [0, 0, 0, 0], [2, 0, 0, 2]]
    vectors = Vectors(["a", "b", "c"], A, forest=type(FOREST)([-1, 0, 1, -1]))
    assert branch_shares(vectors, np.array([0, 1, 2])).toarray() == pytest.approx(
        np.array([[1, 2 / 3, 1 / 3, 0], [0, 0, 0, 0], [0.5, 0, 0, 0.5]])
    )


def test_a_document_has_fields_shares_and_a_path(collection):
    first, empty = collection.shown([0, 3])
    assert first["fields"] == {"year": "1990", "group": "g0<i>"}
    assert first["path"] == [0, 1, 3]
    shares = dict(zip(first["nodes"], first["values"], strict=True))
    assert sum(shares.get(root, 0) for root in FOREST.roots.tolist()) == pytest.approx(1, abs=1e-3)
    assert (empty["pieces"], empty["nodes"], empty["path"]) == ([""], [], [])


def test_a_long_text_is_cut_and_its_length_told(collection, monkeypatch):
    shown = collection.shown([0], 10)[0]
    assert ("".join(shown["pieces"]), shown["length"]) == (DOCUMENTS[0][:10], len(DOCUMENTS[0]))


def test_typical_documents_come_first_then_those_with_most(collection):
    shares = collection.folder.shares.toarray()
    ranked = collection.ranked(0, 100).tolist()
    assert ranked[:2] == [NAMES.index("doc 5"), 0]
    rest = [row for row in np.argsort(-shares[:, 0], kind="stable") if shares[row, 0] > 0 and row not in ranked[:2]]
    assert ranked[2:] == rest
    page = collection.of_node(0, start=2, k=3)
    assert [one["row"] for one in page["documents"]] == rest[:3]
    assert page["total"] == np.count_nonzero(shares[:, 0])


def test_lines_say_from_how_many_documents_they_are(collection):
    found = collection.context("king")
    assert (found["found"], found["with"], found["searched"], found["total"]) == (40, 39, 40, 40)
    assert found["lines"][0][:4] == [0, "first", "The ", "king"]
    strongest = collection.context(0, "strength")
    rank = {row: i for i, row in enumerate(collection.ranked(0, 100).tolist())}
    places = [rank[line[0]] for line in strongest["lines"]]
    assert places == sorted(places)


def test_of_many_texts_a_sample_is_searched_and_any_is_shown(tmp_path, monkeypatch):
    monkeypatch.setattr("wordforest.store.documents._FRAME", 100)
    monkeypatch.setattr(module, "_SEARCHED", 300)
    collection = made_documents(tmp_path)
    assert 1 < len(collection.sample) < 15
    assert list(collection.sample) == sorted(collection.sample)
    assert all(DOCUMENTS[row] == text for row, text in collection.sample.items())
    found = collection.context("king")
    assert (found["searched"], found["total"]) == (len(collection.sample), 40)
    assert {line[0] for line in found["lines"]} <= {*collection.sample}
    assert collection.shown([39])[0]["length"] == len(DOCUMENTS[39])
    assert collection.summary()["searched"] == len(collection.sample)


def test_a_folder_without_texts_still_has_documents(tmp_path):
    collection = made_documents(tmp_path, texts=False)
    assert collection.shown([0])[0] | {"path": []} == {
        **{"row": 0, "id": "first", "fields": {}, "length": 0, "pieces": [""], "tokens": [], "words": [], "path": []},
        **{name: collection.path(0)[name] for name in ("nodes", "values")},
    }
    assert (collection.context("king")["lines"], collection.context(0, "strength")["lines"]) == ([], [])
    assert [one["id"] for one in collection.offers("first")] == ["first"]


def test_documents_are_found_by_name_and_by_their_beginning(collection):
    assert [one["row"] for one in collection.offers("SECOND")] == [1]
    assert [one["row"] for one in collection.offers("the king and")] == [0]
    assert collection.offers("the king and")[0]["head"].startswith("The king and the queen met a man. <script>")
    assert len(collection.offers("doc")) == 5
    assert [one["id"] for one in collection.offers("doc 3")][:3] == ["doc 3", "doc 30", "doc 31"]
    assert [one["id"] for one in collection.offers("doc 35")] == ["doc 35"]
    assert collection.offers("nowhere to be found") == collection.offers(" ") == []


def test_times_and_groups_of_a_node_have_gaps_where_nothing_is_known(collection):
    changes = collection.changes(2)
    assert changes["times"][0] == ["1990", 0.1, 0.05, 0.15]
    assert changes["times"][1] == ["1991", None, None, None]
    assert [row[0] for row in changes["groups"]] == ["g0<i>", "g1<i>", "g2<i>"]


def test_documents_of_another_forest_are_refused(collection):
    vectors = Vectors(["a"], [[1.0, 2.0]])
    with pytest.raises(InputError, match=r"forest of 9 nodes .* \(2 nodes\)"):
        open_collection(collection.folder.folder, vectors, {})


def test_a_file_keeps_typical_documents_first_and_says_how_many(read, collection):
    assert {NAMES.index("doc 5")} <= {*kept_rows(collection, 5)}
    assert len(kept_rows(collection, 5)) == 5
    assert kept_rows(collection, 100) == [*range(40)]
    data = collection_data(collection, 30)
    assert (len(data["documents"]), len(data["changes"])) == (30, len(FOREST))
    assert json.loads(json.dumps(data, allow_nan=False)) == data
    text = page_text([read], kept_documents=30)
    assert "30 of 40 documents" in text
    assert "<script>alert(1)" not in text


def test_a_file_holds_a_word_once_for_all_its_documents(collection):
    data = collection_data(collection, 30)
    words = [word for word, _ in data["words"]]
    assert len(words) == len({*words})
    for kept, shown in zip(data["documents"], collection.shown(kept_rows(collection, 30)), strict=True):
        assert [data["words"][i] for i in kept["words"]] == shown["words"]


@pytest.mark.parametrize(
    "address",
    [
        "/documents",
        "/documents?from=20",
        "/documents/0?from=20",
        "/document/3",
        "/context/king?sort=left",
        "/context?node=0",
        "/context",
        "/node/0",
    ],
)
def test_every_page_of_documents_is_plain_json_and_found(read, address):
    route = views.parse_route(address)
    view = views.page_view([read], route)
    assert json.loads(json.dumps(view, allow_nan=False)) == view
    assert views.exists([read], route)
    assert make_app([read]).test_client().get(address).status_code == 200


@pytest.mark.parametrize(
    "address", ["/document/40", "/documents/9", "/context/nobody", "/context?node=9", "/document/x"]
)
def test_what_is_not_there_is_told(read, address):
    client = make_app([read]).test_client()
    view = client.get("/data/view", query_string={"address": address}).json
    assert view["kind"] == "missing"
    if not address.startswith("/context/"):
        assert client.get(address).status_code == 404


def test_without_documents_the_page_says_how_to_get_them(model):
    client = make_app([model]).test_client()
    assert client.get("/documents").status_code == 404
    view = client.get("/data/view", query_string={"address": "/documents"}).json
    assert "--documents FOLDER" in view["message"]
    assert client.get("/data/documents?text=a").json == []


def test_offers_are_served(read):
    assert [one["row"] for one in make_app([read]).test_client().get("/data/documents?text=second").json] == [1]


def test_the_page_opens_runs_with_documents(tmp_path, collection):
    from wordforest.explorer.model import open_models
    from wordforest.store import save_run

    save_run(tmp_path / "run", made_run())
    models = open_models([str(tmp_path / "run")], documents=collection.folder.folder)
    models[0].warm()
    assert len(models[0].documents) == 40


def test_the_page_opens_what_the_command_writes(tmp_path, corpus):
    from wordforest.explorer.model import open_models

    text = [
        {"id": str(i), "text": line, "year": 1990 + i % 3}
        for i, line in enumerate(corpus.read_text().splitlines()[:300])
    ]
    (tmp_path / "docs.jsonl").write_text("".join(json.dumps(one) + "\n" for one in text))
    run, folder = tmp_path / "run", tmp_path / "folder"
    learn_topics_of(tmp_path / "docs.jsonl", out=run, settings=TopicSettings(levels=(2, 5)))
    place_documents(run, tmp_path / "docs.jsonl", out=folder, columns=DocumentColumns(time="year"))
    found = open_models([str(run)], documents=folder)[0].documents
    assert (len(found), found.shown([7])[0]["length"]) == (300, len(text[7]["text"]))
    assert found.typical(0)
    assert [row[0] for row in found.changes(0)["times"]] == ["1990", "1991", "1992"]
    shown = found.shown(range(300))
    assert sum(bool(one["path"]) for one in shown) > 250
