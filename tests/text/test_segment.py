"""Tokenisers of others rewrite text for the compiled one: what they find is counted, placed and kept as any word is."""

from __future__ import annotations

import sys
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

import wordforest as wf
from tests.commands import run_command
from wordforest.errors import InputError, MissingExtraError
from wordforest.jobs.documents import learn_topics_of, load_topics, place_documents, save_topics
from wordforest.runtime.machine import Threads
from wordforest.text import TextRules, read_tokens, tokens
from wordforest.text.places import WordFinder
from wordforest.text.segment import packages_of, splitter

CHINESE = "我爱北京天安门。他来到了大厦！\n3.5元 ABC"
FAST: dict[str, Any] = {"epochs": 1, "trees": 1, "min_count": 1}


def cut_at_commas(text: str) -> list[str]:
    return text.split(",")


def sentences(text: str, tokenizer: Any, **more: Any) -> list[list[str]]:
    found = read_tokens([text + " "], TextRules(tokenizer), **more)
    sentences: list[list[str]] = [[]]
    for i in found.ids[0 : len(found.ids)].tolist():
        if i < 0:
            sentences.append([])
        else:
            sentences[-1].append(found.words[i])
    return sentences[:-1]


def test_jieba_finds_words_and_sentences_without_marks():
    pytest.importorskip("jieba")
    first, second, third = sentences(CHINESE, "jieba")
    assert first == ["我", "爱", "北京", "天安门"]
    assert second == ["他", "来到", "了", "大厦"]
    assert third == ["#number#", "元", "abc"]


def test_spacy_splits_by_language_model_or_folder(tmp_path):
    spacy = pytest.importorskip("spacy")
    text = "Don't go to the U.S. again. Is it far?"
    expected = [["do", "n't", "go", "to", "the", "u.s.", "again"], ["is", "it", "far"]]
    assert sentences(text, "spacy:en") == expected
    spacy.blank("en").to_disk(tmp_path / "model")
    assert sentences(text, f"spacy:{tmp_path / 'model'}") == expected
    assert sentences("Das geht z.B. nicht", "spacy:de") == [["das", "geht", "z.b.", "nicht"]]
    nlp = spacy.blank("en")
    assert sentences(text, nlp) == [[word for part in expected for word in part]]  # a pipeline is a function, too


def test_every_match_of_a_pattern_is_a_token():
    assert sentences("a1 b2-c3\nd", r"regex:[a-z]") == [["a", "b", "c"], ["d"]]
    assert sentences("the New York times", r"regex:New York|(\w)\w*") == [["the", "new_york", "times"]]
    assert sentences(CHINESE, r"regex:\w")[0][:3] == ["我", "爱", "北"]


def test_a_function_of_python_splits_as_it_likes():
    assert sentences("a b,C, ,3\nd", cut_at_commas) == [["a_b", "c", "#number#"], ["d"]]
    assert sentences("a,b b", lambda text: (part for part in text.split(","))) == [["a", "b_b"]]


@pytest.mark.parametrize(
    ("tokenizer", "message"),
    [
        ("regex:(", r"tokenizer = 'regex:\(' is no regular expression .*position 0"),
        ("regex:", "it must be words, whitespace, jieba, spacy:MODEL or regex:PATTERN, or in Python a function"),
        ("chinese", "it must be words"),
        (3, "it must be words"),
        ("spacy:no_such_model", "cannot be loaded .* Give a language such as spacy:de"),
        ("spacy:qq", "cannot be loaded"),
        ("spacy:numpy", "cannot be loaded"),
        (str.upper, "python:builtins.str.upper returned 'A B ' .* must return a list of strings"),
        (lambda _: None, "returned None"),
        (lambda _: [1], "a token is 1, but it must be a string"),
    ],
)
def test_what_cannot_split_is_refused(tokenizer, message):
    if str(tokenizer).startswith("spacy"):
        pytest.importorskip("spacy")
    with pytest.raises(InputError, match=message):
        sentences("a b", tokenizer)


def test_a_missing_package_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "spacy", None)
    with pytest.raises(MissingExtraError, match=r"spacy:fr needs a package .* pip install"):
        splitter("spacy:fr")


def test_a_missing_package_leaves_no_folder_that_the_same_command_would_meet(tmp_path, monkeypatch):
    path, out = tmp_path / "text.txt", tmp_path / "run"
    path.write_text("A cat, a dog. A cat and a dog.\n" * 10)
    monkeypatch.setitem(sys.modules, "spacy", None)
    with pytest.raises(MissingExtraError):
        wf.train(path, out=out, tokenizer="spacy:fi", **FAST)
    assert not out.exists()


def test_a_language_is_a_language_beside_a_folder_of_its_name(tmp_path, monkeypatch):
    pytest.importorskip("spacy")
    monkeypatch.chdir(tmp_path)
    (tmp_path / "da").mkdir()  # such as a run of Danish text
    assert sentences("en kat", "spacy:da") == [["en", "kat"]]


def test_any_workers_and_chunks_give_the_same_bits(tmp_path, monkeypatch):
    path = tmp_path / "text.txt"
    path.write_text("".join(f"a{i % 7},b c,{i}\n" for i in range(500)))
    found = []
    for workers, size in ((1, 1 << 20), (3, 300)):
        monkeypatch.setattr(tokens, "CHUNK_BYTES", size)
        read = read_tokens(path, TextRules(cut_at_commas), executor=Threads(workers))
        found.append((read.words, read.counts.tolist(), read.ids[0 : len(read.ids)].tolist()))
    assert found[0] == found[1]


