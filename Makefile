# Everything starts here; each target works from a clean clone. Needs: Linux, make, Python 3.11 to 3.13 with venv.

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
READY := $(VENV)/.ready

# The script that agents run: ours, or a real one by `make run SCRIPT=/path/to/nvidia-bug-report.sh`.
SCRIPT ?=
# `make run PUBSUB=emulator` takes Google's emulator (needs java and the gcloud component).
PUBSUB ?= broker
# `make run KUBECONFIG_FILE=path` takes that cluster in place of the stand-in.
KUBECONFIG_FILE ?=
# What pytest is to run: `make test TESTS=tests/agent`.
TESTS ?= tests

LOCAL = $(BIN)/python -m infra.local
LOCAL_OPTIONS = --with-parent --pubsub $(PUBSUB) $(if $(SCRIPT),--script $(SCRIPT)) $(if $(KUBECONFIG_FILE),--kubeconfig $(KUBECONFIG_FILE))

.DEFAULT_GOAL := help
.PHONY: help run up test check bench bundle agent-home requirements clean

help: ## this text
	@awk -F ':.*## ' '/^[a-z-]+:.*## / {printf "  make %-14s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

run: $(READY) ## one label becomes one archived report, shown step by step; then all is stopped
	@exec $(LOCAL) run $(LOCAL_OPTIONS)

up: $(READY) ## the same pipeline, kept running to play with until Ctrl-C
	@exec $(LOCAL) up $(LOCAL_OPTIONS)

test: $(READY) ## every test
	$(BIN)/python -m pytest $(TESTS)

check: $(READY) ## format, lint, types, layers
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/lint-imports

bench: $(READY) ## speed and memory, each beside its budget and its reference
	$(BIN)/python -m bench

bundle: $(READY) ## build/bundle: what functions-framework serves
	$(BIN)/python -m infra.layout bundle build/bundle

agent-home: $(READY) ## build/agent-home and build/finish-home: what runs on a node
	$(BIN)/python -m infra.layout agent-home build/agent-home
	$(BIN)/python -m infra.layout finish-home build/finish-home

requirements: ## compile requirements*.in to pinned requirements*.txt
	$(PYTHON) -m venv build/compile
	build/compile/bin/pip install --quiet uv
	cd $(CURDIR) && for name in requirements requirements-dev; do \
	  build/compile/bin/uv pip compile --quiet --universal --python-version 3.11 --no-header --no-emit-index-url \
	    $$name.in -o $$name.txt || exit 1; done

clean: ## remove what was built
	rm -rf build .venv .mypy_cache .pytest_cache .ruff_cache .import_linter_cache .hypothesis *.egg-info
	find . -name __pycache__ -type d -prune -exec rm -rf {} +

$(READY): requirements-dev.txt pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
	  { echo "Python 3.11 or newer is needed; $(PYTHON) is $$($(PYTHON) --version 2>&1). Use: make PYTHON=/path/to/python3.11" >&2; exit 2; }
	@echo "setting up $(VENV) (once; about a minute)"
	@test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	@$(BIN)/pip install --quiet --disable-pip-version-check -r requirements-dev.txt
	@$(BIN)/pip install --quiet --disable-pip-version-check --no-deps --no-build-isolation \
	  --config-settings editable_mode=compat --editable .
	@touch $@
