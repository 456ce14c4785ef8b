"""Learner 1 of the paper: online dictionary learning (Mairal et al. 2010) with forest codes.

A step codes a mini-batch of words with the current dictionary and then moves the dictionary. The statistics
``AA = A'A`` and ``XA = X'A`` always belong to the newest code of every word (a word not seen yet has code 0), so every
step lowers one and the same objective: that of all words. Passes go on until the moves of the dictionary in a whole
pass lower it by less than a given share. A last pass codes all words to the end, with a certificate.

Which words, which order, which blocks: decided here from one seed. Blocks do not depend on the number of workers, each
is computed by one thread, and sums run in the order of blocks and shards (``rows/shards.py``), so neither do the bits
of the result, wherever X is.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from wordforest.coder import kernels
from wordforest.coder.coding import (
    Coding,
    Gram,
    Solver,
    code_batch,
    code_to_the_end,
    divided,
    solver_for,
    squares_of,
    weigh,
)
from wordforest.coder.density import lam_for_density
from wordforest.coder.dictionary import CodeStats, random_columns, update_dictionary, update_nonnegative_dictionary
from wordforest.coder.learn import Learned, Learner, Moved, OnStep, State, TolOf, check_learning_fits, learn
from wordforest.coder.penalties import MostActive, Penalty, with_lam
from wordforest.coder.rows import Rows, Words, as_rows
from wordforest.errors import InputError
from wordforest.options import default
from wordforest.runtime.machine import Executor

Array = Any  # a NumPy array or a PyTorch tensor

_SMALLEST_BATCH = 512  # words; fewer make steps that are all overhead
_JUDGES = 4096  # rows at most whose density is looked at: the average of all rows is within 2 % or so then


@dataclass(frozen=True)
class OnlineSettings:
    """How to learn online.

    Args:
        epochs: Passes at most.
        tol: Stop when moving the dictionary lowers the objective by less than this share in a pass.
        tol_of: What ``tol`` is a share of: objective or penalty.
        batches: Dictionary updates in a pass over the words, fewer if they are few.
        solver: Codes the words of a batch: ``admm``, ``fista``, ``pursuit``; by the penalty if None.
        inner_iter: Iterations on a batch; warm starts carry the rest into the next pass.
        exact_tol: Relative duality gap of the last pass; by the type of X if None.
        seed: Of the start and of the order of words.
        nonnegative: Atoms without negative values; codes are the penalty's business.
        revive: Atoms that no word uses start anew; where a start has given them a meaning, better not.
        density: The share of codes that are not zero, for ``MostActive``: its price is found anew before every pass.

    Examples:
        >>> import wordforest as wf
        >>> wf.coder.OnlineSettings(epochs=5, solver=wf.coder.fista).batches
        8
    """

    epochs: int = default("epochs", "online")
    tol: float = default("tol", "online")
    tol_of: TolOf = default("tol_of")
    batches: int = 8
    solver: Solver | None = None
    inner_iter: int = 5
    exact_tol: float | None = None
    seed: int = 0
    nonnegative: bool = False
    revive: bool = True
    density: float | None = None


def learn_online(
    X: Any,
    penalty: Penalty,
    n_components: int,
    settings: OnlineSettings | None = None,
    *,
    start: Array | None = None,
    weights: Array | None = None,
    resume: State | None = None,
    executor: Executor | None = None,
    on_step: OnStep | None = None,
) -> Learned:
    """Learn a dictionary D (C, M), M = ``n_components``, and the codes A (V, M) of all rows of X (V, C).

    X is a matrix or Rows. Minimises ``|X - A D'|^2 + lam sum_v Omega(a_v)`` with columns of D of length at most 1.
    ``start`` is the first dictionary, (C, M); random directions if it is left out. ``weights`` (V,) says how much each
    row counts. ``on_step(step, state)`` hears of every step, and ``resume`` goes on from such a state. What comes back
    has ``D``, ``A``, ``history``, ``gap`` and ``converged``.

    Examples:
        >>> import numpy as np
        >>> import wordforest as wf
        >>> X = np.array([[4, 2, 0, 0], [5, 3, 0, 0], [0, 0, 4, 3], [0, 0, 2, 3]], float)
        >>> penalty = wf.coder.ForestL2(wf.Forest([-1, -1]), lam=0.1)
        >>> learned = wf.coder.learn_online(X, penalty, n_components=2)
        >>> learned.D.shape, learned.A.shape, learned.gap < 1e-6
        ((4, 2), (4, 2), True)
    """
    rows = as_rows(X, executor)
    return learn(Online(rows, penalty, n_components, settings, start, weights), resume=resume, on_step=on_step)


class Online(Learner):
    """Codes a batch, replaces its statistics, sweeps the dictionary."""

    D: Array
    XA: Array
    AA: Array
    gram: Gram
    cross: float  # <XA, D>

    def __init__(
        self,
        rows: Rows,
        penalty: Penalty,
        n_components: int,
        settings: OnlineSettings | None = None,
        start: Array | None = None,
        weights: Array | None = None,
        lengths: Array | None = None,
    ) -> None:
        super().__init__()
        self.rows, self.penalty, self.start = rows, penalty, start
        self.settings = settings = settings or OnlineSettings()
        self.epochs, self.tol, self.tol_of = settings.epochs, settings.tol, settings.tol_of
        self.revive, self.nonnegative = settings.revive, settings.nonnegative
        (V, C), M = rows.shape, n_components if start is None else start.shape[1]
        if V < 1 or C < 1:
            raise InputError(f"X has shape {rows.shape}, but learning needs at least one word and one context.")
        check_learning_fits(M, rows.words_here, C)
        self.M, self.anneals = M, isinstance(penalty, MostActive)  # codes found greedily may get worse
        given = {"weights": weights, "lengths": lengths}
        self.words: Words = {name: rows.own(values) for name, values in given.items() if values is not None}
        rows.finite_squares()
        squares = squares_of(rows, self.words, slice(None))  # |x_v|^2, (V,)
        self.words |= {"losses": squares + 0, "penalties": squares * 0}
        self.energy = float(self._weighted(squares).sum())
        self._uses = kernels.zeros((M,), rows.like, "int64")
        self._filled = 0
        self.gap = float("nan")
        self.density = settings.density
        self.judges = np.zeros(0, dtype=np.int64) if self.density is None else self._drawn(weights)

    def _drawn(self, weights: Array | None) -> Array:
        """Return the rows whose density is looked at: of those that count, drawn by the seed."""
        counted = np.arange(self.rows.shape[0]) if weights is None else np.flatnonzero(kernels.on_host(weights) > 0)
        return np.sort(np.random.default_rng((self.settings.seed, 4)).permutation(counted)[:_JUDGES])

    def begin(self) -> None:
        """Start from a dictionary and codes of zeros."""
        (V, C), M = self.rows.shape, self.M
        D = self.start
        if D is None:
            D = random_columns((C, M), self.settings.seed, nonnegative=self.nonnegative, like=self.rows.like)
        self.D = self.rows.own(D)
        self.A = self.words["A"] = self.rows.zeros((V, M))
        self.AA, self.XA = kernels.zeros((M, M), self.D, "float64"), self.D * 0
        self.atoms_moved()

    def load(self, arrays: dict[str, Array]) -> None:
        """Start from what an earlier learner saved."""
        own, like = self.rows.own, self.rows.like
        self.D, self.XA = own(arrays["D"]), own(arrays["XA"])
        self.AA, self.words["losses"] = (kernels.placed(arrays[name], like) + 0 for name in ("AA", "losses"))
        if self.density is not None:
            self.penalty = with_lam(self.penalty, float(arrays["lam"][0]))
        self.A = A = self.words["A"] = self.rows.zeros(arrays["A"].shape)
        for shard in (slice(*shard) for shard in self.rows.shards(self.M)):
            A[shard] = kernels.placed(arrays["A"][shard], like)
            self._uses = self._uses + kernels.uses(weigh(A[shard], self.words, shard))
            self._filled += int(kernels.uses(A[shard]).sum())
        self._weigh_codes()
        self.atoms_moved()

    @property
    def atoms(self) -> Array:
        """What the dictionary is made of, (C, M): here itself."""
        return self.D

    def saved(self) -> dict[str, Array]:
        """Return what ``load`` needs."""
        saved = {"D": self.D, "A": self.A, "AA": self.AA, "XA": self.XA, "losses": self.words["losses"]}
        return saved if self.density is None else {**saved, "lam": np.array([self.penalty.lam])}

    def remember(self, stats: CodeStats, uses: Array) -> None:
        """Add what rows that are gone came to: their statistics, and how many of them use each atom, (M,)."""
        like = self.rows.like
        self.AA += kernels.placed(stats.AA, like)
        self.XA += kernels.as_type(stats.XA, like)
        self._uses = self._uses + kernels.placed(uses, like)
        self.atoms_moved()

    def batches(self, epoch: int) -> list[Array]:
        """Split the words into the batches of a pass, at random; a batch is in row order."""
        n_words = self.rows.shape[0]
        n = max(1, min(self.settings.batches, n_words // _SMALLEST_BATCH))
        order = np.random.default_rng((self.settings.seed, epoch)).permutation(n_words)
        return [np.sort(part) for part in np.array_split(order, n)]

    @cached_property
    def _sample(self) -> Rows:
        return self.rows.take(self.judges)

    def find_lam(self) -> None:
        """Find the weight of the penalty, or the price of a node, for the density that the judges' codes should have.

        The codes of all words stay as they are, at the new price.
        """
        if self.density is None or not len(self.judges):
            return
        judges = kernels.placed(self.judges, self.rows.like)
        XD = divided(self._sample.all_times(self.D), self.words, judges)
        self.penalty = with_lam(self.penalty, self._lam_for(XD, self.density))
        self._weigh_codes()

    def _lam_for(self, XD: Array, density: float) -> float:
        """Return the weight of the penalty for a density of the judges' codes, given their XD (n, M)."""
        near = self.penalty.lam
        return lam_for_density(XD, self.gram, self.penalty, density, density_of=self._density_of, near=near)

    def _density_of(self, codes: Array) -> float:
        """Return the share of the judges' codes (n, M) that are not zero, each row with its weight."""
        on = kernels.wide((self.seen(codes) != 0).sum(1))
        if "weights" not in self.words:
            return float(on.mean()) / self.M
        weights = kernels.wide(self.words["weights"][kernels.placed(self.judges, self.rows.like)])
        return float((on * weights).sum() / weights.sum()) / self.M

    def seen(self, codes: Array) -> Array:
        """Return what a person sees of codes (n, M): here themselves."""
        return codes

    def _weigh_codes(self) -> None:
        """Set lam Omega of all words as they are coded."""
        for shard in (slice(*shard) for shard in self.rows.shards(self.M)):
            self.words["penalties"][shard] = self.penalty.per_word(self.A[shard])

    def step(self, epoch: int, batch: Array, before: float) -> Moved:  # noqa: ARG002 others need both
        """Code a batch and move the dictionary; only the latter is its gain, since codes would get better anyway."""
        batch = kernels.placed(batch, self.rows.like)
        for shard in self.rows.run_and_add(code_batch, self.words, batch, self._coding(), self.XA):
            for sums in shard:
                self.AA += sums.AA
                self.cross += sums.cross
                self._uses = self._uses + sums.uses
                self._filled += sums.filled
        coded = self._loss()
        dead = self._uses == 0
        self.AA[dead], self.AA[:, dead], self.XA[:, dead] = 0, 0, 0  # what rounding has left there
        self.D = self._updated(self.D, CodeStats(self.AA, self.XA), self.gram.DD)
        self.atoms_moved()
        return Moved(self.objective(), coded - self._loss(), len(batch))

    def _updated(self, D: Array, stats: CodeStats, DD: Array) -> Array:
        """Return a better dictionary for the codes as they are."""
        update = update_nonnegative_dictionary if self.nonnegative else update_dictionary
        return update(D, stats, DD, executor=self.rows.executor)

    def finish(self) -> Moved:
        """Find lam, where a density is asked for, and code all words to the end."""
        self.find_lam()
        V = self.rows.shape[0]
        parts = self.rows.run(code_to_the_end, self.words, self.rows.numbers(V), self._coding())
        solved = [block for part in parts for block in part]
        self.gap, self._filled = max(block.gap for block in solved), sum(block.filled for block in solved)
        if not all(block.converged for block in solved):
            self.notices.append(f"some codes are not exact yet: the worst relative duality gap is {self.gap:.1e}.")
        return Moved(sum(block.loss for block in solved) + self.omega(), 0.0, V)

    def atoms_moved(self) -> None:
        """Take the inner products of the dictionary with itself and with XA."""
        DD, self.cross = kernels.inner_products(self.D, self.XA, self.rows.executor)
        self.gram = Gram(DD)

    def objective(self) -> float:
        """Return the objective of all words, from the statistics."""
        return self._loss() + self.omega()

    def omega(self) -> float:
        """Return lam Omega of all words, each with its weight."""
        return float(self._weighted(self.words["penalties"]).sum())

    def uses(self) -> Array:
        """Return how many words use each atom, (M,)."""
        return self._uses

    def n_nonzeros(self) -> int:
        """Return how many numbers of A are not zero."""
        return self._filled

    def losses(self) -> Array:
        """Return the loss of every word when it was last coded, 0 where it does not count, (V,)."""
        losses = self.words["losses"]
        return losses * (self.words["weights"] > 0) if "weights" in self.words else losses

    def facts(self) -> dict[str, float]:
        """Return the worst gap, and lam where it was looked for."""
        return {"gap": self.gap} | ({} if self.density is None else {"lam": self.penalty.lam})

    def _coding(self) -> Coding:
        settings = self.settings
        solver = settings.solver or solver_for(self.penalty)
        return Coding(self.D, self.gram, self.penalty, solver, settings.inner_iter, settings.exact_tol)

    def _loss(self) -> float:
        """``|X - A D'|^2`` of all words, from the statistics."""
        return self.energy - 2 * self.cross + kernels.inner(self.AA, self.gram.DD)

    def _weighted(self, values: Array) -> Array:
        return weigh(values, self.words, slice(None))
