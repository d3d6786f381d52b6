"""Runs a kind's checks for one object, concurrently if they do not depend on each other.

A check is skipped if a prerequisite has findings or was skipped. A failing outside system is
reported immediately at the check's field, and the run records how to retry. An exception in a check
is logged and reported in the same way. Failing checks raise no exceptions.
"""

import asyncio
import contextlib
import logging
import re
from collections.abc import Callable, Iterable, Sequence
from typing import Any, Generic, TypeVar

from inkube.controllers.checks.declare import Check, Retry
from inkube.controllers.checks.errors import (
    InternalError,
    Invalid,
    OutsideError,
    Problem,
    Unavailable,
    Unreachable,
)
from inkube.controllers.client import Object
from inkube.controllers.environment import Environment, Memo
from inkube.schemas import meta, models
from inkube.schemas.fielderrors import OMITTED, FieldError, is_secret

logger = logging.getLogger(__name__)
R = TypeVar("R", bound=models.Resource)


class Run(Generic[R]):
    """One run of checks: the object, the old object, and results that the checks share."""

    def __init__(
        self,
        obj: Object,
        env: Environment,
        *,
        model: type[R],
        old: Object | None = None,
        is_dry: bool = False,
        invalid_paths: Sequence[str] = (),
    ) -> None:
        self._raw = obj
        self.object = (
            models.parse_except(model, obj, invalid_paths)
            if invalid_paths
            else models.parse(model, obj)
        )
        self.old = models.parse(model, old) if old is not None else None
        self.env = env
        self.memo = Memo()
        self.is_dry = is_dry
        self.is_refused = bool(invalid_paths)
        """Whether static rules refuse the object. An outage is then not reported."""
        self.retries: list[Retry] = []
        """The retry delays of checks whose outside system failed and can respond soon."""

    @property
    def raw(self) -> Object:
        """The plain object. Raises models.Unread if static rules refuse the object, because a read
        of its members cannot be followed."""
        if self.is_refused:
            raise models.Unread("static rules refuse the object")
        return self._raw

    def value_of(self, problem: Problem, field: str) -> Any:
        """The value of the object at the field of the problem."""
        return value_of(problem, self._raw, field)

    @property
    def name(self) -> str:
        """The name of the object; "" if it has no name."""
        return str(self._raw["metadata"].get("name") or "")

    def arguments(self, names: Iterable[str]) -> dict[str, Any]:
        """The arguments for the parameters of a check. Raises LookupError on an unknown one."""
        own: dict[str, Callable[[], Any]] = {
            "env": lambda: self.env,
            "client": lambda: self.env.client,
            "clock": lambda: self.env.clock,
            "memo": lambda: self.memo,
            "old": lambda: self.old,
            "run": lambda: self,
        }
        found = {}
        for name in names:
            if name in own:
                found[name] = own[name]()
            elif name in self.env.services:
                found[name] = self.env.services[name]
            else:
                raise LookupError(f"no service named {name!r}")
        return found

    def retry_text(self, unavailable: Unavailable | None = None) -> str:
        """A text about the next attempt. It is the same in each run."""
        if self.is_dry:
            return "send the request again later"
        if unavailable is not None and unavailable.until is not None:
            return f"tried again after {meta.format_time(unavailable.until)}"
        return f"tried again within {self.env.recheck.unhealthy:g} seconds"


