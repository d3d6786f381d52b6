"""The names of kube-apiserver's admission plugins.

Follows pkg/kubeapiserver/options/plugins.go, AllOrderedPlugins and DefaultOffAdmissionPlugins, of
Kubernetes 1.36.
"""

from collections.abc import Collection

KNOWN = frozenset(
    {
        "AlwaysAdmit",
        "AlwaysDeny",
        "AlwaysPullImages",
        "CertificateApproval",
        "CertificateSigning",
        "CertificateSubjectRestriction",
        "ClusterTrustBundleAttest",
        "DefaultIngressClass",
        "DefaultStorageClass",
        "DefaultTolerationSeconds",
        "DenyServiceExternalIPs",
        "EventRateLimit",
        "ExtendedResourceToleration",
        "ImagePolicyWebhook",
        "JobValidation",
        "LimitPodHardAntiAffinityTopology",
        "LimitRanger",
        "MutatingAdmissionPolicy",
        "MutatingAdmissionWebhook",
        "NamespaceAutoProvision",
        "NamespaceExists",
        "NamespaceLifecycle",
        "NodeDeclaredFeatureValidator",
        "NodeRestriction",
        "OwnerReferencesPermissionEnforcement",
        "PersistentVolumeClaimResize",
        "PodGroupProtection",
        "PodGroupWorkloadExists",
        "PodNodeSelector",
        "PodResizeValidator",
        "PodSecurity",
        "PodTolerationRestriction",
        "PodTopologyLabels",
        "Priority",
        "ResourceQuota",
        "RuntimeClass",
        "ServiceAccount",
        "StorageObjectInUseProtection",
        "TaintNodesByCondition",
        "ValidatingAdmissionPolicy",
        "ValidatingAdmissionWebhook",
    }
)
"""All plugins."""

OFF_BY_DEFAULT = frozenset(
    {
        "AlwaysAdmit",
        "AlwaysDeny",
        "AlwaysPullImages",
        "DenyServiceExternalIPs",
        "EventRateLimit",
        "ExtendedResourceToleration",
        "ImagePolicyWebhook",
        "LimitPodHardAntiAffinityTopology",
        "NamespaceAutoProvision",
        "NamespaceExists",
        "NodeRestriction",
        "OwnerReferencesPermissionEnforcement",
        "PodNodeSelector",
        "PodTolerationRestriction",
    }
)
"""Plugins that run only if they are enabled (DefaultOffAdmissionPlugins)."""

UNSUPPORTED = {
    "AlwaysDeny": "it would deny the objects of the start, as in kube-apiserver, which ends then",
    "ImagePolicyWebhook": "no config specified; it is not supported here",
}
"""Plugins that cannot be enabled, and why."""

POD_CHANGES_SINCE = 36
"""The minor of Kubernetes that first compares changed pods with their nodes."""
POD_CHANGES = frozenset({"NodeDeclaredFeatureValidator", "PodResizeValidator"})
"""The plugins that do so."""


def check(running: Collection[str], named: Collection[str]) -> None:
    """Refuse names of plugins that do not exist, and plugins that cannot run here. Raises
    ValueError."""
    for name in sorted({*named} - KNOWN):
        raise ValueError(f'admission-control plugin "{name}" is unknown')
    for name in sorted(UNSUPPORTED.keys() & {*running}):
        raise unstartable(name, UNSUPPORTED[name])


def unstartable(name: str, why: str) -> ValueError:
    """Return the error of a plugin that cannot start."""
    return ValueError(f'failed to apply admission: couldn\'t init admission plugin "{name}": {why}')
