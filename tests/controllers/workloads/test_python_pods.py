"""Pods whose containers are coroutines: output, exit, restarts, graceful deletion."""

import asyncio

import pytest
from patience import SECONDS

from inkube import APIServer, Workloads, pod
from inkube.schemas.status import StatusError

PODS = "v1/pods"
SEEN = []


@pod(image="hello:*")
async def hello(container):
    print("hello", container.env["WHO"], *container.command)
    return 0


@pod(image="broken")
async def broken(container):
    print("about to break")
    raise ValueError("no way")


@pod(image="exit")
async def exits(container):
    raise SystemExit(int(container.env["CODE"]))


@pod(image="service")
async def service(container):
    print("serving")
    try:
        await container.sleep(10_000)
    except asyncio.CancelledError:
        print("cleaning up")
        await container.sleep(float(container.env.get("CLEANUP", "0")))
        SEEN.append(container.pod["metadata"]["name"])
        return 7


@service.port(8080)
async def answer(container, connection):
    asked = await connection.read()
    await connection.write(b"you said " + asked)


@pod(image="shell")
async def shell(container):
    typed = b""
    while not typed.endswith(b"exit\n"):
        typed += await container.read()
    print("typed", typed.decode().split())
    return 5


@shell.exec
async def run(container, command):
    await command.write(f"{container.name}: {' '.join(command.arguments)}\n".encode())
    await command.write(b"to stderr\n", is_error=True)
    return 4


@pod(image="slow")
async def slow(container):
    for begun in range(3):
        for _ in range(int(container.env["TURNS"])):
            await asyncio.sleep(0)
        SEEN.append(begun)
        await container.sleep(10)
    for _ in range(int(container.env["TURNS"])):
        await asyncio.sleep(0)


FUNCTIONS = [hello, broken, exits, service, shell, slow]
pytestmark = pytest.mark.kube_workloads(controllers={"kubelet"}, pods=FUNCTIONS)


def make(kube, *images, name="p", env=None, **spec):
    env = [{"name": key, "value": value} for key, value in (env or {}).items()]
    containers = [
        {"name": f"c{number}", "image": image, "env": env, **spec.pop("container", {})}
        for number, image in enumerate(images)
    ]
    meta = {"name": name, "namespace": "default"}
    body = {"nodeName": "kube-node-1", "containers": containers, **spec}
    kube.client.create({"apiVersion": "v1", "kind": "Pod", "metadata": meta, "spec": body})
    kube.settled()
    return status(kube, name)


def status(kube, name="p"):
    return kube.client.get(PODS, name, "default")["status"]


def ended(told, number=0):
    return told["containerStatuses"][number]["state"]["terminated"]


def test_what_a_function_returns_and_prints_is_exit_code_and_log(kube, kubectl, capfd):
    told = make(
        kube, "hello:1", env={"WHO": "world"}, restartPolicy="Never",
        container={"command": ["run"], "args": ["$(WHO)"]},
    )  # fmt: skip
    assert told["phase"] == "Succeeded"
    assert (ended(told)["exitCode"], ended(told)["reason"]) == (0, "Completed")
    assert kubectl("logs", "p") == "hello world run world\n"
    print("the test's own output goes where it went")
    assert capfd.readouterr().out == "the test's own output goes where it went\n"


def test_an_exception_is_exit_code_1_and_a_traceback(kube, kubectl):
    told = make(kube, "broken", restartPolicy="Never")
    assert told["phase"] == "Failed"
    assert ended(told)["exitCode"] == 1
    log = kubectl("logs", "p")
    assert log.startswith("about to break\nTraceback")
    assert log.endswith("ValueError: no way\n")


@pytest.mark.parametrize(("code", "phase"), [(0, "Succeeded"), (42, "Failed")])
def test_exit_ends_with_its_code(kube, code, phase):
    told = make(kube, "exit", env={"CODE": str(code)}, restartPolicy="OnFailure")
    if code:  # it restarts, and again after a delay
        assert told["phase"] == "Running"
        assert told["containerStatuses"][0]["restartCount"] == 1
        return
    assert (told["phase"], ended(told)["exitCode"]) == (phase, code)


def test_restart_policy_always_runs_it_again_with_back_off(kube, kubectl):
    make(kube, "hello:1", env={"WHO": "again"})
    one = status(kube)["containerStatuses"][0]
    assert one["state"]["waiting"]["reason"] == "CrashLoopBackOff"
    assert (one["restartCount"], one["lastState"]["terminated"]["exitCode"]) == (1, 0)
    kube.advance(11)
    assert status(kube)["containerStatuses"][0]["restartCount"] == 2
    assert kubectl("logs", "p", "--previous") == "hello again\n"


def test_a_pod_runs_while_one_of_its_containers_does(kube):
    told = make(kube, "service", "hello:1", "other:1", env={"WHO": "x"}, restartPolicy="Never")
    assert told["phase"] == "Running"
    assert ended(told, 1)["exitCode"] == 0
    assert "running" in told["containerStatuses"][0]["state"]
    assert "running" in told["containerStatuses"][2]["state"]
    ready = next(one for one in told["conditions"] if one["type"] == "Ready")
    assert ready["status"] == "False"


