"""Documents as contexts: how much more often two words stand in one document than chance would have it.

A window of five words tells nouns from verbs; a whole document tells medicine from motorcycles. Every document counts
as much as it has words, not their square: a pair that it holds counts ``1 / L_d``, with L_d its number of words.
"""

from __future__ import annotations

from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from wordforest.counts.association import log_margins
from wordforest.runtime.machine import Executor, Threads, kernel

CSR: TypeAlias = "sparse.csr_array[Any, tuple[int, int]]"

_SMOOTHING = 0.75  # of the contexts (Levy, Goldberg and Dagan 2015)
_BLOCK = 256  # words that a worker takes at a time


def document_ppmi(bags: CSR, n_contexts: int, executor: Executor | None = None) -> CSR:
    """Return the positive PMI of words and the ``n_contexts`` words in most documents, (V, C) float32.

    ``bags`` (n, V) says which words each document has; with ``n_vc = sum over d that have v and c of 1 / L_d``,

        x_vc = max(0, log(n_vc / (n_v p_c)))      p_c = n_c^0.75 / sum n_c^0.75

    Rows are summed document by document, in their order, so the bits do not depend on the workers.
    """
    has = sparse.csr_array((np.ones(bags.nnz, dtype=np.float32), bags.indices, bags.indptr), shape=bags.shape)
    contexts = np.sort(np.argsort(-np.bincount(bags.indices, minlength=bags.shape[1]), kind="stable")[:n_contexts])
    of_contexts, of_words = sparse.csr_array(has[:, contexts]), sparse.csc_array(has)
    lengths = np.diff(bags.indptr)
    share = 1 / np.maximum(lengths, 1)  # (n,)
    n_v = np.asarray(has.T @ (share * np.diff(of_contexts.indptr)))
    n_c = np.asarray(of_contexts.T @ (share * lengths))
    log_v, log_c = log_margins(np.maximum(n_v, np.finfo(np.float64).tiny), n_c, _SMOOTHING)

    def part(first: int) -> tuple[NDArray[Any], NDArray[Any], NDArray[Any]]:
        borders = of_words.indptr[first : first + _BLOCK + 1]
        own = of_words.indices[borders[0] : borders[-1]]
        return _ppmi_rows(
            *(borders - borders[0], own, of_contexts.indptr, of_contexts.indices, share.astype(np.float32)),
            *(log_v[first : first + _BLOCK], log_c),
        )

    parts = list((executor or Threads()).map(part, range(0, bags.shape[1], _BLOCK)))
    sizes, columns, values = (np.concatenate(arrays) for arrays in zip(*parts, strict=True))
    indptr = np.concatenate(([0], np.cumsum(sizes)))
    return sparse.csr_array((values, columns, indptr), shape=(bags.shape[1], len(contexts)))


@kernel
def _ppmi_rows(
    borders: Any, documents: Any, indptr: Any, contexts: Any, share: Any, log_v: Any, log_c: Any
) -> tuple[Any, Any, Any]:
    """Return sizes, columns and values of the rows of some words, whose documents lie between borders."""
    n, C = len(borders) - 1, len(log_c)
    sizes = np.zeros(n, dtype=np.int64)
    columns, values = np.empty(n * C, dtype=np.int32), np.empty(n * C, dtype=np.float32)
    together, k = np.zeros(C, dtype=np.float32), 0
    for v in range(n):
        together[:] = 0
        for i in range(borders[v], borders[v + 1]):
            d = documents[i]
            for j in range(indptr[d], indptr[d + 1]):
                together[contexts[j]] += share[d]
        for c in range(C):
            if together[c] > 0:
                x = np.log(together[c]) - log_v[v] - log_c[c]
                if x > 0:
                    columns[k], values[k] = c, x
                    sizes[v] += 1
                    k += 1
    return sizes, columns[:k].copy(), values[:k].copy()
