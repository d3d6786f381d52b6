"""PackageVariantSet: PackageVariants for many targets, specified by CEL expressions."""

import hashlib
from collections.abc import Iterable
from typing import Any, NamedTuple

from inkube.client import Object, Selection, get_or_none
from inkube.controllers.porch import revisions, storedobjects
from inkube.controllers.porch.types import (
    CONFIG,
    CONFIG_VERSION,
    PackageRevision,
    PackageVariant,
    PackageVariantSet,
    Repository,
)
from inkube.controllers.porch.variants import conditions, injection, variants
from inkube.formats import cel, controller_reference, same, selectors
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

LABEL = "config.porch.kpt.dev/packagevariantset"
_LONGEST = 63
_KEPT = 54
_KINDS = ("repositories", "repositorySelector", "objectSelector")
_VARIABLES = ("repoDefault", "packageDefault", "upstream", "repository", "target")
_RESYNC = 60.0
"""Seconds until a set with an objectSelector lists its objects again."""


class InvalidTarget(Exception):
    """The variants cannot be created; the message gives the reason."""


class Target(NamedTuple):
    """The target of one variant, and the object that its expressions can read."""

    repository: str
    package: str
    template: Object
    target: Object


def module() -> KindModule[PackageVariantSet]:
    """Return the kind with its controller."""
    return conditions.module(PackageVariantSet, wrong_with, _controller)


def wrong_with(spec: Object) -> list[tuple[str, str]]:
    """Return the invalid fields of a spec, with their problems."""
    found: list[tuple[str, str]] = []
    upstream = spec.get("upstream")
    if not upstream:
        found.append(("spec.upstream", "spec.upstream is a required field"))
    else:
        found += [
            (f"spec.upstream.{member}", f"spec.upstream.{member} is a required field")
            for member in ("repo", "package")
            if not upstream.get(member)
        ]
        if not upstream.get("revision") and not upstream.get("workspaceName"):
            text = "either spec.upstream.revision or spec.upstream.workspaceName must be specified"
            found.append(("spec.upstream", text))
    targets = spec.get("targets") or []
    if not targets:
        found.append(("spec.targets", "must specify at least one item in spec.targets"))
    for at, target in enumerate(targets):
        field = f"spec.targets[{at}]"
        if sum(target.get(kind) is not None for kind in _KINDS) != 1:
            text = (
                f"{field} must specify one of `repositories`, `repositorySelector`, or "
                "`objectSelector`"
            )
            found.append((field, text))
        for place, each in enumerate(target.get("repositories") or []):
            if not each.get("name"):
                where = f"{field}.repositories[{place}].name"
                found.append((where, f"{where} cannot be empty"))
        selector = target.get("objectSelector")
        if selector is not None and not (selector.get("apiVersion") and selector.get("kind")):
            where = f"{field}.objectSelector"
            found.append((where, f"{where} must specify apiVersion and kind"))
    return found


def _controller(env: Environment) -> Controller:
    informer = env.informers.of(PackageVariantSet.gvr)

    def all_here(change: Change) -> Iterable[Key]:
        namespace = change.object["metadata"]["namespace"]
        return [Key.of(each) for each in informer.items(namespace)]

    async def reconcile(key: Key) -> Result | None:
        return await Sets(env).reconcile(key)

    watches = (
        Watch(PackageVariantSet.gvr),
        Watch(PackageVariant.gvr, _owners),
        Watch(Repository.gvr, all_here),
        Watch(PackageRevision.gvr, lambda change: all_here(change) if change.old is None else ()),
    )
    return Controller(f"{PackageVariantSet.gvr.resource}.{CONFIG}", reconcile, watches)


def _owners(change: Change) -> Iterable[Key]:
    meta = change.object["metadata"]
    return [
        Key(meta["namespace"], each["name"])
        for each in meta.get("ownerReferences") or ()
        if each["kind"] == "PackageVariantSet"
    ]


