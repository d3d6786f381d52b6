"""Authentication and authorization: everything between the headers of a request and its handler.

`access` is the entry. It gets the user from `authenticators`, the impersonated user from
`impersonation`, and a decision from an `Authorizer` (`AlwaysAllow` or `rbac.RBAC`). Roles and
accounts are read from memory. `celauthorizer` makes these decisions available to expressions of
policies and webhooks. An open server has one user, `system:admin`, with all permissions.
"""

from inkube.schemas import lazy

__getattr__ = lazy.exports(__name__)
