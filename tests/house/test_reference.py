"""Every public name shows how it is used, and all examples of docstrings run.

Examples of public names stand alone; those of a method go on from that of its class, and from nothing else. Examples of
other functions start from the names of their module. What has ``# needs: PACKAGE`` in it is left out where that is
absent.
"""

from __future__ import annotations

import ast
import copy
import doctest
import inspect
import re
import runpy
import textwrap
from collections.abc import Iterator
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from types import ModuleType
from typing import Any, NamedTuple

import pytest

import wordforest as wf

HOME = Path(__file__).resolve().parents[2]
HOOKS = runpy.run_path(str(HOME / "docs" / "hooks.py"))
SOURCE = HOME / "src"
MAIN = (wf.Forest, wf.ForestCoder, wf.TopicForest, wf.Vectors, wf.WordForestVectorizer)
ALONE = "import wordforest as wf"
SHOWN = "\nExamples:\n    >>> "  # what the site shows as code
_NEEDS = re.compile(r"# needs: (.+)")


class Text(NamedTuple):
    """A docstring, whose it is, and where it begins."""

    name: str
    text: str
    line: int

    @property
    def lacks(self) -> str:
        """The packages that are needed and absent."""
        needed = [package for found in _NEEDS.findall(self.text) for package in found.split()]
        return " ".join(package for package in needed if find_spec(package) is None)


def docstrings(source: str) -> Iterator[list[Text]]:
    """Yield the docstring of every function, and that of every class with those of its methods."""
    for node in ast.parse(source).body:
        if isinstance(node, ast.FunctionDef | ast.ClassDef):
            inside = node.body if isinstance(node, ast.ClassDef) else []
            owners = [node, *(part for part in inside if isinstance(part, ast.FunctionDef))]
            yield [Text(one.name, ast.get_docstring(one) or "", one.body[0].lineno) for one in owners]


def marks_of(text: str) -> list[Any]:
    """Return what examples that start processes of Dask need: its sockets are closed by nobody."""
    unclosed = "ignore::ResourceWarning", "ignore::pytest.PytestUnraisableExceptionWarning"
    return [pytest.mark.cluster, *map(pytest.mark.filterwarnings, unclosed)] if ">>> with wf.Cluster" in text else []


EXAMPLES = [
    pytest.param(path, texts, id=f"{path.relative_to(SOURCE)}:{texts[0].name}", marks=marks_of(texts[0].text))
    for path in sorted(SOURCE.rglob("*.py"))
    if ">>>" in (source := path.read_text(encoding="utf-8"))
    for texts in docstrings(source)
    if any(">>>" in one.text for one in texts)
]


def run(text: Text, path: Path | str, names: dict[str, Any]) -> dict[str, Any]:
    """Run the examples of a docstring with some names, and return those that are there afterwards."""
    test = doctest.DocTestParser().get_doctest(text.text, names, text.name, str(path), text.line - 1)
    told: list[str] = []
    result = doctest.DocTestRunner(verbose=False).run(test, out=told.append, clear_globs=False)
    assert not result.failed, "".join(told)
    return test.globs


def own_copy(names: dict[str, Any]) -> dict[str, Any]:
    """Return names whose objects are like those given: what one method changes, the next does not see."""
    kept = {name: value for name, value in names.items() if isinstance(value, ModuleType) or name == "__builtins__"}
    return copy.deepcopy({name: value for name, value in names.items() if name not in kept}) | kept


def names_of(path: Path) -> dict[str, Any]:
    """Return what a module of the package has."""
    return vars(import_module(".".join(path.relative_to(SOURCE).with_suffix("").parts)))


@pytest.fixture
def desk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty folder of one's own."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("WORDFOREST_DATA", raising=False)
    return tmp_path


@pytest.mark.parametrize(("path", "texts"), EXAMPLES)
def test_examples_run(path: Path, texts: list[Text], desk: Path):
    first, *methods = texts
    if first.lacks:
        pytest.skip(f"needs {first.lacks}")
    names = run(first, path, {} if ALONE in first.text else names_of(path))
    for text in methods:
        if ">>>" in text.text and not text.lacks:
            run(text, path, own_copy(names))
    if lacking := [f"{text.name} needs {text.lacks}" for text in methods if text.lacks]:
        pytest.skip(", ".join(lacking))


@pytest.mark.parametrize("module", HOOKS["MODULES"])
def test_every_public_function_and_class_has_an_example_that_stands_alone(module: str):
    try:
        named = {name: getattr(import_module(module), name) for name in HOOKS["own_names"](module)}
    except ImportError as error:  # of a package that interop is for
        pytest.skip(str(error))
    public = {name: found for name, found in named.items() if inspect.isfunction(found) or inspect.isclass(found)}
    docs = {name: inspect.cleandoc(found.__doc__ or "") for name, found in public.items()}
    assert [name for name, doc in docs.items() if not (SHOWN in doc and ALONE in doc)] == []


@pytest.mark.parametrize("owner", MAIN)
def test_every_method_of_the_main_classes_has_an_example(owner: type):
    (_, *methods), *_ = docstrings(textwrap.dedent(inspect.getsource(owner)))
    public = [text for text in methods if not text.name.startswith("_")]
    assert [text.name for text in public if SHOWN not in text.text] == []


class TestTheTestsThemselves:
    """An example that is wrong is found."""

    def test_an_example_with_another_output_fails(self):
        with pytest.raises(AssertionError, match=r"Expected:\s+3\s+Got:\s+2"):
            run(Text("add", "Add.\n\nExamples:\n    >>> 1 + 1\n    3", 1), "sums.py", {})

    def test_a_method_does_not_see_what_another_has_changed(self):
        names = run(Text("Sum", ">>> import math\n>>> found = [1]", 1), "sums.py", {})
        run(Text("add", ">>> found.append(math.pi)", 1), "sums.py", own_copy(names))
        run(Text("show", ">>> found\n[1]", 1), "sums.py", own_copy(names))

    def test_packages_that_are_absent_are_named(self):
        assert Text("draw", ">>> 1  # needs: json no_such_package", 1).lacks == "no_such_package"
        assert Text("draw", ">>> 1  # needs: json", 1).lacks == ""

    def test_methods_come_with_their_class(self):
        source = 'class A:\n    """One."""\n    def b(self):\n        """Two."""\ndef c():\n    """Three."""\n'
        assert [[text.text for text in texts] for texts in docstrings(source)] == [["One.", "Two."], ["Three."]]
