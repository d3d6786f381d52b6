"""Extensions in the protocol buffer of OpenAPI version 2."""

from typing import Any

import pytest
import yaml

from inkube.schemas.openapi import proto


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (
            [{"fieldPath": "spec.a"}, {"fieldPath": "spec.b"}],
            "- fieldPath: spec.a\n- fieldPath: spec.b\n",
        ),
        (
            [{"group": "", "version": "v1", "kind": "Pod"}],
            '- group: ""\n  kind: Pod\n  version: v1\n',
        ),
        (["a", "no"], '- a\n- "no"\n'),
        ("Always", "Always\n"),
        (True, "true\n"),
        ([["a", 1], {"b": [2]}], '- - a\n  - 1\n- {"b":[2]}\n'),
        ([], "[]\n"),
    ],
)
def test_an_extension_is_written_as_yaml_in_version_2(value: Any, text: str) -> None:
    """Like google/gnostic's compiler.Marshal, because users of client-go compare the text."""
    message = proto.encode(
        {"swagger": "2.0", "info": {"title": "", "version": ""}, "paths": {},
         "definitions": {"a": {"x-it": value}}}
    )  # fmt: skip
    assert yaml.safe_load(text) == value
    assert text.encode() in message
