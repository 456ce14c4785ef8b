"""What pip installs, and how soon there is a first forest: the wheel of dist/ (make dist) in empty environments.

python benchmarks/install.py [--repeat 3]

Seconds are the best of several, from making the environment on; without pip's cache every package is downloaded.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tools"))
from wheels import built, learn, run


def size(path: Path) -> float:
    """Return how many MB a file or folder has."""
    files = [path] if path.is_file() else [one for one in path.rglob("*") if one.is_file() and not one.is_symlink()]
    return sum(one.stat().st_size for one in files) / 1e6


def measured(wheel: Path, *options: str) -> tuple[float, float, dict[str, float]]:
    """Return the seconds until the package is installed and until a forest is learned, and the MB of packages."""
    with tempfile.TemporaryDirectory() as name:
        folder, began = Path(name), time.monotonic()
        run(sys.executable, "-m", "venv", "env", cwd=folder)
        commands = folder / "env" / "bin"
        run(commands / "python", "-m", "pip", "install", "--quiet", *options, wheel, cwd=folder)
        installed = time.monotonic() - began
        (packages,) = (folder / "env").glob("[Ll]ib/**/site-packages")
        parts = {path.name: size(path) for path in packages.iterdir() if not path.name.startswith("pip")}
        began_again = time.monotonic()
        learn(commands, folder)
        return installed, installed + time.monotonic() - began_again, parts


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--repeat", type=int, default=3)
    asked, wheel = parser.parse_args(), built()
    ways = {"empty": ["--no-cache-dir"], "filled": []}
    found = {way: [measured(wheel, *options) for _ in range(asked.repeat)] for way, options in ways.items()}
    parts = found["filled"][0][2]
    ours = {"the wheel": size(wheel), "the source archive": size(next(wheel.parent.glob("*.tar.gz")))}
    ours |= {"wordforest, installed": parts["wordforest"], "with all that it requires": sum(parts.values())}
    print("| | MB |\n|---|---|", *(f"| {name} | {value:.2f} |" for name, value in ours.items()), sep="\n")
    largest = sorted(parts, key=lambda name: -parts[name])[:5]
    print(f"\nThe largest of {len(parts)}: " + ", ".join(f"{name} {parts[name]:.0f} MB" for name in largest) + ".\n")
    print("| pip's cache | installed after, s | a first forest after, s |\n|---|---|---|")
    for way, times in found.items():
        print(f"| {way} | {min(one[0] for one in times):.1f} | {min(one[1] for one in times):.1f} |")


if __name__ == "__main__":
    main()
