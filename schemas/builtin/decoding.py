"""Bodies of built-in kinds: decoded by the kind's Go type, or refused as kube-apiserver does.

The pipeline calls it on every body and on every patched object; the decoding itself is `gotypes`'.
"""

from typing import Any

from inkube.schemas import fielderrors, status
from inkube.schemas.golang import gotext
from inkube.schemas.golang.unmarshal import DecodeError
from inkube.schemas.gotypes import decoding, types
from inkube.schemas.gotypes.decoding import Decoded
from inkube.schemas.gotypes.table import table
from inkube.schemas.meta import GVK

__all__ = [
    "DecodeError", "Decoded", "check_type", "coerce", "decode", "empty", "patch_refusal", "refusal",
    "zero",
]  # fmt: skip

Object = dict[str, Any]


def decode(obj: Object, gvk: GVK) -> Decoded:
    """The object as its Go type holds it, and the strict errors: `unknown field "spec.foo"`.

    The input is left alone. Raises DecodeError.
    """
    name = table().of(gvk)
    if name is None:
        raise LookupError(f"{gvk} is no built-in kind")
    made, unknown = decoding.decode(types.of(name), obj)
    head: Object = {member: made[member] for member in ("apiVersion", "kind") if member in made}
    return Decoded({**head, **made}, [f'unknown field "{path}"' for path in unknown])


def coerce(obj: Object, gvk: GVK, unknown: list[str] | None) -> None:
    """`decode` in place, for the pipeline: unknown fields go to `unknown` where that is a list.

    Raises the StatusError of `refusal`, its cause a DecodeError.
    """
    try:
        decoded = decode(obj, gvk)
    except DecodeError as error:
        raise refusal(gvk, error) from error
    obj.clear()
    obj.update({"apiVersion": gvk.api_version, "kind": gvk.kind, **decoded.object})
    if unknown is not None:
        unknown.extend(decoded.unknown)


def check_type(obj: Object, gvk: GVK) -> None:
    """Refuse a body of another kind or version; a built-in body may leave both out.

    Raises StatusError 400.
    """
    version, kind = obj.get("apiVersion") or gvk.api_version, obj.get("kind") or gvk.kind
    if not isinstance(version, str) or not isinstance(kind, str):
        member = "apiVersion" if not isinstance(version, str) else "kind"
        given = gotext.json_kind(obj[member])
        raise status.bad_request(
            f"the object provided is unrecognized (must be of type {gvk.kind}): couldn't get "
            f"version/kind; json parse error: json: cannot unmarshal {given} into Go struct field "
            f".{member} of type string"
        )
    if version != gvk.api_version:
        raise status.bad_request(
            f"the API version in the data ({version}) does not match the expected API version "
            f"({gvk.api_version})"
        )
    if kind != gvk.kind:
        raise status.bad_request(_other_kind(kind, gvk))


def _other_kind(kind: str, gvk: GVK) -> str:
    if table().of(GVK(gvk.group, gvk.version, kind)) is None:
        return (
            f"{kind} in version {gotext.quote(gvk.version)} cannot be handled as a {gvk.kind}: no "
            f"kind {gotext.quote(kind)} is registered for version {gotext.quote(gvk.api_version)} "
            'in scheme "k8s.io/kubernetes/pkg/api/legacyscheme/scheme.go:30"'
        )
    group = gvk.group.partition(".")[0] or "core"
    return (
        f"{kind} in version {gotext.quote(gvk.version)} cannot be handled as a {gvk.kind}: "
        f"converting ({gvk.version}.{kind}) to ({group}.{gvk.kind}): unknown conversion"
    )


def empty(gvk: GVK) -> Object:
    """An object of the kind before anything is set: what Go sends for its zero value."""
    name = table().of(gvk)
    return {} if name is None else decoding.zero(types.of(name))


def zero(gvk: GVK, member: str) -> Object | None:
    """What Go sends for an empty struct member, such as the status; None where it sends none."""
    name = table().of(gvk)
    known = types.of(name).fields.get(member) if name else None
    return decoding.zero(known.type) if known is not None and known.value else None


def refusal(gvk: GVK, error: Exception | str) -> status.StatusError:
    """The 400 that answers a POST or PUT whose body does not decode."""
    return status.bad_request(
        f'{gvk.kind} in version "{gvk.version}" cannot be handled as a {gvk.kind}: {error}'
    )


def patch_refusal(value: str, error: Exception | str) -> status.StatusError:
    """The 422 that answers a patch whose outcome does not decode; `value` is the patched JSON,
    or for a strategic patch `gotext.plain` of the patch."""
    return status.invalid("", "", "", [fielderrors.invalid("patch", value, str(error))])
