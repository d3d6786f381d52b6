"""The report about a server in the output of a failed test, and the saved state of the server.

The pytest plugin creates the report while the server still runs.
"""

import asyncio
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from inkube.apiserver.testing import patience, statepages
from inkube.apiserver.testing.kube import Kube
from inkube.apiserver.testing.log import ObjectChange
from inkube.schemas.objects import Object
from inkube.storage import StorageError, wholefiles

OBJECTS = 40
"""The maximum number of objects with conditions in a report: those that changed last."""
EVENTS = 40
"""The maximum number of events in a report: the newest."""
SNAPSHOT_SECONDS = 10.0
"""The time limit in seconds to save a state."""
_OF_WORKLOADS = frozenset({
    "CronJob", "DaemonSet", "Deployment", "Job", "Pod", "ReplicaSet", "ReplicationController",
    "StatefulSet",
})  # fmt: skip
_NOT_SERVED_TEXTS = b"404 page not found", b"the server could not find the requested resource"
_WEBHOOK = (b"failed calling webhook",)


class Report:
    """The report about one server. `folder` is the folder for saved states."""

    def __init__(self, kube: Kube, folder: Path) -> None:
        self._kube = kube
        self._folder = folder
        self._snapshot_text = ""

    def sections(self) -> Iterator[tuple[str, str]]:
        """Yield the title and text of each section that is not empty."""
        found = (
            ("inkube: likely reasons", "\n".join(reasons(self._kube))),
            *self._kube.log.sections(),
            ("inkube conditions", "\n".join(conditions(self._kube))),
            ("inkube events", "\n".join(events(self._kube))),
            ("inkube state", self._snapshot_text),
        )
        yield from (each for each in found if each[1])

    def keep(self, name: str, *, as_page: bool = False) -> Path:
        """Save the state of the server, which must still run, to a new file, and to a page of HTML
        next to it."""
        path = self._folder / f"{name}.db"
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            self._kube.run(self._save(path, as_page=as_page))
        except (OSError, StorageError, TimeoutError, ValueError) as error:
            self._snapshot_text = f"the state could not be saved: {error}"
        else:
            self._snapshot_text = (
                f"to look at the state of the server:\n  inkube serve --snapshot {path}"
            )
            if as_page:
                self._snapshot_text += f"\nor open {path.with_suffix('.html')} in a browser"
        return path

    async def _save(self, path: Path, *, as_page: bool) -> None:
        server = self._kube.server
        async with asyncio.timeout(patience.limit(SNAPSHOT_SECONDS)):
            taken = await server.snapshot()
            await taken.save(path)
            if as_page:
                text = await statepages.page(taken, server.options, path.stem)
                page = path.with_suffix(".html")
                private = wholefiles.PRIVATE  # it contains Secrets
                await asyncio.to_thread(wholefiles.write, page, text, mode=private)


def reasons(kube: Kube) -> Iterator[str]:
    """Yield likely reasons for a failure in the options of the server, one in each line."""
    options, newest = kube.server.options, _newest(kube)
    of_workloads = sorted({change.object["kind"] for change in newest} & _OF_WORKLOADS)
    if of_workloads and not options.workloads:
        yield (
            f"This server runs no workloads: nothing happens to a {', '.join(of_workloads)}. "
            "Mark the test with @pytest.mark.kube_workloads()."
        )
    if not options.controllers:
        yield (
            "Controllers are off: dependents of deleted owners stay, namespaces stay in "
            "Terminating, and no live checks run."
        )
    faults = Counter(name for record in tuple(kube.log.requests) for name in record.faults)
    for name, times in faults.items():
        yield f"The Fault {name} was active: it met {_count(times, 'request')} of clients."
    for path in _refused(kube, 404, _NOT_SERVED_TEXTS):
        yield (
            f"{path} is not served: load its CustomResourceDefinition with "
            "@pytest.mark.kube_definitions(…), or its KindModule with kube_controllers(…)."
        )
    for path in _refused(kube, 500, _WEBHOOK):
        yield f"A webhook did not answer a request for {path}."
    if kube.log.forgotten:
        yield f"The test was long: {_count(kube.log.forgotten, 'older entry')} of the log are gone."


def conditions(kube: Kube) -> Iterator[str]:
    """Yield conditions and errors of the objects that changed, the latest change last."""
    told = [
        (name, lines)
        for name, lines in (
            (str(_title(each.object)), [*_state(each.object)]) for each in _newest(kube)
        )
        if lines
    ]
    for name, lines in told[-OBJECTS:]:
        yield name
        yield from (f"    {line}" for line in lines)


def events(kube: Kube) -> Iterator[str]:
    """Yield the newest events about objects, one in each line."""
    found = [change.object for change in _newest(kube, of_events=True)]
    for each in found[-EVENTS:]:
        about = each.get("involvedObject") or each.get("regarding") or {}
        place = "/".join(filter(None, (about.get("namespace"), about.get("name"))))
        text = each.get("message") or each.get("note") or ""
        times = f" (×{each['count']})" if each.get("count", 1) > 1 else ""
        sort, reason = each.get("type", ""), each.get("reason", "")
        yield f"{sort:<8} {reason:<16} {about.get('kind', '')} {place}: {text}{times}"


def _newest(kube: Kube, *, of_events: bool = False) -> Sequence[ObjectChange]:
    """Return the latest change of each object, in the order of these changes."""
    found: dict[tuple[str, str, str], ObjectChange] = {}
    for change in kube.log.history():
        obj = change.object
        if (obj["kind"] == "Event") is of_events:
            key = obj["kind"], obj["metadata"].get("namespace", ""), obj["metadata"]["name"]
            found.pop(key, None)
            found[key] = change
    return [*found.values()]


def _state(obj: Object) -> Iterator[str]:
    """Yield the deletion, phase, conditions and errors of an object, one in each line."""
    metadata, status = obj["metadata"], obj.get("status")
    if metadata.get("deletionTimestamp"):
        left = ", ".join(metadata.get("finalizers") or ()) or "nothing"
        yield f"is being deleted; waits for {left}"
    if not isinstance(status, dict):
        return
    if isinstance(status.get("phase"), str):
        yield f"phase {status['phase']}"
    for each in status.get("conditions") or ():
        why = ": ".join(filter(None, (each.get("reason"), each.get("message"))))
        yield f"{each.get('type')}={each.get('status')}" + (f" ({why})" if why else "")
    for each in status.get("fieldErrors") or ():
        yield f"{each.get('field')}: {each.get('detail')}"


def _refused(kube: Kube, code: int, texts: Iterable[bytes]) -> Iterator[str]:
    """Yield the paths of requests for objects whose responses have this code and
    one of the texts."""
    paths = {
        record.path.partition("?")[0]: None
        for record in tuple(kube.log.requests)
        if record.code == code
        and record.path.startswith("/api")
        and any(text in record.answered for text in texts)
    }
    yield from paths


def _title(obj: Object) -> str:
    metadata = obj["metadata"]
    place = "/".join(filter(None, (metadata.get("namespace"), metadata["name"])))
    return f"{obj['kind']} {place}"


def _count(number: int, noun: str) -> str:
    plural = f"{noun[:-1]}ies" if noun.endswith("y") else f"{noun}s"
    return f"{number} {noun if number == 1 else plural}"
