"""The explorer without a browser: what each page shows, its addresses, its server, and the file to send."""

from __future__ import annotations

import base64
import hashlib
import html
import json
import re
import signal
import socket
import subprocess
import sys
import time
import urllib.request

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse

from wordforest.coder.forest import Forest
from wordforest.errors import InputError
from wordforest.explorer import maps, views
from wordforest.explorer.export import inline_json, kept_rows, model_data, page_text
from wordforest.explorer.model import build_model, complete, summary
from wordforest.explorer.open import open_models
from wordforest.explorer.routes import Route, UnknownPageError, address_of, page_view, parse_route
from wordforest.store import Run, save_run
from wordforest.vectors import Vectors

pytest.importorskip("dash", reason="the page needs Dash: pip install 'wordforest[explore]'")

HOSTILE = ("<script>alert(1)</script>", '"><img src=x onerror=alert(1)>', "o'neill", "a/b,c?d#e%2F", "..", "{{7*7}}",
           "שלום", "👩‍🚀", "\\", "=1+1", "<b>bold</b>")  # fmt: skip
FOREST = Forest([-1, 0, 1, 1, 0, -1, 5, 5, -1])  # a tree of five nodes, one of three, one of a single node


def made_run(n_words: int = 120, seed: int = 0) -> Run:
    """A run with a quarter of its coefficients set, node 7 unused, and words that are hard to show."""
    rng = np.random.default_rng(seed)
    words = ("king", "queen", "kings", "man", "woman", *HOSTILE)
    words += tuple(f"word{i:03d}" for i in range(n_words - len(words)))
    codes = rng.standard_normal((n_words, len(FOREST))) * (rng.random((n_words, len(FOREST))) < 0.25)
    codes[:2, :3] = [[2.0, 1.5, 1.0], [2.0, 1.5, -1.0]]  # king and queen part at node 2
    codes[:, 7] = 0
    dictionary = rng.standard_normal((n_words, len(FOREST))).astype(np.float32)
    counts = np.arange(n_words, 0, -1) * 10
    return Run(words, counts, sparse.csr_array(codes.astype(np.float32)), dictionary, FOREST)


@pytest.fixture(scope="module")
def model():
    return build_model("made", made_run())


@pytest.fixture(scope="module")
def client(model):
    from wordforest.explorer.server import make_app

    app = make_app([model], map_kind="pca")
    return app.server.test_client()


# ---- what the pages show


def test_completion_takes_frequent_words_first_in_any_case(model):
    assert complete(model, "KIN") == ["king", "kings"]
    assert complete(model, "kings") == ["kings"]
    assert complete(model, " ") == []
    assert complete(model, "word", k=3) == ["word000", "word001", "word002"]


@given(
    st.lists(st.text("abAB", min_size=1, max_size=4), min_size=1, max_size=30, unique=True), st.text("abAB", max_size=3)
)
def test_completion_finds_what_a_search_through_all_words_finds(words, prefix):
    model = build_model("m", Vectors(words, np.ones((len(words), 1))))
    wanted = [word for word in words if prefix and word.casefold().startswith(prefix.casefold())]
    assert sorted(complete(model, prefix, k=30)) == sorted(wanted)


def test_a_node_card_tells_place_use_words_and_contexts(model):
    card = views.node_card(model, 1, k=4)
    column = model.vectors.dense[:, 1]
    assert (card["depth"], card["parent"], card["children"]) == (1, 0, [2, 3])
    assert card["used"] == np.count_nonzero(column)
    assert [word for word, _ in card["positive"]] == [model.words[i] for i in np.argsort(-column, kind="stable")[:4]]
    assert [word for word, _ in card["negative"]] == [model.words[i] for i in np.argsort(column, kind="stable")[:4]]
    contexts = model.dictionary[:, 1]
    assert [word for word, _ in card["contexts"]["positive"]] == [model.words[i] for i in np.argsort(-contexts)[:4]]


def test_a_node_card_of_plain_vectors_has_no_contexts():
    card = views.node_card(build_model("m", Vectors(["a", "b"], [[1, 0], [0, -2]])), 1)
    assert card["contexts"] is None
    assert card["positive"] == []
    assert card["negative"] == [["b", -2.0]]


