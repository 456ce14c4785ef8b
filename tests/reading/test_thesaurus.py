"""SKOS, as rdflib reads it back."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import warnings
from urllib.parse import unquote

import numpy as np
import pytest
from hypothesis import given, settings
from rdflib import RDF, SKOS, Graph, Literal, URIRef

from tests.reading.sport import LABELS, NASTY, readable
from wordforest.coder.forest import Forest
from wordforest.errors import InputError, MissingExtraError
from wordforest.reading import thesaurus
from wordforest.vectors import Vectors


def read(vectors: Vectors, form: str = "turtle", **options) -> Graph:
    text = thesaurus(vectors, form, base="urn:x:", **options)
    with warnings.catch_warnings(action="ignore", category=DeprecationWarning):  # rdflib warns itself
        return Graph().parse(data=text, format=form)


def values(graph: Graph, subject: str, verb: URIRef) -> set[str]:
    return {str(value) for value in graph.objects(URIRef(f"urn:x:{subject}"), verb)}


def test_nodes_and_words_are_concepts_under_each_other(sport: Vectors) -> None:
    graph = read(sport, labels=LABELS)
    assert values(graph, "", SKOS.hasTopConcept) == {"urn:x:node/0", "urn:x:node/5"}
    assert values(graph, "node/1", SKOS.broader) == {"urn:x:node/0"}
    assert values(graph, "node/1", SKOS.narrower) == {"urn:x:node/2", "urn:x:node/3", "urn:x:word/ball"}
    assert values(graph, "word/ball", SKOS.broader) == {"urn:x:node/1"}
    assert (URIRef("urn:x:node/1"), SKOS.prefLabel, Literal("ball, goal", lang="en")) in graph
    assert values(graph, "node/1", SKOS.altLabel) == {"ball", "goal"}
    assert values(graph, "node/1", SKOS.notation) == {"1"}


def test_a_thesaurus_has_at_most_k_words_of_a_node_and_no_markers() -> None:
    graph = read(Vectors(["#rare#", "a", "b", "c"], [[9], [1], [3], [2]]), k=2)
    assert values(graph, "node/0", SKOS.narrower) == {"urn:x:word/b", "urn:x:word/c"}


def test_words_of_an_additive_forest_stand_where_they_have_most_of_their_own() -> None:
    graph = read(Vectors(["a", "b"], [[5, 4], [3, 1]], forest=Forest([-1, 0])))
    assert values(graph, "word/a", SKOS.broader) == {"urn:x:node/1"}
    assert values(graph, "word/b", SKOS.broader) == {"urn:x:node/0"}


def test_names_that_would_come_twice_carry_their_node() -> None:
    vectors = Vectors(["a", "b"], [[1, 0, 0], [0, 1, 1]])
    graph = read(vectors, labels=[("a",), ("x",), ("x",)], language=None)
    names = [values(graph, f"node/{i}", SKOS.prefLabel) for i in range(3)]
    assert names == [{"a (0)"}, {"x (1)"}, {"x (2)"}]  # a is a word as well


def test_a_preferred_label_is_no_alternative_label() -> None:
    graph = read(Vectors(["a"], [[1]]), labels=[("topic",)])
    assert values(graph, "node/0", SKOS.prefLabel) == {"topic"}
    assert values(graph, "node/0", SKOS.altLabel) == set()


@pytest.mark.parametrize("form", ["turtle", "json-ld"])
def test_nasty_words_survive(form: str) -> None:
    graph = read(Vectors(NASTY, np.eye(len(NASTY))), form)
    words = {(str(s), str(o)) for s, o in graph.subject_objects(SKOS.prefLabel) if "urn:x:word/" in s}
    assert {name for _, name in words} == set(NASTY)
    assert all(unquote(iri.removeprefix("urn:x:word/")) == name for iri, name in words)


def test_half_a_surrogate_pair_is_replaced() -> None:
    graph = read(Vectors(["\ud83d", "a"], np.eye(2)))
    assert "\ufffd" in {str(name) for name in graph.objects(None, SKOS.prefLabel)}


@pytest.mark.parametrize("language", [None, "pt-BR"])
def test_turtle_and_json_ld_say_the_same(sport: Vectors, language: str | None) -> None:
    graphs = [read(sport, form, language=language) for form in ("turtle", "json-ld")]
    assert set(graphs[0]) == set(graphs[1])
    assert {label.language for label in graphs[0].objects(None, SKOS.prefLabel)} == {language}


@settings(max_examples=15)
@given(readable())
def test_a_thesaurus_keeps_the_rules_of_skos(vectors: Vectors) -> None:
    graph = read(vectors, k=2)
    concepts = set(graph.subjects(RDF.type, SKOS.Concept))
    names = [set(graph.objects(concept, SKOS.prefLabel)) for concept in concepts]
    assert all(len(name) == 1 for name in names)
    assert len(set.union(*names)) == len(concepts)
    for concept in concepts:
        assert not set(graph.objects(concept, SKOS.prefLabel)) & set(graph.objects(concept, SKOS.altLabel))
        above = [*graph.objects(concept, SKOS.broader), *graph.objects(concept, SKOS.topConceptOf)]
        assert len(above) == 1
        assert set(graph.objects(concept, SKOS.narrower)) == set(graph.subjects(SKOS.broader, concept))


def test_the_bytes_do_not_depend_on_the_hash_seed() -> None:
    code = """
import sys, wordforest.reading as r, wordforest.vectors as v
words = [f"w{i}" for i in range(20)]
vectors = v.Vectors(words, [[float(i == j % 5) for i in range(5)] for j in range(20)])
sys.stdout.write(r.thesaurus(vectors) + r.thesaurus(vectors, "json-ld"))
"""
    runs = []
    for seed in ("1", "2"):
        command = [sys.executable, "-c", code]
        runs.append(subprocess.check_output(command, env={**os.environ, "PYTHONHASHSEED": seed}))
    assert runs[0] == runs[1]
    assert b'"@graph"' in runs[0]


def test_json_ld_is_json(sport: Vectors) -> None:
    assert {item["@type"] for item in json.loads(thesaurus(sport, "json-ld"))["@graph"]} == {
        "skos:Concept",
        "skos:ConceptScheme",
    }


def test_an_absent_package_names_the_extra(sport: Vectors, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "rdflib", None)
    with pytest.raises(MissingExtraError, match=r"pip install 'rdflib>="):
        thesaurus(sport)


@pytest.mark.parametrize("base", ["", "no-scheme", "http://a b/", "urn:<x>", 'urn:"', "urn:\n"])
def test_a_base_that_is_no_iri_is_refused(base: str) -> None:
    with pytest.raises(InputError, match="absolute IRI"):
        thesaurus(Vectors(["a"], [[1]]), base=base)


@pytest.mark.parametrize("language", ["", "en us", "e\n", '"', "en-"])
def test_a_wrong_language_is_refused(language: str) -> None:
    with pytest.raises(InputError, match="language tag"):
        thesaurus(Vectors(["a"], [[1]]), language=language)
