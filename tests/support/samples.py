"""A small valid object of every stored built-in kind."""

from typing import Any

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

_LABELS = {"app": "a"}
_CONTAINERS = [{"name": "a", "image": "a", "resources": {"limits": {"cpu": "1"}}}]
_TEMPLATE = {"metadata": {"labels": _LABELS}, "spec": {"containers": _CONTAINERS}}
_SELECTED = {"selector": {"matchLabels": _LABELS}, "template": _TEMPLATE}
_JOB = {"template": {"spec": {"containers": _CONTAINERS, "restartPolicy": "Never"}}}
_HOOK = {
    "name": "a.example.com", "sideEffects": "None", "admissionReviewVersions": ["v1"],
    "clientConfig": {"url": "https://127.0.0.1:1/a"}, "failurePolicy": "Ignore",
    "rules": [{"apiGroups": ["none.example.com"], "apiVersions": ["v1"], "resources": ["things"],
               "operations": ["CREATE"]}],
}  # fmt: skip
_NOWHERE = {"resourceRules": [{"apiGroups": ["none.example.com"], "apiVersions": ["v1"],
                               "resources": ["things"], "operations": ["CREATE"]}]}  # fmt: skip
_ROLE = {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "view"}
_USER = {"apiGroup": "rbac.authorization.k8s.io", "kind": "User", "name": "u"}
_REQUEST = {"devices": {"requests": [{"name": "a", "exactly": {"deviceClassName": "c"}}]}}
_METRIC = {"type": "Resource", "resource": {
    "name": "cpu", "target": {"type": "Utilization", "averageUtilization": 50}}}  # fmt: skip
_TARGET = {"apiVersion": "apps/v1", "kind": "Deployment", "name": "a"}
_SCALED = {"maxReplicas": 3, "scaleTargetRef": _TARGET}
_NODES = {"nodeSelectorTerms": [{"matchExpressions": [
    {"key": "k", "operator": "In", "values": ["v"]}]}]}  # fmt: skip

