"""A user signs in, finds objects, and sees them change."""

import re

import pytest

CONFIG_MAPS = "v1/configmaps"


def config_map(name, labels=None, **data):
    meta = {"name": name, "namespace": "default", "labels": labels or {}}
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": meta, "data": data}


@pytest.fixture
def tokens(tmp_path):
    path = tmp_path / "tokens.csv"
    path.write_text("letmein,ann,1,system:masters\nvisitor,bob,2\n")
    return path


def test_a_user_signs_in_and_out_with_a_token(start, read, expect, tokens):
    page = read(start(token_auth_file=tokens)).go()
    page.get_by_label("Token").fill("wrong")
    page.get_by_role("button", name="Sign in").click()
    expect(page.get_by_role("alert")).to_have_text("The server does not know this token.")
    page.get_by_label("Token").fill("letmein")
    page.keyboard.press("Enter")
    expect(page.get_by_role("heading", name="Overview")).to_be_visible()
    expect(page.locator(".me")).to_have_text("ann")
    page.reload()
    expect(page.locator(".me")).to_have_text("ann")
    page.get_by_role("button", name="Sign out").click()
    expect(page.get_by_label("Token")).to_be_visible()


def test_an_open_server_lets_in_without(kube, read, expect):
    page = read(kube).go()
    expect(page.locator(".me")).to_have_text("system:admin")
    expect(page.get_by_role("button", name="Sign out")).to_have_count(0)


def test_a_forbidden_request_shows_the_error_of_the_server(start, read, expect, tokens):
    page = read(start(token_auth_file=tokens, authorization_mode="RBAC")).go()
    page.get_by_label("Token").fill("visitor")
    page.keyboard.press("Enter")
    page.get_by_label("Filter kinds").fill("configmap")
    page.get_by_role("link", name="ConfigMap").click()
    expect(page.get_by_role("alert")).to_contain_text(
        'User "bob" cannot list resource "configmaps"'
    )
    expect(page.locator("input#namespace")).to_be_visible()  # namespaces cannot be listed


def test_kinds_are_found_by_a_few_letters(kube, read, expect):
    page = read(kube).go()
    page.keyboard.press(":")
    page.keyboard.type("cm")
    page.keyboard.press("Enter")
    expect(page.get_by_role("heading", name="ConfigMap")).to_be_visible()


FOCUS_AFTER_COLON = """async () => {
  document.body.dispatchEvent(new KeyboardEvent("keydown", { key: ":", bubbles: true }));
  for (let turn = 0; turn < 5; turn++) await null;  // what is due before the next key or frame
  return document.activeElement.getAttribute("aria-label");
}"""


def test_the_next_key_after_the_colon_is_typed_into_the_field(kube, read):
    page = read(kube).go()
    assert page.evaluate(FOCUS_AFTER_COLON) == "Kind or object"


def test_a_table_has_the_servers_columns_and_follows_what_changes(kube, boats, read, expect):
    page = read(kube).go("kind/example.com/v1/boats")
    expect(page.get_by_role("columnheader")).to_have_text(["Name", "Namespace", "Age"])
    expect(page.get_by_role("link", name="argo")).to_be_visible()
    kube.client.create({
        "apiVersion": "example.com/v1", "kind": "Boat",
        "metadata": {"name": "calypso", "namespace": "default"}, "spec": {},
    })  # fmt: skip
    expect(page.get_by_role("link", name="calypso")).to_be_visible()
    kube.client.delete(boats, "argo", "default")
    expect(page.get_by_role("link", name="argo")).to_have_count(0)
    expect(page.locator(".count")).to_have_text("1 object")


