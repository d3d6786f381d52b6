"""Runs a kind's checks for one object, concurrently if they do not depend on each other.

A check is skipped if a prerequisite has findings or was skipped. A failing outside system is
reported immediately at the check's field, and the run records how to retry. An exception in a check
is logged and reported in the same way. Failing checks raise no exceptions.
"""

import asyncio
import contextlib
import logging
import traceback
from collections.abc import Callable, Container, Iterable, Sequence
from typing import Any, Generic, Protocol, TypeVar

from inkube.controllers.checks.declare import Check, Retry
from inkube.controllers.checks.errors import (
    InternalError,
    Invalid,
    OutsideError,
    Problem,
    Unavailable,
    Unreachable,
)
from inkube.controllers.checks.status import value_at
from inkube.controllers.client import Client, Object
from inkube.controllers.environment import Environment, Memo
from inkube.controllers.informer import Key
from inkube.schemas import meta, models
from inkube.schemas.fielderrors import OMITTED, OUTAGE, RATE_LIMITED, SECURE, FieldError, is_secret
from inkube.schemas.sealing import REDACTED

logger = logging.getLogger(__name__)
RUN_PARAMETERS = frozenset({"env", "client", "clock", "memo", "old", "run", "secrets"})
"""The parameters of checks that are parts of the run; the others are services."""
SHORTEST_SECRET = 4
"""Shorter values are also parts of ordinary words, so that texts keep them."""
R = TypeVar("R", bound=models.Resource)


class SecretReader(Protocol):
    """Reads the secret values of one kind (`controllers.secure.SecureValues`)."""

    async def read(self, client: Client, key: Key, member: str, name: str) -> str | None:
        """Return the value for `secure.MEMBER.name` of an object; None if it does not exist."""
        ...


