"""provisioning.grafana.app: Repository and Connection, the first users of two-phase validation.

In come options, a client, a place for secrets and a clock; out come the kinds to register and the
services their checks ask for. `provisioning.Provisioning` is all the composition root uses.

types                    the kinds
*_rules, *_checks        static admission, live checks; `rivals` who has a branch first
repository, connection   each kind with all it does
job_types, job_rules     jobs; `job` runs them, `actions` says how, `job_requests` takes them in
sync                     which pulls are made by themselves; `stock` is what they made
contents, manifests      files of a branch, and the resources they declare; `places` finds them
files, readings          what is read and written beside the objects; `settings` of a namespace
quotas, deletion         how many there may be; what is done before one goes
tokens, hooks            what the server asks providers for by itself: tokens, webhooks
webhook, authorize       what providers and users send in: events, codes of OAuth
hosts                    what checks ask of any host, and what its refusals mean
world, git               who answers: kinds anyone can edit, git servers
world_types, world_sessions    those kinds, and what they answer
github, gitlab, bitbucket, providers    and the APIs of providers, asked through `rest`
remotes                  which of them is asked; `ssrf` guards the way out
"""

from inkube.schemas import lazy

__getattr__ = lazy.exports(__name__)
