"""Decisions that need the answer of another server: tokens and permissions that webhooks check.

Authenticators and authorizers are plain functions, because almost all of them read memory, and CEL
calls them. One that needs an answer raises `Pending`. Whoever can wait calls it with `answered`,
which asks and calls it again.
"""

from collections.abc import Awaitable, Callable, Hashable, Mapping
from contextvars import ContextVar
from types import MappingProxyType
from typing import Any, TypeVar

T = TypeVar("T")
_NOTHING: Mapping[Hashable, Any] = MappingProxyType({})
_answers: ContextVar[Mapping[Hashable, Any]] = ContextVar("answers", default=_NOTHING)
_MAX_QUESTIONS = 1000


class Pending(BaseException):
    """The result depends on an answer that is not here yet. `fetch` gets it; `key` is the question.

    It is raised by a plain function, and handled by `answered`. It is no Exception, because it must
    pass through code that takes each of them for an error, such as CEL.
    """

    def __init__(self, key: Hashable, fetch: Callable[[], Awaitable[Any]]) -> None:
        super().__init__(f"nobody waits for the answer to {key}")
        self.key = key
        self.fetch = fetch


def answer(key: Hashable, fetch: Callable[[], Awaitable[Any]]) -> Any:
    """Return the answer to a question within `answered`. Raises Pending if it is not here yet."""
    try:
        return _answers.get()[key]
    except KeyError:
        raise Pending(key, fetch) from None


async def answered(step: Callable[[], T]) -> T:
    """Return the result of a function, which is called again after each answer that it needs.

    Each question is asked once, and its answer is the same until the function returns. Raises what
    the function and the questions raise.
    """
    answers: dict[Hashable, Any] = {}
    token = _answers.set(answers)
    try:
        while len(answers) < _MAX_QUESTIONS:
            try:
                return step()
            except Pending as pending:
                answers[pending.key] = await pending.fetch()
    finally:
        _answers.reset(token)
    raise RuntimeError(f"a decision needs more than {_MAX_QUESTIONS} answers of other servers")
