"""Test suites of other people: run under each plan, and judged by their exit code.

A suite reaches the server through KUBECONFIG. envtest uses it, too, because of
USE_EXISTING_CLUSTER. The requests of the code under test are disturbed, those of the tests are not,
as far as their user agents differ.
"""

import glob
import itertools
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from fnmatch import fnmatchcase
from pathlib import Path

from inkube.apiserver.explore import acting, controllers, observations, planning, runs
from inkube.apiserver.explore.controllers import Command, Suite
from inkube.apiserver.explore.plans import Plan, in_turns
from inkube.apiserver.explore.results import Expected, Result, StepResult
from inkube.apiserver.explore.scenarios import Scenario
from inkube.apiserver.explore.states import State
from inkube.apiserver.explore.stepping import KUBECONFIG, recorded, write_kubeconfig
from inkube.apiserver.http import RequestRecord
from inkube.apiserver.server import APIServer
from inkube.apiserver.sources import Snapshot
from inkube.apiserver.testing import TestLog, patience
from inkube.schemas.objects import Object

LIMIT_SECONDS = 1800.0
"""The longest run of a suite without a disturbance."""
MORE_SECONDS = 60.0
"""How much longer than three undisturbed runs a suite may take."""
WATCHES: Mapping[str, Object] = {
    "ended with 410": {"watch": {"events": 1, "end": "Expired"}, "when": {"times": 1}},
    "cut": {"watch": {"events": 1, "end": "Cut"}, "when": {"times": 1}},
    "late": {"delay": {"seconds": 2.0}},
    "merged": {"watch": {"mergeSeconds": 0.5}},
    "repeated": {"watch": {"repeat": 3}},
}
"""What happens to watches, as members of a Fault."""


async def run(
    scenario: Scenario,
    start: Snapshot,
    folder: Path,
    plan: Plan | None = None,
    expected: Expected | None = None,
) -> Result:
    """Run a suite on a server in the state `start`. Files of the run are in `folder`, which is
    created."""
    log, output, suite = TestLog(), folder / "suite.log", scenario.controller
    assert isinstance(suite, Suite), "others are run by `runs`"
    limit = LIMIT_SECONDS if expected is None else MORE_SECONDS + 3 * max(expected.seconds)
    result = Result()
    async with APIServer(runs.options(scenario, start, log)) as server:
        write_kubeconfig(server, folder)
        async with recorded(server, scenario, log, result):
            async with acting.faults(server, plan.faults if plan is not None else ()) as names:
                began = time.monotonic()
                result.failed = await _ended(suite, folder / KUBECONFIG, output, limit)
                seconds = time.monotonic() - began
                counts = [server.faults.counted(name) for name in names]
            result.struck = all(each is not None and each[1] > 0 for each in counts)
    requests = list(log.requests)
    result.log = controllers.tail(output)
    writes = sum(map(observations.is_write, requests))
    result.steps.append(
        StepResult(State({}), requests, not result.failed, seconds, 0, writes=writes)
    )
    return result


async def _ended(suite: Suite, kubeconfig: Path, output: Path, seconds: float) -> str:
    """Run the command to its end. Returns "" if it ends with 0, else how it ended."""
    own = {"USE_EXISTING_CLUSTER": "true", **suite.environment}
    running = await Command(suite.words, suite.folder, own).start(kubeconfig, output)
    try:
        await running.ended(patience.limit(seconds))
        code = running.exit_code
    finally:
        await running.kill()
    if code is None:
        return f"the suite does not end in {seconds:.0f} s"
    return f"the suite fails, with exit code {code}" if code else ""


def plans(suite: Suite, first: Result, second: Result) -> list[Plan]:
    """Return the plans that follow from two undisturbed runs. Categories take turns."""
    agents = _agents(suite, first.steps[0].requests)
    one, other = (
        [each for each in result.steps[0].requests if each.user_agent in agents]
        for result in (first, second)
    )
    writes = observations.common(observations.occurrences([one]), observations.occurrences([other]))
    reads = [read.plural for read in observations.reads(one)]
    by_category = [
        _watches(reads), planning.lost_answers(writes), planning.failures(writes), _stale(reads),
    ]  # fmt: skip
    patterns = [glob.escape(agent) for agent in agents]
    return [_of_agents(plan, patterns) for plan in in_turns(by_category)]


def _agents(suite: Suite, records: Iterable[RequestRecord]) -> list[str]:
    """Return the user agents whose requests are disturbed."""
    every = {record.user_agent: record.verb == "watch" for record in records}
    every |= {record.user_agent: True for record in records if record.verb == "watch"}
    if suite.agents:
        return [a for a in every if any(fnmatchcase(a, each) for each in suite.agents)]
    return [agent for agent, watches in every.items() if watches] or list(every)


def _watches(reads: Iterable[str]) -> Iterator[Plan]:
    for (how, effect), read in itertools.product(WATCHES.items(), reads):
        fault = {**planning.of_watch(read), **effect}
        yield Plan(f"events of {read} {how}", "events", 0, (fault,))


def _stale(reads: Iterable[str]) -> Iterator[Plan]:
    for read in reads:
        match = {"verbs": ["list", "get"], "resources": [read]}
        fault = {"match": match, "when": {"times": 1}, "stale": {"changes": 1}}
        yield Plan(f"stale {read}", "stale", 0, (fault,))


def _of_agents(plan: Plan, patterns: Sequence[str]) -> Plan:
    faults = ({**each, "match": {**each["match"], "userAgents": patterns}} for each in plan.faults)
    return replace(plan, faults=tuple(faults))
