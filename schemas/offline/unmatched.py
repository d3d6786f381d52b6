"""Why no kind matches an object: removed versions, misspellings, missing definitions."""

import difflib
from collections.abc import Collection, Iterator

from inkube.schemas import builtin, releases
from inkube.schemas.definitions import Definition
from inkube.schemas.meta import GVK
from inkube.schemas.offline.findings import Finding, at
from inkube.schemas.offline.reading import Read
from inkube.schemas.offline.removed import removal_of

_OF_KUBERNETES = ".k8s.io"
_DEFINE = "if it is a custom resource, pass its definition with --definitions"


def finding(read: Read, gvk: GVK, known: Collection[Definition], minor: int) -> Finding:
    """Return the finding for an object whose kind is not known, in the words of kubectl."""
    text = f'no matches for kind "{gvk.kind}" in version "{gvk.api_version}"'
    removal = removal_of(gvk)
    if removal is not None:
        hint = removal.hint(gvk, minor)
        return at(read, "removed-version", text, type="NotFound", hint=hint, on_key=True)
    hint = _other_minors(gvk, minor) or _other_names(gvk, known) or _DEFINE
    return at(read, "unknown-kind", text, type="NotFound", hint=hint)


def removed_until(read: Read, gvk: GVK, minor: int) -> Iterator[Finding]:
    """Yield a finding for a version that is served, but removed up to a later minor."""
    removal = removal_of(gvk)
    if removal is not None and removal.minor <= minor:
        text = f"Kubernetes 1.{removal.minor} does not serve {gvk.api_version} {gvk.kind}"
        yield at(read, "removed-version", text, type="NotFound", hint=removal.advice(gvk))


def _other_minors(gvk: GVK, minor: int) -> str:
    """Return the minors that serve the version, "" if none does."""
    serving = [
        each.minor
        for each in releases.RECORDED
        if each.minor != minor
        and any(
            (found.group, found.kind) == (gvk.group, gvk.kind) and gvk.version in found.versions
            for found in builtin.resources.read(each.minor)
        )
    ]
    if not serving:
        return ""
    span = f"1.{serving[0]}" if len(serving) == 1 else f"1.{serving[0]} to 1.{serving[-1]}"
    return f"Kubernetes 1.{minor} does not serve it, {span} do"


def _other_names(gvk: GVK, known: Collection[Definition]) -> str:
    """Return the name that was probably meant, "" if none is near."""
    named = [each for each in known if each.names.kind.lower() == gvk.kind.lower()]
    own_group = [each for each in named if each.group == gvk.group]
    if not own_group and "." in gvk.group and not gvk.group.endswith(_OF_KUBERNETES):
        return ""  # a custom resource can have the kind of another group: a Service of Knative
    for each in own_group or named:
        versions = [version.name for version in each.served()]
        version = gvk.version if own_group and gvk.version in versions else versions[0]
        right = each.gvk(version)
        return f"did you mean apiVersion: {right.api_version}, kind: {right.kind}?"
    kinds = [
        each.names.kind
        for each in known
        if each.group == gvk.group and each.version(gvk.version) is not None
    ]
    near = difflib.get_close_matches(gvk.kind, kinds, 1, 0.7)
    return f"did you mean kind: {near[0]}?" if near else ""
