"""Common tasks in the console: find, scale, restart, copy, delete, read logs, run a command."""

import copy

import yaml

from inkube.controllers.workloads import Workloads

MAPS = "v1/configmaps"
DEPLOYMENTS = "apps/v1/deployments"
BOAT = "object/example.com/v1/boats/default/argo"
WEB = {
    "apiVersion": "apps/v1",
    "kind": "Deployment",
    "metadata": {"name": "web", "namespace": "default"},
    "spec": {
        "replicas": 2,
        "selector": {"matchLabels": {"app": "web"}},
        "template": {
            "metadata": {"labels": {"app": "web"}},
            "spec": {"containers": [{"name": "main", "image": "nginx"}]},
        },
    },
}
SCRIPT = {
    "apiVersion": "workloads.inkube.dev/v1",
    "kind": "Script",
    "metadata": {"name": "web", "namespace": "default"},
    "spec": {
        "selector": {"matchLabels": {"app": "web"}},
        "logs": [{"text": "listening on 80\nGET /health 200\nGET /missing 404\n"}],
        "exec": [
            {"command": ["psql", "-c", "select 1"], "stdout": "one row\n"},
            {"command": ["false"], "stderr": "it failed\n", "exitCode": 3},
        ],
    },
}


def config_map(name, **data):
    meta = {"name": name, "namespace": "default"}
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": meta, "data": data}


def text_of(download):
    return download.path().read_text()


def test_the_palette_finds_objects_by_their_name(kube, boats, read, expect):
    kube.client.create(config_map("argonauts"))
    page = read(kube).go()
    page.keyboard.press(":")
    page.get_by_label("Kind or object").fill("argo")
    options = page.get_by_role("option")
    expect(options.filter(has_text="argonauts")).to_contain_text("ConfigMap")
    options.filter(has_text="Boat").click()
    expect(page.get_by_role("heading", name="argo", exact=True)).to_be_visible()


def test_an_object_is_copied_and_downloaded(kube, read, expect):
    kube.client.create(config_map("kept", colour="red"))
    reader = read(kube, permissions=["clipboard-read", "clipboard-write"])
    page = reader.go("object/core/v1/configmaps/default/kept")
    with page.expect_download() as started:
        page.get_by_role("button", name="Download").click()
    assert started.value.suggested_filename == "kept.yaml"
    found = yaml.safe_load(text_of(started.value))
    assert (found["kind"], found["data"]) == ("ConfigMap", {"colour": "red"})
    page.get_by_role("button", name="Copy").click()
    expect(page.get_by_text("ConfigMap kept is in the clipboard.")).to_be_visible()
    assert yaml.safe_load(page.evaluate("navigator.clipboard.readText()")) == found


def test_a_deployment_is_scaled_and_restarted(kube, read, expect):
    kube.client.create(WEB)
    page = read(kube).go("object/apps/v1/deployments/default/web")
    page.get_by_role("button", name="Scale").click()
    expect(page.get_by_label("Replicas")).to_have_value("2")
    page.get_by_label("Replicas").fill("5")
    page.get_by_role("dialog").get_by_role("button", name="Scale").click()
    expect(page.get_by_label("The object as YAML")).to_contain_text("replicas: 5")
    page.get_by_role("button", name="Restart").click()
    expect(page.get_by_label("The object as YAML")).to_contain_text("restartedAt")
    template = kube.client.get(DEPLOYMENTS, "web")["spec"]["template"]
    assert "kubectl.kubernetes.io/restartedAt" in template["metadata"]["annotations"]


