# Two commands do everything: `make run` opens the app, `make test` runs every check and test.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
PORT ?= 8501

# Byte code is kept whatever the environment says: the app and most tests start processes.
export PYTHONDONTWRITEBYTECODE :=

# Wheels alone, each with its hash: nothing is built on the way in but dpsyn itself, by the pinned setuptools. pip would
# compile the libraries' own tests, too, and on one processor; a file that cannot be compiled is no harm.
INSTALL = $(BIN)/python -m pip install --quiet --disable-pip-version-check
LOCKED = $(INSTALL) --require-hashes --only-binary :all: --no-compile
EDITABLE = $(INSTALL) --no-deps --no-build-isolation --editable . && \
	{ $(BIN)/python -m compileall -qq -j 0 -x /tests/ $(VENV)/lib || true; }

.PHONY: run test postgres check style wheel mutants fuzz lock lowest sbom python3.12 python3.13 clean

# Streamlit takes in changes of code beside pages/_router.py and on PYTHONPATH.
run: $(VENV)/.run
	DPSYN_LOCAL=1 PYTHONPATH=. $(BIN)/streamlit run app.py --server.port $(PORT)

# Parts that run side by side, two more than there are processors, since some wait for a browser or for a job; what each said
# comes once it is done. The longest come first, and the others beside them.
LONG := tests/browser:tests/app:tests/kit:tests/cli tests/pages tests/mechanisms
SHORT := tests/robustness tests/conformance tests/data
OTHERS := $(foreach part,$(subst :, ,$(LONG) $(SHORT)),--ignore=$(part))
test: style
	printf '%s\n' $(LONG:%=pytest:%) 'pytest $(OTHERS)' $(SHORT:%=pytest:%) mypy | xargs -P $$($(BIN)/python -c 'import os; print(os.cpu_count() + 2)') -I PART sh -c ' \
	  log=$$(mktemp); $(BIN)/python -m $$(echo "$$1" | tr : " ") > $$log 2>&1; code=$$?; cat $$log; rm -f $$log; exit $$code' \
	  sh PART

# A PostgreSQL of our own for the tests that need one (apt-get install postgresql); `.ci/postgres stop` ends it.
postgres:
	.ci/postgres start

check: style
	$(BIN)/mypy

style: $(VENV)/.test
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/lint-imports

# The library, the command and the app in one file, dist/dpsyn-*.whl.
wheel: $(VENV)/.run
	rm -rf build dist
	$(BIN)/python -m pip wheel --quiet --disable-pip-version-check --no-deps --no-build-isolation --wheel-dir dist .

# Faults in the lines that privacy hangs on, one at a time: which of them does no test notice? Takes hours, and can be resumed.
mutants: $(VENV)/.test
	$(BIN)/python -m tests.mutants.run

# Odd files, archives, links and calls at random until so many seconds are over or something is found.
SECONDS := 3600
fuzz: $(VENV)/.test
	end=$$(( $$(date +%s) + $(SECONDS) )); while [ $$(date +%s) -lt $$end ]; do \
		DPSYN_FUZZ=random $(BIN)/python -m pytest -q -x tests/robustness || exit 1; done

# Newest releases that pyproject.toml admits, for every platform, written down exactly with hashes; run the tests, then commit.
lock:
	rm -rf $(VENV)-lock
	$(PYTHON) -m venv $(VENV)-lock
	$(VENV)-lock/bin/pip install --quiet uv
	echo "setuptools>=77" | $(COMPILE) pyproject.toml - --output-file constraints.txt
	echo "setuptools>=77" | $(COMPILE) --constraint constraints.txt --extra test pyproject.toml - --output-file constraints-test.txt
	rm -rf $(VENV)-lock
COMPILE = $(VENV)-lock/bin/uv pip compile --quiet --upgrade --universal --python-version 3.11 --generate-hashes \
	--no-annotate --no-emit-index-url --custom-compile-command "make lock"

# What the app is made of, with versions and hashes: a software bill of materials (CycloneDX, JSON).
sbom:
	rm -rf $(VENV)-sbom
	$(PYTHON) -m venv $(VENV)-sbom
	$(VENV)-sbom/bin/pip install --quiet cyclonedx-bom
	$(VENV)-sbom/bin/cyclonedx-py requirements --pyproject pyproject.toml --output-reproducible --output-file sbom.json constraints.txt
	rm -rf $(VENV)-sbom

# Every test but the browser's with another interpreter, where there is one.
python3.12 python3.13:
	@if $@ -c "" 2>/dev/null; then \
	  $(MAKE) PYTHON=$@ VENV=$(VENV)-$@ $(VENV)-$@/.test && $(VENV)-$@/bin/python -m pytest --ignore tests/browser; \
	else echo "$@ is not on this machine: nothing tried"; fi

# The lower bounds of pyproject.toml, tried. Python 3.11 or 3.12: the oldest releases know no later one.
lowest:
	rm -rf $(VENV)-lowest
	$(PYTHON) -m venv $(VENV)-lowest
	$(VENV)-lowest/bin/pip install --quiet --constraint constraints-lowest.txt --editable ".[cluster,notebook,warehouse]" "ibis-framework[postgres]" pytest hypothesis nbclient
	$(VENV)-lowest/bin/python -m pytest --ignore tests/browser
	rm -rf $(VENV)-lowest

$(BIN)/python:
	$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "dpsyn needs Python 3.11 or later; say make PYTHON=python3.x")'
	$(PYTHON) -m venv $(VENV)

$(VENV)/.run: pyproject.toml constraints.txt | $(BIN)/python
	$(LOCKED) --requirement constraints.txt
	$(EDITABLE)
	touch $@

$(VENV)/.test: pyproject.toml constraints.txt constraints-test.txt | $(BIN)/python
	$(LOCKED) --requirement constraints-test.txt
	$(EDITABLE)
	touch $@ $(VENV)/.run

clean:
	rm -rf $(VENV) sbom.json build dist *.egg-info .pytest_cache .mypy_cache .ruff_cache .import_linter_cache .hypothesis .mutants
