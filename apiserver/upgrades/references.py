"""Versions that objects name: field managers, the last applied configuration, rules of webhooks and
policies, stored versions of definitions."""

from collections.abc import Iterator

from inkube.apiserver.upgrades.minors import Minors
from inkube.apiserver.upgrades.statements import Code, Statement
from inkube.schemas.lastapplied import last_applied
from inkube.schemas.meta import GVK
from inkube.schemas.objects import Object

_KINDS_WITH_RULES = frozenset({
    "MutatingWebhookConfiguration", "ValidatingWebhookConfiguration",
    "MutatingAdmissionPolicy", "ValidatingAdmissionPolicy",
})  # fmt: skip


def statements(title: str, obj: Object, minors: Minors) -> Iterator[Statement]:
    """Yield the statements about versions that one object names."""
    metadata = obj["metadata"]
    for part in metadata.get("managedFields") or ():
        version = str(part.get("apiVersion", ""))
        if minors.ends(_gvk(version, obj)):
            who = f"the field manager {part.get('manager', '')}"
            yield Statement(Code.REMOVED_VERSION, title, f"{who} writes as {version}")
    applied = str(last_applied(metadata).get("apiVersion", ""))
    if applied and minors.ends(_gvk(applied, obj)):
        yield Statement(Code.REMOVED_VERSION, title, f"kubectl apply has written it as {applied}")
    yield from _named(title, obj, minors)
    if obj.get("kind") in _KINDS_WITH_RULES:
        yield from _rules(title, obj, minors)
    if obj.get("kind") == "CustomResourceDefinition":
        yield from _stored_versions(title, obj)


def _gvk(api_version: str, obj: Object) -> GVK:
    return GVK.of(api_version, str(obj.get("kind", "")))


def _named(title: str, obj: Object, minors: Minors) -> Iterator[Statement]:
    """Yield the references to other objects whose version ends."""
    spec = obj.get("spec")
    target = spec.get("scaleTargetRef") if isinstance(spec, dict) else None
    named = [("the owner reference", each) for each in obj["metadata"].get("ownerReferences") or ()]
    named += [("spec.scaleTargetRef", target)] if isinstance(target, dict) else []
    for what, reference in named:
        gvk = GVK.of(str(reference.get("apiVersion", "")), str(reference.get("kind", "")))
        if minors.ends(gvk):
            text = f"{what} names {gvk.api_version} {gvk.kind}"
            yield Statement(Code.REMOVED_VERSION, title, text)


def _rules(title: str, obj: Object, minors: Minors) -> Iterator[Statement]:
    spec = obj.get("spec") or {}
    constraints = spec.get("matchConstraints") or {}
    rules = [rule for hook in obj.get("webhooks") or () for rule in hook.get("rules") or ()]
    for rule in [*rules, *(constraints.get("resourceRules") or ())]:
        for group in rule.get("apiGroups") or ():
            for version in rule.get("apiVersions") or ():
                name = f"{group}/{version}" if group else str(version)
                if minors.ends_version(name):
                    yield Statement(Code.REMOVED_VERSION, title, f"a rule names {name}")


def _stored_versions(title: str, crd: Object) -> Iterator[Statement]:
    versions = (crd.get("spec") or {}).get("versions") or ()
    served = {each.get("name") for each in versions if each.get("served")}
    for version in (crd.get("status") or {}).get("storedVersions") or ():
        if version not in served:
            why = f"objects can be stored as {version}, which is not served"
            yield Statement(Code.STORED_VERSION, title, why)
