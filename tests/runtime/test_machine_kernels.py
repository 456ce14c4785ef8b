from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

from wordforest.runtime.machine import COMPILING, kernel


@kernel
def _is_nan(x: float) -> bool:
    return x != x


@kernel
def _quotient(a: float, b: float) -> float:
    return a / b


def test_kernels_keep_nan_and_infinity() -> None:
    assert _is_nan(float("nan"))
    assert _quotient(1.0, 0.0) == float("inf")


def test_compiling_is_told_once_and_not_where_the_cache_has_the_kernels(tmp_path: Path) -> None:
    script = """
from wordforest.runtime.machine import compiling_told
from wordforest.store.formats.numbers import parse_numbers
with compiling_told(lambda said: print("first:", said)), compiling_told(lambda said: print("second:", said)):
    parse_numbers([b"1 2.5", b"3 4.5"], 2)
"""
    env = {**os.environ, "NUMBA_CACHE_DIR": str(tmp_path / "cache")}
    said = [
        subprocess.run([sys.executable, "-c", script], env=env, capture_output=True, text=True, check=True).stdout
        for _ in range(2)
    ]
    assert [len(one.splitlines()) for one in said] == [1, 0]
    assert COMPILING in said[0]
