"""Tests of the module. Each test gets a new server that serves it."""

import pytest

from inkube import StatusError
from inkube.testing import BlockingClient, Kube

PLANTS = "greenhouse.example/v1/plants"
pytestmark = pytest.mark.kube_options(modules=["greenhouse"])


def plant(coldest: float) -> dict[str, object]:
    return {
        "apiVersion": "greenhouse.example/v1",
        "kind": "Plant",
        "metadata": {"name": "lemon"},
        "spec": {"species": "Citrus limon", "coldest": coldest},
    }


def test_a_plant_that_is_warm_enough_has_no_errors(kube: Kube, kube_client: BlockingClient) -> None:
    kube_client.create(plant(coldest=5))
    kube.settled()
    assert kube_client.get(PLANTS, "lemon")["status"]["fieldErrors"] == []


@pytest.mark.kube_options(module_options={"greenhouse_degrees": 10.0})
def test_a_plant_that_would_freeze_is_refused_in_a_dry_run(kube_client: BlockingClient) -> None:
    with pytest.raises(StatusError, match="the greenhouse has only 10 degrees"):
        kube_client.create(plant(coldest=12), dry_run=True)
