"""The flow schemas and priority levels that every server has: `flowcontrol.json`.

The server creates them, and validation rejects other specs of the mandatory ones. Follows
apiserver/pkg/apis/flowcontrol/bootstrap.
"""

from pathlib import Path

import orjson

from inkube.schemas import caches
from inkube.schemas.objects import Object

_FILE = Path(__file__).with_name("flowcontrol.json")


@caches.of_values(1)
def specs() -> dict[str, dict[str, Object]]:
    """Return plural → name → spec, defaults included. Callers do not change them."""
    found: dict[str, dict[str, Object]] = orjson.loads(_FILE.read_bytes())
    return found
