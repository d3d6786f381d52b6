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
_GROUP = "Impersonate-Group"
_UID = "Impersonate-Uid"
_EXTRA = "impersonate-extra-"
_NODE, _NODES, _NODE_MODE = "system:node:", "system:nodes", "arbitrary-node"
_GROUP_OF_MODES = "authentication.k8s.io"
Headers = CIMultiDictProxy[str]


def is_wanted(headers: Headers) -> bool:
    """Whether the headers of a request impersonate another user."""
    return any(key[:12].lower() == "impersonate-" for key in headers)


def read(headers: Headers, *, constrained: bool = True) -> User | None:
    """The impersonated user; None without such headers. Raises StatusError 400 if the name is
    missing.

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
    raise status.bad_request(f"requested {_go(user)} without impersonating a user name")


def _extra(headers: Headers) -> tuple[tuple[str, tuple[str, ...]], ...]:
    found: dict[str, list[str]] = {}
    for key, value in headers.items():
        if key.lower().startswith(_EXTRA):
            found.setdefault(unquote(key[len(_EXTRA) :].lower()), []).append(value)
    return tuple((key, tuple(values)) for key, values in found.items())


def become(
    wanted: User, attributes: Attributes, authorizer: Authorizer, *, constrained: bool = True
) -> User:
    """Return the user as whom the request continues. Raises StatusError 403.

    With `constrained` (the feature gate ConstrainedImpersonation), permissions for one mode of
    impersonation are sufficient, besides the permission to impersonate in general.
    """
    first: Attributes | None = None
    reason = ""
    for tried in _modes(wanted) if constrained else (_Mode(),):
        missing = next(
            (
                (need, decision.reason)
                for need in tried.needs(wanted, attributes)
                if not (decision := authorizer.decide(need)).allowed
            ),
            None,
        )
        if missing is None:
            return _as_user(wanted, tried)
        if first is None:
            first, reason = missing
    if first is None:
        raise AssertionError("unreachable: the plain mode is always tried")
    raise refusal(first, reason)


class _Mode(NamedTuple):
    """One mode of impersonation. The name of plain `impersonate` is ""."""

    name: str = ""

    def needs(self, wanted: User, asked: Attributes) -> Iterator[Attributes]:
        """Yield the necessary permissions, in the order of their checks."""
        if self.name:
            yield asked._replace(verb=f"impersonate-on:{self.name}:{asked.verb}")
        group = _GROUP_OF_MODES if self.name else ""
        verb = f"impersonate:{self.name}" if self.name else "impersonate"
        base = Attributes(asked.user, verb, group=group, version="v1")
        account = serviceaccounts.split(wanted.name)
        if self.name == _NODE_MODE:
            yield base._replace(resource="nodes", name=wanted.name.removeprefix(_NODE))
        elif account is not None:
            yield base._replace(resource="serviceaccounts", namespace=account[0], name=account[1])
        else:
            yield base._replace(resource="users", name=wanted.name)
        for name in wanted.groups:
            yield base._replace(resource="groups", name=name)
        base = base._replace(group=_GROUP_OF_MODES)
        if wanted.uid:
            yield base._replace(resource="uids", name=wanted.uid)
        for key, values in wanted.extra:
            for value in values:
                yield base._replace(resource="userextras", subresource=key, name=value)


def _modes(wanted: User) -> Iterator[_Mode]:
    is_account = serviceaccounts.split(wanted.name) is not None
    only_name = not (wanted.uid or wanted.groups or wanted.extra)
    if wanted.name.startswith(_NODE):
        if only_name:
            yield _Mode(_NODE_MODE)
    elif not is_account:
        yield _Mode("user-info")
    elif only_name:
        yield _Mode("serviceaccount")
    yield _Mode()


def _as_user(wanted: User, mode: _Mode) -> User:
    """The impersonated user with the groups that all users of its type have."""
    groups = (_NODES,) if mode.name == _NODE_MODE else wanted.groups
    account = serviceaccounts.split(wanted.name)
    if account is not None and not groups:
        groups = serviceaccounts.groups(account[0])
    if wanted.name == ANONYMOUS.name:
        if UNAUTHENTICATED not in groups:
            groups = (*groups, UNAUTHENTICATED)
    elif AUTHENTICATED not in groups and UNAUTHENTICATED not in groups:
        groups = (*groups, AUTHENTICATED)
    return wanted._replace(groups=groups)


def _references(user: User) -> str:
    """Return the impersonated names as Go prints a list of v1.ObjectReference (`%v`)."""
    group = f"{_GROUP_OF_MODES}/v1"
    found = [f"{{Group  {name}    }}" for name in user.groups]
    found += [
        f"{{UserExtra  {value}  {group}  {key}}}" for key, values in user.extra for value in values
    ]
    if user.uid:
        found.append(f"{{UID  {user.uid}  {group}  }}")
    return f"[{' '.join(found)}]"


def _go(user: User) -> str:
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
