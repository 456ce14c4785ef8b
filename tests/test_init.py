"""What ``import wordforest`` offers: few names, found on first use. They come from the stubs that mypy checks."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import pytest

import wordforest as wf

HEAVY = ["torch", "dask", "matplotlib", "flask", "numba", "sklearn", "scipy"]


def modules_after(code: str) -> list[str]:
    """Return which heavy packages a program has imported at its end."""
    program = f"{code}\nimport json, sys\nsys.stderr.write(json.dumps([m for m in {HEAVY} if m in sys.modules]))"
    result = subprocess.run([sys.executable, "-c", program], capture_output=True, encoding="utf-8", check=True)
    found: list[str] = json.loads(result.stderr)
    return found


def test_importing_the_package_imports_nothing_heavy():
    assert modules_after("import wordforest; dir(wordforest); wordforest.__version__") == []


def test_the_probe_sees_what_is_imported():
    assert "scipy" in modules_after("import wordforest; wordforest.Vectors")


@pytest.mark.parametrize("module", [wf, wf.coder], ids=["wf", "wf.coder"])
def test_every_public_name_resolves_to_itself(module: ModuleType):
    assert module.__all__ == dir(module)
    for name in module.__all__:
        found = getattr(module, name)
        assert (found.__name__ == f"wordforest.{name}") if isinstance(found, ModuleType) else found.__name__ == name


def test_a_name_that_does_not_exist_is_named():
    with pytest.raises(AttributeError, match="No wordforest attribute Forrest"):
        wf.Forrest  # noqa: B018


def test_a_function_goes_before_the_file_it_is_in():
    """A file of the same name would take its place once it is imported."""
    for module in (wf, wf.coder):
        files = {path.stem for path in Path(module.__file__).parent.iterdir()}
        assert files & {*module.__all__} <= {
            "coder",
            "documents",
            "evaluation",
            "figures",
            "interop",
            "reading",
            "text",
        }


def test_the_main_names_are_few():
    assert len(wf.__all__) <= 35
