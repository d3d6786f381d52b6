PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
# Each is touched when the packages for it are installed: to serve, for `make test`, for all else.
SERVING := $(VENV)/.serving
TESTING := $(VENV)/.testing
STAMP := $(VENV)/.installed
JOBS ?= auto
SCHEMA := $(BIN)/check-jsonschema --quiet --builtin-schema vendor
# What waits for events of other processes and threads, for revisions, for readers and leaders.
WAITING := $(addprefix tests/,storage/test_store_watch.py storage/test_store_sharing.py \
  $(addprefix apiserver/,watching testing/test_fixture_markers.py testing/test_fixture_faults.py \
  test_leading_servers.py test_sleeping_servers.py http/test_slow_clients.py http/test_budget.py) \
  controllers/test_leader_election.py controllers/test_manager_keeps_going.py)

# Requests, streams and recordings, which are answered alike by either loop for connections. The other
# recordings are answered by other stores, processes and kinds, behind the same loop.
ANSWERED := $(addprefix tests/,$(addprefix apiserver/,http watching faults subresources) \
  $(addprefix conformance/test_floor.py::,test_the_recorded_conversations_hold \
  test_the_recorded_kubectl_sessions_hold))

.PHONY: help serve test test-all plain uncrowded crowded lint workflows types exams rounds conformance matrix bench docs views dist binary

help:  ## these lines
	@sed -n 's/^\([a-z-]*\):[^#]*## \(.*\)/make \1|\2/p' $(MAKEFILE_LIST) | awk -F'|' '{ printf "%-17s %s\n", $$1, $$2 }'

serve: $(SERVING)  ## http://127.0.0.1:8001, data in ./inkube.db
	$(BIN)/inkube serve $(ARGS)

test: $(TESTING)  ## the tests that start no program, database or browser: up to 15 minutes on two cores
	$(BIN)/python -m pytest -n $(JOBS) -m "not (processes or database or browser)" $(ARGS)

test-all: $(STAMP)  ## every test
	$(BIN)/python -m pytest -n $(JOBS) $(ARGS)

plain: $(STAMP)  ## the tests of HTTP and the recordings, on aiohttp's own loop for connections
	INKUBE_HTTP=plain $(BIN)/python -m pytest -n $(JOBS) $(ANSWERED) $(ARGS)

uncrowded: $(STAMP)  ## every test that `crowded` leaves out
	$(BIN)/python -m pytest -n $(JOBS) $(addprefix --ignore=,$(WAITING)) $(ARGS)

crowded: $(STAMP)  ## the tests that wait, beside two busy loops per core
	$(BIN)/python tests/support/crowd.py $(BIN)/python -m pytest -n $(JOBS) $(WAITING) $(ARGS)

lint: $(STAMP)  ## format check, lint, layers, words, workflows, types
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/lint-imports
	$(BIN)/python tools/prose.py
	$(MAKE) workflows types

workflows: $(STAMP)  ## actionlint, zizmor and schemas: what runs on GitHub and GitLab
	$(BIN)/actionlint .github/workflows/*.yml examples/ci/github.yaml
	$(BIN)/zizmor --offline --no-progress --quiet .
	$(SCHEMA).github-workflows .github/workflows/*.yml examples/ci/github.yaml
	$(SCHEMA).github-actions action.yml
	$(SCHEMA).github-issue-forms .github/ISSUE_TEMPLATE/bug.yml .github/ISSUE_TEMPLATE/feature.yml
	$(SCHEMA).github-issue-config .github/ISSUE_TEMPLATE/config.yml
	$(SCHEMA).dependabot .github/dependabot.yml
	$(SCHEMA).gitlab-ci --data-transform gitlab-ci examples/ci/gitlab.yaml
	$(SCHEMA).compose-spec deploy/compose.yaml

types: $(STAMP)  ## mypy, which `lint` runs as well
	$(BIN)/mypy -p inkube
	$(BIN)/mypy tests
	$(BIN)/mypy benchmarks examples tools

exams: $(STAMP)  ## the exams in full: kills, disks, bombs, growth, fuzz, a soak of half an hour
	INKUBE_EXAMS=long $(BIN)/python -m pytest -s --timeout 7200 tests/exams tests/conformance/test_floor.py tests/apiserver/test_leading_servers.py tests/apiserver/explore $(ARGS)
	INKUBE_FUZZ=20000 $(BIN)/python -m pytest -s --timeout 7200 tests/apiserver/http/fuzz \
	  tests/schemas/cel/test_cel_optionals_against_cpp.py $(ARGS)
	INKUBE_HTTP=plain INKUBE_FUZZ=20000 $(BIN)/python -m pytest -s --timeout 7200 tests/apiserver/http/fuzz $(ARGS)
	INKUBE_EXAMS=long $(BIN)/python -m pytest -s --timeout 7200 tests/conformance/test_seeds.py $(ARGS)
	INKUBE_EXAMS=long $(BIN)/python -m pytest -s --timeout 7200 tests/apiserver/explore tests/test_modules_are_plugs.py $(ARGS)
	INKUBE_EXAMS=long $(BIN)/python -m pytest -s tests/apiserver/upgrades/test_recorded_refusals.py $(ARGS)
	$(BIN)/python -m pip install --quiet helm-python-sdk && $(BIN)/python -m pytest tests/apiserver/plans/test_charts.py $(ARGS)
	INKUBE_FAULTS=1000 INKUBE_FAULT_SEEDS=3 $(BIN)/python -m pytest -s --timeout 7200 tests/apiserver/clients/test_clients_survive_faults.py $(ARGS)

rounds: $(STAMP)  ## kills and faults of servers in each set-up, judged: ARGS="--minutes 60 --at-once"
	$(BIN)/python tests/support/faults.py $(ARGS)

conformance: $(STAMP)  ## the table: how much of kube-apiserver's recorded behaviour holds
	$(BIN)/python tests/conformance/table.py $(ARGS)

matrix: $(STAMP)  ## chosen tests with many versions, Pythons and settings; the table in docs/matrix.md
	$(BIN)/python tools/matrix.py --page docs/matrix.md $(ARGS)

bench: $(STAMP)  ## ratios measured in one run
	$(BIN)/python -m benchmarks $(ARGS)

docs: $(STAMP)  ## docs/ as a site, in site/; field-path maps and definitions first
	$(BIN)/inkube definitions export --docs docs/fields
	NO_MKDOCS_2_WARNING=1 $(BIN)/python -m mkdocs build $(ARGS)
	@echo "Open site/index.html in a browser: file://$(CURDIR)/site/index.html"

views: $(STAMP)  ## the pictures and trees of the console's pages that a test compares
	INKUBE_VIEWS=make $(BIN)/python -m pytest -q tests/apiserver/console/test_views.py $(ARGS)

dist: $(STAMP)  ## the wheel, in dist/
	$(BIN)/python -m pip wheel --quiet --no-deps -w dist .

binary:  ## dist/inkube: one file that runs where no Python is
	$(PYTHON) tools/binary.py

# A virtual environment with more also has what needs less.
$(SERVING): pyproject.toml hatch_build.py
	$(PYTHON) tools/environment.py $(VENV) speed
	touch $(SERVING)

$(TESTING): pyproject.toml hatch_build.py
	$(PYTHON) tools/environment.py $(VENV) speed test
	touch $(SERVING) $(TESTING)

$(STAMP): pyproject.toml hatch_build.py
	$(PYTHON) tools/environment.py $(VENV) dev
	touch $(SERVING) $(TESTING) $(STAMP)
