"""Options select which of inkube's own kinds are served in addition to Kubernetes' kinds."""

import pytest

from inkube import APIServer
from inkube.apiserver.configuration import Options
from inkube.controllers.kinds import KindModule
from inkube.controllers.provisioning.outside.world_types import GitHost
from inkube.schemas import models
from inkube.schemas.meta import GVR
from inkube.schemas.status import StatusError

REPOSITORIES = GVR("provisioning.grafana.app", "v0alpha1", "repositories")
HOSTS = GitHost.gvr
PORCH = ("porch.kpt.dev", "config.porch.kpt.dev")


class Kettle(models.Resource, group="kitchen.example.com", version="v1", plural="kettles"):
    """A user's own kind."""


async def groups(server):
    """Return the groups in discovery that Kubernetes does not have."""
    found = {resource.group for resource in server.resources}
    return {name for name in found if "." in name and not name.endswith("k8s.io")}


@pytest.mark.parametrize(
    ("modules", "expected"),
    [
        ("default", {"provisioning.grafana.app", "world.inkube.dev"}),
        ("all", {"provisioning.grafana.app", "world.inkube.dev", *PORCH}),
        ("porch", {"world.inkube.dev", *PORCH}),
        ("none", set()),
        ("world", {"world.inkube.dev"}),
        (("provisioning",), {"provisioning.grafana.app"}),
        ("provisioning,world", {"provisioning.grafana.app", "world.inkube.dev"}),
    ],
)
async def test_only_chosen_modules_are_served(modules, expected):
    async with APIServer(modules=modules) as server:
        assert await groups(server) == expected
        for gvr in (REPOSITORIES, HOSTS):
            if gvr.group in expected:
                assert (await server.client.list(gvr)).items == []
            else:
                with pytest.raises(StatusError, match="could not find"):
                    await server.client.list(gvr)


async def test_kinds_of_a_user_need_no_module():
    async with APIServer(modules="none", kinds=[KindModule(Kettle)]) as server:
        assert await groups(server) == {"kitchen.example.com"}
        kettle = {"apiVersion": "kitchen.example.com/v1", "kind": "Kettle"}
        await server.client.create({**kettle, "metadata": {"name": "a", "namespace": "default"}})


def test_a_module_nobody_knows_is_refused():
    with pytest.raises(ValueError, match="no module 'kitchen'"):
        Options(modules="world,kitchen").module_names  # noqa: B018 # a property that checks