class Secrets:
    """The secret values of the object that a check looks at: the parameter `secrets`.

        token = await secrets.read("token")

    The values that a check reads are removed from its findings and from the log.
    """

    def __init__(self, obj: Object, client: Client, reader: SecretReader | None) -> None:
        self._secure = obj.get(SECURE) or {}
        metadata = obj["metadata"]
        self._key = Key(metadata.get("namespace") or "", metadata.get("name") or "")
        self._client = client
        self._reader = reader
        self._read: set[str] = set()

    async def read(self, member: str) -> str | None:
        """Return the value of `secure.MEMBER`. None if the object has no such value, or if the
        Secret that it names does not exist. Raises LookupError for a kind without secret values."""
        if self._reader is None:
            raise LookupError("the kind has no secret values: its model has no member `secure`")
        name = (self._secure.get(member) or {}).get("name")
        if not name:
            return None
        value = await self._reader.read(self._client, self._key, member, name)
        if value is not None:
            self.note(value)
        return value

    def note(self, value: str) -> None:
        """Keep a value that was read in another way out of findings and the log."""
        if len(value) >= SHORTEST_SECRET:
            self._read.add(value)

    def hidden(self, text: str) -> str:
        """Return the text without the values."""
        for value in sorted(self._read, key=len, reverse=True):
            text = text.replace(value, REDACTED)
        return text


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
        reader: SecretReader | None = None,
    ) -> None:
        self._raw = obj
        self.secrets = Secrets(obj, env.client, reader)
        """The secret values of the object."""
        self.object = (
            models.parse_except(model, obj, invalid_paths)
            if invalid_paths
            else models.parse(model, obj)
        )
        self.old = models.parse(model, old) if old is not None else None
        self.env = env
        self.memo = Memo()
        self.is_dry = is_dry
        self.invalid_paths = invalid_paths
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
        """Return the value of the object at the field of the problem."""
        return value_of(problem, self._raw, field)

    @property
    def name(self) -> str:
        """The name of the object; "" if it has no name."""
        return str(self._raw["metadata"].get("name") or "")

    def arguments(self, names: Iterable[str]) -> dict[str, Any]:
        """Return the arguments for the parameters of a check. Raises LookupError on an unknown
        one."""
        own: dict[str, Callable[[], Any]] = {
            "env": lambda: self.env,
            "client": lambda: self.env.client,
            "clock": lambda: self.env.clock,
            "memo": lambda: self.memo,
            "old": lambda: self.old,
            "run": lambda: self,
            "secrets": lambda: self.secrets,
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
        """Return a text about the next attempt. It is the same in each run."""
        if self.is_dry:
            return "send the request again later"
        if unavailable is not None and unavailable.until is not None:
            return f"tried again after {meta.format_time(unavailable.until)}"
        return f"tried again within {self.env.recheck.unhealthy:g} seconds"


class CheckSet(Generic[R]):
    """The live checks of a kind in their declared order, which is the order of their errors."""

    def __init__(
        self, model: type[R], checks: Sequence[Check[R]] = (), reader: SecretReader | None = None
    ) -> None:
        self.model = model
        self.checks = tuple(checks)
        self._reader = reader
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
        """Return all errors of one object. `invalid_paths` has the paths of members that static
        rules refuse; checks that use such a member are skipped. If `invalid_paths` is empty, raises
        `models.Unreadable` for an object that does not fit the model."""
        run = self.open(obj, env, old=old, is_dry=is_dry, invalid_paths=invalid_paths)
        try:
            return await self.evaluate(run)
        finally:
            await run.memo.close()

    def open(
        self,
        obj: Object,
        env: Environment,
        *,
        old: Object | None = None,
        is_dry: bool = False,
        invalid_paths: Sequence[str] = (),
    ) -> Run[R]:
        """Return a run for one object, which the caller evaluates and closes. Raises as `run`."""
        return Run(
            obj, env, model=self.model, old=old, is_dry=is_dry, invalid_paths=invalid_paths,
            reader=self._reader,
        )  # fmt: skip

    def missing_services(self, services: Container[str]) -> list[str]:
        """Return the parameters of checks that are neither parts of a run nor services, with the
        checks: `git (branch_exists)`."""
        return [
            f"{name} ({check.name})"
            for check in self.checks
            for name in check.parameters
            if name not in RUN_PARAMETERS and name not in services
        ]

    async def evaluate(self, run: Run[R]) -> list[FieldError]:
        """Return all errors of a run. The caller can read its shared results afterwards. Raises the
        errors of a store that cannot be used."""
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
        """Return the errors of one check; None if it was skipped."""
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
            if any("[" in path for path in run.invalid_paths):
                return None  # an item that static rules refuse can break a check
            return [_broken(check, run, error)]


async def _found_by(check: Check[R], run: Run[R]) -> list[FieldError] | None:
    """Return the errors that a check finds, or an error about an outage. For a refused object, None
    in place of an error about an outage. Raises models.Unread, and what the check raises."""
    field = check.field_of(run.object)
    try:
        found = await _attempt(check, run)
    except OutsideError as error:
        if run.is_refused:
            return None
        if not error.is_final:
            run.retries.append(check.retry)
        found = _outage(error, check, run)
    errors = [problem.at(field, run.value_of(problem, field), check.name) for problem in found]
    return [
        error._replace(detail=run.secrets.hidden(error.detail))
        for error in errors
        if not any(is_within(error.field, path) for path in run.invalid_paths)
    ]


def _broken(check: Check[R], run: Run[R], error: Exception) -> FieldError:
    """Return the error of a check that raised an exception, or whose findings are malformed."""
    trace = "".join(traceback.format_exception(error))
    if (shown := run.secrets.hidden(trace)) == trace:
        logger.error("the check %s broke on %s", check.name, run.name, exc_info=error)
    else:
        logger.error("the check %s broke on %s\n%s", check.name, run.name, shown)
    detail = f"the check {check.name} broke, see the server's log; {run.retry_text()}"
    field = check.field if isinstance(check.field, str) else ""
    with contextlib.suppress(Exception):  # it may be what broke
        field = check.field_of(run.object)
    return InternalError(detail).at(field, origin=check.name)


async def _attempt(check: Check[R], run: Run[R]) -> list[Problem]:
    """Run a check once. Raises Unavailable after its timeout, by the environment's clock, and
    RuntimeError for a check that was cancelled from inside."""
    evaluating = asyncio.ensure_future(check.evaluate(run.object, run.arguments(check.parameters)))
    limit = asyncio.ensure_future(run.env.clock.sleep(check.timeout))
    try:
        await asyncio.wait((evaluating, limit), return_when=asyncio.FIRST_COMPLETED)
        if evaluating.cancelled():
            raise RuntimeError("something that it waited for was cancelled")
        if evaluating.done():
            return evaluating.result()
    finally:
        for task in (evaluating, limit):
            task.cancel()
        await asyncio.gather(evaluating, limit, return_exceptions=True)
    reason = f"did not answer within {check.timeout:g} seconds"
    service = "the host" if check.failure else f"the check {check.name}"
    raise Unavailable(service, reason, cause=OutsideError.TIMED_OUT)


def _outage(error: OutsideError, check: Check[R], run: Run[R]) -> list[Problem]:
    """Return the finding about an outage; [] if the check leaves it to another one."""
    failure = check.failure_of(run.object)
    if failure is None:
        return []
    code = RATE_LIMITED if error.cause == RATE_LIMITED else OUTAGE
    if isinstance(error, Unreachable):
        reason = f"unreachable: {error.reason}"
        return [Invalid(f"{failure}: {reason}" if failure else reason, code=code)]
    unavailable = error if isinstance(error, Unavailable) else None
    detail = f"{error.service} {error.reason}; {run.retry_text(unavailable)}"
    if failure:
        return [Invalid(f"{failure}: {detail}", code=code)]
    return [InternalError(detail, code=code)]


def is_within(path: str, outer: str) -> bool:
    """Return whether a path is another path, or a part of it."""
    return path == outer or path.startswith((f"{outer}.", f"{outer}["))


def value_of(problem: Problem, obj: Object, field: str) -> Any:
    """Return the value of the object at the field of a problem."""
    return OMITTED if problem.field is None else display_value(obj, problem.field or field)


def display_value(obj: Object, path: str) -> Any:
    """Return the object's value at a path, for an error; OMITTED for secure values and missing
    members."""
    return OMITTED if is_secret(path) else value_at(obj, path)
