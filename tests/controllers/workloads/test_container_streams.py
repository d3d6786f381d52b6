"""logs, exec, attach and port-forward, over WebSocket and SPDY, with old and new clients."""

import asyncio
import base64
import contextlib
import gc
import json
import socket
import threading
import urllib.error
import urllib.request

import aiohttp
import kubernetes
import pytest
from kubernetes.stream import portforward, stream
from patience import SECONDS

from inkube.apiserver.streaming import commands

VERSIONS = ("1.27", "1.30", "1.33")
pytestmark = pytest.mark.kube_workloads(controllers={"kubelet"})
LEAVES_SOCKETS = pytest.mark.filterwarnings(
    "ignore::ResourceWarning", "ignore::pytest.PytestUnraisableExceptionWarning"
)
SCRIPT = {
    "files": {"/etc/greeting": "hello file\n"},
    "logs": [
        {"text": "one\ntwo\n"},
        {"text": "bad\n", "stream": "stderr"},
        {"after": "1h", "text": "late"},
        {"text": "before\n", "previous": True},
    ],
    "exec": [
        {"command": ["date"], "stdout": "today\n"},
        {"pattern": "^fail ", "stderr": "oh\n", "exitCode": 3},
        {"command": ["shout"], "stdin": "Echo"},
    ],
    "forwards": [{"port": 80, "body": "HTTP/1.0 200 OK\r\n\r\nthe body"}],
}


def make_pod(kube, name="p", image="i:1", **spec):
    containers = spec.pop("containers", [{"name": "c", "image": image}])
    body = {"nodeName": "kube-node-1", "containers": containers, **spec}
    meta = {"name": name, "namespace": "default"}
    kube.client.create({"apiVersion": "v1", "kind": "Pod", "metadata": meta, "spec": body})
    kube.settled()


def make_script(kube, name="p", **spec):
    kube.client.create({
        "apiVersion": "workloads.inkube.dev/v1", "kind": "Script",
        "metadata": {"name": name, "namespace": "default"},
        "spec": {"selector": {"matchNames": [name]}, **spec},
    })  # fmt: skip


@pytest.fixture
def scripted(kube):
    """A running pod with a script."""
    make_pod(kube)
    make_script(kube, **SCRIPT)
    return kube


def ask(kube, path, name="p", method="GET"):
    url = f"{kube.url}/api/v1/namespaces/default/pods/{name}/{path}"
    try:
        with urllib.request.urlopen(urllib.request.Request(url, method=method)) as answer:
            return answer.status, answer.read().decode()
    except urllib.error.HTTPError as error:
        with error:
            return error.code, json.loads(error.read())["message"]


@pytest.mark.parametrize(
    ("query", "text"),
    [
        ("", "one\ntwo\nbad\n"),
        ("tailLines=1", "bad\n"),
        ("tailLines=0", ""),
        ("limitBytes=5", "one\nt"),
        ("sinceTime=2999-01-01T00:00:00Z", ""),
        ("sinceSeconds=100&tailLines=2", "two\nbad\n"),
        ("container=c&other=", "one\ntwo\nbad\n"),
    ],
)
def test_a_log_is_cut_by_the_options_of_the_request(scripted, query, text):
    assert ask(scripted, f"log?{query}") == (200, text)


@pytest.mark.parametrize("query", ["stream=", "stream=All", "stream=Stdout&tailLines=1"])
def test_a_log_has_no_separate_streams_while_their_gate_is_off(scripted, query):
    refused = 'PodLogOptions "p" is invalid: stream: Forbidden: may not be specified'
    assert ask(scripted, f"log?{query}") == (422, refused)


@pytest.mark.kubernetes_version("1.31")
def test_a_log_of_a_minor_without_streams_ignores_them(scripted):
    assert ask(scripted, "log?stream=Stdout&tailLines=1") == (200, "bad\n")


