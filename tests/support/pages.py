"""Runs Markdown pages as a reader would: creates their files and types their commands.

    ```yaml title="boat.yaml"   a file with that name, in the page's own folder
    ```console                  `$ command` lines, typed into one shell, and their output
    ```sh                       commands for the same shell; only the exit code is checked
    ```python                   tests that pass, or a program that succeeds
    ```json, yaml, text, …      not run; JSON and YAML must be valid

`inkube serve` runs next to the shell until the page ends or starts another; port 8001 is replaced
by a free one. The output of a command must be as on the page; `...` stands for any text in a line
or for any lines. `<!-- not run: why -->` before a block skips it.
"""

import ast
import importlib.util
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import textwrap
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple, Self

import patience
import yaml
from ports import free_port

ROOT = Path(__file__).parents[2]
SECONDS = 2 * patience.SECONDS
SHOWN = frozenset({"css", "html", "ini", "mermaid", "powershell", "text", "toml", ""})
_FENCE = re.compile(
    r"^(?P<indent> *)```(?P<info>[^`\n]*)\n(?P<text>.*?)^(?P=indent)```$", re.MULTILINE | re.DOTALL
)
_TITLE = re.compile(r'title="([^"]+)"')
_NOT_RUN = re.compile(r"<!-- not run: .+ -->\s*$")
_PROGRESS = re.compile(r"[\d:]+ info (starting|loading|importing definitions)\b")
"""Lines about slow steps of a start, printed on a busy machine; pages do not contain them."""
_DONE = "--- done"


class Block(NamedTuple):
    """One fenced block. `title` is the name of the file to create, or ""."""

    line: int
    language: str
    title: str
    text: str
    left_out: bool


class PageError(AssertionError):
    """A statement of a page is wrong. The text names its line."""


def blocks(page: str) -> Iterator[Block]:
    """Yield every block of a page."""
    for found in _FENCE.finditer(page):
        language, _, more = found["info"].partition(" ")
        title = _TITLE.search(more)
        yield Block(
            page.count("\n", 0, found.start()) + 1,
            language,
            title[1] if title else "",
            textwrap.dedent(found["text"]),
            _NOT_RUN.search(page[: found.start()]) is not None,
        )


def missing(page: str) -> str:
    """Return the first package that the page's programs import and that is not installed; "" if
    none."""
    own = {Path(block.title).stem for block in blocks(page)}
    for block in blocks(page):
        if block.language != "python" or block.left_out:
            continue
        for node in ast.walk(ast.parse(block.text)):
            names = [each.name for each in node.names] if isinstance(node, ast.Import) else []
            if isinstance(node, ast.ImportFrom) and node.module and not node.level:
                names = [node.module]
            for name in names:
                top = name.partition(".")[0]
                if top not in own and importlib.util.find_spec(top) is None:
                    return top
    return ""


def tools(page: str) -> set[str]:
    """Return the programs with which the page's commands begin."""
    return {
        command.split()[0]
        for block in blocks(page)
        if block.language == "console" and not block.left_out
        for _, command, _ in commands(block)
    }


def commands(block: Block) -> Iterator[tuple[int, str, list[str]]]:
    """Yield line number, command and expected output of each command in a console block."""
    line = block.line
    for part in re.split(r"^\$ ", block.text, flags=re.MULTILINE):
        first, *rest = part.split("\n") if part else [""]
        if part and line > block.line:
            while rest and rest[0].startswith("> "):
                first += "\n" + rest.pop(0)[2:]
            yield line, first, rest[:-1] if rest and not rest[-1] else rest
        line += part.count("\n") + (line == block.line)


