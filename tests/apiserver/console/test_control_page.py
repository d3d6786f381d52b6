"""Buttons that settle the server, move its clock, save, restore, fork and reset it."""

CONFIG_MAPS = "v1/configmaps"


def config_map(name):
    meta = {"name": name, "namespace": "default"}
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": meta}


def names(kube):
    return [item["metadata"]["name"] for item in kube.client.list(CONFIG_MAPS, "default")]


def test_the_server_is_controlled_by_buttons(kube, read, expect):
    reader = read(kube)
    page = reader.go("control")
    page.on("dialog", lambda dialog: dialog.accept())

    def click(button, notice):
        page.get_by_role("button", name=button, exact=True).click()
        expect(page.get_by_role("status").get_by_text(notice).last).to_be_visible()

    click("Settle", "Settled at revision")
    page.get_by_role("textbox", name="Name").fill("before")
    click("Take a snapshot", "Snapshot before is taken.")
    kube.client.create(config_map("one"))
    click("Restore before", "Snapshot before is restored.")
    assert names(kube) == []
    begun = kube.clock.now()
    page.get_by_label("Seconds").fill("7200")
    click("Advance", "It is ")
    assert (kube.clock.now() - begun).total_seconds() >= 7200
    kube.client.create(config_map("two"))
    click("Fork", "fork-1 serves at http://127.0.0.1:")
    expect(page.get_by_role("link", name="http://127.0.0.1:")).to_be_visible()
    click("Reset", "The state is that of the start.")
    assert names(kube) == []
    click("Stop fork-1", "fork-1 is stopped.")
    click("Forget before", "Snapshot before is forgotten.")
    expect(page.get_by_role("button", name="Restore before")).to_have_count(0)


def test_refused_actions_show_their_reason(start, read, expect, tmp_path):
    kube = start(data=tmp_path / "data.db")
    page = read(kube).go("control")
    page.on("dialog", lambda dialog: dialog.accept())
    page.get_by_role("button", name="Reset").click()
    expect(page.get_by_role("status").get_by_text("keeps its data")).to_be_visible()
