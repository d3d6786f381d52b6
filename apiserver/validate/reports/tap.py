"""The report in the Test Anything Protocol, version 13: a test for each file."""

import json
from collections.abc import Iterator

from inkube.apiserver.validate.plan import Result


def render(result: Result) -> Iterator[str]:
    """Yield the report. The findings of a file are a YAML block below its line."""
    by_file = result.by_file()
    files = list(dict.fromkeys((*result.files, *by_file)))
    yield "TAP version 13"
    yield f"1..{len(files)}"
    for number, file in enumerate(files, 1):
        found = by_file.get(file, [])
        word = "not ok" if any(each.is_error for each in found) else "ok"
        name = file.replace("#", "\\#")
        yield f"{word} {number} - {name}"
        if found:
            yield "  ---"
            yield "  findings:"
            for each in found:
                yield f"    - {json.dumps(each.text())}"
            yield "  ..."
