"""The requests in audit logs: who uses versions that end, and which writes the later minor refuses.

A log is the file of `--audit-log-path`: one `audit.k8s.io` Event in each line, or lists of them. It
can be compressed with gzip. Bodies are replayed if the audit policy has the level Request.
"""

import gzip
import hashlib
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import IO, Any, NamedTuple, cast

import orjson

from inkube.apiserver.upgrades.minors import Minors
from inkube.apiserver.upgrades.replays import NAMED, Answers, Forks, compared
from inkube.apiserver.upgrades.statements import Code, Statement
from inkube.schemas import builtin
from inkube.schemas.meta import GVR
from inkube.schemas.objects import Object
from inkube.schemas.status import StatusError

LINE = 32 * 2**20
"""The longest line, in bytes."""
REPLAYS = 20_000
"""The most bodies that are replayed."""
CALLERS = 10_000
"""The most pairs of a caller and a resource."""
_REMOVED = "k8s.io/removed-release"
"""kube-apiserver's annotation of requests for versions that end (endpoints/metrics)."""
_METHODS = {"create": "POST", "update": "PUT", "patch": "PATCH"}


class Use(NamedTuple):
    """A resource, and who requests it."""

    resource: GVR
    caller: str


class Logged:
    """The requests of audit logs."""

    def __init__(self) -> None:
        self.requests = 0
        self.notes: list[str] = []
        self.uses: dict[Use, Counter[str]] = {}
        """The verbs of each use, with their numbers."""
        self.removals: dict[Use, str] = {}
        """The release that a server of the cluster has named in its annotation."""
        self.writes: dict[bytes, Object] = {}
        """Events with different bodies, by digest."""
        self._left = Counter[str]()

    def read(self, files: Sequence[Path]) -> None:
        """Read logs. Raises OSError."""
        for file in files:
            unread = 0
            with _opened(file) as stream:
                for line in _lines(stream):
                    events = _events(line)
                    unread += events is None
                    for event in events or ():
                        self._add(event)
            if unread:
                self.notes.append(f"{file}: {unread} lines are no audit events")
        self.notes += [f"{count} {what}" for what, count in self._left.items()]

    def _add(self, event: Object) -> None:
        reference, stage = event.get("objectRef"), event.get("stage", "ResponseComplete")
        is_watch = event.get("verb") == "watch" and stage == "ResponseStarted"
        if not isinstance(reference, dict) or (stage != "ResponseComplete" and not is_watch):
            return
        resource = GVR(
            *(str(reference.get(name) or "") for name in ("apiGroup", "apiVersion", "resource"))
        )
        use = Use(resource, _caller(event))
        if use not in self.uses and len(self.uses) >= CALLERS:
            self._left["requests of further callers were left out"] += 1
            return
        verbs = self.uses.setdefault(use, Counter())
        if not is_watch or not verbs["watch"]:  # a watch that goes on has no other event
            self.requests += not is_watch
            verbs[str(event.get("verb"))] += not is_watch
        released = (event.get("annotations") or {}).get(_REMOVED)
        if isinstance(released, str):
            self.removals[use] = released
        self._keep_write(event)

    def _keep_write(self, event: Object) -> None:
        body, code = event.get("requestObject"), (event.get("responseStatus") or {}).get("code", 0)
        is_plain = event["objectRef"].get("subresource", "") in ("", "status")
        if body is None or event.get("verb") not in _METHODS or code >= 400 or not is_plain:
            return
        what = (event["verb"], event["objectRef"], _caller(event), body)
        digest = hashlib.blake2b(orjson.dumps(what), digest_size=16).digest()
        if len(self.writes) < REPLAYS or digest in self.writes:
            self.writes[digest] = event
        else:
            self._left[f"writes were not replayed: {REPLAYS} is the limit"] += 1


def _opened(file: Path) -> IO[bytes]:
    with file.open("rb") as stream:
        is_packed = stream.read(2) == b"\x1f\x8b"
    return cast("IO[bytes]", gzip.open(file)) if is_packed else file.open("rb")


def _lines(stream: IO[bytes]) -> Iterator[bytes]:
    """Yield the lines; of one that is too long, only its beginning."""
    try:
        while line := stream.readline(LINE):
            yield line
            while line and not line.endswith(b"\n"):
                line = stream.readline(LINE)
    except (EOFError, gzip.BadGzipFile) as error:
        raise OSError(f"the log is damaged: {error}") from error