class Reader:
    """Follows a page. A context manager: at its end, started processes are ended."""

    def __init__(
        self, folder: Path, *, at: Path | None = None, python: Path = Path(sys.executable)
    ) -> None:
        """Read in a folder, or type `at` another one. `python` runs the programs of the page: by
        default this one, with all packages for development."""
        self._python = str(python)
        self._folder = folder
        self._at = at or folder
        bin_folder = folder / ".bin"
        bin_folder.mkdir()
        programs = {"inkube": " -m inkube.apiserver.cli", "pytest": " -m pytest", "python": ""}
        for name, arguments in programs.items():
            script = bin_folder / name
            script.write_text(f'#!/bin/sh\nexec "{python}"{arguments} "$@"\n')
            script.chmod(0o755)
        examples = self._at / "examples"
        if not examples.exists():
            shutil.copytree(
                ROOT / "examples", examples, ignore=shutil.ignore_patterns("node_modules")
            )
        self._port = free_port()
        self._environment = {
            **os.environ,
            "PATH": os.pathsep.join([str(bin_folder), os.environ["PATH"]]),
            "HOME": str(folder),
            "PYTEST_ADDOPTS": " ".join(["-p no:cacheprovider --color=no", *self._of_plugins()]),
            "PYTHONDONTWRITEBYTECODE": "1",
        }
        for name in ("KUBECONFIG", "URL", "TOKEN"):
            self._environment.pop(name, None)
        self._server: subprocess.Popen[str] | None = None
        self._code = 0
        self._tests: list[Path] = []

    def _of_plugins(self) -> Iterator[str]:
        """Yield options for the plugins of pytest that are installed for development."""
        if self._python == sys.executable:
            yield "-p no:schemathesis -o asyncio_default_fixture_loop_scope=function"

    def __enter__(self) -> Self:
        self._shell = subprocess.Popen(
            ["bash", "--noprofile", "--norc"], cwd=self._at, env=self._environment, text=True,
            start_new_session=True,
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
        )  # fmt: skip
        return self

    def __exit__(self, *error: object) -> None:
        self._end_server()
        assert self._shell.stdin is not None
        assert self._shell.stdout is not None
        self._shell.stdin.close()
        self._shell.stdout.close()
        os.killpg(self._shell.pid, signal.SIGKILL)  # and background processes
        self._shell.wait()

    def read(self, page: str) -> None:
        """Do everything on a page, in order. Raises PageError."""
        for block in blocks(page):
            if block.left_out:
                continue
            if block.title:
                path = self._at / block.title
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_text(self._local(block.text))
            elif block.language == "console":
                for line, command, expected in commands(block):
                    self._type(line, command, expected)
            elif block.language == "sh":
                found = self._typed(self._local(block.text))
                if self._code:
                    raise PageError("\n".join([f"line {block.line}: it fails", *found]))
            elif block.language == "python":
                self._run(block)
            else:
                _check(block)
        if self._tests:
            done = self._start([self._python, "-m", "pytest", "-q", *map(str, self._tests)])
            if done.returncode:
                raise PageError(f"its tests fail:\n{done.stdout}")

    def _run(self, block: Block) -> None:
        if re.search(r"^(async )?def test_", block.text, re.MULTILINE):
            path = self._folder / f"test_line_{block.line}.py"
            path.write_text(block.text)
            self._tests.append(path)
            return
        done = self._start([self._python, "-c", self._local(block.text)])
        if done.returncode:
            raise PageError(
                f"line {block.line}: the program fails; one that goes on is a file (title=) that a "
                f"console starts\n{done.stdout}"
            )

    def _start(self, command: list[str]) -> "subprocess.CompletedProcess[str]":
        return subprocess.run(
            command, cwd=self._folder, env=self._environment, text=True, timeout=SECONDS,
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False,
        )  # fmt: skip

    def _type(self, line: int, command: str, expected: list[str]) -> None:
        command = self._local(command)
        expected = [self._local(each) for each in expected]
        if re.match(r"(inkube serve|python \S*serve\S*\.py)\b", command):
            found = self._serve(command, expected)
        else:
            found = self._typed(command)
        if not matches(expected, found):
            shown = "\n".join(["it prints", *found, "and not", *expected])
            raise PageError(f"line {line}: {command}\n{shown}")

    def _typed(self, command: str) -> list[str]:
        assert self._shell.stdin is not None
        assert self._shell.stdout is not None
        script = self._folder / ".typed"
        script.write_text(command + "\n")
        self._shell.stdin.write(f". {script} </dev/null\ncode=$?\necho\necho '{_DONE}' $code\n")
        self._shell.stdin.flush()
        found: list[str] = []
        for text in self._shell.stdout:
            if text.startswith(_DONE):
                self._code = int(text.split()[-1])
                break
            found.append(text.rstrip("\n"))
        else:
            raise PageError(f"the shell ended at {command}")
        # output without a line feed at its end got one; output with one has an empty last line
        return found[:-1] if found and not found[-1] else found

    def _serve(self, command: str, expected: list[str]) -> list[str]:
        """Start a server, and read as many lines as the page shows."""
        self._end_server()
        if command.startswith("inkube serve") and "--port" not in command:
            command += f" --port {self._port}"
        self._server = subprocess.Popen(
            ["bash", "-c", f"exec {command}"], cwd=self._at, env=self._environment, text=True,
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
        )  # fmt: skip
        assert self._server.stdout is not None
        found: list[str] = []
        wanted = max(len([each for each in expected if each != "..."]), 1)
        while len(found) < wanted and (text := self._server.stdout.readline()):
            if not _PROGRESS.match(text):
                found.append(text.rstrip("\n"))
        return found if expected else []

    def _end_server(self) -> None:
        if self._server is not None:
            self._server.terminate()
            self._server.communicate(timeout=SECONDS)
            self._server = None

    def _local(self, text: str) -> str:
        return re.sub(r"\b8001\b", str(self._port), text)


def matches(expected: list[str], found: list[str]) -> bool:
    """Return whether output is as on the page. `...` is any text, and alone on a line any lines."""
    parts = []
    for each in expected:
        if each == "...":
            parts.append(r"(?:[^\n]*\n)*")
        else:
            parts.append(".*".join(re.escape(part) for part in each.split("...")) + r"\n")
    text = "".join(each.rstrip() + "\n" for each in found)
    return re.fullmatch("".join(parts), text) is not None


def _check(block: Block) -> None:
    """Check that a block that is not run has valid content."""
    try:
        if block.language == "json":
            json.loads(block.text)
        elif block.language in ("yaml", "yml"):
            list(yaml.safe_load_all(block.text))
        elif block.language not in SHOWN:
            raise PageError(
                f"line {block.line}: a block of {block.language!r} is run by nobody: make it a "
                "console, a file (title=), or say why not: <!-- not run: … -->"
            )
    except (ValueError, yaml.YAMLError) as error:
        raise PageError(f"line {block.line}: no {block.language}: {error}") from error
