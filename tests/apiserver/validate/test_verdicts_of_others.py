"""The cases that kubeconform and kubectl-validate publish, as objects of our own.

Each has the verdict that those tools expect of it. Where inkube differs, DIFFERENCES says why; the
guide shows the same table.
"""

from pathlib import Path
from typing import NamedTuple

import boats
import pytest

GUIDE = Path(__file__).parents[3] / "docs" / "howto" / "validate.md"


def _map(name="m", extra=""):
    return f"apiVersion: v1\nkind: ConfigMap\nmetadata: {{name: {name}}}\n{extra}"


def _workload(kind="Deployment", version="apps/v1", spec="", labels="{app: w}", container=""):
    return (
        f"apiVersion: {version}\nkind: {kind}\nmetadata: {{name: w}}\nspec:\n{spec}"
        "  selector: {matchLabels: {app: w}}\n  template:\n"
        f"    metadata: {{labels: {labels}}}\n    spec:\n      containers:\n"
        f"      - {{name: c, image: i{container}}}\n"
    )


def _pod(container, more=""):
    return (
        "apiVersion: v1\nkind: Pod\nmetadata: {name: p}\nspec:\n"
        f"  containers:\n  - {container}\n{more}"
    )


SERVICE = "apiVersion: v1\nkind: Service\nmetadata: {name: s}\nspec:\n  ports: [%s]\n"
CRD = boats.text(
    """
type: object
properties:
  spec:
    type: object
    x-kubernetes-validations:
    - {rule: self.least <= self.most, message: too little}
    - {rule: self.most <= 9, message: too much}
    properties:
      least: {type: integer}
      most: {type: integer}
      crew:
        type: array
        x-kubernetes-list-type: map
        x-kubernetes-list-map-keys: [name, role]
        items:
          type: object
          required: [name]
          properties: {name: {type: string}, role: {type: string, default: mate}}
""",
    "Raft",
    group="example.org",
)
RAFT = "apiVersion: example.org/v1\nkind: Raft\nmetadata: {name: r}\nspec: {%s}\n"
TWO = "apiVersion: v1\nkind: List\nitems:\n"


class Case(NamedTuple):
    """A text, and the findings that it has: line and code."""

    text: str
    found: tuple[str, ...] = ()
    code: int = 0


def bad(text, *found):
    return Case(text, found, 1)


