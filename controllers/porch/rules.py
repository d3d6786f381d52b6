"""The static rules of a PackageRevision, in the order of evaluation. They do not depend on other
objects.

`Rules` checks writes of the object and of its subresource `approval`; `writes` checks the rules
that depend on the state of the repository. Comments name each rule by its row in the rule table of
the documentation.
"""

from typing import Any

from inkube.client import Object
from inkube.controllers.porch.files import merge
from inkube.controllers.porch.git import layout
from inkube.controllers.porch.git.layout import DELETION_PROPOSED, DRAFT, FINAL, PROPOSED, PUBLISHED
from inkube.controllers.porch.options import Options
from inkube.controllers.porch.refusals import Refusals, bad_request, invalid
from inkube.controllers.porch.types import LATEST
from inkube.formats import fielderrors, names, same
from inkube.kinds import FieldError, status

TASKS = ("init", "clone", "edit", "upgrade")
LIFECYCLE = "spec.lifecycle"
_LABEL = f"metadata.labels.{LATEST}"
_IMMUTABLE = ("packageName", "repository", "workspaceName")
_LONGEST_NAME = 253
MOST_TASKS = 100
"""The maximum number of tasks of one revision."""
_APPROVAL = {
    DRAFT: "cannot approve package with Draft lifecycle value; only Proposed packages can be "
    "approved",
    PUBLISHED: "package with Published lifecycle value can only be updated to 'ProposeDeletion'",
    DELETION_PROPOSED: "package with DeletionProposed lifecycle value can only be updated to "
    "'Published'",
}


