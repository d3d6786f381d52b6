"""`inkube serve` in its own process: output, stopping, errors."""

import asyncio
import contextlib
import errno
import json
import os
import re
import shlex
import shutil
import signal
import sqlite3
import subprocess
import sys
from pathlib import Path

import aiohttp
import click
import pytest
import yaml
from click.testing import CliRunner
from patience import SECONDS, within

import inkube
from inkube.apiserver import configuration
from inkube.apiserver.auth import certificates
from inkube.apiserver.cli import main, serve
from inkube.apiserver.commands import importing, problems, serveoptions

HOME = str(Path(inkube.__path__[0]).absolute().parent)
MAIN = [sys.executable, "-m", "inkube.apiserver.cli"]


@contextlib.asynccontextmanager
async def command(folder, *arguments):
    """Run the command in a folder; ended after the block."""
    process = await asyncio.create_subprocess_exec(
        *MAIN,
        *map(str, arguments),
        cwd=folder,
        env={**os.environ, "PYTHONPATH": HOME},
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
    )
    try:
        yield process
    finally:
        if process.returncode is None:
            process.kill()
        await process.communicate()


async def address(process):
    """Return the address in its first line."""
    async with within():
        line = (await process.stdout.readline()).decode()
    return re.fullmatch(r"inkube serves on (\S+)\n", line)[1]


async def failed(folder, *arguments):
    """Return the exit code and stderr."""
    async with command(folder, "serve", "--port", 0, *arguments) as process, within():
        _, text = await process.communicate()
    return process.returncode, text.decode()


async def test_the_address_is_printed_once_the_server_is_ready(tmp_path):
    async with (
        command(tmp_path, "serve", "--port", 0, "--in-memory") as process,
        aiohttp.ClientSession() as http,
    ):
        url = await address(process)
        async with http.get(f"{url}/readyz") as answer:
            assert await answer.text() == "ok"
        config = yaml.safe_load((tmp_path / "inkube.kubeconfig").read_text())
        assert config["clusters"][0]["cluster"]["server"] == url
        assert (tmp_path / "inkube.kubeconfig").stat().st_mode & 0o077 == 0


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
async def test_a_signal_stops_it_even_with_open_watches(tmp_path, number):
    async with (
        command(tmp_path, "serve", "--port", 0, "--data", "a.db") as process,
        aiohttp.ClientSession() as http,
    ):
        url = await address(process)
        watches = [await http.get(f"{url}/api/v1/configmaps?watch=1") for _ in range(5)]
        process.send_signal(number)
        async with within():
            _, text = await process.communicate()
        assert process.returncode == 0
        assert b"Traceback" not in text
        for watch in watches:
            watch.close()


async def test_a_signal_waits_for_requests_whose_bodies_arrive_and_a_second_one_does_not(tmp_path):
    body = json.dumps({"metadata": {"name": "slow"}}).encode()
    head = f"POST /api/v1/namespaces HTTP/1.1\r\nHost: localhost\r\nContent-Length: {len(body)}\r\n"
    async with (
        command(tmp_path, "serve", "--port", 0, "--in-memory") as process,
        aiohttp.ClientSession() as http,
    ):
        url = await address(process)
        port = int(url.rpartition(":")[2])
        lines = [await asyncio.open_connection("127.0.0.1", port) for _ in range(2)]
        for _, writer in lines:
            writer.write(f"{head}\r\n".encode() + body[:5])
            await writer.drain()
        watch = await http.get(f"{url}/api/v1/configmaps?watch=1")
        process.send_signal(signal.SIGTERM)
        (reader, writer), (unfinished, other) = lines
        async with within():
            await watch.content.read()  # its end shows that the server stops
            writer.write(body[5:])
            assert b"201 Created" in (await reader.read()).partition(b"\r\n")[0]
            assert process.returncode is None
            process.send_signal(signal.SIGTERM)
            with contextlib.suppress(ConnectionError):
                assert await unfinished.read() == b""
            _, text = await process.communicate()
        assert process.returncode == 0
        assert b"Traceback" not in text
        writer.close()
        other.close()


