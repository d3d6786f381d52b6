"""Completion indexes: as pods carry them and as a status writes them, `0,2-4`; pure.

Follows pkg/controller/job/indexed_job_utils.go.
"""

from collections.abc import Iterable

from inkube.controllers.client import Object

INDEX = "batch.kubernetes.io/job-completion-index"
FAILURES = "batch.kubernetes.io/job-index-failure-count"
IGNORED = "batch.kubernetes.io/job-index-ignored-failure-count"


def of(pod: Object) -> int | None:
    """The pod's index; None without a good one."""
    return _number(pod, INDEX)


def failures(pod: Object) -> int:
    """How often its index had failed when the pod was made."""
    return _number(pod, FAILURES) or 0


def ignored(pod: Object) -> int:
    """How many failures of its index were not counted when the pod was made."""
    return _number(pod, IGNORED) or 0


def _number(pod: Object, name: str) -> int | None:
    text = (pod["metadata"].get("annotations") or {}).get(name, "")
    return int(text) if text.isdecimal() else None


def parse(text: str, completions: int) -> set[int]:
    """Read `0,2-4`; what is beyond the completions is left out."""
    found: set[int] = set()
    for part in filter(None, text.split(",")):
        first, _, last = part.partition("-")
        if not first.isdecimal() or (last and not last.isdecimal()):
            continue
        found.update(range(int(first), min(int(last or first), completions - 1) + 1))
    return {index for index in found if index < completions}


def text_of(numbers: Iterable[int]) -> str:
    """Write `0,2-4`; two in a row stand with a comma."""
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
