"""One model for all tests of the page."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tests.explorer.made import made_documents, made_run
from wordforest.explorer.documents import Collection
from wordforest.explorer.model import Model, build_model


@pytest.fixture(scope="session")
def model() -> Model:
    return build_model("made", made_run())


@pytest.fixture(scope="session")
def collection(tmp_path_factory: pytest.TempPathFactory) -> Collection:
    return made_documents(tmp_path_factory.mktemp("documents"))


@pytest.fixture(scope="session")
def read(model: Model, collection: Collection) -> Model:
    """The model with documents."""
    return replace(model, documents=collection)
