"""PackageVariant: a downstream package that follows an upstream package.

It is level-based, and reacts to its own changes and to changes of the PackageRevisions that it
uses. It creates drafts; users propose and approve them.
"""

import re
from collections.abc import Iterable, Sequence
from typing import Any

from inkube.client import Object, get_or_none
from inkube.controllers.porch import revisions, storedobjects
from inkube.controllers.porch.files import documents, kptfile, packages
from inkube.controllers.porch.files.documents import Files
from inkube.controllers.porch.git import layout
from inkube.controllers.porch.git.layout import DELETION_PROPOSED, DRAFT, FINAL, PROPOSED, PUBLISHED
from inkube.controllers.porch.types import (
    CONFIG,
    PackageRevision,
    PackageRevisionResources,
    PackageVariant,
)
from inkube.controllers.porch.variants import conditions, injection
from inkube.formats import controller_reference
from inkube.kinds import (
    Change,
    Controller,
    Environment,
    Finding,
    Key,
    KindModule,
    Result,
    StatusError,
    Watch,
)

FINALIZER = "config.porch.kpt.dev/packagevariants"
WORKSPACE = "packagevariant-"
_ADOPTION = ("", "adoptNone", "adoptExisting")
_DELETION = ("", "delete", "orphan")
_RESERVED = ("name", "package-path")
_PREFIX = "PackageVariant."


class VariantError(Exception):
    """A variant cannot follow its upstream; the text is the message of the Ready condition."""


class Stalled(VariantError):
    """A VariantError that only a change of the variant or of its upstream can solve."""


def module() -> KindModule[PackageVariant]:
    """Return the kind with its controller."""
    return conditions.module(PackageVariant, wrong_with, _controller)


def wrong_with(spec: Object) -> list[tuple[str, str]]:
    """Return the invalid fields of a spec, with the texts of the real server."""
    found: list[tuple[str, str]] = []
    for side in ("upstream", "downstream"):
        block = spec.get(side)
        if not block:
            found.append((f"spec.{side}", f"missing required field spec.{side}"))
            continue
        for member in ("repo", "package"):
            if not block.get(member):
                field = f"spec.{side}.{member}"
                found.append((field, f"missing required field {field}"))
    if (spec.get("adoptionPolicy") or "") not in _ADOPTION:
        text = 'spec.adoptionPolicy field can only be "adoptNone" or "adoptExisting"'
        found.append(("spec.adoptionPolicy", text))
    if (spec.get("deletionPolicy") or "") not in _DELETION:
        text = 'spec.deletionPolicy can only be "orphan" or "delete"'
        found.append(("spec.deletionPolicy", text))
    context = spec.get("packageContext") or {}
    if any(key in (context.get("data") or {}) for key in _RESERVED):
        text = "spec.packageContext.data must not contain the keys name and package-path"
        found.append(("spec.packageContext.data", text))
    if any(key in (context.get("removeKeys") or []) for key in _RESERVED):
        text = "spec.packageContext.removeKeys must not contain the keys name and package-path"
        found.append(("spec.packageContext.removeKeys", text))
    for at, injector in enumerate(spec.get("injectors") or []):
        if not injector.get("name"):
            field = f"spec.injectors[{at}].name"
            found.append((field, f"{field} must not be empty"))
    return found


def _controller(env: Environment) -> Controller:
    informer = env.informers.of(PackageVariant.gvr)

    def affected_keys(change: Change) -> Iterable[Key]:
        spec = change.object["spec"]
        place = (spec.get("repository"), spec.get("packageName"))
        owners = {each["uid"] for each in change.object["metadata"].get("ownerReferences") or ()}
        for variant in informer.items(change.object["metadata"]["namespace"]):
            own = variant.get("spec") or {}
            sides = [own.get("upstream") or {}, own.get("downstream") or {}]
            named = place in [(side.get("repo"), side.get("package")) for side in sides]
            if named or variant["metadata"]["uid"] in owners:
                yield Key.of(variant)

    async def reconcile(key: Key) -> Result | None:
        return await Variants(env).reconcile(key)

    watches = (Watch(PackageVariant.gvr), Watch(PackageRevision.gvr, affected_keys))
    return Controller(f"{PackageVariant.gvr.resource}.{CONFIG}", reconcile, watches)


