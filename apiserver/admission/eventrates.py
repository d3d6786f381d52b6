"""EventRateLimit admission: limits of the rate of Events, by server, namespace, user or object.

Each limit is a token bucket that holds `burst` tokens and receives `qps` a second. Follows
plugin/pkg/admission/eventratelimit.
"""

from collections import OrderedDict
from collections.abc import Callable, Sequence
from typing import NamedTuple

from inkube.apiserver.registry import Plugin, Write
from inkube.schemas import fielderrors, status
from inkube.schemas.fielderrors import FieldError
from inkube.schemas.objects import Object

CACHE = 4096
"""The default number of namespaces, users or objects whose rate a limit remembers."""
_TYPES = ("Namespace", "Server", "SourceAndObject", "User")
_INVOLVED = ("kind", "namespace", "name", "uid", "apiVersion")


class Limit(NamedTuple):
    """One limit of the configuration. `qps` is a rate in Events per second."""

    type: str
    qps: int
    burst: int
    cache: int


def limits(configuration: Object) -> Sequence[Limit]:
    """Return the limits of a configuration. Raises ValueError with all errors in it."""
    given = configuration.get("limits") or []
    errors = [] if given else [fielderrors.invalid("limits", "", "must not be empty")]
    for index, limit in enumerate(given):
        errors += _errors(limit, f"limits[{index}]")
    if errors:
        raise ValueError(", ".join(error.text() for error in errors))
    return [
        Limit(each["type"], each["qps"], each["burst"], each.get("cacheSize") or CACHE)
        for each in given
    ]


def _errors(limit: Object, path: str) -> list[FieldError]:
    errors = []
    if limit.get("type") not in _TYPES:
        kind = limit.get("type", "")
        errors.append(fielderrors.not_supported(f"{path}.type", kind, _TYPES))
    for member in ("burst", "qps"):
        value = limit.get(member, 0)
        if type(value) is not int or value <= 0:
            errors.append(fielderrors.invalid(f"{path}.{member}", value, "must be positive"))
    size = limit.get("cacheSize", 0)
    if type(size) is not int or size < 0:
        errors.append(fielderrors.invalid(f"{path}.cacheSize", size, "must not be negative"))
    return errors


class _Buckets:
    """The buckets of one limit. The one that was not used for the longest time is removed first."""

    def __init__(self, limit: Limit, monotonic: Callable[[], float]) -> None:
        self._limit = limit
        self._monotonic = monotonic
        self._levels: OrderedDict[str, tuple[float, float]] = OrderedDict()
        """Tokens and the time at which there were that many."""

    def takes(self, key: str) -> bool:
        """Take one token. Returns False if there is none."""
        now = self._monotonic()
        burst = float(self._limit.burst)
        level, since = self._levels.pop(key, (burst, now))
        level = min(burst, level + (now - since) * self._limit.qps)
        taken = level >= 1
        self._levels[key] = (level - 1 if taken else level, now)
        if len(self._levels) > self._limit.cache:
            self._levels.popitem(last=False)
        return taken


class EventRateLimit(Plugin):
    """Refuses Events beyond the limits. `monotonic` returns seconds."""

    name = "EventRateLimit"
    is_private = False
    kinds = (("", "events"), ("events.k8s.io", "events"))
    operations = ("CREATE", "UPDATE")

    def __init__(self, every: Sequence[Limit], monotonic: Callable[[], float]) -> None:
        self._limits = [(limit, _Buckets(limit, monotonic)) for limit in every]

    async def validate(self, write: Write) -> None:
        refused: status.StatusError | None = None
        for limit, buckets in self._limits:
            key = _key(limit.type, write)
            if not buckets.takes(key):
                text = f"limit reached on type {limit.type} for key {key}"
                refused = status.too_many_requests(f"Too many requests: {text}")
        if refused is not None:
            raise refused


def _key(kind: str, write: Write) -> str:
    if kind == "Namespace":
        return write.request.namespace
    if kind == "User":
        return write.request.user.name
    if kind == "Server":
        return ""
    event = write.object or {}
    source = event.get("source") or event.get("deprecatedSource") or {}
    involved = event.get("involvedObject") or event.get("regarding") or {}
    parts = (source.get("component"), source.get("host"), *map(involved.get, _INVOLVED))
    return "".join(part or "" for part in parts)