def test_an_unknown_node_is_refused_with_the_range(model):
    with pytest.raises(InputError, match="nodes 0 to 8"):
        views.node_card(model, 9)


def test_contexts_that_are_not_the_words_are_left_out():
    run = made_run()
    other = Run(run.words, run.counts, run.codes, run.dictionary[:50], run.forest)
    assert build_model("m", other).dictionary is None


def test_the_forest_of_a_word_is_its_non_zero_coefficients(model):
    shown = views.word_forest(model, "king")
    vector = model.vectors["king"]
    assert shown["nodes"] == np.flatnonzero(vector).tolist()
    assert shown["values"] == pytest.approx(vector[vector != 0], rel=1e-4)  # five digits are sent
    assert (shown["rank"], shown["count"]) == (1, 1200)


def test_a_word_without_a_vector_gets_words_that_begin_like_it(model):
    assert views.word_view(model, "kingdom") == {"word": "kingdom", "found": False, "near": ["king", "kings"]}


def test_the_nearest_words_are_those_of_the_vectors(model):
    assert [w for w, _ in views.word_view(model, "king", k=5)["neighbors"]] == [
        w for w, _ in model.vectors.most_similar("king", k=5)
    ]


def test_two_words_part_where_their_common_way_ends(model):
    found = views.comparison(model, ["king", "queen"])
    assert {row["node"] for row in found["shared"]} >= {0, 1}
    assert 2 in [row["node"] for row in found["parting"]]
    assert found["cosines"][0][1] == pytest.approx(model.vectors.similarity("king", "queen"), abs=1e-4)


@given(st.integers(0, 50), st.integers(2, 5))
def test_partings_are_as_they_are_defined(seed, n):
    run = made_run(seed=seed)
    model = build_model("m", run)
    words = list(run.words[:n])
    signs = np.sign([model.vectors[word] for word in words])
    groups = [range(i, FOREST.end[i]) for i in range(9)]
    entered = [[any(sign[j] for j in group) for group in groups] for sign in signs]
    shared = {i for i in range(9) if set(signs[:, i]) in ({1.0}, {-1.0})}
    together = {i for i in range(9) if all(e[i] for e in entered) and not {1.0, -1.0} <= set(signs[:, i])}
    some = {i for i in range(9) if any(e[i] for e in entered)}
    parting = {i for i in some - together if FOREST.parent[i] in together | {-1}}
    found = views.comparison(model, words)
    assert (found["n_shared"], found["n_parting"]) == (len(shared), len(parting))
    assert {row["node"] for row in found["shared"]} <= shared
    assert {row["node"] for row in found["parting"]} <= parting


def test_a_word_parts_from_others_by_a_branch_below_a_zero_node():
    codes = [[0.0, 3.0, 4.0], [1.0, 0.0, 0.0], [2.0, 0.0, 0.0]]  # the first uses two leaves, but not their root
    model = build_model("m", Vectors(["a", "b", "c"], codes, forest=Forest([-1, 0, 0])))
    found = views.comparison(model, ["a", "b"])
    assert found["shared"] == []
    assert found["parting"] == [{"node": 2, "values": [4.0, 0.0]}, {"node": 1, "values": [3.0, 0.0]}]
    assert views.comparison(model, ["b", "c"])["parting"] == []


def test_six_words_are_too_many_to_compare(model):
    with pytest.raises(InputError, match="at most 5"):
        views.comparison(model, list(model.words[:6]))


def test_an_analogy_names_unknown_words(model):
    assert views.analogy(model, "man", "nobody", "woman") == {"unknown": ["nobody"], "neighbors": []}
    found = views.analogy(model, "man", "king", "woman", k=3)["neighbors"]
    assert [w for w, _ in found] == [w for w, _ in model.vectors.analogy("man", "king", "woman", k=3)]


def test_a_nodes_values_keep_signs_and_zeros():
    tiny = build_model("m", Vectors(["a", "b", "c", "d"], [[1e-12], [-1e-12], [0], [2.0]]))
    values, limit = views.node_values(tiny, 0)
    assert values.tolist() == [1, -1, 0, 32767]
    assert limit == 2.0


