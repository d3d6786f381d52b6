"""set-image, ensure-name-substring and upsert-resource."""

from typing import Any

from inkube.client import Object
from inkube.controllers.porch.files import documents
from inkube.controllers.porch.files.documents import Document
from inkube.controllers.porch.files.functions.base import Failed, Package, Result, parameters

_CONTAINERS = ("containers", "initContainers", "ephemeralContainers")


def set_image(config: Object, package: Package) -> list[Result]:
    """Change the name, tag or digest of an image in all containers that use it."""
    given = parameters(config, "image")
    name = given.get("name")
    if not name:
        raise Failed("config is needed: `name` of the image must not be empty")
    found = []
    for document in package.mutable:
        changed: list[str] = []

        def change(tree: Any, changed: list[str] = changed) -> None:
            for path, holder, key, value in list(documents.scalars(tree)):
                inside = any(f".{member}[" in f".{path}" for member in _CONTAINERS)
                if key != "image" or not inside or _image_name(str(value)) != name:
                    continue
                holder[key] = _image(str(value), given)
                changed.append(path)

        if document.edit(change):
            found.append(Result("set image", document, changed[0]))
    return found


def _image_name(image: str) -> str:
    head = image.partition("@")[0]
    name, colon, tag = head.rpartition(":")
    return name if colon and "/" not in tag else head


def _image(old: str, config: Object) -> str:
    name = config.get("newName") or _image_name(old)
    if config.get("digest"):
        return f"{name}@{config['digest']}"
    if config.get("newTag"):
        return f"{name}:{config['newTag']}"
    return f"{name}{old[len(_image_name(old)) :]}"


def ensure_name_substring(config: Object, package: Package) -> list[Result]:
    """Add a prefix or suffix to every name that does not contain it."""
    given = parameters(config)
    prefix, suffix = str(given.get("prepend") or ""), str(given.get("append") or "")
    if not prefix and not suffix:
        raise Failed("config is needed: one of prepend and append")
    found = []
    for document in package.mutable:

        def change(tree: Any) -> None:
            metadata = documents.descend(tree, "metadata")
            name = str(metadata.get("name") or "")
            if prefix and prefix not in name:
                name = f"{prefix}{name}"
            if suffix and suffix not in name:
                name = f"{name}{suffix}"
            metadata["name"] = name

        if document.edit(change):
            found.append(Result("set name", document, "metadata.name"))
    return found


def upsert_resource(config: Object, package: Package) -> list[Result]:
    """Add the configured object to the package, or replace the object with the same identity."""
    if not config.get("kind") or not config.get("apiVersion"):
        raise Failed("config is needed: the object to put into the package")
    text = documents.dump(config)
    for document in package.mutable:
        is_config = document.value is config
        if not is_config and documents.identity(document.value) == documents.identity(config):
            document.replace(text)
            return [Result("replaced the object", document)]
    _, kind, _, name = documents.identity(config)
    made = Document(f"{package.path}{kind.lower()}_{name}.yaml", 0, text)
    package.all.append(made)
    return [Result("added the object", made)]
