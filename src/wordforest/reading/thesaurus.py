"""The forest as a thesaurus in SKOS: nodes are concepts, and so are the words that are strongest there."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any
from urllib.parse import quote

import numpy as np

from wordforest.coder.forest import Forest
from wordforest.errors import InputError
from wordforest.reading.codes import Codes, check_k, largest
from wordforest.reading.labels import Label, Labels, given_or_made
from wordforest.vectors import Vectors, is_marker

BASE = "https://example.org/forest/"
_IN_NAME = 3  # label words in the preferred label of a node
_SKOS = "http://www.w3.org/2004/02/skos/core#"
_TERMS = "http://purl.org/dc/terms/"
_IRI = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*:[^\x00-\x20<>\"{}|^`\\\x7f]+")
_LANGUAGE = re.compile(r"[A-Za-z]{1,8}(-[A-Za-z0-9]{1,8})*")
_ESCAPED = re.compile('[\x00-\x1f\x7f-\x9f\u2028\u2029"\\\\]')
_NO_CHARACTER = re.compile("[\ud800-\udfff]")  # half of a pair: no text in UTF-8 can hold it


@dataclass(frozen=True)
class _Concept:
    iri: str
    name: str
    other_names: Label = ()
    broader: str | None = None
    narrower: tuple[str, ...] = ()
    notation: int | None = None  # the number of a node; a word has none


@dataclass(frozen=True)
class _Scheme:
    iri: str
    title: str
    language: str | None
    concepts: tuple[_Concept, ...]

    def top(self) -> list[_Concept]:
        return [concept for concept in self.concepts if concept.broader is None]


def as_skos_turtle(
    vectors: Vectors,
    *,
    k: int = 10,
    labels: Labels | None = None,
    base: str = BASE,
    language: str | None = "en",
    title: str = "Forest",
) -> str:
    """Return the thesaurus in Turtle: a skos:ConceptScheme at ``base``, which is the start of every IRI.

    A node is a skos:Concept. Its prefLabel is the first three words of its label, with the node's number where two
    would be alike; each word of the label is an altLabel, so that a search finds the node; its notation is its number.
    Up to k words whose largest positive value is at the node are concepts of their own, narrower than it. They are no
    labels of the node: a label says what a concept is called, and jupiter is not another name for planets.
    ``language`` tags the words, None leaves them without.
    """
    scheme = _scheme(_Source(vectors, labels, k), base=base, language=language, title=title)
    head = [
        f"@prefix skos: <{_SKOS}> .",
        f"@prefix dcterms: <{_TERMS}> .",
        "",
        _statement(scheme.iri, "skos:ConceptScheme", _scheme_facts(scheme)),
    ]
    return "\n".join(head + [_statement(c.iri, "skos:Concept", _facts(scheme, c)) for c in scheme.concepts])


def as_json_ld(
    vectors: Vectors,
    *,
    k: int = 10,
    labels: Labels | None = None,
    base: str = BASE,
    language: str | None = "en",
    title: str = "Forest",
) -> dict[str, Any]:
    """Return the thesaurus of as_skos_turtle as a JSON-LD object: the same statements."""
    scheme = _scheme(_Source(vectors, labels, k), base=base, language=language, title=title)
    links = ("inScheme", "topConceptOf", "hasTopConcept", "broader", "narrower")
    context: dict[str, Any] = {"skos": _SKOS, "dcterms": _TERMS}
    context |= {name: {"@id": f"skos:{name}", "@type": "@id"} for name in links}
    context |= {name: f"skos:{name}" for name in ("prefLabel", "altLabel", "notation")}
    about: dict[str, Any] = {"@id": scheme.iri, "@type": "skos:ConceptScheme"}
    about["dcterms:title"] = _ld_text(scheme.title, scheme.language)
    about["hasTopConcept"] = [concept.iri for concept in scheme.top()]
    return {"@context": context, "@graph": [about, *(_ld_concept(scheme, c) for c in scheme.concepts)]}


@dataclass(frozen=True)
class _Source:
    vectors: Vectors
    labels: Labels | None
    k: int


def _scheme(source: _Source, *, base: str, language: str | None, title: str) -> _Scheme:
    check_k(source.k)
    if not _IRI.fullmatch(base):
        raise InputError(
            f"base = {base!r} is no absolute IRI. Give one without spaces, quotes and brackets, such as {BASE}."
        )
    if language is not None and not _LANGUAGE.fullmatch(language):
        raise InputError(f"language = {language!r} is no language tag. Give one such as en or pt-BR, or None.")
    codes = Codes(source.vectors)
    labels = given_or_made(source.vectors, source.labels, max(5, _IN_NAME))
    members = _members(codes, source.k)
    names = _node_names(labels, set(source.vectors.words))
    nodes = [
        _node_concept(base, codes.forest, node, name, labels[node], members[node]) for node, name in enumerate(names)
    ]
    words = [
        _Concept(_word_iri(base, word), word, broader=f"{base}node/{node}")
        for node, found in enumerate(members)
        for word in found
    ]
    return _Scheme(base, title, language, (*nodes, *words))


def _members(codes: Codes, k: int) -> list[list[str]]:
    """Return for every node the k strongest of the words whose largest positive value is there; no markers."""
    best = np.zeros(len(codes.words))
    where = np.full(len(codes.words), -1)
    is_word = np.array([not is_marker(word) for word in codes.words], dtype=bool)
    for node in range(len(codes.forest)):
        rows, values = codes.used(node)
        higher = values > best[rows]
        best[rows[higher]] = values[higher]
        where[rows[higher]] = node
    found = []
    for node in range(len(codes.forest)):
        rows = np.flatnonzero((where == node) & is_word)
        found.append([codes.words[row] for row in rows[largest(best[rows], k)]])
    return found


def _node_names(labels: list[Label], taken: set[str]) -> list[str]:
    """Return a name for each node, unlike any other name; ``taken`` are the words."""
    plain = [", ".join(label[:_IN_NAME]) or f"node {node}" for node, label in enumerate(labels)]
    times = Counter(plain)
    names: list[str] = []
    used = set(taken)
    for node, name in enumerate(plain):
        unique = f"{name} ({node})" if times[name] > 1 else name
        while unique in used:
            unique += f" ({node})"
        names.append(unique)
        used.add(unique)
    return names


def _node_concept(base: str, forest: Forest, node: int, name: str, label: Label, members: list[str]) -> _Concept:
    parent = int(forest.parent[node])
    below = [f"{base}node/{child}" for child in forest.children(node)] + [_word_iri(base, word) for word in members]
    above = f"{base}node/{parent}" if parent >= 0 else None
    others = tuple(word for word in label if word != name)  # SKOS: a label is preferred or alternative, never both
    return _Concept(f"{base}node/{node}", name, others, above, tuple(below), node)


def _word_iri(base: str, word: str) -> str:
    return f"{base}word/{quote(word.encode('utf-8', 'surrogatepass'), safe='')}"


def _scheme_facts(scheme: _Scheme) -> Iterator[str]:
    yield f"dcterms:title {_literal(scheme.title, scheme.language)}"
    yield from _links("hasTopConcept", [concept.iri for concept in scheme.top()])


def _facts(scheme: _Scheme, concept: _Concept) -> Iterator[str]:
    yield f"skos:inScheme <{scheme.iri}>"
    yield f"skos:prefLabel {_literal(concept.name, scheme.language)}"
    if concept.other_names:
        yield "skos:altLabel " + ", ".join(_literal(name, scheme.language) for name in concept.other_names)
    if concept.notation is not None:
        yield f"skos:notation {concept.notation}"
    yield from _links("broader", [concept.broader] if concept.broader else [])
    yield from _links("topConceptOf", [] if concept.broader else [scheme.iri])
    yield from _links("narrower", concept.narrower)


def _links(name: str, iris: list[str] | tuple[str, ...]) -> Iterator[str]:
    if iris:
        yield f"skos:{name} " + ", ".join(f"<{iri}>" for iri in iris)


def _statement(iri: str, kind: str, facts: Iterator[str]) -> str:
    return " ;\n    ".join([f"<{iri}> a {kind}", *facts]) + " .\n"


def _literal(text: str, language: str | None) -> str:
    safe = _ESCAPED.sub(lambda found: f"\\u{ord(found[0]):04X}", _NO_CHARACTER.sub("\ufffd", text))
    return f'"{safe}"' + (f"@{language}" if language else "")


def _ld_text(text: str, language: str | None) -> dict[str, str]:
    value = {"@value": _NO_CHARACTER.sub("\ufffd", text)}
    return value | ({"@language": language} if language else {})


def _ld_concept(scheme: _Scheme, concept: _Concept) -> dict[str, Any]:
    found: dict[str, Any] = {"@id": concept.iri, "@type": "skos:Concept", "inScheme": scheme.iri}
    found["prefLabel"] = _ld_text(concept.name, scheme.language)
    if concept.other_names:
        found["altLabel"] = [_ld_text(name, scheme.language) for name in concept.other_names]
    if concept.notation is not None:
        found["notation"] = concept.notation
    if concept.broader:
        found["broader"] = concept.broader
    else:
        found["topConceptOf"] = scheme.iri
    if concept.narrower:
        found["narrower"] = list(concept.narrower)
    return found
