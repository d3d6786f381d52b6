"""PodSecurity admission: the standards that the labels of a namespace set for its pods.

Pods that violate the enforced standard are rejected. Pods and objects with pod templates can cause
warnings, as can an update of a namespace whose pods violate a stricter standard. `schemas` contains
the standards. Follows k8s.io/pod-security-admission/admission/admission.go.
"""

from collections.abc import Collection, Iterable, Iterator, Sequence
from typing import Any, NamedTuple

from inkube.apiserver.registry import Operation, Plugin, Resource, Write, refused
from inkube.schemas import status
from inkube.schemas.builtin import Level, Policy, Standard, podsecurity, standards
from inkube.schemas.objects import Object
from inkube.storage import Store

MAX_PODS = 3000  # of a namespace that are checked when its labels change, as upstream
_PODS, _NAMESPACES = ("", "pods"), ("", "namespaces")
TEMPLATES: dict[tuple[str, str], Sequence[str]] = {
    ("", "podtemplates"): ("template",),
    ("", "replicationcontrollers"): ("spec", "template"),
    ("apps", "daemonsets"): ("spec", "template"),
    ("apps", "deployments"): ("spec", "template"),
    ("apps", "replicasets"): ("spec", "template"),
    ("apps", "statefulsets"): ("spec", "template"),
    ("batch", "cronjobs"): ("spec", "jobTemplate", "spec", "template"),
    ("batch", "jobs"): ("spec", "template"),
}
"""Kinds that create pods, and the paths of their pod templates."""


class Settings(NamedTuple):
    """A PodSecurityConfiguration: the policy of namespaces without labels, and exemptions."""

    defaults: Policy = Policy()
    users: Collection[str] = ()
    namespaces: Collection[str] = ()
    runtime_classes: Collection[str] = ()

    @classmethod
    def of(cls, configuration: Object) -> "Settings":
        """Return the settings in a configuration. Raises ValueError with all errors in it."""
        exempt = configuration.get("exemptions") or {}
        defaults, errors = standards.defaults(configuration.get("defaults") or {})
        if errors:
            raise ValueError(", ".join(error.text() for error in errors))
        return cls(
            defaults,
            frozenset(exempt.get("usernames") or ()),
            frozenset(exempt.get("namespaces") or ()),
            frozenset(exempt.get("runtimeClasses") or ()),
        )

    def exempts(self, write: Write, spec: Object) -> bool:
        """Return whether a write of a pod or a pod template is exempt."""
        request = write.request
        return (
            request.namespace in self.namespaces
            or request.user.name in self.users
            or spec.get("runtimeClassName") in self.runtime_classes
        )


