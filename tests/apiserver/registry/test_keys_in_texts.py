"""Errors about a uid name the key of the object in kube-apiserver's etcd."""

import pytest

from inkube.apiserver.registry import keys

PLACES = {
    "configmaps/ns/a": "configmaps/ns/a",
    "nodes/a": "minions/a",
    "services/ns/a": "services/specs/ns/a",
    "endpoints/ns/a": "services/endpoints/ns/a",
    "replicationcontrollers/ns/a": "controllers/ns/a",
    "ingresses/ns/a": "ingress/ns/a",
    "ingressclasses/a": "ingressclasses/a",
    "customresourcedefinitions/a": "apiextensions.k8s.io/customresourcedefinitions/a",
    "apiservices/a": "apiregistration.k8s.io/apiservices/a",
    "example.com/nodes/ns/a": "example.com/nodes/ns/a",
}
"""Keys here, and the keys of kube-apiserver 1.36.2."""


@pytest.mark.parametrize(("here", "there"), PLACES.items())
def test_keys_are_those_of_kube_apiserver(here, there):
    assert keys.of_etcd(f"/registry/{here}") == f"/registry/{there}"


@pytest.mark.asyncio(loop_scope="module")
async def test_an_update_with_another_uid_names_the_key(web):
    nodes = "/api/v1/nodes"
    node = (await web.ask("POST", nodes, {"metadata": {"name": "keyed"}})).json
    node["metadata"]["uid"] = "another"
    answer = await web.ask("PUT", f"{nodes}/keyed", node)
    assert answer.code == 409
    assert "Key: /registry/minions/keyed, ResourceVersion: 0" in answer.json["message"]
