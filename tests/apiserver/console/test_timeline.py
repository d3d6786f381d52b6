"""The changes over time on the overview, and the console as of an earlier time."""

MAPS = "v1/configmaps"


def _colours(kube, *colours):
    """One ConfigMap with these colours, ten minutes apart."""
    meta = {"name": "paint", "namespace": "default"}
    kube.client.create(
        {"apiVersion": "v1", "kind": "ConfigMap", "metadata": meta, "data": {"colour": "none"}}
    )
    for colour in colours:
        kube.advance(600)
        kube.client.patch(MAPS, "paint", patch={"data": {"colour": colour}})


def test_a_selected_time_lists_its_changes_and_shows_objects_as_they_were(kube, read, expect):
    _colours(kube, "red", "blue")
    kube.client.create({
        "apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "later"},
    })  # fmt: skip
    page = read(kube).go()
    main = page.get_by_role("main")
    expect(main.get_by_role("link", name="ConfigMap later")).to_be_visible()
    box = page.get_by_role("img", name="Changes over time").bounding_box()
    middle = box["y"] + box["height"] / 2
    page.mouse.move(box["x"] + box["width"] * 0.3, middle)
    page.mouse.down()
    page.mouse.move(box["x"] + box["width"] * 0.7, middle, steps=3)
    page.mouse.up()
    expect(main.get_by_text("1 change, most by inkube (1)")).to_be_visible()
    expect(main.get_by_role("link", name="ConfigMap later")).to_have_count(0)
    page.get_by_role("button", name="Go to this time").click()
    notice = page.get_by_text("Changes that you make apply to the present.")
    expect(notice).to_be_visible()
    page.goto(f"{kube.url}/console/#/kind/core/v1/configmaps")
    expect(page.get_by_role("link", name="paint", exact=True)).to_be_visible()
    expect(page.get_by_role("link", name="later", exact=True)).to_have_count(0)
    page.get_by_role("link", name="paint", exact=True).click()
    expect(page.get_by_label("The object as YAML")).to_contain_text("colour: red")
    page.get_by_role("button", name="Return to now").click()
    expect(page.get_by_label("The object as YAML")).to_contain_text("colour: blue")
    expect(notice).to_have_count(0)


def test_the_keyboard_selects_a_time_too(kube, read, expect):
    _colours(kube, "red")
    page = read(kube).go()
    changed = page.get_by_role("row", name="ConfigMap paint changed")
    expect(changed).to_be_visible()
    page.get_by_role("slider", name="To").press("Home")
    expect(changed).to_have_count(0)
    expect(page.get_by_role("row", name="ConfigMap paint created")).to_be_visible()
    expect(page.get_by_role("button", name="Go to this time")).to_be_enabled()
    page.get_by_role("button", name="Select all").press("Enter")
    expect(page.get_by_role("button", name="Go to this time")).to_be_disabled()


def test_the_overview_shows_watches_writers_workloads_and_storage(kube, read, expect):
    _colours(kube, "red")
    main = read(kube).go().get_by_role("main")
    for figure in ("Open watches", "Writes most", "Workloads ready"):
        expect(main.get_by_role("term").filter(has_text=figure)).to_be_visible()
    expect(main.get_by_role("definition").filter(has_text="in memory")).to_be_visible()
