"""The demo: forest vectors from the State of the Union addresses, which come with an installed package."""

from __future__ import annotations

from pathlib import Path

from wordforest.cli.command import command, option, reporter

WORDS = ("navy", "money", "farmers", "schools", "railroads", "soviet")
COUNTRIES = ("france", "spain", "mexico", "germany", "japan", "china", "russia", "cuba", "iraq", "vietnam")


@command()
def demo(out: Path = option(Path("demo"), "Folder to write.", "--out"), *, force: bool) -> None:
    """Train on the State of the Union addresses: neighbours, scores, a heatmap, a tree, and a forest to read."""
    from wordforest import evaluation, figures, store
    from wordforest.cli import terminal
    from wordforest.evaluation.datasets import demo_corpus
    from wordforest.evaluation.report import tabulate
    from wordforest.jobs.train import train

    to_read = out / "readable"
    with reporter(quiet=False, as_json=False) as report:
        run = train(demo_corpus(), out=out, force=force, report=report)
        words, _ = figures.present_words(run.vectors, COUNTRIES)
        store.write_figure(out / "heatmap.png", figures.heatmap(run.vectors, words))
        store.write_figure(out / "tree.png", figures.trees(run.vectors, words[:3]))
        readable = train(demo_corpus(), out=to_read, force=force, report=report, preset="readable", trees=10)
    for word in WORDS:
        if word in run.vectors:
            terminal.show_neighbors(word, run.vectors.most_similar(word, k=6))
    scores = tabulate([(str(out), evaluation.evaluate(run.vectors))])
    terminal.show_grid("Scores (a corpus of 2 million tokens is small for these sets)", scores)
    terminal.show_forest(str(to_read), readable.vectors, 6)
    terminal.deliver(
        f"pictures: {out / 'heatmap.png'}, {out / 'tree.png'}\n"
        f"next: wordforest path {to_read} navy treaty\n"
        f"      wordforest explore {to_read}     (needs the extra explore)\n"
    )