def test_timestamps_are_those_of_the_clock(scripted):
    _, text = ask(scripted, "log?timestamps=true&tailLines=1")
    moment, _, line = text.partition(" ")
    assert line == "bad\n"
    started = scripted.client.get("v1/pods", "p", "default")["status"]["startTime"]
    assert moment[:19] == started[:19]
    assert len(moment) == len("2026-01-01T00:00:00.000000000Z")


def test_a_followed_log_continues_with_the_clock_and_ends_with_the_pod(scripted, kubectl):
    following = kubectl.start("logs", "-f", "p")
    assert following.stdout.readline() == "one\n"
    scripted.wait_for(lambda: scripted.clock.sleeping)
    scripted.advance(3600)
    assert [following.stdout.readline() for _ in range(3)] == ["two\n", "bad\n", "late\n"]
    scripted.client.delete("v1/pods", "p", "default")
    assert following.communicate(timeout=SECONDS)[0] == ""


def test_a_container_that_has_not_begun_has_no_log(kube):
    kube.client.create({
        "apiVersion": "v1", "kind": "Pod",
        "metadata": {"name": "p", "namespace": "default", "annotations": {
            "pod-ready.stage.kwok.x-k8s.io/delay": "1h"}},
        "spec": {"nodeName": "kube-node-1", "containers": [{"name": "c", "image": "i"}]},
    })  # fmt: skip
    kube.settled()
    waiting = 'container "c" in pod "p" is waiting to start: ContainerCreating'
    assert ask(kube, "log") == (400, waiting)


def test_a_log_before_the_last_restart_needs_one(scripted):
    missing = 'previous terminated container "c" in pod "p" not found'
    assert ask(scripted, "log?previous=true") == (400, missing)
    found = scripted.client.get("v1/pods", "p", "default")
    ended = {"exitCode": 1, "finishedAt": found["status"]["startTime"]}
    found["status"]["containerStatuses"][0]["lastState"] = {"terminated": ended}
    scripted.client.update(found, subresource="status")
    scripted.settled()
    assert ask(scripted, "log?previous=true") == (200, "before\n")


def test_a_pod_without_a_script_has_an_empty_log_and_knows_no_command(kube, kubectl):
    make_pod(kube)
    assert ask(kube, "log") == (200, "")
    said = kubectl("exec", "p", "--", "ls", code=127)
    assert "inkube: no script answers this command: ls" in said
    assert "kubectl explain scripts" in said
    assert "Script" in kubectl("explain", "scripts")


def test_a_node_without_a_kubelet_answers_nothing(kube):
    kube.client.create({"apiVersion": "v1", "kind": "Node", "metadata": {"name": "real"}})
    make_pod(kube, nodeName="real")
    why = "no preferred addresses found"
    code, message = ask(kube, "log")
    assert (code, why in message) == (500, True)


@pytest.mark.parametrize("version", VERSIONS)
def test_kubectl_of_any_age_runs_commands(scripted, find_kubectl, version):
    kubectl = find_kubectl(version)
    assert kubectl("exec", "p", "--", "date") == "today\n"
    assert "oh\n" in kubectl("exec", "p", "--", "fail", "now", code=3)
    assert kubectl("exec", "-i", "p", "--", "shout", text="a\nb\n") == "a\nb\n"


@pytest.mark.parametrize("version", VERSIONS)
def test_kubectl_of_any_age_copies_files(scripted, find_kubectl, version):
    kubectl = find_kubectl(version)
    kubectl("cp", "p:/etc/greeting", "greeting")
    assert (kubectl.folder / "greeting").read_text() == "hello file\n"
    (kubectl.folder / "mine").write_text("x" * 100_000)
    kubectl("cp", "mine", "p:/tmp/mine")
    kubectl("cp", "p:/tmp/mine", "back")
    assert (kubectl.folder / "back").read_text() == "x" * 100_000


