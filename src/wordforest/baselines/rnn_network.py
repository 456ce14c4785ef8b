"""The recurrent network of the baseline rnn: its formulas, their gradients, and steps on the rows they touch.

With the rows u_w (M,) of U for the input words, W (M, M), and the rows o_w (M + 1,) of O for the words to come::

    h_t = sigmoid(u_{w_t} + W h_{t-1})                        s_t(w) = o_w . [h_t, 1]
    p(w | past) = exp s_t(w) / Z_t                            Z_t = sum over all rows w of exp s_t(w)

A word enters as a one-hot vector (Mikolov et al. 2010), so U x_t is a row of U. Learning never sums over all words: a
sample holds each row w with probability pi_w, and Z is estimated without bias by

    exp s(y)  +  sum over sampled w, not y, of exp(s(w)) / pi_w            with y the word that came.

The gradients are written out by hand: the errors of T steps go back through time, and each table gets one sum for
every row that was touched, so a step costs nothing for the other words.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[Any]
Tensor = Any  # torch.Tensor; torch is an optional extra

_CLIP = 15.0  # the bound on every component of an error on its way back, as in Mikolov's toolkit
_U_STEP, _W_STEP = 10.0, 0.2  # times eta: errors reach U through a sigmoid, and W acts in every position at once
_FEW = 52  # units up to which steps are not cut
_CELLS = 1 << 24  # scores held at a time by the exact loss


@dataclass(eq=False)
class Network:
    """Tables U (R, M), W (M, M), O (R, M + 1), whose last column is the bias, and their sums of squared gradients."""

    U: Tensor
    W: Tensor
    O: Tensor  # noqa: E741 the letter of the formula
    squares: tuple[Tensor, Tensor, Tensor]

    @classmethod
    def start(cls, frequencies: Array, dimensions: int, generator: Any, device: str = "cpu") -> Network:
        """Return a network that predicts every row by its share of ``frequencies`` (R,), whatever came before."""
        import torch

        R, M = len(frequencies), dimensions
        U = 0.01 * torch.randn(R, M, generator=generator)
        W = torch.randn(M, M, generator=generator) / M**0.5
        O = torch.zeros(R, M + 1)  # noqa: E741
        O[:, M] = torch.from_numpy(np.log(frequencies / frequencies.sum()))
        U, W, O = (table.to(device) for table in (U, W, O))  # noqa: E741
        return cls(U, W, O, (torch.zeros_like(U), torch.zeros_like(W), torch.zeros_like(O)))


@dataclass(eq=False)
class Sampler:
    """Draws sets of different rows in which row w stands with probability pi_w; ``order`` (R,), ``ends`` (R,)."""

    order: Tensor  # rows, the most frequent first
    ends: Tensor  # running sums of pi in that order
    log_pi: Tensor  # (R,), by row
    size: int

    @classmethod
    def start(cls, pi: Array, dtype: Any, device: str = "cpu") -> Sampler:
        """Return a sampler for probabilities (R,) whose sum is a whole number."""
        import torch

        order = np.argsort(-pi, kind="stable")
        order_, ends, log_pi = (torch.from_numpy(a).to(device) for a in (order, np.cumsum(pi[order]), np.log(pi)))
        return cls(order_, ends, log_pi.to(dtype), round(float(pi.sum())))

    def draw(self, start: Tensor) -> Tensor:
        """Return ``size`` rows: those at start, start + 1, ... along the running sums; 0 <= start < 1, shape (1,)."""
        import torch

        points = start + torch.arange(self.size, dtype=self.ends.dtype, device=self.ends.device)
        places = torch.searchsorted(self.ends, points, right=True)
        return self.order[places.clamp_(max=len(self.order) - 1)]


def inclusion(frequencies: Array, size: int, power: float = 0.75) -> Array:
    """Return pi_w = min(1, c frequency^power) with c such that they sum to ``size``; all 1 if there are fewer rows."""
    R = len(frequencies)
    if size >= R:
        return np.ones(R)
    weights = frequencies.astype(np.float64) ** power
    falling = np.sort(weights)[::-1]
    rest = np.cumsum(falling[::-1])[::-1]  # of all from k on
    c = (size - np.arange(size)) / rest[:size]  # if the first k have probability 1
    k = int(np.argmax(c * falling[:size] <= 1))
    return np.asarray(np.minimum(1.0, c[k] * weights))


@dataclass(frozen=True, eq=False)
class Gradients:
    """The sum of the losses of a chunk, and its gradient: a pair (rows, values) for U and O, all of W."""

    loss: Tensor
    U: tuple[Tensor, Tensor]
    W: Tensor
    O: tuple[Tensor, Tensor]  # noqa: E741


def run(net: Network, x: Tensor, h: Tensor) -> Tensor:
    """Return the hidden states (T, B, M) for inputs x (T, B) after the states h (B, M)."""
    import torch

    H = net.U[x]  # (T, B, M)
    for state in H:
        state.addmm_(h, net.W.t())
        h = torch.sigmoid_(state)
    return H


def gradients(
    net: Network, x: Tensor, y: Tensor, h: Tensor, sample: Tensor, log_pi: Tensor
) -> tuple[Gradients, Tensor]:
    """Return the gradients for inputs x and outputs y (T, B) after the states h (B, M), and the last states (B, M)."""
    import torch

    T, B = x.shape
    M = len(net.W)
    H = run(net, x, h)
    H1 = torch.nn.functional.pad(H.view(T * B, M), (0, 1), value=1.0)  # (N, M + 1)
    y = y.reshape(-1)
    O_s, O_y = net.O[sample], net.O[y]  # (S, M + 1), (N, M + 1)
    s = torch.addmm(-log_pi[sample], H1, O_s.t())  # (N, S)
    P, e, loss = _errors(s, (H1 * O_y).sum(1), _places(sample, y, len(net.O)))
    G = (P @ O_s[:, :M]).addcmul_(O_y[:, :M], e[:, None]).view(T, B, M)
    D = _back(G, H, net.W).view(T * B, M)
    before = torch.cat([h[None], H[:-1]]).view(T * B, M)
    O_values = torch.cat([P.t() @ H1, H1 * e[:, None]])
    U, O = by_row(x.reshape(-1), D), by_row(torch.cat([sample, y]), O_values)  # noqa: E741
    return Gradients(loss, U, D.t() @ before, O), H[-1].clone()


def move(net: Network, gradient: Gradients, eta: float) -> None:
    """Take a step of AdaGrad in place, on the rows that the gradient touches."""
    U, W, O = net.squares  # noqa: E741
    many = min(1.0, _FEW / len(net.W))  # W and O act through sums over M units, which all move the same way at first
    _adagrad(net.U, U, *gradient.U, _U_STEP * eta)
    _adagrad(net.W, W, slice(None), gradient.W, _W_STEP * eta * many)
    _adagrad(net.O, O, *gradient.O, eta * many)


def exact_loss(net: Network, ids: Tensor) -> float:
    """Return the mean of -log p(w_t | past) over ids (n,) from the second on, normalised over all rows."""
    import torch

    H = run(net, ids[:-1, None], torch.zeros_like(net.W[:1]))[:, 0]  # (n - 1, M)
    M = H.shape[1]
    rows = max(1, _CELLS // len(net.O))
    total = 0.0
    for states, y in zip(H.split(rows), ids[1:].split(rows), strict=True):
        s = torch.addmm(net.O[:, M], states, net.O[:, :M].t())  # (rows, R)
        total += float((s.logsumexp(1) - s.gather(1, y[:, None])[:, 0]).double().sum())
    return total / len(H)


def _places(sample: Tensor, y: Tensor, R: int) -> tuple[Tensor, Tensor]:
    """Return where in the sample each y (N,) stands, and whether it stands there at all."""
    import torch

    place = torch.zeros(R, dtype=torch.int64, device=y.device)
    place[sample] = torch.arange(len(sample), device=y.device)
    return place[y], sample[place[y]] == y


def _errors(s: Tensor, s_y: Tensor, places: tuple[Tensor, Tensor]) -> tuple[Tensor, Tensor, Tensor]:
    """Return the derivatives of the loss by the scores of the sample (N, S), by those of y (N,), and the loss.

    ``s`` has log pi taken off and is overwritten. A sampled row that is y itself counts only once, as y.
    """
    import torch

    place, hit = places[0][:, None], places[1][:, None]
    s.scatter_(1, place, s.gather(1, place).masked_fill_(hit, -torch.inf))
    top = torch.maximum(s.amax(1), s_y)
    P = s.sub_(top[:, None]).exp_()
    from_y = (s_y - top).exp_()
    Z = P.sum(1) + from_y
    loss = (Z.log() + top - s_y).sum()
    return P.div_(Z[:, None]), from_y / Z - 1, loss


def _back(G: Tensor, H: Tensor, W: Tensor) -> Tensor:
    """Return the errors (T, B, M) before the sigmoid: d_t = (g_t + W' d_{t+1}) h_t (1 - h_t). Overwrites G."""
    slope = H * (1 - H)
    later = None
    for error, slope_t in zip(reversed(G.unbind()), reversed(slope.unbind()), strict=True):
        if later is not None:
            error.addmm_(later, W)
        later = error.mul_(slope_t).clamp_(-_CLIP, _CLIP)
    return G


def by_row(rows: Tensor, values: Tensor) -> tuple[Tensor, Tensor]:
    """Return the different rows, and for each the sum of its values, always added in the same order."""
    import torch

    different, place = torch.unique(rows, return_inverse=True)
    sums = values.new_zeros(len(different), values.shape[1])
    if values.is_cuda:  # here index_add would add in any order, and index_put sorts; on the CPU it is the other way
        return different, sums.index_put_((place,), values, accumulate=True)
    return different, sums.index_add_(0, place, values)


def _adagrad(table: Tensor, squares: Tensor, rows: Any, values: Tensor, eta: float) -> None:
    sums = squares[rows].addcmul_(values, values)
    squares[rows] = sums
    table[rows] -= eta * values / (sums.sqrt() + 1e-8)
