"""`types.json` is made from the current `facts.txt`.

`tools/generate_types.py` adds the facts to published schemas, which have neither marks of Go nor
defaults. So what it adds can be removed from `types.json`, and added again from the facts.
"""

import copy
import importlib.util
from pathlib import Path
from typing import Any

import pytest

from inkube.schemas.gotypes import table
from inkube.schemas.gotypes import types as go

TOOL = Path(__file__).parents[3] / "tools" / "generate_types.py"
ADDED = frozenset({"x-go", "x-go-type", "x-go-in", "default"})
GENERATE = f"run python {TOOL.name}: types.json is not made from facts.txt"


def load_tool() -> Any:
    spec = importlib.util.spec_from_file_location("generate_types", TOOL)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def bare(node: dict[str, Any]) -> dict[str, Any]:
    """Return a schema without the parts that the tool adds."""
    made = {key: value for key, value in node.items() if key not in ADDED}
    if "properties" in node:
        made["properties"] = {name: bare(field) for name, field in node["properties"].items()}
    for key in ("items", "additionalProperties"):
        if isinstance(node.get(key), dict):
            made[key] = bare(node[key])
    return made


@pytest.fixture(scope="module")
def types() -> dict[str, Any]:
    known = table.table().types
    return {name: copy.deepcopy(known[name]) for name in known}


def test_types_have_the_facts_and_no_others(types: dict[str, Any]) -> None:
    tool = load_tool()
    made = {name: bare(node) for name, node in types.items()}
    tool._add_facts(made, tool._facts())
    assert [name for name in types if made[name] != types[name]] == [], GENERATE


def test_a_changed_fact_is_noticed(types: dict[str, Any]) -> None:
    tool = load_tool()
    facts = tool._facts()
    facts["pointers"]["apps.v1.DeploymentSpec"].remove("replicas")
    made = {name: bare(node) for name, node in types.items()}
    tool._add_facts(made, facts)
    different = [name for name in types if made[name] != types[name]]
    assert different == ["io.k8s.api.apps.v1.DeploymentSpec"]


def test_a_scalar_that_go_always_encodes_has_its_zero_as_default(types: dict[str, Any]) -> None:
    """kube-openapi/pkg/generators, mustEnforceDefault."""
    zeros = {"string": "", "bool": False, "int32": 0, "int64": 0, "float": 0}
    lacking = [
        (name, key)
        for name, node in types.items()
        for key, field in go.of(name).fields.items()
        if field.always
        and not field.pointer
        and field.type.kind in zeros
        and "default" not in node["properties"][key]
    ]
    assert lacking == []