def test_many_objects_are_deleted_at_once(kube, read, expect):
    for name in ("one", "two", "three", "four"):
        kube.client.create(config_map(name))
    page = read(kube).go("kind/core/v1/configmaps")
    page.get_by_label("Namespace").select_option("default")
    page.get_by_label("Select one").check()
    page.get_by_label("Select two").check()
    page.get_by_role("button", name="Delete 2").click()
    page.get_by_role("dialog").get_by_role("button", name="Delete").click()
    expect(page.get_by_text("2 ConfigMap objects deleted")).to_be_visible()
    kube.wait_for(lambda: "one" not in names(kube) and "two" not in names(kube))
    assert "three" in names(kube)
    expect(page.get_by_label("Select one")).to_have_count(0)
    expect(page.get_by_label("Select two")).to_have_count(0)
    page.get_by_label("Select three").check()
    page.get_by_role("button", name="Select all").click()
    expect(page.locator(".danger")).to_contain_text("Delete")


def names(kube):
    return {each["metadata"]["name"] for each in kube.client.list(MAPS, "default")}


def test_logs_are_searched_stamped_and_downloaded(start, read, expect):
    kube = start(workloads=Workloads(nodes=1))
    kube.client.create(SCRIPT)
    kube.client.create(WEB)
    kube.settled()
    [pod, _] = kube.client.list("v1/pods", "default")
    name = pod["metadata"]["name"]
    page = read(kube).go(f"object/core/v1/pods/default/{name}?tab=logs")
    log = page.get_by_label("Log", exact=True)
    expect(log).to_contain_text("listening on 80")
    page.get_by_label("Search the log").fill("MISSING")
    expect(log).to_have_text("GET /missing 404")
    page.get_by_label("Search the log").fill("")
    with page.expect_download() as started:
        page.get_by_role("button", name="Download").last.click()
    assert started.value.suggested_filename == f"{name}-main.log"
    assert "GET /health 200" in text_of(started.value)
    page.get_by_label("Timestamps").check()
    expect(log).to_contain_text("Z listening on 80")
    page.get_by_label("Previous").check()
    expect(page.get_by_role("alert")).to_contain_text("previous terminated container")


def test_a_terminal_runs_commands_in_a_container(start, read, expect):
    kube = start(workloads=Workloads(nodes=1))
    kube.client.create(SCRIPT)
    kube.client.create(WEB)
    kube.settled()
    [pod, _] = kube.client.list("v1/pods", "default")
    name = pod["metadata"]["name"]
    page = read(kube).go(f"object/core/v1/pods/default/{name}?tab=terminal")
    page.get_by_label("Command").fill("psql -c 'select 1'")
    page.get_by_role("button", name="Run").click()
    output = page.get_by_label("Output")
    expect(output).to_contain_text("one row")
    page.get_by_label("Command").fill("false")
    page.get_by_role("button", name="Run").click()
    expect(output).to_contain_text("it failed")
    expect(output).to_contain_text("The command exited with code 3.")


def test_the_overview_counts_kinds_and_shows_what_failed(start, read, expect, boat_crd):
    kube = start()
    kube.install(boat_crd)
    kube.client.create({
        "apiVersion": "v1", "kind": "Pod", "metadata": {"name": "sunk"},
        "spec": {"containers": [{"name": "main", "image": "i"}]},
    })  # fmt: skip
    kube.client.patch(
        "v1/pods", "sunk", patch={"status": {"phase": "Failed", "reason": "Evicted"}},
        subresource="status",
    )  # fmt: skip
    template = copy.deepcopy(WEB["spec"]["template"])
    template["spec"]["restartPolicy"] = "Never"
    kube.client.create({
        "apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": "crossing"},
        "spec": {"template": template},
    })  # fmt: skip
    now = "2026-01-01T00:00:00Z"
    failed = {"status": "True", "reason": "BackoffLimitExceeded", "message": "it failed"}
    conditions = [
        {"type": sort, "lastTransitionTime": now, **failed} for sort in ("FailureTarget", "Failed")
    ]
    kube.client.patch(
        "batch/v1/jobs", "crossing", patch={"status": {"startTime": now, "conditions": conditions}},
        subresource="status",
    )  # fmt: skip
    page = read(kube).go()
    expect(page.get_by_role("row", name="Pod sunk Failed: Evicted")).to_be_visible()
    expect(
        page.get_by_role("row", name="Job crossing BackoffLimitExceeded: it failed")
    ).to_be_visible()
    main = page.get_by_role("main")
    expect(main.get_by_role("link", name="Boat 0")).to_be_visible()
    expect(main.get_by_role("link", name="Pod 1")).to_be_visible()
    expect(main.get_by_role("heading", level=2)).to_have_text(
        [
            "State",
            "Problems",
            "Your kinds",
            "Kubernetes kinds",
            "Module kinds",
            "Changes",
            "Recent events",
        ]
    )