@pytest.mark.parametrize("version", VERSIONS)
def test_kubectl_of_any_age_forwards_ports(scripted, find_kubectl, version):
    kubectl = find_kubectl(version)
    forwarding = kubectl.start("port-forward", "p", ":80")
    try:
        line = forwarding.stdout.readline()
        port = int(line.split(":")[1].split(" ")[0])
        for _ in range(2):
            with urllib.request.urlopen(f"http://127.0.0.1:{port}/") as answer:
                assert answer.read() == b"the body"
    finally:
        forwarding.terminate()
        forwarding.communicate(timeout=SECONDS)


def test_a_port_that_nobody_serves_refuses_each_connection(scripted, kubectl):
    forwarding = kubectl.start("port-forward", "p", ":81")
    try:
        port = int(forwarding.stdout.readline().split(":")[1].split(" ")[0])
        with socket.create_connection(("127.0.0.1", port)) as connection:
            connection.sendall(b"hello")
            with contextlib.suppress(ConnectionResetError):
                assert connection.recv(10) == b""
        said = ""
        while "connection refused" not in said:
            said = forwarding.stdout.readline()
            assert said, "kubectl ended without a word"
    finally:
        forwarding.terminate()
        forwarding.communicate(timeout=SECONDS)


@pytest.fixture
def core(kubeconfig):
    """The Python client. It leaves sockets of streams to the garbage collector, some until the
    thread that forwards a port ends."""
    with kubernetes.config.new_client_from_config(str(kubeconfig)) as client:
        yield kubernetes.client.CoreV1Api(client)
    for thread in threading.enumerate():
        if thread.name.startswith("Kubernetes port forward proxy"):
            thread.join(SECONDS)
    gc.collect()


@LEAVES_SOCKETS
def test_the_python_client_runs_commands(scripted, core):
    call = core.connect_get_namespaced_pod_exec
    wanted = {"stdout": True, "stderr": True, "stdin": False, "tty": False}
    assert stream(call, "p", "default", command=["date"], **wanted) == "today\n"
    running = stream(
        call, "p", "default", command=["fail", "now"], _preload_content=False, **wanted
    )
    running.run_forever(timeout=SECONDS)
    assert (running.returncode, running.read_stderr()) == (3, "oh\n")


@LEAVES_SOCKETS
def test_the_python_client_forwards_ports(scripted, core):
    forwarding = portforward(
        core.connect_get_namespaced_pod_portforward, "p", "default", ports="80"
    )
    connection = forwarding.socket(80)
    connection.settimeout(SECONDS)
    connection.sendall(b"GET / HTTP/1.0\r\n\r\n")
    found = b""
    while piece := connection.recv(1024):
        found += piece
    assert found.endswith(b"the body")
    connection.close()


async def session(kube, path, protocol, send=()):
    """Return the messages of a WebSocket, and its subprotocol."""
    url = f"{kube.url}/api/v1/namespaces/default/pods/p/{path}"
    protocols = [protocol] if protocol else []
    async with (
        aiohttp.ClientSession() as client,
        client.ws_connect(url, protocols=protocols) as opened,
    ):
        for message in send:
            await (opened.send_str if isinstance(message, str) else opened.send_bytes)(message)
        found = [message.data async for message in opened]
        return found, opened.protocol, opened.close_code


def test_the_end_of_a_command_is_a_status(scripted):
    path = "exec?command=fail&command=x&stdout=1&stderr=1"
    found, protocol, code = asyncio.run(session(scripted, path, "v5.channel.k8s.io"))
    assert (protocol, code) == ("v5.channel.k8s.io", 1000)
    assert found[:2] == [b"\x01", b"\x02oh\n"]
    assert json.loads(found[2][1:]) == {
        "metadata": {},
        "status": "Failure",
        "message": "command terminated with non-zero exit code: exit status 3",
        "reason": "NonZeroExitCode",
        "details": {"causes": [{"reason": "ExitCode", "message": "3"}]},
    }
    assert found[2][0] == 3


