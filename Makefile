# Two commands for a newcomer: make demo, make test. Both create .venv and install what they need.
PYTHON ?= python3
TORCH  ?=               # a pin such as torch==2.13.0 adds the tests that run on PyTorch
VENV   := .venv
BIN    := $(VENV)/bin
RUN    ?= demo

.PHONY: demo test lint bench clean

demo: $(VENV)/.demo
	$(BIN)/wordforest demo --out $(RUN) --force

test: lint
	$(BIN)/pytest

lint: $(VENV)/.test
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

bench: $(VENV)/.test
	for file in benchmarks/*.py; do $(BIN)/python $$file || exit 1; done

clean:
	rm -rf $(VENV) build dist .mypy_cache .pytest_cache .ruff_cache

$(VENV)/bin/python:
	$(PYTHON) -m venv $(VENV)

$(VENV)/.demo: pyproject.toml | $(VENV)/bin/python
	$(BIN)/python -m pip install --quiet --editable '.[demo]'
	touch $@

$(VENV)/.test: pyproject.toml | $(VENV)/bin/python
	$(BIN)/python -m pip install --quiet --editable '.[demo,test]' $(TORCH)
	touch $@
