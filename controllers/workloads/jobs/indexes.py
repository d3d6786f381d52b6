"""Completion indexes in annotations of pods, and in a status, such as `0,2-4`. Pure functions.

Follows pkg/controller/job/indexed_job_utils.go.
"""

from collections.abc import Iterable

from inkube.client import Object
from inkube.controllers.workloads import numbers

INDEX = "batch.kubernetes.io/job-completion-index"
FAILURES = "batch.kubernetes.io/job-index-failure-count"
IGNORED_FAILURES_ANNOTATION = "batch.kubernetes.io/job-index-ignored-failure-count"


def of(pod: Object) -> int | None:
    """Return the pod's index, or None if it is missing or not a number."""
    return _number(pod, INDEX)


def failures(pod: Object) -> int:
    """Return the number of counted failures of the pod's index before its creation."""
    return _number(pod, FAILURES) or 0


def ignored_failures(pod: Object) -> int:
    """Return the number of ignored failures of the pod's index before its creation."""
    return _number(pod, IGNORED_FAILURES_ANNOTATION) or 0


def _number(pod: Object, name: str) -> int | None:
    text = (pod["metadata"].get("annotations") or {}).get(name, "")
    return numbers.whole(text)


def parse(text: str, completions: int) -> set[int]:
    """Parse a text such as `0,2-4`. Indexes that are not below `completions` are omitted."""
    found: set[int] = set()
    for part in filter(None, text.split(",")):
        first, _, last = part.partition("-")
        start, end = numbers.whole(first), numbers.whole(last or first)
        if start is None or end is None:
            continue
        found.update(range(start, min(end, completions - 1) + 1))
    return {index for index in found if index < completions}


def text_of(numbers: Iterable[int]) -> str:
    """Format indexes as `0,2-4`. A comma separates two consecutive indexes, as in `0,1`."""
    parts: list[list[int]] = []
    for number in sorted(set(numbers)):
        if parts and parts[-1][1] == number - 1:
            parts[-1][1] = number
        else:
            parts.append([number, number])
    texts = []
    for first, last in parts:
        if first == last:
            texts.append(str(first))
        else:
            texts.append(f"{first}{',' if last == first + 1 else '-'}{last}")
    return ",".join(texts)
