"""Sparse autoencoders, H-SAE, k-means and NMF, the rivals of benchmarks/language_models.py.

The autoencoders are learned from rows in memory by Adam, one loop for all (``learned``):

- rows are centred by nobody and scaled by one factor, so that their mean squared length is the number of columns; the
  decoder's bias begins at the mean row;
- the learning rate is the best of RATES after TRIAL steps, by what is left unexplained in a twentieth of the training
  rows, which are then not learned from;
- with that rate learning goes on until CHECK more steps lower it by less than GAIN of itself, or for MOST steps; then
  the rate falls to zero, linearly, over DECAY steps;
- a latent that was not on for DEAD steps gets the auxiliary loss of sae-lens.

BatchTopK and Matryoshka are sae-lens's training classes with its defaults; the threshold that they use on new rows is
the one for which k latents a row are on in the training rows, on average. H-SAE is written from its equations (Muchane,
Richardson, Park, Veitch 2025, arXiv 2506.01197): with T latents above, of which the k / 2 largest are on, each with S
latents below in a space of R dimensions of its own, of which the largest is on,

    s = TopK(relu(E (x - b) + e)),   t_j = Top1(relu(F_j P_j (x - b) + f_j))  where s_j > 0,
    x^ = b + sum over j of (s_j d_j + Q_j' G_j t_j),    minimising |x - x^|^2.

The columns of ``Q_j' G_j`` are the atoms below d_j; there are T (1 + S) = M latents in all.
"""

from __future__ import annotations

import tempfile
import time
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

RATES = (3e-4, 1e-3, 3e-3, 1e-2)
BATCH = 1024
TRIAL, CHECK, DECAY, MOST = 300, 300, 600, 6000  # steps
GAIN = 0.005
DEAD = 200  # steps
BELOW, ROOM = 4, 4  # H-SAE: latents below each latent above, and the dimensions of their space
WIDTHS = (1 / 16, 1 / 4, 1)  # Matryoshka: shares of M
BLOCK = 4096  # rows coded at a time


class Coder(NamedTuple):
    """A learned method.

    ``code`` takes rows (n, C) and returns codes (n, M) and reconstructions (n, C); ``atoms`` is (M, C); ``parent``
    (M,) has -1 at roots, and is None where the method has no tree.
    """

    code: Callable[[np.ndarray], tuple[np.ndarray, np.ndarray]]
    atoms: np.ndarray
    parent: np.ndarray | None
    note: str = ""


class Size(NamedTuple):
    """What is equal for all: latents and how many of them are on in a row, on average; where, and the seed."""

    M: int
    k: int
    device: str = "cpu"
    seed: int = 0


def batch_topk(X: np.ndarray, size: Size) -> Coder:
    from sae_lens.saes import BatchTopKTrainingSAE, BatchTopKTrainingSAEConfig

    def make(**shape: Any) -> Any:
        return BatchTopKTrainingSAE(BatchTopKTrainingSAEConfig(k=size.k, **shape))

    return sae_lens(make, X, size)


def matryoshka(X: np.ndarray, size: Size) -> Coder:
    from sae_lens.saes import MatryoshkaBatchTopKTrainingSAE, MatryoshkaBatchTopKTrainingSAEConfig

    widths = [max(1, round(share * size.M)) for share in WIDTHS]

    def make(**shape: Any) -> Any:
        config = MatryoshkaBatchTopKTrainingSAEConfig(k=size.k, matryoshka_widths=widths, **shape)
        return MatryoshkaBatchTopKTrainingSAE(config)

    return sae_lens(make, X, size, f"widths {', '.join(map(str, widths))}; ")


