"""Options of requests, from queries and bodies, and their validation.

Follows apimachinery/pkg/apis/meta/v1/validation and internalversion/validation. All invalid options
are causes of one 422, whose kind is that of the options, such as CreateOptions.
"""

import math
import re
from collections.abc import Mapping, Sequence
from typing import Any

from multidict import MultiDict, MultiMapping

from inkube.apiserver.registry import NO_SELECTION as PLAIN_LIST
from inkube.apiserver.registry import DeleteOptions, ListOptions, WriteOptions
from inkube.schemas import fielderrors, selectors, status
from inkube.schemas.fielderrors import FieldError
from inkube.schemas.golang import quote, strconv, truthy, unmarshal

MAX_MANAGER = 128
VALIDATIONS = ("", "Ignore", "Strict", "Warn")
_UNITS = {
    "h": 3600.0,
    "m": 60.0,
    "s": 1.0,
    "ms": 1e-3,
    "us": 1e-6,
    "µs": 1e-6,
    "μs": 1e-6,
    "ns": 1e-9,
}
_NUMBER = re.compile(r"[0-9]+\.?[0-9]*|\.[0-9]+")
_PART = re.compile(rf"({_NUMBER.pattern})(h|ms|m|us|µs|μs|ns|s)")
_DURATION = re.compile(rf"([+-]?)((?:{_PART.pattern})+)")
PROPAGATION = ("", "Foreground", "Background", "Orphan")
DRY_RUN_TRUE = 'dryRun "true" was read as "All"; other API servers refuse it'


Query = MultiMapping[str]
"""The query parameters of a request."""


def read_write_options(
    query: Query, kind: str, *, lenient: bool = False, apply: bool = False
) -> tuple[WriteOptions, list[str]]:
    """Return the options of a create, update or patch, and warnings. Raises StatusError 422.

    `lenient` reads `dryRun=true` as All. `apply` requires a field manager and allows force.
    """
    dry_run, errors, warnings = _dry_run(query.getall("dryRun", ()), lenient)
    manager = query.get("fieldManager", "")
    validation = query.get("fieldValidation", "")
    force = query.get("force")
    if kind == "PatchOptions":
        errors += _force(force, apply)
        if apply and not manager:
            errors.append(fielderrors.required("fieldManager", "is required for apply patch"))
    errors += _manager(manager)
    if validation not in VALIDATIONS:
        errors.append(fielderrors.not_supported("fieldValidation", validation, VALIDATIONS))
    if errors:
        order = {"force": 0, "fieldManager": 1, "dryRun": 2, "fieldValidation": 3}
        errors.sort(key=lambda error: order[error.field])
        raise status.invalid("meta.k8s.io", kind, "", errors)
    options = WriteOptions(dry_run, manager, validation or "Warn", truthy(force), validation)
    return options, warnings


def read_timeout(query: Query) -> float:
    """Return `timeout` in seconds; infinite if it is missing, 0 or negative.

    Raises StatusError 400 (apiserver/pkg/endpoints/filters/request_deadline.go).
    """
    text = query.get("timeout", "") if query else ""
    if not text:
        return math.inf
    if text in ("0", "+0", "-0"):
        return math.inf
    match = _DURATION.fullmatch(text)
    if match is None:
        raise status.bad_request(
            f"invalid timeout specified in the request URL - time: {_duration_error(text)}"
        )
    if match[1] == "-":
        return math.inf
    return _seconds(match[2]) or math.inf


def _seconds(text: str) -> float:
    return sum(float(number) * _UNITS[unit] for number, unit in _PART.findall(text))


def _duration_error(text: str) -> str:
    """Return the error of `time.ParseDuration` for an invalid text."""
    rest = text.lstrip("+-") if text[:1] in ("+", "-") else text
    while rest:
        number = _NUMBER.match(rest)
        if number is None:
            break
        rest = rest[number.end() :]
        unit = re.match(r"[^0-9.]*", rest)
        unit_name = unit[0] if unit else ""
        if not unit_name:
            return f"missing unit in duration {quote(text)}"
        if unit_name not in _UNITS:
            return f"unknown unit {quote(unit_name)} in duration {quote(text)}"
        rest = rest[len(unit_name) :]
    return f"invalid duration {quote(text)}"


def _dry_run(values: Sequence[str], lenient: bool) -> tuple[bool, list[FieldError], list[str]]:
    if not values:
        return False, [], []
    if lenient and all(value in ("All", "true") for value in values):
        return True, [], [DRY_RUN_TRUE] if "true" in values else []
    if any(value != "All" for value in values):
        return False, [fielderrors.not_supported("dryRun", list(values), ["All"])], []
    return True, [], []


