"""The columns of each kind, as `kubectl get` heads them.

A line reads `name|Second|Third:type|Wide*`: `*` is shown with `-o wide` only, the type is string
where none is said. Follows pkg/printers/internalversion/printers.go AddHandlers.
"""

from inkube.schemas import caches
from inkube.schemas.builtin.columns import descriptions
from inkube.schemas.definitions import Column

NAME_DESCRIPTION = (
    "Name must be unique within a namespace. Is required when creating resources, although some "
    "resources may allow a client to request the generation of an appropriate name automatically. "
    "Name is primarily intended for creation idempotence and configuration definition. Cannot be "
    "updated. More info: "
    "https://kubernetes.io/docs/concepts/overview/working-with-objects/names#names"
)
CREATED_DESCRIPTION = (
    "CreationTimestamp is a timestamp representing the server time when this object was created. "
    "It is not guaranteed to be set in happens-before order across separate operations. Clients "
    "may not set this value. It is represented in RFC3339 form and is in UTC.\n\nPopulated by the "
    "system. Read-only. Null for lists. More info: "
    "https://git.k8s.io/community/contributors/devel/sig-architecture/api-conventions.md#metadata"
)
_DESCRIPTIONS = {
    "Age": CREATED_DESCRIPTION,
    "Created At": CREATED_DESCRIPTION,
    "Name": NAME_DESCRIPTION,
}
_PATHS = {"Age": ".metadata.creationTimestamp", "Created At": ".metadata.creationTimestamp",
          "Name": ".metadata.name"}  # fmt: skip
_REPLICAS = "Name|Desired:integer|Current:integer|Ready:integer|Age|Containers*|Images*|Selector*"
_BINDING = "Name|Role|Age|Users*|Groups*|ServiceAccounts*"
_WEBHOOKS = "Name|Webhooks:integer|Age"
_POLICY_BINDING = "Name|PolicyName|ParamRef|Age"
_AGE_ONLY = "Name|Age"
DEFAULT = "Name|Created At:date"
"""Of kinds without columns of their own."""
_ADMISSION = "admissionregistration.k8s.io"
_RBAC = "rbac.authorization.k8s.io"