@pytest.mark.parametrize("tokenizer", ["jieba", "spacy:en", r"regex:[^\W\d]+", cut_at_commas])
def test_the_words_found_are_those_that_are_counted(tokenizer):
    if isinstance(tokenizer, str) and not tokenizer.startswith("regex"):
        pytest.importorskip(tokenizer[:5])
    text, rules = f"A cat, a cat.\r\n\r\n{CHINESE}\n a cat", TextRules(tokenizer)
    read = read_tokens([text, ""], rules)
    places = WordFinder(read.words, rules).find(["", text])
    assert Counter(read.words[row] for row in places.row) == dict(zip(read.words, read.counts.tolist(), strict=True))
    assert set(places.text.tolist()) == {1}
    for start, end, row in zip(places.start, places.end, places.row, strict=True):
        shown = "_".join(text[start:end].lower().split())
        assert read.words[row] in (shown, "#number#")


def test_a_word_that_is_not_in_the_text_has_the_place_of_the_next():
    lemmas = TextRules(lambda text: text.lower().replace("went", "go").split())
    places = WordFinder(("go", "home"), lemmas).find(["He went home"])
    assert (3, 7, 0) in [*zip(places.start.tolist(), places.end.tolist(), places.row.tolist(), strict=True)]


def test_documents_are_split_as_text_is(tmp_path):
    documents = ["red,green", "green,blue", "blue,red"] * 9
    forest = wf.TopicForest(levels=(2,), min_df=1, tokenizer=cut_at_commas).fit(documents)
    assert {*forest.topics_.vocabulary.words} == {"red", "green", "blue"}
    save_topics(tmp_path / "run", forest)
    assert wf.load_run(tmp_path / "run").config["tokenizer"] == f"python:{__name__}.cut_at_commas"
    again = load_topics(tmp_path / "run", tokenizer=cut_at_commas)
    assert abs(again.transform(documents) - forest.transform(documents)).max() == 0
    named = load_topics(tmp_path / "run")
    with pytest.raises(InputError, match="kept by its name alone, and never loaded from a folder"):
        named.transform(documents)
    with pytest.raises(InputError, match="Pass it again in Python"):
        place_documents(tmp_path / "run", documents, out=tmp_path / "documents")
    placed = place_documents(tmp_path / "run", documents, out=tmp_path / "documents", tokenizer=cut_at_commas)
    assert len(placed.ids) == 27


def test_topics_of_a_pattern_are_placed_by_their_folder_alone(tmp_path):
    documents = ["red,green", "green,blue", "blue,red"] * 9
    rules = TextRules("regex:[^,]+")
    learn_topics_of(documents, out=tmp_path / "run", rules=rules, settings=wf.TopicForest((2,), min_df=1)._settings())
    assert load_topics(tmp_path / "run").transform(["red"]).nnz


def test_a_run_keeps_the_name_of_a_function_and_counts_anew(tmp_path):
    text = tmp_path / "text.txt"
    text.write_text("a b,c,d e\n" * 20)
    run = wf.train(text, out=tmp_path / "run", tokenizer=cut_at_commas, **FAST)
    assert {*run.words} == {"a_b", "c", "d_e"}
    assert wf.load_run(tmp_path / "run").config["tokenizer"] == f"python:{__name__}.cut_at_commas"
    other = wf.train(text, out=tmp_path / "other", tokenizer=lambda text: text.split(), **FAST)
    assert {*other.words} == {"a", "b,c,d", "e"}
    third = wf.train(text, out=tmp_path / "third", tokenizer=lambda text: text.split(","), **FAST)
    assert third.config["tokenizer"] == other.config["tokenizer"]
    assert third.words == run.words


def test_counts_of_another_jieba_are_not_taken(tmp_path):
    pytest.importorskip("jieba")
    assert packages_of("jieba") == ("jieba",)
    assert packages_of("regex:jieba") == ()
    text = tmp_path / "text.txt"
    text.write_text(CHINESE + "\n", encoding="utf-8")
    counted = tmp_path / "run" / "counts" / "config.json"
    wf.train(text, out=tmp_path / "run", tokenizer="jieba", **FAST)
    old = counted.read_text().replace('"jieba": "', '"jieba": "old ')
    counted.write_text(old)
    wf.train(text, out=tmp_path / "run", tokenizer="jieba", force=True, **FAST)
    assert counted.read_text() != old


def test_the_command_line_takes_them(tmp_path: Path) -> None:
    text = tmp_path / "text.txt"
    text.write_text("a-b c\n" * 20)
    out = tmp_path / "counts"
    ended = run_command("count", str(text), "--out", str(out), "--tokenizer", "regex:[a-z]", "--min-count", "1")
    assert ended.returncode == 0, ended.stderr
    assert (out / "vocab.tsv").read_text().split() == ["a", "20", "b", "20", "c", "20"]
    ended = run_command("count", str(text), "--out", str(tmp_path / "no"), "--tokenizer", "python:os.system")
    assert ended.returncode == 2
    assert "never loaded from a folder" in ended.stderr
