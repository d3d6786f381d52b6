"""Injection points: documents of a package that receive their spec from objects of the
namespace."""

from collections.abc import Sequence
from typing import Any

from inkube.client import Client, Object, get_or_none
from inkube.controllers.porch.files import documents, kptfile
from inkube.controllers.porch.files.documents import Document, Files
from inkube.formats import resources, split_api_version

POINT = "kpt.dev/config-injection"
INJECTED_ANNOTATION = "kpt.dev/injected-resource"


async def inject(
    files: Files, injectors: Sequence[Object], client: Client, namespace: str
) -> Files:
    """Return the files with every injection point filled. A condition in the Kptfile records the
    result of each injection point."""
    if not injectors:
        return files
    read = documents.read(files)
    changes: list[kptfile.Edit] = []
    for document in read:
        kind = documents.annotations(document.value).get(POINT)
        if kind not in ("required", "optional"):
            continue
        name = await _inject(document, injectors, client, namespace)
        _, own_kind, _, own = documents.identity(document.value)
        condition = f"config.injection.{own_kind}.{own}"
        reason = "ConfigInjected" if name else "NoResourceSelected"
        message = f"injected resource {name}" if name else "no resource matched any injector"
        changes.append(kptfile.with_condition(condition, bool(name), reason, message))
        if kind == "required":
            changes.append(_gate(condition))
    made = documents.write(files, read)
    return kptfile.edit(made, *changes) if changes else made


def _gate(condition: str) -> kptfile.Edit:
    def change(tree: Any) -> None:
        info = documents.descend(tree, "info")
        gates = info.get("readinessGates") or []
        if not any(each.get("conditionType") == condition for each in gates):
            info["readinessGates"] = [*gates, {"conditionType": condition}]

    return change


async def _inject(
    document: Document, injectors: Sequence[Object], client: Client, namespace: str
) -> str:
    """Inject the spec (or data) of the first matching object into the document. Return the name of
    that object; "" if no object matches."""
    group, version = split_api_version(str(document.value["apiVersion"]))
    kind = str(document.value["kind"])
    found = {"group": group, "version": version, "kind": kind}
    for injector in injectors:
        if any(injector.get(member) not in (None, "", found[member]) for member in found):
            continue
        source = await _get(client, found, injector["name"], namespace)
        if source is None:
            continue
        member = "data" if kind == "ConfigMap" and not group else "spec"
        content = source.get(member)

        def change(tree: Any, member: str = member, content: Any = content) -> None:
            tree[member] = content
            name = injector["name"]  # noqa: B023 # called at once
            documents.descend(tree, "metadata", "annotations")[INJECTED_ANNOTATION] = name

        document.edit(change)
        return str(injector["name"])
    return ""


async def _get(client: Client, kind: Object, name: str, namespace: str) -> Object | None:
    plural = await plural_of(client, kind["group"], kind["kind"])
    if not plural:
        return None
    prefix = f"{kind['group']}/" if kind["group"] else ""
    return await get_or_none(client, f"{prefix}{kind['version']}/{plural}", name, namespace)


async def plural_of(client: Client, group: str, kind: str) -> str:
    """Return the plural name of a kind in paths; "" if the kind is not served."""
    for (own, plural), each in resources.by_name().items():
        if own == group and each.kind == kind:
            return plural
    listed = await client.list("apiextensions.k8s.io/v1/customresourcedefinitions")
    for definition in listed.items:
        spec = definition["spec"]
        if spec["group"] == group and spec["names"]["kind"] == kind:
            return str(spec["names"]["plural"])
    return ""
