"""`inkube test`: files say which objects a policy refuses and why; conditions have coverage."""

import pytest
from click.testing import CliRunner

from inkube.apiserver import commands

POLICY = """\
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicy
metadata: {name: typed}
spec:
  matchConstraints:
    resourceRules:
    - {apiGroups: [""], apiVersions: [v1], operations: [CREATE, UPDATE], resources: [secrets]}
  matchConditions: [{name: people, expression: "!request.userInfo.username.startsWith('robot')"}]
  validations:
  - {expression: "object.type == 'a'", message: the type is a}
---
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicyBinding
metadata: {name: typed}
spec: {policyName: typed, validationActions: [%s]}
"""
TEST = """\
apiVersion: test.inkube.dev/v1
kind: PolicyTest
metadata: {name: types}
policies: [policy.yaml]
cases:
%s
"""
CASE = """\
- name: %s
  object: {apiVersion: v1, kind: Secret, metadata: {name: s}, type: %s}
  expect: {%s}
"""


@pytest.fixture
def run(tmp_path, monkeypatch):
    """Write a policy and its test, run the command; return the exit code, lines and summary."""
    monkeypatch.chdir(tmp_path)

    def command(cases, *arguments, action="Deny", policy=POLICY):
        (tmp_path / "policy.yaml").write_text(policy.replace("%s", action))
        (tmp_path / "types.test.yaml").write_text(TEST % cases)
        done = CliRunner().invoke(commands.test_command, list(arguments))
        if done.exception is not None and not isinstance(done.exception, SystemExit):
            raise done.exception
        return done.exit_code, done.stdout.splitlines(), done.stderr

    return command


ACCEPTED = CASE % ("a is accepted", "a", "accepted: true")
REFUSED = CASE % ("b is refused", "b", "refused: the type is a")
ROBOT = f"{CASE % ('robots are free', 'b', 'accepted: true')}  user: robot-1\n"


def test_cases_as_expected_cover_all_conditions(run):
    code, lines, summary = run(ACCEPTED + REFUSED + ROBOT, "--require-coverage")
    assert (code, lines) == (0, [])
    assert summary == "3 of 3 cases are as expected, 2 of 2 conditions are covered\n"


def test_conditions_that_no_case_covers_are_reported(run):
    code, lines, summary = run(ACCEPTED)
    assert (code, lines) == (
        0,
        [
            "not covered: typed: spec.matchConditions[0].expression was never false",
            "not covered: typed: spec.validations[0].expression was never false",
        ],
    )
    assert "0 of 2 conditions" in summary
    assert run(ACCEPTED, "--require-coverage")[0] == 1


@pytest.mark.parametrize(
    ("case", "why"),
    [
        (("wrong", "b", "accepted: true"), 'it was refused: secrets "s" is forbidden'),
        (("wrong", "a", "refused: true"), "it was not refused"),
        (("wrong", "b", "refused: another reason"), "it was not refused with 'another reason'"),
        (("wrong", "a", "warned: the type"), "it was not warned of 'the type'"),
    ],
)
def test_another_outcome_has_the_line_of_its_case(run, case, why):
    code, lines, _ = run(ACCEPTED + CASE % case)
    assert code == 1
    assert lines[0].startswith(f"types.test.yaml:9: wrong: {why}")


def test_warnings_are_expected_too(run):
    warned = CASE % ("b is warned of", "b", "warned: the type is a")
    assert run(warned, action="Warn")[0] == 0


def test_old_objects_make_updates(run):
    old = "  old: {apiVersion: v1, kind: Secret, metadata: {name: s}, type: a}\n"
    immutable = CASE % ("a type stays", "b", "refused: field is immutable")
    assert run(immutable + old)[0] == 0


@pytest.mark.parametrize(
    ("cases", "words"),
    [
        ("- {nam: a}", "types.test.yaml:6: 'nam' is not one of expect, name, object"),
        ("- {name: a}", "a case needs an object"),
        (CASE % ("a", "a", "refuse: true"), "'refuse' is not one of accepted, refused, warned"),
        (CASE % ("a", "a", ""), "expect is one of"),
    ],
)
def test_invalid_files_are_errors_with_a_reason(run, cases, words):
    code, _, text = run(cases)
    assert code == 2
    assert words in text


def test_a_policy_without_a_binding_covers_nothing(run):
    alone = POLICY.partition("---\n")[0]
    code, lines, summary = run(ACCEPTED, policy=alone)
    assert code == 0
    assert lines == [
        "not covered: typed: every condition, because it has no binding, was never evaluated"
    ]
    assert summary.endswith("0 of 1 conditions are covered\n")
    assert run(ACCEPTED, "--require-coverage", policy=alone)[0] == 1


@pytest.mark.parametrize(
    ("cases", "policy", "words"),
    [
        (
            ACCEPTED,
            POLICY.replace("object.type ==", "object.type = ="),
            "policy.yaml:1: Validating",
        ),
        (ACCEPTED, POLICY.replace("policyName: typed, ", ""), "policyName: Required value"),
        (ACCEPTED.replace("v1, kind: Secret", "b.io/v1, kind: Boat"), POLICY, 'kind "Boat" in ver'),
    ],
)
def test_nothing_passes_because_it_is_not_judged(run, cases, policy, words):
    code, _, error = run(cases, policy=policy)
    assert code == 2
    assert words in error
