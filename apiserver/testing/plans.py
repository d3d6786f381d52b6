"""From a test's markers to the server it gets."""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from inkube.apiserver.configuration import Options
from inkube.apiserver.root.manifests import Source
from inkube.apiserver.testing.kube import Plan
from inkube.controllers import workloads
from inkube.controllers.kinds import KindModule

STORAGES = ("memory", "sqlite")


def default(config: pytest.Config) -> Options:
    """The options of every server: the world is scripted, failures are reported at once."""
    definitions = tuple(config.getini("kube_definitions"))
    return Options(offline=True, retry_seconds=0.0, definitions=definitions)


def of(item: pytest.Item, folder: Path) -> Plan:
    """What the item's markers ask for, the outermost first. Raises pytest.UsageError.

    `folder` is where a test's own files may lie.
    """
    options = default(item.config)
    modules: list[KindModule[Any]] = []
    controllers: list[Any] = []
    for marker in _markers(item, "kube_controllers"):
        modules.extend(each for each in marker.args if isinstance(each, KindModule))
        controllers.extend(each for each in marker.args if not isinstance(each, KindModule))
        options = replace(options, controllers=marker.kwargs.get("builtin", options.controllers))
    for marker in _markers(item, "kube_options"):
        options = replace(options, **marker.kwargs)
    for marker in _markers(item, "kube_workloads"):
        options = replace(options, workloads=workloads.Workloads(**marker.kwargs))
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


def _markers(item: pytest.Item, name: str) -> list[pytest.Mark]:
    return list(item.iter_markers(name))[::-1]


def _definitions(item: pytest.Item) -> Iterator[Source]:
    for marker in _markers(item, "kube_definitions"):
        for source in marker.args:
            yield _beside(item, source) if isinstance(source, str | Path) else source


def _beside(item: pytest.Item, source: str | Path) -> Path:
    """A relative path starts at the test's file, or at the project's root."""
    near = item.path.parent / source
    return near if near.exists() else item.config.rootpath / source


def _data(item: pytest.Item, folder: Path) -> Path | None:
    storages: Sequence[Any] = [marker.args[0] for marker in _markers(item, "kube_storage")]
    storage = storages[-1] if storages else "memory"
    if storage not in STORAGES:
        raise pytest.UsageError(f"kube_storage takes one of {STORAGES}, not {storage!r}")
    return folder / "inkube.db" if storage == "sqlite" else None
