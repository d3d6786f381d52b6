"""Privilege escalation: users cannot grant permissions that they do not have, in roles and
bindings.

It runs as the last mutator, so that it sees the object as it will be stored, and before validation,
like kube-apiserver's policy-based storage. It is active with RBAC only: AlwaysAllow has no
permissions to escalate. Follows pkg/registry/rbac/{role,clusterrole,rolebinding}/policybased and
pkg/registry/rbac/validation/rule.go.
"""

from collections.abc import Sequence

from inkube.apiserver.auth import (
    EVERY_PATH,
    EVERYTHING,
    GROUP,
    MASTERS,
    RBAC,
    Authorizer,
    Rule,
    decided,
    rules,
)
from inkube.apiserver.auth import Attributes as AuthorizationAttributes
from inkube.apiserver.registry import Plugin, User, Write, refused
from inkube.schemas import releases, status
from inkube.schemas.golang import quote
from inkube.schemas.metadata import names
from inkube.schemas.objects import Object

_ROLES = ("roles", "clusterroles")
_BINDINGS = ("rolebindings", "clusterrolebindings")
_TARGETS = {"Role": "roles", "ClusterRole": "clusterroles"}
_NAMES_REQUEST = 32
"""The minor since which the error for a missing role contains the resource of the request."""
_COLLECTED = ("finalizers", "ownerReferences")


class Escalation(Plugin):
    """Refuses roles and bindings that grant permissions that their author does not have."""

    kinds = tuple((GROUP, plural) for plural in (*_ROLES, *_BINDINGS))
    operations = ("CREATE", "UPDATE")

    def __init__(
        self, authorizer: Authorizer, roles: RBAC, minor: int = releases.NEWEST.minor
    ) -> None:
        self._authorizer = authorizer
        self._roles = roles
        self._names_request = minor >= _NAMES_REQUEST

    async def mutate(self, write: Write) -> None:
        request, obj, old = write.request, write.object, write.old
        if obj is None or MASTERS in request.user.groups or _is_collection(obj, old):
            return
        if request.resource.plural in _BINDINGS:
            await self._check_binding(write, obj)
        else:
            await self._check_role(write, obj, old)

    async def _check_role(self, write: Write, role: Object, old: Object | None) -> None:
        # as upstream, the name in the path, which is missing for a create
        request, name = write.request, "" if old is None else write.name
        escalate = AuthorizationAttributes(
            request.user,
            "escalate",
            GROUP,
            "*",
            request.resource.plural,
            namespace=request.namespace,
            name=name,
        )
        if (await decided(self._authorizer, escalate)).allowed:
            return
        self._confirm(write, role.get("rules") or [])
        if role.get("aggregationRule") or (old or {}).get("aggregationRule"):
            held = self._roles.rules_for(request.user, request.namespace).rules
            if rules.uncovered(held, [EVERYTHING, EVERY_PATH]):
                raise refused(
                    write, "must have cluster-admin privileges to use the aggregationRule"
                )

    async def _check_binding(self, write: Write, binding: Object) -> None:
        reference = binding.get("roleRef") or {}
        kind, name = reference.get("kind", ""), reference.get("name", "")
        target = _TARGETS.get(kind, "")
        request, namespace = write.request, write.request.namespace
        bind = AuthorizationAttributes(
            request.user, "bind", GROUP, "*", target, namespace=namespace, name=name
        )
        if target and (await decided(self._authorizer, bind)).allowed:
            return
        if not target:
            raise status.unknown(f"unsupported role reference kind: {quote(kind)}")
        _check_key(name, namespace if kind == "Role" else None)
        granted = self._roles.role_rules(reference, namespace)
        if granted is None:
            # as upstream, the look-up names the resource of the request
            plural = request.resource.plural if self._names_request else target
            raise status.not_found(GROUP, plural, name)
        self._confirm(write, granted)

    def _confirm(self, write: Write, granted: Sequence[Rule]) -> None:
        """Raise StatusError 403 unless the user has all permissions in the rules
        (ConfirmNoEscalation)."""
        request = write.request
        held, failure, _ = self._roles.rules_for(request.user, request.namespace)
        try:
            missing = rules.uncovered(held, granted)
        except rules.TooManyParts:
            raise refused(
                write,
                f"{_attempt(request.user)} the rules have more than {rules.MAX_PARTS} combinations "
                "of groups, resources, verbs and names; divide them into several roles",
            ) from None
        if not missing:
            return
        texts = sorted({rules.text(rule) for rule in rules.compact(missing)})
        why = _attempt(request.user) + "\n" + "\n".join(texts)
        if failure:
            why += f"; resolution errors: [{failure}]"
        raise refused(write, why)


def _check_key(name: str, namespace: str | None) -> None:
    """Raise StatusError 400 for a name or a namespace that no role can have (NamespaceKeyFunc).
    `namespace` is None for a ClusterRole."""
    if namespace == "":
        raise status.bad_request("Namespace parameter required.")
    if not name:
        raise status.bad_request("Name parameter required.")
    wrong = names.path_segment(name)
    if wrong:
        raise status.bad_request(f"Name parameter invalid: {quote(name)}: {';'.join(wrong)}")


def _attempt(user: User) -> str:
    groups = rules.quoted(user.groups)
    return (
        f"user {quote(user.name)} (groups={groups}) is attempting to grant RBAC permissions "
        "not currently held:"
    )


def _is_collection(obj: Object, old: Object | None) -> bool:
    """Return whether only members that the garbage collector changes differ
    (`IsOnlyMutatingGCFields`)."""
    return old is not None and _without(obj) == _without(old)


def _without(obj: Object) -> Object:
    ignored = (*_COLLECTED, "managedFields")
    meta = {key: value for key, value in obj["metadata"].items() if key not in ignored}
    return {**obj, "metadata": meta}
