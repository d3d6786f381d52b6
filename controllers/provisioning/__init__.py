"""provisioning.grafana.app: Repository and Connection, the first users of two-phase validation.

In come options, a client, a place for secrets and a clock; out come the kinds to register and the
services their checks ask for. `module.Provisioning` is the module that a server builds.

types                    the kinds
*_rules, *_checks        static admission, live checks
overlaps                 repositories that sync the same files of one branch
repository, connection   each kind with its behavior
manifests, places        the resources that files declare; the paths of files
pulls                    the resources that the last pull of each repository created
files, readings          files, and lists of resources, as endpoints; `settings` of a namespace
quotas, deletion         limits of repositories and resources; steps before a deletion
tokens, hooks            requests of the server to providers: tokens, webhooks
webhook, authorize       requests of providers and users: events, codes of OAuth
jobs/                    jobs that read and write files: pull, push, move, and automatic pulls
outside/                 who holds repositories: the scripted world, git, providers
"""

from inkube.schemas import lazy

__getattr__ = lazy.exports(__name__)
