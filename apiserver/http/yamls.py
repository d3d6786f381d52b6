"""YAML in the format of sigs.k8s.io/yaml."""

from typing import Any

import orjson
import yaml


def write(value: Any) -> bytes:
    """Return a value as YAML with sorted keys."""
    value_as_json = orjson.loads(orjson.dumps(value))
    text: str = yaml.dump(
        value_as_json, Dumper=_Dumper, default_flow_style=False, allow_unicode=True, width=10**6
    )
    return text.encode()


class _Dumper(getattr(yaml, "CSafeDumper", yaml.SafeDumper)):  # type: ignore[misc] # C or Python
    """Writes no aliases: a value that occurs twice is written twice."""

    def ignore_aliases(self, data: Any) -> bool:
        return True
