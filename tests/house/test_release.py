"""What a release is made with agrees: workflows call what is there, and all that names versions names the same ones."""

from __future__ import annotations

import json
import re
import runpy
import tomllib
from pathlib import Path
from typing import Any

import pytest
import yaml
from packaging.requirements import Requirement
from packaging.version import Version

HOME = Path(__file__).resolve().parents[2]
PYPROJECT = tomllib.loads((HOME / "pyproject.toml").read_text(encoding="utf-8"))
PROJECT = PYPROJECT["project"]
DECLARED = [line.rpartition(" ")[2] for line in PROJECT["classifiers"] if re.search(r":: 3\.\d+$", line)]
WORKFLOWS = sorted(HOME.glob(".github/workflows/*.yml"))
TARGETS = set(re.findall(r"^([\w-]+):", (HOME / "Makefile").read_text(encoding="utf-8"), re.MULTILINE))
RECIPE = yaml.safe_load((HOME / "conda" / "recipe.yaml").read_text(encoding="utf-8"))
CITATION = yaml.safe_load((HOME / "CITATION.cff").read_text(encoding="utf-8"))
ZENODO = json.loads((HOME / ".zenodo.json").read_text(encoding="utf-8"))
TOOL = runpy.run_path(str(HOME / "tools" / "wheels.py"))


def read(path: Path) -> dict[str, Any]:
    """Return a workflow; YAML takes the key ``on`` for true."""
    found: dict[Any, Any] = yaml.safe_load(path.read_text(encoding="utf-8"))
    return {"on": found.pop(True), **found}


def steps(path: Path) -> list[dict[str, Any]]:
    return [step for job in read(path)["jobs"].values() for step in job["steps"]]


def commands(path: Path) -> list[str]:
    return [line for step in steps(path) for line in step.get("run", "").splitlines()]


def missing(lines: list[str]) -> list[str]:
    """Return the targets of make and the files that command lines name, and that are not there."""
    words = [line.split() for line in lines]
    targets = [word for line in words if line[:1] == ["make"] for word in line[1:] if "=" not in word]
    files = [word for line in words for word in line if re.fullmatch(r"[\w./-]+\.(py|toml|sh)", word)]
    return [one for one in targets if one not in TARGETS] + [one for one in files if not (HOME / one).is_file()]


class TestWorkflows:
    def test_tests_docs_and_release_are_there(self) -> None:
        assert [path.stem for path in WORKFLOWS] == ["docs", "release", "tests"]

    @pytest.mark.parametrize("path", WORKFLOWS, ids=lambda path: path.stem)
    def test_what_they_call_exists(self, path: Path) -> None:
        assert commands(path)
        assert missing(commands(path)) == []

    def test_what_does_not_exist_is_seen(self) -> None:
        lines = ["make docs whels X=1", "python tools/wheels.py 3.11", "python tools/wheel.py"]
        assert missing(lines) == ["whels", "tools/wheel.py"]

    @pytest.mark.parametrize("path", WORKFLOWS, ids=lambda path: path.stem)
    def test_jobs_wait_for_jobs_that_exist(self, path: Path) -> None:
        jobs = read(path)["jobs"]
        assert {job["needs"] for job in jobs.values() if "needs" in job} <= jobs.keys()

    @pytest.mark.parametrize("path", WORKFLOWS, ids=lambda path: path.stem)
    def test_actions_are_pinned_to_a_version(self, path: Path) -> None:
        used = [step["uses"] for step in steps(path) if "uses" in step]
        assert [one for one in used if not re.search(r"@(v\d+|release/v\d+|[0-9a-f]{40})$", one)] == []

    def test_every_declared_python_is_tested_on_every_system(self) -> None:
        jobs = read(HOME / ".github" / "workflows" / "tests.yml")["jobs"]
        assert jobs["tests"]["strategy"]["matrix"]["python"] == DECLARED
        systems = {one.partition("-")[0] for one in jobs["wheel"]["strategy"]["matrix"]["system"]}
        assert systems == {"ubuntu", "macos", "windows"}

    def test_only_the_publishing_job_can_prove_who_it_is_and_none_has_a_secret(self) -> None:
        path = HOME / ".github" / "workflows" / "release.yml"
        jobs = read(path)["jobs"]
        trusted = [name for name, job in jobs.items() if "id-token" in job.get("permissions", {})]
        assert trusted == ["publish"]
        assert jobs["publish"]["needs"] == "build"
        assert "secrets." not in path.read_text(encoding="utf-8")

    def test_a_release_is_published_by_one_event_alone(self) -> None:
        found = read(HOME / ".github" / "workflows" / "release.yml")
        assert found["on"]["release"] == {"types": ["published"]}
        assert found["jobs"]["publish"]["if"] == "github.event_name == 'release'"

    def test_pages_are_what_make_docs_builds(self) -> None:
        (step,) = (one for one in steps(WORKFLOWS[0]) if "upload-pages-artifact" in one.get("uses", ""))
        assert f"\nsite_dir: {step['with']['path']}\n" in (HOME / "mkdocs.yml").read_text(encoding="utf-8")


