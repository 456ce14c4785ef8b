"""The command that shows vectors as a page: served on this machine, or written as one file."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated, Any

import typer

from wordforest.cli.base import Force, Verbose, app, friendly, keep_existing
from wordforest.errors import InputError, MissingExtraError

ModelsArg = Annotated[
    list[str], typer.Argument(metavar="VECTORS...", help="Run folders or files of vectors, up to four side by side.")
]
Host = Annotated[str, typer.Option(help="Address to listen at; the default is reached from this machine alone.")]
Port = Annotated[int, typer.Option(min=0, max=65535, help="Port to listen at; 0: any free one.")]
OpenOpt = Annotated[bool, typer.Option("--open/--no-browser", help="Open the page in the browser.")]
Export = Annotated[Path | None, typer.Option(help="Write one HTML file that works offline, and serve nothing.")]
TopWords = Annotated[int, typer.Option(min=1, help="Words that --export keeps, most frequent first.")]


@app.command()
@friendly
def explore(
    vectors: ModelsArg, host: Host = "127.0.0.1", port: Port = 8050, open_page: OpenOpt = False,
    export: Export = None, top_words: TopWords = 3000,
    force: Force = False, verbose: Verbose = False,  # noqa: ARG001 read by friendly
) -> None:  # fmt: skip
    """Walk through the forest on a local web page, or write it as one file with --export."""
    if export is not None:
        _check_target(export, force)
        _write(export, _models(vectors), top_words)
        return
    try:
        from wordforest.explorer.app import is_local, make_app
        from wordforest.explorer.server import listen, open_server, serve
    except ImportError as error:
        raise MissingExtraError("the explorer", "explore") from error
    if not is_local(host):
        sys.stderr.write(f"note: at {host} others on the network can read these vectors too.\n")
    with listen(host, port) as listener:
        models = _models(vectors)
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


def _models(names: list[str]) -> list[Any]:
    from wordforest.explorer.model import open_models

    def on_notice(notice: str) -> None:
        sys.stderr.write(f"note: {notice}\n")

    return open_models(names, on_notice)


def _check_target(path: Path, force: bool) -> None:
    if path.suffix.lower() not in (".html", ".htm"):
        raise InputError(f"{path}: expected a name in .html, so that browsers open it. Choose one.")
    keep_existing(path, force)


def _write(path: Path, models: list[Any], top_words: int) -> None:
    from wordforest.explorer.export import page_text
    from wordforest.store import write_text

    write_text(path, page_text(models, top_words=top_words))
    sys.stderr.write(f"wrote {path}: {path.stat().st_size / 1e6:.1f} MB, opens in any browser\n")
