"""Impersonation: the Impersonate headers and the permissions that they need.

The requesting user needs, checked in this order: `impersonate-on:MODE:VERB` on the requested
resource together with `impersonate:MODE` on the impersonated user (MODE is `arbitrary-node`,
`serviceaccount` or `user-info`), or plain `impersonate`. If all fail, the response is the rejection
of the first. Follows apiserver/pkg/endpoints/filters/impersonation.
"""

from collections.abc import Iterator
from typing import NamedTuple
from urllib.parse import unquote

from multidict import CIMultiDictProxy, istr

from inkube.apiserver.auth import serviceaccounts
from inkube.apiserver.auth.attributes import (
    ANONYMOUS,
    AUTHENTICATED,
    UNAUTHENTICATED,
    Attributes,
    refusal,
)
from inkube.apiserver.auth.authorizer import Authorizer
from inkube.apiserver.registry import User
from inkube.schemas import status
from inkube.schemas.golang import quote

USER = istr("Impersonate-User")  # found in half the time of a str
PLAIN = "impersonate"
"""The verb of impersonation that is not constrained."""
_FIRST = frozenset("Ii")
_GROUP = "Impersonate-Group"
_UID = "Impersonate-Uid"
_EXTRA = "impersonate-extra-"
_NODE, _NODES, _NODE_MODE = "system:node:", "system:nodes", "arbitrary-node"
_GROUP_OF_MODES = "authentication.k8s.io"
Headers = CIMultiDictProxy[str]


def is_requested(headers: Headers) -> bool:
    """Return whether the headers of a request impersonate another user."""
    for key in headers:  # noqa: SIM110 # a generator takes twice as long, for every request
        if key[:1] in _FIRST and key[:12].lower() == "impersonate-":
            return True
    return False


def read(headers: Headers, *, constrained: bool = True) -> User | None:
    """Return the impersonated user; None without such headers. Raises StatusError 400 if the name
    is missing.

    `constrained` as in `become`."""
    name = headers.get(USER, "")
    groups = tuple(headers.getall(_GROUP, ()))
    user = User(name, headers.get(_UID, ""), groups, _extra(headers))
    if name:
        return user
    if not user.uid and not groups and not user.extra:
        return None
    if not constrained:
        raise status.bad_request(f"requested {_references(user)} without impersonating a user")
    raise status.bad_request(f"requested {_go_syntax(user)} without impersonating a user name")


def _extra(headers: Headers) -> tuple[tuple[str, tuple[str, ...]], ...]:
    extra: dict[str, list[str]] = {}
    for key, value in headers.items():
        if key.lower().startswith(_EXTRA):
            extra.setdefault(unquote(key[len(_EXTRA) :].lower()), []).append(value)
    return tuple((key, tuple(values)) for key, values in extra.items())


def become(
    target: User, attributes: Attributes, authorizer: Authorizer, *, constrained: bool = True
) -> tuple[User, str]:
    """Return the user as whom the request continues, and the verb of the permission for it. Raises
    StatusError 403.

    With `constrained` (the feature gate ConstrainedImpersonation), permissions for one mode of
    impersonation are sufficient, besides the permission to impersonate in general.
    """
    first: Attributes | None = None
    reason = ""
    for mode in _modes(target) if constrained else (_Mode(),):
        denied = next(
            (
                (need, decision.reason)
                for need in mode.required_permissions(target, attributes)
                if not (decision := authorizer.decide(need)).allowed
            ),
            None,
        )
        if denied is None:
            return _as_user(target, mode), mode.verb
        if first is None:
            first, reason = denied
    if first is None:
        raise AssertionError("unreachable: the plain mode is always tried")
    raise refusal(first, reason)


class _Mode(NamedTuple):
    """One mode of impersonation. The name of plain `impersonate` is ""."""

    name: str = ""

    @property
    def verb(self) -> str:
        """The verb of the permission for the impersonated user."""
        return f"{PLAIN}:{self.name}" if self.name else PLAIN

    def required_permissions(self, target: User, attributes: Attributes) -> Iterator[Attributes]:
        """Yield the necessary permissions, in the order of their checks."""
        if self.name:
            yield attributes._replace(verb=f"impersonate-on:{self.name}:{attributes.verb}")
        group = _GROUP_OF_MODES if self.name else ""
        base = Attributes(attributes.user, self.verb, group=group, version="v1")
        account = serviceaccounts.split_username(target.name)
        if self.name == _NODE_MODE:
            yield base._replace(resource="nodes", name=target.name.removeprefix(_NODE))
        elif account is not None:
            yield base._replace(resource="serviceaccounts", namespace=account[0], name=account[1])
        else:
            yield base._replace(resource="users", name=target.name)
        for name in target.groups:
            yield base._replace(resource="groups", name=name)
        base = base._replace(group=_GROUP_OF_MODES)
        if target.uid:
            yield base._replace(resource="uids", name=target.uid)
        for key, values in target.extra:
            for value in values:
                yield base._replace(resource="userextras", subresource=key, name=value)


def _modes(target: User) -> Iterator[_Mode]:
    is_account = serviceaccounts.split_username(target.name) is not None
    only_name = not (target.uid or target.groups or target.extra)
    if target.name.startswith(_NODE):
        if only_name:
            yield _Mode(_NODE_MODE)
    elif not is_account:
        yield _Mode("user-info")
    elif only_name:
        yield _Mode("serviceaccount")
    yield _Mode()


def _as_user(target: User, mode: _Mode) -> User:
    """Return the impersonated user with the groups that all users of its type have."""
    groups = (_NODES,) if mode.name == _NODE_MODE else target.groups
    account = serviceaccounts.split_username(target.name)
    if account is not None and not groups:
        groups = serviceaccounts.groups(account[0])
    if target.name == ANONYMOUS.name:
        if UNAUTHENTICATED not in groups:
            groups = (*groups, UNAUTHENTICATED)
    elif AUTHENTICATED not in groups and UNAUTHENTICATED not in groups:
        groups = (*groups, AUTHENTICATED)
    return target._replace(groups=groups)


def _references(user: User) -> str:
    """Return the impersonated names as Go prints a list of v1.ObjectReference (`%v`)."""
    group = f"{_GROUP_OF_MODES}/v1"
    references = [f"{{Group  {name}    }}" for name in user.groups]
    references += [
        f"{{UserExtra  {value}  {group}  {key}}}" for key, values in user.extra for value in values
    ]
    if user.uid:
        references.append(f"{{UID  {user.uid}  {group}  }}")
    return f"[{' '.join(references)}]"


def _go_syntax(user: User) -> str:
    """Return a user.DefaultInfo as Go prints it (`%#v`)."""
    groups = _strings(user.groups) if user.groups else "[]string(nil)"
    extra = "map[string][]string(nil)"
    if user.extra:
        pairs = ", ".join(f"{quote(key)}:{_strings(values)}" for key, values in user.extra)
        extra = f"map[string][]string{{{pairs}}}"
    return (
        f"&user.DefaultInfo{{Name:{quote(user.name)}, UID:{quote(user.uid)}, "
        f"Groups:{groups}, Extra:{extra}}}"
    )


def _strings(values: tuple[str, ...]) -> str:
    return "[]string{" + ", ".join(map(quote, values)) + "}"