def test_rows_are_searched_sorted_and_walked_by_keys(kube, read, expect):
    for name, size in (("a", "1"), ("b", "22"), ("c", "333")):
        kube.client.create(config_map(name, {"tier": f"t{size}"}, **dict.fromkeys(size + "x", "")))
    page = read(kube).go("kind/core/v1/configmaps")
    page.get_by_label("Namespace").select_option("default")
    expect(page.get_by_role("columnheader")).to_have_text(["Name", "Data", "Age"])
    page.get_by_role("button", name="Name").click()
    page.get_by_role("button", name="Name").click()
    expect(page.get_by_role("columnheader").first).to_have_attribute("aria-sort", "descending")
    names = page.locator("tbody th a")
    expect(names.first).not_to_have_text("a")
    page.keyboard.press("/")
    page.keyboard.type("tier=t22")
    expect(names).to_have_text(["b"])
    page.keyboard.press("Enter")
    expect(page.locator("tr[data-cursor] a")).to_be_focused()
    page.keyboard.press("Enter")
    expect(page.get_by_role("heading", name="b", exact=True)).to_be_visible()


def test_an_object_changes_before_the_readers_eyes(kube, read, expect):
    kube.client.create(config_map("watched", colour="red"))
    page = read(kube).go("object/core/v1/configmaps/default/watched")
    expect(page.get_by_label("The object as YAML")).to_contain_text("colour: red")
    kube.client.patch(CONFIG_MAPS, "watched", patch={"data": {"colour": "blue"}})
    expect(page.get_by_label("The object as YAML")).to_contain_text("colour: blue")
    kube.client.delete(CONFIG_MAPS, "watched", "default")
    expect(page.get_by_text("deleted", exact=True)).to_be_visible()


def test_each_field_shows_its_owner_and_its_description(kube, read, expect):
    kube.client.create({
        "apiVersion": "v1", "kind": "Service", "metadata": {"name": "web", "namespace": "default"},
        "spec": {"ports": [{"port": 80}]},
    })  # fmt: skip
    page = read(kube).go("object/core/v1/services/default/web?tab=fields")
    expect(page.get_by_label("Who owns what")).to_contain_text("1")
    row = page.locator(".field", has=page.locator("code", has_text="sessionAffinity")).first
    expect(row).to_contain_text("ClientIP")
    expect(row).to_contain_text("Used to maintain session affinity")
    port = page.locator(".field", has=page.locator("code", has_text="targetPort"))
    expect(port).to_contain_text("int or string")


def test_owners_are_a_graph(kube, read, expect):
    parent = kube.client.create(config_map("parent"))
    child = config_map("child")
    child["metadata"]["ownerReferences"] = [
        {
            "apiVersion": "v1",
            "kind": "ConfigMap",
            "name": "parent",
            "uid": parent["metadata"]["uid"],
        }
    ]
    kube.client.create(child)
    page = read(kube).go("object/core/v1/configmaps/default/parent?tab=related")
    graph = page.get_by_label("Objects from owner to owned")
    expect(graph.get_by_role("link")).to_have_count(2)
    expect(graph.locator("path")).to_have_count(1)
    graph.get_by_role("link", name="ConfigMap child").click()
    expect(page.get_by_role("heading", name="child", exact=True)).to_be_visible()


def test_history_is_a_slider_over_what_each_state_changed(kube, read, expect):
    kube.client.create(config_map("old", colour="red"))
    for colour in ("green", "blue"):
        kube.client.patch(CONFIG_MAPS, "old", patch={"data": {"colour": colour}})
    page = read(kube).go("object/core/v1/configmaps/default/old?tab=history")
    expect(page.get_by_text("State 3 of 3")).to_be_visible()
    changes = page.get_by_label("What changed")
    expect(changes.locator(".removed")).to_contain_text(["colour: green"])
    expect(changes.locator(".added").last).to_contain_text("colour: blue")
    page.get_by_role("slider").focus()
    page.keyboard.press("ArrowLeft")
    expect(page.get_by_text("State 2 of 3")).to_be_visible()
    expect(changes.locator(".added").last).to_contain_text("colour: green")
    kube.client.delete(CONFIG_MAPS, "old", "default")  # the page shows an old state
    expect(page.get_by_text("State 2 of 4")).to_be_visible()
    page.get_by_role("slider").press("End")
    expect(page.get_by_text("deleted", exact=False).last).to_be_visible()


