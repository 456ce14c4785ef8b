"""A forest for people to read: labels, outlines, the way of a word, a thesaurus, features with names.

Everything takes vectors and returns objects or text; nothing here opens a file.
"""

from wordforest.reading.features import as_features, feature_names, names_as_tsv
from wordforest.reading.labels import Labels, label_nodes
from wordforest.reading.outline import Line, as_graphviz, as_mermaid, as_object, as_text, outline
from wordforest.reading.thesaurus import as_json_ld, as_skos_turtle
from wordforest.reading.ways import (
    Common,
    Member,
    Step,
    Way,
    Ways,
    common_nodes,
    subtree_as_text,
    subtree_words,
    ways,
    ways_as_object,
    ways_as_text,
)

__all__ = [
    "Common",
    "Labels",
    "Line",
    "Member",
    "Step",
    "Way",
    "Ways",
    "as_features",
    "as_graphviz",
    "as_json_ld",
    "as_mermaid",
    "as_object",
    "as_skos_turtle",
    "as_text",
    "common_nodes",
    "feature_names",
    "label_nodes",
    "names_as_tsv",
    "outline",
    "subtree_as_text",
    "subtree_words",
    "ways",
    "ways_as_object",
    "ways_as_text",
]
