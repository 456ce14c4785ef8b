"""The command line: commands of a few lines each, no maths. Errors are one or two lines on standard error."""

from __future__ import annotations

import io
import os
import sys
import traceback
from collections.abc import Callable
from functools import wraps
from pathlib import Path
from typing import Annotated, Any, Literal, ParamSpec

import typer

from wordforest import __version__
from wordforest.errors import InputError, MissingExtraError

P = ParamSpec("P")
UsageError: Any = typer.BadParameter.__base__  # of Typer or of Click, as the version has it
app = typer.Typer(add_completion=False, pretty_exceptions_enable=False)

# Arguments and options that several commands share.
CorpusArg = Annotated[
    list[str],
    typer.Argument(
        metavar="CORPUS...", help="Text files, folders, globs or URLs, plain or compressed; - is standard input."
    ),
]
VectorsArg = Annotated[str, typer.Argument(metavar="VECTORS", help="A run folder, or a word2vec or GloVe file.")]
OutOpt = Annotated[Path, typer.Option("--out", help="Folder to write.")]
Window = Annotated[int, typer.Option(help="Context words on each side.")]
MinCount = Annotated[int, typer.Option(help="Rarer words become #rare#.")]
MaxVocab = Annotated[int | None, typer.Option(help="Keep at most this many words; others become #rare#.")]
TokenizerOpt = Annotated[
    Literal["words", "whitespace"],
    typer.Option(help="words: raw text; whitespace: tokenised text, a sentence a line."),
]
Lowercase = Annotated[bool, typer.Option("--lowercase/--no-lowercase", help="Lower-case all words.")]
Numbers = Annotated[bool, typer.Option("--numbers/--keep-numbers", help="Numbers become #number#.")]
ErrorsOpt = Annotated[Literal["strict", "replace"], typer.Option(help="What to do with bytes that are not UTF-8.")]
Workers = Annotated[
    int | None,
    typer.Option(min=1, help="Threads; the result is the same for any number. Default: all cores."),
]
Force = Annotated[bool, typer.Option("--force", help="Replace what --out holds.")]
Quiet = Annotated[bool, typer.Option("--quiet", help="No progress.")]
Verbose = Annotated[bool, typer.Option("--verbose", help="Show the traceback of an error.")]
Json = Annotated[bool, typer.Option("--json", help="One JSON object a line.")]
Neighbours = Annotated[int, typer.Option("-k", min=1, help="How many words.")]


def friendly(command: Callable[P, None]) -> Callable[P, None]:
    """Turn exceptions into one or two lines and an exit code: 1 failed, 2 wrong use or bad input, 130 interrupted."""

    @wraps(command)
    def run(*args: P.args, **kwargs: P.kwargs) -> None:
        try:
            command(*args, **kwargs)
            sys.stdout.flush()
        except BrokenPipeError:  # the reader has left, as head does
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
            raise SystemExit(1) from None
        except (Exception, KeyboardInterrupt) as error:
            if kwargs.get("verbose"):
                traceback.print_exc()
            message, code = _explain(error)
            sys.stderr.write(message + "\n")
            raise SystemExit(code) from None

    return run


def _explain(error: BaseException) -> tuple[str, int]:
    if isinstance(error, InputError | MissingExtraError):
        return f"error: {error}", 2
    if isinstance(error, KeyboardInterrupt):
        return "interrupted. Nothing was left half written.", 130
    if isinstance(error, OSError):
        return f"error: {error}. Check the disk and the permissions.", 1
    return f"error: {type(error).__name__}: {error}. Run again with --verbose to see where.", 1


@app.callback(invoke_without_command=True)
def wordforest(
    context: typer.Context, version: Annotated[bool, typer.Option("--version", help="Show the version.")] = False
) -> None:
    """Word vectors whose dimensions form a forest, learned from raw text."""
    if version:
        typer.echo(f"wordforest {__version__}")
        raise typer.Exit
    if context.invoked_subcommand is None:
        typer.echo(context.get_help(), err=True)
        raise typer.Exit(2)


