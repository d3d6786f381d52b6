"""An object's row in the table of its built-in kind.

Follows pkg/printers/internalversion/printers.go.
"""

from collections.abc import Callable
from datetime import datetime
from typing import Any

from inkube.schemas.builtin.columns import (
    corecells,
    networkcells,
    podcells,
    storagecells,
    tables,
    workloadcells,
)
from inkube.schemas.golang import rfc3339
from inkube.schemas.objects import Object

_Cells = Callable[[Object, datetime], list[Any]]
_BY_PLURAL: dict[str, _Cells] = {
    "apiservices": corecells.api_service,
    "certificatesigningrequests": corecells.signing_request,
    "clusterrolebindings": corecells.binding,
    "componentstatuses": corecells.component,
    "configmaps": corecells.config_map,
    "controllerrevisions": corecells.revision,
    "cronjobs": workloadcells.cron_job,
    "daemonsets": workloadcells.daemon_set,
    "deployments": workloadcells.deployment,
    "csidrivers": storagecells.driver,
    "csinodes": storagecells.node,
    "deviceclasses": corecells.age_only,
    "endpoints": networkcells.endpoints,
    "endpointslices": networkcells.endpoint_slice,
    "events": corecells.event,
    "flowschemas": corecells.flow_schema,
    "horizontalpodautoscalers": workloadcells.autoscaler,
    "ingressclasses": networkcells.ingress_class,
    "ingresses": networkcells.ingress,
    "ipaddresses": networkcells.ip_address,
    "jobs": workloadcells.job,
    "leases": corecells.lease,
    "mutatingadmissionpolicies": corecells.policy,
    "mutatingadmissionpolicybindings": corecells.policy_binding,
    "mutatingwebhookconfigurations": corecells.webhooks,
    "namespaces": corecells.namespace,
    "networkpolicies": networkcells.network_policy,
    "nodes": networkcells.node,
    "persistentvolumeclaims": corecells.claim,
    "persistentvolumes": corecells.volume,
    "poddisruptionbudgets": workloadcells.budget,
    "pods": podcells.cells,
    "podtemplates": corecells.pod_template,
    "priorityclasses": corecells.priority_class,
    "prioritylevelconfigurations": corecells.priority_level,
    "replicasets": workloadcells.replicas,
    "replicationcontrollers": workloadcells.replicas,
    "resourceclaims": storagecells.device_claim,
    "resourceclaimtemplates": corecells.age_only,
    "resourcequotas": corecells.quota,
    "resourceslices": storagecells.device_slice,
    "rolebindings": corecells.binding,
    "runtimeclasses": corecells.runtime_class,
    "secrets": corecells.secret,
    "serviceaccounts": corecells.age_only,
    "servicecidrs": networkcells.service_cidr,
    "services": networkcells.service,
    "statefulsets": workloadcells.stateful_set,
    "storageclasses": storagecells.storage_class,
    "validatingadmissionpolicies": corecells.policy,
    "validatingadmissionpolicybindings": corecells.policy_binding,
    "validatingwebhookconfigurations": corecells.webhooks,
    "volumeattachments": storagecells.attachment,
    "volumeattributesclasses": storagecells.attributes_class,
}


def cells(group: str, plural: str, obj: Object, now: datetime) -> list[Any]:
    """Return the object's cells in the order of its kind's columns."""
    meta = obj["metadata"]
    if not tables.has(group, plural):  # the default columns (registry/rest/table.go)
        return [meta.get("name", ""), meta.get("creationTimestamp") or rfc3339.ZERO]
    found = _BY_PLURAL[plural](obj, now)
    if plural == "events":
        return found
    name = meta.get("name", "")
    if plural == "storageclasses" and storagecells.is_default(obj):
        name = f"{name} (default)"
    return [name, *found]


def cells_of_minor(group: str, plural: str, obj: Object, now: datetime, minor: int) -> list[Any]:
    """Return the object's cells in the order of an older minor's columns."""
    found = cells(group, plural, obj, now)
    return [found[place] for place in tables.places(group, plural, minor)]


def conditions(group: str, plural: str, obj: Object) -> list[Object]:
    """Return the conditions of a row in addition to its cells: Completed for pods that have
    ended."""
    return podcells.completed(obj) if (group, plural) == ("", "pods") else []


def row_order(plural: str) -> Callable[[Object], Any] | None:
    """Return the key by which the rows of a list are sorted: flow schemas by their precedence
    (printFlowSchemaList). None for other kinds."""
    return corecells.precedence if plural == "flowschemas" else None
