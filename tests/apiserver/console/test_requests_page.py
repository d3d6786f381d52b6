"""The page with the live request log."""


def test_requests_are_shown_as_they_are_answered(kube, read, expect, boats):
    page = read(kube).go("requests")
    expect(page.locator(".state")).to_have_text("live")
    page.context.request.post(
        f"{kube.url}/api/v1/namespaces/default/configmaps",
        data={"metadata": {"name": "NO"}}, headers={"User-Agent": "somebody"},
    )  # fmt: skip
    row = page.get_by_role("row").filter(has_text="POST")
    expect(row).to_contain_text("/api/v1/namespaces/default/configmaps")
    expect(row).to_contain_text("422")
    expect(row).to_contain_text("system:admin")
    row.get_by_role("button").click()
    expect(page.get_by_label("Sent")).to_contain_text("name: 'NO'")
    expect(page.get_by_label("Answered")).to_contain_text("reason: Invalid")


def test_requests_are_searched_and_paused(kube, read, expect):
    page = read(kube).go("requests")
    expect(page.locator(".state")).to_have_text("live")

    def ask(path):
        page.context.request.get(f"{kube.url}{path}", headers={"User-Agent": "somebody"})

    ask("/version")
    ask("/api/v1/namespaces")
    rows = page.locator("tbody tr")
    expect(rows).to_have_count(2)
    page.keyboard.press("/")
    page.keyboard.type("list 200")
    expect(rows).to_have_count(1)
    expect(rows).to_contain_text("/api/v1/namespaces")
    page.get_by_label("Search requests").fill("")
    page.get_by_role("button", name="Pause").click()
    ask("/apis")
    page.get_by_role("button", name="Clear").click()
    expect(rows).to_have_count(0)
