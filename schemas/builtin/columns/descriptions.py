"""What the columns of each kind say of themselves: the text of a field, or one of their own.

Follows pkg/printers/internalversion/printers.go AddHandlers, which asks the types' SwaggerDoc.
"""

from typing import Final

from inkube.schemas.gotypes import table

_CONTAINERS: Final = {
    "Containers": "Names of each container in the template.",
    "Images": "Images referenced by each container in the template.",
}
_READY: Final = "Number of the pod with ready state"
_ADMISSION: Final = "admissionregistration.k8s.io"
_RBAC: Final = "rbac.authorization.k8s.io"
_EVENT: Final = {
    "Last Seen": "@core.v1.Event.lastTimestamp",
    "Type": "@core.v1.Event.type",
    "Reason": "@core.v1.Event.reason",
    "Object": "@core.v1.Event.involvedObject",
    "Subobject": "@core.v1.ObjectReference.fieldPath",
    "Source": "@core.v1.Event.source",
    "Message": "@core.v1.Event.message",
    "First Seen": "@core.v1.Event.firstTimestamp",
    "Count": "@core.v1.Event.count",
}
_POLICY_BINDING: Final = {
    "PolicyName": "PolicyName indicates the policy definition which the policy binding binded to",
    "ParamRef": "ParamRef indicates the param resource which sets the configration param",
}
_PARAMETERS: Final = "ParamKind specifies the kind of resources used to parameterize this policy"
_WEBHOOKS: Final = {
    "Webhooks": "Webhooks indicates the number of webhooks registered in this configuration",
}
_SIGNER: Final = (  # of v1beta1, as what is said of the request and its conditions
    "Requested signer for the request. It is a qualified name in the form: "
    "`scope-hostname.io/name`. If empty, it will be defaulted:\n"
    " 1. If it's a kubelet client certificate, it is assigned\n"
    '    "kubernetes.io/kube-apiserver-client-kubelet".\n'
    " 2. If it's a kubelet serving certificate, it is assigned\n"
    '    "kubernetes.io/kubelet-serving".\n'
    ' 3. Otherwise, it is assigned "kubernetes.io/legacy-unknown".\n'
    "Distribution of trust for signers happens out of band. You can select on this field using "
    "`spec.signerName`."
)
_COLUMNS: Final[dict[tuple[str, str], dict[str, str]]] = {
    ("", "componentstatuses"): {
        "Status": "Status of the component conditions",
        "Message": "Message of the component conditions",
        "Error": "Error of the component conditions",
    },
    ("", "configmaps"): {"Data": "@core.v1.ConfigMap.data"},
    ("", "endpoints"): {"Endpoints": "@core.v1.Endpoints.subsets"},
    ("", "events"): _EVENT,
    ("", "namespaces"): {"Status": "The status of the namespace"},
    ("", "nodes"): {
        "Status": "The status of the node",
        "Roles": "The roles of the node",
        "Version": "@core.v1.NodeSystemInfo.kubeletVersion",
        "Internal-IP": "@core.v1.NodeStatus.addresses",
        "External-IP": "@core.v1.NodeStatus.addresses",
        "OS-Image": "@core.v1.NodeSystemInfo.osImage",
        "Kernel-Version": "@core.v1.NodeSystemInfo.kernelVersion",
        "Container-Runtime": "@core.v1.NodeSystemInfo.containerRuntimeVersion",
    },
    ("", "persistentvolumeclaims"): {
        "Status": "@core.v1.PersistentVolumeClaimStatus.phase",
        "Volume": "@core.v1.PersistentVolumeClaimSpec.volumeName",
        "Capacity": "@core.v1.PersistentVolumeClaimStatus.capacity",
        "Access Modes": "@core.v1.PersistentVolumeClaimStatus.accessModes",
        "StorageClass": "StorageClass of the pvc",
        "VolumeAttributesClass": "VolumeAttributesClass of the pvc",
        "VolumeMode": "@core.v1.PersistentVolumeClaimSpec.volumeMode",
    },
    ("", "persistentvolumes"): {
        "Capacity": "@core.v1.PersistentVolumeSpec.capacity",
        "Access Modes": "@core.v1.PersistentVolumeSpec.accessModes",
        "Reclaim Policy": "@core.v1.PersistentVolumeSpec.persistentVolumeReclaimPolicy",
        "Status": "@core.v1.PersistentVolumeStatus.phase",
        "Claim": "@core.v1.PersistentVolumeSpec.claimRef",
        "StorageClass": "StorageClass of the pv",
        "VolumeAttributesClass": "VolumeAttributesClass of the pv",
        "Reason": "@core.v1.PersistentVolumeStatus.reason",
        "VolumeMode": "@core.v1.PersistentVolumeSpec.volumeMode",
    },
    ("", "pods"): {
        "Ready": "The aggregate readiness state of this pod for accepting traffic.",
        "Status": "The aggregate status of the containers in this pod.",
        "Restarts": (
            "The number of times the containers in this pod have been restarted and when the last "
            "container in this pod has restarted."
        ),
        "IP": "@core.v1.PodStatus.podIP",
        "Node": "@core.v1.PodSpec.nodeName",
        "Nominated Node": "@core.v1.PodStatus.nominatedNodeName",
        "Readiness Gates": "@core.v1.PodSpec.readinessGates",
    },
    ("", "podtemplates"): {**_CONTAINERS, "Pod Labels": "The labels for the pod template."},
    ("", "replicationcontrollers"): {
        "Desired": "@core.v1.ReplicationControllerSpec.replicas",
        "Current": "@core.v1.ReplicationControllerStatus.replicas",
        "Ready": "@core.v1.ReplicationControllerStatus.readyReplicas",
        **_CONTAINERS,
        "Selector": "@core.v1.ReplicationControllerSpec.selector",
    },
    ("", "resourcequotas"): {
        "Request": (
            "Request represents a minimum amount of cpu/memory that a container may consume."
        ),
        "Limit": (
            "Limits control the maximum amount of cpu/memory that a container may use independent "
            "of contention on the node."
        ),
    },
    ("", "secrets"): {"Type": "@core.v1.Secret.type", "Data": "@core.v1.Secret.data"},
    ("", "services"): {
        "Type": "@core.v1.ServiceSpec.type",
        "Cluster-IP": "@core.v1.ServiceSpec.clusterIP",
        "External-IP": "@core.v1.ServiceSpec.externalIPs",
        "Port(s)": "@core.v1.ServiceSpec.ports",
        "Selector": "@core.v1.ServiceSpec.selector",
    },
    (_ADMISSION, "mutatingadmissionpolicies"): {
        "Mutations": (
            "Mutation indicates the number of mutations rules defined in this configuration"
        ),
        "ParamKind": _PARAMETERS,
    },
    (_ADMISSION, "mutatingadmissionpolicybindings"): _POLICY_BINDING,
    (_ADMISSION, "mutatingwebhookconfigurations"): _WEBHOOKS,
    (_ADMISSION, "validatingadmissionpolicies"): {
        "Validations": (
            "Validations indicates the number of validation rules defined in this configuration"
        ),
        "ParamKind": _PARAMETERS,
    },
    (_ADMISSION, "validatingadmissionpolicybindings"): _POLICY_BINDING,
    (_ADMISSION, "validatingwebhookconfigurations"): _WEBHOOKS,
    ("apiregistration.k8s.io", "apiservices"): {
        "Service": "The reference to the service that hosts this API endpoint.",
        "Available": "Whether this service is available.",
    },
    ("apps", "controllerrevisions"): {
        "Controller": "Controller of the object",
        "Revision": "@apps.v1.ControllerRevision.revision",
    },
    ("apps", "daemonsets"): {
        "Desired": "@apps.v1.DaemonSetStatus.desiredNumberScheduled",
        "Current": "@apps.v1.DaemonSetStatus.currentNumberScheduled",
        "Ready": "@apps.v1.DaemonSetStatus.numberReady",
        "Up-to-date": "@apps.v1.DaemonSetStatus.updatedNumberScheduled",
        "Available": "@apps.v1.DaemonSetStatus.numberAvailable",
        "Node Selector": "@core.v1.PodSpec.nodeSelector",
        **_CONTAINERS,
        "Selector": "@apps.v1.DaemonSetSpec.selector",
    },
    ("apps", "deployments"): {
        "Ready": _READY,
        "Up-to-date": "@apps.v1.DeploymentStatus.updatedReplicas",
        "Available": "@apps.v1.DeploymentStatus.availableReplicas",
        **_CONTAINERS,
        "Selector": "@apps.v1.DeploymentSpec.selector",
    },
    ("apps", "replicasets"): {
        "Desired": "@apps.v1.ReplicaSetSpec.replicas",
        "Current": "@apps.v1.ReplicaSetStatus.replicas",
        "Ready": "@apps.v1.ReplicaSetStatus.readyReplicas",
        **_CONTAINERS,
        "Selector": "@apps.v1.ReplicaSetSpec.selector",
    },
    ("apps", "statefulsets"): {"Ready": _READY, **_CONTAINERS},
    ("autoscaling", "horizontalpodautoscalers"): {
        "Reference": "@autoscaling.v2.HorizontalPodAutoscalerSpec.scaleTargetRef",
        "Targets": "@autoscaling.v2.HorizontalPodAutoscalerSpec.metrics",
        "MinPods": "@autoscaling.v2.HorizontalPodAutoscalerSpec.minReplicas",
        "MaxPods": "@autoscaling.v2.HorizontalPodAutoscalerSpec.maxReplicas",
        "Replicas": "@autoscaling.v2.HorizontalPodAutoscalerStatus.currentReplicas",
    },
    ("batch", "cronjobs"): {
        "Schedule": "@batch.v1.CronJobSpec.schedule",
        "Timezone": "@batch.v1.CronJobSpec.timeZone",
        "Suspend": "@batch.v1.CronJobSpec.suspend",
        "Active": "@batch.v1.CronJobStatus.active",
        "Last Schedule": "@batch.v1.CronJobStatus.lastScheduleTime",
        **_CONTAINERS,
        "Selector": "@batch.v1.JobSpec.selector",
    },
    ("batch", "jobs"): {
        "Status": "Status of the job.",
        "Completions": "@batch.v1.JobStatus.succeeded",
        "Duration": "Time required to complete the job.",
        **_CONTAINERS,
        "Selector": "@batch.v1.JobSpec.selector",
    },
    ("certificates.k8s.io", "certificatesigningrequests"): {
        "SignerName": _SIGNER,
        "Requestor": "Base64-encoded PKCS#10 CSR data",
        "RequestedDuration": "@certificates.v1.CertificateSigningRequestSpec.expirationSeconds",
        "Condition": "Conditions applied to the request, such as approval or denial.",
    },
    ("coordination.k8s.io", "leases"): {"Holder": "@coordination.v1.LeaseSpec.holderIdentity"},
    ("discovery.k8s.io", "endpointslices"): {
        "AddressType": "@discovery.v1.EndpointSlice.addressType",
        "Ports": "@discovery.v1.EndpointSlice.ports",
        "Endpoints": "@discovery.v1.EndpointSlice.endpoints",
    },
    ("events.k8s.io", "events"): _EVENT,
    ("flowcontrol.apiserver.k8s.io", "flowschemas"): {
        "PriorityLevel": "@flowcontrol.v1.PriorityLevelConfigurationReference.name",
        "MatchingPrecedence": "@flowcontrol.v1.FlowSchemaSpec.matchingPrecedence",
        "DistinguisherMethod": "@flowcontrol.v1.FlowSchemaSpec.distinguisherMethod",
        "MissingPL": "references a broken or non-existent PriorityLevelConfiguration",
    },
    ("flowcontrol.apiserver.k8s.io", "prioritylevelconfigurations"): {
        "Type": "@flowcontrol.v1.PriorityLevelConfigurationSpec.type",
        "NominalConcurrencyShares": (
            "@flowcontrol.v1.LimitedPriorityLevelConfiguration.nominalConcurrencyShares"
        ),
        "Queues": "@flowcontrol.v1.QueuingConfiguration.queues",
        "HandSize": "@flowcontrol.v1.QueuingConfiguration.handSize",
        "QueueLengthLimit": "@flowcontrol.v1.QueuingConfiguration.queueLengthLimit",
    },
    ("networking.k8s.io", "ingressclasses"): {
        "Controller": "Controller that is responsible for handling this class",
        "Parameters": "A reference to a resource with additional parameters",
    },
    ("networking.k8s.io", "ingresses"): {
        "Class": (
            "The name of the IngressClass resource that should be used for additional configuration"
        ),
        "Hosts": "Hosts that incoming requests are matched against before the ingress rule",
        "Address": "Address is a list containing ingress points for the load-balancer",
        "Ports": "Ports of TLS configurations that open",
    },
    ("networking.k8s.io", "ipaddresses"): {
        "ParentRef": "@networking.v1.IPAddressSpec.parentRef",
    },
    ("networking.k8s.io", "networkpolicies"): {
        "Pod-Selector": "@networking.v1.NetworkPolicySpec.podSelector",
    },
    ("networking.k8s.io", "servicecidrs"): {"CIDRs": "@networking.v1.ServiceCIDRSpec.cidrs"},
    ("node.k8s.io", "runtimeclasses"): {"Handler": "@node.v1.RuntimeClass.handler"},
    ("policy", "poddisruptionbudgets"): {
        "Min Available": "The minimum number of pods that must be available.",
        "Max Unavailable": "The maximum number of pods that may be unavailable.",
        "Allowed Disruptions": ("Calculated number of pods that may be disrupted at this time."),
    },
    (_RBAC, "clusterrolebindings"): {
        "Role": "@rbac.v1.ClusterRoleBinding.roleRef",
        "Users": "Users in the clusterRoleBinding",
        "Groups": "Groups in the clusterRoleBinding",
        "ServiceAccounts": "ServiceAccounts in the clusterRoleBinding",
    },
    (_RBAC, "rolebindings"): {
        "Role": "@rbac.v1.RoleBinding.roleRef",
        "Users": "Users in the roleBinding",
        "Groups": "Groups in the roleBinding",
        "ServiceAccounts": "ServiceAccounts in the roleBinding",
    },
    ("resource.k8s.io", "resourceclaims"): {
        "State": "A summary of the current state (allocated, pending, reserved, etc.).",
    },
    ("resource.k8s.io", "resourceslices"): {
        "Node": "@resource.v1.ResourceSliceSpec.nodeName",
        "Driver": "@resource.v1.ResourceSliceSpec.driver",
        "Pool": "@resource.v1.ResourcePool.name",
    },
    ("scheduling.k8s.io", "priorityclasses"): {
        "Value": "@scheduling.v1.PriorityClass.value",
        "Global-Default": "@scheduling.v1.PriorityClass.globalDefault",
        "PreemptionPolicy": "@scheduling.v1.PriorityClass.preemptionPolicy",
    },
    ("storage.k8s.io", "csidrivers"): {
        "AttachRequired": "@storage.v1.CSIDriverSpec.attachRequired",
        "PodInfoOnMount": "@storage.v1.CSIDriverSpec.podInfoOnMount",
        "StorageCapacity": "@storage.v1.CSIDriverSpec.storageCapacity",
        "TokenRequests": "@storage.v1.CSIDriverSpec.tokenRequests",
        "RequiresRepublish": "@storage.v1.CSIDriverSpec.requiresRepublish",
        "Modes": "@storage.v1.CSIDriverSpec.volumeLifecycleModes",
    },
    ("storage.k8s.io", "csinodes"): {
        "Drivers": "Drivers indicates the number of CSI drivers registered on the node",
    },
    ("storage.k8s.io", "csistoragecapacities"): {
        "StorageClassName": "@storage.v1.CSIStorageCapacity.storageClassName",
        "Capacity": "@storage.v1.CSIStorageCapacity.capacity",
    },
    ("storage.k8s.io", "storageclasses"): {
        "Provisioner": "@storage.v1.StorageClass.provisioner",
        "ReclaimPolicy": "@storage.v1.StorageClass.reclaimPolicy",
        "VolumeBindingMode": "@storage.v1.StorageClass.volumeBindingMode",
        "AllowVolumeExpansion": "@storage.v1.StorageClass.allowVolumeExpansion",
    },
    ("storage.k8s.io", "volumeattachments"): {
        "Attacher": "@storage.v1.VolumeAttachmentSpec.attacher",
        "PV": "@storage.v1.VolumeAttachmentSource.persistentVolumeName",
        "Node": "@storage.v1.VolumeAttachmentSpec.nodeName",
        "Attached": "@storage.v1.VolumeAttachmentStatus.attached",
    },
    ("storage.k8s.io", "volumeattributesclasses"): {
        "DriverName": "@storage.v1.VolumeAttributesClass.driverName",
    },
}


def of(group: str, plural: str) -> dict[str, str]:
    """The texts of a kind's columns, but for the name and the age that most have."""
    told = _COLUMNS.get((group, plural), {})
    return {name: _text(text) for name, text in told.items()}


def _text(text: str) -> str:
    """`@GROUP.VERSION.TYPE.FIELD` is what the API says of that field."""
    if not text.startswith("@"):
        return text
    kind, _, field = text[1:].rpartition(".")
    return table.descriptions()[f"io.k8s.api.{kind}"].get(field, "")
