"""Dynamic resources: devices of ResourceSlices for the claims of pods.

`allocation` chooses devices for claims on one node: selectors in CEL (`requests`), pools (`pools`),
constraints, shared counters and capacities (`accounts`), taints. It is pure: objects in, an
AllocationResult out. `scheduling.devices` calls it for the scheduler, `controller` creates claims
from templates and releases them, `eviction` deletes pods whose devices have NoExecute taints.

A driver is whoever writes ResourceSlices. The simulated kubelets prepare every claim that is
reserved for a pod, without a driver. Follows k8s.io/dynamic-resource-allocation and
pkg/controller/{resourceclaim,devicetainteviction} of Kubernetes 1.36, with its default feature
gates.
"""

CLAIMS = "resource.k8s.io/v1/resourceclaims"
CLASSES = "resource.k8s.io/v1/deviceclasses"
SLICES = "resource.k8s.io/v1/resourceslices"
TEMPLATES = "resource.k8s.io/v1/resourceclaimtemplates"
FINALIZER = "resource.kubernetes.io/delete-protection"
"""Keeps an allocated claim until its devices are released."""
SINCE = ("resource.k8s.io/v1", "ResourceClaim")
"""The version and kind that a server must know: those before Kubernetes 1.34 do not."""
