"""A CustomResourceDefinition takes effect before the response to its writer.

`controllers.core.crds` accepts names and updates conditions later. The served schema of an
established definition follows the store, so a client that changes a schema and then writes an
object finds the new schema in effect.
"""

from collections.abc import Callable, Sequence

from inkube.apiserver.registry import keys
from inkube.schemas.objects import Object
from inkube.storage import Change, Following, Store

_PREFIX = keys.prefix("customresourcedefinitions")
_ESTABLISHED_CONDITION = b'"Established"'
"""Part of the stored bytes of each definition that can be served; most writes at a start lack
it."""


def serve_stored(
    store: Store, serve: Callable[[Object], None], forget: Callable[[], None]
) -> Following:
    """Serve each definition as it is stored. If the whole store is read again, drop the cached
    state. The caller closes the result."""

    def on_changes(changes: Sequence[Change]) -> None:
        for change in changes:
            if change.type != "DELETED" and _ESTABLISHED_CONDITION in change.entry.data:
                serve({**change.entry.value})

    # the controller then lists again, and serves the definitions that it finds
    return store.follow(_PREFIX, on_changes, on_relist=forget)
