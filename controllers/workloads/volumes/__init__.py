"""Volumes and claims: matching (`matches`), binding (`binder`), protection of used objects from
deletion (`protection`), claims for ephemeral volumes of a pod (`ephemeral`)."""

CLAIMS = "v1/persistentvolumeclaims"
VOLUMES = "v1/persistentvolumes"
CLASSES = "storage.k8s.io/v1/storageclasses"
