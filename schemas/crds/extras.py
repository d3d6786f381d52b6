"""Other members of a version: columns, subresources, selectable fields, deprecation warnings.

Follows validation.go (ValidateCustomResourceColumnDefinition, …Subresources, …SelectableFields,
validateDeprecationWarning).
"""

from collections.abc import Iterator, Sequence

from inkube.schemas.fielderrors import FieldError, duplicate, invalid, required, too_many
from inkube.schemas.objects import Object
from inkube.schemas.structural import schemapaths

_COLUMN_TYPES = ("boolean", "date", "integer", "number", "string")
_COLUMN_FORMATS = (
    "byte", "date", "date-time", "double", "float", "int32", "int64", "password",
)  # fmt: skip
_MAX_SELECTABLE_FIELDS = 8
_MAX_WARNING = 256


def validate_columns(columns: Sequence[Object], path: str) -> Iterator[FieldError]:
    """Yield the errors of printer columns; `path` is that of the list."""
    types = f"must be one of {','.join(_COLUMN_TYPES)}"
    for index, column in enumerate(columns):
        at = f"{path}[{index}]"
        if not column["name"]:
            yield required(f"{at}.name")
        if not column["type"]:
            yield required(f"{at}.type", types)
        elif column["type"] not in _COLUMN_TYPES:
            yield invalid(f"{at}.type", column["type"], types)
        shape = column.get("format")
        if shape and shape not in _COLUMN_FORMATS:
            yield invalid(f"{at}.format", shape, f"must be one of {','.join(_COLUMN_FORMATS)}")
        if not column["jsonPath"]:
            yield required(f"{at}.JSONPath")
        else:
            yield from _simple_path(column["jsonPath"], f"{at}.JSONPath")


def validate_subresources(subresources: Object | None, path: str) -> Iterator[FieldError]:
    """Yield the errors in the paths of the scale subresource."""
    scale = (subresources or {}).get("scale")
    if scale is None:
        return
    for key, parent in (("specReplicasPath", ".spec"), ("statusReplicasPath", ".status")):
        at = f"{path}.scale.{key}"
        if not scale[key]:
            yield required(at)
        else:
            yield from _path_under(scale[key], at, (parent,))
    if scale.get("labelSelectorPath"):
        at = f"{path}.scale.labelSelectorPath"
        yield from _path_under(scale["labelSelectorPath"], at, (".spec", ".status"))


def _path_under(text: str, path: str, parents: tuple[str, ...]) -> Iterator[FieldError]:
    errors = list(_simple_path(text, path))
    yield from errors
    if not errors and not text.startswith(tuple(f"{parent}." for parent in parents)):
        where = parents[0] if len(parents) == 1 else f"either {' or '.join(parents)}"
        yield invalid(path, text, f"should be a json path under {where}")


def _simple_path(text: str, path: str) -> Iterator[FieldError]:
    if not text.startswith("."):
        yield invalid(path, text, "must be a simple json path starting with .")


def validate_selectable(
    fields: Sequence[Object], schema: Object, path: str
) -> Iterator[FieldError]:
    """Yield the errors of selectable fields: they must exist, be scalars, and be at most eight."""
    seen: set[str] = set()
    for index, selectable in enumerate(fields):
        at, json_path = f"{path}[{index}].jsonPath", selectable["jsonPath"]
        if not json_path:
            yield required(at)
            continue
        try:
            field_path, leaf = schemapaths.resolve(json_path, schema, arrays=False)
        except schemapaths.InvalidPath as error:
            yield invalid(at, json_path, f"is an invalid path: {error}")
            continue
        if field_path.partition(".")[0] == "metadata":
            yield invalid(at, json_path, "must not point to fields in metadata")
        if leaf.get("type") not in ("string", "boolean", "integer"):
            yield invalid(at, json_path, _NOT_SELECTABLE)
        if field_path in seen:
            yield duplicate(at, json_path)
        seen.add(field_path)
    if len(seen) > _MAX_SELECTABLE_FIELDS:
        yield too_many(path, len(seen), _MAX_SELECTABLE_FIELDS)


_NOT_SELECTABLE = (
    "must point to a field of type string, boolean or integer. "
    "Enum string fields and strings with formats are allowed."
)


def validate_deprecation(version: Object, path: str) -> Iterator[FieldError]:
    """Yield the errors of the warning of a deprecated version."""
    warning = version.get("deprecationWarning")
    if warning is None:
        return
    at = f"{path}.deprecationWarning"
    if not version.get("deprecated"):
        yield invalid(at, warning, "can only be set for deprecated versions")
        return
    if len(warning.encode()) > _MAX_WARNING:
        yield invalid(at, warning, f"must be <= {_MAX_WARNING} characters long")
    if not warning:
        yield invalid(at, warning, "must not be an empty string")
    for position, char in enumerate(warning):
        if not char.isprintable():
            index = len(warning[:position].encode())
            yield invalid(
                at,
                warning,
                "must only contain printable UTF-8 characters; "
                f"non-printable character found at index {index}",
            )
            return
