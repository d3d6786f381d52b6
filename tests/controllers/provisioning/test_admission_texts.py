"""The errors of admission, text by text: type and field of the cause, and its message."""

import base64
from pathlib import Path

import pytest
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import rsa
from worlds import PROVISIONING, host, repository

ALL = f"/apis/{PROVISIONING}/namespaces/ns"
KEY = rsa.generate_private_key(public_exponent=65537, key_size=2048)
GOOD = base64.b64encode(
    KEY.private_bytes(
        serialization.Encoding.PEM,
        serialization.PrivateFormat.PKCS8,
        serialization.NoEncryption(),
    )
).decode()
INVALID, REQUIRED, FORBIDDEN = "Invalid value", "Required value", "Forbidden"
TOKEN = {"token": {"create": "x"}}
FILES = str(Path(__file__).parent)


def repo(kind="github", *, block=None, secure=None, **spec):
    """Return a repository of a type, healthy by default."""
    blocks = {
        "github": {"url": "https://github.com/o/r", "branch": "main"},
        "githubEnterprise": {"url": "https://hub.example/o/r", "branch": "main"},
        "git": {"url": "https://git.example/o/r"},
        "gitlab": {"url": "https://gitlab.com/o/r"},
        "bitbucket": {"url": "https://bitbucket.org/o/r"},
        "local": {"path": FILES},
    }
    own = {} if block == "none" else {kind: {**blocks[kind], **(block or {})}}
    spec = {"title": "T", "type": kind, **own, **spec}
    obj = {"metadata": {"name": "a"}, "spec": spec}
    return {**obj, "secure": secure} if secure else obj


SLASHES = "path contains double slashes"
PERCENT = "path contains percent character which could be used for URL encoding attacks"
HIDDEN = "path contains hidden file or directory (starting with dot)"
OTHER_HOST = (
    'URL must point to github.com; use type "githubEnterprise" for self-managed GitHub Enterprise '
    "Server"
)
BITBUCKET = "must be a valid Bitbucket repository URL (https://bitbucket.org/workspace/repo)"
UNSIGNED = (
    "signer identity requires a signing method; use authorName/authorEmail to set the commit "
    "author without signing"
)
SIGNED = (
    "author override is not allowed when commit signing is enabled; use signerName/signerEmail "
    "with signerIsAuthor instead"
)
NO_OPTIONS = "options are not supported on this repository type"
ALONE = "Instance repository can only be created when no other repositories exist. Found: a"
EITHER = "either a token or a connection should be provided"
BOTH = "cannot have both connection and token defined"


def named(name, **metadata):
    return {**repo(), "metadata": {"name": name, **metadata}}