async def test_a_file_that_is_no_database_ends_the_start_with_one_line(tmp_path):
    (tmp_path / "text.db").write_text("no database\n" * 500)
    with contextlib.closing(sqlite3.connect(tmp_path / "other.db")) as other:
        other.execute("CREATE TABLE log (a TEXT)")
        other.commit()
    for name in ("text.db", "other.db", "missing/a.db"):
        code, text = await failed(tmp_path, "--data", name)
        assert code == 1, text
        assert text.startswith("Error: "), text
        assert 1 <= len(text.splitlines()) <= 2, text  # the error, and what to do


async def test_a_port_in_use_names_who_has_it_and_one_that_is_free(tmp_path):
    async with command(tmp_path, "serve", "--port", 0, "--in-memory") as process:
        port = (await address(process)).rpartition(":")[2]
        code, text = await failed(tmp_path, "--port", port)
        assert code == 1
        first, second, third = text.splitlines()
        assert first.startswith(f"Error: port {port} of 127.0.0.1 is taken")
        if sys.platform == "linux":
            assert first.endswith(f"(process {process.pid})")
        assert "inkube" in third
        assert not (tmp_path / "inkube.db").exists()  # a server that fails creates no file
        free = re.search(r"--port (\d+) is free", second)[1]
    async with command(tmp_path, "serve", "--in-memory", "--port", free) as process:
        assert (await address(process)).endswith(f":{free}")


async def test_other_addresses_than_loopback_need_credentials_and_the_error_names_the_options(
    tmp_path,
):
    code, text = await failed(tmp_path, "--in-memory", "--host", "0.0.0.0")
    assert code == 1
    first, make, serve = text.splitlines()
    assert "is not a loopback address" in first
    if shutil.which("openssl"):
        making = await asyncio.create_subprocess_exec("sh", "-c", make, cwd=tmp_path)
        assert await asyncio.wait_for(making.wait(), SECONDS) == 0
        arguments = shlex.split(serve)[2:]
        async with command(tmp_path, "serve", *arguments, "--in-memory", "--port", 0) as process:
            assert (await address(process)).startswith("https://0.0.0.0:")


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["--port", "99999"], "--port: 99999 is not a port"),
        (["--speed", "0"], "--speed: 0.0 is out of range"),
        (["--speed", "3"], "--speed: it works only with replay (--replay)"),
        (["--recheck-healthy", "-1"], "--recheck-healthy: -1.0 is out of range"),
        (["--recheck-unhealthy", "nan"], "--recheck-unhealthy: nan is out of range"),
        (["--job-history", "-3"], "--job-history: -3.0 is out of range"),
        (["--allow-origin", "foo"], "--allow-origin: 'foo' is not an origin"),
        (["--allow-origin", "http://a.example/page"], "is not an origin"),
        (["--workloads", "--nodes", "-1"], "--nodes: must be 0 or more, not -1"),
        (["--nodes", "3", "--pods", __file__], "--nodes, --pods: without --workloads nothing"),
    ],
)
async def test_meaningless_values_of_options_are_refused(tmp_path, arguments, told):
    code, text = await failed(tmp_path, "--in-memory", *arguments)
    assert code == 2
    assert told in text


@pytest.mark.parametrize(
    ("option", "name"),
    [
        ("--definitions", "crds.yaml"),
        ("--kubeconfig", "missing/inkube.kubeconfig"),
    ],
)
async def test_a_start_with_a_wrong_file_name_creates_no_data_file(tmp_path, option, name):
    code, text = await failed(tmp_path, option, name)
    assert code == 1
    assert text.startswith("Error: ")
    assert name in text
    assert list(tmp_path.iterdir()) == []


async def test_a_mistake_in_a_manifest_is_found_before_a_data_file_is_created(tmp_path):
    folder, file = tmp_path / "empty", tmp_path / "crd.yaml"
    folder.mkdir()
    file.write_text("apiVersion: v1\nkind: ConfigMap\n  metadata: {}\n")
    code, text = await failed(folder, "--definitions", file)
    assert code == 1
    assert str(file) in text
    assert list(folder.iterdir()) == []


