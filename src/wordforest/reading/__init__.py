"""A forest for people to read: labels, outlines, the path of a word, a thesaurus, features with names.

Everything takes vectors and returns objects or text; nothing here opens a file.
"""

from wordforest.reading.features import as_features, as_frame, feature_names, names_as_tsv
from wordforest.reading.labels import Labels, NodeLabels, label_nodes, node_words, one_line
from wordforest.reading.nodes import Node, read_node
from wordforest.reading.outline import Line, as_graphviz, as_mermaid, as_object, as_text, outline
from wordforest.reading.paths import (
    WordPath,
    common_nodes,
    paths_as_object,
    paths_as_text,
    subtree_as_text,
    subtree_words,
    word_path,
)
from wordforest.reading.thesaurus import thesaurus

__all__ = [
    "Labels",
    "Line",
    "Node",
    "NodeLabels",
    "WordPath",
    "as_features",
    "as_frame",
    "as_graphviz",
    "as_mermaid",
    "as_object",
    "as_text",
    "common_nodes",
    "feature_names",
    "label_nodes",
    "names_as_tsv",
    "node_words",
    "one_line",
    "outline",
    "paths_as_object",
    "paths_as_text",
    "read_node",
    "subtree_as_text",
    "subtree_words",
    "thesaurus",
    "word_path",
]
