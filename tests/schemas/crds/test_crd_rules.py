"""Rules in a CustomResourceDefinition are compiled when it is written."""

import copy

import pytest

from inkube.schemas import crds

AT = "spec.validation.openAPIV3Schema.properties[spec]"
DEAR = {"type": "array", "items": {"type": "string"}}
DEAR_RULE = "self.l.all(x, self.l.all(y, x == y))"


def crd(**spec):
    schema = {"type": "object", "properties": {"spec": {"type": "object", **spec}}}
    version = {"name": "v1", "served": True, "storage": True}
    body = {
        "metadata": {"name": "boats.example.com", "resourceVersion": "1"},
        "spec": {
            "group": "example.com",
            "scope": "Namespaced",
            "names": {"plural": "boats", "kind": "Boat"},
            "versions": [{**version, "schema": {"openAPIV3Schema": schema}}],
        },
    }
    decoded, _ = crds.decode(body)
    crds.default(decoded)
    crds.prepare_create(decoded)
    return decoded


def rules(*texts):
    return [{"rule": text} for text in texts]


def fields(found):
    return [error.field.removeprefix(AT) for error in found]


def test_a_rule_that_does_not_compile_is_shown_whole():
    number = {"type": "integer"}
    wrong = crd(properties={"n": number}, **{"x-kubernetes-validations": rules("self.m > 0")})
    (error,) = crds.validate_create(wrong)
    assert error.field == f"{AT}.x-kubernetes-validations[0].rule"
    assert error.message() == (
        'Invalid value: {"Rule":"self.m \\u003e 0","Message":"","MessageExpression":"",'
        '"Reason":null,"FieldPath":"","OptionalOldSelf":null}: compilation failed: '
        "ERROR: <input>:1:5: undefined field 'm'\n | self.m > 0\n | ....^"
    )


def test_rules_above_a_faulty_node_are_left_alone():
    faulty = {"type": "string", "uniqueItems": True}
    good = {"type": "string", "x-kubernetes-validations": rules("self.nothing")}
    found = crds.validate_create(
        crd(properties={"a": faulty, "b": good}, **{"x-kubernetes-validations": rules("nothing")})
    )
    assert fields(found) == [
        ".properties[a].uniqueItems",
        ".properties[b].x-kubernetes-validations[0].rule",
    ]


def test_what_a_rule_costs_is_not_held_against_a_schema_that_stays():
    dear = crd(properties={"l": DEAR}, **{"x-kubernetes-validations": rules(DEAR_RULE)})
    wanted = [".x-kubernetes-validations[0].rule"]
    assert fields(crds.validate_create(dear))[:1] == wanted
    again = fields(crds.validate_update(copy.deepcopy(dear), dear))
    assert len(again) == len(fields(crds.validate_create(dear))) - 1


DEFAULTS = {
    "breaks a rule": (80, "self > 100", True),
    "keeps a rule": (180, "self > 100", False),
    "must change": (80, "self != oldSelf", True),
    "may not change": (80, "self == oldSelf", False),
}


@pytest.mark.parametrize(("value", "rule", "refused"), DEFAULTS.values(), ids=DEFAULTS)
def test_a_default_is_tried_with_the_rules(value, rule, refused):
    port = {"type": "integer", "default": value, "x-kubernetes-validations": rules(rule)}
    found = crds.validate_create(crd(properties={"port": port}))
    assert fields(found) == ([".properties[port].default"] if refused else [])
