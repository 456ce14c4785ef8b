"""Phrases are found by counting, joined from left to right, and joined again wherever the text or the run goes."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import wordforest as wf
from tests.commands import run_command
from wordforest.counts import tally as tally_module
from wordforest.documents.bags import count_words, join_bags, learn_words
from wordforest.documents.concordance import concordance
from wordforest.errors import InputError
from wordforest.jobs.documents import load_topics, save_topics
from wordforest.jobs.encode import encode_counts
from wordforest.runtime.machine import Threads
from wordforest.text import TextRules, WordRules, phrases, read_documents, read_tokens
from wordforest.text.phrases import Joiner, Phrase
from wordforest.text.places import WordFinder
from wordforest.text.spans import Span, read_span

FAST: dict[str, Any] = {"epochs": 1, "trees": 1, "min_count": 1}
CITIES = ("hong kong", "new york", "los angeles", "san francisco")


def sentences(n: int = 900, seed: int = 0) -> list[str]:
    """Sentences of words by chance, some with a city, some cities with a word that goes with them."""
    random = np.random.default_rng(seed)
    words = np.array(["the", "of", *(f"w{i}" for i in range(30))])
    share = np.array([0.2, 0.2, *[0.02] * 30])
    lines = []
    for i in range(n):
        line = [*random.choice(words, 6, p=share)]
        if i % 3 == 0:
            line.insert(int(random.integers(5)), CITIES[i // 3 % 4] + (" stock exchange" if i % 24 == 0 else ""))
        lines.append(" ".join(line) + f" {i}.")
    return lines


@pytest.fixture
def text(tmp_path: Path) -> Path:
    path = tmp_path / "text.txt"
    path.write_text("\n".join(sentences()) + "\n", encoding="utf-8")
    return path


def same(a: Any, b: Any) -> bool:
    return a.vocabulary.words == b.vocabulary.words and (a.matrix != b.matrix).nnz == 0


def test_what_goes_together_is_joined_and_what_meets_by_chance_is_not(text):
    counts = wf.count(text, min_count=1, phrases=True)
    words = {*counts.vocabulary.words}
    assert {"hong_kong", "new_york", "los_angeles", "hong_kong_stock_exchange"} <= words
    assert not {"hong", "york", "of_the", "the_of"} & words
    acts = wf.count([f"act {i} w{i % 5}" for i in range(100)], min_count=1, phrases=True)
    assert "act" in acts.vocabulary.words  # though a number follows always
    found = {one.word: one for one in counts.vocabulary.phrases}
    assert found["hong_kong"].times == 75
    N = read_tokens(text).n_tokens
    p = 75 / N
    assert found["hong_kong"].npmi == round(np.log(p / p**2) / -np.log(p), 4) == 1.0
    assert {one.level for one in counts.vocabulary.phrases} == {0, 1}


def test_very_frequent_words_need_more():
    side_by_side = "has been " * 3 + "has x been y " * 2
    lines = [f"{side_by_side} {' '.join(f'v{i % 7}{j}' for j in range(9))}" for i in range(200)]
    assert "has_been" not in wf.count(lines, min_count=1, phrases=True).vocabulary.words


PARTS = [
    Phrase(0, "a", "b", 1, 1.0),
    Phrase(0, "b", "c", 1, 1.0),
    Phrase(1, "a_b", "c", 1, 1.0),
    Phrase(1, "d", "d", 1, 1.0),
]


def slow_join(words: list[str], levels: list[set[tuple[str, str]]]) -> list[str]:
    for pairs in levels:
        joined: list[str] = []
        while words:
            n = 2 if tuple(words[:2]) in pairs else 1
            joined.append("_".join(words[:n]))
            words = words[n:]
        words = joined
    return words


@given(st.lists(st.sampled_from("abcdx|"), max_size=40), st.integers(1, 9))
def test_joining_equals_the_slow_reference_in_pieces_of_any_size(text, size):
    words = ["a", "b", "c", "d", "x"]
    joiner = Joiner(PARTS)
    names, part_of, id_of = joiner.within(words)
    ids = np.array([words.index(one) if one != "|" else -1 for one in text], dtype=np.int32)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(phrases, "PIECE", size)
        pieces = [*joiner.pieces(ids, part_of, id_of)]
    found = [names[i] if i >= 0 else "|" for piece in pieces for i in piece]
    levels = [{(one.first, one.second) for one in PARTS if one.level == level} for level in (0, 1)]
    assert found == slow_join(text, levels)


def test_any_workers_memory_and_cluster_of_spans_give_the_same_bits(text, monkeypatch):
    whole = wf.count(text, min_count=1, phrases=True)
    monkeypatch.setattr(tally_module, "_LEAST_SHARD", 500)
    monkeypatch.setattr(phrases, "PIECE", 300)
    assert same(whole, wf.count(text, min_count=1, phrases=True, executor=Threads(3), memory=1 << 20))
    rules = TextRules(known_phrases=whole.vocabulary.phrases)
    size = text.stat().st_size
    spans = [read_span(Span(str(text), a, a + size // 3 + 1), rules) for a in range(0, size, size // 3 + 1)]
    found: dict[str, int] = {}
    for span in spans:
        for word, n in zip(span.words, span.counts.tolist(), strict=True):
            found[word] = found.get(word, 0) + n
    assert {word: n for word, n in found.items() if n} == dict(
        zip(whole.vocabulary.words, whole.vocabulary.counts.tolist(), strict=True)
    )


def test_counting_that_was_broken_off_is_resumed_to_the_same_bits(text, tmp_path, monkeypatch):
    whole = wf.count_corpus(text, tmp_path / "whole", min_count=1, phrases=True)
    original, done = tally_module._count_shard, []

    def stop(*given: Any) -> Any:
        done.append(1)
        if len(done) > 4:
            raise KeyboardInterrupt
        return original(*given)

    monkeypatch.setattr(tally_module, "_LEAST_SHARD", 1500)
    monkeypatch.setattr(tally_module, "_count_shard", stop)
    with pytest.raises(KeyboardInterrupt):
        wf.count_corpus(text, tmp_path / "counts", min_count=1, phrases=True, workers=1)
    monkeypatch.setattr(tally_module, "_count_shard", original)
    assert same(whole, wf.count_corpus(text, tmp_path / "counts", min_count=1, phrases=True, resume=True, workers=1))


def test_a_run_and_its_counts_keep_the_list_and_new_text_is_read_by_it(text, tmp_path):
    counts = wf.count_corpus(text, tmp_path / "counts", phrases=True, min_count=1)
    listed = (tmp_path / "counts" / "phrases.tsv").read_text().splitlines()
    assert listed[0].split("\t") == ["level", "first", "second", "count", "npmi"]
    assert "known_phrases" not in (tmp_path / "counts" / "config.json").read_text()
    run = wf.train(tmp_path / "counts", out=tmp_path / "run", epochs=1, trees=1)
    assert (tmp_path / "run" / "phrases.tsv").read_text().splitlines() == listed
    assert wf.load_run(tmp_path / "run").config["phrases"] is True
    again = wf.count_corpus(text, tmp_path / "again", phrases_of=tmp_path / "run", min_count=1)
    assert same(counts, again)
    coded = encode_counts(tmp_path / "run", tmp_path / "again", tmp_path / "coded")
    assert coded.words == run.words
    assert (tmp_path / "coded" / "phrases.tsv").read_text().splitlines() == listed
    short = wf.count_corpus(
        ["hong kong", "hong", "the w1"], tmp_path / "short", phrases_of=tmp_path / "counts", min_count=1
    )
    assert {*short.vocabulary.words} == {"hong_kong", "hong", "the", "w1"}
    wf.count_corpus(text, tmp_path / "plain", min_count=1)
    with pytest.raises(InputError, match=r"other phrases .* Count the text with --phrases-of"):
        encode_counts(tmp_path / "run", tmp_path / "plain")
    with pytest.raises(InputError, match=r"phrases = True, .* was counted with phrases = False"):
        wf.train(tmp_path / "plain", phrases=True, **FAST)


def test_text_is_added_with_the_phrases_of_the_first(text, tmp_path):
    more = tmp_path / "more.txt"
    more.write_text("\n".join(sentences(60, seed=1)) + "\n")
    first = wf.count_corpus(text, tmp_path / "first", extendable=True, phrases=True, min_count=1)
    assert same(first, wf.count_corpus(text, tmp_path / "once", phrases=True, min_count=1))
    added = wf.count_corpus(more, tmp_path / "both", add=tmp_path / "first", phrases=True, min_count=1)
    assert added.vocabulary.phrases == first.vocabulary.phrases
    both = wf.count_corpus([text, more], tmp_path / "whole", phrases_of=tmp_path / "first", min_count=1)
    assert same(added, both)


def test_a_try_is_not_resumed_with_other_phrases(text, tmp_path, monkeypatch):
    """Pairs that were counted before it broke off are those of other words."""
    other = tmp_path / "other.txt"
    other.write_text(text.read_text().replace("hong", "king"))
    for source, name in ((text, "own"), (other, "others")):
        wf.count_corpus(source, tmp_path / name, phrases=True, min_count=1)
    own, others = tmp_path / "own", tmp_path / "others"
    with monkeypatch.context() as broken:
        broken.setattr("wordforest.jobs.count._save", _interrupt)
        with pytest.raises(KeyboardInterrupt):
            wf.count_corpus(text, tmp_path / "counts", phrases_of=own, min_count=1)
    with pytest.raises(InputError, match=r"was begun with phrases_of = .* Use the same settings to resume"):
        wf.count_corpus(text, tmp_path / "counts", phrases_of=others, min_count=1, resume=True)
    resumed = wf.count_corpus(text, tmp_path / "counts", phrases_of=own, min_count=1, resume=True)
    assert same(resumed, wf.count_corpus(text, tmp_path / "once", phrases_of=own, min_count=1))
    with pytest.raises(InputError, match=r"is complete, but with other phrases"):
        wf.count_corpus(text, tmp_path / "counts", phrases_of=others, min_count=1, resume=True)


def _interrupt(*_: object) -> None:
    raise KeyboardInterrupt


def test_phrases_come_from_one_place(text, tmp_path):
    with pytest.raises(InputError, match=r"expected a run or counts folder, whose phrases to join"):
        wf.count_corpus(text, tmp_path / "counts", phrases_of=text)
    wf.count_corpus(text, tmp_path / "first", extendable=True, phrases=True, min_count=1)
    with pytest.raises(InputError, match=r"with the phrases of .*first, .* Leave --phrases-of out"):
        wf.count_corpus(text, tmp_path / "both", add=tmp_path / "first", phrases_of=tmp_path / "first", min_count=1)


def test_documents_and_places_have_the_words_that_were_counted(text):
    lines = text.read_text().splitlines()
    counts = wf.count(lines, min_count=1, phrases=True)
    vocabulary, bags = learn_words(read_documents(lines), words=WordRules(1, phrases=True))
    assert vocabulary.words == counts.vocabulary.words
    assert vocabulary.counts.tolist() == counts.vocabulary.counts.tolist()
    rules = TextRules(known_phrases=vocabulary.phrases)
    again = join_bags([*count_words(read_documents(lines), vocabulary, rules)]).counts
    assert (again != bags.counts).nnz == 0
    assert (bags.counts.sum(axis=0) == vocabulary.counts).all()
    places = WordFinder(vocabulary.words, rules).find(["In Hong  Kong. Hong", "kong new York"])
    shown = [vocabulary.words[row] if row >= 0 else "" for row in places.row]
    assert shown == ["", "hong_kong", "", "", "new_york"]
    assert (places.start[1], places.end[1], places.text.tolist()) == (3, 13, [0, 0, 0, 1, 1])
    by_words = WordFinder(vocabulary.words, TextRules(str.split, known_phrases=vocabulary.phrases))
    places = by_words.find(["In Hong  Kong", "new york"])
    assert [*zip(places.text.tolist(), places.start.tolist(), places.end.tolist(), strict=True)][1:] == [
        (0, 3, 13),
        (1, 0, 8),
    ]


def test_topics_place_and_show_documents_by_their_phrases(text, tmp_path):
    lines = text.read_text().splitlines()
    forest = wf.TopicForest(levels=(3,), min_df=2, phrases=True).fit(lines)
    assert "hong_kong" in forest.topics_.vocabulary.words
    save_topics(tmp_path / "run", forest)
    again = load_topics(tmp_path / "run")
    assert again.phrases
    assert abs(again.transform(lines) - forest.transform(lines)).max() == 0
    assert abs(forest.transform(lines) - forest.documents_.shares).max() == 0
    found = concordance(lines, again.vectors_, "Hong Kong", rules=again.topics_.rules, k=3)
    assert found.words == ("hong_kong",)
    assert (found.n_found, found.lines[0].keyword) == (37, "hong kong")


def test_baselines_learn_vectors_of_phrases(text, tmp_path):
    pytest.importorskip("gensim")
    for name in ("cbow", "pca"):
        run = wf.baseline(name, text, out=tmp_path / name, dimensions=2, min_count=1, phrases=True)
        assert "hong_kong" in run.words
        assert (tmp_path / name / "phrases.tsv").is_file()


def test_what_is_made_anew_without_phrases_has_none(text, tmp_path):
    """A list that stayed would be joined by all that reads the folder."""
    for folder, make in ((tmp_path / "counts", wf.count_corpus), (tmp_path / "run", wf.train)):
        own = FAST if make is wf.train else {"min_count": 1}
        make(text, out=folder, phrases=True, **own)
        assert (folder / "phrases.tsv").is_file()
        make(text, out=folder, force=True, **own)
        assert not (folder / "phrases.tsv").exists()


def test_phrases_are_as_frequent_as_words(text):
    found = wf.count(text, min_count=50, phrases=True).vocabulary.phrases
    assert {one.word for one in found} == {city.replace(" ", "_") for city in CITIES}
    assert len(wf.count(text, min_count=1, phrases=True).vocabulary.phrases) > len(found)


def test_the_list_is_the_file_and_nothing_in_the_settings(text, tmp_path):
    wf.count_corpus(text, tmp_path / "counts", phrases=True, min_count=1)
    settings = tmp_path / "counts" / "config.json"
    settings.write_text(settings.read_text().replace("{", '{"known_phrases": ["a", "b"],', 1))
    (tmp_path / "counts" / "phrases.tsv").unlink()
    assert wf.train(tmp_path / "counts", **FAST).config.get("known_phrases", ()) == ()


def test_a_damaged_list_is_told_by_its_line(text, tmp_path):
    wf.count_corpus(text, tmp_path / "counts", phrases=True)
    with (tmp_path / "counts" / "phrases.tsv").open("a") as file:
        file.write("0\ta\tb\n")
    with pytest.raises(InputError, match=r"phrases.tsv, line \d+: expected level, first and second word"):
        wf.train(tmp_path / "counts", **FAST)


def test_the_command_line_finds_and_shows_them(text, tmp_path):
    counts, run = str(tmp_path / "counts"), str(tmp_path / "run")
    for line in (
        f"count {text} --phrases --min-count 1 --out {counts}",
        f"train {counts} --trees 1 --epochs 1 --out {run}",
        f"count {text} --phrases-of {run} --min-count 1 --out {tmp_path / 'again'}",
        f"topics {text} --phrases --levels 3 --out {tmp_path / 'topics'}",
    ):
        ended = run_command(*line.split())
        assert ended.returncode == 0, ended.stderr
        assert ("phrases, such as hong_kong, los_angeles" in ended.stderr) == ("--phrases " in line)
    ended = run_command("concordance", run, str(text), "hong kong", "-k", "2")
    assert ended.returncode == 0, ended.stderr
    assert "hong kong" in ended.stdout
    assert (tmp_path / "topics" / "phrases.tsv").read_text().startswith("level\tfirst")
