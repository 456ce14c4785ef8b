"""Learner 2 of the paper on PyTorch tensors, on one GPU: the same strata, visits, guard and search.

Words and contexts are cut into more blocks than on the processor, and all blocks of a round are visited at once, each
in its own order (``kernels/visits.py``). Step sizes and the pull of unstored pairs stay for several rounds, so that a
pass renews them as often as the processor does. Which entries are visited is drawn on the device, by a generator of
counters: the same seed gives the same visits on every device, but others than those of the processor's learner.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from wordforest.coder.entries import BOUND, CAUTION, Entries, EntrySettings, Work
from wordforest.coder.entries_objective import EntryObjective, shape_of
from wordforest.coder.kernels import wide_gram
from wordforest.coder.kernels.counter import below, random_bits, uniform
from wordforest.coder.kernels.entries import Visited
from wordforest.coder.kernels.visits import Visits, visit_blocks, weighted_squares
from wordforest.coder.penalties import Penalty
from wordforest.coder.rows import Rows
from wordforest.coder.rows.pairs import Pairs
from wordforest.runtime.machine import Executor

Array = NDArray[Any]
Tensor = Any

_MOST_BLOCKS = 512  # along a side; a program of the GPU for each
_LEAST_VISITS = 128  # of a block in a pass, where there are enough entries
_FINE = 1 << 20  # masses are added up as whole numbers of this part, whose sums do not depend on the order


@dataclass(frozen=True, eq=False)
class _Entries:
    """The cut entries on the device, an array for each field, block after block; see ``kernels/entries.py``."""

    word: Tensor
    context: Tensor
    value: Tensor
    keep: Tensor
    mass: Tensor
    alias: Tensor
    starts: Tensor  # (P * P + 1,)


class DeviceEntries(Entries):
    """Makes passes on a device."""

    def __init__(
        self,
        device: str,
        rows: Rows,
        weights: Array | None,
        penalty: tuple[Penalty, int],
        settings: EntrySettings | None,
    ) -> None:
        self.device = device
        super().__init__(rows, weights, penalty, settings, np.empty)
        self.shape = shape_of(*penalty)
        strata = self.strata
        names = strata.entries.dtype.names or ()
        fields = {name: self._put(strata.entries[name]) for name in names}
        self.entries = _Entries(**fields, starts=self._put(strata.starts))
        self.strata = replace(strata, entries=strata.entries[:0])  # the device has them
        self.orders = [self._put(order) for order in (strata.contexts, strata.words)]
        self.backs = [self._put(np.argsort(order)) for order in (strata.contexts, strata.words)]
        self.masses = [self._put(mass) for mass in (strata.word_mass, strata.context_mass)]
        self.drawn: tuple[int, Array, Array] | None = None

    def _put(self, values: Array) -> Tensor:
        import torch

        return torch.as_tensor(np.ascontiguousarray(values)).to(self.device)

    def _blocks(self, n_pairs: int) -> int:
        """Return P: enough blocks for the GPU, but not so many that they hold next to nothing."""
        return max(self.settings.blocks, min(_MOST_BLOCKS, int((n_pairs / _LEAST_VISITS) ** 0.5)))

    def _objective(self, pairs: Pairs, charged: tuple[Any, Any]) -> EntryObjective:
        settings = self.settings
        plain = EntryObjective(pairs, self.penalty, settings.tau, settings.zeros, charged, settings.seed)
        return _DeviceObjective(plain, self.device)

    @property
    def n_rounds(self) -> int:
        """Groups of rounds, with one step size and pull each."""
        return min(self.settings.blocks, self.strata.P)

    def load(self, arrays: dict[str, Any]) -> None:
        """Start from what an earlier learner saved, there or here."""
        import torch

        kind = getattr(torch, self.kind.name)
        self.D, self.A = (torch.as_tensor(arrays[name]).to(self.device, kind, copy=True) for name in ("D", "A"))
        self.eta = float(arrays["eta"][0])

    def _rounds(self, epoch: int, eta: float, n_rounds: int, n_blocks: int | None = None) -> tuple[Work, bool]:
        """Return where rounds lead to, and whether all stayed within bounds; D and A stay as they are.

        ``n_blocks`` of P means that share of a group of rounds.
        """
        work = Work(self.D[self.orders[0]], self.A[self.orders[1]], eta)
        share = 1.0 if n_blocks is None else n_blocks / self.n_rounds
        sane = all(self._group(epoch, number, work, share) for number in range(n_rounds)) and _is_bounded(work)
        return Work(work.D[self.backs[0]], work.A[self.backs[1]], eta), sane

    def _group(self, epoch: int, number: int, work: Work, share: float) -> bool:
        """Visit the blocks of a group of rounds; False if anything got out of bounds."""
        if self.settings.zeros > 0 and not _is_bounded(work):
            return False
        order, counts = self._plan(epoch)
        blocks = np.array_split(order, self.n_rounds)[number]  # (rounds, P)
        blocks = blocks[: int(np.ceil(share * len(blocks)))]
        visits = self._draw(blocks, counts, self._key(epoch, number))
        words, contexts = self._sides_of(work, visits, self._decay(epoch, number))
        starts, P = visits.starts, self.strata.P
        sane = [
            visit_blocks(
                replace(visits, starts=starts[i * P : (i + 1) * P + 1]), words, contexts, self.shape, self.rule
            )
            for i in range(len(blocks))
        ]
        return all(bool(one) for one in sane)

    def _plan(self, epoch: int) -> tuple[Array, Array]:
        """Return the blocks of every round of a pass, (P, P), and how many visits each block gets, (P * P,)."""
        if self.drawn is None or self.drawn[0] != epoch:
            seed = (self.settings.seed, 2, epoch)
            sizes = np.diff(self.strata.starts)
            if self.settings.sampling == "proportional":
                chance = np.random.default_rng((*seed, 0)).random(len(sizes))
                sizes = (self.strata.block_mass.ravel() + chance).astype(np.int64) * (sizes > 0)
            self.drawn = epoch, self.strata.order(seed), sizes
        return self.drawn[1], self.drawn[2]

    def _key(self, epoch: int, number: int) -> int:
        return int(np.random.SeedSequence((self.settings.seed, 4, epoch, number)).generate_state(1, np.uint64)[0])

    def _draw(self, blocks: Array, counts: Array, key: int) -> Visits:
        """Return the visits of rounds of blocks, round after round."""
        import torch

        entries, chosen = self.entries, self._put(blocks.ravel())
        n = self._put(counts[blocks.ravel()])
        starts = torch.cat([n.new_zeros(1), n.cumsum(0)])
        total = int(counts[blocks].sum())
        which = torch.repeat_interleave(torch.arange(len(n), device=n.device), n, output_size=total)
        first = entries.starts[chosen]
        bits = random_bits(key, total, n)
        if self.settings.sampling == "proportional":
            sizes = entries.starts[chosen + 1] - first
            places = first[which] + below(bits, sizes[which])
            lost = uniform(bits) >= entries.mass[places]
            places = torch.where(lost, first[which] + entries.alias[places], places)
            masses = None
        else:
            mixed = bits.argsort(stable=True)
            mixed = mixed[which[mixed].argsort(stable=True)]
            places = first[which] + (mixed - starts[which])
            masses = entries.mass[places]
        return Visits(
            entries.word[places], entries.context[places], entries.value[places], entries.keep[places], masses, starts
        )

    def _sides_of(self, work: Work, visits: Visits, decay: float) -> tuple[Visited, Visited]:
        """Return what the visits of a group of rounds see of the words and of the contexts."""
        DD = AA = None
        if self.settings.zeros > 0:
            DD, AA = wide_gram(work.D, self.executor), wide_gram(work.A, self.executor)
        rows = (work.A, self.penalty.lam), (work.D, self.settings.tau)
        seen = (visits.words, visits.contexts)
        sides = [
            self._side_of(*part, mass, (work.eta, decay), other, self._visited(visits, which, len(mass)))
            for part, mass, other, which in zip(rows, self.masses, (DD, AA), seen, strict=True)
        ]
        return sides[0], sides[1]

    def _visited(self, visits: Visits, rows: Tensor, n: int) -> Tensor:
        """Return the mass of the visits that every row gets, (n,), float64; where unstored pairs count."""
        import torch

        if self.settings.zeros == 0:
            return rows[:0]
        masses = _FINE if visits.masses is None else (visits.masses.double() * _FINE).round().long()
        added = torch.zeros(n, dtype=torch.int64, device=rows.device)
        added.index_add_(0, rows.long(), masses if visits.masses is not None else torch.full_like(rows, masses).long())
        return added.double() / _FINE

    def _side_of(
        self,
        rows: Tensor,
        charge: float,
        mass: Tensor,
        steps: tuple[float, float],
        other: Tensor | None,
        visited: Tensor,
    ) -> Visited:
        """Return a side; ``other`` is DD or AA, ``visited`` the mass of the visits of every row."""
        import torch

        W, (eta, decay) = self.settings.zeros, steps
        per_visit = torch.where(mass > 0, 1 / torch.where(mass > 0, mass, 1.0), 0.0)
        rates = rows.new_empty((len(rows), 2))
        rates[:, 1] = charge * per_visit if self.settings.share == "pass" else charge
        if other is None:
            rates[:, 0] = decay * eta
            return Visited(rows, rates, rows[:0])
        largest = float(torch.linalg.eigvalsh(other)[-1])
        curvature = 2 * W * per_visit * visited * largest  # of the group, (n,)
        rates[:, 0] = decay * eta / (1 + CAUTION * eta * curvature)
        pull = (rows @ other.to(rows.dtype)) * (W * per_visit)[:, None].to(rows.dtype)
        return Visited(rows, rates, pull)


class _DeviceObjective(EntryObjective):
    """The objective as a function of tensors; the pairs lie on the device, too."""

    def __init__(self, plain: EntryObjective, device: str) -> None:
        import torch

        self.__dict__.update(plain.__dict__)
        self.charged = tuple(
            torch.as_tensor(charge).to(device) if isinstance(charge, np.ndarray) else charge for charge in plain.charged
        )
        pairs = self.pairs
        whole = pairs.part(slice(0, len(pairs)))
        self.there = tuple(torch.as_tensor(part).to(device) for part in whole)
        self.sample_there = tuple(torch.as_tensor(part).to(device) for part in self.sample)

    def __call__(self, D: Tensor, A: Tensor, executor: Executor) -> float:
        """Return the objective over all pairs."""
        return weighted_squares(self.there, self.zeros, A, D) + self._left(D, A, executor)

    def estimate(self, D: Tensor, A: Tensor, executor: Executor) -> float:
        """Return the same with the stored pairs judged by a fixed sample of them."""
        stored = weighted_squares(self.sample_there, self.zeros, A, D)
        return len(self.pairs) / len(self.sample_there[0]) * stored + self._left(D, A, executor)

    def _left(self, D: Tensor, A: Tensor, executor: Executor) -> float:
        total = self._unstored(D, A, executor)
        total += float((self.charged[0] * self.penalty.per_word(A)).sum())
        squares = D.square().sum(1, dtype=self.penalty.per_word(A[:1]).dtype)
        return total + self.tau * float((self.charged[1] * squares).sum())


def _is_bounded(work: Work) -> bool:
    """Return whether D and A are numbers that float32 can work with."""
    return all(bool(rows.abs().max() < BOUND) for rows in (work.D, work.A))  # false for NaN, too
