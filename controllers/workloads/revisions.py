"""ControllerRevisions: the present and past templates of a StatefulSet or DaemonSet.

Follows pkg/controller/history/controller_history.go.
"""

import orjson

from inkube.client import Client, Object
from inkube.controllers.workloads import templates, writes
from inkube.controllers.workloads.claims import Claims
from inkube.controllers.workloads.cluster import Cluster
from inkube.formats import controller_reference
from inkube.kinds import Reason, StatusError

REVISIONS = "apps/v1/controllerrevisions"
HASH = "controller-revision-hash"
OWN_HASH = "controller.kubernetes.io/hash"
_TRIES = 10


def data_of(owner: Object) -> Object:
    """Return the data of a revision: a patch that replaces the template of its owner.

    Its members are sorted, as Go writes maps: clients compare the bytes.
    """
    patch = {"spec": {"template": {**owner["spec"]["template"], "$patch": "replace"}}}
    made: Object = orjson.loads(orjson.dumps(patch, option=orjson.OPT_SORT_KEYS))
    return made


class Revisions:
    """The revisions of the owners of one kind."""

    def __init__(self, cluster: Cluster, client: Client, owners: str, *, label: str) -> None:
        self._client = client
        self._label = label
        self._cache = cluster.informer(REVISIONS)
        self._revisions_by_owner = cluster.by_controller(REVISIONS)
        self._claims = Claims(client, REVISIONS, owners)

    async def of(self, owner: Object) -> list[Object]:
        """Return all revisions of an owner, sorted by number."""
        meta = owner["metadata"]
        keys = self._revisions_by_owner.keys(meta["uid"]) + self._revisions_by_owner.keys(
            f"none/{meta['namespace']}"
        )
        found = [each for each in map(self._cache.get, keys) if each is not None]
        claimed = await self._claims.claim(owner, owner["spec"].get("selector") or {}, found)
        return sorted(claimed, key=lambda each: (each["revision"], each["metadata"]["name"]))

    async def current(
        self,
        owner: Object,
        stored: list[Object],
        collisions: int,
        annotations: Object | None = None,
    ) -> tuple[Object, int]:
        """Return the revision of the owner's template and the number of collisions.

        Creates the revision, or makes an existing one the newest. Raises RuntimeError after
        `_TRIES` names that other revisions have.
        """
        data = data_of(owner)
        newest = max((each["revision"] for each in stored), default=0)
        same = [each for each in stored if each.get("data") == data]
        if same:
            found = same[-1]
            if found["revision"] == newest:
                return found, collisions
            raised = await self._client.update({**found, "revision": newest + 1})
            await self._cache.wait_for_write(raised)
            return raised, collisions
        for _ in range(_TRIES):
            body = self._body(owner, data, collisions, annotations)
            body["revision"] = newest + 1
            try:
                made = await self._client.create(body)
            except StatusError as error:
                if error.reason != Reason.ALREADY_EXISTS:
                    raise
                name, namespace = body["metadata"]["name"], body["metadata"]["namespace"]
                there = await self._client.get(REVISIONS, name, namespace)
                if there.get("data") == data:
                    return there, collisions
                collisions += 1
                continue
            await self._cache.wait_for_write(made)
            return made, collisions
        raise RuntimeError(f"no free name for a revision of {owner['metadata']['name']}")

    def _body(
        self, owner: Object, data: Object, collisions: int, annotations: Object | None
    ) -> Object:
        meta = owner["metadata"]
        digest = templates.template_hash(data, collisions)
        labels = (owner["spec"]["template"].get("metadata") or {}).get("labels") or {}
        made: Object = {
            "apiVersion": "apps/v1",
            "kind": "ControllerRevision",
            "metadata": {
                "name": f"{meta['name']}-{digest}",
                "namespace": meta["namespace"],
                "labels": {**labels, self._label: digest},
                "ownerReferences": [controller_reference(owner)],
            },
            "data": data,
        }
        if annotations:
            made["metadata"]["annotations"] = annotations
        return made

    async def trim(self, stored: list[Object], live: set[str], limit: int) -> None:
        """Delete the oldest unused revisions beyond the limit. `live`: names of used revisions."""
        unused = [each for each in stored if each["metadata"]["name"] not in live]
        for each in unused[: max(len(unused) - limit, 0)]:
            await writes.delete(self._client, REVISIONS, each)
