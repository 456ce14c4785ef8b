"""One command writes what every tool reads."""

from __future__ import annotations

from pathlib import Path

import pytest

import wordforest as wf
from tests.commands import run_command

WRITTEN = {
    "huggingface": "out/README.md",
    "sentence-transformers": "out/modules.json",
    "sparse-encoder": "out/modules.json",
    "spacy": "out/vocab/vectors.cfg",
    "atlas": "out.parquet",
    "codes": "out.parquet",
}
READERS = {
    "huggingface": "wordforest.read_vectors('out')",
    "sentence-transformers": "SentenceTransformer('out')",
    "sparse-encoder": "SparseEncoder('out')",
    "spacy": "spacy.load('out')",
    "atlas": "embedding-atlas out.parquet --text text --x x --y y --labels out.labels.parquet",
    "codes": "FROM 'out.parquet'",
}
NEEDED = {"sentence-transformers": "tokenizers", "sparse-encoder": "tokenizers", "spacy": "spacy"}


@pytest.mark.parametrize("form", WRITTEN)
def test_export_writes_for_a_tool(form: str, readable: Path, tmp_path: Path):
    pytest.importorskip(NEEDED.get(form, "pyarrow"))
    out = "out.parquet" if form in ("atlas", "codes") else "out"
    ended = run_command("export", readable, out, "--format", form, "--license", "mit", cwd=tmp_path)
    assert ended.returncode == 0, ended.stderr
    assert ended.stderr.startswith(f"wrote {out}: ")
    assert READERS[form] in ended.stderr
    assert (tmp_path / WRITTEN[form]).is_file()
    again = run_command("export", readable, out, "--format", form, cwd=tmp_path)
    assert (again.returncode, "add --force" in again.stderr) == (2, True)
    assert run_command("export", readable, out, "--format", form, "--force", cwd=tmp_path).returncode == 0


def test_the_licence_is_on_the_card_and_in_the_settings(readable: Path, tmp_path: Path):
    run_command("export", readable, "out", "--format", "huggingface", "--license", "mit", cwd=tmp_path)
    card = (tmp_path / "out" / "README.md").read_text()
    assert 'license: "mit"\n' in card
    assert "\n# out\n" in card
    assert wf.load_run(tmp_path / "out").config["license"] == "mit"


def test_what_a_tool_has_no_use_for_is_refused(readable: Path, tmp_path: Path):
    ended = run_command("export", readable, "out", "--format", "huggingface", "-k", "3", cwd=tmp_path)
    assert (ended.returncode, "Leave them out" in ended.stderr) == (2, True)
    assert not (tmp_path / "out").exists()
