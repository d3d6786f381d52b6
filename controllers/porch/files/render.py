"""Rendering: runs the pipelines of the Kptfiles of a package on its documents. Pure.

The pipeline of a subpackage runs before that of its parent, which receives the result. Mutators run
before validators, each in the order of the Kptfile. A condition in the root Kptfile records the
result.
"""

from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

from inkube.client import Object
from inkube.controllers.porch.files import documents, functions, kptfile
from inkube.controllers.porch.files.documents import Document, Files, Unreadable
from inkube.controllers.porch.files.functions.base import Failed, Result
from inkube.controllers.porch.files.kptfile import Kptfile

MOST_FUNCTIONS = 200
SAVE = "kpt.dev/save-on-render-failure"


class RenderResult(NamedTuple):
    """The result of rendering. After a failure, `files` are the files to keep."""

    files: Files
    status: Object
    """The `status.renderStatus` of a PackageRevisionResources."""
    error: str = ""


def render(files: Files, *, skip_unknown: bool = False) -> RenderResult:
    """Render the package. Raises Unreadable if the files are not a package.

    Rendering stops at the first function that fails. `files` are then the unrendered files, or, if
    the annotation SAVE of the Kptfile requests it, the partly rendered files. Both contain a
    condition with the failure.
    """
    root = Kptfile.of(files)
    read = documents.read(files)
    items: list[Object] = []
    try:
        for where in _packages(files):
            _run(where, read, items, skip_unknown=skip_unknown)
    except Failed as error:
        saves = documents.annotations(root.value).get(SAVE) == "true"
        kept = documents.write(files, read) if saves else files
        failed = kptfile.with_condition(kptfile.RENDERED, False, "RenderFailed", str(error))
        return RenderResult(kptfile.edit(kept, failed), _status(items, str(error)), str(error))
    made = documents.write(files, read)
    good = kptfile.with_condition(kptfile.RENDERED, True, "RenderSuccess")
    return RenderResult(kptfile.edit(made, good), _status(items, ""))


def _packages(files: Files) -> list[str]:
    """Return the directories with a Kptfile, the deepest first; "" is the root."""
    found = [name.removesuffix(kptfile.NAME) for name in files if documents.is_kptfile(name)]
    return sorted(found, key=lambda path: (-path.count("/"), path))


def _run(path: str, documents: list[Document], items: list[Object], *, skip_unknown: bool) -> None:
    """Run the pipeline of one package. Raises Failed."""
    own = next(each for each in documents if each.file == f"{path}{kptfile.NAME}")
    pipeline = own.value.get("pipeline") if isinstance(own.value, dict) else None
    pipeline = pipeline if isinstance(pipeline, dict) else {}
    steps = [(each, True) for each in pipeline.get("mutators") or ()]
    steps += [(each, False) for each in pipeline.get("validators") or ()]
    if len(steps) > MOST_FUNCTIONS:
        raise Failed(f"a pipeline may have {MOST_FUNCTIONS} functions, this one has {len(steps)}")
    for step, mutates in steps:
        scope = [each for each in documents if each.file.startswith(path)]
        _step(path, step, scope, documents, items, mutates=mutates, skip_unknown=skip_unknown)


def _step(
    path: str,
    step: Object,
    scope: list[Document],
    read: list[Document],
    items: list[Object],
    *,
    mutates: bool,
    skip_unknown: bool,
) -> None:
    image = str(step.get("image") or step.get("exec") or "")
    item: Object = {"image": str(step.get("image") or ""), "exitCode": 0}
    if step.get("exec"):
        item["exec"] = str(step["exec"])
    items.append(item)
    try:
        function = _function(step, image, skip_unknown=skip_unknown)
        config = _config(path, step, scope)
        chosen = [each for each in scope if each.is_object and _is_selected(step, each)]
        before = [each.text for each in chosen]
        package = functions.Package(path, chosen, read)
        try:
            results = function(config, package)
        except Unreadable as error:
            raise Failed(str(error)) from error
        if not mutates:
            for document, text in zip(chosen, before, strict=True):
                document.replace(text)
        if results:
            item["results"] = [_result_item(each) for each in results]
    except Failed as error:
        item |= {"exitCode": 1, "stderr": str(error)}
        item["results"] = [{"message": str(error), "severity": "error"}]
        name = image or "without image"
        text = str(error)
        raise Failed(text if name in text else f"function {name}: {text}") from error


def _function(step: Object, image: str, *, skip_unknown: bool) -> functions.Function:
    found = functions.find(str(step.get("image") or ""))
    if found is not None:
        return found
    if skip_unknown:
        return functions.not_run
    raise Failed(f"function {image} cannot be run by this server")


def _result_item(result: Result) -> Object:
    shown: Object = {"message": result.message, "severity": result.severity}
    document = result.document
    if document is not None:
        _, kind, namespace, name = documents.identity(document.value)
        reference = {"apiVersion": str(document.value.get("apiVersion")), "kind": kind}
        shown["resourceRef"] = reference | {"name": name}
        if namespace:
            shown["resourceRef"]["namespace"] = namespace
        shown["file"] = {"path": document.file, "index": document.index}
    if result.path:
        shown["field"] = {"path": result.path}
        for member in ("current", "proposed"):
            value = getattr(result, member)
            if value is not None:
                shown["field"][f"{member}Value"] = value
    return shown


def _config(package_path: str, step: Object, scope: Iterable[Document]) -> Object:
    """Return the configuration of the function as an object; {} if it has none. Raises Failed."""
    if step.get("configMap") is not None:
        data = step["configMap"]
        return {"apiVersion": "v1", "kind": "ConfigMap", "data": data}
    path = step.get("configPath")
    if not path:
        return {}
    file = f"{package_path}{path.removeprefix('./')}"
    for document in scope:
        if document.file == file and isinstance(document.value, dict):
            return document.value
    raise Failed(f"missing function config {path!r}")


def _is_selected(step: Object, document: Document) -> bool:
    selectors, excluded = step.get("selectors") or (), step.get("exclude") or ()
    if selectors and not any(_matches(each, document) for each in selectors):
        return False
    return not any(_matches(each, document) for each in excluded)


def _matches(selector: Object, document: Document) -> bool:
    value = document.value
    _, kind, namespace, name = documents.identity(value)
    found = {
        "apiVersion": str(value.get("apiVersion", "")),
        "kind": kind,
        "name": name,
        "namespace": namespace,
    }
    if any(selector.get(member) and selector[member] != found[member] for member in found):
        return False
    for member, own in (
        ("labels", documents.labels(value)),
        ("annotations", documents.annotations(value)),
    ):
        wanted: Any = selector.get(member) or {}
        if any(own.get(key) != text for key, text in wanted.items()):
            return False
    return True


def _status(items: Sequence[Object], error: str) -> Object:
    if not items:
        return {"error": error}
    return {
        "result": {
            "apiVersion": "kpt.dev/v1",
            "kind": "FunctionResultList",
            "metadata": {"name": "fnresults"},
            "exitCode": max(item["exitCode"] for item in items),
            "items": list(items),
        },
        "error": error,
    }
