"""The report as Markdown and as a page."""

from __future__ import annotations

from wordforest.reproduce.report import Charts, to_html, to_markdown

BLOCKS = (
    "# A <b> & c",
    "**bold** and `x < y`",
    "- one\n- two",
    "| model | value |\n| --- | ---: |\n| a\\|b | 1 |",
    "```text\nwordforest train <x>\n```",
    Charts(("<svg></svg>",)),
)


def test_markdown_is_what_it_was_built_of():
    text = to_markdown(BLOCKS)
    assert text.startswith("# A <b> & c\n\n**bold**")
    assert "svg" not in text


def test_html_escapes_everything():
    page = to_html("<script>", BLOCKS)
    assert "<script>" not in page
    assert "A &lt;b&gt; &amp; c" in page
    assert "<strong>bold</strong> and <code>x &lt; y</code>" in page
    assert "<td>a|b</td>" in page
    assert "train &lt;x&gt;" in page
    assert "<svg></svg>" in page
