"""One model for all tests of the page."""

from __future__ import annotations

import pytest

from tests.explorer.made import made_run
from wordforest.explorer.model import Model, build_model


@pytest.fixture(scope="session")
def model() -> Model:
    return build_model("made", made_run())