def test_the_summary_counts_nodes_and_words_by_depth(model):
    told = summary(model)
    assert [level["nodes"] for level in told["depths"]] == [3, 4, 2]
    assert told["depths"][1]["unused"] == 1
    assert told["labels"][7] == []


def test_vectors_without_a_forest_are_shown_as_single_nodes():
    model = build_model("m", Vectors(["a", "b"], [[1, 0], [0, 1]]))
    assert not model.drawn
    assert model.forest.parent.tolist() == [-1, -1]


# ---- maps


def test_the_pca_map_is_that_of_scikit_learn():
    from sklearn.decomposition import PCA

    unit = build_model("m", made_run()).vectors.unit
    ours, theirs = maps.pca_places(unit), PCA(2).fit_transform(unit)
    for axis in range(2):  # same axis up to sign, shift and scale; a few outer words are drawn in
        inside = np.abs(ours[:, axis]) < 1.2
        assert abs(np.corrcoef(ours[inside, axis], theirs[inside, axis])[0, 1]) > 0.9999


def test_a_word_of_one_node_stands_at_that_node():
    forest = Forest.complete(3, (2,))
    model = build_model("m", Vectors([f"w{i}" for i in range(9)], np.eye(9), forest=forest))
    nodes, words = maps.node_places(model), maps.forest_places(model)
    for axis in range(2):  # the map is moved and scaled as a whole
        assert abs(np.corrcoef(nodes[:, axis], words[:, axis])[0, 1]) == pytest.approx(1, abs=1e-5)


@pytest.mark.parametrize("place", [lambda m: maps.pca_places(m.vectors.unit), maps.forest_places])
def test_maps_of_odd_models_are_finite(place):
    for matrix in ([[0.0, 0.0]], [[1.0], [0.0], [2.0]], [[1.0, 1.0], [1.0, 1.0]]):
        model = build_model("m", Vectors([f"w{i}" for i in range(len(matrix))], matrix))
        places = place(model)
        assert places.shape == (len(matrix), 2)
        assert np.isfinite(places).all()


def test_a_tsne_map_is_kept_for_the_next_time(tmp_path, model, monkeypatch):
    pytest.importorskip("openTSNE")
    first = maps.MapMaker(model, "tsne", tmp_path)
    assert first.wait(60)
    monkeypatch.setattr(maps, "tsne_places", lambda unit: pytest.fail("computed again"))
    second = maps.MapMaker(model, "tsne", tmp_path)
    assert second.wait(60)
    assert np.array_equal(first.current()[0], second.current()[0])


# ---- addresses


@given(
    st.sampled_from(["word", "compare", "analogy"]),
    st.lists(
        st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=8), min_size=1, max_size=3, unique=True
    ),
)
def test_every_word_has_an_address(kind, words):
    route = Route(kind, tuple(words[:1] if kind == "word" else words))
    assert parse_route(address_of(route)) == route


def test_addresses_of_folders_are_given_by_query():
    assert address_of(Route("word", ("..",))) == "/word?w=.."
    assert parse_route("/word?w=..").words == ("..",)


@pytest.mark.parametrize(
    "address",
    ["/nowhere", "/node/-1", "/node/x", "/node/1e3", "/compare/a,b,c,d,e,f", "/analogy/a,b,c,d", "/map?node=x",
     "/node/1?model=1", "/etc/passwd", "/map/../../etc", "/word/" + "a" * 9000],
)  # fmt: skip
def test_what_is_no_page_is_refused(address):
    with pytest.raises(UnknownPageError):
        parse_route(address)


def test_every_page_of_a_model_is_plain_json(model):
    addresses = ["/", "/word/king", "/word", "/node/8", "/compare", "/compare/king", "/compare/king,nobody",
                 "/analogy/man,king,woman", "/analogy", "/map", "/map?node=3"]  # fmt: skip
    for address in addresses:
        view = page_view([model], parse_route(address))
        assert json.loads(json.dumps(view, allow_nan=False)) == view


# ---- the server


def test_headers_keep_the_page_to_itself(client):
    answer = client.get("/")
    policy = answer.headers["Content-Security-Policy"]
    assert answer.status_code == 200
    assert "default-src 'none'" in policy
    assert "frame-ancestors 'none'" in policy
    assert "unsafe" not in policy
    assert "http:" not in policy
    assert answer.headers["X-Content-Type-Options"] == "nosniff"
    assert answer.headers["Referrer-Policy"] == "no-referrer"