async def test_a_folder_of_manifests_is_shown_and_the_welcome_says_that_writes_are_refused(
    tmp_path,
):
    text = "apiVersion: v1\nkind: Namespace\nmetadata: {name: a}\n"
    (tmp_path / "dump").mkdir()
    (tmp_path / "dump" / "a.yaml").write_text(text)
    async with command(tmp_path, "serve", "dump", "--port", 0) as process, within():
        said = await process.stdout.readuntil(b"Ctrl+C stops it")
    assert "Writes are refused" in said.decode()
    assert "--definitions" in said.decode()


async def test_files_that_are_no_certificates_are_named(tmp_path):
    (tmp_path / "text.pem").write_text("no PEM")
    made = certificates.make_server()
    (tmp_path / "chain.pem").write_bytes(made.chain)
    (tmp_path / "key.pem").write_bytes(made.key)
    (tmp_path / "other.pem").write_bytes(certificates.make_server().key)
    for chain, key, told in [
        ("text.pem", "key.pem", "text.pem contains no certificate"),
        ("chain.pem", "text.pem", "text.pem holds no private key"),
        ("chain.pem", "other.pem", "other.pem is not the private key of chain.pem"),
        ("chain.pem", "missing.pem", "missing.pem: no such file"),
    ]:
        code, text = await failed(
            tmp_path, "--in-memory", "--tls-cert-file", chain, "--tls-private-key-file", key
        )
        assert (code, told in text) == (1, True), text
    code, text = await failed(tmp_path, "--in-memory", "--tls", "--client-ca-file", "text.pem")
    assert (code, "text.pem contains no certificate" in text) == (1, True), text


@pytest.mark.parametrize("flags", [[], ["--tls"], ["--tls", "--token-auth-file", "tokens.csv"]])
async def test_the_commands_that_a_start_prints_work(tmp_path, flags):
    (tmp_path / "tokens.csv").write_text("a,b,c")
    (tmp_path / "tokens.csv").chmod(0o600)
    tools = [tool for tool in ("kubectl", "curl") if shutil.which(tool)]
    async with command(tmp_path, "serve", "--port", 0, "--in-memory", *flags) as process:
        lines = []
        async with within():
            while not lines or lines[-1] != "Ctrl+C stops it.":
                lines.append((await process.stdout.readline()).decode().rstrip("\n"))
        typed = [
            line.strip()
            for line in lines
            if line.startswith("  ") and line.split()[0] in ("export", *tools)
        ]
        assert len(typed) == 2 + len(tools)
        shell = await asyncio.create_subprocess_exec(
            "bash", "-ec", "\n".join(typed), stdout=asyncio.subprocess.PIPE
        )
        told, _ = await asyncio.wait_for(shell.communicate(), SECONDS)
    assert shell.returncode == 0
    if tools:
        assert b"kube-system" in told or b"APIGroupList" in told


@pytest.mark.parametrize(("flags", "count"), [([], 0), (["-v"], 3), (["-v", "-q"], 0)])
async def test_each_request_is_one_line_of_the_log_with_the_option(tmp_path, flags, count):
    async with (
        command(tmp_path, "serve", "--port", 0, "--in-memory", *flags) as process,
        aiohttp.ClientSession() as http,
    ):
        url = await address(process)
        for path in ("/readyz", "/api/v1/namespaces?limit=1", "/api/v1/namespaces/none"):
            async with http.get(url + path) as answer:
                await answer.read()
        process.send_signal(signal.SIGTERM)
        async with within():
            _, text = await process.communicate()
    lines = [line for line in text.decode().splitlines() if "connections use" not in line]
    assert len(lines) == count
    for line, told in zip(lines, ("200 GET    /readyz", "limit=1", "404 GET"), strict=False):
        assert told in line
        assert line.endswith(" ms")
        assert "\x1b" not in line  # no terminal, so no colours


def test_a_shell_completes_commands_and_options():
    program = "from inkube.apiserver.cli import main; main(prog_name='inkube')"
    for words, number, found in [("inkube ser", 1, "serve"), ("inkube serve --in", 2, "in-memory")]:
        environment = {"_INKUBE_COMPLETE": "bash_complete", "COMP_WORDS": words}
        done = subprocess.run(
            [sys.executable, "-c", program],
            env={**os.environ, **environment, "COMP_CWORD": str(number)},
            capture_output=True, text=True, timeout=SECONDS, check=False,
        )  # fmt: skip
        assert found in done.stdout
    script = CliRunner().invoke(main, ["completion", "zsh"]).output
    assert "_INKUBE_COMPLETE=zsh_complete" in script