class Variants:
    """Reconciles one variant at a time."""

    def __init__(self, env: Environment) -> None:
        self._env, self._client = env, env.client

    async def reconcile(self, key: Key) -> Result | None:
        """Reconcile one variant, and write the result to its status."""
        obj = await get_or_none(self._client, PackageVariant, key.name, key.namespace)
        if obj is None:
            return None
        meta = obj["metadata"]
        if meta.get("deletionTimestamp"):
            try:
                await self._end(obj)
            except StatusError as error:  # a Draft that is an upstream cannot be deleted yet
                await self._write_conditions(
                    obj, [Finding("Ready", False, "Error", error.message)], None
                )
                raise
            return None
        if FINALIZER not in (meta.get("finalizers") or []):
            finalizers = [*(meta.get("finalizers") or []), FINALIZER]
            patch = {"metadata": {"finalizers": finalizers, "uid": meta["uid"]}}
            obj = await self._client.patch(PackageVariant.gvr, key.name, key.namespace, patch=patch)
        errors = [text for _, text in wrong_with(obj.get("spec") or {})]
        if errors:
            await self._write_conditions(obj, _stalled("; ".join(errors)), None)
            return None
        try:
            targets = await self._ensure(obj)
        except Stalled as error:
            await self._write_conditions(obj, _stalled(str(error)), None)
        except VariantError as error:
            await self._write_conditions(
                obj, [_VALID, Finding("Ready", False, "Error", str(error))], None
            )
        except StatusError as error:
            await self._write_conditions(
                obj, [_VALID, Finding("Ready", False, "Error", error.message)], None
            )
            if error.code in (409, 503):
                raise
        else:
            text = "successfully ensured downstream package variant"
            await self._write_conditions(
                obj, [_VALID, Finding("Ready", True, "NoErrors", text)], targets
            )
        return None

    # the downstream revisions

    async def _ensure(self, obj: Object) -> list[str]:
        """Create or update the downstream revisions. Return their names. Raises VariantError."""
        spec, namespace = obj["spec"], obj["metadata"]["namespace"]
        upstream = await self._upstream(spec["upstream"], namespace)
        place = spec["downstream"]
        there = [
            each
            for each in await storedobjects.of_package(
                self._client, namespace, place["repo"], place["package"]
            )
            if not revisions.is_placeholder(each)
        ]
        await self._leave_others(obj, place)
        ours = [each for each in there if _is_ours(each, obj)]
        if spec.get("adoptionPolicy") == "adoptExisting":
            for each in there:
                if each not in ours and not each["metadata"].get("deletionTimestamp"):
                    ours.append(await self._adopt(each, obj))
        targets = [each for each in ours if each["spec"]["lifecycle"] in (DRAFT, PROPOSED)]
        latest = revisions.highest(ours)
        if not targets and latest is not None:
            targets = [latest]
        if not targets:
            task = _clone(upstream["metadata"]["name"])
            targets = [await self._draft(obj, there, task)]
        return [await self._follow(obj, each, upstream, there) for each in targets]

    async def _upstream(self, reference: Object, namespace: str) -> Object:
        siblings = await storedobjects.of_package(
            self._client, namespace, reference["repo"], reference["package"]
        )
        found: Object | None = None
        if reference.get("workspaceName"):
            own = (s for s in siblings if s["spec"]["workspaceName"] == reference["workspaceName"])
            found = next((s for s in own if not revisions.is_placeholder(s)), None)
        elif (reference.get("revision") or 0) > 0:
            numbered = (s for s in siblings if revisions.revision_of(s) == reference["revision"])
            found = next(numbered, None)
        else:
            found = revisions.highest(siblings)
        if found is None:
            which = reference.get("workspaceName") or reference.get("revision") or "latest"
            where = f"{reference['repo']}/{reference['package']}"
            raise Stalled(f"could not find upstream package revision {where} ({which})")
        return found

    async def _leave_others(self, obj: Object, downstream: Object) -> None:
        """Release owned revisions that are not in the downstream package."""
        namespace = obj["metadata"]["namespace"]
        for each in await storedobjects.of_namespace(self._client, namespace):
            spec = each["spec"]
            elsewhere = (spec["repository"], spec["packageName"]) != (
                downstream["repo"],
                downstream["package"],
            )
            if elsewhere and _is_ours(each, obj):
                await self._let_go(each, obj)

    async def _let_go(self, revision: Object, obj: Object, *, ends: bool = False) -> None:
        """Delete or orphan a revision, according to the deletion policy.

        A published revision is proposed for deletion. If the variant `ends`, the owner reference is
        removed too: otherwise the garbage collector would delete the proposed revision after its
        owner, and git would lose a tag without an approval.
        """
        meta = revision["metadata"]
        name, namespace = meta["name"], meta["namespace"]
        orphans = (obj["spec"].get("deletionPolicy") or "delete") == "orphan"
        is_final = revision["spec"]["lifecycle"] in FINAL
        if not orphans and not is_final:
            if not meta.get("deletionTimestamp"):
                await self._client.delete(PackageRevision.gvr, name, namespace)
            return
        patch: Object = {}
        if orphans or ends:
            uid = obj["metadata"]["uid"]
            left = [each for each in meta.get("ownerReferences") or [] if each["uid"] != uid]
            version = meta["resourceVersion"]
            patch["metadata"] = {"resourceVersion": version, "ownerReferences": left or None}
        if not orphans and revision["spec"]["lifecycle"] == PUBLISHED:
            patch["spec"] = {"lifecycle": DELETION_PROPOSED}
        if patch:
            await self._client.patch(PackageRevision.gvr, name, namespace, patch=patch)

    async def _adopt(self, revision: Object, obj: Object) -> Object:
        meta = revision["metadata"]
        owners = [*(meta.get("ownerReferences") or []), controller_reference(obj)]
        patch: Object = {"metadata": {"ownerReferences": owners}}
        for member in ("labels", "annotations"):
            if obj["spec"].get(member):
                patch["metadata"][member] = obj["spec"][member]
        return await self._client.patch(
            PackageRevision.gvr, meta["name"], meta["namespace"], patch=patch
        )

    async def _draft(self, obj: Object, existing: Sequence[Object], task: Object) -> Object:
        place, meta = obj["spec"]["downstream"], obj["metadata"]
        numbers = [
            int(match[1])
            for each in existing
            if (match := re.fullmatch(rf"{WORKSPACE}(\d+)", each["spec"]["workspaceName"]))
        ]
        metadata: Object = {
            "namespace": meta["namespace"],
            "ownerReferences": [controller_reference(obj)],
        }
        for member in ("labels", "annotations"):
            if obj["spec"].get(member):
                metadata[member] = obj["spec"][member]
        made = {
            "apiVersion": revisions.API,
            "kind": "PackageRevision",
            "metadata": metadata,
            "spec": {
                "packageName": place["package"],
                "repository": place["repo"],
                "workspaceName": f"{WORKSPACE}{1 + max([0, *numbers])}",
                "lifecycle": DRAFT,
                "tasks": [task],
            },
        }
        return await self._client.create(made)

    async def _follow(
        self, obj: Object, target: Object, upstream: Object, existing: Sequence[Object]
    ) -> str:
        """Update one downstream revision to its upstream and to the wanted content. Return the name
        of the resulting revision. Raises VariantError."""
        name = target["metadata"]["name"]
        if target["spec"]["lifecycle"] == DELETION_PROPOSED:
            target["spec"]["lifecycle"] = PUBLISHED
            target = await self._client.update(target, subresource="approval")
        lock = ((target.get("status") or {}).get("upstreamLock") or {}).get("git") or {}
        wanted = revisions.ref_of(upstream)
        if lock.get("ref") and lock["ref"] != wanted:
            if target["spec"]["lifecycle"] != PUBLISHED:
                raise VariantError(
                    f'cannot update upstream of downstream "{name}" when it is not published'
                )
            target = await self._upgrade(obj, target, upstream, existing, lock["ref"])
        return await self._content(obj, target, existing)

    async def _upgrade(
        self, obj: Object, target: Object, upstream: Object, existing: Sequence[Object], ref: str
    ) -> Object:
        wanted, namespace = obj["spec"]["upstream"], obj["metadata"]["namespace"]
        number = layout.revision_of(ref.rpartition("/")[2])
        siblings = await storedobjects.of_package(
            self._client, namespace, wanted["repo"], wanted["package"]
        )
        old = next((each for each in siblings if revisions.revision_of(each) == number), None)
        if old is None or number < 1:
            raise VariantError(
                f"could not find the old upstream {ref} of {target['metadata']['name']}"
            )
        names = {
            "oldUpstreamRef": old,
            "newUpstreamRef": upstream,
            "localPackageRevisionRef": target,
        }
        block: Object = {
            member: {"name": each["metadata"]["name"]} for member, each in names.items()
        }
        task = {"type": "upgrade", "upgrade": {**block, "strategy": "resource-merge"}}
        return await self._draft(obj, existing, task)

    async def _content(self, obj: Object, target: Object, existing: Sequence[Object]) -> str:
        """Apply context, pipeline and injections; a published revision is copied to a draft first.
        Return the name of the changed revision. Raises VariantError."""
        if not any(obj["spec"].get(m) for m in ("packageContext", "pipeline", "injectors")):
            return str(target["metadata"]["name"])
        wanted = await self._desired_state(obj, target)
        if wanted is None:
            return str(target["metadata"]["name"])
        if target["spec"]["lifecycle"] == PUBLISHED:
            source = {"sourceRef": {"name": target["metadata"]["name"]}}
            target = await self._draft(obj, existing, {"type": "edit", "edit": source})
            wanted = await self._desired_state(obj, target)
        if wanted is not None:
            if target["spec"]["lifecycle"] != DRAFT:
                name = target["metadata"]["name"]
                raise VariantError(f'cannot change downstream "{name}": it is proposed')
            await self._client.update(wanted)
        return str(target["metadata"]["name"])

    async def _desired_state(self, obj: Object, target: Object) -> Object | None:
        """Return the resources with the wanted content; None if they already have it."""
        name, namespace = target["metadata"]["name"], target["metadata"]["namespace"]
        found = await self._client.get(PackageRevisionResources.gvr, name, namespace)
        files: Files = found["spec"]["resources"]
        made = with_context(files, obj["spec"].get("packageContext") or {})
        made = with_pipeline(made, obj["metadata"]["name"], obj["spec"].get("pipeline") or {})
        made = await injection.inject(
            made, obj["spec"].get("injectors") or [], self._client, namespace
        )
        if made == files:
            return None
        found["spec"]["resources"] = made
        return found

    # the end of a variant, and its status

    async def _end(self, obj: Object) -> None:
        meta = obj["metadata"]
        if FINALIZER not in (meta.get("finalizers") or []):
            return
        for each in await storedobjects.of_namespace(self._client, meta["namespace"]):
            if _is_ours(each, obj):
                await self._let_go(each, obj, ends=True)
        left = [each for each in meta["finalizers"] if each != FINALIZER]
        patch = {"metadata": {"finalizers": left or None, "uid": meta["uid"]}}
        await self._client.patch(PackageVariant.gvr, meta["name"], meta["namespace"], patch=patch)

    async def _write_conditions(
        self, obj: Object, findings: Sequence[Finding], targets: Sequence[str] | None
    ) -> None:
        await conditions.write(self._env, PackageVariant, obj, findings, (
            {} if targets is None else {"downstreamTargets": [{"name": n} for n in targets]}
        ))  # fmt: skip


