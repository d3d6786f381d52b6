"""The extended resources of ResourceClaims in quotas, with values of resource_claims_test.go."""

from typing import Any

import pytest

from inkube.schemas import quantity
from inkube.schemas.builtin import quotas
from inkube.schemas.builtin.devicequotas import Devices, provided

GPU, IMPLICIT = "example.com/gpu", "deviceclass.resource.kubernetes.io/gpu"
CLASS = {"metadata": {"name": "gpu"}, "spec": {"extendedResourceName": GPU}}
BOTH = (f"requests.{IMPLICIT}", f"requests.{GPU}")
Object = dict[str, Any]


def claim(number: int, pod: str = "", name: str = "foo", created: str = "") -> Object:
    """A claim with a number of requests for one device, for the extended resources of a pod."""
    meta: Object = {"name": name, "namespace": "ns", "creationTimestamp": created}
    if pod:
        owner = {"apiVersion": "v1", "kind": "Pod", "name": pod, "uid": "uid", "controller": True}
        meta["ownerReferences"] = [owner]
        meta["annotations"] = {"resource.kubernetes.io/extended-resource-claim": "true"}
    exactly = {"deviceClassName": "gpu", "allocationMode": "ExactCount", "count": 1}
    requests = [{"name": f"r{place}", "exactly": exactly} for place in range(number)]
    return {"metadata": meta, "spec": {"devices": {"requests": requests}}}


def pod(inits: list[list[str]], containers: list[list[str]], claimed: str = "foo") -> Object:
    """A pod whose containers request one of some resources each."""
    spec = {
        member: [{"resources": {"requests": dict.fromkeys(each, "1")}} for each in every]
        for member, every in (("initContainers", inits), ("containers", containers))
    }
    told = {"extendedResourceClaimStatus": {"resourceClaimName": claimed}} if claimed else {}
    return {"metadata": {"name": "p", "uid": "uid"}, "spec": spec, "status": told}


@pytest.mark.parametrize(
    ("own", "found", "others", "implicit", "explicit"),
    [
        pytest.param(claim(1), None, [], 1, 1, id="of no pod"),
        pytest.param(claim(1, "p"), pod([], [[IMPLICIT]]), [], 0, 1, id="implicit"),
        pytest.param(claim(1, "p"), pod([[GPU]], []), [], 1, 0, id="explicit"),
        pytest.param(
            claim(2, "p"), pod([[GPU, IMPLICIT]], [[GPU, IMPLICIT]]), [], 1, 1, id="hybrid"
        ),
        pytest.param(claim(2, "p"), pod([[GPU]], [[IMPLICIT]], ""), [], 1, 1, id="no status"),
        pytest.param(
            claim(2, "p", "foo-copy"), pod([[GPU]], [[IMPLICIT]], ""), [claim(2, "p")], 2, 2,
            id="the second claim of a pod",
        ),
        pytest.param(
            claim(2, "p"), pod([[GPU]], [[IMPLICIT]], ""), [claim(2, "p", "a", "2020")], 1, 1,
            id="the first claim of a pod",
        ),
        pytest.param(
            claim(2, "p"), pod([[GPU, IMPLICIT]] * 2, [[GPU, IMPLICIT]]), [], 1, 1, id="init"
        ),
        pytest.param(claim(1, "p"), pod([], [[GPU]], "other"), [], 1, 1, id="another claim"),
    ],
)  # fmt: skip
def test_claims_use_what_their_pods_do_not_use_already(
    own: Object, found: Object | None, others: list[Object], implicit: int, explicit: int
) -> None:
    devices = Devices(provided([CLASS]), {"p": found}.get, lambda: [own, *others])
    used = quotas.usage(*quotas.CLAIMS, own, devices)
    assert [quantity.canonical(used.get(name, quantity.ZERO)) for name in BOTH] == [
        str(implicit),
        str(explicit),
    ]
    assert not set(BOTH) & set(quotas.usage(*quotas.CLAIMS, own))


def test_an_extended_resource_counts_pods_and_the_claims_of_its_class() -> None:
    devices = Devices(provided([CLASS]), lambda name: None, list)
    for name in BOTH:
        assert [*quotas.counted_resources(name)] == [("", "pods")]
        assert [*quotas.counted_resources(name, devices)] == [("", "pods"), quotas.CLAIMS]
    for name in ("requests.deviceclass.resource.kubernetes.io/x", "requests.example.com/x"):
        assert [*quotas.counted_resources(name, devices)] == [("", "pods")]
