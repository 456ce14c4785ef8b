"""Commands that learn: train, count, baseline."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any, Literal

import typer

from wordforest.cli.base import (
    ClusterOpt,
    CorpusArg,
    DynamicWindow,
    ErrorsOpt,
    Force,
    Json,
    Lowercase,
    MaxVocab,
    Memory,
    MinCount,
    Numbers,
    OutOpt,
    Quiet,
    Seed,
    Subsample,
    TokenizerOpt,
    Verbose,
    Window,
    Workers,
    app,
    as_bytes,
    friendly,
    reporter,
)
from wordforest.errors import InputError

KeepWords = Annotated[
    Path | None, typer.Option("--keep-words", help="File of words, one a line, to keep even if they are rare.")
]
MaxContexts = Annotated[
    int | None, typer.Option(help="Contexts: this many of the most frequent words; pairs with others do not count.")
]
SubsampleSeed = Annotated[int, typer.Option(min=0, help="Which occurrences --subsample drops.")]
MarkSides = Annotated[bool, typer.Option("--mark-sides", help="Left and right neighbours are contexts of their own.")]


@app.command()
@friendly
def train(
    corpus: CorpusArg,
    out: OutOpt,
    preset: Annotated[
        Literal["paper", "best", "readable"],
        typer.Option(
            help="paper; best: pairs weighed by how often they were seen, for the best scores; readable: few "
            "non-negative codes, trees that begin as nested clusters of words."
        ),
    ] = "paper",
    trees: Annotated[
        int | None, typer.Option(help="Trees; M = 13 x trees with the default branching. Default: 4, readable 20.")
    ] = None,
    branching: Annotated[
        str, typer.Option(help="Children of a node at each depth, as in 3,3; empty for single nodes.")
    ] = "3,3",
    grow: Annotated[
        bool, typer.Option("--grow", help="Find the shape of the trees, with as many nodes; unused ones go.")
    ] = False,
    lam: Annotated[
        str | None,
        typer.Option(help="Weight of the penalty, or auto: chosen by --density. Default: 0.1, readable 0.8."),
    ] = None,
    depth_weights: Annotated[
        str | None,
        typer.Option(help="Weights of the penalty by depth, as in 1,1,1, all alike. Default of readable: 0.5,0.8,1."),
    ] = None,
    density: Annotated[float, typer.Option(help="With --lam auto: the share of non-zeros to aim at.")] = 0.5,
    window: Window = 5,
    min_count: MinCount = 10,
    max_vocab: MaxVocab = None,
    dynamic_window: Annotated[
        bool | None,
        typer.Option("--dynamic-window/--even-window", help="Pairs at distance d count like 1/d. Default of best."),
    ] = None,
    subsample: Annotated[
        float | None, typer.Option(help="Threshold for dropping frequent words, as 1e-4. Default: 0, best 1e-4.")
    ] = None,
    subsample_seed: SubsampleSeed = 0,
    keep_words: KeepWords = None,
    max_contexts: MaxContexts = None,
    mark_sides: Annotated[
        bool | None,
        typer.Option(
            "--mark-sides/--one-side", help="Left and right neighbours are contexts of their own. Default of best."
        ),
    ] = None,
    tokenizer: TokenizerOpt = "words",
    lowercase: Lowercase = True,
    numbers: Numbers = True,
    errors: ErrorsOpt = "strict",
    measure: Annotated[
        Literal["pmi", "ppmi", "sppmi"] | None,
        typer.Option(help="Association of word and context. Default: pmi, readable ppmi."),
    ] = None,
    smoothing: Annotated[float, typer.Option(help="Power of the context counts.")] = 1.0,
    shift: Annotated[float, typer.Option(help="Shift of sppmi.")] = 0.0,
    nonnegative: Annotated[
        bool | None,
        typer.Option("--nonnegative/--signed", help="Codes and dictionary at or above zero. Default of readable."),
    ] = None,
    init: Annotated[
        Literal["random", "rows", "nested", "spectral"] | None,
        typer.Option(
            help="Start of the dictionary: random, words, nested clusters, rotated singular vectors. Default: random, "
            "readable nested, best spectral."
        ),
    ] = None,
    spectrum: Annotated[
        float | None, typer.Option(help="spectral: power of the singular values in the codes, 0 to 1. Default: 0.5.")
    ] = None,
    word_power: Annotated[
        float | None, typer.Option(help="A word counts like its frequency to this power. Default: 0, readable 0.2.")
    ] = None,
    learner: Annotated[
        Literal["online", "entries"],
        typer.Option(help="online: dictionary learning over all pairs; entries: the paper's Algorithm 1."),
    ] = "online",
    weights: Annotated[
        str | None,
        typer.Option(
            metavar="none|abs|count:P|glove:X,P",
            help="Weight of a stored pair: 1, |x|, (n / mean n)^P, min(1, n / X)^P. Default: none, entries abs.",
        ),
    ] = None,
    zeros: Annotated[
        float | None, typer.Option(help="Weight of pairs that are not stored. Default: 1, entries 0.")
    ] = None,
    unit: Annotated[
        bool | None, typer.Option("--unit/--raw", help="Divide every vector by its length. Default of best.")
    ] = None,
    eta: Annotated[float | None, typer.Option(help="entries: step size. Default: searched.")] = None,
    tau: Annotated[float, typer.Option(help="entries: ridge on the dictionary.")] = 0.01,
    schedule: Annotated[
        Literal["constant", "inverse", "linear", "adagrad"], typer.Option(help="entries: how steps shrink.")
    ] = "linear",
    sampling: Annotated[
        Literal["proportional", "uniform"], typer.Option(help="entries: draw by |x|, or all alike with scaled steps.")
    ] = "proportional",
    lazy: Annotated[int, typer.Option(help="entries: visits of a word that share one prox.")] = 1,
    epochs: Annotated[int | None, typer.Option(help="Passes at most. Default: 100 online, 10 over entries.")] = None,
    tol: Annotated[
        float | None,
        typer.Option(help="Stop when a pass gains less than this share. Default: 5e-3, entries 1e-3."),
    ] = None,
    dtype: Annotated[Literal["float32", "float64"], typer.Option(help="Numbers to compute with.")] = "float32",
    device: Annotated[Literal["cpu", "cuda"], typer.Option(help="Where learning computes.")] = "cpu",
    precision: Annotated[
        Literal["float32", "tf32", "bfloat16"],
        typer.Option(help="online, cuda: of the dense products; the last pass is float32."),
    ] = "float32",
    workers: Workers = None,
    cluster: ClusterOpt = None,
    memory: Memory = None,
    seed: Seed = 0,
    resume: Annotated[
        bool, typer.Option("--resume", help="Go on with a run that was broken off, to the same bits.")
    ] = False,
    force: Force = False,
    quiet: Quiet = False,
    verbose: Verbose = False,  # noqa: ARG001 read by friendly
    json: Json = False,
) -> None:
    """Learn word vectors from text, or from a counts folder."""
    from wordforest.jobs.train import train as run_train

    asked = {
        "trees": trees, "lam": lam if lam is None else _lam(lam), "measure": measure, "nonnegative": nonnegative,
        "init": init, "word_power": word_power, "tol": tol, "weights": weights, "zeros": zeros, "spectrum": spectrum,
        "unit": unit, "dynamic_window": dynamic_window, "subsample": subsample, "mark_sides": mark_sides,
        "depth_weights": depth_weights if depth_weights is None else _numbers("--depth-weights", depth_weights),
    }  # fmt: skip
    with reporter(quiet, json) as report:
        run_train(
            corpus, out=out, force=force, resume=resume, workers=workers, memory=as_bytes(memory), report=report,
            cluster=cluster, preset=preset, branching=_branching(branching), grow=grow, density=density, window=window,
            min_count=min_count, max_vocab=max_vocab, keep_words=_listed(keep_words), max_contexts=max_contexts,
            subsample_seed=subsample_seed, tokenizer=tokenizer, lowercase=lowercase, numbers=numbers, errors=errors,
            smoothing=smoothing, shift=shift, epochs=epochs, dtype=dtype, device=device, seed=seed,
            learner=learner, eta=eta, tau=tau, schedule=schedule, sampling=sampling, lazy=lazy, precision=precision,
            **{name: value for name, value in asked.items() if value is not None},
        )  # fmt: skip


@app.command()
@friendly
def count(
    corpus: CorpusArg,
    out: OutOpt,
    window: Window = 5,
    min_count: MinCount = 10,
    max_vocab: MaxVocab = None,
    dynamic_window: DynamicWindow = False,
    subsample: Subsample = 0.0,
    subsample_seed: SubsampleSeed = 0,
    keep_words: KeepWords = None,
    max_contexts: MaxContexts = None,
    mark_sides: MarkSides = False,
    tokenizer: TokenizerOpt = "words",
    lowercase: Lowercase = True,
    numbers: Numbers = True,
    errors: ErrorsOpt = "strict",
    workers: Workers = None,
    cluster: ClusterOpt = None,
    extendable: Annotated[
        bool, typer.Option("--extendable", help="Keep the counts of rare words, too, so that text can be added later.")
    ] = False,
    add: Annotated[
        Path | None, typer.Option("--add", help="Counts made with --extendable, whose text is to be counted, too.")
    ] = None,
    memory: Memory = None,
    resume: Annotated[
        bool, typer.Option("--resume", help="Go on with counting that was broken off, to the same bits.")
    ] = False,
    force: Force = False,
    quiet: Quiet = False,
    verbose: Verbose = False,  # noqa: ARG001 read by friendly
    json: Json = False,
) -> None:
    """Count words and pairs of words into a folder that train takes in place of text."""
    from wordforest.jobs.count import count_corpus
    from wordforest.jobs.extend import count_extendable

    settings: dict[str, Any] = {
        "window": window, "min_count": min_count, "max_vocab": max_vocab, "dynamic_window": dynamic_window,
        "subsample": subsample, "subsample_seed": subsample_seed, "keep_words": _listed(keep_words),
        "max_contexts": max_contexts, "mark_sides": mark_sides, "tokenizer": tokenizer, "lowercase": lowercase,
        "numbers": numbers, "errors": errors,
    }  # fmt: skip
    with reporter(quiet, json) as report:
        common: dict[str, Any] = {
            "force": force, "resume": resume, "workers": workers, "memory": as_bytes(memory), "report": report,
        }  # fmt: skip
        if not (extendable or add):
            count_corpus(corpus, out, cluster=cluster, **common, **settings)
            return
        if cluster:
            raise InputError("--extendable and --add count on one machine. Leave out --cluster.")
        count_extendable(corpus, out, add=add, **common, **settings)


@app.command()
@friendly
def baseline(
    name: Annotated[str, typer.Argument(metavar="NAME", help="pca sc nnse hpca cbow sg cbow-hs sg-hs nce rnn")],
    corpus: CorpusArg,
    out: OutOpt,
    dimensions: Annotated[int, typer.Option(help="M, the length of a vector.")] = 52,
    window: Annotated[int | None, typer.Option(help="Context words on each side; all but rnn. Default: 5.")] = None,
    min_count: MinCount = 10,
    max_vocab: MaxVocab = None,
    dynamic_window: Annotated[
        bool | None, typer.Option("--dynamic-window", help="pca sc nnse hpca: pairs at distance d count like 1/d.")
    ] = None,
    subsample: Annotated[
        float | None,
        typer.Option(help="All but nce rnn: threshold for dropping frequent words. cbow, sg: 1e-3, else 0."),
    ] = None,
    subsample_seed: Annotated[
        int | None, typer.Option(help="pca sc nnse hpca: which occurrences --subsample drops.")
    ] = None,
    keep_words: KeepWords = None,
    max_contexts: Annotated[
        int | None, typer.Option(help="pca sc nnse hpca: contexts are this many of the most frequent words.")
    ] = None,
    mark_sides: Annotated[
        bool | None, typer.Option("--mark-sides", help="pca sc nnse hpca: left and right contexts are kept apart.")
    ] = None,
    tokenizer: TokenizerOpt = "words",
    lowercase: Lowercase = True,
    numbers: Numbers = True,
    errors: ErrorsOpt = "strict",
    measure: Annotated[
        Literal["pmi", "ppmi", "sppmi"] | None, typer.Option(help="pca sc nnse: association. Default: pmi.")
    ] = None,
    smoothing: Annotated[float | None, typer.Option(help="pca sc nnse: power of the context counts.")] = None,
    shift: Annotated[float | None, typer.Option(help="pca sc nnse: shift of sppmi.")] = None,
    lam: Annotated[float | None, typer.Option(help="sc nnse: weight of the penalty. Default: 0.1.")] = None,
    power: Annotated[
        float | None, typer.Option(help="pca hpca: words are U S^power, default 1; nce: power of the noise counts.")
    ] = None,
    epochs: Annotated[int | None, typer.Option(help="Passes over the words or the text; all but pca hpca.")] = None,
    eta: Annotated[float | None, typer.Option(help="cbow sg nce rnn: step size at the start.")] = None,
    negative: Annotated[int | None, typer.Option(help="cbow sg: negative samples. Default: 5.")] = None,
    noise: Annotated[int | None, typer.Option(help="nce: noise words for each word. Default: 25.")] = None,
    device: Annotated[str, typer.Option(help="nce rnn: cpu or cuda.")] = "cpu",
    workers: Workers = None,
    memory: Annotated[str | None, typer.Option(help="pca sc nnse hpca: ceiling for counting, as in 8G.")] = None,
    seed: Seed = 0,
    force: Force = False,
    quiet: Quiet = False,
    verbose: Verbose = False,  # noqa: ARG001 read by friendly
    json: Json = False,
) -> None:
    """Learn the vectors of a competing method from the same text, by the same rules."""
    from wordforest.jobs.baseline import baseline as run_baseline

    asked = {
        "window": window, "dynamic_window": dynamic_window or None, "subsample": subsample, "measure": measure,
        "smoothing": smoothing, "shift": shift, "lam": lam, "power": power, "epochs": epochs, "eta": eta,
        "negative": negative, "noise": noise, "max_contexts": max_contexts, "mark_sides": mark_sides or None,
        "subsample_seed": subsample_seed,
    }  # fmt: skip
    with reporter(quiet, json) as report:
        run_baseline(
            name, corpus, out=out, force=force, workers=workers, memory=as_bytes(memory), device=device, report=report,
            dimensions=dimensions, min_count=min_count, max_vocab=max_vocab, keep_words=_listed(keep_words),
            tokenizer=tokenizer, lowercase=lowercase, numbers=numbers, errors=errors, seed=seed,
            **{option: value for option, value in asked.items() if value is not None},
        )  # fmt: skip


def _listed(path: Path | None) -> tuple[str, ...]:
    from wordforest.store.files import read_text

    return () if path is None else tuple(word for line in read_text(path).splitlines() if (word := line.strip()))


def _lam(text: str) -> float | str:
    try:
        return text if text == "auto" else float(text)
    except ValueError:
        raise InputError(f"--lam {text}: expected a number, as in 0.1, or auto.") from None


def _numbers(option: str, text: str) -> tuple[float, ...]:
    try:
        return tuple(float(part) for part in text.split(","))
    except ValueError:
        raise InputError(f"{option} {text}: expected numbers with commas between, as in 0.5,0.8,1.") from None


def _branching(text: str) -> tuple[int, ...]:
    try:
        return tuple(int(part) for part in text.split(",")) if text.strip() else ()
    except ValueError:
        raise InputError(f"--branching {text}: expected whole numbers with commas between, as in 3,3.") from None
