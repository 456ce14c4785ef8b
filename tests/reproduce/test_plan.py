"""What an experiment file means, and what is wrong with a bad one."""

from __future__ import annotations

from pathlib import Path

import pytest

from wordforest.errors import InputError
from wordforest.reproduce.plan import experiment_file, read_experiment, trials_of

EXPERIMENTS = sorted((Path(__file__).resolve().parents[2] / "experiments").glob("*.toml"))


@pytest.mark.parametrize("path", EXPERIMENTS, ids=lambda path: path.stem)
@pytest.mark.parametrize("quick", [False, True])
def test_every_experiment_of_the_repository_reads(path, quick):
    experiment = read_experiment(path, quick=quick)
    assert trials_of(experiment) or experiment.sweeps
    named = {name for by_model in experiment.paper.values() for name in by_model}
    assert named <= {model.name for model in read_experiment(path).models}


@pytest.mark.parametrize("name", ["table1", "table1.toml", "experiments/table1.toml"])
def test_an_experiment_of_the_package_is_found_by_its_name_from_anywhere(name, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "table1").mkdir()  # as --out table1 leaves it
    assert "Table 1" in read_experiment(experiment_file(Path(name))).title


def test_a_file_comes_before_an_experiment_of_the_package(experiment, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "table1.toml").write_bytes(experiment.read_bytes())
    assert experiment_file(Path("table1.toml")) == Path("table1.toml")


@pytest.mark.parametrize("name", ["tabel1", "elsewhere/table1.toml"])
def test_a_name_that_nothing_has_is_told_those_of_the_package(name):
    with pytest.raises(InputError, match=r"cannot be read .* one of ours: best, nnse, .*table1"):
        read_experiment(experiment_file(Path(name)))


@pytest.mark.parametrize("table", ["table1", "table3", "table4", "settings"])
def test_a_table_with_forest_has_it_without_a_penalty_at_every_size_and_seed(table):
    (path,) = (path for path in EXPERIMENTS if path.stem == table)
    models = {model.name: model for model in read_experiment(path).models}
    forest, without = models["FOREST"], models["FOREST, lam = 0"]
    assert without.options == {**forest.options, "lam": 0}
    assert (without.sizes, without.seeds) == (forest.sizes, forest.seeds)


def test_cells_come_by_size_and_a_job_for_each_seed(experiment):
    trials = trials_of(read_experiment(experiment))
    assert [(trial.model.name, trial.size, len(trial.jobs)) for trial in trials] == [
        ("PCA", 13, 2),
        ("PCA, flat", 13, 2),
        ("FOREST", 13, 1),
    ]


def test_scale_shares_the_job_and_options_do_not(experiment):
    pca, flat, forest = trials_of(read_experiment(experiment))
    assert pca.jobs == flat.jobs
    assert forest.jobs[0].name != trials_of(read_experiment(experiment, quick=True))[2].jobs[0].name


def test_models_can_be_left_out_by_name_and_size(experiment):
    read = read_experiment(experiment)
    assert [trial.model.name for trial in trials_of(read, ["PCA", "FOREST@13"])] == ["PCA, flat"]
    with pytest.raises(InputError, match="--skip PCA@52: no such model"):
        trials_of(read, ["PCA@52"])


def test_quick_changes_corpus_seeds_and_options(experiment):
    quick = read_experiment(experiment, quick=True)
    assert quick.corpus == ("demo",)
    assert quick.models[0].seeds == (0,)
    assert quick.models[2].options == {"lam": 0.05, "epochs": 1}


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("[[model]]\nmethod = 'pca'\ncolour = 1", "number 1: unknown key 'colour'"),
        ("[[model]]\nmethod = 'forest'\nsizes = [50]", "no multiple of 13"),
        ("[[model]]\nmethod = 'file'", "path belong together"),
        ("tasks = ['parsing']\n[[model]]\nmethod = 'pca'", "no task is called 'parsing'"),
        ("reference = 'X'\n[[model]]\nmethod = 'pca'", "none of the models"),
        ("[[model]]\nmethod = 'pca'\noptions = { power = [1] }", "options = .*expected a table of text"),
        ("[[model]]\nmethod = 'pca'\nsizes = [true]", "expected a list of whole numbers"),
        ("[[model]]\nmethod = 'pca'\n[paper.52]\npca = { similarity = 'good' }", "numbers by size, model and column"),
        ("title = 3\n[[model]]\nmethod = 'pca'", "title = 3: expected text"),
    ],
)
def test_a_bad_file_names_itself_and_what_is_wrong(tmp_path, text, message):
    path = tmp_path / "bad.toml"
    path.write_text(text)
    with pytest.raises(InputError, match=message) as caught:
        read_experiment(path)
    assert str(path) in str(caught.value)
