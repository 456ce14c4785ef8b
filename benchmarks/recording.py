"""The recording of the README: commands run in a terminal, as an animated SVG without scripts.

python benchmarks/recording.py CORPUS [--out docs/pictures/recording.svg] [--title TEXT]

CORPUS is a text, plain or .xz, with some million English words. The commands run as shown, in a folder of their own,
and a terminal passes on what they print and when. Waiting is shortened; bars and lines tell the real seconds.
"""

from __future__ import annotations

import argparse
import codecs
import fcntl
import lzma
import math
import os
import pty
import re
import shlex
import shutil
import struct
import subprocess
import sys
import tempfile
import termios
import time
from collections.abc import Iterable, Iterator, Sequence
from html import escape
from pathlib import Path
from typing import NamedTuple

from rich.cells import cell_len
from rich.color_triplet import ColorTriplet
from rich.console import Console
from rich.segment import Segment
from rich.style import Style
from rich.terminal_theme import DEFAULT_TERMINAL_THEME
from rich.text import Text

COLUMNS, ROWS = 92, 24
COMMANDS = (
    "wordforest train corpus.txt --preset readable --out forest",
    "wordforest inspect forest -k 2 --tree 0 --tree 3",
    "wordforest path forest king",
)
MOST_BYTES = 150_000
PROMPT = "\x1b[32m$\x1b[0m "
_KEY, _KEYS = 0.09, 3  # seconds for so many keys
_SHOWN = {"train": 9.0}  # seconds that a command is shown at most until it has ended
_QUICK = 0.7
_READ = 0.16  # seconds to read a new line
_STEP = 0.25  # between frames
_LAST = 6.0
_WIDTH, _HEIGHT, _FONT = 8.4, 19, 14  # of a character, of a line, in pixels
_MARGIN, _BAR = 14, 32
_CONTROL = re.compile(r"(\r|\n|\x1b\[[\d;?]*[A-Za-z])")
_HALF = re.compile(r"\x1b[^A-Za-z]*$")
# Colours that Rich uses, as they are on light and on dark paper.
_COLOURS = {
    "f92672": ("#b3174f", "#ff6b9d"),
    "729c1f": ("#4d7208", "#a3cf4a"),
    "3a3a3a": ("#d8d6cf", "#3b423e"),
    "808000": ("#7a5c00", "#e0c46c"),
    "008080": ("#0b6a6a", "#6fd0cf"),
    "800080": ("#7d2a86", "#d79be0"),
    "008000": ("#2c6b1f", "#8fd07f"),
}

Line = tuple[Segment, ...]


class Frame(NamedTuple):
    """What stands on the screen for some seconds."""

    seconds: float
    lines: tuple[Line, ...]


class Screen:
    """The lines of a terminal, as far as Rich's bars need one: they go up, clear a line, and write it anew."""

    def __init__(self) -> None:
        self.lines = [""]
        self._row = 0
        self._rest = ""

    def write(self, text: str) -> None:
        """Take what a command printed, with its control sequences; half of one waits for the other half."""
        text = self._rest + text
        self._rest = match[0] if (match := _HALF.search(text)) else ""
        for part in _CONTROL.split(text.removesuffix(self._rest)):
            if part == "\n":
                self._row += 1
                self.lines += [""] * (self._row + 1 - len(self.lines))
            elif part.endswith("A") and part.startswith("\x1b["):
                self._row = max(0, self._row - int(part[2:-1] or 1))
            elif part == "\x1b[2K":
                self.lines[self._row] = ""
            elif not part.startswith("\x1b[") or part.endswith("m"):
                self.lines[self._row] += part.replace("\r", "")

    def shown(self) -> tuple[Line, ...]:
        """Return the last lines, cut at the width of the terminal."""
        console = Console(width=COLUMNS, color_system="truecolor", force_terminal=True, legacy_windows=False)
        folded = [part for line in self.lines for part in _folded(line, console)]
        return tuple(tuple(Segment.simplify(part.render(console, end=""))) for part in folded)[-ROWS:]


def _folded(line: str, console: Console) -> Sequence[Text]:
    text = Text.from_ansi(line)
    text.rstrip()
    return text.wrap(console, COLUMNS, overflow="fold") if text else [text]


