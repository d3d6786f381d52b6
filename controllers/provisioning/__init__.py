"""The module for provisioning.grafana.app: Repository and Connection, the first kinds with
two-phase validation.

Input: options, a client, a store for secrets and a clock. Output: the kinds to register and the
services that their checks use. `module.Provisioning` is the module that a server builds.

  types                    the kinds
  *_rules, *_checks        static admission, live checks
  overlaps                 repositories that sync the same files of one branch
  repository, connection   each kind with its behavior
  manifests, places        the resources that files declare; the paths of files
  pulls                    the resources that the last pull of each repository created
  files, readings          files, and lists of resources, as endpoints; `settings` of a namespace
  quotas, deletion         limits of repositories and resources; steps before a deletion
  roles                    the ClusterRoles of its users
  tokens, hooks            requests of the server to providers: tokens, webhooks
  webhook, authorize       requests of providers and users: events, codes of OAuth
  jobs/                    jobs that read and write files: pull, push, move, and automatic pulls
  outside/                 hosts of repositories: the scripted world, git, providers
"""

from inkube.schemas import lazy

__getattr__ = lazy.exports(__name__)