TABLES: dict[tuple[str, str], str] = {
    ("", "componentstatuses"): "Name|Status|Message|Error",
    ("", "configmaps"): "Name|Data|Age",
    ("", "endpoints"): "Name|Endpoints|Age",
    ("", "events"): (
        "Last Seen|Type|Reason|Object|Subobject*|Source*|Message|First Seen*|Count*|Name*"
    ),
    ("", "namespaces"): "Name|Status|Age",
    ("", "nodes"): (
        "Name|Status|Roles|Age|Version|Internal-IP*|External-IP*|OS-Image*|Kernel-Version*|"
        "Container-Runtime*"
    ),
    ("", "persistentvolumeclaims"): (
        "Name|Status|Volume|Capacity|Access Modes|StorageClass|VolumeAttributesClass|Age|"
        "VolumeMode*"
    ),
    ("", "persistentvolumes"): (
        "Name|Capacity|Access Modes|Reclaim Policy|Status|Claim|StorageClass|"
        "VolumeAttributesClass|Reason|Age|VolumeMode*"
    ),
    ("", "pods"): ("Name|Ready|Status|Restarts|Age|IP*|Node*|Nominated Node*|Readiness Gates*"),
    ("", "podtemplates"): "Name|Containers|Images|Pod Labels",
    ("", "replicationcontrollers"): _REPLICAS,
    ("", "resourcequotas"): "Name|Request|Limit|Age",
    ("", "secrets"): "Name|Type|Data|Age",
    ("", "serviceaccounts"): _AGE_ONLY,
    ("", "services"): "Name|Type|Cluster-IP|External-IP|Port(s)|Age|Selector*",
    (_ADMISSION, "mutatingadmissionpolicies"): "Name|Mutations:integer|ParamKind|Age",
    (_ADMISSION, "mutatingadmissionpolicybindings"): _POLICY_BINDING,
    (_ADMISSION, "mutatingwebhookconfigurations"): _WEBHOOKS,
    (_ADMISSION, "validatingadmissionpolicies"): "Name|Validations:integer|ParamKind|Age",
    (_ADMISSION, "validatingadmissionpolicybindings"): _POLICY_BINDING,
    (_ADMISSION, "validatingwebhookconfigurations"): _WEBHOOKS,
    ("apiregistration.k8s.io", "apiservices"): "Name|Service|Available|Age",
    ("apps", "controllerrevisions"): "Name|Controller|Revision|Age",
    ("apps", "daemonsets"): (
        "Name|Desired:integer|Current:integer|Ready:integer|Up-to-date:integer|"
        "Available:integer|Node Selector|Age|Containers*|Images*|Selector*"
    ),
    ("apps", "deployments"): "Name|Ready|Up-to-date|Available|Age|Containers*|Images*|Selector*",
    ("apps", "replicasets"): _REPLICAS,
    ("apps", "statefulsets"): "Name|Ready|Age|Containers*|Images*",
    ("autoscaling", "horizontalpodautoscalers"): (
        "Name|Reference|Targets|MinPods|MaxPods|Replicas|Age"
    ),
    ("batch", "cronjobs"): (
        "Name|Schedule|Timezone|Suspend:boolean|Active:integer|Last Schedule|Age|Containers*|"
        "Images*|Selector*"
    ),
    ("batch", "jobs"): "Name|Status|Completions|Duration|Age|Containers*|Images*|Selector*",
    ("certificates.k8s.io", "certificatesigningrequests"): (
        "Name|Age|SignerName|Requestor|RequestedDuration|Condition"
    ),
    ("coordination.k8s.io", "leases"): "Name|Holder|Age",
    ("discovery.k8s.io", "endpointslices"): "Name|AddressType|Ports|Endpoints|Age",
    ("events.k8s.io", "events"): (
        "Last Seen|Type|Reason|Object|Subobject*|Source*|Message|First Seen*|Count*|Name*"
    ),
    ("flowcontrol.apiserver.k8s.io", "flowschemas"): (
        "Name|PriorityLevel|MatchingPrecedence|DistinguisherMethod|Age|MissingPL"
    ),
    ("flowcontrol.apiserver.k8s.io", "prioritylevelconfigurations"): (
        "Name|Type|NominalConcurrencyShares|Queues|HandSize|QueueLengthLimit|Age"
    ),
    ("networking.k8s.io", "ingressclasses"): "Name|Controller|Parameters|Age",
    ("networking.k8s.io", "ingresses"): "Name|Class|Hosts|Address|Ports|Age",
    ("networking.k8s.io", "ipaddresses"): "Name|ParentRef|Age",
    ("networking.k8s.io", "networkpolicies"): "Name|Pod-Selector|Age",
    ("networking.k8s.io", "servicecidrs"): "Name|CIDRs|Age",
    ("node.k8s.io", "runtimeclasses"): "Name|Handler|Age",
    ("policy", "poddisruptionbudgets"): (
        "Name|Min Available|Max Unavailable|Allowed Disruptions:integer|Age"
    ),
    (_RBAC, "clusterrolebindings"): _BINDING,
    (_RBAC, "rolebindings"): _BINDING,
    ("resource.k8s.io", "deviceclasses"): _AGE_ONLY,
    ("resource.k8s.io", "resourceclaims"): "Name|State|Age",
    ("resource.k8s.io", "resourceclaimtemplates"): _AGE_ONLY,
    ("resource.k8s.io", "resourceslices"): "Name|Node|Driver|Pool|Age",
    ("scheduling.k8s.io", "priorityclasses"): (
        "Name|Value:integer|Global-Default:boolean|Age|PreemptionPolicy"
    ),
    ("storage.k8s.io", "csidrivers"): (
        "Name|AttachRequired:boolean|PodInfoOnMount:boolean|StorageCapacity:boolean|TokenRequests|"
        "RequiresRepublish:boolean|Modes|Age"
    ),
    ("storage.k8s.io", "csinodes"): "Name|Drivers:integer|Age",
    ("storage.k8s.io", "csistoragecapacities"): "Name|StorageClassName|Capacity",
    ("storage.k8s.io", "storageclasses"): (
        "Name|Provisioner|ReclaimPolicy|VolumeBindingMode|AllowVolumeExpansion|Age"
    ),
    ("storage.k8s.io", "volumeattachments"): "Name|Attacher|PV|Node|Attached:boolean|Age",
    ("storage.k8s.io", "volumeattributesclasses"): "Name|DriverName|Age",
}


@caches.of_values(256)
def of(group: str, plural: str) -> tuple[Column, ...]:
    """The kind's printer columns, its name among them."""
    line = TABLES.get((group, plural), DEFAULT)
    told = descriptions.of(group, plural)
    return tuple(_column(word, told) for word in line.split("|"))


def _column(word: str, told: dict[str, str]) -> Column:
    wide = word.endswith("*")
    name, _, kind = word.rstrip("*").partition(":")
    return Column(
        name=name,
        type=kind or "string",
        json_path=_PATHS.get(name, ""),
        format="name" if name == "Name" else "",
        description=told.get(name) or _DESCRIPTIONS.get(name, f"{name} of the object"),
        priority=1 if wide else 0,
    )
