"""Several users of one data file in one process: servers, snapshots, commands. See `locks`.

python tests/support/neighbours.py FILE
"""

import asyncio
import sys
from pathlib import Path

import click

from inkube import APIServer
from inkube.apiserver import sources
from inkube.apiserver.cli import main
from inkube.apiserver.configuration import Options
from inkube.schemas.objects import Object


def config_map(name: str) -> Object:
    return {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {"name": name, "namespace": "default"},
    }


def run(*arguments: str) -> None:
    """Run a command of inkube in this process."""
    main(arguments, standalone_mode=False)


async def live(file: Path) -> None:
    """Do everything that a process may do with a file that it also serves."""
    async with APIServer(data=file) as first, APIServer(data=file) as second:
        await first.client.create(config_map("a"))
        async with APIServer(data=file) as third:
            await third.client.create(config_map("b"))
        await asyncio.to_thread(run, "check", str(file))
        await asyncio.to_thread(run, "log", "--data", str(file))
        saved = file.with_name("saved.db")
        await asyncio.to_thread(run, "snapshot", "save", str(saved), "--data", str(file))
        await asyncio.to_thread(run, "snapshot", "restore", str(saved), "--data",
                                str(file.with_name("restored.db")))  # fmt: skip
        moment = await second.snapshot()
        await moment.save(file.with_name("moment.db"))
        for copy in ("saved", "restored", "moment"):
            await asyncio.to_thread(run, "check", str(file.with_name(f"{copy}.db")))
        loaded = await sources.snapshots.load(file)
        async with APIServer(snapshot=loaded) as fork:
            await fork.client.create(config_map("c"))
        async with APIServer(Options(data=file, at=loaded.revision)):
            pass
        try:  # the help says to do this only without a server
            await asyncio.to_thread(run, "repair", str(file))
        except click.ClickException as error:
            if "is in use" not in error.message:
                raise
        else:
            raise AssertionError("a file that is served was repaired")
        await second.client.create(config_map("d"))
    async with APIServer(data=file) as again:
        for name in "abd":
            await again.client.get("v1/configmaps", name, "default")


if __name__ == "__main__":
    asyncio.run(live(Path(sys.argv[1])))
