"""Lists: ListOptions and their validation, selectors, pages at one revision, continue tokens.

Follows apimachinery/pkg/apis/meta/internalversion/validation and
apiserver/pkg/storage/continue.go.
"""

import base64
import binascii
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import orjson

from inkube.apiserver.calls import Call
from inkube.apiserver.options import Query, parse_int, truthy
from inkube.apiserver.registry import Registry
from inkube.schemas import fielderrors, selectors, status, strconv
from inkube.schemas.fielderrors import FieldError
from inkube.schemas.gotext import quote
from inkube.storage import errors as storage_errors
from inkube.storage.entry import Entry

Object = dict[str, Any]
Matcher = Callable[[Object], bool]

TOO_OLD_TOKEN = (
    "The provided continue parameter is too old to display a consistent list result. You can "
    "start a new list without the continue parameter, or use the continue token in this response "
    "to retrieve the remainder of the results. Continuing with the provided token results in an "
    "inconsistent list - objects that were created, modified, or deleted between the time the "
    "first chunk was returned and now may show up in the list."
)
TOO_OLD = "The resourceVersion for the provided list is too old."


@dataclass(frozen=True, slots=True)
class ListOptions:
    """metav1.ListOptions, read and checked."""

    labels: str = ""
    fields: str = ""
    limit: int = 0
    token: str = ""
    resource_version: str = ""
    match: str = ""
    watch: bool = False
    bookmarks: bool = False
    timeout: int | None = None
    initial_events: bool | None = None


NO_OPTIONS = ListOptions()


@dataclass(frozen=True, slots=True)
class Page:
    """What a list found. `remaining` is None where it is not told."""

    entries: list[Entry]
    revision: int
    token: str = ""
    remaining: int | None = None

    def metadata(self, call: Call) -> Object:
        """ListMeta; custom resources carry an empty continue, built-in kinds do not."""
        meta: Object = {}
        if self.token or not call.resource.builtin:
            meta["continue"] = self.token
        if self.remaining is not None:
            meta["remainingItemCount"] = self.remaining
        meta["resourceVersion"] = str(self.revision)
        return meta


def read_options(query: Query, call: Call) -> ListOptions:
    """The options of a list, watch or deletecollection. Raises StatusError 400 or 422."""
    if not query:
        return NO_OPTIONS
    timeout = query.get("timeoutSeconds")
    initial = query.get("sendInitialEvents")
    options = ListOptions(
        labels=query.get("labelSelector", ""),
        fields=query.get("fieldSelector", ""),
        limit=parse_int(query.get("limit") or "0"),
        token=query.get("continue", ""),
        resource_version=query.get("resourceVersion", ""),
        match=query.get("resourceVersionMatch", ""),
        watch=truthy(query.get("watch")),
        bookmarks=truthy(query.get("allowWatchBookmarks")),
        timeout=parse_int(timeout) if timeout else None,
        initial_events=truthy(initial) if initial else None,
    )
    errors = _problems(options, call.verb == "watch")
    if errors:
        raise status.invalid("meta.k8s.io", "ListOptions", "", errors)
    return options


def _problems(options: ListOptions, watching: bool) -> list[FieldError]:
    field = "resourceVersionMatch"
    match = options.match
    if watching:
        return _watch_problems(options)
    errors = []
    if options.initial_events is not None:
        errors.append(
            fielderrors.forbidden("sendInitialEvents", "sendInitialEvents is forbidden for list")
        )
    if not match:
        return errors
    if match not in ("Exact", "NotOlderThan"):
        errors.append(fielderrors.not_supported(field, match, ["Exact", "NotOlderThan", ""]))
        return errors
    if options.token:
        errors.append(
            fielderrors.forbidden(field, f"{field} is forbidden when continue is provided")
        )
    if not options.resource_version:
        errors.append(
            fielderrors.forbidden(field, f"{field} is forbidden unless resourceVersion is provided")
        )
    if match == "Exact" and options.resource_version == "0":
        errors.append(
            fielderrors.forbidden(field, f'{field} "exact" is forbidden for resourceVersion "0"')
        )
    return errors


def _watch_problems(options: ListOptions) -> list[FieldError]:
    field = "resourceVersionMatch"
    errors = []
    if options.token:
        errors.append(
            fielderrors.forbidden(field, f"{field} is forbidden when continue is provided")
        )
    if options.initial_events is None:
        if options.match:
            errors.append(
                fielderrors.forbidden(
                    field, f"{field} is forbidden for watch unless sendInitialEvents is provided"
                )
            )
        return errors
    if options.match != "NotOlderThan":
        errors.append(
            fielderrors.forbidden(
                field, "sendInitialEvents requires setting resourceVersionMatch to NotOlderThan"
            )
        )
        if options.match:
            errors.append(fielderrors.not_supported(field, options.match, ["NotOlderThan"]))
    return errors


