"""A user edits: the server validates during typing, and errors appear at their fields."""

import json

import pytest

BOAT = "object/example.com/v1/boats/default/argo"
SERVICE = "v1/services"


def edit(page, old, new):
    """Replace a text in the editor by typing."""
    draft = page.get_by_label("Draft")
    page.wait_for_function("old => document.getElementById('draft')?.value.includes(old)", arg=old)
    draft.fill(draft.input_value().replace(old, new))


def line_of(page, text):
    return page.locator(".paper .line", has_text=text)


def test_a_422_is_shown_at_its_field_while_typing(kube, boats, read, expect):
    page = read(kube).go(f"{BOAT}?tab=edit")
    edit(page, "replicas: 3", "replicas: 1000")
    marked = page.locator(".paper .line.marked")
    expect(marked).to_have_count(1)
    expect(marked).to_contain_text("replicas: 1000")
    expect(marked).to_contain_text("should be less than or equal to 100")
    expect(page.locator("[data-verdict=refused]")).to_have_text("1 problem")
    assert kube.client.get(boats, "argo", "default")["spec"]["replicas"] == 3  # nothing was stored
    edit(page, "port: 1", "port: [1]")
    expect(marked).to_have_count(2)
    edit(page, "replicas: 1000", "replicas: 7")
    edit(page, "port: [1]", "port: 2")
    expect(page.locator("[data-verdict=valid]")).to_be_visible()
    expect(page.get_by_label("What would change").locator(".added")).to_contain_text(
        ["replicas: 7", "port: 2"]
    )
    page.get_by_role("button", name="Save").click()
    expect(page.get_by_label("The object as YAML")).to_contain_text("replicas: 7")
    assert kube.client.get(boats, "argo", "default")["spec"]["replicas"] == 7


def test_an_unknown_field_and_broken_yaml_are_shown_at_their_line(kube, boats, read, expect):
    page = read(kube).go(f"{BOAT}?tab=edit")
    edit(page, "replicas: 3", "replicas: 3\n  sails: 2")
    expect(line_of(page, "sails: 2")).to_contain_text("unknown field")
    edit(page, "sails: 2", "sails: [2")
    expect(page.locator("[data-verdict=unreadable]")).to_be_visible()
    expect(page.locator(".paper .line.marked")).to_have_count(1)


def test_errors_of_live_checks_are_shown_before_an_object_is_stored(kube, read, expect, world_of):
    world_of(kube)
    page = read(kube).go(
        "object/provisioning.grafana.app/v0alpha1/repositories/default/dashboards?tab=edit"
    )
    edit(page, "branch: main", "branch: missing")
    expect(line_of(page, "branch: missing")).to_contain_text("branch not found")
    edit(page, "branch: missing", "branch: develop")
    expect(page.locator("[data-verdict=valid]")).to_be_visible()


def test_a_conflict_of_an_apply_is_settled_field_by_field(kube, boats, read, expect):
    owned = {
        "apiVersion": "example.com/v1",
        "kind": "Boat",
        "metadata": {"name": "argo", "namespace": "default"},
        "spec": {"replicas": 4, "size": 9},
    }
    page = read(kube).go()
    page.context.request.patch(
        f"{kube.url}/apis/example.com/v1/namespaces/default/boats/argo?fieldManager=harbour&force=true",
        data=json.dumps(owned), headers={"Content-Type": "application/apply-patch+yaml"},
    )  # fmt: skip
    page.goto(f"{kube.url}/console/#/{BOAT}?tab=edit")
    page.get_by_role("button", name="Apply", exact=True).first.click()
    edit(page, "replicas: 4", "replicas: 5")
    edit(page, "size: 9", "size: 10")
    expect(line_of(page, "replicas: 5")).to_contain_text('conflict with "harbour"')
    expect(line_of(page, "size: 10")).to_contain_text('conflict with "harbour"')
    page.get_by_role("listitem").filter(has_text="spec.size").get_by_role(
        "button", name="Leave it to harbour"
    ).click()
    expect(line_of(page, "size: 10")).to_have_count(0)
    expect(page.locator(".paper .line.marked")).to_have_count(1)
    page.get_by_role("button", name="Take these fields over").click()
    expect(page.get_by_label("The object as YAML")).to_contain_text("replicas: 5")
    boat = kube.client.get(boats, "argo", "default")
    assert (boat["spec"]["replicas"], boat["spec"]["size"]) == (5, 9)
    managers = {
        each["manager"]: each["fieldsV1"]["f:spec"] for each in boat["metadata"]["managedFields"]
    }
    assert "f:replicas" in managers["inkube-console"]
    assert "f:replicas" not in managers["harbour"]


def test_the_second_of_two_writers_sees_the_first_change(kube, boats, read, expect):
    page = read(kube).go(f"{BOAT}?tab=edit")
    edit(page, "replicas: 3", "replicas: 6")
    expect(page.locator("[data-verdict=valid]")).to_be_visible()
    kube.client.patch(boats, "argo", patch={"spec": {"size": 3}})
    page.get_by_role("button", name="Save").click()
    expect(page.get_by_role("alert")).to_contain_text("Another client changed the object.")
    page.get_by_role("button", name="Keep mine on top of theirs").click()
    page.get_by_role("button", name="Save").click()
    expect(page.get_by_label("The object as YAML")).to_contain_text("replicas: 6")


def test_a_new_object_begins_with_what_is_required(kube, boats, read, expect):
    page = read(kube).go("kind/example.com/v1/boats")
    page.keyboard.press("c")
    expect(page.get_by_role("heading", name="New Boat")).to_be_visible()
    edit(page, "name: ''", "name: calypso")
    expect(page.locator("[data-verdict=valid]")).to_be_visible()
    page.keyboard.press("Control+Enter")
    expect(page.get_by_role("heading", name="calypso", exact=True)).to_be_visible()
    assert kube.client.get(boats, "calypso", "default")["kind"] == "Boat"


def test_an_object_is_deleted_after_a_question(kube, boats, read, expect):
    page = read(kube).go(BOAT)
    page.keyboard.press("D")
    dialog = page.get_by_role("dialog")
    dialog.get_by_role("button", name="Keep").click()
    expect(dialog).to_have_count(0)
    page.get_by_role("button", name="Delete").click()
    dialog.get_by_role("button", name="Delete").click()
    expect(page.get_by_text("deleted", exact=True)).to_be_visible()
    assert kube.client.list(boats, "default") == []


@pytest.fixture
def viewer(tmp_path):
    path = tmp_path / "tokens.csv"
    path.write_text("look,bob,2\n")
    return path


def test_a_user_with_read_access_cannot_save(start, viewer, read, expect, boat_crd):
    kube = start(token_auth_file=viewer, authorization_mode="RBAC")
    kube.client.create({
        "apiVersion": "v1", "kind": "ConfigMap",
        "metadata": {"name": "seen", "namespace": "default"},
    })  # fmt: skip
    kube.client.create({
        "apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRoleBinding",
        "metadata": {"name": "look"},
        "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "view"},
        "subjects": [{"apiGroup": "rbac.authorization.k8s.io", "kind": "User", "name": "bob"}],
    })  # fmt: skip
    page = read(kube).go("object/core/v1/configmaps/default/seen?tab=edit")
    page.get_by_label("Token").fill("look")
    page.keyboard.press("Enter")
    expect(page.get_by_role("button", name="Save")).to_be_disabled()
    expect(page.get_by_role("button", name="Delete")).to_be_disabled()
