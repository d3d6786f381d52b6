"""Admission of pods: their priority, runtime class, default tolerations, and the topology of their
nodes.

Follows plugin/pkg/admission/{priority,runtimeclass,defaulttolerationseconds,podtopologylabels}.
"""

from inkube.apiserver.registry import OfStore, Operation, Plugin, Resource, Write, keys, refused
from inkube.schemas import status
from inkube.schemas.builtin import rules, tolerations
from inkube.schemas.objects import Object

_PODS, _CLASSES = ("", "pods"), ("scheduling.k8s.io", "priorityclasses")
_PREEMPTION = "PreemptLowerPriority"
_TOPOLOGY = ("topology.kubernetes.io/zone", "topology.kubernetes.io/region")
_LABELS_TOPOLOGY = 35
"""The minor since which the feature gate PodTopologyLabelsAdmission is on."""


class DefaultTolerationSeconds(Plugin):
    """Adds the default tolerations: some seconds on a node that is not ready or not reachable."""

    name = "DefaultTolerationSeconds"
    kinds = (_PODS,)
    operations = ("CREATE", "UPDATE")

    def __init__(self, not_ready: int, unreachable: int) -> None:
        self._seconds = not_ready, unreachable

    async def mutate(self, write: Write) -> None:
        if write.request.subresource or write.object is None:
            return
        spec = write.object["spec"]
        spec["tolerations"] = tolerations.with_defaults(
            spec.get("tolerations") or (), *self._seconds
        )


class PodTopologyLabels(OfStore):
    """Copies zone and region of the node to a pod that is bound to it or created with it. A missing
    node has no labels to copy."""

    name = "PodTopologyLabels"
    kinds = (_PODS,)
    operations = ("CREATE",)

    def handles(self, resource: Resource, operation: Operation) -> bool:
        return resource.definition.minor >= _LABELS_TOPOLOGY and super().handles(
            resource, operation
        )

    async def mutate(self, write: Write) -> None:
        obj, subresource = write.object, write.request.subresource
        if obj is None or subresource not in ("", "binding"):
            return
        holder = obj["spec"].get("nodeName") if not subresource else _target(obj)
        entry = self._store.get(keys.key("nodes", "", holder)) if holder else None
        labels = (entry.value["metadata"].get("labels") or {}) if entry is not None else {}
        found = {key: labels[key] for key in _TOPOLOGY if key in labels}
        if found:
            obj["metadata"]["labels"] = {**(obj["metadata"].get("labels") or {}), **found}


def _target(binding: Object) -> str:
    target: Object = binding.get("target") or {}
    return str(target.get("name", "")) if target.get("kind", "") in ("", "Node") else ""


class Priority(OfStore):
    """Sets the priority and the preemption policy of a pod from its priority class."""

    name = "Priority"
    kinds = (_PODS, _CLASSES)
    operations = ("CREATE", "UPDATE")

    async def mutate(self, write: Write) -> None:
        request, obj = write.request, write.object
        if request.resource.plural != "pods" or request.subresource or obj is None:
            return
        spec = obj["spec"]
        if write.old is not None:
            for member in ("priority", "preemptionPolicy"):
                if member in write.old["spec"]:
                    spec.setdefault(member, write.old["spec"][member])
            return
        found = self._class_of(spec)
        if found is None:
            why = f"no PriorityClass with name {spec['priorityClassName']} was found"
            raise refused(write, why)
        _settle(write, spec, found)

    async def validate(self, write: Write) -> None:
        """Refuse a second default class."""
        request, obj = write.request, write.object
        if request.resource.plural == "pods" or obj is None or not obj.get("globalDefault"):
            return
        others = (entry.value for entry in self._store.list(keys.prefix("priorityclasses")))
        for other in others:
            name = other["metadata"]["name"]
            if other.get("globalDefault") and name != write.name:
                why = (
                    f"PriorityClass {name} is already marked as default. Only one default can exist"
                )
                raise refused(write, why)

    def _class_of(self, spec: Object) -> Object | None:
        """Return the class that a pod names, or the default class; None without one."""
        name = spec.get("priorityClassName")
        if name:
            entry = self._store.get(keys.key("priorityclasses", "", name))
            if entry is not None:
                return entry.value
            known = rules.SYSTEM_PRIORITIES.get(name)
            return None if known is None else {"value": known}
        classes = (entry.value for entry in self._store.list(keys.prefix("priorityclasses")))
        defaults = [one for one in classes if one.get("globalDefault")]
        if not defaults:
            return {}
        default = min(defaults, key=lambda each: each.get("value", 0))
        spec["priorityClassName"] = default["metadata"]["name"]
        return default


