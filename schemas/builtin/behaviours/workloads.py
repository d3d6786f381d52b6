"""Deployments, ReplicaSets, StatefulSets, DaemonSets, ReplicationControllers, as stored objects.

Follows pkg/apis/apps/v1/defaults.go, pkg/apis/apps/validation and pkg/registry/apps.
"""

from inkube.schemas import fielderrors, selectors
from inkube.schemas.builtin.behaviours import checks, naming
from inkube.schemas.builtin.behaviours.base import BuiltinStrategy, was_counted
from inkube.schemas.builtin.behaviours.pods import defaults as poddefaults
from inkube.schemas.builtin.behaviours.pods import validation as podvalidation
from inkube.schemas.builtin.behaviours.pods import warnings as podwarnings
from inkube.schemas.fielderrors import FieldError
from inkube.schemas.gotypes import internal
from inkube.schemas.objects import Object
from inkube.schemas.objects import semantically_same as same
from inkube.schemas.strategy import Context

_QUARTER = "25%"
_SELECTOR = "meta.LabelSelector"
_TEMPLATE_GENERATION = "deprecated.daemonset.template.generation"


def _template(obj: Object) -> Object:
    template: Object = obj["spec"].setdefault("template", {})
    poddefaults.pod_spec(template.setdefault("spec", {}))
    return template


class _Workload(BuiltinStrategy):
    """What they share: a template, a selector for good, counts that are not negative."""

    word = ""
    """What the message about an empty selector calls the kind."""
    unreadable = "invalid label selector"
    """What is said of a selector that is wrong in itself; its template is not looked at then."""
    owner = "ReplicaSet"
    """What the message about a deadline calls the kind."""
    template = "core.v1.PodTemplateSpec"
    """What its template has to be."""
    warns_of_names = False
    counts: tuple[str, ...] = ("replicas", "minReadySeconds", "revisionHistoryLimit")
    told: tuple[str, ...] = ()
    """The counts of a status, none of which may be greater than `replicas`."""

    def check(self, obj: Object) -> list[FieldError]:
        spec = obj.get("spec") or {}
        errors = checks.not_negative(spec, "spec", *self.counts)
        template = spec.get("template") or {}
        errors += podvalidation.selector_and_template(
            spec.get("selector"), template, "spec", self.word
        )
        if checks.label_selector(spec.get("selector"), ""):
            shown = internal.value(_SELECTOR, spec["selector"])
            return [*errors, fielderrors.invalid("spec.selector", shown, self.unreadable)]
        claims = [
            claim.get("metadata", {}).get("name", "")
            for claim in spec.get("volumeClaimTemplates") or []
        ]
        errors += podvalidation.template(
            self.rules, template, "spec.template", claims, self.template
        )
        return errors + podvalidation.always_restarting(template, "spec.template", self.owner)

    def check_status(self, obj: Object, old: Object) -> list[FieldError]:
        return _status(obj.get("status") or {}, self.told)

    def check_update(self, obj: Object, old: Object) -> list[FieldError]:
        return self.check(obj) + _changed_selector(obj, old)

    def warnings_on_create(self, context: Context, obj: Object) -> list[str]:
        found = _template_warnings(obj)
        if not self.warns_of_names:
            return found
        return _name_warnings(obj) + found

    def warnings_on_update(self, context: Context, obj: Object, old: Object) -> list[str]:
        return _template_warnings(obj) if was_counted(obj, old) else []


def _name_warnings(obj: Object) -> list[str]:
    """Of a name that is no DNS label."""
    name = obj["metadata"].get("name", "")
    return podvalidation.name_warnings(name, "Pod names and hostnames")


def _template_warnings(obj: Object) -> list[str]:
    """Of what surprises in the pods that are made of the template."""
    return podwarnings.of_spec(obj["spec"].get("template") or {}, "spec.template")


def _changed_selector(obj: Object, old: Object) -> list[FieldError]:
    selector = obj["spec"].get("selector")
    if same(selector, old["spec"].get("selector")):
        return []
    shown = internal.value(_SELECTOR, selector)
    return [fielderrors.invalid("spec.selector", shown, checks.IMMUTABLE)]


