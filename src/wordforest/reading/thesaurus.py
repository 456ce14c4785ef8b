"""The forest as a thesaurus in SKOS: nodes are concepts, and so are the words that are strongest there."""

from __future__ import annotations

import json
import re
from collections import Counter
from typing import Any, Literal
from urllib.parse import quote

import numpy as np

from wordforest.errors import InputError, MissingExtraError
from wordforest.reading.columns import Columns
from wordforest.reading.labels import Label, Labels, given_or_made
from wordforest.vectors import Vectors, check_k, is_marker, largest

BASE = "https://example.org/forest/"
_IN_NAME = 3  # label words in the preferred label of a node
_IRI = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*:[^\x00-\x20<>\"{}|^`\\\x7f]+")
_LANGUAGE = re.compile(r"[A-Za-z]{1,8}(-[A-Za-z0-9]{1,8})*")
_NO_CHARACTER = re.compile("[\ud800-\udfff]")  # half of a pair: no text in UTF-8 can hold it


def thesaurus(
    vectors: Vectors,
    form: Literal["turtle", "json-ld"] = "turtle",
    *,
    k: int = 10,
    labels: Labels | None = None,
    base: str = BASE,
    language: str | None = "en",
    title: str = "Forest",
) -> str:
    """Return the forest as a skos:ConceptScheme at ``base``, which is the start of every IRI.

    A node is a skos:Concept. Its prefLabel is the first three words of its label, with the node's number where two
    would be alike; each word of the label is an altLabel, so that a search finds the node; its notation is its number.
    Up to k words that have most of their own at the node are concepts of their own, narrower than it. They are no
    labels of the node: a label says what a concept is called, and jupiter is not another name for planets.
    ``language`` tags the words, None leaves them without.

    Examples:
        >>> import wordforest as wf
        >>> vectors = wf.Vectors(["sport", "tennis"], [[4, 1], [2, 3]], forest=wf.Forest([-1, 0]))
        >>> "a skos:ConceptScheme" in wf.reading.thesaurus(vectors)
        True
    """
    check_k(k)
    if not _IRI.fullmatch(base):
        raise InputError(
            f"base = {base!r} is no absolute IRI. Give one without spaces, quotes and brackets, such as {BASE}."
        )
    if language is not None and not _LANGUAGE.fullmatch(language):
        raise InputError(f"language = {language!r} is no language tag. Give one such as en or pt-BR, or None.")
    try:
        from rdflib import DCTERMS, RDF, SKOS, Graph, URIRef
        from rdflib import Literal as Text
    except ImportError as error:
        raise MissingExtraError("a thesaurus", "rdf") from error
    columns, known = Columns(vectors), vectors.nodes.get("stability")
    named = given_or_made(vectors, labels, max(5, _IN_NAME))
    graph = Graph(bind_namespaces="none")
    graph.bind("skos", SKOS)
    graph.bind("dcterms", DCTERMS)
    scheme = URIRef(base)
    graph.add((scheme, RDF.type, SKOS.ConceptScheme))

    def text(value: str) -> Any:
        return Text(_NO_CHARACTER.sub("\ufffd", value), lang=language)

    def concept(path: str, name: str, parent: str | None) -> Any:
        iri = URIRef(base + path)
        graph.add((iri, RDF.type, SKOS.Concept))
        graph.add((iri, SKOS.inScheme, scheme))
        graph.add((iri, SKOS.prefLabel, text(name)))
        above = scheme if parent is None else URIRef(base + parent)
        graph.add((iri, SKOS.topConceptOf if parent is None else SKOS.broader, above))
        graph.add((above, SKOS.hasTopConcept if parent is None else SKOS.narrower, iri))
        return iri

    graph.add((scheme, DCTERMS.title, text(title)))
    members = _members(columns, k)
    for node, name in enumerate(_node_names(named, set(vectors.words))):
        parent = int(columns.forest.parent[node])
        iri = concept(f"node/{node}", name, f"node/{parent}" if parent >= 0 else None)
        graph.add((iri, SKOS.notation, Text(node)))
        if known is not None:
            graph.add((iri, SKOS.note, text(f"stability {known[node]:.2f}")))
        for word in named[node]:
            if word != name:  # SKOS: a label is preferred or alternative, never both
                graph.add((iri, SKOS.altLabel, text(word)))
        for word in members[node]:
            concept(f"word/{quote(word.encode('utf-8', 'surrogatepass'), safe='')}", word, f"node/{node}")
    written: str = graph.serialize(format=form, auto_compact=True)
    if form == "turtle":
        return written
    found = json.loads(written)
    found["@graph"].sort(key=lambda item: item["@id"])  # rdflib's order changes from run to run
    return json.dumps(found, ensure_ascii=False, indent=1) + "\n"


def _members(columns: Columns, k: int) -> list[list[str]]:
    """Return for every node the k strongest of the words that have most of their own there, above 0; no markers."""
    best = np.zeros(len(columns.words))
    where = np.full(len(columns.words), -1)
    is_word = np.array([not is_marker(word) for word in columns.words], dtype=bool)
    for node in range(len(columns.forest)):
        rows, values = columns.own(node)
        higher = values > best[rows]
        best[rows[higher]] = values[higher]
        where[rows[higher]] = node
    found = []
    for node in range(len(columns.forest)):
        rows = np.flatnonzero((where == node) & is_word)
        found.append([columns.words[row] for row in rows[largest(best[rows], k)]])
    return found


def _node_names(labels: list[Label], taken: set[str]) -> list[str]:
    """Return a name for each node, unlike any other name; ``taken`` are the words."""
    plain = [", ".join(label[:_IN_NAME]) or f"node {node}" for node, label in enumerate(labels)]
    times = Counter(plain)
    used = set(taken)
    for node, name in enumerate(plain):
        unique = f"{name} ({node})" if times[name] > 1 else name
        while unique in used:
            unique += f" ({node})"
        plain[node] = unique
        used.add(unique)
    return plain
