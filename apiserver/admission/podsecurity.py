"""PodSecurity admission: the standards that the labels of a namespace set for its pods.

Pods that violate the enforced standard are rejected. Pods and objects with pod templates can cause
warnings and annotations of audit events, and an update of a namespace whose pods violate a stricter
standard causes warnings. `schemas` contains the standards. Follows admission/admission.go and
metrics/metrics.go of k8s.io/pod-security-admission.
"""

from collections.abc import Collection, Iterable, Iterator, Sequence
from typing import Any, NamedTuple

from inkube.apiserver.registry import Plugin, Request, Write, refused
from inkube.apiserver.samples import Samples
from inkube.schemas import status
from inkube.schemas.builtin import Level, Policy, Standard, podsecurity, standards
from inkube.schemas.objects import Object
from inkube.storage import Store

MAX_PODS = 3000  # of a namespace that are checked when its labels change, as upstream
_EVALUATIONS = "pod_security_evaluations_total"
_EXEMPTIONS = "pod_security_exemptions_total"
_PRIVILEGED = _EVALUATIONS, "allow", "privileged", "latest", "enforce"
_AUDITED, _ENFORCED, _EXEMPT = (
    f"{standards.PREFIX}{each}" for each in ("audit-violations", "enforce-policy", "exempt")
)
"""Annotations of audit events."""
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

    def exemption(self, request: Request) -> str:
        """Return why a request is exempt, or ""."""
        if request.namespace in self.namespaces:
            return "namespace"
        return "user" if request.user.name in self.users else ""

    def exemption_of(self, spec: Object) -> str:
        """Return why a pod or a pod template is exempt, or ""."""
        return "runtimeClass" if spec.get("runtimeClassName") in self.runtime_classes else ""


class PodSecurity(Plugin):
    """Checks every pod, pod template and namespace against the standards."""

    name = "PodSecurity"
    kinds = (_NAMESPACES, _PODS, *TEMPLATES)
    operations = ("CREATE", "UPDATE")

    def __init__(
        self, store: Store, samples: Samples, minor: int, settings: Settings | None = None
    ) -> None:
        """`samples` counts decisions. `minor` is the served minor of Kubernetes."""
        self._store, self._samples = store, samples
        self._versions = {standards.LATEST, *range(minor + 1)}  # all that are not in the future
        self._settings = settings or Settings()

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
        if self._is_exempt(write, self._settings.exemption(request)):
            return
        policy, is_valid = self._policy(request.namespace)
        if is_valid and (policy == standards.PRIVILEGED or _is_privileged(*policy)):
            self._samples.add(*_PRIVILEGED, *_labels_of(write))
            write.notes.annotate(_ENFORCED, "privileged:latest")
        elif _changes_containers(pod, write.old):
            self._evaluate(write, policy, pod, enforces=True)

    def _judge_template(self, write: Write) -> None:
        request = write.request
        if request.subresource or self._is_exempt(write, self._settings.exemption(request)):
            return
        policy, is_valid = self._policy(request.namespace)
        if is_valid and _is_privileged(policy.audit, policy.warn):
            return
        template: Any = write.object
        for member in TEMPLATES[request.resource.group, request.resource.plural]:
            template = (template or {}).get(member)
        if template:
            self._evaluate(write, policy, template)

    def _evaluate(
        self, write: Write, policy: Policy, pod: Object, *, enforces: bool = False
    ) -> None:
        """Report the violations of each standard by a pod or a pod template. With `enforces`, those
        of the enforced one are refused."""
        if self._is_exempt(write, self._settings.exemption_of(pod.get("spec") or {})):
            return
        broken = _violations(policy.enforce, pod) if enforces else []
        if enforces:
            self._count(write, "deny" if broken else "allow", policy.enforce, "enforce")
            write.notes.annotate(_ENFORCED, str(policy.enforce))
        if audited := _violations(policy.audit, pod):
            self._count(write, "deny", policy.audit, "audit")
            write.notes.annotate(_AUDITED, _would_violate(policy.audit, audited))
        if broken:
            why = f'violates PodSecurity "{policy.enforce}": {_shown(broken)}'
            raise refused(write, why)
        if warned := _violations(policy.warn, pod):
            self._count(write, "deny", policy.warn, "warn")
            write.warn(_would_violate(policy.warn, warned))

    def _is_exempt(self, write: Write, reason: str) -> bool:
        if reason:
            self._samples.add(_EXEMPTIONS, *_labels_of(write))
            write.notes.annotate(_EXEMPT, reason)
        return bool(reason)

    def _count(self, write: Write, decision: str, standard: Standard, mode: str) -> None:
        level, version = str(standard).split(":")
        if standard.level is Level.PRIVILEGED:
            version = "latest"
        elif standard.version not in self._versions:
            version = "future"
        self._samples.add(_EVALUATIONS, decision, level, version, mode, *_labels_of(write))

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


def _would_violate(standard: Standard, broken: "Iterable[podsecurity.checks.Violation]") -> str:
    return f'would violate PodSecurity "{standard}": {_shown(broken)}'


def _is_privileged(*of_modes: Standard) -> bool:
    return not any(each.level for each in of_modes)


def _labels_of(write: Write) -> tuple[str, str, str]:
    """Return the labels of a write in metrics: operation, kind and subresource."""
    resource = write.request.resource
    kind = "pod" if (resource.group, resource.plural) == _PODS else "controller"
    return write.operation.lower(), kind, write.request.subresource


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
