"""Dangerous options cause one line of warning with a remedy; safe ones cause none."""

import subprocess
import sys

import pytest

from inkube.apiserver.configuration import Options
from inkube.apiserver.process import dangers


@pytest.fixture
def tokens(tmp_path):
    path = tmp_path / "tokens.csv"
    path.write_text("token,user,uid\n")
    path.chmod(0o600)
    return path


def test_a_local_server_without_credentials_causes_no_warning():
    assert not list(dangers.risks(Options()))


def test_a_server_with_tls_and_authorization_causes_no_warning(tokens):
    options = Options(host="0.0.0.0", token_auth_file=tokens, tls=True, authorization_mode="RBAC")
    assert not list(dangers.risks(options))


@pytest.mark.parametrize(
    ("changes", "remedy"),
    [
        (
            {"allow_origins": ["*"], "host": "127.0.0.1", "token_auth_file": None},
            "name the origins",
        ),
        ({"tls": False}, "add --tls"),
        ({"authorization_mode": "AlwaysAllow"}, "add --authorization-mode RBAC"),
        ({"allow_private_hosts": True}, "leave it out"),
        ({"local_path_prefixes": ["/"]}, "name the ones they need"),
    ],
)
def test_each_danger_names_its_remedy(tokens, changes, remedy):
    safe = {"host": "0.0.0.0", "token_auth_file": tokens, "tls": True}
    options = Options(**{**safe, "authorization_mode": "RBAC", **changes})
    [line] = dangers.risks(options)
    assert remedy in line
    assert "\n" not in line


def test_a_warning_names_secrets_that_others_may_read(tokens):
    tokens.chmod(0o644)
    [line] = dangers.risks(Options(token_auth_file=tokens))
    assert line.endswith(f"run chmod 600 {tokens}")
    [line] = dangers.risks(Options(service_account_signing_key_file=tokens))
    assert line.endswith(f"run chmod 600 {tokens}")


def test_inkube_serve_prints_the_warnings_and_serves(tmp_path):
    command = [sys.executable, "-m", "inkube.apiserver.cli", "serve", "--port", "0", "--in-memory"]
    with subprocess.Popen(
        [*command, "--allow-origin", "*"],
        cwd=tmp_path,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        assert "inkube serves on" in process.stdout.readline()
        process.terminate()
        assert "name the origins of your own pages" in process.communicate()[1]