@app.command()
@friendly
def train(
    corpus: CorpusArg,
    out: OutOpt,
    trees: Annotated[int, typer.Option(help="Trees of the forest; M = 13 x trees with the default branching.")] = 4,
    branching: Annotated[
        str, typer.Option(help="Children of a node at each depth, as in 3,3; empty for single nodes.")
    ] = "3,3",
    lam: Annotated[str, typer.Option(help="Weight of the forest penalty, or auto: chosen by --density.")] = "0.1",
    density: Annotated[float, typer.Option(help="With --lam auto: the share of non-zeros to aim at.")] = 0.5,
    window: Window = 5,
    min_count: MinCount = 10,
    max_vocab: MaxVocab = None,
    tokenizer: TokenizerOpt = "words",
    lowercase: Lowercase = True,
    numbers: Numbers = True,
    errors: ErrorsOpt = "strict",
    measure: Annotated[Literal["pmi", "ppmi", "sppmi"], typer.Option(help="Association of word and context.")] = "pmi",
    smoothing: Annotated[float, typer.Option(help="Power of the context counts.")] = 1.0,
    shift: Annotated[float, typer.Option(help="Shift of sppmi.")] = 0.0,
    epochs: Annotated[int, typer.Option(help="Passes over the words at most.")] = 100,
    tol: Annotated[float, typer.Option(help="Stop when the dictionary gains less than this share in a pass.")] = 5e-3,
    dtype: Annotated[Literal["float32", "float64"], typer.Option(help="Numbers to compute with.")] = "float32",
    workers: Workers = None,
    seed: Annotated[int, typer.Option(help="Same seed, same bits.")] = 0,
    resume: Annotated[
        bool, typer.Option("--resume", help="Go on with a run that was broken off, to the same bits.")
    ] = False,
    force: Force = False,
    quiet: Quiet = False,
    verbose: Verbose = False,  # noqa: ARG001 read by friendly
    json: Json = False,
) -> None:
    """Learn word vectors from text, or from a counts folder."""
    from wordforest import experiment

    with _reporter(quiet, json) as report:
        experiment.train(
            corpus, out=out, force=force, resume=resume, workers=workers, report=report,
            n_trees=trees, branching=_branching(branching), lam=_lam(lam), density=density, window=window,
            min_count=min_count,
            max_vocab=max_vocab, tokenizer=tokenizer, lowercase=lowercase, numbers=numbers, errors=errors,
            measure=measure, smoothing=smoothing, shift=shift, epochs=epochs, tol=tol, dtype=dtype, seed=seed,
        )  # fmt: skip


@app.command()
@friendly
def count(
    corpus: CorpusArg,
    out: OutOpt,
    window: Window = 5,
    min_count: MinCount = 10,
    max_vocab: MaxVocab = None,
    tokenizer: TokenizerOpt = "words",
    lowercase: Lowercase = True,
    numbers: Numbers = True,
    errors: ErrorsOpt = "strict",
    workers: Workers = None,
    force: Force = False,
    quiet: Quiet = False,
    verbose: Verbose = False,  # noqa: ARG001 read by friendly
    json: Json = False,
) -> None:
    """Count words and pairs of words into a folder that train takes in place of text."""
    from wordforest import experiment

    with _reporter(quiet, json) as report:
        experiment.count_corpus(
            corpus, out, force=force, workers=workers, report=report,
            window=window, min_count=min_count, max_vocab=max_vocab, tokenizer=tokenizer, lowercase=lowercase,
            numbers=numbers, errors=errors,
        )  # fmt: skip


@app.command()
@friendly
def neighbors(
    vectors: VectorsArg, words: Annotated[list[str], typer.Argument(metavar="WORD...")], k: Neighbours = 10,
    json: Json = False, verbose: Verbose = False,  # noqa: ARG001 read by friendly
) -> None:  # fmt: skip
    """Show the nearest words by cosine."""
    from wordforest.store import read_vectors

    loaded = read_vectors(vectors)
    for word in words:
        _show_neighbors(word, loaded.most_similar(word, k=k), json)


@app.command()
@friendly
def analogy(
    vectors: VectorsArg,
    a: Annotated[str, typer.Argument(metavar="A")],
    b: Annotated[str, typer.Argument(metavar="B")],
    c: Annotated[str, typer.Argument(metavar="C")],
    k: Neighbours = 10,
    json: Json = False,
    verbose: Verbose = False,  # noqa: ARG001 read by friendly
) -> None:
    """A is to B as C is to ?"""
    from wordforest.store import read_vectors

    _show_neighbors(f"{a} : {b} :: {c} :", read_vectors(vectors).analogy(a, b, c, k=k), json)


