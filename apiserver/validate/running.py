"""All files of a plan, in this process or in several, and the checks of the whole set."""

import multiprocessing
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from itertools import chain
from pathlib import Path

from inkube.apiserver.validate import files, judging, printable
from inkube.apiserver.validate.checking import Checker, Report
from inkube.apiserver.validate.files import File
from inkube.apiserver.validate.plan import Plan, Result
from inkube.schemas import documents, offline
from inkube.schemas.offline import Facts, Finding, Read

_START = "fork" if sys.platform == "linux" else "spawn"
"""Only Linux forks safely, which saves the imports of the processes."""
_CHUNKS = 8
"""Chunks of files for each process: few enough to be cheap, enough to share the work."""
FEW = 20
"""Up to this number of files, one process is faster than several."""

Progress = Callable[[int, int], None]
"""Is called with the number of checked files, and the number of all files."""


def run(plan: Plan, progress: Progress = lambda done, total: None) -> Result:
    """Check the files of a plan. Raises InputError."""
    found = files.find(plan.paths, plan.exclude)
    checker = Checker(plan, found)
    result = Result(findings=list(checker.findings))
    facts: list[Facts] = []
    for done, report in enumerate(_reports(plan, found, checker), 1):
        result.findings += report.findings
        result.documents += report.documents
        result.objects += report.objects
        result.skipped += report.skipped
        if report.documents:
            result.files.append(report.file)
        facts += report.facts
        progress(done, len(found))
    result.findings += _of_set(plan, facts, {file.name: file for file in found})
    if plan.admits:
        result.findings += judging.findings(plan, found, result.findings)
    result.findings = _ordered(result.findings)
    return printable.result(result)


def watched(plan: Plan) -> list[Path]:
    """Return the files that a plan reads. Those that are missing now are left out."""
    places = (*plan.paths, *plan.definitions, *plan.old, *plan.policies)
    present = [place for place in places if Path(place).exists()]
    return [Path(file.path) for file in files.find(present, plan.exclude)]


def _reports(plan: Plan, files: Sequence[File], checker: Checker) -> Iterator[Report]:
    """Yield the report of each file, in order."""
    if plan.jobs <= 1 or len(files) <= FEW:
        yield from map(checker.check, files)
        return
    _Worker.checker = checker  # a forked process has it already
    with ProcessPoolExecutor(
        plan.jobs,
        mp_context=multiprocessing.get_context(_START),
        initializer=_Worker.start,
        initargs=(plan, files),
    ) as pool:
        size = max(1, len(files) // (plan.jobs * _CHUNKS))
        yield from pool.map(_Worker.check, files, chunksize=size)


class _Worker:
    """The state of a process that checks files."""

    checker: Checker | None = None

    @classmethod
    def start(cls, plan: Plan, files: Sequence[File]) -> None:
        """Read the definitions, once for each process that has not inherited them."""
        cls.checker = cls.checker or Checker(plan, files)

    @classmethod
    def check(cls, file: File) -> Report:
        """Check a file."""
        assert cls.checker is not None, "the process was started"
        return cls.checker.check(file)


def _of_set(plan: Plan, facts: list[Facts], named: dict[str, File]) -> Iterator[Finding]:
    """Yield the findings about the objects together. Reads the documents of each again, to find
    the places."""
    problems = offline.repeated(facts, across_files=plan.references)
    if plan.references:
        problems = chain(problems, offline.missing(facts))
    for problem in problems:
        for read in _again(problem.facts, named[problem.facts.file]):
            finding = offline.at(
                read, problem.code, problem.message, problem.field, hint=problem.hint
            )
            yield from offline.ignored(read, [finding])


def _again(facts: Facts, file: File) -> Iterator[Read]:
    document = documents.split(file.name, files.read(file))[facts.document - 1]
    for part in offline.parts(document):
        if isinstance(part, Read) and part.path == facts.path:
            yield part


def _ordered(findings: Iterable[Finding]) -> list[Finding]:
    """Return each finding once, in the order of files and lines."""
    every = list(dict.fromkeys(findings))
    order = {file: at for at, file in enumerate(dict.fromkeys(each.file for each in every))}
    return sorted(every, key=lambda finding: (order[finding.file], finding.line, finding.column))
