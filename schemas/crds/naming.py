"""Validation of names: that of a CRD, that of its group, and those of its kind.

Follows validation.go (ValidateCustomResourceDefinition, ValidateCustomResourceDefinitionNames).
"""

from collections.abc import Iterator

from inkube.schemas.fielderrors import FieldError, invalid, not_supported, required
from inkube.schemas.metadata import names
from inkube.schemas.objects import Object


def validate_name(name: str, spec: Object, *, prefix: bool = False) -> list[str]:
    """Return the problems of the name of a CRD, or of its beginning if `prefix`."""
    problems = names.subdomain(name, prefix)
    if name != f"{spec['names']['plural']}.{spec['group']}":
        problems.append('must be spec.names.plural+"."+spec.group')
    return problems


def validate_group(group: str, path: str) -> Iterator[FieldError]:
    """Yield the errors of the group, which must be a domain."""
    if not group:
        yield required(path)
    elif problems := names.dns1123_subdomain(group):
        yield invalid(path, group, ",".join(problems))
    elif "." not in group:
        yield invalid(path, group, "should be a domain with at least one dot")


def validate_choice(value: str, path: str, choices: tuple[str, ...]) -> Iterator[FieldError]:
    """Yield the errors of a required value with a list of choices (validateEnumStrings)."""
    if not value:
        yield required(path)
    elif value not in choices:
        yield not_supported(path, value, choices)


def validate_required(names: Object, path: str) -> Iterator[FieldError]:
    """Yield the errors of missing names in a spec; a status does not need them."""
    for key in ("plural", "singular", "kind", "listKind"):
        if not names.get(key):
            yield required(f"{path}.{key}")


def validate(names: Object, path: str) -> Iterator[FieldError]:
    """Yield the errors in the format of a kind's names, in spec or status."""
    for key in ("plural", "singular"):
        yield from _label(names.get(key), f"{path}.{key}")
    for key in ("kind", "listKind"):
        yield from _mixed_case(names.get(key), f"{path}.{key}")
    for index, name in enumerate(names.get("shortNames") or ()):
        yield from _label(name, f"{path}.shortNames[{index}]", required=True)
    kind, list_kind = names.get("kind"), names.get("listKind")
    if kind and kind == list_kind:
        yield invalid(f"{path}.listKind", list_kind, "kind and listKind may not be the same")
    for index, name in enumerate(names.get("categories") or ()):
        yield from _label(name, f"{path}.categories[{index}]", required=True)


def _label(name: str | None, path: str, *, required: bool = False) -> Iterator[FieldError]:
    if (name or required) and (problems := names.dns1035_label(name or "")):
        yield invalid(path, name, ",".join(problems))


def _mixed_case(name: str | None, path: str) -> Iterator[FieldError]:
    if name and (problems := names.dns1035_label(name.lower())):
        detail = "may have mixed case, but should otherwise match: " + ",".join(problems)
        yield invalid(path, name, detail)
