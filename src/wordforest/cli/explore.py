"""The command that shows vectors as a page: served on this machine, or written as one file."""

from __future__ import annotations

import sys
from pathlib import Path

import typer

from wordforest.cli.command import STOP_WORDS, argument, check_target, command, note, option, stop_words_in
from wordforest.errors import MissingExtraError


@command()
def explore(
    vectors: list[str] = argument("VECTORS", "Run folders or files of vectors, up to four side by side."),
    host: str = option("127.0.0.1", "Address to listen at; the default is reached from this machine alone."),
    port: int = option(8050, "Port to listen at; 0: any free one.", min=0, max=65535),
    open_page: bool = option(False, "Open the page in the browser.", "--open"),
    export: Path | None = option(None, "Write one HTML file that works offline, and serve nothing."),
    top_words: int = option(3000, "Words that --export keeps, most frequent first.", min=1),
    documents: Path | None = option(None, "Folder that `documents` wrote with the first run.", metavar="FOLDER"),
    top_documents: int = option(300, "Documents that --export keeps, typical ones first.", min=1),
    compare: Path | None = option(None, "Folder that `compare` wrote with the first run.", metavar="FOLDER"),
    stop_words: Path | None = STOP_WORDS,
    *,
    force: bool,
) -> None:
    """Walk through the forest on a local web page, or write it as one file with --export."""
    from wordforest.explorer.model import open_models

    ignored = stop_words_in(stop_words)
    if export is not None:
        check_target(export, force, ".html", ".htm")
        from wordforest.explorer.page import page_text
        from wordforest.store import write_text

        models = open_models(vectors, note, stop_words=ignored, documents=documents, compare=compare)
        write_text(export, page_text(models, top_words=top_words, kept_documents=top_documents))
        sys.stderr.write(f"wrote {export}: {export.stat().st_size / 1e6:.1f} MB, opens in any browser\n")
        return
    try:
        from wordforest.explorer.app import is_local, listen, make_app, open_server, serve
    except ImportError as error:
        raise MissingExtraError("the explorer", "explore") from error
    if not is_local(host):
        note(f"at {host} others on the network can read these vectors too.")
    with listen(host, port) as listener:
        models = open_models(vectors, note, stop_words=ignored, documents=documents, compare=compare)
        for model in models:
            model.warm()
        server = open_server(make_app(models, host=host), listener)

    def on_ready(url: str) -> None:
        sys.stderr.write(f"{url} shows {', '.join(model.name for model in models)}. Ctrl-C ends it.\n")
        sys.stderr.flush()
        if open_page:
            typer.launch(url)

    serve(server, on_ready)
    sys.stderr.write("ended.\n")
