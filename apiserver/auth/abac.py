"""The ABAC authorizer: policies in a file, one as a JSON object in each line.

Loaded only with such a file. Follows pkg/auth/authorizer/abac/abac.go and the conversions of
pkg/apis/abac/v0 and v1beta1.
"""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Final, NamedTuple

from inkube.apiserver.auth.attributes import AUTHENTICATED, Attributes, Decision
from inkube.apiserver.auth.authorizer import YES, HeldRules
from inkube.apiserver.registry import User
from inkube.schemas.objects import Object

_VERSION: Final = ("abac.authorization.kubernetes.io/v1beta1", "Policy")
_READS: Final = ("get", "list", "watch")
_NO: Final = Decision(False, "No policy matched.")


class Policy(NamedTuple):
    """One policy; `*` matches everything, and "" nothing."""

    user: str
    group: str
    namespace: str
    resource: str
    api_group: str
    path: str
    reads_only: bool

    def concerns(self, user: User) -> bool:
        """Return whether the policy is about a user: one of its name and group, or both."""
        wanted = self.user, self.group
        found = user.name == self.user, self.group in user.groups
        return any(wanted) and all(
            not text or text == "*" or matched for text, matched in zip(wanted, found, strict=True)
        )

    def allows(self, attributes: Attributes) -> bool:
        """Return whether the policy allows an action of one of its users."""
        if self.reads_only and attributes.verb not in _READS:
            return False
        if not attributes.is_resource:
            return _matches_path(self.path, attributes.path)
        return (
            self.namespace in ("*", attributes.namespace)
            and self.resource in ("*", attributes.resource)
            and self.api_group in ("*", attributes.group)
        )


def _matches_path(pattern: str, path: str) -> bool:
    is_prefix = pattern.endswith("*") and path.startswith(pattern.rstrip("*"))
    return is_prefix or pattern == path


class ABAC:
    """Allows what a policy allows; it has no opinion otherwise. Raises OSError, and ValueError for
    a line that is no policy."""

    def __init__(self, path: Path) -> None:
        self._policies = list(_read(path))

    def decide(self, attributes: Attributes) -> Decision:
        """Return whether one of the policies allows an action."""
        for policy in self._policies:
            if policy.concerns(attributes.user) and policy.allows(attributes):
                return YES
        return _NO

    def rules_for(self, user: User, namespace: str) -> HeldRules:
        """Return the policies about a user as rules."""
        rules: list[Object] = []
        for policy in self._policies:
            if policy.concerns(user) and policy.namespace in ("*", namespace):
                verbs = list(_READS) if policy.reads_only else ["*"]
                if policy.resource:
                    rules.append(
                        {
                            "verbs": verbs,
                            "apiGroups": [policy.api_group],
                            "resources": [policy.resource],
                        }
                    )
                if policy.path:
                    rules.append({"verbs": verbs, "nonResourceURLs": [policy.path]})
        return HeldRules(rules)


def _read(path: Path) -> Iterator[Policy]:
    for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
        text = line.strip()
        if not text or text.startswith("#"):
            continue
        try:
            document = json.loads(text)
            yield _policy(document)
        except (ValueError, TypeError, AttributeError) as error:
            raise ValueError(
                f"error reading policy file {path}, line {number}: {line}: {error}"
            ) from error


def _policy(document: Object) -> Policy:
    if "apiVersion" not in document and "kind" not in document:
        return _of_v0(document)
    if (document.get("apiVersion"), document.get("kind")) != _VERSION:
        raise ValueError(f"expected {' '.join(_VERSION)}")
    spec = document.get("spec") or {}
    user, group = _subjects(spec)
    return Policy(
        user,
        group,
        spec.get("namespace", ""),
        spec.get("resource", ""),
        spec.get("apiGroup", ""),
        spec.get("nonResourcePath", ""),
        bool(spec.get("readonly")),
    )


def _of_v0(spec: Object) -> Policy:
    """Return a policy without a version: what it leaves out matches everything."""
    user, group = _subjects(spec)
    if not user and not group:
        group = AUTHENTICATED
    namespace, resource = spec.get("namespace", ""), spec.get("resource", "")
    path = "" if namespace or resource else "*"
    is_read_only = bool(spec.get("readonly"))
    return Policy(user, group, namespace or "*", resource or "*", "*", path, is_read_only)


def _subjects(spec: Object) -> tuple[str, str]:
    """Return the user and the group of a policy. `*` means all authenticated users."""
    user, group = spec.get("user", ""), spec.get("group", "")
    return ("", AUTHENTICATED) if "*" in (user, group) else (user, group)
