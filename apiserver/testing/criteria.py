"""Criteria that select requests or watches in a test, and the differences of a
request from them."""

import fnmatch
from collections.abc import Collection, Mapping
from dataclasses import dataclass, fields
from typing import Any, Self

from inkube.apiserver.http import RequestRecord
from inkube.apiserver.watching import OpenWatch


@dataclass(frozen=True, slots=True, kw_only=True)
class Criteria:
    """Criteria for requests. A request matches if it meets all criteria that are not None.

    `resource` is `pods`, `pods/status`, `deployments.apps` or `apps/v1/deployments`, in `kube.log`
    also `Pod` or `po`; verb, code and names can be one or several; `user_agent` and `path` can be
    patterns (`kopf/*`); `fault` is the name of a Fault that affected the request. `body` and
    `answer` are parts of the request's and the response's body: members that they do not contain
    can have any value.
    """

    verb: str | Collection[str] | None = None
    resource: str | None = None
    subresource: str | None = None
    namespace: str | Collection[str] | None = None
    name: str | Collection[str] | None = None
    code: int | Collection[int] | None = None
    method: str | Collection[str] | None = None
    user: str | Collection[str] | None = None
    user_agent: str | None = None
    path: str | None = None
    fault: str | None = None
    body: Any = None
    answer: Any = None

    @classmethod
    def of(cls, criteria: Mapping[str, Any]) -> Self:
        """Create criteria from keyword arguments. Raises TypeError for an unknown name."""
        known = [each.name for each in fields(cls)]
        for name in criteria:
            if name not in known:
                raise TypeError(f"requests have no {name!r}; they have {', '.join(known)}")
        return cls(**criteria)

    def misses(self, record: RequestRecord) -> list[str]:
        """Return the differences between a request and these criteria; empty if the request
        matches."""
        found = [*self._resource_mismatches(record, record.subresource)]
        for name in ("verb", "namespace", "name", "code", "method", "user"):
            found += _differs(name, getattr(self, name), getattr(record, name))
        for name in ("user_agent", "path"):
            found += _unlike(name, getattr(self, name), getattr(record, name))
        if self.fault is not None and self.fault not in record.faults:
            found.append(f"faults are {list(record.faults)}")
        if self.body is not None:
            found += _lacks("body", self.body, record.body)
        if self.answer is not None:
            found += _lacks("answer", self.answer, record.answer)
        return found

    def misses_watch(self, watch: OpenWatch) -> list[str]:
        """Return the differences between an open watch and these criteria; empty if the watch
        matches."""
        found = [*self._resource_mismatches(watch, "")]
        for name in ("namespace", "name", "user"):
            found += _differs(name, getattr(self, name), getattr(watch, name))
        return found + _unlike("user_agent", self.user_agent, watch.user_agent)

    def _resource_mismatches(
        self, request: RequestRecord | OpenWatch, subresource: str
    ) -> list[str]:
        found = []
        if self.subresource is not None and self.subresource != subresource:
            found.append(f"subresource is {subresource!r}")
        if self.resource is None:
            return found
        group, resource, wanted_sub = split(self.resource)
        is_same = resource == request.resource and group in (None, request.group)
        if not is_same or (self.subresource is None and wanted_sub != subresource):
            whole = f"{request.resource}/{subresource}" if subresource else request.resource
            found.append(f"resource is {whole}{'.' if request.group else ''}{request.group}")
        return found

    def __str__(self) -> str:
        given = {each.name: getattr(self, each.name) for each in fields(self)}
        return ", ".join(f"{name}={value!r}" for name, value in given.items() if value is not None)


def split(resource: str) -> tuple[str | None, str, str]:
    """Split a resource as tests write it. Returns group (None for any), plural and subresource."""
    parts = resource.split("/")
    if len(parts) >= 3 or (len(parts) == 2 and parts[0] in ("v1", "v1beta1")):
        group, parts = ("", parts[1:]) if parts[0] in ("v1", "v1beta1") else (parts[0], parts[2:])
        return group, parts[0], "/".join(parts[1:])
    plural, _, group = parts[0].partition(".")
    return (group or None), plural, "/".join(parts[1:])


def _differs(name: str, expected: Any, actual: Any) -> list[str]:
    if expected is None or expected == actual:
        return []
    if not isinstance(expected, str | int) and actual in expected:
        return []
    return [f"{name} is {actual!r}"]


def _unlike(name: str, pattern: str | None, actual: str) -> list[str]:
    if pattern is None or fnmatch.fnmatchcase(actual, pattern):
        return []
    return [f"{name} is {actual!r}"]


def _lacks(path: str, expected: Any, actual: Any) -> list[str]:
    """Return the paths at which a value differs from the expected one; lists must have the same
    length."""
    if isinstance(expected, Mapping):
        if not isinstance(actual, Mapping):
            return [f"{path} is {actual!r}"]
        misses = []
        for name, value in expected.items():
            if name in actual:
                misses += _lacks(f"{path}.{name}", value, actual[name])
            else:
                misses.append(f"{path} has no {name}")
        return misses
    if isinstance(expected, list) and isinstance(actual, list) and len(expected) == len(actual):
        pairs = enumerate(zip(expected, actual, strict=True))
        return [miss for at, (a, b) in pairs for miss in _lacks(f"{path}[{at}]", a, b)]
    return [] if expected == actual else [f"{path} is {actual!r}"]