def _status(told: Object, members: tuple[str, ...]) -> list[FieldError]:
    """ValidateReplicaSetStatus and its siblings."""
    others = ("replicas", "observedGeneration", "collisionCount")
    errors = checks.not_negative(told, "status", *others, *members)
    replicas = told.get("replicas", 0)
    errors += [
        fielderrors.invalid(
            f"status.{member}", told.get(member, 0), "cannot be greater than status.replicas"
        )
        for member in members
        if told.get(member, 0) > replicas
    ]
    ready, available = told.get("readyReplicas", 0), told.get("availableReplicas", 0)
    if "availableReplicas" in members and available > ready:
        why = "cannot be greater than readyReplicas"
        errors.append(fielderrors.invalid("status.availableReplicas", available, why))
    return errors


class Deployments(_Workload):
    """Rolling updates by default; annotations count the generation too."""

    word = "deployment"
    warns_of_names = True
    counts = ("replicas", "minReadySeconds", "revisionHistoryLimit", "progressDeadlineSeconds")
    told = ("updatedReplicas", "readyReplicas", "availableReplicas")

    def default(self, obj: Object) -> None:
        spec = obj.setdefault("spec", {})
        _template(obj)
        poddefaults.fill(
            spec, {"replicas": 1, "revisionHistoryLimit": 10, "progressDeadlineSeconds": 600}
        )
        strategy = spec.setdefault("strategy", {})
        poddefaults.fill(strategy, {"type": "RollingUpdate"})
        if strategy["type"] == "RollingUpdate":
            rolling = strategy.setdefault("rollingUpdate", {})
            rolling.setdefault("maxUnavailable", _QUARTER)
            rolling.setdefault("maxSurge", _QUARTER)

    def prepare_object(self, context: Context, obj: Object, old: Object) -> None:
        super().prepare_object(context, obj, old)
        meta, before = obj["metadata"], old["metadata"]
        if same(obj.get("spec"), old.get("spec")) and not same(
            meta.get("annotations"), before.get("annotations")
        ):
            meta["generation"] = before.get("generation", 0) + 1

    def check(self, obj: Object) -> list[FieldError]:
        errors = super().check(obj)
        spec = obj.get("spec") or {}
        errors += _strategy(spec.get("strategy") or {}, "spec.strategy")
        deadline = spec.get("progressDeadlineSeconds", 600)
        if deadline <= spec.get("minReadySeconds", 0):
            why = "must be greater than minReadySeconds"
            errors.append(fielderrors.invalid("spec.progressDeadlineSeconds", deadline, why))
        return errors


def _strategy(strategy: Object, path: str) -> list[FieldError]:
    kind, rolling = strategy.get("type", ""), strategy.get("rollingUpdate")
    if kind == "Recreate":
        if rolling is None:
            return []
        why = "may not be specified when strategy `type` is 'Recreate'"
        return [fielderrors.forbidden(f"{path}.rollingUpdate", why)]
    if kind != "RollingUpdate":
        shown = internal.value("apps.DeploymentStrategy", strategy)
        return [fielderrors.not_supported(path, shown, ("Recreate", "RollingUpdate"))]
    errors = []
    for member in ("maxUnavailable", "maxSurge"):
        errors += checks.count_or_percent(
            (rolling or {}).get(member), f"{path}.rollingUpdate.{member}"
        )
    unavailable = (rolling or {}).get("maxUnavailable")
    if unavailable in (0, "0%") and (rolling or {}).get("maxSurge") in (0, "0%"):
        why = "may not be 0 when `maxSurge` is 0"
        errors.append(fielderrors.invalid(f"{path}.rollingUpdate.maxUnavailable", unavailable, why))
    return errors + checks.at_most_all(unavailable, f"{path}.rollingUpdate.maxUnavailable")


class ReplicaSets(_Workload):
    """Pods of one template."""

    word = "deployment"  # sic
    warns_of_names = True
    told = ("fullyLabeledReplicas", "readyReplicas", "availableReplicas")

    def default(self, obj: Object) -> None:
        spec = obj.setdefault("spec", {})
        _template(obj)
        poddefaults.fill(spec, {"replicas": 1})


