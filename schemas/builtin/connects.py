"""The options of requests that connect: exec, attach, port forwarding and proxies.

They are the objects that webhooks and policies see of such a request, made from its query. Follows
core/v1 types.go (PodExecOptions and others) and conversion of url.Values.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from inkube.schemas import status
from inkube.schemas.golang import truthy
from inkube.schemas.meta import GVK
from inkube.schemas.objects import Object

_STREAMS = {"stdin": bool, "stdout": bool, "stderr": bool, "tty": bool, "container": str}
_PROXY: Mapping[str, type] = {"path": str}
MEMBERS: Mapping[str, Mapping[str, type]] = {
    "PodExecOptions": {**_STREAMS, "command": list},
    "PodAttachOptions": _STREAMS,
    "PodPortForwardOptions": {"ports": list},
    "PodProxyOptions": _PROXY,
    "ServiceProxyOptions": _PROXY,
    "NodeProxyOptions": _PROXY,
}
"""The members of each kind and their types. Ports are numbers, commands are texts."""


def is_options(kind: GVK) -> bool:
    """Return whether a kind is one of these."""
    return kind.group == "" and kind.kind in MEMBERS


def read(kind: str, values: Callable[[str], Sequence[str]], path: str) -> Object:
    """Return the options in a query. `values` returns all values of a parameter, and `path` is the
    path behind a proxy. Raises StatusError 400 for ports that are not numbers."""
    found: Object = {"kind": kind, "apiVersion": "v1"}
    for member, member_type in MEMBERS[kind].items():
        texts = [path] if member == "path" else list(values(member))
        value: Any
        if member_type is list:
            value = [_port(text) for text in texts] if member == "ports" else texts
        elif member_type is bool:
            value = bool(texts) and truthy(texts[0] or None)
        else:
            value = texts[0] if texts else ""
        if value:
            found[member] = value
    return found


def _port(text: str) -> int:
    try:
        return int(text)
    except ValueError as error:
        why = f'strconv.ParseInt: parsing "{text}": invalid syntax'
        raise status.bad_request(why) from error


def query(options: Object) -> Iterator[tuple[str, str]]:
    """Yield the parameters of a query with these options, without a path."""
    for member, member_type in MEMBERS[options["kind"]].items():
        value = options.get(member)
        if not value or member == "path":
            continue
        for each in value if member_type is list else [value]:
            yield member, "true" if each is True else str(each)


def pruned(options: Object, kind: str) -> Object:
    """Return changed options with the members of their kind. Raises StatusError 500 if a value has
    another type."""
    made: Object = {"kind": kind, "apiVersion": "v1"}
    for member, member_type in MEMBERS[kind].items():
        value = options.get(member)
        if value is not None and type(value) is not member_type:
            raise status.internal_error(f"{kind}.{member} cannot be {value!r}")
        if value:
            made[member] = value
    return made


def schema(kind: str) -> Object:
    """Return the structural schema of a kind, for apply configurations."""
    names = {bool: "boolean", str: "string"}
    item = {"type": "integer"} if kind == "PodPortForwardOptions" else {"type": "string"}
    members = {
        member: {"type": "array", "items": item} if found is list else {"type": names[found]}
        for member, found in MEMBERS[kind].items()
    }
    head = {"kind": {"type": "string"}, "apiVersion": {"type": "string"}}
    return {"type": "object", "properties": {**head, **members}}
