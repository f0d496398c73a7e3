# Two commands do everything: `make run` opens the app, `make test` runs every check and test.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
PORT ?= 8501

.PHONY: run test check lock clean

run: $(VENV)/.run
	$(BIN)/streamlit run app.py --server.port $(PORT)

test: check
	$(BIN)/python -m pytest

check: $(VENV)/.test
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/lint-imports

# Newest releases that pyproject.toml admits, written down exactly; run the tests, then commit.
lock:
	rm -rf $(VENV)-lock
	$(PYTHON) -m venv $(VENV)-lock
	$(VENV)-lock/bin/pip install --quiet ".[test]"
	$(VENV)-lock/bin/pip freeze --exclude dpsyn | grep -v ' @ ' > constraints.txt
	rm -rf $(VENV)-lock build dpsyn.egg-info

$(BIN)/python:
	$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "dpsyn needs Python 3.11 or later; say make PYTHON=python3.x")'
	$(PYTHON) -m venv $(VENV)

$(VENV)/.run: pyproject.toml constraints.txt | $(BIN)/python
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --constraint constraints.txt --editable .
	touch $@

$(VENV)/.test: pyproject.toml constraints.txt | $(BIN)/python
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --constraint constraints.txt --editable ".[test]"
	touch $@ $(VENV)/.run

clean:
	rm -rf $(VENV) build *.egg-info .pytest_cache .mypy_cache .ruff_cache .import_linter_cache .hypothesis
