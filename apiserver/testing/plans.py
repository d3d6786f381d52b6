"""The servers of tests, as the markers of tests describe them."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

import inkube
from inkube.apiserver.configuration import Options
from inkube.apiserver.manifests import Source
from inkube.apiserver.testing import kube
from inkube.apiserver.testing.kube import Plan
from inkube.controllers.kinds import KindModule

_SEED_SNAPSHOTS: pytest.StashKey[list[tuple[pytest.Mark, Plan, Any]]] = pytest.StashKey()
"""The snapshots for `kube_seed` markers, one for each marker and plan."""
STORAGES = ("memory", "sqlite")
Node = pytest.Item | pytest.Collector
"""A test, or a collector that contains tests: a class, a module."""


def default(config: pytest.Config) -> Options:
    """Return the options that all servers share: they are offline, and report
    failures immediately."""
    definitions = tuple(config.getini("kube_definitions"))
    return kube.options(
        definitions=definitions,
        kubernetes_version=config.getini("kubernetes_version"),
    )


def of(item: Node, folder: Callable[[], Path]) -> Plan:
    """Return the plan that the markers of an item describe, from the outermost to the innermost.

    `folder` creates the folder for files of the test. Raises pytest.UsageError.
    """
    options = default(item.config)
    modules: list[KindModule[Any]] = []
    controllers: list[Any] = []
    for marker in _markers(item, "kube_controllers"):
        modules.extend(each for each in marker.args if isinstance(each, KindModule))
        controllers.extend(each for each in marker.args if not isinstance(each, KindModule))
        options = replace(options, controllers=marker.kwargs.get("builtin", options.controllers))
    for marker in _markers(item, "kubernetes_version"):
        options = replace(options, kubernetes_version=marker.args[0])
    for marker in _markers(item, "kube_options"):
        options = replace(options, **marker.kwargs)
    for marker in _markers(item, "kube_workloads"):
        options = replace(options, workloads=inkube.Workloads(**marker.kwargs))
    return Plan(
        replace(
            options,
            kinds=(*options.kinds, *modules),
            definitions=(*options.definitions, *_definitions(item)),
            data=_data(item, folder) or options.data,
            durable=False,
        ),
        controllers,
    )


def plan_with_seed(
    item: Node, plan: Plan, take_snapshot: Callable[[Callable[[Any], Any], Plan], Any]
) -> Plan:
    """Return the plan with the snapshot that the marker `kube_seed` describes.

    `take_snapshot` takes the snapshot, once for all tests of a class or module that have the same
    markers: the cases of a parametrized test share it. Raises pytest.UsageError.
    """
    for node, marker in item.iter_markers_with_node("kube_seed"):
        if plan.options.data is not None:
            raise pytest.UsageError("kube_seed goes with servers in memory")
        snapshot = _seed_snapshot(
            node.parent if node is item and node.parent else node, marker, plan, take_snapshot
        )
        return replace(plan, options=replace(plan.options, snapshot=snapshot, definitions=()))
    return plan


def _seed_snapshot(
    node: Any,
    marker: pytest.Mark,
    plan: Plan,
    take_snapshot: Callable[[Callable[[Any], Any], Plan], Any],
) -> Any:
    """Return the snapshot for a marker and a plan. `take_snapshot` takes it once, and the node
    stores it."""
    known = node.stash.setdefault(_SEED_SNAPSHOTS, [])
    for at, wanted, snapshot in known:
        if (at, wanted) == (marker, plan):
            return snapshot
    taken = take_snapshot(marker.kwargs["fill"], plan)
    known.append((marker, plan, taken))
    return taken


def failures(item: Node) -> Iterator[pytest.Mark]:
    """Yield the markers of Faults that are active from the start of a test."""
    yield from _markers(item, "kube_fail")


def _markers(item: Node, name: str) -> list[pytest.Mark]:
    return list(item.iter_markers(name))[::-1]


def _definitions(item: Node) -> Iterator[Source]:
    for marker in _markers(item, "kube_definitions"):
        for source in marker.args:
            yield _relative_to_test(item, source) if isinstance(source, str | Path) else source


def _relative_to_test(item: Node, source: str | Path) -> Path:
    """Return the path of a file: relative to the file of the test, else to the root
    of the project."""
    near = item.path.parent / source
    return near if near.exists() else item.config.rootpath / source


def _data(item: Node, folder: Callable[[], Path]) -> Path | None:
    storages: Sequence[Any] = [marker.args[0] for marker in _markers(item, "kube_storage")]
    storage = storages[-1] if storages else "memory"
    if storage not in STORAGES:
        raise pytest.UsageError(f"kube_storage takes one of {STORAGES}, not {storage!r}")
    return folder() / "inkube.db" if storage == "sqlite" else None
