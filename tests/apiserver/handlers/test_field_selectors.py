"""Field selectors of built-in kinds: the supported fields, and the values of absent ones."""

import pytest

pytestmark = pytest.mark.asyncio(loop_scope="module")


def node(name, **spec):
    return {"apiVersion": "v1", "kind": "Node", "metadata": {"name": name}, "spec": spec}


async def names(web, path, selector):
    answer = await web.ask("GET", f"{path}?fieldSelector={selector}")
    assert answer.code == 200, answer.body
    return [item["metadata"]["name"] for item in answer.json["items"]]


async def test_an_absent_value_reads_as_gos_zero_value(web):
    for one in (node("open"), node("shut", unschedulable=True)):
        assert (await web.ask("POST", "/api/v1/nodes", one)).code == 201
    assert await names(web, "/api/v1/nodes", "spec.unschedulable%3Dfalse") == ["open"]
    assert await names(web, "/api/v1/nodes", "spec.unschedulable%3Dtrue") == ["shut"]
    assert await names(web, "/api/v1/nodes", "spec.unschedulable%3D") == []


async def test_the_source_of_an_event_is_its_component_or_its_reporter(web):
    path = "/api/v1/namespaces/default/events"
    about = {"kind": "Pod", "name": "p", "namespace": "default"}
    for name, more in (
        ("by-source", {"source": {"component": "kubelet"}}),
        ("by-reporter", {"reportingComponent": "kubelet"}),
    ):
        event = {"metadata": {"name": name}, "involvedObject": about, **more}
        assert (await web.ask("POST", path, event)).code == 201
    found = await names(web, path, "source%3Dkubelet")
    assert sorted(found) == ["by-reporter", "by-source"]


@pytest.mark.parametrize(
    ("path", "label", "message"),
    [
        ("/api/v1/nodes", "metadata.namespace", "field label not supported: metadata.namespace"),
        ("/apis/batch/v1/jobs", "spec.x", 'field label "spec.x" not supported for Job'),
        (
            "/apis/apps/v1/replicasets",
            "status.replicas",
            (
                '"status.replicas" is not a known field selector: only "metadata.name", '
                '"metadata.namespace"'
            ),
        ),
    ],
)
async def test_another_field_is_refused_in_the_kinds_own_words(web, path, label, message):
    answer = await web.ask("GET", f"{path}?fieldSelector={label}%3D1")
    assert (answer.code, answer.json["message"]) == (400, message)
