from __future__ import annotations

import io
import json
import re

import pytest

from wordforest.runtime.progress import (
    LINE_EVERY,
    BarReporter,
    Event,
    JsonReporter,
    LineReporter,
    QuietReporter,
    Reporter,
    as_reporter,
    describe,
    make_reporter,
)


class Clock:
    """A clock that a test sets."""

    now = 100.0

    def __call__(self) -> float:
        return self.now


class Terminal(io.StringIO):
    """A stream that says it is a terminal."""

    def isatty(self) -> bool:
        return True


@pytest.fixture
def clock():
    return Clock()


@pytest.fixture
def stream():
    return io.StringIO()


@pytest.fixture
def lines(stream, clock):
    return LineReporter(stream, clock)


def test_a_stage_that_ends_at_once_gets_one_line(lines, stream, clock):
    lines(Event("read", 0, None, "tokens"))
    clock.now += 2
    lines(Event("read", 3000, 3000, "tokens"))
    assert stream.getvalue() == "read: 3.0k tokens, 1.5k tokens/s, 2.0 s\n"


def test_lines_in_between_come_no_oftener_than_every_few_seconds(lines, stream, clock):
    for _ in range(int(8 * 3 * LINE_EVERY) + 1):
        lines(Event("learn", 5, 20, "words"))
        clock.now += 1 / 8  # exact in binary, so the third line is not missed by rounding
    assert len(stream.getvalue().splitlines()) == 3
    assert stream.getvalue().startswith("learn  25%: 5 words, ")


def test_the_end_of_a_stage_is_told_once(lines, stream):
    for _ in range(3):
        lines(Event("count", 7, 7, "tokens"))
    assert len(stream.getvalue().splitlines()) == 1


def test_each_stage_has_its_own_clock(lines, stream, clock):
    lines(Event("read", 0, None, "tokens"))
    clock.now += 60
    lines(Event("read", 10, 10, "tokens"))
    lines(Event("count", 0, 10, "tokens"))
    clock.now += 1
    lines(Event("count", 10, 10, "tokens"))
    assert [line.rsplit(", ", 1)[1] for line in stream.getvalue().splitlines()] == ["60.0 s", "1.0 s"]


def test_a_line_tells_objective_and_density():
    event = Event("learn", 1_500_000, 1_500_000, "words", {"objective": 12345.678, "density": 0.125})
    assert describe(event, 3.0) == "learn: 1.5M words, 500.0k words/s, objective 12345.7, 12.5% non-zero, 3.0 s"


def test_no_time_gone_is_no_division_by_zero():
    assert describe(Event("read", 5, None, "tokens"), 0.0) == "read: 5 tokens, 0.0 s"


def test_say_writes_a_line(lines, stream):
    lines.say("wrote run: é")
    assert stream.getvalue() == "wrote run: é\n"


def test_json_holds_the_whole_event_on_one_line(stream):
    reporter = JsonReporter(stream)
    reporter(Event("learn", 5, None, "words", {"objective": 1.5}))
    reporter.say("wrote\nrun é")
    first, second = map(json.loads, stream.getvalue().splitlines())
    assert first == {"stage": "learn", "done": 5, "total": None, "unit": "words", "facts": {"objective": 1.5}}
    assert second == {"message": "wrote\nrun é"}


def test_bars_name_every_stage_and_leave_messages_alone(stream, monkeypatch):
    monkeypatch.setenv("COLUMNS", "120")
    with BarReporter(stream) as reporter:
        reporter(Event("read", 0, None, "tokens"))
        reporter(Event("read", 10, 10, "tokens"))
        reporter(Event("learn", 5, 10, "words", {"objective": 2.5, "density": 0.5}))
        reporter.say("wrote [run]: 3 words")
    text = stream.getvalue()
    assert "read" in text
    assert "learn" in text
    assert "objective 2.5" in text
    assert "wrote [run]: 3 words" in text  # brackets are not markup


def test_bars_and_times_are_whole_on_a_terminal_of_80_columns(stream, monkeypatch):
    monkeypatch.setenv("COLUMNS", "80")
    with BarReporter(stream) as reporter:
        reporter(Event("learn", 122_000, 122_000, "words", {"objective": 41025.1, "density": 0.069}))
    last = stream.getvalue().rstrip().splitlines()[-1]
    assert re.search(
        r"learn +\S*━{24}\S* 0:00:00 left 0:00:00 122.0k words", re.sub(r"\x1b\[[\d;?]*[A-Za-z]", "", last)
    )


def test_bars_stop_when_the_work_fails(stream):
    reporter = BarReporter(stream)
    with pytest.raises(ZeroDivisionError), reporter:
        raise ZeroDivisionError
    assert not reporter._progress.live.is_started


def test_the_silent_reporter_takes_everything_and_shows_nothing(capfd):
    with Reporter() as reporter:
        reporter(Event("read", 1, 2, "tokens"))
        reporter.say("warning: nothing")
    assert capfd.readouterr() == ("", "")


@pytest.mark.parametrize(
    ("options", "stream", "kind"),
    [
        ({}, io.StringIO(), LineReporter),
        ({}, Terminal(), BarReporter),
        ({"as_json": True}, Terminal(), JsonReporter),
        ({"quiet": True}, Terminal(), QuietReporter),
        ({"quiet": True, "as_json": True}, io.StringIO(), QuietReporter),
    ],
    ids=["log", "terminal", "json", "quiet", "quiet wins"],
)
def test_the_reporter_fits_the_stream_and_the_options(options, stream, kind):
    with make_reporter(stream=stream, **options) as reporter:
        assert type(reporter) is kind


def test_facts_are_a_line_for_a_person_and_an_object_for_a_program(stream):
    LineReporter(stream).tell({"wrote": "run"}, "wrote run: 3 words")
    JsonReporter(stream).tell({"wrote": "run"}, "wrote run: 3 words")
    QuietReporter(stream).tell({"wrote": "run"}, "wrote run: 3 words")
    assert stream.getvalue() == 'wrote run: 3 words\n{"wrote": "run"}\n'


def test_a_function_of_python_is_silent_in_a_script_but_where_it_is_asked(capfd):
    assert type(as_reporter(None)) is type(as_reporter(False)) is Reporter
    assert type(as_reporter(True)) is LineReporter
    mine = Reporter()
    assert as_reporter(mine) is mine
