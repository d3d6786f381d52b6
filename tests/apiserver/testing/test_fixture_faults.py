"""Faults, logs and waiting in a user's tests."""

pytest_plugins = ["pytester"]

FAILING = """
import json, urllib.error, urllib.request

def send(kube, method, path, body=None, agent="probe/1"):
    data = json.dumps(body).encode() if body is not None else None
    headers = {"Content-Type": "application/json", "User-Agent": agent}
    request = urllib.request.Request(kube.url + path, data, headers, method=method)
    try:
        with urllib.request.urlopen(request) as answer:
            return answer.status, json.load(answer)
    except urllib.error.HTTPError as error:
        with error:
            return error.code, json.load(error)

HERE = "/api/v1/namespaces/default/configmaps"

def test_a_block_of_failures(kube):
    with kube.fail("create", "configmaps", times=2, code=409) as fault:
        assert [send(kube, "POST", HERE, config_map("a"))[0] for _ in range(3)] == [409, 409, 201]
        assert (fault.matched, fault.injected) == (3, 2)
    assert (fault.matched, fault.injected) == (3, 2)
    assert kube.client.list("world.inkube.dev/v1/faults") == []
    kube.log.expect(times=2, verb="create", resource="configmaps", code=409)

@pytest.mark.kube_fail("get", "v1/configmaps", code=429, retry_after=1, message="not now")
@pytest.mark.kube_fail(["list"], "deployments.apps", cut=True)
def test_markers(kube, kube_client):
    code, answer = send(kube, "GET", HERE + "/a")
    assert (code, answer["message"]) == (429, "not now")
    with pytest.raises(OSError):
        send(kube, "GET", "/apis/apps/v1/deployments")
    kube.log.expect(verb="list", resource="apps/v1/deployments", code=0)

@pytest.mark.asyncio
async def test_coroutines(kube, kube_aio):
    async with kube_aio.fail("get", "namespaces", user_agent="probe/*"):
        import asyncio
        assert (await asyncio.to_thread(send, kube, "GET", "/api/v1/namespaces/default"))[0] == 500
    assert (await asyncio.to_thread(send, kube, "GET", "/api/v1/namespaces/default"))[0] == 200

def test_recorded_requests_are_found_again(kube):
    send(kube, "POST", HERE, config_map("a", k="v"))
    send(kube, "GET", HERE + "/a")
    [record] = kube.log.requests.where(verb="create", body={"data": {"k": "v"}})
    assert record.answer["metadata"]["uid"] and record.user == "system:admin"
    kube.log.expect(resource="configmaps", verb=("get", "list"), answer={"kind": "ConfigMap"})
    with pytest.raises(AssertionError) as told:
        kube.log.expect(verb="create", resource="configmaps", body={"data": {"k": "w"}})
    assert "near: 201 POST" in str(told.value)
    assert "body.data.k is 'v'" in str(told.value)
    with pytest.raises(TypeError, match="no 'nmae'"):
        kube.log.expect(nmae="a")

def test_open_watches_are_waited_for(kube):
    assert kube.log.watches() == []
    answer = urllib.request.urlopen(kube.url + HERE + "?watch=true&labelSelector=a%3Db")
    [watch] = kube.wait_for(lambda: kube.log.watches(resource="configmaps", namespace="default"))
    assert watch.label_selector == "a=b" and watch.user_agent.startswith("Python-urllib")
    answer.close()
    assert kube.log.watches(resource="secrets") == []

def test_needless_writes_are_reported(kube, kube_client):
    kube_client.create(config_map("a", k="0"))
    for value in ("1", "0", "1", "0"):
        kube_client.patch(CM, "a", patch={"data": {"k": value}})
    send(kube, "POST", HERE, config_map("b"))
    for _ in range(3):
        body = send(kube, "GET", HERE + "/b")[1]
        assert send(kube, "PUT", HERE + "/b", body, agent="loop/1")[0] == 200
    found = {each.name: each for each in kube.log.needless_writes()}
    assert (found["a"].times, found["b"].times) == (3, 3)
    assert found["b"].who == ("loop/1",)

def test_quiet_means_that_nobody_writes(kube, kube_client):
    import threading
    def write():
        for turn in range(5):
            kube_client.patch(CM, "a", patch={"data": {"turn": str(turn)}})
            kube.clock.now()
    kube_client.create(config_map("a"))
    writer = threading.Thread(target=write)
    writer.start()
    kube.settled(quiet=0.3)
    writer.join()
    assert kube_client.get(CM, "a")["data"]["turn"] == "4"

def test_a_run_that_never_settles_names_the_writers(kube, kube_client):
    import threading
    over = threading.Event()
    kube_client.create(config_map("busy"))
    def write():
        turn = 0
        while not over.is_set():
            kube_client.patch(CM, "busy", patch={"data": {"turn": str(turn := turn + 1)}})
    writer = threading.Thread(target=write)
    writer.start()
    kube.wait_for(lambda: kube_client.get(CM, "busy")["data"]["turn"])
    with pytest.raises(TimeoutError, match="MODIFIED ConfigMap default/busy"):
        kube.settled(within=0.5, quiet=600)
    over.set()
    writer.join()

def test_absent_is_not_yet_at_any_depth(kube, kube_client):
    import threading
    kube_client.create(config_map("a"))
    def later():
        kube_client.patch(CM, "a", patch={"data": {"k": "v"}})
    threading.Timer(0.05, later).start()
    assert kube.wait_for(lambda: kube_client.get(CM, "a")["data"]["k"]) == "v"

def test_a_failure_shows_the_last_state(kube, kube_client):
    kube_client.create(config_map("a", here="yes"))
    with pytest.raises(TimeoutError) as told:
        kube.wait_for(lambda: kube_client.get(CM, "a")["data"]["k"], within=0.1)
    text = str(told.value)
    assert "KeyError: 'k'" in text and "here: 'yes'" in text and "managedFields" not in text

def test_errors_that_are_none_of_absence_are_raised(kube):
    with pytest.raises(ZeroDivisionError):
        kube.wait_for(lambda: 1 / 0)

def test_answers_name_what_to_write(kube, kube_client):
    from inkube import StatusError
    with pytest.raises(StatusError, match="no kind Nothing is served in v1"):
        kube_client.create({"apiVersion": "v1", "kind": "Nothing", "metadata": {"name": "a"}})
    with pytest.raises(StatusError, match="an object says its apiVersion and kind"):
        kube_client.create({"metadata": {"name": "a"}})
    with pytest.raises(StatusError, match="nothing is served as example.com/v1/boats"):
        kube_client.list("example.com/v1/boats")
    with pytest.raises(StatusError) as refused:
        kube_client.get(CM, "none")
    assert refused.traceback[-1].path.name != "client.py"  # frames of the server are left out
"""


def test_faults_logs_and_waiting_work_in_tests(run):
    result = run(FAILING)
    result.assert_outcomes(passed=12)


def test_frames_of_inkube_are_hidden(run):
    result = run(
        """
def test_refused(kube_client):
    kube_client.get(CM, "none")

def test_late(kube):
    kube.wait_for(lambda: False, within=0.05)

def test_unexpected(kube):
    kube.log.expect(verb="get")
"""
    )
    result.assert_outcomes(failed=3)
    shown = result.stdout.str()
    assert 'configmaps "none" not found' in shown
    assert "expected at least one request with verb='get', there were 0" in shown
    for name in ("thread.py", "clients.py", "kube.py", "log.py"):
        assert f"{name}:" not in shown
