"""Tests of the Boat kind. Each test gets a new server with the kind installed."""

from pathlib import Path

import pytest
import yaml

from inkube import StatusError

HERE = Path(__file__).parent
BOATS = "example.com/v1/boats"
pytestmark = pytest.mark.kube_definitions("definition.yaml")


def boat(file):
    return yaml.safe_load((HERE / file).read_text())


def test_a_valid_boat_is_stored(kube_client):
    kube_client.create(boat("argo.yaml"))
    assert kube_client.get(BOATS, "argo")["spec"] == {"size": 5, "crew": 4}


def test_an_overcrowded_boat_is_rejected(kube_client):
    with pytest.raises(StatusError, match="more crew than places"):
        kube_client.create(boat("overcrowded.yaml"))
    assert kube_client.list(BOATS) == []
