"""Admission of the objects of a set, by a server in this process.

The server has the definitions, namespaces, policies, parameters, quotas and limit ranges of the
set. It then judges every object that has no other error, with its own chain: nothing is decided
here. Pods are made of the templates of workloads, because Pod Security, quotas and limit ranges
judge pods.
"""

import asyncio
import copy
from collections.abc import Iterable, Iterator, Sequence

from inkube.apiserver.configuration import Options
from inkube.apiserver.server import APIServer
from inkube.apiserver.validate import definitions, files, recognised
from inkube.apiserver.validate.files import File
from inkube.apiserver.validate.judging.clusters import NAMESPACE, Cluster, Decision, user_of
from inkube.apiserver.validate.plan import Plan
from inkube.schemas import documents, offline
from inkube.schemas.objects import Object
from inkube.schemas.offline import Finding, Read, Severity

MOST_PODS = 100
"""The largest number of pods that are made of one template, to count them for quotas."""
_COUNTED = {"Job": "parallelism"}


def findings(plan: Plan, run_files: Iterable[File], known: Iterable[Finding]) -> list[Finding]:
    """Return the findings of admission about the objects of files. Objects with errors are left
    out. Raises InputError."""
    wrong = {(each.file, each.document) for each in known if each.is_error}
    folders = recognised.Folders()
    reads = [read for file in run_files for read in _read(file, folders)]
    sound = [read for read in reads if (read.document.file, read.document.number) not in wrong]
    more = [read for file in files.find(plan.policies) for read in _read(file, folders)]
    more += [read for each in definitions.read(plan.definitions).documents for read in _of(each)]
    old = [read for file in files.find(plan.old) for read in _read(file, folders)]
    return asyncio.run(_judged(plan, sound, more, old))


async def _judged(
    plan: Plan, sound: Sequence[Read], more: Sequence[Read], old: Sequence[Read]
) -> list[Finding]:
    options = Options(modules=plan.modules, kubernetes_version=f"1.{plan.minors[-1]}")
    before = {read.key: read for read in old}
    async with APIServer(options) as server:
        cluster = Cluster(server, user_of(plan.user))
        stored = [*old]
        if plan.operation != "create" and not old:
            stored = [*sound]
        await cluster.prepare([*more, *sound], stored)
        counts = any(read.value["kind"] == "ResourceQuota" for read in (*more, *sound))
        result: list[Finding] = []
        for read in sound:
            operation = "update" if read.key in before else plan.operation
            operation = plan.operation if plan.operation == "delete" else operation
            await cluster.add_namespace(read)
            decision = await cluster.judge(read.value, operation)
            result += _findings_of(read, decision, "")
            if decision.refusal is None and operation != "delete":
                result += await _of_pods(cluster, read, every=counts)
        return result


async def _of_pods(cluster: Cluster, read: Read, *, every: bool) -> list[Finding]:
    """Return the findings about the pods that a controller would make of an object."""
    kind = read.value["kind"]
    if kind == "Pod" or kind not in offline.TEMPLATES:
        return []
    path = ".".join(offline.TEMPLATES[kind])
    for pod in pods_of(read.value, every=every):
        decision = await cluster.judge(pod, "create")
        about_pod = _findings_of(read, decision, path)
        if about_pod:
            return about_pod
    return []


def pods_of(obj: Object, *, every: bool) -> Iterator[Object]:
    """Yield the pods of a workload: one, or one for each replica up to MOST_PODS."""
    template, metadata = offline.template_of(obj), obj["metadata"]
    spec = obj.get("spec") or {}
    count = spec.get(_COUNTED.get(obj["kind"], "replicas"), 1) if every else 1
    for number in range(min(count, MOST_PODS) if isinstance(count, int) else 1):
        labelled = {
            **(template.get("metadata") or {}),
            "name": f"{metadata.get('name') or metadata.get('generateName')}-{number}",
            "namespace": metadata.get("namespace") or NAMESPACE,
        }
        yield {
            "apiVersion": "v1",
            "kind": "Pod",
            "metadata": labelled,
            "spec": copy.deepcopy(template.get("spec") or {}),
        }


def _findings_of(read: Read, decision: Decision, path: str) -> list[Finding]:
    found = [(text, "Warning", _WARNING) for text in decision.warnings if not _is_known(text)]
    if decision.refusal is not None:
        found.append((decision.refusal.message, str(decision.refusal.reason), _REFUSED))
    made = [
        offline.at(read, code, text, path, type=reason, severity=severity)
        for text, reason, (code, severity) in found
    ]
    return list(offline.ignored(read, made))


_REFUSED: tuple[str, Severity] = ("refused", "error")
_WARNING: tuple[str, Severity] = ("warning", "warning")


def _is_known(text: str) -> bool:
    """Return whether a warning is not one of admission, but was found without a server."""
    return not ("PodSecurity" in text or "Validation failed for" in text)


def _read(file: File, folders: recognised.Folders) -> Iterator[Read]:
    body = files.read(file)
    if not folders.file_kind(file.path, body):
        for document in documents.split(file.name, body):
            yield from _of(document)


def _of(document: documents.Document) -> Iterator[Read]:
    for part in offline.parts(document):
        if isinstance(part, Read) and not recognised.document_kind(part):
            yield part