class ReplicationControllers(BuiltinStrategy):
    """The old kind, whose selector is a plain map."""

    def default(self, obj: Object) -> None:
        spec = obj.setdefault("spec", {})
        if spec.get("template") is not None:
            labels = (_template(obj).get("metadata") or {}).get("labels")
            if labels and not spec.get("selector"):
                spec["selector"] = dict(labels)
            if labels and not obj["metadata"].get("labels"):
                obj["metadata"]["labels"] = dict(labels)
        poddefaults.fill(spec, {"replicas": 1})

    def check(self, obj: Object) -> list[FieldError]:
        spec = obj.get("spec") or {}
        errors = checks.not_negative(spec, "spec", "replicas", "minReadySeconds")
        if not spec.get("selector"):
            errors.append(fielderrors.required("spec.selector"))
        template = spec.get("template")
        if template is None:
            return [*errors, fielderrors.required("spec.template")]
        labels = (template.get("metadata") or {}).get("labels")
        if not selectors.selects({"matchLabels": spec.get("selector") or {}}, labels or {}):
            why = "`selector` does not match template `labels`"
            errors.append(fielderrors.invalid("spec.template.metadata.labels", labels, why))
        claims = [
            claim.get("metadata", {}).get("name", "")
            for claim in spec.get("volumeClaimTemplates") or []
        ]
        errors += podvalidation.template(self.rules, template, "spec.template", claims)
        return errors + podvalidation.always_restarting(template, "spec.template", "ReplicaSet")

    def warnings_on_create(self, context: Context, obj: Object) -> list[str]:
        return _name_warnings(obj) + _template_warnings(obj)

    def warnings_on_update(self, context: Context, obj: Object, old: Object) -> list[str]:
        """Of the template that is replaced, which upstream takes for the new one."""
        return _template_warnings(old) if was_counted(obj, old) else []


class DaemonSets(_Workload):
    """One pod per node."""

    word = "daemonset"
    owner = "DaemonSet"

    def default(self, obj: Object) -> None:
        spec = obj.setdefault("spec", {})
        _template(obj)
        poddefaults.fill(spec, {"revisionHistoryLimit": 10})
        strategy = spec.setdefault("updateStrategy", {})
        poddefaults.fill(strategy, {"type": "RollingUpdate"})
        if strategy["type"] == "RollingUpdate":
            rolling = strategy.setdefault("rollingUpdate", {})
            rolling.setdefault("maxUnavailable", 1)
            rolling.setdefault("maxSurge", 0)

    def prepare_for_create(self, context: Context, obj: Object) -> None:
        super().prepare_for_create(context, obj)
        _count_template(obj, 1)

    def prepare_object(self, context: Context, obj: Object, old: Object) -> None:
        super().prepare_object(context, obj, old)
        text = (old["metadata"].get("annotations") or {}).get(_TEMPLATE_GENERATION, "1")
        count = int(text) if text.isdecimal() else 1
        changed = not same(obj["spec"].get("template"), old["spec"].get("template"))
        _count_template(obj, count + changed)

    def check(self, obj: Object) -> list[FieldError]:
        """ValidateDaemonSetSpec, which does not ask for a selector."""
        spec = obj.get("spec") or {}
        selector, template = spec.get("selector"), spec.get("template") or {}
        errors = checks.label_selector(selector, "spec.selector")
        labels = (template.get("metadata") or {}).get("labels")
        if not errors and (selector is None or not selectors.selects(selector, labels or {})):
            why = "`selector` does not match template `labels`"
            errors.append(fielderrors.invalid("spec.template.metadata.labels", labels, why))
        if selector is not None and not any(selector.values()):
            why = f"empty selector is invalid for {self.word}"
            shown = internal.value(_SELECTOR, selector)
            errors.append(fielderrors.invalid("spec.selector", shown, why))
        errors += podvalidation.template(self.rules, template, "spec.template")
        errors += podvalidation.always_restarting(template, "spec.template", self.owner)
        errors += checks.not_negative(spec, "spec", "minReadySeconds")
        errors += _daemon_strategy(spec.get("updateStrategy") or {}, "spec.updateStrategy")
        return errors + checks.not_negative(spec, "spec", "revisionHistoryLimit")

    def check_update(self, obj: Object, old: Object) -> list[FieldError]:
        """The strategy looks at the selector first."""
        return _changed_selector(obj, old) + self.check(obj)

    def warnings_on_update(self, context: Context, obj: Object, old: Object) -> list[str]:
        changed = not same(obj["spec"].get("template"), old["spec"].get("template"))
        return _template_warnings(obj) if changed else []

    def check_status(self, obj: Object, old: Object) -> list[FieldError]:
        return checks.not_negative(
            obj.get("status") or {}, "status", "currentNumberScheduled", "numberMisscheduled",
            "desiredNumberScheduled", "numberReady", "observedGeneration",
            "updatedNumberScheduled", "numberAvailable", "numberUnavailable", "collisionCount",
        )  # fmt: skip


