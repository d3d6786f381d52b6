"""Makes `outlines.json` from the modules that come with inkube.

Run by hand when their kinds change; a test says so:

    python tools/generate_outlines.py
"""

import asyncio
import json

import inkube
from inkube.apiserver.modules import BUILT_IN, outlines


async def made() -> bytes:
    """The file as it has to be."""
    async with inkube.APIServer(modules="all") as server:
        found = [resource.definition for resource in server.resources]
    told = {
        name: [outlines.outline(each) for each in found if each.group in groups]
        for name, groups in BUILT_IN.items()
    }
    return json.dumps(told, indent=1).encode() + b"\n"


if __name__ == "__main__":
    outlines.FILE.write_bytes(asyncio.run(made()))
