"""Findings as files, as reports for programs, and as tests of pytest."""

import asyncio
import dataclasses
import json
from xml.etree import ElementTree as ET

import camps
import pytest
import reportschemas
from click.testing import CliRunner

from inkube.apiserver import explore
from inkube.apiserver.cli import main
from inkube.apiserver.explore import Limits, Scenario
from inkube.apiserver.sources import snapshots

pytest_plugins = ["pytester"]
PLAN = "restart after create of ConfigMap default/a #1"
FILE = "restart_after_create_of_configmap_default_a_1"


@pytest.fixture(autouse=True)
def _no_unhandled_errors():
    """An exploration reports the errors that controllers log."""


@pytest.fixture(scope="module")
def found():
    scenario = Scenario(camps.camp(camps.raises, camps.MAPS), [camps.CREATE])
    return explore.explore(scenario, Limits(300, only=[PLAN], shrink=0))


@pytest.fixture
def run(found, monkeypatch, tmp_path):
    """The command, with an exploration that has taken place."""

    async def explore_into(exploration, *given):
        for each in dataclasses.fields(found):
            setattr(exploration, each.name, getattr(found, each.name))

    monkeypatch.setattr(explore, "explore_into", explore_into)
    path = tmp_path / "scenario.yaml"
    path.write_text("controller: a\nsteps: [{advance: 1}]")
    return lambda *words: CliRunner().invoke(main, ["explore", str(path), *words])


def test_a_finding_is_kept_as_a_state_a_page_a_scenario_and_a_test(run, tmp_path):
    done = run("--output", str(tmp_path / "out"))
    assert done.exit_code == 1, done.output
    kept = sorted(path.name for path in (tmp_path / "out").iterdir())
    assert kept == [f"{FILE}.db", f"{FILE}.html", f"{FILE}.yaml", f"test_{FILE}.py"]
    assert "<title>" in (tmp_path / "out" / f"{FILE}.html").read_text()
    text = (tmp_path / "out" / f"{FILE}.yaml").read_text()
    again = explore.parse(text, camps.camp(camps.raises))
    assert [plan.name for plan in again.plans] == [PLAN]


def test_the_state_of_a_finding_can_be_loaded(run, tmp_path):
    run("--output", str(tmp_path / "out"))
    state = asyncio.run(snapshots.load(tmp_path / "out" / f"{FILE}.db"))
    assert any("/configmaps/default/a" in record.key for record in state.log.records)


def test_findings_with_the_same_name_have_files_of_their_own(run, found, tmp_path, monkeypatch):
    monkeypatch.setattr(found, "findings", [*found.findings, *found.findings])
    run("--output", str(tmp_path / "out"))
    kept = {path.name for path in (tmp_path / "out").iterdir()}
    assert kept == {
        *(f"{FILE}{end}" for end in (".db", ".html", ".yaml")), f"test_{FILE}.py",
        *(f"{FILE}_2{end}" for end in (".db", ".html", ".yaml")), f"test_{FILE}_2.py",
    }  # fmt: skip


def test_junit_is_xml_whatever_a_controller_writes(run, found, monkeypatch):
    text = "\x00\x1b[31m \ufffe\ud800 \t\x7f é"
    [finding] = found.findings
    monkeypatch.setattr(found, "findings", [finding._replace(text=text)])
    monkeypatch.setattr(found, "failed", [(finding.plan, text)])
    report = run("--format", "junit").stdout
    reportschemas.cases_of_junit(report)
    suite = ET.fromstring(report)
    shown = "\\x00\\x1b[31m \\ufffe\\ud800 \t\x7f é"
    assert [each.attrib["message"] for each in suite.iterfind(".//*[@message]")] == [shown, shown]


def test_sarif_has_a_result_for_each_finding_and_a_rule_for_each_verdict(run):
    whole = json.loads(run("--format", "sarif").stdout)
    [file] = reportschemas.files_of_sarif(whole)
    assert file.endswith("scenario.yaml")
    [report] = whole["runs"]
    [result] = report["results"]
    assert (result["ruleId"], result["level"]) == ("raised", "error")
    assert result["message"]["text"].startswith(f"{PLAN}: ")
    assert [rule["id"] for rule in report["tool"]["driver"]["rules"]] == ["raised"]


def test_json_contains_the_smallest_scenario(run):
    [finding] = json.loads(run("--format", "json").stdout)["findings"]
    assert finding["smallest"]["plans"][0]["restartedAfter"] == "create of ConfigMap default/a #1"


def test_pytest_is_a_module_with_a_test_for_each_cause(run):
    text = run("--format", "pytest").stdout
    compile(text, "test_found.py", "exec")
    assert f"def test_{FILE}():" in text


def test_a_marked_test_explores_the_scenario_that_it_returns(pytester):
    pytester.makepyfile("""
        import pytest
        from inkube.explore import InProcess, Scenario, apply, rule

        POD = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "a"},
               "spec": {"containers": [{"name": "a", "image": "a"}]}}

        @pytest.fixture
        def controller():
            return InProcess({"workloads": True})

        @pytest.mark.kube_explore(budget=300, only=["restart right after *"])
        def test_right(controller):
            return Scenario(controller, [apply(POD)])

        @pytest.mark.kube_explore(budget=300)
        def test_wrong(controller):
            return Scenario(controller, [apply(POD)], rules=[rule("none", "false", "Pod")])

        @pytest.mark.kube_explore
        def test_without_a_scenario():
            return 1
    """)
    done = pytester.runpytest("-o", "asyncio_default_fixture_loop_scope=function")
    done.assert_outcomes(passed=1, failed=2)
    done.stdout.fnmatch_lines_random(
        [
            "*without any disturbance, 'none' does not hold for Pod default/a*",
            "*test_without_a_scenario: a test with kube_explore returns an inkube.explore*",
        ]
    )
