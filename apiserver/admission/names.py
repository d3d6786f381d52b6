"""The names of kube-apiserver's admission plugins, including those that inkube does not have.

Disabling a plugin that inkube does not have is allowed and has no effect. Follows
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
"""Plugins that can be disabled."""

POLICIES = frozenset({"MutatingAdmissionPolicy", "ValidatingAdmissionPolicy"})
"""Plugins that cannot be disabled."""
