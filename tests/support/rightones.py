"""Right controllers with several clients, and examples: an exploration finds nothing in them."""

import asyncio
import contextlib
import importlib.util
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import camps
import gardens

from inkube.apiserver.explore import (
    Command,
    Coroutine,
    InProcess,
    Scenario,
    apply,
    delete,
    patch,
)

ROOT = Path(__file__).parents[2]
PROGRAMS = ROOT / "tests" / "apiserver" / "explore" / "programs"
CREATE = apply(gardens.BOAT)
BOATS = "example.com/v1/boats"
STEPS = (CREATE, patch(BOATS, "anna", {"spec": {"sails": 3}}), delete(BOATS, "anna"))
SITE = {
    "apiVersion": "example.com/v1",
    "kind": "Website",
    "metadata": {"name": "docs", "namespace": "default"},
    "spec": {"image": "docs:1", "replicas": 2},
}


class Missing(Exception):
    """The machine lacks a program. The text names it."""


def client_in_python(folder: Path) -> Scenario:
    """Return a plain client."""
    return Scenario(gardens.controller(gardens.right), STEPS, [gardens.CRD])


def kopf(folder: Path) -> Scenario:
    """Return the operator of the example."""
    example = ROOT / "examples" / "kopf"
    program = str(example / "websites.py")
    words = [sys.executable, "-m", "kopf", "run", "-n", "default", "--standalone", program]
    steps = [
        apply(SITE),
        patch("example.com/v1/websites", "docs", {"spec": {"replicas": 1}}),
        delete("example.com/v1/websites", "docs"),
    ]
    return Scenario(Command(words, folder), steps, [example / "definition.yaml"])


def kind_in_python(folder: Path) -> Scenario:
    """Return a KindModule."""
    return Scenario(camps.camp(camps.right, camps.MAPS), [camps.CREATE, camps.CHANGE])


def node(folder: Path) -> Scenario:
    """Node's official client."""
    npm = _found("npm")
    _found("node")
    shutil.copy(PROGRAMS / "right.mjs", folder)
    words = [npm, "install", "--silent", "--no-audit", "--no-fund", "--prefix", str(folder)]
    done = subprocess.run([*words, "@kubernetes/client-node@1.3"], capture_output=True, check=False)
    if done.returncode != 0:
        raise Missing("@kubernetes/client-node, which npm cannot install here")
    return Scenario(Command(["node", "right.mjs"], folder), STEPS, [gardens.CRD])


def compiled(folder: Path) -> Scenario:
    """Return a program in C."""
    words = [_found("cc"), "-O1", "-Wall", "-Werror", "-o", str(folder / "right")]
    subprocess.run([*words, str(PROGRAMS / "right.c")], check=True)
    return Scenario(Command([str(folder / "right")], folder), STEPS, [gardens.CRD])


def _found(program: str) -> str:
    path = shutil.which(program)
    if path is None:
        raise Missing(program)
    return path


RIGHT: tuple[Callable[[Path], Scenario], ...] = (
    client_in_python, kopf, kind_in_python, node, compiled,
)  # fmt: skip


def chaos(folder: Path) -> Scenario:
    """Return the counter of the example, ten times a second."""
    counter = _example("chaos", "counter")

    async def work(kubeconfig: Path) -> None:
        api = counter.Api(gardens.server_of(kubeconfig))
        while True:
            with contextlib.suppress(OSError, counter.Refused):
                await asyncio.to_thread(counter.reconcile, api)
            await asyncio.sleep(0.1)

    def counted(name: str) -> Any:
        meta = {"name": name, "namespace": "default", "labels": {"count": "yes"}}
        return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": meta}

    steps = [apply(counted("a")), apply(counted("b")), delete("v1/configmaps", "a")]
    return Scenario(Coroutine(work), steps)


def greenhouse(folder: Path) -> Scenario:
    """Return the module of the example, with a plant that is too cold."""
    module = _example("greenhouse", "greenhouse").Greenhouse()
    plant = {
        "apiVersion": "greenhouse.example/v1",
        "kind": "Plant",
        "metadata": {"name": "a", "namespace": "default"},
        "spec": {"species": "fern", "coldest": 20},
    }
    plants = "greenhouse.example/v1/plants"
    steps = [apply(plant), patch(plants, "a", {"spec": {"coldest": 5}}), delete(plants, "a")]
    return Scenario(InProcess({"modules": ["default", module]}), steps)


def _example(folder: str, name: str) -> Any:
    path = ROOT / "examples" / folder / f"{name}.py"
    spec = importlib.util.spec_from_file_location(name, path)
    assert spec is not None, path
    assert spec.loader is not None, path
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module  # pydantic looks up annotations there
    spec.loader.exec_module(module)
    return module


EXAMPLES = (kopf, chaos, greenhouse)
"""The examples with a controller. `boats` has none: a CRD alone writes nothing."""
