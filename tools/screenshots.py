"""Takes the screenshots of the console in README and docs.

    python tools/screenshots.py [FOLDER]

It starts a server with a small world. Chromium (or the program in INKUBE_CHROMIUM) opens the
console, and takes each picture of `PICTURES` when its content is shown. Needs playwright.
"""

import os
import shutil
import sys
from pathlib import Path
from typing import Any, NamedTuple

from playwright.sync_api import Page, sync_playwright

from inkube import Workloads
from inkube.apiserver.configuration import Options
from inkube.apiserver.testing.kube import Kube, Plan, running
from inkube.apiserver.testing.scripted import ScriptedWorld
from inkube.apiserver.testing.thread import LoopThread

FOLDER = Path(__file__).parent.parent / "docs/images"
ARGUMENTS = ["--no-sandbox", "--disable-gpu", "--no-first-run", "--disable-background-networking"]
HOST = "git.example.com"
SHOP = "object/apps/v1/deployments/default/shop"
REPOSITORY = "object/provisioning.grafana.app/v0alpha1/repositories/default"


class Picture(NamedTuple):
    """One picture: its page, the text that shows that the page is ready, and the form of the
    page."""

    place: str
    sign: str
    """The text to wait for."""
    scheme: str = "light"
    width: int = 1280
    height: int = 760
    click: str = ""
    """The element to click before."""
    edit: tuple[str, str] = ("", "")
    """A text of the draft, and what replaces it before the draft is sent as a dry run."""


PICTURES = {
    "console-world": Picture("world", "td .bad", click="button.switch:text('main')"),
    "console-object": Picture(
        f"{REPOSITORY}/dashboards", ".yaml .target", click=".problems button"
    ),
    "console-deployment": Picture(
        f"{SHOP}?tab=edit",
        ".paper .marked",
        height=720,
        edit=("restartPolicy: Always", "restartPolicy: Never"),
    ),
    "console-editor": Picture(
        f"{REPOSITORY}/alerts?tab=edit",
        ".paper .marked",
        "dark",
        edit=("branch: main", "branch: relase"),
    ),
    "console-table": Picture("kind/core/v1/pods", "tr.row"),
    "console-history": Picture("object/core/v1/configmaps/default/settings?tab=history", ".diff"),
    "console-owners": Picture(f"{SHOP}?tab=related", "svg rect", "dark"),
    "console-narrow": Picture(f"{REPOSITORY}/dashboards", ".yaml .marked", "light", 400, 760),
}


def main() -> None:
    folder = Path(sys.argv[1]) if len(sys.argv) > 1 else FOLDER
    folder.mkdir(parents=True, exist_ok=True)
    chromium = os.environ.get("INKUBE_CHROMIUM") or shutil.which("chromium")
    options = Options(offline=True, retry_seconds=0.0, workloads=Workloads(nodes=3))
    with LoopThread() as thread, running(thread, Plan(options)) as kube:
        _fill(kube)
        with sync_playwright() as driver:
            browser = driver.chromium.launch(executable_path=chromium, args=ARGUMENTS)
            for name, picture in PICTURES.items():
                size: Any = {"width": picture.width, "height": picture.height}
                scheme: Any = picture.scheme
                page = browser.new_page(viewport=size, color_scheme=scheme)
                page.goto(f"{kube.url}/console/#/{picture.place}")
                if picture.edit[0]:
                    _edit(page, *picture.edit)
                if picture.click:
                    page.locator(picture.click).first.click()
                page.locator(picture.sign).first.wait_for()
                page.screenshot(path=folder / f"{name}.png")
                page.close()
            browser.close()


def _edit(page: Page, old: str, new: str) -> None:
    """Write a mistake into the draft, and wait until a dry run refuses it."""
    draft = page.locator("#draft")
    draft.wait_for()
    draft.fill(draft.input_value().replace(old, new))
    page.locator("[data-verdict=refused]").wait_for()


def _repository(name: str, path: str) -> dict[str, Any]:
    return {
        "apiVersion": "provisioning.grafana.app/v0alpha1",
        "kind": "Repository",
        "metadata": {"name": name, "namespace": "default"},
        "spec": {
            "title": name.capitalize(),
            "type": "git",
            "workflows": ["write"],
            "sync": {"enabled": False, "target": "folder", "intervalSeconds": 60},
            "git": {"url": f"https://{HOST}/{path}", "branch": "main"},
        },
        "secure": {"token": {"create": "s3cret"}},
    }


def _fill(kube: Kube) -> None:
    world = ScriptedWorld(kube)
    paths = ("team/dashboards", "team/alerts")
    world.git_host(
        HOST,
        {path: ["main", "develop"] for path in paths},
        tokens={"s3cret": True, "reader": False},
    )
    for name, path in zip(("dashboards", "alerts"), paths, strict=True):
        kube.client.create(_repository(name, path))
    for name, replicas in (("shop", 4), ("search", 6), ("mail", 2)):
        kube.client.create(_deployment(name, replicas))
    settings = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "settings"}}
    kube.client.create({**settings, "data": {"colour": "red", "size": "10", "mode": "quiet"}})
    for data in ({"colour": "green"}, {"size": "12", "shape": "round"}, {"mode": "loud"}):
        kube.client.patch("v1/configmaps", "settings", patch={"data": data})
    kube.settled()


def _deployment(name: str, replicas: int) -> dict[str, Any]:
    labels = {"app": name}
    container = {"name": name, "image": f"registry.example.com/{name}:1.4"}
    return {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": name, "namespace": "default", "labels": labels},
        "spec": {
            "replicas": replicas,
            "selector": {"matchLabels": labels},
            "template": {"metadata": {"labels": labels}, "spec": {"containers": [container]}},
        },
    }


if __name__ == "__main__":
    main()
