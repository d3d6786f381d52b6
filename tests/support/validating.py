"""`inkube validate` on files that a test writes."""

import re
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

from click.testing import CliRunner

from inkube.apiserver.commands import validate_command


class Outcome(NamedTuple):
    """The exit code and the output of a run."""

    code: int
    out: str
    err: str

    @property
    def lines(self) -> list[str]:
        """The lines of the report."""
        return self.out.splitlines()

    @property
    def places(self) -> list[str]:
        """Place and code of each finding of the short report: `a.yaml:3:1 unknown-field`."""
        found = (re.fullmatch(r"(.*?:\d+:\d+): .* \[([\w-]+)\]", line) for line in self.lines)
        return [f"{match[1]} {match[2]}" for match in found if match]


Run = Callable[..., Outcome]


def runner(folder: Path) -> Run:
    """Return a function that writes files by path, and runs the command in their folder."""

    def run(
        *arguments: str, files: dict[str, str | bytes] | None = None, stdin: str | bytes = ""
    ) -> Outcome:
        for name, content in (files or {}).items():
            file = folder / name
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_bytes(content if isinstance(content, bytes) else content.encode())
        done = CliRunner().invoke(validate_command, list(arguments), input=stdin)
        if done.exception is not None and not isinstance(done.exception, SystemExit):
            raise done.exception
        return Outcome(done.exit_code, done.stdout, done.stderr)

    return run