class Rules:
    """The rules for writes of clients."""

    def __init__(self, options: Options) -> None:
        self.refusals = Refusals(upstream=options.porch_errors == "upstream")

    @staticmethod
    def name_of(obj: Object) -> str:
        """Return the name of a revision; "" if a part of the name is missing."""
        spec = obj.get("spec")
        parts = ("repository", "packageName", "workspaceName")
        if not isinstance(spec, dict) or not all(isinstance(spec.get(p), str) for p in parts):
            return ""
        return layout.name_of(*(spec[part] for part in parts))

    def prepare(self, obj: Object, old: Object | None) -> None:
        """Remove the fields that only the server sets, and set derived values."""
        spec = obj.setdefault("spec", {})
        if old is None:
            obj.pop("status", None)
            spec.pop("revision", None)
            spec["lifecycle"] = spec.get("lifecycle") or DRAFT  # L1
            return
        sent = obj.get("status") or {}
        kept = dict(old.get("status") or {})
        if "conditions" in sent and old["spec"].get("lifecycle") == DRAFT:
            kept["conditions"] = sent["conditions"]
        obj["status"] = kept
        is_proposed = old["spec"].get("lifecycle") == PROPOSED and not self.refusals.upstream
        left_out = PROPOSED if is_proposed else DRAFT  # a proposal ends only on request
        spec["lifecycle"] = spec.get("lifecycle", left_out) or DRAFT
        if "revision" in old["spec"]:
            spec["revision"] = old["spec"]["revision"]
        else:
            spec.pop("revision", None)
        _recognize(spec.get("tasks") or [], old["spec"].get("tasks") or [])
        if old["spec"].get("lifecycle") == DRAFT:
            self._keep_draft(spec, old["spec"])

    @staticmethod
    def _keep_draft(spec: Object, old: Object) -> None:
        if "readinessGates" not in spec and "readinessGates" in old:
            spec["readinessGates"] = old["readinessGates"]
        if "packageMetadata" not in spec and "packageMetadata" in old:
            spec["packageMetadata"] = old["packageMetadata"]

    def validate(self, obj: Object, old: Object | None) -> list[FieldError]:
        """Validate a create or an update. Raises StatusError with the code of the rule."""
        return self._validate_create(obj) if old is None else self._validate_update(obj, old)

    # create

    def _validate_create(self, obj: Object) -> list[FieldError]:
        spec, name = obj["spec"], self.name_of(obj)
        self._check_given(spec)
        errors = self._form(obj, name)
        if errors:
            return errors
        tasks = spec.get("tasks") or []
        if len(tasks) > 1:  # T1
            why = "task list must not contain more than one task"
            raise self.refusals.bad(fielderrors.invalid("spec.tasks", len(tasks), why))
        lifecycle = spec["lifecycle"]
        if lifecycle in FINAL:  # L2
            sentence = "cannot create a package revision with lifecycle value 'Final'"
            raise self.refusals.bad_value(name, LIFECYCLE, lifecycle, sentence)
        if lifecycle not in layout.LIFECYCLES:  # L3
            sentence = f"unsupported lifecycle value: {lifecycle}"
            raise self.refusals.bad_value(name, LIFECYCLE, lifecycle, sentence)
        if lifecycle == PROPOSED and self.refusals.upstream:  # L1
            error = fielderrors.invalid(LIFECYCLE, lifecycle, "value can be only created as Draft")
            raise invalid(name, error)
        if tasks:
            self._task(tasks[0], 0)
        return []

    def _check_given(self, spec: Object) -> None:
        """Check R2, and the other members that form the name. `_form` reports empty ones. Raises
        StatusError 400."""
        missing = [] if spec.get("repository") else ["repository"]
        if not self.refusals.upstream:
            members = ("packageName", "workspaceName")
            missing += [each for each in members if spec.get(each) is None]
        elif missing:
            raise status.bad_request("spec.repositoryName is required")
        if missing:
            texts = {f"spec.{each}": f"spec.{each} is required" for each in missing}
            raise bad_request(*(fielderrors.required(*each) for each in texts.items()))

    def _form(self, obj: Object, name: str) -> list[FieldError]:
        """Check U2, M1 and the name; return all errors together."""
        spec, meta = obj["spec"], obj["metadata"]
        errors: list[FieldError] = []
        package, workspace = spec.get("packageName") or "", spec.get("workspaceName") or ""
        if "//" in package:
            why = "consecutive '/' characters are not allowed"
            errors.append(fielderrors.invalid("spec.packageName", package, why))
        else:
            problems = [why for part in package.split("/") for why in names.label(part)]
            errors += [
                fielderrors.invalid("spec.packageName", package, why)
                for why in dict.fromkeys(problems)
            ]
        errors += [
            fielderrors.invalid("spec.workspaceName", workspace, why)
            for why in names.label(workspace)
        ]
        if LATEST in (meta.get("labels") or {}):
            why = "label is managed by porch and cannot be set by users"
            errors.append(fielderrors.forbidden(_LABEL, why))
        if not errors and len(name) > _LONGEST_NAME:
            why = f"repository, packageName and workspaceName make a name of {len(name)} characters"
            text = f"{why}; at most {_LONGEST_NAME} are possible"
            errors.append(fielderrors.invalid("metadata.name", name, text))
        given = meta.get("name") or ""
        if meta.get("generateName"):
            why = f"the name follows from the spec: it is {name}; leave generateName out"
            errors.append(fielderrors.invalid("metadata.name", given, why))
        elif given != name and spec.get("repository"):
            why = f"the name follows from the spec: it must be {name}, or be left out"
            errors.append(fielderrors.invalid("metadata.name", given, why))
        return errors

    def _task(self, task: Object, at: int) -> None:
        kind, field = task.get("type") or "", f"spec.tasks[{at}]"
        if kind not in TASKS:  # T3
            why = f'task of type "{kind}" not supported'
            raise self.refusals.bad(
                fielderrors.invalid(f"{field}.type", kind, why)._replace(supported=TASKS)
            )
        if not isinstance(task.get(kind), dict):  # T4
            what = "upgrade field not set" if kind == "upgrade" else f"{kind} not set"
            why = f'{what} for task of type "{kind}"'
            raise self.refusals.bad(fielderrors.required(f"{field}.{kind}", why))
        other = next((each for each in TASKS if each != kind and each in task), "")
        if other:
            why = f'{other} does not belong to task of type "{kind}"'
            raise self.refusals.bad(fielderrors.forbidden(f"{field}.{other}", why))

    # update of the object

    def _validate_update(self, obj: Object, old: Object) -> list[FieldError]:
        name, spec, before = old["metadata"]["name"], obj["spec"], old["spec"]
        self._known(name, spec, before)
        errors = self._unmanaged(obj, old)
        if errors:
            return errors
        was, wanted = before["lifecycle"], spec["lifecycle"]
        if was in (DRAFT, PROPOSED) and wanted in FINAL:  # L6
            why = "value can be only updated to Draft,Proposed"
            if wanted == PUBLISHED and not self.refusals.upstream:
                why += "; a Proposed package revision is published by an update of /approval"
            return [fielderrors.invalid(LIFECYCLE, wanted, why)]
        final = "spec can only update package with lifecycle value one of Draft,Proposed"
        if was in FINAL and wanted not in FINAL:  # L7
            return [fielderrors.invalid("spec", wanted, final)]
        changed = _changed(spec, before)
        if was in FINAL and changed:  # L8
            return [fielderrors.invalid("spec", was, final)]
        if was == PROPOSED and changed:  # L9
            if self.refusals.upstream:
                obj["spec"] = {**before, "lifecycle": wanted}
                return []
            why = "only metadata and lifecycle of a Proposed package revision can be updated"
            return [fielderrors.invalid("spec", was, why)]
        errors = [
            fielderrors.invalid(f"spec.{member}", spec.get(member, ""), "field is immutable")
            for member in _IMMUTABLE
            if spec.get(member) != before.get(member)
        ]
        errors += self._validate_added_tasks(spec.get("tasks") or [], before.get("tasks") or [])
        return errors

    def _validate_added_tasks(self, tasks: list[Any], old_tasks: list[Any]) -> list[FieldError]:
        """Check that completed tasks are unchanged. Later tasks follow the rules of a create."""
        if not tasks:
            return []
        if len(tasks) < len(old_tasks):
            why = f"{len(old_tasks)} tasks were carried out; none of them can be removed"
            return [fielderrors.invalid("spec.tasks", len(tasks), why)]
        if len(tasks) > max(MOST_TASKS, len(old_tasks)):
            return [fielderrors.too_many("spec.tasks", len(tasks), MOST_TASKS)]
        why = "a task that was carried out cannot be changed or removed; more can be added after it"
        errors = [
            fielderrors.invalid(f"spec.tasks[{at}]", task.get("type", ""), why)
            for at, (task, old) in enumerate(zip(tasks, old_tasks, strict=False))
            if not same(task, old)
        ]
        if not errors:
            for at, task in enumerate(tasks[len(old_tasks) :], len(old_tasks)):
                self._task(task, at)
        return errors

    def _known(self, name: str, spec: Object, old: Object) -> None:
        """Check L4 and L5."""
        was, wanted = old.get("lifecycle"), spec.get("lifecycle")
        if was not in layout.LIFECYCLES:
            sentence = f'invalid original lifecycle value: "{was}"'
            raise self.refusals.bad_value(name, LIFECYCLE, was, sentence)
        if wanted not in layout.LIFECYCLES:
            sentence = f'invalid desired lifecycle value: "{wanted}"'
            if self.refusals.upstream:
                sentence = f"value can be only updated to {','.join(layout.LIFECYCLES)}"
            raise self.refusals.bad_value(name, LIFECYCLE, wanted, sentence)

    @staticmethod
    def _unmanaged(obj: Object, old: Object) -> list[FieldError]:
        """Check M1."""
        now = (obj["metadata"].get("labels") or {}).get(LATEST)
        before = (old["metadata"].get("labels") or {}).get(LATEST)
        if now == before:
            return []
        verb = "set" if before is None else "modified"
        why = f"label is managed by porch and cannot be {verb} by users"
        return [fielderrors.forbidden(_LABEL, why)]

    # approval

    def prepare_approval(self, obj: Object, old: Object | None) -> None:
        """Keep only lifecycle and metadata of the sent object."""
        assert old is not None, "an approval is an update"
        wanted = (obj.get("spec") or {}).get("lifecycle") or DRAFT
        obj["spec"] = {**old["spec"], "lifecycle": wanted}
        if "status" in old:
            obj["status"] = old["status"]
        else:
            obj.pop("status", None)

    def validate_approval(self, obj: Object, old: Object | None) -> list[FieldError]:
        """Check A1 to A4."""
        assert old is not None, "an approval is an update"
        name, was, wanted = (
            obj["metadata"]["name"],
            old["spec"]["lifecycle"],
            obj["spec"]["lifecycle"],
        )
        self._known(name, obj["spec"], old["spec"])
        errors = self._unmanaged(obj, old)
        if errors:
            return errors
        if was == PROPOSED and wanted not in (DRAFT, PUBLISHED):
            why = "value for approval can be only one of Draft,Published"
            if wanted == DELETION_PROPOSED:
                why = (
                    "cannot update lifecycle DeletionProposed; only Published packages require "
                    "approval for deletion"
                )
            return [fielderrors.invalid(LIFECYCLE, wanted, why)]
        allowed = {PROPOSED: (DRAFT, PUBLISHED), PUBLISHED: (DELETION_PROPOSED,)}
        allowed[DELETION_PROPOSED] = (PUBLISHED,)
        if wanted in allowed.get(was, ()):
            return []
        return [fielderrors.invalid(LIFECYCLE, was if was == DRAFT else wanted, _APPROVAL[was])]


def _recognize(tasks: list[Any], old_tasks: list[Any]) -> None:
    """Replace sent tasks with their stored form if they differ only in values that the server
    set."""
    for at, (task, old) in enumerate(zip(tasks, old_tasks, strict=False)):
        if same(_essential(task), _essential(old)):
            tasks[at] = old


def _essential(task: Any) -> Any:
    """Return a task without empty members and without the default strategy of upgrades."""
    if not isinstance(task, dict):
        return task
    made = {name: _essential(each) for name, each in task.items() if _or_none(each) is not None}
    if made.get("strategy") == merge.STRATEGIES[0]:
        del made["strategy"]
    return made


def _changed(spec: Object, old: Object) -> bool:
    """Return whether the spec differs in more than its lifecycle; omitted tasks count as
    unchanged."""
    skipped = ("lifecycle",) if spec.get("tasks") else ("lifecycle", "tasks")
    names_ = {*spec, *old} - {*skipped}
    return any(not same(_or_none(spec.get(n)), _or_none(old.get(n))) for n in names_)


def _or_none(value: Any) -> Any:
    """Return the value, or None if it is empty: empty values count as absent."""
    return value if value not in ({}, [], "") else None