class Sets:
    """Reconciles one set at a time."""

    def __init__(self, env: Environment) -> None:
        self._env, self._client = env, env.client

    async def reconcile(self, key: Key) -> Result | None:
        """Create missing variants, correct existing ones, and delete those that are no longer
        wanted."""
        obj = await get_or_none(self._client, PackageVariantSet, key.name, key.namespace)
        if obj is None or obj["metadata"].get("deletionTimestamp"):
            return None
        spec = obj.get("spec") or {}
        errors = [text for _, text in wrong_with(spec)]
        if errors:
            await self._write_conditions(obj, "ValidationError", "; ".join(errors))
            return None
        upstream = await self._upstream(obj)
        if upstream is None:
            place = f"{spec['upstream']['repo']}/{spec['upstream']['package']}"
            await self._write_conditions(
                obj, "UpstreamNotFound", f"could not find upstream package {place}"
            )
            return None
        try:
            wanted = [
                await self._variant(obj, upstream, target) for target in await self._targets(obj)
            ]
            await self._ensure(obj, wanted)
        except (InvalidTarget, StatusError) as error:
            text = error.message if isinstance(error, StatusError) else str(error)
            await self._write_conditions(obj, "UnexpectedError", text)
            if isinstance(error, StatusError) and error.code in (409, 503):
                raise
        else:
            await self._write_conditions(obj, "", "")
        selects = any(target.get("objectSelector") for target in spec["targets"])
        return Result(_RESYNC) if selects else None

    async def _upstream(self, obj: Object) -> Object | None:
        wanted, namespace = obj["spec"]["upstream"], obj["metadata"]["namespace"]
        for each in await storedobjects.of_package(
            self._client, namespace, wanted["repo"], wanted["package"]
        ):
            if revisions.is_placeholder(each):
                continue
            if wanted.get("workspaceName"):
                if each["spec"]["workspaceName"] == wanted["workspaceName"]:
                    return each
            elif revisions.revision_of(each) == wanted["revision"]:
                return each
        return None

    async def _targets(self, obj: Object) -> list[Target]:
        namespace, default = obj["metadata"]["namespace"], obj["spec"]["upstream"]["package"]
        found: list[Target] = []
        for target in obj["spec"]["targets"]:
            template = target.get("template") or {}
            for each in target.get("repositories") or []:
                for package in each.get("packageNames") or [default]:
                    named = {"repo": each["name"], "package": package}
                    found.append(Target(each["name"], package, template, named))
            if target.get("repositorySelector") is not None:
                selector = target["repositorySelector"]
                listed = await self._client.list(Repository.gvr, Selection(namespace))
                found += [
                    Target(each["metadata"]["name"], default, template, _about(each))
                    for each in listed.items
                    if selectors.selects(selector, each["metadata"].get("labels") or {})
                ]
            if target.get("objectSelector") is not None:
                found += [
                    Target(each["metadata"]["name"], default, template, _about(each))
                    for each in await self._objects(target["objectSelector"], namespace)
                ]
        return found

    async def _objects(self, selector: Object, namespace: str) -> list[Object]:
        group, _, version = selector["apiVersion"].rpartition("/")
        plural = await injection.plural_of(self._client, group, selector["kind"])
        if not plural:
            raise InvalidTarget(
                f"kind {selector['kind']} of {selector['apiVersion']} is not served"
            )
        prefix = f"{group}/" if group else ""
        listed = await self._client.list(f"{prefix}{version}/{plural}", Selection(namespace))
        return [
            each
            for each in listed.items
            if selector.get("name") in (None, "", each["metadata"]["name"])
            and selectors.selects(selector, each["metadata"].get("labels") or {})
        ]

    async def _variant(self, obj: Object, upstream: Object, target: Target) -> Object:
        """Return the PackageVariant of one target. Raises Wrong."""
        template, namespace = target.template, obj["metadata"]["namespace"]
        place = template.get("downstream") or {}
        values: Object = {
            "repoDefault": target.repository,
            "packageDefault": target.package,
            "upstream": _about(upstream),
            "repository": {},
            "target": target.target,
        }
        repo = _said(place, "repo", "repoExpr", values, target.repository)
        found = await storedobjects.repository(self._client, repo, namespace)
        values["repository"] = _about(found) if found is not None else {}
        package = _said(place, "package", "packageExpr", values, target.package)
        return {
            "apiVersion": f"{CONFIG}/{CONFIG_VERSION}",
            "kind": "PackageVariant",
            "metadata": {
                "name": name_of(obj["metadata"]["name"], repo, package),
                "namespace": namespace,
                "labels": {LABEL: obj["metadata"]["uid"]},
                "finalizers": [variants.FINALIZER],
                "ownerReferences": [controller_reference(obj)],
            },
            "spec": {
                "upstream": obj["spec"]["upstream"],
                "downstream": {"repo": repo, "package": package},
                **_from_template(template, values),
            },
        }

    async def _ensure(self, obj: Object, desired: list[Object]) -> None:
        meta = obj["metadata"]
        selection = Selection(meta["namespace"], labels=f"{LABEL}={meta['uid']}")
        listed = await self._client.list(PackageVariant.gvr, selection)
        there = {each["metadata"]["name"]: each for each in listed.items}
        for each in desired:
            own = there.pop(each["metadata"]["name"], None)
            if own is None:
                await self._client.create(each)
            elif not same(own["spec"], each["spec"]):
                own["spec"] = each["spec"]
                await self._client.update(own)
        for own in there.values():
            if not own["metadata"].get("deletionTimestamp"):
                await self._client.delete(
                    PackageVariant.gvr, own["metadata"]["name"], meta["namespace"]
                )

    async def _write_conditions(self, obj: Object, reason: str, text: str) -> None:
        if reason:
            stalled = Finding("Stalled", True, reason, text)
            findings = [stalled, Finding("Ready", False, reason, text)]
        else:
            good = "package variants successfully reconciled"
            findings = [
                Finding("Stalled", False, "Valid", "all validation checks passed"),
                Finding("Ready", True, "Reconciled", good),
            ]
        await conditions.write(self._env, PackageVariantSet, obj, findings, {})


