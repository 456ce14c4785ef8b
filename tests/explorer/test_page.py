"""The file to send."""

from __future__ import annotations

import base64
import hashlib
import html
import json
import re
import zlib
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.explorer.made import made_run
from wordforest.explorer.model import build_model
from wordforest.explorer.page import kept_rows, model_data, packed_json, page_text


def unpacked(packed: str) -> object:
    return json.loads(zlib.decompress(base64.b64decode(packed)))


@given(st.text())
def test_packed_json_begins_no_tag_and_is_read_back(text):
    packed = packed_json([text])
    assert "<" not in packed
    assert unpacked(packed) == [text]


def test_half_a_surrogate_pair_becomes_the_sign_for_what_cannot_be_read():
    assert unpacked(packed_json(["a\ud83d"])) == ["a\ufffd\ufffd\ufffd"]  # one for each of its bytes


def test_the_data_of_a_page_take_less_than_half_of_their_size(model):
    page = page_text([model], top_words=100)
    packed = re.search(r'id="data">([^<]+)<', page)[1]
    assert len(packed) < 0.5 * len(json.dumps(unpacked(packed), ensure_ascii=False))


def test_the_file_loads_nothing_and_runs_only_its_own_code(model):
    page = page_text([model], top_words=20)
    policy = html.unescape(re.search(r'Content-Security-Policy" content="([^"]+)"', page)[1])
    code = re.search(r"<script>(.*)</script>", page, re.DOTALL)[1]
    style = re.search(r"<style>(.*?)</style>", page, re.DOTALL)[1]
    for text in (code, style):
        assert base64.b64encode(hashlib.sha256(text.encode()).digest()).decode() in policy
    assert "unsafe" not in policy
    assert "</script" not in code
    assert re.findall(r'(?:src|href)="(?!#|data:)', page) == []
    assert "<script>alert" not in page


def test_the_file_keeps_the_first_words_and_all_labels(model):
    rows = kept_rows(model, 3)
    kept = {model.words[row] for row in rows}
    assert kept >= {"king", "queen", "kings"}
    assert kept >= {word for label in model.labels for word in label}


def test_a_label_that_somebody_wrote_is_on_the_page_though_it_is_no_word():
    model = build_model("made", replace(made_run(), labels={1: "Crowned heads"}))
    assert model_data(model, 3)["summary"]["labels"][1] == ["Crowned heads"]
    assert len(kept_rows(model, 3)) >= 3


def test_the_codes_of_the_file_are_those_of_the_model(model):
    data = model_data(model, 50)
    unpack = lambda text, kind: np.frombuffer(base64.b64decode(text), kind)  # noqa: E731
    codes, ends = data["codes"], unpack(data["codes"]["ends"], "<u4")
    values, nodes = unpack(codes["values"], "<i2"), unpack(codes["nodes"], "<u4")
    for i, word in enumerate(data["kept"]):
        part = slice(ends[i - 1] if i else 0, ends[i])
        vector = np.zeros(9)
        vector[nodes[part]] = values[part] * data["limit"][i] / 32767
        assert vector == pytest.approx(model.vectors[word], abs=2e-4 * data["limit"][i])  # 1/32767, limit of six digits
        assert ((vector != 0) == (model.vectors[word] != 0)).all()
