"""Tests of admission policies: files that say which objects a policy refuses, and why.

    apiVersion: test.inkube.dev/v1
    kind: PolicyTest
    metadata: {name: owners}
    policies: [owners.yaml]
    objects: [parameters.yaml]
    cases:
    - name: an owner is required
      object: {apiVersion: apps/v1, kind: Deployment, …}
      expect: {refused: an owner is one of}

Each case runs in a server in this process, which has the policies and the other objects.
"""

import asyncio
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

from inkube.apiserver.configuration import Options
from inkube.apiserver.policies import plugin as plugins
from inkube.apiserver.server import APIServer
from inkube.apiserver.validate import files
from inkube.apiserver.validate.files import File
from inkube.apiserver.validate.judging.clusters import Cluster, Decision, user_of
from inkube.apiserver.validate.plan import InputError
from inkube.schemas import documents, offline
from inkube.schemas.documents import Document
from inkube.schemas.objects import Object
from inkube.schemas.offline import Read

API_VERSION, KIND = "test.inkube.dev/v1", "PolicyTest"
_MEMBERS = frozenset({"apiVersion", "kind", "metadata", "policies", "objects", "cases"})
_OF_CASES = frozenset({"name", "object", "old", "operation", "user", "expect"})
_EXPECTED = frozenset({"accepted", "refused", "warned"})
_BINDINGS = frozenset({"MutatingAdmissionPolicyBinding", "ValidatingAdmissionPolicyBinding"})
_OPERATIONS = ("create", "update", "delete")


class Outcome(NamedTuple):
    """The end of a case. `why` is "" if it is as expected."""

    file: str
    line: int
    name: str
    why: str


@dataclass(slots=True)
class Results:
    """The outcomes of all cases, and what the expressions of the policies were."""

    outcomes: list[Outcome] = field(default_factory=list)
    seen: dict[tuple[str, str], set[object]] = field(default_factory=dict)
    """The results of each expression, by policy and path: True, False, or "a value"."""

    @property
    def failures(self) -> list[Outcome]:
        """The cases that are not as expected."""
        return [each for each in self.outcomes if each.why]

    @property
    def uncovered(self) -> list[str]:
        """A line for each expression without a case for each of its results."""
        return [
            f"{policy}: {path} {_missing(results)}"
            for (policy, path), results in sorted(self.seen.items())
            if _missing(results)
        ]


def run(paths: Sequence[str]) -> Results:
    """Run the tests in files and folders. Raises InputError for wrong files."""
    results = Results()
    found = [
        read
        for file in files.find(paths or ["."])
        for read in _reads(file)
        if (read.value["apiVersion"], read.value["kind"]) == (API_VERSION, KIND)
    ]
    if not found:
        raise InputError(f"no {KIND} was found in {', '.join(paths or ['.'])}")
    asyncio.run(_run(found, results))
    return results


async def _run(reads: Iterable[Read], results: Results) -> None:
    for read in reads:
        test = read.value
        _check_members(read, test, _MEMBERS, "")
        context = [*_named(read, "policies"), *_named(read, "objects")]
        for policy in _unbound(context):
            results.seen.setdefault((policy, "every condition, because it has no binding,"), set())
        for number, case in enumerate(_list(read, test.get("cases"), "cases")):
            path = f"cases[{number}]"
            _check_members(read, case, _OF_CASES, path)
            decision = await _judge(read, case, context, results)
            name = str(case.get("name") or path)
            why = _difference(read, case.get("expect"), path, decision)
            line = read.document.place_of(f"{path}.name").line
            results.outcomes.append(Outcome(read.document.file, line, name, why))


async def _judge(
    read: Read, case: Mapping[str, Any], context: Sequence[Read], results: Results
) -> Decision:
    """Return what a new server says of the write of a case."""
    obj, old = case.get("object"), case.get("old")
    operation = case.get("operation") or ("update" if old else "create")
    judged: Any = obj or old
    if operation not in _OPERATIONS or not _is_object(judged):
        where = f"{read.document.file}:{read.document.line}"
        raise InputError(f"{where}: a case needs an object, and an operation of {_OPERATIONS}")
    if operation != "create" and not old:
        old = judged
    stored = [Read(read.document, old)] if isinstance(old, dict) and _is_object(old) else []
    async with APIServer(Options(controllers=False, modules="none")) as server:
        cluster = Cluster(server, user_of(str(case.get("user") or "")))
        await cluster.prepare(context, stored)
        _check_prepared(cluster, [*context, *stored], judged, read)
        await cluster.add_namespace(Read(read.document, judged))
        decision = await cluster.judge(judged, operation)
        for policy in plugins.compiled(server.registry.chain.plugins):
            for path, expression in policy.expressions():
                results.seen.setdefault((policy.name, path), set()).update(expression.results)
    return decision


