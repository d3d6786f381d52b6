"""The registration in docs/aggregation.md works; `tests/docs` runs the rest of the page."""

import re
from pathlib import Path

import pytest
from aggregated import Things, serving
from patience import within

from inkube import APIServer
from inkube.controllers.core.apiservices import RESOURCE
from inkube.schemas.golang import goyaml

PAGE = (Path(__file__).parents[3] / "docs" / "aggregation.md").read_text()
[BLOCK] = re.findall(r"^```yaml\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL)


@pytest.mark.asyncio
async def test_the_registration_is_available() -> None:
    async with APIServer() as server, serving(Things()) as port:
        obj = goyaml.loads(BLOCK.encode()).value
        obj["metadata"]["annotations"]["aggregation.inkube.dev/url"] = f"https://127.0.0.1:{port}"
        await server.client.create(obj)
        async with within():
            async for event in server.client.watch(RESOURCE):
                conditions = (event.object.get("status") or {}).get("conditions") or [{}]
                if conditions[0].get("reason") == "Passed":
                    break
