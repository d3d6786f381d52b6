"""A test suite of somebody else runs under each disturbance; its exit code is the judge."""

import json
import sys

import pytest
from click.testing import CliRunner

from inkube.apiserver.cli import main
from inkube.apiserver.explore import (
    ExplorationError,
    Limits,
    Scenario,
    ScenarioError,
    Suite,
    explore,
    parse,
    replays,
)

SUITE = '''
"""A test, and the code under test, which has its own user agent."""
import json, os, re, sys, urllib.error, urllib.request

server = re.search(r"server: (\\S+)", open(os.environ["KUBECONFIG"]).read())[1]
MAPS = "/api/v1/namespaces/default/configmaps"


def ask(agent, method, path, body=None):
    headers = {"User-Agent": agent, "Content-Type": "application/merge-patch+json"}
    if method == "POST":
        headers["Content-Type"] = "application/json"
    data = None if body is None else json.dumps(body).encode()
    return json.load(urllib.request.urlopen(
        urllib.request.Request(server + path, data, headers, method=method), timeout=10
    ))


def count(attempts):
    """The code under test: it tries again, or does not."""
    for attempt in range(attempts):
        try:
            return ask("counter/1", "PATCH", f"{MAPS}/a", {"data": {"counted": "1"}})
        except (urllib.error.HTTPError, OSError) as error:
            print("failed:", error)


ask("test/1", "POST", MAPS, {"metadata": {"name": "a"}})
count(int(sys.argv[1]))
assert ask("test/1", "GET", f"{MAPS}/a").get("data") == {"counted": "1"}, "not counted"
'''


@pytest.fixture
def words(tmp_path):
    path = tmp_path / "suite.py"
    path.write_text(SUITE)
    return [sys.executable, str(path)]


def explored(words, attempts, **limits):
    suite = Suite([*words, str(attempts)], agents=["counter/*"])
    return explore(Scenario(suite), Limits(300, **limits))


def test_a_suite_fails_under_a_disturbance_that_the_code_does_not_survive(words):
    found = explored(words, 1, only=["500 for patch *", "409 Conflict for patch *"])
    assert [(each.plan.name, each.verdict, each.is_certain) for each in found.findings] == [
        ("409 Conflict for patch configmaps/a #1", "failed", True),
        ("500 for patch configmaps/a #1", "failed", True),
    ]
    assert found.findings[0].text == "the suite fails, with exit code 1"
    assert "AssertionError: not counted" in found.findings[0].result.log
    text = replays.scenario(found.findings[0])
    again = parse(text.replace("409 Conflict for", "again:"))
    [finding] = explore(again, Limits(300)).findings
    assert finding.plan.name == "again: patch configmaps/a #1"


def test_a_suite_of_code_that_tries_again_passes_under_each_disturbance(words):
    found = explored(words, 2)
    assert [finding.text for finding in found.findings] == []
    assert not found.failed
    names = [plan.name for plan in found.passed]
    assert "response lost of patch configmaps/a #1" in names
    assert not any("create" in name for name in names), "the requests of the test itself"


def test_a_suite_that_fails_by_itself_is_an_error(words):
    with pytest.raises(ExplorationError, match="without any disturbance, the suite fails, with"):
        explored(words, 0)


def test_the_command_runs_a_suite_and_repeats_a_finding(words):
    options = ["--suite", "--agent", "counter/*", "--only", "504 *", "--", *words, "1"]
    done = CliRunner().invoke(main, ["explore", *options])
    assert done.exit_code == 1, done.output
    assert "FAILED 504 for patch configmaps/a #1" in done.stdout
    assert "inkube explore --suite --agent 'counter/*' --only '504 for" in done.stdout
    wrong = CliRunner().invoke(main, ["explore", "--suite"])
    assert wrong.exit_code == 2
    assert "give the command of the suite after `--`" in wrong.output


def test_a_scenario_has_steps_or_a_suite():
    with pytest.raises(ScenarioError, match="steps: list at least one, or name a suite"):
        parse("controller: a")
    with pytest.raises(ScenarioError, match="a suite has no controller and no steps"):
        parse(json.dumps({"suite": ["a"], "steps": [{"advance": 1}]}))
