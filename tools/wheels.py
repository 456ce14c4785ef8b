"""Try the wheel in dist/ as users get it: in an empty environment, outside of the clone.

    python tools/wheels.py 3.11                       # install, ask for the version, learn a first forest
    python tools/wheels.py 3.11 3.12 3.13 --demo      # the demo, too
    python tools/wheels.py 3.11 --lowest --tests      # the lowest versions that pyproject.toml allows, and tests

A Python that is not on this machine is named and passed over; that none of them is there is a failure.
"""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
import tempfile
import time
import zipfile
from collections.abc import Iterator
from pathlib import Path

HOME = Path(__file__).resolve().parents[1]
TESTS = ("coder", "counts", "documents", "evaluation", "figures", "interop", "reading", "store", "text", "vectors")
QUICK = "not slow and not gpu and not cluster and not browser"
# The clone must not be found where the wheel is missing something.
ENVIRONMENT = {name: value for name, value in os.environ.items() if name not in ("PYTHONPATH", "VIRTUAL_ENV")}


def run(*command: object, cwd: Path) -> str:
    """Run a command and return what it prints; where it fails, all of that is shown."""
    typed = [str(one) for one in command]
    done = subprocess.run(typed, cwd=cwd, env=ENVIRONMENT, capture_output=True, encoding="utf-8", check=False)
    if done.returncode:
        sys.exit(f"{' '.join(typed)}: exit code {done.returncode}\n{done.stdout}{done.stderr}")
    return done.stdout


def find_python(version: str) -> str | None:
    """Return a Python of a version such as 3.12: this one, that of the PATH, or one that pyenv has installed."""

    def candidates() -> Iterator[str]:
        yield sys.executable
        yield from filter(None, [shutil.which(f"python{version}")])
        if pyenv := shutil.which("pyenv"):
            root = subprocess.run([pyenv, "root"], capture_output=True, encoding="utf-8", check=False).stdout.strip()
            yield from map(str, sorted(Path(root).glob(f"versions/{version}.*/bin/python{version}")))

    ask = "import sys, venv; print('%d.%d' % sys.version_info[:2])"
    for path in candidates():  # pyenv's shims are on the PATH even where they lead nowhere
        found = subprocess.run([path, "-c", ask], capture_output=True, encoding="utf-8", check=False)
        if found.stdout.strip() == version:
            return path
    return None


def uv(*arguments: object, cwd: Path) -> str:
    """Run uv of the environment that this runs in; ``make .venv/.release`` installs it."""
    return run(sys.executable, "-m", "uv", *arguments, cwd=cwd)


def lowest_versions(python: str, extras: tuple[str, ...], folder: Path) -> Path:
    """Write the lowest versions that pyproject.toml allows, as constraints; uv finds them."""
    path = folder / "lowest.txt"
    wanted = [part for extra in extras for part in ("--extra", extra)]
    options = ["--resolution", "lowest-direct", "--python", python, "--output-file", path]
    uv("pip", "compile", "--quiet", *options, *wanted, HOME / "pyproject.toml", cwd=folder)
    return path


def built() -> Path:
    """Return the wheel in dist/."""
    wheels = sorted((HOME / "dist").glob("*.whl"))
    if len(wheels) != 1:
        sys.exit(f"expected one wheel in dist/, found {len(wheels)}. Run: make dist")
    return wheels[0]


def missing_from(wheel: Path) -> list[str]:
    """Return the files of the package, and the experiments, that a wheel lacks."""
    package, there = HOME / "src" / "wordforest", set(zipfile.ZipFile(wheel).namelist())
    sources = [path for path in package.rglob("*") if path.is_file() and path.parent.name != "__pycache__"]
    names = [path.relative_to(package.parent).as_posix() for path in sources]
    names += [f"wordforest/reproduce/experiments/{path.name}" for path in (HOME / "experiments").iterdir()]
    return sorted({*names} - there)


