"""The flags of kube-apiserver for metrics, as options of inkube.

Follows component-base/metrics/options.go and metrics/api/v1/config.go, and StringToString of
spf13/pflag.
"""

import csv
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from inkube.apiserver.envtest.flags import Arguments, Flag, FlagError
from inkube.schemas import golang

_LABELS, _MANIFEST = "allow-metric-labels", "allow-metric-labels-manifest"
_DISABLED = "disabled-metrics"
FLAGS: Mapping[str, Flag] = {
    _LABELS: Flag("text", "Values of labels that metrics show: metric,label=value,value."),
    _MANIFEST: Flag("text", 'A YAML file with the same: "metric,label": value,value.'),
    _DISABLED: Flag("list", "Names of metrics that are not shown."),
}


def options(arguments: Arguments) -> dict[str, Any]:
    """Return the shown values of labels of metrics, and the metrics that are not shown. Raises
    FlagError."""
    allowed = dict(pair for text in arguments.all(_LABELS) for pair in _pairs(text))
    manifest = arguments.last(_MANIFEST)
    if allowed and manifest:
        raise FlagError(
            "metrics: cannot specify both allowListMapping and allowListMappingManifest"
        )
    return {
        "allow_metric_labels": _read(manifest) if manifest else allowed,
        "disabled_metrics": tuple(filter(None, arguments.all(_DISABLED))),
    }


def _pairs(text: str) -> Iterator[tuple[str, str]]:
    """Yield the keys and values of one flag. Several pairs are a line of CSV."""
    for pair in [text.strip('"')] if text.count("=") == 1 else next(csv.reader([text]), []):
        key, equals, value = pair.partition("=")
        if not equals:
            raise FlagError(
                f'invalid argument "{text}" for "--{_LABELS}" flag: {pair} must be formatted as '
                "key=value"
            )
        yield key, value


def _read(path: str) -> dict[str, str]:
    head = f'metrics.allowListMappingManifest: Invalid value: "{path}": failed to '
    try:
        data = Path(path).read_bytes()
    except OSError as error:
        reason = golang.gotext.open_error(Path(path), error)
        raise FlagError(f"{head}read allow list manifest: {reason}") from error
    try:
        found = golang.goyaml.loads(data).value or {}
    except golang.unmarshal.DecodeError as error:
        raise FlagError(f"{head}parse allow list manifest: {error}") from error
    if not isinstance(found, dict) or any(isinstance(each, dict | list) for each in found.values()):
        raise FlagError(f"{head}parse allow list manifest: it must map texts to texts")
    return {key: "" if value is None else str(value) for key, value in found.items()}
