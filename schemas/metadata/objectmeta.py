"""The metadata of objects: its rules on create and update, and its warnings.

The functions check the output of `metadecoding`. On an update, upstream checks some members several
times. `validate_update` repeats their errors as often, because clients see them in
`details.causes`. Follows apimachinery/pkg/api/validation/objectmeta.go, pkg/apis/meta/v1/validation
and apiserver/pkg/registry/rest/{create,update}.go.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from inkube.schemas.fielderrors import (
    FieldError,
    Sourced,
    forbidden,
    invalid,
    required,
    sourced,
    too_long,
)
from inkube.schemas.golang import gotext
from inkube.schemas.meta import split_api_version
from inkube.schemas.metadata import names

Meta = Mapping[str, Any]

_MAX_ANNOTATIONS = 256 * 1024
_MAX_MANAGER = 128
_MAX_SUBRESOURCE = 256
ORPHAN, FOREGROUND = "orphan", "foregroundDeletion"
_IMMUTABLE = "field is immutable"


def validate(
    meta: Meta, *, namespaced: bool, name_check: names.Check, path: str = "metadata"
) -> list[FieldError]:
    """ValidateObjectMeta: the checks of metadata that do not need the old object."""
    errors = _name_errors(meta, name_check, path) + _namespace_errors(meta, namespaced, path)
    generation = meta.get("generation") or 0
    if generation < 0:
        text = "must be greater than or equal to 0"
        errors.append(invalid(f"{path}.generation", generation, text))
    errors += _marks(meta, path)
    if finalizers := meta.get("finalizers"):
        errors.extend(_finalizer_errors(finalizers, f"{path}.finalizers"))
    if entries := meta.get("managedFields"):
        errors.extend(_managed_errors(entries, f"{path}.managedFields"))
    return errors


def validate_changes(meta: Meta, old: Meta, *, path: str = "metadata") -> list[FieldError]:
    """ValidateObjectMetaUpdate: the checks of immutable members, and repeated checks."""
    errors: list[FieldError] = []
    if old.get("deletionTimestamp"):
        errors += _new_finalizers(meta, old, path)
    if not meta.get("resourceVersion"):
        errors.append(invalid(f"{path}.resourceVersion", "", "must be specified for an update"))
    if (meta.get("generation") or 0) < (old.get("generation") or 0):
        errors.append(invalid(f"{path}.generation", meta.get("generation") or 0,
                             "must not be decremented"))  # fmt: skip
    for name in ("name", "namespace", "uid"):
        if (meta.get(name) or "") != (old.get(name) or ""):
            errors.append(invalid(f"{path}.{name}", meta.get(name) or "", _IMMUTABLE))
    for name in ("creationTimestamp", "deletionTimestamp", "deletionGracePeriodSeconds"):
        if meta.get(name) != old.get(name):
            errors.append(invalid(f"{path}.{name}", meta.get(name), _IMMUTABLE))
    errors += _marks(meta, path)
    if entries := meta.get("managedFields"):
        errors.extend(_managed_errors(entries, f"{path}.managedFields"))
    return errors


def validate_before_update(meta: Meta, old: Meta, *, namespaced: bool) -> list[FieldError]:
    """Return the errors of rest.BeforeUpdate for metadata, which come before those of a
    strategy."""
    common = validate(meta, namespaced=namespaced, name_check=names.path_segment)
    return common + validate_changes(meta, old)


def validate_update(meta: Meta, old: Meta, *, namespaced: bool) -> list[FieldError]:
    """Return all errors of rest.BeforeUpdate and the strategy of a custom resource for metadata."""
    changes = validate_changes(meta, old)
    common = validate(meta, namespaced=namespaced, name_check=names.path_segment)
    return [*common, *changes, *changes]


def finalizer_warnings(meta: Meta, old: Meta | None = None, own: Iterable[str] = ()) -> list[str]:
    """Return warnings for added finalizers of custom resources without a domain or without a name
    after the domain. `own` are the kind's own finalizers."""
    if not meta.get("finalizers"):
        return []
    expected = {*((old or {}).get("finalizers") or ()), ORPHAN, FOREGROUND, "kubernetes", *own}
    added = sorted({*meta["finalizers"]} - expected)
    return [
        f"metadata.finalizers: {gotext.quote(name)}: prefer a domain-qualified finalizer name "
        f"{'including a path (/) ' if '.' in name else ''}"
        "to avoid accidental conflicts with other finalizer writers"
        for name in added
        if "/" not in name
    ]


