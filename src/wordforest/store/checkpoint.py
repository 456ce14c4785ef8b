"""``checkpoint/`` inside a RUN folder: what ``--resume`` needs. Each file is whole or absent."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

from wordforest.errors import InputError
from wordforest.store.files import read_json, write_json
from wordforest.store.layout import CHECKPOINT
from wordforest.store.tensors import Tensors, read_metadata, read_tensors, write_tensors

_STATE = "state.safetensors"


def has_checkpoint(folder: Path) -> bool:
    """Return whether a run was begun in a folder and not finished."""
    return (folder / CHECKPOINT / "settings.json").is_file()


def begin_checkpoint(folder: Path, settings: dict[str, Any]) -> None:
    """Note what a run was begun with; a checkpoint of an earlier run goes away."""
    remove_checkpoint(folder)
    (folder / CHECKPOINT).mkdir(parents=True)
    write_json(folder / CHECKPOINT / "settings.json", settings)


def checkpoint_settings(folder: Path) -> dict[str, Any]:
    """Return what the run was begun with."""
    return read_json(folder / CHECKPOINT / "settings.json")


def checkpoint_folder(folder: Path) -> Path:
    """Return where the files of a checkpoint lie."""
    return folder / CHECKPOINT


def save_state(folder: Path, tensors: Tensors, history: list[dict[str, Any]], text: str = "") -> None:
    """Write the state of learning in place of the one before; ``text`` is the fingerprint of what is learned from."""
    write_tensors(folder / CHECKPOINT / _STATE, tensors, {"history": json.dumps(history), "text": text})


def load_state(folder: Path, text: str = "") -> tuple[Tensors, list[dict[str, Any]]] | None:
    """Return all tensors of the last state of learning and its history, or None if none was written."""
    path = folder / CHECKPOINT / _STATE
    if not path.is_file():
        return None
    found = read_metadata(path)
    if text and found.get("text", text) != text:
        raise InputError(f"{folder}: the text has changed since learning began. Begin again, with --force.")
    return read_tensors(path), json.loads(found["history"])


def drop_empty_checkpoint(folder: Path) -> None:
    """Remove a checkpoint from which nothing could be resumed."""
    if has_checkpoint(folder) and len(list((folder / CHECKPOINT).iterdir())) == 1:
        remove_checkpoint(folder)


def remove_checkpoint(folder: Path) -> None:
    """Remove the checkpoint, if there is one; first what makes it one."""
    checkpoint = folder / CHECKPOINT
    if checkpoint.is_symlink() or checkpoint.is_file():
        checkpoint.unlink()
    elif checkpoint.is_dir():
        (checkpoint / "settings.json").unlink(missing_ok=True)
        shutil.rmtree(checkpoint)
