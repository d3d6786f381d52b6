"""Declaring live checks, validators and mutators of a kind.

    @check(Repository, field="spec.git.branch", after=(repository_reachable,))
    async def branch_exists(repository, git):
        if not await git.has_branch(repository.spec.git):
            yield Invalid("branch not found")

A function gets the typed object first; its further parameters are filled by name, from the run
(`env`, `client`, `clock`, `old`, `memo`) or from the services of the environment (`git`).
"""

import inspect
from collections.abc import AsyncIterator, Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from types import CodeType, UnionType
from typing import Any, Generic, TypeVar, get_args

from pydantic import BaseModel

from inkube.controllers.checks.errors import Problem, is_vague
from inkube.schemas.models import Resource

R = TypeVar("R", bound=Resource)

Field = str | Callable[[Any], str]
Failure = str | Callable[[Any], str | None]


@dataclass(frozen=True, slots=True)
class Retry:
    """Delays between runs while an outside system fails, in seconds; `total` limits their sum."""

    first: float = 0.1
    factor: float = 2.0
    longest: float = 5.0
    attempts: int = 8
    total: float = 12.0

    def delay(self, attempt: int) -> float:
        """Return the delay after the n-th attempt, counted from 0."""
        return min(self.longest, self.first * self.factor**attempt)


NEVER = Retry(total=0.0)


@dataclass(frozen=True, slots=True, eq=False)
class Check(Generic[R]):
    """A declared live check. `timeout` limits one attempt, in seconds.

    `failure` is the text for an outage of the outside system, such as "failed to check if
    repository exists". The field is then invalid, and the user decides what to do. Without this
    text, an outage is an InternalError. A function returns the text for an object, or None if
    another check reports the outage of this object. `aliases` are fields that findings can name
    although the model does not have them.
    """

    name: str
    model: type[R]
    field: Field
    function: Callable[..., Any]
    parameters: tuple[str, ...]
    after: tuple["Check[R]", ...] = ()
    timeout: float = 10.0
    retry: Retry = Retry()
    failure: Failure = ""
    aliases: tuple[str, ...] = ()

    def field_of(self, obj: R) -> str:
        """Return the path of the field that the check validates in an object."""
        return self.field if isinstance(self.field, str) else self.field(obj)

    def failure_of(self, obj: R) -> str | None:
        """Return the text for an outage; None if the check does not report it."""
        return (
            self.failure
            if self.failure is None or isinstance(self.failure, str)
            else (self.failure(obj))
        )

    async def evaluate(self, obj: R, arguments: dict[str, Any]) -> list[Problem]:
        """Run the function once, a coroutine or an async generator. Returns its findings. Raises
        TypeError for values that are not findings."""
        try:
            answer = self.function(obj, **arguments)
            if isinstance(answer, AsyncIterator):
                return [checked_finding(found, self) async for found in answer]
            found = await answer
        except SystemExit as error:
            raise RuntimeError(f"it exits with {error.code}") from error
        if found is None:
            return []
        found = [found] if isinstance(found, Problem) else found
        return [checked_finding(each, self) for each in found]


@dataclass(frozen=True, slots=True, eq=False)
class Rule(Generic[R]):
    """A declared validator or mutator: a synchronous `function(obj, old)` without outside calls."""

    name: str
    model: type[R]
    field: Field
    function: Callable[[R, R | None], Any]
    aliases: tuple[str, ...] = ()

    def findings(self, obj: R, old: R | None) -> Iterator[Problem]:
        """Yield the problems of a validator. Raises TypeError for values that are not problems."""
        for found in self.function(obj, old) or ():
            yield checked_finding(found, self)

    def field_of(self, obj: R) -> str:
        """Return the path of the field that the rule validates in an object."""
        return self.field if isinstance(self.field, str) else self.field(obj)