OBJECTS: dict[str, dict[str, Any]] = {
    "v1/ConfigMap": {"data": {"a": "é"}, "binaryData": {"b": "AAEC"}, "immutable": False},
    "v1/Endpoints": {"subsets": [{"addresses": [{"ip": "1.2.3.4"}], "ports": [{"port": 80}]}]},
    "v1/Event": {"involvedObject": {"kind": "Pod", "name": "a", "namespace": "default"},
                 "reason": "Made", "message": "m", "type": "Normal", "count": 2,
                 "firstTimestamp": "2026-01-02T03:04:05Z"},
    "v1/LimitRange": {"spec": {"limits": [{"type": "Pod", "max": {"cpu": "2000m"}}]}},
    "v1/Namespace": {},
    "v1/Node": {"spec": {"taints": [{"key": "k", "effect": "NoSchedule"}]}},
    "v1/PersistentVolumeClaim": {"spec": {"accessModes": ["ReadWriteOnce"],
                                          "resources": {"requests": {"storage": "1Gi"}}}},
    "v1/PersistentVolume": {"spec": {"capacity": {"storage": "1Gi"}, "hostPath": {"path": "/a"},
                                     "accessModes": ["ReadWriteOnce"],
                                     "nodeAffinity": {"required": _NODES}}},
    "v1/Pod": {"spec": {
        "containers": [{
            "name": "a", "image": "a", "ports": [{"containerPort": 80}],
            "env": [{"name": "E", "valueFrom": {"secretKeyRef": {"name": "s", "key": "k"}}}],
            "readinessProbe": {"httpGet": {"port": "http", "path": "/"}},
        }],
        "volumes": [{"name": "v", "emptyDir": {"sizeLimit": "1Gi"}},
                    {"name": "w", "configMap": {"name": "c"}}],
    }},
    "v1/PodTemplate": {"template": _TEMPLATE},
    "v1/ReplicationController": {"spec": {"replicas": 0, "selector": _LABELS,
                                          "template": _TEMPLATE}},
    "v1/ResourceQuota": {"spec": {"hard": {"count/things.none.example.com": "5"}}},
    "v1/Secret": {"data": {"a": "AAEC"}, "type": "Opaque"},
    "v1/ServiceAccount": {"automountServiceAccountToken": False},
    "v1/Service": {"spec": {"selector": _LABELS, "ports": [{"port": 80, "targetPort": "http"}]}},
    "apiregistration.k8s.io/v1/APIService": {"spec": {
        "group": "none.example.com", "version": "v1", "groupPriorityMinimum": 10,
        "versionPriority": 5}},
    "apps/v1/ControllerRevision": {"revision": 1, "data": {"spec": {"a": [1, None]}}},
    "apps/v1/DaemonSet": {"spec": _SELECTED},
    "apps/v1/Deployment": {"spec": {**_SELECTED, "replicas": 0}},
    "apps/v1/ReplicaSet": {"spec": {**_SELECTED, "replicas": 0}},
    "apps/v1/StatefulSet": {"spec": {**_SELECTED, "replicas": 0, "serviceName": "s"}},
    "events.k8s.io/v1/Event": {
        "regarding": {"kind": "Pod", "name": "a", "namespace": "default"}, "reason": "Made",
        "note": "m", "type": "Normal", "action": "Making", "reportingController": "c",
        "reportingInstance": "i", "eventTime": "2026-01-02T03:04:05.000006Z"},
    "autoscaling/v2/HorizontalPodAutoscaler": {"spec": {**_SCALED, "metrics": [_METRIC]}},
    "autoscaling/v1/HorizontalPodAutoscaler": {"spec": {
        **_SCALED, "targetCPUUtilizationPercentage": 50}},
    "batch/v1/CronJob": {"spec": {"schedule": "* * * * *", "jobTemplate": {"spec": _JOB}}},
    "batch/v1/Job": {"spec": {**_JOB, "suspend": True}},
    "networking.k8s.io/v1/IngressClass": {"spec": {"controller": "example.com/a"}},
    "networking.k8s.io/v1/Ingress": {"spec": {"rules": [{"host": "a.example.com", "http": {
        "paths": [{"path": "/", "pathType": "Prefix",
                   "backend": {"service": {"name": "s", "port": {"number": 80}}}}]}}]}},
    "networking.k8s.io/v1/IPAddress": {"spec": {"parentRef": {
        "resource": "services", "name": "a", "namespace": "default"}}},
    "networking.k8s.io/v1/NetworkPolicy": {"spec": {"podSelector": {}, "ingress": [
        {"ports": [{"port": "http"}], "from": [{"ipBlock": {"cidr": "10.0.0.0/8"}}]}]}},
    "networking.k8s.io/v1/ServiceCIDR": {"spec": {"cidrs": ["10.99.0.0/24"]}},
    "policy/v1/PodDisruptionBudget": {"spec": {"minAvailable": "50%",
                                               "selector": {"matchLabels": _LABELS}}},
    "rbac.authorization.k8s.io/v1/ClusterRoleBinding": {"roleRef": _ROLE, "subjects": [_USER]},
    "rbac.authorization.k8s.io/v1/ClusterRole": {"rules": [
        {"apiGroups": [""], "resources": ["pods"], "verbs": ["get"]}]},
    "rbac.authorization.k8s.io/v1/RoleBinding": {"roleRef": _ROLE, "subjects": [_USER]},
    "rbac.authorization.k8s.io/v1/Role": {"rules": [
        {"apiGroups": [""], "resources": ["pods"], "verbs": ["get"]}]},
    "storage.k8s.io/v1/CSIDriver": {"spec": {"attachRequired": False}},
    "storage.k8s.io/v1/CSINode": {"spec": {"drivers": [
        {"name": "d", "nodeID": "n", "topologyKeys": ["k"]}]}},
    "storage.k8s.io/v1/CSIStorageCapacity": {"storageClassName": "c", "capacity": "1Gi"},
    "storage.k8s.io/v1/StorageClass": {"provisioner": "example.com/p", "parameters": {"a": "b"}},
    "storage.k8s.io/v1/VolumeAttachment": {"spec": {
        "attacher": "d.example.com", "nodeName": "n", "source": {"persistentVolumeName": "v"}}},
    "storage.k8s.io/v1/VolumeAttributesClass": {"driverName": "example.com",
                                                "parameters": {"a": "b"}},
    "admissionregistration.k8s.io/v1/MutatingAdmissionPolicy": {"spec": {
        "matchConstraints": _NOWHERE, "reinvocationPolicy": "Never", "mutations": [{
            "patchType": "ApplyConfiguration", "applyConfiguration": {"expression": "Object{}"}}]}},
    "admissionregistration.k8s.io/v1/MutatingAdmissionPolicyBinding": {"spec": {
        "policyName": "none"}},
    "admissionregistration.k8s.io/v1/MutatingWebhookConfiguration": {"webhooks": [_HOOK]},
    "admissionregistration.k8s.io/v1/ValidatingAdmissionPolicy": {"spec": {
        "matchConstraints": _NOWHERE, "validations": [{"expression": "true"}]}},
    "admissionregistration.k8s.io/v1/ValidatingAdmissionPolicyBinding": {"spec": {
        "policyName": "none", "validationActions": ["Deny"]}},
    "admissionregistration.k8s.io/v1/ValidatingWebhookConfiguration": {"webhooks": [_HOOK]},
    "apiextensions.k8s.io/v1/CustomResourceDefinition": {"spec": {
        "group": "none.example.com", "scope": "Namespaced",
        "names": {"plural": "things", "kind": "Thing"},
        "versions": [{"name": "v1", "served": True, "storage": True, "schema": {
            "openAPIV3Schema": {"type": "object", "properties": {
                "a": {"type": "integer", "maximum": 5, "default": 3, "enum": [1, 3]},
                "b": {"type": "array", "items": {"type": "string"}},
                "c": {"type": "object", "x-kubernetes-preserve-unknown-fields": True},
                "d": {"type": "object", "additionalProperties": {"type": "string"},
                      "x-kubernetes-validations": [{"rule": "true"}]}}}}}]}},
    "scheduling.k8s.io/v1/PriorityClass": {"value": 5},
    "coordination.k8s.io/v1/Lease": {"spec": {
        "holderIdentity": "h", "leaseDurationSeconds": 5,
        "renewTime": "2026-01-02T03:04:05.000006Z"}},
    "node.k8s.io/v1/RuntimeClass": {"handler": "h", "overhead": {"podFixed": {"cpu": "1m"}}},
    "discovery.k8s.io/v1/EndpointSlice": {
        "addressType": "IPv4", "ports": [{"port": 80}],
        "endpoints": [{"addresses": ["1.2.3.4"], "conditions": {"ready": True}}]},
    "flowcontrol.apiserver.k8s.io/v1/FlowSchema": {"spec": {
        "priorityLevelConfiguration": {"name": "exempt"}, "matchingPrecedence": 9}},
    "flowcontrol.apiserver.k8s.io/v1/PriorityLevelConfiguration": {"spec": {
        "type": "Limited", "limited": {"limitResponse": {"type": "Reject"}}}},
    "resource.k8s.io/v1/DeviceClass": {"spec": {"selectors": [{"cel": {"expression": "true"}}]}},
    "resource.k8s.io/v1/ResourceClaim": {"spec": _REQUEST},
    "resource.k8s.io/v1/ResourceClaimTemplate": {"spec": {"spec": _REQUEST}},
    "resource.k8s.io/v1/ResourceSlice": {"spec": {
        "driver": "d.example.com", "nodeName": "n", "devices": [{"name": "a"}],
        "pool": {"name": "p", "generation": 1, "resourceSliceCount": 1}}},
}  # fmt: skip
"""By apiVersion and kind, without type and metadata."""
TEMPLATES = {
    "Pod": "",
    "PodTemplate": "template",
    "ReplicationController": "spec.template",
    "Deployment": "spec.template",
    "ReplicaSet": "spec.template",
    "StatefulSet": "spec.template",
    "DaemonSet": "spec.template",
    "Job": "spec.template",
    "CronJob": "spec.jobTemplate.spec.template",
}
"""The path of the template of pods in each kind that has one; a Pod is its own."""
_NAMES = {
    "APIService": "v1.none.example.com",
    "CustomResourceDefinition": "things.none.example.com",
    "IPAddress": "10.98.0.1",
    "CSIDriver": "d.example.com",
}


def make(api_version: str, kind: str, name: str = "sample") -> dict[str, Any]:
    """Create the object of a kind. Kinds whose names have a meaning get a suitable name."""
    if kind == "CertificateSigningRequest":
        spec: dict[str, Any] = {"spec": _signing_request()}
    else:
        spec = OBJECTS[f"{api_version}/{kind}"]
    metadata = {"name": _NAMES.get(kind, name), "labels": _LABELS}
    return {"apiVersion": api_version, "kind": kind, "metadata": metadata, **spec}


def _signing_request() -> dict[str, Any]:
    import base64

    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "u")])
    key = ec.generate_private_key(ec.SECP256R1())
    made = x509.CertificateSigningRequestBuilder().subject_name(name).sign(key, hashes.SHA256())
    pem = made.public_bytes(serialization.Encoding.PEM)
    return {
        "request": base64.b64encode(pem).decode(),
        "signerName": "example.com/signer",
        "usages": ["client auth"],
    }
