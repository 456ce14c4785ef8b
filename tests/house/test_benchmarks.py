"""Benchmarks and the torture suite run by hand: what they import of the package is at least there."""

from __future__ import annotations

import ast
import importlib
from collections.abc import Iterator
from pathlib import Path

import pytest

HOME = Path(__file__).resolve().parents[2]


def imported(source: str) -> Iterator[tuple[str, str]]:
    """Yield the modules of the package that a file imports, and the names it takes from them."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            yield from ((alias.name, "") for alias in node.names if alias.name.startswith("wordforest"))
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("wordforest"):
            yield from ((node.module, alias.name) for alias in node.names)


def is_there(module: str, name: str) -> bool:
    try:
        found = importlib.import_module(module)
        return not name or hasattr(found, name) or bool(importlib.import_module(f"{module}.{name}"))
    except ModuleNotFoundError:
        return False


@pytest.mark.parametrize("folder", ["benchmarks", "torture"])
def test_what_is_imported_is_there(folder: str) -> None:
    wanted = {path.name: {*imported(path.read_text(encoding="utf-8"))} for path in (HOME / folder).glob("*.py")}
    missing = {file: sorted(pair for pair in pairs if not is_there(*pair)) for file, pairs in wanted.items()}
    assert any(wanted.values())
    assert {file: names for file, names in missing.items() if names} == {}


def test_a_missing_name_is_seen() -> None:
    source = "def f():\n    from wordforest.coder import nothing\n    import wordforest.nowhere\n"
    assert [is_there(*pair) for pair in imported(source)] == [False, False]
