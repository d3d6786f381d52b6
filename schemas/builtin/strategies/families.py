"""The IP families of a service, from its policy, its addresses and the families of the cluster.

Follows pkg/registry/core/service/storage/alloc.go (initIPFamilyFields).
"""

from collections.abc import Sequence

from inkube.schemas import fielderrors
from inkube.schemas.builtin import addresses
from inkube.schemas.fielderrors import FieldError
from inkube.schemas.objects import Object

SINGLE, PREFER, REQUIRE = "SingleStack", "PreferDualStack", "RequireDualStack"
BOTH = ("IPv4", "IPv6")
_OTHER = {"IPv4": "IPv6", "IPv6": "IPv4"}
_POLICY = "spec.ipFamilyPolicy"
_WITH_ADDRESS = ("ClusterIP", "NodePort", "LoadBalancer")


def settle(spec: Object, before: Object, configured: Sequence[str]) -> list[FieldError]:
    """Set the policy and the families of a service that is not an ExternalName, in place, and
    remove the second address of a service that becomes one of one family.

    `before` is the stored spec, {} for a new service. `configured` are the families of the cluster,
    the default one first. If errors are returned, the service is unchanged. A service whose fields
    contradict each other stays as it is, because validation rejects it.
    """
    if _keeps_preference(spec, before) or not is_well_formed(spec):
        return []
    settled = _Settled(spec, before, configured)
    errors = settled.errors()
    if not errors:
        spec |= settled.fields()
    return errors


def is_contradictory(spec: Object, before: Object) -> bool:
    """Return whether the fields of addresses and families are invalid, which is an error of its
    own before the validation of the service."""
    return (
        spec.get("type") != "ExternalName"
        and not _keeps_preference(spec, before)
        and not is_well_formed(spec)
    )


def refused(spec: Object, before: Object, configured: Sequence[str]) -> list[FieldError]:
    """Return the errors of `settle`, without a change. A service after `settle` has none."""
    return [] if spec.get("type") == "ExternalName" else settle({**spec}, before, configured)


class _Settled:
    """The fields of a service about families, with the values that it gets."""

    def __init__(self, spec: Object, before: Object, configured: Sequence[str]) -> None:
        self._before = before
        self._configured = configured
        self._is_free = spec.get("clusterIP") == "None" and not spec.get("selector")
        """Whether the service is headless without a selector, so that any families are valid."""
        self._policy: str = (
            spec.get("ipFamilyPolicy")
            or before.get("ipFamilyPolicy")
            or (REQUIRE if self._is_free else SINGLE)
        )
        self._addresses: list[str] = list(spec.get("clusterIPs") or ())
        self._families: list[str] = list(spec.get("ipFamilies") or ())

    def fields(self) -> Object:
        """Return the members of the spec."""
        found: Object = {"ipFamilyPolicy": self._policy, "ipFamilies": self._families}
        return found | ({"clusterIPs": self._addresses} if self._addresses else {})

    def errors(self) -> list[FieldError]:
        """Complete the fields. Returns the errors of the first step that finds some."""
        errors = self._released() + self._of_policy() + self._inferred()
        if not errors and not self._is_free:
            errors = self._not_configured()
        if not errors:
            self._complete()
        return errors

    def _released(self) -> list[FieldError]:
        """Remove what the policy SingleStack releases, or return errors for what is removed without
        this policy."""
        errors = []
        for name, member, what in (
            ("_addresses", "clusterIPs", "cluster IP"),
            ("_families", "ipFamilies", "IP family"),
        ):
            old, new = self._before.get(member) or [], getattr(self, name)
            if self._policy == SINGLE:
                if new == old:
                    setattr(self, name, new[:1])
            elif 0 < len(new) < len(old):
                why = f"must be '{SINGLE}' to release the secondary {what}"
                errors.append(fielderrors.invalid(_POLICY, self._policy, why))
        return errors

    def _of_policy(self) -> list[FieldError]:
        if self._policy != SINGLE:
            return []
        why = f"must be '{REQUIRE}' or '{PREFER}' when multiple {{}} are specified"
        return [
            fielderrors.invalid(_POLICY, SINGLE, why.format(what))
            for what, values in (
                ("cluster IPs", self._addresses), ("IP families", self._families),
            )
            if len(values) == 2
        ]  # fmt: skip

    def _inferred(self) -> list[FieldError]:
        """Add the families of addresses that have none."""
        errors = []
        for index, address in enumerate(self._addresses):
            parsed = addresses.parse(address)
            if parsed is None:  # None, of a headless service
                break
            if index < len(self._families):
                continue
            family = f"IPv{parsed.version}"
            if family in self._configured:
                self._families.append(family)
            else:
                why = f"{family} is not configured on this cluster"
                place = f"spec.clusterIPs[{index}]"
                errors.append(fielderrors.invalid(place, self._addresses, why))
        return errors

    def _not_configured(self) -> list[FieldError]:
        errors = []
        if self._policy == REQUIRE and len(self._configured) < 2:
            why = "this cluster is not configured for dual-stack services"
            errors.append(fielderrors.invalid(_POLICY, REQUIRE, why))
        for index, family in enumerate(self._families):
            if family not in self._configured:
                place, why = f"spec.ipFamilies[{index}]", "not configured on this cluster"
                errors.append(fielderrors.invalid(place, family, why))
        return errors

    def _complete(self) -> None:
        """Add the default family, and the other one if the policy asks for it."""
        families = self._families or [self._configured[0]]
        has_both = self._is_free or len(self._configured) == 2
        if self._policy != SINGLE and len(families) == 1 and has_both:
            families = [*families, _OTHER[families[0]]]
        self._families = families


def _keeps_preference(spec: Object, before: Object) -> bool:
    """Return whether a service that prefers both families is unchanged: it does not get or lose an
    address because the cluster changed (isMatchingPreferDualStackClusterIPFields)."""
    return (
        before.get("ipFamilyPolicy") == PREFER
        and spec.get("ipFamilyPolicy") in (None, PREFER)
        and spec.get("type") == before.get("type")
        and spec.get("type") in _WITH_ADDRESS
        and (spec.get("clusterIPs") or []) == (before.get("clusterIPs") or [])
        and (spec.get("ipFamilies") or []) == (before.get("ipFamilies") or [])
    )


def is_well_formed(spec: Object) -> bool:
    """Return whether validation accepts the fields and their relations
    (ValidateServiceClusterIPsRelatedFields)."""
    given, families = spec.get("clusterIPs") or [], spec.get("ipFamilies") or []
    versions = [_family_of(each) for each in given]
    if given[:1] == ["None"]:
        versions = []
        if len(given) > 1:
            return False
    return (
        spec.get("ipFamilyPolicy") in (None, SINGLE, PREFER, REQUIRE)
        and not set(families) - set(_OTHER)
        and len(set(families)) == len(families)
        and None not in versions
        and len(set(versions)) == len(versions) <= 2
        and (not versions or len(given) == 1 or "None" not in given)
        and all(one == other for one, other in zip(versions, families, strict=False))
        and (given[0] if given else "") == (spec.get("clusterIP") or "")
    )


def _family_of(address: str) -> str | None:
    parsed = addresses.parse(address)
    return None if parsed is None else f"IPv{parsed.version}"
