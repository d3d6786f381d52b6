"""The private names of libraries that inkube uses. Each has no public replacement.

Only the event loop in `http/fast` uses private names of aiohttp; it serves with tested versions
only. With a version of another library in which a name is missing, a slower way with public names
serves, or requests are refused.
"""

import ast
import inspect
import socket
from functools import partial
from pathlib import Path
from re import _constants, _parser  # type: ignore[attr-defined] # as patterns.py does
from types import ModuleType
from typing import Any

import aiohttp
import privates
import pytest
import re2
import syntax
import urllib3.connection
from dulwich.client import Urllib3HttpGitClient

from inkube.apiserver.http import fast
from inkube.controllers import checks
from inkube.controllers.provisioning.outside import ssrf
from inkube.controllers.provisioning.outside.clients import git
from inkube.schemas.golang import patterns, regexp

ROOT = Path(__file__).parent.parent
FOLDERS = ("apiserver", "controllers", "schemas", "storage")
USES = {
    "apiserver/http/fast/connections.py": {
        "_ErrInfo", "_asyncio_future_blocking", "_buffer_paused", "_close", "_current_request",
        "_enter_task", "_force_close", "_handle_request", "_keepalive", "_keepalive_handle",
        "_keepalive_timeout", "_leave_task", "_lingering_time", "_loop", "_make_error_handler",
        "_manager", "_messages", "_msg_queue_resume_size", "_next_keepalive_close_time", "_parser",
        "_paused", "_process_keepalive", "_request_factory", "_request_handler",
        "_resume_reading_if_drained", "_task", "_task_handler", "_waiter",
    },
    "controllers/provisioning/outside/clients/git.py": {"_new_conn"},
    "schemas/golang/patterns.py": {"_constants", "_parser"},
    "schemas/golang/regexp.py": {"_re2"},
}  # fmt: skip
"""Files, and the private names of libraries that each uses."""


def test_every_use_is_known() -> None:
    files = [str(path.relative_to(ROOT)) for f in FOLDERS for path in (ROOT / f).rglob("*.py")]
    found = {}
    for path in files:
        tree = syntax.tree(ROOT / path)
        found[path] = privates.used(tree, partial(privates.module_of, path))
    assert {path: names for path, names in found.items() if names} == USES


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("from aiohttp.web_protocol import _ErrInfo", {"_ErrInfo"}),
        ("import aiohttp._websocket.reader", {"_websocket"}),
        ("def end(request):\n    request._task = None", {"_task"}),
        ("def end(request):\n    return getattr(request, '_task')", {"_task"}),
        (
            "class A(Handler):\n    def end(self):\n        self._force_close = True",
            {"_force_close"},
        ),
        ("class A(Handler):\n    def end(self):\n        return self._messages", {"_messages"}),
        ("class A(Handler):\n    def _make_error_handler(self): ...", {"_make_error_handler"}),
        ("class A(Response):\n    _length_check = False", {"_length_check"}),
        ("class A(Handler):\n    __slots__ = ('_own', '_loop')", {"_loop"}),
        ("def make():\n    class A(Handler):\n        _loop = None", {"_loop"}),
        ("class A(Handler):\n    def end(self):\n        self._own = self.transport", set()),
        ("class A:\n    def end(self, other):\n        self._own = other._own", set()),
        ("def renamed(record):\n    return record._replace(name='')", set()),
    ],
)
def test_a_use_is_found_wherever_it_is(text: str, names: set[str]) -> None:
    module = ModuleType("inkube.newcomer")
    vars(module).update(Handler=aiohttp.web.RequestHandler, Response=aiohttp.web.StreamResponse)
    assert privates.used(ast.parse(text), lambda: module) == names


def test_the_loop_for_connections_has_been_tested_with_the_aiohttp_that_is_installed() -> None:
    version = aiohttp.__version__
    assert fast.is_tested(version), f"run the tests of HTTP with {version}, then say so in versions"


@pytest.mark.parametrize(
    ("version", "is_tested"),
    [
        ("3.11.18", False),
        ("3.12.0", True),
        ("3.12.15", True),
        ("3.12.1", False),
        ("3.14.0", True),
        ("3.14.1", False),
        ("3.14.2", False),
        ("3.14.3", False),
        ("3.14.4", True),
        ("3.14.5", True),
        ("3.14.50", False),
        ("3.14.6", False),
        ("3.15.0", False),
        ("3.10.11", False),
        ("4.0.0", False),
        ("3.14.0rc1", False),
        ("3.14", False),
    ],
)
def test_no_other_version_is_served_by_it(version: str, is_tested: bool) -> None:
    assert fast.is_tested(version) == is_tested


@pytest.mark.parametrize(
    ("caller", "hook"),
    [
        (urllib3.connection.HTTPConnection.connect, "_new_conn"),
        (urllib3.connection.HTTPSConnection.connect, "_new_conn"),
        (Urllib3HttpGitClient, "pool_manager.request"),
    ],
)
def test_a_library_still_calls_the_hook(caller: Any, hook: str) -> None:
    assert f".{hook}(" in inspect.getsource(caller)


def test_the_binding_beneath_re2_searches() -> None:
    binding = re2._re2.RE2
    assert binding(b"a+", re2._re2.RE2.Options()).ok()
    assert binding.Anchor.UNANCHORED is not None


@pytest.mark.parametrize("pattern", ["a+", "^$", "(b)|c", "é", "[", "(?P<n>x)*y", "a{1001}"])
def test_without_the_binding_the_public_names_of_re2_find_the_same(
    pattern: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def found() -> object:
        try:
            made = regexp.Pattern(pattern)
        except regexp.RegexError as error:
            return str(error)
        texts = ("", "aaxay", "bcé", "xyxxy")
        return [(made.matches(text), made.find(text), made.find_all(text)) for text in texts]

    expected = found()
    monkeypatch.setattr(regexp, "_BINDING", regexp.PublicBinding)
    assert found() == expected


def test_without_a_parser_for_patterns_no_pattern_reaches_re(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    assert patterns.short_matcher("[a-z]+") is not None
    monkeypatch.setattr(patterns, "_parser", None)
    assert patterns.short_matcher.__wrapped__("[a-z]+") is None  # type: ignore[attr-defined] # of the cache


def test_nothing_is_sent_if_urllib3_does_not_use_the_guarded_connection(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        address = server.getsockname()

        def connect(connection: urllib3.connection.HTTPConnection) -> None:
            connection.sock = socket.create_connection(address)

        monkeypatch.setattr(urllib3.connection.HTTPConnection, "connect", connect)
        (pool_class, _) = git._guarded_pools(ssrf.Guard()).values()
        with (
            pool_class(*address) as pool,
            pytest.raises(checks.Unavailable, match="version of urllib3"),
        ):
            pool.request("GET", "/")
        connection, _ = server.accept()
        with connection:
            assert connection.recv(1) == b""


def test_re_still_takes_patterns_apart() -> None:
    ((operation, _),) = _parser.parse("a+")
    assert operation is _constants.MAX_REPEAT
