"""A comparison of slices on the page as plain data, and what is told where it cannot be shown."""

from __future__ import annotations

import json
from dataclasses import replace
from importlib.util import find_spec

import pytest

from tests.commands import run_command
from tests.explorer.made import FOREST, HOSTILE, TIMES, address_of, made_comparison, made_run
from wordforest.coder.forest import Forest
from wordforest.errors import InputError
from wordforest.explorer import views
from wordforest.explorer.app import make_app
from wordforest.explorer.model import open_models, summary
from wordforest.explorer.page import kept_rows, page_text
from wordforest.explorer.slices import open_slices
from wordforest.store import load_comparison, save_run

PAGES = ["/slices", "/slices?a=2010&b=1990&node=3&depth=2", "/moved", "/moved/KING", "/vocabulary?kind=more"]


@pytest.fixture(scope="module")
def found(tmp_path_factory):
    return open_slices(made_comparison(tmp_path_factory.mktemp("compared")), FOREST)


@pytest.fixture
def sliced(model, found):
    return replace(model, slices=found)


def test_nodes_have_a_share_and_an_interval_in_every_slice(found):
    assert (found["names"], found["is_time"], len(found["share"])) == ([*TIMES], True, len(FOREST))
    assert [found[name][1] for name in ("share", "low")] == [[0.02, 0.04, 0.08, 0.16], [0.018, 0.036, 0.072, 0.144]]
    assert found["high"][7] == [0.11, None, None, None]
    assert found["changes"][1] == [[1, 0.02, 0.09], [3, 0.05, 0.16]]
    assert found["changes"][0] == []


def test_a_word_has_what_was_before_and_after_in_pairs_and_nodes_by_number(found):
    king = found["moved"][0]
    assert (king["word"], king["nodes"], king["counts"]) == ("king", [3, 8], [1200, 900])
    assert king["contexts"] == [["man", "queen"], ["woman"]]
    assert (king["gained"], king["lost"]) == ([8, 5], [1])
    assert found["vocabulary"][:2] == [["queen", 1, "came", 0.0, 1234.0], ["queen", 1, "less", 50.0, 5.0]]


@pytest.mark.parametrize("address", [*PAGES, address_of("moved", HOSTILE[0])])
def test_every_page_of_slices_is_plain_json_and_found(sliced, address):
    route = views.parse_route(address)
    view = views.page_view([sliced], route)
    assert json.loads(json.dumps(view | summary(sliced), allow_nan=False))["kind"] == route.kind
    assert make_app([sliced]).test_client().get(address).status_code == 200


@pytest.mark.parametrize("address", ["/moved/queen", "/slices/1990", "/vocabulary/king"])
def test_what_is_not_there_is_told(sliced, address):
    client = make_app([sliced]).test_client()
    assert client.get("/data/view", query_string={"address": address}).json["kind"] == "missing"
    assert client.get(address).status_code == 404


def test_without_a_comparison_the_page_says_how_to_get_it(model):
    client = make_app([model]).test_client()
    assert client.get("/slices").status_code == 404
    view = client.get("/data/view", query_string={"address": "/slices"}).json
    assert "--compare FOLDER" in view["message"]


def test_a_file_keeps_the_words_that_moved(sliced):
    assert made_run().words.index(HOSTILE[0]) in kept_rows(sliced, 1, [row["word"] for row in sliced.slices["moved"]])
    text = page_text([sliced], top_words=1)
    assert "<script>alert(1)" not in text


def test_runs_are_opened_with_their_comparison(tmp_path):
    save_run(tmp_path / "run", made_run())
    folder = made_comparison(tmp_path / "compared")
    models = open_models([str(tmp_path / "run"), str(tmp_path / "run")], compare=folder)
    assert [model.slices is None for model in models] == [False, True]


def test_a_comparison_on_another_forest_is_refused(tmp_path):
    with pytest.raises(InputError, match=r"forest of 9 nodes is not that .* \(2 nodes\)"):
        open_slices(made_comparison(tmp_path / "compared"), Forest([-1, 0]))
    with pytest.raises(InputError, match="Name the run that was compared first"):
        open_slices(made_comparison(tmp_path / "compared"), Forest([-1] * len(FOREST)))


@pytest.mark.parametrize(
    ("change", "told"),
    [
        (lambda found: found.pop("is_time"), "expected slices and is_time"),
        (lambda found: found.pop("words"), "expected a table words"),
        (lambda found: found["nodes"].pop("low"), "expected a table nodes with"),
        (lambda found: found["changes"]["slice"].pop(), "columns of changes differ in length"),
        (lambda found: found["changes"].update(slice=["1990", "never"]), "name other slices"),
    ],
)
def test_a_broken_comparison_is_refused_with_what_to_do(tmp_path, change, told):
    path = made_comparison(tmp_path / "compared") / "compare.json"
    found = json.loads(path.read_text(encoding="utf-8"))
    change(found)
    path.write_text(json.dumps(found), encoding="utf-8")
    with pytest.raises(InputError, match=rf"{told}.* wordforest compare RUN --out FOLDER"):
        load_comparison(path.parent)


def test_a_folder_without_a_comparison_is_refused(tmp_path):
    with pytest.raises(InputError, match=r"expected a folder with compare\.json"):
        load_comparison(tmp_path)


def test_the_page_and_the_figure_are_made_of_what_the_command_writes(tmp_path):
    lines = {
        "old": ["the ship sails the sea with its sailors", "sailors load the ship in the harbour"],
        "new": ["the ship flies to the moon with rockets", "rockets lift the ship into the sky"],
    }
    paths = {name: tmp_path / f"{name}.txt" for name in lines}
    for name, path in paths.items():
        path.write_text("\n".join(lines[name] * 20))
    run, folder = tmp_path / "run", tmp_path / "compared"
    options = ["--trees", "1", "--branching", "2", "--min-count", "5", "--quiet"]
    named = [part for name, path in paths.items() for part in ("--slice", f"{name}={path}")]
    commands = (
        ["train", *paths.values(), "--out", run, *options],
        ["compare", run, *named, "--out", folder, "--quiet"],
        ["explore", run, "--compare", folder, "--export", tmp_path / "page.html"],
    )
    for command in commands:
        result = run_command(*command)
        assert result.returncode == 0, result.stderr
    found = open_models([str(run)], compare=folder)[0].slices
    assert (found["names"], found["is_time"]) == (["old", "new"], False)
    assert len(found["share"]) == 3
    assert (folder / "compare.png").exists() == (find_spec("matplotlib") is not None)
