"""Reads that wait for a resourceVersion. Follows apiserver/pkg/storage/cacher."""

import asyncio
import contextlib
from collections.abc import Callable

from inkube.schemas import status
from inkube.schemas.golang import quote, strconv
from inkube.schemas.objects import Object
from inkube.storage import Store

# Seconds that a read waits for its resourceVersion (blockTimeout of apiserver/pkg/storage/cacher).
BLOCK_SECONDS = 3.0


async def settle(
    store: Store, version: str, parse: Callable[[str], int], *, of_log: bool = False
) -> None:
    """Wait until the store contains the version that a read needs.

    "" is the newest version, "0" any version, and a number at least that version. Raises
    StatusError 504, the errors of `parse`, and LogError. `of_log`: see `too_large`.
    """
    if version == "":
        await store.recent()
    elif version != "0":
        await wait_for(store, parse(version), of_log=of_log)


async def wait_for(store: Store, revision: int, *, of_log: bool = False) -> None:
    """Wait for a version that another process can have written already, as
    cacher.waitUntilFreshAndBlock does. Raises StatusError 504 after BLOCK_SECONDS."""
    if revision <= store.revision:
        return
    await store.current()
    if store.shared and revision > store.revision:
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(BLOCK_SECONDS):
                await store.reached(revision)
    if revision > store.revision:
        raise too_large(revision, store.revision, of_log=of_log)


def known_version(text: str) -> int:
    """Parse a resourceVersion outside lists. Raises StatusError 500 as upstream (lists: 400)."""
    try:
        return strconv.parse_uint(text)
    except ValueError as error:
        raise status.unknown(f"resourceVersion: Invalid value: {quote(text)}: {error}") from error


def too_large(requested: int, current: int, *, of_log: bool = False) -> status.StatusError:
    """Return the error 504 for a resource version that does not exist yet.

    For reads that the reference serves from its cache, it tells to try again after a second. Those
    `of_log` (etcd3/store.go) do not.
    """
    text = "Too large resource version"
    details: Object = {"causes": [{"reason": "ResourceVersionTooLarge", "message": text}]}
    message = f"Timeout: {text}: {requested}, current: {current}"
    error = status.StatusError(504, status.Reason.TIMEOUT, message, details=details)
    if not of_log:
        details["retryAfterSeconds"] = 1
        error.headers["Retry-After"] = "1"
    return error


def of_list(text: str) -> int:
    """Parse the resourceVersion of a list. Raises StatusError 400."""
    try:
        return strconv.parse_uint(text)
    except ValueError as error:
        raise status.bad_request(
            f"invalid resource version: resourceVersion: Invalid value: {quote(text)}: {error}"
        ) from error
