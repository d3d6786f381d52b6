"""What runs of a scenario have in common: their beginning, their steps, and what is kept of them.

`runs`, `inprocess` and `suites` use it.
"""

import contextlib
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path

from inkube.apiserver import access, manifests
from inkube.apiserver.explore import acting, invariants
from inkube.apiserver.explore.plans import Plan
from inkube.apiserver.explore.results import Expected, Result
from inkube.apiserver.explore.scenarios import Scenario
from inkube.apiserver.explore.states import State
from inkube.apiserver.manifests import ManifestError
from inkube.apiserver.server import APIServer
from inkube.apiserver.testing import TestLog
from inkube.schemas.status import StatusError

KUBECONFIG = "kubeconfig"
"""The name of the file in the folder of a run."""


def write_kubeconfig(server: APIServer, folder: Path) -> None:
    """Create a folder with a kubeconfig of the server."""
    folder.mkdir()
    access.kubeconfig.write(folder / KUBECONFIG, server.kubeconfig())


async def install(server: APIServer, scenario: Scenario) -> None:
    """Create the definitions of a scenario and their objects. Raises ManifestError."""
    found = manifests.read(scenario.definitions)
    await manifests.install(server.client, found, server.settled)
    await server.parts.defaults.create_all()  # not only in runs that ask for one of them


@asynccontextmanager
async def recorded(
    server: APIServer, scenario: Scenario, log: TestLog, result: Result
) -> AsyncIterator[acting.Changes]:
    """Count and record changes during the block. At its end, add what was recorded to the
    result."""
    objects = acting.objects(server) if scenario.rules else []
    with contextlib.closing(log.record(server.store)), acting.counted(server) as changes:
        yield changes
        result.snapshot = await server.snapshot()
        history = log.history()
    result.history = [str(change).strip() for change in history]
    result.overwritten = acting.unlabelled(history, scenario.steps)
    result.broken = invariants.broken(scenario.rules, objects, history)


class SteppedRun:
    """A run on one server, step by step."""

    def __init__(
        self,
        scenario: Scenario,
        server: APIServer,
        log: TestLog,
        changes: acting.Changes,
        plan: Plan | None,
        expected: Expected | None,
    ) -> None:
        self._scenario = scenario
        self._steps = (plan.steps if plan is not None else ()) or scenario.steps
        self._server = server
        self._log = log
        self._changes = changes
        """Counts the changes that belong to the end state."""
        self._plan = plan
        self._expected = expected

    @contextmanager
    def _ending(self, result: Result) -> Iterator[None]:
        """Treat errors of the block as the reason why the run could not be carried out."""
        try:
            yield
        except (StatusError, ManifestError, OSError, TimeoutError) as error:
            result.error = str(error) or type(error).__name__
            result.is_refused = isinstance(error, StatusError | ManifestError)

    def _is_as_expected(self, index: int) -> bool:
        return self._expected is None or self._expected.is_reached(index, self._state())

    def _state(self) -> State:
        return acting.state(self._server, self._scenario.ignore)
