"""Impersonation: the Impersonate headers and the permissions that they need.

The requesting user needs, checked in this order: `impersonate-on:MODE:VERB` on the requested
resource together with `impersonate:MODE` on the impersonated user (MODE is `associated-node`,
`arbitrary-node`, `serviceaccount` or `user-info`), or plain `impersonate`. If all fail, the
response is the rejection of the first. The mode in which the requesting user last succeeded comes
before all others. A mode never gives the group `system:masters`. Follows
apiserver/pkg/endpoints/filters/impersonation.
"""

import re
from collections.abc import Iterator, Sequence
from typing import NamedTuple
from urllib.parse import unquote

from multidict import CIMultiDictProxy, istr

from inkube.apiserver.auth import serviceaccounts
from inkube.apiserver.auth.attributes import (
    ANONYMOUS,
    AUTHENTICATED,
    MASTERS,
    UNAUTHENTICATED,
    Attributes,
    refusal,
)
from inkube.apiserver.auth.authorizer import Authorizer
from inkube.apiserver.registry import User
from inkube.schemas import fielderrors, status
from inkube.schemas.golang import quote
from inkube.schemas.metadata import names

USER = istr("Impersonate-User")  # found in half the time of a str
PLAIN = "impersonate"
"""The verb of impersonation that is not constrained."""
_GROUP = "Impersonate-Group"
_UID = "Impersonate-Uid"
_EXTRA = "impersonate-extra-"
_WRONG_ESCAPE = re.compile(r"%(?![0-9a-f]{2})")
_NODE, _NODES = "system:node:", "system:nodes"
_ASSOCIATED, _ARBITRARY = "associated-node", "arbitrary-node"
_NODE_MODES = (_ASSOCIATED, _ARBITRARY)
_NODE_OF_ACCOUNT = "authentication.kubernetes.io/node-name"
_KEYS_OF_ACCOUNT = "authentication.kubernetes.io/associated-node-keys"
_MANY = 4
"""Groups or extra values from which on one permission for all of them is sufficient."""
_MAX_LAST_MODES = 10_000
_GROUP_OF_MODES = "authentication.k8s.io"
Headers = CIMultiDictProxy[str]


def is_requested(headers: Headers) -> bool:
    """Return whether the headers of a request impersonate another user."""
    # a loop takes twice as long, for every request; no name of a header contains a comma
    return ",impersonate-" in f",{','.join(headers)}".lower()


def read(headers: Headers, *, constrained: bool = True) -> User | None:
    """Return the impersonated user; None without such headers. Raises StatusError 400 if the name
    is missing.

    `constrained` as in `become`."""
    name = headers.get(USER, "")
    groups = tuple(headers.getall(_GROUP, ()))
    user = User(name, headers.get(_UID, ""), groups, extra_values(headers, (_EXTRA,)))
    if name:
        return user
    if not user.uid and not groups and not user.extra:
        return None
    what = f"{_references(user)} without impersonating a user"
    if constrained:
        what = f"{_go_syntax(user)} without impersonating a user name"
    error = status.bad_request(f"requested {what}")
    error.headers["X-Content-Type-Options"] = "nosniff"  # responsewriters.RespondWithError
    raise error


def extra_values(
    headers: Headers, prefixes: Sequence[str]
) -> tuple[tuple[str, tuple[str, ...]], ...]:
    """Return the extra values of a user in the headers with these prefixes. A key whose escapes are
    invalid stays as it is (unescapeExtraKey)."""
    extra: dict[str, list[str]] = {}
    for prefix in prefixes:
        for header, value in headers.items():
            if header.lower().startswith(prefix.lower()):
                key = header[len(prefix) :].lower()
                key = key if _WRONG_ESCAPE.search(key) else unquote(key)
                extra.setdefault(key, []).append(value)
    return tuple((key, tuple(values)) for key, values in extra.items())


class LastModes(dict[str, "_Mode"]):
    """The modes in which users last impersonated others, by their names. At most 10,000
    (newModeIndexCache)."""

    def note(self, user: User, mode: "_Mode") -> None:
        """Note a successful mode. The oldest entry makes room for another user."""
        if user.name not in self and len(self) >= _MAX_LAST_MODES:
            del self[next(iter(self))]
        self[user.name] = mode


def become(
    target: User, attributes: Attributes, authorizer: Authorizer, last: LastModes | None
) -> tuple[User, str]:
    """Return the user as whom the request continues, and the verb of the permission for it. Raises
    StatusError 403.

    With `last` (the feature gate ConstrainedImpersonation), permissions for one mode of
    impersonation are sufficient, besides the permission to impersonate in general.
    """
    first: Attributes | None = None
    reason = ""
    requester = attributes.user
    modes = [_Mode()]
    if last is not None:
        known = last.get(requester.name)
        modes = sorted(_modes(target, requester), key=lambda mode: mode != known)
    for mode in modes:
        denied = mode.first_denial(target, attributes, authorizer)
        if denied is None:
            if last is not None:
                last.note(requester, mode)
            return _as_user(target, mode), mode.verb
        if first is None:
            first, reason = denied
    if first is None:
        raise AssertionError("unreachable: the plain mode is always tried")
    raise refusal(first, reason)