def install(wheel: Path, python: str, folder: Path, extras: tuple[str, ...] = (), *options: object) -> Path:
    """Install a wheel in a new environment in a folder, and return where its commands are."""
    uv("venv", "--quiet", "--python", python, "env", cwd=folder)
    commands = folder / "env" / ("Scripts" if os.name == "nt" else "bin")
    asked = f"wordforest[{','.join(extras)}] @ {wheel.as_uri()}"
    uv("pip", "install", "--quiet", "--python", commands / "python", *options, asked, cwd=folder)
    return commands


def learn(commands: Path, folder: Path) -> None:
    """Learn a forest of this project's own pages."""
    pages = sorted((HOME / "docs").glob("*.md"))
    (folder / "corpus.txt").write_text("\n".join(page.read_text(encoding="utf-8") for page in pages), encoding="utf-8")
    run(commands / "wordforest", "train", "corpus.txt", "--out", "run", "--min-count", "5", cwd=folder)


def check(wheel: Path, commands: Path, folder: Path) -> None:
    """Ask for the version, read the forest, and see that all of it comes from the wheel."""
    assert run(commands / "wordforest", "--version", cwd=folder).split() == ["wordforest", wheel.name.split("-")[1]]
    assert run(commands / "wordforest", "neighbors", "run", "forest", cwd=folder)
    look = "import wordforest.reproduce.plan as p; print(p.__file__, p.experiment_file(p.Path('table1')), sep='\\n')"
    found = run(commands / "python", "-c", look, cwd=folder).splitlines()
    assert all((folder / "env").resolve() in Path(path).resolve().parents for path in found), found


def try_wheel(wheel: Path, python: str, folder: Path, *, lowest: bool, demo: bool, tests: bool) -> str:
    """Install the wheel in an empty environment, use it, and return what was tried, in words."""
    extras = ("demo", "test") if tests else ("demo",) if demo else ()  # no PyTorch: gigabytes
    options: list[object] = ["--constraint", lowest_versions(python, extras, folder)] if lowest else []
    options += ["--compile-bytecode"] if tests else []  # at the first import, odd strings of packages would warn
    began = time.monotonic()
    commands = install(wheel, python, folder, extras, *options)
    said = [f"installed in {time.monotonic() - began:.0f} s"]
    learn(commands, folder)
    said.append(f"a first forest after {time.monotonic() - began:.0f} s")
    check(wheel, commands, folder)
    if demo:
        run(commands / "wordforest", "demo", "--out", "demo", cwd=folder)
        assert (folder / "demo" / "heatmap.png").is_file()
        said.append("the demo")
    if tests:
        # Old packages warn of what is newer than they are.
        asked = ["-q", "-m", QUICK, "-p", "no:cacheprovider", *(["-o", "filterwarnings=default"] if lowest else [])]
        printed = run(commands / "python", "-m", "pytest", *asked, *(f"tests/{one}" for one in TESTS), cwd=HOME)
        said.append(printed.strip().splitlines()[-1].strip("= "))
    return ", ".join(said)


def main() -> None:
    """Try the wheel on each Python that is asked for and is here."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("versions", nargs="+", metavar="VERSION", help="as 3.12")
    parser.add_argument("--lowest", action="store_true", help="with the lowest versions that pyproject.toml allows")
    parser.add_argument("--demo", action="store_true", help="with the extra demo, and run it")
    parser.add_argument(
        "--tests", action="store_true", help="with the extra test, and run the quick tests of most rooms"
    )
    asked = parser.parse_args()
    wheel = built()
    if missing := missing_from(wheel):
        sys.exit(f"{wheel.name} lacks {', '.join(missing)}")
    tried = 0
    for version in asked.versions:
        which = f"Python {version}, {'lowest' if asked.lowest else 'newest'} versions"
        if (python := find_python(version)) is None:
            print(f"{which}: skipped, there is no python{version} here", flush=True)
            continue
        with tempfile.TemporaryDirectory() as folder:
            chosen = {"lowest": asked.lowest, "demo": asked.demo, "tests": asked.tests}
            print(f"{which}: {try_wheel(wheel, python, Path(folder), **chosen)}", flush=True)
        tried += 1
    if not tried:
        sys.exit("none of these Pythons is here")


if __name__ == "__main__":
    main()
