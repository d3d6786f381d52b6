"""Conversion by webhook, for CRDs whose `conversion.strategy` is Webhook.

Converted objects are cached for `CACHE_SECONDS` seconds, by the complete state of the object. The
steps of one write and many watchers then share one request, and soon after an operator repairs a
webhook, its new responses are used.
"""

import time
from collections.abc import Sequence
from hashlib import blake2b

import orjson

from inkube.apiserver.registry import SystemFields
from inkube.apiserver.webhooks.calls.caller import WebhookCaller
from inkube.schemas import status
from inkube.schemas.objects import Object
from inkube.schemas.webhooks import ConversionError, ReplyError, conversionreview

SECONDS = 30.0
CACHE_SECONDS = 1.0  # seconds
KEPT_BYTES = 16 * 1024 * 1024


class WebhookConverter:
    """A `registry.resources.Converter` that sends objects to the webhook of a CRD."""

    def __init__(self, webhook: Object, caller: WebhookCaller, system_fields: SystemFields) -> None:
        self._webhook = webhook
        self._version = conversionreview.review_version(webhook["conversionReviewVersions"])
        self._caller = caller
        self._system_fields = system_fields
        self._converted: dict[bytes, bytes] = {}
        self._bytes = 0
        self._since = 0.0

    async def convert(
        self, objects: Sequence[Object], api_version: str, anew: bool = False
    ) -> list[Object]:
        """Return the objects in the version, in the same order.

        Sends one request for each other version among the objects, except for cached conversions.
        `anew` empties the cache first.
        """
        if anew or time.monotonic() - self._since > CACHE_SECONDS or self._bytes > KEPT_BYTES:
            self._converted, self._bytes, self._since = {}, 0, time.monotonic()
        bare = [_without_owners(obj) for obj in objects]
        made: list[bytes | None] = [self._cached(obj, api_version) for obj in bare]
        missing: dict[str, list[int]] = {}
        for at, known in enumerate(made):
            if known is None:
                missing.setdefault(bare[at]["apiVersion"], []).append(at)
        for batch in missing.values():
            answers = await self._call([bare[at] for at in batch], api_version)
            for at, answer in zip(batch, answers, strict=True):
                made[at] = self._cache(bare[at], api_version, answer)
        return [
            _with_owners(known, obj)
            for known, obj in zip(made, objects, strict=True)
            if known is not None
        ]

    def _cached(self, obj: Object, api_version: str) -> bytes | None:
        if obj["apiVersion"] == api_version:
            return orjson.dumps(obj)
        return self._converted.get(_key(obj, api_version))

    def _cache(self, obj: Object, api_version: str, converted: Object) -> bytes:
        made = self._converted[_key(obj, api_version)] = orjson.dumps(converted)
        self._bytes += len(made)
        return made

    async def _call(self, objects: list[Object], api_version: str) -> list[Object]:
        uid, version = self._system_fields.review_uid(), self._version
        body = conversionreview.build(objects, api_version, uid=uid, version=version)
        client = self._webhook["clientConfig"]
        try:
            document = await self._caller.post(
                client,
                body,
                version=version,
                seconds=SECONDS,
                kind=(conversionreview.GROUP, conversionreview.KIND),
            )
            return conversionreview.read(document, objects, api_version, uid=uid, version=version)
        except ReplyError as error:
            source = f"{objects[0]['apiVersion']}, Kind={objects[0]['kind']}"
            text = f"conversion webhook for {source} failed: {error}"
            raise status.unknown(text) from error
        except ConversionError as error:
            raise status.unknown(str(error)) from error


def _without_owners(obj: Object) -> Object:
    """Return the object without managedFields, which webhooks do not receive."""
    if "managedFields" not in (obj.get("metadata") or {}):
        return obj
    meta = {key: value for key, value in obj["metadata"].items() if key != "managedFields"}
    return {**obj, "metadata": meta}


def _with_owners(converted: bytes, obj: Object) -> Object:
    """Return the converted object with the managedFields of the original object."""
    copy: Object = orjson.loads(converted)
    owners = (obj.get("metadata") or {}).get("managedFields")
    if owners is not None:
        copy["metadata"]["managedFields"] = owners
    return copy


def _key(obj: Object, api_version: str) -> bytes:
    text = orjson.dumps(obj, option=orjson.OPT_SORT_KEYS)
    return blake2b(text, digest_size=16, key=api_version.encode()[:64]).digest()