class PodSecurity(Plugin):
    """Checks every pod, pod template and namespace against the standards."""

    name = "PodSecurity"

    def __init__(self, store: Store, settings: Settings | None = None) -> None:
        self._store = store
        self._settings = settings or Settings()

    def handles(self, resource: Resource, operation: Operation) -> bool:
        place = resource.group, resource.plural
        known = place in (_NAMESPACES, _PODS) or place in TEMPLATES
        return known and operation in ("CREATE", "UPDATE")

    async def validate(self, write: Write) -> None:
        place = write.request.resource.group, write.request.resource.plural
        if place == _NAMESPACES:
            self._judge_namespace(write)
        elif place == _PODS:
            self._judge_pod(write)
        else:
            self._judge_template(write)

    def _policy(self, namespace: str) -> tuple[Policy, bool]:
        """Return the policy of a namespace, and whether its labels are valid."""
        entry = self._store.get(f"/registry/namespaces/{namespace}")
        labels = entry.value["metadata"].get("labels") if entry is not None else None
        if not labels or not any(label in labels for label in standards.LABELS):
            return self._settings.defaults, True
        policy, errors = standards.read(labels, self._settings.defaults)
        return policy, not errors

    def _judge_pod(self, write: Write) -> None:
        request, pod = write.request, write.object or {}
        if request.subresource not in ("", "ephemeralcontainers", "resize"):
            return
        policy, _ = self._policy(request.namespace)
        if policy == Policy() or not _changes_containers(pod, write.old):
            return
        if self._settings.exempts(write, pod["spec"]):
            return
        broken = _violations(policy.enforce, pod)
        if broken:
            why = f'violates PodSecurity "{policy.enforce}": {_shown(broken)}'
            raise refused(write, why)
        self._warn(write, policy.warn, pod)

    def _judge_template(self, write: Write) -> None:
        request = write.request
        if request.subresource:
            return
        policy, _ = self._policy(request.namespace)
        template: Any = write.object
        for member in TEMPLATES[request.resource.group, request.resource.plural]:
            template = (template or {}).get(member)
        if template and not self._settings.exempts(write, template.get("spec") or {}):
            self._warn(write, policy.warn, template)

    def _warn(self, write: Write, standard: Standard, pod: Object) -> None:
        broken = _violations(standard, pod)
        if broken:
            write.warn(f'would violate PodSecurity "{standard}": {_shown(broken)}')

    def _judge_namespace(self, write: Write) -> None:
        request = write.request
        if request.subresource:
            return
        defaults = self._settings.defaults
        policy, errors = standards.read(_labels(write.object), defaults)
        before, old_errors = standards.read(_labels(write.old), defaults)
        if errors and (write.old is None or errors != old_errors):
            raise status.invalid("", "Namespace", write.name, errors)
        if write.old is None or not _enforces_more(policy.enforce, before.enforce):
            return
        if write.name in self._settings.namespaces:
            return
        for warning in self._broken_by_pods(write.name, policy.enforce):
            write.warn(warning)

    def _broken_by_pods(self, namespace: str, standard: Standard) -> Iterator[str]:
        """Yield the violations of a standard by existing pods, grouped by violation."""
        pods = [entry.value for entry in self._store.list(f"/registry/pods/{namespace}/")]
        faults: dict[str, list[str]] = {}
        for pod in _most_telling(pods)[:MAX_PODS]:
            broken = _violations(standard, pod)
            if broken:
                reasons = ", ".join(one.reason for one in broken)
                faults.setdefault(reasons, []).append(pod["metadata"]["name"])
        if len(pods) > MAX_PODS:
            yield (
                "new PodSecurity enforce level only checked against the first "
                f"{MAX_PODS} of {len(pods)} existing pods"
            )
        if faults:
            yield (
                f'existing pods in namespace "{namespace}" violate the new PodSecurity enforce '
                f'level "{standard}"'
            )
        for reasons in sorted(faults):
            yield f"{_counted(faults[reasons])}: {reasons}"


class _Significant(NamedTuple):
    """The members of a container whose changes cause another check."""

    image: str
    profile: str | None


def _changes_containers(pod: Object, old: Object | None) -> bool:
    """Return whether a write changes members of a pod that the standards check. Most updates do
    not."""
    return old is None or _significant(pod) != _significant(old)


def _significant(pod: Object) -> list[list[_Significant]]:
    annotations = pod["metadata"].get("annotations") or {}
    prefix = "container.seccomp.security.alpha.kubernetes.io/"
    return [
        [
            _Significant(one.get("image", ""), annotations.get(prefix + one["name"]))
            for one in pod["spec"].get(kind) or ()
        ]
        for kind in ("containers", "initContainers", "ephemeralContainers")
    ]


def _violations(standard: Standard, pod: Object) -> "list[podsecurity.checks.Violation]":
    if standard.level is Level.PRIVILEGED:
        return []
    return podsecurity.checks.violations(standard, pod.get("metadata") or {}, pod.get("spec") or {})


def _shown(broken: "Iterable[podsecurity.checks.Violation]") -> str:
    return ", ".join(str(one) for one in broken)


def _labels(namespace: Object | None) -> dict[str, str]:
    return ((namespace or {}).get("metadata") or {}).get("labels") or {}


def _enforces_more(new: Standard, old: Standard) -> bool:
    """Return whether pods that met the old standard can violate the new one."""
    if new == old or new.level is Level.PRIVILEGED:
        return False
    return new.version != old.version or new.level > old.level


def _most_telling(pods: list[Object]) -> list[Object]:
    """Sort pods so that one pod of each controller comes first, because replicas have the same
    violations."""
    first: list[Object] = []
    rest: list[Object] = []
    seen = set()
    for pod in pods:
        owners = pod["metadata"].get("ownerReferences") or ()
        owner = next((one["uid"] for one in owners if one.get("controller")), None)
        (rest if owner is not None and owner in seen else first).append(pod)
        seen.add(owner)
    return first + rest


def _counted(names: list[str]) -> str:
    first, others = min(names), len(names) - 1
    if not others:
        return first
    return f"{first} (and {others} other {'pod' if others == 1 else 'pods'})"
