# Two commands for a newcomer: make demo, make test. Both create .venv and install what they need.
PYTHON ?= python3
TORCH  ?=               # a pin such as torch==2.13.0 adds the tests that run on PyTorch, and what needs it
VENV   := .venv
BIN    := $(VENV)/bin
RUN    ?= demo
comma  := ,
# uv downloads side by side what pip takes one by one. No bytecode yet: of 20,000 modules a thousand are ever imported.
INSTALL = $(BIN)/uv pip install --quiet --python $(BIN)/python --editable

.PHONY: demo test lint pytest docs gallery dist check-wheel wheels versions reports figures checklist torture torture-cluster audit pictures clean

demo: $(VENV)/.demo
	$(BIN)/wordforest demo --out $(RUN) --force

# Linters and types beside the tests, and Chromium beside Python's packages. Three processes on two cores, since tests
# wait for workers, browsers, and kernels that another process compiles. Whole files go to the processes, so that what a
# file prepares is made once; tests/conftest.py puts long files first.
PROCESSES ?= 3
test:
	$(MAKE) --jobs 2 $(VENV)/.test $(VENV)/.browser
	$(MAKE) --jobs 2 lint pytest

pytest: export PYTHONDONTWRITEBYTECODE =  # else each of the processes compiles the source and rewrites tests anew
pytest: $(VENV)/.test $(VENV)/.browser
	$(BIN)/pytest -n $(PROCESSES) --dist loadfile --no-loadscope-reorder

lint: $(VENV)/.test
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

# The site, into site/: offline, and with any warning (a link, an anchor, a page that the navigation lacks, a picture
# from elsewhere) it fails. Not --quiet, which would keep --strict from seeing warnings.
docs: $(VENV)/.docs
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict

# Offline pages to click through, into build/gallery, from where make docs takes them into the site. The State of the Union comes
# with a package; Wikipedia needs CORPUS=enwiki_dev.txt.xz, the newsgroups DATA=folder, and are skipped without.
gallery: $(VENV)/.demo
	$(BIN)/python benchmarks/gallery.py $(ONLY) $(if $(CORPUS),--corpus $(CORPUS)) $(if $(DATA),--data $(DATA))

# What is published, into dist/: a wheel and a source archive, their metadata checked as the index does it.
dist: $(VENV)/.release
	rm -rf dist
	$(BIN)/python -m build --installer uv
	$(BIN)/python -m twine check --strict dist/*

# The wheel in an empty environment, outside of the clone: on this Python; on all of PYTHONS that are here, with the
# demo; and with the lowest and the newest versions of what it needs, with tests.
PYTHONS ?= 3.11 3.12 3.13 3.14
check-wheel: dist
	$(BIN)/python tools/wheels.py $$($(BIN)/python -c "import sys; print('%d.%d' % sys.version_info[:2])")

wheels: dist
	$(BIN)/python tools/wheels.py $(PYTHONS) --demo

versions: dist
	$(BIN)/python tools/wheels.py 3.11 --lowest --tests
	$(BIN)/python tools/wheels.py 3.13 --tests

# Every results file of docs/reports anew: hours, and what was broken off is resumed. The docs' figures are of
# enwiki_dev.txt.xz. Then make figures, which writes them into README and docs; a test compares them.
#   make reports CORPUS=enwiki_dev.txt.xz DATA=folder            ONLY="growth spams": some of benchmarks/reports.toml
REPORTS ?= docs/reports
WORK    ?= build/reports
reports: $(VENV)/.test
	$(BIN)/python benchmarks/reports.py $(ONLY) --out $(REPORTS) --work $(WORK) $(if $(CORPUS),--corpus $(CORPUS)) \
	  $(if $(DATA),--data $(DATA)) $(if $(PEERS),--peers $(PEERS))

figures: $(VENV)/.test
	$(BIN)/python benchmarks/figures.py

# What reviewers of pyOpenSci and JOSS look for, line by line; fails where something is missing that needs no person.
checklist: $(VENV)/.test
	$(BIN)/python tools/checklist.py

# Kills, full disks, a million damaged files, load: about an hour, then docs/reports/torture-*.md and docs/messages.md. One part alone:
# make torture TORTURE=faults. Before them, the workers of a cluster are killed, at 20 random moments instead of two.
TORTURE ?= kills faults fuzz load
torture: $(VENV)/.torture torture-cluster
	PYTHONPATH=. $(BIN)/python -m torture $(TORTURE) --results torture/results
	PYTHONPATH=. $(BIN)/python -m torture.table
	$(BIN)/python benchmarks/figures.py

torture-cluster: $(VENV)/.test
	WORDFOREST_TORTURE=20 $(BIN)/pytest -m cluster -k killed

# Known weaknesses of the installed packages; needs the network.
audit: $(VENV)/.torture
	$(BIN)/pip-audit --skip-editable

pictures: $(VENV)/.test $(VENV)/.browser
	$(BIN)/python benchmarks/pictures.py $(CORPUS)
	$(BIN)/python benchmarks/drawings.py
	PYTHONPATH=. $(BIN)/python benchmarks/tutorials.py

# Chromium for the tests of the page: Debian's, where we may install it. Without it those tests are skipped.
$(VENV)/.browser: | $(VENV)/bin/uv
	command -v chromedriver > /dev/null || \
	  { [ "$$(id -u)" = 0 ] && apt-get install -y -qq chromium chromium-driver > /dev/null 2>&1; } || \
	  echo "no Chromium here, so the tests of the page are skipped: install chromium and chromium-driver"
	touch $@

clean:
	rm -rf $(VENV) build dist site .mypy_cache .pytest_cache .ruff_cache

$(VENV)/bin/uv:
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet uv

$(VENV)/.demo: pyproject.toml | $(VENV)/bin/uv
	$(INSTALL) '.[demo]'
	touch $@

$(VENV)/.docs: pyproject.toml | $(VENV)/bin/uv
	$(INSTALL) '.[docs]'
	touch $@

$(VENV)/.release: pyproject.toml | $(VENV)/bin/uv
	$(INSTALL) '.[release]'
	touch $@

$(VENV)/.torture: $(VENV)/.test
	$(INSTALL) '.[torture]'
	touch $@

# PyTorch by pip, whose settings say which of its many builds there is here.
$(VENV)/.test: pyproject.toml | $(VENV)/bin/uv
	$(if $(strip $(TORCH)),$(BIN)/python -m pip install --quiet --no-compile $(TORCH))
	$(INSTALL) '.[cluster,demo,test$(if $(strip $(TORCH)),$(comma)sentence-transformers)]'
	touch $@
