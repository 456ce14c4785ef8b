"""Progress in a notebook, as the notebook keeps it."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from wordforest.runtime.notebook import NotebookReporter
from wordforest.runtime.progress import Event

nbclient = pytest.importorskip("nbclient")
nbformat = pytest.importorskip("nbformat")
pytest.importorskip("ipykernel")


@pytest.mark.filterwarnings("ignore")  # of Jupyter's own packages
def test_a_notebook_shows_bars_in_one_output_and_nothing_where_none_are_wanted(corpus: Path, tmp_path: Path) -> None:
    cells = [
        "import wordforest as wf\nfrom wordforest.runtime import machine\nmachine._told.append('')",
        f"run = wf.train({str(corpus)!r}, trees=1, out='run')",
        f"run = wf.train({str(corpus)!r}, trees=1, report=False)",
        f"topics = wf.TopicForest(levels=(2, 4)).fit({str(corpus)!r})",
    ]
    book = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(cell) for cell in cells])
    nbclient.NotebookClient(
        book, timeout=120, kernel_name="python3", resources={"metadata": {"path": tmp_path}}
    ).execute()
    _, shown, silent, fitted = (cell.outputs for cell in book.cells)
    assert [output.output_type for output in shown] == ["display_data"], json.dumps(shown)[:2000]
    html, text = (shown[0].data[kind] for kind in ("text/html", "text/plain"))
    assert html.count("<progress") == 3
    assert [line.split(":")[0] for line in text.splitlines()] == ["read", "count", "learn", "wrote run"]
    assert silent == []
    assert [output.output_type for output in fitted] == ["display_data"], json.dumps(fitted)[:2000]
    assert fitted[0].data["text/plain"].startswith("learn: ")


def test_what_is_shown_is_text(monkeypatch: pytest.MonkeyPatch) -> None:
    report = NotebookReporter()
    monkeypatch.setattr(report, "_show", lambda: None)
    report(Event("read <b>", 1, 2, "<i>"))
    report.say("<script>")
    html = report._bundle()["text/html"]
    assert "read &lt;b&gt;" in html
    assert not {"<b>", "<i>", "<script>"} & {*re.findall("<[a-z]+>", html)}