def sae_lens(make: Callable[..., Any], X: np.ndarray, size: Size, note: str = "") -> Coder:
    """Learn a training autoencoder of sae-lens and return it as the one it is saved as, with JumpReLU."""
    import torch
    from sae_lens import SAE
    from sae_lens.saes.sae import TrainStepInput

    def begun(mean: Any) -> Any:
        sae = make(d_in=X.shape[1], d_sae=size.M, device=size.device)
        sae.b_dec.data = mean.clone()
        return sae

    def step(sae: Any, x: Any, dead: Any, number: int) -> tuple[Any, Any]:
        given = TrainStepInput(x, {}, dead, number, is_logging_step=False)
        out = sae.training_forward_pass(given)
        return out.loss, (out.feature_acts > 0).any(0)

    def rest(sae: Any, x: Any) -> Any:
        return ((sae.decode(sae.encode(x)) - x) ** 2).sum()

    sae, scale, told = learned(begun, step, rest, X, size)
    with torch.no_grad():
        sae.topk_threshold.fill_(threshold(sae, X, scale, size))
        sae.fold_activation_norm_scaling_factor(scale)
    with tempfile.TemporaryDirectory() as folder:
        sae.save_inference_model(folder)
        found = SAE.load_from_disk(folder, device=size.device)
    found.fold_W_dec_norm()

    def code(rows: Any) -> tuple[Any, Any]:
        A = found.encode(rows)
        return A, found.decode(A)

    return Coder(in_blocks(code, size.device), host(found.W_dec), None, note + told)


