"""The built-in admission plugins of a server, in the order in which they are asked.

Follows pkg/kubeapiserver/options/plugins.go, AllOrderedPlugins. `server` makes the chain of them.
"""

from collections.abc import Callable, Collection

from inkube.apiserver import webhooks
from inkube.apiserver.admission import names
from inkube.apiserver.admission.certificates import (
    CertificateApproval,
    CertificateSigning,
    CertificateSubjectRestriction,
)
from inkube.apiserver.admission.defaultclasses import (
    ClaimResize,
    DefaultIngressClass,
    DefaultStorageClass,
    StorageProtection,
    TaintNewNodes,
)
from inkube.apiserver.admission.lifecycle import NamespaceLifecycle
from inkube.apiserver.admission.limits import LimitRanger
from inkube.apiserver.admission.pods import (
    DefaultTolerationSeconds,
    Priority,
    RuntimeClasses,
)
from inkube.apiserver.admission.podsecurity import PodSecurity
from inkube.apiserver.admission.quotas import QuotaAdmission
from inkube.apiserver.admission.services import ServiceAllocation
from inkube.apiserver.policies.plugin import PolicyAdmission
from inkube.apiserver.registry.admission import Plugin
from inkube.apiserver.registry.resources import Resources
from inkube.apiserver.root.security import Security
from inkube.apiserver.webhooks.plugins import MutatingWebhooks, ValidatingWebhooks
from inkube.storage.store import Store


def in_order(
    store: Store,
    resources: Resources,
    security: Security,
    *,
    declared: Plugin,
    dispatcher: Callable[[], "webhooks.Dispatcher"],
    cidr: str,
    disabled: Collection[str],
) -> list[Plugin]:
    """Every plugin but the disabled ones. Raises ValueError for a name that none has.

    Webhooks are called by what `dispatcher` gives, services get addresses of `cidr`.
    """
    for name in sorted(set(disabled) - names.KNOWN):
        raise ValueError(f'admission-control plugin "{name}" is unknown')
    authorizer = security.authorizer
    every = [
        NamespaceLifecycle(store),
        *security.rights,
        LimitRanger(store),
        TaintNewNodes(),
        PodSecurity(store),
        Priority(store),
        DefaultTolerationSeconds(),
        DefaultStorageClass(store),
        StorageProtection(),
        ClaimResize(store),
        RuntimeClasses(store),
        CertificateApproval(authorizer),
        CertificateSigning(authorizer),
        CertificateSubjectRestriction(),
        DefaultIngressClass(store),
        PolicyAdmission(store, resources, authorizer),
        MutatingWebhooks(store, dispatcher),
        ValidatingWebhooks(store, dispatcher),
        declared,
        *security.escalation,
        ServiceAllocation(store, cidr),
        QuotaAdmission(store),  # last: what it lets pass is counted
    ]
    return [plugin for plugin in every if plugin.name not in disabled]