# ----------------------------------------------------------------- name and namespace


def _name_errors(meta: Meta, check: names.Check, path: str) -> list[FieldError]:
    base, name = meta.get("generateName"), meta.get("name") or ""
    errors: list[FieldError] = []
    if base:
        errors = [invalid(f"{path}.generateName", base, text) for text in check(base, True)]
    if not name:
        return [*errors, required(f"{path}.name", "name or generateName is required")]
    return errors + [invalid(f"{path}.name", name, text) for text in check(name, False)]


def _namespace_errors(meta: Meta, namespaced: bool, path: str) -> list[FieldError]:
    namespace = meta.get("namespace") or ""
    if not namespaced:
        if not namespace:
            return []
        return [forbidden(f"{path}.namespace", "not allowed on this type")]
    if not namespace:
        return [required(f"{path}.namespace")]
    if names.is_label(namespace):
        return []
    return [invalid(f"{path}.namespace", namespace, text) for text in names.label(namespace)]


# ------------------------------------------------- labels, annotations, owners, finalizers


def _marks(meta: Meta, path: str) -> list[FieldError]:
    """Check labels, annotations and owners."""
    errors: list[FieldError] = []
    if labels := meta.get("labels"):
        errors.extend(label_errors(labels, f"{path}.labels"))
    if annotations := meta.get("annotations"):
        errors.extend(annotation_errors(annotations, f"{path}.annotations"))
    if owners := meta.get("ownerReferences"):
        errors.extend(_owner_errors(owners, f"{path}.ownerReferences"))
    return errors


def label_errors(labels: Mapping[str, str], path: str) -> Iterator[FieldError]:
    """Yield the errors of labels (ValidateLabels)."""
    for key, value in labels.items():
        if names.is_label_pair(key, value):
            continue
        for text in names.label_key(key):
            yield invalid(path, key, text)
        for text in names.label_value(value):
            yield invalid(path, value, text)


def annotation_errors(annotations: Mapping[str, str], path: str) -> Iterator[FieldError]:
    """Yield the errors of annotations: their keys and total size (ValidateAnnotations)."""
    size = 0
    for key, value in annotations.items():
        size += len(key.encode()) + len(value.encode())
        for text in names.label_key(key.lower()):
            yield invalid(path, key, text)
    if size > _MAX_ANNOTATIONS:
        yield too_long(path, _MAX_ANNOTATIONS)


def _owner_errors(owners: Sequence[Meta], path: str) -> Iterator[FieldError]:
    controller, printed = "", None
    for owner in owners:
        yield from _one_owner(owner, path)
        if owner.get("controller"):
            current = f"{owner.get('kind', '')}/{owner.get('name', '')}"
            if controller:
                printed = printed or _all_owners(owners)
                text = (
                    'Only one reference can have Controller set to true. Found "true" in '
                    f"references for {controller} and {current}"
                )
                yield invalid(path, printed, text)
            controller = controller or current


def _all_owners(owners: Sequence[Meta]) -> Sourced:
    """Return the whole list in the form of an error."""
    source = ", ".join(map(_owner_source, owners))
    return sourced(f"[{','.join(map(_owner_json, owners))}]", f"[]v1.OwnerReference{{{source}}}")


