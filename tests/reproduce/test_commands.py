"""Jobs run once, and again when their settings or their text change; the command itself is not run here."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.reproduce.small import Said
from wordforest.errors import InputError
from wordforest.reproduce import commands
from wordforest.reproduce.commands import FailedJobError, JobRunner, run_command
from wordforest.reproduce.plan import Job
from wordforest.runtime.progress import Event


@pytest.fixture
def typed(monkeypatch: pytest.MonkeyPatch) -> list[list[str]]:
    """The arguments of every command, which only makes its folder."""
    found: list[list[str]] = []

    def run(arguments: list[str], _report: object) -> tuple[float, int]:
        found.append(arguments)
        Path(arguments[arguments.index("--out") + 1]).mkdir(parents=True, exist_ok=True)
        return 2.0, len(found)

    monkeypatch.setattr(commands, "run_command", run)
    return found


@pytest.fixture
def text(tmp_path: Path) -> Path:
    path = tmp_path / "text.txt"
    path.write_text("the cat eats hay")
    return path


def runner(tmp_path: Path, text: Path, workers: int | None = None) -> JobRunner:
    return JobRunner(tmp_path / "out", [str(text)], workers, Said())


PCA = Job("pca", 13, 0, {}, {"min_count": 5})


def test_counts_are_made_once_and_their_time_and_memory_counted_in(tmp_path, text, typed):
    here = runner(tmp_path, text)
    first, second = here.run(PCA), here.run(Job("sc", 13, 1, {}, {"min_count": 5}))
    assert [arguments[0] for arguments in typed] == ["count", "baseline", "baseline"]
    assert (first.seconds, first.counting, second.peak) == (2.0, 2.0, 3)
    assert typed[0][1:4] == [str(text), "--min-count", "5"]


def test_the_same_job_is_not_run_again_and_an_edited_text_makes_it_run_again(tmp_path, text, typed):
    runner(tmp_path, text).run(PCA)
    runner(tmp_path, text).run(PCA)
    assert len(typed) == 2
    text.write_text("the cat eats hay and grass")
    runner(tmp_path, text).run(PCA)
    assert [arguments[0] for arguments in typed] == ["count", "baseline", "count", "baseline"]


@pytest.mark.parametrize(
    ("job", "wanted"),
    [
        (Job("forest", 26, 3, {"lam": 0.5}, {}), "--trees 2 --lam 0.5 --seed 3 --workers 2"),
        (Job("forest", 26, 0, {"trees": 5, "branching": "2"}, {}), "--trees 5 --branching 2 --seed 0 --workers 2"),
        (Job("sg", 13, 0, {}, {"window": 3, "min_count": 5}), "--dimensions 13 --window 3 --min-count 5 --seed 0"),
        (Job("sg", 13, 0, {"window": 9}, {"window": 3}), "--dimensions 13 --window 9 --seed 0"),
        (Job("rnn", 13, 0, {}, {"window": 3, "min_count": 5}), "--dimensions 13 --min-count 5 --seed 0"),
    ],
)
def test_options_of_a_job_become_those_of_its_command(tmp_path, text, typed, job, wanted):
    runner(tmp_path, text, workers=2).run(job)
    assert wanted in " ".join(typed[-1])


@pytest.mark.parametrize(
    ("job", "goes"),
    [
        (Job("forest", 13, 0, {}, {}), True),
        (Job("forest", 13, 0, {"learner": "entries"}, {}), False),
        (Job("rnn", 13, 0, {}, {}), True),
        (Job("sg", 13, 0, {}, {}), False),
    ],
)
def test_a_device_is_handed_to_those_who_take_one(tmp_path, text, typed, job, goes):
    JobRunner(tmp_path / "out", [str(text)], None, Said(), "cuda").run(job)
    assert ("--device cuda" in " ".join(typed[-1])) == goes


def test_the_shown_command_has_no_path_of_this_machine(tmp_path, text, typed):
    shown = runner(tmp_path, text).run(Job("cbow", 13, 0, {}, {})).command
    assert shown == "baseline cbow CORPUS --dimensions 13 --seed 0 --out OUT/runs/cbow-13-seed0"


def test_an_option_turned_off_is_refused(tmp_path, text, typed):
    with pytest.raises(InputError, match="leave an option out"):
        runner(tmp_path, text).run(Job("pca", 13, 0, {"normalize": False}, {}))


def test_a_failing_command_says_why(tmp_path):
    with pytest.raises(FailedJobError, match=r"wordforest inspect .* failed: .*none"):
        run_command(["inspect", str(tmp_path / "none")], lambda _event: None)


def test_progress_of_a_command_is_passed_on_and_other_lines_are_kept():
    events: list[Event] = []
    line = '{"stage": "count", "done": 1, "total": 2, "unit": "MB"}'
    assert commands._forward(line, events.append) == ""
    assert (events[0].stage, events[0].done) == ("count", 1)
    assert commands._forward("error: bad\n", events.append) == "error: bad"
