"""porch.kpt.dev and config.porch.kpt.dev: packages of configuration that live in git, as objects.

In come options, a client, provisioning's git hosts and a clock; out come the kinds to register and
the services they use. `porch.Porch` is all the composition root uses. Drafts are branches,
published revisions are tags, approval is a commit on the main branch.

types, repository                             the kinds; how a Repository is checked and synced
variants, variantsets, injection              controllers that draft revisions of other revisions
rules, refusals                               what clients may ask of a revision, and refusals
engine                                        the transactions: one write of a revision at a time
creation, lifecycle, publication, deletion    what each write does; `tasks` make a revision's files
resources, acceptance                         a revision's files, and which ones a write may leave
origin, readiness, health, troubles           git as writes use it, and what ails a Repository
depots, content, commits, scripted            git: opened, read, committed to, pushed to
sync, discovery, layout, revisions, stock     from what is in git to objects
documents, kptfile, packages, merge, render, functions    files of a package; pure
"""

from inkube.schemas import lazy

__getattr__ = lazy.exports(__name__)