def edit(page, old, new):
    draft = page.get_by_label("Draft")
    page.wait_for_function("old => document.getElementById('draft')?.value.includes(old)", arg=old)
    draft.fill(draft.input_value().replace(old, new))


def test_a_stale_draft_has_a_warning_and_keeps_changes_of_others(kube, boats, read, expect):
    page = read(kube).go(f"{BOAT}?tab=edit")
    edit(page, "replicas: 3", "replicas: 6")
    expect(page.locator("[data-verdict=valid]")).to_be_visible()
    kube.client.patch(boats, "argo", patch={"spec": {"size": 3}})
    expect(page.get_by_role("alert")).to_contain_text("The draft is stale.")
    page.get_by_role("button", name="Keep mine on top of theirs").click()
    expect(page.locator("[data-verdict=valid]")).to_be_visible()
    changes = page.get_by_label("What would change")
    expect(changes.locator(".added")).to_contain_text(["replicas: 6"])
    expect(changes.locator(".removed")).to_contain_text(["replicas: 3"])
    page.get_by_role("button", name="Save").click()
    expect(page.get_by_label("The object as YAML")).to_contain_text("replicas: 6")
    spec = kube.client.get(boats, "argo")["spec"]
    assert (spec["replicas"], spec["size"]) == (6, 3)


def test_an_unknown_field_does_not_hide_other_errors(kube, boats, read, expect):
    page = read(kube).go(f"{BOAT}?tab=edit")
    edit(page, "replicas: 3", "replicas: 1000\n  sails: 2")
    lines = page.locator(".paper .line")
    expect(lines.filter(has_text="sails: 2")).to_contain_text("unknown field")
    expect(lines.filter(has_text="replicas: 1000")).to_contain_text("less than or equal to 100")
    expect(page.locator("[data-verdict=refused]")).to_have_text("2 problems")


def test_a_new_object_has_no_problems_before_somebody_writes(kube, boats, read, expect):
    page = read(kube).go("new/example.com/v1/boats")
    page.wait_for_function("() => document.getElementById('draft')?.value.includes('name:')")
    expect(page.locator("[data-verdict]")).to_have_attribute("data-verdict", "")
    expect(page.locator(".line.marked")).to_have_count(0)
    edit(page, "name: ''", "name: Calypso")
    expect(page.locator("[data-verdict=refused]")).to_be_visible()


def test_missing_objects_kinds_and_pages_have_a_message(kube, read, expect):
    reader = read(kube)
    page = reader.go("object/core/v1/configmaps/default/nobody")
    expect(page.get_by_text("There is no such object.")).to_be_visible()
    page = reader.go("kind/example.com/v1/unicorns")
    expect(page.get_by_text("The server has no such kind.")).to_be_visible()
    page = reader.go("nowhere/at/all")
    expect(page.get_by_role("heading", name="No such page")).to_be_visible()


def test_an_owner_with_many_pods_folds_them_with_their_status(start, read, expect):
    kube = start(workloads=Workloads(nodes=1))
    kube.client.create({**WEB, "spec": {**WEB["spec"], "replicas": 12}})
    kube.settled()
    page = read(kube).go("object/apps/v1/deployments/default/web?tab=related")
    folded = page.get_by_label("Show 12 pods: 12 Running")
    expect(folded).to_be_visible()
    folded.click()
    expect(page.locator(".graph a[aria-label^='Pod web-']")).to_have_count(12)
    expect(page.locator(".graph text", has_text="Pod · Running")).to_have_count(12)