def _force(force: str | None, apply: bool) -> list[FieldError]:
    if force is None or apply:
        return []
    return [fielderrors.forbidden("force", "may not be specified for non-apply patch")]


def _manager(manager: str) -> list[FieldError]:
    errors = []
    if len(manager.encode()) > MAX_MANAGER:
        errors.append(fielderrors.too_long("fieldManager", MAX_MANAGER))
    for index, char in enumerate(manager):
        if not char.isprintable():
            detail = f"invalid character U+{ord(char):04X} (at position {index})"
            errors.append(fielderrors.invalid("fieldManager", manager, detail))
            break
    return errors


def manager_name(user_agent: str) -> str:
    """Return the manager of a request without `fieldManager`: the user agent up to its first slash
    (at most 128 bytes, "unknown" if it is empty)."""
    head = user_agent.partition("/")[0]
    if head.isascii() and head.isprintable():
        return head[:MAX_MANAGER] or "unknown"
    if not head.isprintable():
        head = "".join(char for char in head if char.isprintable())
    return head.encode()[:MAX_MANAGER].decode(errors="ignore") or "unknown"


def read_delete_options(
    query: Query, body: Mapping[str, Any] | None, *, lenient: bool = False
) -> tuple[DeleteOptions, list[str]]:
    """Return the options of a delete, from the body if it is not None, else from the query, and
    warnings. Raises StatusError 400 or 422."""
    source, values = _from_body(body) if body is not None else _from_query(query)
    dry_run, errors, warnings = _dry_run(values, lenient)
    if source.propagation is not None and source.orphan is not None:
        errors.insert(
            0,
            fielderrors.invalid(
                "propagationPolicy",
                source.propagation,
                "orphanDependents and deletionPropagation cannot be both set",
            ),
        )
    if source.propagation is not None and source.propagation not in PROPAGATION[1:]:
        errors.append(
            fielderrors.not_supported(
                "propagationPolicy", source.propagation, [*PROPAGATION[1:], "nil"]
            )
        )
    if errors:
        raise status.invalid("meta.k8s.io", "DeleteOptions", "", errors)
    return source._replace(dry_run=dry_run), warnings


def delete_options(body: Mapping[str, Any]) -> DeleteOptions:
    """Return the DeleteOptions inside another object, such as an Eviction. Raises StatusError 400
    or 422."""
    options, _ = read_delete_options(MultiDict(), body)
    return options


def _from_query(query: Query) -> tuple[DeleteOptions, list[str]]:
    """Return the options in a query, and its values of dryRun."""
    grace, orphan = query.get("gracePeriodSeconds"), query.get("orphanDependents")
    uid, version = query.get("uid") or None, query.get("resourceVersion") or None
    options = DeleteOptions(
        grace=None if grace is None else parse_int(grace),
        orphan=None if orphan is None else truthy(orphan),
        propagation=query.get("propagationPolicy"),
        uid=uid, resource_version=version, preconditioned=bool(uid or version),
    )  # fmt: skip
    return options, list(query.getall("dryRun", ()))


_MEMBERS: dict[str, tuple[type[Any], str]] = {
    "dryRun": (list, "[]string"),
    "gracePeriodSeconds": (int, "int64"),
    "orphanDependents": (bool, "bool"),
    "propagationPolicy": (str, "v1.DeletionPropagation"),
    "preconditions": (dict, "v1.Preconditions"),
}
"""The type of each member of DeleteOptions, and Go's name of it."""


def _from_body(body: Mapping[str, Any]) -> tuple[DeleteOptions, list[str]]:
    """Return the options in a body, and its values of dryRun. Raises StatusError 400 for the first
    member of a wrong type."""
    for name in body:
        if name in _MEMBERS:
            _member(body, name, *_MEMBERS[name])
    values = body.get("dryRun") or []
    for value in values:
        if not isinstance(value, str):
            raise _refusal(value, "string", "dryRun")
    given = body.get("preconditions")
    preconditions = given or {}
    uid = _member(preconditions, "uid", str, "types.UID", "preconditions.")
    version = _member(preconditions, "resourceVersion", str, "string", "preconditions.")
    options = DeleteOptions(
        grace=body.get("gracePeriodSeconds"),
        orphan=body.get("orphanDependents"),
        propagation=body.get("propagationPolicy"),
        uid=uid,
        resource_version=version,
        preconditioned=given is not None,
    )
    return options, values


