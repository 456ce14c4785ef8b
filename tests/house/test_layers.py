"""What the source of the package says of itself: imports point one way, and some packages, calls and marks stay out.

Read from the source, so that an arrow that points up fails before anyone runs it. A test lists all offenders at once.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

import wordforest

SOURCE = Path(wordforest.__file__).parent

# Which parts of the package a room may import. A new room needs a row here, and a reason.
OUTSIDE = {"store", "jobs", "cli"}
ALLOWED = {
    "errors": "",
    "runtime": "errors runtime",
    "text": "errors options runtime text",
    "counts": "errors options runtime text counts",
    "coder": "errors options runtime coder",
    "vectors": "errors coder.forest text.tokens reading store vectors",  # all but the first two when asked for
    "reading": "errors vectors coder.forest reading",
    "evaluation": "errors runtime vectors coder.forest evaluation",
    "documents": "errors options runtime text counts coder vectors reading evaluation.bootstrap documents",
    "slices": "errors runtime text counts coder.forest vectors reading evaluation.bootstrap documents slices",
    "figures": "errors vectors coder.forest figures",
    "store": "errors runtime vectors coder.forest store",
    "explorer": "errors text vectors coder.forest reading documents figures store explorer",
    "options": "errors",
    "settings": "errors options text counts.windows coder",
    "baselines": "errors options runtime coder counts.windows baselines",
    "jobs": "errors runtime text counts coder documents slices reading vectors baselines store options settings jobs",
    "interop": "__init__ errors runtime text coder documents vectors reading explorer store jobs interop",
    "reproduce": "errors options runtime text coder settings evaluation jobs store vectors reproduce",
    "cli": "__init__ errors options runtime text jobs evaluation explorer documents slices figures vectors reading "
    "store interop reproduce cli",
    "__main__": "cli",
    "__init__": "",
    "_version": "",
}
DOORS = {"vectors": {"store"}}  # save and load, which people look for there
ROOMS = {"text", "counts", "coder", "baselines", "vectors", "reading", "evaluation", "documents", "slices", "figures"}

# Packages that only the named file may import: heavy ones behind one door, and none that turns data into code.
ONLY_IN = {
    "dask": "runtime.cluster",
    "distributed": "runtime.cluster",
    "matplotlib": "figures._matplotlib",
    **dict.fromkeys(["pickle", "cPickle", "dill", "cloudpickle", "joblib", "marshal", "shelve"], ""),
}

# Calls that print, run data as code, start a shell, or unpack what could land anywhere.
FORBIDDEN = {
    *("print", "eval", "exec", "compile", "__import__", "os.system", "os.popen", "subprocess.getoutput", "yaml.load"),
    *("tarfile.open", "shutil.unpack_archive", "pickle.loads"),
}


def name_of(path: Path) -> str:
    """Return the name of a module inside the package: coder.forest, coder for its __init__, __init__ for the root."""
    parts = path.relative_to(SOURCE).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" and len(parts) > 1 else parts)


SOURCES = {name_of(path): path.read_text(encoding="utf-8") for path in sorted(SOURCE.rglob("*.py"))}


@cache
def tree_of(module: str) -> ast.Module:
    return ast.parse(SOURCES[module])


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
        if ".".join(parts[1:end]) in SOURCES:
            return ".".join(parts[1:end])
    return "__init__"


def bad_arrows(tree: ast.Module, module: str) -> list[str]:
    """Return the modules that ``module`` imports although its row does not allow it."""
    allowed = ALLOWED[module.split(".")[0]].split()
    targets = {target for name in imported(tree, module) if (target := own(name))}
    return sorted(t for t in targets if not any(t == a or t.startswith(a + ".") for a in allowed))


def bad_imports(tree: ast.Module, module: str) -> list[str]:
    """Return the packages that ``module`` imports although another file has to."""
    packages = {name.split(".")[0] for name in imported(tree, module, types=False)}
    return sorted(package for package in packages & {*ONLY_IN} if module != ONLY_IN[package])


def bad_calls(tree: ast.Module) -> list[str]:
    """Return the calls that print, run data as code, start a shell or unpack an archive."""
    found = []
    for call in (node for node in ast.walk(tree) if isinstance(node, ast.Call)):
        name, given = ast.unparse(call.func), {key.arg: ast.unparse(key.value) for key in call.keywords}
        pickled = given.get("allow_pickle", "False") != "False"
        if name in FORBIDDEN or name.endswith((".extract", ".extractall")) or "shell" in given or pickled:
            found.append(f"{call.lineno}: {ast.unparse(call)}")
    return found


def bad_marks(source: str) -> list[str]:
    """Return the comments that switch a security rule off without a reason of two words or more."""
    marks = [line for line in source.splitlines() if re.search(r"noqa: S\d", line)]
    return [mark for mark in marks if not re.search(r"S\d+( \w+){2,}", mark)]


def test_every_arrow_points_down():
    assert {room for module in SOURCES if (room := module.split(".")[0]) not in ALLOWED} == set()
    offenders = {module: bad_arrows(tree_of(module), module) for module in SOURCES}
    assert {module: arrows for module, arrows in offenders.items() if arrows} == {}


def test_a_package_comes_in_by_its_own_door():
    offenders = {module: bad_imports(tree_of(module), module) for module in SOURCES}
    assert {module: packages for module, packages in offenders.items() if packages} == {}


def test_no_file_prints_or_runs_data_as_code_or_unpacks():
    offenders = {module: bad_calls(tree_of(module)) for module in SOURCES}
    assert {module: calls for module, calls in offenders.items() if calls} == {}


def test_every_exception_from_the_security_rules_has_a_reason():
    offenders = {module: bad_marks(source) for module, source in SOURCES.items()}
    assert {module: marks for module, marks in offenders.items() if marks} == {}


def test_no_row_lets_a_room_see_the_outside_nor_anything_but_main_see_the_commands():
    for place, allowed in ALLOWED.items():
        assert place not in ROOMS or {*allowed.split()} & OUTSIDE <= DOORS.get(place, set())
        assert "cli" not in allowed.split() or place in ("cli", "__main__")


@pytest.mark.parametrize(
    ("module", "source", "arrow"),
    [
        ("text.reader", "from wordforest.counts import count", "counts"),
        ("coder.online", "def f():\n    from wordforest import text", "text"),
        ("coder", "import wordforest.store.folders", "store.folders"),
        ("vectors", "from wordforest.coder.online import Step", "coder.online"),
        ("figures.heatmap", "from ..store import files", "store.files"),
        ("evaluation.suite", "from wordforest import Forest", "__init__"),
        ("jobs", "from .cli import main", "cli"),
    ],
)
def test_an_arrow_that_points_up_is_seen(module, source, arrow):
    assert bad_arrows(ast.parse(source), module) == [arrow]


def test_a_package_in_the_wrong_file_is_seen():
    source = "import numpy, pickle\ndef f():\n    from dask.distributed import Client\n"
    assert bad_imports(ast.parse(source), "coder.online") == ["dask", "pickle"]
    assert bad_imports(ast.parse(source), "runtime.cluster") == ["pickle"]


@pytest.mark.parametrize(
    "line",
    ["print(x)", "eval(text)", "run(words, shell=True)", "archive.extractall()", "np.load(path, allow_pickle=True)"],
)
def test_a_dangerous_call_is_seen(line):
    assert len(bad_calls(ast.parse(f"def f():\n    {line}\n"))) == 1


def test_a_mark_without_a_reason_is_seen():
    assert bad_marks("f()  # noqa: S603\ng()  # noqa: S603 our own program\n") == ["f()  # noqa: S603"]
