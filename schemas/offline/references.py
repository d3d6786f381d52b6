"""The checks of the whole set: objects with the same name, and names that no object has.

Processes check single files, so each object is reduced to `Facts` first. `problems` compares the
facts of all objects, and returns findings without a place, because few objects have any.
"""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, NamedTuple

from inkube.schemas import selectors
from inkube.schemas.objects import Object
from inkube.schemas.offline import needs
from inkube.schemas.offline.needs import Need
from inkube.schemas.offline.reading import Key, Read

_DEFAULT = "default"
_KEYED = {"ConfigMap": ("data", "binaryData"), "Secret": ("data", "stringData")}
_SELECTING = frozenset({"Service", "PodDisruptionBudget"})


class Facts(NamedTuple):
    """What the checks of a set need to know of an object."""

    file: str
    document: int
    path: str
    """The path of an item of a List."""
    key: Key
    """Its namespace is never "" for a kind that belongs to namespaces."""
    pod_labels: Mapping[str, str] | None = None
    """The labels of its pods, None for kinds without pods."""
    keys: frozenset[str] = frozenset()
    """The keys of a ConfigMap or Secret."""
    needs: tuple[Need, ...] = ()
    selector: Object | None = None
    """A selector of pods, as a LabelSelector."""


class Problem(NamedTuple):
    """A finding of the whole set, without its place."""

    facts: Facts
    code: str
    message: str
    field: str
    hint: str = ""


def facts_of(read: Read, *, namespaced: bool, with_references: bool) -> Facts:
    """Return the facts of an object."""
    group, kind, namespace, name = read.key
    home = (namespace or _DEFAULT) if namespaced else ""
    document = read.document
    plain = Facts(document.file, document.number, read.path, (group, kind, home, name))
    if not with_references:
        return plain
    obj = read.value
    return plain._replace(
        pod_labels=_pod_labels(obj) if kind in needs.TEMPLATES else None,
        keys=_keys(obj),
        needs=tuple(needs.of_object(obj, home)),
        selector=_selector(obj) if kind in _SELECTING else None,
    )


def _keys(obj: Object) -> frozenset[str]:
    members = (obj.get(member) for member in _KEYED.get(obj["kind"], ()))
    return frozenset(str(key) for member in members if isinstance(member, dict) for key in member)


def _pod_labels(obj: Object) -> Mapping[str, str]:
    metadata = needs.template_of(obj).get("metadata")
    labels = metadata.get("labels") if isinstance(metadata, dict) else None
    return {str(k): str(v) for k, v in labels.items()} if isinstance(labels, dict) else {}


def _selector(obj: Object) -> Object | None:
    spec = obj.get("spec")
    selector = spec.get("selector") if isinstance(spec, dict) else None
    if obj["kind"] == "Service":
        selector = {"matchLabels": selector} if selector else None
    return selector if _is_readable(selector) else None


def _is_readable(selector: Any) -> bool:
    """Return whether a selector has the types of a LabelSelector; others have findings of their
    own."""
    if not isinstance(selector, dict):
        return False
    labels, terms = selector.get("matchLabels") or {}, selector.get("matchExpressions") or []
    return (
        isinstance(labels, dict)
        and all(isinstance(value, str) for value in labels.values())
        and isinstance(terms, list)
        and all(isinstance(term, dict) for term in terms)
    )


def repeated(every: Iterable[Facts], *, across_files: bool) -> Iterator[Problem]:
    """Yield a problem for each object with the kind, namespace and name of an earlier one.

    Without `across_files`, only objects of one file count: a repository has variants in files.
    """
    first: dict[tuple[str, Key], Facts] = {}
    for facts in every:
        *_, kind, namespace, name = facts.key
        if not name:
            continue
        before = first.setdefault(("" if across_files else facts.file, facts.key), facts)
        if before is not facts:
            text = f"{kind} {namespace}/{name}" if namespace else f"{kind} {name}"
            hint = f"the first one is document {before.document} of {before.file}"
            yield Problem(facts, "repeated-name", f"{text} occurs twice", "metadata.name", hint)


def missing(every: Iterable[Facts]) -> Iterator[Problem]:
    """Yield a problem for each name and selector that no object of the set fulfils."""
    objects = list(every)
    known: dict[tuple[str, str, str], Facts] = {}
    for facts in objects:
        known.setdefault(facts.key[1:], facts)
    for facts in objects:
        for need in facts.needs:
            message = _why_missing(need, known)
            if message:
                yield Problem(facts, "missing-reference", message, need.field)
        if facts.selector is not None and not _selects_any(facts, objects):
            message = "the selector matches no pod of the set"
            yield Problem(facts, "missing-reference", message, "spec.selector")


def _why_missing(need: Need, known: Mapping[tuple[str, str, str], Facts]) -> str:
    found = known.get((need.kind, need.namespace, need.name))
    where = f" in the namespace {need.namespace}" if need.namespace else ""
    if found is None:
        return f"no {need.kind} {need.name}{where} is in the set"
    if need.key and need.key not in found.keys:
        return f"the {need.kind} {need.name} has no key {need.key}"
    return ""


def _selects_any(facts: Facts, objects: Iterable[Facts]) -> bool:
    namespace, is_selected = facts.key[2], selectors.matcher(facts.selector)
    return any(
        each.pod_labels is not None
        and each.key[2] == namespace
        and is_selected(dict(each.pod_labels))
        for each in objects
    )