def name_of(owner: str, repo: str, package: str) -> str:
    """Return the name of a variant, shortened if it is longer than a label."""
    whole = f"{owner}-{repo}-{package}".replace("/", "-")
    if len(whole) <= _LONGEST:
        return whole
    digest = hashlib.sha1(whole.encode(), usedforsecurity=False).hexdigest()
    return f"{whole[:_KEPT]}-{digest[:8]}"


def _about(obj: Object) -> Object:
    """Return the members of an object that expressions can read."""
    meta = obj["metadata"]
    return {
        "name": meta["name"],
        "namespace": meta.get("namespace", ""),
        "labels": meta.get("labels") or {},
        "annotations": meta.get("annotations") or {},
    }


def _evaluate(text: str, values: Object) -> str:
    """Evaluate an expression to a string. Raises Wrong."""
    try:
        program = cel.compile(text, dict.fromkeys(_VARIABLES, cel.types.DYN))
        found = program.evaluate(values)
    except cel.CelError as error:
        raise InvalidTarget(f"expression {text!r}: {error}") from error
    if not isinstance(found, str):
        raise InvalidTarget(f"expression {text!r} gives no string")
    return found


def _said(block: Object, member: str, expression: str, values: Object, default: str) -> str:
    if block.get(expression):
        return _evaluate(block[expression], values)
    return str(block.get(member) or default)


def _map(expressions: Any, values: Object) -> dict[str, str]:
    return {
        _said(each, "key", "keyExpr", values, ""): _said(each, "value", "valueExpr", values, "")
        for each in expressions or ()
    }


def _pairs(block: Object, member: str, expressions: str, values: Object) -> dict[str, str]:
    return {**(block.get(member) or {}), **_map(block.get(expressions), values)}


def _from_template(template: Object, values: Object) -> Object:
    """Return the spec members of a variant from a template, with evaluated expressions. Raises
    Wrong."""
    policies = ("adoptionPolicy", "deletionPolicy")
    made: Object = {member: template[member] for member in policies if template.get(member)}
    for member in ("labels", "annotations"):
        made[member] = _pairs(template, member, f"{member[:-1]}Exprs", values)
    made["packageContext"] = _context(template.get("packageContext") or {}, values)
    made["pipeline"] = _pipeline(template.get("pipeline") or {}, values)
    made["injectors"] = [
        {
            **{m: each[m] for m in ("group", "version", "kind") if m in each},
            "name": _said(each, "name", "nameExpr", values, ""),
        }
        for each in template.get("injectors") or ()
    ]
    return {member: value for member, value in made.items() if value}


def _context(block: Object, values: Object) -> Object:
    data = _pairs(block, "data", "dataExprs", values)
    removed = list(block.get("removeKeys") or [])
    removed += [_evaluate(text, values) for text in block.get("removeKeyExprs") or ()]
    found: Object = {"data": data} if data else {}
    return {**found, "removeKeys": removed} if removed else found


def _pipeline(block: Object, values: Object) -> Object:
    made: Object = {}
    for member in ("validators", "mutators"):
        functions = []
        for each in block.get(member) or ():
            own = {name: value for name, value in each.items() if name != "configMapExprs"}
            config = _pairs(each, "configMap", "configMapExprs", values)
            if config:
                own["configMap"] = config
            functions.append(own)
        if functions:
            made[member] = functions
    return made
