"""A server's process has aiohttp without its client, and whoever asks for the client has it."""

import json
import re
import subprocess
import sys

import aiohttp
import pytest
from patience import SECONDS

BEFORE = """
import json, sys, threading
from inkube.apiserver.root import lazyaiohttp
lazyaiohttp.postpone_client()
import aiohttp.web
from aiohttp import hdrs, web
assert "aiohttp.client" not in sys.modules
"""


def run(program: str) -> str:
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", BEFORE + program],
        capture_output=True, text=True, timeout=SECONDS,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_what_serves_is_imported_without_the_client():
    run('assert web.Application is sys.modules["aiohttp.web_app"].Application')


def test_every_name_of_the_package_is_what_it_is_elsewhere():
    told = json.loads(
        run(
            "print(json.dumps({"
            "name: [type(value).__name__, getattr(value, '__module__', '')] "
            "for name in aiohttp.__all__ for value in [getattr(aiohttp, name)]}))"
        )
    )
    assert told == {
        name: [type(value).__name__, getattr(value, "__module__", "")]
        for name in aiohttp.__all__
        for value in [getattr(aiohttp, name)]
    }


def test_its_version_is_told_and_loads_nothing():
    told = run('print(aiohttp.__version__); assert "aiohttp.client" not in sys.modules')
    assert told.strip() == aiohttp.__version__


@pytest.mark.parametrize(
    "asked",
    [
        "from aiohttp import ClientSession; assert ClientSession",
        "import aiohttp; aiohttp.ClientSession",
        "from aiohttp import *; assert ClientSession",
        "from aiohttp import client; assert client.ClientSession",
        "import aiohttp.client; assert aiohttp.ClientSession is aiohttp.client.ClientSession",
        "from aiohttp.connector import TCPConnector; assert TCPConnector is aiohttp.TCPConnector",
        "import importlib; assert importlib.reload(aiohttp).ClientSession",
    ],
)
def test_the_client_is_there_however_it_is_asked_for(asked):
    run(asked + '; assert "aiohttp.client" in sys.modules')


def test_what_the_package_has_not_is_told_as_of_any_module():
    told = run(
        "for name in ('nothing', '__wrapped__'):\n"
        "    try:\n        getattr(aiohttp, name)\n"
        "    except AttributeError as error:\n        print(error)\n"
        "try:\n    from aiohttp import nothing\nexcept ImportError as error:\n    print(error)\n"
    )
    nothing, wrapped, imported = told.splitlines()
    assert re.search("aiohttp.* has no attribute .*nothing", nothing)
    assert re.search("aiohttp.* has no attribute .*__wrapped__", wrapped)
    assert "cannot import name 'nothing' from 'aiohttp'" in imported


def test_threads_that_ask_at_once_all_have_it():
    run(
        "asked = 'ClientSession', 'TCPConnector', 'ClientTimeout', 'CookieJar'\n"
        "found, ready = [], threading.Barrier(8)\n"
        "def ask(name):\n    ready.wait()\n    found.append(getattr(aiohttp, name))\n"
        "threads = [threading.Thread(target=ask, args=[name]) for name in asked * 2]\n"
        "[thread.start() for thread in threads]\n[thread.join(60) for thread in threads]\n"
        "assert {one.__name__ for one in found} == set(asked), found\n"
    )


def test_a_failure_to_load_it_is_told_and_may_pass():
    run(
        "sys.modules['aiohttp.client'] = None\n"
        "for _ in range(2):\n"
        "    try:\n        aiohttp.ClientSession\n"
        "    except ImportError as error:\n        assert 'aiohttp.client' in str(error), error\n"
        "    else:\n        raise AssertionError('it was found')\n"
        "del sys.modules['aiohttp.client']\nassert aiohttp.ClientSession\n"
    )


def test_where_aiohttp_is_known_already_nothing_changes():
    program = (
        "import aiohttp\nfrom inkube.apiserver.root import lazyaiohttp\n"
        "before = vars(aiohttp).copy()\nlazyaiohttp.postpone_client()\n"
        "assert vars(aiohttp) == before\n"
    )
    subprocess.run([sys.executable, "-c", program], check=True, timeout=SECONDS)