_VALID = Finding("Stalled", False, "Valid", "all validation checks passed")


def _stalled(text: str) -> list[Finding]:
    return [
        Finding("Stalled", True, "ValidationError", text),
        Finding("Ready", False, "Error", "invalid packagevariant object"),
    ]


def with_context(files: Files, context: Object) -> Files:
    """Return the files with keys of the package context set and removed. Raises VariantError if the
    package has no context."""
    data, removed = context.get("data") or {}, context.get("removeKeys") or []
    if not data and not removed:
        return files
    if packages.CONTEXT not in files:
        raise VariantError(f"the package has no {packages.CONTEXT} to write the context into")

    def change(tree: Any) -> None:
        own = documents.descend(tree, "data")
        own.update(data)
        for key in removed:
            own.pop(key, None)

    text = documents.edited(files[packages.CONTEXT], change)
    return {**files, packages.CONTEXT: text}


def with_pipeline(files: Files, variant: str, pipeline: Object) -> Files:
    """Return the files with the functions of the variant before the other ones; earlier functions
    of the variant are replaced."""
    prefix = f"{_PREFIX}{variant}."

    def change(tree: Any) -> None:
        for member in ("validators", "mutators"):
            old = (tree.get("pipeline") or {}).get(member) or []
            others = [each for each in old if not str(each.get("name", "")).startswith(prefix)]
            own = [
                {**each, "name": f"{prefix}{each.get('name', '')}.{at}"}
                for at, each in enumerate(pipeline.get(member) or [])
            ]
            if own or len(others) != len(old):
                documents.descend(tree, "pipeline")[member] = [*own, *others]
                if not tree["pipeline"][member]:
                    del tree["pipeline"][member]
        if "pipeline" in tree and not tree["pipeline"]:
            del tree["pipeline"]

    return kptfile.edit(files, change)


def _clone(name: str) -> Object:
    return {"type": "clone", "clone": {"upstreamRef": {"upstreamRef": {"name": name}}}}


def _is_ours(revision: Object, obj: Object) -> bool:
    return any(
        each["uid"] == obj["metadata"]["uid"] and each.get("controller")
        for each in revision["metadata"].get("ownerReferences") or ()
    )