REPOSITORIES = [
    (repo(title=""), [(REQUIRED, "spec.title", "a repository title must be given")]),
    (named("sql"), [(INVALID, "metadata.name", "Name is reserved, choose a different identifier")]),
    (
        repo(sync={"enabled": True}),
        [(REQUIRED, "spec.sync.target", "The target type is required when sync is enabled")],
    ),
    (
        named("a", finalizers=["example.com/mine"]),
        [(INVALID, "metadata.finalizers", "unknown finalizer: example.com/mine")],
    ),
    (
        named("a", finalizers=["remove-orphan-resources", "release-orphan-resources"]),
        [
            (
                INVALID,
                "metadata.finalizers",
                "cannot have both remove and release orphan resources finalizers",
            )
        ],
    ),
    *(
        (
            repo("git" if other == "github" else "github", **{other: {}}),
            [(INVALID, f"spec.{other}", text)],
        )
        for other, text in [
            ("local", "Local config only valid when type is local"),
            ("github", "Github config only valid when type is github"),
            ("git", "Git config only valid when type is git"),
            (
                "githubEnterprise",
                "GitHub Enterprise config only valid when type is githubEnterprise",
            ),
        ]
    ),
    *(
        (repo(kind, block="none"), [(REQUIRED, f"spec.{kind}", text)])
        for kind, text in [
            ("github", "a github config is required"),
            ("git", "git configuration is required for git repository type"),
            ("bitbucket", "bitbucket configuration is required for bitbucket repository type"),
            ("local", "local configuration is required for local repository type"),
        ]
    ),
    *(
        (repo(kind, block={"url": ""}), [(REQUIRED, f"spec.{kind}.url", text)])
        for kind, text in [
            ("github", "a github url is required"),
            ("git", "a git url is required"),
            ("bitbucket", "a bitbucket url is required"),
        ]
    ),
    *(
        (repo(kind, block={"url": url}), [(INVALID, f"spec.{kind}.url", text)])
        for kind, url, text in [
            ("github", "https://github.com/o", "unable to parse repo+owner from url"),
            ("github", "https://github.com/", "unable to parse repo+owner from url"),
            ("github", "https://hub.example/o/r", OTHER_HOST),
            ("git", "git.example/o/r", "invalid git URL format"),
            ("bitbucket", "https://bitbucket.example/o/r", BITBUCKET),
            ("bitbucket", "https://bitbucket.org/o", BITBUCKET),
            ("bitbucket", "http://bitbucket.org/o/r", BITBUCKET),
        ]
    ),
    (repo(block={"branch": ""}), [(REQUIRED, "spec.github.branch", "a github branch is required")]),
    (repo(block={"branch": "a..b"}), [(INVALID, "spec.github.branch", "invalid branch name")]),
    (
        repo("local", block={"path": ""}),
        [(REQUIRED, "spec.local.path", "must enter a path to local file")],
    ),
    *(
        (repo(block={"path": path}), [(INVALID, "spec.github.path", text)])
        for path, text in [
            ("a" * 1025, "path too long"),
            ("a*", "path contains invalid characters"),
            ("a//b", SLASHES),
            ("a%2f", PERCENT),
            ("a/.b", HIDDEN),
            ("a/../b", "path contains traversal attempt (./ or ../)"),
            ("/a", "path must be relative"),
        ]
    ),
    (
        repo("local", workflows=["branch"]),
        [(INVALID, "spec.workflows", "branch is only supported on git repositories")],
    ),
    (repo(workflows=["fly"], secure=TOKEN), [(INVALID, "spec.workflows", "invalid workflow")]),
    (
        repo(workflows=["write"], secure=TOKEN, connection={"name": "c"}),
        [(INVALID, "spec.connection.name", BOTH), (INVALID, "secure.token", BOTH)],
    ),
    (
        repo(workflows=["write"]),
        [(REQUIRED, "spec.connection", EITHER), (REQUIRED, "secure.token", EITHER)],
    ),
    *(
        (repo(webhook={"baseUrl": url}), [(INVALID, "spec.webhook.baseUrl", text)])
        for url, text in [
            ("http://[::1", "must be a valid URL"),
            ("ftp://example.com", "must use HTTP or HTTPS scheme"),
            ("https://", "must include a host"),
        ]
    ),
    (
        repo(block={"generateDashboardPreviews": True}),
        [(INVALID, "spec.generateDashboardPreviews", "image rendering is not enabled")],
    ),
    (
        repo("gitlab", pullRequest={"generateDashboardPreviews": True}),
        [(INVALID, "spec.generateDashboardPreviews", "image rendering is not enabled")],
    ),
    *(
        (
            repo("local", **{member: {}}),
            [(INVALID, f"spec.{member}", f"{words} {NO_OPTIONS}")],
        )
        for member, words in [
            ("branch", "branch"), ("commit", "commit"), ("pullRequest", "pull request"),
        ]
    ),
    (
        repo("git", pullRequest={}),
        [
            (
                INVALID,
                "spec.pullRequest",
                "pull request options are not supported on git repositories",
            )
        ],
    ),
    *(
        (repo(commit={member: value}), [(INVALID, f"spec.commit.{member}", UNSIGNED)])
        for member, value in [("signerName", "A"), ("signerEmail", "a@b"), ("signerIsAuthor", True)]
    ),
    *(
        (
            repo(commit={"signingMethod": "gpg", member: "A"}),
            [(INVALID, f"spec.commit.{member}", SIGNED)],
        )
        for member in ("authorName", "authorEmail")
    ),
]  # fmt: skip


