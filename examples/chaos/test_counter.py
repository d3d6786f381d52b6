"""The controller under faults: it must reach the right state, and must not write too often."""

from typing import Any

import counter
import pytest

from inkube.testing import BlockingClient, Kube

FAULTS: dict[str, dict[str, Any]] = {
    "errors": {"probability": 0.3, "seed": 1, "code": 500},
    "throttling": {"every": 3, "code": 429},
    "cut connections": {"probability": 0.3, "seed": 2, "cut": True},
    "lost responses": {"probability": 0.3, "seed": 3, "cut": True, "applied": True},
    "slow responses": {"delay": 0.02, "jitter": 0.02},
}


def labelled(name: str) -> dict[str, Any]:
    return {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {"name": name, "labels": {"count": "yes"}},
    }


@pytest.mark.parametrize("fault", FAULTS.values(), ids=FAULTS)
def test_the_summary_is_right_under_faults(
    kube: Kube, kube_client: BlockingClient, fault: dict[str, Any]
) -> None:
    api = counter.Api(kube.url)
    with kube.fail("*", "configmaps", user_agent="counter/*", **fault):
        for number in range(1, 6):
            kube_client.create(labelled(f"m{number}"))
            counter.reconcile(api)
            assert kube_client.get("v1/configmaps", "summary")["data"] == {"found": str(number)}


def test_a_summary_of_another_client_is_used(kube: Kube, kube_client: BlockingClient) -> None:
    summary = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "summary"}}
    with kube.fail("get", "configmaps", name="summary", times=1, code=404) as fault:
        kube_client.create(summary)  # the controller has looked for it before
        kube_client.create(labelled("m"))
        counter.reconcile(counter.Api(kube.url))
    assert fault.injected == 1
    assert kube_client.get("v1/configmaps", "summary")["data"] == {"found": "1"}


def test_an_unchanged_summary_is_not_written(kube: Kube, kube_client: BlockingClient) -> None:
    api = counter.Api(kube.url)
    for _ in range(3):
        counter.reconcile(api)
    assert len(kube.log.requests.where(verb="patch")) == 1
    assert kube.log.needless_writes() == []


def test_a_server_that_stays_away_is_an_error(kube: Kube) -> None:
    with kube.fail("*", "configmaps", code=503), pytest.raises(counter.Refused):
        counter.reconcile(counter.Api(kube.url))