def printed(command: str, folder: Path) -> Iterator[tuple[float, str]]:
    """Run a command in a terminal; yield what it prints, each with the seconds since it began."""
    ours, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", ROWS, COLUMNS, 0, 0))
    words = [sys.executable, "-m", *shlex.split(command)]
    look = {"TERM": "xterm-256color", "COLORTERM": "truecolor"}
    decode = codecs.getincrementaldecoder("utf-8")("replace").decode
    began = time.monotonic()
    with subprocess.Popen(words, cwd=folder, stdin=theirs, stdout=theirs, stderr=theirs, env=os.environ | look) as one:
        os.close(theirs)
        while data := _read(ours):
            yield time.monotonic() - began, decode(data)
    os.close(ours)
    if one.returncode:
        sys.exit(f"{command} ended with {one.returncode}")


def _read(descriptor: int) -> bytes:
    try:
        return os.read(descriptor, 1 << 16)
    except OSError:  # Linux's way to say that the other side is closed
        return b""


def play(commands: Iterable[str], folder: Path) -> Iterator[Frame]:
    """Run commands one after the other; yield what a person at the terminal would see."""
    screen = Screen()
    for command in commands:
        screen.write(PROMPT)
        yield Frame(0.8, screen.shown())
        for i in range(0, len(command), _KEYS):
            screen.write(f"\x1b[1m{command[i : i + _KEYS]}\x1b[0m")
            yield Frame(_KEY, screen.shown())
        screen.write("\n")
        before = len(screen.lines)
        yield from _ran(command, screen, folder)
        yield Frame(1.0 + _READ * (len(screen.lines) - before), screen.shown())
    screen.write(PROMPT)
    yield Frame(_LAST, screen.shown())


def _ran(command: str, screen: Screen, folder: Path) -> Iterator[Frame]:
    states: list[tuple[float, tuple[Line, ...]]] = [(0.0, screen.shown())]
    for at, text in printed(command, folder):
        screen.write(text)
        states.append((at, screen.shown()))
    whole = states[-1][0]
    pace = min(_SHOWN.get(command.split()[1], _QUICK), whole) / whole if whole else 0.0
    kept = states[:1]
    for at, lines in states[1:]:
        if (at - kept[-1][0]) * pace >= _STEP:
            kept.append((at, lines))
    ends = [at for at, _ in kept[1:]] + [whole]
    for (at, lines), end in zip(kept, ends, strict=True):
        yield Frame((end - at) * pace, lines)


def merged(frames: Iterable[Frame]) -> list[Frame]:
    """Return frames without those that nobody sees: equal ones in a row are one."""
    found: list[Frame] = []
    for frame in frames:
        if found and found[-1].lines == frame.lines:
            found[-1] = Frame(found[-1].seconds + frame.seconds, frame.lines)
        elif frame.seconds > 0:
            found.append(frame)
    return found


def animated(frames: Sequence[Frame], title: str, about: str) -> str:
    """Return frames as one SVG: they stand below each other, and a window goes from one to the next.

    Where nothing moves, by the reader's wish or because a program cannot, the last one is shown.
    """
    number: dict[Line, int] = {}
    rows = []
    for place, frame in enumerate(frames):
        for row, line in enumerate(frame.lines):
            if line:
                y = place * ROWS * _HEIGHT + row * _HEIGHT
                rows.append(f'<use href="#l{number.setdefault(line, len(number))}" y="{y}"/>')
    lines = "".join(f'<g id="l{i}">{_drawn(line)}</g>' for line, i in number.items())
    width, height = round(COLUMNS * _WIDTH) + 2 * _MARGIN, ROWS * _HEIGHT
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height + _BAR + 2 * _MARGIN}" role="img" '
        f'aria-labelledby="t d"><title id="t">{escape(title)}</title><desc id="d">{escape(about)}</desc>'
        f"<style>{_style(frames)}</style><defs>{lines}</defs>"
        '<rect class="paper" x=".5" y=".5" width="99.9%" height="99.8%" rx="9"/>'
        + "".join(f'<circle class="dot" cx="{20 + 18 * i}" cy="18" r="5.5"/>' for i in range(3))
        + f'<text class="title" x="50%" y="22.5" text-anchor="middle">{escape(title)}</text>'
        f'<svg x="{_MARGIN}" y="{_BAR + _MARGIN // 2}" width="{width - 2 * _MARGIN}" height="{height}">'
        f'<g class="strip">{"".join(rows)}</g></svg></svg>\n'
    )


