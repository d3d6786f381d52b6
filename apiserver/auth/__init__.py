"""Who is it, and may they: everything between a request's headers and its handler.

`access` is the entry; it asks `authenticators` who it is, `impersonation` whom they want to be, and
an `Authorizer` (`AlwaysAllow` or `rbac.RBAC`) whether they may. Roles and accounts are read
from memory; `celauthorizer` asks for expressions of policies and webhooks. An open server knows one
user, `system:admin`, who may do everything.
"""

from inkube.schemas import lazy

__getattr__ = lazy.exports(__name__)
