"""Tables of documents on a forest: what each column says."""

from __future__ import annotations

import numpy as np
import pandas
import pytest
from scipy import sparse

from wordforest.coder.forest import Forest
from wordforest.documents.groups import by_group, over_time
from wordforest.documents.shares import DocumentShares
from wordforest.documents.tables import as_frame, document_info, topic_info, topics_over_time, topics_per_class

# three documents on a tree of two nodes below a root, and a tree of one
MADE = DocumentShares(
    ids=("one", "two", "three"),
    forest=Forest([-1, 0, 0, -1]),
    labels=("sport", "hockey", "ball", "faith"),
    shares=sparse.csr_array(np.array([[1, 0.75, 0.25, 0], [0.5, 0, 0.25, 0.5], [0.25, 0, 0, 0.75]], dtype=np.float32)),
)


def test_topic_info_has_a_row_for_every_node() -> None:
    table = topic_info(MADE)
    assert [*table] == ["node", "parent", "depth", "label", "share", "documents", "stability", "typical"]
    assert table["parent"] == [-1, 0, 0, -1]
    assert table["share"] == pytest.approx([1.75 / 3, 0.25, 0.5 / 3, 1.25 / 3], rel=1e-12)
    assert table["documents"] == [2, 1, 1, 1]
    assert table["typical"][3] == ["three", "two"]
    assert table["stability"] == [None] * 4


def test_document_info_follows_the_main_path() -> None:
    table = document_info(MADE)
    assert [*table] == ["document", "depth0", "depth1", "share0", "share1"]
    assert table["depth1"] == [1, 2, -1]
    assert table["share0"] == [1.0, 0.5, 0.75]
    assert table["share1"] == [0.75, 0.25, 0.0]


def test_cells_are_node_by_node() -> None:
    classes = topics_per_class(by_group(MADE.shares, ["b", "a", "b"]), MADE.labels)
    assert [*classes] == ["node", "label", "group", "share", "low", "high", "difference", "p", "q", "documents"]
    assert classes["node"][:4] == [0, 0, 1, 1]
    assert classes["group"][:4] == ["a", "b", "a", "b"]
    assert classes["share"][:4] == [0.5, 0.625, 0.0, 0.375]
    assert classes["difference"][2:4] == [-0.375, 0.375]
    assert classes["documents"][:2] == [1, 2]
    times = topics_over_time(over_time(MADE.shares, [1990, 1992, 1992], bins="year"), MADE.labels)
    assert [*times] == ["node", "label", "time", "share", "low", "high", "documents"]
    assert times["time"][:3] == [1990, 1991, 1992]
    assert times["documents"][:3] == [1, 0, 2]


def test_tables_are_data_frames_on_demand() -> None:
    frame = as_frame(topic_info(MADE))
    assert isinstance(frame, pandas.DataFrame)
    assert frame.set_index("node").loc[3, "label"] == "faith"