def test_what_was_deleted_still_has_its_history(kube, read, expect):
    kube.client.create(config_map("gone", colour="red"))
    kube.client.delete(CONFIG_MAPS, "gone", "default")
    page = read(kube).go("object/core/v1/configmaps/default/gone")
    page.get_by_role("button", name="What it was").click()
    expect(page.get_by_label("What changed")).to_contain_text("colour: red")


def test_keys_are_listed_and_can_be_turned_off(kube, read, expect):
    page = read(kube).go()
    page.keyboard.press("?")
    dialog = page.get_by_role("dialog", name="Keys")
    expect(dialog).to_contain_text("Go to the requests")
    dialog.get_by_label("Enable single-key shortcuts").uncheck()
    page.keyboard.press("Escape")
    expect(dialog).to_have_count(0)
    page.keyboard.press(":")
    expect(page.get_by_role("dialog")).to_have_count(0)


def test_many_tabs_do_not_wait_for_each_other(start, read, expect, tokens):
    kube = start(token_auth_file=tokens)
    kube.client.create(config_map("watched", colour="red"))
    reader = read(kube)
    page = reader.go()
    page.get_by_label("Token").fill("letmein")
    page.keyboard.press("Enter")
    expect(page.get_by_role("heading", name="Overview")).to_be_visible()
    token = page.evaluate("sessionStorage.getItem('inkube.token')")
    tabs = [page.context.new_page() for _ in range(5)]
    for tab in tabs:  # a browser has six connections, and each tab has two watches
        tab.add_init_script(f"sessionStorage.setItem('inkube.token', '{token}')")
        tab.goto(f"{kube.url}/console/#/object/core/v1/configmaps/default/watched")
        expect(tab.get_by_label("The object as YAML")).to_contain_text("colour: red")
        expect(tab.locator(".state")).to_have_text("live")
    assert kube.server.streams.count >= 10
    kube.client.patch(CONFIG_MAPS, "watched", patch={"data": {"colour": "blue"}})
    for tab in tabs:
        expect(tab.get_by_label("The object as YAML")).to_contain_text("colour: blue")


HIDE = """hidden => {
  Object.defineProperty(document, 'hidden', { value: hidden, configurable: true });
  document.dispatchEvent(new Event('visibilitychange'));
}"""


def test_a_tab_that_nobody_sees_lets_go_of_its_watches(kube, read, expect):
    kube.client.create(config_map("watched", colour="red"))
    reader = read(kube)
    reader.page.clock.install()
    page = reader.go("object/core/v1/configmaps/default/watched")
    expect(page.locator(".state")).to_have_text("live")
    assert kube.server.streams.count > 0
    page.evaluate(HIDE, True)
    page.clock.run_for(6_000)
    kube.wait_for(lambda: kube.server.streams.count == 0)
    kube.client.patch(CONFIG_MAPS, "watched", patch={"data": {"colour": "blue"}})
    page.evaluate(HIDE, False)
    expect(page.get_by_label("The object as YAML")).to_contain_text("colour: blue")


def test_a_lost_connection_is_shown(kube, read, expect, server_thread):
    kube.client.create(config_map("a"))
    reader = read(kube)
    is_away = False
    reader.page.route_web_socket(
        re.compile("/inkube/v1/watch"),
        lambda socket: socket.close() if is_away else socket.connect_to_server(),
    )
    page = reader.go("kind/core/v1/configmaps")
    expect(page.locator(".state")).to_have_text("live")
    page.route(re.compile("watch=true"), lambda route: route.abort())
    is_away = True

    async def cut():
        kube.server.streams.close()

    server_thread.run(cut())
    expect(page.locator(".state")).to_have_text("connection lost")
    reader.errors.clear()  # the browser logs each failed attempt
