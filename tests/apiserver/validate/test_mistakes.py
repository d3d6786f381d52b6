"""Values of a wrong type: each has its path, place and the server's words, and hides nothing."""

import copy
import json

import boats
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from inkube.schemas import offline
from inkube.schemas.documents import Document

WEB = {
    "apiVersion": "apps/v1",
    "kind": "Deployment",
    "metadata": {"name": "web", "labels": {"a.b/c": "x"}},
    "spec": {
        "replicas": 1,
        "selector": {"matchLabels": {"app": "web"}},
        "template": {
            "metadata": {"labels": {"app": "web"}},
            "spec": {
                "containers": [
                    {
                        "name": "c",
                        "image": "nginx",
                        "ports": [{"containerPort": 80}],
                        "resources": {"limits": {"memory": "1Gi"}},
                    }
                ]
            },
        },
    },
}


def _findings(value):
    document = Document("a.json", 1, 1, json.dumps(value).encode(), "json")
    checks = offline.Checks(offline.Kinds.of_minor())
    return [each for part in offline.parts(document) for each in checks.check(part)]


def test_several_mistakes_are_found_at_once_with_the_rules_for_other_fields(run):
    text = """\
apiVersion: apps/v1
kind: Deployment
metadata: {name: web}
spec:
  replicas: "3"
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec:
      containers:
      - name: C
        image: nginx
        resources: {limits: {memory: 512MB}}
"""
    done = run("-oshort", "a.yaml", files={"a.yaml": text})
    assert done.places == [
        "a.yaml:5:13 wrong-type",
        "a.yaml:11:15 invalid",
        "a.yaml:13:38 wrong-type",
    ]
    assert "json: cannot unmarshal string into Go struct field DeploymentSpec" in done.out
    assert "quantities must match the regular expression" in done.out


def test_the_text_of_a_secret_is_not_shown(run):
    text = "apiVersion: v1\nkind: Secret\nmetadata: {name: a}\ndata: {a: 'hush!'}\n"
    done = run("a.yaml", files={"a.yaml": text})
    assert "a.yaml:4:11: error[wrong-type]: Secret a: data.a: illegal base64 data" in done.out
    assert "hush" not in done.out + run("-ojson", "a.yaml").out


WRONG = {
    "metadata.labels.a.b/c": 1,
    "spec.replicas": "3",
    "spec.template.spec.containers[0].ports[0].containerPort": "http",
    "spec.template.spec.containers[0].resources.limits.memory": "512MB",
    "spec.template.spec.hostNetwork": "yes",
    "spec.template.spec.activeDeadlineSeconds": 2**70,
    "spec.template.spec.tolerations": {},
    "spec.template.metadata.creationTimestamp": "yesterday",
    "spec.strategy.rollingUpdate.maxSurge": 1.5,
}
"""Values of a wrong type by their paths."""


@settings(max_examples=30, deadline=None)
@given(st.sets(st.sampled_from(sorted(WRONG)), min_size=1))
def test_every_wrong_value_is_found_and_nothing_else(paths):
    value = copy.deepcopy(WEB)
    for path in paths:
        _put(value, path, WRONG[path])
    found = _findings(value)
    assert {each.field for each in found} == paths
    assert {each.code for each in found} == {"wrong-type"}


def _put(value, path, wrong):
    labels = value["metadata"]["labels"]
    if path == "metadata.labels.a.b/c":
        labels["a.b/c"] = wrong
        return
    *parents, last = path.replace("[0]", ".0").split(".")
    for name in parents:
        value = value[0] if name == "0" else value.setdefault(name, {})
    value[last] = wrong


@pytest.mark.parametrize("wrong", [3, [], "x", None])
def test_metadata_of_custom_resources_has_places_too(run, wrong):
    crd = boats.text("type: object")
    boat = "apiVersion: example.com/v1\nkind: Boat\nmetadata:\n  name: a\n"
    boat += f"  labels: {json.dumps(wrong)}\n"
    done = run("-oshort", "a.yaml", "-d", "crd.yaml", files={"a.yaml": boat, "crd.yaml": crd})
    expected = [] if wrong is None else ["a.yaml:5"]
    assert [line.rpartition(": Boat")[0].rpartition(":")[0] for line in done.lines] == expected


ROLLOUT = """\
apiVersion: apps/v1
kind: Deployment
metadata: {name: a}
spec:
  strategy: {rollingUpdate: {maxUnavailable: "%s"}}
  selector: {matchLabels: {a: b}}
  template: {metadata: {labels: {a: b}}, spec: {containers: [{name: c, image: i}]}}
"""


@pytest.mark.parametrize(
    ("share", "words"),
    [
        ("0100%", ""),
        ("101%", "must not be greater than 100%"),
        ("9" * 5000 + "%", "must not be greater than 100%"),
        ("\N{ARABIC-INDIC DIGIT THREE}%", "a valid percent string must be a numeric string"),
    ],
)
def test_a_percentage_has_ascii_digits_and_any_number_of_them(run, share, words):
    done = run("a.yaml", files={"a.yaml": ROLLOUT.replace("%s", share)})
    assert done.code == bool(words)
    assert words in done.out
