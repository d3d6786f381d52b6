"""The options of a server, and the errors for unknown or invalid ones."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import generate_modules
import pytest

from inkube import APIServer, BadOption, Options


def test_type_checkers_see_every_option_with_its_type():
    found = generate_modules.KEYWORDS.read_text()
    assert found == generate_modules.keywords(), "run python tools/generate_modules.py"


def test_options_of_modules_are_given_by_name():
    options = Options(offline=True, module_options={"scenario": "boats"}, max_repositories=3)
    assert options.module_options == {"scenario": "boats", "offline": True, "max_repositories": 3}
    assert options.value_of("max_repositories") == 3
    assert options.value_of("job_history") == 600.0
    assert replace(options, port=5).module_options == options.module_options


def test_a_path_can_be_a_text():
    values: Any = {"data": "it.db", "audit_log": "audit.log"}
    options = Options(**values)
    assert (options.data, options.audit_log) == (Path("it.db"), Path("audit.log"))


@pytest.mark.parametrize(
    ("name", "advice"), [("prot", r"did you mean port\?"), ("zzz", r"the options are .*\bport,")]
)
def test_an_unknown_option_is_refused_with_a_similar_name_or_all(name, advice):
    values: Any = {name: 1}
    with pytest.raises(TypeError, match=f"there is no option {name}; {advice}"):
        APIServer(**values)


def test_options_and_single_options_are_not_mixed():
    with pytest.raises(TypeError, match="not both: port"):
        APIServer(Options(), port=1)


@pytest.mark.parametrize(
    ("options", "text"),
    [
        ({"port": "abc"}, "port: 'abc' is not a whole number"),
        ({"lease_duration": "a"}, "lease_duration: 'a' is not a whole number"),
        ({"event_ttl": None}, "event_ttl: None is not a number"),
        ({"host": 5}, "host: 5 is not a text"),
        ({"tls": "no"}, "tls: 'no' is not True or False"),
        ({"definitions": "a.yaml"}, "definitions: 'a.yaml' is a single value; use a list"),
        ({"definitions": Path("a.yaml")}, "definitions: 'a.yaml' is a single value; use a list"),
    ],
)
def test_values_of_other_types_are_refused(options, text):
    with pytest.raises(BadOption) as refused:
        APIServer(**options)
    assert str(refused.value) == text


async def test_a_server_is_entered_once():
    server = APIServer()
    with pytest.raises(RuntimeError, match="was not started"):
        _ = server.url
    async with server:
        with pytest.raises(RuntimeError, match="entered only once"):
            await server.__aenter__()
        assert await server.client.list("v1/namespaces")
    with pytest.raises(RuntimeError, match="entered only once"):
        await server.__aenter__()
