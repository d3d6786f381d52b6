"""A plan as text for terminals, as Markdown for pull requests, and as JSON."""

import json
from collections.abc import Iterator, Sequence
from typing import Any, Final

from inkube.apiserver.plans.fields import MISSING, FieldChange
from inkube.apiserver.plans.outcomes import Action, Effect, Outcome
from inkube.apiserver.plans.planning import Plan

_SIGNS: Final = {
    Action.CREATE: "+", Action.CHANGE: "~", Action.UNCHANGED: " ", Action.DELETE: "-",
    Action.REPLACE: "-/+", Action.CONFLICT: "!", Action.REFUSED: "!",
}  # fmt: skip
_WORDS: Final = {
    Action.CREATE: "will be created", Action.CHANGE: "will be changed",
    Action.UNCHANGED: "is unchanged", Action.DELETE: "will be deleted",
    Action.REPLACE: "must be replaced: delete it first", Action.CONFLICT: "has a conflict",
    Action.REFUSED: "is refused",
}  # fmt: skip
DONE: Final = {
    Action.CREATE: "created", Action.CHANGE: "changed", Action.UNCHANGED: "unchanged",
    Action.DELETE: "deleted",
}  # fmt: skip
"""What has happened to an object that was applied."""
_COUNTED: Final = (
    (Action.CREATE, "to create"), (Action.CHANGE, "to change"), (Action.DELETE, "to delete"),
    (Action.UNCHANGED, "unchanged"), (Action.REPLACE, "to replace"),
    (Action.CONFLICT, "in conflict"), (Action.REFUSED, "refused"),
)  # fmt: skip
_LONGEST: Final = 200
"""The longest value of a field in a text."""


def text(plan: Plan, *, show_secrets: bool = False) -> str:
    """Return the plan for a terminal. Values of Secrets are hidden by default."""
    lines: list[str] = []
    for outcome in plan.outcomes:
        if outcome.action is not Action.UNCHANGED or outcome.warnings:
            lines += [*_of_outcome(outcome, show_secrets=show_secrets), ""]
    if plan.effects is not None:
        lines += ["Then, the controllers would:", *_of_effects(plan.effects), ""]
    return "\n".join([*lines, summary(plan), ""])


def _of_effects(effects: Sequence[Effect]) -> Iterator[str]:
    for each in effects:
        yield f"  {'!' if each.is_problem else '~'} {each.object}: {each.text}"
    if not effects:
        yield "    do nothing"


def summary(plan: Plan) -> str:
    """Return the counts in one line."""
    counts = [f"{plan.count(action)} {words}" for action, words in _COUNTED if plan.count(action)]
    return f"Plan: {', '.join(counts) or 'nothing to apply'}."


def markdown(plan: Plan, *, show_secrets: bool = False) -> str:
    """Return the plan for a pull request: a table, and details that can be opened."""
    lines = [f"**{summary(plan)}**", "", "| | Object | |", "| --- | --- | --- |"]
    for outcome in plan.outcomes:
        if outcome.action is not Action.UNCHANGED:
            why = outcome.message or _WORDS[outcome.action]
            cells = [_SIGNS[outcome.action], f"`{outcome.title}`", why]
            lines.append(f"| {' | '.join(_cell(each) for each in cells)} |")
    details = text(plan, show_secrets=show_secrets).replace("```", "'''")
    fence = ["", "<details><summary>Fields</summary>", "", "```diff", details.rstrip(), "```", ""]
    return "\n".join([*lines, *fence, "</details>", ""])


def as_json(plan: Plan, *, show_secrets: bool = False) -> str:
    """Return the plan as JSON."""
    items = [item(each, show_secrets=show_secrets) for each in plan.outcomes]
    counts = {action.value: plan.count(action) for action in Action}
    effects = None if plan.effects is None else [each._asdict() for each in plan.effects]
    shown = {
        "revision": plan.revision, "summary": counts, "objects": items, "effects": effects,
    }  # fmt: skip
    return json.dumps(shown, indent=2, ensure_ascii=False)


def _of_outcome(outcome: Outcome, *, show_secrets: bool) -> Iterator[str]:
    yield f"{_SIGNS[outcome.action]} {outcome.title} {_WORDS[outcome.action]}"
    if outcome.message and not outcome.owners:
        yield f"    {outcome.message}"
    for field, manager in outcome.owners:
        yield f"    {field.removeprefix('.')} is owned by {manager}"
    for change in outcome.changes:
        hides = outcome.kind == "Secret" and not show_secrets
        yield f"    {_of_field(change, hides=hides)}"
    for change in outcome.mutations:
        hides = outcome.kind == "Secret" and not show_secrets
        yield f"    {_of_field(change, hides=hides)} (by a webhook)"
    for warning in outcome.warnings:
        yield f"    warning: {warning}"
    for name in outcome.webhooks:
        yield f"    the webhook {name} would be asked"
    for name in outcome.called_webhooks:
        yield f"    the webhook {name} was asked"


def _of_field(change: FieldChange, *, hides: bool) -> str:
    old, new = (_value(change.path, each, hides=hides) for each in (change.old, change.new))
    if change.old is MISSING:
        return f"+ {change.path}: {new}"
    if change.new is MISSING:
        return f"- {change.path}: {old}"
    return f"~ {change.path}: {old} -> {new}"


def _value(path: str, value: Any, *, hides: bool) -> str:
    if value is MISSING:
        return ""
    if hides and path.startswith(("data", "stringData")):
        return "<hidden>"
    shown = json.dumps(value, ensure_ascii=False)
    return shown if len(shown) <= _LONGEST else f"{shown[:_LONGEST]}…"


def _cell(text: str) -> str:
    return text.replace("|", "\\|").replace("\n", " ")


def item(outcome: Outcome, *, show_secrets: bool) -> dict[str, Any]:
    """Return an outcome as JSON, without its request."""
    hides = outcome.kind == "Secret" and not show_secrets
    return {
        "source": outcome.source,
        "apiVersion": outcome.api_version,
        "kind": outcome.kind,
        "namespace": outcome.namespace,
        "name": outcome.name,
        "action": outcome.action.value,
        "resourceVersion": outcome.resource_version,
        "code": outcome.code,
        "message": outcome.message,
        "changes": [_change(each, hides=hides) for each in outcome.changes],
        "conflicts": [{"field": field, "manager": manager} for field, manager in outcome.owners],
        "warnings": outcome.warnings,
        "webhooks": outcome.webhooks,
        "asked": outcome.called_webhooks,
        "mutations": [_change(each, hides=hides) for each in outcome.mutations],
    }


def _change(change: FieldChange, *, hides: bool) -> dict[str, Any]:
    members = {"old": change.old, "new": change.new}
    shown = {name: value for name, value in members.items() if value is not MISSING}
    if hides and change.path.startswith(("data", "stringData")):
        return {"path": change.path, **dict.fromkeys(shown, "<hidden>")}
    return {"path": change.path, **shown}