def _settle(write: Write, spec: Object, priority_class: Object) -> None:
    """Set the values of the class. Raises StatusError 403 if the pod has other values."""
    value = priority_class.get("value", 0)
    policy = priority_class.get("preemptionPolicy", _PREEMPTION)
    if spec.setdefault("priority", value) != value:
        why = (
            f"the integer value of priority ({spec['priority']}) must not be provided in pod "
            f"spec; priority admission controller computed {value} from the given PriorityClass "
            "name"
        )
        raise refused(write, why)
    if spec.setdefault("preemptionPolicy", policy) != policy:
        why = (
            f"the string value of PreemptionPolicy ({spec['preemptionPolicy']}) must not be "
            f"provided in pod spec; priority admission controller computed {policy} from the "
            "given PriorityClass name"
        )
        raise refused(write, why)


class RuntimeClasses(OfStore):
    """Adds the overhead and the scheduling of a pod's runtime class."""

    name = "RuntimeClass"
    kinds = (_PODS,)
    operations = ("CREATE",)

    async def mutate(self, write: Write) -> None:
        request, obj = write.request, write.object
        runtime = self._class_of(write)
        if request.subresource or obj is None or runtime is None:
            return
        spec, overhead = obj["spec"], _overhead(runtime)
        if overhead is not None and spec.setdefault("overhead", overhead) != overhead:
            raise _rejected(write, "Pod's Overhead doesn't match RuntimeClass's defined Overhead")
        scheduling = runtime.get("scheduling") or {}
        _select(write, spec, scheduling.get("nodeSelector") or {})
        if scheduling.get("tolerations"):
            spec["tolerations"] = tolerations.merge(
                spec.get("tolerations") or (), scheduling["tolerations"]
            )

    async def validate(self, write: Write) -> None:
        request, obj = write.request, write.object
        if request.subresource or obj is None:
            return
        runtime = self._class_of(write)
        overhead = None if runtime is None else _overhead(runtime)
        asked = obj["spec"].get("overhead")
        if asked is None and any(each.path == ("spec", "overhead") for each in write.empties):
            asked = {}
        if overhead is None and asked is not None:
            raise _rejected(
                write, "Pod Overhead set without corresponding RuntimeClass defined Overhead"
            )
        if overhead is not None and asked != overhead:
            raise _rejected(write, "Pod's Overhead doesn't match RuntimeClass's defined Overhead")

    def _class_of(self, write: Write) -> Object | None:
        """Return the class that a pod names. Raises StatusError 403 if it does not exist."""
        name = ((write.object or {}).get("spec") or {}).get("runtimeClassName")
        if not name:
            return None
        entry = self._store.get(keys.key("runtimeclasses", "", name))
        if entry is None:
            raise _rejected(write, f'RuntimeClass "{name}" not found')
        found: Object = entry.value
        return found


def _overhead(runtime: Object) -> Object | None:
    overhead = runtime.get("overhead")
    return None if overhead is None else overhead.get("podFixed") or {}


def _select(write: Write, spec: Object, selector: Object) -> None:
    """Merge the node selectors of pod and runtime class. Raises StatusError 403 if they
    conflict."""
    own = spec.get("nodeSelector") or {}
    for key, value in sorted(selector.items()):
        if own.get(key, value) != value:
            why = (
                f"conflict: runtimeClass.scheduling.nodeSelector[{key}] = {value}; "
                f"pod.spec.nodeSelector[{key}] = {own[key]}"
            )
            raise refused(write, why)
    if selector:
        spec["nodeSelector"] = {**selector, **own}


def _rejected(write: Write, why: str) -> status.StatusError:
    return refused(write, f"pod rejected: {why}")
