"""The table of sizes in docs/cluster.md is the one computed, and its pairs are near those of real text."""

import runpy
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
SIZES = runpy.run_path(str(ROOT / "benchmarks" / "cluster_sizes.py"))


def test_the_table_of_the_documentation_is_computed() -> None:
    assert "\n".join(SIZES["table"]()) in (ROOT / "docs" / "cluster.md").read_text(encoding="utf-8")


@pytest.mark.parametrize(("n_tokens", "n_words", "counted"), [(26e6, 62_110, 33.8e6), (65e6, 100_790, 67e6)])
def test_expected_pairs_are_near_those_counted_in_wikipedia(n_tokens: float, n_words: int, counted: float) -> None:
    assert SIZES["expected_pairs"](n_tokens, n_words) == pytest.approx(counted, rel=0.15)  # one number fits both
