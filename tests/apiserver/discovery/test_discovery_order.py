"""The order of groups in discovery."""

import pytest

pytestmark = pytest.mark.asyncio(loop_scope="module")


async def test_groups_of_custom_resources_come_last(web):
    # the fixture's CRD exists before the first request for kinds declared in Python
    answer = await web.ask("GET", "/apis")
    names = [group["name"] for group in answer.json["groups"]]
    assert names.index("apps") < names.index("provisioning.grafana.app")
    assert names[-1] == "example.com"
