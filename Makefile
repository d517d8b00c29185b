# Every target sets itself up: a machine with Python >= 3.11 and an index is enough.
#   make run    install, check the environment, optimise a matrix product
#   make test   install, then everything that must hold before a commit
#   make check  the static half of `make test`
#   make clean  remove the environment and all caches

VENV := .venv
BIN := $(VENV)/bin
PYTHON ?= $(shell for p in python3.11 python3.12 python3.13 python3; do \
	$$p -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null \
	&& echo $$p && break; done)
WORKERS ?= 2

.DEFAULT_GOAL := test
.PHONY: run test check quick types tests clean

run: $(VENV)/run.stamp
	$(BIN)/argus doctor
	$(BIN)/argus optimize gemm --shape 4096x4096x4096 --minutes 1.5

# Pyright takes one processor for a minute, and keeps nothing: it runs beside the tests.
test: quick
	+$(MAKE) --no-print-directory --jobs 2 tests types

check: quick types

quick: $(VENV)/test.stamp
	$(BIN)/ruff check
	$(BIN)/ruff format --check
	$(BIN)/lint-imports

types: $(VENV)/test.stamp
	$(BIN)/pyright

tests: $(VENV)/test.stamp
	$(BIN)/pytest -n $(WORKERS) --dist worksteal

# The stamps lie inside the environment, so that removing it removes them too.
$(VENV)/run.stamp: pyproject.toml | $(BIN)/python
	$(BIN)/pip install --quiet --editable .
	touch $@

$(VENV)/test.stamp: pyproject.toml | $(BIN)/python
	$(BIN)/pip install --quiet --editable '.[dev,test-torch,agent,mcp,ray]'
	touch $@

$(BIN)/python:
	@test -n "$(PYTHON)" || { echo 'error: no Python >= 3.11 found; set PYTHON=...' >&2; exit 1; }
	$(PYTHON) -m venv $(VENV)

clean:
	rm -rf $(VENV) .pytest_cache .ruff_cache .import_linter_cache .hypothesis build dist
