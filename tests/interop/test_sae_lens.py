"""SAELens: the layout of its folder, and what the linear encoder in it does."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from safetensors.numpy import load_file

import wordforest as wf
from tests.coder.test_stream import coder, rows
from wordforest.errors import InputError

X = rows().astype(np.float32)


@pytest.mark.parametrize("kind", ["active", "additive", "additive-active", "additive-mean"])
def test_weights_and_thresholds_give_what_the_report_says(tmp_path: Path, kind: str) -> None:
    ours = coder(kind).fit(X)
    cost = wf.interop.write_sae_lens(ours, X, tmp_path, hook_name="blocks.14.hook_resid_post")
    config, weights = json.loads((tmp_path / "cfg.json").read_text()), load_file(tmp_path / "sae_weights.safetensors")
    n = 48 if kind == "active" else 24  # signed codes have two latents a node
    assert config["architecture"] == "jumprelu"
    assert (config["d_in"], config["d_sae"]) == (16, n)
    assert config["metadata"]["hook_name"] == "blocks.14.hook_resid_post"
    assert config["metadata"]["parent"] == ours.forest_.parent.tolist()
    shapes = {"W_enc": (16, n), "b_enc": (n,), "W_dec": (n, 16), "b_dec": (16,), "threshold": (n,)}
    assert {name: array.shape for name, array in weights.items()} == shapes
    before = (X - weights["b_dec"]) @ weights["W_enc"] + weights["b_enc"]
    codes = np.where(before > weights["threshold"], before, 0)
    left = ((X - weights["b_dec"] - codes @ weights["W_dec"]) ** 2).sum() / ((X - X.mean(axis=0)) ** 2).sum()
    assert (codes >= 0).all()
    assert cost["by_encoder"] == pytest.approx(left, rel=1e-3)
    assert cost["active_by_encoder"] == pytest.approx((codes > 0).sum(axis=1).mean(), rel=1e-3)
    assert cost["active_by_encoder"] == pytest.approx(cost["active"], rel=0.05)
    assert cost["unexplained"] < cost["by_encoder"] < 1


def test_sae_lens_reads_it(tmp_path: Path) -> None:
    SAE = pytest.importorskip("sae_lens", reason="sae-lens is not installed").SAE
    torch = pytest.importorskip("torch")
    cost = wf.interop.write_sae_lens(coder("active").fit(X), X, tmp_path)
    sae = SAE.load_from_disk(str(tmp_path))
    x = torch.from_numpy(X)
    left = ((x - sae(x)) ** 2).sum() / ((x - x.mean(0)) ** 2).sum()
    assert float(left) == pytest.approx(cost["by_encoder"], rel=1e-3)


def test_one_row_is_too_few(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="at least two rows"):
        wf.interop.write_sae_lens(coder("active").fit(X), X[:1], tmp_path)
