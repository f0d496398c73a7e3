# Two commands do everything: `make run` opens the app, `make test` runs every check and test.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
PORT ?= 8501

.PHONY: run test check fuzz lock lowest clean

# Streamlit takes in changes of code beside pages/_router.py and on PYTHONPATH.
run: $(VENV)/.run
	PYTHONPATH=. $(BIN)/streamlit run app.py --server.port $(PORT)

test: check
	$(BIN)/python -m pytest

check: $(VENV)/.test
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/lint-imports

# Odd files, archives, links and calls at random until so many seconds are over or something is found.
SECONDS := 3600
fuzz: $(VENV)/.test
	end=$$(( $$(date +%s) + $(SECONDS) )); while [ $$(date +%s) -lt $$end ]; do \
		DPSYN_FUZZ=random $(BIN)/python -m pytest -q -x tests/robustness || exit 1; done

# Newest releases that pyproject.toml admits, written down exactly; run the tests, then commit.
lock:
	rm -rf $(VENV)-lock
	$(PYTHON) -m venv $(VENV)-lock
	$(VENV)-lock/bin/pip install --quiet ".[test]"
	$(VENV)-lock/bin/pip freeze --exclude dpsyn | grep -v ' @ ' > constraints.txt
	rm -rf $(VENV)-lock build dpsyn.egg-info

# The lower bounds of pyproject.toml, tried. Python 3.11 or 3.12: the oldest releases know no later one.
lowest:
	rm -rf $(VENV)-lowest
	$(PYTHON) -m venv $(VENV)-lowest
	$(VENV)-lowest/bin/pip install --quiet --constraint constraints-lowest.txt --editable ".[cluster]" pytest hypothesis
	$(VENV)-lowest/bin/python -m pytest --ignore tests/browser
	rm -rf $(VENV)-lowest

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
