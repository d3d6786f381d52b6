"""The built-in admission plugins of a server, in the order in which they run.

Follows pkg/kubeapiserver/options/plugins.go, AllOrderedPlugins. `core` builds the chain from them.
"""

from collections.abc import Callable, Collection

from inkube.apiserver import admission, webhooks
from inkube.apiserver.access import Security
from inkube.apiserver.admission import NamespaceLifecycle, PodSecurity, QuotaAdmission, names
from inkube.apiserver.configuration import Options
from inkube.apiserver.policies import plugin as policies
from inkube.apiserver.registry import LatePlugin, Plugin, Resources, SystemFields
from inkube.apiserver.samples import Samples
from inkube.apiserver.webhooks import MutatingWebhooks, ValidatingWebhooks
from inkube.schemas.builtin import gates
from inkube.schemas.clock import Clock
from inkube.schemas.lazy import Lazy
from inkube.storage import Store

_PODS, _NODES = ("", "pods"), ("", "nodes")
_CLAIMS, _VOLUMES = ("", "persistentvolumeclaims"), ("", "persistentvolumes")
_CLASSES = ("scheduling.k8s.io", "priorityclasses")
_ATTRIBUTES = ("storage.k8s.io", "volumeattributesclasses")
_REQUESTS = ("certificates.k8s.io", "certificatesigningrequests")
_SERVICES = ("", "services")
_INGRESSES = ("networking.k8s.io", "ingresses")
_DEVICE_CLAIMS = ("resource.k8s.io", "resourceclaims")

_EVENTS = (("", "events"), ("events.k8s.io", "events"))

OPTIONAL = frozenset({"ServiceAccount", *names.OFF_BY_DEFAULT})
"""Plugins that run only if they are enabled: those of kube-apiserver, and ServiceAccount, because
pods in tests need no account."""


