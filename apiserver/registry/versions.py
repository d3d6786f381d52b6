"""Reads that wait for a resourceVersion. Follows apiserver/pkg/storage/cacher."""

import asyncio
import contextlib
from collections.abc import Callable

from inkube.schemas import status
from inkube.schemas.golang import quote, strconv
from inkube.storage import Store

# Seconds that a read waits for its resourceVersion (blockTimeout of apiserver/pkg/storage/cacher).
BLOCK_SECONDS = 3.0


async def settle(store: Store, version: str, parse: Callable[[str], int]) -> None:
    """Wait until the store contains the version that a read needs.

    "" is the newest version, "0" any version, and a number at least that version. Raises
    StatusError 504, the errors of `parse`, and LogError.
    """
    if version == "":
        await store.recent()
    elif version != "0":
        await wait_for(store, parse(version))


async def wait_for(store: Store, revision: int) -> None:
    """Wait for a version that another process can have written already, as
    cacher.waitUntilFreshAndBlock does. Raises StatusError 504 after BLOCK_SECONDS."""
    if revision <= store.revision:
        return
    await store.current()
    if store.shared and revision > store.revision:
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(BLOCK_SECONDS):
                await store.reached(revision)
    check_known(revision, store.revision)


def known_version(text: str) -> int:
    """Parse a resourceVersion outside lists. Raises StatusError 500 as upstream (lists: 400)."""
    try:
        return strconv.parse_uint(text)
    except ValueError as error:
        raise status.unknown(f"resourceVersion: Invalid value: {quote(text)}: {error}") from error


def too_large(requested: int, current: int) -> status.StatusError:
    """Return the error 504 for a resource version that does not exist yet."""
    error = status.StatusError(
        504,
        status.Reason.TIMEOUT,
        f"Timeout: Too large resource version: {requested}, current: {current}",
        details={
            "causes": [
                {"reason": "ResourceVersionTooLarge", "message": "Too large resource version"}
            ],
            "retryAfterSeconds": 1,
        },
    )
    error.headers["Retry-After"] = "1"
    return error


def check_known(revision: int, newest: int) -> None:
    """Raise StatusError 504 for a version that does not exist yet."""
    if revision > newest:
        raise too_large(revision, newest)


def of_list(text: str) -> int:
    """Parse the resourceVersion of a list. Raises StatusError 400."""
    try:
        return strconv.parse_uint(text)
    except ValueError as error:
        raise status.bad_request(
            f"invalid resource version: resourceVersion: Invalid value: {quote(text)}: {error}"
        ) from error
