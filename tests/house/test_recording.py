"""The recording of the README: the terminal behind it on cases worked by hand, and the picture that is there."""

from __future__ import annotations

import runpy
from pathlib import Path
from xml.etree import ElementTree

import pytest

HOME = Path(__file__).resolve().parents[2]
RECORDING = HOME / "docs" / "pictures" / "recording.svg"
pytest.importorskip("termios", reason="terminals are those of POSIX")
TOOL = runpy.run_path(str(HOME / "benchmarks" / "recording.py"))


def texts(lines: object) -> list[str]:
    return ["".join(segment.text for segment in line) for line in lines]


def test_a_bar_is_written_anew_in_its_place():
    screen = TOOL["Screen"]()
    screen.write("$ go\r\nread  1%\r\nlearn 0%\x1b[?25l")
    screen.write("\r\x1b[2K\x1b[1A\x1b[2Kread  100%\r\nlearn 5%\r\n")
    assert texts(screen.shown()) == ["$ go", "read  100%", "learn 5%", ""]


def test_a_control_sequence_may_come_in_two_parts():
    screen = TOOL["Screen"]()
    screen.write("a\x1b[3")
    screen.write("2mb\x1b[0m")
    (line,) = screen.shown()
    assert [(part.text, bool(part.style and part.style.color)) for part in line] == [("a", False), ("b", True)]


def test_long_lines_are_folded_and_the_last_ones_shown():
    screen = TOOL["Screen"]()
    screen.write("x" * (TOOL["COLUMNS"] + 1) + "\r\n" * TOOL["ROWS"])
    assert len(screen.shown()) == TOOL["ROWS"]
    screen = TOOL["Screen"]()
    screen.write("x" * (TOOL["COLUMNS"] + 1))
    assert [len(text) for text in texts(screen.shown())] == [TOOL["COLUMNS"], 1]


def test_equal_frames_become_one():
    frame = TOOL["Frame"]
    assert TOOL["merged"]([frame(1, ()), frame(2, ()), frame(0, ((),)), frame(1, ((),))]) == [
        frame(3, ()),
        frame(1, ((),)),
    ]


def test_commands_are_typed_run_and_end_at_a_prompt(tmp_path: Path):
    frames = TOOL["merged"](TOOL["play"](["wordforest --version"], tmp_path))
    assert texts(frames[0].lines) == ["$"]
    assert texts(frames[1].lines) == ["$ wor"]
    typed, answer, prompt = texts(frames[-1].lines)
    assert (typed, prompt) == ("$ wordforest --version", "$")
    assert answer.startswith("wordforest ")


def test_a_command_that_fails_is_not_recorded(tmp_path: Path):
    with pytest.raises(SystemExit, match="inspect nothing ended with 2"):
        list(TOOL["play"](["wordforest inspect nothing"], tmp_path))


class TestThePicture:
    """What the README shows."""

    def test_it_is_small_and_runs_no_script(self):
        text = RECORDING.read_text(encoding="utf-8")
        assert len(text.encode()) <= TOOL["MOST_BYTES"]
        names = {element.tag.rpartition("}")[2] for element in ElementTree.fromstring(text).iter()}
        assert names == {"svg", "title", "desc", "style", "defs", "g", "use", "text", "rect", "circle"}
        assert "url(" not in text

    def test_it_shows_the_commands_of_the_script(self):
        text = RECORDING.read_text(encoding="utf-8")
        assert [command for command in TOOL["COMMANDS"] if f">{command}</text>" not in text] == []

    def test_it_follows_dark_mode_and_stands_still_where_asked(self):
        text = RECORDING.read_text(encoding="utf-8")
        assert "prefers-color-scheme:dark" in text
        assert "prefers-reduced-motion:reduce" in text
