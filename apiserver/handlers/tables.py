"""Objects as a Table, or only their metadata, which kubectl and informers request.

Follows apiserver/pkg/endpoints/handlers/response.go and
apiextensions-apiserver/pkg/registry/customresource/tableconvertor.
"""

import logging
from collections.abc import Callable, Sequence
from datetime import datetime
from typing import Any, NamedTuple

from inkube.apiserver.http import Form
from inkube.apiserver.registry import Request
from inkube.schemas import builtin, durations, jsonpath, status, wordings
from inkube.schemas.definitions import Column
from inkube.schemas.golang import compact_json, quote
from inkube.schemas.metadata import AGE, NAME
from inkube.schemas.objects import Object

logger = logging.getLogger(__name__)

_SCALE = (
    NAME,
    Column("Desired", "integer", ".spec.replicas", "", "Number of desired replicas"),
    Column("Available", "integer", ".status.replicas", "", "Number of actual replicas"),
    AGE,
)
_BUILT_IN_SCALE = {
    "Name": {"format": ""},
    "Desired": {
        "description": "replicas is the desired number of instances for the scaled object."
    },
    "Available": {
        "description": "replicas is the actual number of observed instances of the scaled object."
    },
    "Age": {"type": "string"},
}
"""The members of the columns of a Scale that differ for built-in kinds (printers.go)."""
INCLUDES = ("", "Metadata", "Object", "None")


def transform(
    request: Request,
    objects: Sequence[Object],
    form: Form,
    now: datetime,
    *,
    metadata: Object | None = None,
) -> Object:
    """Return objects in the requested form. `metadata` is the ListMeta, or None for a single
    object. Raises StatusError 400 or 406."""
    if metadata is None and form.kind != "Table":
        if form.kind == "PartialObjectMetadataList":
            if request.subresource == "scale":
                package = "autoscaling" if request.resource.wording.has_messages else "v1"
                raise wordings.type_is_no_list(f"*{package}.Scale")
            raise request.resource.wording.not_a_list(request.resource.group, request.resource.kind)
        return partial(objects[0], form.version)
    if metadata is None:
        metadata = {"resourceVersion": objects[0]["metadata"].get("resourceVersion", "")}
    found = transformed_list(request, form, now, metadata=metadata)
    items = [found.transform_item(obj) for obj in objects]
    has_null = not items and (form.kind != "Table" or is_default(request))
    return {**found.head, found.member: None if has_null else items}


class TransformedList(NamedTuple):
    """A list in the requested form: its members except the items, and the function that makes each
    item."""

    head: Object
    member: str
    transform_item: Callable[[Object], Object]


def transformed_list(
    request: Request, form: Form, now: datetime, *, metadata: Object
) -> TransformedList:
    """Return a list with that ListMeta, whose items are made one by one. Raises StatusError 400 or
    406."""
    head: Object = {
        "kind": form.kind,
        "apiVersion": f"meta.k8s.io/{form.version}",
        "metadata": {key: value for key, value in metadata.items() if value != ""},
    }
    if form.kind == "Table":
        check_include(form.include)
        shown = columns(request)
        head["columnDefinitions"] = definitions(request)
        return TransformedList(head, "rows", lambda obj: row(request, shown, obj, now, form))
    if form.kind == "PartialObjectMetadata":
        raise request.resource.wording.not_one(request.resource.group, request.resource.kind)
    return TransformedList(head, "items", lambda obj: partial(obj, form.version))


def partial(obj: Object, version: str = "v1") -> Object:
    """Return the PartialObjectMetadata of an object. It is that of the internal type."""
    return {
        "kind": "PartialObjectMetadata",
        "apiVersion": f"meta.k8s.io/{version}",
        "metadata": builtin.conversion.internal_metadata(obj),
    }


def check_include(include: str) -> None:
    """Refuse an includeObject that does not exist. Raises StatusError 400."""
    if include not in INCLUDES:
        raise status.bad_request(
            f"Unable to convert to Table as requested: includeObject: Invalid value: "
            f"{quote(include)}: must be 'Metadata', 'Object', 'None', or empty"
        )


def columns(request: Request) -> list[Column]:
    """Return the columns of a kind. The first is the name."""
    if request.subresource == "scale":
        return list(_SCALE)
    own = list(request.served.version.columns)
    if own and request.resource.wording.columns_have_name:
        return own
    return [NAME, *(own or [AGE])]


def is_default(request: Request) -> bool:
    """Return whether the kind has no columns of its own. Its empty Table has null rows
    (registry/rest/table.go, defaultTableConvertor)."""
    own = request.served.version.columns
    return bool(own) and own[-1].name == "Created At"


def definitions(request: Request) -> list[Object]:
    """Return the column definitions of a Table."""
    shown = [_definition(column) for column in columns(request)]
    if request.subresource == "scale" and request.resource.wording.has_messages:
        return [{**each, **_BUILT_IN_SCALE[each["name"]]} for each in shown]
    return shown


def row(
    request: Request, columns: Sequence[Column], obj: Object, now: datetime, form: Form
) -> Object:
    """Return one TableRow."""
    cells = None
    if request.subresource != "scale":
        cells = request.resource.wording.cells(request.served.gvr, obj, now)
    if cells is None:
        work = jsonpath.Work()
        cells = [cell(column, obj, now, work) for column in columns]
    made: Object = {"cells": cells}
    conditions = request.resource.wording.row_conditions(request.served.gvr, obj)
    if conditions:
        made["conditions"] = conditions
    if form.include == "None":
        made["object"] = None
    else:
        made["object"] = obj if form.include == "Object" else partial(obj, form.version)
    return made


def _definition(column: Column) -> Object:
    description = column.description
    if not description:
        description = f"Custom resource definition column (in JSONPath format): {column.json_path}"
    return {
        "name": column.name,
        "type": column.type,
        "format": column.format,
        "description": description,
        "priority": column.priority,
    }


def cell(column: Column, obj: Object, now: datetime, work: jsonpath.Work | None = None) -> Any:
    """Return the first value at the column's path if it has the column's type, else None."""
    try:
        found = jsonpath.parse(column.json_path)(obj, work)
    except ValueError:
        logger.debug("column %s has a path that does not parse", column.name)
        return None
    if column.shows_presence:
        return bool(found) and found[0] is not None
    if not found or found[0] is None:
        return column.zero
    if column.counts:
        return len(found[0]) if isinstance(found[0], list | dict) else None
    return _CELLS[column.type](found[0], now) if column.type in _CELLS else None


def _integer(value: Any, now: datetime) -> Any:
    if not isinstance(value, int | float) or isinstance(value, bool):
        return None
    return int(value) if -(2**63) <= value < 2**63 else -(2**63)  # as Go converts on amd64


def _number(value: Any, now: datetime) -> Any:
    return value if isinstance(value, int | float) and not isinstance(value, bool) else None


def _boolean(value: Any, now: datetime) -> Any:
    return value if isinstance(value, bool) else None


def _string(value: Any, now: datetime) -> Any:
    if isinstance(value, str):
        return value
    return compact_json(value)


def _date(value: Any, now: datetime) -> Any:
    return durations.age(value, now) if isinstance(value, str) else "<invalid>"


_CELLS = {
    "integer": _integer,
    "int": _integer,  # the name of the type in aggregated servers
    "number": _number,
    "boolean": _boolean,
    "string": _string,
    "date": _date,
}
