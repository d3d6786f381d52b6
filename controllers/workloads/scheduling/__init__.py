"""Where pods go: what nodes have (`nodes`), which of them fit (`filters`), and who makes room
(`preemption`). All of it is pure: `controllers.workloads.scheduler` feeds it and writes."""
