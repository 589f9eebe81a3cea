# The developer's commands. `make` alone lists them.
PYTHON ?= python3
UV ?= uv
BIN := .venv/bin
NPM := $(BIN)/npm --prefix local/emulators/azurite --loglevel=error
RESOLVE := $(UV) pip compile --quiet --generate-hashes --no-emit-index-url --no-emit-find-links --no-emit-package memnet-client \
	--no-annotate --no-header
FOR_ADAPTERS := --universal --python-version 3.11 client/pyproject.toml client/adapters/tests.in
EXTRAS := a2a agent-framework azure google-adk langgraph mcp openai-agents
FOR_IMAGES := --python-version 3.13 --python-platform x86_64-manylinux_2_28 --constraints requirements.lock
NPM_BROWSER := $(BIN)/npm --prefix tests/browser --loglevel=error
NPM_TYPESCRIPT := $(BIN)/npm --prefix tests/typescript --loglevel=error
NPM_MCP := $(BIN)/npm --prefix tests/client/mcp --loglevel=error

# The tests start many processes; without bytecode each of them compiles the service again.
unexport PYTHONDONTWRITEBYTECODE

.DEFAULT_GOAL := help
.PHONY: help setup demo dev test test-fast test-slow adapters check .types .rules infra bench eval load scale docs lock clean

help: ## list the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "make %-9s  %s\n", $$1, $$2 }' Makefile

setup: .venv/.python-ready local/emulators/azurite/node_modules/.ready ## install everything, pinned, below this directory; instant the second time

demo: setup ## show the life of one fact; FULL=1 plays a conversation of six sessions, CONVERSATION=file another
	@$(BIN)/python -m local.demo $(if $(FULL),--full) $(if $(CONVERSATION),"$(CONVERSATION)")

dev: setup ## run the whole service with all emulators in the foreground; MEMNET_PORT=8080
	@$(BIN)/python -m local.stack.dev

test: setup tests/browser/node_modules/.ready tests/typescript/node_modules/.ready ## run the tests, but not the slow ones
	@$(BIN)/pytest -m "not slow"

test-fast: setup ## run the tests that start no other process, in a minute: domain, operations, profiles, architecture
	@$(BIN)/pytest -n logical -m "not slow" --hypothesis-profile=fast tests/domain tests/operations tests/profiles tests/architecture \
		--ignore=tests/architecture/test_enforcement.py

test-slow: setup tests/browser/node_modules/.ready tests/client/mcp/node_modules/.ready ## run the slow tests: full sizes, accuracy, measurements
	@$(BIN)/pytest -m slow

adapters: setup ## test each adapter of the client with the lowest and the newest framework it allows; EXTRA=langgraph
	@$(BIN)/python -m local.client_adapters $(EXTRA)

check: setup ## format, lint, types, import contracts, architecture rules
	@$(MAKE) --no-print-directory --jobs=2 --output-sync=target .types .rules

.types:
	$(BIN)/mypy

.rules:
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/lint-imports
	$(BIN)/pytest -n0 tests/architecture --ignore=tests/architecture/test_enforcement.py
	@$(BIN)/python -m local.infra_check

infra: setup ## check the templates for Azure, without Azure; UPDATE=1 writes infra/plans
	@$(BIN)/python -m local.infra_check $(if $(UPDATE),--update)

bench: setup ## measure the API against the stock storage and search clients; QUICK=1 for two minutes
	@$(BIN)/python -m local.bench $(if $(QUICK),--quick)

eval: setup ## play conversations and measure what a recall brings back; DATA=file SKIP_INGEST=1 ABLATE=1 FIT=1 JUDGE=1 STATEMENTS=1
	@$(BIN)/python -m local.evaluation $(if $(DATA),--data "$(DATA)") $(if $(SKIP_INGEST),--skip-ingest) \
		$(if $(ABLATE),--ablate) $(if $(FIT),--fit) $(if $(JUDGE),--judge) $(if $(STATEMENTS),--statements)

load: setup ## run a mixed load against the local stack: the knee, the limit and a soak; MINUTES=10
	@$(BIN)/python -m local.bench.load --minutes $(or $(MINUTES),10)

scale: setup ## seed many users, run the timers, and project calls and cost; USERS=20000
	@$(BIN)/python -m local.bench.scale --users $(or $(USERS),20000)

