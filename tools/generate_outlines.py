"""Generates `builtin.json` and `outlines.json` from the modules of inkube.

pyproject.toml names them as entry points. Run it by hand when they or their kinds change; otherwise
a test fails:

    python tools/generate_outlines.py
"""

import asyncio
import json
import tomllib
from importlib.metadata import EntryPoint
from pathlib import Path
from typing import Any

import inkube
from inkube.apiserver.modules import installed, outlines, selection

ROOT = Path(__file__).parent.parent


def builtin() -> bytes:
    """Return the expected content of the file with the description of each module."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    entries = project["entry-points"][installed.GROUP]
    told = {name: _described(name, entry) for name, entry in entries.items()}
    return json.dumps(told, indent=1).encode() + b"\n"


def _described(name: str, entry: str) -> dict[str, Any]:
    module = EntryPoint(name, entry, installed.GROUP).load()()
    return {
        "entry": entry,
        "groups": module.groups,
        "needs": module.needs,
        "roles": getattr(module, "roles", ()),
        "builds_at_start": getattr(module, "builds_at_start", False),
    }


async def kinds() -> bytes:
    """Return the expected content of the file with the kinds of modules that are built late."""
    async with inkube.APIServer(modules="all") as server:
        found = [resource.definition for resource in server.resources]
    told = {
        name: [outlines.outline(each) for each in found if each.group in module.groups]
        for name, module in selection.built_in().items()
        if not module.builds_at_start
    }
    return json.dumps(told, indent=1).encode() + b"\n"


if __name__ == "__main__":
    selection.FILE.write_bytes(builtin())
    outlines.FILE.write_bytes(asyncio.run(kinds()))
