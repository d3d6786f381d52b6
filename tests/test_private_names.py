"""What inkube uses of libraries without their promise; each has no public way, and must not go."""

import inspect
import re
from pathlib import Path
from re import _constants, _parser  # type: ignore[attr-defined] # as patterns.py does
from typing import Any

import aiohttp.web
import pytest
import re2
import urllib3.connection
from dulwich.client import Urllib3HttpGitClient

ROOT = Path(__file__).parent.parent
FOLDERS = ("apiserver", "controllers", "schemas", "storage")
USES = {
    "apiserver/http/connections.py": {
        "_ErrInfo", "_asyncio_future_blocking", "_enter_task", "_leave_task", "_task",
    },
    "apiserver/http/delivery.py": {"_serialize_headers"},
    "apiserver/http/incoming.py": {"_buffer", "_prepare_hook"},
    "controllers/provisioning/outside/git.py": {"_new_conn"},
    "schemas/golang/patterns.py": {"_constants", "_parser"},
    "schemas/golang/regexp.py": {"_re2"},
}  # fmt: skip
"""Files, and the private names of libraries each uses."""


def uses(text: str) -> set[str]:
    """Private names of others: what ruff was told to let pass, and overridden ones."""
    told = re.findall(r"\.(_\w+).*# noqa: SLF001", text)
    lines = re.findall(r"^from (?:re|asyncio|aiohttp)\b[\w.]* import (.+)", text, re.MULTILINE)
    imported = re.findall(r"\b_\w+", " ".join(line.split("#")[0] for line in lines))
    hooks = re.findall(r"def (_prepare_hook|_new_conn|_http_request)\(", text)
    return {*told, *imported, *hooks}


def test_every_use_is_known() -> None:
    files = [path for name in FOLDERS for path in (ROOT / name).rglob("*.py")]
    found = {str(path.relative_to(ROOT)): uses(path.read_text()) for path in files}
    assert {path: names for path, names in found.items() if names} == USES


@pytest.mark.parametrize(
    ("caller", "hook"),
    [
        (aiohttp.web.StreamResponse, "_prepare_hook"),
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


def test_re_still_takes_patterns_apart() -> None:
    ((operation, _),) = _parser.parse("a+")
    assert operation is _constants.MAX_REPEAT