def _daemon_strategy(strategy: Object, path: str) -> list[FieldError]:
    kind, rolling = strategy.get("type", ""), strategy.get("rollingUpdate")
    if kind == "OnDelete":
        return []
    if kind != "RollingUpdate":
        shown = internal.value("apps.DaemonSetUpdateStrategy", strategy)
        return [fielderrors.not_supported(path, shown, ("RollingUpdate", "OnDelete"))]
    if rolling is None:
        return [fielderrors.required(f"{path}.rollingUpdate")]
    return _rolling(rolling, f"{path}.rollingUpdate")


def _rolling(rolling: Object, path: str) -> list[FieldError]:
    """ValidateRollingUpdateDaemonSet: exactly one of both."""
    errors: list[FieldError] = []
    for member in ("maxUnavailable", "maxSurge"):
        errors += checks.count_or_percent(rolling.get(member), f"{path}.{member}")
        errors += checks.at_most_all(rolling.get(member), f"{path}.{member}")
    gone, more = (rolling.get(m) not in (None, 0, "0%") for m in ("maxUnavailable", "maxSurge"))
    if gone and more:
        why = "may not be set when maxUnavailable is non-zero"
        errors.append(fielderrors.invalid(f"{path}.maxSurge", rolling["maxSurge"], why))
    elif not gone and not more:
        why = "cannot be 0 when maxSurge is 0"
        errors.append(fielderrors.required(f"{path}.maxUnavailable", why))
    return errors


def _count_template(obj: Object, count: int) -> None:
    annotations = obj["metadata"].get("annotations") or {}
    obj["metadata"]["annotations"] = {**annotations, _TEMPLATE_GENERATION: str(count)}


