"""The error of a failing messageExpression is logged, and the plain message of its rule is used."""

import logging

import pytest

from inkube.apiserver.http import logs
from inkube.schemas.cel.rules.evaluation import RuleSet

SCHEMA = {
    "type": "object",
    "properties": {
        "n": {"type": "integer"},
        "list": {"type": "array", "items": {"type": "integer"}},
    },
}


def validated(expression, obj, **rule):
    """Return the errors of an object for a rule that refuses it."""
    rules = [{"rule": "self.n > 3", "message": "too few", "messageExpression": expression, **rule}]
    return RuleSet({**SCHEMA, "x-kubernetes-validations": rules}).validate(obj, {"n": 9})[0]


@pytest.mark.parametrize(
    ("expression", "why"),
    [
        ("string(self.list[7])", "index out of bounds: 7"),
        ("string(1 / (self.n - 1))", "division by zero"),
        ("self.n > 0 ? '' : 'x'", "it evaluated to an empty text"),
        ("'a\\nb'", "it evaluated to several lines"),
    ],
)
def test_the_failure_is_logged_and_the_message_comes(caplog, expression, why):
    with caplog.at_level(logging.INFO, logger=logs.ACCESS):
        [error] = validated(expression, {"n": 1, "list": [1]})
    assert error.detail == "too few"
    [line] = [record.getMessage() for record in caplog.records]
    assert line.startswith("messageExpression ")
    assert 'of rule "too few" was not used: ' in line
    assert why in line


def test_a_message_expression_that_succeeds_is_not_logged(caplog):
    with caplog.at_level(logging.INFO, logger=logs.ACCESS):
        [error] = validated("'has %d'.format([self.n])", {"n": 1})
    assert (error.detail, caplog.records) == ("has 1", [])


def test_failures_are_not_logged_without_a_log_of_requests(caplog):
    with caplog.at_level(logging.WARNING, logger=logs.ACCESS):
        validated("string(self.list[7])", {"n": 1, "list": [1]})
    assert caplog.records == []


def test_many_failures_of_one_rule_are_one_line(caplog):
    item = {
        "type": "integer",
        "x-kubernetes-validations": [
            {"rule": "self > 3", "message": "small", "messageExpression": "string(1 / (self - 1))"}
        ],
    }
    schema = {"type": "object", "properties": {"list": {"type": "array", "items": item}}}
    with caplog.at_level(logging.INFO, logger=logs.ACCESS):
        errors, _ = RuleSet(schema).validate({"list": [1] * 100})
    assert (len(errors), len(caplog.records)) == (100, 1)
