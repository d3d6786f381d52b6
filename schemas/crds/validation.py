"""Validation of CustomResourceDefinitions on create and on update, with all causes.

CRDs are decoded and defaulted first. Upstream relaxes some checks for objects that were stored
before the check existed. No invalid object was ever stored here, so all checks apply. Follows
pkg/apis/apiextensions/validation/validation.go and pkg/registry/customresourcedefinition.
"""

from collections.abc import Iterator, Sequence

from inkube.schemas import expressionsize, releases
from inkube.schemas.crds import (
    approval,
    certificates,
    conditions,
    conversion,
    defaultvalues,
    extras,
    internal,
    naming,
    printing,
    schemachecks,
)
from inkube.schemas.fielderrors import FieldError, invalid, required, reworded
from inkube.schemas.metadata import names, objectmeta
from inkube.schemas.objects import Object


def validate_create(crd: Object, minor: int = releases.NEWEST.minor) -> list[FieldError]:
    """Return all errors of a new CRD in a minor, with those of its metadata."""
    return [*_metadata(crd), *_bounded(crd, None, minor)]


def validate_update(
    crd: Object, old: Object, minor: int = releases.NEWEST.minor
) -> list[FieldError]:
    """Return all errors of a CRD that replaces `old`, except those of its metadata."""
    return _bounded(crd, old, minor)


def validate_status_update(crd: Object, old: Object) -> list[FieldError]:
    """Return all errors of a new status; stored versions are not checked."""
    return list(naming.validate(crd["status"]["acceptedNames"], "status.acceptedNames"))


def _metadata(crd: Object) -> list[FieldError]:
    def check(name: str, prefix: bool) -> list[str]:
        return naming.validate_name(name, crd["spec"], prefix=prefix)

    return objectmeta.validate(crd["metadata"], namespaced=False, name_check=check)


def _bounded(crd: Object, old: Object | None, minor: int) -> list[FieldError]:
    """Return all errors of a CRD, or only one about its size if its rules are too large to
    compile."""
    return expressionsize.errors(crd["spec"], "spec") or list(_validate(crd, old, minor))


def _validate(crd: Object, old: Object | None, minor: int) -> Iterator[FieldError]:
    spec = internal.of(crd["spec"])
    yield from _group_and_scope(spec.spec)
    yield from _schemas_present(spec)
    if spec.spec.get("preserveUnknownFields"):
        yield from _preserving(spec)
    yield from _versions(spec, _unchanged(crd, old), minor)
    yield from naming.validate_required(spec.spec["names"], "spec.names")
    yield from naming.validate(spec.spec["names"], "spec.names")
    yield from _shared(spec, _unchanged(crd, old), minor)
    if "conversion" in spec.spec:
        yield from conversion.validate(
            spec.spec["conversion"], "spec.conversion", check_bundle=_checks_bundle(old)
        )
    if old is not None:
        yield from _immutable(crd["spec"], old)
    yield from naming.validate(crd["status"]["acceptedNames"], "status.acceptedNames")
    yield from _stored_versions(crd["status"].get("storedVersions") or [], spec.versions)
    yield from approval.validate(crd, old)
    if spec.spec.get("preserveUnknownFields"):
        yield invalid("spec.preserveUnknownFields", True, _NO_PRESERVING)


_NO_PRESERVING = (
    "cannot set to true, set x-kubernetes-preserve-unknown-fields to true in "
    "spec.versions[*].schema instead"
)


def _group_and_scope(spec: Object) -> Iterator[FieldError]:
    yield from naming.validate_group(spec["group"], "spec.group")
    yield from naming.validate_choice(spec["scope"], "spec.scope", ("Cluster", "Namespaced"))


def _schema_of(version: Object) -> Object | None:
    return (version.get("schema") or {}).get("openAPIV3Schema")


def _schemas_present(spec: internal.Spec) -> Iterator[FieldError]:
    if _schema_of(spec.shared) is not None:
        return
    for index, version in enumerate(spec.versions):
        if _schema_of(version) is None:
            path = f"spec.versions[{index}].schema.openAPIV3Schema"
            yield required(path, before="schemas are required")


def _preserving(spec: internal.Spec) -> Iterator[FieldError]:
    """Yield the errors of defaults and webhooks in combination with preserveUnknownFields."""
    schemas = [_schema_of(version) for version in (spec.shared, *spec.versions)]
    if any(schema is not None and defaultvalues.has_any(schema) for schema in schemas):
        detail = "must be false in order to use defaults in the schema"
        yield invalid("spec.preserveUnknownFields", True, detail)
    strategy = (spec.spec.get("conversion") or {}).get("strategy", "None")
    if strategy != "None":
        detail = "must be None if spec.preserveUnknownFields is true"
        yield invalid("spec.conversion.strategy", strategy, detail)


