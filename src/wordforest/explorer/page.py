"""The page: its frame, code and style, and all of it as one file to send, which needs no network."""

from __future__ import annotations

import base64
import hashlib
import html
import json
import zlib
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from wordforest.errors import InputError
from wordforest.explorer.documents import KEPT, collection_data
from wordforest.explorer.examples import find_examples
from wordforest.explorer.model import Model, summary
from wordforest.explorer.views import node_card, quantised

ASSETS = Path(__file__).parent / "assets"
TOP_WORDS = 3000
_CARD_WORDS = 12
_DENSE = 0.5  # share of non-zeros from which indices cost more than zeros


def page_html(*, head: str, scripts: str, foot: str = "", to: str = "") -> str:
    """Return the page; ``to`` is what stands before an address: nothing on a server, # in a file."""
    frame = (ASSETS.parent / "frame.html").read_text(encoding="utf-8")
    return frame.format(head=head, scripts=scripts, foot=foot, to=to)


def asset_paths(suffix: str) -> list[Path]:
    """Return the assets in the order in which they are loaded."""
    return sorted(path for path in ASSETS.iterdir() if path.suffix == suffix)


def page_text(models: Sequence[Model], *, top_words: int = TOP_WORDS, kept_documents: int = KEPT) -> str:
    """Return an HTML page that holds the first ``top_words`` words of each model, all nodes, and nothing foreign.

    Of documents it holds as many as asked for: typical ones of every node, and others by chance.
    """
    if top_words < 1:
        raise InputError(f"{top_words} words came, but the page needs at least one. Raise --top-words.")
    examples = find_examples(models)
    moved = [row["word"] for row in (models[0].slices or {"moved": []})["moved"]]
    data = [model_data(model, top_words, [*examples.compare, *examples.analogy, *moved]) for model in models]
    data[0]["examples"] = examples._asdict()
    for model, one in zip(models, data, strict=True):
        if model.documents is not None:
            one["collection"] = collection_data(model.documents, kept_documents)
    icon = f"data:image/svg+xml;base64,{base64.b64encode((ASSETS / 'icon.svg').read_bytes()).decode()}"
    style = "\n".join(path.read_text(encoding="utf-8") for path in asset_paths(".css")).replace("icon.svg", icon)
    shared = [path for path in asset_paths(".js") if path.name != "70_server.js"]
    code = "\n".join(path.read_text(encoding="utf-8") for path in [*shared, ASSETS.parent / "offline" / "80_engine.js"])
    rules = (
        f"default-src 'none'; script-src '{_hash(code)}'; style-src '{_hash(style)}'; img-src data: blob:; "
        "base-uri 'none'; form-action 'none'"
    )
    counts = [f"{len(d['kept']):,} of {d['summary']['words']:,} words of {d['summary']['name']}" for d in data]
    counts += [
        f"{len(d['collection']['documents']):,} of {d['summary']['documents']['n']:,} documents"
        for d in data
        if "collection" in d
    ]
    return page_html(
        head=f'<meta http-equiv="Content-Security-Policy" content="{rules}">\n'
        f'<link rel="icon" href="{icon}">\n<style>{style}</style>',
        scripts=f'<script type="text/plain" id="data">{packed_json(data)}</script>\n<script>{code}</script>',
        foot=f'<p class="holds">{html.escape("This file holds " + ", ".join(counts))}.</p>',
        to="#",
    )


def model_data(model: Model, top_words: int, also: Sequence[str] = ()) -> dict[str, Any]:
    """Return what the page holds of a model: its forest, all node cards, and the words kept with their codes.

    Codes are whole shares of each word's largest size: as all values where most are set, else as CSR. Arrays are base64
    of little-endian numbers.
    """
    rows = kept_rows(model, top_words, also)
    codes = np.array([model.vectors[model.words[row]] for row in rows], dtype=np.float64)  # (n, M)
    shares, limit = quantised(codes)
    return {
        "summary": summary(model),
        "kept": [model.words[row] for row in rows],
        "rank": (rows + 1).tolist(),
        "counts": model.counts[rows].tolist() if model.counts is not None else None,
        "limit": [float(f"{x:.6g}") for x in limit],
        "codes": _packed_codes(shares),
        "points": _packed(np.rint(model.points[rows] / 1.25 * 32767).astype("<i2")),
        "cards": [node_card(model, node, _CARD_WORDS) for node in range(len(model.forest))],
    }


def kept_rows(model: Model, top_words: int, also: Sequence[str] = ()) -> NDArray[np.intp]:
    """Return the rows that the page keeps, ascending: the first ones, and the words of all node labels."""
    named = [*also, *(word for label in model.labels for word in label)]
    labelled = {model.vectors.index(word) for word in named if word in model.vectors}
    return np.array(sorted(labelled.union(range(min(top_words, len(model.words))))), dtype=np.intp)


def packed_json(data: object) -> str:
    """Return JSON as the page unpacks it: zlib's format in base64, a third of its size, in which no tag can begin."""
    text = json.dumps(data, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
    whole = text.encode("utf-8", "surrogatepass").decode("utf-8", "replace")  # half a surrogate pair has no UTF-8 form
    return base64.b64encode(zlib.compress(whole.encode("utf-8"), 9)).decode()


def _packed_codes(shares: NDArray[np.int16]) -> dict[str, str]:
    if np.count_nonzero(shares) > _DENSE * shares.size:
        return {"dense": _packed(shares)}
    word, node = np.nonzero(shares)
    ends = np.cumsum(np.bincount(word, minlength=len(shares))).astype("<u4")
    return {"values": _packed(shares[word, node]), "nodes": _packed(node.astype("<u4")), "ends": _packed(ends)}


def _packed(array: NDArray[Any]) -> str:
    return base64.b64encode(np.ascontiguousarray(array).tobytes()).decode()


def _hash(text: str) -> str:
    return "sha256-" + base64.b64encode(hashlib.sha256(text.encode("utf-8")).digest()).decode()
