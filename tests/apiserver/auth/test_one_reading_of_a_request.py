"""Authorization and the response use the same parsed request, however unusual its query is."""

import ast
from pathlib import Path

import aiohttp
import pytest
import syntax
from hypothesis import given, settings
from hypothesis import strategies as st
from yarl import URL

import inkube
from inkube.apiserver.auth import attributes
from inkube.apiserver.auth.rbac import GROUP
from inkube.apiserver.http import requests
from inkube.apiserver.registry import User
from inkube.apiserver.server import APIServer
from inkube.schemas import selectors, status

SECRETS = "/api/v1/namespaces/default/secrets"
NAMES = ("leak1", "leak2", "leak3")
LEAK = "fieldSelector=metadata.name%3Dleak1"
TRICKS = (
    f"fieldSelector=&{LEAK}",
    f"fieldSelector&{LEAK}",
    f"{LEAK}&fieldSelector=",
    f"{LEAK}&fieldSelector=metadata.name%3Dleak2",
    f"fieldSelector=metadata.name%3Dleak2&{LEAK}",
    f"fieldselector=metadata.name%3Dleak2&{LEAK}",
    f"fieldSelector=metadata.name%21%3Dleak1&{LEAK}",
    f"fieldSelector=%zz&{LEAK}",
    f"fieldSelector=;&{LEAK}",
    f"x;{LEAK}",
    f"{LEAK};x",
    f"field%53elector=&{LEAK}",
    f"field%53elector=metadata.name%3Dleak2&{LEAK}",
    f"&&{LEAK}&&",
    f"=&{LEAK}",
    f"?{LEAK}",
    f"{LEAK}%26fieldSelector=",
    "fieldSelector=+metadata.name=leak1",
    "fieldSelector=metadata.name%3D%3Dleak1",
    "fieldSelector=metadata.name%3Dleak1,metadata.name%21%3Dleak2",
    "fieldSelector=metadata.name%3Dleak1,",
    "fieldSelector=,metadata.name%3Dleak1",
    "fieldSelector=metadata.name%3Dleak2,metadata.name%3Dleak1",
    "fieldSelector=metadata.name%3D.&fieldSelector=metadata.name%3Dleak1",
    f"{LEAK}&limit=1",
    f"limit=1&continue=&{LEAK}",
    f"{LEAK}&labelSelector=!x",
    f"watch=0&{LEAK}",
    f"watch=false&watch=true&{LEAK}",
    "fieldSelector=metadata%2Ename%3Dleak1",
    "fieldSelector=metadata.name%3Dleak%31",
    "fieldSelector=metadata.name%3Dleak1%00",
    "fieldSelector=metadata.name%3Dleak1%C0",
)
PIECES = (
    "fieldSelector", "fieldSelector=", "field%53elector=", LEAK, "metadata.name%3Dleak1",
    "metadata.name=leak2", "&", "&&", ";", "=", "%zz", "%", "%26", "%00", "+", ",", "%2C", "!", "#",
    "watch", "watch=", "watch=1", "watch=0", "limit=1", "labelSelector=a", "?",
)  # fmt: skip
QUERIES = st.lists(st.sampled_from(PIECES), max_size=8).map("".join)


@pytest.fixture
async def ask_limited(token_file):
    """Send a request as a user whose Role names `leak1` only; return the code and the visible
    names."""
    meta = {"name": "one-secret", "namespace": "default"}
    rule = {"apiGroups": [""], "resources": ["secrets"], "resourceNames": ["leak1"]}
    role = {
        "apiVersion": f"{GROUP}/v1",
        "kind": "Role",
        "metadata": meta,
        "rules": [{**rule, "verbs": ["get", "list", "watch"]}],
    }
    binding = {
        "apiVersion": f"{GROUP}/v1",
        "kind": "RoleBinding",
        "metadata": meta,
        "roleRef": {"apiGroup": GROUP, "kind": "Role", "name": "one-secret"},
        "subjects": [{"apiGroup": GROUP, "kind": "User", "name": "plain-user"}],
    }
    options = {"token_auth_file": token_file, "authorization_mode": "RBAC"}
    async with APIServer(**options) as server, aiohttp.ClientSession() as session:
        for name in NAMES:
            secret = {"apiVersion": "v1", "kind": "Secret"}
            await server.client.create(
                {**secret, "metadata": {"name": name, "namespace": "default"}}
            )
        await server.client.create(role)
        await server.client.create(binding)

        async def ask(query: str) -> tuple[int, set[str]]:
            url = URL(f"{server.url}{SECRETS}?{query}", encoded=True)
            headers = {"Authorization": "Bearer user-token"}
            async with session.get(url, headers=headers) as answer:
                body = await answer.json()
            return answer.status, {item["metadata"]["name"] for item in body.get("items", ())}

        yield ask


async def test_no_query_shows_more_than_the_role_names(ask_limited):
    assert await ask_limited(LEAK) == (200, {"leak1"})
    assert await ask_limited("") == (403, set())
    assert await ask_limited(f"fieldSelector=&{LEAK}") == (403, set()), "the first one counts"
    for query in TRICKS:
        code, names = await ask_limited(query)
        assert names <= {"leak1"}, query
        assert code in (200, 400, 403), query


@settings(max_examples=300, deadline=None)
@given(QUERIES)
def test_what_is_authorised_is_what_the_handler_selects(query):
    info = requests.parse("GET", SECRETS, query)
    wanted = attributes.of_request(User("u"), info)
    assert wanted.verb == info.verb
    try:
        handled = selectors.selected_name(info.query.get("fieldSelector", ""))
    except status.StatusError:
        handled = ""
    assert wanted.name in ("", handled)
    assert wanted.verb == ("watch" if selected_watch(info) else "list")


def selected_watch(info):
    return info.query.get("watch", "0") not in ("0", "false")


def test_a_watch_of_the_old_form_is_of_no_name():
    info = requests.parse("GET", "/api/v1/watch/namespaces/default/secrets", LEAK)
    assert attributes.of_request(User("u"), info).name == ""


def test_only_one_module_parses_urls_of_requests():
    """Only `requests` parses URLs, so authorization and handling cannot parse them differently."""
    root = Path(inkube.__path__[0]) / "apiserver"
    readers = set()
    for path in root.rglob("*.py"):
        for node in ast.walk(syntax.tree(path)):
            if isinstance(node, ast.Attribute) and node.attr in (
                "rel_url",
                "query_string",
                "raw_path",
                "url",
            ):
                owner = node.value
                if isinstance(owner, ast.Name) and owner.id == "request":
                    readers.add(path.relative_to(root).as_posix())
    entries = {"app.py", "http/requests.py"}
    assert readers == entries, "who reads it for all, and who gives it to the log as it came"
