"""Static admission of Repository and Connection: every rule, offline, on every write."""

import base64
from pathlib import Path

import pytest
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import ec, rsa
from hypothesis import given
from hypothesis import strategies as st
from secretstores import MemorySecretStore

from inkube.controllers.clock import FakeClock
from inkube.controllers.provisioning import connection, repository
from inkube.controllers.provisioning.options import Options
from inkube.controllers.provisioning.outside import urls
from inkube.controllers.provisioning.pulls import Pulls
from inkube.controllers.provisioning.tokens import Tokens
from inkube.controllers.secure import SecureValues


def secrets(name):
    return SecureValues(name, MemorySecretStore(), FakeClock())


REPOSITORIES = repository.module(
    Options(local_path_prefixes=[Path("/srv/files/")]), secrets("repositories"), Pulls(), Tokens()
)
CONNECTIONS = connection.module(secrets("connections"), Tokens())


def repo(kind="git", *, name="a", secure=None, block=None, **spec):
    url = {"local": {"path": "/srv/files/x"}}.get(kind, {"url": "https://example.com/o/r"})
    obj = {
        "apiVersion": "provisioning.grafana.app/v0alpha1",
        "kind": "Repository",
        "metadata": {"name": name, "namespace": "ns"},
        "spec": {"title": "Title", "type": kind, kind: {**url, **(block or {})}, **spec},
    }
    if secure:
        obj["secure"] = secure
    return obj


def errors(module, obj, old=None):
    module.mutate(obj, old)
    return [(str(error.type), error.field) for error in module.validate(obj, old)]


TOKEN = {"token": {"create": "t"}}
INVALID, REQUIRED = "FieldValueInvalid", "FieldValueRequired"
FORBIDDEN, DUPLICATE = "FieldValueForbidden", "FieldValueDuplicate"


@pytest.mark.parametrize(
    ("obj", "expected"),
    [
        (repo(), []),
        (repo(title="  "), [(REQUIRED, "spec.title")]),
        (repo(name="new"), [(INVALID, "metadata.name")]),
        (repo(name="github"), [(INVALID, "metadata.name")]),
        (repo(local={"path": "/srv/files/x"}), [(INVALID, "spec.local")]),
        (repo(git=None), [(REQUIRED, "spec.git")]),
        (repo(block={"url": ""}), [(REQUIRED, "spec.git.url")]),
        (repo(block={"url": "ftp://example.com/o/r"}), [(INVALID, "spec.git.url")]),
        (repo(block={"url": "https:///o/r"}), [(INVALID, "spec.git.url")]),
        (repo(block={"url": "https://example.com"}), [(INVALID, "spec.git.url")]),
        (repo(block={"url": "https://example.com/.git"}), [(INVALID, "spec.git.url")]),
        (repo(block={"url": "https://a b/o"}), [(INVALID, "spec.git.url")]),
        (repo(block={"url": "https://example.com:port/o"}), [(INVALID, "spec.git.url")]),
        (repo(block={"url": "https://u:pw@example.com/o"}), [(INVALID, "spec.git.url")]),
        (repo(block={"url": "https://example.com/o/r?x=1"}), [(INVALID, "spec.git.url")]),
        (repo(block={"url": "file:///etc"}), [(INVALID, "spec.git.url")]),
        (repo(block={"url": "file:///srv/files/r"}), []),
        (
            repo("github", block={"branch": "main", "url": "https://github.com/owner"}),
            [(INVALID, "spec.github.url")],
        ),
        (
            repo("github", block={"branch": "main", "url": "https://github.com/o/r/x"}),
            [(INVALID, "spec.github.url")],
        ),
        (repo("github", block={"branch": "main", "url": "https://github.com/o/r.git/"}), []),
        (repo("gitlab", block={"url": "https://gitlab.com/group/sub/r"}), []),
        (repo(block={"branch": "a/b_c-1.x"}), []),
        (repo(block={"path": "a/b/"}), []),
        (repo(block={"path": "/a"}), [(INVALID, "spec.git.path")]),
        (repo(block={"path": "a/../b"}), [(INVALID, "spec.git.path")]),
        (repo(block={"path": "a//b"}), [(INVALID, "spec.git.path")]),
        (repo(block={"path": "a/.hidden"}), [(INVALID, "spec.git.path")]),
        (repo(block={"path": "a%2e"}), [(INVALID, "spec.git.path")]),
        (repo(block={"path": "a" * 1025}), [(INVALID, "spec.git.path")]),
        (repo(block={"path": "a" * 1024}), []),
        (repo("local"), []),
        (repo("local", block={"path": ""}), [(REQUIRED, "spec.local.path")]),
        (repo("local", block={"path": "srv/files/x"}), [(INVALID, "spec.local.path")]),
        (repo("local", block={"path": "/srv/filesystem"}), [(INVALID, "spec.local.path")]),
        (repo("local", block={"path": "/srv"}), [(INVALID, "spec.local.path")]),
        (repo("local", block={"path": "/srv/files/../x"}), [(INVALID, "spec.local.path")]),
        (repo(sync={"enabled": True}), [(REQUIRED, "spec.sync.target")]),
        (repo(sync={"enabled": False}), []),
        (
            repo(sync={"enabled": True, "target": "folder", "intervalSeconds": 0}),
            [(INVALID, "spec.sync.intervalSeconds")],
        ),
        (repo(workflows=["write"], secure=TOKEN), []),
        (repo(workflows=["write"], connection={"name": "c"}), []),
        (
            repo(workflows=["write"]),
            [(REQUIRED, "spec.connection"), (REQUIRED, "secure.token")],
        ),
        (repo("local", workflows=["write"]), []),
        (repo("local", workflows=["branch"]), [(INVALID, "spec.workflows")]),
        (repo(workflows=["write", "write"], secure=TOKEN), [(DUPLICATE, "spec.workflows[1]")]),
        (
            repo(connection={"name": "c"}, secure=TOKEN),
            [(INVALID, "spec.connection.name"), (INVALID, "secure.token")],
        ),
        (repo(webhook={"baseUrl": "grafana.example.com"}), [(INVALID, "spec.webhook.baseUrl")] * 2),
        (repo(webhook={"baseUrl": "https://grafana.example.com"}), []),
    ],
)
def test_rules_of_a_repository(obj, expected):
    assert errors(REPOSITORIES, obj) == expected


