"""Finds out from their code which tests need more than this process.

A test that reaches `subprocess`, PostgreSQL or a browser gets a marker. It may reach them itself,
through functions of its file, through fixtures, or through a file or a module of `tests/support`
that it loads. `make test` leaves these tests out, `make test-all` runs all of them. A test without
a marker fails if it starts a program; programs that inkube starts for itself do not count.
"""

import inspect
import platform
import sys
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from types import CodeType, FrameType, FunctionType, ModuleType

import pytest

TESTS = Path(__file__).parents[1]
MARKERS = {"processes": "subprocess", "database": "postgresql", "browser": "browsers"}
"""Each marker in pyproject.toml, and the module that makes a test get it."""
STARTS = frozenset({"create_subprocess_exec", "create_subprocess_shell", "runpytest_subprocess"})
"""Functions of asyncio and pytest that start programs."""
EVENTS = frozenset({"subprocess.Popen", "os.fork", "os.forkpty", "os.posix_spawn"})
"""Audit events of the start of a program (https://docs.python.org/3/library/audit_events.html)."""


def markers(item: pytest.Function) -> Iterator[str]:
    """Yield the markers of a test."""
    reached = set[str]()
    for function in _functions(item):
        reached |= _reached(function)
    parameters = getattr(item, "callspec", None)
    if parameters is not None and "postgresql" in map(_word, parameters.params.values()):
        reached.add("postgresql")
    for marker, module in MARKERS.items():
        if module in reached:
            yield marker


class Watch:
    """Records the programs that tests start. Programs that inkube starts for itself do not
    count."""

    def __init__(self) -> None:
        self.started = list[str]()
        sys.addaudithook(self._hear)

    def _hear(self, event: str, arguments: tuple[object, ...]) -> None:
        if event in EVENTS and not _is_exempt(sys._getframe(1)):
            self.started.append(f"{event} {arguments[:2]}")


def _is_exempt(frame: FrameType | None) -> bool:
    """Return whether inkube starts the program, or `platform`, which calls `uname` for the
    processor."""
    while frame is not None:
        name = frame.f_globals.get("__name__", "")
        if name.startswith("inkube.") or name == platform.__name__:
            return True
        frame = frame.f_back
    return False


def _word(parameter: object) -> str:
    return parameter.lower() if isinstance(parameter, str) else ""


def _functions(item: pytest.Function) -> Iterator[FunctionType]:
    """Yield the functions of a test and of its fixtures, including autouse fixtures of its file."""
    yield inspect.unwrap(getattr(item.obj, "__func__", item.obj))
    for *_, definition in item._fixtureinfo.name2fixturedefs.values():
        function = getattr(definition.func, "__func__", definition.func)
        if isinstance(function, FunctionType):
            yield inspect.unwrap(function)


@cache
def _reached(function: FunctionType) -> frozenset[str]:
    """Return the modules of MARKERS that a function reaches through the functions and classes that
    it names, in its file and in other files of the tests."""
    found, seen, waiting = set[str](), set[int](), [function]
    while waiting:
        current = waiting.pop()
        if id(current) in seen or not _is_of_tests(current.__globals__.get("__file__")):
            continue
        seen.add(id(current))
        names = set(_names(current.__code__))
        found |= names & set(MARKERS.values())  # imported where it is used
        found |= {"subprocess"} if names & STARTS else set()
        for name in names:
            value = current.__globals__.get(name)
            if isinstance(value, ModuleType):
                found |= _modules(value)
            elif isinstance(value, FunctionType):
                waiting.append(inspect.unwrap(value))
            elif isinstance(value, type):
                members = [getattr(each, "__func__", each) for each in vars(value).values()]
                waiting += [each for each in members if isinstance(each, FunctionType)]
    return frozenset(found)


def _names(code: CodeType) -> Iterator[str]:
    """Yield the names that code uses, including those in its inner functions."""
    yield from code.co_names
    for each in code.co_consts:
        if isinstance(each, CodeType):
            yield from _names(each)


def _modules(module: ModuleType) -> set[str]:
    """Return the module itself if it is in MARKERS; for a module of the tests, also those that it
    imports."""
    if module.__name__ in MARKERS.values():
        return {module.__name__, "subprocess"}
    if not _is_of_tests(getattr(module, "__file__", None)):
        return set()
    imported = [each for each in vars(module).values() if isinstance(each, ModuleType)]
    return {each.__name__ for each in imported} & set(MARKERS.values())


def _is_of_tests(file: str | None) -> bool:
    return file is not None and Path(file).is_relative_to(TESTS)