def threshold(sae: Any, X: np.ndarray, scale: float, size: Size) -> float:
    """Return the activation that k latents a row reach on average, in the rows X times ``scale``."""
    wanted = [
        np.asarray(host(sae.encode_with_hidden_pre(part * scale)[1]), dtype=np.float32).ravel()
        for part in parts(X[:: max(1, len(X) // 20_000)], size.device)
    ]
    values = np.concatenate(wanted)
    place = len(values) - round(len(values) * size.k / size.M)
    return float(np.partition(values, place)[place])


def hsae(X: np.ndarray, size: Size) -> Coder:
    import torch

    T = size.M // (1 + BELOW)
    if T * (1 + BELOW) != size.M:
        raise SystemExit(f"M = {size.M}, but H-SAE has {1 + BELOW} latents for each one above. Give a multiple.")
    on = max(1, size.k // 2)

    def begun(mean: Any) -> Any:
        return HSAE(X.shape[1], T, on, mean).to(size.device)

    def step(model: Any, x: Any, dead: Any, number: int) -> tuple[Any, Any]:  # noqa: ARG001 as sae-lens's
        s, t, pre = model.codes(x)
        x_hat = model.decoded(s, t)
        loss = ((x - x_hat) ** 2).sum(1).mean() + model.revived(pre, (x - x_hat).detach(), dead)
        return loss, torch.cat([(s > 0).any(0), (t > 0).any(0).flatten()])

    def rest(model: Any, x: Any) -> Any:
        return ((model.decoded(*model.codes(x)[:2]) - x) ** 2).sum()

    model, scale, told = learned(begun, step, rest, X, size)

    def code(rows: Any) -> tuple[Any, Any]:
        s, t, _ = model.codes(rows * scale)
        return torch.cat([s, t.flatten(1)], 1) / scale, model.decoded(s, t) / scale

    parent = np.concatenate([np.full(T, -1), np.repeat(np.arange(T), BELOW)])
    atoms = torch.cat([model.D, model.atoms_below().flatten(0, 1)])
    return Coder(in_blocks(code, size.device), host(atoms), parent, f"{T} x (1 + {BELOW}), {ROOM} dimensions; {told}")


def HSAE(C: int, T: int, on: int, mean: Any) -> Any:  # noqa: N802 a module, made where torch is needed
    """Return the module of H-SAE for rows of C columns: T latents above of which ``on`` are on."""
    import torch
    from torch import nn

    class Module(nn.Module):
        """The equations at the top of this file. Atoms D (T, C) have length one, those below are left as they come."""

        def __init__(self) -> None:
            super().__init__()
            D = nn.functional.normalize(torch.randn(T, C, device=mean.device), dim=1)
            P = nn.functional.normalize(torch.randn(T, ROOM, C, device=mean.device), dim=2)
            G = nn.functional.normalize(torch.randn(T, BELOW, ROOM, device=mean.device), dim=2)
            self.D, self.E, self.e = (nn.Parameter(x) for x in (D, D.clone() * 0.3, torch.zeros(T)))
            self.P, self.Q = nn.Parameter(P * 0.3), nn.Parameter(P.clone())
            self.F, self.G, self.f = (nn.Parameter(x) for x in (G.clone(), G, torch.zeros(T, BELOW)))
            self.b = nn.Parameter(mean.clone())

        def codes(self, x: Any) -> tuple[Any, Any, Any]:
            """Return s (n, T), t (n, T, S) and what s is before TopK (n, T)."""
            centred = x - self.b
            pre = torch.relu(centred @ self.E.T + self.e) * self.D.norm(dim=1)
            best = pre.topk(on, dim=1)
            s = torch.zeros_like(pre).scatter(1, best.indices, best.values)
            low = (centred @ self.P.flatten(0, 1).T).unflatten(1, (T, ROOM))  # (n, T, R)
            below = torch.relu(torch.einsum("ntr,tsr->nts", low, self.F) + self.f)
            top = below.max(2, keepdim=True)
            t = torch.zeros_like(below).scatter(2, top.indices, top.values) * (s > 0).unsqueeze(2)
            return s, t, pre

        def decoded(self, s: Any, t: Any) -> Any:
            """Return x^ (n, C)."""
            low = torch.einsum("nts,tsr->ntr", t, self.G).flatten(1)
            return self.b + s @ nn.functional.normalize(self.D, dim=1) + low @ self.Q.flatten(0, 1)

        def atoms_below(self) -> Any:
            """Return Q_j' G_j for all j, (T, S, C)."""
            return torch.einsum("tsr,trc->tsc", self.G, self.Q)

        def revived(self, pre: Any, left: Any, dead: Any) -> Any:
            """Return sae-lens's auxiliary loss of the latents above: the dead ones explain what is left."""
            dead = dead[:T]
            n = int(dead.sum())
            if n == 0:
                return left.new_tensor(0.0)
            k = min(n, C // 2)
            best = torch.where(dead, pre, -torch.inf).topk(k, dim=1)
            s = torch.zeros_like(pre).scatter(1, best.indices, best.values)
            guess = s @ nn.functional.normalize(self.D, dim=1)
            return min(n / (C // 2), 1.0) * ((guess - left) ** 2).sum(1).mean()

    return Module()


def learned(begun: Any, step: Any, rest: Any, X: np.ndarray, size: Size) -> tuple[Any, float, str]:
    """Learn a model by the loop at the top of this file; return it, the scale of its rows, and how it was learned."""
    import torch

    scale = float(np.sqrt(X.shape[1] / (X.astype(np.float64) ** 2).sum(1).mean()))
    rows = torch.as_tensor(np.ascontiguousarray(X), dtype=torch.float32, device=size.device) * scale
    order = torch.as_tensor(np.random.default_rng((size.seed, 1)).permutation(len(X)), device=size.device)
    judges, rows = rows[order[: len(X) // 20]], rows[order[len(X) // 20 :]]
    mean = rows.mean(0)
    spread = float(((judges - mean) ** 2).sum())

    def fresh(rate: float) -> Learner:
        torch.manual_seed(size.seed)
        return Learner(begun(mean), step, rows, rate, size)

    def left(learner: Learner) -> float:
        with torch.no_grad():
            return float(sum(rest(learner.model, part) for part in judges.split(BLOCK))) / spread

    tried = {}
    for rate in RATES:
        learner = fresh(rate)
        learner.go(TRIAL)
        value = left(learner)
        tried[rate] = (value if np.isfinite(value) else np.inf, learner)
    rate = min(tried, key=lambda r: tried[r][0])
    before, learner = tried[rate]
    while learner.steps < MOST:
        learner.go(CHECK)
        now = left(learner)
        if now > (1 - GAIN) * before:
            break
        before = now
    learner.go(DECAY, decay=True)
    return learner.model, scale, f"rate {rate:g}, {learner.steps} steps, {left(learner):.4f} left in judges"


class Learner:
    """A model with its optimiser, the rows (n, C) it learns from, and how long its latents have been off."""

    def __init__(self, model: Any, step: Any, rows: Any, rate: float, size: Size) -> None:
        import torch

        self.model, self.step, self.rows, self.rate = model, step, rows, rate
        self.optimiser = torch.optim.Adam(model.parameters(), lr=rate)
        self.drawn = np.random.default_rng((size.seed, 2))
        self.off = torch.zeros(size.M, device=size.device)
        self.steps = 0

    def go(self, n: int, *, decay: bool = False) -> None:
        """Take n steps, with a rate that stays, or falls to zero."""
        import torch

        for i in range(n):
            chosen = torch.as_tensor(self.drawn.integers(len(self.rows), size=BATCH), device=self.rows.device)
            for group in self.optimiser.param_groups:
                group["lr"] = self.rate * (1 - i / n if decay else 1)
            loss, fired = self.step(self.model, self.rows[chosen], self.off > DEAD, self.steps)
            self.optimiser.zero_grad()
            loss.backward()
            torch.nn.utils.clip_grad_norm_(self.model.parameters(), 1.0)
            self.optimiser.step()
            self.off = torch.where(fired, 0, self.off + 1)
            self.steps += 1


def kmeans(X: np.ndarray, size: Size) -> Coder:
    """One latent on in a row, whatever k."""
    from sklearn.cluster import KMeans

    model = KMeans(size.M, n_init=1, max_iter=50, random_state=size.seed).fit(X)
    centres = model.cluster_centers_.astype(np.float32)

    def code(rows: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        nearest = model.predict(rows)
        A = np.zeros((len(rows), size.M), dtype=np.float32)
        A[np.arange(len(rows)), nearest] = 1
        return A, centres[nearest]

    return Coder(code, centres - X.mean(0), None, f"{model.n_iter_} passes")


def nmf(X: np.ndarray, size: Size) -> Coder:
    """Rows less their mean, negative values beside positive ones as (n, 2 C); the k largest codes of a row are kept."""
    from sklearn.decomposition import MiniBatchNMF

    mean = X.mean(0)
    model = MiniBatchNMF(size.M, batch_size=BATCH, max_iter=20, random_state=size.seed)
    model.fit(split_signs(X - mean))
    H = model.components_
    atoms = (H[:, : X.shape[1]] - H[:, X.shape[1] :]).astype(np.float32)

    def code(rows: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        A = model.transform(split_signs(rows - mean)).astype(np.float32)
        least = np.partition(A, -size.k, axis=1)[:, -size.k][:, None]
        A = np.where((A > 0) & (least <= A), A, 0)
        return A, mean + A @ atoms

    return Coder(code, atoms, None, f"{model.n_iter_} passes, signs split, k largest kept")


def raw(X: np.ndarray, size: Size) -> Coder:  # noqa: ARG001 as the others
    """The rows themselves: every column is a latent."""
    return Coder(lambda rows: (rows, rows), np.eye(X.shape[1], dtype=X.dtype), None)


def split_signs(X: np.ndarray) -> np.ndarray:
    return np.hstack([np.maximum(X, 0), np.maximum(-X, 0)])


def parts(X: np.ndarray, device: str) -> Any:
    """Yield blocks of rows as tensors."""
    import torch

    for i in range(0, len(X), BLOCK):
        yield torch.as_tensor(np.ascontiguousarray(X[i : i + BLOCK]), dtype=torch.float32, device=device)


def in_blocks(code: Any, device: str) -> Callable[[np.ndarray], tuple[np.ndarray, np.ndarray]]:
    """Return a function of arrays for one of tensors."""
    import torch

    def coded(X: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        with torch.no_grad():
            found = [[host(x) for x in code(part)] for part in parts(X, device)]
        return np.concatenate([A for A, _ in found]), np.concatenate([x for _, x in found])

    return coded


def host(x: Any) -> np.ndarray:
    return np.asarray(x.detach().cpu().numpy())


def timed(find: Callable[[np.ndarray, Size], Coder], X: np.ndarray, size: Size) -> tuple[Coder, float]:
    """Return what was learned and the seconds it took."""
    began = time.perf_counter()
    found = find(X, size)
    return found, time.perf_counter() - began


RIVALS: dict[str, tuple[str, Callable[[np.ndarray, Size], Coder]]] = {
    "batchtopk": ("BatchTopK (sae-lens)", batch_topk),
    "matryoshka": ("Matryoshka BatchTopK (sae-lens)", matryoshka),
    "hsae": ("H-SAE", hsae),
    "kmeans": ("k-means", kmeans),
    "nmf": ("NMF", nmf),
    "raw": ("rows themselves", raw),
}
