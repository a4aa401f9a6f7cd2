# `make` alone lists what there is. Each target does its own set-up in .venv.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
READY := $(VENV)/.ready

.DEFAULT_GOAL := help
.PHONY: help setup demo test test-slow test-docs test-paper test-long test-versions test-package lint format bench growth study-methods study-default study-ratios study-confounding study-misses study-theorem study-attacks study-population study-whom study-randomisation study-averages study-selection study-joint coverage fuzz attacks faults reproduction-page benchmarks-page pictures notebook rooms promises docs docs-serve lock clean

help: ## List the targets
	@grep -hE '^[a-z-]+:.*?## ' $(MAKEFILE_LIST) | awk -F ':.*?## ' '{printf "  make %-17s %s\n", $$1, $$2}'

# --without-pip and `pip --python` need no ensurepip, which Debian packages separately.
$(READY): requirements-dev.lock pyproject.toml
	@echo "Setting up .venv, once: about a minute"
	@$(PYTHON) -m venv --clear --without-pip $(VENV)
	@$(PYTHON) scripts/install.py $(BIN)/python requirements-dev.lock
	@$(PYTHON) -m pip --python $(BIN)/python install --quiet --no-deps --no-build-isolation --editable .
	@touch $@

setup: $(READY) ## Make .venv with the pinned development tools and confide itself

demo: $(READY) ## A small real trial, a large table of people who chose, and what the two give together, on screen
	$(BIN)/confide demo --open

# Tests that share a costly fixture are one group, which one process runs.
PYTEST := $(BIN)/pytest -n 2 --dist loadgroup

test: $(READY) ## The tests (under three minutes on two cores)
	$(PYTEST)

test-slow: $(READY) ## Monte Carlo, kills, the page in a browser; installs Chromium where it can
	@scripts/chromium.sh
	$(PYTEST) -m "slow and not (docs or paper or long)"

test-docs: $(READY) ## README, the pages and the site, as a reader runs them
	$(PYTEST) -m "docs and not long"

test-paper: $(READY) ## The code that runs the paper again, on small settings
	$(PYTEST) -m "paper and not long"

test-long: $(READY) ## Properties on other examples, and long Monte Carlo at the paper's setting (hours; not in CI)
	HYPOTHESIS_PROFILE=explore $(PYTEST) -m "slow or not slow" tests/test_properties.py
	$(PYTEST) -m long

# An interpreter of one's own choice runs the script; .venv is not needed.
test-versions: ## The tests at the declared minima, on Python 3.11 and 3.13; SMOKE=1 a minute each; ONLY="minima 3.13"
	$(PYTHON) scripts/versions.py $(if $(SMOKE),--smoke) $(if $(ONLY),--only $(ONLY)) $(if $(ARGS),-- $(ARGS))

test-package: $(READY) ## Wheel and sdist into dist/, installed in a clean environment and tried from an empty folder
	$(BIN)/python scripts/package.py

lint: $(READY) ## ruff, strict mypy, and the order of the rooms
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports --no-cache

format: $(READY) ## Format the code and mend what ruff can mend
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

bench: $(READY) ## Speed and memory, as ratios in one run; OUT=docs/benchmarks.csv keeps the figures
	$(BIN)/python benchmarks/run.py $(if $(OUT),--out $(OUT))

growth: $(READY) ## docs/growth.csv and docs/growth.svg: CPU time of every method over three decades (twenty minutes)
	$(BIN)/python benchmarks/growth.py --full --out docs/growth.csv

benchmarks-page: $(READY) ## docs/benchmarks.md from docs/benchmarks.csv
	$(BIN)/python scripts/benchmarks.py

study-methods: $(READY) ## docs/methods.md: every method at the paper's setting (about half an hour)
	$(BIN)/python -m studies methods

study-default: $(READY) ## docs/default.md: the default against rivals, generated and real data (an hour; goes on where it stopped)
	$(BIN)/python -m studies default --seeds 50

study-ratios: $(READY) ## docs/ratios.md: every density ratio against a known one (minutes)
	$(BIN)/python -m studies ratios

