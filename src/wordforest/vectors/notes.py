"""What somebody wrote about nodes."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple


class NodeNote(NamedTuple):
    """What somebody wrote about a node: its name, whether it is hidden with all below it, and a remark."""

    name: str = ""
    hidden: bool = False
    remark: str = ""


def as_notes(labels: Mapping[int, str | NodeNote]) -> dict[int, NodeNote]:
    """Return notes by node; a text is the name of one."""
    return {node: NodeNote(note) if isinstance(note, str) else note for node, note in labels.items()}
