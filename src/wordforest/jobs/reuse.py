"""Counting a text once for many runs: counts lie in the run that made them, and runs beside it find them there.

They are found by what they are made of: the SHA-256 of the files, every setting of counting, and the versions that say
what a word is. So text that has changed, or other settings, never meet old counts. Text for a cluster is not read here:
sizes and times of its files stand for it, and only a run that is resumed takes such counts.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Iterator
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

from wordforest import store
from wordforest.errors import InputError
from wordforest.jobs.count import Counted, count_in_memory, count_into, kept, load_counts
from wordforest.jobs.job import Job, versions
from wordforest.runtime.cluster import Cluster
from wordforest.settings import CountSettings
from wordforest.text.reader import content_hash, find_sources

_VERSIONS = ("wordforest", "python")  # which decide what a word is
_CONTENT = "content"  # of the files counted, in the config of counts that a run has made
_STAMPS = "stamps"  # size and time of the files, where a cluster has read them


def counts_for(job: Job, names: list[str], settings: CountSettings, *, mapped: bool = False) -> Counted:
    """Return the counts that a job learns from: those of one counts folder, else of text, which is counted once.

    Text is counted into ``counts`` inside the folder of the job, unless this folder or one beside it has its counts
    already; without a folder it is counted in memory. ``mapped`` leaves counts in their file, where large ones, and
    those for a cluster, stay anyway.
    """
    most, on_cluster = 0 if mapped else kept(job), isinstance(job.executor, Cluster)
    source = Path(names[0]) if len(names) == 1 else None
    if source and store.is_counts_folder(source):
        if job.folder and job.folder.resolve() == source.resolve():
            raise InputError(f"{job.folder}: the counts to read would be replaced. Choose another --out.")
        found = load_counts(source, most, checked=not on_cluster)
        _check_counted_so(source, settings, found.config)
    elif job.folder is None:
        found = count_in_memory(job, names, settings)
    else:
        found = load_counts(_counted(job, names, settings, job.folder / store.COUNTS), most, checked=not on_cluster)
        found = replace(found, config={**found.config, "corpus": names})
    config = {name: value for name, value in found.config.items() if name not in (_CONTENT, _STAMPS)}
    return replace(found, config=config)


def _counted(job: Job, names: list[str], settings: CountSettings, own: Path) -> Path:
    """Return the folder that has the counts of text: one that had them before, else ``own``, counted into now."""
    sources = find_sources(names)
    before = _stamps(sources)
    facts = _facts(job, sources, own)
    if found := next(_same(own, _made_of(names, settings, facts), is_trusted=job.resume), None):
        job.report.say(f"{found}: counts of this text and these settings, so it is not counted again")
        return found
    if store.is_counts_folder(own) and _CONTENT not in store.read_json(own / "config.json"):
        raise InputError(f"{own}: these counts, which no run has made, would be replaced. Choose another --out.")
    with job.inside(own) as part:
        count_into(part, names, settings, lambda: facts if _unchanged(sources, before) else {_CONTENT: None})
    return own


def _facts(job: Job, sources: list[str], own: Path) -> dict[str, Any]:
    """Return what tells one text from another; a run that is resumed asks for what its counts have."""
    is_read_here = not isinstance(job.executor, Cluster)
    if job.resume and store.is_counts_folder(own):
        is_read_here = _STAMPS not in store.read_json(own / "config.json")
    return {_CONTENT: content_hash(sources)} if is_read_here else {_CONTENT: None, _STAMPS: _stamps(sources)}


def _made_of(names: list[str], settings: CountSettings, facts: dict[str, Any]) -> dict[str, Any]:
    named = {} if facts[_CONTENT] else {"corpus": names}
    made_of: dict[str, Any] = json.loads(json.dumps({**asdict(settings), **facts, **named}))
    return made_of


def _same(own: Path, made_of: dict[str, Any], *, is_trusted: bool) -> Iterator[Path]:
    """Yield folders of counts that are made of the same: a run's own, then those beside it.

    Where the text cannot be looked at twice, only a run that is resumed may trust its own.
    """
    beside = own.parent.resolve().parent
    if made_of[_CONTENT] is None:
        places = [own] if is_trusted else []
    else:
        places = [own, beside / store.COUNTS, *sorted(beside.glob(f"*/{store.COUNTS}"))]
    for place in places:
        if not store.is_counts_folder(place) or store.has_checkpoint(place):
            continue
        try:
            config = store.read_json(place / "config.json")
        except InputError:  # damaged, or another run is just removing it
            continue
        same_versions = all(config.get("versions", {}).get(name) == versions()[name] for name in _VERSIONS)
        if same_versions and all(name in config and config[name] == value for name, value in made_of.items()):
            yield place


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


def _check_counted_so(folder: Path, settings: CountSettings, config: dict[str, Any]) -> None:
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
