"""provisioning.grafana.app: Repository and Connection, the first users of two-phase validation.

`types` are the kinds, `*_rules` their static admission, `*_checks` their live checks; `world`,
`git` and `github` the outside systems; `provisioning` is what the composition root plugs in.
"""
