"""A plan as a file, with everything that applying it needs.

The file is JSON: the plan as `-o json` prints it, the request of each object, and what the plan has
read. It contains the objects themselves, Secrets too, so only its owner may read it.
"""

import json
from pathlib import Path
from typing import Any, Final, NamedTuple

from inkube.apiserver.plans import texts
from inkube.apiserver.plans.fields import MISSING, FieldChange
from inkube.apiserver.plans.outcomes import Action, Outcome, Write
from inkube.apiserver.plans.planning import Plan
from inkube.apiserver.plans.readings import Reading
from inkube.apiserver.plans.requests import APPLY, PlanError
from inkube.schemas.objects import Object
from inkube.storage import wholefiles

_HEAD: Final = {"apiVersion": "inkube.dev/v1", "kind": "Plan"}
_LARGEST = 256 * 2**20
"""The largest file, in bytes."""
_METHODS = frozenset({"PATCH", "POST", "DELETE"})


class SavedPlan(NamedTuple):
    """A plan, and the context of the cluster that it was made with: None for a data file."""

    plan: Plan
    context: str | None


def save(path: Path, saved: SavedPlan) -> None:
    """Write a plan to a file, or replace it. Raises OSError."""
    plan = saved.plan
    readings = None if plan.readings is None else [each._asdict() for each in plan.readings]
    shown = {
        **_HEAD,
        "context": saved.context,
        "cluster": plan.identity,
        "user": plan.user,
        "groups": list(plan.groups),
        "revision": plan.revision,
        "readings": readings,
        "objects": [_item(each) for each in plan.outcomes],
    }
    text = json.dumps(shown, indent=1, ensure_ascii=False)
    wholefiles.write(path, text, mode=wholefiles.PRIVATE)


def _item(outcome: Outcome) -> dict[str, Any]:
    write = outcome.write
    request = None if write is None else write._asdict()
    return {**texts.item(outcome, show_secrets=True), "uid": outcome.uid, "request": request}


def read(path: Path) -> SavedPlan:
    """Return the plan in a file. Raises PlanError, OSError."""
    if path.stat().st_size > _LARGEST:
        raise PlanError(f"{path} has more than {_LARGEST // 2**20} MiB: it is not a plan")
    try:
        found = json.loads(path.read_bytes())
    except (ValueError, RecursionError) as error:
        raise PlanError(f"{path} is not a plan: {error}") from error
    if not isinstance(found, dict) or {name: found.get(name) for name in _HEAD} != _HEAD:
        raise PlanError(f"{path} is not a plan: save one with `inkube plan --out FILE`")
    try:
        return _saved(found)
    except (LookupError, TypeError, ValueError, AttributeError) as error:
        raise PlanError(
            f"{path} is not a complete plan: {type(error).__name__}: {error}"
        ) from error


def _saved(document: Object) -> SavedPlan:
    readings = document["readings"]
    plan = Plan(
        [_outcome(each) for each in document["objects"]],
        int(document["revision"]),
        str(document["user"]),
        [str(each) for each in document["groups"]],
        str(document["cluster"]),
        None
        if readings is None
        else [Reading(each["path"], each["versions"]) for each in readings],
    )
    return SavedPlan(plan, document["context"])


def _outcome(item: Object) -> Outcome:
    request = item["request"]
    outcome = Outcome(
        item["source"], item["apiVersion"], item["kind"], item["namespace"], item["name"],
        Action(item["action"]),
        resource_version=item["resourceVersion"],
        changes=_changes(item["changes"]),
        code=item["code"],
        message=item["message"],
        owners=[(each["field"], each["manager"]) for each in item["conflicts"]],
        warnings=item["warnings"],
        webhooks=item["webhooks"],
        called_webhooks=item["asked"],
        mutations=_changes(item["mutations"]),
        uid=item["uid"],
        write=None if request is None else Write(**request),
    )  # fmt: skip
    _check(outcome)
    return outcome


def _changes(items: list[Object]) -> list[FieldChange]:
    return [
        FieldChange(each["path"], each.get("old", MISSING), each.get("new", MISSING))
        for each in items
    ]


def _check(outcome: Outcome) -> None:
    """Check that the request writes the object that the plan shows. Raises ValueError."""
    write = outcome.write
    if write is None:
        return
    parts = (outcome.namespace, outcome.name, write.plural, *outcome.api_version.split("/"))
    is_path = all(isinstance(each, str) and not set(each) & set("/?#%") for each in parts)
    if write.method not in _METHODS or not is_path or ".." in parts:
        raise ValueError(f"{outcome.title} has a request that no plan contains")
    own = write.body.get("metadata") or {}
    named = (write.body.get("kind"), own.get("namespace") or "", own.get("name"))
    is_whole = write.method == "POST" or write.media == APPLY
    if is_whole and named != (outcome.kind, outcome.namespace, outcome.name):
        raise ValueError(f"the request of {outcome.title} writes another object")
