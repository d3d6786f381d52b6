"""The functions of kpt's catalog that this server implements itself, without pods or binaries.
Pure.

The last segment of an image selects the function; registry and version are ignored. Input: a
configuration and the documents of a package, which the function changes in place. Output: results.
`render` calls the functions.

  labels       set-namespace, set-labels, set-annotations
  setters      apply-setters, search-replace
  replacements apply-replacements
  resources    set-image, ensure-name-substring, upsert-resource
"""

import re

from inkube.client import Object
from inkube.controllers.porch.files.functions import labels, replacements, resources, setters
from inkube.controllers.porch.files.functions.base import Function as Function
from inkube.controllers.porch.files.functions.base import Package as Package
from inkube.controllers.porch.files.functions.base import Result

_TAG = re.compile(r"(@sha256:[0-9a-f]+|:[^/:@]+)\Z")


def not_run(config: Object, package: Package) -> list[Result]:
    """Skip a function that this server cannot run; the result states that."""
    return [Result("not run by inkube")]


_FUNCTIONS: dict[str, Function] = {
    "set-namespace": labels.set_namespace,
    "set-labels": labels.set_labels,
    "set-annotations": labels.set_annotations,
    "apply-setters": setters.apply_setters,
    "search-replace": setters.search_replace,
    "apply-replacements": replacements.apply_replacements,
    "set-image": resources.set_image,
    "ensure-name-substring": resources.ensure_name_substring,
    "upsert-resource": resources.upsert_resource,
    "kubeconform": not_run,
    "gatekeeper": not_run,
    "starlark": not_run,
}


def find(image: str) -> Function | None:
    """Return the function of an image; None if this server does not implement it."""
    name = image
    while (shorter := _TAG.sub("", name)) != name:
        name = shorter
    return _FUNCTIONS.get(name.rpartition("/")[2])
