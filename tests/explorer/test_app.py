"""The app: pages, data, what keeps the page to itself; the server as a process, and the command."""

from __future__ import annotations

import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import urllib.request

import numpy as np
import pytest

from tests.explorer.made import HOSTILE, address_of, made_run
from wordforest.errors import InputError
from wordforest.explorer.app import listen, make_app
from wordforest.explorer.model import open_models
from wordforest.store import load_run, save_run


@pytest.fixture(scope="module")
def client(model):
    return make_app([model]).test_client()


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


def test_the_page_has_no_inline_code(client):
    assert re.findall(r"<script(?![^>]*src=)|<style|style=|onclick", client.get("/").text) == []


def test_every_script_and_style_of_the_page_is_served(client):
    files = re.findall(r'(?:src|href)="(/assets/[^"]*)', client.get("/").text)
    assert len(files) > 10
    for name in files:
        with client.get(name) as answer:
            assert answer.status_code == 200, name


def test_nothing_is_loaded_from_elsewhere(client):
    assert re.findall(r'(?:src|href)="(?:https?:)?//[^"]*', client.get("/").text) == []


@pytest.mark.parametrize("address", ["/", "/word/king", "/node/3", "/compare/king,queen", "/analogy", "/map?node=3"])
def test_pages_are_found(client, address):
    assert client.get(address).status_code == 200


@pytest.mark.parametrize(
    "address",
    [
        "/nowhere",
        "/word/nobody",
        "/node/9",
        "/node/1?model=2",
        "/assets/../model.py",
        "/assets/%2e%2e/model.py",
        "/assets//etc/passwd",
        "/data/1/words",
        "/data/0/node/9",
        "/data/0/other",
        "/_mcp",
        "/_reload-hash",
    ],
)
def test_what_the_model_does_not_have_is_not_found(client, address):
    assert client.get(address).status_code == 404


@pytest.mark.parametrize("word", HOSTILE)
def test_hostile_words_have_pages_and_appear_in_no_markup(client, word):
    answer = client.get(address_of("word", word))
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
    points = np.frombuffer(client.get("/data/0/points").data, "<f4").reshape(-1, 2)
    assert points == pytest.approx(model.points)


def test_pages_and_completions_are_answered(client):
    view = client.get("/data/view", query_string={"address": "/word/king"}).json
    assert (view["address"], view["panels"][0]["word"]) == ("/word/king", "king")
    assert client.get("/data/complete", query_string={"prefix": "kin"}).json == ["king", "kings"]


@pytest.mark.parametrize("address", ["", "/../..", "/node/99999", "x" * 9000])
def test_an_odd_address_gets_a_page_that_says_why(client, address):
    view = client.get("/data/view", query_string={"address": address}).json
    assert view["kind"] == ("forest" if address == "" else "missing")


def test_a_failing_question_is_refused_without_a_traceback(client, monkeypatch):
    monkeypatch.setattr("wordforest.explorer.app.complete", lambda *_: 1 / 0)
    answer = client.get("/data/complete?prefix=a")
    assert (answer.status_code, answer.text) == (400, "This question cannot be answered.\n")


def test_nothing_can_be_sent_to_the_server(client):
    assert client.post("/data/view").status_code == 405


NOTE = {"name": "Rulers", "hidden": True, "remark": "of old"}


@pytest.fixture
def own(run_folder, tmp_path):
    """A run folder of its own, and a client of its page."""
    folder = shutil.copytree(run_folder, tmp_path / "run")
    return folder, make_app(open_models([str(folder)])).test_client()


def token(client):
    return re.search(r'name="token" content="([^"]+)"', client.get("/").text)[1]