def _check_prepared(cluster: Cluster, context: Iterable[Read], judged: Object, read: Read) -> None:
    """Raises InputError for a policy or another object that the server refuses, and for an object
    of a kind that it does not have: everything would pass."""
    for obj, refused in cluster.refused:
        at = next((each for each in context if each.value is obj), read)
        place = f"{at.document.file}:{at.document.first.line}"
        raise InputError(f"{place}: {at.subject}: {refused.message}")
    if not cluster.knows(judged):
        text = f'no matches for kind "{judged["kind"]}" in version "{judged["apiVersion"]}"'
        raise InputError(f"{read.document.file}: {text}; name its definition in objects")


def _unbound(context: Sequence[Read]) -> Iterator[str]:
    """Yield the policies that no binding of a test names, so that they apply to nothing."""
    kinds = [each.value["kind"] for each in context]
    bound = {
        (kind.removesuffix("Binding"), (each.value.get("spec") or {}).get("policyName"))
        for kind, each in zip(kinds, context, strict=True)
        if kind in _BINDINGS
    }
    for kind, each in zip(kinds, context, strict=True):
        name = each.metadata.get("name")
        if f"{kind}Binding" in _BINDINGS and (kind, name) not in bound:
            yield str(name)


def _difference(read: Read, expect: Any, path: str, decision: Decision) -> str:
    """Return why a decision is not as expected, "" if it is."""
    if not isinstance(expect, Mapping) or not expect:
        raise InputError(f"{read.document.file}: {path}.expect is one of {sorted(_EXPECTED)}")
    _check_members(read, expect, _EXPECTED, f"{path}.expect")
    refusal = decision.refusal.message if decision.refusal is not None else ""
    if "refused" not in expect and refusal:
        return f"it was refused: {refusal}"
    if "refused" in expect and not _contains(expect["refused"], [refusal]):
        wanted = f" with {expect['refused']!r}" if isinstance(expect["refused"], str) else ""
        return f"it was not refused{wanted}" + (f", but: {refusal}" if refusal else "")
    if "warned" in expect and not _contains(expect["warned"], decision.warnings):
        return f"it was not warned of {expect['warned']!r}, but: {list(decision.warnings)}"
    return ""


def _contains(expected: Any, texts: Iterable[str]) -> bool:
    """Return whether a text contains the wanted one. True stands for any text."""
    return any(text and (expected is True or str(expected) in text) for text in texts)


def _named(read: Read, member: str) -> Iterator[Read]:
    """Yield the objects in the files that a test names, relative to its own file."""
    folder = Path(read.document.file).parent
    for name in _list(read, read.value.get(member), member):
        for file in files.find([str(folder / str(name))]):
            for found in _reads(file):
                if found.value["kind"] != KIND:
                    yield found


def _reads(file: File) -> Iterator[Read]:
    for document in documents.split(file.name, files.read(file)):
        for part in offline.parts(document):
            if isinstance(part, Read):
                yield part
            elif part.read.document.file.endswith((".yaml", ".yml")) and _is_ours(document):
                raise InputError(f"{file.name}:{document.line}: {part.message}")


def _is_ours(document: Document) -> bool:
    return KIND.encode() in document.body


def _is_object(value: Any) -> bool:
    return isinstance(value, dict) and all(
        isinstance(value.get(member), str) for member in ("apiVersion", "kind")
    )


def _list(read: Read, value: Any, member: str) -> list[Any]:
    if value is None or isinstance(value, list):
        return value or []
    raise InputError(f"{read.document.file}: {member} is a list")


def _check_members(read: Read, value: Any, known: frozenset[str], path: str) -> None:
    unknown = sorted(set(value) - known) if isinstance(value, Mapping) else [str(value)]
    if unknown:
        line = read.document.place_of(f"{path}.{unknown[0]}" if path else unknown[0]).line
        place = f"{read.document.file}:{line}"
        raise InputError(f"{place}: {unknown[0]!r} is not one of {', '.join(sorted(known))}")


def _missing(results: set[object]) -> str:
    """Return what no case showed of an expression, "" if nothing is missing."""
    if not results:
        return "was never evaluated"
    wanted = [each for each in (True, False) if each not in results]
    return f"was never {str(wanted[0]).lower()}" if results <= {True, False} and wanted else ""