def _member(
    body: Mapping[str, Any], name: str, kind: type[Any], go_type: str, parent: str = ""
) -> Any:
    """Return a member, or None if it is missing. Raises StatusError 400 for another type."""
    value = body.get(name)
    if value is None or type(value) is kind:
        return value
    raise _refusal(value, go_type, parent + name)


def _refusal(value: Any, go_type: str, field: str) -> status.StatusError:
    """Return an error with the decoder's text without a prefix, as in
    `bodies.read_delete_options`."""
    message = unmarshal.cannot_unmarshal(value, go_type, f"DeleteOptions.{field}").text
    return status.bad_request(message)


def parse_int(text: str) -> int:
    """Parse an integer as `strconv.ParseInt`. Raises StatusError 400 with Go's text."""
    try:
        return strconv.parse_int(text)
    except ValueError as error:
        raise status.bad_request(str(error)) from error


def read_list_options(query: Query, *, streams_lists: bool = True) -> ListOptions:
    """Return the options of a list, watch or deletecollection. Raises StatusError 400 or 422.

    Whether the rules of a watch hold, the query alone decides: not a path with `/watch/`
    (apiserver/pkg/endpoints/handlers/get.go, listOpts)."""
    if not query:
        return PLAIN_LIST
    timeout = query.get("timeoutSeconds")
    seconds = None if timeout is None else parse_int(timeout)
    initial = query.get("sendInitialEvents")
    options = ListOptions(
        labels=query.get("labelSelector", ""),
        fields=query.get("fieldSelector", ""),
        limit=parse_int(query.get("limit", "0")),
        token=query.get("continue", ""),
        resource_version=query.get("resourceVersion", ""),
        match=query.get("resourceVersionMatch", ""),
        watch=truthy(query.get("watch")),
        bookmarks=truthy(query.get("allowWatchBookmarks")),
        timeout=seconds,
        initial_events=None if initial is None else truthy(initial),
    )
    if options.labels:
        selectors.parse_labels(options.labels)
    if options.fields:
        selectors.parse_fields(options.fields)
    errors = _problems(options, streams_lists)
    if errors:
        raise status.invalid("meta.k8s.io", "ListOptions", "", errors)
    return options


_NO_WATCH_LIST = (
    "sendInitialEvents is forbidden for watch unless the WatchList feature gate is enabled"
)


def _problems(options: ListOptions, streams_lists: bool) -> list[FieldError]:
    field = "resourceVersionMatch"
    match = options.match
    if options.watch:
        return _watch_problems(options, streams_lists)
    errors = []
    if match and not options.resource_version:
        errors.append(
            fielderrors.forbidden(field, f"{field} is forbidden unless resourceVersion is provided")
        )
    if match and options.token:
        errors.append(
            fielderrors.forbidden(field, f"{field} is forbidden when continue is provided")
        )
    if match not in ("", "Exact", "NotOlderThan"):
        errors.append(fielderrors.not_supported(field, match, ["Exact", "NotOlderThan", ""]))
    if match == "Exact" and options.resource_version == "0":
        errors.append(
            fielderrors.forbidden(field, f'{field} "exact" is forbidden for resourceVersion "0"')
        )
    if options.initial_events is not None:
        errors.append(
            fielderrors.forbidden("sendInitialEvents", "sendInitialEvents is forbidden for list")
        )
    return errors


def _watch_problems(options: ListOptions, streams_lists: bool) -> list[FieldError]:
    """Return the errors of validateWatchOptions, after SetListOptionsDefaults: a watch from any
    version without sendInitialEvents and resourceVersionMatch begins with the current state."""
    field = "resourceVersionMatch"
    match, wants_state = options.match, options.initial_events
    if (
        streams_lists
        and wants_state is None
        and not match
        and options.resource_version in ("", "0")
    ):
        match, wants_state = "NotOlderThan", True
    errors = []
    if wants_state is not None and match != "NotOlderThan":
        errors.append(
            fielderrors.forbidden(
                field, "sendInitialEvents requires setting resourceVersionMatch to NotOlderThan"
            )
        )
    if wants_state is not None and not streams_lists:
        errors.append(fielderrors.forbidden("sendInitialEvents", _NO_WATCH_LIST))
    if not match:
        return errors
    if wants_state is None:
        message = f"{field} is forbidden for watch unless sendInitialEvents is provided"
        errors.append(fielderrors.forbidden(field, message))
    if match != "NotOlderThan":
        errors.append(fielderrors.not_supported(field, match, ["NotOlderThan"]))
    if options.token:
        message = f"{field} is forbidden when continue is provided"
        errors.append(fielderrors.forbidden(field, message))
    return errors
