# make demo   the main job, from nothing: install, 1P2D on this CPU, sweep, teardown
# make test   every test, the real engines included      make check   format, lint, types, imports, dependencies
# make docs   write the generated reference anew          make locks   resolve every lock anew
SHELL := bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := help
VENV := .venv
BIN := $(VENV)/bin
INSTALLED := $(VENV)/.installed
UV := $(shell command -v uv 2>/dev/null)
# a name on PATH may be a shim that runs nothing: the first that runs and is new enough
PYTHON ?= $(shell for p in python3.11 python3.12 python3.13 python3; do \
  $$p -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null && echo $$p && break; done)
# an index that does not answer is an error after two timeouts, not after six
export PIP_RETRIES ?= 1
export UV_HTTP_RETRIES ?= 1
unexport PYTHONDONTWRITEBYTECODE PYTHONPATH

.PHONY: help demo test test-fast check docs locks clean

help:
	@sed -n 's/^# make/make/p' Makefile

$(INSTALLED): requirements/dev.txt pyproject.toml
	@echo "== installing dsctl into $(VENV)"
ifneq ($(UV),)
	@test -x $(BIN)/python || $(UV) venv --quiet --python '>=3.11' $(VENV)
	@$(UV) pip install --quiet --python $(BIN)/python --require-hashes -r requirements/dev.txt
	@$(UV) pip install --quiet --python $(BIN)/python --no-deps --no-build-isolation -e .
else
	@test -n "$(PYTHON)" && $(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { echo "Python 3.11 or newer is needed; set PYTHON="; exit 2; }
	@test -x $(BIN)/pip || $(PYTHON) -m venv --clear $(VENV)
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --require-hashes -r requirements/dev.txt
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps --no-build-isolation -e .
endif
	@touch $@

demo: $(INSTALLED)
	@end() { status=$$?; trap - EXIT INT TERM; $(BIN)/dsctl teardown local-1p2d --yes || status=$$?; exit $$status; }; \
	$(BIN)/dsctl up local-1p2d --yes; \
	trap end EXIT; trap 'exit 130' INT; trap 'exit 143' TERM; \
	$(BIN)/dsctl bench local-1p2d; \
	echo; echo "the whole run is written down: $$(ls -d runbooks/*-local-1p2d-* | tail -n 1)/README.md"

test: $(INSTALLED)
	$(BIN)/python -m pytest

test-fast: $(INSTALLED)
	$(BIN)/python -m pytest -m 'not e2e'

check: $(INSTALLED)
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/pyright
	$(BIN)/lint-imports
	$(BIN)/deptry dsctl

docs: $(INSTALLED)
	$(BIN)/python -m dsctl.cli.reference

locks: $(INSTALLED)
	PATH="$(CURDIR)/$(BIN):$$PATH" requirements/relock

clean:
	rm -rf $(VENV) .pytest_cache .ruff_cache .hypothesis .import_linter_cache
