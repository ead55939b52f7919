# Every target sets up what it needs: a virtual environment in this checkout, nothing outside it.
.DEFAULT_GOAL := help
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
RUNTIME := $(VENV)/.runtime
STAMP := $(VENV)/.ready
BROWSER := $(VENV)/.browser
DOCS := $(VENV)/.docs
RELEASE := $(VENV)/.release
# Compiled tests are kept: to compile them takes most of the start of each worker.
PYTEST := PYTHONDONTWRITEBYTECODE= $(BIN)/python -m pytest $(RERUNS) -n auto --dist worksteal

.PHONY: help demo test test-as-user test-full test-sample test-real test-browser first-hour screenshots docs test-docs test-release
.PHONY: recording bench check generate format clean

help:  ## Show the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-12s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

$(RUNTIME): pyproject.toml
	@command -v git >/dev/null || { echo "error: git is not installed" >&2; exit 1; }
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { echo "error: $(PYTHON) is older than 3.11" >&2; exit 1; }
	@$(PYTHON) -m venv --clear $(VENV) || { echo "hint: on Debian and Ubuntu, 'apt-get install python3-venv' brings the missing part" >&2; exit 1; }
	@echo "Installing sow and the two packages that it needs into $(VENV)"
	@$(BIN)/python -m pip install --disable-pip-version-check --editable .
	@touch $@

$(STAMP): $(RUNTIME)
	@echo "Installing the developer tools into $(VENV): about 230 MB, once"
	@$(BIN)/python -m pip install -q --disable-pip-version-check --editable '.[dev]'
	@$(BIN)/python -m compileall -q src
	@touch $@

demo: $(RUNTIME)  ## A run of eight tasks with simulated agents, in a scratch repository
	@$(BIN)/python -m compileall -q src
	@$(BIN)/sow demo

test: $(STAMP)  ## The ordinary tests (TESTS=tests/domain for some of them)
	@$(BIN)/python -m compileall -q src
	@$(PYTEST) -m "not full and not real and not browser and not site and not release" $(or $(TESTS),tests)

test-as-user: $(STAMP)  ## The tests of the sandbox as an ordinary user, who exists only for them if you are root
	@tools/as_ordinary_user.sh make test TESTS="$(or $(TESTS),tests/guarantees/sandbox)"

test-full: $(STAMP)  ## The long counts of the guarantees (SHARD=i/n runs a part, TESTS=folder some of them)
	@$(BIN)/python -m compileall -q src
	@SOW_TEST_FULL=1 $(PYTEST) -m "not real and not browser and not site and not release" $(or $(TESTS),tests)

test-sample: $(STAMP)  ## Some tests of test-full, chosen by SEED (the current commit if you give none)
	@$(BIN)/python -m compileall -q src
	@seed="$${SEED:-$$(git rev-parse --short=12 HEAD)}"; echo "seed $$seed: repeat with make test-sample SEED=$$seed"; \
	SOW_TEST_SAMPLE="$$seed" $(PYTEST) -m "full and not real and not browser and not site and not release" $(or $(TESTS),tests)

test-real: $(STAMP)  ## Real agent CLIs against a stub model (CLIS=claude,codex for some of them)
	@$(BIN)/python -m compileall -q src
	@PYTHONPATH=tests $(BIN)/python -m real.install "$(CLIS)"
	@# On a disk: the sandboxes of some CLIs have a /dev of their own.
	@SOW_TEST_CLIS="$(CLIS)" PYTEST_DEBUG_TEMPROOT="$${TMPDIR:-/tmp}" $(BIN)/python -m pytest $(RERUNS) -n 2 --dist worksteal -m real tests/real

first-hour: $(STAMP)  ## A new user's first hour: a real library, the real Claude Code, six tasks
	@PYTHONPATH=tests $(BIN)/python -m real.install claude
	@PYTEST_DEBUG_TEMPROOT="$${TMPDIR:-/tmp}" $(BIN)/python -m pytest $(RERUNS) -m real tests/first_hour

$(BROWSER): $(STAMP)
	@$(BIN)/python -m pip install -qq --disable-pip-version-check --editable '.[browser]' || { echo "missing download: pip could not fetch playwright and axe-playwright-python" >&2; exit 1; }
	@touch $@

test-browser: $(BROWSER)  ## The dashboard in a real browser (TESTS=file for some of them)
	@$(BIN)/python -m compileall -q src
	@PYTHONPATH=tests $(BIN)/python -m browser.install
	@$(BIN)/python -m pytest $(RERUNS) -n 2 --dist worksteal --tb=short -m browser $(or $(TESTS),tests/browser)

screenshots: $(BROWSER)  ## Pictures of the dashboard for docs/images, from a live run
	@$(BIN)/python -m compileall -q src
	@PYTHONPATH=tests $(BIN)/python -m browser.install
	@PYTHONPATH=tests $(BIN)/python -m browser.screenshots docs/images

$(DOCS): $(STAMP)
	@$(BIN)/python -m pip install -qq --disable-pip-version-check --editable '.[docs]' || { echo "missing download: pip could not fetch mkdocs-material" >&2; exit 1; }
	@touch $@

# Without --quiet: with it, MkDocs counts no warnings, and --strict lets broken links pass.
docs: $(DOCS)  ## The documentation as a static site in site/, which needs no network
	@NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict
	@echo "open site/index.html"

test-docs: docs  ## The built documentation: every page, link and search, without a network
	@$(BIN)/python -m pytest $(RERUNS) -m site $(or $(TESTS),tests/docs_site)

$(RELEASE): $(STAMP)
	@$(BIN)/python -m pip install -qq --disable-pip-version-check --editable '.[release]' || { echo "missing download: pip could not fetch build, hatchling, pipx and uv" >&2; exit 1; }
	@touch $@

test-release: $(RELEASE)  ## Wheel, sdist and install.sh in real installers, outside the repository
	@PYTEST_DEBUG_TEMPROOT="$${TMPDIR:-/tmp}" $(BIN)/python -m pytest $(RERUNS) -n 2 --dist worksteal -m release $(or $(TESTS),tests/release)

recording: $(RUNTIME)  ## A recording of the demo for docs/images, from a real run
	@$(BIN)/python -m tools.recording

bench: $(STAMP)  ## Benchmarks, as ratios against bare Python in the same run
	@$(BIN)/python -m compileall -q src bench
	@$(BIN)/python -m bench

check: $(STAMP)  ## Format, lint, types, generated files
	@$(BIN)/ruff format --check -q .
	@$(BIN)/ruff check -q .
	@$(BIN)/mypy
	@$(BIN)/python -m tools.generate --check

generate: $(STAMP)  ## Write the validators and the generated docs anew
	@$(BIN)/python -m tools.generate

format: $(STAMP)  ## Format and fix what can be fixed
	@$(BIN)/ruff format -q .
	@$(BIN)/ruff check -q --fix .

clean:  ## Remove the virtual environment and caches
	rm -rf $(VENV) site .hypothesis .mypy_cache .ruff_cache
