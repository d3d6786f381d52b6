"""Helpers for cells: ages, maps, containers, selectors."""

from datetime import datetime

from inkube.schemas import durations
from inkube.schemas.objects import Object
from inkube.schemas.selectors import format_selector

NONE = "<none>"
UNSET = "<unset>"
UNKNOWN = "<unknown>"


def age(obj: Object, now: datetime) -> str:
    """Return the age of the object, such as `5m`."""
    return since(obj["metadata"].get("creationTimestamp"), now)


def since(moment: str | None, now: datetime) -> str:
    """Return the time since a moment, such as `5m`, or `<unknown>` without a moment."""
    return durations.age(moment, now) if moment else UNKNOWN


def pairs(labels: dict[str, str] | None) -> str:
    """Return `a=b,c=d`, sorted by key, or `<none>` if empty (labels.FormatLabels)."""
    text = ",".join(f"{key}={value}" for key, value in sorted((labels or {}).items()))
    return text or NONE


def selector(label_selector: Object | None) -> str:
    """Return a LabelSelector as one line (metav1.FormatLabelSelector)."""
    return format_selector(label_selector or {}) or NONE


def containers(template: Object | None) -> list[str]:
    """Return two cells: the names and the images of a template's containers, separated by
    commas."""
    given = ((template or {}).get("spec") or {}).get("containers") or []
    names = ",".join(container.get("name", "") for container in given)
    return [names, ",".join(container.get("image", "") for container in given)]