def check(
    model: type[R],
    *,
    field: Field,
    after: Sequence[Check[R]] = (),
    timeout: float = 10.0,
    retry: Retry | None = None,
    failure: Failure = "",
    aliases: Sequence[str] = (),
) -> Callable[[Callable[..., Any]], Check[R]]:
    """Declare a live check. Raises TypeError for unknown fields, ValueError for vague details."""

    def declare(function: Callable[..., Any]) -> Check[R]:
        if not (inspect.isasyncgenfunction(function) or inspect.iscoroutinefunction(function)):
            raise TypeError(f"{function.__name__} must be a coroutine or an async generator")
        _refuse_vague(function)
        return Check(
            name=function.__name__,
            model=model,
            field=_field_of(model, field),
            function=function,
            parameters=tuple(inspect.signature(function).parameters)[1:],
            after=tuple(after),
            timeout=timeout,
            retry=retry or Retry(),
            failure=failure,
            aliases=tuple(aliases),
        )

    return declare


def validator(
    model: type[R], *, field: Field = "", aliases: Sequence[str] = ()
) -> Callable[[Callable[[R, R | None], Iterable[Problem]]], Rule[R]]:
    """Declare a static rule: it yields problems, uses no outside system and runs on every write."""

    def declare(function: Callable[[R, R | None], Iterable[Problem]]) -> Rule[R]:
        _refuse_vague(function)
        return Rule(function.__name__, model, _field_of(model, field), function, tuple(aliases))

    return declare


def mutator(model: type[R]) -> Callable[[Callable[[R, R | None], None]], Rule[R]]:
    """Declare a change made on every write before validation: it alters the object in place."""

    def declare(function: Callable[[R, R | None], None]) -> Rule[R]:
        return Rule(function.__name__, model, "", function)

    return declare


def checked_finding(finding: Any, rule: "Check[Any] | Rule[Any]") -> Problem:
    """Return a value that a check or validator returned. Raises TypeError if it is not a finding,
    or if it names a field that the model does not have."""
    if not isinstance(finding, Problem):
        raise TypeError(f"{finding!r} is not a finding, such as Invalid('branch not found')")
    field = finding.field
    if field and field not in rule.aliases and not field_exists(rule.model, field):
        raise TypeError(f"{rule.model.__name__} has no field {field!r}")
    return finding


def field_exists(model: type[BaseModel], path: str) -> bool:
    """Return whether the model has a member at a path of JSON names, such as
    `spec.github.appID`."""
    current: Any = model
    for part in path.split("."):
        name = part.partition("[")[0]
        current = _member(current, name)
        if current is None:
            return False
    return True


def _member(current: Any, name: str) -> Any:
    """Return the type of a member; `Any` below a type that is not a model, None if it does not
    exist."""
    if current is Any or not (isinstance(current, type) and issubclass(current, BaseModel)):
        return Any
    for attribute, info in current.model_fields.items():
        if name == (info.alias or attribute):
            return _model_in(info.annotation)
    return None


def _model_in(annotation: Any) -> Any:
    """Return the model `X` in `X | None` or `list[X]`; `Any` without a model."""
    if isinstance(annotation, type) and not get_args(annotation):
        return annotation
    candidates = [_model_in(part) for part in get_args(annotation) if part is not type(None)]
    models = [found for found in candidates if isinstance(found, type | UnionType)]
    return models[-1] if models else Any


def _field_of(model: type[Resource], field: Field) -> Field:
    if isinstance(field, str) and field and not field_exists(model, field):
        raise TypeError(f"{model.__name__} has no field {field!r}")
    return field


def _refuse_vague(function: Callable[..., Any]) -> None:
    """Raise ValueError if the function contains a text that is too vague to help a user."""
    code = getattr(function, "__code__", None)
    for text in _texts(code) if isinstance(code, CodeType) else ():
        if " " in text and is_vague(text):
            raise ValueError(
                f"{getattr(function, '__name__', function)}: {text!r} does not help users; "
                "name the problem and a value that would be right"
            )


def _texts(code: CodeType) -> Iterable[str]:
    for constant in code.co_consts:
        if isinstance(constant, str) and constant.strip() and "\n" not in constant:
            yield constant.strip()
