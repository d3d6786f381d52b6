"""A CustomResourceDefinition in the group of built-in kinds."""

import aiohttp
import boats
import pytest

from inkube import APIServer

GROUP = "networking.k8s.io"
DEFINITIONS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
NAME = f"boats.{GROUP}"


def definition(*versions):
    """Return a CRD of boats in that group; the first version is the stored one."""
    crd = boats.definition({"type": "object"})
    crd["metadata"] = {
        "name": NAME,
        "annotations": {"api-approved.kubernetes.io": "unapproved, a test"},
    }
    crd["spec"]["group"] = GROUP
    [version] = crd["spec"]["versions"]
    crd["spec"]["versions"] = [
        {**version, "name": name, "storage": name == versions[0]} for name in versions
    ]
    return crd


@pytest.mark.parametrize("versions", [["v1"], ["v1", "v2"]])
async def test_a_crd_adds_no_kind_to_a_built_in_version(versions):
    async with APIServer() as server, aiohttp.ClientSession(server.url) as session:

        async def ask(method, path, body=None):
            async with session.request(method, path, json=body) as answer:
                return answer.status, await answer.text()

        await server.client.create(definition(*versions))
        await server.settled()
        code, told = await ask("GET", f"/apis/{GROUP}/v1")
        assert (code, '"boats"' in told, '"ingresses"' in told) == (200, False, True)
        boat = {"metadata": {"name": "a"}, "kind": "Boat"}
        for version in ("v1", "v2"):
            path = f"/apis/{GROUP}/{version}/namespaces/default/boats"
            body = {**boat, "apiVersion": f"{GROUP}/{version}"}
            served = version != "v1" and version in versions
            assert (await ask("POST", path, body))[0] == (201 if served else 404)
            assert (await ask("GET", path))[0] == (200 if served else 404)
        assert (await ask("DELETE", f"{DEFINITIONS}/{NAME}"))[0] == 200
        await server.settled()
        assert (await ask("GET", f"{DEFINITIONS}/{NAME}"))[0] == 404
