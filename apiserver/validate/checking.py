"""The documents of one file to findings, for every minor of a plan."""

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace
from typing import NamedTuple

from inkube.apiserver import declared
from inkube.apiserver.configuration import BadOption, Options
from inkube.apiserver.validate import definitions, files, recognised
from inkube.apiserver.validate.files import File
from inkube.apiserver.validate.plan import InputError, Plan, Skipped
from inkube.schemas import documents, offline
from inkube.schemas.documents import Document
from inkube.schemas.objects import Object
from inkube.schemas.offline import Facts, Finding, Part, Read, Unreadable

_DEFINES = b"CustomResourceDefinition"


@dataclass(slots=True)
class Report:
    """What one file contains."""

    file: str
    documents: int = 0
    objects: Counter[str] = field(default_factory=Counter)
    findings: list[Finding] = field(default_factory=list)
    skipped: list[Skipped] = field(default_factory=list)
    facts: list[Facts] = field(default_factory=list)
    """What the checks of the whole set need to know of the objects."""


class Content(NamedTuple):
    """A file with its documents."""

    file: File
    documents: list[Document]
    kind: str
    """What the file is if it is no manifest."""


class Checker:
    """Checks files with the definitions of a plan, and of CRDs in the files themselves."""

    def __init__(self, plan: Plan, run_files: Iterable[File]) -> None:
        """Read the definitions and the old objects. `run_files` are all files of the run. Raises
        InputError."""
        self._plan = plan
        self._folders = recognised.Folders()
        self._checks = {minor: self._of_minor(minor) for minor in plan.minors}
        self.findings: list[Finding] = []
        """The findings about the definitions and the old objects."""
        sources = definitions.read(plan.definitions)
        old = [each for file in files.find(plan.old) for each in self._content(file).documents]
        own = [document for file in run_files for document in self._definitions_in(file)]
        by_minor = {}
        for minor, checks in self._checks.items():
            checks.kinds.foreign.update({each.key: each for each in sources.foreign})
            remembered = checks.remember(_parts(old))
            defined = checks.define(_parts(sources.documents))
            by_minor[minor] = [*remembered, *defined]
            for _ in checks.define(_parts(own)):
                pass  # they are found again as objects of their files
        self.findings = merged(by_minor)

    def _of_minor(self, minor: int) -> offline.Checks:
        kinds = offline.Kinds.of_minor(minor)
        try:
            options = Options(modules=self._plan.modules)
        except BadOption as error:
            raise InputError(str(error)) from error
        kinds.declared_groups = frozenset(options.module_groups)
        kinds.declare = lambda: declared.judged_kinds(options)
        return offline.Checks(
            kinds,
            warn_unknown=self._plan.warn_unknown,
            ignore_missing=self._plan.ignore_missing,
            removed_in=self._plan.removed_in,
        )

    def check(self, file: File) -> Report:
        """Check the documents of a file. Raises InputError."""
        content = self._content(file)
        report = Report(file.name)
        if content.kind:
            report.skipped.append(Skipped(file.name, content.kind))
            return report
        report.documents = len(content.documents)
        by_minor: dict[int, list[Finding]] = {minor: [] for minor in self._checks}
        for part in self._checked_parts(content, report):
            for minor, checks in self._checks.items():
                by_minor[minor] += checks.check(part)
        report.findings = merged(by_minor)
        if self._folders.completes(file.path):
            report.findings = [each for each in report.findings if not _is_completed(each)]
        return report

    def _content(self, file: File) -> Content:
        body = files.read(file)
        kind = self._folders.file_kind(file.path, body)
        return Content(file, [] if kind else documents.split(file.name, body), kind)

    def _definitions_in(self, file: File) -> list[Document]:
        """Return the documents of a file that can be CRDs."""
        body = files.read(file)
        if _DEFINES not in body or self._folders.file_kind(file.path, body):
            return []
        return [each for each in documents.split(file.name, body) if _DEFINES in each.body]

    def _checked_parts(self, content: Content, report: Report) -> Iterator[Part]:
        """Yield the parts to check. Notes the others in the report."""
        for document in content.documents:
            for part in offline.parts(document):
                is_named = content.file.is_named and not self._plan.only_objects
                why = self._why_not(part, is_named=is_named)
                if why is not None:
                    report.skipped.append(Skipped(content.file.name, why, is_part=True))
                    continue
                if isinstance(part, Read):
                    report.objects[part.value["kind"]] += 1
                    report.facts.append(self._facts(part))
                yield part

    def _facts(self, read: Read) -> Facts:
        checks = self._checks[self._plan.minors[-1]]
        return checks.facts(read, with_references=self._plan.references)

    def _why_not(self, part: Part, *, is_named: bool) -> str | None:
        """Return why a part is not checked, None if it is."""
        if isinstance(part, Read):
            if any(_is_kind(part.value, kind) for kind in self._plan.skip):
                return "object of a skipped kind"
            return recognised.document_kind(part) or None
        if isinstance(part, Unreadable):
            kind = recognised.text_kind(part)
            return kind if kind and (not is_named or kind == recognised.TEMPLATE) else None
        return recognised.document_kind(part.read) or None if part.read.value else None


def _is_completed(finding: Finding) -> bool:
    """Return whether a kustomization can remove the cause of a finding: it adds fields and labels,
    and its `namespace` names Namespaces, whose label repeats the name."""
    if finding.subject.startswith("Namespace ") and finding.code == "invalid":
        return finding.field in ("metadata.name", "metadata.labels")
    return finding.code == "required" or finding.field.endswith("template.metadata.labels")


def merged(by_minor: dict[int, list[Finding]]) -> list[Finding]:
    """Return each finding once, with its minors if not all of them have it. Hints may differ."""
    if len(by_minor) == 1:
        return [finding for found in by_minor.values() for finding in found]
    first: dict[Finding, Finding] = {}
    minors_of: dict[Finding, dict[int, None]] = {}
    for minor, found in by_minor.items():
        for finding in found:
            key = replace(finding, hint="")
            first.setdefault(key, finding)
            minors_of.setdefault(key, {})[minor] = None
    return [
        finding
        if len(minors_of[key]) == len(by_minor)
        else replace(finding, minors=tuple(minors_of[key]))
        for key, finding in first.items()
    ]


def _parts(documents_: Iterable[Document]) -> list[Part]:
    return [part for document in documents_ for part in offline.parts(document)]


def _is_kind(value: Object, kind: str) -> bool:
    """Return whether an object is of a kind: `Deployment`, or `apps/v1/Deployment`."""
    return kind in (value["kind"], f"{value.get('apiVersion')}/{value['kind']}")