def test_every_page_has_a_nonce_of_its_own(client):
    pages = [client.get("/") for _ in range(2)]
    nonces = [re.search(r'name="style-nonce" content="([^"]+)"', page.text)[1] for page in pages]
    assert nonces[0] != nonces[1]
    assert all(
        f"'nonce-{nonce}'" in page.headers["Content-Security-Policy"] for nonce, page in zip(nonces, pages, strict=True)
    )


def test_the_only_inline_script_is_allowed_by_its_hash(client):
    page = client.get("/")
    inline = re.findall(r"<script(?![^>]*(?:src=|json))[^>]*>(.*?)</script>", page.text, re.DOTALL)
    hashes = [base64.b64encode(hashlib.sha256(code.encode()).digest()).decode() for code in inline]
    assert len(inline) == 1
    assert f"'sha256-{hashes[0]}'" in page.headers["Content-Security-Policy"]


def test_nothing_is_loaded_from_elsewhere(client):
    assert re.findall(r'(?:src|href)="(?:https?:)?//[^"]*', client.get("/").text) == []


@pytest.mark.parametrize("address", ["/", "/word/king", "/node/3", "/compare/king,queen", "/analogy", "/map?node=3"])
def test_pages_are_found(client, address):
    assert client.get(address).status_code == 200


@pytest.mark.parametrize(
    "address",
    ["/nowhere", "/word/nobody", "/node/9", "/node/1?model=2", "/assets/../model.py", "/assets/%2e%2e/model.py",
     "/assets//etc/passwd", "/data/1/words", "/data/0/node/9", "/data/0/other", "/_dash-component-suites/dash/../x",
     "/_mcp", "/_reload-hash"],
)  # fmt: skip
def test_what_the_model_does_not_have_is_not_found(client, address):
    assert client.get(address).status_code == 404


@pytest.mark.parametrize("word", HOSTILE)
def test_hostile_words_have_pages_and_appear_in_no_markup(client, word):
    answer = client.get(address_of(Route("word", (word,))))
    assert answer.status_code == 200
    assert "alert(1)" not in answer.text
    assert "onerror" not in answer.text


@pytest.mark.parametrize("host", ["127.0.0.1:8050", "localhost", "[::1]:80"])
def test_the_server_answers_to_its_own_names(client, host):
    assert client.get("/", headers={"Host": host}).status_code == 200


@pytest.mark.parametrize(
    "host", ["evil.example", "127.0.0.1.evil.example", "192.168.0.7", "", "a@localhost/", "[", "é"]
)
def test_a_foreign_name_that_points_here_is_refused(client, host):
    assert client.get("/", headers={"Host": host}).status_code in (400, 403)


def test_a_foreign_page_cannot_ask(client):
    assert client.get("/data/0/words", headers={"Origin": "http://evil.example"}).status_code == 403


def test_the_data_of_the_map_is_that_of_the_model(client, model):
    assert client.get("/data/0/words").json == list(model.words)
    answer = client.get("/data/0/node/3")
    values = np.frombuffer(answer.data, "<i2") * float(answer.headers["X-Limit"]) / 32767
    assert values == pytest.approx(model.vectors.dense[:, 3], abs=1e-4)  # a share of 1/32767
    for _ in range(200):
        places = client.get("/data/0/places")
        if places.status_code == 200:
            break
        time.sleep(0.02)
    assert np.frombuffer(places.data, "<f4").shape == (2 * len(model.words),)


def ask(client, output: str, source: str, value: object):
    question = {
        "output": f"{output}.data",
        "outputs": {"id": output, "property": "data"},
        "inputs": [{"id": source, "property": "data", "value": value}],
        "changedPropIds": [f"{source}.data"],
    }
    return client.post("/_dash-update-component", json=question)


def test_dash_answers_pages_and_questions(client):
    view = ask(client, "view", "route", "/word/king").json["response"]["view"]["data"]
    assert view["panels"][0]["word"] == "king"
    words = ask(client, "answer", "question", {"prefix": "kin", "number": 7}).json["response"]["answer"]["data"]
    assert words == {"number": 7, "words": ["king", "kings"]}


