"""The built-in admission plugins of a server, in the order in which they are asked.

Follows pkg/kubeapiserver/options/plugins.go, AllOrderedPlugins. `core` makes the chain of them.
"""

from collections.abc import Callable, Collection

from inkube.apiserver import admission, webhooks
from inkube.apiserver.admission import names
from inkube.apiserver.admission.lifecycle import NamespaceLifecycle
from inkube.apiserver.admission.podsecurity import PodSecurity
from inkube.apiserver.admission.quotas import QuotaAdmission
from inkube.apiserver.policies import plugin as policies
from inkube.apiserver.registry import Plugin, Resources
from inkube.apiserver.registry.admission import Later
from inkube.apiserver.root.security import Security
from inkube.apiserver.webhooks.plugins import MutatingWebhooks, ValidatingWebhooks
from inkube.storage import Store

_PODS, _NODES = ("", "pods"), ("", "nodes")
_CLAIMS, _VOLUMES = ("", "persistentvolumeclaims"), ("", "persistentvolumes")
_CLASSES = ("scheduling.k8s.io", "priorityclasses")
_ATTRIBUTES = ("storage.k8s.io", "volumeattributesclasses")
_REQUESTS = ("certificates.k8s.io", "certificatesigningrequests")
_INGRESSES = ("networking.k8s.io", "ingresses")

OPTIONAL = frozenset({"ServiceAccount"})
"""Plugins that are not asked unless they are enabled: pods of tests need no accounts."""


def in_order(
    store: Store,
    resources: Resources,
    security: Security,
    *,
    declared: Plugin,
    dispatcher: Callable[[], "webhooks.Dispatcher"],
    generate_name: Callable[[str], str],
    enabled: Collection[str],
    disabled: Collection[str],
) -> list[Plugin | Later]:
    """Every plugin but the disabled ones, and those of `OPTIONAL` that are enabled.

    Webhooks are called by what `dispatcher` gives. Raises ValueError for a name that no plugin has.
    """
    for name in sorted({*enabled, *disabled} - names.KNOWN):
        raise ValueError(f'admission-control plugin "{name}" is unknown')
    authorizer = security.authorizer
    every: list[Plugin | Later] = [
        NamespaceLifecycle(store),
        *security.rights,
        Later("LimitRanger", (_PODS, _CLAIMS), lambda: admission.LimitRanger(store)),
        Later("ServiceAccount", (_PODS,), lambda: admission.ServiceAccounts(store, generate_name)),
        Later("TaintNodesByCondition", (_NODES,), lambda: admission.TaintNewNodes()),  # noqa: PLW0108 # its name loads it
        PodSecurity(store),
        Later("Priority", (_PODS, _CLASSES), lambda: admission.Priority(store)),
        Later("DefaultTolerationSeconds", (_PODS,), lambda: admission.DefaultTolerationSeconds()),  # noqa: PLW0108 # its name loads it
        Later("DefaultStorageClass", (_CLAIMS,), lambda: admission.DefaultStorageClass(store)),
        Later(
            "StorageObjectInUseProtection",
            (_CLAIMS, _VOLUMES, _ATTRIBUTES),
            lambda: admission.StorageProtection(),  # noqa: PLW0108 # its name loads it
        ),
        Later("PersistentVolumeClaimResize", (_CLAIMS,), lambda: admission.ClaimResize(store)),
        Later("RuntimeClass", (_PODS,), lambda: admission.RuntimeClasses(store)),
        Later(
            "CertificateApproval",
            (_REQUESTS,),
            lambda: admission.CertificateApproval(authorizer),
        ),
        Later("CertificateSigning", (_REQUESTS,), lambda: admission.CertificateSigning(authorizer)),
        Later(
            "CertificateSubjectRestriction",
            (_REQUESTS,),
            lambda: admission.CertificateSubjectRestriction(),  # noqa: PLW0108 # its name loads it
        ),
        Later("DefaultIngressClass", (_INGRESSES,), lambda: admission.DefaultIngressClass(store)),
        policies.MutatingPolicies(store, resources, authorizer),
        MutatingWebhooks(store, dispatcher),
        policies.ValidatingPolicies(store, resources, authorizer),
        ValidatingWebhooks(store, dispatcher),
        declared,
        *security.escalation,
        QuotaAdmission(store),  # last: what it lets pass is counted
    ]
    left_out = {*disabled, *(OPTIONAL - set(enabled))}
    return [plugin for plugin in every if plugin.name not in left_out]
