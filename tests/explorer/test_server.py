"""The server as a process, and the command."""

from __future__ import annotations

import re
import signal
import socket
import subprocess
import sys
import urllib.request

import pytest

from tests.explorer.made import made_run
from wordforest.errors import InputError
from wordforest.explorer.server import listen
from wordforest.store import save_run


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
