"""Why nothing matches an object: removed versions, misspellings, definitions that are missing."""

import json

import pytest

from inkube.schemas import builtin, releases
from inkube.schemas.meta import GVK
from inkube.schemas.offline.removed import removal_of


def _object(api_version, kind):
    return f"apiVersion: {api_version}\nkind: {kind}\nmetadata: {{name: a}}\n"


@pytest.mark.parametrize(
    ("api_version", "kind", "hint"),
    [
        ("policy/v1beta1", "PodDisruptionBudget", "was removed in Kubernetes 1.25; use policy/v1"),
        ("policy/v1beta1", "PodSecurityPolicy", "use Pod Security admission instead"),
        ("extensions/v1beta1", "Ingress", "removed in Kubernetes 1.22; use networking.k8s.io/v1"),
        ("batch/v1beta1", "CronJob", "removed in Kubernetes 1.25; use batch/v1"),
        ("autoscaling/v2beta2", "HorizontalPodAutoscaler", "1.26; use autoscaling/v2"),
        ("apiextensions.k8s.io/v1beta1", "CustomResourceDefinition", "1.22; use apiextensions"),
    ],
)
def test_a_removed_version_names_its_end_and_its_successor(run, api_version, kind, hint):
    done = run("a.yaml", files={"a.yaml": _object(api_version, kind)})
    assert done.code == 1
    assert "a.yaml:1:1: error[removed-version]" in done.out
    assert hint in done.out
    assert done.err == "1 document, 1 error\n"


@pytest.mark.parametrize(
    ("api_version", "kind", "hint"),
    [
        ("example.com/v1", "Boat", "pass its definition with --definitions"),
        ("apps/v1", "deployment", "did you mean apiVersion: apps/v1, kind: Deployment?"),
        ("v1", "Deployment", "did you mean apiVersion: apps/v1, kind: Deployment?"),
        ("app/v1", "Deployment", "did you mean apiVersion: apps/v1, kind: Deployment?"),
        ("v1", "Pood", "did you mean kind: Pod?"),
        ("serving.knative.dev/v1", "Service", "pass its definition with --definitions"),
        ("extension/v1beta1", "Ingres", "pass its definition with --definitions"),
    ],
)
def test_another_mistake_has_the_hint_of_its_cause(run, api_version, kind, hint):
    done = run("a.yaml", files={"a.yaml": _object(api_version, kind)})
    assert "error[unknown-kind]" in done.out
    assert f"= {hint}" in done.out or hint in done.out
    assert done.code == 1


def test_a_version_of_later_minors_names_them(run):
    files = {"a.yaml": _object("networking.k8s.io/v1", "ServiceCIDR")}
    done = run("a.yaml", "--kubernetes-version", "1.32", files=files)
    assert "Kubernetes 1.32 does not serve it, 1.33 to 1.36 do" in done.out


def test_a_finding_about_the_whole_object_points_at_its_version(run):
    text = "# a comment\n---\n# another one\n" + _object("v1", "Pood")
    assert run("a.yaml", "-oshort", files={"a.yaml": text}).places == ["a.yaml:4:1 unknown-kind"]


def test_the_table_names_no_version_that_kubernetes_serves():
    for release in releases.RECORDED:
        for resource in builtin.resources.read(release.minor):
            for version in resource.versions:
                removal = removal_of(GVK(resource.group, version, resource.kind))
                assert removal is None or removal.minor > release.minor, (resource, version)


def test_a_version_that_a_minor_does_not_serve_yet_or_any_more(run):
    files = {"a.yaml": _object("flowcontrol.apiserver.k8s.io/v1beta3", "FlowSchema")}
    for minor, words in ((1.31, "is off by default and ends with"), (1.32, "was removed in")):
        done = run("a.yaml", "--kubernetes-version", str(minor), files=files)
        assert f"{words} Kubernetes 1.32; use flowcontrol.apiserver.k8s.io/v1" in done.out


def test_a_version_that_a_cluster_serves_and_a_later_one_does_not(run):
    """A beta version is known from the OpenAPI document of a cluster that has switched it on."""
    kind = {"group": "networking.k8s.io", "version": "v1beta1", "kind": "IPAddress"}
    schema = {"properties": {"spec": {}}, "x-kubernetes-group-version-kind": [kind]}
    document = {"openapi": "3.0.0", "components": {"schemas": {"a": schema}}}
    files = {
        "a.yaml": _object("networking.k8s.io/v1beta1", "IPAddress"),
        "b.yaml": "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\n",
        "v3.json": json.dumps(document),
    }
    arguments = ("a.yaml", "b.yaml", "-d", "v3.json", "--removed-in")
    assert run(*arguments, "1.36", files=files).code == 0
    done = run(*arguments, "1.37")
    assert "error[removed-version]" in done.out
    assert "Kubernetes 1.37 does not serve networking.k8s.io/v1beta1 IPAddress" in done.out
    assert "= use networking.k8s.io/v1\n" in done.out
    assert done.code == 1
