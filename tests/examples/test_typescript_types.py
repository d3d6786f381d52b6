"""The types that openapi-typescript generates from /openapi/v3 compile without changes.

The tools come from the npm registry. The test is skipped if the registry cannot be reached.
"""

import json
import shutil
import subprocess
import urllib.request
from pathlib import Path

import pages
import patience
import pytest

SECONDS = 5 * patience.SECONDS
TOOLS = ("openapi-typescript@7", "typescript@5")
GROUPS = {
    "core": "api/v1",
    "apps": "apis/apps/v1",
    "provisioning": "apis/provisioning.grafana.app/v0alpha1",
    "boats": "apis/example.com/v1",
}
PROGRAM = """
import type { components as Core, paths as CorePaths } from "./core";
import type { components as Boats } from "./boats";
import type { components as Provisioning } from "./provisioning";

type ConfigMap = Core["schemas"]["io.k8s.api.core.v1.ConfigMap"];
type Boat = Boats["schemas"]["com.example.v1.Boat"];
type Created = CorePaths["/api/v1/namespaces/{namespace}/configmaps"]["post"];

export const map: ConfigMap = { metadata: { name: "a" }, data: { k: "v" } };
export const boat: Boat = { spec: { size: 5, crew: 4 } };
export const status: keyof Created["responses"] = 201;
export type Kinds = keyof Provisioning["schemas"];
// @ts-expect-error a size is a number
export const wrong: Boat = { spec: { size: "five" } };
// @ts-expect-error a size is required
export const none: Boat = { spec: {} };
"""


@pytest.fixture(scope="module")
def tools(tmp_path_factory: pytest.TempPathFactory) -> Path:
    if shutil.which("npm") is None:
        pytest.skip("npm is not installed")
    folder = tmp_path_factory.mktemp("tools")
    (folder / "package.json").write_text('{"private": true, "type": "module"}\n')
    command = ["npm", "install", "--no-audit", "--no-fund", "--silent", *TOOLS]
    done = subprocess.run(
        command, cwd=folder, capture_output=True, text=True, timeout=SECONDS, check=False
    )
    if done.returncode:
        pytest.skip(f"{' and '.join(TOOLS)} cannot be installed: {done.stderr[-200:]}")
    return folder


def run(folder: Path, *command: str) -> None:
    done = subprocess.run(
        ["npx", "--no-install", *command], cwd=folder, text=True, timeout=SECONDS,
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout


@pytest.mark.timeout(1200)
@pytest.mark.kube_definitions(pages.ROOT / "examples" / "boats" / "definition.yaml")
def test_types_of_every_sort_of_kind_compile(kube, tools: Path) -> None:
    for name, group in GROUPS.items():
        with urllib.request.urlopen(f"{kube.url}/openapi/v3/{group}") as response:
            document = json.load(response)
        (tools / f"{name}.json").write_text(json.dumps(document))
        run(tools, "openapi-typescript", f"{name}.json", "-o", f"{name}.d.ts")
    (tools / "program.ts").write_text(PROGRAM)
    options = ("--noEmit", "--strict", "--module", "esnext", "--moduleResolution", "bundler")
    run(tools, "tsc", *options, "program.ts", *(f"{name}.d.ts" for name in GROUPS))
