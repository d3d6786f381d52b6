"""Irregular rules of APIServices."""

from inkube.schemas import fielderrors
from inkube.schemas.aggregation import registrations
from inkube.schemas.builtin.rules.frames import Frame
from inkube.schemas.fielderrors import FieldError
from inkube.schemas.golang import gotext
from inkube.schemas.metadata import names


def name_of_version(value: str, path: str, frame: Frame) -> list[FieldError]:
    """Check that the name is `VERSION.GROUP`. Another rule reports names that are invalid in any
    case."""
    spec = frame.obj.get("spec") or {}
    wanted = f"{spec.get('version', '')}.{spec.get('group', '')}"
    if value == wanted or names.path_segment(value):
        return []
    why = f'must be `spec.version+"."+spec.group`: {gotext.quote(wanted)}'
    return [fielderrors.invalid(path, value, why)]


def address(annotations: dict[str, str], path: str, _frame: Frame) -> list[FieldError]:
    """Check the annotation in which inkube reads the URL of an extension server."""
    url = annotations.get(registrations.URL)
    why = "" if url is None else registrations.url_problem(url)
    return [fielderrors.invalid(f"{path}[{registrations.URL}]", url, why)] if why else []
