"""Pieces of cells: ages, maps, containers, selectors."""

from datetime import datetime

from inkube.schemas import durations
from inkube.schemas.objects import Object
from inkube.schemas.selectors import format_selector

NONE = "<none>"
UNSET = "<unset>"
UNKNOWN = "<unknown>"


def age(obj: Object, now: datetime) -> str:
    """How long ago the object was created."""
    return since(obj["metadata"].get("creationTimestamp"), now)


def since(moment: str | None, now: datetime) -> str:
    """How long ago that was; `<unknown>` where there is no time."""
    return durations.age(moment, now) if moment else UNKNOWN


def pairs(labels: dict[str, str] | None) -> str:
    """`a=b,c=d`, sorted; `<none>` when empty (labels.FormatLabels)."""
    text = ",".join(f"{key}={value}" for key, value in sorted((labels or {}).items()))
    return text or NONE


def selector(given: Object | None) -> str:
    """A LabelSelector in one line (metav1.FormatLabelSelector)."""
    return format_selector(given or {}) or NONE


def containers(template: Object | None) -> list[str]:
    """Names and images of a template's containers, each joined."""
    given = ((template or {}).get("spec") or {}).get("containers") or []
    names = ",".join(container.get("name", "") for container in given)
    return [names, ",".join(container.get("image", "") for container in given)]
