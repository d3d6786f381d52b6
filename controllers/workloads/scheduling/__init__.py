"""Scheduling decisions: the state of all nodes (`nodes`), their filters and scores (`filters`,
`matching`), preemption (`preemption`), volumes (`volumes`). `workloads.scheduler` provides the data
and writes the results. Except for `volumes`, these modules are pure."""
