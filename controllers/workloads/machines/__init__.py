"""Controllers of nodes: taints and missing heartbeats (`lifecycle`), eviction of pods by taints
(`eviction`), deletion of pods that no kubelet serves (`garbage`)."""
