"""Exports kinds declared in Python modules as CRDs in YAML, and as lists of their fields.

Loaded with `inkube definitions export`, because it imports the models of kinds.
"""

import importlib
import json
import sys
from collections.abc import Iterable
from pathlib import Path

import yaml

from inkube.schemas import fieldmap, models
from inkube.schemas.definitions import Definition
from inkube.schemas.models import Resource

WIDTH = 100


def kinds(modules: Iterable[str]) -> list[Definition]:
    """Return the kinds declared in the modules, by name. Raises ValueError."""
    wanted = set(modules)
    sys.path.insert(0, "")  # scripts start with their own folder, but users mean this one
    for name in wanted:
        try:
            importlib.import_module(name)
        except ImportError as error:
            raise ValueError(f"{name}: {error}") from error
    found = [kind.definition for kind in _declared_models(Resource) if kind.__module__ in wanted]
    if not found:
        raise ValueError(f"no kind is declared in {', '.join(sorted(wanted))}")
    return sorted(found, key=_name)


def pages(definition: Definition, folder: Path) -> list[tuple[Path, str]]:
    """Return the files and their texts for one kind."""
    name, version = _name(definition), definition.storage_version
    described = json.dumps(fieldmap.as_json(definition, version), indent=2, ensure_ascii=False)
    return [
        (folder / f"{name}.yaml", yaml_of(definition)),
        (folder / f"{name}.md", fieldmap.as_markdown(definition, version)),
        (folder / f"{name}.json", described + "\n"),
    ]


def yaml_of(*definitions: Definition) -> str:
    """Return CRDs as one YAML text."""

    class Dumper(yaml.SafeDumper):
        def ignore_aliases(self, data: object) -> bool:
            return True

    crds = [models.to_crd(definition) for definition in definitions]
    text: str = yaml.dump_all(crds, None, Dumper, sort_keys=False, width=WIDTH, allow_unicode=True)
    return text


def _declared_models(model: type[Resource]) -> list[type[Resource]]:
    """Return the class and its subclasses that are kinds."""
    own = [model] if "definition" in vars(model) else []
    return own + [kind for below in model.__subclasses__() for kind in _declared_models(below)]


def _name(definition: Definition) -> str:
    return f"{definition.names.plural}.{definition.group}"
