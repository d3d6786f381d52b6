"""Writes to two forks at the same time, as dry runs, and what only the later minor says to them."""

import asyncio
from collections.abc import Iterator
from typing import Any, NamedTuple

from inkube.apiserver.plans import Answer, Api, clientside
from inkube.apiserver.upgrades.statements import Code, Statement
from inkube.schemas.objects import Object

_DRY = {"dryRun": "All", "fieldManager": "inkube-upgrade"}
_SET_BY_SERVER = (
    "uid", "resourceVersion", "creationTimestamp", "generation", "managedFields", "selfLink",
    "deletionTimestamp", "deletionGracePeriodSeconds",
)  # fmt: skip
_ASSIGNED = {"Service": ("clusterIP", "clusterIPs", "healthCheckNodePort"), "Pod": ("nodeName",)}
"""Members of specs that a server has assigned, and would assign again."""
NAMED = frozenset({"CustomResourceDefinition", "APIService", "Namespace", "Node", "IPAddress"})
"""Kinds whose names have a meaning, so that a second object cannot be created."""
OK = frozenset({200, 201})
_TOUCHED = "inkube.dev/rehearsed"


class Answers(NamedTuple):
    """The responses of the two minors."""

    old: Answer
    new: Answer


class Forks(NamedTuple):
    """Two forks of the same data, one for each minor."""

    old: Api
    new: Api

    async def send(self, method: str, path: str, body: Any, media: str = "") -> Answers:
        """Send a dry run to both."""
        return Answers(
            *await asyncio.gather(*(api.send(method, path, body, _DRY, media) for api in self))
        )

    async def update(self, obj: Object) -> Answers:
        """Write a stored object with a change that no rule is about."""
        metadata = obj["metadata"]
        annotations = {**(metadata.get("annotations") or {}), _TOUCHED: "true"}
        body = {**obj, "metadata": {**metadata, "annotations": annotations}}
        resource = self.new.client.resource_of(obj)
        return await self.send(
            "PUT", resource.path(metadata.get("namespace", ""), metadata["name"]), body
        )

    async def apply(self, manifest: Object, obj: Object, minor: int) -> Answers | None:
        """Apply a manifest to a stored object of the same version, as kubectl does by default. None
        if nothing would be sent."""
        metadata = obj["metadata"]
        resource = self.new.client.resource_of(obj)
        write = clientside.write(resource, manifest, obj, {}, minor)
        if write.is_empty:
            return None
        path = resource.path(metadata.get("namespace", ""), metadata["name"])
        return await self.send(write.method, path, write.body, write.media)

    async def create(self, obj: Object) -> Answers:
        """Create a copy of an object under another name. Raises StatusError if a minor does not
        serve its kind."""
        metadata = {k: v for k, v in obj["metadata"].items() if k not in _SET_BY_SERVER}
        name = str(metadata.get("name") or metadata.get("generateName") or "object")
        metadata["name"] = f"{name[:200].rstrip('-')}-rehearsed"
        body = {**obj, "metadata": metadata}
        if isinstance(spec := obj.get("spec"), dict):
            left = _ASSIGNED.get(obj["kind"], ())
            body["spec"] = {name: value for name, value in spec.items() if name not in left}
        body.pop("status", None)
        resource, _ = (api.client.resource_of(obj) for api in self)
        return await self.send("POST", resource.path(metadata.get("namespace", "")), body)


def compared(code: Code, title: str, answers: Answers) -> Iterator[Statement]:
    """Yield what only the later minor refuses or warns about."""
    old, new = answers
    if old.code in OK and new.code not in OK:
        message = str(new.body.get("message", ""))
        causes = (new.body.get("details") or {}).get("causes") or ()
        texts = [f"{each.get('field', '')}: {each.get('message', '')}" for each in causes]
        for text in texts or [message]:
            yield Statement(code, title, text)
    for warning in new.warnings:
        if warning not in old.warnings:
            yield Statement(Code.WARNING, title, warning)