@app.command()
@friendly
def evaluate(
    vectors: Annotated[list[str], typer.Argument(metavar="VECTORS...", help="Run folders or vector files.")],
    data: Annotated[
        Path | None,
        typer.Option(help="Folder with wordsim/ and analogy/. Default: WORDFOREST_DATA, else gensim's files."),
    ] = None,
    json: Json = False,
    verbose: Verbose = False,  # noqa: ARG001 read by friendly
) -> None:
    """Score vectors on word similarity and analogies."""
    from wordforest import evaluation, terminal
    from wordforest.store import read_vectors

    for name in vectors:
        terminal.show_scores(name, evaluation.evaluate(read_vectors(name), data), as_json=json)


@app.command()
@friendly
def inspect(
    vectors: VectorsArg, k: Neighbours = 6, json: Json = False, verbose: Verbose = False,  # noqa: ARG001 read by friendly
) -> None:  # fmt: skip
    """Show size, sparsity by depth, and the forest with the strongest words of each node."""
    from wordforest import terminal
    from wordforest.store import read_vectors

    terminal.show_forest(vectors, read_vectors(vectors), k, as_json=json)


@app.command()
@friendly
def convert(
    source: Annotated[str, typer.Argument(metavar="IN", help="A run folder, or a word2vec or GloVe file.")],
    target: Annotated[
        Path,
        typer.Argument(
            metavar="OUT",
            help="*.txt *.vec word2vec text, *.bin word2vec binary, *.glove GloVe text, else a run folder.",
        ),
    ],
    force: Force = False,
    verbose: Verbose = False,  # noqa: ARG001 read by friendly
) -> None:
    """Read vectors in one format and write them in another."""
    from wordforest import store

    if target.exists() and not force:
        raise InputError(f"{target} already exists; add --force to replace it or choose another name.")
    if target.exists() and target.resolve() == Path(source).resolve():
        raise InputError(f"{target}: IN and OUT are the same, and OUT would lose what vectors do not hold. Rename OUT.")
    vectors = store.read_vectors(source)
    if target.is_dir() and not target.suffix:
        store.prepare_folder(target, force=force)
    store.write_vectors(target, vectors)
    sys.stderr.write(f"wrote {target}: {len(vectors)} words, {vectors.n_dimensions} dimensions\n")


@app.command()
@friendly
def demo(
    out: OutOpt = Path("demo"), force: Force = False, verbose: Verbose = False,  # noqa: ARG001 read by friendly
) -> None:  # fmt: skip
    """Train on the State of the Union addresses, show neighbours and scores, draw a heatmap and a tree."""
    from wordforest.demo import run_demo, show

    with _reporter(quiet=False, as_json=False) as report:
        run = run_demo(out, force, report)
    show(run, out)


def _lam(text: str) -> float | str:
    try:
        return text if text == "auto" else float(text)
    except ValueError:
        raise InputError(f"--lam {text}: expected a number, as in 0.1, or auto.") from None


def _branching(text: str) -> tuple[int, ...]:
    try:
        return tuple(int(part) for part in text.split(",")) if text.strip() else ()
    except ValueError:
        raise InputError(f"--branching {text}: expected whole numbers with commas between, as in 3,3.") from None


def _reporter(quiet: bool, as_json: bool) -> Any:
    from wordforest.progress import make_reporter

    return make_reporter(quiet=quiet, as_json=as_json)


def _show_neighbors(title: str, found: list[tuple[str, float]], as_json: bool) -> None:
    from wordforest import terminal

    terminal.show_neighbors(title, found, as_json=as_json)


def main() -> None:
    """Run the command line; wrong use is told in two lines."""
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(errors="replace")  # a terminal without Unicode still shows the rest
    try:
        sys.exit(app(prog_name="wordforest", standalone_mode=False))
    except UsageError as error:
        command = error.ctx.command_path if error.ctx else "wordforest"
        sys.stderr.write(f"error: {error.format_message()}\nTry: {command} --help\n")
        sys.exit(2)
