"""provisioning.grafana.app: Repository and Connection, the first users of two-phase validation.

In come options, a client, a place for secrets and a clock; out come the kinds to register and the
services their checks ask for. `module.Provisioning` is the module that a server builds.

types                    the kinds
*_rules, *_checks        static admission, live checks; `rivals` who has a branch first
repository, connection   each kind with all it does
manifests, places        the resources that files declare; where files are; `stock` what pulls made
files, readings          what is read and written beside the objects; `settings` of a namespace
quotas, deletion         how many there may be; what is done before one goes
tokens, hooks            what the server asks providers for by itself: tokens, webhooks
webhook, authorize       what providers and users send in: events, codes of OAuth
jobs/                    what is done with files: pulls, pushes, moves, and by themselves
outside/                 who holds repositories: the scripted world, git, providers
"""

from inkube.schemas import lazy

__getattr__ = lazy.exports(__name__)
