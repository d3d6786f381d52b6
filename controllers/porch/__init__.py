"""porch.kpt.dev and config.porch.kpt.dev: packages of configuration that live in git, as objects.

In come options, a client, provisioning's git hosts and a clock; out come the kinds to register and
the services they use. `porch.Porch` is all the composition root uses. Drafts are branches,
published revisions are tags, approval is a commit on the main branch.

documents, kptfile, packages, merge, render, functions    files of a package; pure
"""

from inkube.schemas import lazy

__getattr__ = lazy.exports(__name__)
