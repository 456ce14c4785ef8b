"""A forest of rows that come in blocks: learned, broken off, resumed, kept, coded."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from scipy import sparse

import wordforest as wf
from tests.coder.test_stream import KINDS, coder, rows
from wordforest.errors import InputError

X = rows().astype(np.float32)


class BrokenError(Exception):
    """What breaks a job off."""


def broken_after(n: int) -> Iterator[np.ndarray]:
    """The first n rows, then an end that nobody wanted."""
    yield X[:n]
    raise BrokenError


def learn(kind: str, **more: object) -> wf.ForestCoder:
    return wf.interop.fit_rows(coder(kind), X, rows=200, passes=2, report=False, **more)  # type: ignore[arg-type]


@pytest.mark.parametrize("kind", KINDS)
def test_a_job_that_was_broken_off_is_resumed_to_the_same_bits(tmp_path: Path, kind: str) -> None:
    whole = learn(kind)
    with pytest.raises(BrokenError):
        wf.interop.fit_rows(
            coder(kind), lambda: broken_after(500), rows=200, passes=2, out=tmp_path / "out", report=False
        )
    with pytest.raises(InputError):  # neither forced nor resumed
        learn(kind, out=tmp_path / "out")
    resumed = learn(kind, out=tmp_path / "out", resume=True)
    np.testing.assert_array_equal(resumed.components_, whole.components_)
    assert sorted(path.name for path in (tmp_path / "out").iterdir()) == ["coder.safetensors", "config.json"]
    kept = wf.interop.load_coder(tmp_path / "out")
    np.testing.assert_array_equal(kept.transform(X), whole.transform(X))
    kept.partial_fit(X[:200])
    np.testing.assert_array_equal(kept.components_, whole.partial_fit(X[:200]).components_)


def test_other_settings_do_not_resume(tmp_path: Path) -> None:
    with pytest.raises(BrokenError):
        wf.interop.fit_rows(coder("active"), lambda: broken_after(500), rows=200, out=tmp_path / "out", report=False)
    with pytest.raises(InputError, match="was begun with rows = 200"):
        wf.interop.fit_rows(coder("active"), X, rows=300, out=tmp_path / "out", resume=True, report=False)


def test_codes_come_in_blocks() -> None:
    ours = learn("active")
    blocks = list(wf.interop.code_rows(ours, X, rows=400))
    assert [block.shape for block in blocks] == [(400, 24), (400, 24), (100, 24)]
    np.testing.assert_allclose(sparse.vstack(blocks).toarray(), ours.transform(X), atol=1e-5)


def test_any_forest_is_kept(tmp_path: Path) -> None:
    ours = wf.ForestCoder(forest=[-1, 0, 0, -1], active=2, random_state=0)
    wf.interop.fit_rows(ours, X, out=tmp_path / "out", report=False)
    kept = wf.interop.load_coder(tmp_path / "out")
    assert kept.forest_ == wf.Forest([-1, 0, 0, -1])
    np.testing.assert_array_equal(kept.transform(X), ours.transform(X))


def test_mistakes_are_told(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="a generator has one pass"):
        wf.interop.fit_rows(coder("active"), iter([X]), passes=2)
    with pytest.raises(InputError, match="at least once"):
        wf.interop.fit_rows(coder("active"), X, passes=0)
    with pytest.raises(InputError, match="no rows to learn from"):
        wf.interop.fit_rows(coder("active"), X[:0], report=False)
    with pytest.raises(InputError, match="settings are numbers and words"):
        wf.interop.fit_rows(coder("active").set_params(init=wf.coder.RowStart()), X, report=False)
    (tmp_path / "config.json").write_text("{}")
    with pytest.raises(InputError, match="no coder of fit_rows"):
        wf.interop.load_coder(tmp_path)
