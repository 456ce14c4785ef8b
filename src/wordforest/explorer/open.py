"""From names of runs and files to models, and from models to a page."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

from wordforest import store
from wordforest.errors import InputError
from wordforest.explorer.model import Model, build_model
from wordforest.store import Run
from wordforest.vectors import Vectors

MAX_MODELS = 4


def open_models(names: Sequence[str], on_notice: Callable[[str], None] | None = None) -> list[Model]:
    """Return the models of run folders or files of vectors; what a person should know goes to ``on_notice``."""
    if not 1 <= len(names) <= MAX_MODELS:
        raise InputError(f"{len(names)} models came, but a page shows 1 to {MAX_MODELS} side by side. Give fewer.")
    return [build_model(title, _read(name, on_notice)) for name, title in zip(names, _titles(names), strict=True)]


def _read(name: str, on_notice: Callable[[str], None] | None) -> Run | Vectors:
    path = Path(name)
    return store.load_run(path) if path.is_dir() else store.read_vectors(name, on_notice=on_notice)


def _titles(names: Sequence[str]) -> list[str]:
    """Return the last part of every path, or all of it where two would be equal."""
    short = [Path(name).resolve().name or name for name in names]
    return [name if short.count(title) > 1 else title for name, title in zip(names, short, strict=True)]