def test_the_version_option_prints_the_version():
    assert CliRunner().invoke(main, ["--version"]).output.startswith(f"inkube {inkube.__version__}")


@pytest.mark.parametrize(
    ("words", "same"),
    [(["version"], ["--version"]), (["help"], ["--help"]), (["help", "log"], ["log", "--help"])],
)
def test_words_that_people_know_from_kubectl_are_options(words, same):
    found = CliRunner().invoke(main, words)
    assert (found.exit_code, found.output) == (0, CliRunner().invoke(main, same).output)


def test_a_snapshot_of_missing_data_says_how_to_name_it(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    found = CliRunner().invoke(main, ["snapshot", "save", "a.inkube"])
    assert found.exit_code == 1
    assert "inkube.db does not exist; name the data with --data FILE" in found.output


async def test_memory_and_a_file_exclude_each_other(tmp_path):
    code, text = await failed(tmp_path, "--in-memory", "--data", "a.db")
    assert code == 2
    assert "cannot be combined: give only one of them" in text


async def test_files_are_validated_without_a_server(tmp_path):
    (tmp_path / "a.yaml").write_text("apiVersion: v1\nkind: ConfigMap\nmetadata: {name: A}\n")
    async with command(tmp_path, "validate", "a.yaml") as process, within():
        out, text = await process.communicate()
    assert process.returncode == 1
    assert b"metadata.name" in out
    assert text == b"1 document, 1 error\n"


POLICY = "apiVersion: audit.k8s.io/v1\nkind: Policy\n"


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("rules: [", "is not an audit policy: yaml: line 1"),
        ("- level: None", "expected audit.k8s.io/v1 Policy, not neither apiVersion nor kind"),
        ("apiVersion: audit.k8s.io/v1beta1\nkind: Policy\n", "not audit.k8s.io/v1beta1 Policy"),
        ("apiVersion: v1\nkind: ConfigMap\n", "not v1 ConfigMap"),
        (POLICY, "loaded illegal policy with 0 rules"),
        (POLICY + "rules: []\n", "loaded illegal policy with 0 rules"),
        (POLICY + "rules: [a]\n", "cannot unmarshal string into Go struct field Policy.rules"),
        (
            POLICY + "rules: [{level: None}, {level: All}]\n",
            'rules[1].level: Unsupported value: "All": supported values: ',
        ),
    ],
)
async def test_invalid_audit_policies_are_refused_in_one_line(tmp_path, text, told):
    policy = tmp_path / "policy.yaml"
    policy.write_text(text)
    options = {"audit_log": tmp_path / "audit.log", "audit_policy_file": policy}
    with pytest.raises(ValueError, match=re.escape(told)) as refused:
        async with inkube.APIServer(**options):
            pass
    assert "\n" not in str(refused.value)


async def test_an_audit_policy_is_read_without_a_log(tmp_path):
    policy = tmp_path / "policy.yaml"
    policy.write_text("kind: Policy")
    with pytest.raises(ValueError, match="is not an audit policy"):
        async with inkube.APIServer(audit_policy_file=policy):
            pass


@pytest.mark.parametrize("text", ["", "\n\n", ",me,1\n"])
async def test_a_file_without_a_token_is_refused(tmp_path, text):
    tokens = tmp_path / "tokens.csv"
    tokens.write_text(text)
    with pytest.raises(ValueError, match="has no token"):
        async with inkube.APIServer(token_auth_file=tokens):
            pass


async def test_a_kubeconfig_of_a_server_that_runs_is_not_replaced_in_silence(tmp_path):
    arguments = ("serve", "--port", 0, "--in-memory")
    async with command(tmp_path, *arguments) as first:
        url = await address(first)
        async with command(tmp_path, *arguments) as second:
            other = await address(second)
            second.send_signal(signal.SIGTERM)
            async with within():
                _, told = await second.communicate()
    warning = f"led to another server, which still runs at {url}; now it leads to {other}"
    assert warning in told.decode()
    async with command(tmp_path, *arguments) as third:  # no other server runs afterwards
        await address(third)
        third.send_signal(signal.SIGTERM)
        async with within():
            _, told = await third.communicate()
    assert "led to another server" not in told.decode()


