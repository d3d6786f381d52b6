"""Outages of the scripted world that end automatically: they are removed from their GitHost.

`status.outageEnds` records the end of an outage, so that a restart does not start it again.
"""

from typing import Any

from inkube.controllers.provisioning.outside.world_types import GitHost
from inkube.kinds import Environment, Result


async def heal(host: GitHost, env: Environment) -> Result | None:
    """Record the end of the outage of a host, and remove the outage at that time."""
    outage, ends = host.spec.outage, host.status.outage_ends
    if outage is None or outage.heals_after_seconds is None:
        if ends is not None:
            await _patch(host, env, {"status": {"outageEnds": None}}, subresource="status")
        return None
    now = env.clock.now().timestamp()
    if ends is None:
        ends = int((now + outage.heals_after_seconds) * 1000)
        await _patch(host, env, {"status": {"outageEnds": ends}}, subresource="status")
    left = ends / 1000 - now
    if left > 0:
        return Result(left)
    await _patch(host, env, {"spec": {"outage": None}})
    return None


async def _patch(host: GitHost, env: Environment, patch: Any, *, subresource: str = "") -> None:
    await env.client.patch(GitHost.gvr, host.metadata.name, patch=patch, subresource=subresource)
