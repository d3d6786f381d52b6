"""`inkube log`, `inkube diff` and docs/time-travel.md."""

import asyncio
import json
import os
import re
import subprocess
import sys
from datetime import datetime
from itertools import pairwise
from pathlib import Path

import pytest
from click.testing import CliRunner

from inkube import APIServer
from inkube.apiserver.cli import main

PAGE = Path(__file__).parents[3] / "docs" / "time-travel.md"


PIECE = 500
"""The number of changes that are read at once."""
LITTLE = 4096
"""The limit of bytes that a stream reader buffers."""
COLOURS = "v1/configmaps", "colours", "default"


async def lived(file):
    """Write the history to the file; return some of its revisions."""
    async with APIServer(data=file, keep_history=True) as server:
        client = server.client
        meta = {"name": "colours", "namespace": "default"}
        body = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": meta}
        secret = {**body, "kind": "Secret", "stringData": {"a": "first", "b": "kept"}}
        made = [
            await client.create({**body, "data": {"sky": "blue", "sea": "green"}}),
            await client.patch(*COLOURS, patch={"data": {"sky": "grey"}}),
            await client.create(secret),
        ]
        second = {"stringData": {"a": "second"}}
        await client.patch("v1/secrets", "colours", "default", patch=second)
        await client.delete(*COLOURS)
    return [int(each["metadata"]["resourceVersion"]) for each in made]


@pytest.fixture(scope="module")
def history(tmp_path_factory):
    """A file with a history, and its revisions."""
    file = tmp_path_factory.mktemp("history") / "inkube.db"
    return file, asyncio.run(lived(file))


def inkube(*arguments):
    done = CliRunner().invoke(main, list(map(str, arguments)))
    assert done.exit_code == 0, done.output
    return done.stdout


def test_the_log_shows_each_change_as_a_diff(history):
    file, revisions = history
    text = inkube("log", "configmaps", "colours", "-n", "default", "--data", file)
    changed = text.split("\nrevision ")[1]
    head, *lines = changed.splitlines()
    assert re.fullmatch(
        rf"{revisions[1]}  20\d\d-\S+Z  MODIFIED ConfigMap default/colours  by inkube", head
    )
    assert [line for line in lines if line.lstrip()[0] in "+-"] == [
        "    -  sky: blue",
        "    +  sky: grey",
    ]
    assert [line.split("  ")[2] for line in text.splitlines() if line.startswith("rev")] == [
        "ADDED ConfigMap default/colours",
        "MODIFIED ConfigMap default/colours",
        "DELETED ConfigMap default/colours",
    ]


def test_the_log_begins_and_ends_at_the_requested_revisions(history):
    file, revisions = history
    lines = inkube("log", "--data", file, "--since", revisions[0], "-o", "json").splitlines()
    told = [json.loads(line) for line in lines]
    assert [each["type"] for each in told] == ["MODIFIED", "ADDED", "MODIFIED", "DELETED"]
    assert told[0]["old"]["data"]["sky"] == "blue"
    assert told[0]["managers"] == ["inkube"]
    moment = told[1]["time"]
    until = inkube(
        "log", "ConfigMap", "--data", file, "--until", moment, "--limit", 1, "-o", "json"
    )
    assert json.loads(until)["type"] == "ADDED"
    assert datetime.fromisoformat(moment).tzinfo is not None


async def test_the_log_continues_while_a_server_compacts_it(tmp_path):
    file, meta = tmp_path / "inkube.db", {"name": "colours", "namespace": "default"}
    async with APIServer(data=file, keep_history=True) as server:
        body = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": meta}
        await server.client.create(body)
        for number in range(2 * PIECE):
            last = await server.client.patch(*COLOURS, patch={"data": {"number": str(number)}})
        newest = int(last["metadata"]["resourceVersion"])
        # it has read a batch and can write no more of it than fits into a pipe
        reader = await asyncio.create_subprocess_exec(
            sys.executable, "-m", "inkube.apiserver.cli", "log", "configmaps", "-o", "json",
            "--data", str(file), stdout=subprocess.PIPE, stderr=subprocess.PIPE, limit=LITTLE,
        )  # fmt: skip
        first = json.loads(await reader.stdout.readline())
        compacted = newest - PIECE // 2
        await server.store.compact(compacted)
        rest, told = await reader.communicate()
        assert reader.returncode == 0, told
        shown = [first["revision"], *(json.loads(line)["revision"] for line in rest.splitlines())]
        assert shown == sorted(set(shown))
        assert shown[-1] == newest
        left_out = [last for last, following in pairwise(shown) if following > last + PIECE // 4]
        assert len(left_out) == 1, "what was compacted, and it is told"
        assert f"before revision {compacted} is not kept any more" in told.decode()


def test_values_of_secrets_are_hidden_in_the_log(history):
    file, _ = history
    text = inkube("log", "secrets", "--data", file)
    assert "+  a: <hidden, changed>" in text.replace("    +", "+")
    assert "c2Vjb25k" not in text
    assert "c2Vjb25k" in inkube("log", "secrets", "--data", file, "--show-secrets")


def test_two_moments_are_compared(history):
    file, revisions = history
    between = inkube("diff", revisions[0], revisions[2], "--data", file)
    assert "MODIFIED ConfigMap default/colours" in between
    assert "ADDED Secret default/colours" in between
    gone = inkube("diff", revisions[1], revisions[2] + 2, "--data", file, "-o", "json")
    told = [json.loads(line) for line in gone.splitlines()]
    assert [(each["type"], each["old"] is None) for each in told] == [
        ("DELETED", False),
        ("ADDED", True),
    ]


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (("log", "--data", "missing.db"), "missing.db does not exist"),
        (("diff", "1", "2"), "revision 1 was compacted"),
        (("diff", "100", "999"), "revision 999 does not exist yet"),
        (("diff", "yesterday", "2"), "is neither a revision nor a time"),
    ],
    ids=["no file", "compacted", "the future", "no moment"],
)
def test_moments_that_cannot_be_shown_are_named(history, arguments, told):
    file, _ = history
    given = arguments if "--data" in arguments else (*arguments, "--data", file)
    done = CliRunner().invoke(main, list(map(str, given)))
    assert done.exit_code != 0
    assert told in done.output


def test_the_page_runs_as_it_stands_there(tmp_path):
    text = PAGE.read_text()
    (script,) = re.findall(r"```python\n(.*?)```", text, re.DOTALL)
    (commands,) = re.findall(r"```sh\n(.*?)```", text, re.DOTALL)
    subprocess.run([sys.executable, "-c", script], cwd=tmp_path, check=True)
    tools = tmp_path / "bin"
    tools.mkdir()
    (tools / "inkube").write_text(f'#!/bin/sh\nexec {sys.executable} -m inkube "$@"\n')
    (tools / "inkube").chmod(0o755)
    path = os.pathsep.join([str(tools), os.environ["PATH"]])
    done = subprocess.run(
        ["sh", "-e", "-c", commands], env={**os.environ, "PATH": path}, cwd=tmp_path,
        capture_output=True, text=True, check=True,
    )  # fmt: skip
    assert "MODIFIED ConfigMap default/colours  by inkube" in done.stdout
    assert "that revision does not exist yet" in done.stdout
