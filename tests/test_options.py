"""The table of options: every row is whole, and what is made from it agrees with it."""

from __future__ import annotations

import inspect
from dataclasses import fields
from pathlib import Path

import pytest

import wordforest as wf
from wordforest.errors import InputError
from wordforest.jobs.baseline import METHODS
from wordforest.options import (
    BASELINES,
    COMMANDS,
    LEARNERS,
    OPTIONS,
    PRESETS,
    SHORT_HELP,
    check_known,
    default,
    taken_by,
)
from wordforest.settings import AssociationSettings, CountSettings, TrainSettings, split_settings

EVERYBODY = {"count", "encode", "ForestCoder", *LEARNERS, *BASELINES}


@pytest.mark.parametrize("row", OPTIONS.values(), ids=lambda row: row.name)
class TestRow:
    def test_has_a_help_a_panel_and_takers_that_exist(self, row):
        assert row.help.endswith(".")
        assert row.panel in ("Basics", "Text", "Forest", "Learning", "Machine")
        assert {*row.takers} <= EVERYBODY
        assert {*row.by} <= {*row.takers}

    def test_takes_its_own_defaults(self, row):
        for value in (row.default, *row.by.values()):
            assert value is ... or row.check(value) == value

    def test_the_help_of_every_command_states_the_defaults_of_the_table(self, row):
        for command, names in COMMANDS.items():
            takers = [name for name in names if name in row.takers]
            for value in [row.by.get(name, row.default) for name in takers]:
                assert row.spell(value) in ("", "off") or row.spell(value) in row.help_for(command)

    def test_a_value_of_another_kind_is_refused_with_what_is_expected(self, row):
        with pytest.raises(InputError) as caught:
            row.check(object())
        assert str(caught.value).startswith(f"{row.name} = <object")
        assert f"but it must be {row.kind.expected}" in str(caught.value)


@pytest.mark.parametrize(
    ("name", "inside", "outside", "words"),
    [
        ("window", [1, 10**6], [0, -1, 1.5, True, "5"], "a whole number, at least 1"),
        ("subsample", [0, 0.999], [1, -1e-9, float("nan")], "at least 0 and below 1. Typical"),
        ("density", [0.001, 0.999], [0, 1], "above 0 and below 1"),
        ("word_power", [0, 2], [2.1, float("inf")], "at least 0 and at most 2"),
        ("lam", ["auto", "0.5", 0], ["all", -1, "nan"], "auto, or a finite number, at least 0. The paper uses 0.1."),
        (
            "memory",
            ["8G", "500m", 1],
            ["8X", "G", "", "-1", 0, "1e999G"],
            "a size in bytes, at least 1. Write it as 8G or 500M.",
        ),
        ("branching", ["3,3", [2], "", ()], ["3,x", "3,,3", [1.5], 3], "with commas between, as in 3,3"),
        ("keep_words", [["a", "b"], ()], ["abc", [1]], "words, as in"),
        ("measure", ["pmi"], ["mi", 1, None], "one of pmi, ppmi, sppmi"),
    ],
)
def test_a_check_lets_in_what_it_says(name, inside, outside, words):
    for value in inside:
        OPTIONS[name].check(value)
    for value in outside:
        with pytest.raises(InputError) as caught:
            OPTIONS[name].check(value)
        assert f"{name} = {value!r}" in str(caught.value)
        assert words in str(caught.value)


def test_values_are_stored_as_their_kind():
    assert OPTIONS["memory"].check("1.5K") == 1536
    assert OPTIONS["branching"].check("2,3") == OPTIONS["branching"].check([2, 3]) == (2, 3)
    assert isinstance(OPTIONS["lam"].check(1), float)


@pytest.mark.parametrize("learner", LEARNERS)
def test_settings_have_the_defaults_of_the_table(learner):
    given = {
        "online": {},
        "weighted": {"weights": "count:0.5"},
        "additive": {"additive": True},
        "entries": {"learner": "entries"},
    }[learner]
    for settings in (CountSettings(), TrainSettings(**given)):
        for one in fields(settings):
            if one.name not in given:
                assert getattr(settings, one.name) == default(one.name, learner), one.name


