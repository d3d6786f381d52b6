"""The state of a server in one file that a browser opens without a server."""

import subprocess
import sys

from patience import SECONDS

MAPS = "v1/configmaps"


def inkube(*arguments):
    """Return a command in its own process, because the browser's event loop runs in this one."""
    command = [sys.executable, "-m", "inkube.apiserver.cli", *arguments]
    return subprocess.run(command, capture_output=True, text=True, timeout=SECONDS, check=False)


def test_a_file_shows_the_state_with_its_history_and_refuses_changes(
    kube, boats, browser, expect, tmp_path, read
):
    tricky = "</script><b>&"
    kube.client.create({
        "apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "kept"},
        "data": {"text": tricky},
    })  # fmt: skip
    kube.client.patch(MAPS, "kept", patch={"data": {"colour": "red"}})
    kube.client.create({
        "apiVersion": "world.inkube.dev/v1", "kind": "Fault", "metadata": {"name": "storm"},
        "spec": {"match": {"verbs": ["*"], "resources": ["*"]}, "answer": {"code": 500}},
    })  # fmt: skip
    state, file = tmp_path / "state.db", tmp_path / "state.html"
    kube.run(kube.snapshot().save(state))
    done = inkube("snapshot", "page", state, file)
    assert done.returncode == 0, done.stderr
    reader = read(kube)
    page = reader.page
    asked = []
    page.on("request", lambda request: asked.append(request.url))
    page.goto(file.as_uri())
    expect(page.get_by_role("heading", name="Overview")).to_be_visible()
    expect(page.get_by_role("main").get_by_role("link", name="Boat 1")).to_be_visible()
    page.get_by_role("main").get_by_role("link", name="ConfigMap").click()
    page.get_by_role("link", name="kept").click()
    expect(page.get_by_label("The object as YAML")).to_contain_text(tricky)
    page.get_by_role("tab", name="History").click()
    expect(page.get_by_text("State 2 of 2")).to_be_visible()
    expect(page.get_by_label("What changed")).to_contain_text("colour: red")
    expect(page.get_by_role("button", name="Delete")).to_be_disabled()
    assert [url for url in asked if not url.startswith(("file:", "data:"))] == []


def test_a_file_that_is_no_state_is_refused_in_a_line(tmp_path):
    done = inkube("snapshot", "page", tmp_path / "none.db", tmp_path / "page.html")
    assert done.returncode == 1
    assert "no such file" in done.stderr


def test_a_file_shows_the_differences_of_two_states(kube, expect, tmp_path, read):
    states = [tmp_path / name for name in ("monday.db", "tuesday.db")]
    secret = {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "key"}}
    kube.client.create({**secret, "data": {"key": "aHVzaA=="}})
    kept = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "kept"}}
    kube.client.create({**kept, "data": {"colour": "blue"}})
    kube.run(kube.snapshot().save(states[0]))
    kube.client.patch(MAPS, "kept", patch={"data": {"colour": "red"}})
    node = {"apiVersion": "v1", "kind": "Node", "metadata": {"name": "one"}}
    kube.client.create(node)
    conditions = [{"type": "Ready", "status": "False", "reason": "KubeletNotReady"}]
    kube.client.patch(
        "v1/nodes", "one", patch={"status": {"conditions": conditions}}, subresource="status"
    )
    kube.run(kube.snapshot().save(states[1]))
    file = tmp_path / "differences.html"
    done = inkube("diff", *states, "--page", file)
    assert (done.returncode, done.stdout) == (0, f"{file}\n"), done.stderr
    assert "aHVzaA==" not in file.read_text()
    page = read(kube).page
    page.goto(file.as_uri())
    expect(page.get_by_role("heading", name="Differences")).to_be_visible()
    expect(
        page.get_by_text("monday.db to tuesday.db: 1 added, 1 changed, 0 removed")
    ).to_be_visible()
    failing = page.get_by_role("region", name="Started to fail")
    expect(failing).to_contain_text("Node one: Ready is False: KubeletNotReady")
    page.get_by_text("changed ConfigMap default/kept").click()
    changes = page.get_by_role("region", name="Changes of ConfigMap default/kept")
    expect(changes).to_contain_text("colour: red")
    page.get_by_label("Filter differences").fill("node")
    expect(page.get_by_text("changed ConfigMap")).not_to_be_visible()
    failing.get_by_role("link", name="Node one").click()
    expect(page.get_by_role("heading", name="one")).to_be_visible()
