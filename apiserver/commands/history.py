"""`inkube log` and `inkube diff`: the stored changes, with their authors.

Both read a file or a database while a server may write to it. The author of a change comes from the
managed fields of the object, so the author of a deletion is unknown. The data of Secrets is hidden
by default.
"""

import asyncio
import difflib
import json
from collections.abc import AsyncIterator, Callable, Coroutine, Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, NamedTuple

import click
import orjson
import yaml

from inkube.apiserver import console, testing
from inkube.apiserver.commands import failures, moments, states
from inkube.apiserver.commands.commonoptions import FILE, OUTPUT
from inkube.apiserver.configuration import LOCAL
from inkube.apiserver.dumps import DumpError
from inkube.apiserver.plans import failing
from inkube.apiserver.registry import keys
from inkube.schemas import meta
from inkube.schemas.objects import Object
from inkube.storage import Compacted, Log, Record, wholefiles

PAGE = 500
HIDDEN, HIDDEN_CHANGE = "<hidden>", "<hidden, changed>"


class Change(NamedTuple):
    """One object before and after a change. None before its creation and after its deletion."""

    revision: int
    time: int
    old: Object | None
    new: Object | None

    @property
    def type(self) -> str:
        """The type of the change, as in a watch event."""
        if self.old is None:
            return "ADDED"
        return "DELETED" if self.new is None else "MODIFIED"

    @property
    def object(self) -> Object:
        """The new object, or the deleted one."""
        return self.new or self.old or {}

    def time_text(self) -> str:
        """Return the time in RFC 3339 and UTC; empty if it is unknown."""
        if not self.time:
            return ""
        moment = datetime.fromtimestamp(self.time / 1_000_000, UTC)
        return moment.isoformat(timespec="milliseconds").replace("+00:00", "Z")

    def title(self) -> str:
        """Return kind and name of the object."""
        meta = self.object["metadata"]
        place = f"{meta['namespace']}/" if meta.get("namespace") else ""
        return f"{self.object.get('kind', '')} {place}{meta['name']}"

    def managers(self) -> list[str]:
        """Return the field managers that made the change; none for a deletion."""
        return [] if self.new is None else meta.changed_managers(self.old, self.new)


class Filter(NamedTuple):
    """The selection of objects; empty members do not restrict it. The Lease that a server renews
    every few seconds is left out, unless leases are selected."""

    resource: str = ""
    name: str = ""
    namespace: str = ""

    def matches(self, key: str, obj: Object) -> bool:
        """Return whether the filter selects an object."""
        meta = obj.get("metadata") or {}
        words = {*key.removeprefix(keys.ROOT).split("/")[:2], str(obj.get("kind", "")).lower()}
        if not self.resource and key == keys.LEADER:
            return False
        return (
            (not self.resource or self.resource.lower() in words)
            and (not self.name or meta.get("name") == self.name)
            and (not self.namespace or meta.get("namespace") == self.namespace)
        )