def _events(line: bytes) -> list[Object] | None:
    """Return the events in a line, None if it contains something else."""
    if not line.strip():
        return []
    try:
        found = orjson.loads(line)
    except ValueError:
        return None
    if not isinstance(found, dict) or not str(found.get("apiVersion")).startswith("audit.k8s.io/"):
        return None
    events = found.get("items") if found.get("kind") == "EventList" else [found]
    is_readable = isinstance(events, list) and all(_is_event(each) for each in events)
    return events if is_readable else None


def _is_event(event: Any) -> bool:
    """Return whether the members of an event have the types of `audit.k8s.io`."""
    if not isinstance(event, dict):
        return False
    maps = ("user", "impersonatedUser", "objectRef", "responseStatus", "annotations")
    reference, status = event.get("objectRef") or {}, event.get("responseStatus") or {}
    return (
        all(isinstance(event.get(name) or {}, dict) for name in maps)
        and all(isinstance(value, str) for value in reference.values())
        and isinstance(status.get("code", 0), int)
    )


def _caller(event: Object) -> str:
    user = event.get("impersonatedUser") or event.get("user") or {}
    name = str(user.get("username") or "an unknown user")
    return f"{name} ({event['userAgent']})" if event.get("userAgent") else name


def removed(logged: Logged, minors: Minors) -> Iterator[Statement]:
    """Yield the requests for versions that end."""
    for use, verbs in logged.uses.items():
        released = logged.removals.get(use, "").removeprefix("1.")
        is_named = released.isdecimal() and minors.old < int(released) <= minors.new
        if is_named or minors.ends_resource(use.resource):
            count = max(1, sum(verbs.values()))
            who = f"{use.caller}: {count} requests ({', '.join(sorted(verbs))})"
            what = f"{use.resource.api_version} {use.resource.resource} is requested"
            yield Statement(Code.REMOVED_VERSION, who, what)


async def replayed(logged: Logged, forks: Forks) -> list[Statement]:
    """Send the writes again. Raises PlanError."""
    found: list[Statement] = []
    for event in logged.writes.values():
        reference = event["objectRef"]
        place = "/".join(filter(None, (reference.get("namespace"), reference.get("name"))))
        title = f"{event['verb']} {reference.get('resource')} {place} by {_caller(event)}"
        answers = await _sent(event, forks)
        if answers is not None:
            found += compared(Code.REFUSED_REQUEST, title, answers)
    return found


async def _sent(event: Object, forks: Forks) -> Answers | None:
    """Send a write; None if there is nothing to compare."""
    reference, body = event["objectRef"], event["requestObject"]
    resource = GVR(*(reference.get(each, "") for each in ("apiGroup", "apiVersion", "resource")))
    namespace, name = reference.get("namespace", ""), reference.get("name", "")
    is_copied = event["verb"] == "create" and _is_object(body) and body["kind"] not in NAMED
    if is_copied and _is_stored(resource):
        metadata = {**body["metadata"], **({"namespace": namespace} if namespace else {})}
        try:
            return await forks.create({**body, "metadata": metadata})
        except StatusError:
            return None  # `removed` says so
    path = resource.path(namespace, "" if event["verb"] == "create" else name)
    path += f"/{reference['subresource']}" if reference.get("subresource") else ""
    if event["verb"] == "update" and _is_object(body):
        own = {k: v for k, v in body["metadata"].items() if k not in ("resourceVersion", "uid")}
        body = {**body, "metadata": own}
    return await forks.send(_METHODS[event["verb"]], path, body, _media(event, resource))


def _is_stored(resource: GVR) -> bool:
    """Return whether objects of a resource have names: reviews have none."""
    definition = builtin.by_name().get((resource.group, resource.resource))
    return definition is None or "get" in definition.verbs


def _is_object(body: Any) -> bool:
    return (
        isinstance(body, dict)
        and isinstance(body.get("kind"), str)
        and isinstance(body.get("metadata"), dict)
    )


def _media(event: Object, resource: GVR) -> str:
    """Return the media type of a patch, which an event does not contain, from its form."""
    body = event["requestObject"]
    if event["verb"] != "patch":
        return ""
    if isinstance(body, list):
        return "application/json-patch+json"
    if _is_object(body) and "fieldManager=" in str(event.get("requestURI")):
        return "application/apply-patch+yaml"
    is_builtin = (resource.group, resource.resource) in builtin.by_name()
    return f"application/{'strategic-' if is_builtin else ''}merge-patch+json"
