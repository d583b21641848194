# Needs Python 3.11 or newer, pip and make. Everything is installed into .venv, at the versions in constraints.txt.
#   make ladder [ARGS=...] [EXTRAS=plots,cuda13]   run the same expression on every rung of this machine
#   make test [ARGS=...]                           tests that need no GPU; later -m wins: ARGS="-m gpu"
#   make test-lowest [ARGS=...]                    the same tests at the lowest versions allowed, in .venv-lowest
#   make lint | bench [ARGS=...] | clean
PYTHON ?= python3
EXTRAS ?= plots
ARGS   ?=
VENV   := .venv
BIN    := $(VENV)/bin
DEV    := $(VENV)/.installed-dev
LOWEST := .venv-lowest
NO_GPU := -m "not gpu and not multigpu and not slow"
export PYTHONUNBUFFERED := 1
# From the environment, and under both names, the pins also reach pip's isolated build of this package, in old pip and new.
export PIP_CONSTRAINT       := constraints.txt
export PIP_BUILD_CONSTRAINT := constraints.txt

.PHONY: ladder test test-lowest lint bench clean

ladder: $(VENV)/.installed-$(EXTRAS)
	$(BIN)/speedcube ladder $(ARGS)

test: $(DEV)
	$(BIN)/python -m pytest $(NO_GPU) $(ARGS)

test-lowest: $(LOWEST)/.installed
	$(LOWEST)/bin/python -m pytest $(NO_GPU) $(ARGS)

lint: $(DEV)
	$(BIN)/ruff check
	$(BIN)/ruff format --check
	$(BIN)/mypy

bench: $(DEV)
	set -e; for script in $(sort $(wildcard bench/*.py)); do $(BIN)/python $$script $(ARGS); done

# One stamp for each set of extras. The pip beside $(PYTHON) does the work, since some systems' venv cannot bring its own.
$(VENV)/.installed-%: pyproject.toml constraints.txt
	$(PYTHON) -m venv --without-pip $(VENV)
	$(PYTHON) -m pip --python $(BIN)/python install --quiet --editable ".[$*]"
	touch $@

$(LOWEST)/.installed: export PIP_CONSTRAINT       := constraints-lowest.txt
$(LOWEST)/.installed: export PIP_BUILD_CONSTRAINT := constraints-lowest.txt
$(LOWEST)/.installed: pyproject.toml constraints-lowest.txt
	$(PYTHON) -m venv --without-pip $(LOWEST)
	$(PYTHON) -m pip --python $(LOWEST)/bin/python install --quiet --editable ".[dev]"
	touch $@

clean:
	rm -rf $(VENV) $(LOWEST) build dist .mypy_cache .pytest_cache .ruff_cache .hypothesis
	find src tests tools -name __pycache__ -type d -prune -exec rm -rf {} +