def test_training_and_counting_take_just_the_settings_and_what_their_jobs_take():
    for command, function, parts in (
        ("train", wf.train, (CountSettings, TrainSettings)),
        ("count", wf.count_corpus, (CountSettings,)),
    ):
        names = {one.name for part in parts for one in fields(part)} | {*inspect.signature(function).parameters}
        shell = {"preset", "settings", "quiet", "json", "verbose", "slice"}  # slice: slices by name
        assert {row.name for row in taken_by(command)} - shell == names - {"corpus", "report", "settings"}


@pytest.mark.parametrize("name", BASELINES)
def test_a_baseline_takes_what_the_table_says_with_its_defaults(name):
    method = METHODS[name]
    rows = [row for row in taken_by(name) if row.panel in ("Text", "Forest", "Learning")]
    own = {one.name for one in fields(method.settings)} - {*method.fixed}
    shared = {one.name for part in (CountSettings, AssociationSettings) for one in fields(part)}
    assert {row.name for row in rows} <= own | shared
    for row in rows:
        if row.name in own:
            assert getattr(method.settings(), row.name) == default(row.name, name)


def test_the_estimator_has_the_defaults_of_the_table():
    params = inspect.signature(wf.ForestCoder).parameters
    for row in taken_by("ForestCoder"):
        assert params[row.name].default == (None if row.by else row.default), row.name  # None: that of the learner


@pytest.mark.parametrize("preset", PRESETS)
def test_a_preset_changes_options_of_train_to_values_they_take(preset):
    names = {row.name for row in taken_by("train")}
    for name, value in PRESETS[preset].settings.items():
        assert name in names
        assert OPTIONS[name].check(value) == value != OPTIONS[name].default
        assert f"{preset} {OPTIONS[name].spell(value)}" in OPTIONS[name].help_for("train")
    assert f"{preset}: {PRESETS[preset].help}" in OPTIONS["preset"].help


def test_the_preset_best_trusts_zeros_and_spelling_more_in_large_forests():
    def chosen(**given):
        settings = split_settings({"preset": "best", **given})[1]
        return settings.zeros, settings.spelling

    assert chosen(trees=15) == chosen(trees=200, branching="", zeros=0.15, spelling=1.1) == (0.15, 1.1)
    assert chosen(trees=16) == chosen(trees=200, branching="") == chosen(trees=8, branching="4,5") == (0.25, 1.3)
    assert "best 0.15 (0.25 from 200 dimensions on)." in OPTIONS["zeros"].help_for("train")


def test_the_short_help_names_options_that_exist():
    assert {*SHORT_HELP} <= {*OPTIONS}


def test_an_unknown_name_is_answered_with_the_closest():
    with pytest.raises(InputError, match=r"unknown setting windw. Did you mean window\? Known are: window, lam"):
        check_known(["window", "windw"], ["window", "lam"])


def test_words_of_a_small_additive_forest_have_room_for_a_path():
    assert TrainSettings(additive=True, trees=20).wanted_density == 0.069
    assert TrainSettings(additive=True, trees=2).wanted_density == pytest.approx(6 / 26)
    assert TrainSettings(additive=True, trees=1, branching=()).wanted_density == 0.5
    assert TrainSettings(trees=2).wanted_density == 0.5
    assert TrainSettings(additive=True, lam="auto", density=0.01).wanted_density == 0.01


def test_the_readme_says_what_each_preset_is_for_and_what_it_costs():
    lines = (Path(__file__).parents[1] / "README.md").read_text(encoding="utf-8").splitlines()
    for name, preset in PRESETS.items():
        (row,) = (line for line in lines if line.startswith(f"| `{name}`"))
        use, *prices = (cell.strip() for cell in row.split("|")[2:-1])
        assert [word for word in preset.help.partition(":")[0].replace(",", "").split() if word not in use] == []
        assert all(any(map(str.isdigit, price)) for price in prices)
        assert len(prices) == 6
