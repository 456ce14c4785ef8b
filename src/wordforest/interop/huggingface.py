"""Hugging Face: a run folder with a model card, ready to be uploaded, that loads back as the run it is."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from wordforest import __version__, store
from wordforest.interop.source import Model, as_run
from wordforest.reading import as_text, outline
from wordforest.store import Run
from wordforest.vectors import Vectors, forest_of

_TAGS = ["wordforest", "word-vectors", "sparse-coding", "interpretability"]
_SHOWN = 3  # trees of the forest, as an example
_NOT_TOLD = (
    "versions",
    "words",
    "history",
    "fingerprint",
    "corpus",
    "documents",
    "known_phrases",
)  # apart, or too long for a card
_LONGEST = 80  # characters of a setting


def write_huggingface(
    model: Model,
    folder: str | Path,
    *,
    title: str | None = None,
    license: str = "unknown",  # noqa: A002 as the field of a card is called
    language: str | Sequence[str] | None = None,
    datasets: Sequence[str] = (),
    scores: Sequence[Any] = (),
) -> None:
    """Write a run folder with a README.md that says what the model is; ``read_vectors`` and ``load_run`` read it.

    ``license``, ``language`` and ``datasets`` are fields of a model card; ``scores`` are what ``evaluate`` returned.

    Examples:
        >>> import wordforest as wf
        >>> vectors = wf.Vectors(["sport", "tennis"], [[4, 1], [2, 3]], forest=wf.Forest([-1, 0]))
        >>> wf.interop.write_huggingface(vectors, "model", license="cc-by-4.0", language="en")
        >>> wf.read_vectors("model")
        Vectors(2 words, 2 dimensions, forest=Forest(2 nodes, 1 trees, depth 2))
    """
    run = as_run(model)
    fields = {"license": license, "language": language, "library_name": "wordforest", "tags": _TAGS}
    card = model_card(run, title or Path(folder).resolve().name, {**fields, "datasets": [*datasets]}, scores)
    store.save_run(folder, replace(run, config={**run.config, "license": license}))
    store.write_text(Path(folder) / "README.md", card)


def model_card(run: Run, title: str, fields: Mapping[str, Any], scores: Sequence[Any] = ()) -> str:
    """Return a model card: fields as YAML, of which JSON is a part, then text from the settings of the run."""
    head = "".join(f"{name}: {json.dumps(value, ensure_ascii=False)}\n" for name, value in fields.items() if value)
    parts = [f"---\n{head}---\n\n# {title}", _facts(run), _forest(run.vectors), _USE]
    if scores:
        parts.append(_scores(scores))
    return "\n\n".join([*parts, _settings(run.config)]) + "\n"


def _facts(run: Run) -> str:
    vectors, forest = run.vectors, forest_of(run.vectors)
    n_levels = int(forest.depth.max(initial=-1)) + 1
    corpus = _names(run.config.get("corpus") or run.config.get("documents") or ["unknown"])
    tokens = f", {int(run.counts.sum()):,} running words" if run.counts.any() else ""
    return (
        "Word vectors whose dimensions are the nodes of a forest, made with wordforest "
        f"{run.config.get('versions', {}).get('wordforest', __version__)}.\n\n"
        "| | |\n|---|---|\n"
        f"| words | {len(vectors):,} |\n"
        f"| dimensions | {len(forest):,} nodes in {len(forest.roots):,} trees of {n_levels} levels |\n"
        f"| values that are not zero | {vectors.density():.1%} |\n"
        f"| learned from | {_short(corpus)}{tokens} |"
    )


def _names(corpus: Sequence[str]) -> str:
    """Return the names of files; the folders in which somebody keeps them concern no reader of a card."""
    return ", ".join(name if "://" in name else Path(name).name for name in corpus)


def _forest(vectors: Vectors) -> str:
    """Return the first trees with their labels."""
    trees = range(min(_SHOWN, len(vectors.forest.roots) if vectors.forest else 0))
    return f"## Forest\n\n```text\n{as_text(outline(vectors, k=4, trees=[*trees]))}```" if trees else ""


_USE = """## Use

```python
import wordforest as wf

vectors = wf.read_vectors("path/of/this/folder")
vectors.most_similar(vectors.words[0])
print(vectors.path(vectors.words[0]))
```"""


def _scores(scores: Sequence[Any]) -> str:
    rows = "".join(
        f"| {one.task} | {one.set} | {one.metric} | {one.value:.3f} | {one.n_scored} of {one.n_total} |\n"
        for one in scores
    )
    return f"## Scores\n\n| task | set | metric | value | scored |\n|---|---|---|---:|---|\n{rows}".rstrip()


def _settings(config: Mapping[str, Any]) -> str:
    rows = "".join(f"| {name} | {_short(value)} |\n" for name, value in config.items() if name not in _NOT_TOLD)
    return f"## Settings\n\nAll are in `config.json`.\n\n| setting | value |\n|---|---|\n{rows}".rstrip()


def _short(value: Any) -> str:
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, default=str)
    text = text if len(text) <= _LONGEST else text[:_LONGEST] + "..."
    return text.replace("|", "\\|").replace("\n", " ")
