"""porch.kpt.dev and config.porch.kpt.dev: packages of configuration that live in git, as objects.

In come options, a client, provisioning's git hosts and a clock; out come the kinds to register and
the services they use. `module.Porch` is the module that a server builds. Drafts are branches,
published revisions are tags, approval is a commit on the main branch.

types, repository        the kinds; how a Repository is checked and synced
rules, refusals          what clients may ask of a revision, and refusals
sync, revisions          from git to objects; `storedobjects` reads and writes them
health, troubles         what ails a Repository
files/                   files of a package; pure
git/                     git: opened, looked through, committed to, pushed to
writes/                  one write of a revision at a time, and what it does in git
variants/                controllers that draft revisions of other revisions
"""

from inkube.schemas import lazy

__getattr__ = lazy.exports(__name__)
