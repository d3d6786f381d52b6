"""What has to be converted by a webhook before it is looked at.

Views of objects do not wait. What a webhook has to convert is fetched first: `ready` for stored
objects, `settled` for whatever else may ask. After either has returned, views find what they need
until the next `await`. All of it ends at one look at a flag for kinds without such a webhook; its
strategy (`conversionwebhooks`) is loaded with the first kind that has one.
"""

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, TypeVar

from inkube.apiserver.registry.resources import Resource, Served
from inkube.schemas import status
from inkube.schemas.webhooks.conversionmemo import NeededError
from inkube.storage.entry import Change, Entry

if TYPE_CHECKING:
    from inkube.apiserver.webhooks.conversion import WebhookStrategy

T = TypeVar("T")
MAX_ROUNDS = 100  # each brings what the one before missed; ownership asks for one at a time


def strategy_of(resource: Resource) -> "WebhookStrategy | None":
    """The strategy where a webhook converts, None for all other kinds."""
    if not resource.definition.by_webhook:
        return None
    from inkube.apiserver.webhooks.conversion import WebhookStrategy

    strategy = resource.strategy
    return strategy if isinstance(strategy, WebhookStrategy) else None


async def ready(resource: Resource, served: Served, entries: Iterable[Entry]) -> None:
    """Fetch what views of these need. Raises StatusError 500."""
    strategy = strategy_of(resource)
    if strategy is None:
        return
    found = list(entries)
    strategy.begin(len(found))
    await _fetch_missing(strategy, resource, served, found)


async def _fetch_missing(
    strategy: "WebhookStrategy", resource: Resource, served: Served, found: list[Entry]
) -> None:
    strategy.make_room(len(found))
    for _ in range(MAX_ROUNDS):
        needed = []
        for entry in found:
            try:
                resource.view(entry, served)
            except NeededError as error:
                needed.append(error)
        if not needed:
            return
        await strategy.fetch(needed)
    raise status.unknown("conversions are forgotten as fast as they are made")


async def ready_changes(resource: Resource, served: Served, changes: Iterable[Change]) -> None:
    """The same for what watches tell."""
    if not resource.definition.by_webhook:
        return
    entries = [
        entry
        for change in changes
        for entry in (change.entry, change.previous)
        if entry is not None
    ]
    strategy = strategy_of(resource)
    if strategy is not None:
        strategy.begin()  # not as a list: many watchers share what was converted
        await _fetch_missing(strategy, resource, served, entries)


async def settled(resource: Resource, attempt: Callable[[], T]) -> T:
    """The outcome of a function that may need conversions and may be tried again."""
    strategy = strategy_of(resource)
    if strategy is None:
        return attempt()
    strategy.begin()
    for _ in range(MAX_ROUNDS):
        try:
            return attempt()
        except NeededError as needed:
            await strategy.fetch([needed])
    return attempt()