docs: setup ## build the site of docs/ in build/site; a broken link fails
	@$(BIN)/python -m sphinx --quiet --fail-on-warning --keep-going --fresh-env -b html -d build/site.cache docs build/site
	@echo "build/site/index.html"

lock: setup ## resolve the dependencies again
	@command -v $(UV) >/dev/null || { echo "make lock needs uv; set its path with UV=path." >&2; exit 1; }
	$(RESOLVE) --universal --python-version 3.11 --extra dev pyproject.toml -o requirements.lock
	$(RESOLVE) --universal --python-version 3.11 --constraints requirements.lock client/pyproject.toml -o client/requirements.lock
	@for name in core $(EXTRAS); do \
		[ $$name = core ] && extra= || extra="--extra $$name"; \
		echo "resolving client/adapters/$$name"; \
		$(RESOLVE) $(FOR_ADAPTERS) $$extra --resolution lowest-direct -o client/adapters/$$name-lowest.txt || exit; \
		$(RESOLVE) $(FOR_ADAPTERS) $$extra -o client/adapters/$$name-newest.txt || exit; \
	done
	$(RESOLVE) $(FOR_IMAGES) --extra telemetry pyproject.toml -o docker/service.lock
	$(RESOLVE) $(FOR_IMAGES) docker/emulators.in -o docker/emulators.lock
	$(NPM) install --package-lock-only
	$(NPM_BROWSER) install --package-lock-only
	$(NPM_TYPESCRIPT) install --package-lock-only
	$(NPM_MCP) install --package-lock-only

clean: ## remove everything that setup and the tools created, but keep .local/, the data of the local stack
	rm -rf .venv local/emulators/azurite/node_modules tests/browser/node_modules tests/typescript/node_modules \
		tests/client/mcp/node_modules build *.egg-info client/*.egg-info .mypy_cache .ruff_cache .pytest_cache .hypothesis \
		.import_linter_cache schemathesis-report
	find . -name __pycache__ -type d -prune -exec rm -rf {} +

.venv/.python-ready: requirements.lock local/emulators/functions/requirements.lock pyproject.toml client/pyproject.toml
	@$(PYTHON) -c 'import sys; v = sys.version_info; sys.exit(v < (3, 11) and \
		"memnet needs Python 3.11 or newer; $(PYTHON) is %d.%d. Use another: make PYTHON=python3.11" % v[:2])'
	@$(BIN)/python -c '' 2>/dev/null || { echo "making .venv"; $(PYTHON) -m venv --clear .venv; }
	@echo "installing the Python packages"
	@# Most modules are never imported; Python compiles the others at their first import.
	@$(BIN)/python -m pip install -qq --no-compile --disable-pip-version-check --require-hashes -r requirements.lock
	@# Microsoft's worker runtime requires 3.13, the version that Azure runs; it also works on 3.11.
	@$(BIN)/python -m pip install -qq --disable-pip-version-check --require-hashes --no-deps --ignore-requires-python \
		-r local/emulators/functions/requirements.lock
	@# setuptools is among the packages above.
	@$(BIN)/python -m pip install -qq --disable-pip-version-check --no-deps --no-build-isolation -e client -e .
	@touch $@

local/emulators/azurite/node_modules/.ready: local/emulators/azurite/package.json local/emulators/azurite/package-lock.json | .venv/.python-ready
	@echo "installing Azurite"
	@$(NPM) ci >/dev/null
	@touch $@

tests/browser/node_modules/.ready: tests/browser/package.json tests/browser/package-lock.json tests/browser/unpack.js | .venv/.python-ready
	@echo "installing the tests' browser"
	@$(NPM_BROWSER) ci >/dev/null
	@$(BIN)/node tests/browser/unpack.js
	@touch $@

tests/typescript/node_modules/.ready: tests/typescript/package.json tests/typescript/package-lock.json | .venv/.python-ready
	@echo "installing the libraries of the TypeScript page"
	@$(NPM_TYPESCRIPT) ci >/dev/null
	@touch $@

tests/client/mcp/node_modules/.ready: tests/client/mcp/package.json tests/client/mcp/package-lock.json | .venv/.python-ready
	@echo "installing the conformance suite and the inspector of MCP"
	@$(NPM_MCP) ci >/dev/null
	@touch $@