def _one_owner(owner: Meta, path: str) -> Iterator[FieldError]:
    api_version, kind = owner.get("apiVersion") or "", owner.get("kind") or ""
    group, version = split_api_version(api_version) if api_version.count("/") < 2 else ("", "")
    if not version:
        yield invalid(f"{path}.apiVersion", api_version, "version must not be empty")
    for name in ("kind", "name", "uid"):
        if not owner.get(name):
            yield invalid(f"{path}.{name}", "", "must not be empty")
    if (group, version, kind) == ("", "v1", "Event"):
        text = f"{group}/{version}, Kind={kind} is disallowed from being an owner"
        yield invalid(path, sourced(_owner_json(owner), _owner_source(owner)), text)


_OWNER_MEMBERS = ("apiVersion", "kind", "name", "uid", "controller", "blockOwnerDeletion")


def _owner_json(owner: Meta) -> str:
    """Return an owner as Go prints the struct, in the declared order."""
    members = (name for name in _OWNER_MEMBERS if owner.get(name) is not None)
    texts = (f'"{name}":{gotext.compact_json(owner[name])}' for name in members)
    return "{" + ",".join(texts) + "}"


def _owner_source(owner: Meta) -> str:
    texts = (
        f"{go}:{gotext.quote(str(owner.get(name) or ''))}"
        for go, name in (
            ("APIVersion", "apiVersion"), ("Kind", "kind"), ("Name", "name"), ("UID", "uid"),
        )
    )  # fmt: skip
    flags = (
        f"{name[0].upper()}{name[1:]}:(*bool)"
        + ("(nil)" if owner.get(name) is None else "(0xc000000000)")
        for name in ("controller", "blockOwnerDeletion")
    )
    return f"v1.OwnerReference{{{', '.join((*texts, *flags))}}}"


def _finalizer_errors(finalizers: Sequence[str], path: str) -> Iterator[FieldError]:
    for name in finalizers:
        for text in names.label_key(name):
            yield invalid(path, name, text)
    if ORPHAN in finalizers and FOREGROUND in finalizers:
        text = f"finalizer {ORPHAN} and {FOREGROUND} cannot be both set"
        yield invalid(path, list(finalizers), text)


def _new_finalizers(meta: Meta, old: Meta, path: str) -> Iterator[FieldError]:
    present = {*(old.get("finalizers") or ())}
    added = [name for name in meta.get("finalizers") or () if name not in present]
    if added:
        printed = gotext.go_strings(sorted(set(added)))
        text = (
            "no new finalizers can be added if the object is being deleted, "
            f"found new finalizers {printed}"
        )
        yield forbidden(f"{path}.finalizers", text)


# ------------------------------------------------------------------------ managed fields


def _managed_errors(entries: Sequence[Meta], path: str) -> Iterator[FieldError]:
    for index, entry in enumerate(entries):
        place = f"{path}[{index}]"
        operation, fields_type = entry.get("operation") or "", entry.get("fieldsType") or ""
        if operation not in {"Apply", "Update"}:
            yield invalid(f"{place}.operation", operation, "must be `Apply` or `Update`")
        if fields_type not in {"", "FieldsV1"}:
            yield invalid(f"{place}.fieldsType", fields_type, "must be `FieldsV1`")
        yield from field_manager_errors(entry.get("manager") or "", f"{place}.manager")
        if len((entry.get("subresource") or "").encode()) > _MAX_SUBRESOURCE:
            yield too_long(f"{place}.subresource", _MAX_SUBRESOURCE)


def field_manager_errors(manager: str, path: str) -> Iterator[FieldError]:
    """ValidateFieldManager: not too long, printable."""
    if manager.isascii() and manager.isprintable() and len(manager) <= _MAX_MANAGER:
        return
    if len(manager.encode()) > _MAX_MANAGER:
        yield too_long(path, _MAX_MANAGER)
    position = 0
    for char in manager:
        if not char.isprintable():
            text = f"invalid character U+{ord(char):04X} (at position {position})"
            yield invalid(path, manager, text)
        position += len(char.encode())