class CheckSet(Generic[R]):
    """The live checks of a kind in their declared order, which is the order of their errors."""

    def __init__(self, model: type[R], checks: Sequence[Check[R]] = ()) -> None:
        self.model = model
        self.checks = tuple(checks)
        known: set[Check[R]] = set()
        for check in self.checks:
            if not issubclass(model, check.model):
                raise TypeError(
                    f"{check.name} is a check of {check.model.__name__}, not of {model.__name__}"
                )
            if not known.issuperset(check.after):
                raise ValueError(f"{check.name} must be listed after its prerequisites")
            known.add(check)

    async def run(
        self,
        obj: Object,
        env: Environment,
        *,
        old: Object | None = None,
        is_dry: bool = False,
        invalid_paths: Sequence[str] = (),
    ) -> list[FieldError]:
        """All errors of one object. `invalid_paths` has the paths of members that static rules
        refuse; checks that use such a member are skipped. If `invalid_paths` is empty, raises
        `models.Unreadable` for an object that does not fit the model."""
        run = Run(obj, env, model=self.model, old=old, is_dry=is_dry, invalid_paths=invalid_paths)
        try:
            return await self.evaluate(run)
        finally:
            await run.memo.close()

    async def evaluate(self, run: Run[R]) -> list[FieldError]:
        """All errors of a run. The caller can read its shared results afterwards. Raises the errors
        of a store that cannot be used."""
        outcomes: dict[Check[R], asyncio.Task[list[FieldError] | None]] = {}
        try:
            async with asyncio.TaskGroup() as group:
                for check in self.checks:
                    before = [outcomes[earlier] for earlier in check.after]
                    outcomes[check] = group.create_task(self._run_check(check, run, before))
        except ExceptionGroup as failed:
            raise failed.exceptions[0] from failed
        return [error for task in outcomes.values() for error in task.result() or ()]

    async def _run_check(
        self,
        check: Check[R],
        run: Run[R],
        earlier_tasks: "list[asyncio.Task[list[FieldError] | None]]",
    ) -> list[FieldError] | None:
        """The errors of one check; None if it was skipped."""
        for earlier in earlier_tasks:
            if await earlier != []:
                return None
        await run.env.pacer.wait()
        try:
            return await _found_by(check, run)
        except models.Unread:
            return None
        except Exception as error:  # a broken check must not keep the others from being reported
            if run.env.outages.includes(error):
                raise
            return [_broken(check, run, error)]


async def _found_by(check: Check[R], run: Run[R]) -> list[FieldError] | None:
    """The errors that a check finds, or an error about an outage. For a refused object, None in
    place of an error about an outage. Raises models.Unread, and what the check raises."""
    field = check.field_of(run.object)
    try:
        found = await _attempt(check, run)
    except OutsideError as error:
        if run.is_refused:
            return None
        if not error.is_final:
            run.retries.append(check.retry)
        found = _outage(error, check, run)
    return [problem.at(field, run.value_of(problem, field), check.name) for problem in found]


def _broken(check: Check[R], run: Run[R], error: Exception) -> FieldError:
    """The error of a check that raised an exception, or whose findings are malformed."""
    logger.error("the check %s broke on %s", check.name, run.name, exc_info=error)
    detail = f"the check {check.name} broke, see the server's log; {run.retry_text()}"
    field = check.field if isinstance(check.field, str) else ""
    with contextlib.suppress(Exception):  # it may be what broke
        field = check.field_of(run.object)
    return InternalError(detail).at(field, origin=check.name)


async def _attempt(check: Check[R], run: Run[R]) -> list[Problem]:
    """Run a check once. Raises Unavailable after its timeout, by the environment's clock, and
    RuntimeError for a check that was cancelled from inside."""
    asking = asyncio.ensure_future(check.ask(run.object, run.arguments(check.parameters)))
    limit = asyncio.ensure_future(run.env.clock.sleep(check.timeout))
    try:
        await asyncio.wait((asking, limit), return_when=asyncio.FIRST_COMPLETED)
        if asking.cancelled():
            raise RuntimeError("something that it waited for was cancelled")
        if asking.done():
            return asking.result()
    finally:
        for task in (asking, limit):
            task.cancel()
        await asyncio.gather(asking, limit, return_exceptions=True)
    reason = f"did not answer within {check.timeout:g} seconds"
    raise Unavailable("the host" if check.failure else f"the check {check.name}", reason)


def _outage(error: OutsideError, check: Check[R], run: Run[R]) -> list[Problem]:
    """The finding about an outage; [] if the check leaves it to another one."""
    failure = check.failure_of(run.object)
    if failure is None:
        return []
    if isinstance(error, Unreachable):
        reason = f"unreachable: {error.reason}"
        return [Invalid(f"{failure}: {reason}" if failure else reason)]
    unavailable = error if isinstance(error, Unavailable) else None
    detail = f"{error.service} {error.reason}; {run.retry_text(unavailable)}"
    return [Invalid(f"{failure}: {detail}") if failure else InternalError(detail)]


def value_of(problem: Problem, obj: Object, field: str) -> Any:
    """The value of the object at the field of a problem."""
    return OMITTED if problem.field is None else display_value(obj, problem.field or field)


def display_value(obj: Object, path: str) -> Any:
    """The object's value at a path, for an error; OMITTED for secure values and missing members."""
    if is_secret(path):
        return OMITTED
    current: Any = obj
    for name, position in re.findall(r"([^.\[\]]+)|\[(\d+)\]", path):
        if name and isinstance(current, dict) and name in current:
            current = current[name]
        elif position and isinstance(current, list) and int(position) < len(current):
            current = current[int(position)]
        else:
            return OMITTED
    return current