def test_a_folder_that_cannot_be_written_gets_a_hint(tmp_path):
    error = PermissionError(errno.EACCES, "Permission denied", str(tmp_path / "inkube.kubeconfig"))
    problem = problems.of_start(error, inkube.Options())
    assert "--kubeconfig FILE" in problem.format_message()
    assert "--in-memory" in problem.format_message()


def test_help_shows_every_option_with_a_text_below_a_heading():
    options = [each for each in serve.params if isinstance(each, click.Option)]
    assert [each.name for each in options if not each.help] == []
    text = CliRunner().invoke(main, ["serve", "--help"]).output
    headings = re.findall(r"^([A-Z].*):$", text, re.MULTILINE)
    assert headings == list(configuration.GROUPS)
    for option in options:
        assert re.search(rf"^  .*{option.opts[-1]}\b", text, re.MULTILINE), option.name


HARBOUR = """
from inkube.kinds import KindModule, Model, Resource


class BoatSpec(Model):
    {member}


class Boat(Resource, group="harbour.example", version="v1"):
    spec: BoatSpec = BoatSpec()


BOATS = KindModule(Boat)
"""


async def heard(process, text):
    """Wait for a log line with that text; return it."""
    async with within():
        while text not in (line := (await process.stderr.readline()).decode()):
            assert line, f"the process ended without {text!r}"
        return line


@pytest.mark.parametrize("data", [("--in-memory",), ("--data", "boats.db")])
async def test_changed_code_of_kinds_is_served_with_the_same_data(tmp_path, data):
    module = tmp_path / "harbour.py"
    module.write_text(HARBOUR.format(member="sails: int = 1"))
    arguments = ("serve", "--port", 0, "--reload", "harbour", *data)
    async with command(tmp_path, *arguments) as process, aiohttp.ClientSession() as http:
        url = await address(process)
        boats = f"{url}/apis/harbour.example/v1/namespaces/default/boats"
        body = {"metadata": {"name": "argo"}, "spec": {"sails": 2}}
        async with http.post(boats, json=body) as answer:
            assert answer.status == 201, await answer.text()
            uid = (await answer.json())["metadata"]["uid"]

        module.write_text("raise ValueError('half a change')")
        assert "harbour.py:1: ValueError: half a change" in await heard(process, "imported")
        async with http.get(f"{boats}/argo") as answer:  # unchanged
            assert (await answer.json())["spec"] == {"sails": 2}

        module.write_text(HARBOUR.format(member="sails: int = 1\n    oars: int = 50"))
        await heard(process, "serves the new code")
        async with http.get(f"{boats}/argo") as answer:
            found = await answer.json()
        assert found["spec"] == {"sails": 2, "oars": 50}
        assert found["metadata"]["uid"] == uid


ENDS = {
    "sys.exit": ("import sys; sys.exit()", "SystemExit"),
    "sys.exit with a code": ("import sys; sys.exit(3)", "SystemExit: 3"),
    "os._exit": (
        "import os; os._exit(0)",
        "ended the process in which it was imported, with code 0",
    ),
    "a signal": ("import os; os.kill(os.getpid(), 9)", "ended the process"),
    "an interrupt": ("raise KeyboardInterrupt", "KeyboardInterrupt"),
    "a closed output": ("import os, sys; os.close(1); sys.exit(1)", "SystemExit: 1"),
    "much output": ("print('x' * 10_000_000); raise ValueError('end')", "ValueError: end"),
}


async def test_code_that_ends_its_process_does_not_end_the_server(tmp_path):
    module = tmp_path / "harbour.py"
    module.write_text(HARBOUR.format(member="sails: int = 1"))
    arguments = ("serve", "--port", 0, "--reload", "harbour", "--in-memory")
    async with command(tmp_path, *arguments) as process, aiohttp.ClientSession() as http:
        url = await address(process)
        boats = f"{url}/apis/harbour.example/v1/namespaces/default/boats"
        async with http.post(boats, json={"metadata": {"name": "argo"}}) as answer:
            uid = (await answer.json())["metadata"]["uid"]
        for code, text in ENDS.values():
            module.write_text(f"{HARBOUR.format(member='sails: int = 1')}\n{code}\n")
            assert text in await heard(process, "cannot be imported"), text
            async with http.get(f"{boats}/argo") as answer:
                assert (await answer.json())["metadata"]["uid"] == uid
        module.write_text("while True:\n    pass\n")
        async with http.get(f"{boats}/argo") as answer:
            assert answer.status == 200
        module.write_text(HARBOUR.format(member="sails: int = 1\n    oars: int = 50"))
        await heard(process, "serves the new code")
        async with http.get(f"{boats}/argo") as answer:
            assert (await answer.json())["metadata"]["uid"] == uid