CASES = {
    "an empty file": Case("", code=2),
    "a file of comments": Case("# nothing\n---\n# nothing\n", code=2),
    "an empty list": Case("apiVersion: v1\nkind: List\nitems: []\n"),
    "a valid object": Case(_workload()),
    "a valid file of several kinds": Case(
        f"{_map()}---\n{_workload()}---\n{SERVICE % '{port: 80}'}"
    ),
    "a document of comments between others": Case(f"{_map()}---\n# nothing\n---\n{_map('other')}"),
    "an integer or a string": Case(SERVICE % "{port: 80, targetPort: http}"),
    "a quantity without quotes": Case(_workload(container=", resources: {limits: {cpu: 1}}")),
    "a null for a text": Case(SERVICE % "{port: 80, name: null}"),
    "a null for a list": Case(_pod("{name: c, image: i, args: null}")),
    "a name that is generated": Case(_map().replace("name: m", "generateName: m-")),
    "a group with a whole domain": Case(
        "apiVersion: rbac.authorization.k8s.io/v1\nkind: ClusterRole\nmetadata: {name: r}\n"
    ),
    "an empty Secret": Case("apiVersion: v1\nkind: Secret\nmetadata: {name: s}\n"),
    "an APIService": Case(
        "apiVersion: apiregistration.k8s.io/v1\nkind: APIService\n"
        "metadata: {name: v1.example.org}\nspec: {group: example.org, version: v1, "
        "groupPriorityMinimum: 9, versionPriority: 9, service: {name: a, namespace: b}}\n"
    ),
    "a strategy of roll-outs": Case(
        _workload(spec="  strategy: {rollingUpdate: {maxSurge: 25%}}\n")
    ),
    "a custom resource": Case(f"{CRD}---\n{RAFT % 'least: 1, most: 2'}"),
    "a number of a wrong type": bad(_workload(spec="  replicas: asd\n"), "5 wrong-type"),
    "a field that does not exist": bad(
        _workload("DaemonSet", spec="  replicas: 2\n"), "5 unknown-field"
    ),
    "a field that occurs twice": bad(
        _workload(spec="  replicas: 2\n  replicas: 3\n"), "6 repeated-field"
    ),
    "a wrong item of a list": bad(
        f"{TWO}- {{apiVersion: v1, kind: ConfigMap, metadata: {{name: A}}}}\n", "4 invalid"
    ),
    "one wrong document of several": bad(
        f"{_map()}---\n{_map('other', 'data: {a: 1}')}", "8 wrong-type"
    ),
    "two wrong documents": bad(f"{_map('A')}---\n{_map('B')}", "3 invalid", "7 invalid"),
    "a list of an API, without the kinds of its items": Case(
        "apiVersion: v1\nkind: ConfigMapList\nitems:\n- metadata: {name: a}\n"
        "- {kind: ConfigMap, metadata: {name: b}}\n- {metadata: {name: c}, data: {a: b}}\n"
    ),
    "a wrong item of a list of an API": bad(
        "apiVersion: v1\nkind: ConfigMapList\nitems:\n- {metadata: {name: a}, data: {a: 1}}\n",
        "4 wrong-type",
    ),
    "a list of lists": bad(
        f"{TWO}- apiVersion: v1\n  kind: ConfigMapList\n  items: [{{metadata: {{name: A}}}}]\n"
        "- {apiVersion: v1, metadata: {name: b}}\n",
        "6 invalid",
        "7 not-an-object",
    ),
    "no apiVersion": bad("kind: Pod\n", "1 not-an-object"),
    "no kind": bad("apiVersion: v1\n", "1 not-an-object"),
    "a kind without a value": bad("apiVersion: v1\nkind:\n", "1 not-an-object"),
    "a custom resource without a definition": bad(RAFT % "", "1 unknown-kind"),
    "a kind that does not exist": bad(_map().replace("ConfigMap", "Config-Map"), "1 unknown-kind"),
    "a definition of version v1beta1": bad(
        CRD.replace("apiextensions.k8s.io/v1", "apiextensions.k8s.io/v1beta1"), "1 removed-version"
    ),
    "the same name twice": bad(f"{_map()}---\n{_map()}", "7 repeated-name"),
    "the same name in a namespace twice": bad(
        f"{_map('m, namespace: shop')}---\n{_map('m, namespace: shop')}", "7 repeated-name"
    ),
    "the same name in another namespace": Case(f"{_map()}---\n{_map('m, namespace: shop')}"),
    "a list instead of a map": bad(_map(extra="data: [a]\n"), "4 wrong-type"),
    "a map instead of a list": bad(
        "apiVersion: v1\nkind: Pod\nmetadata: {name: p}\nspec:\n  containers: {name: c}\n",
        "5 wrong-type",
    ),
    "CEL rules": bad(f"{CRD}---\n{RAFT % 'least: 3, most: 2'}", "36 invalid"),
    "several CEL rules": bad(
        f"{CRD}---\n{RAFT % 'least: 30, most: 20'}", "36 invalid", "36 invalid"
    ),
    "a typing error in a schema": bad(
        CRD.replace("least: {type: integer}", "least: {type: integr}"), "22 not-supported"
    ),
    "a value outside an enumeration": bad(
        SERVICE % "{port: 80, protocol: HTTP}", "5 not-supported"
    ),
    "a wrong indentation": bad(
        "apiVersion: v1\nkind: Service\nmetadata: {name: s}\nspec:\nports: [{port: 80}]\n",
        "4 required",
        "5 unknown-field",
    ),
    "a wrong label": bad(_workload(labels="{app: w, b: 'a b'}"), "6 invalid"),
    "a wrong name": bad(_map("A_B"), "3 invalid"),
    "a name that is too long": bad(_map("a" * 254), "3 invalid"),
    "a protocol of a wrong type": bad(SERVICE % "{port: 80, protocol: 1}", "5 wrong-type"),
    "a container without an image": bad(_pod("{name: c}"), "6 required"),
    "an object without a name": bad(
        "apiVersion: v1\nkind: ConfigMap\nmetadata: {}\n", "3 required"
    ),
    "a misspelled field": bad(_pod("{name: c, imagee: i}"), "6 required", "6 unknown-field"),
    "a quantity that cannot be read": bad(
        _workload(container=", resources: {limits: {memory: 1GB}}"), "10 wrong-type"
    ),
    "items with the same keys by default": bad(
        f"{CRD}---\n{RAFT % 'least: 1, most: 2, crew: [{name: a}, {name: a, role: mate}]'}",
        "36 duplicate",
    ),
    "items with different keys": Case(
        f"{CRD}---\n{RAFT % 'least: 1, most: 2, crew: [{name: a}, {name: a, role: cook}]'}"
    ),
    "a port that occurs twice": Case(
        _pod("{name: c, image: i, ports: [{containerPort: 80}, {containerPort: 80}]}"),
        ("6 warning",),
    ),
    "a finalizer without a slash": bad(_map("m, finalizers: [a.example.org]"), "3 invalid"),
}


@pytest.mark.parametrize("name", CASES)
def test_a_published_case_has_its_verdict_and_places(run, name):
    text, found, code = CASES[name]
    done = run("-oshort", "a.yaml", files={"a.yaml": text})
    places = sorted(place.removeprefix("a.yaml:") for place in done.places)
    assert sorted(f"{place.split(':')[0]} {place.split()[1]}" for place in places) == sorted(found)
    assert done.code == code


DIFFERENCES = (
    "an empty file",
    "a file of comments",
    "a field that occurs twice",
    "a field that does not exist",
    "a port that occurs twice",
    "a finalizer without a slash",
)


def test_the_guide_lists_every_difference():
    guide = GUIDE.read_text()
    assert all(f"| {name} |" in guide for name in DIFFERENCES)
    assert set(DIFFERENCES) <= set(CASES)
