"""The names of the reference's admission plugins, those included that have no counterpart here.

Whoever turns one of these off gets what they ask for: it is not asked. Follows
pkg/kubeapiserver/options/plugins.go, AllOrderedPlugins, of Kubernetes 1.36.
"""

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
        "LimitPodHardAntiAffinityTopology",
        "LimitRanger",
        "MutatingAdmissionWebhook",
        "NamespaceAutoProvision",
        "NamespaceExists",
        "NamespaceLifecycle",
        "NodeDeclaredFeatureValidator",
        "NodeRestriction",
        "OwnerReferencesPermissionEnforcement",
        "PersistentVolumeClaimResize",
        "PodNodeSelector",
        "PodSecurity",
        "PodTolerationRestriction",
        "PodTopologyLabels",
        "Priority",
        "ResourceQuota",
        "RuntimeClass",
        "ServiceAccount",
        "StorageObjectInUseProtection",
        "TaintNodesByCondition",
        "ValidatingAdmissionWebhook",
    }
)
"""Those that can be turned off."""

POLICIES = frozenset({"MutatingAdmissionPolicy", "ValidatingAdmissionPolicy"})
"""Those that cannot."""