def test_a_client_of_v5_ends_its_input_by_itself(scripted):
    path = "exec?command=shout&stdin=1&stdout=1"
    sent = (b"\x00hello", b"\xff\x00")
    found, _, _ = asyncio.run(session(scripted, path, "v5.channel.k8s.io", sent))
    assert found[:2] == [b"\x01", b"\x01hello"]
    assert json.loads(found[2][1:])["status"] == "Success"


@LEAVES_SOCKETS
def test_the_python_client_writes_text_to_a_command(scripted, core):
    running = stream(
        core.connect_get_namespaced_pod_exec, "p", "default", command=["shout"],
        stdin=True, stdout=True, stderr=False, tty=False, _preload_content=False,
    )  # fmt: skip
    running.write_stdin("häuser\n")
    assert running.readline_stdout(timeout=SECONDS) == "häuser"
    running.close()


async def echoed(kube, protocol, sent):
    """Return the first message of a command's output after one message of input."""
    url = f"{kube.url}/api/v1/namespaces/default/pods/p/exec?command=shout&stdin=1&stdout=1"
    async with (
        aiohttp.ClientSession() as client,
        client.ws_connect(url, protocols=[protocol] if protocol else []) as opened,
    ):
        await opened.receive()
        await (opened.send_str if isinstance(sent, str) else opened.send_bytes)(sent)
        return (await opened.receive()).data


@pytest.mark.parametrize(
    "protocol", ["", "channel.k8s.io", "v4.channel.k8s.io", "v5.channel.k8s.io"]
)
@pytest.mark.parametrize("sent", ["\0hi", b"\0hi"])
def test_the_subprotocol_decides_the_encoding_of_input_not_the_opcode(scripted, protocol, sent):
    assert asyncio.run(echoed(scripted, protocol, sent)) == b"\x01hi"


@pytest.mark.parametrize("protocol", ["base64.channel.k8s.io", "v4.base64.channel.k8s.io"])
@pytest.mark.parametrize("sent", ["0aGk=", b"0aGk="])
def test_base64_of_either_opcode_is_input(scripted, protocol, sent):
    assert asyncio.run(echoed(scripted, protocol, sent)) == "1aGk="


@pytest.mark.parametrize(
    ("protocol", "sent", "port", "answer"),
    [
        ("v4.channel.k8s.io", "\0GET / HTTP/1.0\r\n\r\n", b"\0P\0", b"\0"),
        ("v4.base64.channel.k8s.io", "0R0VUIC8gSFRUUC8xLjANCg0K", "0UAA=", "0"),
    ],
)
def test_ports_are_forwarded_over_text_frames_and_base64(scripted, protocol, sent, port, answer):
    found, spoken, _ = asyncio.run(session(scripted, "portforward?ports=80", protocol, [sent]))
    assert (spoken, found[0]) == (protocol, port)
    data = found[2][1:]
    plain = base64.b64decode(data) if isinstance(data, str) else data
    assert found[2][:1] == answer
    assert plain.startswith(b"HTTP/1.0 200 OK")


LONG = "0123456789" * 10_000


@pytest.mark.parametrize("protocol", ["v4.channel.k8s.io", "v4.base64.channel.k8s.io"])
@pytest.mark.parametrize(
    ("path", "channel"),
    [
        ("exec?command=print&stdout=1", "1"),
        ("exec?command=complain&stderr=1", "2"),
        ("portforward?ports=80", "0"),
    ],
)
def test_long_output_comes_in_messages_that_every_client_takes(kube, protocol, path, channel):
    make_pod(kube)
    commands = [
        {"command": ["print"], "stdout": LONG},
        {"command": ["complain"], "stderr": LONG},
    ]
    make_script(kube, exec=commands, forwards=[{"port": 80, "body": LONG}])
    sent = ("0R0VU" if "base64" in protocol else "\0GET",)
    messages, _, _ = asyncio.run(session(kube, path, protocol, sent))
    if "base64" in protocol:
        messages = [(text[0], base64.b64decode(text[1:])) for text in messages]
    else:
        messages = [(str(data[0]), data[1:]) for data in messages]
    pieces = [data for number, data in messages if number == channel and len(data) > 2]
    assert b"".join(pieces).decode() == LONG
    assert max(map(len, pieces)) <= 32 * 1024


