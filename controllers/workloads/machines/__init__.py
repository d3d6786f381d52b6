"""Nodes as the control plane sees them: their taints and silence (`lifecycle`), who must leave
them (`eviction`), and pods that nobody looks after any more (`garbage`)."""
