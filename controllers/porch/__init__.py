"""Modules for the API groups porch.kpt.dev and config.porch.kpt.dev: configuration packages in git
repositories, served as objects.

Input: options, a client, the git hosts of provisioning and a clock. Output: the kinds to register
and the services they use. `module.Porch` is the module that a server builds. Drafts are branches,
published revisions are tags, and approval is a commit on the main branch.

  types, repository        the kinds; how a Repository is checked and synced
  rules, refusals          the changes that clients can make to a revision, and the errors
  sync, revisions          from git to objects; `storedobjects` reads and writes them
  health, troubles         the problems of a Repository
  files/                   the files of a package; pure functions
  git/                     git: open, read, commit, push
  writes/                  writes of revisions, one at a time, and their effects in git
  variants/                controllers that draft revisions from other revisions
"""

from inkube.controllers.porch.module import Porch as Porch
from inkube.controllers.porch.options import Options as Options
