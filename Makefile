# `make demo` and `make test` do everything on a machine with Python >= 3.11 and make.
# The first run fetches the locked packages; after that nothing here needs a network.

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
# Touched once the environment matches a lock: a second `make install` does nothing.
STAMP := $(VENV)/.installed
# The same for what `make demo` uses alone.
DEMO := $(VENV)/.demo
PIP := $(BIN)/python -m pip --disable-pip-version-check
# More arguments for pytest, e.g. `make test ARGS="-k mondrian"`.
ARGS ?=
# How long `make fuzz` looks.
SECONDS ?= 600

# What Python has compiled is kept: every command, and every process that a test starts, would compile all modules anew.
unexport PYTHONDONTWRITEBYTECODE

.DEFAULT_GOAL := help
.PHONY: help install venv demo test docs golden fuzz check bench experiments lock clean

help: ## list the targets
	@sed -n 's/^\([a-z]*\):.*## \(.*\)$$/make \1|\2/p' Makefile | awk -F '|' '{ printf "%-14s %s\n", $$1, $$2 }'

install: $(STAMP) ## create .venv with the locked packages and rothko itself

$(STAMP): pyproject.toml requirements-dev.lock
	@$(MAKE) --no-print-directory venv LOCK=requirements-dev.lock
	@touch $@ $(DEMO)

$(DEMO): pyproject.toml requirements.lock
	@$(MAKE) --no-print-directory venv LOCK=requirements.lock
	@touch $@

venv:
	@$(PYTHON) -c 'import sys; sys.exit("rothko needs Python 3.11 or later; choose one with make PYTHON=..." if sys.version_info < (3, 11) else 0)'
	$(PYTHON) -m venv $(VENV)
	$(PIP) install --quiet --requirement $(LOCK)
	$(PIP) install --quiet --no-deps --no-build-isolation --editable .
	$(BIN)/python -m compileall -q src

demo: $(DEMO) ## the whole flow on generated data
	$(BIN)/rothko demo

test: install ## run the tests
	$(BIN)/python -m pytest -n 2 --dist worksteal $(ARGS)

docs: install ## build the site of this version in site/VERSION, to be read from there (ARGS=draw draws its pictures anew)
	$(BIN)/python -m pages $(ARGS)

golden: install ## run all golden cases and say which releases are no longer what they were (ARGS="--keep folder")
	$(BIN)/python -m tests.golden.matrix $(ARGS)

fuzz: install ## random tables and policies for SECONDS=600; a failure prints the seed that repeats it
	$(BIN)/python -m tests.attack.fuzz --seconds $(SECONDS) $(ARGS)

check: install ## lint, formatting and types
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

bench: install ## run the benchmarks
	$(BIN)/python -m benchmarks

experiments: install ## run all of the papers' experiments, and go on where a run was stopped (ARGS="--data folder" for real tables)
	$(BIN)/python -m experiments all $(ARGS)

# The build backend is locked too (--build-deps-for), so that `install` can build without isolation.
# Only `name==version` lines, with their markers, are kept: no hosts, no local paths. What `make demo` uses has the
# versions that the tests have.
lock: ## resolve pyproject.toml again into requirements-dev.lock and, of it, requirements.lock
	@set -e; folder=$$(mktemp -d); trap 'rm -rf "$$folder"' EXIT; \
	$(PYTHON) -m venv "$$folder/venv"; \
	"$$folder/venv/bin/python" -m pip --disable-pip-version-check install --quiet pip-tools; \
	compile() { "$$folder/venv/bin/pip-compile" --quiet --strip-extras --allow-unsafe --no-header --no-annotate \
	    --no-emit-options --no-emit-index-url --no-emit-find-links --no-emit-trusted-host \
	    --build-deps-for editable "$$@" pyproject.toml; }; \
	compile --upgrade --extra dev --extra docs --extra learn --extra spark --output-file "$$folder/lock"; \
	grep -E '^[A-Za-z0-9._-]+==' "$$folder/lock" > requirements-dev.lock; \
	compile --extra learn --constraint requirements-dev.lock --output-file "$$folder/demo"; \
	grep -E '^[A-Za-z0-9._-]+==' "$$folder/demo" > requirements.lock; \
	echo "locked $$(grep -c . requirements-dev.lock) packages, $$(grep -c . requirements.lock) of them for the demo"

clean: ## remove .venv, caches and builds
	rm -rf $(VENV) build dist site .pytest_cache .mypy_cache .ruff_cache .hypothesis
	find src tests -name __pycache__ -type d -prune -exec rm -rf {} +
