"""The app: pages, data, what keeps the page to itself; the server as a process, and the command."""

from __future__ import annotations

import re
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
from wordforest.store import save_run


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
