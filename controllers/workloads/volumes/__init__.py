"""Volumes and claims: which fit (`matches`), how they are bound (`binder`), what keeps them from
going while they are used (`protection`), claims of a pod's own (`ephemeral`)."""

CLAIMS = "v1/persistentvolumeclaims"
VOLUMES = "v1/persistentvolumes"
CLASSES = "storage.k8s.io/v1/storageclasses"