class Ask:
    """`await ask(method, path, body)`: returns code and body."""

    def __init__(self, server):
        self.server = server

    async def __call__(self, method, path, body=None, **options):
        code, _, answer = await self.server.request(method, f"{ALL}/{path}", json=body, **options)
        return code, answer


@pytest.fixture
async def ask(provisioned):
    async with provisioned(local_path_prefixes=[FILES], max_repositories=2) as server:
        yield Ask(server)


def _told(answer):
    """Return title, field and text of each cause, without the refused value between them."""
    found = []
    for cause in answer["details"]["causes"]:
        title, _, text = cause["message"].partition(": ")
        found.append((title, cause.get("field", ""), text))
    return found


def check(answer, expected):
    found = _told(answer)
    assert [row[:2] for row in found] == [row[:2] for row in expected]
    for (_, _, text), (_, _, wanted) in zip(found, expected, strict=True):
        assert text == wanted or text.endswith(f": {wanted}")
    assert all(cause["type"] == cause["reason"] for cause in answer["details"]["causes"])


@pytest.mark.parametrize(
    ("obj", "expected"), REPOSITORIES, ids=[row[1][0][2][:40] for row in REPOSITORIES]
)
async def test_a_repository_is_refused_in_these_words(ask, obj, expected):
    for query in ("", "?dryRun=All"):
        code, answer = await ask("POST", f"repositories{query}", obj)
        assert code == 422
        check(answer, expected)


async def test_an_update_is_refused_in_these_words(ask):
    await ask.server.create(host())
    sync = {"enabled": True, "target": "folder", "intervalSeconds": 30}
    await ask.server.create(repository(sync=sync, secure=TOKEN))
    await ask.server.settled()
    merge = {"Content-Type": "application/merge-patch+json"}

    async def refused(patch):
        code, answer = await ask("PATCH", "repositories/a", patch, headers=merge)
        assert code == 422
        return answer

    check(
        await refused({"spec": {"sync": {"target": "folderless"}}}),
        [
            (
                FORBIDDEN,
                "spec.sync.target",
                "Changing sync target after running sync is not supported",
            )
        ],
    )
    git = {"url": "https://github.com/grafana/grafana"}
    check(
        await refused({"spec": {"type": "git", "git": git, "github": None}}),
        [(FORBIDDEN, "spec.type", "Changing repository type is not supported")],
    )
    elsewhere = {"spec": {"github": {"url": "https://github.com/grafana/other"}}}
    text = "a new token is required when changing the repository URL"
    check(await refused(elsewhere), [(FORBIDDEN, "secure.token", text)])
    for value in ("x", "y"):  # the same value again, and another one
        patch = {**elsewhere, "secure": {"token": {"create": value}}}
        assert (await ask("PATCH", "repositories/a", patch, headers=merge))[0] == 200
        back = {"spec": {"github": {"url": "https://github.com/grafana/grafana"}}}
        back["secure"] = {"token": {"create": value}}
        assert (await ask("PATCH", "repositories/a", back, headers=merge))[0] == 200


async def test_an_instance_is_alone(ask):
    instance = {"enabled": False, "target": "instance"}
    folder = {"enabled": False, "target": "folder"}
    assert (await ask("POST", "repositories", repo(sync=instance)))[0] == 201
    other = {**repo(sync=folder), "metadata": {"name": "b"}}
    code, answer = await ask("POST", "repositories", other)
    assert code == 422
    check(
        answer,
        [
            (
                FORBIDDEN,
                "spec.sync.target",
                "Cannot create folder repository when instance repository exists: a",
            )
        ],
    )
    other["spec"]["sync"] = instance
    _, answer = await ask("POST", "repositories", other)
    check(
        answer,
        [
            (
                FORBIDDEN,
                "spec.sync.target",
                ALONE,
            )
        ],
    )


