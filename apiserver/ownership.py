"""Who set which field: keeps metadata.managedFields true on every write.

A thin bridge between calls and the pure `schemas.managedfields`; apply brings its own entries.
"""

from datetime import datetime
from typing import Any

from inkube.apiserver.calls import Call
from inkube.schemas import managedfields, meta

Object = dict[str, Any]


def writer(call: Call, now: datetime) -> managedfields.Writer:
    """The manager this call writes as."""
    return managedfields.Writer(
        manager=call.manager,
        api_version=call.served.api_version,
        subresource=call.subresource,
        time=meta.format_time(now),
    )


def track(call: Call, live: Object | None, new: Object, now: datetime) -> None:
    """Record in `new` what an ordinary write changed against `live`."""
    managedfields.track_update(live, new, typed=call.served.typed, writer=writer(call, now))