@pytest.mark.parametrize("name", ENDS)
async def test_code_that_ends_its_process_is_an_error_of_the_start(tmp_path, name):
    code, expected = ENDS[name]
    (tmp_path / "ends.py").write_text(code)
    exit_code, text = await failed(tmp_path, "--in-memory", "--reload", "ends.py")
    assert exit_code == 2
    assert expected in text.replace("\n", " ").replace("  ", " ")


async def test_code_that_never_ends_is_an_error_after_the_time_limit(tmp_path, monkeypatch):
    monkeypatch.setattr(importing, "SECONDS", 1.0)
    (tmp_path / "endless.py").write_text("while True:\n    pass\n")
    problem = await importing.problem("endless", str(tmp_path))
    assert problem == "it was not imported within 1 s: is there an endless loop?"


async def test_a_module_without_kinds_is_refused_in_a_line(tmp_path):
    (tmp_path / "empty.py").write_text("one = 1\n")
    code, text = await failed(tmp_path, "--in-memory", "--reload", "empty.py")
    assert code == 2
    assert "Invalid value for --reload: empty.py cannot be imported" in text
    assert "assigns no KindModule" in text


async def test_the_banner_names_the_process_that_shares_the_file(tmp_path):
    (tmp_path / "other").mkdir()
    first = command(tmp_path, "serve", "--port", 0, "--data", "a.db")
    second = command(tmp_path / "other", "serve", "--port", 0, "--data", "../a.db")
    async with first as one:
        await address(one)
        async with second as two, within():
            await address(two)
            await two.stdout.readline()
            line = (await two.stdout.readline()).decode()
    assert line == f"data: ../a.db, shared with process {one.pid}, which runs the controllers\n"


async def test_a_log_in_json_is_json_to_its_last_line(tmp_path):
    arguments = ("serve", "--port", 0, "--in-memory", "--log-format", "json", "-v")
    async with command(tmp_path, *arguments) as process, within():
        first = json.loads(await process.stdout.readline())
        assert first["message"] == f"inkube serves on {first['url']}"
        assert first["console"] == f"{first['url']}/console/"
        async with aiohttp.ClientSession() as http, http.get(f"{first['url']}/version") as answer:
            assert answer.status == 200
        process.send_signal(signal.SIGTERM)
        out, err = await process.communicate()
    lines = [json.loads(line) for line in (out + err).decode().splitlines()]
    assert "stopping" in {line["message"] for line in lines}


FIFOS = (
    ("check", "{}"), ("repair", "{}"), ("serve", "--port", "0", "--data", "{}"),
    ("serve", "--port", "0", "--snapshot", "{}"), ("serve", "--port", "0", "--replay", "{}"),
    ("snapshot", "save", "made.db", "--data", "{}"), ("snapshot", "page", "{}", "made.html"),
    ("snapshot", "restore", "{}", "--data", "made"), ("log", "--data", "{}"),
)  # fmt: skip


@pytest.mark.parametrize("words", FIFOS, ids=" ".join)
def test_a_pipe_is_no_data_file(tmp_path, monkeypatch, words):
    monkeypatch.chdir(tmp_path)
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    done = CliRunner().invoke(main, [word.format(pipe) for word in words])
    assert done.exit_code
    assert "not a regular file" in done.output, done.output
    assert "Traceback" not in done.output
    assert [*tmp_path.iterdir()] == [pipe]


def test_the_options_of_workloads_have_the_defaults_of_their_fields():
    values = serve.make_context("serve", ["--workloads"]).params
    given = {each.name: values[each.name] for each in serveoptions.of_workloads()}
    assert inkube.Workloads(**given) == inkube.Workloads()
