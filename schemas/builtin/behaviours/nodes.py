"""Nodes: taints, the ranges their pods live in, what they have to give.

Follows core validation ValidateNode, ValidateNodeUpdate and pkg/registry/core/node/strategy.go.
"""

from inkube.schemas import fielderrors
from inkube.schemas.builtin.behaviours import addresses, checks, requirements
from inkube.schemas.builtin.behaviours.base import BuiltinStrategy, keep, same
from inkube.schemas.fielderrors import FieldError
from inkube.schemas.golang import gotext
from inkube.schemas.metadata import names
from inkube.schemas.objects import Object
from inkube.schemas.strategy import Context

_EFFECTS = ("NoSchedule", "PreferNoSchedule", "NoExecute")


class Nodes(BuiltinStrategy):
    """What runs pods."""

    def default(self, obj: Object) -> None:
        _settle_ranges(obj.setdefault("spec", {}))
        told = obj.get("status") or {}
        if told.get("capacity") and not told.get("allocatable"):
            told["allocatable"] = dict(told["capacity"])

    def prepare_for_create(self, context: Context, obj: Object) -> None:
        """A node's status may come with it."""

    def prepare_object(self, context: Context, obj: Object, old: Object) -> None:
        keep(obj, old, "status")

    def check(self, obj: Object) -> list[FieldError]:
        spec = obj.get("spec") or {}
        return _taints(spec.get("taints") or []) + _ranges(spec.get("podCIDRs") or [])

    def check_update(self, obj: Object, old: Object) -> list[FieldError]:
        return _changes(obj, old)

    def check_status(self, obj: Object, old: Object) -> list[FieldError]:
        return _changes(obj, old)


def _settle_ranges(spec: Object) -> None:
    """podCIDR is the first of podCIDRs; where they differ, podCIDR counts."""
    one, many = spec.get("podCIDR") or "", spec.get("podCIDRs") or []
    if one and (not many or many[0] != one):
        spec["podCIDRs"] = [one]
    elif many and not one:
        spec["podCIDR"] = many[0]


def _taints(taints: list[Object]) -> list[FieldError]:
    errors: list[FieldError] = []
    seen: set[tuple[str, str]] = set()
    for index, taint in enumerate(taints):
        path = f"metadata.taints[{index}]"
        key, value, effect = (taint.get(member, "") for member in ("key", "value", "effect"))
        errors += checks.named(key, f"{path}.key", names.label_key)
        errors += [fielderrors.invalid(f"{path}.value", value, w) for w in names.label_value(value)]
        errors += checks.one_of(effect, f"{path}.effect", _EFFECTS)
        if (key, effect) in seen:
            added = taint.get("timeAdded")
            parts = gotext.compact_json({"TimeAdded": added})[1:-1]
            shown = f'{{"Key":"{key}","Value":"{value}","Effect":"{effect}",{parts}}}'
            why = "taints must be unique by key and effect pair"
            errors.append(fielderrors.duplicate(path, fielderrors.Verbatim(shown), why))
        seen.add((key, effect))
    return errors


def _ranges(blocks: list[str]) -> list[FieldError]:
    errors: list[FieldError] = []
    for index, block in enumerate(blocks):
        errors += addresses.check_block(block, f"spec.podCIDRs[{index}]")
    if len(blocks) > 1:
        parsed = [addresses.parse(block.partition("/")[0]) for block in blocks]
        families = {found.version for found in parsed if found is not None}
        if len(blocks) > 2 or len(families) < 2:
            why = "may specify no more than one CIDR for each IP family"
            errors.append(fielderrors.invalid("spec.podCIDRs", blocks, why))
    return errors


def _changes(obj: Object, old: Object) -> list[FieldError]:
    """ValidateNodeUpdate."""
    told, spec, before = obj.get("status") or {}, obj.get("spec") or {}, old.get("spec") or {}
    errors: list[FieldError] = []
    seen: set[tuple[str, str]] = set()
    for index, one in enumerate(told.get("addresses") or ()):
        place = (one.get("type", ""), one.get("address", ""))
        if place in seen:
            shown = fielderrors.Verbatim(f'{{"Type":"{place[0]}","Address":"{place[1]}"}}')
            errors.append(fielderrors.duplicate(f"status.addresses[{index}]", shown))
        seen.add(place)
    for member in ("capacity", "allocatable"):
        for name, amount in sorted((told.get(member) or {}).items()):
            errors += requirements.amount_of(name, amount, f"status.{member}.{name}")
    if before.get("podCIDRs") and not same(spec.get("podCIDRs"), before["podCIDRs"]):
        why = 'node updates may not change podCIDR except from "" to valid'
        errors.append(fielderrors.forbidden("spec.podCIDRs", why))
    if before.get("providerID") and spec.get("providerID") != before["providerID"]:
        why = 'node updates may not change providerID except from "" to valid'
        errors.append(fielderrors.forbidden("spec.providerID", why))
    if not same(spec.get("taints"), before.get("taints")):
        errors += _taints(spec.get("taints") or [])
    return errors