def test_a_note_about_a_node_is_kept_in_the_run_folder(own):
    folder, client = own
    answer = client.post("/data/0/node/3", json=NOTE, headers={"X-Token": token(client)})
    assert answer.status_code == 200
    assert answer.json["labels"][3] == ["Rulers"]
    assert answer.json["notes"]["3"][:3] == ["Rulers", True, "of old"]
    assert load_run(folder).vectors.notes == {3: ("Rulers", True, "of old")}
    assert client.get("/data/models").json[0]["labels"][3] == ["Rulers"]


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({}, 403),
        ({"X-Token": "guessed"}, 403),
        ({"X-Token": "é"}, 403),
        ({"Origin": "http://evil.example"}, 403),
        ({"Host": "evil.example"}, 403),
        ({"Origin": "null"}, 403),
    ],
)
def test_a_foreign_page_writes_nothing(own, headers, status):
    folder, client = own
    known = {} if "X-Token" in headers or not headers else {"X-Token": token(client)}
    assert client.post("/data/0/node/3", json=NOTE, headers=known | headers).status_code == status
    assert not (folder / "labels.tsv").exists()


@pytest.mark.parametrize(
    ("sent", "status"),
    [
        ({"json": {"name": "x"}}, 409),
        ({"json": NOTE | {"name": 5}}, 409),
        ({"json": NOTE | {"hidden": "yes"}}, 409),
        ({"json": NOTE | {"name": "x" * 201}}, 409),
        ({"json": NOTE | {"path": "../x"}}, 409),
        ({"json": [NOTE]}, 409),
        ({"json": NOTE | {"name": "\ud800"}}, 409),
        ({"data": "name=x"}, 415),
        ({"json": NOTE | {"remark": "x" * 70_000}}, 413),
    ],
)
def test_what_is_no_note_is_refused(own, sent, status):
    folder, client = own
    assert client.post("/data/0/node/3", **sent, headers={"X-Token": token(client)}).status_code == status
    assert not (folder / "labels.tsv").exists()


def test_notes_are_of_nodes_that_there_are(own):
    folder, client = own
    for address, status in (("/data/0/node/9", 409), ("/data/1/node/0", 404), ("/data/0/node/-1", 404)):
        assert client.post(address, json=NOTE, headers={"X-Token": token(client)}).status_code in (status, 405)
    assert not (folder / "labels.tsv").exists()


def test_a_folder_that_cannot_be_written_is_told(own):
    folder, client = own
    (folder / "labels.tsv").mkdir()
    answer = client.post("/data/0/node/3", json=NOTE, headers={"X-Token": token(client)})
    assert answer.status_code == 409
    assert "labels.tsv: cannot be read" in answer.text
    shutil.rmtree(folder)
    assert (
        "The run folder cannot be written"
        in client.post("/data/0/node/3", json=NOTE, headers={"X-Token": token(client)}).text
    )


@pytest.mark.skipif(os.geteuid() == 0, reason="root writes everywhere")
def test_a_read_only_folder_is_told_before_anything_is_written(own):
    folder, client = own
    folder.chmod(0o555)
    try:
        assert "cannot be written" in client.get("/data/models").json[0]["fixed"]
        answer = client.post("/data/0/node/3", json=NOTE, headers={"X-Token": token(client)})
        assert (answer.status_code, "cannot be written" in answer.text) == (409, True)
    finally:
        folder.chmod(0o755)


def test_vectors_without_a_folder_take_no_notes(client, model):
    assert "kept in run folders" in client.get("/data/models").json[0]["fixed"]
    answer = client.post("/data/0/node/3", json=NOTE, headers={"X-Token": token(client)})
    assert (answer.status_code, model.notes) == (409, {})


def test_a_page_that_others_can_reach_takes_no_notes(own):
    folder, _ = own
    client = make_app(open_models([str(folder)]), host="0.0.0.0").test_client()
    assert 'name="token"' not in client.get("/").text
    assert client.post("/data/0/node/3", json=NOTE, headers={"X-Token": ""}).status_code == 405


def test_nodes_are_found_by_a_word(client, model):
    found = client.get("/data/nodes", query_string={"word": "KING"}).json[0]
    sizes = abs(model.vectors["king"])
    assert found[0] == sizes.argmax()
    assert all(sizes[node] > 0 for node in found)
    assert client.get("/data/nodes", query_string={"word": "nobody"}).json == [[]]


def test_a_port_in_use_is_told():
    with socket.socket() as other:
        other.bind(("127.0.0.1", 0))
        other.listen()
        with pytest.raises(InputError, match=r"cannot listen there .* --port"):
            listen(port=other.getsockname()[1])


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
