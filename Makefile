# make demo     install everything and solve the first example
# make test     lint, types and all tests, as the continuous integration runs them
# make install  only the environment in .venv
# make examples solve every example problem, JOBS at a time, into out/examples
# make gallery  after that: the pictures and numbers of docs/gallery.md
# make lint     ruff and mypy
# make bench    start-up, thousand packs, time loop, comparison with finite elements (half an hour; nothing else should run)
# make battery  problems with known answers: true errors, estimates and warnings, into out/battery.json
# make clean    remove the environment, caches and outputs

PYTHON  ?= python3
VENV    := .venv
BIN     := $(VENV)/bin
STAMP   := $(VENV)/.installed
JOBS    ?= 2

# gleg_core first; every folder with a pyproject.toml is a distribution of its own
PROJECTS := $(wildcard gleg_*/pyproject.toml) $(wildcard plugins/*/pyproject.toml)
DISTS    := $(sort $(PROJECTS:/pyproject.toml=))
EXAMPLES := $(patsubst %/pyproject.toml,%,$(wildcard plugins/examples/*/pyproject.toml))
SOURCES  := $(addsuffix /src,$(DISTS) $(EXAMPLES))
PIP      := $(BIN)/python -m pip install --disable-pip-version-check -c constraints.txt

.PHONY: install demo examples gallery test lint bench battery clean
.DEFAULT_GOAL := install

install: $(STAMP)

# One pip command, so that the distributions of this repository satisfy each other and none is looked up in an index.
$(STAMP): constraints.txt pyproject.toml $(PROJECTS)
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(PIP) --quiet hatchling editables
	$(PIP) --quiet --no-build-isolation $(addprefix -e ./,$(DISTS)) -e '.[dev]'
	touch $@

demo: $(STAMP)
	$(BIN)/gleg run examples/mms-1-rosette.yaml --movie --out out/demo

# The longest first. One thread each: two runs side by side gain more than two threads in one.
LONG := cylinder-wake burgers-square mms-4-annular-star
examples: $(STAMP)
	mkdir -p out/examples
	printf '%s\n' $(LONG) $(filter-out $(LONG),$(basename $(notdir $(wildcard examples/*.yaml)))) | \
	  OMP_NUM_THREADS=1 xargs -P $(JOBS) -I{} sh -c '$(BIN)/gleg examples run {} --out out/examples/{} --quiet && echo solved {}'

gallery: $(STAMP)
	$(BIN)/python benchmarks/gallery.py out/examples

lint: $(STAMP)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy $(SOURCES)

# One thread per test process: two processes with two threads each only get into each other's way.
test: lint
	OMP_NUM_THREADS=1 $(BIN)/python -m pytest -n $(JOBS) --dist loadgroup

bench: $(STAMP)
	$(PIP) --quiet --no-build-isolation -e '.[bench]'
	$(PIP) --quiet --no-build-isolation --no-deps --upgrade --target out/bench ./plugins/examples/gleg_basis_legendre
	OMP_NUM_THREADS=1 PYTHONPATH=out/bench $(BIN)/python benchmarks/time_loop.py
	PYTHONPATH=out/bench $(BIN)/python benchmarks/against_peers.py
	$(BIN)/python benchmarks/startup.py
	$(BIN)/python benchmarks/many_packs.py

battery: $(STAMP)
	mkdir -p out
	$(BIN)/python benchmarks/battery/run.py --jobs $(JOBS) --out out/battery.json

clean:
	rm -rf $(VENV) out .pytest_cache .mypy_cache .ruff_cache
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
