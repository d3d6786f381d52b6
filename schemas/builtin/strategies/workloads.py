"""Deployments, ReplicaSets, StatefulSets, DaemonSets, ReplicationControllers, as stored objects.

apps.rules and core.rules contain the rules for fields. Follows pkg/registry/apps and
pkg/registry/core/replicationcontroller.
"""

from inkube.schemas.builtin.rules.calls import apps
from inkube.schemas.builtin.strategies.base import BuiltinStrategy, was_counted
from inkube.schemas.builtin.strategies.pods import warnings as podwarnings
from inkube.schemas.objects import Object
from inkube.schemas.objects import semantically_same as same
from inkube.schemas.strategy import Context


class Workloads(BuiltinStrategy):
    """Shared behavior: warnings about the pod template."""

    def warnings_on_create(self, context: Context, obj: Object) -> list[str]:
        return _of_template(obj)

    def warnings_on_update(self, context: Context, obj: Object, old: Object) -> list[str]:
        return _of_template(obj) if was_counted(obj, old) else []


def _of_template(obj: Object) -> list[str]:
    return podwarnings.of_spec(obj["spec"].get("template") or {}, "spec.template")


class ReplicaSets(Workloads):
    """Also warns if the object's name, with which names of pods start, is not a DNS label."""

    def warnings_on_create(self, context: Context, obj: Object) -> list[str]:
        return podwarnings.of_owner(obj) + super().warnings_on_create(context, obj)


class Deployments(ReplicaSets):
    """A change of annotations also increases the generation."""

    def prepare_object(self, context: Context, obj: Object, old: Object) -> None:
        super().prepare_object(context, obj, old)
        meta, before = obj["metadata"], old["metadata"]
        if same(obj.get("spec"), old.get("spec")) and not same(
            meta.get("annotations"), before.get("annotations")
        ):
            meta["generation"] = before.get("generation", 0) + 1


class ReplicationControllers(ReplicaSets):
    """ReplicationControllers, the older kind."""

    def warnings_on_update(self, context: Context, obj: Object, old: Object) -> list[str]:
        """Warnings about the old template, because upstream checks it in place of the new one."""
        return _of_template(old) if was_counted(obj, old) else []


class DaemonSets(Workloads):
    """DaemonSets: an annotation contains the generation of the template."""

    def prepare_for_create(self, context: Context, obj: Object) -> None:
        super().prepare_for_create(context, obj)
        _count_template(obj, 1)

    def prepare_object(self, context: Context, obj: Object, old: Object) -> None:
        super().prepare_object(context, obj, old)
        text = (old["metadata"].get("annotations") or {}).get(apps.TEMPLATE_GENERATION, "1")
        count = int(text) if text.isdecimal() else 1
        _count_template(obj, count + _has_new_template(obj, old))

    def warnings_on_update(self, context: Context, obj: Object, old: Object) -> list[str]:
        return _of_template(obj) if _has_new_template(obj, old) else []


def _has_new_template(obj: Object, old: Object) -> bool:
    return not same(obj["spec"].get("template"), old["spec"].get("template"))


def _count_template(obj: Object, count: int) -> None:
    annotations = obj["metadata"].get("annotations") or {}
    obj["metadata"]["annotations"] = {**annotations, apps.TEMPLATE_GENERATION: str(count)}


class StatefulSets(Workloads):
    """StatefulSets: also warns about claim templates and the history limit."""

    def warnings_on_create(self, context: Context, obj: Object) -> list[str]:
        return super().warnings_on_create(context, obj) + _of_claims(obj, "")

    def warnings_on_update(self, context: Context, obj: Object, old: Object) -> list[str]:
        return super().warnings_on_update(context, obj, old) + _of_claims(obj, ".Spec")


def _of_claims(obj: Object, inner: str) -> list[str]:
    """Warnings about claim templates and the history limit. `inner` is the part of the path between
    a claim and its resources in upstream's text."""
    found: list[str] = []
    for index, claim in enumerate(obj["spec"].get("volumeClaimTemplates") or ()):
        requests = (claim["spec"].get("resources") or {}).get("requests") or {}
        place = f"spec.volumeClaimTemplates[{index}]{inner}.resources.requests"
        found += podwarnings.fractions(requests, "storage", place)
    if obj["spec"].get("revisionHistoryLimit", 0) < 0:
        found.append(
            "spec.revisionHistoryLimit: a negative value retains all historical revisions; a "
            "value >= 0 is recommended"
        )
    return found