async def slow_session(kube, *, answers):
    """Return the messages that a v5 client gets if it `answers` a ping late or never: those before
    that, and all."""
    url = f"{kube.url}/api/v1/namespaces/default/pods/p/exec?command=date&stdout=1"
    async with (
        aiohttp.ClientSession() as client,
        client.ws_connect(url, protocols=["v5.channel.k8s.io"], autoping=False) as opened,
    ):
        before = [await opened.receive(), await opened.receive()]
        if answers:
            await opened.ping(b"mine")  # its response shows that the server has run in between
            before.append(await opened.receive())
            await opened.pong(before[1].data)
        after = [message.data async for message in opened]
        return [message.type for message in before], [before[0].data, *after]


def test_a_client_of_v5_is_sent_nothing_before_it_reads(scripted):
    kinds, data = asyncio.run(slow_session(scripted, answers=True))
    assert kinds == [aiohttp.WSMsgType.BINARY, aiohttp.WSMsgType.PING, aiohttp.WSMsgType.PONG]
    assert data[:2] == [b"\x01", b"\x01today\n"]


def test_a_client_of_v5_that_answers_no_ping_is_taken_to_read(scripted, monkeypatch):
    monkeypatch.setattr(commands, "PING_SECONDS", 0.05)
    kinds, data = asyncio.run(slow_session(scripted, answers=False))
    assert kinds == [aiohttp.WSMsgType.BINARY, aiohttp.WSMsgType.PING]
    assert data[:2] == [b"\x01", b"\x01today\n"]


def test_streams_support_base64_for_browsers(scripted):
    path = "exec?command=date&stdout=1"
    found, protocol, _ = asyncio.run(session(scripted, path, "v4.base64.channel.k8s.io"))
    assert protocol == "v4.base64.channel.k8s.io"
    assert found[0] == "1"
    assert base64.b64decode(found[1][1:]) == b"today\n"


def test_an_unknown_subprotocol_is_refused(scripted):
    with pytest.raises(aiohttp.WSServerHandshakeError) as caught:
        asyncio.run(session(scripted, "exec?command=date&stdout=1", "v9.channel.k8s.io"))
    assert caught.value.status == 403


@pytest.mark.parametrize("protocol", ["", "binary.k8s.io", "base64.binary.k8s.io"])
def test_a_log_is_read_over_websocket(scripted, protocol):
    found, spoken, code = asyncio.run(session(scripted, "log", protocol))
    assert (spoken or "", code) == (protocol, 1000)
    if protocol.startswith("base64"):
        found = [base64.b64decode(text) for text in found]
    assert found[0] == b""
    assert b"".join(found) == b"one\ntwo\nbad\n"


def test_a_log_over_websocket_is_followed_until_the_client_closes(scripted):
    async def follow():
        url = f"{scripted.url}/api/v1/namespaces/default/pods/p/log?follow=1"
        async with aiohttp.ClientSession() as client, client.ws_connect(url) as opened:
            found = b""
            while found != b"one\ntwo\nbad\n":
                found += await opened.receive_bytes()
            await opened.close()
            return opened.close_code

    assert asyncio.run(follow()) == 1000


def test_pages_of_other_machines_open_no_stream(scripted):
    async def open_from(origin):
        url = f"{scripted.url}/api/v1/namespaces/default/pods/p/exec?command=date&stdout=1"
        async with (
            aiohttp.ClientSession() as client,
            client.ws_connect(url, origin=origin) as opened,
        ):
            return await opened.receive_bytes()

    with pytest.raises(aiohttp.WSServerHandshakeError) as caught:
        asyncio.run(open_from("https://evil.example"))
    assert caught.value.status == 403
    assert asyncio.run(open_from("http://localhost:3000")) == b"\x01"


