# The course's commands. `make lab` and `make test` are all that a newcomer needs.
# Without make (Windows), README.md gives the same commands in full.

VENV ?= .venv
# The first Python of version 3.11 or newer on this machine.
PYTHON ?= $(shell for p in python3 python3.13 python3.12 python3.11 python3.14 python; do \
	$$p -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null && echo $$p && break; done)
RUN = $(VENV)/bin/python
PIP = $(RUN) -m pip --disable-pip-version-check install --quiet --constraint constraints.txt

.PHONY: help lab test engines hub soak bench build check bundle site demo reset update lint lock clean

help:  ## list the commands
	@grep -hE '^[a-z]+:.*##' $(MAKEFILE_LIST) | sed 's/:.*## /	/' | expand -t 10

$(RUN):
	@test -n "$(PYTHON)" || { echo "No Python 3.11 or newer was found. Install one from python.org or your system's packages."; exit 1; }
	@$(PYTHON) -m venv $(VENV) || { rm -rf $(VENV); echo "No environment could be made. On Debian and Ubuntu: apt install python3-venv"; exit 1; }

$(VENV)/learner: $(RUN) requirements.txt constraints.txt pyproject.toml
	@echo "Installing what the lessons need (a minute or two, once) ..."
	@$(PIP) -r requirements.txt
	@touch $@

$(VENV)/developer: $(VENV)/learner
	@echo "Installing what building and testing need ..."
	@$(PIP) -e '.[dev]'
	@touch $@

$(VENV)/engines: $(VENV)/developer
	@echo "Installing the engines to compare with ..."
	@$(PIP) -e '.[dev,engines]'
	@touch $@

$(VENV)/hub: $(VENV)/developer tests/hub/package-lock.json
	@echo "Installing a hub for the class test ..."
	@$(PIP) -e '.[dev,hub]'
	@mkdir -p $(VENV)/proxy && cp tests/hub/package.json tests/hub/package-lock.json $(VENV)/proxy/
	@npm ci --prefix $(VENV)/proxy --silent --no-audit --no-fund
	@touch $@

lab: $(VENV)/learner  ## open JupyterLab at lesson 1 (LAB_ARGS="--no-browser --port=8890")
	@$(RUN) -m specdec lab $(LAB_ARGS)

test: $(VENV)/developer  ## run the tests (TEST_ARGS="-k widgets")
	@$(RUN) -m pytest $(TEST_ARGS)

engines: $(VENV)/engines  ## install torch and transformers, for the tests that need them

hub: $(VENV)/hub  ## install JupyterHub, for the class test (as root: CLASS_TEST=1 make test TEST_ARGS=tests/hub)

soak: $(VENV)/developer  ## the long tests: known answers, 50 power cuts, 2,000 hand-ins, 50,000 tokens
	@SOAK=1 $(RUN) -m pytest --timeout 1800 tests/grading/test_mutants.py tests/grading/test_nothing_lost.py $(TEST_ARGS)
	@$(RUN) benchmarks/grading/scale.py soak
	@$(RUN) benchmarks/engines/exactness.py --tokens 50000

bench: $(VENV)/developer  ## measure grading beside nbgrader and otter (BENCH_ARGS="whole")
	@$(RUN) benchmarks/grading/measure.py $(BENCH_ARGS)

build: $(VENV)/developer  ## build lessons/ and solutions/ from course/ (LESSON=01)
	@$(RUN) -m tools.build all $(LESSON)

check: $(VENV)/developer lint  ## prove that text, lessons and solutions are in step (LESSON=01)
	@$(RUN) -m tools.check $(LESSON)

lint: $(VENV)/developer  ## ruff, both ways
	@$(RUN) -m ruff check
	@$(RUN) -m ruff format --check

bundle: $(VENV)/developer  ## a zip for students without any answer (LINKS=keep, none or an address)
	@$(RUN) -m tools.bundle $(if $(LINKS),--links $(LINKS)) $(if $(OUT),--out $(OUT))

site: $(VENV)/developer  ## the worked solutions as static pages, with search and live widgets (OUT=site)
	@$(RUN) -m tools.site $(if $(OUT),--out $(OUT))

demo: $(VENV)/developer  ## grade the sample class into a scratch course (DIR=demo)
	@$(RUN) -m autograder demo $(if $(DIR),--dir $(DIR))

reset: $(VENV)/learner  ## start a lesson afresh, your copy is kept (LESSON=01)
	@$(RUN) -m specdec reset $(LESSON)

update: $(VENV)/learner  ## fetch a newer version, your copies are kept
	@$(RUN) -m specdec update

lock: $(VENV)/developer  ## write the versions of this environment into constraints.txt
	@{ echo "# A set of versions that is known to work, on Python 3.11 to 3.13."; \
	   echo "# Made with: make lock"; \
	   $(RUN) -m pip list --format=freeze --exclude-editable --exclude pip --exclude setuptools; \
	 } > constraints.txt

clean:  ## remove the environment and caches, nothing of yours
	rm -rf $(VENV) .pytest_cache .ruff_cache
