# Everything starts here; each target works from a clean clone. Needs: Linux, make, Python 3.11 to 3.13 with venv.

# the interpreter that makes the virtual environment: Python 3.11, 3.12 or 3.13
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
READY := $(VENV)/.ready

# run, up: the script that agents run; without it a stand-in of ours
SCRIPT ?=
# run, up: broker, or emulator for Google's (needs Java and the gcloud component)
PUBSUB ?= broker
# run, up: use that cluster; two Nodes, a Namespace and a Pod are put there, and removed at the end
KUBECONFIG_FILE ?=
# run, up: stand-in for ours, or real for a kube-apiserver, scheduler and controller-manager (make parts brings them)
CLUSTER ?= stand-in
# parts: bring that one alone, such as control-plane
PART ?=
# test: what pytest is to run, such as tests/agent
TESTS ?= tests

LOCAL = $(BIN)/python -m infra.local
LOCAL_OPTIONS = --with-parent --pubsub $(PUBSUB) --cluster $(CLUSTER) $(if $(SCRIPT),--script $(SCRIPT)) $(if $(KUBECONFIG_FILE),--kubeconfig $(KUBECONFIG_FILE))

.DEFAULT_GOAL := help
.PHONY: help run up parts test check bench bundle agent-home requirements clean

help: ## this text
	@awk -F ':.*## ' '/^[a-z-]+:.*## / {printf "  make %-14s %s\n", $$1, $$2}' $(MAKEFILE_LIST)
	@echo
	@echo 'Variables, such as make run SCRIPT=/path/to/nvidia-bug-report.sh:'
	@awk '/^# / {text = substr($$0, 3)} /^[A-Z_]+ \?=/ {printf "  %-16s %s\n", $$1, text}' $(MAKEFILE_LIST)

run: $(READY) ## one label becomes one archived report, shown step by step; then all is stopped
	@exec $(LOCAL) run $(LOCAL_OPTIONS)

up: $(READY) ## the same pipeline, kept running to play with until Ctrl-C
	@exec $(LOCAL) up $(LOCAL_OPTIONS)

parts: $(READY) ## real counterparts for tests and CLUSTER=real, into ~/.cache/gpureport: each is brought once
	@exec $(BIN)/python -m infra.parts $(PART)

test: $(READY) ## every test
	$(BIN)/python -m pytest $(TESTS)

check: $(READY) ## format, lint, types, layers
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/lint-imports --no-logo

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
	@$(PYTHON) -c 'import sys; sys.exit(not (3, 11) <= sys.version_info < (3, 14))' || \
	  { echo "Python 3.11, 3.12 or 3.13 is needed; $(PYTHON) is $$($(PYTHON) --version 2>&1). Use: make PYTHON=/path/to/python3.11" >&2; exit 2; }
	@echo "setting up $(VENV) (once; about a minute)"
	@test -x $(BIN)/pip || { rm -rf $(VENV) && $(PYTHON) -m venv $(VENV); }
	@rm -f $(VENV)/.failed
	@{ $(BIN)/pip install --disable-pip-version-check -r requirements-dev.txt || touch $(VENV)/.failed; } | \
	  awk '/^Collecting/ && ++n % 15 == 0 {print "  " n " packages"; fflush()} /^Installing/ {print "  installing"; fflush()}'
	@test ! -e $(VENV)/.failed
	@$(BIN)/pip install --quiet --disable-pip-version-check --no-deps --no-build-isolation \
	  --config-settings editable_mode=compat --editable .
	@touch $@