@pytest.mark.parametrize(
    "branch",
    ["/a", "a/", "a.", "a.lock", "a..b", "a//b", "a b", "a~1", "a^", "a:b", "ä", "a\n", "-\\"],
)
def test_names_that_are_no_branches(branch):
    assert errors(REPOSITORIES, repo(block={"branch": branch})) == [(INVALID, "spec.git.branch")]


def test_the_type_never_changes():
    assert (FORBIDDEN, "spec.type") in errors(REPOSITORIES, repo("gitlab"), repo("git"))


def test_a_type_that_is_not_enabled_is_not_supported():
    module = repository.module(
        Options(enabled_types=("local", "github")), secrets("r"), Pulls(), Tokens()
    )
    assert errors(module, repo()) == [("FieldValueNotSupported", "spec.type")]


def test_an_object_that_is_being_deleted_is_not_validated():
    obj = repo(title="")
    obj["metadata"]["deletionTimestamp"] = "2026-01-01T00:00:00Z"
    assert errors(REPOSITORIES, obj) == []


def test_a_password_in_a_url_is_not_repeated():
    [error] = REPOSITORIES.validate(repo(block={"url": "https://u:hunter2@example.com/o"}), None)
    assert "hunter2" not in error.message()


@pytest.mark.parametrize("ending", ["", "/", ".git", ".git/", "//"])
def test_urls_are_normalised(ending):
    obj = repo(block={"url": f"https://example.com/o/r{ending}"})
    REPOSITORIES.mutate(obj, None)
    assert obj["spec"]["git"] == {"url": "https://example.com/o/r"}
    assert obj["spec"]["sync"] == {"enabled": False, "intervalSeconds": 10}
    assert obj["spec"]["workflows"] == []


def test_a_short_interval_is_raised_and_nothing_else_is_touched():
    obj = repo(sync={"enabled": True, "target": "folder", "intervalSeconds": 1}, unknown={"x": 1})
    REPOSITORIES.mutate(obj, None)
    assert obj["spec"]["sync"]["intervalSeconds"] == 10
    assert obj["spec"]["unknown"] == {"x": 1}
    assert set(obj["spec"]) == {"title", "type", "git", "sync", "unknown", "workflows"}


@given(st.text(max_size=40))
def test_normalising_twice_is_normalising_once(text):
    once = urls.normalised(f"https://example.com/{text}")
    assert urls.normalised(once) == once


@given(st.text(max_size=60))
def test_no_text_breaks_the_rules_of_form(text):
    for rule in (urls.wrong_with_url, urls.wrong_with_branch, urls.wrong_with_path):
        assert isinstance(rule(text), str)
    if not urls.wrong_with_path(text):
        assert ".." not in text.split("/")


