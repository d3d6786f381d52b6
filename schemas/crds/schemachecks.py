"""All checks of a version's schema: root, structure, defaults, keywords, rules.

Follows validation.go (validateCustomResourceDefinitionValidation).
"""

from collections.abc import Iterator
from typing import Final

from inkube.schemas import cel
from inkube.schemas.caches import Memo
from inkube.schemas.crds import defaultvalues, keywords, printing, rules, schemastructure
from inkube.schemas.fielderrors import FieldError, forbidden, invalid
from inkube.schemas.objects import Object, may_mention

_AT_ROOT = (
    "Description", "Type", "Format", "Title", "Maximum", "ExclusiveMaximum", "Minimum",
    "ExclusiveMinimum", "MaxLength", "MinLength", "Pattern", "MaxItems", "MinItems", "UniqueItems",
    "MultipleOf", "Required", "Items", "Properties", "ExternalDocs", "Example",
    "XPreserveUnknownFields", "XValidations",
)  # fmt: skip
_IF_STATUS = "at the root of the schema if the status subresource is enabled"


def validate(
    schema: Object | None, path: str, *, has_status: bool, unchanged: bool, minor: int
) -> Iterator[FieldError]:
    """Yield all errors of the schema at `path` in a minor."""
    if schema is None:
        return
    key = _CLEAN.key(schema, has_status, unchanged, minor)
    if _CLEAN.get(key):
        return
    errors = list(_errors(schema, path, has_status=has_status, unchanged=unchanged, minor=minor))
    if not errors:
        _CLEAN.put(key, True)
    yield from errors


_CLEAN: Final[Memo[bool]] = Memo(__name__, "_CLEAN", 2048)
"""Schemas without errors. They are checked again with every update of their definition, with the
create that follows a dry run, and with every server of the process."""


def _errors(
    schema: Object, path: str, *, has_status: bool, unchanged: bool, minor: int
) -> Iterator[FieldError]:
    errors = list(_root(schema, path, has_status=has_status))
    unconvertible: list[FieldError] = []
    broken: list[FieldError] = []
    try:
        broken = schemastructure.validate(schema, path)
        broken = broken or defaultvalues.validate(schema, path, minor)
    except schemastructure.Unconvertible as error:
        unconvertible = [invalid(path, "", str(error))]
    misused = keywords.validate(schema, path)
    errors += broken + misused
    yield from errors or unconvertible
    if not broken and not unconvertible and may_mention(schema, rules.KEY):
        yield from cel.validate_rules(schema, path, misused, unchanged=unchanged, minor=minor)


def _root(schema: Object, path: str, *, has_status: bool) -> Iterator[FieldError]:
    """Yield the errors of keywords that the root cannot have; with `has_status` only the first
    one."""
    for name in printing.schema_fields(schema) if has_status else ():
        if name == "Type" and schema["type"] != "object":
            detail = f'only "object" is allowed as the type {_IF_STATUS}'
            yield invalid(f"{path}.type", schema["type"], detail)
            break
        if name not in _AT_ROOT:
            detail = f"only [{' '.join(_AT_ROOT)}] fields are allowed {_IF_STATUS}"
            yield invalid(path, printing.schema(schema), detail)
            break
    if schema.get("nullable"):
        yield forbidden(f"{path}.nullable", "nullable cannot be true at the root")
