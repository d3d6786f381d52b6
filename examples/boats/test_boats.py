"""Tests of the Boat kind. Each test gets a new server with the kind installed."""

from pathlib import Path
from typing import Any

import pytest
import yaml

from inkube import StatusError
from inkube.testing import BlockingClient

HERE = Path(__file__).parent
BOATS = "example.com/v1/boats"
pytestmark = pytest.mark.kube_definitions("definition.yaml")


def boat(file: str) -> dict[str, Any]:
    obj: dict[str, Any] = yaml.safe_load((HERE / file).read_text())
    return obj


def test_a_valid_boat_is_stored(kube_client: BlockingClient) -> None:
    kube_client.create(boat("argo.yaml"))
    assert kube_client.get(BOATS, "argo")["spec"] == {"size": 5, "crew": 4}


def test_an_overcrowded_boat_is_rejected(kube_client: BlockingClient) -> None:
    with pytest.raises(StatusError, match="more crew than places"):
        kube_client.create(boat("overcrowded.yaml"))
    assert kube_client.list(BOATS) == []
