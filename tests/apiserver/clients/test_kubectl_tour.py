"""A tour of old and new kubectl: built-in objects, a CRD and its objects, waiting."""

import boats as custom
import pytest
from patience import KUBECTL

VERSIONS = ("1.27", "1.30", "1.33")
SPEC = {
    "type": "object",
    "description": "What the boat has.",
    "properties": {"masts": {"type": "integer", "minimum": 1}},
}
STATUS = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
BOATS = custom.definition(
    {"type": "object", "properties": {"spec": SPEC, "status": STATUS}},
    group="tour.example.com",
    names={"singular": "boat", "shortNames": ["bt"]},
    subresources={"status": {}},
    additionalPrinterColumns=[{"name": "Masts", "type": "integer", "jsonPath": ".spec.masts"}],
)
BOAT = {
    "apiVersion": "tour.example.com/v1",
    "kind": "Boat",
    "metadata": {"name": "fram"},
    "spec": {"masts": 3},
}


@pytest.fixture(params=VERSIONS)
def kubectl(request, find_kubectl):
    return find_kubectl(request.param)


@pytest.fixture
def boats(kubectl):
    kubectl("create", "-f", "-", document=BOATS)
    kubectl("wait", "--for=condition=established", "crd/boats.tour.example.com", KUBECTL)
    return kubectl


def rows(table):
    return [line.split() for line in table.splitlines()]


def test_a_config_map_from_its_creation_to_its_end(kubectl):
    assert kubectl("create", "configmap", "c", "--from-literal=a=1") == "configmap/c created\n"
    assert rows(kubectl("get", "configmaps"))[1][:2] == ["c", "1"]
    assert kubectl("patch", "configmap", "c", "-p", '{"data":{"b":"2"}}') == (
        "configmap/c patched\n"
    )
    assert kubectl("get", "configmap", "c", "-o", "jsonpath={.data}") == '{"a":"1","b":"2"}'
    assert "Name:         c\n" in kubectl("describe", "configmap", "c")
    assert kubectl("delete", "configmap", "c").startswith('configmap "c" deleted')
    gone = kubectl("get", "configmap", "c", code=1)
    assert gone == 'Error from server (NotFound): configmaps "c" not found\n'


def test_a_namespace_is_deleted_with_all_its_objects(kubectl):
    kubectl("create", "namespace", "harbour")
    kubectl("-n", "harbour", "create", "secret", "generic", "s", "--from-literal=a=b")
    assert kubectl("delete", "namespace", "harbour").startswith('namespace "harbour" deleted')
    assert "not found" in kubectl("get", "namespace", "harbour", code=1)


def test_a_custom_kind_lives_like_a_built_in_one(boats):
    assert boats("apply", "-f", "-", document=BOAT) == "boat.tour.example.com/fram created\n"
    assert [row[:2] for row in rows(boats("get", "bt"))] == [["NAME", "MASTS"], ["fram", "3"]]
    assert "Kind:         Boat\n" in boats("describe", "boat", "fram")
    assert "What the boat has." in boats("explain", "boats.spec")
    changed = BOAT | {"spec": {"masts": 4}}
    assert boats("apply", "-f", "-", document=changed).endswith("configured\n")
    assert boats("delete", "boats", "--all").startswith('boat.tour.example.com "fram" deleted')


def test_a_value_the_schema_refuses_is_named(boats):
    refused = boats("create", "-f", "-", document=BOAT | {"spec": {"masts": 0}}, code=1)
    assert "spec.masts in body should be greater than or equal to 1" in refused
    unknown = boats("create", "-f", "-", document=BOAT | {"spec": {"oars": 2}}, code=1)
    assert 'unknown field "spec.oars"' in unknown


def test_wait_sees_a_status(boats):
    boats("create", "-f", "-", document=BOAT)
    afloat = '{"status":{"phase":"Afloat"}}'
    boats("patch", "boat", "fram", "--subresource=status", "--type=merge", "-p", afloat)
    met = boats("wait", "--for=jsonpath={.status.phase}=Afloat", "boat/fram", KUBECTL)
    assert met == "boat.tour.example.com/fram condition met\n"
