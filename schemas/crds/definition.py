"""Conversion of a CustomResourceDefinition to the definition that the registry serves."""

from inkube.schemas import versions
from inkube.schemas.crds import conditions
from inkube.schemas.definitions import (
    Column,
    Definition,
    Names,
    Origin,
    Scale,
    Version,
    selectable,
    subresources,
)
from inkube.schemas.objects import Object


def to_definition(crd: Object) -> Definition:
    """Return the definition of a valid CRD, with its accepted names, or else those of the spec."""
    spec = crd["spec"]
    status = crd.get("status") or {}
    accepted = status.get("acceptedNames") or {}
    names = accepted if accepted.get("plural") and accepted.get("kind") else spec["names"]
    return Definition(
        group=spec["group"],
        names=_names(names),
        versions=tuple(_version(version, spec) for version in spec["versions"]),
        namespaced=spec["scope"] == "Namespaced",
        origin=Origin.CUSTOM,
        defers_ownership=True,
        webhook=(spec.get("conversion") or {}).get("webhook"),
        terminating=conditions.is_true(status, conditions.TERMINATING),
    )


def _names(names: Object) -> Names:
    kind = names["kind"]
    return Names(
        plural=names["plural"],
        kind=kind,
        singular=names.get("singular") or kind.lower(),
        list_kind=names.get("listKind") or f"{kind}List",
        short_names=tuple(names.get("shortNames") or ()),
        categories=tuple(names.get("categories") or ()),
    )


def _version(version: Object, spec: Object) -> Version:
    declared = version.get("subresources") or {}
    status, scale = declared.get("status") is not None, _scale(declared.get("scale"))
    return Version(
        name=version["name"],
        schema=(version.get("schema") or {}).get("openAPIV3Schema") or {},
        served=bool(version.get("served")),
        storage=bool(version.get("storage")),
        status=status,
        scale=scale,
        subresources=subresources(status=status, scale=scale),
        columns=tuple(map(_column, version.get("additionalPrinterColumns") or ())),
        selectable_fields=selectable(
            (field["jsonPath"] for field in version.get("selectableFields") or ()),
            namespaced=spec["scope"] == "Namespaced",
        ),
        deprecated=bool(version.get("deprecated")),
        deprecation_warning=_warning(version, spec),
    )


def _scale(scale: Object | None) -> Scale | None:
    if scale is None:
        return None
    return Scale(
        spec_replicas=scale["specReplicasPath"],
        status_replicas=scale["statusReplicasPath"],
        label_selector=scale.get("labelSelectorPath") or "",
    )


def _column(column: Object) -> Column:
    return Column(
        name=column["name"],
        type=column["type"],
        json_path=column["jsonPath"],
        format=column.get("format", ""),
        description=column.get("description", ""),
        priority=column.get("priority", 0),
    )


def _warning(version: Object, spec: Object) -> str:
    """Return the deprecation warning: the version's text, or one that names a better version.

    "" if the version is not deprecated. Follows crd_handler.go.
    """
    if not version.get("deprecated"):
        return ""
    if version.get("deprecationWarning") is not None:
        return str(version["deprecationWarning"])
    group, kind, name = spec["group"], spec["names"]["kind"], version["name"]
    text = f"{group}/{name} {kind} is deprecated"
    better = min(
        (v["name"] for v in spec["versions"] if v.get("served") and not v.get("deprecated")),
        key=versions.preference,
        default=name,
    )
    if versions.preference(better) < versions.preference(name):
        text += f"; use {group}/{better} {kind}"
    return text