def test_deletion_cancels_and_waits_for_the_clean_up(kube):
    SEEN.clear()
    make(kube, "service", env={"CLEANUP": "5"})
    kube.client.delete(PODS, "p", "default")
    kube.settled()
    assert kube.client.get(PODS, "p", "default")["metadata"]["deletionTimestamp"]
    kube.advance(6)
    with pytest.raises(StatusError, match="not found"):
        kube.client.get(PODS, "p", "default")
    assert SEEN == ["p"]


def test_a_container_that_does_not_end_within_the_grace_period_is_killed(kube):
    SEEN.clear()
    make(kube, "service", env={"CLEANUP": "500"}, terminationGracePeriodSeconds=10)
    kube.client.patch(PODS, "p", "default", patch={"metadata": {"finalizers": ["a.example/b"]}})
    kube.client.delete(PODS, "p", "default")
    kube.settled()
    kube.advance(11)
    told = status(kube)
    assert (told["phase"], ended(told)["exitCode"]) == ("Failed", 137)
    assert SEEN == []


@pytest.mark.parametrize("turns", [0, 1, 19, 90])
def test_a_server_is_settled_when_its_functions_wait(kube, turns):
    SEEN.clear()
    make(kube, "slow", env={"TURNS": str(turns)}, restartPolicy="Never")
    for begun in range(3):
        assert [*range(begun + 1)] == SEEN
        kube.advance(10)
    assert status(kube)["phase"] == "Succeeded"


def test_ports_are_coroutines_too(kube, kubectl):
    import socket

    make(kube, "service")
    forwarding = kubectl.start("port-forward", "p", ":8080")
    try:
        port = int(forwarding.stdout.readline().split(":")[1].split(" ")[0])
        with socket.create_connection(("127.0.0.1", port)) as connection:
            connection.sendall(b"ping")
            assert connection.recv(100) == b"you said ping"
    finally:
        forwarding.terminate()
        forwarding.communicate(timeout=SECONDS)


def test_commands_are_answered_by_a_coroutine_or_the_container_s_files(kube, kubectl):
    make(kube, "shell")
    make(kube, "service", name="plain")
    said = kubectl("exec", "p", "--", "ls", "-l", code=4)
    assert "c0: ls -l\n" in said
    assert "to stderr\n" in said
    (kubectl.folder / "mine").write_text("data")
    kubectl("cp", "mine", "plain:/work/mine")
    assert kubectl("exec", "plain", "--", "cat", "/work/mine") == "data"


def test_an_attached_client_writes_input_and_reads_output(kube, kubectl):
    make(kube, "shell", restartPolicy="Never")
    said = kubectl.run("attach", "-i", "p", text="hello\nexit\n")
    kube.settled()
    assert "typed ['hello', 'exit']" in kubectl("logs", "p")
    assert said.returncode == 5
    kube.wait_for(lambda: status(kube)["phase"] == "Failed")


def test_a_missing_config_map_is_waited_for(kube):
    reference = {"configMapRef": {"name": "settings"}}
    told = make(kube, "hello:1", restartPolicy="Never", container={"envFrom": [reference]})
    assert told["phase"] == "Pending"
    waiting = told["containerStatuses"][0]["state"]["waiting"]
    assert waiting["reason"] == "CreateContainerConfigError"
    meta = {"name": "settings", "namespace": "default"}
    kube.client.create(
        {"apiVersion": "v1", "kind": "ConfigMap", "metadata": meta, "data": {"WHO": "late"}}
    )
    kube.advance(2)
    assert status(kube)["phase"] == "Succeeded"


def test_functions_end_with_their_server():
    from inkube import APIServer

    async def live():
        async with APIServer(
            workloads=Workloads(controllers={"kubelet"}, pods=[service])
        ) as server:
            meta = {"name": "p", "namespace": "default"}
            spec = {
                "nodeName": "kube-node-1",
                "containers": [{"name": "c", "image": "service"}],
            }
            await server.client.create(
                {"apiVersion": "v1", "kind": "Pod", "metadata": meta, "spec": spec}
            )
            await server.settled()
        return [task.get_name() for task in asyncio.all_tasks()]

    left = asyncio.run(live())
    assert not [name for name in left if name.startswith("container")]


async def test_functions_stand_in_files(tmp_path):
    file = tmp_path / "mine.py"
    file.write_text(
        "import inkube\n\n"
        "@inkube.pod(image='mine')\n"
        "async def mine(container):\n"
        "    print('from a file')\n"
    )
    containers = [{"name": "c", "image": "mine"}]
    spec = {"nodeName": "kube-node-1", "restartPolicy": "Never", "containers": containers}
    meta = {"name": "p", "namespace": "default"}
    workloads = Workloads(pods=[file], controllers={"kubelet"})
    async with APIServer(workloads=workloads) as server:
        await server.settled()
        made = {"apiVersion": "v1", "kind": "Pod", "metadata": meta, "spec": spec}
        await server.client.create(made)
        await server.settled()
        found = await server.client.get(PODS, "p", "default")
        assert found["status"]["phase"] == "Succeeded"


@pytest.mark.parametrize(
    ("text", "why"),
    [("x = 1", "has no function with @inkube.pod"), ("import none_such", "cannot be run: Module")],
)
async def test_files_without_functions_are_refused(tmp_path, text, why):
    file = tmp_path / "odd.py"
    file.write_text(text)
    with pytest.raises(ValueError, match=why):
        async with APIServer(workloads=Workloads(pods=[file])):
            pass