@given(st.lists(st.sampled_from("ab"), max_size=3), st.lists(st.sampled_from("ab"), max_size=3))
def test_overlapping_is_mutual(one, other):
    first, second = "/".join(one), "/".join(other)
    assert urls.overlaps(first, second) == urls.overlaps(second, first)


def private_key(key=None, encoding=serialization.Encoding.PEM):
    key = key or rsa.generate_private_key(public_exponent=65537, key_size=2048)
    form = serialization.PrivateFormat.PKCS8
    return key.private_bytes(encoding, form, serialization.NoEncryption())


GOOD = base64.b64encode(private_key()).decode()


def conn(kind="github", *, secure=None, name="c", **spec):
    app = {"github": {"appID": "1", "installationID": "2"}}
    block = app if kind == "github" else {"oauth": {"clientID": "app"}}
    return {
        "apiVersion": "provisioning.grafana.app/v0alpha1",
        "kind": "Connection",
        "metadata": {"name": name, "namespace": "ns"},
        "spec": {"title": "Title", "type": kind, **block, **spec},
        "secure": {"privateKey": {"create": GOOD}} if secure is None else secure,
    }


KEY_FIELD = "secure.privateKey"
CURVE = ec.generate_private_key(ec.SECP256R1())


@pytest.mark.parametrize(
    ("obj", "expected"),
    [
        (conn(), []),
        (conn(title=""), [(REQUIRED, "spec.title")]),
        (conn(name="new"), [(INVALID, "metadata.name")]),
        (conn(github=None), [(REQUIRED, "spec.github")]),
        (
            conn(github={"appID": "", "installationID": "x"}),
            [(REQUIRED, "spec.github.appID"), (INVALID, "spec.github.installationID")],
        ),
        (conn(github={"appID": "1.5", "installationID": "2"}), [(INVALID, "spec.github.appID")]),
        (conn(github={"appID": "٣", "installationID": "2"}), [(INVALID, "spec.github.appID")]),
        (conn(secure={}), [(REQUIRED, KEY_FIELD)]),
        (conn(secure={"privateKey": {"create": "!"}}), [(INVALID, KEY_FIELD)]),
        (conn(secure={"privateKey": {"create": "aGVsbG8="}}), [(INVALID, KEY_FIELD)]),
        (
            conn(secure={"privateKey": {"create": private_key().decode()}}),
            [(INVALID, KEY_FIELD)],
        ),
        (
            conn(secure={"privateKey": {"create": base64.b64encode(private_key(CURVE)).decode()}}),
            [(INVALID, KEY_FIELD)],
        ),
        (
            conn(secure={"privateKey": {"create": GOOD}, "clientSecret": {"create": "s"}}),
            [(FORBIDDEN, "secure.clientSecret")],
        ),
        (
            conn(secure={"privateKey": {"create": GOOD}, "token": {"create": "s"}}),
            [(FORBIDDEN, "secure.token")],
        ),
        (conn("gitlab", secure={"clientSecret": {"create": "s"}}), []),
        (
            conn("gitlab"),
            [(REQUIRED, "secure.clientSecret"), (FORBIDDEN, KEY_FIELD)],
        ),
        (
            conn(
                "bitbucket",
                secure={"clientSecret": {"create": "s"}},
                github={"appID": "1", "installationID": "2"},
            ),
            [(FORBIDDEN, "spec.github")],
        ),
    ],
)
def test_rules_of_a_connection(obj, expected):
    assert errors(CONNECTIONS, obj) == expected


def test_the_settings_page_is_set_by_the_server():
    obj = conn(url="https://evil.example")
    CONNECTIONS.mutate(obj, None)
    assert obj["spec"]["url"] == "https://github.com/settings/installations/2"


def test_an_update_without_secrets_keeps_them():
    old = conn()
    CONNECTIONS.mutate(old, None)
    new = conn(title="Other")
    del new["secure"]
    assert errors(CONNECTIONS, new, old) == []
    assert new["secure"] == old["secure"]


def test_no_symbolic_link_leads_out_of_a_permitted_directory(tmp_path):
    inside, outside = tmp_path / "inside", tmp_path / "outside"
    (inside / "real").mkdir(parents=True)
    outside.mkdir()
    (inside / "out").symlink_to(outside)
    (inside / "within").symlink_to(inside / "real")
    (tmp_path / "prefix").symlink_to(inside)
    for prefix in (str(inside), str(tmp_path / "prefix")):
        permitted = (prefix,)
        for name in ("real", "within", "missing", "real/git"):
            assert urls.wrong_with_local_path(f"{prefix}/{name}", permitted) == ""
        for name in ("out", "out/deep", "within/../../outside"):
            assert urls.wrong_with_local_path(f"{prefix}/{name}", permitted)
