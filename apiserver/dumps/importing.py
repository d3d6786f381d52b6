"""Imports a dump into a data file: reads everything, then loads it in the order of versions."""

import asyncio
import contextlib
import sqlite3
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import NamedTuple

import orjson

from inkube import storage
from inkube.apiserver.dumps import inputs
from inkube.apiserver.dumps.findings import DumpError, Findings
from inkube.apiserver.dumps.inputs import Budget
from inkube.apiserver.dumps.kinds import Kinds
from inkube.apiserver.dumps.loader import Counts, Dump, Loader, dumps_of
from inkube.apiserver.dumps.readers import Reader, Target
from inkube.apiserver.dumps.staging import Staging
from inkube.apiserver.registry import keys
from inkube.schemas import meta
from inkube.schemas.golang import DecodeError, rfc3339
from inkube.storage import Attachments, Range, wholefiles

GIB = 2**30
_REPORT_EVERY = 1_000
"""Files between two reports of progress."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ImportOptions:
    """How a dump is read.

    `append` adds it to an existing file. `time` is the time of the dump; by default, the newest
    time in its objects. `max_size` is the largest size in bytes after decompression.
    """

    secrets: bool = False
    append: bool = False
    time: datetime | None = None
    max_size: int = 64 * GIB


class Imported(NamedTuple):
    """What an import has done."""

    dump: Dump
    counts: Counts
    logs: int
    findings: Findings
    generated: Sequence[str]
    """The names of definitions that were generated for kinds without one."""


Report = Callable[[str, int], None]
"""Called with the progress: a stage, and the number of objects."""


async def import_dump(
    source: Path | None, file: Path, options: ImportOptions, *, report: Report
) -> Imported:
    """Import a source (None: standard input) into a new file, which appears when it is complete, or
    into an existing one.

    Raises DumpError, StorageError, FileExistsError and other OSErrors.
    """
    try:
        if options.append and await asyncio.to_thread(file.exists):
            return await _import(source, file, options, report)
        with wholefiles.new_database(file) as draft:
            return await _import(source, draft, options, report)
    except sqlite3.Error as error:
        raise DumpError(f"{file} cannot be written: {error}") from error


async def _import(
    source: Path | None, file: Path, options: ImportOptions, report: Report
) -> Imported:
    findings, budget = Findings(), Budget(options.max_size)
    async with contextlib.AsyncExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="inkube-import-")))
        log = storage.sqlite_log(file)
        stack.push_async_callback(log.close)
        await log.open()
        earlier = await _earlier(log, options)
        staging = stack.enter_context(Staging(folder))
        target = Target(staging, Attachments(file), len(earlier))
        reader = Reader(target, findings)
        for number, found in enumerate(inputs.inputs(source, budget, findings)):
            await reader.read(found)
            if not number % _REPORT_EVERY:
                report("read", reader.objects)
        if not reader.objects:
            raise DumpError(_nothing(source, findings))
        name = "<stdin>" if source is None else source.name
        time = options.time or _time(staging.newest)
        dump = Dump(reader.tool, time, 0, name, reader.kubernetes)
        kinds = Kinds(staging, findings, meta.format_time(dump.time))
        loader = Loader(log, staging, kinds, findings)
        revision = await loader.load(
            dump, earlier, secrets=options.secrets, report=lambda done: report("loaded", done)
        )
    generated = [crd["metadata"]["name"] for crd in kinds.generated]
    return Imported(
        dump._replace(revision=revision), loader.counts, reader.logs, findings, generated
    )


async def _earlier(log: storage.SqlLog, options: ImportOptions) -> list[Dump]:
    """Return the dumps in the file. Raises DumpError for a file of something else."""
    newest = (await log.horizon()).newest
    marks = await log.at(Range(keys.CAPTURED), newest)
    earlier = dumps_of(orjson.loads(marks[0].data)) if marks else []
    if not earlier and await log.at(Range(keys.ROOT, limit=1), newest):
        raise DumpError("--append needs a file that inkube import has made")
    return earlier


def _time(newest: str) -> datetime:
    """Return the time of a dump: the newest one in its objects, but none in the future."""
    now = datetime.now(UTC)
    with contextlib.suppress(DecodeError, ValueError):
        return min(now, rfc3339.parse(newest))
    return now


def _nothing(source: Path | None, findings: Findings) -> str:
    first = next(iter(findings), None)
    why = f": {first.example}: {first.reason}" if first is not None else ""
    return f"{source or 'standard input'} contains no objects of a cluster{why}"