def _style(frames: Sequence[Frame]) -> str:
    total, at, keys = sum(frame.seconds for frame in frames), 0.0, []
    for place, frame in enumerate(frames):
        keys.append(f"{100 * at / total:.2f}%{{transform:translateY({-place * ROWS * _HEIGHT}px)}}")
        at += frame.seconds
    light, dark = ("".join(f".c{name}{{fill:{pair[i]}}}" for name, pair in _COLOURS.items()) for i in (0, 1))
    return (
        f"text{{font:{_FONT}px ui-monospace,SFMono-Regular,Menlo,Consolas,'DejaVu Sans Mono',monospace;fill:#1d2621;"
        "white-space:pre;dominant-baseline:alphabetic}.title{font-size:12.5px;fill:#5c6660}.dot{fill:#d8d6cf}"
        ".paper{fill:#fbfaf6;stroke:#d8d6cf}.b{font-weight:700}.d{opacity:.65}" + light + "@media(prefers-color-scheme:"
        "dark){text{fill:#e4e8e4}.title{fill:#98a29c}.dot{fill:#3b423e}.paper{fill:#171c1a;stroke:#3b423e}" + dark + "}"
        f".strip{{transform:translateY({-(len(frames) - 1) * ROWS * _HEIGHT}px);animation:play {total:.1f}s step-end "
        f"infinite}}@keyframes play{{{''.join(keys)}}}@media(prefers-reduced-motion:reduce){{.strip{{animation:none}}}}"
    )


def _drawn(line: Line) -> str:
    """Return the parts of a line, each as wide as its characters are in every font."""
    found, column = "", 0
    for segment in line:
        size = cell_len(segment.text)
        if segment.text.strip():
            start = column + len(segment.text) - len(segment.text.lstrip())
            text = segment.text.strip()
            wide = f' textLength="{cell_len(text) * _WIDTH:.1f}"'
            found += f'<text x="{start * _WIDTH:.1f}" y="{_FONT}"{wide}{_classes(segment.style)}>{escape(text)}</text>'
        column += size
    return found


def _classes(style: Style | None) -> str:
    if style is None:
        return ""
    names = ["b"] * bool(style.bold) + ["d"] * bool(style.dim)
    if style.color is not None and not style.color.is_default:
        names.append(f"c{_nearest(style.color.get_truecolor(DEFAULT_TERMINAL_THEME))}")
    return f' class="{" ".join(names)}"' if names else ""


def _nearest(colour: ColorTriplet) -> str:
    """Return the known colour that is nearest: a bar that waits has all shades between two."""
    return min(_COLOURS, key=lambda name: math.dist(colour, bytes.fromhex(name)))


def unpacked(corpus: Path, folder: Path) -> None:
    """Put a text into a folder, as corpus.txt."""
    start = lzma.open if corpus.suffix == ".xz" else open
    with start(corpus, "rb") as source, (folder / "corpus.txt").open("wb") as copy:
        shutil.copyfileobj(source, copy)


def record(corpus: Path, out: Path, commands: Sequence[str] = COMMANDS, title: str = "wordforest") -> list[Frame]:
    """Run commands on a text and write the recording."""
    with tempfile.TemporaryDirectory() as folder:
        unpacked(corpus, Path(folder))
        frames = merged(play(commands, Path(folder)))
    text = animated(frames, title, "A terminal: " + ", then ".join(commands))
    if (size := len(text.encode())) > MOST_BYTES:
        sys.exit(f"the recording has {size} bytes, but {MOST_BYTES} is the limit. Show fewer frames or lines.")
    out.write_text(text, encoding="utf-8")
    return frames


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("corpus", type=Path)
    parser.add_argument("--out", type=Path, default=Path("docs/pictures/recording.svg"))
    parser.add_argument("--title", default="wordforest on English Wikipedia, the waiting shortened")
    options = parser.parse_args()
    frames = record(options.corpus, options.out, title=options.title)
    print(f"wrote {options.out}: {len(frames)} frames, {sum(frame.seconds for frame in frames):.0f} s")


if __name__ == "__main__":
    main()