@pytest.mark.parametrize("value", [None, 3, {"a": 1}, "/../..", "/node/99999", "x" * 9000])
def test_an_odd_question_gets_an_answer_that_says_so(client, value):
    assert ask(client, "view", "route", value).status_code == 200
    assert ask(client, "answer", "question", value).status_code == 200


def test_a_port_in_use_is_told():
    from wordforest.explorer.server import listen

    with socket.socket() as other:
        other.bind(("127.0.0.1", 0))
        other.listen()
        with pytest.raises(InputError, match=r"cannot listen there .* --port"):
            listen(port=other.getsockname()[1])


# ---- the command


COMMAND = [sys.executable, "-c", "import wordforest.cli.explore; from wordforest.cli import main; main()", "explore"]


@pytest.fixture(scope="module")
def run_folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("run")
    save_run(folder, made_run())
    return folder


def test_the_command_serves_until_interrupted(run_folder):
    with subprocess.Popen([*COMMAND, str(run_folder), "--port", "0"], stderr=subprocess.PIPE, text=True) as process:
        line = process.stderr.readline()
        url = re.search(r"http://127\.0\.0\.1:\d+/", line)[0]
        with urllib.request.urlopen(url + "word/king") as answer:
            assert answer.status == 200
        process.send_signal(signal.SIGINT)
        rest = process.stderr.read()
    assert (process.returncode, rest) == (0, "ended.\n")


def test_the_command_writes_a_file_and_does_not_replace_one(run_folder, tmp_path):
    target = tmp_path / "page.html"
    first = subprocess.run([*COMMAND, str(run_folder), "--export", str(target)], capture_output=True, text=True)
    assert first.returncode == 0, first.stderr
    assert target.read_text(encoding="utf-8").startswith("<!DOCTYPE html>")
    second = subprocess.run([*COMMAND, str(run_folder), "--export", str(target)], capture_output=True, text=True)
    assert second.returncode == 2
    assert "--force" in second.stderr


def test_models_of_one_name_are_told_apart(run_folder):
    names = [model.name for model in open_models([str(run_folder), str(run_folder)])]
    assert names == [str(run_folder)] * 2
    with pytest.raises(InputError, match="1 to 4"):
        open_models([str(run_folder)] * 5)


# ---- the file to send


@given(st.text())
def test_inlined_json_begins_no_tag_and_is_read_back(text):
    inlined = inline_json([text])
    assert "<" not in inlined
    assert json.loads(inlined) == [text]


def test_the_file_loads_nothing_and_runs_only_its_own_code(model):
    page = page_text([model], top_words=20)
    policy = html.unescape(re.search(r'Content-Security-Policy" content="([^"]+)"', page)[1])
    code = re.search(r"<script>(.*)</script>", page, re.DOTALL)[1]
    style = re.search(r"<style>(.*?)</style>", page, re.DOTALL)[1]
    for text in (code, style):
        assert base64.b64encode(hashlib.sha256(text.encode()).digest()).decode() in policy
    assert "unsafe" not in policy
    assert "</script" not in code
    assert re.findall(r'(?:src|href)="(?!#|data:)', page) == []
    assert "<script>alert" not in page


def test_the_file_keeps_the_first_words_and_all_labels(model):
    rows = kept_rows(model, 3)
    kept = {model.words[row] for row in rows}
    assert kept >= {"king", "queen", "kings"}
    assert kept >= {word for label in model.labels for word in label}


def test_the_codes_of_the_file_are_those_of_the_model(model):
    data = model_data(model, 50)
    unpack = lambda text, kind: np.frombuffer(base64.b64decode(text), kind)  # noqa: E731
    codes, ends = data["codes"], unpack(data["codes"]["ends"], "<u4")
    values, nodes = unpack(codes["values"], "<i2"), unpack(codes["nodes"], "<u4")
    for i, word in enumerate(data["kept"]):
        part = slice(ends[i - 1] if i else 0, ends[i])
        vector = np.zeros(9)
        vector[nodes[part]] = values[part] * data["limit"][i] / 32767
        assert vector == pytest.approx(model.vectors[word], abs=2e-4 * data["limit"][i])  # 1/32767, limit of six digits
        assert ((vector != 0) == (model.vectors[word] != 0)).all()
