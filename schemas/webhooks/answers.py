"""The checks that reviews of both types share: the types of their members, and whom they answer."""

from inkube.schemas.golang import cannot_unmarshal, gotext
from inkube.schemas.meta import GVK
from inkube.schemas.objects import Object

Members = tuple[tuple[str, type, str], ...]
"""The members of a Go struct: their names, their types here and in Go."""
STATUS: Members = (
    ("status", str, "string"),
    ("message", str, "string"),
    ("reason", str, "v1.StatusReason"),
    ("code", int, "int32"),
    ("details", dict, "v1.StatusDetails"),
    ("metadata", dict, "v1.ListMeta"),
)


def check_members(obj: Object, members: Members, path: str) -> None:
    """Raise DecodeError for the first member of another type. `path` names the struct in Go."""
    for member, kind, go_type in members:
        value = obj.get(member)
        if value is not None and type(value) is not kind:
            raise cannot_unmarshal(value, go_type, f"{path}.{member}")


def misnamed(document: Object, expected: tuple[str, str, str]) -> str:
    """Return the error for a review that does not name its group, version and kind, or ""."""
    found = GVK.of(document.get("apiVersion") or "", document.get("kind") or "")
    if found == expected:
        return ""
    group, version, kind = expected
    return (
        f"expected webhook response of {group}/{version}, Kind={kind}, "
        f"got {found.group}/{found.version}, Kind={found.kind}"
    )


def misdirected(response: Object, uid: str) -> str:
    """Return the error for a response to another request, or ""."""
    answered = response.get("uid") or ""
    if answered == uid:
        return ""
    return f"expected response.uid={gotext.quote(uid)}, got {gotext.quote(answered)}"
