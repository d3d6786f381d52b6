"""Reports: each format has every finding, in the form that its readers know."""

import json
import os
from pathlib import Path
from xml.etree import ElementTree as ET

import boats
import pytest
import reportschemas

TEXT = """\
apiVersion: v1
kind: ConfigMap
metadata:
  name: a
  namespace: default
dota: {}
---
apiVersion: v1
kind: Endpoints
metadata: {name: a}
"""
FILES = {"a.yaml": TEXT, "b.yaml": "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: b}\n"}


def test_text_shows_the_line_with_a_caret(run):
    done = run("a.yaml", files=FILES)
    assert done.lines == [
        'a.yaml:6:1: error[unknown-field]: ConfigMap default/a: dota: unknown field "dota"',
        "6 | dota: {}",
        "  | ^^^^",
        (
            "a.yaml:8:1: warning[deprecated]: Endpoints a: v1 Endpoints is deprecated in v1.33+; "
            "use discovery.k8s.io/v1 EndpointSlice"
        ),
        "8 | apiVersion: v1",
        "  | ^^^^^^^^^^",
    ]
    assert done.err == "2 documents, 1 error, 1 warning\n"


def test_a_summary_counts_objects_and_findings(run):
    done = run("-oshort", "--summary", files=FILES)
    assert done.err.splitlines()[:-1] == [
        "objects",
        "       2 ConfigMap",
        "       1 Endpoints",
        "findings",
        "       1 deprecated (warning)",
        "       1 unknown-field (error)",
    ]


def test_json_has_every_member(run):
    shown = json.loads(run("-ojson", files=FILES).out)
    assert (shown["documents"], len(shown["errors"]), len(shown["warnings"])) == (3, 1, 1)
    assert shown["errors"][0] == {
        "file": "a.yaml", "document": 1, "line": 6, "column": 1, "length": 4,
        "subject": "ConfigMap default/a", "field": "dota", "code": "unknown-field",
        "type": "BadRequest", "message": 'unknown field "dota"',
    }  # fmt: skip


def test_junit_has_a_case_for_each_file(run):
    root = ET.fromstring(run("-ojunit", files=FILES).out)
    assert root.attrib == {"tests": "2", "failures": "1"}
    cases = {case.get("name"): [each.tag for each in case] for case in root.iter("testcase")}
    assert cases == {"a.yaml": ["failure", "system-out"], "b.yaml": []}


def test_tap_has_a_test_for_each_file(run):
    lines = run("-otap", files=FILES).lines
    assert lines[:3] == ["TAP version 13", "1..2", "not ok 1 - a.yaml"]
    assert lines[-1] == "ok 2 - b.yaml"


def test_sarif_names_rules_and_regions(run):
    (ran,) = json.loads(run("-osarif", files=FILES).out)["runs"]
    assert {rule["id"] for rule in ran["tool"]["driver"]["rules"]} == {
        "unknown-field",
        "deprecated",
    }
    first = ran["results"][0]
    assert (first["ruleId"], first["level"]) == ("unknown-field", "error")
    region = first["locations"][0]["physicalLocation"]["region"]
    assert region == {"startLine": 6, "startColumn": 1, "endColumn": 5}


def test_annotations_escape_what_their_syntax_uses(run):
    files = {"a,b.yaml": "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: '50%'}\n"}
    (line,) = run("-ogithub", files=files).lines
    place = "file=a%2Cb.yaml,line=3,col=18,endColumn=23,title=invalid"
    assert line.startswith(
        f'::error {place}::ConfigMap 50%25: metadata.name: Invalid value: "50%25"'
    )


@pytest.mark.parametrize("format", ["text", "short", "json", "junit", "tap", "sarif", "github"])
def test_every_format_reports_success(run, format):
    done = run("-o", format, "b.yaml", files=FILES)
    assert done.code == 0
    assert "error" not in done.out.replace('"errors": []', "")


OF_ALL_KINDS = {
    "a b#c?.yaml": TEXT,
    "d/é%20:.yaml": "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: A}\nspec: 7\n",
    "x:y.yaml": f"{FILES['b.yaml']}---\napiVersion: v1\nkind: [\n",
    "b.yaml": FILES["b.yaml"],
}


def test_sarif_is_as_its_standard_defines_it(run):
    done = run("-osarif", ".", files=OF_ALL_KINDS)
    named = reportschemas.files_of_sarif(json.loads(done.out))
    assert set(named) == OF_ALL_KINDS.keys() - {"b.yaml"}
    assert reportschemas.files_of_sarif(json.loads(run("-osarif", "b.yaml").out)) == []


def test_junit_is_as_its_readers_expect_it(run):
    cases = reportschemas.cases_of_junit(run("-ojunit", ".", files=OF_ALL_KINDS).out)
    assert cases.keys() == OF_ALL_KINDS.keys()
    assert [name for name, tags in cases.items() if "failure" not in tags] == ["b.yaml"]


def test_json_counts_documents_and_has_the_same_members_for_all_findings(run):
    shown = json.loads(run("-ojson", ".", files=OF_ALL_KINDS).out)
    findings = [*shown["errors"], *shown["warnings"]]
    optional = {"type", "hint", "value", "source", "subject", "field"}
    for each in findings:
        needed = {"file", "document", "line", "column", "length", "code", "message"}
        assert needed <= each.keys() <= needed | optional
        assert all(type(each[name]) is int and each[name] >= 0 for name in ("line", "column"))
    assert {each["file"] for each in findings} == OF_ALL_KINDS.keys() - {"b.yaml"}


HOSTILE = """\
apiVersion: v1
kind: ConfigMap
metadata: {name: "\\e[31mA\\n::error::forged", namespace: "\\u202e"}
data: {"\\a/\\ud800": b}
"""
CRD = boats.text('{type: object, x-kubernetes-validations: [{rule: "self.a +"}]}')


@pytest.mark.parametrize("output", ["text", "short", "json", "junit", "tap", "sarif", "github"])
def test_no_name_reaches_a_terminal_or_the_log_of_a_pipeline_as_a_command(run, output):
    files = {"::error::a\n.yaml": HOSTILE.replace("/\\ud800", "/"), "b.yaml": CRD}
    os.makedirs(b"c", exist_ok=True)
    Path(os.fsdecode(b"c/\xff.yaml")).write_text(HOSTILE.replace("/\\ud800", "/"))
    done = run(f"-o{output}", "--summary", files=files)
    assert done.code == 1
    assert (done.out + done.err).replace("\n", "").isprintable()
    commands = [line for line in done.lines if line.strip().startswith("::")]
    assert [line for line in commands if not line.startswith("::error file=")] == []
    if output == "junit":
        assert len(list(ET.fromstring(done.out).iter("failure"))) > 2
    if output == "junit":
        reportschemas.cases_of_junit(done.out)
    if output == "sarif":
        reportschemas.files_of_sarif(json.loads(done.out))
    if output == "short":
        assert len(done.places) == len(done.lines)
