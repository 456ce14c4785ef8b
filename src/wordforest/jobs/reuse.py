"""Counting a text once for many runs: counts lie in the run that made them, and runs beside it find them there.

They are found by what they are made of: the SHA-256 of the files, every setting of counting, and the versions that say
what a word is. So text that has changed, or other settings, never meet old counts. Text for a cluster is not read here:
sizes and times of its files stand for it, and only a run that is gone on with takes such counts.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterable, Iterator
from dataclasses import asdict
from pathlib import Path
from typing import Any

from wordforest import store
from wordforest.counts import Counts
from wordforest.errors import InputError
from wordforest.jobs.count import count_into, count_names, is_large, load_counts, taken, versions
from wordforest.jobs.job import output
from wordforest.runtime.progress import Reporter
from wordforest.runtime.threads import Threads
from wordforest.settings import CountSettings
from wordforest.text.reader import content_hash, find_sources

_VERSIONS = ("wordforest", "python")  # which decide what a word is
_CONTENT = "content"  # of the files counted, in the config of counts that a run has made
_STAMPS = "stamps"  # size and time of the files, where a cluster has read them


def counts_of(
    names: list[str], settings: CountSettings, executor: Threads, folder: Path | None, report: Reporter,
    *, memory: int | None = None, resume: bool = False, mapped: bool = False,
) -> tuple[Counts, dict[str, Any]]:  # fmt: skip
    """Return counts and their settings: of one counts folder, else of text, which is counted once.

    Text is counted into ``counts`` inside the folder of a run, unless this folder or one beside it has its counts
    already. ``mapped`` leaves them in their file, where large ones stay anyway. Without a folder they are counted in
    memory.
    """
    if source := given_counts(names, folder):
        counts, config = load_counts(source, mapped=mapped or is_large(source, memory))
        check_counted_so(source, settings, config)
    elif folder is None:
        counts, config = count_names(names, settings, executor, folder, report, memory=memory)
    else:
        counts, config = _counted_once(names, settings, executor, folder, report, memory, resume, mapped)
        config["corpus"] = names
    return counts, without_facts(config)


def given_counts(names: list[str], folder: Path | None) -> Path | None:
    """Return the counts folder that a corpus is, if it is one; the folder to write to must be another."""
    source = Path(names[0]) if len(names) == 1 else None
    if not source or not store.is_counts_folder(source):
        return None
    if folder and folder.resolve() == source.resolve():
        raise InputError(f"{folder}: the counts to read would be replaced. Choose another --out.")
    return source


def without_facts(config: dict[str, Any]) -> dict[str, Any]:
    """Return the settings of counts without what is known of their text."""
    return {name: value for name, value in config.items() if name not in (_CONTENT, _STAMPS)}


def counted_elsewhere(
    names: list[str], settings: CountSettings, folder: Path, report: Reporter,
    count: Callable[[Path, dict[str, Any]], object], *, resume: bool,
) -> Path:  # fmt: skip
    """Return the folder of counts inside that of a run, filled by ``count`` unless a run that goes on has it already.

    ``count`` is given the folder, and facts of the text to write beside the settings.
    """
    own = folder / store.COUNTS
    facts = _facts(find_sources(names), own, read_here=False, resume=resume)
    if found := next(_same(own, _made_of(names, settings, facts), trusted=resume), None):
        report.say(f"{found}: counts of this text and these settings, so it is not counted again")
        return found
    _check_replaceable(own)
    with output(own, force=True) as place:
        assert place  # noqa: S101 it was given
        count(place, facts)
    return own


def _counted_once(
    names: list[str], settings: CountSettings, executor: Threads, folder: Path, report: Reporter,
    memory: int | None, resume: bool, mapped: bool,
) -> tuple[Counts, dict[str, Any]]:  # fmt: skip
    sources = find_sources(names)
    before = _stamps(sources)
    own = folder / store.COUNTS
    facts = _facts(sources, own, read_here=True, resume=resume)
    if found := next(_same(own, _made_of(names, settings, facts), trusted=resume), None):
        report.say(f"{found}: counts of this text and these settings, so it is not counted again")
        return load_counts(found, mapped=mapped or is_large(found, memory))
    _check_replaceable(own)
    with output(own, force=True) as place:
        assert place  # noqa: S101 it was given
        counts, config = count_into(
            place, names, settings, executor, report, memory=memory, force=True, resume=resume and "-" not in names,
            facts=lambda: facts if _unchanged(sources, before) else {_CONTENT: None},
        )  # fmt: skip
    return (counts if mapped else taken(counts, memory)), config


def _facts(sources: list[str], own: Path, *, read_here: bool, resume: bool) -> dict[str, Any]:
    """Return what tells one text from another; a run that is gone on with asks for what its counts have."""
    if resume and store.is_counts_folder(own):
        read_here = _STAMPS not in store.read_json(own / "config.json")
    return {_CONTENT: content_hash(sources)} if read_here else {_CONTENT: None, _STAMPS: _stamps(sources)}


def _made_of(names: list[str], settings: CountSettings, facts: dict[str, Any]) -> dict[str, Any]:
    named = {} if facts[_CONTENT] else {"corpus": names}
    made_of: dict[str, Any] = json.loads(json.dumps({**asdict(settings), **facts, **named}))
    return made_of


def _same(own: Path, made_of: dict[str, Any], *, trusted: bool) -> Iterator[Path]:
    """Yield folders of counts that are made of the same: a run's own, then those beside it.

    Where the text cannot be looked at twice, only a run that is gone on with may trust its own.
    """
    beside = own.parent.resolve().parent
    others = [] if made_of[_CONTENT] is None else [beside / store.COUNTS, *sorted(beside.glob(f"*/{store.COUNTS}"))]
    for place in [own, *others]:
        if made_of[_CONTENT] is None and not trusted:
            continue
        if not store.is_counts_folder(place) or store.has_checkpoint(place):
            continue
        try:
            config = store.read_json(place / "config.json")
        except InputError:  # damaged, or another run is just removing it
            continue
        same_versions = all(config.get("versions", {}).get(name) == versions()[name] for name in _VERSIONS)
        if same_versions and all(name in config and config[name] == value for name, value in made_of.items()):
            yield place


def _check_replaceable(own: Path) -> None:
    """Refuse to replace counts that no run has made; others, of another text, say, stay until new ones are there."""
    if store.is_counts_folder(own) and _CONTENT not in store.read_json(own / "config.json"):
        raise InputError(f"{own}: these counts, which no run has made, would be replaced. Choose another --out.")


def _stamps(sources: Iterable[str]) -> list[list[int] | None]:
    """Return size and time of every file, to see whether it changes meanwhile."""
    found = [os.stat(source) if Path(source).is_file() else None for source in sources]  # noqa: PTH116
    return [stat and [stat.st_size, stat.st_mtime_ns] for stat in found]


def _unchanged(sources: list[str], before: list[list[int] | None]) -> bool:
    """Return whether files are as they were; one that lost text since it was first looked at is an error."""
    now = _stamps(sources)
    for source, was, is_now in zip(sources, before, now, strict=True):
        if was and is_now and is_now[0] < was[0]:
            raise InputError(f"{source}: it shrank from {was[0]} to {is_now[0]} bytes meanwhile. Write it again.")
    return now == before


def check_counted_so(folder: Path, settings: CountSettings, config: dict[str, Any]) -> None:
    """Refuse a setting that counts made earlier cannot follow; a default asks for nothing."""
    for name, value in asdict(settings).items():
        default = CountSettings.__dataclass_fields__[name].default
        counted = config.get(name, default)
        counted = tuple(counted) if isinstance(counted, list) else counted
        if value not in (counted, default):
            raise InputError(
                f"{name} = {value}, by a setting or a preset, but {folder} was counted with {name} = {counted}. "
                "Count again, or ask for what was counted."
            )
