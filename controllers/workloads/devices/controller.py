"""Creates claims from templates for pods, and releases claims whose pods ended.

Follows pkg/controller/resourceclaim, without claims of pod groups. kube-scheduler makes those
for extended resources.
"""

from collections.abc import Iterator

from inkube.client import Object, ignoring
from inkube.controllers.workloads import pods, templates, writes
from inkube.controllers.workloads.claims import controller_of, is_controlled_by
from inkube.controllers.workloads.cluster import PODS, Cluster
from inkube.controllers.workloads.devices import (
    CLAIMS,
    FINALIZER,
    SINCE,
    TEMPLATES,
    podclaims,
)
from inkube.kinds import Change, Controller, Key, StatusError, Watch

NAME = "resourceclaim-controller"
MANAGER = "ResourceClaimController"
_COMPONENT = "resource_claim"
_ANNOTATION = "resource.kubernetes.io/pod-claim-name"
_LONGEST = 57
"""Bytes of the prefix of a generated name, at most: five random characters follow a hyphen."""


class Pods:
    """Creates the claims of one pod at a time, and reserves allocated ones for placed pods."""

    def __init__(self, cluster: Cluster) -> None:
        self._client = cluster.client()
        self._events = cluster.recorder(_COMPONENT)
        self._pods = cluster.informer(PODS)
        self._claims = cluster.informer(CLAIMS)
        self._templates = cluster.informer(TEMPLATES)
        self._of_pod = cluster.by_controller(CLAIMS)
        self._by_claim = self._pods.index(_claims_of)
        self._by_template = self._pods.index(_templates_of)

    def of_pod(self, change: Change) -> Iterator[Key]:
        """Yield the pod of a change, if it needs claims. Most pods do not."""
        if change.new is not None and _needs_claims(change.new):
            yield Key.of(change.new)

    def of_claim(self, change: Change) -> Iterator[Key]:
        """Yield the pods that use a claim."""
        yield from self._by_claim.keys(_place(change.object))

    def of_template(self, change: Change) -> Iterator[Key]:
        """Yield the pods that wait for a template."""
        if change.new is not None:
            yield from self._by_template.keys(_place(change.object))

    async def reconcile(self, key: Key) -> None:
        """Create missing claims, and note their names in the status of the pod (syncPod)."""
        pod = self._pods.get(key)
        if pod is None or not _needs_claims(pod):
            return
        names, is_new = {}, False
        entries = {each["name"]: each for each in pod["spec"]["resourceClaims"]}
        for each in podclaims.named(pod):
            if not each.is_generated or (each.name is None and not each.is_missing):
                continue
            name = each.name if self._is_usable(pod, each) else None
            if name is None:
                is_new = True
                name = await self._create(pod, entries[each.entry])
                if name is None:
                    return
            names[each.entry] = name
        if is_new:
            await self._note_names(pod, names)
        elif pod["spec"].get("nodeName"):
            await self._reserve(pod)

    def _is_usable(self, pod: Object, each: podclaims.Named) -> bool:
        """Return whether the generated claim exists and is the pod's."""
        claim = self._claims.get(Key(pod["metadata"]["namespace"], each.name or ""))
        return claim is not None and is_controlled_by(claim, pod)

    async def _create(self, pod: Object, entry: Object) -> str | None:
        """Create the claim of an entry, and return its name; None without the template."""
        for known in self._own_claims(pod):
            notes = known["metadata"].get("annotations") or {}
            if notes.get(_ANNOTATION) == entry["name"]:
                return str(known["metadata"]["name"])
        wanted = entry.get("resourceClaimTemplateName") or ""
        template = self._templates.get(Key(pod["metadata"]["namespace"], wanted))
        if template is None:
            missing = f'resourceclaimtemplate.resource.k8s.io "{wanted}" not found'
            await self._warn(pod, entry, f'resource claim template "{wanted}": {missing}')
            return None
        try:
            made = await self._client.create(_claim(pod, entry["name"], template["spec"]))
        except StatusError as error:
            await self._warn(pod, entry, f"create ResourceClaim : {error}")
            raise
        return str(made["metadata"]["name"])

    def _own_claims(self, pod: Object) -> Iterator[Object]:
        for key in self._of_pod.keys(pod["metadata"]["uid"]):
            claim = self._claims.get(key)
            if claim is not None:
                yield claim

    async def _warn(self, pod: Object, entry: Object, why: str) -> None:
        text = f"PodResourceClaim {entry['name']}: {why}"
        await self._events.warning(pod, "FailedResourceClaimCreation", text)

    async def _note_names(self, pod: Object, names: dict[str, str]) -> None:
        meta = pod["metadata"]
        statuses = [{"name": own, "resourceClaimName": name} for own, name in names.items()]
        patch = {
            "apiVersion": "v1",
            "kind": "Pod",
            "metadata": {"name": meta["name"], "namespace": meta["namespace"]},
            "status": {"resourceClaimStatuses": statuses},
        }
        with ignoring(404):
            await self._client.patch(
                PODS,
                meta["name"],
                meta["namespace"],
                patch=patch,
                type="apply",
                subresource="status",
                field_manager=MANAGER,
                force=True,
            )

    async def _reserve(self, pod: Object) -> None:
        """Reserve allocated claims for a pod that no scheduler placed."""
        for each in podclaims.named(pod):
            claim = self._claims.get(Key(pod["metadata"]["namespace"], each.name or ""))
            if claim is None or (each.is_generated and not is_controlled_by(claim, pod)):
                continue
            if podclaims.allocation(claim) is None or podclaims.is_reserved(claim, pod):
                continue
            consumers = [*(claim["status"].get("reservedFor") or ()), podclaims.consumer(pod)]
            status = {**claim["status"], "reservedFor": consumers}
            await writes.update(self._client, {**claim, "status": status}, subresource="status")


