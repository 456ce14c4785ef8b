"""Tables of codes and nodes: pandas and Polars alike, and SQL on Parquet."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import wordforest as wf
from wordforest.interop import to_frame, write_codes
from wordforest.reading import feature_names


@pytest.mark.parametrize("library", ["pandas", "polars"])
def test_codes_come_back_from_a_long_table(library: str, readable: Path):
    pytest.importorskip(library)
    run = wf.load_run(readable)
    frame = to_frame(run, library=library)
    assert list(frame.columns) == ["word", "count", "node", "parent", "depth", "label", "value", "share"]
    matrix = np.zeros(run.codes.shape, np.float32)
    row = [run.words.index(word) for word in frame["word"]]
    matrix[row, frame["node"].to_numpy()] = frame["value"].to_numpy()
    back = wf.Vectors(run.words, matrix, forest=run.forest, nodes=run.nodes)
    np.testing.assert_allclose(back.unit @ back.unit.T, run.vectors.unit @ run.vectors.unit.T, atol=1e-6)
    path = run.vectors.path("king").trees[0].steps[0]
    first = frame[((frame["word"] == "king") & (frame["node"] == path.node)).to_numpy().nonzero()[0].tolist()[0] :][:1]
    assert first["share"].to_list() == pytest.approx([path.within], abs=1e-6)
    assert first["label"].to_list() == [" ".join(run.vectors.labels[path.node])]


@pytest.mark.parametrize("library", ["pandas", "polars"])
def test_nodes_have_a_row_each(library: str, readable: Path):
    pytest.importorskip(library)
    run = wf.load_run(readable)
    nodes = to_frame(run, "nodes", library=library)
    assert nodes["name"].to_list() == feature_names(run.vectors, labels=run.vectors.labels)
    assert nodes["parent"].to_list() == run.forest.parent.tolist()
    assert nodes["use"].to_list() == run.nodes["use"].tolist()


def test_a_library_or_a_table_that_is_not_known_is_named(plain: wf.Run):
    with pytest.raises(wf.InputError, match="must be one of codes, nodes"):
        to_frame(plain, "words")
    with pytest.raises(wf.InputError, match="must be one of pandas, polars"):
        to_frame(plain, library="dplyr")


def test_sql_asks_the_codes(readable: Path, tmp_path: Path):
    duckdb = pytest.importorskip("duckdb")
    vectors, file = wf.read_vectors(readable), tmp_path / "codes.parquet"
    write_codes(readable, file)
    node = int(vectors.forest.roots[0])
    found = duckdb.sql(f"SELECT word FROM '{file}' WHERE node = {node} ORDER BY value DESC, word LIMIT 5").fetchall()
    values = vectors.dense[:, node]
    expected = sorted(range(len(vectors)), key=lambda row: (-values[row], vectors.words[row]))[:5]
    assert [word for (word,) in found] == [vectors.words[row] for row in expected]
    dots = duckdb.sql(
        f"SELECT sum(a.value * b.value) FROM '{file}' a JOIN '{file}' b USING (node) "
        "WHERE a.word = 'king' AND b.word = 'queen'"
    ).fetchall()
    assert dots[0][0] == pytest.approx(float(vectors["king"] @ vectors["queen"]), rel=1e-6)


def test_polars_reads_the_codes(plain: wf.Run, tmp_path: Path):
    polars = pytest.importorskip("polars")
    write_codes(plain, tmp_path / "codes.parquet")
    frame = polars.scan_parquet(tmp_path / "codes.parquet").filter(polars.col("word") == "king").collect()
    assert frame["value"].to_list() == plain.vectors["king"][frame["node"].to_list()].tolist()
    assert frame["count"].unique().to_list() == [plain.counts[plain.words.index("king")]]