def in_order(
    options: Options,
    store: Store,
    resources: Resources,
    security: Security,
    *,
    declared_kinds: Plugin,
    dispatcher: Callable[[], "webhooks.Dispatcher"],
    system_fields: SystemFields,
    clock: Clock,
    samples: Samples,
) -> list[Plugin | LatePlugin]:
    """Return every plugin except the disabled ones and the `OPTIONAL` ones that are not enabled.

    The result of `dispatcher` calls webhooks. `samples` records what plugins decide. Raises
    ValueError for the name of an unknown plugin, and for an invalid configuration.
    """
    minor, config_file = options.release.minor, options.admission_control_config_file
    enabled, disabled = options.enable_admission_plugins, options.disable_admission_plugins
    left_out = {*disabled, *(OPTIONAL - set(enabled))}
    running = {*enabled} - {*disabled}
    names.check(running, {*enabled, *disabled})
    if minor < names.POD_CHANGES_SINCE:
        left_out |= names.POD_CHANGES
    settings = Lazy(lambda: admission.configfile.read(config_file, running))
    if "EventRateLimit" in running:
        settings()  # raises ValueError
    configured = settings() if config_file is not None else None
    limits = configured.quota_limits if configured else ()
    authorizer = security.authorizer
    extends = gates.is_on("DRAExtendedResource", minor)
    device_classes = admission.DeviceClasses(store) if extends else None
    every: list[Plugin | LatePlugin] = [
        _late(
            "NamespaceAutoProvision",
            None,
            lambda: admission.NamespaceAutoProvision(store, resources),
        ),
        NamespaceLifecycle(store),
        *security.rights,
        *(
            [_late("", (_DEVICE_CLAIMS,), lambda: admission.DeviceRights(authorizer))]
            if gates.is_on("DRAResourceClaimGranularStatusAuthorization", minor)
            else []
        ),
        _late("NamespaceExists", None, lambda: admission.NamespaceExists(store)),
        _late("LimitPodHardAntiAffinityTopology", (_PODS,), lambda: admission.HardTopologies()),
        _late("LimitRanger", (_PODS, _CLAIMS), lambda: admission.LimitRanger(store)),
        _late(
            "ServiceAccount",
            (_PODS,),
            lambda: admission.ServiceAccounts(store, system_fields.generate_name),
        ),
        _late(
            "NodeRestriction",
            None,
            lambda: admission.NodeRestriction(store, authorizer, minor),
        ),
        _late("TaintNodesByCondition", (_NODES,), lambda: admission.TaintNewNodes()),
        _late("AlwaysPullImages", (_PODS,), lambda: admission.AlwaysPullImages()),
        *(() if options.allow_privileged else (admission.Unprivileged(),)),
        PodSecurity(store, samples, minor, configured and configured.pod_security),
        _late(
            "PodNodeSelector",
            (_PODS,),
            lambda: admission.NamespaceSelectors(store, settings().node_selectors),
        ),
        _late("Priority", (_PODS, _CLASSES), lambda: admission.Priority(store)),
        _late(
            "DefaultTolerationSeconds",
            (_PODS,),
            lambda: admission.DefaultTolerationSeconds(
                options.default_not_ready_toleration_seconds,
                options.default_unreachable_toleration_seconds,
            ),
        ),
        _late(
            "PodTolerationRestriction",
            (_PODS,),
            lambda: admission.NamespaceTolerations(
                store, settings().default_tolerations, settings().allowed_tolerations
            ),
        ),
        _late(
            "EventRateLimit",
            _EVENTS,
            lambda: admission.EventRateLimit(settings().event_limits, clock.monotonic),
        ),
        _late(
            "ExtendedResourceToleration", (_PODS,), lambda: admission.ExtendedResourceTolerations()
        ),
        _late("DefaultStorageClass", (_CLAIMS,), lambda: admission.DefaultStorageClass(store)),
        _late(
            "StorageObjectInUseProtection",
            (_CLAIMS, _VOLUMES, _ATTRIBUTES),
            lambda: admission.StorageProtection(),
        ),
        _late(
            "OwnerReferencesPermissionEnforcement",
            None,
            lambda: admission.OwnerRights(resources, authorizer),
        ),
        _late("PersistentVolumeClaimResize", (_CLAIMS,), lambda: admission.ClaimResize(store)),
        _late("RuntimeClass", (_PODS,), lambda: admission.RuntimeClasses(store)),
        _late(
            "CertificateApproval", (_REQUESTS,), lambda: admission.CertificateApproval(authorizer)
        ),
        _late("CertificateSigning", (_REQUESTS,), lambda: admission.CertificateSigning(authorizer)),
        _late("", (_REQUESTS,), lambda: admission.CertificateDurations(samples)),
        _late(
            "CertificateSubjectRestriction",
            (_REQUESTS,),
            lambda: admission.CertificateSubjectRestriction(),
        ),
        _late("DefaultIngressClass", (_INGRESSES,), lambda: admission.DefaultIngressClass(store)),
        _late("DenyServiceExternalIPs", (_SERVICES,), lambda: admission.ExternalAddresses()),
        _late("PodTopologyLabels", (_PODS,), lambda: admission.PodTopologyLabels(store)),
        _late(
            "NodeDeclaredFeatureValidator",
            (_PODS,),
            lambda: admission.declaredfeatures.NodeDeclaredFeatures(store),
        ),
        _late("PodResizeValidator", (_PODS,), lambda: admission.PodResizeValidator(store)),
        policies.MutatingPolicies(store, resources, authorizer),
        MutatingWebhooks(store, dispatcher, configured and configured.mutating_users),
        policies.ValidatingPolicies(store, resources, authorizer),
        ValidatingWebhooks(store, dispatcher, configured and configured.validating_users),
        declared_kinds,
        *security.escalation,
        QuotaAdmission(store, device_classes),  # last, because it counts the objects that it admits
        *(
            (admission.coveringquotas.CoveringQuotas(store, limits, device_classes),)
            if limits
            else ()
        ),
    ]
    return [plugin for plugin in every if plugin.name not in left_out]


def _late(
    name: str, kinds: Collection[tuple[str, str]] | None, create: Callable[[], Plugin]
) -> LatePlugin:
    return LatePlugin(name, kinds, Lazy(create))
