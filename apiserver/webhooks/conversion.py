"""Conversion by webhook: the strategy of CRDs whose `conversion.strategy` is Webhook.

A conversion is remembered for a moment by the whole state of the object, so that a batch is one
request and many watchers share one; not for longer, so that a webhook that was mended is heard.
"""

import time
from collections.abc import Iterable
from typing import Any

import orjson

from inkube.apiserver.registry.identity import Identity
from inkube.apiserver.registry.resources import Resource
from inkube.apiserver.registry.strategy import Strategy
from inkube.apiserver.webhooks.caller import WebhookCaller
from inkube.schemas import status
from inkube.schemas.webhooks import conversionreview
from inkube.schemas.webhooks.conversionmemo import ConversionMemo, NeededError
from inkube.schemas.webhooks.conversionreview import ConversionError
from inkube.schemas.webhooks.replies import ReplyError
from inkube.storage.entry import Entry

Object = dict[str, Any]
SECONDS = 30.0
KEPT = 1.0  # seconds


class WebhookStrategy(Strategy):
    """Custom resources whose versions a webhook converts."""

    def __init__(self, webhook: Object, caller: WebhookCaller, identity: Identity) -> None:
        self._webhook = webhook
        self._version = conversionreview.review_version(webhook["conversionReviewVersions"])
        self._caller = caller
        self._identity = identity
        self._memo = ConversionMemo()
        self._since = 0.0

    def convert(self, obj: Object, api_version: str) -> Object:
        """A copy in that version. Raises NeededError until it was fetched."""
        if obj.get("apiVersion") == api_version:
            made = obj
        else:
            made = self._memo.convert(_without_owners(obj), api_version)
        copy: Object = orjson.loads(orjson.dumps(made))
        owners = (obj.get("metadata") or {}).get("managedFields")
        if owners is not None:
            copy["metadata"]["managedFields"] = owners
        return copy

    def copy_as(self, obj: Object, api_version: str) -> Object:
        return self.convert(obj, api_version)

    def renew(self, resource: Resource, entry: Entry) -> Object:
        fresh = self.convert(entry.value, resource.storage.api_version)
        resource.storage.schema.prune_and_default(fresh, None, lenient=True)
        return fresh if orjson.dumps(fresh) != entry.data else entry.value

    def begin(self, objects: int = 0) -> None:
        """Forget what is old.

        A list of several is asked for as a whole, as the reference does.
        """
        now = time.monotonic()
        if objects > 1 or now - self._since > KEPT:
            self._memo.clear()
            self._since = now

    def make_room(self, objects: int) -> None:
        """Remember so many at least: never fewer than another request still needs."""
        self._memo.limit = max(self._memo.limit, 2 * objects)

    async def fetch(self, needed: Iterable[NeededError]) -> None:
        """Have them converted, one request for those of the same versions.

        Raises StatusError 500 without a reason.
        """
        batches: dict[tuple[str, str], list[NeededError]] = {}
        for one in needed:
            batches.setdefault((one.object["apiVersion"], one.api_version), []).append(one)
        for (_, wanted), batch in batches.items():
            converted = await self._ask([one.object for one in batch], wanted)
            for one, made in zip(batch, converted, strict=True):
                self._memo.put(one, made)

    async def _ask(self, objects: list[Object], wanted: str) -> list[Object]:
        uid, version = self._identity.uid(), self._version
        body = conversionreview.build(objects, wanted, uid=uid, version=version)
        client = self._webhook["clientConfig"]
        try:
            document = await self._caller.post(
                client,
                body,
                version=version,
                seconds=SECONDS,
                kind=(conversionreview.GROUP, conversionreview.KIND),
            )
            return conversionreview.read(document, objects, wanted, uid=uid, version=version)
        except ReplyError as error:
            source = f"{objects[0]['apiVersion']}, Kind={objects[0]['kind']}"
            text = f"conversion webhook for {source} failed: {error}"
            raise status.unknown(text) from error
        except ConversionError as error:
            raise status.unknown(str(error)) from error


def _without_owners(obj: Object) -> Object:
    """Webhooks are not shown managedFields."""
    if "managedFields" not in (obj.get("metadata") or {}):
        return obj
    meta = {key: value for key, value in obj["metadata"].items() if key != "managedFields"}
    return {**obj, "metadata": meta}