def matcher(call: Call, options: ListOptions) -> Matcher | None:
    """A predicate for both selectors, None when everything matches. Raises StatusError 400."""
    if not options.labels and not options.fields:
        return None
    return selectors.compile(
        labels=options.labels,
        fields=options.fields,
        resource=call.resource.definition,
        version=call.served.version,
    )


def single_name(call: Call, options: ListOptions) -> str:
    """The one name that may match in one place, "" where more may: a look-up instead of a scan."""
    if call.name or (call.resource.namespaced and not call.namespace):
        return call.name
    return selectors.selected_name(options.fields) if options.fields else ""


async def find(registry: Registry, call: Call, options: ListOptions) -> Page:
    """The page that the options ask for."""
    store = registry.store
    prefix = call.resource.key(call.namespace, "")
    matches = matcher(call, options)
    if not options.token and options.limit <= 0 and options.match != "Exact":
        await _wait_for(registry, options.resource_version)
        return Page(selected(call, store.list(prefix), matches), store.revision)
    return await _page(registry, call, options, matches)


async def _page(
    registry: Registry, call: Call, options: ListOptions, matches: Matcher | None
) -> Page:
    store, prefix = registry.store, call.resource.key(call.namespace, "")
    after, revision = "", store.revision
    if options.token:
        if options.resource_version:
            raise status.bad_request(
                "specifying resource version is not allowed when using continue"
            )
        after, revision = _read_token(options.token, prefix)
        revision = revision or store.revision
    elif options.resource_version not in ("", "0") and options.match != "NotOlderThan":
        revision = _version(options.resource_version)
        await _wait_for(registry, options.resource_version)
    try:
        entries = await store.list_at(prefix, revision)
    except storage_errors.Compacted as error:
        raise _expired(options, after, prefix) from error
    except storage_errors.FutureRevision as error:
        raise too_large(revision, store.revision) from error
    left = [entry for entry in selected(call, entries, matches) if entry.key > after]
    if options.limit <= 0 or len(left) <= options.limit:
        return Page(left, revision)
    shown = left[: options.limit]
    token = _make_token(shown[-1].key.removeprefix(prefix), revision)
    remaining = None if matches else len(left) - options.limit
    return Page(shown, revision, token, remaining)


def _expired(options: ListOptions, after: str, prefix: str) -> status.StatusError:
    if not options.token:
        return status.expired(TOO_OLD)
    error = status.expired(TOO_OLD_TOKEN)
    error.metadata = {"continue": _make_token(after.removeprefix(prefix).rstrip("\0"), -1)}
    return error


def selected(call: Call, entries: list[Entry], matches: Matcher | None) -> list[Entry]:
    """Those that match."""
    if matches is None:
        return entries
    return [entry for entry in entries if matches(call.resource.view(entry, call.served))]


def _version(text: str) -> int:
    try:
        return strconv.parse_uint(text)
    except ValueError as error:
        raise status.bad_request(
            f"invalid resource version: resourceVersion: Invalid value: {quote(text)}: {error}"
        ) from error


async def _wait_for(registry: Registry, version: str) -> None:
    """A version of the future is not waited for: this store's revisions are all known."""
    if version in ("", "0"):
        return
    wanted = _version(version)
    check_known(wanted, registry.store.revision)


def check_known(wanted: int, newest: int) -> None:
    """Raises StatusError 504 for a version that is not there yet."""
    if wanted > newest:
        raise too_large(wanted, newest)


def too_large(wanted: int, current: int) -> status.StatusError:
    """504: a resource version that does not exist yet."""
    error = status.StatusError(
        504,
        status.Reason.TIMEOUT,
        f"Timeout: Too large resource version: {wanted}, current: {current}",
        details={
            "causes": [
                {"reason": "ResourceVersionTooLarge", "message": "Too large resource version"}
            ],
            "retryAfterSeconds": 1,
        },
    )
    error.headers["Retry-After"] = "1"
    return error


def _make_token(start: str, revision: int) -> str:
    document = {"v": "meta.k8s.io/v1", "rv": revision, "start": start + "\0"}
    return base64.urlsafe_b64encode(orjson.dumps(document)).decode().rstrip("=")


def _read_token(token: str, prefix: str) -> tuple[str, int]:
    """The key to go on after, and the revision; 0 for an inconsistent continuation."""
    try:
        raw = base64.urlsafe_b64decode(token + "=" * (-len(token) % 4))
        document = orjson.loads(raw)
        revision, start = int(document["rv"]), str(document["start"])
    except (binascii.Error, ValueError, KeyError, TypeError) as error:
        raise status.bad_request(
            f"invalid continue token: continue key is not valid: {error}"
        ) from error
    return prefix + start.removesuffix("\0"), max(revision, 0)