def _source(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add the options that both commands have."""
    for option in (
        click.option("--show-secrets", is_flag=True, help="Show the contents of Secrets."),
        click.option("-n", "--namespace", default="", help="Show only this namespace."),
        OUTPUT,
        click.option("--database", metavar="URL", default="", help="postgresql://…"),
        click.option("--data", type=FILE, help=f"A server's file.  [default: {LOCAL}]"),
    ):
        command = option(command)
    return command


@click.command("log")
@click.argument("resource", default="")
@click.argument("name", default="")
@click.option("--since", type=moments.Moment(), default=0, help="Show changes after it.")
@click.option("--until", type=moments.Moment(), help="Show changes up to it.")
@click.option("--limit", type=int, default=0, help="Show only this number of changes.")
@_source
def log_command(
    resource: str,
    name: str,
    *,
    since: int | datetime,
    until: int | datetime | None,
    limit: int,
    data: Path | None,
    database: str,
    namespace: str,
    output: str,
    show_secrets: bool,
) -> None:
    """Show changes as diffs with their times and field managers, the oldest first.

    RESOURCE is a plural or a kind (configmaps, ConfigMap).
    """
    chosen = Filter(resource, name, namespace)

    async def show(log: Log) -> None:
        horizon = await log.horizon()
        after = max(await moments.revision_of(log, since), horizon.compacted)
        last = horizon.newest if until is None else await moments.revision_of(log, until)
        told = 0
        async for change in _changes(log, after, last, chosen):
            _print_change(change, output, show_secrets=show_secrets)
            told += 1
            if told == limit:
                return
        if not since and horizon.compacted:
            click.echo(f"what was before revision {horizon.compacted} is not kept", err=True)

    _run(data, database, show)


@click.command("diff")
@click.argument("old", type=states.StateName())
@click.argument("new", type=states.StateName())
@click.option(
    "--page",
    type=FILE,
    metavar="HTML",
    help="Write a page with the console instead, which a browser opens without a server.",
)
@_source
def diff_command(
    old: int | datetime | Path,
    new: int | datetime | Path,
    *,
    page: Path | None,
    data: Path | None,
    database: str,
    namespace: str,
    output: str,
    show_secrets: bool,
) -> None:
    """Show the differences between two states.

    A state is a revision or a time of the data, a data file, or a dump of a cluster (see `inkube
    import`). The last lines list conditions and containers that started to fail.
    """

    async def show(before: states.State, after: states.State) -> None:
        changes = _differences(before, after, Filter(namespace=namespace))
        if page is not None:
            title = f"{_name(old)} to {_name(new)}"
            rows = [_row(each, show_secrets=show_secrets) for each in changes]
            found = console.report.Differences(title, rows)
            state = states.snapshot(after, secrets=show_secrets)
            text = await testing.statepages.of_file(state, f"inkube diff {title}", found)
            wholefiles.write(page, text, mode=wholefiles.PRIVATE)
            click.echo(page)
            return
        failed: list[str] = []
        for change in changes:
            _print_change(change, output, show_secrets=show_secrets)
            started = failing.started(change.old, change.new)
            failed += [f"{change.title()}: {each}" for each in started]
        if output == "text" and failed:
            click.echo("\n".join(["started to fail:", *(f"    {each}" for each in failed)]))

    async def of_log(log: Log) -> None:
        await show(*[await _state(each, log) for each in (old, new)])

    async def of_sources(*paths: Path) -> None:
        await show(*[await states.of_source(each, secrets=True) for each in paths])

    if isinstance(old, Path) and isinstance(new, Path):
        with failures.reported(DumpError):
            asyncio.run(of_sources(old, new))
    else:
        _run(data, database, of_log)


def _name(state: int | datetime | Path) -> str:
    return state.name if isinstance(state, Path) else str(state)


def _differences(before: states.State, after: states.State, filter: Filter) -> Iterator[Change]:
    """Yield the changes between two states, in the order of keys."""
    for key in sorted(before.keys() | after.keys()):
        change = _difference_of(before.get(key), after.get(key))
        if change and filter.matches(key, change.object):
            yield change


async def _state(name: int | datetime | Path, log: Log) -> states.State:
    if isinstance(name, Path):
        return await states.of_source(name, secrets=True)
    return await states.at(log, name)


def _difference_of(old: Record | None, new: Record | None) -> Change | None:
    """Return the change between two states of a key, or None if they are the same."""
    change = _change(old, new)
    same = _without_managed_fields(change.old) == _without_managed_fields(change.new)
    return None if same else change


def _run(
    data: Path | None, database: str, action: Callable[[Log], Coroutine[Any, Any, None]]
) -> None:
    async def run() -> None:
        with moments.log_of(data, database) as log:
            await log.open()
            try:
                await action(log)
            finally:
                await log.close()

    with failures.reported(DumpError):
        try:
            asyncio.run(run())
        except Compacted as error:
            raise click.ClickException(f"{error}: serve with --keep-history to keep all") from error


async def _changes(log: Log, first: int, last: int, filter: Filter) -> AsyncIterator[Change]:
    while first < last:
        try:
            rows = await log.changes(keys.ROOT, first, PAGE)
        except Compacted as error:  # the server compacted the oldest changes during this read
            click.echo(f"what was before revision {error.compacted} is not kept any more", err=True)
            first = error.compacted
            continue
        for record, before in rows:
            if record.revision > last:
                return
            change = _change(before, None if record.deleted else record)
            change = change._replace(revision=record.revision, time=record.time)
            if filter.matches(record.key, change.object):
                yield change
        if len(rows) < PAGE:
            return
        first = rows[-1][0].revision


def _change(old: Record | None, new: Record | None) -> Change:
    newest = new or old
    assert newest is not None, "one of the two is there"
    states = [None if record is None else orjson.loads(record.data) for record in (old, new)]
    return Change(newest.revision, newest.time, *states)


def _row(change: Change, *, show_secrets: bool) -> dict[str, Any]:
    """Return a change as JSON."""
    old, new = change.old, change.new
    if not show_secrets and change.object.get("kind") == "Secret":
        old, new = _hidden(change.old, {}), _hidden(change.new, change.old or {})
    return {
        "revision": change.revision,
        "time": change.time_text() or None,
        "type": change.type,
        "managers": change.managers(),
        "failing": failing.started(change.old, change.new),
        "old": _without_managed_fields(old),
        "new": _without_managed_fields(new),
    }


def _print_change(change: Change, output: str, *, show_secrets: bool) -> None:
    row = _row(change, show_secrets=show_secrets)
    if output == "json":
        click.echo(json.dumps(row, ensure_ascii=False))
        return
    by = ", ".join(change.managers())
    head = [f"revision {change.revision}", change.time_text(), f"{change.type} {change.title()}"]
    click.echo("  ".join(filter(None, [*head, by and f"by {by}"])))
    for line in _difference(_lines(row["old"]), _lines(row["new"])):
        click.echo(f"    {line}")


def _difference(old: list[str], new: list[str]) -> Iterator[str]:
    lines = difflib.unified_diff(old, new, lineterm="", n=3)
    for line in list(lines)[2:]:
        if not line.startswith("@@"):
            yield line.rstrip()


def _lines(obj: Object | None) -> list[str]:
    if obj is None:
        return []
    text: str = yaml.safe_dump(obj, sort_keys=False, allow_unicode=True, width=100)
    return text.splitlines()


def _without_managed_fields(obj: Object | None) -> Object | None:
    """Return an object without the members that change with every write."""
    if obj is None:
        return None
    left = {"managedFields", "resourceVersion"}
    meta = {name: value for name, value in obj["metadata"].items() if name not in left}
    return {**obj, "metadata": meta}


def _hidden(obj: Object | None, previous: Object) -> Object | None:
    if obj is None:
        return None
    was = previous.get("data") or {}
    data = {
        name: HIDDEN_CHANGE if name in was and was[name] != value else HIDDEN
        for name, value in (obj.get("data") or {}).items()
    }
    return {**obj, "data": data} if "data" in obj else obj
