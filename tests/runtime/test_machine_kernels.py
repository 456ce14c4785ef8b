from __future__ import annotations

from wordforest.runtime.machine import kernel


@kernel
def _is_nan(x: float) -> bool:
    return x != x


@kernel
def _quotient(a: float, b: float) -> float:
    return a / b


def test_kernels_keep_nan_and_infinity() -> None:
    assert _is_nan(float("nan"))
    assert _quotient(1.0, 0.0) == float("inf")