def _versions(spec: internal.Spec, unchanged: set[str], minor: int) -> Iterator[FieldError]:
    for index, version in enumerate(spec.versions):
        path, name = f"spec.versions[{index}]", version["name"]
        if problems := names.dns1035_label(name):
            yield invalid(f"{path}.name", name, ",".join(problems))
        yield from extras.validate_deprecation(version, path)
        yield from schemachecks.validate(
            _schema_of(version),
            f"{path}.schema.openAPIV3Schema",
            has_status=_has_status(spec.shared) or _has_status(version),
            unchanged=name in unchanged,
            minor=minor,
        )
        yield from _extras(
            version,
            path,
            reworded(
                "may only be set when `version.schema.openAPIV3Schema` is not included",
                "selectableFields may only be set when version.schema.openAPIV3Schema is not "
                "included",
            ),
        )
    seen = [version["name"] for version in spec.versions]
    if len(set(seen)) < len(seen):
        detail = "must contain unique version names"
        yield invalid("spec.versions", printing.versions(spec.versions), detail)
    if sum(version["storage"] for version in spec.versions) != 1:
        detail = "must have exactly one version marked as storage version"
        value = None if spec.spec.get("versions") is None else spec.versions
        yield invalid("spec.versions", printing.versions(value), detail)
    if spec.version and (problems := names.dns1035_label(spec.version)):
        yield invalid("spec.version", spec.version, ",".join(problems))


def _shared(spec: internal.Spec, unchanged: set[str], minor: int) -> Iterator[FieldError]:
    yield from schemachecks.validate(
        _schema_of(spec.shared),
        "spec.validation.openAPIV3Schema",
        has_status=any(map(_has_status, (spec.shared, *spec.versions))),
        unchanged=spec.version in unchanged,
        minor=minor,
    )
    said = "may only be set when validations.schema is included"
    yield from _extras(spec.shared, "spec", reworded(said, f"selectableFields {said}"))


def _extras(version: Object, path: str, no_schema: str) -> Iterator[FieldError]:
    yield from extras.validate_subresources(version.get("subresources"), f"{path}.subresources")
    columns = version.get("additionalPrinterColumns") or ()
    yield from extras.validate_columns(columns, f"{path}.additionalPrinterColumns")
    fields, schema = version.get("selectableFields"), _schema_of(version)
    if fields and schema is None:
        yield invalid(f"{path}.selectableFields", "", no_schema)
    elif fields and schema is not None:
        yield from extras.validate_selectable(fields, schema, f"{path}.selectableFields")


def _has_status(version: Object) -> bool:
    return (version.get("subresources") or {}).get("status") is not None


def _unchanged(crd: Object, old: Object | None) -> set[str]:
    """Return the names of versions with an unchanged schema."""
    if old is None:
        return set()
    before = {v["name"]: _schema_of(v) for v in old["spec"].get("versions") or ()}
    return {
        version["name"]
        for version in crd["spec"].get("versions") or ()
        if version["name"] in before and _schema_of(version) == before[version["name"]]
    }


def _checks_bundle(old: Object | None) -> bool:
    """Return whether the CA bundle is checked.

    It is not if the CRD is new or was not established, or if the old bundle was invalid.
    """
    if old is None or not conditions.is_true(old["status"], conditions.ESTABLISHED):
        return False
    webhook = (old["spec"].get("conversion") or {}).get("webhook") or {}
    bundle = (webhook.get("clientConfig") or {}).get("caBundle")
    return not bundle or certificates.is_valid(bundle)


def _immutable(spec: Object, old: Object) -> Iterator[FieldError]:
    before = old["spec"]
    fields = [("group",), ("names", "plural")]
    if conditions.is_true(old["status"], conditions.ESTABLISHED):
        fields = [("scope",), ("names", "kind"), *fields]
    for keys in fields:
        new, old_value = spec, before
        for key in keys:
            new, old_value = new[key], old_value[key]
        if new != old_value:
            yield invalid(".".join(("spec", *keys)), new, "field is immutable")


def _stored_versions(stored: list[str], versions: Sequence[Object]) -> Iterator[FieldError]:
    path = "status.storedVersions"
    if not stored:
        yield invalid(path, None, "must have at least one stored version")
        return
    declared = {version["name"] for version in versions}
    left = set(stored)  # each matches one version, even if two versions have its name
    for version in versions:
        if version["storage"] and version["name"] not in left:
            yield invalid(path, stored, f"must have the storage version {version['name']}")
        left.discard(version["name"])
    for index, name in enumerate(stored):
        if name not in declared:
            detail = (
                f"missing from spec.versions; {name} was previously a storage version, and must "
                "remain in spec.versions until a storage migration ensures no data remains "
                f"persisted in {name} and removes {name} from status.storedVersions"
            )
            yield invalid(f"{path}[{index}]", name, detail)