def conn(kind="github", *, secure=None, **spec):
    block = {"appID": "1", "installationID": "2"}
    blocks = {
        "github": {"github": block},
        "githubEnterprise": {"githubEnterprise": {**block, "serverUrl": "https://hub.example"}},
        "githubEnterpriseOAuth": {"githubEnterprise": {"serverUrl": "https://hub.example"}},
    }
    is_app = kind in ("github", "githubEnterprise")
    own = blocks.get(kind, {}) if is_app else {**blocks.get(kind, {}), "oauth": {"clientID": "c"}}
    if secure is None:
        value = {"create": GOOD if is_app else "s"}
        secure = {"privateKey" if is_app else "clientSecret": value}
    spec = {"title": "T", "type": kind, **own, **spec}
    return {"metadata": {"name": "c"}, "spec": spec, "secure": secure}


KEY_FIELD = "secure.privateKey"
CONNECTIONS = [
    (
        conn(github=None),
        [(REQUIRED, "spec.github", "github info must be specified for GitHub connection")],
    ),
    (
        conn(github={}),
        [
            (REQUIRED, "spec.github.appID", "appID must be specified for GitHub connection"),
            (
                REQUIRED,
                "spec.github.installationID",
                "installationID must be specified for GitHub connection",
            ),
        ],
    ),
    (
        conn(github={"appID": "a", "installationID": "b"}),
        [
            (INVALID, "spec.github.appID", "appID must be a numeric value"),
            (INVALID, "spec.github.installationID", "installationID must be a numeric value"),
        ],
    ),
    (
        conn(secure={}),
        [(REQUIRED, KEY_FIELD, "privateKey must be specified for GitHub connection")],
    ),
    (
        conn(secure={"privateKey": {"create": "!"}}),
        [(INVALID, KEY_FIELD, "privateKey must be base64 encoded")],
    ),
    (
        conn(secure={"privateKey": {"create": "aGVsbG8="}}),
        [(INVALID, KEY_FIELD, "privateKey must be a valid RSA private key")],
    ),
    (
        conn(secure={"privateKey": {"create": GOOD}, "clientSecret": {"create": "s"}}),
        [
            (
                FORBIDDEN,
                "secure.clientSecret",
                "clientSecret is forbidden in GitHub connection",
            )
        ],
    ),
    *(
        (
            conn(kind, oauth={}, secure={"privateKey": {"create": GOOD}}),
            [
                (
                    REQUIRED,
                    "spec.oauth.clientID",
                    f"clientID must be specified for {label} connection",
                ),
                (
                    REQUIRED,
                    "secure.clientSecret",
                    f"clientSecret must be specified for {label} connection",
                ),
                (FORBIDDEN, KEY_FIELD, f"privateKey is forbidden in {label} connection"),
            ],
        )
        for kind, label in [("gitlab", "Gitlab"), ("bitbucket", "Bitbucket")]
    ),
]


@pytest.mark.parametrize(
    ("obj", "expected"), CONNECTIONS, ids=[row[1][0][2][:40] for row in CONNECTIONS]
)
async def test_a_connection_is_refused_in_these_words(ask, obj, expected):
    code, answer = await ask("POST", "connections", obj)
    assert code == 422
    check(answer, expected)
    if expected[0][1] == KEY_FIELD and expected[0][0] == INVALID:
        assert "[REDACTED]" in answer["details"]["causes"][0]["message"]


@pytest.mark.parametrize(
    "kind",
    ["github", "githubEnterprise", "githubOAuth", "githubEnterpriseOAuth", "gitlab", "bitbucket"],
)
async def test_every_type_of_connection_can_be_made(ask, kind):
    code, made = await ask("POST", "connections", conn(kind))
    assert code == 201
    base = {"github": "https://github.com", "githubEnterprise": "https://hub.example"}
    url = f"{base[kind]}/settings/installations/2" if kind in base else ""
    assert made["spec"].get("url", "") == url


async def test_an_unknown_field_selector_names_the_kind(ask):
    code, answer = await ask("GET", "repositories?fieldSelector=spec.title%3DT")
    assert (code, answer["message"]) == (
        400, "field label not supported for Repository: spec.title",
    )  # fmt: skip
    for known in ("metadata.name%3Da", "metadata.namespace%3Dns", "spec.connection.name%3Dc"):
        assert (await ask("GET", f"repositories?fieldSelector={known}"))[0] == 200