def _claim(pod: Object, entry: str, template: Object) -> Object:
    meta = template.get("metadata") or {}
    owner = pod["metadata"]
    metadata: Object = {
        "generateName": _prefix(owner["name"], entry),
        "namespace": owner["namespace"],
        "annotations": {**(meta.get("annotations") or {}), _ANNOTATION: entry},
        "ownerReferences": [podclaims.owner_reference(pod)],
    }
    if meta.get("labels"):
        metadata["labels"] = meta["labels"]
    version, kind = SINCE
    return {"apiVersion": version, "kind": kind, "metadata": metadata, "spec": template["spec"]}


def _prefix(pod: str, entry: str) -> str:
    whole = f"{pod}-{entry}-"
    if len(whole) <= _LONGEST:
        return whole
    size = len(whole)
    return f"{pod[: len(pod) * _LONGEST // size]}-{entry[: len(entry) * _LONGEST // size]}"


class Releases:
    """Removes ended pods from the reservations of one claim at a time (syncClaim)."""

    def __init__(self, cluster: Cluster) -> None:
        self._client = cluster.client()
        self._pods = cluster.informer(PODS)
        self._claims = cluster.informer(CLAIMS)
        self._of_pod = cluster.by_controller(CLAIMS)

    def of_claim(self, change: Change) -> Iterator[Key]:
        """Yield a claim that exists."""
        if change.new is not None:
            yield Key.of(change.new)

    def of_pod(self, change: Change) -> Iterator[Key]:
        """Yield the claims of a pod that ended."""
        pod = change.object
        has_claims = pod["spec"].get("resourceClaims") or podclaims.extended_name(pod)
        if not has_claims or (change.new and not _is_done(change.new)):
            return
        for each in podclaims.named(pod):
            if each.name is not None:
                yield Key(pod["metadata"]["namespace"], each.name)
        yield from self._of_pod.keys(pod["metadata"]["uid"])

    async def reconcile(self, key: Key) -> None:
        """Release a claim without pods, and delete one that was generated for an ended pod."""
        claim = self._claims.get(key)
        if claim is None:
            return
        status = claim.get("status") or {}
        before = status.get("reservedFor") or []
        left = [each for each in before if self._is_kept(each, key.namespace)]
        is_over = FINALIZER in (claim["metadata"].get("finalizers") or ()) and not left
        current: Object | None = claim
        if len(left) < len(before) or (is_over and pods.is_deleting(claim)):
            current = await self._release(claim, left, is_over=is_over)
        if current is not None and not left and self._is_useless(claim):
            await writes.delete(self._client, CLAIMS, claim)

    async def _release(self, claim: Object, left: list[Object], *, is_over: bool) -> Object | None:
        """Write the remaining reservations; without any, also remove the allocation and the
        finalizer. Returns the claim, or None if another client changed it."""
        status = {**(claim.get("status") or {})}
        if left:
            status["reservedFor"] = left
        else:
            status.pop("reservedFor", None)
        if is_over:
            status.pop("allocation", None)
        current: Object | None = claim
        if status != (claim.get("status") or {}):
            made = {**claim, "status": status}
            current = await writes.update(self._client, made, subresource="status")
        if current is None or not is_over:
            return current
        changed = templates.copy(current)
        changed["metadata"]["finalizers"].remove(FINALIZER)
        return await writes.update(self._client, changed)

    def _is_kept(self, consumer: Object, namespace: str) -> bool:
        if consumer.get("apiGroup") or consumer["resource"] != "pods":
            return True
        pod = self._pods.get(Key(namespace, consumer["name"]))
        return pod is not None and pod["metadata"]["uid"] == consumer["uid"] and not _is_done(pod)

    def _is_useless(self, claim: Object) -> bool:
        """Return whether a claim was generated for a pod that ended or was replaced."""
        owner = controller_of(claim)
        if owner is None or (owner["apiVersion"], owner["kind"]) != ("v1", "Pod"):
            return False
        pod = self._pods.get(Key(claim["metadata"]["namespace"], owner["name"]))
        return pod is not None and (pod["metadata"]["uid"] != owner["uid"] or _is_done(pod))


def _needs_claims(pod: Object) -> bool:
    return bool(pod["spec"].get("resourceClaims")) and pods.is_active(pod)


def _is_done(pod: Object) -> bool:
    return pods.is_terminal(pod) or (pods.is_deleting(pod) and not pod["spec"].get("nodeName"))


def _claims_of(pod: Object) -> Iterator[str]:
    for each in podclaims.named(pod):
        if each.name is not None:
            yield f"{pod['metadata']['namespace']}/{each.name}"


def _templates_of(pod: Object) -> Iterator[str]:
    for each in pod["spec"].get("resourceClaims") or ():
        if each.get("resourceClaimTemplateName"):
            yield f"{pod['metadata']['namespace']}/{each['resourceClaimTemplateName']}"


def _place(obj: Object) -> str:
    return f"{obj['metadata']['namespace']}/{obj['metadata']['name']}"


def add(cluster: Cluster) -> None:
    """Run the controller that creates and releases claims, in servers that know claims."""
    if cluster.server.find_kind(*SINCE) is None:
        return
    users, releases = Pods(cluster), Releases(cluster)
    watches = (
        Watch(PODS, users.of_pod),
        Watch(CLAIMS, users.of_claim),
        Watch(TEMPLATES, users.of_template),
    )
    cluster.manager.add(Controller(NAME, writes.patient(users.reconcile), watches))
    ends = (Watch(CLAIMS, releases.of_claim), Watch(PODS, releases.of_pod))
    cluster.manager.add(Controller(f"{NAME}-releases", writes.patient(releases.reconcile), ends))
