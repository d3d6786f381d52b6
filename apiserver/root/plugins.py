"""The built-in admission plugins of a server, in the order in which they run.

Follows pkg/kubeapiserver/options/plugins.go, AllOrderedPlugins. `core` builds the chain from them.
"""

from collections.abc import Callable, Collection

from inkube.apiserver import admission, webhooks
from inkube.apiserver.access import Security
from inkube.apiserver.admission import NamespaceLifecycle, PodSecurity, QuotaAdmission, names
from inkube.apiserver.policies import plugin as policies
from inkube.apiserver.registry import LatePlugin, Plugin, Resources
from inkube.apiserver.webhooks import MutatingWebhooks, ValidatingWebhooks
from inkube.schemas.lazy import Lazy
from inkube.storage import Store

_PODS, _NODES = ("", "pods"), ("", "nodes")
_CLAIMS, _VOLUMES = ("", "persistentvolumeclaims"), ("", "persistentvolumes")
_CLASSES = ("scheduling.k8s.io", "priorityclasses")
_ATTRIBUTES = ("storage.k8s.io", "volumeattributesclasses")
_REQUESTS = ("certificates.k8s.io", "certificatesigningrequests")
_INGRESSES = ("networking.k8s.io", "ingresses")

OPTIONAL = frozenset({"ServiceAccount"})
"""Plugins that run only if they are enabled, because pods in tests need no ServiceAccount."""


def in_order(
    store: Store,
    resources: Resources,
    security: Security,
    *,
    declared_kinds: Plugin,
    dispatcher: Callable[[], "webhooks.Dispatcher"],
    generate_name: Callable[[str], str],
    enabled: Collection[str],
    disabled: Collection[str],
) -> list[Plugin | LatePlugin]:
    """Return every plugin except the disabled ones and the `OPTIONAL` ones that are not enabled.

    The result of `dispatcher` calls webhooks. Raises ValueError for the name of an unknown plugin.
    """
    for name in sorted({*enabled, *disabled} - names.KNOWN):
        raise ValueError(f'admission-control plugin "{name}" is unknown')
    authorizer = security.authorizer
    every: list[Plugin | LatePlugin] = [
        NamespaceLifecycle(store),
        *security.rights,
        _late_plugin("LimitRanger", (_PODS, _CLAIMS), lambda: admission.LimitRanger(store)),
        _late_plugin(
            "ServiceAccount", (_PODS,), lambda: admission.ServiceAccounts(store, generate_name)
        ),
        _late_plugin("TaintNodesByCondition", (_NODES,), lambda: admission.TaintNewNodes()),
        PodSecurity(store),
        _late_plugin("Priority", (_PODS, _CLASSES), lambda: admission.Priority(store)),
        _late_plugin(
            "DefaultTolerationSeconds", (_PODS,), lambda: admission.DefaultTolerationSeconds()
        ),
        _late_plugin(
            "DefaultStorageClass", (_CLAIMS,), lambda: admission.DefaultStorageClass(store)
        ),
        _late_plugin(
            "StorageObjectInUseProtection",
            (_CLAIMS, _VOLUMES, _ATTRIBUTES),
            lambda: admission.StorageProtection(),
        ),
        _late_plugin(
            "PersistentVolumeClaimResize", (_CLAIMS,), lambda: admission.ClaimResize(store)
        ),
        _late_plugin("RuntimeClass", (_PODS,), lambda: admission.RuntimeClasses(store)),
        _late_plugin(
            "CertificateApproval", (_REQUESTS,), lambda: admission.CertificateApproval(authorizer)
        ),
        _late_plugin(
            "CertificateSigning", (_REQUESTS,), lambda: admission.CertificateSigning(authorizer)
        ),
        _late_plugin(
            "CertificateSubjectRestriction",
            (_REQUESTS,),
            lambda: admission.CertificateSubjectRestriction(),
        ),
        _late_plugin(
            "DefaultIngressClass", (_INGRESSES,), lambda: admission.DefaultIngressClass(store)
        ),
        _late_plugin("PodTopologyLabels", (_PODS,), lambda: admission.PodTopologyLabels(store)),
        policies.MutatingPolicies(store, resources, authorizer),
        MutatingWebhooks(store, dispatcher),
        policies.ValidatingPolicies(store, resources, authorizer),
        ValidatingWebhooks(store, dispatcher),
        declared_kinds,
        *security.escalation,
        QuotaAdmission(store),  # last, because it counts the objects that it admits
    ]
    left_out = {*disabled, *(OPTIONAL - set(enabled))}
    return [plugin for plugin in every if plugin.name not in left_out]


def _late_plugin(
    name: str, kinds: Collection[tuple[str, str]], create: Callable[[], Plugin]
) -> LatePlugin:
    return LatePlugin(name, kinds, Lazy(create))
