"""spaCy: vectors in a pipeline, on disk and back; the component that gives tokens and documents their nodes."""

from __future__ import annotations

from importlib.metadata import entry_points
from pathlib import Path

import numpy as np
import pytest

import wordforest as wf

spacy = pytest.importorskip("spacy")
from wordforest.interop import WordForestVectorizer, from_spacy, to_spacy, write_spacy  # noqa: E402 after the skip

TEXT = "The KING sees his crown, where Unheardof reigns."


def test_there_and_back_through_a_folder_cosines_are_the_same(readable: Path, tmp_path: Path):
    vectors = wf.read_vectors(readable)
    write_spacy(readable, tmp_path / "pipeline")
    nlp = spacy.load(tmp_path / "pipeline")
    back = from_spacy(tmp_path / "pipeline")
    assert back.words == vectors.words
    np.testing.assert_allclose(back.unit @ back.unit.T, vectors.unit @ vectors.unit.T, atol=1e-6)
    king, queen = nlp("King queen")
    assert king.similarity(queen) == pytest.approx(vectors.similarity("king", "queen"), abs=1e-6)
    assert (king.has_vector, nlp("unheardof")[0].has_vector) == (True, False)


def test_words_with_capitals_are_found_as_they_are_written():
    cat, capital, other = to_spacy(wf.Vectors(["cat", "Cat"], [[1.0, 0], [0, 1]]))("cat Cat CAT")
    assert (cat.has_vector, capital.has_vector, other.has_vector) == (True, True, False)
    assert cat.similarity(capital) == 0


def test_a_pipeline_without_vectors_is_refused():
    with pytest.raises(wf.InputError, match="but this one has none"):
        from_spacy(spacy.blank("en"))


def test_the_component_sets_nodes_and_labels(readable: Path):
    run = wf.load_run(readable)
    nlp = spacy.blank("en")
    nlp.add_pipe("wordforest", config={"run": str(readable)})
    doc, empty = nlp.pipe([TEXT, ""])
    path = run.vectors.path("king").trees[0].steps
    assert doc[1]._.nodes[0] == path[0].node
    assert doc[1]._.labels == tuple(" ".join(run.vectors.labels[node]) for node in doc[1]._.nodes)
    assert (doc[5].text, doc[5]._.nodes, doc[5]._.labels) == (",", (), ())
    shares = WordForestVectorizer(run, sparse_output=False).transform([TEXT])[0]
    assert doc._.nodes == pytest.approx({node: shares[node] for node in np.flatnonzero(shares)})
    assert empty._.nodes == {}
    assert nlp(TEXT)._.nodes == doc._.nodes


def test_the_component_goes_to_the_disk_with_its_model(readable: Path, tmp_path: Path):
    nlp = spacy.blank("en")
    vectors = tmp_path / "vectors.safetensors"
    wf.write_vectors(vectors, wf.read_vectors(readable))
    nlp.add_pipe("wordforest", config={"run": str(vectors)})
    before = nlp(TEXT)
    nlp.to_disk(tmp_path / "pipeline")
    vectors.unlink()
    after = spacy.load(tmp_path / "pipeline")(TEXT)
    assert [token._.nodes for token in after] == [token._.nodes for token in before]
    assert after._.nodes == pytest.approx(before._.nodes)


def test_a_component_that_was_used_takes_another_model(readable: Path, tmp_path: Path):
    nlp = spacy.blank("en")
    component = nlp.add_pipe("wordforest", config={"run": str(readable)})
    nlp(TEXT)
    wf.write_vectors(tmp_path / "other", wf.Vectors(["crown"], [[1.0]]))
    doc = component.from_disk(tmp_path / "other")(nlp.make_doc(TEXT))
    assert (doc[1]._.nodes, doc[4]._.nodes, doc._.nodes) == ((), (0,), {0: 1.0})


def test_a_path_that_is_wrong_is_told_with_the_first_document():
    nlp = spacy.blank("en")
    nlp.add_pipe("wordforest", config={"run": "nowhere"})
    with pytest.raises(wf.InputError, match="nowhere"):
        nlp(TEXT)
    nlp.replace_pipe("wordforest", "wordforest")
    with pytest.raises(wf.InputError, match="which model"):
        nlp(TEXT)


def test_the_component_is_found_by_its_name():
    (found,) = entry_points(group="spacy_factories", name="wordforest")
    assert found.load().__name__ == "make_component"
