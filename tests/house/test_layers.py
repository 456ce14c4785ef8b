"""Imports point one way: read from the source, so that an arrow that points up fails before anyone runs it."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

import wordforest

SOURCE = Path(wordforest.__file__).parent
FILES = sorted(SOURCE.rglob("*.py"))

# Which parts of the package a place may import. A new place needs a row here, and a reason.
OUTSIDE = {"store", "jobs", "cli"}
ALLOWED = {
    "errors": set(),
    "runtime": {"errors", "runtime"},
    "text": {"errors", "runtime", "text"},
    "counts": {"errors", "runtime", "text", "counts"},
    "coder": {"errors", "runtime", "coder"},
    "vectors": {"errors", "coder.forest"},
    "reading": {"errors", "vectors", "coder.forest", "reading"},
    "evaluation": {"errors", "runtime", "vectors", "coder.forest", "evaluation"},
    "figures": {"errors", "vectors", "coder.forest", "figures"},
    "store": {"errors", "runtime", "vectors", "coder.forest", "store"},
    "explorer": {"errors", "vectors", "coder.forest", "reading", "figures", "store", "explorer"},
    "settings": {"errors", "text", "counts.windows", "coder"},
    "baselines": {"errors", "runtime", "coder", "baselines"},
    "jobs": {"errors", "runtime", "text", "counts", "coder", "baselines", "store", "settings", "jobs"},
    "reproduce": {"errors", "runtime", "evaluation", "store", "vectors", "cli.demo", "reproduce"},
    "cli": {"__init__", "errors", "runtime", "jobs", "evaluation", "explorer", "figures", "vectors", "coder.forest",
            "reading", "store", "reproduce", "cli"},
    "__main__": {"cli"},
    "__init__": {"errors", "runtime", "text", "counts", "coder", "vectors", "evaluation", "store", "jobs"},
}  # fmt: skip
ROOMS = ("text", "counts", "coder", "baselines", "vectors", "reading", "evaluation", "figures")


def name_of(path: Path) -> str:
    """Return the name of a module inside the package: coder.forest, coder for its __init__, __init__ for the root."""
    parts = path.relative_to(SOURCE).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" and len(parts) > 1 else parts)


MODULES = {name_of(path) for path in FILES}


def for_types_only(tree: ast.Module) -> set[ast.AST]:
    """Return the nodes under ``if TYPE_CHECKING``."""
    blocks = [n for n in ast.walk(tree) if isinstance(n, ast.If) and ast.unparse(n.test).endswith("TYPE_CHECKING")]
    return {inner for block in blocks for statement in block.body for inner in ast.walk(statement)}


def imported(tree: ast.Module, module: str, *, types: bool = True) -> Iterator[str]:
    """Yield the full name of all that a module imports, at any depth; ``types=False`` leaves out TYPE_CHECKING."""
    skipped = set() if types else for_types_only(tree)
    for node in ast.walk(tree):
        if node in skipped:
            continue
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        if isinstance(node, ast.ImportFrom):
            above = ["wordforest", *module.split(".")][: -node.level] if node.level else []
            base = ".".join([*above, *([node.module] if node.module else [])])
            yield from (f"{base}.{alias.name}" for alias in node.names)


def own(name: str) -> str | None:
    """Return the module of this package that a full name means, or None for the name of another package."""
    parts = name.split(".")
    if parts[0] != "wordforest":
        return None
    for end in range(len(parts), 1, -1):
        if ".".join(parts[1:end]) in MODULES:
            return ".".join(parts[1:end])
    return "__init__"


def bad_arrows(source: str, module: str) -> list[str]:
    """Return the modules that ``module`` imports although its row does not allow it."""
    allowed = ALLOWED[module.split(".")[0]]
    targets = {target for name in imported(ast.parse(source), module) if (target := own(name))}
    return sorted(t for t in targets if not any(t == a or t.startswith(a + ".") for a in allowed))


@pytest.mark.parametrize("path", FILES, ids=name_of)
def test_every_arrow_points_down(path):
    module = name_of(path)
    assert module.split(".")[0] in ALLOWED, f"{module} is new: say in ALLOWED what it may import"
    assert bad_arrows(path.read_text(encoding="utf-8"), module) == []


@pytest.mark.parametrize(
    ("module", "source", "arrow"),
    [
        ("text.reader", "from wordforest.counts import count", "counts"),
        ("coder.online", "def f():\n    from wordforest import text", "text"),
        ("coder", "import wordforest.store.run", "store.run"),
        ("vectors", "from wordforest.coder.online import Step", "coder.online"),
        ("figures.heatmap", "from ..store import files", "store.files"),
        ("evaluation.suite", "from wordforest import Forest", "__init__"),
        ("jobs", "from .cli import main", "cli"),
    ],
)
def test_an_arrow_that_points_up_is_seen(module, source, arrow):
    assert bad_arrows(source, module) == [arrow]


def test_no_row_lets_a_room_see_the_outside_nor_anything_but_main_see_the_commands():
    for place, allowed in ALLOWED.items():
        assert place not in ROOMS or not allowed & OUTSIDE
        assert "cli" not in allowed or place in ("cli", "__main__")


def importers(package: str) -> list[str]:
    trees = ((name_of(path), ast.parse(path.read_text(encoding="utf-8"))) for path in FILES)
    return [m for m, tree in trees if any(n.split(".")[0] == package for n in imported(tree, m, types=False))]


def test_one_file_imports_dask():
    assert set(importers("dask")) | set(importers("distributed")) == {"runtime.cluster"}


def test_one_file_imports_matplotlib():
    assert importers("matplotlib") == ["figures._matplotlib"]


@pytest.mark.parametrize("package", ["pickle", "cPickle", "dill", "cloudpickle", "joblib", "marshal", "shelve"])
def test_no_pickle(package):
    assert importers(package) == []


@pytest.mark.parametrize("path", FILES, ids=name_of)
def test_no_print_and_no_pickled_arrays(path):
    calls = [node for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))) if isinstance(node, ast.Call)]
    assert not [node.lineno for node in calls if ast.unparse(node.func) == "print"]
    allowing = [key.value for node in calls for key in node.keywords if key.arg == "allow_pickle"]
    assert all(isinstance(value, ast.Constant) and value.value is False for value in allowing)


@pytest.mark.parametrize("path", FILES, ids=name_of)
def test_a_module_stays_short(path):
    assert len(path.read_text(encoding="utf-8").splitlines()) < 450