class StatefulSets(_Workload):
    """Ordered pods with claims of their own."""

    template = "core.v1.PodTemplateSpec/stateful"
    word = "statefulset"
    owner = "StatefulSet"
    unreadable = ""
    counts = ("replicas", "minReadySeconds")
    told = ("currentReplicas", "readyReplicas", "updatedReplicas", "availableReplicas")
    _MAY_CHANGE = frozenset({
        "replicas", "ordinals", "template", "updateStrategy", "revisionHistoryLimit",
        "persistentVolumeClaimRetentionPolicy", "minReadySeconds",
    })  # fmt: skip

    def default(self, obj: Object) -> None:
        spec = obj.setdefault("spec", {})
        _template(obj)
        poddefaults.fill(
            spec,
            {"podManagementPolicy": "OrderedReady", "replicas": 1, "revisionHistoryLimit": 10},
        )
        strategy = spec.setdefault("updateStrategy", {})
        poddefaults.fill(strategy, {"type": "RollingUpdate"})
        if strategy["type"] == "RollingUpdate":
            rolling = strategy.get("rollingUpdate") or {}
            rolling.setdefault("partition", 0)
            strategy["rollingUpdate"] = rolling
        retention = spec.get("persistentVolumeClaimRetentionPolicy") or {}
        poddefaults.fill(retention, {"whenDeleted": "Retain", "whenScaled": "Retain"})
        spec["persistentVolumeClaimRetentionPolicy"] = retention
        for claim in spec.get("volumeClaimTemplates") or []:
            claim.update({"apiVersion": "v1", "kind": "PersistentVolumeClaim"})
            claim.setdefault("spec", {}).setdefault("volumeMode", "Filesystem")
            poddefaults.fill(claim.setdefault("status", {}), {"phase": "Pending"})

    def check(self, obj: Object) -> list[FieldError]:
        errors = super().check(obj)
        spec = obj.get("spec") or {}
        policies = ("OrderedReady", "Parallel")
        policy = spec.get("podManagementPolicy", "")
        if policy not in policies:
            why = f"must be '{policies[0]}' or '{policies[1]}'"
            errors.append(fielderrors.invalid("spec.podManagementPolicy", policy, why))
        if spec.get("serviceName"):
            errors += checks.named(spec["serviceName"], "spec.serviceName", naming.label)
        start = (spec.get("ordinals") or {}).get("start", 0)
        if start < 0:
            why = checks.NOT_NEGATIVE
            errors.append(fielderrors.invalid("spec.ordinals.start", start, why))
        retention = spec.get("persistentVolumeClaimRetentionPolicy") or {}
        for member in ("whenDeleted", "whenScaled"):
            value = retention.get(member)
            if value not in _RETENTION:
                place = f"spec.persistentVolumeClaimRetentionPolicy.{member}"
                errors.append(fielderrors.not_supported(place, value or "", _RETENTION))
        return errors + _updates(spec.get("updateStrategy") or {}, "spec.updateStrategy")

    def validate(self, context: Context, obj: Object) -> list[FieldError]:
        """The claims' templates are judged when they come; they stay for good."""
        errors = super().validate(context, obj)
        for index, claim in enumerate(obj["spec"].get("volumeClaimTemplates") or ()):
            place = f"spec.volumeClaimTemplates[{index}]"
            errors += self.rules.errors("core.v1.PersistentVolumeClaim/template", claim, place)
        return errors

    def warnings_on_create(self, context: Context, obj: Object) -> list[str]:
        return super().warnings_on_create(context, obj) + self._own_warnings(obj, "")

    def warnings_on_update(self, context: Context, obj: Object, old: Object) -> list[str]:
        return super().warnings_on_update(context, obj, old) + self._own_warnings(obj, ".Spec")

    def _own_warnings(self, obj: Object, inner: str) -> list[str]:
        """Of the claims and the history; `inner` is where in a claim upstream says it found it."""
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

    def check_update(self, obj: Object, old: Object) -> list[FieldError]:
        errors = self.check(obj)
        spec, before = (
            {k: v for k, v in o["spec"].items() if k not in self._MAY_CHANGE} for o in (obj, old)
        )
        if not same(spec, before):
            why = (
                "updates to statefulset spec for fields other than 'replicas', 'ordinals', "
                "'template', 'updateStrategy', 'revisionHistoryLimit', "
                "'persistentVolumeClaimRetentionPolicy' and 'minReadySeconds' are forbidden"
            )
            errors.append(fielderrors.forbidden("spec", why))
        return errors


_RETENTION = ("Retain", "Delete")


def _updates(strategy: Object, path: str) -> list[FieldError]:
    """The update strategy of a StatefulSet."""
    kind, rolling = strategy.get("type", ""), strategy.get("rollingUpdate")
    if not kind:
        return [fielderrors.required(path)]
    if kind == "OnDelete":
        if rolling is None:
            return []
        why = "only allowed for updateStrategy 'RollingUpdate'"
        shown = internal.value("apps.RollingUpdateStatefulSetStrategy", rolling)
        return [fielderrors.invalid(f"{path}.rollingUpdate", shown, why)]
    if kind != "RollingUpdate":
        shown = internal.value("apps.StatefulSetUpdateStrategy", strategy)
        why = "must be 'RollingUpdate' or 'OnDelete'"
        return [fielderrors.invalid(path, shown, why)]
    if rolling is None:
        return []
    errors = checks.not_negative(rolling, f"{path}.rollingUpdate", "partition")
    if rolling.get("maxUnavailable") is not None:
        place = f"{path}.rollingUpdate.maxUnavailable"
        errors += checks.count_or_percent(rolling["maxUnavailable"], place)
        errors += checks.at_most_all(rolling["maxUnavailable"], place)
    return errors


class Revisions(BuiltinStrategy):
    """ControllerRevisions: data for good."""

    def check(self, obj: Object) -> list[FieldError]:
        revision = obj.get("revision", 0)
        if revision >= 0:
            return []
        return [fielderrors.invalid("revision", revision, checks.NOT_NEGATIVE)]

    def check_update(self, obj: Object, old: Object) -> list[FieldError]:
        return self.check(obj) + checks.immutable(obj, old, "", "data")
