"""A CustomResourceDefinition takes effect before its writer is answered.

`controllers.core.crds` accepts names and keeps conditions, in its own time. What is served of a
definition that is established follows the store: who changed a schema and writes an object next
meets the new one.
"""

from collections.abc import Callable, Sequence

from inkube.apiserver.registry import keys
from inkube.schemas.objects import Object
from inkube.storage import Change, Following, Store

_PREFIX = keys.prefix("customresourcedefinitions")
_ESTABLISHED = b'"Established"'
"""In the stored bytes of each definition that may be served; most writes of a start have none."""


def serve_stored(
    store: Store, serve: Callable[[Object], None], forget: Callable[[], None]
) -> Following:
    """Serve each definition as it is stored, and forget what was served last where the store is
    read anew; to be closed."""

    def hear(changes: Sequence[Change]) -> None:
        for change in changes:
            if change.type != "DELETED" and _ESTABLISHED in change.entry.data:
                serve({**change.entry.value})

    # the controller lists again then, and serves what it finds
    return store.follow(_PREFIX, hear, anew=forget)
