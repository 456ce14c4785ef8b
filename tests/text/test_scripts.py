"""Clauses that were taken for words are told, in every script without spaces, and nothing else is."""

from __future__ import annotations

import warnings

import numpy as np
import pytest

import wordforest as wf
from tests.commands import run_command
from wordforest.documents.bags import learn_words
from wordforest.text import TextRules, WordRules, read_documents, read_tokens
from wordforest.text.tokens import tell_clauses

TEXTS = {
    "Chinese": "人人生而自由,在尊严和权利上一律平等。他们赋有理性和良心,并应以兄弟关系的精神相对待。",
    "Japanese": "すべての人間は、生まれながらにして自由であり、かつ、尊厳と権利とについて平等である。",
    "Thai": "มนุษย์ทั้งหลายเกิดมามีอิสระและเสมอภาคกันในเกียรติศักดิ์และสิทธิ ต่างมีเหตุผลและมโนธรรม",
    "Lao": "ມະນຸດເກີດມາມີສິດເສລີພາບ ແລະສະເໝີໜ້າກັນໃນທາງກຽດຕິສັກ",
    "Khmer": "មនុស្សទាំងអស់ កើតមកមានសេរីភាព ក្នុងផ្នែកសេចក្ដីថ្លៃថ្នូរនិងសិទ្ធិ",
    "Burmese": "လူတိုင်းသည် တူညီ လွတ်လပ်သော ဂုဏ်သိက္ခာဖြင့် အခွင့်အရေးများဖြင့် မွေးဖွားလာသူများ ဖြစ်သည်။",
}
FINE = {
    "segmented Chinese": "人人 生 而 自由 , 在 尊严 和 权利 上 一律 平等 。 他们 赋有 理性 和 良心",
    "segmented Japanese": "すべて の 人間 は 生まれ ながら に し て 自由 で あり 尊厳 と 権利 と に つい て 平等",
    "segmented Thai": "มนุษย์ ทั้งหลาย เกิด มา มี อิสระ และ เสมอภาค กัน ใน เกียรติศักดิ์ และ สิทธิ",
    "German": "Donaudampfschifffahrtsgesellschaftskapitäne Straßenbahnhaltestellenüberdachung Größenverhältnisse",
    "Korean": "모든 인간은 태어날 때부터 자유로우며 그 존엄과 권리에 있어 동등하다",
    "English with a name": "the city of 北京市海淀区中关村 lies in the north of the country " * 4,
}


@pytest.mark.parametrize("name", TEXTS)
def test_clauses_of_a_script_without_spaces_are_told(name):
    with pytest.warns(UserWarning, match=f"{name} has no space between words") as told:
        tokens = read_tokens([TEXTS[name] + " x", "x y"] * 20)
    long = [word for word in tokens.words if repr(word)[:40] in str(told[0].message)]
    assert len(long) == 2


@pytest.mark.parametrize("name", FINE)
def test_words_are_not(name):
    for tokenizer in ("words", "whitespace"):
        read_tokens([FINE[name], "a b"] * 9, TextRules(tokenizer))  # a warning is an error here


def test_what_a_tokeniser_has_split_is_left_alone():
    for tokenizer, n in (("whitespace", 1), (str.split, 0)):
        told: list[str] = []
        tell_clauses([TEXTS["Chinese"]], np.array([30]), TextRules(tokenizer), told.append)
        assert len(told) == n


def test_all_ways_to_learn_tell_it(tmp_path):
    documents = [TEXTS["Chinese"], TEXTS["Chinese"]] * 5
    for learn in (
        lambda: wf.count(documents, min_count=1),
        lambda: wf.train(documents, trees=1, epochs=1, min_count=1),
        lambda: learn_words(read_documents(documents), words=WordRules(1)),
    ):
        with pytest.warns(UserWarning, match="use --tokenizer jieba"):
            learn()
    text = tmp_path / "text.txt"
    text.write_text("\n".join(documents), encoding="utf-8")
    for line in ("count", "topics", "baseline cbow --dimensions 2"):
        ended = run_command(*line.split(), str(text), "--out", str(tmp_path / line.split()[0]), "--quiet")
        assert "warning: half of the words in Chinese letters have 9 or more, such as" in ended.stderr, ended.stderr


def test_the_words_of_a_tokeniser_are_told_nothing_of():
    pytest.importorskip("jieba")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        wf.count([TEXTS["Chinese"]] * 9, min_count=1, rules=TextRules("jieba"))
