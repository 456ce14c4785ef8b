"""Every public name shows how it is used, and all examples of docstrings run.

Examples stand alone; those of a method go on from that of its class, and from nothing else. What has ``# needs: NAME``
in it is left out where that package is absent.
"""

from __future__ import annotations

import ast
import copy
import doctest
import inspect
import re
import runpy
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
SOURCE = HOME / "src" / "wordforest"
MAIN = (wf.Forest, wf.ForestCoder, wf.TopicForest, wf.Vectors, wf.WordForestVectorizer)
_NEEDS = re.compile(r"# needs: (\w+)")


class Text(NamedTuple):
    """A docstring and where it begins."""

    name: str
    text: str
    line: int

    @property
    def absent(self) -> list[str]:
        return [package for package in _NEEDS.findall(self.text) if find_spec(package) is None]


def docstrings(source: str) -> Iterator[list[Text]]:
    """Yield the docstrings with examples of every function, and of every class together with its methods."""
    for node in ast.parse(source).body:
        if isinstance(node, ast.FunctionDef | ast.ClassDef):
            inside = node.body if isinstance(node, ast.ClassDef) else []
            owners = [node, *(part for part in inside if isinstance(part, ast.FunctionDef))]
            found = [Text(one.name, ast.get_docstring(one) or "", one.body[0].lineno) for one in owners]
            if texts := [one for one in found if ">>>" in one.text]:
                yield texts


EXAMPLES = [
    pytest.param(path, texts, id=f"{path.relative_to(SOURCE)}:{texts[0].name}")
    for path in sorted(SOURCE.rglob("*.py"))
    for texts in docstrings(path.read_text(encoding="utf-8"))
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


@pytest.fixture
def desk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty folder of one's own."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("WORDFOREST_DATA", raising=False)
    return tmp_path


@pytest.mark.parametrize(("path", "texts"), EXAMPLES)
def test_examples_of_docstrings_run(path: Path, texts: list[Text], desk: Path):
    first, *methods = texts
    if first.absent:
        pytest.skip(f"needs {first.absent[0]}")
    names = run(first, path, {})
    for text in methods:
        if not text.absent:
            run(text, path, own_copy(names))
    if absent := [f"{text.name} needs {text.absent[0]}" for text in methods if text.absent]:
        pytest.skip(", ".join(absent))


def public(module: str) -> dict[str, Any]:
    """Return the functions and classes of a page of the reference."""
    named = {f"{module}.{name}": getattr(import_module(module), name) for name in HOOKS["own_names"](module)}
    return {name: found for name, found in named.items() if inspect.isfunction(found) or inspect.isclass(found)}


def methods_of(owner: type) -> dict[str, str]:
    """Return the docstrings of what a class has itself: methods and properties without an underscore."""
    own = {name: part for name, part in vars(owner).items() if not name.startswith("_")}
    return {f"{owner.__name__}.{name}": inspect.getdoc(part) or "" for name, part in own.items() if part.__doc__}


@pytest.mark.parametrize("module", HOOKS["MODULES"])
def test_every_public_function_and_class_has_an_example(module: str):
    assert [name for name, found in public(module).items() if ">>>" not in (found.__doc__ or "")] == []


@pytest.mark.parametrize("owner", MAIN)
def test_every_method_of_the_main_classes_has_an_example(owner: type):
    assert [name for name, text in methods_of(owner).items() if ">>>" not in text] == []