def test_commands_that_cannot_run_are_refused_before_the_upgrade(scripted):
    for path in ("exec?stdout=1", "exec?command=x"):
        with pytest.raises(aiohttp.WSServerHandshakeError) as caught:
            asyncio.run(session(scripted, path, "v5.channel.k8s.io"))
        assert caught.value.status == 400


def test_kwok_kinds_use_this_machine_only_where_that_is_allowed(kube, kubectl, tmp_path):
    make_pod(kube)
    group = "kwok.x-k8s.io/v1alpha1"
    log = tmp_path / "log"
    log.write_text("from a file\n")
    for kind, spec in (
        ("ClusterLogs", {"logs": [{"containers": ["c"], "logsFile": str(log)}]}),
        ("Exec", {"execs": [{"local": {"envs": [{"name": "A", "value": "b"}]}}]}),
    ):
        meta = {"name": "p"} if kind == "ClusterLogs" else {"name": "p", "namespace": "default"}
        kube.client.create({"apiVersion": group, "kind": kind, "metadata": meta, "spec": spec})
    assert ask(kube, "log")[0] == 403
    assert "may not use this machine" in kubectl("exec", "p", "--", "env", code=1)


@pytest.mark.kube_workloads(controllers={"kubelet"}, allow_local=True)
def test_kwok_kinds_read_files_run_programs_and_reach_ports(kube, kubectl, tmp_path):
    make_pod(kube)
    group = "kwok.x-k8s.io/v1alpha1"
    log = tmp_path / "log"
    log.write_text("from a file\n")
    with socket.create_server(("127.0.0.1", 0)) as listener:
        for kind, spec in (
            ("ClusterLogs", {"logs": [{"containers": ["c"], "logsFile": str(log)}]}),
            ("Exec", {"execs": [{"local": {"envs": [{"name": "A", "value": "b"}]}}]}),
            ("PortForward", {"forwards": [{"target": {"port": listener.getsockname()[1]}}]}),
        ):
            meta = {"name": "p", "namespace": "default"}
            if kind.startswith("Cluster"):
                del meta["namespace"]
            kube.client.create({"apiVersion": group, "kind": kind, "metadata": meta, "spec": spec})
        assert ask(kube, "log") == (200, "from a file\n")
        assert "A=b\n" in kubectl("exec", "p", "--", "env")
        assert kubectl("exec", "-i", "p", "--", "cat", text="piped") == "piped"
        forwarding = kubectl.start("port-forward", "p", ":80")
        try:
            port = int(forwarding.stdout.readline().split(":")[1].split(" ")[0])
            with socket.create_connection(("127.0.0.1", port)) as client:
                client.sendall(b"ping")
                served, _ = listener.accept()
                with served:
                    assert served.recv(10) == b"ping"
                    served.sendall(b"pong")
                assert client.recv(10) == b"pong"
        finally:
            forwarding.terminate()
            forwarding.communicate(timeout=SECONDS)


def test_a_script_may_hold_for_all_namespaces(kube):
    make_pod(kube)
    make_pod(kube, "other")
    made = {
        "apiVersion": "workloads.inkube.dev/v1",
        "kind": "ClusterScript",
        "metadata": {"name": "every"},
        "spec": {
            "selector": {"matchNames": ["p"], "matchNamespaces": ["default"]},
            "logs": [{"text": "everywhere\n"}],
        },
    }
    kube.client.create(made)
    assert ask(kube, "log") == (200, "everywhere\n")
    assert ask(kube, "log", name="other") == (200, "")
    make_script(kube, logs=[{"text": "here\n"}])
    assert ask(kube, "log") == (200, "here\neverywhere\n")
    patch = {"spec": {"selector": {"matchNamespaces": ["none"]}}}
    kube.client.patch("workloads.inkube.dev/v1/clusterscripts", "every", patch=patch)
    assert ask(kube, "log") == (200, "here\n")
