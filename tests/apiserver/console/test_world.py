"""Clicks break and repair the scripted world, and forms show the resulting field errors."""

REPOSITORY = "object/provisioning.grafana.app/v0alpha1/repositories/default/dashboards"
REPOSITORIES = "provisioning.grafana.app/v0alpha1/repositories"
HOSTS = "world.inkube.dev/v1/githosts"


def test_a_field_error_exists_while_a_branch_is_broken(kube, read, expect, world_of):
    world_of(kube)
    object_page = read(kube).go(REPOSITORY)
    expect(object_page.locator(".head .chip")).to_have_text("healthy")
    page = read(kube).go("world")
    host = page.get_by_label("GitHost git.example.com")
    main = host.get_by_role("button", name="main")
    expect(main).to_have_attribute("aria-pressed", "true")
    main.click()
    expect(main).to_have_attribute("aria-pressed", "false")
    expect(page.get_by_text("branch not found")).to_be_visible()
    marked = object_page.locator(".yaml .line.marked")
    expect(marked).to_contain_text("branch: main")
    expect(marked).to_contain_text("branch not found")
    main.click()
    expect(main).to_have_attribute("aria-pressed", "true")
    expect(marked).to_have_count(0)
    expect(object_page.locator(".head .chip")).to_have_text("healthy")
    expect(page.get_by_text("branch not found")).to_have_count(0)
    host = kube.client.get(HOSTS, "git.example.com")
    assert host["spec"]["repositories"][0]["branches"] == ["main", "develop"]
    assert "annotations" not in host["metadata"]


def test_a_token_is_revoked_and_given_back(kube, read, expect, world_of):
    world_of(kube)
    page = read(kube).go("world")
    token = page.get_by_role("button", name="s3c…")
    token.click()
    expect(token).to_have_attribute("aria-pressed", "false")
    expect(page.locator("td .bad").first).to_be_visible()
    page.reload()  # the data is stored in the object
    expect(token).to_have_attribute("aria-pressed", "false")
    token.click()
    expect(page.locator("td").get_by_text("healthy", exact=True)).to_be_visible()


def test_a_host_is_out_of_order(kube, read, expect, world_of):
    world_of(kube)
    page = read(kube).go("world")
    page.get_by_label("GitHost git.example.com").get_by_label("It").select_option(
        label="answers 500 to everything"
    )
    expect(page.locator("td .bad").first).to_be_visible()
    assert kube.client.get(HOSTS, "git.example.com")["spec"]["outage"]["code"] == 500


def test_the_page_of_the_world_has_a_message_if_it_is_not_served(start, read, expect):
    page = read(start(modules="none")).go("world")
    expect(page.get_by_text("This server has no kinds of the")).to_be_visible()


def test_requests_fail_on_purpose_and_no_longer(kube, read, expect):
    page = read(kube).go("world")
    fault = page.get_by_role("button", name="Writes answer 500")
    fault.click()
    expect(fault).to_have_attribute("aria-pressed", "true")
    assert (
        kube.client.get("world.inkube.dev/v1/faults", "writes-fail")["spec"]["answer"]["code"]
        == 500
    )
    made = page.context.request.post(
        f"{kube.url}/api/v1/namespaces/default/configmaps", data={"metadata": {"name": "a"}}
    )
    assert made.status == 500
    row = page.get_by_role("row").filter(has_text="writes-fail")
    expect(row.get_by_role("cell").nth(2)).to_have_text("1")
    page.get_by_role("button", name="Remove writes-fail").click()
    expect(fault).to_have_attribute("aria-pressed", "false")
    made = page.context.request.post(
        f"{kube.url}/api/v1/namespaces/default/configmaps", data={"metadata": {"name": "a"}}
    )
    assert made.status == 201
