"""The servers of tests, as the markers of tests describe them."""

import contextlib
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

import inkube
from inkube.apiserver.configuration import Options
from inkube.apiserver.manifests import Source
from inkube.apiserver.testing import arguments, kube
from inkube.apiserver.testing.failing import Failure
from inkube.apiserver.testing.kube import Plan
from inkube.controllers.kinds import KindModule
from inkube.controllers.manager import Controller

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
        definitions=definitions, kubernetes_version=config.getini("kubernetes_version")
    )


def of(item: Node, folder: Callable[[], Path]) -> Plan:
    """Return the plan that the markers of an item describe, from the outermost to the innermost.

    `folder` creates the folder for files of the test. Raises pytest.UsageError.
    """
    options = default(item.config)
    modules: list[KindModule[Any]] = []
    controllers: list[Any] = []
    for marker in _markers(item, "kube_controllers"):
        _check_controllers(marker)
        modules.extend(each for each in marker.args if isinstance(each, KindModule))
        controllers.extend(each for each in marker.args if not isinstance(each, KindModule))
        options = replace(options, controllers=marker.kwargs.get("builtin", options.controllers))
    for marker in _markers(item, "kubernetes_version"):
        with reading(marker, _kubernetes_version):
            options = replace(options, kubernetes_version=_kubernetes_version(*marker.args))
    for marker in _markers(item, "kube_options"):
        with reading(marker):
            options = replace(options, **marker.kwargs)
    for marker in _markers(item, "kube_workloads"):
        with reading(marker, inkube.Workloads):
            options = replace(options, workloads=inkube.Workloads(*marker.args, **marker.kwargs))
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
        with reading(marker, _kube_seed):
            if plan.options.data is not None:
                raise ValueError("use it with servers in memory, without kube_storage")
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
    taken = take_snapshot(_kube_seed(*marker.args, **marker.kwargs), plan)
    known.append((marker, plan, taken))
    return taken


def failures(item: Node) -> Iterator[pytest.Mark]:
    """Yield the markers of Faults that are active from the start of a test."""
    for marker in _markers(item, "kube_fail"):
        with reading(marker, Failure):
            Failure(*marker.args, **marker.kwargs)
        yield marker


@contextlib.contextmanager
def reading(marker: pytest.Mark, takes: Callable[..., Any] | None = None) -> Iterator[None]:
    """Raise errors about the arguments of a marker with the marker in front.

    `takes` has the parameters of the marker. Raises pytest.UsageError.
    """
    why = arguments.problem(takes, marker.args, marker.kwargs) if takes else ""
    if why:
        raise pytest.UsageError(f"{written(marker)}: {why}")
    try:
        yield
    except (TypeError, ValueError) as error:
        raise pytest.UsageError(f"{written(marker)}: {error}") from None


def written(marker: pytest.Mark) -> str:
    """Return a marker as it is written in code."""
    return arguments.written(marker.name, marker.args, marker.kwargs)


def described(item: Node) -> str:
    """Return the markers that describe the server of an item, as they are written in code."""
    found = [written(each) for each in item.iter_markers() if each.name.startswith("kube")]
    return ", ".join(reversed(found)) or "no markers of inkube"


def _kubernetes_version(version: str) -> str:
    """Have the parameters of the marker `kubernetes_version`."""
    return version


def _kube_storage(name: str) -> str:
    """Have the parameters of the marker `kube_storage`."""
    return name


def _kube_seed(fill: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """Have the parameters of the marker `kube_seed`."""
    return fill


def _kube_controllers(*names: Any, builtin: bool = True) -> None:
    """Have the parameters of the marker `kube_controllers`."""


def _check_controllers(marker: pytest.Mark) -> None:
    with reading(marker, _kube_controllers):
        for each in marker.args:
            if not (isinstance(each, KindModule | Controller) or callable(each)):
                raise TypeError(
                    f"{each!r} is not a KindModule, a Controller or a function of the Environment"
                )


def _markers(item: Node, name: str) -> list[pytest.Mark]:
    return list(item.iter_markers(name))[::-1]


def _definitions(item: Node) -> Iterator[Source]:
    for marker in _markers(item, "kube_definitions"):
        for source in marker.args:
            with reading(marker):
                found = (
                    _relative_to_test(item, source) if isinstance(source, str | Path) else source
                )
            yield found


def _relative_to_test(item: Node, source: str | Path) -> Path:
    """Return the path of a file: relative to the file of the test, else to the root
    of the project. Raises ValueError."""
    places = (item.path.parent / source, item.config.rootpath / source)
    for path in places:
        if path.exists():
            return path
    looked = " nor ".join(str(path) for path in dict.fromkeys(places))
    raise ValueError(f"there is no file or folder {looked}")


def _data(item: Node, folder: Callable[[], Path]) -> Path | None:
    storage = "memory"
    for marker in _markers(item, "kube_storage"):
        with reading(marker, _kube_storage):
            storage = _kube_storage(*marker.args, **marker.kwargs)
            if storage not in STORAGES:
                raise ValueError(f"the storages are {' and '.join(STORAGES)}")
    return folder() / "inkube.db" if storage == "sqlite" else None