study-confounding: $(READY) ## docs/confounding.md: how often the test for hidden confounding rejects (half an hour)
	$(BIN)/python -m studies confounding --seeds 60

study-misses: $(READY) ## docs/misses.md: coverage of people who are easy and hard to predict (minutes)
	$(BIN)/python -m studies misses

study-theorem: $(READY) ## docs/theorem.md: Theorem 1's claim, checked (minutes)
	$(BIN)/python -m studies theorem

study-attacks: $(READY) ## docs/attacks.md: coverage on data that once broke the promise (half an hour)
	$(BIN)/python -m studies attacks --seeds 100

study-population: $(READY) ## docs/population.md: how often new rows are called unlike the trial's (ten minutes)
	$(BIN)/python -m studies population

study-whom: $(READY) ## docs/whom.md: coverage for other people than the trial's, with weights and without (most of an hour)
	$(BIN)/python -m studies whom --seeds 100

study-randomisation: $(READY) ## docs/randomisation.md: size and power of the test of randomisation (ten minutes)
	$(BIN)/python -m studies randomisation --seeds 1000

study-averages: $(READY) ## docs/averages.md: coverage and width of average effects, generated and real data (minutes)
	$(BIN)/python -m studies averages

study-selection: $(READY) ## docs/selection.md: the false discovery rate of choosing people, and how many are found (ten minutes)
	$(BIN)/python -m studies selection --seeds 1000

study-joint: $(READY) ## docs/joint.md: coverage and width of every interval for an effect that promises the same (half an hour)
	$(BIN)/python -m studies joint --seeds 8

fuzz: $(READY) ## docs/robustness.md: hostile tables, words and model files, 10,000 each (an hour; goes on where it stopped)
	$(BIN)/python -m fuzz tables
	$(BIN)/python -m fuzz commands
	$(BIN)/python -m fuzz models

attacks: $(READY) ## docs/robustness.md: attacks by hand, each case by its name (ten minutes)
	$(BIN)/python -m fuzz attacks

faults: $(READY) ## docs/robustness.md: kills, Ctrl-C, full disks, closed pipes, too little memory (a quarter of an hour)
	$(BIN)/python -m fuzz faults

coverage: $(READY) ## docs/coverage.md: every method, effect and weighting against its promise (an hour; goes on where it stopped)
	$(BIN)/python -m studies coverage

reproduction-page: $(READY) ## docs/reproduction.md from its CSV files; FROM=folder takes them from `confide reproduce all`
	$(BIN)/python scripts/reproduction.py $(if $(FROM),--from $(FROM))

pictures: $(READY) ## README's picture, the numbers behind it, and its gain from five other seeds (three minutes)
	$(BIN)/python scripts/pictures.py

notebook: $(READY) ## Run docs/notebook.ipynb, and write what its cells show into it (seconds)
	$(BIN)/python scripts/notebook.py

rooms: $(READY) ## CONTRIBUTING's drawing of the rooms, from the imports
	$(BIN)/python scripts/rooms.py

promises: $(READY) ## Write the promises in docs/promises.md from METHODS
	$(BIN)/python scripts/promises.py

# Material for MkDocs tells of its successor at each start, which is no warning about the site.
docs: $(READY) ## The documentation site, into site/ (open site/index.html)
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --quiet

docs-serve: $(READY) ## The site on http://127.0.0.1:8000, made anew when a page changes
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs serve

# Versions that still fit stay as they are; UPGRADE=1 takes the latest.
lock: $(READY) ## Pin the development dependencies with the hashes of their files; UPGRADE=1 takes new versions (seconds)
	$(BIN)/uv pip compile --quiet --generate-hashes --no-annotate --custom-compile-command "make lock" \
		--python $(BIN)/python --extra dev $(if $(UPGRADE),--upgrade) --output-file requirements-dev.lock pyproject.toml

clean: ## Remove the environments and caches
	rm -rf $(VENV) .venv-* .python-3.13 dist .pytest_cache .mypy_cache .ruff_cache .hypothesis test-screenshots
