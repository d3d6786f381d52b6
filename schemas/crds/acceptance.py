"""The acceptance of the names of a CRD, and the resulting status.

Names must be unique in their group: plural, singular and short names together, kind and list kind
together. Follows apiextensions-apiserver/pkg/controller/status/naming_controller.go and
pkg/controller/establish; the two steps are one here.
"""

import copy
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from inkube.schemas.crds import approval, certificates, conditions
from inkube.schemas.golang import gotext
from inkube.schemas.objects import Object


@dataclass(slots=True)
class _UsedNames:
    """The names that the accepted CRDs of one group use."""

    resources: set[str] = field(default_factory=set)
    kinds: set[str] = field(default_factory=set)

    def add(self, names: Object) -> None:
        self.resources.update((names.get("plural", ""), names.get("singular", "")))
        self.resources.update(names.get("shortNames") or ())
        self.kinds.update((names.get("kind", ""), names.get("listKind", "")))


def next_status(crd: Object, others: Iterable[Object], now: str) -> Object | None:
    """Return the status that the CRD should have, or None if it already has this status.

    `others` contains at least the CRDs of its group with one of the names in its spec. It can
    contain other CRDs and the CRD itself. `now` is a metav1.Time.
    """
    taken = _UsedNames()
    group, name = crd["spec"]["group"], crd["metadata"]["name"]
    for other in others:
        if other["spec"]["group"] == group and other["metadata"]["name"] != name:
            taken.add((other.get("status") or {}).get("acceptedNames") or {})
    old = crd.get("status") or {}
    status = copy.deepcopy(old)
    taken.add(status.get("acceptedNames") or {})
    if (approved := approval.condition(crd)) is not None:
        conditions.put(status, approved, now)
    conflict = _name(status, crd["spec"]["names"], taken, now)
    if not conditions.is_true(status, conditions.ESTABLISHED):
        if conditions.is_true(status, conditions.NAMES_ACCEPTED):
            conditions.put(status, _untrusted(crd["spec"]) or _ESTABLISHED, now)
        elif conflict:
            conditions.put(status, _NOT_ACCEPTED, now)
    return None if status == old else status


def _name(status: Object, names: Object, taken: _UsedNames, now: str) -> bool:
    """Set the accepted names and their condition in `status`, unless all names of the spec are
    already accepted: then a condition that is missing or outdated stays so. Returns whether there
    is a conflict."""
    before = status.get("acceptedNames") or {}
    if _nonempty(before) == _nonempty(names):
        return False
    status["acceptedNames"], conflict = _accept(names, before, taken)
    conditions.put(status, conflict or _NO_CONFLICTS, now)
    return conflict is not None


def _nonempty(names: Object) -> Object:
    return {key: value for key, value in names.items() if value}


_NO_CONFLICTS = conditions.condition(
    conditions.NAMES_ACCEPTED, "True", "NoConflicts", "no conflicts found"
)
_NOT_ACCEPTED = conditions.condition(
    conditions.ESTABLISHED, "False", "NotAccepted", "not all names are accepted"
)
_INVALID_BUNDLE = conditions.condition(
    conditions.ESTABLISHED, "False", "InvalidCABundle", "The conversion webhook CABundle is invalid"
)
_ESTABLISHED = conditions.condition(
    conditions.ESTABLISHED, "True", "InitialNamesAccepted", "the initial names have been accepted"
)


def _untrusted(spec: Object) -> Object | None:
    """Return the condition of a CRD with an invalid CA bundle for its conversion webhook, else
    None.

    Such a CRD is not served until the bundle is valid.
    """
    webhook = (spec.get("conversion") or {}).get("webhook") or {}
    bundle = (webhook.get("clientConfig") or {}).get("caBundle")
    return _INVALID_BUNDLE if bundle and not certificates.is_valid(bundle) else None


def _accept(
    requested: Object, accepted: Object, used_names: _UsedNames
) -> tuple[Object, Object | None]:
    """Return the accepted names, and the last conflict as a condition."""
    names = {"kind": "", "plural": "", **accepted}
    conflict: Object | None = None
    for key, used, reason in (
        ("plural", used_names.resources, "PluralConflict"),
        ("singular", used_names.resources, "SingularConflict"),
        ("shortNames", used_names.resources, "ShortNamesConflict"),
        ("kind", used_names.kinds, "KindConflict"),
        ("listKind", used_names.kinds, "ListKindConflict"),
    ):
        clashes = _clashes(requested.get(key), accepted.get(key), used)
        if clashes:
            text = clashes[0] if len(clashes) == 1 else f"[{', '.join(clashes)}]"
            conflict = conditions.condition(conditions.NAMES_ACCEPTED, "False", reason, text)
        else:
            _put(names, key, requested)
    _put(names, "categories", requested)
    return names, conflict


def _clashes(requested: Any, accepted: Any, used: set[str]) -> list[str]:
    if isinstance(requested, list):
        fresh = [name for name in requested if name not in (accepted or ())]
    else:
        fresh = [requested] if requested and requested != accepted else []
    return list(
        dict.fromkeys(f"{gotext.quote(name)} is already in use" for name in fresh if name in used)
    )


def _put(names: Object, key: str, requested: Object) -> None:
    if requested.get(key):
        names[key] = copy.copy(requested[key])
    elif key in ("kind", "plural"):
        names[key] = ""
    else:
        names.pop(key, None)