class _Need(NamedTuple):
    """A necessary permission."""

    permission: Attributes
    forbidden: str = ""
    """Why nobody can have it; "" if the authorizer decides."""
    wider: Attributes | None = None
    """Another permission that is sufficient instead."""

    def denial(self, authorizer: Authorizer) -> tuple[Attributes, str] | None:
        """Return the permission and the reason why it is missing; None if the user has it."""
        if self.forbidden:
            return self.permission, self.forbidden
        if self.wider is not None and authorizer.decide(self.wider).allowed:
            return None
        decision = authorizer.decide(self.permission)
        return None if decision.allowed else (self.permission, decision.reason)


class _Mode(NamedTuple):
    """One mode of impersonation. The name of plain `impersonate` is ""."""

    name: str = ""

    @property
    def verb(self) -> str:
        """The verb of the permission for the impersonated user."""
        return f"{PLAIN}:{self.name}" if self.name else PLAIN

    def first_denial(
        self, target: User, attributes: Attributes, authorizer: Authorizer
    ) -> tuple[Attributes, str] | None:
        """Return the first missing permission with the reason; None if none is missing."""
        denials = (need.denial(authorizer) for need in self._needs(target, attributes))
        return next((denial for denial in denials if denial is not None), None)

    def _needs(self, target: User, attributes: Attributes) -> Iterator[_Need]:
        """Yield the necessary permissions, in the order of their checks."""
        if self.name == _ASSOCIATED:
            attributes = attributes._replace(user=_without_node(attributes.user))
        if self.name:
            yield _Need(attributes._replace(verb=f"impersonate-on:{self.name}:{attributes.verb}"))
        group = _GROUP_OF_MODES if self.name else ""
        named = Attributes(attributes.user, self.verb, group=group, version="v1")
        account = serviceaccounts.split_username(target.name)
        if self.name in _NODE_MODES:
            node = "*" if self.name == _ASSOCIATED else target.name.removeprefix(_NODE)
            yield _Need(named._replace(resource="nodes", name=node))
        elif account is not None:
            namespace, name = account
            yield _Need(named._replace(resource="serviceaccounts", namespace=namespace, name=name))
        else:
            yield _Need(named._replace(resource="users", name=target.name))
        other = named._replace(group=_GROUP_OF_MODES)
        if target.uid:
            yield _Need(other._replace(resource="uids", name=target.uid))
        yield from self._group_needs(target, named._replace(resource="groups"))
        yield from self._extra_needs(target, other._replace(resource="userextras"))

    def _group_needs(self, target: User, base: Attributes) -> Iterator[_Need]:
        if self.name and "" in target.groups:
            yield _Need(base, "impersonating the empty string group is not allowed")
        if self.name and MASTERS in target.groups:
            why = f"impersonating the {MASTERS} group is not allowed"
            yield _Need(base._replace(name=MASTERS), why)
        is_many = self.name and len(target.groups) >= _MANY
        wider = base._replace(name="*") if is_many else None
        for name in target.groups:
            yield _Need(base._replace(name=name), wider=wider)

    def _extra_needs(self, target: User, base: Attributes) -> Iterator[_Need]:
        wrong = _wrong_with_extra(target) if self.name else ""
        if wrong:
            yield _Need(base, wrong)
        number = sum(len(values) for _, values in target.extra)
        wider = None
        if self.name and number >= _MANY:
            wider = base._replace(subresource="*", name="*")
        for key, values in target.extra:
            for value in values:
                yield _Need(base._replace(subresource=key, name=value), wider=wider)


def _wrong_with_extra(target: User) -> str:
    """Return why a mode cannot give these extra values; "" if it can (validateExtra)."""
    for key, values in target.extra:
        if not key:
            return "impersonating the empty string key in extra is not allowed"
        errors = names.domain_prefixed_path(key, "extra.key")
        if errors:
            why = fielderrors.joined(errors)
            return f"impersonating an invalid key in extra is not allowed: {why}"
        if key != key.lower():
            return f"impersonating a non-lowercase key in extra is not allowed: {quote(key)}"
        if "" in values:
            return "impersonating the empty string value in extra is not allowed"
    return ""


def _modes(target: User, requester: User) -> Iterator[_Mode]:
    """Yield the modes that fit both users."""
    is_account = serviceaccounts.split_username(target.name) is not None
    only_name = not (target.uid or target.groups or target.extra)
    node = target.name.removeprefix(_NODE)
    if target.name.startswith(_NODE) and not names.dns1123_subdomain(node):
        if only_name and _node_of(requester) == node:
            yield _Mode(_ASSOCIATED)
        if only_name:
            yield _Mode(_ARBITRARY)
    elif not is_account:
        yield _Mode("user-info")
    elif only_name:
        yield _Mode("serviceaccount")
    yield _Mode()


def _node_of(user: User) -> str:
    """Return the node to which the token of a service account is bound; "" for other users."""
    values = dict(user.extra).get(_NODE_OF_ACCOUNT, ())
    is_account = serviceaccounts.split_username(user.name) is not None
    return values[0] if is_account and len(values) == 1 else ""


def _without_node(user: User) -> User:
    """Return a service account as authorizers see it in the mode of associated nodes: with the keys
    of its extra values only, so that one permission holds on all nodes."""
    return user._replace(extra=((_KEYS_OF_ACCOUNT, tuple(sorted(key for key, _ in user.extra))),))


def _as_user(target: User, mode: _Mode) -> User:
    """Return the impersonated user with the groups that all users of its type have."""
    groups = (_NODES,) if mode.name in _NODE_MODES else target.groups
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
