# Needs Python 3.11 or newer, pip and make. Everything is installed into .venv, at the versions in constraints.txt.
#   make ladder [ARGS=...] [EXTRAS=plots,cuda13]   run the same expression on every rung of this machine
#   make test [ARGS=...]                           tests that need no GPU, two at a time; later options win: ARGS="-m gpu",
#                                                  which run one at a time, or ARGS="-n 0 -x tests/api/test_dot.py"
#   make test-slow [ARGS=...]                      the long ones, and new examples of property tests; the seed that is shown
#                                                  repeats them: ARGS="--hypothesis-seed=7"
#   make test-lowest [ARGS=...]                    the same tests at the lowest versions allowed, in .venv-lowest
#   make docs                                      the manual, in build/manual/html, every link checked
#   make wheel                                     a wheel and an archive in dist/, checked as an index would
#   make lint | bench [ARGS=...] | clean
#   make bench-floors [ARGS="--json FILE"]         every operation beside NumPy and Dask, ten minutes on two cores
PYTHON ?= python3
EXTRAS ?= plots
ARGS   ?=
VENV   := .venv
BIN    := $(VENV)/bin
DEV    := $(VENV)/.installed-dev
LOWEST := .venv-lowest
QUICK  := not gpu and not multigpu and not slow
SLOW   := slow and not gpu and not multigpu
TWO    := --numprocesses auto --dist worksteal
# Tests of what users call; those of the engine's own parts are by kernels always.
USED   := $(addprefix tests/,api compat fft fuzz interop linalg ma random)
PINS   := constraints.txt
export PYTHONUNBUFFERED := 1
# Modules are compiled when they are first imported, instead of all that is installed, and kept wherever we are run.
export PIP_NO_COMPILE   := 1
unexport PYTHONDONTWRITEBYTECODE
# From the environment the pins also reach the isolated build of this package.
export PIP_CONSTRAINT      = $(PINS)
export UV_CONSTRAINT       = $(PINS)
export UV_BUILD_CONSTRAINT = $(PINS)
export UV_SYSTEM_CERTS    := 1
export UV_HTTP_TIMEOUT    := 180

# An environment with some extras. The pip beside $(PYTHON) brings uv, since some systems' venv cannot bring its own pip; uv
# brings the rest in seconds. But torch: pip's settings may name another build of it than PyPI's with its gigabytes of CUDA.
define install
	$(PYTHON) -m venv --without-pip $(1)
	$(PYTHON) -m pip --python $(1)/bin/python install --quiet --no-deps uv $(if $(filter dev,$(2)),torch)
	$(1)/bin/uv pip install --quiet --python $(1)/bin/python --editable ".[$(2)]"
	touch $@
endef

.PHONY: ladder test test-slow test-kernels test-lowest lint docs wheel bench bench-floors clean

ladder: $(VENV)/.installed-$(EXTRAS)
	$(BIN)/speedcube ladder $(ARGS)

# Two tests at a time have a core each; BLAS would start threads for every core, which spin.
test test-slow test-kernels test-lowest: export OPENBLAS_NUM_THREADS := 1

test: $(DEV)
	$(BIN)/python -m pytest -m "$(QUICK)" $(TWO) $(ARGS)

test-slow: $(DEV)
	$(BIN)/python -m pytest -m "$(SLOW)" $(TWO) $(ARGS)

# What `test` has of few elements by NumPy's functions, as users get it, once more by kernels.
test-kernels: $(DEV)
	$(BIN)/python -m pytest -m "$(QUICK)" --by-kernels $(TWO) $(USED) $(ARGS)

test-lowest: $(LOWEST)/.installed
	$(LOWEST)/bin/python -m pytest -m "$(QUICK)" $(TWO) $(ARGS)

lint: $(DEV)
	$(BIN)/ruff check
	$(BIN)/ruff format --check
	$(BIN)/mypy

docs: $(VENV)/.installed-docs
	PYTHONPATH=tools $(BIN)/python -m manual

wheel: $(VENV)/.installed-release
	rm -rf dist
	$(BIN)/python -m build --installer uv --outdir dist .
	$(BIN)/twine check --strict dist/*
	$(BIN)/check-wheel-contents dist/*.whl

bench: $(DEV)
	set -e; for script in $(sort $(wildcard bench/*.py)); do $(BIN)/python $$script $(ARGS); done

bench-floors: $(DEV)
	$(BIN)/python bench/floors.py $(ARGS)

# One stamp for each set of extras.
$(VENV)/.installed-%: pyproject.toml constraints.txt
	$(call install,$(VENV),$*)

$(LOWEST)/.installed: PINS := constraints-lowest.txt
$(LOWEST)/.installed: pyproject.toml constraints-lowest.txt
	$(call install,$(LOWEST),dev)

clean:
	rm -rf $(VENV) $(LOWEST) build dist .mypy_cache .pytest_cache .ruff_cache .hypothesis
	find src tests bench tools -name __pycache__ -type d -prune -exec rm -rf {} +