class TestMetadata:
    def test_pythons_are_declared_from_the_lowest_on(self) -> None:
        lowest = Version(PROJECT["requires-python"].removeprefix(">="))
        assert [f"3.{minor}" for minor in range(lowest.minor, 15)] == DECLARED
        makefile = (HOME / "Makefile").read_text(encoding="utf-8")
        assert f"\nPYTHONS ?= {' '.join(DECLARED)}\n" in makefile

    def test_nothing_asks_for_gensim_where_it_has_no_release(self) -> None:
        lines = [line for some in PROJECT["optional-dependencies"].values() for line in some]
        gensim = [one for one in map(Requirement, lines) if one.name == "gensim"]
        assert gensim
        assert all(one.marker and not one.marker.evaluate({"python_version": "3.14"}) for one in gensim)
        assert all(one.marker and one.marker.evaluate({"python_version": "3.13"}) for one in gensim)

    def test_every_dependency_has_a_lowest_version(self) -> None:
        assert [one for one in PROJECT["dependencies"] if not re.search(r">=\d", one)] == []

    def test_citation_and_archive_say_what_the_package_says(self) -> None:
        assert CITATION["version"] == PROJECT["version"]
        assert CITATION["license"] == ZENODO["license"] == PROJECT["license"]
        assert CITATION["keywords"] == ZENODO["keywords"] == PROJECT["keywords"]
        assert CITATION["abstract"] == ZENODO["description"] == PROJECT["description"]
        assert CITATION["authors"] == ZENODO["creators"] == PROJECT["authors"]
        assert CITATION["repository-code"] == PROJECT["urls"]["Repository"]
        assert CITATION["url"] == PROJECT["urls"]["Documentation"]

    def test_the_readme_of_the_index_has_no_link_into_a_folder(self) -> None:
        text = (HOME / "README.md").read_text(encoding="utf-8")
        hook = PYPROJECT["tool"]["hatch"]["metadata"]["hooks"]["fancy-pypi-readme"]
        for rule in hook["substitutions"]:
            text = re.sub(rule["pattern"], rule["replacement"], text)
            if "github" in rule["replacement"]:
                assert f"{PROJECT['urls']['Repository'].partition('.com')[2]}/" in rule["replacement"]
        assert re.findall(r"\]\((?!https://|#)[^)]*\)|<!--", text) == []


class TestRecipe:
    def test_it_needs_what_the_package_needs(self) -> None:
        ours = {one.name: str(one.specifier) for one in map(Requirement, PROJECT["dependencies"])}
        theirs = dict(line.split(maxsplit=1) for line in RECIPE["requirements"]["run"])
        assert theirs.pop("python") == ">=${{ python_min }}"
        assert theirs == ours

    def test_it_is_built_with_what_the_package_is_built_with(self) -> None:
        ours = {one.name: str(one.specifier) for one in map(Requirement, PYPROJECT["build-system"]["requires"])}
        theirs = dict(line.split() for line in RECIPE["requirements"]["host"] if " >" in line)
        assert theirs == ours

    def test_version_python_licence_and_command_are_those_of_the_package(self) -> None:
        assert RECIPE["context"]["version"] == PROJECT["version"]
        assert f">={RECIPE['context']['python_min']}" == PROJECT["requires-python"]
        assert RECIPE["about"]["license"] == PROJECT["license"]
        assert RECIPE["about"]["repository"] == PROJECT["urls"]["Repository"]
        (name, place), *_ = PROJECT["scripts"].items()
        assert RECIPE["build"]["python"]["entry_points"] == [f"{name} = {place}"]


class TestTheTool:
    def test_a_python_that_is_not_here_is_not_found(self) -> None:
        assert TOOL["find_python"]("3.99") is None

    def test_this_python_is_found(self) -> None:
        import sys

        assert TOOL["find_python"]("{}.{}".format(*sys.version_info[:2])) == sys.executable

    def test_a_wheel_without_a_file_of_the_package_is_seen(self, tmp_path: Path) -> None:
        import zipfile

        with zipfile.ZipFile(tmp_path / "wordforest-0-py3-none-any.whl", "w") as wheel:
            wheel.writestr("wordforest/__init__.py", "")
        lacks = TOOL["missing_from"](tmp_path / "wordforest-0-py3-none-any.whl")
        assert {"wordforest/py.typed", "wordforest/reproduce/experiments/table1.toml"} < {*lacks}
        assert "wordforest/__init__.py" not in lacks
